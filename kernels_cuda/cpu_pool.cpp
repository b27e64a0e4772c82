// Runs kernels on the CPU: a persistent pool of threads, and the machine's facts that the runtime asks for.
// C headers and compiler builtins only.
//
// One job at a time has the pool. A worker joins a job by adding one to `pool.state` while the job is open; the caller
// works too, closes the job when no chunk is left, and waits for those that joined. A worker that wakes late finds the
// job closed and goes back to sleep: nobody waits for it.
#include "platform.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

typedef void (*SimKernel)(void** arguments, const CpuLaunch* launch);

// What the runtime prepares once for a launch (mirrored in simengine/runtime/pool.py).
struct SimJob {
    SimKernel kernel;
    void** arguments;
    long long items;
    long long grain;  // items that are worth a chunk of their own
    long long scratch;  // bytes for each worker
    int lanes;
    unsigned seed;
    int poison;
    int padding;
};

enum { SIM_OK = 0, SIM_NO_MEMORY = 1, SIM_NO_THREADS = 2 };
enum { MAX_THREADS = 1024, CHUNKS_PER_THREAD = 8, SPINS = 4000 };

struct Buffer {
    char* memory;
    long long size;
};

// `state`: number of the job in the upper half, OPEN, and the count of the workers that joined.
static const unsigned long long OPEN = 1ull << 31;
static const unsigned long long JOINED = OPEN - 1;

static struct {
    unsigned long long state;
    unsigned long long left;  // workers that have done with the job
    long long next;           // the next chunk
    long long chunks;
    const SimJob* job;
    int threads;  // that work on a job, the caller (index 0) among them; changes only while no job is open
    int started;  // workers that exist; those with an index of `threads` or more are parked
    int sleeping;
    int caller_sleeps;
} pool = {0, 0, 0, 0, nullptr, 1, 0, 0, 0};

static Buffer worker_scratch[MAX_THREADS];
static pthread_mutex_t job_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t sleep_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER;
static pthread_cond_t done = PTHREAD_COND_INITIALIZER;
static pthread_cond_t enlarged = PTHREAD_COND_INITIALIZER;
static pthread_key_t caller_key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

// ---- rounding and denormals: nearest, kept -----------------------------------------------------------------------

#if defined(__x86_64__)
typedef unsigned FloatMode;
static FloatMode enter_float_mode() {
    const FloatMode before = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(0x1f80u);  // to nearest, denormals kept, exceptions masked
    return before;
}
static void leave_float_mode(FloatMode before) { __builtin_ia32_ldmxcsr(before); }
#elif defined(__aarch64__)
typedef unsigned long FloatMode;
static FloatMode enter_float_mode() {
    FloatMode before;
    __asm__ volatile("mrs %0, fpcr" : "=r"(before));
    __asm__ volatile("msr fpcr, %0" ::"r"(FloatMode(0)));
    return before;
}
static void leave_float_mode(FloatMode before) { __asm__ volatile("msr fpcr, %0" ::"r"(before)); }
#else
#error "this processor's rounding mode is not known: add it here"
#endif

static void relax() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#else
    __asm__ volatile("yield");
#endif
}

// ---- memory ------------------------------------------------------------------------------------------------------

static bool grow(Buffer* buffer, long long size) {
    if (size <= buffer->size) return true;
    void* memory = nullptr;
    if (posix_memalign(&memory, 64, size_t(size)) != 0) return false;
    free(buffer->memory);
    buffer->memory = (char*)memory;
    buffer->size = size;
    return true;
}

static void free_caller(void* value) {
    Buffer* buffer = (Buffer*)value;
    free(buffer->memory);
    free(buffer);
}

static Buffer* caller_buffer() {
    Buffer* buffer = (Buffer*)pthread_getspecific(caller_key);
    if (buffer == nullptr) {
        buffer = (Buffer*)calloc(1, sizeof(Buffer));
        if (buffer != nullptr) pthread_setspecific(caller_key, buffer);
    }
    return buffer;
}

