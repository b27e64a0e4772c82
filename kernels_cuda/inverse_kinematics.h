// Inverse kinematics of one world: joint coordinates and rates from the poses and velocities of the bodies.
//
// Angles come out in (-pi, pi]. Where the poses violate a joint the coordinates are those of the nearest motion that
// the joint has: slides by least squares along the axes, turns by projecting the rotation on the axes.
#pragma once

#include "dynamics.h"

// The turn of a half angle h, brought to (-pi, pi]: the quaternion's sign does not matter.
SIM_FUNCTION real full_angle(real h) {
    if (h > PI / 2) h -= PI;
    if (h <= -PI / 2) h += PI;
    return 2 * h;
}

// Angle about a unit axis of the rotation about it that is nearest to q.
SIM_FUNCTION real twist_angle(quat q, vec3 axis) { return full_angle(arc_tangent2(dot(vector_part(q), axis), q.w)); }

// Angles of q = turn(a, angle[0]) turn(b, angle[1]), for unit axes; where they are parallel the second angle is zero.
//
// With half angles h, k, d = a . b and n = a x b, the quaternion's vector part is sin h cos k a + cos h sin k b
// + sin h sin k n and its scalar part cos h cos k - sin h sin k d. The four products are read off, and each half angle
// is taken from the pair of products with the larger common factor, so that a small angle beside a large one keeps
// its relative precision.
SIM_FUNCTION void two_angles(quat q, vec3 a, vec3 b, real* angle) {
    const vec3 v = vector_part(q), normal = cross(a, b);
    const real d = dot(a, b), apart = dot(normal, normal);
    if (!(apart > 64 * REAL_EPSILON)) {
        angle[0] = twist_angle(q, a);
        angle[1] = 0;
        return;
    }
    const real scale = reciprocal(apart);
    const real along_a = dot(v, a), along_b = dot(v, b);
    const real sc = multiply_add(-d, along_b, along_a) * scale;  // sin h cos k
    const real cs = multiply_add(-d, along_a, along_b) * scale;  // cos h sin k
    const real ss = dot(v, normal) * scale;                      // sin h sin k
    const real cc = multiply_add(ss, d, q.w);                    // cos h cos k
    const bool small_k = multiply_add(sc, sc, cc * cc) >= multiply_add(cs, cs, ss * ss);
    const real h = small_k ? arc_tangent2(sc, cc) : arc_tangent2(ss, cs);
    real sine_h, cosine_h;
    sine_cosine(h, &sine_h, &cosine_h);
    const real k = arc_tangent2(multiply_add(cs, cosine_h, ss * sine_h), multiply_add(cc, cosine_h, sc * sine_h));
    angle[0] = full_angle(h);
    angle[1] = full_angle(k);
}

// Middle angle of q = turn(a) turn(b, angle) turn(c): turn(b) must bring c to the inclination to a that q gives it,
// k0 + k1 cos + k2 sin = a . q c. Of the two solutions the smaller in magnitude, the positive one of an equal pair.
SIM_FUNCTION real middle_angle(quat q, vec3 a, vec3 b, vec3 c) {
    const real bc = dot(b, c);
    const vec3 across = multiply_add(-bc, b, c);
    const real k0 = bc * dot(a, b), k1 = dot(a, across), k2 = dot(a, cross(b, across));
    const real radius = square_root(multiply_add(k1, k1, k2 * k2));
    if (!(radius > 0)) return 0;
    const real size = reciprocal(radius);
    const real x = clamp((dot(a, rotate(q, c)) - k0) * size, real(-1), real(1));
    const real s = square_root(maximum(multiply_add(-x, x, real(1)), real(0))), ck = k1 * size, sk = k2 * size;
    const real plus = arc_tangent2(multiply_add(ck, s, sk * x), multiply_add(-sk, s, ck * x));
    const real minus = arc_tangent2(multiply_add(-ck, s, sk * x), multiply_add(sk, s, ck * x));
    const real margin = 16 * REAL_EPSILON;
    if (absolute(absolute(plus) - absolute(minus)) <= margin) return maximum(plus, minus);
    return absolute(plus) < absolute(minus) ? plus : minus;
}

