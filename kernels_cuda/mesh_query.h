// Triangles behind the leaves of a tree: rays, closest points, windings.
#pragma once

#include "bvh_query.h"
#include "triangle.h"

struct Triangle {
    vec3 a, b, c;

    SIM_INLINE explicit Triangle(const real* p) : a(load_vec3(p)), b(load_vec3(p + 3)), c(load_vec3(p + 6)) {}
    SIM_INLINE Triangle(const real* vertices, const int* face)
        : a(load_vec3(vertices + 3LL * face[0])),
          b(load_vec3(vertices + 3LL * face[1])),
          c(load_vec3(vertices + 3LL * face[2])) {}

    SIM_INLINE vec3 at(real u, real v) const { return multiply_add(v, c - a, multiply_add(u, b - a, a)); }
    SIM_INLINE PreparedTriangle prepared() const { return PreparedTriangle(a, b, c); }
};

// Unit normal, by the right hand along a, b, c; zero for a triangle without area. Edges are scaled first, so that
// triangles of any size have one.
SIM_INLINE vec3 unit_normal(const Triangle& t) {
    const vec3 e = t.b - t.a, f = t.c - t.a, g = t.c - t.b;
    const vec3 most3 = maximum(maximum(absolute(e), absolute(f)), absolute(g));
    const real most = maximum(maximum(most3.x, most3.y), most3.z);
    if (!(most > real(1e-30) && most <= real(1e30))) return zero_vec3();
    const real scale = reciprocal(most);
    return normalize(cross(scale * e, scale * f));
}

// ---- rays (Woop, Benthin and Wald 2013) --------------------------------------------------------------------------

// A ray seen along its largest component: triangles are sheared so that it runs up the third axis from the origin.
// A vertex comes out with the same bits in each triangle that has it, so an edge does too.
struct ShearedRay {
    int x, y, z;
    vec3 origin;  // in the order x, y, z
    real shear_x, shear_y, shear_z;

    SIM_INLINE explicit ShearedRay(const ScaledRay& ray) {
        const vec3 size = absolute(ray.direction);
        z = size.x >= size.y && size.x >= size.z ? 0 : size.y >= size.z ? 1 : 2;
        const bool negative = ray.direction[z] < real(0);
        const int next = z == 2 ? 0 : z + 1, last = next == 2 ? 0 : next + 1;
        x = negative ? last : next;  // keeps the sense of turning
        y = negative ? next : last;
        origin = {ray.origin[x], ray.origin[y], ray.origin[z]};
        shear_z = reciprocal(ray.direction[z]);
        shear_x = ray.direction[x] * shear_z;
        shear_y = ray.direction[y] * shear_z;
    }

    SIM_INLINE vec3 shear(const real* vertex) const {
        const vec3 v = vec3{vertex[x], vertex[y], vertex[z]} - origin;
        return {multiply_add(-shear_x, v.z, v.x), multiply_add(-shear_y, v.z, v.y), shear_z * v.z};
    }
};

// Sign of p.x q.y - p.y q.x, exactly. Where it is zero the origin lies on the line through p and q; it is then moved
// by (d, d^2) for a vanishing d > 0, for all triangles alike: so it is on one side of each edge, and a ray through an
// edge or a vertex of a surface meets one of the triangles there. Zero only where p and q are the same point.
SIM_INLINE int edge_sign(vec3 p, vec3 q) {
    const real m = p.x * q.y, n = p.y * q.x;
    if (m != n) return m > n ? 1 : -1;
    const real low_m = multiply_add(p.x, q.y, -m), low_n = multiply_add(p.y, q.x, -n);
    if (low_m != low_n) return low_m > low_n ? 1 : -1;
    if (p.y != q.y) return p.y > q.y ? 1 : -1;
    return q.x > p.x ? 1 : q.x < p.x ? -1 : 0;
}

struct RayHit {
    real t, u, v;  // the point is a + u (b - a) + v (c - a)
    int side;      // 1: the ray leaves through the side that the normal points to; -1: it enters
};

SIM_INLINE bool ray_meets_triangle(const ShearedRay& ray, const real* corners, real farthest, RayHit& hit) {
    const vec3 a = ray.shear(corners), b = ray.shear(corners + 3), c = ray.shear(corners + 6);
    const real weight_a = b.x * c.y - b.y * c.x, weight_b = c.x * a.y - c.y * a.x, weight_c = a.x * b.y - a.y * b.x;
    if ((weight_a < real(0) || weight_b < real(0) || weight_c < real(0)) &&
        (weight_a > real(0) || weight_b > real(0) || weight_c > real(0)))
        return false;
    hit.side = edge_sign(b, c);
    if (hit.side == 0 || edge_sign(c, a) != hit.side || edge_sign(a, b) != hit.side) return false;
    const real inverse = reciprocal(weight_a + weight_b + weight_c);
    hit.u = weight_b * inverse;
    hit.v = weight_c * inverse;
    hit.t = multiply_add(weight_a * inverse, a.z, multiply_add(hit.u, b.z, hit.v * c.z));
    return hit.t >= real(0) && hit.t <= farthest;
}

