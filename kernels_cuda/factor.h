// Factorisation of symmetric positive definite matrices over the dofs of a world, H = L^T D L, and solving with it.
//
// Elimination runs from the last dof to the first, so that a matrix with the sparsity of the tree (H_ij = 0 unless one
// dof is on the other's way to the root) fills in nothing: Featherstone, Rigid Body Dynamics Algorithms (2008), 6.5.
// Only elements with row >= column are read and written. Step k, with X = row k, d = X_k and u = X / d:
//     H_ic -= X_i u_c    for c <= i < k, both on the way from k to the root
// Rows keep X, not X / d. This order and the skip by the tree are part of the definition: all forms have the same bits.
#pragma once

#include "lanes.h"
#include "numeric.h"
#include "topology.h"

// Which dofs are coupled: all of them (a matrix with constraints between bodies), or those of one way to the root.
// each_run_before(k, f) calls f(first, last) for runs of neighbours that hold the c < k with which k is coupled.
struct DenseCoupling {
    SIM_INLINE bool contains(int, int) const { return true; }

    template <class F>
    SIM_INLINE void each_run_before(int k, F f) const {
        f(0, k - 1);
    }
};

struct TreeCoupling {
    const Topology& topology;

    SIM_INLINE bool contains(int k, int j) const { return topology.dof_in_path(k, j); }

    template <class F>
    SIM_INLINE void each_run_before(int k, F f) const {
        for (int c = topology.dof_parent(k); c >= 0; c = topology.dof_parent(c)) f(c, c);
    }
};

// The same for a group of several lanes, which chooses between the two for each world.
struct LaneCoupling {
    const Topology& topology;
    bool all;

    SIM_INLINE bool contains(int k, int j) const { return all || topology.dof_in_path(k, j); }
};

// A pivot must exceed this part of the diagonal element that it came from.
#define SIM_PIVOT_FLOOR (real(4) * REAL_EPSILON)

// The pivot that is used for the one found.
SIM_INLINE real checked_pivot(real found, real lowest, bool& raised) {
    const bool low = found <= lowest || found <= 0;
    raised = raised || low;
    return low ? (lowest > 0 ? lowest : real(1)) : found;
}

// Factors the lower half of the n x n matrix in place by one lane; inverse_pivot receives 1 / d. A pivot that is not
// above its floor is raised to the floor (or, where the diagonal was not positive, to one) and true is returned; NaN
// passes through. `u` has room for n numbers.
template <class Coupling>
SIM_FUNCTION bool factor(int n, real* h, int stride, real* inverse_pivot, real* u, const Coupling& coupling) {
    bool raised = false;
    for (int k = 0; k < n; ++k) inverse_pivot[k] = SIM_PIVOT_FLOOR * h[k * stride + k];
    for (int k = n - 1; k >= 0; --k) {
        const real* x = h + k * stride;
        const real inverse = reciprocal(checked_pivot(x[k], inverse_pivot[k], raised));
        inverse_pivot[k] = inverse;
        coupling.each_run_before(k, [&](int first, int last) {
            for (int c = first; c <= last; ++c) u[c] = x[c] * inverse;
        });
        coupling.each_run_before(k, [&](int first, int last) {
            for (int i = first; i <= last; ++i) {
                real* row = h + i * stride;
                const real scale = -x[i];
                for (int c = first; c <= i; ++c) row[c] = multiply_add(scale, u[c], row[c]);
                if (first > 0)
                    coupling.each_run_before(first, [&](int from, int to) {
                        for (int c = from; c <= to; ++c) row[c] = multiply_add(scale, u[c], row[c]);
                    });
            }
        });
    }
    return raised;
}

