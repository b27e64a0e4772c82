// Forward kinematics: coordinates and rates to poses, motion axes and velocities of the links of one world.
//
// Positions inside a tree are kept relative to the tree's reference point (the root's centre of mass), and only the
// root's pose and the sums with it are in world coordinates: a robot far from the origin keeps its digits.
// Featherstone, Rigid Body Dynamics Algorithms (2008), chapters 3 and 4; joints as in docs/architecture.md.
#pragma once

#include "world.h"

// The x, y or z axis: of the three dofs of a ball.
SIM_FUNCTION vec3 ball_axis(int kind) {
    return {real(kind == DOF_BALL_X), real(kind == DOF_BALL_Y), real(kind == DOF_BALL_Z)};
}

// Does the dof stand behind another one of the same quaternion?
SIM_FUNCTION bool continues_ball(int kind) { return kind == DOF_BALL_Y || kind == DOF_BALL_Z; }

// The dof's axis in the frame turned by the dofs before it.
SIM_FUNCTION vec3 dof_axis(const Topology& t, const World& world, int i) {
    const int kind = t.dof_kind(i);
    return kind >= DOF_BALL_X ? ball_axis(kind) : load_vec3(&world.model.joint_axis[3 * world.dof(t, i)]);
}

// Reads the world's coordinates and rates; quaternions are normalised. Ends with a barrier.
template <class Array>
SIM_FUNCTION void load_coordinates(Lanes& lanes, const Topology& t, World& world, const Array& joint_q,
                                   const Array& joint_qd) {
    WorldMemory& m = world.memory;
    for_lanes(i, 0, t.dofs()) {
        const int kind = t.dof_kind(i), coord = t.dof_coord(i);
        m.qd[i] = joint_qd[world.dof(t, i)];
        if (kind < DOF_BALL_X) m.q[coord] = joint_q[world.coord_start + coord];
        if (kind == DOF_BALL_X) store_quat(&m.q[coord], normalize(load_quat(&joint_q[world.coord_start + coord])));
    }
    lanes.sync();
}

// The pose of link i in its parent. Leaves for each of its dofs, in the parent's axes, the direction of the axis in
// dof_motion.angular and the point that it turns about, from the link's origin, in dof_motion.linear. The points are
// found backward from the link, so that a long way slid does not cost them digits.
SIM_FUNCTION Transform joint_transform(const Topology& t, World& world, int i) {
    const WorldMemory& m = world.memory;
    const int first = t.link_dof_start(i), end = first + t.link_dof_count(i);
    const Transform parent_frame = load_transform(&world.model.joint_parent_xform[7 * world.joint(t, i)]);
    const Transform child_frame = load_transform(&world.model.joint_child_xform[7 * world.joint(t, i)]);
    quat turned = parent_frame.q;
    for (int j = first; j < end; ++j) {
        const int kind = t.dof_kind(j);
        const real* q = &m.q[t.dof_coord(j)];
        const vec3 axis = dof_axis(t, world, j);
        m.dof_motion[j].angular = rotate(turned, axis);
        if (kind == DOF_ANGULAR) turned = turned * quat_from_axis_angle(axis, *q);
        if (kind == DOF_BALL_Z) turned = turned * load_quat(q);
    }
    Transform pose;
    pose.q = is_zero(vector_part(child_frame.q)) ? turned : turned * conjugate(child_frame.q);
    vec3 point = rotate_unless_zero(pose.q, child_frame.p);
    for (int j = end - 1; j >= first; --j) {
        if (t.dof_kind(j) == DOF_LINEAR) point = multiply_add(-m.q[t.dof_coord(j)], m.dof_motion[j].angular, point);
        else m.dof_motion[j].linear = point;
    }
    pose.p = parent_frame.p - point;
    return pose;
}

// Pose, offset and centre of mass of a link whose link_pose holds the pose in its parent, which is done.
SIM_FUNCTION void place_link(const Topology& t, World& world, int i) {
    WorldMemory& m = world.memory;
    const int parent = t.link_parent(i);
    const vec3 body_com = load_vec3(&world.model.body_com[3 * world.body(t, i)]);
    if (parent == 0) {
        const vec3 com = rotate_unless_zero(m.link_pose[i].q, body_com);
        m.tree_reference[i] = m.link_pose[i].p + com;
        m.link_offset[i] = -com;
        m.link_com[i] = zero_vec3();
        return;
    }
    const Transform local = m.link_pose[i];
    const quat q = m.link_pose[parent].q * local.q;
    const vec3 offset = m.link_offset[parent] + rotate(m.link_pose[parent].q, local.p);
    m.link_offset[i] = offset;
    m.link_com[i] = offset + rotate_unless_zero(q, body_com);
    m.link_pose[i] = Transform{m.tree_reference[t.link_root(i)] + offset, q};
}

