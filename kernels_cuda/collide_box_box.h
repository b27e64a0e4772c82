// Contacts of two boxes: the axis of least overlap by separating axes (Gottschalk, Lin and Manocha 1996), then one face
// clipped against the other, or the nearest points of two edges. Boxes apart that no axis measures exactly (edge beyond
// an end, corner to corner) touch at their nearest points.
#pragma once

#include "collide_box.h"

// Two boxes in world axes, the second from the first one's centre; rows of a and b are their axes.
struct BoxPair {
    mat33 a, b;
    vec3 ha, hb;
    vec3 offset;
    mat33 turn;  // turn[i][j] = a_i . b_j

    SIM_FUNCTION BoxPair(const PlacedShape& first, const PlacedShape& second)
        : a(transpose(mat33_from_quat(first.pose.q))), b(transpose(mat33_from_quat(second.pose.q))), ha(first.size),
          hb(second.size), offset(second.pose.p - first.pose.p), turn(a * transpose(b)) {}
};

// Axes: 0 to 2 faces of the first, 3 to 5 of the second, 6 + 3 i + j the product of edges i and j.
struct BoxAxis {
    int code;
    real separation;  // negative: the overlap
    vec3 normal;      // from the first to the second, in the world
};

// Separation along the product of edge i of the first and edge j of the second; `normal` in the first one's axes.
// The components of a_i x b_j are elements of `turn`, so it has its digits when the edges are nearly parallel.
SIM_FUNCTION bool edge_separation(const BoxPair& s, vec3 offset, int i, int j, real& separation, vec3& normal) {
    const int i1 = (i + 1) % 3, i2 = (i + 2) % 3, j1 = (j + 1) % 3, j2 = (j + 2) % 3;
    const real c1 = -s.turn[i2][j], c2 = s.turn[i1][j];  // components along a_i1 and a_i2
    const real size_squared = multiply_add(c1, c1, c2 * c2);
    if (size_squared < PARALLEL_EDGE_SINE_SQUARED) return false;
    const real scale = inverse_square_root(size_squared);
    const real middle = multiply_add(offset[i1], c1, offset[i2] * c2);
    const real first = multiply_add(s.ha[i1], absolute(c1), s.ha[i2] * absolute(c2));
    const real second = multiply_add(s.hb[j1], absolute(s.turn[i][j2]), s.hb[j2] * absolute(s.turn[i][j1]));
    separation = scale * (absolute(middle) - first - second);
    const real sign = middle < 0 ? -scale : scale;
    normal = sign * (c1 * unit_vector(i1) + c2 * unit_vector(i2));
    return true;
}

// The axis of the largest separation; ends early where one reaches `reach`. Of nearly equal ones a face of the first is
// taken before one of the second, and these before edges: the choice must be beaten by FACE_PREFERENCE of the smallest
// half extent, so that resting boxes keep their manifold.
SIM_FUNCTION BoxAxis least_overlap(const BoxPair& s, real reach) {
    const vec3 in_a = s.a * s.offset, in_b = s.b * s.offset;
    const vec3 smaller = minimum(s.ha, s.hb);
    const real preference = FACE_PREFERENCE * minimum(minimum(smaller.x, smaller.y), smaller.z);
    BoxAxis best = {0, -REAL_INFINITY, s.a.x};
    real to_beat = -REAL_INFINITY;
    for (int i = 0; i < 3; ++i) {
        const real separation = absolute(in_a[i]) - s.ha[i] - dot(s.hb, absolute(s.turn[i]));
        if (separation > to_beat) best = {i, separation, in_a[i] < 0 ? -s.a[i] : s.a[i]}, to_beat = separation;
    }
    if (best.separation >= reach) return best;
    to_beat += preference;
    for (int j = 0; j < 3; ++j) {
        const real separation = absolute(in_b[j]) - s.hb[j] - dot(s.ha, absolute(column(s.turn, j)));
        if (separation > to_beat) best = {3 + j, separation, in_b[j] < 0 ? -s.b[j] : s.b[j]}, to_beat = separation;
    }
    to_beat = maximum(to_beat, best.separation + preference);
    SIM_ROLLED
    for (int k = 0; k < 9 && best.separation < reach; ++k) {
        real separation;
        vec3 normal;
        if (!edge_separation(s, in_a, k / 3, k % 3, separation, normal) || !(separation > to_beat)) continue;
        best = {6 + k, separation, transpose_multiply(s.a, normal)};
        to_beat = separation;
    }
    return best;
}

