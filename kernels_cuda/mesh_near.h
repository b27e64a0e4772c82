// Which triangles of a mesh may come near another mesh as a whole: asked before each is collided, since most do not.
#pragma once

#include "continuous.h"
#include "triangle_mesh.h"

// All of a mesh as far as it reaches, in its own axes, before the triangles of another one.
struct NearMesh {
    vec3 lower, upper;
    vec3 origin;  // of the other mesh
    mat33 turn;   // from its axes
    vec3 scale;   // of it

    // May what is in a box of the other mesh, unscaled, come near? It fills a box in these axes.
    SIM_FUNCTION bool meets(vec3 least, vec3 most) const {
        const mat33 size = absolute(turn);
        const vec3 middle = origin + turn * multiply(scale, real(0.5) * (least + most));
        const vec3 half = size * absolute(multiply(scale, real(0.5) * (most - least)));
        return meet({lower, upper}, middle - half, middle + half);
    }

    SIM_FUNCTION bool meets_node(const ModelView& m, int node) const {
        return meets(load_vec3(&m.mesh_lower[3 * node]), load_vec3(&m.mesh_upper[3 * node]));
    }

    SIM_FUNCTION bool meets_triangle(const MeshShape& other, int t) const {
        vec3 least = {REAL_INFINITY, REAL_INFINITY, REAL_INFINITY}, most = -least;
        for (int i = 0; i < 3; ++i) {
            const vec3 p = origin + turn * multiply(scale, raw_corner(other, t, i));
            least = minimum(least, p);
            most = maximum(most, p);
        }
        return meet({lower, upper}, least, most);
    }

    // The box in the other mesh's axes, unscaled, that holds all of this one.
    SIM_FUNCTION MeshBox box_of(const MeshShape& other) const {
        const mat33 size = absolute(turn);
        const vec3 middle = transpose_multiply(turn, real(0.5) * (lower + upper) - origin),
                   half = transpose_multiply(size, real(0.5) * (upper - lower));
        return unscaled_box(other, middle - half, middle + half);
    }
};

// `reach`: how near counts. `sweep`: of a pair that is followed, in which `mesh` is the first, else null. A height
// field, which finds triangles by its cells and is solid below, has no end here.
SIM_FUNCTION NearMesh near_mesh(const MeshShape& mesh, const Transform& pose, real radius, const MeshShape& other,
                                const Transform& other_pose, real other_radius, real reach, const PairSweep* sweep) {
    const ModelView& m = *mesh.model;
    NearMesh near;
    near.origin = inverse_transform_point(pose, other_pose.p);
    near.turn = mat33_from_quat(conjugate(pose.q) * other_pose.q);
    near.scale = other.scale;
    near.upper = {REAL_MAX, REAL_MAX, REAL_MAX};
    near.lower = -near.upper;
    if (mesh.is_field) return near;
    const int root = m.mesh_node_start[mesh.mesh] + 1;
    const vec3 p = multiply(mesh.scale, load_vec3(&m.mesh_lower[3 * root])),
               q = multiply(mesh.scale, load_vec3(&m.mesh_upper[3 * root]));
    const vec3 places = absolute(pose.p) + absolute(other_pose.p);
    real around = multiply_add(NEAR_PART, radius + other_radius, NEAR_PLACE * (places.x + places.y + places.z));
    vec3 way = zero_vec3();
    if (sweep) {
        around += multiply_add(sweep->span, sweep->turning, maximum(reach, sweep->margin + sweep->tolerance));
        way = inverse_rotate(pose.q, sweep->span * (sweep->body[1].linear - sweep->body[0].linear));
    } else {
        around += reach;
    }
    const vec3 wide = around * vec3{1, 1, 1};
    near.lower = minimum(p, q) - wide - maximum(way, zero_vec3());
    near.upper = maximum(p, q) + wide - minimum(way, zero_vec3());
    return near;
}
