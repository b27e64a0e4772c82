"""A GPU finds the contacts of meshes, fields and large piles, and what comes of them, to the bits of the CPU."""

import pytest

from tests.collision.moving_scenes import Run, hash_of_pile

pytestmark = [pytest.mark.gpu, pytest.mark.filterwarnings("ignore:solvers.Featherstone:UserWarning")]

GPU = "cuda:0"
STEPS = 60


@pytest.mark.parametrize("ground", ["mesh", "height field"])
@pytest.mark.parametrize("lanes", [1, 8, 32])
def test_moving_meshes(ground, precision, lanes):
    expected = Run(ground, 4, precision).step(STEPS).hashes()
    found = Run(ground, 64, precision, device=GPU, lanes=lanes).step(STEPS).hashes()
    assert len(set(found)) == 64 and found[:4] == expected


@pytest.mark.parametrize("broad_phase", ["bvh", "dense"])
def test_a_pile_of_ten_thousand_boxes(precision, broad_phase):
    assert hash_of_pile(precision, broad_phase, GPU) == hash_of_pile(precision)
