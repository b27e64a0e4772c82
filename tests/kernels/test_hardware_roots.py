"""The GPU's branch-free reciprocal and square root are rounded right on their stated domain: all 2^32 floats are tried.

The hardware's estimates differ between architectures, so this is to be run on each (it takes milliseconds).
"""

import numpy as np
import pytest

from simengine.runtime import Kernel, devices

TEXT = """
#include "numeric.h"

// counts by exponent the floats at which reciprocal or square_root is not what numeric.h states
extern "C" __global__ void count_wrong(long long n, int root, unsigned long long* wrong) {
    for_each(i, n) {
        const float x = from_bits(unsigned(i)), a = absolute(x);
        float got, expected;
        if (root) {
            const bool inside = x >= 7.88860905e-31f && a < infinity<float>();
            got = square_root(x);
            expected = inside ? __fsqrt_rn(x) : x >= 0.0f && a < 1.0f ? 0.0f : quiet_nan<float>();
        } else {
            const bool inside = a >= 1.17549435e-38f && a <= 8.50705917e37f;
            got = reciprocal(x);
            expected = inside ? __frcp_rn(x) : quiet_nan<float>();
        }
        const bool same = bits_of(canonical(got)) == bits_of(canonical(expected));
        if (!same) atomicAdd(wrong + (unsigned(i) >> 23 & 255u), 1ull);
    }
}
"""


@pytest.mark.gpu
@pytest.mark.parametrize("root", [0, 1], ids=["reciprocal", "square_root"])
def test_every_float_is_rounded_as_ieee_says(root):
    device = devices.get_device("cuda:0")
    cupy = devices.import_cupy()
    wrong = cupy.zeros(256, cupy.uint64)
    Kernel(TEXT, "count_wrong").launch(2**32, {"root": root, "wrong": wrong}, device=device)
    counts = cupy.asnumpy(wrong)
    assert not counts.any(), {int(exponent): int(counts[exponent]) for exponent in np.flatnonzero(counts)}
