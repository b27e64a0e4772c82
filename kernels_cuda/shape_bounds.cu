// Boxes along the axes of the world about all shapes of all worlds: see simengine/collision/bounds.py.

#include "arrays.h"
#include "shape_bounds.h"

extern "C" __global__ void find_shape_bounds(int n, const ModelView model, const real* body_q, bool with_margin,
                                             real* lower,    // (n, 3)
                                             real* upper) {  // (n, 3)
    for_each(i, n) {
        const Transform own = load_transform(&model.shape_xform[7 * i]);
        const int body = model.shape_body[i], type = model.shape_type[i];
        const Transform pose = body < 0 ? own : load_pose(&body_q[7 * body]) * own;
        const vec3 size = load_vec3(&model.shape_size[3LL * i]);
        const int mesh = model.shape_mesh[i];
        Bounds bounds;
        if (type == SHAPE_PLANE) {
            bounds = plane_bounds(pose);
        } else if (mesh >= 0) {
            const vec3 scale = type == SHAPE_HEIGHTFIELD ? vec3{1, 1, 1} : size;
            bounds = point_bounds(pose, scale, model.mesh_point, model.mesh_point_start[mesh],
                                  model.mesh_point_start[mesh + 1]);
        } else {
            bounds = solid_bounds(type, pose, size);
        }
        real reach = with_margin ? model.shape_margin[i] + model.shape_gap[i] : real(0);
        if (type == SHAPE_SDF && mesh >= 0) reach += model.mesh_field_voxel[mesh];  // bulges between the vertices
        store_vec3(&lower[3LL * i], canonical(bounds.lower - vec3{reach, reach, reach}));
        store_vec3(&upper[3LL * i], canonical(bounds.upper + vec3{reach, reach, reach}));
    }
}
