"""numeric.h: stated errors against extended precision, domains, special values, equal bits from each compiler."""

import numpy as np
import pytest

from tests.kernels.harness import COMPILERS, PRECISIONS, bits, call, library, ulps
from tests.kernels.numeric_kernel import NAMES, TEXT

COUNT = 200_000


def run(function, x, w=None, compiler="g++", arch=""):
    """y = function(x, w), in the precision of x."""
    x = np.ascontiguousarray(x)
    w = x if w is None else np.ascontiguousarray(w, x.dtype)
    y = np.empty_like(x)
    call(library(TEXT, str(x.dtype), compiler, arch=arch), "apply", NAMES.index(function), x, w, y, len(x))
    return y


def uniform(dtype, low, high, seed=0):
    return np.random.default_rng(seed).uniform(low, high, COUNT).astype(dtype)


def powers(dtype, low, high, seed=0, signed=False):
    """Numbers whose decimal exponent is uniform."""
    draw = np.random.default_rng(seed)
    size = (10 ** draw.uniform(low, high, COUNT).astype(np.longdouble)).astype(dtype)
    return size * draw.choice([-1, 1], COUNT).astype(dtype) if signed else size


def random_patterns(dtype, seed=0):
    """Any bit pattern: all exponents, infinities and NaNs."""
    kind = np.uint32 if dtype == np.float32 else np.uint64
    return np.random.default_rng(seed).integers(0, np.iinfo(kind).max, COUNT, kind, endpoint=True).view(dtype)


# function, reference, range in float32, range in float64, error in ulp
ACCURACY = [
    ("sine", np.sin, (-10, 10), (-10, 10), 1.6),
    ("sine", np.sin, (-1e5, 1e5), (-1e12, 1e12), 1.6),
    ("sine", np.sin, (-4e6, 4e6), (-1e15, 1e15), 5),
    ("cosine", np.cos, (-10, 10), (-10, 10), 1.6),
    ("cosine", np.cos, (-1e5, 1e5), (-1e12, 1e12), 1.6),
    ("cosine", np.cos, (-4e6, 4e6), (-1e15, 1e15), 5),
    ("tangent", np.tan, (-10, 10), (-10, 10), 4.5),
    ("exponential", np.exp, (-1, 1), (-1, 1), 1.2),
    ("exponential", np.exp, (-110, 100), (-760, 720), 1.2),
    ("logarithm", np.log, (0.5, 2), (0.5, 2), 0.9),
    ("arc_sine", np.arcsin, (-1, 1), (-1, 1), 3.3),
    ("arc_cosine", np.arccos, (-1, 1), (-1, 1), 3.3),
    ("square_root", np.sqrt, (0, 10), (0, 10), 0.5),
    ("reciprocal", np.reciprocal, (-10, 10), (-10, 10), 0.5),
    ("inverse_square_root", lambda x: 1 / np.sqrt(x), (0, 10), (0, 10), 1.5),
]


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize(("function", "reference", "single", "double", "bound"), ACCURACY)
def test_error_is_within_what_the_header_states(function, reference, single, double, bound, precision):
    x = uniform(precision, *(single if precision == "float32" else double))
    with np.errstate(all="ignore"):
        exact = reference(x.astype(np.longdouble))
    assert ulps(run(function, x), exact).max() <= bound


@pytest.mark.parametrize("precision", PRECISIONS)
def test_logarithm_over_all_magnitudes(precision):
    x = powers(precision, *((-44, 38) if precision == "float32" else (-323, 308)))
    assert ulps(run("logarithm", x), np.log(x.astype(np.longdouble))).max() <= 0.9


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("exponent", [0, 15, 36])
def test_arc_tangent_in_all_quadrants_and_scales(precision, exponent):
    y, x = powers(precision, -exponent, exponent, 1, True), powers(precision, -exponent, exponent, 2, True)
    exact = np.arctan2(y.astype(np.longdouble), x.astype(np.longdouble))
    kept = (np.abs(exact) > 1e-30) | (exact == 0)  # below, float32 results lose bits to underflow
    assert ulps(run("arc_tangent2", y, x), exact)[kept].max() <= 2.6


@pytest.mark.parametrize("precision", PRECISIONS)
def test_division_and_power(precision):
    a, b = powers(precision, -10, 10, 1, True), powers(precision, -10, 10, 2, True)
    assert ulps(run("divide", a, b), a.astype(np.longdouble) / b).max() <= (1.5 if precision == "float32" else 0.5)
    x, y = powers(precision, -3, 3, 3), uniform(precision, -5, 5, 4)
    exact = np.power(x.astype(np.longdouble), y)
    exponent = np.abs(y * np.log(x.astype(np.longdouble)))
    error = ulps(run("power", x, y), exact)
    assert (error <= (0.51 if precision == "float32" else 2 + 2 * exponent)).all()


