// A shape and a distance field that are followed along their way (continuous.h), as wholes.
#pragma once

#include "continuous.h"
#include "field_distance.h"

// A pair of which the second shape is a field, at any time of a step.
struct MovingField {
    const ModelView& model;
    int shape0, shape1;
    Transform pose0, pose1;  // at the start
};

// How closely the way is looked at: of a field's least value on the other shape, in voxels.
constexpr SearchEffort SWEEP_SEARCH = {real(1e-2), 128};

// The least value below best.value where the shapes have come to `pose0` and `pose1`.
SIM_STAGE void least_on_way(const MovingField& m, const Transform& pose0, const Transform& pose1, FieldDistance& best) {
    const ModelView& model = m.model;
    const FieldShape f = field_shape(model, m.shape1);
    const int type = model.shape_type[m.shape0];
    if (is_convex_type(type)) return least_on_convex(f, pose1, convex_of(model, m.shape0), pose0, SWEEP_SEARCH, best);
    const MeshShape first = mesh_shape(model, m.shape0);
    const real radius0 = model.shape_radius[m.shape0], radius1 = model.shape_radius[m.shape1];
    if (type != SHAPE_SDF) return least_on_surface(f, pose1, radius1, first, pose0, SWEEP_SEARCH, best);
    least_of_fields(field_shape(model, m.shape0), first, pose0, radius0, f, mesh_shape(model, m.shape1), pose1, radius1,
                    SWEEP_SEARCH, best);
}

struct FieldTouch {
    real time;    // s, when the shapes touch; negative: not within the step
    vec3 normal;  // along which they push each other then, from the first to the second
    real reach;   // m: what is no further away then is what touches
};

// A field is not convex: all that is certain of the time until it touches is the way through what it says is free, at
// the speed of the two bodies and their turning. What touches at the start counts only if it goes on into the solid.
// Where rounds run out, what has come the nearest counts as touching if it is as near as half of what the pair is
// thick, or if the bodies fly on that far: turning alone takes no body's middle to the other side.
SIM_STAGE FieldTouch first_touch(const MovingField& m, const PairSweep& sweep) {
    const ModelView& model = m.model;
    const FieldShape field = field_shape(model, m.shape1);
    real steep = steepest(field), voxel = field.grid.voxel;
    if (model.shape_type[m.shape0] == SHAPE_SDF) {
        const FieldShape other = field_shape(model, m.shape0);
        steep = maximum(steep, steepest(other));
        voxel = maximum(voxel, other.grid.voxel);
    }
    const FieldTouch none = {-1, zero_vec3(), 0};
    real time = 0;
    for (int round = 0;; ++round) {
        const Transform pose0 = time > 0 ? moved_pose(sweep.body[0], m.pose0, time) : m.pose0;
        const Transform pose1 = time > 0 ? moved_pose(sweep.body[1], m.pose1, time) : m.pose1;
        const real most = steep * sweep.reach(time);
        FieldDistance least = {most, zero_vec3(), zero_vec3()};
        least_on_way(m, pose0, pose1, least);
        if (!(least.value < most)) return none;
        const real apart = least.value - sweep.margin;
        const bool touches = apart <= sweep.tolerance;
        if (time == 0 && touches && !(sweep.closing(least.normal) * sweep.span > sweep.thickness)) return none;
        if (touches || round == SWEEP_ROUNDS) {
            const real flies = dot(least.normal, sweep.body[0].linear - sweep.body[1].linear) * (sweep.span - time);
            if (!(apart <= sweep.tolerance + maximum(sweep.thickness, flies))) return none;
            const real nearest = multiply_add(SWEEP_SEARCH.tolerance, voxel, least.value);
            return {time, least.normal, maximum(sweep.margin + sweep.tolerance, nearest)};
        }
        const real spheres = length(pose1.p - pose0.p) - model.shape_radius[m.shape0] - model.shape_radius[m.shape1];
        time += divide(maximum(divide(apart, steep), spheres - sweep.margin), sweep.speed);
        if (!(time < sweep.span)) return none;
    }
}

// How near a contact must be when the shapes touch: what is further than this by half of their thickness cannot be
// passed through in the way that is left without a touch that the next step sees.
SIM_INLINE real reach_at_touch(const PairSweep& s, const FieldTouch& touch) {
    return maximum(minimum(s.reach(touch.time), touch.reach + s.thickness), touch.reach);
}
