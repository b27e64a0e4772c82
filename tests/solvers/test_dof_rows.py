"""Rows of the degrees of freedom (constraint.h): force, curvature and cost against their definition, dof by dof and in
blocks."""

import numpy as np
import pytest

from simengine.runtime import Kernel

TEXT = """
#include "constraint.h"

// Rows at r * stride + j; out: force, curvature and cost of each dof by itself, then by blocks; each `stride` long.
extern "C" __global__ void respond(real* weight, real* reference, real* bound, const int present, const int n,
                                   const int stride, const real* a, real* out) {
    const DofRows rows = {weight, reference, bound, stride, present};
    for_each(k, 1) {
        for (int j = 0; j < n; ++j) {
            const RowResponse r = dof_response(rows, j, a[j]);
            out[j + k] = r.force;
            out[stride + j] = r.curvature;
            out[2 * stride + j] = dof_cost(rows, j, a[j]);
        }
        dof_responses(rows, n, a, out + 3 * stride, out + 4 * stride);
        dof_costs(rows, n, a, out + 5 * stride);
    }
}
"""

FRICTION, DRIVE, LOWER, UPPER, SLOWEST, FASTEST = range(6)
STRIDE = 16


def respond(weight, reference, bound, present, n, a):
    """(3, n) force, curvature, cost of each dof by itself and the same by blocks."""
    out = np.full((6, STRIDE), 7, a.dtype)
    numbers = dict(weight=weight.copy(), reference=reference.copy(), bound=bound.copy(), a=a, out=out)
    Kernel(TEXT, "respond").prepare(dict(numbers, present=present, n=n, stride=STRIDE), items=1)()
    return out[:3, :n], out[3:, :n]


def random_rows(rng, dtype):
    """A third of the rows absent; zeros behind the 13 dofs."""
    weight = rng.uniform(0.1, 3, (6, STRIDE)) * (rng.random((6, STRIDE)) < 2 / 3)
    weight[:, 13:] = 0
    reference, bound = rng.normal(size=(6, STRIDE)), rng.uniform(0.1, 1, (2, STRIDE))
    return tuple(values.astype(dtype) for values in (weight, reference, bound))


def expected_force(weight, reference, bound, rows, a):
    force = np.zeros_like(a)
    for row in rows:
        low = {FRICTION: -bound[0], DRIVE: -bound[1], LOWER: 0, SLOWEST: 0}.get(row, -np.inf)
        high = {FRICTION: bound[0], DRIVE: bound[1], UPPER: 0, FASTEST: 0}.get(row, np.inf)
        force += np.where(weight[row] > 0, np.clip(weight[row] * (reference[row] - a), low, high), 0)
    return force


@pytest.mark.parametrize("rows", [(), (FRICTION,), (DRIVE, LOWER), (UPPER, SLOWEST), tuple(range(6))])
def test_forces_are_clipped_springs(rows):
    rng = np.random.default_rng(len(rows))
    weight, reference, bound = random_rows(rng, np.float64)
    a = rng.normal(size=STRIDE)
    (force, _, _), _ = respond(weight, reference, bound, sum(1 << row for row in rows), 13, a)
    np.testing.assert_allclose(force, expected_force(weight, reference, bound, rows, a)[:13], rtol=1e-14, atol=1e-14)


def test_the_force_is_the_falling_cost_and_the_curvature_its_rise():
    """Central differences, away from the bends of the force."""
    rng = np.random.default_rng(3)
    step, bends = 1e-5, 0
    for _ in range(20):
        weight, reference, bound = random_rows(rng, np.float64)
        a = rng.normal(size=STRIDE)
        values = [respond(weight, reference, bound, 63, 13, a + d)[0] for d in (-step, 0, step)]
        smooth = values[0][1] == values[2][1]
        bends += np.count_nonzero(~smooth)
        slope, rise = ((values[2][i] - values[0][i]) / (2 * step) for i in (2, 0))
        np.testing.assert_allclose(-slope[smooth], values[1][0][smooth], rtol=0, atol=1e-8)
        np.testing.assert_allclose(-rise[smooth], values[1][1][smooth], rtol=0, atol=1e-8)
    assert bends < 5


def test_blocks_have_the_bits_of_single_dofs(precision):
    rng = np.random.default_rng(4)
    for n in (0, 1, 8, 13):
        weight, reference, bound = random_rows(rng, precision)
        weight[:, n:] = 0
        a = rng.normal(size=STRIDE).astype(precision)
        a[:2] = np.inf, np.nan
        single, blocks = respond(weight, reference, bound, 63, n, a)
        np.testing.assert_array_equal(single, blocks)


def test_an_acceleration_that_is_no_number_shows_in_its_own_dof_alone():
    rng = np.random.default_rng(5)
    weight, reference, bound = random_rows(rng, np.float64)
    weight[LOWER, :] = 1
    weight[:, 4] = 0
    a = rng.normal(size=STRIDE)
    a[[4, 6]] = np.nan
    (force, _, cost), _ = respond(weight, reference, bound, 63, 13, a)
    assert np.flatnonzero(np.isnan(force)).tolist() == np.flatnonzero(np.isnan(cost)).tolist() == [6]