@pytest.mark.parametrize("precision", PRECISIONS)
def test_multiply_add_rounds_once(precision):
    x, w = uniform(precision, -2, 2, 1), uniform(precision, -2, 2, 2)
    z, y = -(x * w), np.empty_like(x)
    call(library(TEXT, precision, "g++"), "apply_fused", x, w, z, y, COUNT)
    if precision == "float32":
        exact = x.astype(np.float64) * w - (x * w).astype(np.float64)  # exact in double: 48 bits
        np.testing.assert_array_equal(y, exact.astype(np.float32))
    assert np.mean(y != 0) > 0.9  # the rounding error of the product, which two roundings would lose


def test_reciprocal_and_root_domains_in_float32():
    low, high, far = np.float32(2.0**-126), np.float32(2.0**126), np.float32(np.inf)
    below, above = np.nextafter(low, np.float32(0)), np.nextafter(high, far)
    x = np.array([low, -low, high, below, above, 0, -0.0, far, np.nan], np.float32)
    expected = np.array([2.0**126, -(2.0**126), 2.0**-126, *[np.nan] * 6], np.float32)
    np.testing.assert_array_equal(run("reciprocal", x), expected)
    tiny = np.float32(2.0**-100)
    x = np.array([tiny, np.nextafter(tiny, np.float32(0)), 0, -0.0, 1e-45, -1e-45, far, -1, np.nan, 3e38], np.float32)
    root = run("square_root", x)
    np.testing.assert_array_equal(root[:9], np.float32([2.0**-50, 0, 0, 0, 0, np.nan, np.nan, np.nan, np.nan]))
    assert not np.signbit(root[3])
    assert root[9] == np.sqrt(x[9])


def test_reciprocal_and_root_are_ieee_in_float64():
    x = np.array([0.0, -0.0, np.inf, 1e-310, 1e308, 4.0])
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(bits(run("reciprocal", x)), bits(1 / x))
        np.testing.assert_array_equal(bits(run("square_root", x)), bits(np.sqrt(x)))


@pytest.mark.parametrize("precision", PRECISIONS)
def test_first_argument_of_minimum_and_maximum_wins_on_a_tie_or_nan(precision):
    nan = np.nan
    a, b = np.array([1, 2, nan, 1, 0.0, -0.0], precision), np.array([2, 1, 1, nan, -0.0, 0.0], precision)
    np.testing.assert_array_equal(bits(run("minimum", a, b)), bits(np.array([1, 1, nan, 1, 0.0, -0.0], precision)))
    np.testing.assert_array_equal(bits(run("maximum", a, b)), bits(np.array([2, 2, nan, 1, 0.0, -0.0], precision)))


@pytest.mark.parametrize("precision", PRECISIONS)
def test_clamp_keeps_nan(precision):
    x = np.array([-2, 0.5, 2, np.nan, np.inf, -np.inf], precision)
    low, high, y = np.full_like(x, -1), np.full_like(x, 1), np.empty_like(x)
    call(library(TEXT, precision, "g++"), "apply_clamp", x, low, high, y, len(x))
    np.testing.assert_array_equal(y, np.array([-1, 0.5, 1, np.nan, 1, -1], precision))


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("compiler", COMPILERS)
def test_to_int_truncates_saturates_and_maps_nan_to_zero(precision, compiler):
    most = 2**31 - 1
    x = np.array(
        [1.9, -1.9, 0, -0.0, np.nan, -np.nan, np.inf, -np.inf, 3e9, -3e9, 2.0**31, -(2.0**31), 1e30], precision
    )
    expected = [1, -1, 0, 0, 0, 0, most, -most - 1, most, -most - 1, most, -most - 1, most]
    y = np.empty(len(x), np.int32)
    call(library(TEXT, precision, compiler), "apply_to_int", x, y, len(x))
    assert y.tolist() == expected


def test_to_int_of_float64_is_exact_up_to_the_ends():
    x = np.array([2147483646.9, 2147483647.0, 2147483647.5, -2147483647.5, -2147483648.9])
    y = np.empty(len(x), np.int32)
    call(library(TEXT, "float64", "g++"), "apply_to_int", x, y, len(x))
    assert y.tolist() == [2147483646, 2147483647, 2147483647, -2147483647, -2147483648]