// A face of one box and the most opposed face of the other, in the axes of the first: x and y along its edges, z along
// its outward normal, from its middle.
struct FacePair {
    vec3 x, y, z, middle;   // world axes; `middle` of the face, from the centre of the pair's first box
    real half_x, half_y;
    vec3 centre, e1, e2;    // of the opposed face: middle and half edges
    real scale;             // 1 / (e1 x e2).z, which is no less than 1/sqrt(3) of the face's quarter
    real smallest;          // half extent of the two faces
    bool flipped;           // the face is the second shape's

    // (x, y) = centre + s e1 + t e2
    SIM_INLINE real along_e1(real px, real py) const {
        return scale * multiply_add(px - centre.x, e2.y, -((py - centre.y) * e2.x));
    }
    SIM_INLINE real along_e2(real px, real py) const {
        return scale * multiply_add(py - centre.y, e1.x, -((px - centre.x) * e1.y));
    }
    // of the opposed face's plane over (x, y)
    SIM_INLINE real height(real px, real py) const {
        return multiply_add(along_e1(px, py), e1.z, multiply_add(along_e2(px, py), e2.z, centre.z));
    }
};

SIM_FUNCTION FacePair face_pair(const BoxPair& s, const BoxAxis& axis) {
    FacePair f;
    f.flipped = axis.code >= 3;
    const int k = axis.code % 3, k1 = (k + 1) % 3, k2 = (k + 2) % 3;
    const mat33 own = f.flipped ? s.b : s.a, other = f.flipped ? s.a : s.b;
    const vec3 own_h = f.flipped ? s.hb : s.ha, other_h = f.flipped ? s.ha : s.hb;
    f.x = own[k1];
    f.y = own[k2];
    f.z = f.flipped ? -axis.normal : axis.normal;
    f.half_x = own_h[k1];
    f.half_y = own_h[k2];
    f.middle = multiply_add(own_h[k], f.z, f.flipped ? s.offset : zero_vec3());

    const vec3 along = other * f.z;
    const int m = longest_axis(along);
    const int m1 = (m + 1) % 3, m2 = (m + 2) % 3;
    const vec3 to_face = (along[m] > 0 ? -other_h[m] : other_h[m]) * other[m];
    const vec3 face = to_face + (f.flipped ? zero_vec3() : s.offset) - f.middle;
    const vec3 d1 = other_h[m1] * other[m1], d2 = other_h[m2] * other[m2];
    f.centre = {dot(face, f.x), dot(face, f.y), dot(face, f.z)};
    f.e1 = {dot(d1, f.x), dot(d1, f.y), dot(d1, f.z)};
    f.e2 = {dot(d2, f.x), dot(d2, f.y), dot(d2, f.z)};
    f.scale = reciprocal(multiply_add(f.e1.x, f.e2.y, -(f.e1.y * f.e2.x)));
    f.smallest = minimum(minimum(f.half_x, f.half_y), minimum(other_h[m1], other_h[m2]));
    return f;
}

constexpr int BOX_CONTACTS = 8;

// The corners of a manifold found so far. One nearer than `merge` to an earlier one is left out.
struct Manifold {
    real x[BOX_CONTACTS], y[BOX_CONTACTS];
    real merge;
    real lowest;
    int count;

    SIM_FUNCTION bool is_new(real px, real py) const {
        bool result = count < BOX_CONTACTS;
        for (int i = 0; i < count; ++i) {
            const real dx = px - x[i], dy = py - y[i];
            if (multiply_add(dx, dx, dy * dy) < merge * merge) result = false;
        }
        return result;
    }
};

// Corners of a manifold that are nearer to each other than this part of the smallest half extent are one.
constexpr real MERGED_CORNERS = real(1e-3);
// Room for round-off, as a part of the face.
constexpr real CORNER_TOLERANCE = 64 * REAL_EPSILON;

