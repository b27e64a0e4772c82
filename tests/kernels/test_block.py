"""Blocks of eight numbers against NumPy; frames that are often zero or the identity."""

import numpy as np
import pytest

from simengine.math import quat_multiply
from simengine.runtime import Kernel

TEXT = """
#include "block.h"
#include "quaternion.h"

// out: s a, then s a + b, by blocks; then 21 of a made zero; then 21 of b added to a. All four n long.
extern "C" __global__ void blocks(const real s, const real* a, const real* b, real* out, int n) {
    for_each(k, 1) {
        for (int i = 0; i < n; i += BLOCK) {
            store_block(out + i, s * load_block(a + i));
            store_block(out + n + i, multiply_add(s, load_block(a + i), load_block(b + i)));
            store_block(out + 2 * n + i, load_block(a + i));
            store_block(out + 3 * n + i, load_block(a + i));
        }
        clear_numbers<21>(out + 2 * n + k);
        add_numbers<21>(out + 3 * n + k, b);
    }
}

// pose (7) and frame (7) -> attach, product (14)
extern "C" __global__ void frames(const real* pose, const real* frame, real* out, int n) {
    for_each(i, n) {
        const Transform a = load_transform(pose + 7 * i), b = load_transform(frame + 7 * i);
        store_transform(out + 14 * i, attach(a, b));
        store_transform(out + 14 * i + 7, a * b);
    }
}
"""


def test_blocks_do_what_numpy_does_number_by_number(precision):
    """Numbers of few bits, so that a product and a sum have no rounding."""
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-64, 64, 32).astype(precision) for _ in range(2))
    out = np.zeros(4 * 32, precision)
    Kernel(TEXT, "blocks").prepare(dict(s=0.5, a=a, b=b, out=out, n=32), items=1)()
    scaled, both, cleared, added = out.reshape(4, 32)
    np.testing.assert_array_equal(scaled, a / 2)
    np.testing.assert_array_equal(both, a / 2 + b)
    np.testing.assert_array_equal(cleared, np.concatenate([np.zeros(21), a[21:]]))
    np.testing.assert_array_equal(added, np.concatenate([a[:21] + b[:21], a[21:]]))


@pytest.mark.parametrize("shifted", [False, True])
@pytest.mark.parametrize("turned", [False, True])
def test_a_frame_is_attached_as_by_the_product(shifted, turned):
    rng = np.random.default_rng(1)
    pose = np.concatenate([rng.normal(size=(20, 3)), quaternions(rng, 20)], axis=1)
    frame = np.tile([0.0, 0, 0, 0, 0, 0, 1], (20, 1))
    if shifted:
        frame[:, :3] = rng.normal(size=(20, 3))
    if turned:
        frame[:, 3:] = quaternions(rng, 20)
    out = np.zeros((20, 2, 7))
    Kernel(TEXT, "frames").prepare(dict(pose=pose, frame=frame, out=out, n=20), items=20)()
    np.testing.assert_array_equal(out[:, 0], out[:, 1])
    turns = [quat_multiply(p, f) for p, f in zip(pose[:, 3:], frame[:, 3:], strict=True)]
    np.testing.assert_allclose(out[:, 0, 3:], turns, rtol=0, atol=1e-14)
    np.testing.assert_allclose(out[:, 0, :3], pose[:, :3] + rotated(pose[:, 3:], frame[:, :3]), rtol=0, atol=1e-14)


def quaternions(rng, count: int) -> np.ndarray:
    q = rng.normal(size=(count, 4))
    return q / np.linalg.norm(q, axis=1, keepdims=True)


def rotated(q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """v + 2 u x (u x v + w v)."""
    u, w = q[:, :3], q[:, 3:]
    return v + 2 * np.cross(u, np.cross(u, v) + w * v)