@pytest.mark.parametrize("precision", PRECISIONS)
def test_nan_is_made_canonical_and_nothing_else(precision):
    x = random_patterns(precision)
    kind = np.uint32 if precision == "float32" else np.uint64
    y = run("canonical", x).view(kind)
    nan = np.isnan(x)
    assert nan.any()
    assert (y[nan] == (0x7FC00000 if precision == "float32" else 0x7FF8000000000000)).all()
    np.testing.assert_array_equal(y[~nan], x.view(kind)[~nan])


@pytest.mark.parametrize("precision", PRECISIONS)
def test_is_finite_agrees_with_ieee(precision):
    x = np.concatenate(
        [random_patterns(precision), np.array([np.inf, -np.inf, np.nan, np.finfo(precision).max], precision)]
    )
    y = np.empty(len(x), np.int32)
    call(library(TEXT, precision, "g++"), "apply_is_finite", x, y, len(x))
    np.testing.assert_array_equal(y != 0, np.isfinite(x))


@pytest.mark.parametrize("precision", PRECISIONS)
def test_simple_functions_are_exact(precision):
    x, w = random_patterns(precision, 1), random_patterns(precision, 2)
    with np.errstate(invalid="ignore"):
        floors = np.floor(x)
    np.testing.assert_array_equal(bits(run("floor_of", x)), bits(floors))
    np.testing.assert_array_equal(bits(run("absolute", x)), bits(np.abs(x)))
    np.testing.assert_array_equal(bits(run("copy_sign", x, w)), bits(np.copysign(x, w)))


SPECIAL = [
    ("sine", [0, -0.0, np.inf, np.nan, 1e30], [0, 0, np.nan, np.nan, np.nan]),
    ("cosine", [0, -0.0, np.inf, np.nan, 1e30], [1, 1, np.nan, np.nan, np.nan]),
    ("exponential", [0, -np.inf, np.inf, np.nan, 1e4, -1e4], [1, 0, np.inf, np.nan, np.inf, 0]),
    ("logarithm", [1, 0, -0.0, -1, np.inf, np.nan], [0, -np.inf, -np.inf, np.nan, np.inf, np.nan]),
    ("arc_sine", [0, 1, -1, 1.01, np.nan], [0, np.pi / 2, -np.pi / 2, np.nan, np.nan]),
    ("arc_cosine", [1, 0, -1, -1.01, np.nan], [0, np.pi / 2, np.pi, np.nan, np.nan]),
]


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize(("function", "x", "expected"), SPECIAL)
def test_special_values(function, x, expected, precision):
    y, wanted = run(function, np.array(x, precision)), np.array(expected, precision)
    np.testing.assert_array_equal(bits(y), bits(wanted))


@pytest.mark.parametrize("precision", PRECISIONS)
def test_arc_tangent_keeps_the_signs_of_zero_and_refuses_infinity(precision):
    y = np.array([0, -0.0, 0, -0.0, 1, -1, np.nan, 1, np.inf, 1], precision)
    x = np.array([1, 1, -1, -0.0, 0, -0.0, 1, np.nan, 1, -np.inf], precision)
    expected = np.arctan2(y, x)
    expected[6:] = np.nan
    got = run("arc_tangent2", y, x)
    np.testing.assert_allclose(got, expected, rtol=np.finfo(precision).eps)
    np.testing.assert_array_equal(np.signbit(got[:6]), np.signbit(y[:6]))


@pytest.mark.parametrize("precision", PRECISIONS)
def test_power_at_its_edges(precision):
    x = np.array([0, 0, 0, 5, -1, np.nan, np.inf, 2], precision)
    y = np.array([2, -1, 0, 0, 2, 1, 1, np.nan], precision)
    expected = np.array([0, np.inf, 1, 1, np.nan, np.nan, np.inf, np.nan], precision)
    np.testing.assert_array_equal(run("power", x, y), expected)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_constants(precision):
    y, facts = np.empty(4, precision), np.finfo(precision)
    call(library(TEXT, precision, "g++"), "constants", y)
    np.testing.assert_array_equal(y, np.array([np.pi, facts.max, facts.eps, np.inf], precision))


OTHERS = [(name, "") for name in COMPILERS if name != "g++"] + [("g++", "x86-64")]


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize(("compiler", "arch"), OTHERS)
@pytest.mark.parametrize("function", NAMES)
def test_each_compiler_and_instruction_set_gives_the_same_bits(function, compiler, arch, precision):
    for x, w in [
        (random_patterns(precision, 5), random_patterns(precision, 6)),
        (uniform(precision, -4, 4, 7), uniform(precision, -4, 4, 8)),
    ]:
        reference = run(function, x, w)
        np.testing.assert_array_equal(bits(run(function, x, w, compiler, arch)), bits(reference))
