// Continuous detection: two shapes that would move further against each other within a step than half of what they are
// thick are followed along their way until they touch.
//
// Conservative advancement (Mirtich 1996; Zhang, Lee and Kim 2006): the bodies move at constant velocity, the centre of
// mass along a line, turning about it. Between two convex shapes that are `apart` along a normal n the time
// apart / (n . (v0 - v1) + turning) passes without a touch, `turning` the most by which rotation brings any of their
// points nearer. So the time is moved on until they are as good as touching, or the step is over.
#pragma once

#include "contact.h"

// How a body moves during a step.
struct BodyMotion {
    vec3 centre;  // of mass, in the world, at the start
    vec3 linear;  // of the centre
    vec3 angular;
};

SIM_INLINE BodyMotion motion_at_rest() { return {zero_vec3(), zero_vec3(), zero_vec3()}; }

// Where a body that stands at `pose` is after a time.
SIM_STAGE Transform moved_pose(const BodyMotion& m, const Transform& pose, real time) {
    const quat turn = quat_from_rotation_vector(time * m.angular);
    return {multiply_add(time, m.linear, m.centre) + rotate(turn, pose.p - m.centre), normalize(turn * pose.q)};
}

// How fast a point of the body moves that is at `place` after a time.
SIM_INLINE vec3 velocity_at(const BodyMotion& m, vec3 place, real time) {
    return m.linear + cross(m.angular, place - multiply_add(time, m.linear, m.centre));
}

// The motions of bodies, by link and shape (a row of the model), for a step of `dt`; 0: none is followed.
// From body_q and body_qd:
struct StateMotions {
    const ModelView& model;
    const real* body_q;
    const real* body_qd;
    real dt;

    SIM_FUNCTION BodyMotion operator()(int, int shape) const {
        const int body = model.shape_body[shape];
        if (body < 0) return motion_at_rest();
        const vec3 centre = transform_point(load_pose(&body_q[7 * body]), load_vec3(&model.body_com[3 * body]));
        return {centre, load_vec3(&body_qd[6 * body]), load_vec3(&body_qd[6 * body + 3])};
    }

    SIM_INLINE BodyMotion about(int link, int shape) const { return (*this)(link, shape); }
};

// From the links of a world whose poses and velocities are known; the same bits.
struct LinkMotions {
    const Topology& t;
    const World& world;
    real dt;

    SIM_STAGE BodyMotion operator()(int link, int) const {
        if (link == 0) return motion_at_rest();
        const Motion velocity = shift(world.memory.link_velocity[link], world.memory.link_com[link]);
        const vec3 com = load_vec3(&world.model.body_com[3 * world.body(t, link)]);
        return {transform_point(contact_pose(world.memory.link_pose[link]), com), velocity.linear, velocity.angular};
    }

    // The same but for round-off, at little cost.
    SIM_INLINE BodyMotion about(int link, int) const {
        const Motion velocity = shift(world.memory.link_velocity[link], world.memory.link_com[link]);
        return {world.reference(t, link) + world.memory.link_com[link], velocity.linear, velocity.angular};
    }
};

// No motions: what is collided where it stands.
struct NoMotions {
    real dt = 0;
    SIM_FUNCTION BodyMotion operator()(int, int) const { return motion_at_rest(); }
    SIM_INLINE BodyMotion about(int, int) const { return motion_at_rest(); }
};

// ---- which pairs -------------------------------------------------------------------------------------------------

SIM_INLINE real sum_of_absolutes(vec3 v) { return absolute(v.x) + absolute(v.y) + absolute(v.z); }

// May the shape be the faster one of a pair that is to be followed? Sizes by sums of absolutes, which are no smaller
// than lengths, and a little more, for round-off. A field always may, so that its pairs are looked at (known_depth).
SIM_INLINE bool may_be_fast(const ModelView& model, int shape, vec3 origin, const BodyMotion& m, real dt) {
    const real arm = sum_of_absolutes(origin - m.centre) + model.shape_radius[shape];
    const real speed = multiply_add(sum_of_absolutes(m.angular), arm, sum_of_absolutes(m.linear));
    return real(1.001) * speed * dt > SOLID_DEPTH * model.shape_inradius[shape];
}

