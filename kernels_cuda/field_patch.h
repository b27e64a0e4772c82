// Where on the surface of a body a distance field is least.
//
// Surfaces are cut into patches over the square -1 .. 1 by -1 .. 1, and these into halves, the longer way first. A
// piece is searched further only if the field may be lower on it than what is known: within a cell of the grid the
// field is trilinear, so that its tangent at the middle of the piece, less what bends, is below it. Branch and bound
// (Land and Doig 1960): the least value is found to a tolerance, wherever it lies.
#pragma once

#include "model_convex.h"
#include "sdf.h"

// The field of a shape in its own axes, from the first node of its grid.
struct FieldShape {
    SdfGrid grid;
    vec3 origin;  // the first node, in the shape's frame
    real slope;   // within the grid the field changes by no more than this per m
    vec3 inner;   // the node deepest inside
    real depth;   // the field there, negative
};

SIM_FUNCTION FieldShape field_shape(const ModelView& m, int shape) {
    const int mesh = m.shape_mesh[shape];
    FieldShape f;
    for (int a = 0; a < 3; ++a) f.grid.blocks[a] = m.mesh_field_blocks[3 * mesh + a];
    f.grid.voxel = m.mesh_field_voxel[mesh];
    f.grid.inverse = reciprocal(f.grid.voxel);
    f.grid.coarse = &m.field_corner[m.mesh_field_corner_start[mesh]];
    f.grid.slot = &m.field_slot[m.mesh_field_block_start[mesh]];
    f.grid.values = &m.field_node[0];
    f.origin = load_vec3(&m.mesh_field_origin[3 * mesh]);
    f.slope = m.mesh_field_slope[mesh];
    f.inner = load_vec3(&m.mesh_field_inner[4 * mesh]);
    f.depth = m.mesh_field_inner[4 * mesh + 3];
    return f;
}

// ---- patches -----------------------------------------------------------------------------------------------------

enum PatchKind : int {
    PATCH_QUAD,      // corner[0] + u corner[1] + v corner[2]
    PATCH_TRIANGLE,  // u runs from corner[0] to the side across, v along that side
    PATCH_ROUND,     // quarter `side` of what lies between two circles about z: corner[i] is {radius, height, -}
    PATCH_BALL,      // what face `side` of a cube sees of an ellipsoid about corner[0] with semi-axes corner[1]:
                     // of the part of that face about corner[2] that goes to the nearest rim each way
};

// Seen from outside, u to v turns counter-clockwise on quads and triangles.
struct Patch {
    int kind, side;
    vec3 corner[3];
};

// What a part of a patch is within: middle + a along_u + b along_v, |a| and |b| at most 1, and `bulge` about that,
// square to the unit vector `normal` where that is not zero.
struct PatchPiece {
    vec3 middle, along_u, along_v;
    real bulge;
    vec3 normal;
};

SIM_INLINE vec3 quarter_axis(int side) {
    const int way = side & 3;
    return {way == 0 ? real(1) : way == 2 ? real(-1) : real(0), way == 1 ? real(1) : way == 3 ? real(-1) : real(0), 0};
}