// A child of fork has none of the threads: it starts its own at its first job.
static void after_fork_in_child() {
    pthread_mutex_init(&job_lock, nullptr);
    pthread_mutex_init(&sleep_lock, nullptr);
    pthread_cond_init(&wake, nullptr);
    pthread_cond_init(&done, nullptr);
    pthread_cond_init(&enlarged, nullptr);
    pool.state &= ~(OPEN | JOINED);
    pool.left = 0;
    pool.started = 0;
    pool.sleeping = 0;
    pool.caller_sleeps = 0;
}

static void start_once() {
    pthread_key_create(&caller_key, free_caller);
    pthread_atfork(nullptr, nullptr, after_fork_in_child);
}

// ---- work --------------------------------------------------------------------------------------------------------

static void work(const SimJob* job, long long chunks, char* scratch) {
    CpuLaunch launch = {0, int(chunks), job->lanes, job->seed, job->poison, 0, scratch};
    for (;;) {
        const long long chunk = __atomic_fetch_add(&pool.next, 1, __ATOMIC_RELAXED);
        if (chunk >= chunks) return;
        launch.chunk = int(chunk);
        job->kernel(job->arguments, &launch);
    }
}

static bool parked(int index) { return index >= __atomic_load_n(&pool.threads, __ATOMIC_SEQ_CST); }

static void stay_parked(int index) {
    pthread_mutex_lock(&sleep_lock);
    while (parked(index)) pthread_cond_wait(&enlarged, &sleep_lock);
    pthread_mutex_unlock(&sleep_lock);
}

// Returns the state once its job is another than the one seen last.
static unsigned long long wait_for_job(unsigned long long seen) {
    unsigned long long state;
    for (int spin = 0; spin < SPINS; ++spin) {
        state = __atomic_load_n(&pool.state, __ATOMIC_SEQ_CST);
        if ((state >> 32) != seen) return state;
        relax();
    }
    pthread_mutex_lock(&sleep_lock);
    __atomic_fetch_add(&pool.sleeping, 1, __ATOMIC_SEQ_CST);
    while (((state = __atomic_load_n(&pool.state, __ATOMIC_SEQ_CST)) >> 32) == seen)
        pthread_cond_wait(&wake, &sleep_lock);
    __atomic_fetch_sub(&pool.sleeping, 1, __ATOMIC_SEQ_CST);
    pthread_mutex_unlock(&sleep_lock);
    return state;
}

static bool join_job(unsigned long long* state, int index) {
    while ((*state & OPEN) && !parked(index)) {
        const unsigned long long joined = *state + 1;
        if (__atomic_compare_exchange_n(&pool.state, state, joined, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
            return true;
    }
    return false;
}

static void* worker_main(void* argument) {
    const int index = int((long long)argument);
    enter_float_mode();
    unsigned long long seen = 0;
    for (;;) {
        if (parked(index)) stay_parked(index);
        unsigned long long state = wait_for_job(seen);
        const bool joined = join_job(&state, index);
        seen = state >> 32;
        if (!joined) continue;
        work(pool.job, pool.chunks, worker_scratch[index].memory);
        __atomic_fetch_add(&pool.left, 1, __ATOMIC_SEQ_CST);
        if (__atomic_load_n(&pool.caller_sleeps, __ATOMIC_SEQ_CST)) {
            pthread_mutex_lock(&sleep_lock);
            pthread_cond_signal(&done);
            pthread_mutex_unlock(&sleep_lock);
        }
    }
    return nullptr;
}

static void wait_for_workers(unsigned long long joined) {
    for (int spin = 0; spin < SPINS; ++spin) {
        if (__atomic_load_n(&pool.left, __ATOMIC_SEQ_CST) == joined) return;
        relax();
    }
    pthread_mutex_lock(&sleep_lock);
    __atomic_store_n(&pool.caller_sleeps, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&pool.left, __ATOMIC_SEQ_CST) != joined) pthread_cond_wait(&done, &sleep_lock);
    __atomic_store_n(&pool.caller_sleeps, 0, __ATOMIC_SEQ_CST);
    pthread_mutex_unlock(&sleep_lock);
}

static bool start_workers() {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    bool good = true;
    while (good && pool.started < pool.threads - 1) {
        pthread_t thread;
        good = pthread_create(&thread, &attributes, worker_main, (void*)(long long)(pool.started + 1)) == 0;
        pool.started += good;
    }
    pthread_attr_destroy(&attributes);
    return good;
}

static int run_in_pool(const SimJob* job, long long chunks) {
    for (int i = 0; i < pool.threads; ++i)
        if (!grow(&worker_scratch[i], job->scratch)) return SIM_NO_MEMORY;
    if (!start_workers()) return SIM_NO_THREADS;
    pool.job = job;
    pool.chunks = chunks;
    pool.next = 0;
    pool.left = 0;
    const unsigned long long number = ((__atomic_load_n(&pool.state, __ATOMIC_SEQ_CST) >> 32) + 1) & 0xffffffffull;
    __atomic_store_n(&pool.state, (number << 32) | OPEN, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&pool.sleeping, __ATOMIC_SEQ_CST) > 0) {
        pthread_mutex_lock(&sleep_lock);
        pthread_cond_broadcast(&wake);
        pthread_mutex_unlock(&sleep_lock);
    }
    work(job, chunks, worker_scratch[0].memory);
    const unsigned long long state = __atomic_fetch_and(&pool.state, ~OPEN, __ATOMIC_SEQ_CST);
    wait_for_workers(state & JOINED);
    return SIM_OK;
}

