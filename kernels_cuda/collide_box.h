// Contacts of a sphere and of a capsule with a box. Worked in the box's axes, from its centre; h are the half extents.
#pragma once

#include "collide_shape.h"

// from the nearest point of the box to p; zero inside
SIM_INLINE vec3 box_excess(vec3 p, vec3 h) {
    return {p.x - clamp(p.x, -h.x, h.x), p.y - clamp(p.y, -h.y, h.y), p.z - clamp(p.z, -h.z, h.z)};
}

SIM_INLINE vec3 unit_vector(int axis) { return {real(axis == 0), real(axis == 1), real(axis == 2)}; }

// How far a point lies outside the box, negative inside, and the normal away from the box there. Inside it is that of
// the nearest face; of equally near ones the first of x, y, z, on the positive side at the middle.
struct BoxSurface {
    real distance;
    vec3 normal;
};

SIM_FUNCTION BoxSurface box_surface(vec3 p, vec3 h) {
    const vec3 excess = box_excess(p, h);
    const real size = length(excess);
    if (size > SMALLEST_SEPARATION) return {size, reciprocal(size) * excess};
    const vec3 depth = absolute(p) - h;
    int axis = depth.y > depth.x ? 1 : 0;
    axis = depth.z > depth[axis] ? 2 : axis;
    return {depth[axis], p[axis] < 0 ? -unit_vector(axis) : unit_vector(axis)};
}

// A sphere of radius r about p, given in the box's axes, as first shape.
template <class Writer>
SIM_FUNCTION void ball_box_contact(int feature, vec3 p, real r, const PlacedShape& box, Writer& write) {
    const BoxSurface surface = box_surface(p, box.size);
    write(feature, transform_point(box.pose, multiply_add(-r, surface.normal, p)), rotate(box.pose.q, -surface.normal),
          surface.distance - r);
}

template <class Writer>
SIM_STAGE void collide_sphere_box(const PlacedShape& sphere, const PlacedShape& box, Writer& write) {
    ball_box_contact(0, inverse_transform_point(box.pose, sphere.pose.p), sphere.size.x, box, write);
}

// A segment p + t u, |t| <= end, u a unit vector, in the axes of a box.
struct BoxSegment {
    vec3 p, u;
    real end;

    SIM_INLINE vec3 at(real t) const { return multiply_add(t, u, p); }
};

// The t whose point is nearest to the box: the zero of half the slope of the squared distance,
// g(t) = sum over the axes of excess(p + t u) u, which bends where the line crosses the planes of the faces.
SIM_FUNCTION real nearest_to_box(const BoxSegment& s, vec3 h) {
    const auto slope = [&](real t) { return dot(box_excess(s.at(t), h), s.u); };
    RisingZero root(s.end, slope);
    SIM_ROLLED
    for (int i = 0; i < 6; ++i) {
        const real u = s.u[i % 3], to_face = (i < 3 ? h[i % 3] : -h[i % 3]) - s.p[i % 3];
        if (!(absolute(u) > REAL_EPSILON)) continue;
        const real t = divide(to_face, u);
        if (root.wants(t)) root.look(t, slope(t));
    }
    return root.zero();
}

// An interval of t; empty where high < low.
struct Stretch {
    real low, high;
};

// The part of it where the segment lies between the two faces across an axis.
SIM_INLINE void cut_to_slab(Stretch& part, const BoxSegment& s, vec3 h, int axis) {
    const real u = s.u[axis], p = s.p[axis], half = h[axis];
    if (!(absolute(u) > REAL_EPSILON)) {
        if (absolute(p) > half) part.high = part.low - 1;
        return;
    }
    const real t0 = divide(-half - p, u), t1 = divide(half - p, u);
    part.low = maximum(part.low, minimum(t0, t1));
    part.high = minimum(part.high, maximum(t0, t1));
}

// A direction runs along a face or an edge when its component along the normal is below this.
constexpr real ALONG_COMPONENT = real(0.1);

// The axis is outside the box: its nearest point. A capsule that lies along a face or an edge touches at both ends of
// the common stretch, as long as one of these two is the deepest point (LINE_TOLERANCE).
template <class Writer>
SIM_FUNCTION void capsule_outside_box(const BoxSegment& s, real t, real radius, const PlacedShape& box, Writer& write) {
    const BoxSurface nearest = box_surface(s.at(t), box.size);
    Stretch part = {-s.end, s.end}, contacts = {t, t};
    int across = 0;  // axes across which the box ends there: 1 a face, 2 an edge, 3 a corner
    for (int axis = 0; axis < 3; ++axis) {
        if (absolute(nearest.normal[axis]) < ALONG_COMPONENT) cut_to_slab(part, s, box.size, axis);
        else ++across;
    }
    if (across < 3 && part.high > part.low) {
        const BoxSurface low = box_surface(s.at(part.low), box.size), high = box_surface(s.at(part.high), box.size);
        const bool along = maximum(absolute(dot(s.u, low.normal)), absolute(dot(s.u, high.normal))) < ALONG_COMPONENT;
        const real deeper = minimum(low.distance, high.distance);
        if (along && deeper <= multiply_add(LINE_TOLERANCE, radius, nearest.distance)) contacts = part;
    }
    const int count = contacts.high > contacts.low ? 2 : 1;
    SIM_ROLLED
    for (int i = 0; i < count; ++i)
        ball_box_contact(i, s.at(i == 0 ? contacts.low : contacts.high), radius, box, write);
}