// The part about (u, v) of half the sizes du, dv.
SIM_FUNCTION PatchPiece patch_piece(const Patch& p, real u, real v, real du, real dv) {
    const vec3 a = p.corner[0], b = p.corner[1], c = p.corner[2];
    const real t = real(0.5) * (u + 1), dt = real(0.5) * du;
    switch (p.kind) {
        case PATCH_QUAD: return {a + u * b + v * c, du * b, dv * c, 0, zero_vec3()};
        case PATCH_TRIANGLE: {
            const vec3 side = c - b, ray = multiply_add(real(0.5) * (v + 1), side, b) - a;
            return {multiply_add(t, ray, a), dt * ray, (real(0.5) * dv * t) * side, length(side) * dt * real(0.5) * dv,
                    normalize(cross(b - a, side))};
        }
        case PATCH_ROUND: {
            // n(v) = (e1 + v e2) / |..| turns by no more than dv, and its second derivative is at most 1
            const vec3 across = quarter_axis(p.side + 1);
            const real inverse = inverse_square_root(multiply_add(v, v, real(1)));
            const vec3 n = inverse * multiply_add(v, across, quarter_axis(p.side));
            const vec3 turning = inverse * multiply_add(-v * inverse, n, across);
            const real wider = b.x - a.x, radius = multiply_add(t, wider, a.x), rise = b.y - a.y;
            const vec3 middle = {radius * n.x, radius * n.y, multiply_add(t, rise, a.y)};
            const vec3 up = {wider * n.x, wider * n.y, rise};
            return {middle, dt * up, (dv * radius) * turning,
                    multiply_add(real(0.5) * maximum(a.x, b.x), dv * dv, absolute(wider) * dt * dv),
                    vec3{0, 0, 1}};
        }
        default: {
            // n = w / |w| over the cube's face; its second derivative along a unit direction is at most 1.62 there
            const int k = p.side >> 1, k1 = (k + 1) % 3, k2 = (k + 2) % 3;
            const real size1 = 1 - absolute(c[k1]), size2 = 1 - absolute(c[k2]), du1 = size1 * du, dv2 = size2 * dv;
            vec3 w, n1 = zero_vec3(), n2 = zero_vec3();
            w[k] = p.side & 1 ? real(-1) : real(1);
            w[k1] = multiply_add(size1, u, c[k1]);
            w[k2] = multiply_add(size2, v, c[k2]);
            const real inverse = inverse_square_root(dot(w, w));
            const vec3 n = inverse * w;
            n1[k1] = 1;
            n2[k2] = 1;
            n1 = inverse * multiply_add(-n[k1], n, n1);
            n2 = inverse * multiply_add(-n[k2], n, n2);
            const real most = maximum(b.x, maximum(b.y, b.z));
            return {a + multiply(b, n), du1 * multiply(b, n1), dv2 * multiply(b, n2),
                    real(0.81) * most * multiply_add(du1, du1, dv2 * dv2), zero_vec3()};
        }
    }
}

// The outward unit normal of a flat patch; zero of another.
SIM_FUNCTION vec3 patch_normal(const Patch& p) {
    if (p.kind == PATCH_QUAD) return normalize(cross(p.corner[1], p.corner[2]));
    if (p.kind != PATCH_TRIANGLE) return zero_vec3();
    return normalize(cross(p.corner[1] - p.corner[0], p.corner[2] - p.corner[0]));
}

SIM_INLINE Patch ball_patch(vec3 axes, int side) { return {PATCH_BALL, side, {zero_vec3(), axes, zero_vec3()}}; }
SIM_INLINE Patch half_ball_patch(real radius, real z, int side) {  // the half about (0, 0, z) that looks away from 0
    return {PATCH_BALL, side, {{0, 0, z}, {radius, radius, radius}, {0, 0, z < 0 ? real(-0.5) : real(0.5)}}};
}
SIM_INLINE Patch round_patch(real r0, real z0, real r1, real z1, int side) {
    return {PATCH_ROUND, side, {{r0, z0, 0}, {r1, z1, 0}, zero_vec3()}};
}

SIM_FUNCTION Patch box_patch(vec3 half, int side) {
    const int k = side >> 1;
    Patch p = {PATCH_QUAD, side, {zero_vec3(), zero_vec3(), zero_vec3()}};
    p.corner[0][k] = side & 1 ? -half[k] : half[k];
    p.corner[1][(k + 1) % 3] = half[(k + 1) % 3];
    p.corner[2][(k + 2) % 3] = side & 1 ? -half[(k + 2) % 3] : half[(k + 2) % 3];
    return p;
}

// Patches of a body that is no hull.
SIM_INLINE int patch_count(const Convex& c) {
    return c.kind == CONVEX_SEGMENT ? 14 : c.kind == CONVEX_CYLINDER ? 12 : c.kind == CONVEX_CONE ? 8 : 6;
}

