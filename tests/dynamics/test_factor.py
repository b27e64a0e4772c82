"""H = L^T D L and solving with it, against NumPy; the tree's sparsity fills nothing in."""

import numpy as np
import pytest

import simengine as sim
from simengine import structs
from simengine.runtime import Kernel, emulated_lanes
from tests.dynamics.trees import difference, model_of, random_state, random_tree, state_of

TEXT = """
#include "packed_rows.h"
#include "world.h"

#if defined(EXPECT_COLUMNS) && defined(SIM_EMULATED)
static_assert(sizeof(LaneColumns) > 0);
#endif

SIM_FUNCTION bool by_packed_rows(const Topology& t, int n, real* h, int stride, real* inverse_pivot, real* x,
                                MemoryBump& bump) {
    real* u = bump.take<real>(whole_blocks(n));
    const PackedRows rows = {t, bump.take<real>(n * whole_blocks(n)), whole_blocks(n)};
    for (int j = 0; j < n; ++j)
        for (int i = j; i >= 0; i = t.dof_parent(i)) rows.row(j)[rows.place(i)] = h[j * stride + i];
    const bool low = factor_packed(n, rows, inverse_pivot, u);
    solve_packed(n, rows, inverse_pivot, x, u);
    for (int j = 0; j < n; ++j)
        for (int i = j; i >= 0; i = t.dof_parent(i)) h[j * stride + i] = rows.row(j)[rows.place(i)];
    return low;
}

// x: the right-hand side, then the solution; factored: the lower half; all in kernel order
extern "C" __global__ void factor_and_solve(const TopologyView topology, bool dense, bool packed, const real* matrix,
                                            real* x, real* factored, bool* raised, const Scratch scratch) {
    const Topology t(topology);
    for_each_world(t.worlds(), scratch, [&](Lanes& lanes, int slot, char* bytes) {
        const int n = t.dofs(), stride = matrix_stride(t);
        MemoryBump bump(bytes);
        real* h = bump.take<real>(n * stride);
        real* inverse_pivot = bump.take<real>(n);
        real* vector = bump.take<real>(n);
        real* u = bump.take<real>(n);
        for_lanes(k, 0, n * n) h[k / n * stride + k % n] = matrix[slot * n * n + k];
        for_lanes(k, 0, n) vector[k] = x[slot * n + k];
        lanes.sync();
        bool low;
        if (lanes.count() > 1) {
            const LaneCoupling coupling = {t, dense};
            low = factor_by_lanes(lanes, n, h, stride, inverse_pivot, coupling);
            solve_by_lanes(lanes, n, h, stride, inverse_pivot, vector, coupling);
        } else if (packed) {
            low = by_packed_rows(t, n, h, stride, inverse_pivot, vector, bump);
        } else if (dense) {
            low = factor(n, h, stride, inverse_pivot, u, DenseCoupling{});
            solve(n, h, stride, inverse_pivot, vector, u, DenseCoupling{});
        } else {
            low = factor(n, h, stride, inverse_pivot, u, TreeCoupling{t});
            solve(n, h, stride, inverse_pivot, vector, u, TreeCoupling{t});
        }
        for_lanes(k, 0, n * n) factored[slot * n * n + k] = k % n <= k / n ? h[k / n * stride + k % n] : real(0);
        for_lanes(k, 0, n) x[slot * n + k] = vector[k];
        if (lanes.lane() == 0) raised[slot] = low;
    });
}
"""


def factor_and_solve(model, matrices, b, dense: bool, packed: bool = False, **form):
    """Solutions, factored lower halves and whether a pivot was raised, for one matrix a world in kernel order.

    ``packed``: by one lane in packed rows. ``form``: defines and headers of the kernel.
    """
    group, device = model.groups[0], model.device
    n = matrices.shape[-1]
    matrix, x = device.asarray(matrices.astype(model.precision)), device.asarray(b.astype(model.precision))
    factored, raised = device.zeros(matrices.shape, model.precision), device.zeros(len(matrices), bool)
    Kernel(TEXT, "factor_and_solve", **form).prepare(
        dict(topology=group, dense=dense, packed=packed, matrix=matrix, x=x, factored=factored, raised=raised),
        worlds=len(matrices),
        scratch=8 * (3 * n * (n + 8) + 8 * n) + 256,
    )()
    return sim.to_numpy(x), sim.to_numpy(factored), sim.to_numpy(raised)


def tree_matrices(device="cpu", precision="float64", worlds: int = 3):
    """A model of like worlds and the mass matrices of random states, in kernel order."""
    tree = random_tree(6, bodies=9, roots=2)
    rng = np.random.default_rng(6)
    states = [random_state(tree, rng) for _ in range(worlds)]
    model = model_of(tree, device, precision, worlds)
    state = state_of(model, np.concatenate([q for q, _ in states]), np.concatenate([qd for _, qd in states]))
    order = model.groups[0].tables["dof_user"]
    mass = sim.to_numpy(sim.eval_mass_matrix(model, state)).astype(np.float64)
    return model, mass[:, order][:, :, order], rng


