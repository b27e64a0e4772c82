// A convex body and a surface of triangles that are followed along their way (continuous.h): each triangle by itself,
// since a body may lie on one of them and run into another.
#pragma once

#include "collide_mesh.h"
#include "continuous.h"

// A body over a surface, at any time of a step.
struct MovingSurface {
    MeshShape surface;
    Transform surface_pose;  // at the start
    real base;
    Convex body;
    Transform pose;  // of the body, at the start
    real radius;
    real sunk;
    const PairSweep* sweep;
    int side;  // of the sweep's two bodies the surface's

    SIM_FUNCTION BodyOverSurface at(real time) const {
        const BodyMotion &own = sweep->body[side], &other = sweep->body[1 - side];
        BodyOverSurface s = time > 0 ? body_over_surface(surface, moved_pose(own, surface_pose, time), base, body,
                                                         moved_pose(other, pose, time), radius)
                                     : body_over_surface(surface, surface_pose, base, body, pose, radius);
        s.sunk = sunk;
        return s;
    }

    // Does all of the body move to the front of a triangle by more than the pair is thick?
    SIM_FUNCTION bool leaves(vec3 normal) const {
        const vec3 speed = sweep->body[1 - side].linear - sweep->body[side].linear;
        return (dot(rotate(surface_pose.q, normal), speed) - sweep->turning) * sweep->span > sweep->thickness;
    }

    // Does a point of the body (in the frame of the surface) move to the front of a triangle?
    SIM_FUNCTION bool comes_out(const BodyOverSurface& s, vec3 normal, vec3 point, real time) const {
        const vec3 place = transform_point(s.frame, point);
        const BodyMotion &own = sweep->body[side], &other = sweep->body[1 - side];
        return dot(rotate(s.frame.q, normal), velocity_at(other, place, time) - velocity_at(own, place, time)) > 0;
    }

    // The box of all of the body's way, in the surface's own unscaled frame at the start.
    SIM_FUNCTION MeshBox box(real reach) const {
        const vec3 speed = sweep->body[1 - side].linear - sweep->body[side].linear;
        const vec3 way = inverse_rotate(surface_pose.q, sweep->span * speed);
        const real near = maximum(reach, sweep->margin + sweep->tolerance);
        return body_box(at(0), multiply_add(sweep->span, sweep->turning, near), way);
    }
};

// When the body, which starts at `start`, touches triangle t, negative: not within the step. Where it comes from behind
// it has met another one before.
SIM_STAGE real touch_time(const MovingSurface& m, const BodyOverSurface& start, int t) {
    PairSweep s = *m.sweep;
    for (;;) {
        const BodyOverSurface at = s.time > 0 ? m.at(s.time) : start;
        const Triangle triangle = load_triangle(at.surface, t, at.origin);
        if (dot(triangle.normal, triangle.normal) == 0) return -1;
        const Convex face = triangle_body(at, triangle);
        const ConvexPair pair = convex_pair(face, at.frame, at.body, at.pose, at.radius, at.radius);
        const ConvexDistance d = convex_distance(pair, divide(s.reach(s.time), pair.unit));
        if (d.far) return -1;
        const vec3 outwards = rotate(at.frame.q, d.normal);
        const SweepStep step = advance_sweep(s, pair.unit * d.distance, m.side == 0 ? outwards : -outwards);
        if (step == SWEEP_MISSES) return -1;
        if (step == SWEEP_ON) continue;
        // what turns so fast that the rounds ran out may come back within the step
        const bool is_met = s.time > 0 && s.rounds < SWEEP_ROUNDS;
        return is_met && m.comes_out(at, triangle.normal, pair.unit * d.point, s.time) ? real(-1) : s.time;
    }
}

// All that a body may do within the step, to tell what it stays clear of. In the frame of the surface at the start.
struct WholeWay {
    vec3 lower, upper;  // of the body at the start
    vec3 nearer;        // how its centre of mass and the surface's move towards each other
    real around;        // by how much more
    real still;         // how near what does not move counts

    // Does the body, in the direction n from a triangle, come near it?
    SIM_FUNCTION real reach(vec3 n) const { return maximum(still, dot(n, nearer) + around); }

    // Is the body so far from a triangle, along an axis or the normal of one of them, that it neither touches it on the
    // way nor has contacts with it where it stands?
    SIM_FUNCTION bool misses(const BodyOverSurface& s, const Triangle& t) const {
        const real slack = apart_slack(s, t);
        const vec3 n = t.normal;
        if (dot(n, body_support(s, -n) - t.corner[0]) > reach(n) + slack) return true;
        if (s.surface.is_field) return false;  // solid below
        const vec3 least = least_corner(t), most = largest_corner(t);
        for (int k = 0; k < 3; ++k) {
            if (lower[k] - most[k] > maximum(still, nearer[k] + around) + slack) return true;
            if (least[k] - upper[k] > maximum(still, around - nearer[k]) + slack) return true;
        }
        return dot(n, t.corner[0] - body_support(s, n)) > reach(-n) + slack ||
               is_off_facet(s, t, [&](vec3 d) { return reach(d) + slack; });
    }
};

// What is never nearer than speed span / SWEEP_ROUNDS is missed by touch_time before its rounds run out.
SIM_FUNCTION WholeWay whole_way(const MovingSurface& m, const BodyOverSurface& start, real reach) {
    const PairSweep& s = *m.sweep;
    const BodyMotion &own = s.body[m.side], &other = s.body[1 - m.side];
    WholeWay way;
    way.nearer = inverse_rotate(start.frame.q, s.span * (own.linear - other.linear));
    const real creep = divide(s.speed, real(SWEEP_ROUNDS - 1));
    way.around = multiply_add(s.span, s.turning + creep, s.margin + s.tolerance);
    way.still = maximum(reach, start.sunk);
    for (int k = 0; k < 3; ++k) {
        way.upper[k] = body_support(start, unit_vector(k))[k];
        way.lower[k] = body_support(start, -unit_vector(k))[k];
    }
    return way;
}

// No contact of a triangle that is touched on the way is deeper than this many times the sweep's tolerance.
constexpr real TOUCH_DEPTH = 4;

// Calls collide(s, t) for every triangle that the body may touch, with both where they touch on the way, or else where
// they stand; `found` then takes contacts as of that time.
template <class Collide>
SIM_FUNCTION void sweep_surface(const MovingSurface& m, ContactReduction& found, Collide collide) {
    const MeshBox box = m.box(found.reach);
    const BodyOverSurface start = m.at(0);
    const Transform frame = found.frame;
    const real reach = found.reach, limit = found.limit;
    const WholeWay way = whole_way(m, start, reach);
    visit_triangles(
        m.surface, [&] { return box; },
        [&](int t) {
            const Triangle triangle = load_triangle(m.surface, t, start.origin);
            if (is_zero(triangle.normal) || way.misses(start, triangle)) return;
            if (m.leaves(load_triangle(m.surface, t, zero_vec3()).normal)) return;
            const real time = touch_time(m, start, t);
            if (!(time >= 0)) return collide(start, t);
            found.reach = maximum(m.sweep->reach(time), reach);
            found.time = maximum(time, SWEEP_START);
            found.way = time * m.sweep->speed;
            // what is deep where a triangle is touched has come through another one
            if (time > 0) found.limit = TOUCH_DEPTH * m.sweep->tolerance;
            if (time > 0) found.frame = moved_pose(m.sweep->body[1 - m.side], frame, time);
            collide(time > 0 ? m.at(time) : start, t);
            found.reach = reach;
            found.limit = limit;
            found.time = found.way = 0;
            found.frame = frame;
        });
}
