"""Single values: what is taken, what is refused, and that the message names it."""

from __future__ import annotations

import numpy as np
import pytest

import simengine as sim
from simengine import checks, values
from simengine.errors import ModelError


@pytest.mark.parametrize("given", [2, 2.0, np.float32(2), np.int8(2), np.array(2.0)])
def test_a_number_becomes_a_float(given):
    found = values.number(given, "size")
    assert found == 2 and type(found) is float


@pytest.mark.parametrize("given", ["2", b"2", None, [2.0], np.array([2.0]), np.nan, np.inf, object()])
def test_what_is_no_finite_number_is_refused_by_name(given):
    with pytest.raises(ModelError, match=r"size: is .*; it must be (a number|finite)"):
        values.number(given, "size")


@pytest.mark.parametrize("digits", [400, 5000])
def test_numbers_beyond_the_range_of_floats_are_refused_by_name(digits):
    """Python writes no more than 4300 digits."""
    huge, bits = 10**digits, len(bin(10**digits)) - 2
    for refused in (values.number, values.whole, values.mask):
        for given in (huge, -huge):
            with pytest.raises(ModelError, match=f"size: is a whole number of {bits} bits"):
                refused(given, "size")
    with pytest.raises(ModelError, match=rf"size: is \(a whole number of {bits} bits, 0\.0\); it must be 2 numbers"):
        values.numbers((huge, 0.0), 2, "size")


@pytest.mark.parametrize("use", [
    lambda huge: sim.ModelBuilder().add_shape_sphere(-1, huge),
    lambda huge: sim.Material(damping_ratio=huge),
    lambda huge: sim.Material(impedance=(0.9, huge)),
    lambda huge: sim.transform((huge, 0, 0)),
    lambda huge: sim.quat_from_axis_angle((0, 0, 1), huge),
    lambda huge: checks.checked_seconds("dt", huge),
    lambda huge: sim.ModelBuilder().add_shape_heightfield(-1, [[huge, 0], [0, 0]], 1, 1),
    lambda huge: sim.solvers.Featherstone(sim.ModelBuilder().finalize(device="cpu"), tolerance=huge),
])  # fmt: skip
def test_what_takes_numbers_refuses_those_beyond_the_range_of_floats(use):
    for digits in (400, 5000):
        with pytest.raises(ModelError):
            use(10**digits)


def test_bounds_of_a_number_are_said():
    with pytest.raises(ModelError, match="size: is 0; it must be positive"):
        values.number(0, "size", positive=True)
    with pytest.raises(ModelError, match=r"size: is 0\.5; it must be 1 or more"):
        values.number(0.5, "size", lowest=1)
    assert values.number(np.inf, "size", infinite=True) == np.inf


@pytest.mark.parametrize(("given", "wanted"), [
    (1.0, "of 32 bits"), (True, "of 32 bits"), (2**31, "of 32 bits"), ("1", "of 32 bits"),
])  # fmt: skip
def test_what_is_no_whole_number_is_refused_by_name(given, wanted):
    with pytest.raises(ModelError, match=f"count: is .*; it must be a whole number {wanted}"):
        values.whole(given, "count")


def test_whole_numbers_have_the_bounds_that_are_asked_for():
    assert values.whole(np.int64(7), "count", 1, 7) == 7
    for given in (0, 8):
        with pytest.raises(ModelError, match=f"count: is {given}; it must be a whole number from 1 to 7"):
            values.whole(given, "count", 1, 7)
    assert values.mask(-1, "bits") == 2**32 - 1
    with pytest.raises(ModelError, match="bits: is"):
        values.mask(2**32, "bits")


def test_one_number_holds_for_all():
    assert values.each(2, 3, "scale") == values.each(np.array(2.0), 3, "scale") == (2.0, 2.0, 2.0)
    with pytest.raises(ModelError, match="scale: has 2 numbers; it must have 3"):
        values.each((1, 2), 3, "scale")
