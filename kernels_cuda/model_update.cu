// What the model derives from masses, sizes and poses: the inverse inertia that each body and each degree of freedom
// shows at the model's initial coordinates, as MuJoCo's body_invweight0 and dof_invweight0. The regularisation of
// contacts and joint rows is scaled with them.

#include "dynamics.h"
#include "factor.h"

struct UpdateMemory {
    WorldMemory world;
    real* inverse_pivot;
    real* row;      // six vectors over the dofs
    real* product;  // what they give, or one number for each dof
};

SIM_FUNCTION UpdateMemory take_update_memory(MemoryBump& bump, const Topology& t) {
    UpdateMemory m;
    m.world = take_world_memory(bump, t);
    m.inverse_pivot = bump.take<real>(t.dofs());
    m.row = bump.take<real>(6 * (long long)t.dofs());
    m.product = bump.take<real>(t.dofs() > 6 ? t.dofs() : 6);
    return m;
}

// Bytes that one world of the group needs.
extern "C" __global__ void model_update_memory_bytes(const TopologyView topology, long long* bytes) {
    for_each(i, 1) {
        MemoryBump bump(nullptr);
        take_update_memory(bump, Topology(topology));
        bytes[i] = bump.used;
    }
}

// b . H^-1 b for a factored H = L^T D L: the sum of y_i^2 / d_i with L^T y = b, for `rows` vectors b side by side, of
// which the lane has numbers first, first + step, ... They are zero but on the way from dof `last` to the root, and
// become y.
template <int rows>
SIM_FUNCTION void inverse_products(const Topology& t, const UpdateMemory& m, real* b, int last, real* product,
                                   int first, int step) {
    const int stride = matrix_stride(t);
    for (int r = first; r < rows; r += step) product[r] = 0;
    for (int k = last; k >= 0; k = t.dof_parent(k)) {
        const real inverse = m.inverse_pivot[k];
        for (int c = t.dof_parent(k); c >= 0; c = t.dof_parent(c)) {
            const real x = -m.world.mass[k * stride + c];
            for (int r = first; r < rows; r += step)
                b[rows * c + r] = multiply_add(x, b[rows * k + r] * inverse, b[rows * c + r]);
        }
        for (int r = first; r < rows; r += step)
            product[r] = multiply_add(b[rows * k + r], b[rows * k + r] * inverse, product[r]);
    }
}

// The three linear and the three angular diagonal elements of J H^-1 J^T, J the Jacobian of the link's centre of mass,
// into m.product. Ends with a barrier.
SIM_FUNCTION void link_inverse_inertia(Lanes& lanes, const Topology& t, const World& world, const UpdateMemory& m,
                                       int link) {
    const int last = last_dof(t, link);
    for (int j = last; j >= 0; j = t.dof_parent(j)) {
        const Motion column = is_prescribed(t, j) ? zero_motion() : com_jacobian(t, world, link, j);
        for_lanes(r, 0, 6) m.row[6 * j + r] = component(column, r);
    }
    inverse_products<6>(t, m, m.row, last, m.product, lanes.lane(), lanes.count());
    lanes.sync();
}

// Does the link, alone on a base at rest, only slide along axes of its frame, with its centre of mass at the origin and
// a diagonal inertia? MuJoCo gives such a body 1/m, not the mean over directions of which some do not yield.
SIM_FUNCTION bool slides_along_its_axes(const Topology& t, const World& world, int link) {
    const real small = real(1e-6);
    const int first = t.link_dof_start(link), count = t.link_dof_count(link), body = world.body(t, link);
    if (count == 0 || t.dof_parent(first) >= 0 || is_prescribed(t, first)) return false;
    for (int i = link + 1; i < t.links(); ++i)
        if (t.link_parent(i) == link) return false;
    const mat33 inertia = load_mat33(&world.model.body_inertia[9 * body]);
    const vec3 com = load_vec3(&world.model.body_com[3 * body]);
    const real most = small * (inertia[0][0] + inertia[1][1] + inertia[2][2]);
    bool aligned = length(com) < small;
    for (int r = 0; r < 3; ++r)
        for (int c = 0; c < 3; ++c) aligned = aligned && (r == c || absolute(inertia[r][c]) <= most);
    for (int j = first; j < first + count; ++j) {
        if (t.dof_kind(j) != DOF_LINEAR) return false;
        const vec3 axis = inverse_rotate(world.memory.link_pose[link].q, world.memory.dof_motion[j].linear);
        const int parts = int(absolute(axis.x) > small) + int(absolute(axis.y) > small) + int(absolute(axis.z) > small);
        aligned = aligned && parts == 1;
    }
    return aligned;
}