// Solves H x = b in place with a factored matrix by one lane; x holds b at the start. `u` has room for n numbers.
template <class Coupling>
SIM_FUNCTION void solve(int n, const real* h, int stride, const real* inverse_pivot, real* x, real* u,
                        const Coupling& coupling) {
    for (int k = n - 1; k > 0; --k) {
        const real* row = h + k * stride;
        const real scale = x[k], inverse = inverse_pivot[k];
        coupling.each_run_before(k, [&](int first, int last) {
            for (int c = first; c <= last; ++c) x[c] = multiply_add(-(row[c] * inverse), scale, x[c]);
        });
    }
    for (int j = 0; j < n; ++j) {
        const real* row = h + j * stride;
        real sum = x[j];
        for (int i = 0; i < j; ++i)
            if (coupling.contains(j, i)) sum = multiply_add(-row[i], u[i], sum);
        u[j] = sum * inverse_pivot[j];
        x[j] = u[j];
    }
}

// By a group of several lanes: a lane owns columns. Where the sizes are constants, they stand in its registers and rows
// are published as they become pivots.
#if defined(SIM_SPECIALISED) && SIM_LANES > 1
#if defined(SIM_CPU) && defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wunknown-pragmas"  // emulated lanes: unrolling is for a GPU
#endif
constexpr int LANE_COLUMNS = (Topology::dofs() + SIM_LANES - 1) / SIM_LANES;

struct LaneColumns {
    real value[LANE_COLUMNS > 0 ? LANE_COLUMNS : 1][Topology::dofs() > 0 ? Topology::dofs() : 1];
};

SIM_INLINE void load_columns(const Lanes& lanes, const real* h, int stride, LaneColumns& columns) {
#pragma unroll
    for (int q = 0; q < LANE_COLUMNS; ++q) {
        const int c = lanes.lane() + q * SIM_LANES;
#pragma unroll
        for (int i = q * SIM_LANES; i < Topology::dofs(); ++i)
            columns.value[q][i] = c <= i ? h[i * stride + c] : real(0);
    }
}

// Step k of the elimination on this lane's columns.
SIM_INLINE void eliminate(const Lanes& lanes, int k, real* x, real inverse, const LaneCoupling& coupling,
                          LaneColumns& columns) {
#pragma unroll
    for (int q = 0; q < LANE_COLUMNS; ++q) {
        const int c = lanes.lane() + q * SIM_LANES;
        if (q * SIM_LANES >= k) continue;
        if (c < k && coupling.contains(k, c)) {
            const real u = columns.value[q][k] * inverse;
#pragma unroll
            for (int i = q * SIM_LANES; i < k; ++i)
                if (coupling.contains(k, i)) columns.value[q][i] = multiply_add(-x[i], u, columns.value[q][i]);
        }
    }
}

SIM_STAGE bool factor_by_lanes(Lanes& lanes, int n, real* h, int stride, real* inverse_pivot,
                               const LaneCoupling& coupling) {
    LaneColumns columns;
    load_columns(lanes, h, stride, columns);
    for_lanes(k, 0, n) inverse_pivot[k] = SIM_PIVOT_FLOOR * h[k * stride + k];
    bool raised = false;
#pragma unroll
    for (int k = Topology::dofs() - 1; k >= 0; --k) {
        real* x = h + k * stride;
#pragma unroll
        for (int q = 0; q < LANE_COLUMNS; ++q)
            if (lanes.lane() + q * SIM_LANES <= k) x[lanes.lane() + q * SIM_LANES] = columns.value[q][k];
        lanes.sync();
        const real inverse = reciprocal(checked_pivot(x[k], inverse_pivot[k], raised));
        eliminate(lanes, k, x, inverse, coupling, columns);
        lanes.sync();
        if (lanes.lane() == 0) inverse_pivot[k] = inverse;
    }
    lanes.sync();
    return raised;
}

