// Boxes against boxes, spheres, rays and points: the exact tests behind the walks of bvh.h.
#pragma once

#include "bvh.h"

SIM_INLINE bool boxes_meet(const real* box, vec3 lower, vec3 upper) {
    return box[0] <= upper.x && box[3] >= lower.x && box[1] <= upper.y && box[4] >= lower.y && box[2] <= upper.z &&
           box[5] >= lower.z;
}

// square of the distance from a point to a box
SIM_INLINE real box_distance_squared(const real* box, vec3 point) {
    real square = real(0);
BVH_AXES
    for (int a = 0; a < 3; ++a) {
        const real apart = maximum(maximum(box[a] - point[a], point[a] - box[3 + a]), real(0));
        square = multiply_add(apart, apart, square);
    }
    return square;
}

// A ray as the user gives it, scaled by a power of two so that the largest component of its direction lies in [1, 2).
// t of the user = scale * t of the scaled ray. Not valid where the direction is zero or not a number.
struct ScaledRay {
    vec3 origin, direction;
    real scale;
    bool valid;

    SIM_INLINE ScaledRay(vec3 from, vec3 along) : origin(from), direction(along), scale(real(1)), valid(false) {
        const real most = maximum(maximum(absolute(along.x), absolute(along.y)), absolute(along.z));
        if (!(most > real(1e-30) && most < real(1e30)) || !is_finite(along) || !is_finite(from)) return;
#ifdef SIM_DOUBLE
        const int exponent = int(bits_of(most) >> 52) - 1023;
#else
        const int exponent = int(bits_of(most) >> 23) - 127;
#endif
        scale = bvh_step(-exponent);
        direction = scale * along;
        valid = true;
    }
};

// Where the ray enters the box, 0 if it begins in it: false where it misses it or enters it beyond `farthest`. Faces
// belong to the box. (An empty box has its lower corner above the upper one.)
SIM_INLINE bool ray_meets_box(const ScaledRay& ray, const real* box, real farthest, real& enter) {
    if (!(box[0] <= box[3])) return false;
    real first = real(0), last = farthest;
BVH_AXES
    for (int a = 0; a < 3; ++a) {
        const real low = box[a] - ray.origin[a], high = box[3 + a] - ray.origin[a], along = ray.direction[a];
        if (absolute(along) < real(1e-30)) {
            if (!(low <= real(0) && high >= real(0))) return false;
            continue;
        }
        const real inverse = reciprocal(along), t0 = low * inverse, t1 = high * inverse;
        first = maximum(first, minimum(t0, t1));
        last = minimum(last, maximum(t0, t1));
    }
    enter = first;
    return first <= last;
}

// The list that a query writes: only counted where there is no place for it yet.
struct IndexRow {
    int* out;
    int64 count;

    SIM_INLINE void add(int index) {
        if (out) out[count] = index;
        ++count;
    }
};