SIM_FUNCTION Patch body_patch(const Convex& c, int i) {
    const real r = c.size.x, h = c.size.y;
    switch (c.kind) {
        case CONVEX_BOX: return box_patch(c.size, i);
        case CONVEX_ELLIPSOID: return ball_patch(c.size, i);
        case CONVEX_SEGMENT:
            if (i >= 10) return round_patch(c.radius, -h, c.radius, h, i);
            return half_ball_patch(c.radius, i < 5 ? h : -h, i < 5 ? i : i < 9 ? i - 5 : 5);
        case CONVEX_CYLINDER:
            if (i < 4) return round_patch(r, -h, r, h, i);
            return round_patch(0, i < 8 ? h : -h, r, i < 8 ? h : -h, i);
        case CONVEX_CONE: return round_patch(0, i < 4 ? h : -h, r, -h, i);
        default: return ball_patch({c.radius, c.radius, c.radius}, i);
    }
}

// No less than the patches of a body.
SIM_FUNCTION int most_patches(const Convex& c) {
    if (c.kind != CONVEX_HULL) return patch_count(c);
    const ModelView& m = *c.model;
    return m.hull_face_start[m.mesh_hull_face_start[c.mesh + 1]] - m.hull_face_start[m.mesh_hull_face_start[c.mesh]];
}

// Calls visit(number, patch) for all patches of a body.
template <class Visit>
SIM_FUNCTION void visit_patches(const Convex& c, Visit visit) {
    if (c.kind != CONVEX_HULL) {
        for (int i = 0; i < patch_count(c); ++i) visit(i, body_patch(c, i));
        return;
    }
    const ModelView& m = *c.model;
    const int point = m.mesh_hull_point_start[c.mesh];
    const bool mirrored = c.size.x * c.size.y * c.size.z < 0;
    int number = 0;
    for (int face = m.mesh_hull_face_start[c.mesh]; face < m.mesh_hull_face_start[c.mesh + 1]; ++face) {
        const int first = m.hull_face_start[face], corners = m.hull_face_start[face + 1] - first;
        for (int i = 2; i < corners; ++i, ++number) {
            const vec3 a = hull_point(c, m.hull_corner[first] - point);
            const vec3 b = hull_point(c, m.hull_corner[first + i - (mirrored ? 0 : 1)] - point);
            const vec3 d = hull_point(c, m.hull_corner[first + i - (mirrored ? 1 : 0)] - point);
            visit(number, Patch{PATCH_TRIANGLE, 0, {a, b, d}});
        }
    }
}

// ---- bounds ------------------------------------------------------------------------------------------------------

// The most that a by_u + b by_v falls below 0 where |a| and |b| are at most 1 and a u + b v is at most `room`: `falls`,
// or less by the dual of that linear program, whose best multiplier is one at which a factor vanishes.
SIM_INLINE real fall_within(real by_u, real by_v, real u, real v, real room, real falls) {
    for (int i = 0; i < 2; ++i) {
        const real by = i == 0 ? by_u : by_v, along = i == 0 ? u : v;
        if (!(by * along < 0)) continue;
        const real factor = divide(-by, along);
        const real dual = absolute(multiply_add(factor, u, by_u)) + absolute(multiply_add(factor, v, by_v)) +
                          factor * room;
        falls = minimum(falls, dual);
    }
    return falls;
}

