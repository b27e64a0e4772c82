// One world inside a kernel: where its values lie in the group's memory, and its place in the arrays of the model.
//
// Link 0 is the world, links 1.. are bodies with parents first, dofs are numbered along the links ("kernel order").
// Spatial vectors are linear then angular, in world axes, about the reference point of their tree.
#pragma once

#include "arrays.h"
#include "block.h"
#include "enums.h"
#include "lanes.h"
#include "spatial.h"
#include "topology.h"

// Hands out pieces of a group's memory one after another. With base = nullptr it only counts: the same calls give
// the bytes that are needed and, in the kernel, the pieces. Pieces start at multiples of 16 bytes.
struct MemoryBump {
    char* base;
    long long used;

    SIM_INLINE explicit MemoryBump(char* memory) : base(memory), used(0) {}

    template <class T>
    SIM_INLINE T* take(long long count) {
        T* piece = base ? reinterpret_cast<T*>(base + used) : nullptr;
        used += (count * (long long)sizeof(T) + 15) / 16 * 16;
        return piece;
    }
};

// Where SIM_UNROLL unrolls, a loop needs a constant end: it runs to the end of the table and skips.
#if defined(SIM_SPECIALISED) && SIM_LANES > 1
[[maybe_unused]] constexpr bool TOPOLOGY_UNROLLED = true;
#else
[[maybe_unused]] constexpr bool TOPOLOGY_UNROLLED = false;
#endif

// Row stride of matrices over the dofs: whole blocks for one lane; else odd, so that a column is read by the lanes
// without bank conflicts. Room for a block is behind the last row. Worlds of more than DENSE_DOFS have no matrix.
SIM_INLINE int matrix_stride(const Topology& t) { return SIM_LANES == 1 ? whole_blocks(t.dofs()) : t.dofs() | 1; }
SIM_INLINE long long matrix_size(const Topology& t) {
    return t.dofs() > DENSE_DOFS ? 0 : (long long)t.dofs() * matrix_stride(t) + BLOCK;
}

// Length of an array over the dofs that one lane works by blocks.
SIM_INLINE int padded_dofs(const Topology& t) { return SIM_LANES == 1 ? whole_blocks(t.dofs()) : t.dofs(); }

// Where the elements of a row lie in a matrix over the dofs: by dof; or packed (packed_rows.h): of the dofs on the way
// from the root to the row's alone, by how many are before them.
struct MatrixLayout {
    bool packed;

    SIM_INLINE int column(const Topology& t, int i) const { return packed ? t.dof_depth(i) : i; }
};

// The values of one world. Nothing is assumed about what the memory holds at the start.
struct WorldMemory {
    real* q;                            // coordinates, user order, quaternions normalised
    real* qd;                           // rates, kernel order
    vec3* tree_reference;               // reference point of the tree, at index link_root; zero at 0, the world
    Transform* link_pose;               // pose in the world; while kinematics runs: in the parent link
    vec3* link_offset;                  // origin of the link, from its tree's reference point (link 0: zero)
    vec3* link_com;                     // centre of mass, from its tree's reference point
    Motion* link_velocity;
    Motion* link_acceleration;          // less gravity, for the joint accelerations last given (none: zero)
    Force* link_force;                  // what moves the link; once projected: the sum over its subtree
    SpatialInertia* link_inertia;       // of the link alone
    SpatialInertia* composite_inertia;  // of its subtree
    Motion* dof_motion;                 // S: velocity for a unit rate
    Motion* dof_bias;                   // dS/dt times the rate
    real* bias;                         // Coriolis, centrifugal and gravity effort
    real* mass;                         // mass matrix, both halves, row stride matrix_stride
    real* packed_mass;                  // one lane: what is before the diagonal, packed (see MatrixLayout), then zeros
};