// Adds the point of the opposed face's plane over (x, y), moved onto the face, to the manifold and writes it.
template <class Writer>
SIM_FUNCTION void face_point(const BoxAxis& axis, const FacePair& f, vec3 first_centre, int feature, real px, real py,
                             Manifold& manifold, Writer& write) {
    const real x = clamp(px, -f.half_x, f.half_x), y = clamp(py, -f.half_y, f.half_y);
    if (!manifold.is_new(x, y)) return;
    manifold.x[manifold.count] = x;
    manifold.y[manifold.count] = y;
    ++manifold.count;
    const real distance = f.height(x, y);
    manifold.lowest = minimum(manifold.lowest, distance);
    const vec3 on_face = multiply_add(x, f.x, multiply_add(y, f.y, f.middle));
    const vec3 point0 = f.flipped ? multiply_add(distance, f.z, on_face) : on_face;
    write(16 * axis.code + feature, first_centre + point0, axis.normal, distance);
}

// Cuts low .. high down to where |p + t d| <= half; false where nothing is left. An edge that runs along the side, to
// within `merge`, counts as inside up to half of that beyond it: so faces that lie flush do not meet at points of
// their round-off somewhere along the side.
SIM_FUNCTION bool cut_edge(real p, real d, real half, real merge, real& low, real& high) {
    const real limit = absolute(d) < merge ? multiply_add(real(0.5), merge, half) : half;
    if (absolute(d) < CORNER_TOLERANCE * half) return absolute(p) <= limit;
    const real t0 = divide(-limit - p, d), t1 = divide(limit - p, d);
    low = maximum(low, minimum(t0, t1));
    high = minimum(high, maximum(t0, t1));
    return low <= high;
}

// Where edge i of the opposed face begins over the face, or ends over it; false where no part of it is over the face.
SIM_FUNCTION bool clipped_end(const FacePair& f, real merge, int i, bool end, real& x, real& y) {
    const auto corner = [&](int k) {
        const real s1 = k == 0 || k == 3 ? real(1) : real(-1), s2 = k < 2 ? real(1) : real(-1);
        return multiply_add(s1, f.e1, multiply_add(s2, f.e2, f.centre));
    };
    const vec3 from = corner(i), d = corner((i + 1) % 4) - from;
    real low = 0, high = 1;
    if (!cut_edge(from.x, d.x, f.half_x, merge, low, high)) return false;
    if (!cut_edge(from.y, d.y, f.half_y, merge, low, high)) return false;
    x = multiply_add(end ? high : low, d.x, from.x);
    y = multiply_add(end ? high : low, d.y, from.y);
    return true;
}

// Corner i of the face; false where it is not over the opposed one.
SIM_FUNCTION bool covered_corner(const FacePair& f, int i, real& x, real& y) {
    x = i == 0 || i == 3 ? f.half_x : -f.half_x;
    y = i < 2 ? f.half_y : -f.half_y;
    const real most = maximum(absolute(f.along_e1(x, y)), absolute(f.along_e2(x, y)));
    return most <= 1 + CORNER_TOLERANCE;
}

// The opposed face clipped against the face: the beginnings (features 0, 2, 4, 6) and ends (1, 3, 5, 7) of its edges
// over the face, then the corners of the face that are over the opposed one (8 to 11).
template <class Writer>
SIM_FUNCTION void clip_faces(const BoxAxis& axis, const FacePair& f, vec3 first_centre, Manifold& manifold,
                             Writer& write) {
    SIM_ROLLED
    for (int k = 0; k < 12; ++k) {
        real x, y;
        if (k < 8 ? clipped_end(f, manifold.merge, k / 2, k % 2 == 1, x, y) : covered_corner(f, k - 8, x, y))
            face_point(axis, f, first_centre, k, x, y, manifold, write);
    }
}

// Returns the least distance found.
template <class Writer>
SIM_FUNCTION real collide_faces(const BoxPair& s, const BoxAxis& axis, vec3 first_centre, Writer& write) {
    const FacePair f = face_pair(s, axis);
    Manifold manifold = {{}, {}, MERGED_CORNERS * f.smallest, REAL_INFINITY, 0};
    clip_faces(axis, f, first_centre, manifold, write);
    return manifold.lowest;
}

// The corner of a box furthest along a direction, from its centre; rows of `axes` are its axes.
SIM_FUNCTION vec3 furthest_corner(const mat33& axes, vec3 h, vec3 direction) {
    const vec3 d = axes * direction;
    return transpose_multiply(axes, {end_towards(h.x, d.x), end_towards(h.y, d.y), end_towards(h.z, d.z)});
}

