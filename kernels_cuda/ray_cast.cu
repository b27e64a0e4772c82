// Rays of a sensor against the shapes of its world: see simengine/sensors/ray_caster.py.

#include "arrays.h"
#include "enums.h"
#include "mesh_query.h"
#include "quaternion.h"
#include "ray_shapes.h"

// Poses in the world of all shapes of all worlds, and of the shared static ones.
extern "C" __global__ void place_ray_shapes(int n, const ModelView model, const real* body_q,
                                            real* shape_pose) {  // (n, 7)
    for_each(i, n) {
        const Transform own = load_transform(&model.shape_xform[7 * i]);
        const int body = model.shape_body[i];
        store_transform(&shape_pose[7 * i], body < 0 ? own : load_pose(&body_q[7 * body]) * own);
    }
}

// The triangles of a mesh times `scale`. The ray is taken into the mesh's own frame, where t is the same; the normal
// comes back by the inverse of the scale.
SIM_FUNCTION void ray_triangles(const Ray& ray, const BvhView& bvh, int mesh, vec3 scale, SurfaceHit& hit) {
    const vec3 inverse = {reciprocal(scale.x), reciprocal(scale.y), reciprocal(scale.z)};
    const ScaledRay unscaled(multiply(ray.origin, inverse), multiply(ray.direction, inverse));
    const FirstFace found = first_face(bvh, bvh.roots[mesh], unscaled, hit.t);
    const real t = found.hit.t * unscaled.scale;
    if (found.face < 0 || !is_nearer(hit, t)) return;
    const vec3 normal = unit_normal(Triangle(bvh.packed + 9 * found.place));
    hit = {t, normalize(multiply(normal, inverse), -ray.direction)};
}

// Heights of a field's vertices, over -half.x .. half.x and -half.y .. half.y.
struct FieldHeights {
    const real* point;
    int rows, columns;
    vec3 half;

    SIM_FUNCTION FieldHeights(const ModelView& m, int mesh)
        : point(&m.mesh_point[3 * m.mesh_point_start[mesh]]),
          rows(m.mesh_grid[2 * mesh]),
          columns(m.mesh_grid[2 * mesh + 1]),
          half(load_vec3(&m.mesh_point[3 * (m.mesh_point_start[mesh + 1] - 1)])) {}

    SIM_INLINE real vertex(int row, int column) const { return point[3 * (row * columns + column) + 2]; }

    // The cell of x along an axis, and how far on in it x is.
    SIM_FUNCTION int cell(int axis, real x, real& part) const {
        const int cells = (axis == 0 ? columns : rows) - 1;
        const real at = divide(real(0.5) * (x + half[axis]), half[axis]) * real(cells);
        const int number = to_int(clamp(floor_of(at), real(0), real(cells - 1)));
        part = at - real(number);
        return number;
    }

    // Of the surface, whose cells are cut along the diagonal from their low corner.
    SIM_FUNCTION real at(vec3 p) const {
        real u, v;
        const int column = cell(0, p.x, u), row = cell(1, p.y, v);
        const real low = vertex(row, column), high = vertex(row + 1, column + 1);
        const real beside = u > v ? vertex(row, column + 1) : vertex(row + 1, column);
        const real first = maximum(u, v), second = minimum(u, v);
        return multiply_add(second, high - beside, multiply_add(first, beside - low, low));
    }
};

// What is under a height field: the sides of its solid, down to -base, and the underside.
SIM_FUNCTION void ray_field_sides(const Ray& ray, const ModelView& model, int mesh, real base, SurfaceHit& hit) {
    const FieldHeights field(model, mesh);
    if (field.rows < 2 || field.columns < 2) return;  // no grid
    const auto meet = [&](int axis, real place, vec3 normal) {
        if (is_parallel(ray.direction[axis])) return;
        const real t = divide(place - ray.origin[axis], ray.direction[axis]);
        if (!is_nearer(hit, t)) return;
        vec3 p = ray.at(t);
        p[axis] = place;
        const bool over = absolute(p.x) <= field.half.x && absolute(p.y) <= field.half.y;
        if (!over) return;
        const real top = field.at(p);
        if (p.z >= -base && p.z <= top && top > -base) hit = {t, normal};
    };
    for (int axis = 0; axis < 2; ++axis) {
        vec3 outwards = zero_vec3();
        outwards[axis] = 1;
        meet(axis, field.half[axis], outwards);
        meet(axis, -field.half[axis], -outwards);
    }
    meet(2, -base, {0, 0, -1});
}

SIM_FUNCTION void ray_shape(const Ray& ray, const ModelView& model, const BvhView& bvh, int shape, SurfaceHit& hit) {
    const vec3 size = load_vec3(&model.shape_size[3 * shape]);
    switch (model.shape_type[shape]) {
        case SHAPE_PLANE: ray_plane(ray, size, hit); break;
        case SHAPE_SPHERE: ray_sphere(ray, size, hit); break;
        case SHAPE_CAPSULE: ray_capsule(ray, size, hit); break;
        case SHAPE_ELLIPSOID: ray_ellipsoid(ray, size, hit); break;
        case SHAPE_CYLINDER: ray_cylinder(ray, size, hit); break;
        case SHAPE_BOX: ray_box(ray, size, hit); break;
        case SHAPE_CONE: ray_cone(ray, size, hit); break;
        case SHAPE_HEIGHTFIELD:
            ray_triangles(ray, bvh, model.shape_mesh[shape], {1, 1, 1}, hit);
            ray_field_sides(ray, model, model.shape_mesh[shape], size.z, hit);
            break;
        default: ray_triangles(ray, bvh, model.shape_mesh[shape], size, hit);
    }
}

