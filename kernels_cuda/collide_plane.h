// Contacts of a plane with the shapes that can lie on it.
//
// A plane is the x, y face of its pose, its normal z, solid below. It collides without end, whatever its half sizes, as
// MuJoCo's. Every routine reports witness points of the other shape with their distance from the plane.
#pragma once

#include "collide_shape.h"

// One point of a shape, given from the plane's origin, against the plane.
template <class Writer>
SIM_FUNCTION void plane_point(const PlacedShape& plane, vec3 normal, int feature, vec3 offset, Writer& write) {
    const real distance = dot(normal, offset);
    write(feature, plane.pose.p + multiply_add(-distance, normal, offset), normal, distance);
}

template <class Writer>
SIM_STAGE void collide_plane_sphere(const PlacedShape& plane, const PlacedShape& sphere, Writer& write) {
    const vec3 normal = z_axis(plane);
    plane_point(plane, normal, 0, multiply_add(-sphere.size.x, normal, sphere.pose.p - plane.pose.p), write);
}

// Both ends (feature 0: +z, 1: -z); the first tangent is the axis, laid into the plane.
template <class Writer>
SIM_STAGE void collide_plane_capsule(const PlacedShape& plane, const PlacedShape& capsule, Writer& write) {
    const vec3 normal = z_axis(plane), axis = z_axis(capsule);
    write.tangent_hint = axis;
    const vec3 lowest = multiply_add(-capsule.size.x, normal, capsule.pose.p - plane.pose.p);
    plane_point(plane, normal, 0, multiply_add(capsule.size.y, axis, lowest), write);
    plane_point(plane, normal, 1, multiply_add(-capsule.size.y, axis, lowest), write);
}

// The support point: in the ellipsoid's axes, with m the plane's normal, the lowest point is -(a^2 m) / |a m|.
template <class Writer>
SIM_STAGE void collide_plane_ellipsoid(const PlacedShape& plane, const PlacedShape& ellipsoid, Writer& write) {
    const vec3 normal = z_axis(plane), m = inverse_rotate(ellipsoid.pose.q, normal), a = ellipsoid.size;
    const vec3 scaled = multiply(a, m);
    const real shrink = -reciprocal(length(scaled));
    const vec3 lowest = shrink * multiply(a, scaled);
    plane_point(plane, normal, 0, ellipsoid.pose.p - plane.pose.p + rotate(ellipsoid.pose.q, lowest), write);
}

// Sine of the tilt below which a cylinder stands on its disc.
constexpr real STANDING_TILT = real(1e-3);

// Up to four points of the rims. Tilted: the lowest point of the lower disc (feature 0), that of the other disc (1),
// and the points of the lower disc a third of a turn to either side (2, 3): MuJoCo's choice. Standing, the lowest point
// is a matter of round-off, and the points are four fixed ones of the lower rim (4 to 7): the manifold does not wander,
// at the price of missing the lowest point by at most 0.3e-3 radii.
template <class Writer>
SIM_STAGE void collide_plane_cylinder(const PlacedShape& plane, const PlacedShape& cylinder, Writer& write) {
    const vec3 normal = z_axis(plane), up = z_axis(cylinder), centre = cylinder.pose.p - plane.pose.p;
    const real radius = cylinder.size.x, upright = dot(normal, up);
    const vec3 to_disc = (upright < 0 ? cylinder.size.y : -cylinder.size.y) * up;
    const vec3 across = multiply_add(-upright, up, normal);  // the normal, laid into the disc
    const real tilt = length(across);
    if (tilt < STANDING_TILT) {
        const vec3 x = radius * x_axis(cylinder), y = radius * y_axis(cylinder);
        plane_point(plane, normal, 4, centre + to_disc + x, write);
        plane_point(plane, normal, 5, centre + to_disc + y, write);
        plane_point(plane, normal, 6, centre + to_disc - x, write);
        plane_point(plane, normal, 7, centre + to_disc - y, write);
        return;
    }
    const vec3 down = -(radius * reciprocal(tilt)) * across, side = cross(up, down);
    const real half_root_3 = real(0.86602540378443864676);
    plane_point(plane, normal, 0, centre + to_disc + down, write);
    plane_point(plane, normal, 1, centre - to_disc + down, write);
    plane_point(plane, normal, 2, centre + to_disc + multiply_add(half_root_3, side, real(-0.5) * down), write);
    plane_point(plane, normal, 3, centre + to_disc + multiply_add(-half_root_3, side, real(-0.5) * down), write);
}

// The four corners of one face: the one across the axis along which the box reaches furthest below its centre
// (largest h |m|, m the plane's normal in the box). They are the four lowest corners, or all that touch unless the box
// is sunk deeper than its longest reach. The feature is the corner: bits 0, 1, 2 for +x, +y, +z.
template <class Writer>
SIM_STAGE void collide_plane_box(const PlacedShape& plane, const PlacedShape& box, Writer& write) {
    const vec3 normal = z_axis(plane), m = inverse_rotate(box.pose.q, normal), h = box.size;
    const vec3 reach = absolute(multiply(h, m));
    int axis = reach.y > reach.x ? 1 : 0;
    axis = reach.z > maximum(reach.x, reach.y) ? 2 : axis;
    const int below = m[axis] < 0 ? 1 : 0;  // the face's side of the axis
    const vec3 centre = box.pose.p - plane.pose.p;
    SIM_ROLLED
    for (int corner = 0; corner < 8; ++corner) {
        if (((corner >> axis) & 1) != below) continue;
        const vec3 local = {corner & 1 ? h.x : -h.x, corner & 2 ? h.y : -h.y, corner & 4 ? h.z : -h.z};
        plane_point(plane, normal, corner, centre + rotate(box.pose.q, local), write);
    }
}
