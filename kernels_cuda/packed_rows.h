// The factorisation of factor.h by one lane, for a matrix with the sparsity of the tree: of row k only the dofs on the
// way from the root to k are stored, in that order. The way to an ancestor is the beginning of the way to k, so an
// elimination step works on neighbours. It does per element what factor.h says and has the same bits.
//
// Dofs are numbered depth first: while rows are visited in order, the last value seen at each place before a row's own
// is that of the row's ancestor.
#pragma once

#include "block.h"
#include "factor.h"

struct PackedRows {
    const Topology& topology;
    real* rows;
    int stride;  // a multiple of BLOCK; what lies behind a diagonal in its block is worked too, and means nothing

    SIM_INLINE int place(int k) const { return topology.dof_depth(k); }
    SIM_INLINE real* row(int k) const { return rows + k * stride; }
    SIM_INLINE real& diagonal(int k) const { return rows[k * stride + place(k)]; }
};

// `u` has room for `stride` numbers; otherwise as factor.
SIM_FUNCTION bool factor_packed(int n, const PackedRows& h, real* inverse_pivot, real* u) {
    bool raised = false;
    for (int k = 0; k < n; ++k) inverse_pivot[k] = SIM_PIVOT_FLOOR * h.diagonal(k);
    for (int k = n - 1; k >= 0; --k) {
        const real* x = h.row(k);
        const int before = h.place(k);
        const real inverse = reciprocal(checked_pivot(x[before], inverse_pivot[k], raised));
        inverse_pivot[k] = inverse;
        for (int b = 0; b < before; b += BLOCK) store_block(u + b, inverse * load_block(x + b));
        int i = h.topology.dof_parent(k);
        for (int a = before - 1; a >= 0; --a, i = h.topology.dof_parent(i)) {
            real* row = h.row(i);
            const real scale = -x[a];
            for (int b = 0; b <= a; b += BLOCK)
                store_block(row + b, multiply_add(scale, load_block(u + b), load_block(row + b)));
        }
    }
    return raised;
}

// x holds b at the start; `along` has room for n numbers.
SIM_FUNCTION void solve_packed(int n, const PackedRows& h, const real* inverse_pivot, real* x, real* along) {
    for (int k = n - 1; k > 0; --k) {
        const real* row = h.row(k);
        const real scale = x[k], inverse = inverse_pivot[k];
        int c = h.topology.dof_parent(k);
        for (int b = h.place(k) - 1; b >= 0; --b, c = h.topology.dof_parent(c))
            x[c] = multiply_add(-(row[b] * inverse), scale, x[c]);
    }
    for (int j = 0; j < n; ++j) {
        const real* row = h.row(j);
        const int before = h.place(j);
        real sum = x[j];
        for (int b = 0; b < before; ++b) sum = multiply_add(-row[b], along[b], sum);
        x[j] = along[before] = sum * inverse_pivot[j];
    }
}