// Nearest points of the lines through the two edges. False where these lie beyond an end of an edge.
template <class Writer>
SIM_FUNCTION bool collide_edges(const BoxPair& s, const BoxAxis& axis, vec3 first_centre, Writer& write) {
    const int i = (axis.code - 6) / 3, j = (axis.code - 6) % 3;
    const vec3 u = s.a[i], v = s.b[j];
    const vec3 p = furthest_corner(s.a, s.ha, axis.normal), q = s.offset + furthest_corner(s.b, s.hb, -axis.normal);
    const vec3 side = cross(v, axis.normal);  // across the second edge, in the common plane
    const real t = divide(dot(q - p, side), dot(u, side));
    // from the corner to the middle of the edge, and along it no further than its ends
    const real middle = -dot(p, u), along = clamp(t, middle - s.ha[i], middle + s.ha[i]);
    const vec3 point = multiply_add(along, u, p);
    const real second = dot(point - s.offset, v);
    write(16 * axis.code, first_centre + point, axis.normal, axis.separation);
    const real room = CORNER_TOLERANCE * (s.ha[i] + s.hb[j]);
    return absolute(t - along) <= room && absolute(second) <= s.hb[j] + room;
}

// The nearest points of two boxes that are apart, one of which is on an edge: all edges of each against the other.
template <class Writer>
SIM_FUNCTION void nearest_of_boxes(const PlacedShape& first, const PlacedShape& second, Writer& write) {
    real best = REAL_INFINITY;
    vec3 point0 = zero_vec3(), towards = zero_vec3();
    SIM_ROLLED
    for (int k = 0; k < 24; ++k) {
        const bool of_first = k < 12;
        const PlacedShape& edged = of_first ? first : second;
        const PlacedShape& box = of_first ? second : first;
        const int i = k % 12 / 4, i1 = (i + 1) % 3, i2 = (i + 2) % 3;
        const real side1 = k & 1 ? edged.size[i1] : -edged.size[i1], side2 = k & 2 ? edged.size[i2] : -edged.size[i2];
        const vec3 middle = side1 * unit_vector(i1) + side2 * unit_vector(i2);
        const BoxSegment edge = {inverse_transform_point(box.pose, transform_point(edged.pose, middle)),
                                 inverse_rotate(box.pose.q, rotate(edged.pose.q, unit_vector(i))), edged.size[i]};
        const vec3 nearest = edge.at(nearest_to_box(edge, box.size)), excess = box_excess(nearest, box.size);
        const real size = length(excess);
        if (!(size < best)) continue;
        best = size;
        point0 = transform_point(box.pose, of_first ? nearest : nearest - excess);
        towards = rotate(box.pose.q, of_first ? -excess : excess);
    }
    if (best > SMALLEST_SEPARATION) write(16 * 15, point0, reciprocal(best) * towards, best);
}

// A manifold of boxes apart stands if its deepest point is deepest to this part of the reach.
constexpr real APART_TOLERANCE = real(0.01);

// At most 8 contacts. Features: 16 times the code of the axis (15: nearest points), plus the number of the corner.
template <class Writer>
SIM_STAGE void collide_box_box(const PlacedShape& first, const PlacedShape& second, Writer& write) {
    const BoxPair s(first, second);
    const BoxAxis axis = least_overlap(s, write.reach);
    if (!(axis.separation < write.reach)) return;
    const vec3 centre = first.pose.p;
    bool exact;
    if (axis.code < 6) {
        const real lowest = collide_faces(s, axis, centre, write);
        exact = lowest <= multiply_add(APART_TOLERANCE, write.reach, axis.separation);
        if (!(axis.separation > 0) && !(lowest < write.reach)) {
            // the faces do not lie over each other: the deepest corner
            const vec3 second = s.offset + furthest_corner(s.b, s.hb, -axis.normal);
            const vec3 corner = axis.code < 3 ? multiply_add(-axis.separation, axis.normal, second)
                                              : furthest_corner(s.a, s.ha, axis.normal);
            write(16 * axis.code + 12, centre + corner, axis.normal, axis.separation);
        }
    } else {
        exact = collide_edges(s, axis, centre, write);
    }
    if (axis.separation > 0 && !exact) {
        write.restart();
        nearest_of_boxes(first, second, write);
    }
}
