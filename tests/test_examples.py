"""The examples run, and give what their physics says."""

import importlib.util
import math
from pathlib import Path

import numpy as np
import pytest

import simengine as sim

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


def load(name: str):
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_example_is_tested_here():
    text = Path(__file__).read_text(encoding="utf-8")
    for path in EXAMPLES.glob("*.py"):
        assert f'load("{path.stem}")' in text, path.name


def test_a_scripted_crate_comes_to_rest_on_the_ground(device):
    state = load("scene").main(device)
    position = sim.to_numpy(state.body_q)[0]
    assert position[2] == pytest.approx(0.2, abs=2e-3)
    np.testing.assert_allclose(position[:2], 0, atol=1e-3)
    assert np.abs(sim.to_numpy(state.body_qd)).max() < 1e-2


def test_a_robot_stands_and_its_run_is_kept(device, tmp_path):
    simulation = load("robot").main(tmp_path, device)
    assert simulation.frame_count == 120
    model = simulation.model
    feet = sim.to_numpy(simulation.state.body_q)[model.find_bodies("*_foot"), 2]
    radius = sim.to_numpy(model.shape_size)[model.find_shapes("*_foot/*")[0], 0]
    np.testing.assert_allclose(feet, radius, atol=3e-3)
    assert np.abs(sim.to_numpy(simulation.state.joint_qd)).max() < 0.05
    assert {path.name for path in tmp_path.iterdir()} == {"robot.npz", "robot.usdc"}


def test_many_worlds_are_pushed_and_some_are_reset(device):
    model, state, resets = load("many_worlds").main(8, 200, device)
    assert model.world_count == 8
    counts = sim.to_numpy(state.step_count)
    assert counts.max() <= 202
    assert (counts.max() == 202) or resets > 0
    assert np.isfinite(sim.to_numpy(state.joint_q)).all()
    trunks = sim.to_numpy(model.by_world(state.body_q))[:, 0]
    assert len({trunk.tobytes() for trunk in trunks}) > 1


def test_dynamics_of_the_arm_fit_together(device):
    """tau = M qdd + bias, and the tool's velocity is its Jacobian times the rates."""
    found = {name: sim.to_numpy(value) for name, value in load("dynamics").main(device).items()}
    np.testing.assert_allclose(found["torque"], found["mass"] @ found["wanted"] + found["bias"], atol=1e-10)
    np.testing.assert_allclose(found["tool"], 0, atol=1e-12)


def test_a_ball_in_the_wind_follows_its_equation(device):
    """m v' = c (w - v) from rest: v = w (1 - exp(-c t / m)), to first order in dt."""
    example = load("own_kernel")
    speed, mass = example.main(device, seconds=1.0, dt=0.001)
    assert mass == pytest.approx(1000 * 4 / 3 * math.pi * 0.1**3, rel=1e-5)
    rate = example.DRAG / mass
    assert speed == pytest.approx(example.WIND * (1 - math.exp(-rate)), abs=2 * example.WIND * rate * 0.001)