// Solves sum x_k column_k = b for up to three columns, by the normal equations; directions that the columns do not
// have get zero.
SIM_FUNCTION void solve_columns(const vec3* column, int count, vec3 b, real* x) {
    real h[3][3], r[3];
    for (int i = 0; i < count; ++i) {
        r[i] = dot(column[i], b);
        for (int j = 0; j <= i; ++j) h[i][j] = dot(column[i], column[j]);
    }
    real inverse[3];
    for (int k = count - 1; k >= 0; --k) {
        inverse[k] = h[k][k] > 64 * REAL_EPSILON ? reciprocal(h[k][k]) : real(0);
        for (int c = 0; c < k; ++c) {
            const real u = h[k][c] * inverse[k];
            r[c] = multiply_add(-u, r[k], r[c]);
            for (int i = c; i < k; ++i) h[i][c] = multiply_add(-h[k][i], u, h[i][c]);
        }
    }
    for (int i = 0; i < count; ++i) {
        real sum = r[i];
        for (int c = 0; c < i; ++c) sum = multiply_add(-h[i][c], x[c], sum);
        x[i] = sum * inverse[i];
    }
}

// Angles of q = turn(a, angle[0]) turn(b, angle[1]) turn(c, angle[2]). The middle one first, then the outer two from
// what is left; one Newton step on the rotation takes the round-off. Where the outer axes fall together only their
// sum (or difference) is known: the first angle is zero then.
SIM_FUNCTION void three_angles(quat q, const vec3* axis, real* angle) {
    angle[1] = middle_angle(q, axis[0], axis[1], axis[2]);
    const quat middle = quat_from_axis_angle(axis[1], angle[1]);
    const vec3 turned = rotate(middle, axis[2]);
    const real apart = dot(cross(axis[0], turned), cross(axis[0], turned));
    const bool locked = apart < 64 * REAL_EPSILON;
    const quat rest = q * conjugate(middle);  // turn(a, angle[0]) turn(turned c, angle[2])
    real outer[2] = {0, 0};
    if (locked) outer[1] = twist_angle(conjugate(middle) * q, axis[2]);
    else two_angles(rest, axis[0], turned, outer);
    angle[0] = outer[0];
    angle[2] = outer[1];
    if (locked) return;
    const quat first = quat_from_axis_angle(axis[0], angle[0]);
    const quat reached = first * middle * quat_from_axis_angle(axis[2], angle[2]);
    const vec3 columns[3] = {axis[0], rotate(first, axis[1]), rotate(first, turned)};
    real change[3];
    solve_columns(columns, 3, rotation_vector(q * conjugate(reached)), change);
    for (int k = 0; k < 3; ++k) angle[k] += change[k];
}

// Coordinates of the joint of link i. `moved` is the pose of the joint frame on the child in that on the parent.
SIM_FUNCTION void joint_coordinates(const Topology& t, World& world, int i, const Transform& moved) {
    WorldMemory& m = world.memory;
    const int first = t.link_dof_start(i), end = first + t.link_dof_count(i);
    vec3 axis[3], slide[3];
    int turns = 0, slides = 0;
    for (int j = first; j < end; ++j) {
        if (t.dof_kind(j) == DOF_BALL_X) store_quat(&m.q[t.dof_coord(j)], moved.q);
        if (t.dof_kind(j) == DOF_ANGULAR && turns < 3) axis[turns++] = dof_axis(t, world, j);
    }
    real angle[3] = {0, 0, 0};
    if (turns == 1) angle[0] = twist_angle(moved.q, axis[0]);
    if (turns == 2) two_angles(moved.q, axis[0], axis[1], angle);
    if (turns == 3) three_angles(moved.q, axis, angle);
    quat turned = identity_quat();
    turns = 0;
    for (int j = first; j < end; ++j) {
        if (t.dof_kind(j) == DOF_ANGULAR) {
            turned = turned * quat_from_axis_angle(axis[turns], angle[turns]);
            m.q[t.dof_coord(j)] = angle[turns++];
        }
        if (t.dof_kind(j) == DOF_LINEAR && slides < 3) slide[slides++] = rotate(turned, dof_axis(t, world, j));
    }
    real way[3] = {0, 0, 0};
    solve_columns(slide, slides, moved.p, way);
    slides = 0;
    for (int j = first; j < end; ++j)
        if (t.dof_kind(j) == DOF_LINEAR) m.q[t.dof_coord(j)] = way[slides++];
}