// The greatest speed that its turning gives a point of a shape. What turns about its own axis stays where it is.
SIM_STAGE real turning_speed(const ModelView& model, int shape, const Transform& pose, const BodyMotion& m) {
    const real of_origin = length(cross(m.angular, pose.p - m.centre));
    const int type = model.shape_type[shape];
    if (type == SHAPE_SPHERE) return of_origin;
    const bool round = type == SHAPE_CAPSULE || type == SHAPE_CYLINDER || type == SHAPE_CONE;
    const vec3 turn = round ? cross(m.angular, rotate(pose.q, vec3{0, 0, 1})) : m.angular;
    return multiply_add(length(turn), model.shape_radius[shape], of_origin);
}

// A pair on its way.
struct PairSweep {
    BodyMotion body[2];
    real turning;    // m/s: no two points of the shapes come nearer by rotation faster than this
    real speed;      // m/s: nor altogether than this
    real span;       // s, the step; 0: the pair is not followed
    real thickness;  // m, of pair_thickness
    real margin;     // m: the pair touches at this distance, to within `tolerance`
    real tolerance;
    real time;  // s, how far the pair has come
    int rounds;

    // How near a contact must be at `at` to be met within the step.
    SIM_INLINE real reach(real at) const { return multiply_add(speed, span - at, margin + tolerance); }

    // No faster than this do the shapes come nearer along n, from the first to the second.
    SIM_INLINE real closing(vec3 n) const { return dot(n, body[0].linear - body[1].linear) + turning; }
};

constexpr int SWEEP_ROUNDS = 64;
// The time of what a followed pair touches where it stands: it tells the contact from those of other pairs.
constexpr real SWEEP_START = real(1e-30);
// Shapes touch at this part of the smaller one's radius.
constexpr real SWEEP_TOLERANCE = real(1e-3);

// The sweep of two shapes where they stand: span 0 unless they are fast.
template <class Motions>
SIM_STAGE PairSweep begin_sweep(const ModelView& model, const Motions& motions, int link0, int shape0,
                                const Transform& pose0, int link1, int shape1, const Transform& pose1) {
    PairSweep s;
    s.body[0] = motions(link0, shape0);
    s.body[1] = motions(link1, shape1);
    s.turning = turning_speed(model, shape0, pose0, s.body[0]) + turning_speed(model, shape1, pose1, s.body[1]);
    s.speed = length(s.body[0].linear - s.body[1].linear) + s.turning;
    s.thickness = pair_thickness(model, shape0, shape1);
    s.span = s.speed * motions.dt > s.thickness && s.speed * motions.dt <= REAL_MAX ? motions.dt : real(0);
    s.margin = 0;
    s.tolerance = SWEEP_TOLERANCE * minimum(model.shape_radius[shape0], model.shape_radius[shape1]);
    s.time = 0;
    s.rounds = 0;
    return s;
}

// Do the bounding spheres of a pair that is followed come within `reach` of each other?
SIM_FUNCTION bool spheres_meet(const ModelView& model, const PairSweep& s, int shape0, vec3 p0, int shape1, vec3 p1,
                               real reach) {
    const real radii = model.shape_radius[shape0] + model.shape_radius[shape1];
    const real most = multiply_add(s.speed, s.span, radii + reach);
    return s.span > 0 && length(p1 - p0) < most;
}

// ---- along the way -----------------------------------------------------------------------------------------------

enum SweepStep : int {
    SWEEP_ON,       // look again at `time`, which was moved on
    SWEEP_TOUCHES,  // the contacts at `time` are those of the pair
    SWEEP_MISSES,   // nothing is met within the step that would be passed through
};

// What becomes of shapes that are `distance` apart along `normal` at `time`. Where rounds run out they count as
// touching: a contact that is not met exerts nothing. Without anything near: an infinite distance.
SIM_STAGE SweepStep advance_sweep(PairSweep& s, real distance, vec3 normal) {
    const real closing = s.closing(normal), apart = distance - s.margin;
    if (!(apart <= REAL_MAX)) return SWEEP_MISSES;
    const bool needed = closing * s.span > s.thickness, touches = apart <= s.tolerance;
    if (s.time == 0 && !needed) return SWEEP_MISSES;
    // distances of boxes may be a little too large: then the way back is looked for, if the normal still tells it
    const bool through = s.time > 0 && apart < -s.tolerance && needed;
    if ((touches && !through) || s.rounds == SWEEP_ROUNDS) return SWEEP_TOUCHES;
    if (!needed) return SWEEP_MISSES;
    const real time = s.time + divide(apart, closing);
    if (!(time < s.span)) return SWEEP_MISSES;
    s.time = maximum(time, real(0));
    ++s.rounds;
    return SWEEP_ON;
}