// Diagonal of H^-1 at each dof, into m.product. Ends with a barrier.
SIM_FUNCTION void dof_inverse_inertia(Lanes& lanes, const Topology& t, const UpdateMemory& m) {
    const int n = t.dofs();
    for_lanes(part, 0, 6) {
        real* unit = m.row + part * n;
        for (int j = part; j < n; j += 6) {
            for (int i = j; i >= 0; i = t.dof_parent(i)) unit[i] = real(i == j && !is_prescribed(t, j));
            inverse_products<1>(t, m, unit, j, m.product + j, 0, 1);
        }
    }
    lanes.sync();
}

// The three dofs of a ball share their mean, and so do the three slides of a free joint.
SIM_FUNCTION real dof_inverse_weight_of(const Topology& t, const World& world, const UpdateMemory& m, int j) {
    const int link = t.dof_link(j), type = world.model.joint_type[world.joint(t, link)];
    int first = -1;
    if (t.dof_kind(j) >= DOF_BALL_X) first = j - (t.dof_kind(j) - DOF_BALL_X);
    else if (type == JOINT_FREE || type == JOINT_DISTANCE) first = t.link_dof_start(link);
    if (first < 0) return m.product[j];
    return (m.product[first] + m.product[first + 1] + m.product[first + 2]) * (real(1) / 3);
}

// Writes what is derived of a world, or of one of its trees as a world: weights, and initial poses and velocities.
SIM_FUNCTION void update_world(Lanes& lanes, const Topology& t, const ModelView& model, World& world,
                               const UpdateMemory& m, real* body_inverse_weight, real* dof_inverse_weight, real* body_q,
                               real* body_qd) {
    load_coordinates(lanes, t, world, model.joint_q, model.joint_qd);
    forward_kinematics(lanes, t, world);
    link_velocities(lanes, t, world);
    store_bodies(lanes, t, world, body_q, body_qd);
    link_inertias(lanes, t, world);
    composite_inertias(lanes, t, world);
    mass_matrix(lanes, t, world);
    hold_prescribed(lanes, t, m.world.mass, {false});
    factor_tree(lanes, t, m.world.mass, matrix_stride(t), m.inverse_pivot, m.row);
    for (int link = 1; link < t.links(); ++link) {
        link_inverse_inertia(lanes, t, world, m, link);
        const int body = world.body(t, link);
        for_lanes(part, 0, 2) {
            const real* p = m.product + 3 * part;
            const bool slides = part == 0 && slides_along_its_axes(t, world, link);
            const real mean = slides ? reciprocal(model.body_mass[body]) : (p[0] + p[1] + p[2]) * (real(1) / 3);
            body_inverse_weight[2 * body + part] = canonical(mean);
        }
        lanes.sync();
    }
    dof_inverse_inertia(lanes, t, m);
    for_lanes(j, 0, t.dofs()) dof_inverse_weight[world.dof(t, j)] = canonical(dof_inverse_weight_of(t, world, m, j));
}

// All worlds of the group, or those that the mask marks.
extern "C" __global__ void model_update(const ModelView model, const TopologyView topology,
                                        const bool* world_mask,  // optional
                                        real* body_inverse_weight, real* dof_inverse_weight, real* body_q,
                                        real* body_qd, const Scratch scratch) {
    const Topology t(topology);
    for_each_world(t.worlds(), scratch, [&](Lanes& lanes, int slot, char* bytes) {
        if (world_mask && !world_mask[t.world(slot)]) return;
        MemoryBump bump(bytes);
        const UpdateMemory m = take_update_memory(bump, t);
        World world(model, m.world, t.world(slot));
        update_world(lanes, t, model, world, m, body_inverse_weight, dof_inverse_weight, body_q, body_qd);
    });
}

// ---- worlds of more than DENSE_DOFS, tree by tree -----------------------------------------------------------------

// A tree of a world: its first link and the one behind its last, its dofs, its first coordinate, and how many there are
// from that to its last.
struct TreeRow {
    int first, end, dofs, coord, coords;

    SIM_INLINE explicit TreeRow(const int* row)
        : first(row[0]), end(row[1]), dofs(row[2]), coord(row[3]), coords(row[4]) {}
    SIM_INLINE TreeRow(int links, int dofs, int coords) : first(1), end(links), dofs(dofs), coord(0), coords(coords) {}
};

// The tables of a tree as those of a world: links, dofs and coordinates are numbered from its own first ones.
struct TreeTables {
    int *parent, *body, *joint, *dof_start, *dof_count, *root, *depth, *flags;                 // of links
    int *dof_link, *kind, *user, *dof_coord, *dof_parent, *dof_depth, *tree_start, *tree_end;  // of dofs
    int* mask;
    int links, dofs, coords, words;