// Values of link 0, the world. No barrier.
SIM_FUNCTION void place_world_link(Lanes& lanes, World& world) {
    if (lanes.lane() != 0) return;
    WorldMemory& m = world.memory;
    m.tree_reference[0] = m.link_offset[0] = m.link_com[0] = zero_vec3();
    m.link_pose[0] = identity_transform();
    m.link_velocity[0] = zero_motion();
}

// Poses of the links, reference points, centres of mass and motion axes S from the coordinates. Ends with a barrier.
SIM_STAGE void forward_kinematics(Lanes& lanes, const Topology& t, World& world) {
    WorldMemory& m = world.memory;
    place_world_link(lanes, world);
    for_lanes(i, 1, t.links()) m.link_pose[i] = joint_transform(t, world, i);
    lanes.sync();
    for_links_from_root(lanes, t, [&](int i) { place_link(t, world, i); });
    lanes.sync();
    for_lanes(j, 0, t.dofs()) {
        const int link = t.dof_link(j);
        const quat parent = m.link_pose[t.link_parent(link)].q;
        const vec3 axis = rotate(parent, m.dof_motion[j].angular);
        if (t.dof_kind(j) == DOF_LINEAR) {
            m.dof_motion[j] = translation_along(axis);
        } else {
            const vec3 point = rotate_unless_zero(parent, m.dof_motion[j].linear);
            m.dof_motion[j] = rotation_about(axis, m.link_offset[link] + point);
        }
    }
    lanes.sync();
}

// Velocities of the links, v = v_parent + sum S qd. Leaves in dof_bias the velocity of the frame before each dof, which
// carries its axis: it includes the joint's earlier dofs, but all three of a ball are fixed in the frame before the
// ball. Ends with a barrier.
SIM_STAGE void link_velocities(Lanes& lanes, const Topology& t, World& world) {
    WorldMemory& m = world.memory;
    real* velocity = reinterpret_cast<real*>(m.link_velocity);
    real* before = reinterpret_cast<real*>(m.dof_bias);
    const real* motion = reinterpret_cast<const real*>(m.dof_motion);
    if (lanes.count() == 1) {
        for (int i = 1; i < t.links(); ++i) {
            Motion v = m.link_velocity[t.link_parent(i)], carried = v;
            const int first = t.link_dof_start(i), end = first + t.link_dof_count(i);
            for (int j = first; j < end; ++j) {
                if (!continues_ball(t.dof_kind(j))) carried = v;
                m.dof_bias[j] = carried;
                v = multiply_add(m.qd[j], m.dof_motion[j], v);
            }
            m.link_velocity[i] = v;
        }
    } else {
        for_components_outward<6>(lanes, t, [&](int i, int c) {
            real v = velocity[6 * t.link_parent(i) + c], carried = v;
            const int first = t.link_dof_start(i), end = first + t.link_dof_count(i);
            for (int j = first; j < end; ++j) {
                carried = continues_ball(t.dof_kind(j)) ? carried : v;
                before[6 * j + c] = carried;
                v = multiply_add(motion[6 * j + c], m.qd[j], v);
            }
            velocity[6 * i + c] = v;
        });
    }
}

// dS/dt qd of each dof, after link_velocities: dS/dt = v_before x S. Ends with a barrier.
SIM_FUNCTION void motion_biases(Lanes& lanes, const Topology& t, World& world) {
    WorldMemory& m = world.memory;
    for_lanes(j, 0, t.dofs())
        m.dof_bias[j] = m.qd[j] * cross(m.dof_bias[j], m.dof_motion[j]);
    lanes.sync();
}

// The velocity of the centre of mass and the angular velocity, as in body_qd.
SIM_FUNCTION Motion com_velocity(const World& world, int link) {
    return shift(world.memory.link_velocity[link], world.memory.link_com[link]);
}

// Writes body_q and body_qd of the world's bodies. No barrier.
template <class Array>
SIM_FUNCTION void store_bodies(Lanes& lanes, const Topology& t, const World& world, Array& body_q, Array& body_qd) {
    for_lanes(i, 1, t.links()) {
        const int body = world.body(t, i);
        const Motion velocity = com_velocity(world, i);
        store_transform(&body_q[7 * body], canonical(world.memory.link_pose[i]));
        store_vec3(&body_qd[6 * body], canonical(velocity.linear));
        store_vec3(&body_qd[6 * body + 3], canonical(velocity.angular));
    }
}