// The direction in which a segment that meets the box leaves it by the shortest way, by separating axes: the three
// faces and the three products of the segment with an edge. An edge must win by FACE_PREFERENCE of the radius.
struct SegmentExit {
    real separation;  // negative: how far it has to go
    vec3 normal;      // away from the box
    int axis;         // of the face, or of the edge
    bool edge;
};

constexpr real FACE_PREFERENCE = real(1e-3);
// Edges whose sine squared is below this are parallel: their product says nothing that the faces do not.
constexpr real PARALLEL_EDGE_SINE_SQUARED = real(1e-6);

SIM_FUNCTION SegmentExit segment_exit(const BoxSegment& s, vec3 h, real radius) {
    const vec3 faces = absolute(s.p) - h - s.end * absolute(s.u);
    int axis = faces.y > faces.x ? 1 : 0;
    axis = faces.z > faces[axis] ? 2 : axis;
    SegmentExit best = {faces[axis], s.p[axis] < 0 ? -unit_vector(axis) : unit_vector(axis), axis, false};
    real to_beat = multiply_add(FACE_PREFERENCE, radius, best.separation);
    SIM_ROLLED
    for (int i = 0; i < 3; ++i) {
        const vec3 across = cross(s.u, unit_vector(i));
        const real size_squared = dot(across, across);
        if (size_squared < PARALLEL_EDGE_SINE_SQUARED) continue;
        const vec3 direction = inverse_square_root(size_squared) * across;
        const real middle = dot(s.p, direction), separation = absolute(middle) - dot(h, absolute(direction));
        if (!(separation > to_beat)) continue;
        to_beat = separation;
        best = {separation, middle < 0 ? -direction : direction, i, true};
    }
    return best;
}

// The axis meets the box: both ends of its stretch over the face, if it lies along it, or its deepest point.
template <class Writer>
SIM_FUNCTION void capsule_inside_box(const BoxSegment& s, real radius, const PlacedShape& box, Writer& write) {
    const SegmentExit way = segment_exit(s, box.size, radius);
    const vec3 normal = rotate(box.pose.q, -way.normal), h = box.size;
    const auto emit = [&](int feature, real t, real distance) {
        write(feature, transform_point(box.pose, multiply_add(-radius, way.normal, s.at(t))), normal, distance);
    };
    if (way.edge) {
        // nearest point of the segment's line to the edge through the corner that lies furthest along the normal
        const vec3 edge = unit_vector(way.axis), side = cross(edge, way.normal);
        const vec3 n = way.normal, corner = {end_towards(h.x, n.x), end_towards(h.y, n.y), end_towards(h.z, n.z)};
        const real t = divide(dot(corner - s.p, side), dot(s.u, side));
        emit(0, clamp(t, -s.end, s.end), way.separation - radius);
        return;
    }
    Stretch part = {-s.end, s.end};
    for (int axis = 0; axis < 3; ++axis)
        if (axis != way.axis) cut_to_slab(part, s, h, axis);
    const auto height = [&](real t) { return dot(s.at(t), way.normal) - h[way.axis] - radius; };
    const real steepness = dot(s.u, way.normal);
    if (part.high > part.low && absolute(steepness) < ALONG_COMPONENT) {
        emit(0, part.low, height(part.low));
        emit(1, part.high, height(part.high));
    } else {
        const real deepest = steepness > 0 ? -s.end : s.end;
        emit(0, deepest, height(deepest));
    }
}

template <class Writer>
SIM_STAGE void collide_capsule_box(const PlacedShape& capsule, const PlacedShape& box, Writer& write) {
    const vec3 axis = inverse_rotate(box.pose.q, z_axis(capsule)), h = box.size;
    const BoxSegment s = {inverse_transform_point(box.pose, capsule.pose.p), axis, capsule.size.y};
    const vec3 gap = absolute(s.p) - h - s.end * absolute(s.u);  // between the segment and the box's slabs
    const real far = real(1.001) * (capsule.size.x + write.reach) + real(1e-5);
    if (maximum(maximum(gap.x, gap.y), gap.z) > far) return;
    const real t = nearest_to_box(s, h), radius = capsule.size.x;
    const bool outside = length(box_excess(s.at(t), h)) > 16 * REAL_EPSILON * (h.x + h.y + h.z);
    if (outside) capsule_outside_box(s, t, radius, box, write);
    else capsule_inside_box(s, radius, box, write);
}