SIM_STAGE void solve_by_lanes(Lanes& lanes, int n, const real* h, int stride, const real* inverse_pivot, real* x,
                              const LaneCoupling& coupling) {
    real b[LANE_COLUMNS > 0 ? LANE_COLUMNS : 1];
#pragma unroll
    for (int q = 0; q < LANE_COLUMNS; ++q)
        b[q] = lanes.lane() + q * SIM_LANES < n ? x[lanes.lane() + q * SIM_LANES] : real(0);
#pragma unroll
    for (int k = Topology::dofs() - 1; k > 0; --k) {
        const real scale = lanes.broadcast(b[k / SIM_LANES], k % SIM_LANES);
#pragma unroll
        for (int q = 0; q < LANE_COLUMNS; ++q) {
            const int c = lanes.lane() + q * SIM_LANES;
            if (c < k && coupling.contains(k, c))
                b[q] = multiply_add(-(h[k * stride + c] * inverse_pivot[k]), scale, b[q]);
        }
    }
#pragma unroll
    for (int i = 0; i < Topology::dofs(); ++i) {
        const real value = lanes.broadcast(b[i / SIM_LANES] * inverse_pivot[i], i % SIM_LANES);
#pragma unroll
        for (int q = 0; q < LANE_COLUMNS; ++q) {
            const int j = lanes.lane() + q * SIM_LANES;
            if (j > i && j < n && coupling.contains(j, i)) b[q] = multiply_add(-h[j * stride + i], value, b[q]);
        }
    }
#pragma unroll
    for (int q = 0; q < LANE_COLUMNS; ++q)
        if (lanes.lane() + q * SIM_LANES < n)
            x[lanes.lane() + q * SIM_LANES] = b[q] * inverse_pivot[lanes.lane() + q * SIM_LANES];
    lanes.sync();
}
#else
SIM_STAGE bool factor_by_lanes(Lanes& lanes, int n, real* h, int stride, real* inverse_pivot,
                               const LaneCoupling& coupling) {
    bool raised = false;
    for_lanes(k, 0, n) inverse_pivot[k] = SIM_PIVOT_FLOOR * h[k * stride + k];
    lanes.sync();
    SIM_ROLLED
    for (int k = n - 1; k >= 0; --k) {
        const real* x = h + k * stride;
        const real inverse = reciprocal(checked_pivot(x[k], inverse_pivot[k], raised));
        for_lanes(c, 0, k) {
            if (!coupling.contains(k, c)) continue;
            const real u = x[c] * inverse;
            SIM_ROLLED
            for (int i = c; i < k; ++i)
                if (coupling.contains(k, i)) h[i * stride + c] = multiply_add(-x[i], u, h[i * stride + c]);
        }
        lanes.sync();
        if (lanes.lane() == 0) inverse_pivot[k] = inverse;
    }
    lanes.sync();
    return raised;
}

SIM_STAGE void solve_by_lanes(Lanes& lanes, int n, const real* h, int stride, const real* inverse_pivot, real* x,
                              const LaneCoupling& coupling) {
    SIM_ROLLED
    for (int k = n - 1; k > 0; --k) {
        lanes.sync();
        const real scale = x[k], inverse = inverse_pivot[k];
        for_lanes(c, 0, k)
            if (coupling.contains(k, c)) x[c] = multiply_add(-(h[k * stride + c] * inverse), scale, x[c]);
    }
    SIM_ROLLED
    for (int i = 0; i < n; ++i) {
        lanes.sync();
        const real value = x[i] * inverse_pivot[i];
        for_lanes(j, i + 1, n)
            if (coupling.contains(j, i)) x[j] = multiply_add(-h[j * stride + i], value, x[j]);
    }
    lanes.sync();
    for_lanes(i, 0, n) x[i] *= inverse_pivot[i];
    lanes.sync();
}
#endif

// Factors a matrix with the sparsity of the tree, by any number of lanes. `u` has room for a number of each dof. Ends
// with a barrier.
SIM_FUNCTION bool factor_tree(Lanes& lanes, const Topology& t, real* h, int stride, real* inverse_pivot, real* u) {
    if (lanes.count() > 1) return factor_by_lanes(lanes, t.dofs(), h, stride, inverse_pivot, LaneCoupling{t, false});
    return factor(t.dofs(), h, stride, inverse_pivot, u, TreeCoupling{t});
}
