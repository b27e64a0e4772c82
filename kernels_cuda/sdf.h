// Distance fields: closed forms of primitives, and fields kept on a grid of blocks.
#pragma once

#include "vector.h"

// ---- closed forms (m; negative inside) ---------------------------------------------------------------------------

SIM_INLINE real sdf_sphere(vec3 p, real radius) { return length(p) - radius; }

// plane z = 0
SIM_INLINE real sdf_plane(vec3 p) { return p.z; }

SIM_INLINE real sdf_box(vec3 p, vec3 half) {
    const vec3 d = absolute(p) - half;
    const vec3 out = maximum(d, zero_vec3());
    return length(out) + minimum(maximum(maximum(d.x, d.y), d.z), real(0));
}

// along z, half_height without the caps
SIM_INLINE real sdf_capsule(vec3 p, real radius, real half_height) {
    const real z = p.z - clamp(p.z, -half_height, half_height);
    return length(vec3{p.x, p.y, z}) - radius;
}

SIM_INLINE real sdf_cylinder(vec3 p, real radius, real half_height) {
    const real across = length(vec3{p.x, p.y, real(0)}) - radius, along = absolute(p.z) - half_height;
    const vec3 out = {maximum(across, real(0)), maximum(along, real(0)), real(0)};
    return length(out) + minimum(maximum(across, along), real(0));
}

// base of the radius at -half_height, tip at half_height: in the half plane (distance from the axis, z) the
// nearer of the slanted edge and the base
SIM_INLINE real sdf_cone(vec3 p, real radius, real half_height) {
    const real across = length(vec3{p.x, p.y, real(0)}), height = real(2) * half_height, z = p.z + half_height;
    const real s =
        clamp(divide(multiply_add(height - z, height, across * radius), multiply_add(height, height, radius * radius)),
              real(0), real(1));
    const vec3 slant = {across - radius * s, z - height * (real(1) - s), real(0)};
    const vec3 base = {across - minimum(across, radius), z, real(0)};
    const real size = minimum(length(slant), length(base));
    const bool inside = z > real(0) && multiply_add(radius, z - height, across * height) < real(0);
    return inside ? -size : size;
}

// ring in the plane z = 0
SIM_INLINE real sdf_torus(vec3 p, real radius, real thickness) {
    const real across = length(vec3{p.x, p.y, real(0)}) - radius;
    return length(vec3{across, p.z, real(0)}) - thickness;
}

enum SdfKind { SDF_SPHERE, SDF_PLANE, SDF_BOX, SDF_CAPSULE, SDF_CYLINDER, SDF_CONE, SDF_TORUS };

SIM_INLINE real sdf_primitive(int kind, vec3 size, vec3 p) {
    switch (kind) {
        case SDF_SPHERE: return sdf_sphere(p, size.x);
        case SDF_PLANE: return sdf_plane(p);
        case SDF_BOX: return sdf_box(p, size);
        case SDF_CAPSULE: return sdf_capsule(p, size.x, size.y);
        case SDF_CYLINDER: return sdf_cylinder(p, size.x, size.y);
        case SDF_CONE: return sdf_cone(p, size.x, size.y);
        default: return sdf_torus(p, size.x, size.y);
    }
}

// ---- blocks ------------------------------------------------------------------------------------------------------

inline constexpr int SDF_BLOCK = 8, SDF_NODES = SDF_BLOCK + 1;  // cells along a block, and its nodes with both ends
inline constexpr int SDF_BLOCK_NODES = SDF_NODES * SDF_NODES * SDF_NODES;

// Blocks near the surface hold a value at each node; elsewhere the corners of blocks tell enough. Points are in m from
// the first node.
struct SdfGrid {
    int blocks[3];
    real voxel, inverse;   // m, and its reciprocal
    const real* coarse;    // (blocks + 1 along x, y, z): corners of blocks, z fastest
    const int* slot;       // (blocks): place of a block in `values`, or -1
    const real* values;    // (slots, 9, 9, 9)
};