struct FirstFace {
    RayHit hit;  // of the scaled ray
    int face;    // -1: none
    int place;   // in the order of the leaves
};

// The first triangle that the ray meets within `farthest`, in its own units; of equal ones that of the least face.
SIM_INLINE FirstFace first_face(const BvhView& bvh, int root, const ScaledRay& ray, real farthest) {
    FirstFace best = {{REAL_INFINITY, real(0), real(0), 0}, -1, 0};
    if (!ray.valid) return best;
    const ShearedRay sheared(ray);
    farthest = minimum(farthest * reciprocal(ray.scale), REAL_MAX);
    bvh_visit_ray(bvh, root, BvhRay(ray.origin, ray.direction), farthest, [&](int first, int number) {
        for (int k = first; k < first + number; ++k) {
            RayHit hit;
            if (!ray_meets_triangle(sheared, bvh.packed + 9 * k, farthest, hit)) continue;
            if (best.face >= 0 && hit.t == farthest && bvh.primitive[k] > best.face) continue;
            best = {hit, bvh.primitive[k], k};
            farthest = hit.t;
        }
        return false;
    });
    return best;
}

// ---- closest points ----------------------------------------------------------------------------------------------

// The triangles in the leaves of one node, prepared side by side by the lanes that walk there.
struct PreparedLeaves {
    PreparedTriangle at[BVH_WIDTH * BVH_LEAF];

    SIM_INLINE void prepare(Lanes& lanes, const BvhView& bvh, const BvhNode& node) {
        lanes.sync();
        for_lanes(i, 0, BVH_WIDTH * BVH_LEAF) {
            const int slot = i / BVH_LEAF, number = i % BVH_LEAF, child = node.child[slot];
            const bool is_leaf = (bvh_slots(node) >> slot & 1u) && child < 0;
            if (!is_leaf || number >= bvh_leaf_count(child)) continue;
            at[i] = Triangle(bvh.packed + 9 * (bvh_leaf_first(child) + number)).prepared();
        }
        lanes.sync();
    }
};
static_assert(sizeof(PreparedLeaves) == 32 * 20 * sizeof(real), "PREPARED of simengine/collision/mesh.py");

// In the group's memory; one lane alone needs none.
SIM_INLINE PreparedLeaves& prepared_leaves(const Lanes& lanes, char* memory) {
    return lanes.count() == 1 ? *(PreparedLeaves*)memory : small_memory<PreparedLeaves>(memory);
}

// The nearest triangle that a search has met: its square distance and its place in the order of the leaves, -1 for
// none. Of equal ones it is that of the least face.
struct NearestPlace {
    real square;
    int place;

    SIM_INLINE void meet(const BvhView& bvh, real other_square, int other) {
        if (!(other_square <= square)) return;
        if (other_square == square && place >= 0 && bvh.primitive[place] < bvh.primitive[other]) return;
        square = other_square;
        place = other;
    }
};

// Searches what is below `start` for triangles within best.square, as the lanes of a group do for their points
// together. False: given up after as many nodes as `patience` says (negative: never).
SIM_INLINE bool search_nearest(Lanes& lanes, const BvhView& bvh, int root, BvhStart start, vec3 point, int patience,
                               PreparedLeaves& leaves, NearestPlace& best) {
    BvhTogether walkers = {lanes, patience};
    int prepared = -1;
    const NearFirst key(bvh, root, point);
    return bvh_visit_ordered(walkers, bvh, start, key, best.square, [&](const BvhLeaf& leaf) {
        if (!walkers.is_one() && prepared != leaf.node) {
            prepared = leaf.node;
            leaves.prepare(lanes, bvh, bvh.nodes[prepared]);
        }
        for (int k = 0; k < leaf.number; ++k) {
            const int place = leaf.first + k;
            const real square = walkers.is_one() ? Triangle(bvh.packed + 9 * place).prepared().closest(point).square
                                                 : leaves.at[BVH_LEAF * leaf.slot + k].closest(point).square;
            best.meet(bvh, square, place);
        }
    });
}

// The vertex of a face that is farthest from the point, of equally far ones the first; -1: there is none.
struct FarthestVertex {
    real square;
    int vertex;
};

SIM_INLINE FarthestVertex farthest_vertex(const BvhView& bvh, int root, const int* faces, vec3 point) {
    FarthestVertex best = {real(-1), -1};
    real bound = real(0);  // minus the square found
    BvhAlone alone;
    bvh_visit_ordered(alone, bvh, {root, BVH_ALL}, FarFirst{point}, bound, [&](const BvhLeaf& leaf) {
        for (int k = leaf.first; k < leaf.first + leaf.number; ++k) {
            for (int corner = 0; corner < 3; ++corner) {
                const vec3 d = load_vec3(bvh.packed + 9 * k + 3 * corner) - point;
                const int vertex = faces[3 * bvh.primitive[k] + corner];
                const real square = dot(d, d);
                if (square > best.square || (square == best.square && vertex < best.vertex)) best = {square, vertex};
            }
        }
        bound = -best.square;
    });
    return best;
}