// Radius of the sphere about a shape's origin that holds what rays meet of it.
SIM_FUNCTION real ray_radius(const ModelView& model, int shape) {
    const real radius = model.shape_radius[shape];
    if (model.shape_type[shape] != SHAPE_HEIGHTFIELD) return radius;
    return maximum(radius, length(load_vec3(&model.shape_size[3 * shape])));  // half widths and base
}

// Does the ray pass through that sphere, before the meeting that is known?
SIM_FUNCTION bool passes_bound(const Ray& ray, vec3 centre, real radius, real nearest) {
    if (!(radius <= REAL_MAX)) return true;
    const vec3 offset = centre - ray.origin;
    const real along = dot(offset, ray.direction);
    const vec3 across = multiply_add(-along, ray.direction, offset);
    const real wide = radius * real(1.0001);  // more than round-off
    return dot(across, across) <= wide * wide && along + wide >= 0 && along - wide < nearest;
}

// The first shape of its world that each ray meets. Item i is ray i % rays of world i / rays. Of shapes at equal
// distance the first counts. A ray that meets nothing within `reach` gets an infinite distance, no normal and shape -1.
extern "C" __global__ void cast_rays(int n, const ModelView model, const real* body_q,
                                     const real* shape_pose,    // of each shape
                                     const int* sensor_body,    // of each world
                                     const bool* shape_counts,  // of each shape
                                     const real* mount,         // (7)
                                     const real* origin,        // (rays, 3)
                                     const real* direction,     // (rays, 3)
                                     int rays, real reach,
                                     const unsigned char* nodes,  // the trees of the meshes, and below
                                     const int* roots, const int* primitives, const real* packed,
                                     real* distance,    // nonfinite; of each ray of each world, as all below
                                     real* normal, int* hit_shape) {
    const BvhView bvh(nodes, roots, primitives, packed, 9);
    for_each(i, n) {
        const int world = i / rays, k = i % rays, body = sensor_body[world];
        Transform sensor = load_transform(mount);
        if (body >= 0) sensor = load_pose(&body_q[7 * body]) * sensor;
        const Ray ray = {transform_point(sensor, load_vec3(&origin[3 * k])),
                         rotate(sensor.q, load_vec3(&direction[3 * k]))};
        SurfaceHit best = {reach, zero_vec3()};
        int found = -1;
        const int own = model.world_shape_start[world], own_end = model.world_shape_start[world + 1];
        const int shared = model.world_shape_start[model.worlds];
        for (int j = own; j < own_end + (model.shapes - shared); ++j) {
            const int shape = j < own_end ? j : shared + (j - own_end);
            if (!shape_counts[shape]) continue;
            const Transform pose = load_transform(&shape_pose[7 * shape]);
            if (!passes_bound(ray, pose.p, ray_radius(model, shape), best.t)) continue;
            const Ray local = {inverse_transform_point(pose, ray.origin), inverse_rotate(pose.q, ray.direction)};
            const real before = best.t;
            ray_shape(local, model, bvh, shape, best);
            if (best.t < before) {
                best.normal = rotate(pose.q, best.normal);
                found = shape;
            }
        }
        distance[i] = found < 0 ? REAL_INFINITY : best.t;
        store_vec3(&normal[3LL * i], canonical(best.normal));
        hit_shape[i] = found;
    }
}

// A picture of what rays met: colour of the shape in the light of a lamp at the eye and a sky, background by height.
extern "C" __global__ void shade_rays(int n, const ModelView model, const real* normal, const int* hit_shape,
                                      const real* view,          // (n, 3) directions in the world
                                      const real* up,            // (3)
                                      unsigned char* picture) {  // (n, 3)
    for_each(i, n) {
        const vec3 ray = load_vec3(&view[3LL * i]), sky = load_vec3(up);
        const int shape = hit_shape[i];
        vec3 colour;
        if (shape < 0) {
            const real height = real(0.5) + real(0.5) * dot(ray, sky);
            colour = multiply_add(height, vec3{real(-0.35), real(-0.22), real(-0.05)}, vec3{1, 1, 1});
        } else {
            const vec3 facing = load_vec3(&normal[3LL * i]);
            const real lamp = absolute(dot(facing, ray)), above = real(0.5) + real(0.5) * dot(facing, sky);
            const real light = real(0.15) + real(0.5) * lamp + real(0.35) * above;
            for (int c = 0; c < 3; ++c) colour[c] = light * real(model.shape_color[4 * shape + c]);
        }
        for (int c = 0; c < 3; ++c)
            picture[3LL * i + c] =
                (unsigned char)to_int(minimum(maximum(colour[c], real(0)), real(1)) * real(255) + real(0.5));
    }
}
