// Queries of triangle meshes. Vertices, points and distances here are the mesh's own: about its center, times its
// scale.
#include "mesh_query.h"
#include "sort.h"

// ---- coordinates -------------------------------------------------------------------------------------------------

// (points - center) * scale, and back, in double.
SIM_INLINE void center_point(const double* p, double x, double y, double z, double scale, real* out) {
    store_vec3(out, {real((p[0] - x) * scale), real((p[1] - y) * scale), real((p[2] - z) * scale)});
}

extern "C" __global__ void center_points_32(int n, const float* points /* (n, 3) */, double x, double y, double z,
                                            double scale, real* out /* (n, 3) */) {
    for_each(i, n) {
        const double p[3] = {double(points[3LL * i]), double(points[3LL * i + 1]), double(points[3LL * i + 2])};
        center_point(p, x, y, z, scale, out + 3LL * i);
    }
}

extern "C" __global__ void center_points_64(int n, const double* points /* (n, 3) */, double x, double y, double z,
                                            double scale, real* out /* (n, 3) */) {
    for_each(i, n) center_point(points + 3LL * i, x, y, z, scale, out + 3LL * i);
}

extern "C" __global__ void restore_points_32(int n, const real* points /* (n, 3) */, double x, double y, double z,
                                             double scale, float* out /* (n, 3) */) {
    for_each(i, n) {
        out[3LL * i] = float(double(points[3LL * i]) / scale + x);
        out[3LL * i + 1] = float(double(points[3LL * i + 1]) / scale + y);
        out[3LL * i + 2] = float(double(points[3LL * i + 2]) / scale + z);
    }
}

extern "C" __global__ void restore_points_64(int n, const real* points /* (n, 3) */, double x, double y, double z,
                                             double scale, double* out /* (n, 3) */) {
    for_each(i, n) {
        out[3LL * i] = double(points[3LL * i]) / scale + x;
        out[3LL * i + 1] = double(points[3LL * i + 1]) / scale + y;
        out[3LL * i + 2] = double(points[3LL * i + 2]) / scale + z;
    }
}

// ---- what the tree is made over ----------------------------------------------------------------------------------

extern "C" __global__ void triangle_bounds(int n, const int* faces /* (n, 3) */, const real* vertices,
                                           real* lower /* (n, 3) */, real* upper /* (n, 3) */) {
    for_each(i, n) {
        const Triangle t(vertices, faces + 3 * i);
        const bool good = is_finite(t.a) && is_finite(t.b) && is_finite(t.c);
        const vec3 none = {quiet_nan<real>(), quiet_nan<real>(), quiet_nan<real>()};
        store_vec3(lower + 3 * i, good ? minimum(minimum(t.a, t.b), t.c) : none);
        store_vec3(upper + 3 * i, good ? maximum(maximum(t.a, t.b), t.c) : none);
    }
}

extern "C" __global__ void pack_triangles(int n, const int* primitives /* (n) */, const int* faces /* (n, 3) */,
                                          const real* vertices, real* packed /* (n, 9) */) {
    for_each(i, n) {
        const Triangle t(vertices, faces + 3 * primitives[i]);
        store_vec3(packed + 9 * i, t.a);
        store_vec3(packed + 9 * i + 3, t.b);
        store_vec3(packed + 9 * i + 6, t.c);
    }
}

// ---- rays --------------------------------------------------------------------------------------------------------

// The first triangle that each ray meets; of equal ones that of the least face. face -1 and t infinite: none.
extern "C" __global__ void mesh_ray_cast(int n, const unsigned char* nodes, const int* roots, const int* primitives,
                                         const real* packed, const real* origin /* (n, 3) */,
                                         const real* direction /* (n, 3) */, const real* max_distance /* (n) */,
                                         real* t /* (n) */, int* face /* (n) */, real* uv /* (n, 2) */,
                                         real* point /* (n, 3) */, real* normal /* (n, 3) */) {
    const BvhView bvh(nodes, roots, primitives, packed, 9);
    for_each(i, n) {
        const ScaledRay ray(load_vec3(origin + 3 * i), load_vec3(direction + 3 * i));
        const FirstFace best = first_face(bvh, bvh.roots[0], ray, max_distance[i]);
        t[i] = best.hit.t * ray.scale;
        face[i] = best.face;
        uv[2 * i] = best.hit.u;
        uv[2 * i + 1] = best.hit.v;
        if (best.face >= 0) {
            const Triangle triangle(bvh.packed + 9 * best.place);
            store_vec3(point + 3 * i, triangle.at(best.hit.u, best.hit.v));
            store_vec3(normal + 3 * i, unit_normal(triangle));
        } else {
            store_vec3(point + 3 * i, {quiet_nan<real>(), quiet_nan<real>(), quiet_nan<real>()});
            store_vec3(normal + 3 * i, zero_vec3());
        }
    }
}

extern "C" __global__ void mesh_ray_any(int n, const unsigned char* nodes, const int* roots, const int* primitives,
                                        const real* packed, const real* origin /* (n, 3) */,
                                        const real* direction /* (n, 3) */, const real* max_distance /* (n) */,
                                        bool* hits /* (n) */) {
    const BvhView bvh(nodes, roots, primitives, packed, 9);
    for_each(i, n) {
        const ScaledRay ray(load_vec3(origin + 3 * i), load_vec3(direction + 3 * i));
        const ShearedRay sheared(ray);
        const real farthest = minimum(max_distance[i] * reciprocal(ray.scale), REAL_MAX);
        bool found = false;
        if (ray.valid)
            bvh_visit_ray(bvh, bvh.roots[0], BvhRay(ray.origin, ray.direction), farthest, [&](int first, int number) {
                RayHit hit;
                for (int k = first; k < first + number && !found; ++k)
                    found = ray_meets_triangle(sheared, bvh.packed + 9 * k, farthest, hit);
                return found;
            });
        hits[i] = found;
    }
}

