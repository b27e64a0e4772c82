"""The worker that times variants of the kernels: its answers are about the runs that it claims."""

from benchmarks import rule_worker
from benchmarks.same_bits import Run

SETUP = {"device": "cpu", "precision": "float32", "lanes": None}


def test_hashes_are_those_of_the_scene_stepped_alone():
    run = Run("pendulum", 2, "cpu", "float32", specialise=False)
    expected = {}
    for steps, more in ((1, 1), (4, 3)):
        run.step(more)
        expected[steps] = run.hashes()
    answer = rule_worker.bits(SETUP, "pendulum", 2, [1, 4])
    assert answer["hashes"] == expected
    assert expected[1] != expected[4]
    assert answer["contacts"] >= 0


def test_a_step_takes_time_and_iterations_are_counted():
    answer = rule_worker.seconds(SETUP, "pendulum", 2, 20)
    assert answer["seconds"] > 0
    assert 0 <= answer["iterations"] < 100
