// Ways by which all of one overlapping mesh leaves all of the other, and that which the lines of their crossing tell.
#pragma once

#include "mesh_overlap_ways.h"

// Of surfaces that cross with no features that have passed each other: the way in which what both hold grows less
// fastest, as long as the lines in which they cross are high. It is the area vector of the first's part in the second,
// which is that of its outline: half the sum of p x q over the pieces p to q of those lines. In whole numbers: the
// order of the pieces does not matter. Where the lines cancel each other (a rod that goes all the way through a plate)
// what is left is round-off, which tells no way.
SIM_STAGE OverlapWay way_of_crossing(const MeshOverlap& o, real radius) {
    const vec3 middle = real(0.5) * (o.lower + o.upper);
    const real size = length(o.upper - o.lower), scale = divide(real(1 << 28), size * size);
    const real rounding = multiply_add(4 * REAL_EPSILON * scale, size * radius, real(1));  // of a piece
    int64 area[3] = {0, 0, 0};
    int pieces = 0;
    OverlapWay way = {zero_vec3(), zero_vec3(), 0, REAL_INFINITY, {0, 0}, {-1, -1}, {NO_WAY, 0, 0}};
    const auto visit_lines = [&](auto visit) {
        o.side[1].visit(o.lower, o.upper, [&](int tb) {
            const Triangle b = o.side[1].triangle(tb);
            visit_crossing(o, o.side[0], b, [&](int ta) {
                const Triangle a = o.side[0].triangle(ta);
                vec3 from, to;
                if (!crossing_line(a, b, from, to)) return;
                const bool forth = dot(to - from, cross(a.normal, b.normal)) > 0;
                visit(ta, tb, forth ? from : to, forth ? to : from);
            });
        });
    };
    visit_lines([&](int, int, vec3 from, vec3 to) {
        const vec3 part = scale * cross(from - middle, to - middle);
        for (int i = 0; i < 3; ++i) area[i] += to_int(part[i]);
        ++pieces;
    });
    const vec3 sum = {real(area[0]), real(area[1]), real(area[2])};
    if (!(length(sum) > rounding * real(pieces))) return way;
    way.normal = normalize(sum);
    real lowest = REAL_INFINITY, highest = -REAL_INFINITY;
    visit_lines([&](int ta, int tb, vec3 from, vec3 to) {
        const real low = minimum(dot(way.normal, from), dot(way.normal, to)), high = dot(way.normal, from);
        lowest = minimum(lowest, low);
        const WayName name = {2, ta, tb};
        if (!(high > highest || (high == highest && name.before(way.name)))) return;
        highest = high;
        way.point = from;
        way.triangle[0] = ta, way.triangle[1] = tb, way.name = name;
    });
    way.depth = way.left = highest - lowest;
    way.sense[0] = o.side[0].sense, way.sense[1] = o.side[1].sense;
    return way;
}

// The point of a mesh that is furthest along a direction, in the frame.
SIM_STAGE vec3 furthest_point(const OverlapSide& s, vec3 way) {
    const ModelView& m = *s.mesh.model;
    const vec3 own = transpose_multiply(s.turn, way), along = multiply(s.mesh.scale, own);
    const real start = dot(own, s.origin);
    real highest = -REAL_INFINITY;
    vec3 best = zero_vec3();
    const auto may_be_higher = [&](int node) {
        const vec3 lower = multiply(along, load_vec3(&m.mesh_lower[3 * node])),
                   upper = multiply(along, load_vec3(&m.mesh_upper[3 * node])), top = maximum(lower, upper);
        const vec3 size = maximum(absolute(lower), absolute(upper));
        const real slack = real(16) * REAL_EPSILON * (size.x + size.y + size.z + absolute(start));
        return top.x + top.y + top.z - start + slack >= highest;
    };
    visit_leaves(s.mesh, may_be_higher, [&](int t) {
        for (int i = 0; i < 3; ++i) {
            const vec3 p = s.corner(t, i);
            const real height = dot(way, p);
            if (!(height > highest || (height == highest && compare(p, best) < 0))) continue;
            highest = height;
            best = p;
        }
    });
    return best;
}

// Along the normal of a face of mesh k which the other one crosses: by how much that has to go until all of it is in
// front of all of mesh k.
SIM_STAGE void way_by_whole_face(const MeshOverlap& o, int k, int t, const Triangle& face, int across,
                                 OverlapWay& best) {
    const vec3 n = face.normal, own = furthest_point(o.side[k], n);
    // where it crosses the face it is behind it
    if (dot(n, own - face.corner[0]) - o.clear > best.depth) return;
    const vec3 lowest = furthest_point(o.side[1 - k], -n);
    const real depth = dot(n, own - lowest);
    const vec3 normal = k == 0 ? n : -n;
    const WayName name = {k, t, across};
    const int by_normal = compare(normal, best.normal);
    const bool first = by_normal < 0 || (by_normal == 0 && name.before(best.name));
    if (!(depth < best.depth || (depth == best.depth && first))) return;
    best.normal = normal;
    best.name = name;
    best.depth = best.left = depth;
    best.point = k == 0 ? multiply_add(depth, n, lowest) : lowest;
    best.triangle[k] = t, best.triangle[1 - k] = across;
}

// The least triangle of mesh 1 - k that crosses triangle t of mesh k; -1: none.
SIM_FUNCTION int triangle_crossing(const MeshOverlap& o, int k, const Triangle& triangle) {
    int first = -1;
    visit_crossing(o, o.side[1 - k], triangle, [&](int u) {
        if ((first < 0 || u < first) && triangles_cross(triangle, o.side[1 - k].triangle(u))) first = u;
    });
    return first;
}