// All triangles that each ray meets, in two launches: `out` null counts.
extern "C" __global__ void mesh_ray_all(int n, const unsigned char* nodes, const int* roots, const int* primitives,
                                        const real* packed, const real* origin /* (n, 3) */,
                                        const real* direction /* (n, 3) */, const real* max_distance /* (n) */,
                                        const int64* offsets /* optional */, int* counts /* (n) */,
                                        int* out /* optional */) {
    const BvhView bvh(nodes, roots, primitives, packed, 9);
    for_each(i, n) {
        const ScaledRay ray(load_vec3(origin + 3 * i), load_vec3(direction + 3 * i));
        const ShearedRay sheared(ray);
        const real farthest = minimum(max_distance[i] * reciprocal(ray.scale), REAL_MAX);
        IndexRow row = {out ? out + offsets[i] : nullptr, 0};
        if (ray.valid)
            bvh_visit_ray(bvh, bvh.roots[0], BvhRay(ray.origin, ray.direction), farthest, [&](int first, int number) {
                RayHit hit;
                for (int k = first; k < first + number; ++k)
                    if (ray_meets_triangle(sheared, bvh.packed + 9 * k, farthest, hit)) row.add(bvh.primitive[k]);
                return false;
            });
        if (row.out)
            sort_row(row.out, row.count);
        else
            counts[i] = int(row.count);
    }
}

// ---- points ------------------------------------------------------------------------------------------------------

// Closest points; the distance is negative inside where a sign is asked for: 0 none, 1 by normals, 2 by winding.
extern "C" __global__ void mesh_closest(
    int n, const unsigned char* nodes, const int* roots, const int* primitives, const real* packed, const int* faces,
    const real* vertices, const int* welded /* optional */, const int* corner_start /* optional */,
    const int* corner /* optional */, int boundary_count, const int* boundary_edge /* optional */,
    const int* boundary_weight /* optional */, int sign, const real* point /* (n, 3) */,
    const real* max_distance /* (n) */, const int* turn /* (n) optional */, real* distance /* (n) */,
    int* face /* (n) */, real* uv /* (n, 2) */, real* closest /* (n, 3) */, real* normal /* (n, 3) */) {
    const BvhView bvh(nodes, roots, primitives, packed, 9);
    const MeshTopology topology = {welded, corner_start, corner};
    const MeshBoundary boundary = {boundary_count, boundary_edge, boundary_weight};
    for_each(item, n) {
        const int i = turn ? turn[item] : int(item);
        const vec3 p = load_vec3(point + 3 * i);
        const ClosestFace found =
            closest_face(bvh, bvh.roots[0], p, minimum(max_distance[i] * max_distance[i], REAL_MAX));
        face[i] = found.face;
        uv[2 * i] = found.hit.u;
        uv[2 * i + 1] = found.hit.v;
        if (found.face < 0) {
            distance[i] = REAL_INFINITY;
            store_vec3(closest + 3 * i, {quiet_nan<real>(), quiet_nan<real>(), quiet_nan<real>()});
            store_vec3(normal + 3 * i, zero_vec3());
            continue;
        }
        const Triangle triangle(vertices, faces + 3 * found.face);
        const vec3 q = triangle.at(found.hit.u, found.hit.v);
        bool inside = false;
        if (sign == 1) inside = dot(p - q, side_normal(vertices, topology, found.face, found.hit.part)) < real(0);
        if (sign == 2) inside = absolute(winding(bvh, bvh.roots[0], vertices, boundary, p)) > real(0.5);
        const real size = length(p - q);
        distance[i] = inside ? -size : size;
        store_vec3(closest + 3 * i, q);
        store_vec3(normal + 3 * i, unit_normal(triangle));
    }
}

extern "C" __global__ void mesh_farthest(int n, const unsigned char* nodes, const int* roots, const int* primitives,
                                         const real* packed, const int* faces, const real* point /* (n, 3) */,
                                         int* vertex /* (n) */, real* distance /* (n) */) {
    const BvhView bvh(nodes, roots, primitives, packed, 9);
    for_each(i, n) {
        const FarthestVertex found = farthest_vertex(bvh, bvh.roots[0], faces, load_vec3(point + 3 * i));
        vertex[i] = found.vertex;
        distance[i] = found.vertex < 0 ? -REAL_INFINITY : square_root(found.square);
    }
}

extern "C" __global__ void mesh_winding(int n, const unsigned char* nodes, const int* roots, const int* primitives,
                                        const real* packed, const real* vertices, int boundary_count,
                                        const int* boundary_edge /* optional */,
                                        const int* boundary_weight /* optional */, const real* point /* (n, 3) */,
                                        real* number /* (n) */) {
    const BvhView bvh(nodes, roots, primitives, packed, 9);
    const MeshBoundary boundary = {boundary_count, boundary_edge, boundary_weight};
    for_each(i, n) number[i] = winding(bvh, bvh.roots[0], vertices, boundary, load_vec3(point + 3 * i));
}

// What belongs to vertices, at points of faces; zero for face -1.
extern "C" __global__ void mesh_interpolate(int n, const int* faces, const real* values, const int* face /* (n) */,
                                            const real* uv /* (n, 2) */, real* out /* (n, 3) */) {
    for_each(i, n) {
        if (face[i] < 0) {
            store_vec3(out + 3 * i, zero_vec3());
            continue;
        }
        store_vec3(out + 3 * i, Triangle(values, faces + 3 * face[i]).at(uv[2 * i], uv[2 * i + 1]));
    }
}