static int run_here(const SimJob* job) {
    Buffer* buffer = caller_buffer();
    if (buffer == nullptr || !grow(buffer, job->scratch)) return SIM_NO_MEMORY;
    const CpuLaunch launch = {0, 1, job->lanes, job->seed, job->poison, 0, buffer->memory};
    job->kernel(job->arguments, &launch);
    return SIM_OK;
}

extern "C" SIM_EXPORT int sim_pool_run(const SimJob* job) {
    if (job->items <= 0) return SIM_OK;
    pthread_once(&once, start_once);
    const FloatMode before = enter_float_mode();
    int result;
    if (__atomic_load_n(&pool.threads, __ATOMIC_SEQ_CST) == 1 || job->items <= job->grain) {
        result = run_here(job);
    } else {
        pthread_mutex_lock(&job_lock);
        const long long worthwhile = (job->items + job->grain - 1) / job->grain;
        const long long most = (long long)pool.threads * CHUNKS_PER_THREAD;
        result = run_in_pool(job, worthwhile < most ? worthwhile : most);
        pthread_mutex_unlock(&job_lock);
    }
    leave_float_mode(before);
    return result;
}

// Sets how many threads work on a job, the caller's among them. Workers that are too many are parked.
extern "C" SIM_EXPORT void sim_pool_set_threads(int threads) {
    pthread_once(&once, start_once);
    if (threads < 1) threads = 1;
    if (threads > MAX_THREADS) threads = MAX_THREADS;
    pthread_mutex_lock(&job_lock);
    pthread_mutex_lock(&sleep_lock);
    __atomic_store_n(&pool.threads, threads, __ATOMIC_SEQ_CST);
    pthread_cond_broadcast(&enlarged);
    pthread_mutex_unlock(&sleep_lock);
    pthread_mutex_unlock(&job_lock);
}

extern "C" SIM_EXPORT int sim_pool_threads() { return __atomic_load_n(&pool.threads, __ATOMIC_SEQ_CST); }

// 3 where the processor and the system offer x86-64-v3 (AVX2, FMA, BMI, LZCNT, F16C, MOVBE), else 1.
extern "C" SIM_EXPORT int sim_cpu_level() {
#if defined(__x86_64__)
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d)) return 1;
    // FMA MOVBE OSXSAVE AVX F16C
    const unsigned first = (1u << 12) | (1u << 22) | (1u << 27) | (1u << 28) | (1u << 29);
    if ((c & first) != first) return 1;
    unsigned low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    if ((low & 6) != 6) return 1;  // the system saves the wide registers
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return 1;
    const unsigned second = (1u << 3) | (1u << 5) | (1u << 8);  // BMI1 AVX2 BMI2
    if ((b & second) != second) return 1;
    if (!__get_cpuid(0x80000001u, &a, &b, &c, &d)) return 1;
    return (c & (1u << 5)) ? 3 : 1;  // LZCNT
#else
    return 1;
#endif
}