def random_definite(rng, worlds: int, n: int):
    roots = rng.normal(size=(worlds, n, n))
    return roots @ roots.transpose(0, 2, 1) + 0.5 * np.eye(n)


@pytest.mark.parametrize("dense", [True, False])
def test_solutions_are_numpys(dense, device, precision):
    model, matrices, rng = tree_matrices(device, precision)
    if dense:
        matrices = random_definite(rng, *matrices.shape[:2])
    b = rng.normal(size=matrices.shape[:2])
    x, _, raised = factor_and_solve(model, matrices, b, dense)
    assert not raised.any()
    residual = np.einsum("wij,wj->wi", matrices, x) - b
    size = np.abs(matrices).max() * np.abs(x).max()
    assert np.abs(residual).max() < {"float64": 1e-13, "float32": 1e-4}[precision] * size


def test_factors_make_the_matrix():
    """Rows keep X = d l: H = sum over k of X_k X_k^T / d_k."""
    model, _, rng = tree_matrices(worlds=2)
    matrices = random_definite(rng, 2, model.joint_dof_count // 2)
    _, factored, _ = factor_and_solve(model, matrices, np.ones(matrices.shape[:2]), dense=True)
    for matrix, rows in zip(matrices, factored, strict=True):
        assert difference(sum(np.outer(row, row) / row[k] for k, row in enumerate(rows)), matrix) < 1e-12


def test_the_tree_fills_nothing_in():
    """Skipping by the tree gives the bits of the dense factorisation, whose zeros stay zero."""
    model, matrices, rng = tree_matrices()
    b = rng.normal(size=matrices.shape[:2])
    sparse, dense = (factor_and_solve(model, matrices, b, dense) for dense in (False, True))
    for one, other in zip(sparse, dense, strict=True):
        assert np.array_equal(one, other)
    assert np.all(dense[1][matrices == 0] == 0)


@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("lanes", [1, 4, 32])
def test_lanes_do_not_matter(lanes, dense, precision):
    model, matrices, rng = tree_matrices(precision=precision)
    b = rng.normal(size=matrices.shape[:2])
    expected = factor_and_solve(model, matrices, b, dense)
    for shuffle in (1, 2):
        with emulated_lanes(lanes, seed=shuffle):
            found = factor_and_solve(model, matrices, b, dense)
        for one, other in zip(expected, found, strict=True):
            assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("lanes", [4, 32])
def test_columns_in_registers_do_not_matter(lanes, dense, precision):
    """The form of a specialised kernel of many lanes, whose sizes are constants, has the bits of the one-lane form."""
    model, matrices, rng = tree_matrices(precision=precision)
    b = rng.normal(size=matrices.shape[:2])
    expected = factor_and_solve(model, matrices, b, dense)
    defines = {"SIM_SPECIALISED": 1, "SIM_LANES": lanes, "EXPECT_COLUMNS": 1}
    headers = structs.headers(model.groups[0].tables)
    for shuffle in (1, 2):
        with emulated_lanes(lanes, seed=shuffle):
            found = factor_and_solve(model, matrices, b, dense, defines=defines, headers=headers)
        for one, other in zip(expected, found, strict=True):
            assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize("damage", [0.0, -5.0])
def test_a_pivot_that_is_not_positive_is_raised_and_told(damage):
    model, matrices, rng = tree_matrices()
    matrices = random_definite(rng, *matrices.shape[:2])
    matrices[1, 4, :] = matrices[1, :, 4] = 0.0
    matrices[1, 4, 4] = damage
    x, _, raised = factor_and_solve(model, matrices, np.ones(matrices.shape[:2]), dense=True)
    assert raised.tolist() == [False, True, False]
    assert np.isfinite(x).all()


def test_nan_passes_through_without_a_word():
    model, matrices, _ = tree_matrices()
    matrices[2, 0, 0] = np.nan
    x, _, raised = factor_and_solve(model, matrices, np.ones(matrices.shape[:2]), dense=True)
    assert not raised.any()
    assert np.isnan(x[2]).any() and np.isfinite(x[:2]).all()


def test_packed_rows_have_the_bits_of_whole_ones(precision):
    model, matrices, rng = tree_matrices(precision=precision)
    b = rng.normal(size=matrices.shape[:2])
    whole = factor_and_solve(model, matrices, b, dense=False)
    packed = factor_and_solve(model, matrices, b, dense=False, packed=True)
    for expected, found in zip(whole, packed, strict=True):
        assert found.tobytes() == expected.tobytes()
    assert (
        difference(packed[0], np.linalg.solve(matrices, b[..., None])[..., 0])
        < {"float32": 1e-4, "float64": 1e-9}[precision]
    )