    SIM_INLINE TreeTables(MemoryBump& bump, const TreeRow& tree)
        : links(tree.end - tree.first + 1), dofs(tree.dofs), coords(tree.coords), words((tree.dofs + 31) / 32) {
        int** of_links[] = {&parent, &body, &joint, &dof_start, &dof_count, &root, &depth, &flags};
        int** of_dofs[] = {&dof_link, &kind, &user, &dof_coord, &dof_parent, &dof_depth, &tree_start, &tree_end};
        for (int** table : of_links) *table = bump.take<int>(links);
        for (int** table : of_dofs) *table = bump.take<int>(dofs);
        mask = bump.take<int>((long long)dofs * words);
    }

    SIM_INLINE TopologyView view() const {
        TopologyView v = {};
        v.links = links, v.link_dofs = dofs, v.link_coords = coords, v.mask_words = dofs * words, v.kinematic_links = 1;
        v.link_parent = parent, v.link_body = body, v.link_joint = joint, v.link_dof_start = dof_start;
        v.link_dof_count = dof_count, v.link_root = root, v.link_depth = depth, v.link_flags = flags;
        v.dof_link = dof_link, v.dof_kind = kind, v.dof_user = user, v.dof_coord = dof_coord, v.dof_parent = dof_parent;
        v.dof_depth = dof_depth, v.dof_tree_start = tree_start, v.dof_tree_end = tree_end, v.dof_mask = mask;
        return v;
    }
};

// Fills the tables from those of the world. Ends with a barrier.
SIM_FUNCTION void fill_tables(Lanes& lanes, const Topology& t, const TreeRow& tree, const TreeTables& own) {
    const int before = tree.first - 1, first_dof = t.link_dof_start(tree.first);
    for_lanes(i, 0, own.links) {
        const int link = i == 0 ? 0 : before + i, parent = t.link_parent(link);
        own.parent[i] = parent > 0 ? parent - before : parent;
        own.body[i] = t.link_body(link);
        own.joint[i] = t.link_joint(link);
        own.dof_start[i] = i == 0 ? 0 : t.link_dof_start(link) - first_dof;
        own.dof_count[i] = t.link_dof_count(link);
        own.root[i] = i == 0 ? 0 : 1;
        own.depth[i] = t.link_depth(link);
        own.flags[i] = t.link_flags(link);
    }
    for_lanes(j, 0, own.dofs) {
        const int dof = first_dof + j, parent = t.dof_parent(dof);
        own.dof_link[j] = t.dof_link(dof) - before;
        own.kind[j] = t.dof_kind(dof);
        own.user[j] = t.dof_user(dof);
        own.dof_coord[j] = t.dof_coord(dof) - tree.coord;
        own.dof_parent[j] = parent < 0 ? -1 : parent - first_dof;
        own.dof_depth[j] = t.dof_depth(dof);
        own.tree_start[j] = t.dof_tree_start(dof) - first_dof;
        own.tree_end[j] = t.dof_tree_end(dof) - first_dof;
        int* row = own.mask + (long long)j * own.words;
        for (int w = 0; w < own.words; ++w) row[w] = 0;
        for (int i = dof; i >= 0; i = t.dof_parent(i))
            row[(i - first_dof) >> 5] |= int(1u << ((i - first_dof) & 31));
    }
    lanes.sync();
}

// Bytes that a tree of so many links (the world among them), dofs and coordinates needs.
extern "C" __global__ void model_update_tree_bytes(int n, int links, int dofs, int coords, long long* bytes /* (n) */) {
    for_each(i, n) {
        MemoryBump bump(nullptr);
        take_update_memory(bump, Topology(TreeTables(bump, TreeRow(links, dofs, coords)).view()));
        bytes[i] = bump.used;
    }
}

// All trees of all worlds of the group, or of those that the mask marks.
extern "C" __global__ void model_update_trees(const ModelView model, const TopologyView topology, int trees,
                                              const int* tree_row /* (trees, 5) */,
                                              const bool* world_mask,  // optional
                                              real* body_inverse_weight, real* dof_inverse_weight, real* body_q,
                                              real* body_qd, const Scratch scratch) {
    const Topology whole(topology);
    for_each_world(trees * whole.worlds(), scratch, [&](Lanes& lanes, int slot, char* bytes) {
        const int index = whole.world(slot / trees);
        if (world_mask && !world_mask[index]) return;
        MemoryBump bump(bytes);
        const TreeRow tree(tree_row + 5 * (slot % trees));
        const TreeTables tables(bump, tree);
        fill_tables(lanes, whole, tree, tables);
        const Topology t(tables.view());
        const UpdateMemory m = take_update_memory(bump, t);
        World world(model, m.world, index);
        world.coord_start += tree.coord;
        update_world(lanes, t, model, world, m, body_inverse_weight, dof_inverse_weight, body_q, body_qd);
    });
}