// The shortest way along the normal of a closed mesh's face that is crossed, by which all of the second mesh leaves all
// of the first. However they are shaped and have passed each other, they need go no further.
SIM_STAGE OverlapWay way_of_wholes(const MeshOverlap& o) {
    OverlapWay best;
    best.depth = best.left = REAL_INFINITY;
    best.normal = zero_vec3();
    best.name = {NO_WAY, 0, 0};
    for (int k = 0; k < 2; ++k) best.sense[k] = o.side[k].sense;
    for (int k = 0; k < 2; ++k)
        if (o.side[k].solid) o.side[k].visit(o.lower, o.upper, [&](int t) {
            const Triangle face = o.side[k].triangle(t);
            if (is_zero(face.normal)) return;
            const int across = triangle_crossing(o, k, face);
            if (across >= 0) way_by_whole_face(o, k, t, face, across, best);
        });
    return best;
}

// Is a point in front of or behind a triangle as seen along n?
SIM_FUNCTION bool is_over(const Triangle& t, vec3 p, vec3 n) {
    int sign = 0;
    for (int i = 0; i < 3; ++i) {
        const real area = dot(n, cross(t.corner[i] - p, t.corner[(i + 1) % 3] - p));
        sign += (area > 0) - (area < 0);
    }
    return sign == 3 || sign == -3;
}

// How far triangle b goes along n until all of it is beyond a, at the point of a that it leaves last; negative
// infinity: it passes by. Where the two lie over each other as seen along n: at a corner of one, or where two edges
// cross.
SIM_STAGE real shift_beyond(const Triangle& a, const Triangle& b, vec3 n, vec3& last) {
    real most = -REAL_INFINITY;
    const auto look = [&](real shift, vec3 point) {
        if (!(shift > most)) return;
        most = shift;
        last = point;
    };
    const real facing_a = dot(a.normal, n), facing_b = dot(b.normal, n);
    const auto faces = [](real facing) { return absolute(facing) > CROSSED_EDGES; };
    for (int i = 0; i < 3; ++i) {
        const vec3 pa = a.corner[i], pb = b.corner[i];
        if (faces(facing_a) && is_over(a, pb, n)) {
            const real shift = divide(dot(a.normal, a.corner[0] - pb), facing_a);
            look(shift, multiply_add(shift, n, pb));
        }
        if (faces(facing_b) && is_over(b, pa, n)) look(divide(dot(b.normal, pa - b.corner[0]), facing_b), pa);
        const vec3 ea = a.corner[(i + 1) % 3] - pa;
        for (int j = 0; j < 3; ++j) {
            const vec3 eb = b.corner[(j + 1) % 3] - b.corner[j], between = b.corner[j] - pa, across = cross(ea, eb);
            const real size = dot(across, n), along_a = dot(cross(between, eb), n),
                       along_b = dot(cross(between, ea), n);
            const auto is_within = [&](real x) { return size > 0 ? x >= 0 && x <= size : x <= 0 && x >= size; };
            const bool crossed = size * size > CROSSED_EDGES * CROSSED_EDGES * (dot(ea, ea) * dot(eb, eb));
            if (!crossed || !is_within(along_a) || !is_within(along_b)) continue;
            look(-divide(dot(between, across), size), multiply_add(divide(along_a, size), ea, pa));
        }
    }
    return most;
}

// The way along n by which all of the second of two closed meshes comes beyond all of the first; left is infinite where
// it is not shorter than `most`.
SIM_STAGE OverlapWay way_along(const MeshOverlap& o, vec3 n, real most) {
    OverlapWay way;
    way.depth = 0;
    way.left = REAL_INFINITY;
    way.normal = n;
    way.name = {NO_WAY, 0, 0};
    for (int k = 0; k < 2; ++k) way.sense[k] = o.side[k].sense;
    if (is_zero(n)) return way;
    vec3 lower, upper;
    box_in_frame(o, 0, lower, upper);
    const real slack = CLEARED_PART * o.far;  // above the round-off of what is seen nearly edge on
    const vec3 far = o.far * n;
    o.side[1].visit(minimum(lower, lower - far), maximum(upper, upper - far), [&](int tb) {
        if (!(way.depth < most)) return;
        const Triangle b = o.side[1].triangle(tb);
        const vec3 low = least_corner(b), high = largest_corner(b), near = (way.depth - slack) * n;
        const vec3 from = minimum(low + near, low + far), to = maximum(high + near, high + far);
        TurnedBox column = box_about(b, n);
        column.lower[2] += way.depth - slack;
        column.upper[2] += o.far;
        o.side[0].visit(maximum(from, lower), minimum(to, upper), column, rounding(o), [&](int ta) {
            vec3 last;
            const real shift = shift_beyond(o.side[0].triangle(ta), b, n, last);
            const WayName name = {2, ta, tb};
            if (!(shift > way.depth || (shift == way.depth && name.before(way.name)))) return;
            way.depth = shift;
            way.point = last;
            way.triangle[0] = ta, way.triangle[1] = tb, way.name = name;
        });
    });
    if (way.depth > 0 && way.depth < most) way.left = way.depth;
    return way;
}

// The shortest way that is known by which all of one mesh leaves all of the other: along the normal of a face that is
// crossed or, of closed meshes, along that of the crossing. That one then becomes as long as it has to be, if it is not
// much longer.
SIM_STAGE OverlapWay way_of_all(const MeshOverlap& o, OverlapWay& crossing) {
    const OverlapWay whole = way_of_wholes(o);
    if (!o.side[0].solid || !o.side[1].solid) return whole;
    const OverlapWay along = way_along(o, crossing.normal, whole.left);
    if (along.left < LATER_FACTOR * crossing.left) crossing = along;
    return along.left < whole.left ? along : whole;
}
