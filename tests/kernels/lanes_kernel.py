"""The kernel through which tests reach the collectives of lanes.h: one world a row."""

MOST = 100
"""Items of a world at most."""

TEXT = """
#include "lanes.h"

constexpr int MOST = 100;

// sums, maxima, compaction and a chain of steps in which every lane reads what others wrote
extern "C" __global__ void work(const real* x, const int* keep, int n, int m, real* sums, real* most, int* kept,
                                int* counts, real* chain, int worlds, Scratch scratch) {
    for_each_world(worlds, scratch, [&](Lanes& lanes, int slot, char* memory) {
        const real* row = x + slot * MOST;
        const int* flag = keep + slot * MOST;
        real* place = reinterpret_cast<real*>(memory);
        auto term = [&](int i) { return row[i]; };
        auto square = [&](int i) { return row[i] * row[i]; };

        const real total = lanes.sum_over(n, term);
        const real both = lanes.sum_over(n, term, m, square);
        const real fixed = lanes.sum_over(27, term);
        const real largest = lanes.max_over(n, term);
        const int largest_flag = lanes.max_over(n, [&](int i) { return flag[i] * i; });

        int* list = kept + slot * MOST;
        for (int i = lanes.lane(); i < MOST; i += lanes.count()) list[i] = -1;
        lanes.sync();
        const int count = lanes.scan(n, [&](int i) { return flag[i]; }, [&](int i, int before) {
            for (int k = 0; k < flag[i]; ++k) list[before + k] = i;
        });
        const int again = lanes.scan(n, [&](int i) { return flag[i]; });
        const bool some = lanes.any(lanes.lane() == 0 && row[0] > real(0));
        const real first = lanes.broadcast(lanes.lane() == 0 ? row[0] : real(0), 0);

        for (int i = lanes.lane(); i < n; i += lanes.count()) place[i] = row[i];
        for (int step = 0; step < 3; ++step) {
            lanes.sync();
            real* from = place + (step % 2) * MOST;
            real* to = place + (1 - step % 2) * MOST;
            for (int i = lanes.lane(); i < n; i += lanes.count())
                to[i] = multiply_add(from[(i + 7) % n], real(0.5), from[i]);
        }
        lanes.sync();
        for (int i = lanes.lane(); i < n; i += lanes.count()) chain[slot * MOST + i] = place[MOST + (i + 1) % n];

        if (lanes.lane() == lanes.count() - 1) {
            sums[3 * slot] = total;
            sums[3 * slot + 1] = both;
            sums[3 * slot + 2] = fixed;
            most[slot] = largest;
            counts[5 * slot] = count;
            counts[5 * slot + 1] = again;
            counts[5 * slot + 2] = largest_flag;
            counts[5 * slot + 3] = some;
            counts[5 * slot + 4] = first == row[0];
        }
    });
}

// the marked items of each world, in order
extern "C" __global__ void list_marked(const int* keep, int n, int* listed, int* numbers, int worlds, Scratch scratch) {
    for_each_world(worlds, scratch, [&](Lanes& lanes, int slot, char*) {
        const int* flag = keep + slot * MOST;
        int* list = listed + slot * MOST;
        const int number = list_wanted(
            lanes, n, [&](int i) { return flag[i] != 0; }, [&](int i, int before) { list[before] = i; });
        if (lanes.lane() == 0) numbers[slot] = number;
    });
}

// wrong on purpose: no sync between the write and the read of a neighbour's value
extern "C" __global__ void without_sync(const real* x, int n, real* y, int worlds, Scratch scratch) {
    for_each_world(worlds, scratch, [&](Lanes& lanes, int slot, char* memory) {
        real* place = reinterpret_cast<real*>(memory);
        for (int i = lanes.lane(); i < n; i += lanes.count()) place[i] = x[i];
        for (int i = lanes.lane(); i < n; i += lanes.count()) y[slot * n + i] = place[(i + 1) % n];
    });
}

// wrong on purpose: a sum of one value a lane
extern "C" __global__ void sum_by_lanes(const real* x, int n, real* y, int worlds, Scratch scratch) {
    for_each_world(worlds, scratch, [&](Lanes& lanes, int slot, char*) {
        real mine = real(0);
        for (int i = lanes.lane(); i < n; i += lanes.count()) mine += x[i];
        y[slot] = lanes.sum_over(lanes.count(), [&](int) { return mine; });
    });
}

// wrong on purpose: lanes come to different calls
extern "C" __global__ void parting(int worlds, Scratch scratch) {
    for_each_world(worlds, scratch, [&](Lanes& lanes, int, char*) {
        if (lanes.lane() == 1) {
            lanes.sync();
        } else {
            lanes.any(true);
        }
    });
}

// a loop of as many rounds as the slot has before it; one world, or one lane of each, keeps step once more
extern "C" __global__ void keep_step(int more_of_world, int more_of_lane, int* rounds, int worlds, Scratch scratch) {
    for_each_world(worlds, scratch, [&](Lanes& lanes, int slot, char*) {
        lanes.keep_step();
        int done = 0;
        while (lanes.keep_step(done < slot)) done += done < slot;
        if (lanes.lane() == 0) rounds[slot] = done;
        if (slot == more_of_world || lanes.lane() == more_of_lane) lanes.keep_step();
    });
}

// copies what the memory of a group holds at the start
extern "C" __global__ void show_memory(real* y, int n, int worlds, Scratch scratch) {
    for_each_world(worlds, scratch, [&](Lanes& lanes, int slot, char* memory) {
        for (int i = lanes.lane(); i < n; i += lanes.count()) {
            y[slot * n + i] = reinterpret_cast<real*>(memory)[i];
            reinterpret_cast<real*>(memory)[i] = real(1);
        }
    });
}
"""
