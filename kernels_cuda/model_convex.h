// Shapes of a model as convex bodies.
#pragma once

#include "contact.h"
#include "convex.h"

// Is a shape of this type one convex body?
SIM_INLINE bool is_convex_type(int type) { return type >= SHAPE_SPHERE && type <= SHAPE_CONVEX_HULL; }

// The body of a shape for which is_convex_type holds, in m.
SIM_FUNCTION Convex convex_of(const ModelView& model, int shape) {
    const vec3 size = load_vec3(&model.shape_size[3 * shape]);
    Convex c = {CONVEX_POINT, size, 0, &model, model.shape_mesh[shape], {zero_vec3(), zero_vec3(), zero_vec3()}, 0};
    switch (model.shape_type[shape]) {
        case SHAPE_SPHERE: c.radius = size.x; break;
        case SHAPE_CAPSULE:
            c.kind = CONVEX_SEGMENT;
            c.radius = size.x;
            break;
        case SHAPE_ELLIPSOID: c.kind = CONVEX_ELLIPSOID; break;
        case SHAPE_CYLINDER: c.kind = CONVEX_CYLINDER; break;
        case SHAPE_BOX: c.kind = CONVEX_BOX; break;
        case SHAPE_CONE: c.kind = CONVEX_CONE; break;
        default: c.kind = CONVEX_HULL;
    }
    return c;
}

// Where a shape stands in the world.
SIM_FUNCTION Transform shape_pose(const ModelView& model, const real* body_q, int shape) {
    const Transform own = load_transform(&model.shape_xform[7 * shape]);
    const int body = model.shape_body[shape];
    return body < 0 ? own : load_pose(&body_q[7 * body]) * own;
}