// Below the field on the part of a piece that lies in one cell, or block without nodes. `extent`: half the size of the
// box about the piece.
SIM_FUNCTION real cell_bound(const SdfGrid& g, const PatchPiece& p, vec3 extent, const int* cell) {
    int block[3], node[3];
    for (int a = 0; a < 3; ++a) {
        block[a] = cell[a] / SDF_BLOCK;
        node[a] = cell[a] % SDF_BLOCK;
    }
    real v[8];
    const bool held = sdf_corners(g, block, node, v);
    const real scale = held ? g.inverse : g.inverse * real(1.0 / SDF_BLOCK);
    vec3 at;
    for (int a = 0; a < 3; ++a)
        at[a] = (p.middle[a] * g.inverse - real(held ? cell[a] : block[a] * SDF_BLOCK)) *
                (held ? real(1) : real(1.0 / SDF_BLOCK));
    const SdfSample s = trilinear(v, at.x, at.y, at.z);
    const vec3 slope = scale * s.gradient, e = scale * extent;
    const real xyz = ((v[7] - v[6]) - (v[5] - v[4])) - ((v[3] - v[2]) - (v[1] - v[0]));
    const real xy = multiply_add(at.z, xyz, (v[6] - v[4]) - (v[2] - v[0]));
    const real yz = multiply_add(at.x, xyz, (v[3] - v[2]) - (v[1] - v[0]));
    const real zx = multiply_add(at.y, xyz, (v[5] - v[4]) - (v[1] - v[0]));
    const real bent = absolute(xy) * e.x * e.y + absolute(yz) * e.y * e.z + absolute(zx) * e.z * e.x +
                      absolute(xyz) * e.x * e.y * e.z;
    const real by_u = dot(slope, p.along_u), by_v = dot(slope, p.along_v);
    real falls = absolute(by_u) + absolute(by_v);
    for (int a = 0; a < 3; ++a) {  // creases of the field are where cells meet: the part beyond them is not this one's
        const vec3 u = scale * p.along_u, w = scale * p.along_v;
        if (at[a] - e[a] < 0) falls = fall_within(by_u, by_v, -u[a], -w[a], at[a] + scale * p.bulge, falls);
        if (at[a] + e[a] > 1) falls = fall_within(by_u, by_v, u[a], w[a], 1 - at[a] + scale * p.bulge, falls);
    }
    real least = v[0];
    for (int c = 1; c < 8; ++c) least = minimum(least, v[c]);
    const real steep = length(multiply_add(-dot(slope, p.normal), p.normal, slope));
    return maximum(least, s.value - falls - steep * p.bulge - bent);
}

// Cells that a piece may lie in for its bound to be taken from them, along each axis.
constexpr int BOUND_CELLS = 2;

// Below the field on a piece; minus infinity where it lies in many cells or leaves the grid.
SIM_FUNCTION real piece_bound(const SdfGrid& g, const PatchPiece& p, vec3 extent) {
    int first[3], last[3];
    for (int a = 0; a < 3; ++a) {
        const real low = (p.middle[a] - extent[a]) * g.inverse, high = (p.middle[a] + extent[a]) * g.inverse;
        const bool inside = low >= 0 && high <= real(g.blocks[a] * SDF_BLOCK);
        if (!inside || high - low > real(BOUND_CELLS)) return -REAL_INFINITY;
        first[a] = to_int(floor_of(low));
        last[a] = to_int(floor_of(high));
        if (last[a] >= g.blocks[a] * SDF_BLOCK) last[a] = g.blocks[a] * SDF_BLOCK - 1;
        if (first[a] > last[a]) first[a] = last[a];
    }
    real least = REAL_INFINITY;
    int cell[3];
    for (cell[0] = first[0]; cell[0] <= last[0]; ++cell[0])
        for (cell[1] = first[1]; cell[1] <= last[1]; ++cell[1])
            for (cell[2] = first[2]; cell[2] <= last[2]; ++cell[2])
                least = minimum(least, cell_bound(g, p, extent, cell));
    return least;
}

// ---- search ------------------------------------------------------------------------------------------------------

constexpr int MOST_HALVINGS = 20;  // of each side: numbers of the square stay exact in float

// A piece of the square in the tree of its halves, which needs no memory: going up undoes going down exactly.
struct PatchWalk {
    real u = 0, v = 0, du = 1, dv = 1;
    int depth = 0;
    // a bit a level, the last one lowest: was v halved, is this the upper half, is it the second that is looked at
    uint64 across = 0, upper = 0, second = 0;

    SIM_INLINE void step(real way) {
        if (across & 1) v += way * dv;
        else u += way * du;
    }

    SIM_FUNCTION void down(bool halve_v, bool to_upper) {
        across = across << 1 | (halve_v ? 1u : 0u);
        upper = upper << 1 | (to_upper ? 1u : 0u);
        second <<= 1;
        if (halve_v) dv *= real(0.5);
        else du *= real(0.5);
        step(to_upper ? real(1) : real(-1));
        ++depth;
    }