SIM_FUNCTION WorldMemory take_world_memory(MemoryBump& bump, const Topology& t) {
    const int links = t.links(), dofs = t.dofs();
    WorldMemory m;
    m.q = bump.take<real>(t.coords());
    m.qd = bump.take<real>(dofs);
    m.tree_reference = bump.take<vec3>(links);
    m.link_pose = bump.take<Transform>(links);
    m.link_offset = bump.take<vec3>(links);
    m.link_com = bump.take<vec3>(links);
    m.link_velocity = bump.take<Motion>(links);
    m.link_acceleration = bump.take<Motion>(links);
    m.link_force = bump.take<Force>(links);
    m.link_inertia = bump.take<SpatialInertia>(links);
    m.composite_inertia = bump.take<SpatialInertia>(links);
    m.dof_motion = bump.take<Motion>(dofs);
    m.dof_bias = bump.take<Motion>(dofs);
    m.bias = bump.take<real>(dofs);
    m.mass = bump.take<real>(matrix_size(t));
    m.packed_mass = bump.take<real>(SIM_LANES == 1 ? matrix_size(t) : 0);
    return m;
}

// A world of the model: its memory and where its rows stand in the arrays of the model and of the state.
struct World {
    const ModelView& model;
    WorldMemory memory;
    int index;        // of the world within the model
    int body_start;   // first row of its bodies, joints, ...
    int joint_start;
    int coord_start;
    int dof_start;

    SIM_INLINE World(const ModelView& arrays, const WorldMemory& values, int world)
        : model(arrays), memory(values), index(world), body_start(arrays.world_body_start[world]),
          joint_start(arrays.world_joint_start[world]), coord_start(arrays.world_coord_start[world]),
          dof_start(arrays.world_dof_start[world]) {}

    // rows in the arrays of the model and the state
    SIM_INLINE int body(const Topology& t, int link) const { return body_start + t.link_body(link); }
    SIM_INLINE int joint(const Topology& t, int link) const { return joint_start + t.link_joint(link); }
    SIM_INLINE int dof(const Topology& t, int i) const { return dof_start + t.dof_user(i); }

    // the reference point of the tree that a link is in
    SIM_INLINE vec3 reference(const Topology& t, int link) const { return memory.tree_reference[t.link_root(link)]; }
};

// The last dof on the way from the root to a link, -1 where nothing moves it: dof_in_path(last_dof(link), i) tells
// whether dof i moves the link.
SIM_FUNCTION int last_dof(const Topology& t, int link) {
    while (link > 0 && t.link_dof_count(link) == 0) link = t.link_parent(link);
    return link > 0 ? t.link_dof_start(link) + t.link_dof_count(link) - 1 : -1;
}

// Is the acceleration of dof j prescribed, because its link is kinematic?
SIM_INLINE bool is_prescribed(const Topology& t, int j) {
    return t.kinematic_links() > 0 && (t.link_flags(t.dof_link(j)) & LINK_KINEMATIC) != 0;
}

// Visits links 1.. so that a parent is done before its children: f(i) by one lane, levels between barriers.
template <class F>
SIM_INLINE void for_links_from_root(Lanes& lanes, const Topology& t, F f) {
    if (lanes.count() == 1) {
        for (int i = 1; i < t.links(); ++i) f(i);
        return;
    }
    int deepest = 0;
    SIM_UNROLL
    for (int i = 1; i < t.links(); ++i) deepest = t.link_depth(i) > deepest ? t.link_depth(i) : deepest;
    for (int depth = 1; depth <= deepest; ++depth) {
        for_lanes(i, 0, t.links())
            if (t.link_depth(i) == depth) f(i);
        lanes.sync();
    }
}

// Visits links 1.. outward (parents first), or inward (children first), N numbers a link that do not mix: f(i, c).
// One lane owns a number c for all links, so no barrier is needed between parent and child. Ends with a barrier.
template <int N, class F>
SIM_INLINE void for_components_outward(Lanes& lanes, const Topology& t, F f) {
    if (lanes.count() == 1) {
        for (int i = 1; i < t.links(); ++i)
            for (int c = 0; c < N; ++c) f(i, c);
    } else {
        for_lanes(c, 0, N) {
            SIM_UNROLL
            for (int i = 1; i < t.links(); ++i) f(i, c);
        }
    }
    lanes.sync();
}

template <int N, class F>
SIM_INLINE void for_components_inward(Lanes& lanes, const Topology& t, F f) {
    if (lanes.count() == 1) {
        for (int i = t.links() - 1; i > 0; --i)
            for (int c = 0; c < N; ++c) f(i, c);
    } else {
        for_lanes(c, 0, N) {
            SIM_UNROLL
            for (int i = t.links() - 1; i > 0; --i) f(i, c);
        }
    }
    lanes.sync();
}