SIM_INLINE int sdf_block_index(const SdfGrid& g, int x, int y, int z) {
    return (x * g.blocks[1] + y) * g.blocks[2] + z;
}
SIM_INLINE int sdf_corner_index(const SdfGrid& g, int x, int y, int z) {
    return (x * (g.blocks[1] + 1) + y) * (g.blocks[2] + 1) + z;
}

struct SdfSample {
    real value;
    vec3 gradient;
};

// Trilinear between eight values, corner c at (c >> 2, c >> 1 & 1, c & 1); the gradient is by (x, y, z).
SIM_INLINE SdfSample trilinear(const real* v, real x, real y, real z) {
    const auto mix = [](real a, real b, real t) { return multiply_add(t, b - a, a); };
    const real y00 = mix(v[0], v[1], z), y01 = mix(v[2], v[3], z), y10 = mix(v[4], v[5], z), y11 = mix(v[6], v[7], z);
    const real x0 = mix(y00, y01, y), x1 = mix(y10, y11, y);
    SdfSample s;
    s.value = mix(x0, x1, x);
    s.gradient.x = x1 - x0;
    s.gradient.y = mix(y01 - y00, y11 - y10, x);
    s.gradient.z = mix(mix(v[1] - v[0], v[3] - v[2], y), mix(v[5] - v[4], v[7] - v[6], y), x);
    return s;
}

// The values at the corners of a cell of a block that holds its nodes, else of the whole block; returns which it was.
// Corners in the order of trilinear(). `node`: of the cell within the block.
SIM_INLINE bool sdf_corners(const SdfGrid& g, const int* block, const int* node, real* v) {
    const int slot = g.slot[sdf_block_index(g, block[0], block[1], block[2])];
    if (slot < 0) {
        for (int c = 0; c < 8; ++c)
            v[c] = g.coarse[sdf_corner_index(g, block[0] + (c >> 2), block[1] + (c >> 1 & 1), block[2] + (c & 1))];
        return false;
    }
    const real* first =
        g.values + int64(slot) * SDF_BLOCK_NODES + (node[0] * SDF_NODES + node[1]) * SDF_NODES + node[2];
    for (int c = 0; c < 8; ++c) v[c] = first[((c >> 2) * SDF_NODES + (c >> 1 & 1)) * SDF_NODES + (c & 1)];
    return true;
}

// Value and gradient of the interpolant at a point within the grid.
SIM_INLINE SdfSample sdf_inside(const SdfGrid& g, vec3 point) {
    int block[3], node[3];
    real part[3], part_of_block[3];
    for (int a = 0; a < 3; ++a) {
        const real place = point[a] * g.inverse;
        const int cells = g.blocks[a] * SDF_BLOCK;
        int cell = to_int(floor_of(place));
        cell = cell < 0 ? 0 : cell >= cells ? cells - 1 : cell;
        block[a] = cell / SDF_BLOCK;
        node[a] = cell % SDF_BLOCK;
        part[a] = place - real(cell);
        part_of_block[a] = (place - real(block[a] * SDF_BLOCK)) * real(1.0 / SDF_BLOCK);
    }
    real v[8];
    SdfSample s;
    if (sdf_corners(g, block, node, v)) {
        s = trilinear(v, part[0], part[1], part[2]);
        s.gradient = g.inverse * s.gradient;
    } else {
        s = trilinear(v, part_of_block[0], part_of_block[1], part_of_block[2]);
        s.gradient = (g.inverse * real(1.0 / SDF_BLOCK)) * s.gradient;
    }
    return s;
}

// Anywhere: outside the grid the value at the nearest point of the grid, and the distance to there.
SIM_INLINE SdfSample sdf_sample(const SdfGrid& g, vec3 point) {
    vec3 nearest;
    for (int a = 0; a < 3; ++a) nearest[a] = clamp(point[a], real(0), real(g.blocks[a] * SDF_BLOCK) * g.voxel);
    SdfSample s = sdf_inside(g, nearest);
    const vec3 beyond = point - nearest;
    const real size = length(beyond);
    s.value += size;
    for (int a = 0; a < 3; ++a)
        if (beyond[a] != real(0)) s.gradient[a] = size > real(0) ? divide(beyond[a], size) : real(0);
    return s;
}