    // To the next piece that is not part of this one; false: there is none.
    SIM_FUNCTION bool next() {
        for (; depth > 0; --depth) {
            const real back = upper & 1 ? real(-1) : real(1);
            if (!(second & 1)) {
                step(2 * back);
                upper ^= 1;
                second |= 1;
                return true;
            }
            step(back);
            if (across & 1) dv *= 2;
            else du *= 2;
            across >>= 1;
            upper >>= 1;
            second >>= 1;
        }
        return false;
    }
};

struct FieldMinimum {
    real value;
    vec3 point;  // from the first node of the grid
    real u, v;
    int code;    // of the part of the patch in which it was looked for
};

// Where a body stands in the frame of a grid.
struct FieldPlace {
    mat33 turn;
    vec3 shift;
};

SIM_FUNCTION FieldPlace field_place(const FieldShape& f, const Transform& field_pose, const Transform& pose) {
    return {mat33_from_quat(conjugate(field_pose.q) * pose.q), inverse_transform_point(field_pose, pose.p) - f.origin};
}

// How closely least values are looked for: to a part of a voxel, in rounds that each divide the tolerance by ROUND from
// FIRST_TOLERANCE on, since what is known of all of a surface tells where to look closer; and the most pieces looked at
// in one round, after which the least value found so far stands.
struct SearchEffort {
    real tolerance;
    int pieces;
};
#ifdef SIM_DOUBLE
inline constexpr SearchEffort CONTACT_SEARCH = {1e-5, 512}, DISTANCE_SEARCH = {1e-6, 8192};
#else
inline constexpr SearchEffort CONTACT_SEARCH = {1e-3f, 512}, DISTANCE_SEARCH = {2e-4f, 8192};
#endif
constexpr SearchEffort TRIANGLE_SEARCH = {real(1e-3), 128};  // of many small ones
constexpr real FIRST_TOLERANCE = real(0.1), ROUND = 10;

// Lower by more than round-off: of a flat valley the first point that is looked at stands.
constexpr real STEADY_VOXELS = real(2000) * REAL_EPSILON;

SIM_INLINE bool is_lower(const SdfGrid& g, real value, const FieldMinimum& best) {
    return value < multiply_add(-STEADY_VOXELS, g.voxel, best.value);
}

// A field and a patch of a body that stands in it.
struct PatchSearch {
    const FieldShape& f;
    const Patch& patch;
    const FieldPlace& at;

    SIM_INLINE PatchPiece piece(const PatchWalk& w) const {
        const PatchPiece p = patch_piece(patch, w.u, w.v, w.du, w.dv);
        return {at.turn * p.middle + at.shift, at.turn * p.along_u, at.turn * p.along_v, p.bulge, at.turn * p.normal};
    }

    SIM_FUNCTION void look_at(real u, real v, FieldMinimum& best) const {
        const vec3 x = at.turn * patch_piece(patch, u, v, 0, 0).middle + at.shift;
        const real value = sdf_sample(f.grid, x).value;
        if (is_lower(f.grid, value, best)) best = {value, x, u, v, best.code};
    }
};

// What is below the field on a piece; whether it is worth halving, across which side, and the half to look at first.
struct Halving {
    real bound;
    bool possible, across, to_upper;
};

// Looks at one piece: takes its middle if that is lower than `best`, and says whether the field may be below `target`
// on it. With `closely` by the cells that it lies in.
SIM_FUNCTION Halving look_at_piece(const PatchSearch& s, const PatchWalk& w, const PatchPiece& p, bool closely,
                                   real tolerance, FieldMinimum& best) {
    const SdfGrid& g = s.f.grid;
    const real u_size = length(p.along_u), v_size = length(p.along_v), size = u_size + v_size + p.bulge;
    const vec3 extent = absolute(p.along_u) + absolute(p.along_v) + p.bulge * vec3{1, 1, 1};
    const SdfSample sample = sdf_sample(g, p.middle);
    const real by_u = dot(sample.gradient, p.along_u), by_v = dot(sample.gradient, p.along_v);
    if (closely) {  // the middle, and the corner that lies lowest
        if (is_lower(g, sample.value, best)) best = {sample.value, p.middle, w.u, w.v, best.code};
        s.look_at(by_u > 0 ? w.u - w.du : w.u + w.du, by_v > 0 ? w.v - w.dv : w.v + w.dv, best);
    }
    bool inside = true;
    for (int a = 0; a < 3; ++a)
        inside = inside && p.middle[a] - extent[a] >= 0 &&
                 p.middle[a] + extent[a] <= real(g.blocks[a] * SDF_BLOCK) * g.voxel;
    const real target = best.value - tolerance;
    const bool across = v_size > u_size;
    real bound = multiply_add(-size, inside ? s.f.slope : s.f.slope + 1, sample.value);
    if (bound < target && closely) bound = maximum(bound, piece_bound(g, p, extent));
    const bool possible = bound < target && (across ? w.dv : w.du) > real(1.0 / (1 << MOST_HALVINGS));
    return {bound, possible, across, !((across ? by_v : by_u) > 0)};
}

