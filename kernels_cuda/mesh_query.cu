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
                                             double scale, float* out /* (n, 3) nonfinite */) {
    for_each(i, n) {
        out[3LL * i] = float(double(points[3LL * i]) / scale + x);
        out[3LL * i + 1] = float(double(points[3LL * i + 1]) / scale + y);
        out[3LL * i + 2] = float(double(points[3LL * i + 2]) / scale + z);
    }
}

extern "C" __global__ void restore_points_64(int n, const real* points /* (n, 3) */, double x, double y, double z,
                                             double scale, double* out /* (n, 3) nonfinite */) {
    for_each(i, n) {
        out[3LL * i] = double(points[3LL * i]) / scale + x;
        out[3LL * i + 1] = double(points[3LL * i + 1]) / scale + y;
        out[3LL * i + 2] = double(points[3LL * i + 2]) / scale + z;
    }
}

// ---- what the tree is made over ----------------------------------------------------------------------------------

// Number i of the boxes: axis i % 3 of triangle i / 3, so that what is written lies side by side. What is not finite
// leaves no box.
extern "C" __global__ void triangle_bounds(int n, const int* faces, const real* vertices, real* lower /* (n) */,
                                           real* upper /* (n) */) {
    for_each(i, n) {
        const int* face = faces + i / 3 * 3;
        const real* numbers = vertices + i % 3;
        const real a = numbers[3LL * face[0]], b = numbers[3LL * face[1]], c = numbers[3LL * face[2]];
        const bool good = is_finite(a) && is_finite(b) && is_finite(c);
        lower[i] = good ? minimum(minimum(a, b), c) : quiet_nan<real>();
        upper[i] = good ? maximum(maximum(a, b), c) : quiet_nan<real>();
    }
}

// ---- rays --------------------------------------------------------------------------------------------------------

// The first triangle that each ray meets; of equal ones that of the least face. face -1 and t infinite: none.
extern "C" __global__ void __launch_bounds__(256, 4)
    mesh_ray_cast(int n, const unsigned char* nodes, const int* roots, const int* primitives, const real* packed,
                  const real* origin /* (n, 3) */, const real* direction /* (n, 3) */,
                  const real* max_distance /* (n) */, real* t /* (n) nonfinite */, int* face /* (n) */,
                  real* uv /* (n, 2) */, real* point /* (n, 3) nonfinite */, real* normal /* (n, 3) */) {
    const BvhView bvh(nodes, roots, primitives, packed, 9);
    for_each(i, n) {
        const ScaledRay ray(load_vec3(origin + 3LL * i), load_vec3(direction + 3LL * i));
        const FirstFace best = first_face(bvh, bvh.roots[0], ray, max_distance[i]);
        t[i] = best.hit.t * ray.scale;
        face[i] = best.face;
        uv[2LL * i] = best.hit.u;
        uv[2LL * i + 1] = best.hit.v;
        if (best.face >= 0) {
            const Triangle triangle(bvh.packed + 9 * best.place);
            store_vec3(point + 3LL * i, triangle.at(best.hit.u, best.hit.v));
            store_vec3(normal + 3LL * i, unit_normal(triangle));
        } else {
            store_vec3(point + 3LL * i, {quiet_nan<real>(), quiet_nan<real>(), quiet_nan<real>()});
            store_vec3(normal + 3LL * i, zero_vec3());
        }
    }
}

