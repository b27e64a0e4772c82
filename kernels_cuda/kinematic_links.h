// Kinematic links follow control.kinematic_q, whatever acts on them: the accelerations of their dofs are prescribed.
#pragma once

#include "solver.h"

// The acceleration that brings dof j to where its link's target is at the end of the step: (rate - v)/h, with the rate
// from the way between the poses, of the joint frame's origin along a sliding dof's axis, and as a rotation vector
// about a turning one. Exact for a free joint and for one dof; joints of several dofs between follow to first order.
SIM_FUNCTION real prescribed_acceleration(const Topology& t, const World& world, const ControlView& control, int j,
                                          real h) {
    const int link = t.dof_link(j);
    const Transform now = world.memory.link_pose[link];
    const Transform target = load_pose(&control.kinematic_q[7 * world.body(t, link)]);
    const Motion axis = world.memory.dof_motion[j];
    real way;
    if (t.dof_kind(j) == DOF_LINEAR) {
        const vec3 origin = load_vec3(&world.model.joint_child_xform[7 * world.joint(t, link)]);
        way = dot(axis.linear, (target.p - now.p) + (rotate(target.q, origin) - rotate(now.q, origin)));
    } else {
        way = dot(axis.angular, rotation_vector(target.q * conjugate(now.q)));
    }
    return divide(divide(way, h) - world.memory.qd[j], h);
}
