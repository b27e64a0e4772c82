// One pair of shapes an item: the contacts that a collision routine makes, as it makes them.
#include "collide.h"

struct Recorder {
    real reach;
    vec3 tangent_hint;
    int count, capacity;
    int* feature;
    real* rows;  // point0, normal, distance

    SIM_FUNCTION void operator()(int number, vec3 point0, vec3 normal, real distance) {
        if (!(distance < reach && distance >= -REAL_MAX)) return;
        if (count < capacity) {
            feature[count] = number;
            store_vec3(rows + 7 * count, point0);
            store_vec3(rows + 7 * count + 3, normal);
            rows[7 * count + 6] = distance;
        }
        ++count;
    }

    SIM_FUNCTION void restart() { count = 0; }
};

extern "C" __global__ void pair_contacts(int n, int routine, real reach, const real* pose0, const real* size0, const real* pose1,
                                         const real* size1, int* count, int* feature, real* rows) {
    for_each(i, n) {
        Recorder write = {reach, zero_vec3(), 0, 8, feature + 8 * i, rows + 56 * i};
        const PlacedShape a = {load_pose(pose0 + 7 * i), load_vec3(size0 + 3 * i)}, b = {load_pose(pose1 + 7 * i), load_vec3(size1 + 3 * i)};
        collide_pair(routine, a, b, write);
        count[i] = write.count;
    }
}