extern "C" __global__ void __launch_bounds__(256, 4)
    mesh_ray_any(int n, const unsigned char* nodes, const int* roots, const int* primitives, const real* packed,
                 const real* origin /* (n, 3) */, const real* direction /* (n, 3) */,
                 const real* max_distance /* (n) */, bool* hits /* (n) */) {
    const BvhView bvh(nodes, roots, primitives, packed, 9);
    for_each(i, n) {
        const ScaledRay ray(load_vec3(origin + 3LL * i), load_vec3(direction + 3LL * i));
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
        const ScaledRay ray(load_vec3(origin + 3LL * i), load_vec3(direction + 3LL * i));
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

inline constexpr int POINT_BLOCK = 64;  // threads of a block on a GPU

// How it is told whether a point is inside; as in SIGNS of simengine/collision/mesh.py. A solid is closed.
enum Sign { SIGN_NONE, SIGN_NORMAL, SIGN_WINDING, SIGN_SOLID, SIGN_SOLID_INWARDS };

// What is asked for each point and where the answer goes; the distance is negative inside where a sign is asked for.
struct ClosestQuery {
    MeshTopology topology;
    MeshBoundary boundary;
    const int* faces;
    const real* vertices;
    int sign;
    const real* point;         // (n, 3)
    const real* max_distance;  // (n)
    real* distance;            // (n)
    int* face;                 // (n)
    real* uv;                  // (n, 2)
    real* closest;             // (n, 3)
    real* normal;              // (n, 3)

    // Of a point whose closest one is q, on that part of the face.
    SIM_INLINE bool is_inside(const BvhView& bvh, vec3 p, vec3 q, int on_face, int part) const {
        if (sign == SIGN_NONE) return false;
        if (sign == SIGN_WINDING) return absolute(winding(bvh, bvh.roots[0], vertices, boundary, p)) > real(0.5);
        if (sign != SIGN_NORMAL && is_beyond(bvh.nodes[bvh.roots[0]], p)) return false;
        const real side = dot(p - q, side_normal(vertices, topology, on_face, part));
        return sign == SIGN_SOLID_INWARDS ? side > 0 : side < 0;
    }

    SIM_INLINE void answer(const BvhView& bvh, int i, int place) const {
        const vec3 p = load_vec3(point + 3LL * i);
        if (place < 0) {
            face[i] = -1;
            distance[i] = REAL_INFINITY;
            uv[2LL * i] = uv[2LL * i + 1] = real(0);
            store_vec3(closest + 3LL * i, {quiet_nan<real>(), quiet_nan<real>(), quiet_nan<real>()});
            store_vec3(normal + 3LL * i, zero_vec3());
            return;
        }
        const int found = bvh.primitive[place];
        const Triangle triangle(vertices, faces + 3 * found);
        const ClosestHit hit = triangle.prepared().closest(p);
        const vec3 q = triangle.at(hit.u, hit.v);
        const real size = length(p - q);
        face[i] = found;
        distance[i] = is_inside(bvh, p, q, found, hit.part) ? -size : size;
        uv[2LL * i] = hit.u;
        uv[2LL * i + 1] = hit.v;
        store_vec3(closest + 3LL * i, q);
        store_vec3(normal + 3LL * i, unit_normal(triangle));
    }
};

// Where the surface is about equally far all round, points have most of the tree to search. Groups of lanes that have
// opened `patience` nodes for theirs hand them on: `count` of such batches, none but the first `capacity` of them. Each
// is then searched in PARTS parts of the tree by as many groups, and what they found is joined.
inline constexpr int PARTS = BVH_WIDTH * BVH_WIDTH;

struct LateBatches {
    int capacity, share;
    int* count;    // (2) while they are handed on, and then
    int* first;    // (capacity) position in the order of the points
    real* square;  // (capacity, 1 + PARTS, share) of what was found before, and in each part
    int* place;    // likewise

    // The batch's number, below `capacity`: or there is no room.
    SIM_INLINE int add(Lanes& lanes) const {
        int number = 0;
#ifdef SIM_GPU
        if (lanes.lane() == 0) number = atomicAdd(count, 1);
#else
        if (lanes.lane() == 0) number = __atomic_fetch_add(count, 1, __ATOMIC_RELAXED);
#endif
        return lanes.broadcast(number, 0);
    }

    SIM_INLINE int entry(int batch, int part, int lane) const { return (batch * (1 + PARTS) + part) * share + lane; }
    SIM_INLINE NearestPlace load(int at) const { return {square[at], place[at]}; }
    SIM_INLINE void store(int at, const NearestPlace& found) const {
        square[at] = found.square;
        place[at] = found.place;
    }
};

// Part i of a tree: child i % 8 of child i / 8 of the root; a leaf there is the first part of its eight.
SIM_INLINE BvhStart part_of_tree(const BvhView& bvh, int root, int part) {
    const int above = part / BVH_WIDTH, below = part % BVH_WIDTH;
    const int child = (bvh_slots(bvh.nodes[root]) >> above & 1u) ? bvh.nodes[root].child[above] : BVH_NONE;
    if (child >= 0) return {child, 1u << below};
    return {child != BVH_NONE && below == 0 ? root : -1, 1u << above};
}

// Closest points: a group of lanes works `share` of them, side by side as many as it has lanes.
extern "C" __global__ void __launch_bounds__(POINT_BLOCK, 16)
    mesh_closest(int groups, int share, int n, const unsigned char* nodes, const int* roots, const int* primitives,
                 const real* packed, const int* faces, const real* vertices, const int* welded /* optional */,
                 const int* corner_start /* optional */, const int* corner /* optional */, int boundary_count,
                 const int* boundary_edge /* optional */, const int* boundary_weight /* optional */, int sign,
                 const real* point /* (n, 3) */, const real* max_distance /* (n) */, const int* turn /* (n) optional */,
                 int patience, int capacity, int* late_count /* (2) optional */,
                 int* late_first /* (capacity) optional */,
                 real* late_square /* (capacity, 65, share) optional nonfinite */,
                 int* late_place /* (capacity, 65, share) optional */, real* distance /* (n) nonfinite */,
                 int* face /* (n) */, real* uv /* (n, 2) */, real* closest /* (n, 3) nonfinite */,
                 real* normal /* (n, 3) */, Scratch scratch) {
    const BvhView bvh(nodes, roots, primitives, packed, 9);
    const ClosestQuery query = {{welded, corner_start, corner},
                                {boundary_count, boundary_edge, boundary_weight},
                                faces,
                                vertices,
                                sign,
                                point,
                                max_distance,
                                distance,
                                face,
                                uv,
                                closest,
                                normal};
    const LateBatches late = {capacity, share, late_count, late_first, late_square, late_place};
    for_each_world(groups, scratch, [&](Lanes& lanes, int group, char* memory) {
        const int begin = share * group, end = begin + share < n ? begin + share : n, root = bvh.roots[0];
        for (int item = begin; item < end; item += lanes.count()) {
            const int own = item + lanes.lane();
            const int place = own < end ? own : end - 1, i = turn ? turn[place] : place;
            const vec3 p = load_vec3(point + 3LL * i);
            NearestPlace best = {own < end ? minimum(max_distance[i] * max_distance[i], REAL_MAX) : real(-1), -1};
            PreparedLeaves& leaves = prepared_leaves(lanes, memory);
            bool handed_on = false;
            int left = patience;
            while (!handed_on && !search_nearest(lanes, bvh, root, {root, BVH_ALL}, p, left, leaves, best)) {
                const int batch = late.add(lanes);
                handed_on = batch < capacity;
                left = -1;
                if (!handed_on) continue;
                if (lanes.lane() == 0) late_first[batch] = item;
                late.store(late.entry(batch, PARTS, lanes.lane()), best);
            }
            if (own < end && !handed_on) query.answer(bvh, i, best.place);
        }
    });
}

// A part of the tree for the points of a batch.
extern "C" __global__ void __launch_bounds__(POINT_BLOCK, 16)
    mesh_closest_part(int groups, int share, int n, const unsigned char* nodes, const int* roots, const int* primitives,
                      const real* packed, const real* point /* (n, 3) */, const int* turn /* (n) optional */,
                      int capacity, int* late_count /* (2) */, int* late_first /* (capacity) */,
                      real* late_square /* (capacity, 65, share) nonfinite */,
                      int* late_place /* (capacity, 65, share) */,
                      Scratch scratch) {
    const BvhView bvh(nodes, roots, primitives, packed, 9);
    const LateBatches late = {capacity, share, late_count, late_first, late_square, late_place};
    for_each_world(groups, scratch, [&](Lanes& lanes, int group, char* memory) {
        const int batch = group / PARTS, part = group % PARTS,
                  count = late_count[0] < capacity ? late_count[0] : capacity;
        if (group == 0 && lanes.lane() == 0) late_count[1] = count;
        if (batch >= count) return;
        const int own = late_first[batch] + lanes.lane(), place = own < n ? own : n - 1, i = turn ? turn[place] : place;
        const int root = bvh.roots[0];
        NearestPlace best = late.load(late.entry(batch, PARTS, lanes.lane()));
        search_nearest(lanes, bvh, root, part_of_tree(bvh, root, part), load_vec3(point + 3LL * i), -1,
                       prepared_leaves(lanes, memory), best);
        late.store(late.entry(batch, part, lanes.lane()), best);
    });
}

// The answers of batches whose parts were searched; there is none after.
extern "C" __global__ void __launch_bounds__(POINT_BLOCK, 16)
    mesh_closest_join(int groups, int share, int n, const unsigned char* nodes, const int* roots, const int* primitives,
                      const real* packed, const int* faces, const real* vertices, const int* welded /* optional */,
                      const int* corner_start /* optional */, const int* corner /* optional */, int boundary_count,
                      const int* boundary_edge /* optional */, const int* boundary_weight /* optional */, int sign,
                      const real* point /* (n, 3) */, const real* max_distance /* (n) */,
                      const int* turn /* (n) optional */, int capacity, int* late_count /* (2) */,
                      int* late_first /* (capacity) */, real* late_square /* (capacity, 65, share) nonfinite */,
                      int* late_place /* (capacity, 65, share) */, real* distance /* (n) */, int* face /* (n) */,
                      real* uv /* (n, 2) */, real* closest /* (n, 3) */, real* normal /* (n, 3) */, Scratch scratch) {
    const BvhView bvh(nodes, roots, primitives, packed, 9);
    const ClosestQuery query = {{welded, corner_start, corner},
                                {boundary_count, boundary_edge, boundary_weight},
                                faces,
                                vertices,
                                sign,
                                point,
                                max_distance,
                                distance,
                                face,
                                uv,
                                closest,
                                normal};
    const LateBatches late = {capacity, share, late_count, late_first, late_square, late_place};
    for_each_world(groups, scratch, [&](Lanes& lanes, int batch, char*) {
        if (batch == 0 && lanes.lane() == 0) late_count[0] = 0;
        if (batch >= late_count[1]) return;
        const int own = late_first[batch] + lanes.lane();
        if (own >= n) return;
        NearestPlace best = late.load(late.entry(batch, PARTS, lanes.lane()));
        for (int part = 0; part < PARTS; ++part) {
            const NearestPlace other = late.load(late.entry(batch, part, lanes.lane()));
            if (other.place >= 0) best.meet(bvh, other.square, other.place);
        }
        query.answer(bvh, turn ? turn[own] : own, best.place);
    });
}

extern "C" __global__ void mesh_farthest(int n, const unsigned char* nodes, const int* roots, const int* primitives,
                                         const real* packed, const int* faces, const real* point /* (n, 3) */,
                                         int* vertex /* (n) */, real* distance /* (n) nonfinite */) {
    const BvhView bvh(nodes, roots, primitives, packed, 9);
    for_each(i, n) {
        const FarthestVertex found = farthest_vertex(bvh, bvh.roots[0], faces, load_vec3(point + 3LL * i));
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
    for_each(i, n) number[i] = winding(bvh, bvh.roots[0], vertices, boundary, load_vec3(point + 3LL * i));
}

// What belongs to vertices, at points of faces; zero for face -1.
extern "C" __global__ void mesh_interpolate(int n, const int* faces, const real* values, const int* face /* (n) */,
                                            const real* uv /* (n, 2) */, real* out /* (n, 3) */) {
    for_each(i, n) {
        if (face[i] < 0) {
            store_vec3(out + 3LL * i, zero_vec3());
            continue;
        }
        store_vec3(out + 3LL * i, Triangle(values, faces + 3 * face[i]).at(uv[2LL * i], uv[2LL * i + 1]));
    }
}