constexpr int MOST_DESCENTS = 200;

// Goes from the lowest point known to lower ones about it, in steps that are halved where there is none.
SIM_STAGE void descend(const PatchSearch& s, const PatchWalk& part, FieldMinimum& best) {
    real step = real(1.0 / 16);
    for (int i = 0; i < MOST_DESCENTS && step > real(1.0 / (1 << MOST_HALVINGS)); ++i) {
        const FieldMinimum from = best;
        for (int a = -1; a <= 1; ++a)
            for (int b = -1; b <= 1; ++b) {
                const real u = multiply_add(real(a) * step, part.du, from.u);
                const real v = multiply_add(real(b) * step, part.dv, from.v);
                s.look_at(clamp(u, part.u - part.du, part.u + part.du), clamp(v, part.v - part.dv, part.v + part.dv),
                          best);
            }
        if (!(best.value < from.value)) step *= real(0.5);
    }
}

// The least value on a part of a patch, where it is below best.value.
SIM_STAGE void search_part(const PatchSearch& s, const PatchWalk& part, SearchEffort effort, FieldMinimum& best) {
    for (real tolerance = FIRST_TOLERANCE;; tolerance = maximum(effort.tolerance, divide(tolerance, ROUND))) {
        PatchWalk walk;
        walk.u = part.u, walk.v = part.v, walk.du = part.du, walk.dv = part.dv;
        int left = effort.pieces;
        real floor = REAL_INFINITY;
        for (bool more = true; more;) {
            const Halving half = look_at_piece(s, walk, s.piece(walk), true, tolerance * s.f.grid.voxel, best);
            if (half.possible && --left > 0) {
                walk.down(half.across, half.to_upper);
            } else {
                floor = minimum(floor, half.bound);
                more = walk.next();
            }
        }
        if (left <= 0 && tolerance == effort.tolerance) descend(s, part, best);
        if (tolerance == effort.tolerance || floor >= best.value - effort.tolerance * s.f.grid.voxel) return;
    }
}

// Calls take(minimum) for the least value below `limit` on each part of the patch of about the size `part` (m). `part`
// infinite: once, for all of it. Codes of parts are below 1 << code_bits: what has more parts has larger ones.
template <class Take>
SIM_FUNCTION void search_patch(const FieldShape& f, const Patch& patch, const FieldPlace& at, SearchEffort effort,
                               real limit, real part, int code_bits, Take& take) {
    const PatchSearch s = {f, patch, at};
    PatchWalk walk;
    for (bool more = true; more; more = walk.next()) {
        PatchPiece p = s.piece(walk);
        FieldMinimum best = {limit, zero_vec3(), 0, 0, 0};
        Halving half = look_at_piece(s, walk, p, false, 0, best);
        while (half.possible && walk.depth + 1 < code_bits &&
               length(p.along_u) + length(p.along_v) + p.bulge > part) {
            walk.down(half.across, half.to_upper);
            p = s.piece(walk);
            half = look_at_piece(s, walk, p, false, 0, best);
        }
        if (!half.possible) continue;
        best.code = int(1u << walk.depth | unsigned(walk.upper));
        search_part(s, walk, effort, best);
        if (best.value < limit) take(best);
    }
}
