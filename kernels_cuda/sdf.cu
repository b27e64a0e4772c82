// Distance fields on grids of blocks (sdf.h): where their nodes are, samples, and their surfaces as meshes.
#include "sdf.h"

extern "C" __global__ void sdf_evaluate(int n, int kind, real size_x, real size_y, real size_z,
                                        const real* points /* (n, 3) */, real* value /* (n) */) {
    for_each(i, n) value[i] = sdf_primitive(kind, {size_x, size_y, size_z}, load_vec3(points + 3LL * i));
}

// ---- nodes -------------------------------------------------------------------------------------------------------

// Corners of blocks (step 8), or with half a block added (offset 4) their centers, in cells from the first node.
extern "C" __global__ void sdf_lattice(int n, int count_y, int count_z, int step, int offset, double voxel, double x,
                                       double y, double z, double* points /* (n, 3) */) {
    for_each(i, n) {
        const int across = i / count_z;
        points[3LL * i] = x + voxel * double(across / count_y * step + offset);
        points[3LL * i + 1] = y + voxel * double(across % count_y * step + offset);
        points[3LL * i + 2] = z + voxel * double(i % count_z * step + offset);
    }
}

extern "C" __global__ void sdf_near_surface(int n, const real* distance /* (n) */, real within, int* flags /* (n) */) {
    for_each(i, n) flags[i] = !(absolute(distance[i]) > within);
}

extern "C" __global__ void sdf_slots(int n, const int* flags /* (n) */, const int64* places, int* slot /* (n) */,
                                     int* block_of) {
    for_each(i, n) {
        slot[i] = flags[i] ? int(places[i]) : -1;
        if (flags[i]) block_of[places[i]] = int(i);
    }
}

// Nodes of the blocks block_of[first ..].
extern "C" __global__ void sdf_block_points(int n, int first, const int* block_of, int blocks_y, int blocks_z,
                                            double voxel, double x, double y, double z, double* points /* (n, 3) */) {
    for_each(i, n) {
        const int block = block_of[first + i / SDF_BLOCK_NODES], node = i % SDF_BLOCK_NODES;
        const int across = block / blocks_z, row = node / SDF_NODES;
        points[3LL * i] = x + voxel * double(across / blocks_y * SDF_BLOCK + row / SDF_NODES);
        points[3LL * i + 1] = y + voxel * double(across % blocks_y * SDF_BLOCK + row % SDF_NODES);
        points[3LL * i + 2] = z + voxel * double(block % blocks_z * SDF_BLOCK + node % SDF_NODES);
    }
}

// ---- samples -----------------------------------------------------------------------------------------------------

extern "C" __global__ void sdf_query(int n, int blocks_x, int blocks_y, int blocks_z, real voxel, const real* coarse,
                                     const int* slot, const real* values, const real* points /* (n, 3) */,
                                     real* value /* (n) */, real* gradient /* (n, 3) */) {
    const SdfGrid grid = {{blocks_x, blocks_y, blocks_z}, voxel, reciprocal(voxel), coarse, slot, values};
    for_each(i, n) {
        const SdfSample s = sdf_sample(grid, load_vec3(points + 3LL * i));
        value[i] = s.value;
        store_vec3(gradient + 3LL * i, s.gradient);
    }
}

// ---- surfaces ----------------------------------------------------------------------------------------------------

// Where the surface passes through a node the vertices on the edges that meet there are kept apart by this part of a
// voxel: at one place they would make triangles without area, and surfaces that touch themselves along edges.
inline constexpr real VERTEX_INSET = sizeof(real) == 8 ? real(1.4901161193847656e-8) : real(2.44140625e-4);

// Blocks as marching cubes sees them: a node is inside below `bound`. The vertex on an edge of the grid belongs to the
// block that has the edge's first node as one of its first eight along each axis; where there is no such block, to the
// one before.
struct SdfBlocks {
    int blocks[3];
    const int* slot;
    const int* block_of;
    const real* values;

    SIM_INLINE real value(int s, int x, int y, int z) const {
        return values[int64(s) * SDF_BLOCK_NODES + (x * SDF_NODES + y) * SDF_NODES + z];
    }

    // the slot of the next block along an axis, or -1
    SIM_INLINE int next(int s, int axis) const {
        const int block = block_of[s], z = block % blocks[2], across = block / blocks[2];
        const int y = across % blocks[1], x = across / blocks[1];
        const int at = axis == 0 ? x : axis == 1 ? y : z;
        if (at + 1 >= blocks[axis]) return -1;
        const int step = axis == 0 ? blocks[1] * blocks[2] : axis == 1 ? blocks[2] : 1;
        return slot[block + step];
    }

    // brings a node to the block that it belongs to; true where it was there already
    SIM_INLINE bool settle(int& s, int* node) const {
        bool here = true;
        for (int a = 0; a < 3; ++a) {
            if (node[a] != SDF_BLOCK) continue;
            const int other = next(s, a);
            if (other < 0) continue;
            s = other;
            node[a] = 0;
            here = false;
        }
        return here;
    }

    // set bits: axes along which the field crosses the bound from this node to the next
    SIM_INLINE int crossings(int s, const int* node, real bound) const {
        const bool inside = value(s, node[0], node[1], node[2]) < bound;
        int axes = 0;
        for (int a = 0; a < 3; ++a) {
            if (node[a] == SDF_BLOCK) continue;
            const int x = node[0] + (a == 0), y = node[1] + (a == 1), z = node[2] + (a == 2);
            if ((value(s, x, y, z) < bound) != inside) axes |= 1 << a;
        }
        return axes;
    }
};