// ---- which side --------------------------------------------------------------------------------------------------

// Corners of the triangles round each vertex; vertices at one place count as one.
struct MeshTopology {
    const int* face;          // (faces, 3), first of the vertices at its place
    const int* corner_start;  // (vertices + 1)
    const int* corner;        // (3 faces) 3 face + number, ascending for each vertex
};

SIM_INLINE real angle_between(vec3 a, vec3 b) { return arc_tangent2(length(cross(a, b)), dot(a, b)); }

// The normal whose sign tells the side for all points whose closest point is on this part of the mesh: of a face its
// own, of an edge the sum of its faces', of a vertex the sum weighted by angles (Baerentzen and Aanaes 2005).
SIM_INLINE vec3 side_normal(const real* vertices, const MeshTopology& mesh, int face, int part) {
    if (part == ON_FACE) return unit_normal(Triangle(vertices, mesh.face + 3 * face));
    const bool at_vertex = part >= ON_A;
    const int from = at_vertex ? part - ON_A : part - ON_AB;
    const int pivot = mesh.face[3 * face + from], other = at_vertex ? -1 : mesh.face[3 * face + (from + 1) % 3];
    vec3 sum = zero_vec3();
    for (int k = mesh.corner_start[pivot]; k < mesh.corner_start[pivot + 1]; ++k) {
        const int number = mesh.corner[k] % 3;
        const int* around = mesh.face + 3 * (mesh.corner[k] / 3);
        const int next = around[(number + 1) % 3], last = around[(number + 2) % 3];
        if (!at_vertex && next != other && last != other) continue;
        const vec3 p = load_vec3(vertices + 3LL * pivot);
        const vec3 e = normalize(load_vec3(vertices + 3LL * next) - p),
                   f = normalize(load_vec3(vertices + 3LL * last) - p);
        const vec3 normal = unit_normal(Triangle(vertices, around));
        sum += at_vertex ? angle_between(e, f) * normal : normal;
    }
    return sum;
}

// Is the point beyond the grid of the root, which holds the whole mesh? Of points so far away that they round to lie
// behind the part of the mesh that is nearest, it tells that they are outside all the same.
SIM_INLINE bool is_beyond(const BvhNode& root, vec3 point) {
    bool beyond = false;
    BVH_AXES
    for (int a = 0; a < 3; ++a) {
        const real along = point[a] - root.origin[a];
        beyond = beyond || along < 0 || along > real(255) * bvh_step(root.exponent[a]);
    }
    return beyond;
}

// How often the surface winds round a point (Jacobson et al. 2013). Boundary edges are continued to infinity along
// `away`, a direction u: the surface is then closed, and the signed number of its crossings by the ray from the point
// along -u is its winding number exactly. What was added is taken off again: seen from the point it is, for each edge
// from p to q, the spherical triangle (q, p, u).
struct MeshBoundary {
    int count;
    const int* edge;    // (count, 2) vertices
    const int* weight;  // (count) times that the edge is used in this sense more than in the other
};

SIM_INLINE vec3 winding_direction() {
    return {real(0.5852931), real(0.6136067), real(0.5325341)};
}  // no mesh favours it

SIM_INLINE int crossings(const BvhView& bvh, int root, vec3 point) {
    const ScaledRay ray(point, -winding_direction());
    const ShearedRay sheared(ray);
    const real farthest = REAL_MAX;
    int count = 0;
    if (!ray.valid) return 0;
    bvh_visit_ray(bvh, root, BvhRay(ray.origin, ray.direction), farthest, [&](int first, int number) {
        RayHit hit;
        for (int k = first; k < first + number; ++k)
            if (ray_meets_triangle(sheared, bvh.packed + 9 * k, farthest, hit)) count += hit.side;
        return false;
    });
    return count;
}

// Signed solid angle of the spherical triangle of unit vectors a, b, c (van Oosterom and Strackee 1983).
SIM_INLINE real solid_angle(vec3 a, vec3 b, vec3 c) {
    const real numerator = dot(a, cross(b, c)), denominator = real(1) + dot(a, b) + dot(b, c) + dot(c, a);
    return real(2) * arc_tangent2(numerator, denominator);
}

SIM_INLINE real winding(const BvhView& bvh, int root, const real* vertices, const MeshBoundary& boundary, vec3 point) {
    real angle = real(0);
    const vec3 away = normalize(winding_direction());
    for (int i = 0; i < boundary.count; ++i) {
        const vec3 p = normalize(load_vec3(vertices + 3LL * boundary.edge[2 * i]) - point);
        const vec3 q = normalize(load_vec3(vertices + 3LL * boundary.edge[2 * i + 1]) - point);
        angle = multiply_add(real(boundary.weight[i]), solid_angle(p, q, away), angle);
    }
    return multiply_add(angle, real(0.07957747154594767), real(crossings(bvh, root, point)));
}