// Coordinates of the world's joints from the poses of its bodies. Ends with a barrier.
template <class Array>
SIM_FUNCTION void coordinates_from_poses(Lanes& lanes, const Topology& t, World& world, const Array& body_q) {
    for_lanes(i, 1, t.links()) {
        const int parent = t.link_parent(i), joint = world.joint(t, i);
        Transform base = load_transform(&world.model.joint_parent_xform[7 * joint]);
        if (parent > 0) base = load_pose(&body_q[7 * world.body(t, parent)]) * base;
        const Transform frame = load_transform(&world.model.joint_child_xform[7 * joint]);
        const Transform tip = load_pose(&body_q[7 * world.body(t, i)]) * frame;
        joint_coordinates(t, world, i, inverse(base) * tip);
    }
    lanes.sync();
}

// Rates of the joint of link i from the velocities of the link and its parent: the turns from the angular velocity
// between them, then the slides from the velocity of the joint frame's origin.
SIM_FUNCTION void joint_rates(const Topology& t, World& world, int i) {
    WorldMemory& m = world.memory;
    const int first = t.link_dof_start(i), end = first + t.link_dof_count(i);
    Motion between = m.link_velocity[i] - m.link_velocity[t.link_parent(i)];
    vec3 column[3];
    real rate[3] = {0, 0, 0};
    int count = 0;
    for (int j = first; j < end; ++j)
        if (t.dof_kind(j) != DOF_LINEAR && count < 3) column[count++] = m.dof_motion[j].angular;
    solve_columns(column, count, between.angular, rate);
    count = 0;
    for (int j = first; j < end; ++j) {
        if (t.dof_kind(j) == DOF_LINEAR) continue;
        m.qd[j] = rate[count++];
        between = between - m.qd[j] * m.dof_motion[j];
    }
    const vec3 child_point = load_vec3(&world.model.joint_child_xform[7 * world.joint(t, i)]);
    const vec3 point = m.link_offset[i] + rotate(m.link_pose[i].q, child_point);
    count = 0;
    for (int j = first; j < end; ++j)
        if (t.dof_kind(j) == DOF_LINEAR && count < 3) column[count++] = m.dof_motion[j].linear;
    solve_columns(column, count, velocity_at(between, point), rate);
    count = 0;
    for (int j = first; j < end; ++j)
        if (t.dof_kind(j) == DOF_LINEAR) m.qd[j] = rate[count++];
}

// Rates of the world's joints from the velocities of its bodies. Needs forward kinematics. Ends with a barrier.
template <class Array>
SIM_FUNCTION void rates_from_velocities(Lanes& lanes, const Topology& t, World& world, const Array& body_qd) {
    WorldMemory& m = world.memory;
    for_lanes(i, 1, t.links()) {
        const real* qd = &body_qd[6 * world.body(t, i)];
        m.link_velocity[i] = shift(Motion{load_vec3(qd), load_vec3(qd + 3)}, -m.link_com[i]);
    }
    lanes.sync();
    for_lanes(i, 1, t.links()) joint_rates(t, world, i);
    lanes.sync();
}