SIM_INLINE int set_bits(int mask) { return (mask & 1) + (mask >> 1 & 1) + (mask >> 2 & 1); }

// Which corners of a cell are inside, one bit each; corner c at (c & 1, c >> 1 & 1, c >> 2).
SIM_INLINE int cell_case(const SdfBlocks& b, int s, const int* cell, real bound) {
    int inside = 0;
    for (int c = 0; c < 8; ++c)
        inside |= (b.value(s, cell[0] + (c & 1), cell[1] + (c >> 1 & 1), cell[2] + (c >> 2)) < bound) << c;
    return inside;
}

extern "C" __global__ void sdf_count_vertices(int n, int blocks_x, int blocks_y, int blocks_z, const int* slot,
                                              const int* block_of, const real* values, real bound,
                                              int* counts /* (n) */) {
    const SdfBlocks b = {{blocks_x, blocks_y, blocks_z}, slot, block_of, values};
    for_each(i, n) {
        int s = i / SDF_BLOCK_NODES;
        const int row = i % SDF_BLOCK_NODES / SDF_NODES;
        int node[3] = {row / SDF_NODES, row % SDF_NODES, i % SDF_NODES};
        const int axes = b.crossings(s, node, bound);
        counts[i] = axes && b.settle(s, node) ? set_bits(axes) : 0;
    }
}

extern "C" __global__ void sdf_vertices(int n, int blocks_x, int blocks_y, int blocks_z, const int* slot,
                                        const int* block_of, const real* values, real bound, real level, real voxel,
                                        const int* counts /* (n) */, const int64* places, real* vertices) {
    const SdfBlocks b = {{blocks_x, blocks_y, blocks_z}, slot, block_of, values};
    for_each(i, n) {
        if (counts[i] == 0) continue;
        const int s = i / SDF_BLOCK_NODES, row = i % SDF_BLOCK_NODES / SDF_NODES;
        const int node[3] = {row / SDF_NODES, row % SDF_NODES, i % SDF_NODES};
        const int block = block_of[s], across = block / blocks_z, axes = b.crossings(s, node, bound);
        const vec3 first = {real(across / blocks_y * SDF_BLOCK + node[0]),
                            real(across % blocks_y * SDF_BLOCK + node[1]),
                            real(block % blocks_z * SDF_BLOCK + node[2])};
        const real here = b.value(s, node[0], node[1], node[2]);
        int64 place = places[i];
        for (int a = 0; a < 3; ++a) {
            if (!(axes >> a & 1)) continue;
            const real there = b.value(s, node[0] + (a == 0), node[1] + (a == 1), node[2] + (a == 2));
            vec3 vertex = first;
            vertex[a] += clamp(divide(level - here, there - here), VERTEX_INSET, real(1) - VERTEX_INSET);
            store_vec3(vertices + 3 * place++, voxel * vertex);
        }
    }
}

// `table`: for each case the number of triangles and the edges of their corners; edge 4 axis + k starts at the k-th
// corner (of those at 0 along the axis).
extern "C" __global__ void sdf_count_triangles(int n, int blocks_x, int blocks_y, int blocks_z, const int* slot,
                                               const int* block_of, const real* values, real bound, int columns,
                                               const int* table /* (256, columns) */, int* counts /* (n) */) {
    const SdfBlocks b = {{blocks_x, blocks_y, blocks_z}, slot, block_of, values};
    for_each(i, n) {
        const int s = i / (SDF_BLOCK * SDF_BLOCK * SDF_BLOCK);
        const int cell[3] = {i / (SDF_BLOCK * SDF_BLOCK) % SDF_BLOCK, i / SDF_BLOCK % SDF_BLOCK, i % SDF_BLOCK};
        counts[i] = table[columns * cell_case(b, s, cell, bound)];
    }
}

extern "C" __global__ void sdf_triangles(int n, int blocks_x, int blocks_y, int blocks_z, const int* slot,
                                         const int* block_of, const real* values, real bound, int columns,
                                         const int* table /* (256, columns) */, const int64* vertex_places,
                                         const int64* places, int* faces) {
    const SdfBlocks b = {{blocks_x, blocks_y, blocks_z}, slot, block_of, values};
    for_each(i, n) {
        const int slot_of_cell = i / (SDF_BLOCK * SDF_BLOCK * SDF_BLOCK);
        const int cell[3] = {i / (SDF_BLOCK * SDF_BLOCK) % SDF_BLOCK, i / SDF_BLOCK % SDF_BLOCK, i % SDF_BLOCK};
        const int* entry = table + columns * cell_case(b, slot_of_cell, cell, bound);
        for (int corner = 0; corner < 3 * entry[0]; ++corner) {
            const int axis = entry[1 + corner] / 4, number = entry[1 + corner] % 4;
            const int low = number & 1, high = number >> 1;  // along the two other axes, in ascending order
            int s = slot_of_cell;
            int node[3] = {cell[0], cell[1], cell[2]};
            node[axis == 0 ? 1 : 0] += low;
            node[axis == 2 ? 1 : 2] += high;
            b.settle(s, node);
            const int before = b.crossings(s, node, bound) & ((1 << axis) - 1);
            const int index = (node[0] * SDF_NODES + node[1]) * SDF_NODES + node[2];
            faces[3 * places[i] + corner] = int(vertex_places[int64(s) * SDF_BLOCK_NODES + index] + set_bits(before));
        }
    }
}
