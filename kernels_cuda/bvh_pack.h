// What trees are made over, and its numbers as leaves keep them: `packed`, in the order of the leaves.
//
// A group of lanes packs a tile of places. Lanes take neighbouring numbers, not primitives each, so that a GPU writes
// whole lines of its memory: scattered stores cost it as much as those of whole lines.
#pragma once

#include "bvh.h"
#include "lanes.h"

struct Box {
    vec3 lower, upper;

    // NaN in b is left out; the sign of zero depends on the machine
    SIM_INLINE void add(const Box& b) {
        BVH_AXES
        for (int a = 0; a < 3; ++a) {
            lower[a] = smaller_number(lower[a], b.lower[a]);
            upper[a] = larger_number(upper[a], b.upper[a]);
        }
    }
};

SIM_INLINE Box empty_box() {
    return {{REAL_INFINITY, REAL_INFINITY, REAL_INFINITY}, {-REAL_INFINITY, -REAL_INFINITY, -REAL_INFINITY}};
}

SIM_INLINE bool is_box(vec3 low, vec3 high) {
    return low.x <= high.x && low.y <= high.y && low.z <= high.z && is_finite(low) && is_finite(high);
}

// sum + 0 x, which is NaN where x is not finite. (The product is exact: a CPU without this instruction needs none.)
SIM_INLINE real add_no_number(real x, real sum) {
#ifdef SIM_GPU
    return multiply_add(real(0), x, sum);
#else
    return real(0) * x + sum;
#endif
}

inline constexpr int PACK_TILE = 32;  // places of a group: in memory they are whole lines of 128 bytes

// A source loads the WIDTH numbers of a primitive, or packs those of `count` places by several lanes. Its box() of such
// numbers is empty, or all NaN, for what is not finite: no node has it in its box.

// What is no box becomes one that nothing meets, wherever a walk may find it.
struct BoxSource {
    static constexpr int WIDTH = 6;
    struct PackMemory {
        real numbers[WIDTH * PACK_TILE];
    };
    const real *lower, *upper;

    SIM_INLINE void load(int primitive, real* numbers) const {
        store_vec3(numbers, load_vec3(lower + 3LL * primitive));
        store_vec3(numbers + 3, load_vec3(upper + 3LL * primitive));
        keep_box(numbers);
    }

    SIM_INLINE static void keep_box(real* numbers) {
        if (is_box(load_vec3(numbers), load_vec3(numbers + 3))) return;
        store_vec3(numbers, empty_box().lower);
        store_vec3(numbers + 3, empty_box().upper);
    }

    SIM_INLINE void pack(Lanes& lanes, PackMemory& m, const int* primitive, int count, real* out) const {
        const auto load = [&](int i) {
            const real* corner = i % 6 < 3 ? lower : upper;
            return corner[3LL * primitive[i / 6] + i % 3];
        };
        for_lanes_ahead<6>(lanes, 0, WIDTH * count, load, [&](int i, real number) { m.numbers[i] = number; });
        lanes.sync();
        for_lanes(k, 0, count) keep_box(m.numbers + WIDTH * k);
        lanes.sync();
        for_lanes(i, 0, WIDTH * count) out[i] = m.numbers[i];
    }

    SIM_INLINE static Box box(const real* numbers) { return {load_vec3(numbers), load_vec3(numbers + 3)}; }
};

struct TriangleSource {
    static constexpr int WIDTH = 9;
    struct PackMemory {
        int vertex[3 * PACK_TILE];  // of each corner
    };
    const int* faces;
    const real* vertices;

    SIM_INLINE void load(int primitive, real* numbers) const {
        const int* face = faces + 3LL * primitive;
        BVH_AXES
        for (int c = 0; c < 3; ++c) store_vec3(numbers + 3 * c, load_vec3(vertices + 3LL * face[c]));
    }

    SIM_INLINE void pack(Lanes& lanes, PackMemory& m, const int* primitive, int count, real* out) const {
        for_lanes_ahead<3>(
            lanes, 0, 3 * count, [&](int i) { return faces[3LL * primitive[i / 3] + i % 3]; },
            [&](int i, int vertex) { m.vertex[i] = vertex; });
        lanes.sync();
        for_lanes_ahead<9>(
            lanes, 0, WIDTH * count, [&](int i) { return vertices[3LL * m.vertex[i / 3] + i % 3]; },
            [&](int i, real number) { out[i] = number; });
    }

    SIM_INLINE static Box box(const real* numbers) {
        const vec3 a = load_vec3(numbers), b = load_vec3(numbers + 3), c = load_vec3(numbers + 6);
        real nothing = real(0);  // NaN where a number is not finite
        BVH_AXES
        for (int axis = 0; axis < 3; ++axis) {
            nothing = add_no_number(a[axis], nothing);
            nothing = add_no_number(b[axis], nothing);
            nothing = add_no_number(c[axis], nothing);
        }
        Box box = {a, a};
        box.add({b, b});
        box.add({c, c});
        BVH_AXES
        for (int axis = 0; axis < 3; ++axis) {
            box.lower[axis] += nothing;
            box.upper[axis] += nothing;
        }
        return box;
    }
};

// Packs all primitives; a tile is a world of the launch.
template <class Source>
SIM_INLINE void pack_all(const Source& source, int tiles, int n, const int* leaf_primitive, real* packed,
                         const Scratch& scratch) {
    for_each_world(tiles, scratch, [&](Lanes& lanes, int tile, char* memory) {
        const int first = PACK_TILE * tile, count = n - first < PACK_TILE ? n - first : PACK_TILE;
        real* out = packed + int64(Source::WIDTH) * first;
        if (lanes.count() == 1)
            for (int k = 0; k < count; ++k) source.load(leaf_primitive[first + k], out + Source::WIDTH * k);
        else
            source.pack(lanes, small_memory<typename Source::PackMemory>(memory), leaf_primitive + first, count, out);
    });
}
