// The balls about the origins of shapes whose size was changed: the one that holds a shape and the one that it holds.
// See bounding_radius and inscribed_radius of simengine/builder/template.py.

#include "arrays.h"
#include "enums.h"
#include "vector.h"

SIM_FUNCTION real bounding_radius(const ModelView& model, int type, int mesh, vec3 size) {
    switch (type) {
        case SHAPE_SPHERE: return size.x;
        case SHAPE_BOX: return length(size);
        case SHAPE_ELLIPSOID: return maximum(size.x, maximum(size.y, size.z));
        case SHAPE_CAPSULE: return size.x + size.y;
        case SHAPE_CYLINDER:
        case SHAPE_CONE: return length(vec3{size.x, size.y, 0});
    }
    const int first = model.mesh_point_start[mesh];
    const bool is_hull = type == SHAPE_CONVEX_HULL;  // of a mesh what no triangle uses does not count
    const int begin = is_hull ? first : 3 * model.mesh_triangle_start[mesh];
    const int end = is_hull ? model.mesh_point_start[mesh + 1] : 3 * model.mesh_triangle_start[mesh + 1];
    real most = 0;
    for (int k = begin; k < end; ++k) {
        const int i = is_hull ? k : first + model.mesh_triangle[k];
        most = maximum(most, length(multiply(size, load_vec3(&model.mesh_point[3LL * i]))));
    }
    return most;
}

// A face n . p = d of the hull becomes (n / s) . p' = d where p' = s p.
SIM_FUNCTION real radius_in_hull(const ModelView& model, int mesh, vec3 scale) {
    real least = REAL_INFINITY;
    for (int f = model.mesh_hull_face_start[mesh]; f < model.mesh_hull_face_start[mesh + 1]; ++f) {
        const vec3 n = load_vec3(&model.hull_face_normal[3LL * f]);
        const vec3 corner = load_vec3(&model.hull_point[3LL * model.hull_corner[model.hull_face_start[f]]]);
        const vec3 turned = {divide(n.x, scale.x), divide(n.y, scale.y), divide(n.z, scale.z)};
        least = minimum(least, divide(dot(n, corner), length(turned)));
    }
    return maximum(least, real(0));
}

SIM_FUNCTION real inscribed_radius(const ModelView& model, int type, int mesh, vec3 size) {
    switch (type) {
        case SHAPE_SPHERE:
        case SHAPE_CAPSULE: return size.x;
        case SHAPE_CYLINDER: return minimum(size.x, size.y);
        case SHAPE_CONE:  // the base at -y, and the side from radius x there to the tip at y
            return minimum(size.y, divide(size.x * size.y, length(vec3{2 * size.y, size.x, 0})));
        case SHAPE_CONVEX_HULL: return radius_in_hull(model, mesh, size);
        case SHAPE_MESH: return 0;
    }
    return minimum(size.x, minimum(size.y, size.z));
}

// Of planes, height fields and distance fields the size says nothing of their radii.
extern "C" __global__ void update_shape_radii(int n, const ModelView model,
                                              const bool* world_mask,  // optional
                                              real* shape_radius,         // nonfinite
                                              real* shape_inradius,       // nonfinite
                                              real* shape_radius_size) {  // that the radii are of
    for_each(i, n) {
        const int type = model.shape_type[i], world = model.shape_world[i], mesh = model.shape_mesh[i];
        if (type == SHAPE_PLANE || type == SHAPE_HEIGHTFIELD || type == SHAPE_SDF) continue;
        if (world_mask && world >= 0 && !world_mask[world]) continue;
        const vec3 size = load_vec3(&model.shape_size[3LL * i]);
        if (is_zero(size - load_vec3(&shape_radius_size[3LL * i]))) continue;
        const bool collides = model.shape_flags[i] & SHAPE_COLLIDES;
        shape_radius[i] = canonical(bounding_radius(model, type, mesh, size));
        shape_inradius[i] = collides ? canonical(inscribed_radius(model, type, mesh, size)) : real(0);
        store_vec3(&shape_radius_size[3LL * i], size);
    }
}
