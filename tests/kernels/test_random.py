"""random.h: the published answers of Philox 4x32-10, and statistics of the numbers made from it."""

import numpy as np
import pytest

from tests.kernels.harness import COMPILERS, PRECISIONS, bits, call, library

TEXT = """
#include "random.h"
extern "C" __global__ void words(const unsigned* counter, const unsigned* key, unsigned* out, int n) {
    for_each(i, n) {
        const unsigned* c = counter + 4 * i;
        const RandomBits bits = philox({{c[0], c[1], c[2], c[3]}}, key[2 * i], key[2 * i + 1]);
        for (int k = 0; k < 4; ++k) out[4 * i + k] = bits.word[k];
    }
}
extern "C" __global__ void numbers(const unsigned long long* key, const long long* counter, unsigned purpose,
                                   int element, real* uniform, real* normal, int n) {
    for_each(i, n) {
        uniform[i] = random_uniform(key[i], counter[i], purpose, unsigned(element));
        normal[i] = random_normal(key[i], counter[i], purpose, unsigned(element));
    }
}
"""


def numbers(key, counter, purpose=0, element=0, precision="float64", compiler="g++"):
    key, counter = np.broadcast_arrays(np.asarray(key, np.uint64), np.asarray(counter, np.int64))
    key, counter = np.ascontiguousarray(key), np.ascontiguousarray(counter)
    uniform, normal = np.empty(key.size, precision), np.empty(key.size, precision)
    loaded = library(TEXT, precision, compiler)
    call(loaded, "numbers", key, counter, purpose, element, uniform, normal, key.size)
    return uniform, normal


def test_published_answers():
    # kat_vectors of Random123, philox4x32 10
    ones, pi = 0xFFFFFFFF, [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344, 0xA4093822, 0x299F31D0]
    counter = np.array([[0] * 4, [ones] * 4, pi[:4]], np.uint32)
    key = np.array([[0, 0], [ones, ones], pi[4:]], np.uint32)
    out = np.empty((3, 4), np.uint32)
    call(library(TEXT, "float32", "g++"), "words", counter, key, out, 3)
    assert out.tolist() == [
        [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8],
        [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD],
        [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
    ]


@pytest.mark.parametrize("precision", PRECISIONS)
def test_moments_and_range(precision):
    count = 400_000
    uniform, normal = numbers(7, np.arange(count), precision=precision)
    assert uniform.min() >= 0
    assert uniform.max() < 1
    assert np.isfinite(normal).all()
    error = 5 / np.sqrt(count)  # five standard deviations of a mean of unit variance
    for power, moment in ((1, 0), (2, 1), (3, 0), (4, 3)):
        spread = np.sqrt({1: 1, 2: 2, 3: 15, 4: 96}[power])  # of the power of a normal number
        assert abs((normal.astype(float) ** power).mean() - moment) < spread * error
    assert abs(uniform.mean(dtype=float) - 0.5) < error / np.sqrt(12)
    counts = np.bincount((uniform * 256).astype(int), minlength=256)
    chi_square = ((counts - count / 256) ** 2 / (count / 256)).sum()
    assert abs(chi_square - 255) < 5 * np.sqrt(2 * 255)


def test_every_argument_makes_another_stream():
    base = numbers(1, np.arange(1000))
    others = [
        numbers(2, np.arange(1000)),
        numbers(1 << 40, np.arange(1000)),
        numbers(1, np.arange(1000) + (1 << 40)),
        numbers(1, np.arange(1000), purpose=1),
        numbers(1, np.arange(1000), element=1),
    ]
    for uniform, normal in others:
        assert abs(np.corrcoef(uniform, base[0])[0, 1]) < 0.16  # five standard deviations
        assert not (normal == base[1]).any()


def test_a_negative_counter_is_a_counter():
    uniform, _ = numbers(1, [-1, 2**62, -(2**63)])
    assert len(set(uniform.tolist())) == 3


@pytest.mark.parametrize("precision", PRECISIONS)
def test_numbers_are_the_same_from_each_compiler(precision):
    results = [numbers(5, np.arange(50_000), precision=precision, compiler=name) for name in COMPILERS]
    for uniform, normal in results[1:]:
        np.testing.assert_array_equal(bits(uniform), bits(results[0][0]))
        np.testing.assert_array_equal(bits(normal), bits(results[0][1]))
