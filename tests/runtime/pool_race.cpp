// Three threads launch jobs while the number of workers changes; built with a sanitizer by test_pool.py.
#include "cpu_pool.cpp"

#include <stdio.h>

static const int SIZE = 100000, JOBS = 300;

static void count_up(void** arguments, const CpuLaunch* launch) {
    int* x = static_cast<int*>(arguments[0]);
    sim_launch = launch;
    for (int i = sim_chunk_begin(SIZE); i < sim_chunk_end(SIZE); ++i) ++x[i];
    launch->scratch[0] = 1;
}

static void* launch_jobs(void* changes_threads) {
    int* x = static_cast<int*>(calloc(SIZE, sizeof(int)));
    void* arguments[1] = {x};
    const SimJob job = {count_up, arguments, SIZE, 2048, 64, 1, 0, 0, 0};
    for (int i = 0; i < JOBS; ++i) {
        sim_pool_run(&job);
        if (changes_threads && i % 20 == 0) sim_pool_set_threads(1 + i / 20 % 6);
    }
    long wrong = 0;
    for (int i = 0; i < SIZE; ++i) wrong += x[i] != JOBS;
    free(x);
    return reinterpret_cast<void*>(wrong);
}

int main() {
    sim_pool_set_threads(4);
    pthread_t threads[3];
    for (long i = 0; i < 3; ++i) pthread_create(&threads[i], nullptr, launch_jobs, reinterpret_cast<void*>(i == 0));
    long wrong = 0;
    for (pthread_t thread : threads) {
        void* result;
        pthread_join(thread, &result);
        wrong += reinterpret_cast<long>(result);
    }
    return wrong != 0;
}
