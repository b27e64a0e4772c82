"""What ``solver.supports`` says, feature by feature, is what the solver does."""

from __future__ import annotations

import re

import numpy as np
import pytest

import simengine as sim
from simengine.enums import Cone, Integrator, JointType
from simengine.solvers.featherstone import SUPPORTS
from tests.solvers.scenes import add_box, on_ground, run, slider

pytestmark = pytest.mark.filterwarnings("ignore:solvers.Featherstone")


def listed(feature: str) -> tuple[list[str], list[str]]:
    """What a text such as "a, b and c; not d" takes and what it leaves out."""
    yes, _, no = SUPPORTS[feature].partition("not ")
    return [[word for word in re.split(r"[,; ]+|\band\b", part) if word] for part in (yes, no)]


def final_rates(model, steps: int = 20, **options) -> np.ndarray:
    solver = sim.solvers.Featherstone(model, **options)
    return run(solver, model.state(), model.control(), 5e-3, steps).joint_qd.copy()


def has_effect(options: dict, **common) -> bool:
    """Do a slider's rates come out otherwise with ``options``?"""
    common = dict(qd=[1.0], q=[0.1]) | common
    return bool(final_rates(slider(**common, **options))[0] != final_rates(slider(**common))[0])


def dropped(slope: float = 0.0, **options) -> np.ndarray:
    """Rates of a box that came down on a slope (rad), of a material."""
    model = on_ground(add_box((0.2, 0.2, 0.2)), 0.2, sim.Material(**options), slope, velocity=(0, 0, -1, 0, 0, 0))
    return final_rates(model, 10)


def test_joints():
    names, left_out = listed("joints")
    assert {name.upper() for name in names + left_out} == {kind.name for kind in JointType}
    for name in names + left_out:
        builder = sim.ModelBuilder()
        body = builder.add_body(mass=1.0, inertia=(1, 1, 1))
        axes = {"d6": {"linear_axes": ["X"], "angular_axes": ["Y"]}, "distance": {"max_distance": 1.0}}
        getattr(builder, f"add_joint_{name}")(-1, body, **axes.get(name, {}))
        model = builder.finalize(device="cpu")
        if name in left_out:
            with pytest.raises(sim.UnsupportedError, match=name):
                sim.solvers.Featherstone(model)
        else:
            assert np.isfinite(final_rates(model)).all()


def test_joint_armature_damping_springs_dry_friction():
    for options in (dict(armature=1.0), dict(damping=1.0), dict(stiffness=5.0), dict(friction=0.5)):
        assert has_effect(options, gravity=-1.0, axis="Z"), options


def test_joint_limits():
    assert has_effect(dict(limit_upper=0.12))
    for limit in (dict(swing=(0.1, 0.1)), dict(twist=(-0.1, 0.1)), dict(angle_limit=0.1)):
        rates = []
        for options in ({}, limit):
            builder = sim.ModelBuilder(gravity=0.0)
            body = builder.add_body(mass=1.0, inertia=(1, 1, 1))
            builder.add_joint_ball(-1, body, qd=[2.0, 2.0, 2.0], **options)
            rates.append(final_rates(builder.finalize(device="cpu")))
        assert (rates[0] != rates[1]).any(), limit


def test_drives_with_effort_limits():
    assert has_effect(dict(target_ke=100.0))
    assert has_effect(dict(effort_limit=0.01), target_ke=100.0)


def test_velocity_limits():
    assert has_effect(dict(velocity_limit=0.5))


def test_kinematic_bodies():
    builder = sim.ModelBuilder()
    body = builder.add_body(kinematic=True, mass=1.0, inertia=(1, 1, 1))
    model = builder.finalize(device="cpu")
    solver, control = sim.solvers.Featherstone(model), model.control()
    control.kinematic_q[body, 0] = 0.3
    assert run(solver, model.state(), control, 5e-3, 1).body_q[body, 0] == pytest.approx(0.3)


def test_equality_constraints_and_loop_joints():
    builder = sim.ModelBuilder()
    one, other = (builder.add_body(mass=1.0, inertia=(1, 1, 1)) for _ in range(2))
    builder.add_equality_connect(one, other)
    with pytest.raises(sim.UnsupportedError, match="equality"):
        sim.solvers.Featherstone(builder.finalize(device="cpu"))


def test_contact_dimensions():
    for dimensions, supported in zip(listed("contact dimensions"), (True, False), strict=True):
        for dimension in dimensions:
            model = on_ground(add_box((0.2, 0.2, 0.2)), 0.2, sim.Material(contact_dim=int(dimension)))
            if supported:
                final_rates(model)
            else:
                with pytest.raises(sim.UnsupportedError, match="contact dimensions"):
                    sim.solvers.Featherstone(model)


@pytest.mark.parametrize(
    "feature, option, kinds", [("friction cones", "cone", Cone), ("integrators", "integrator", Integrator)]
)
def test_names_of_options(feature, option, kinds):
    names, left_out = listed(feature)
    assert {name.upper() for name in names} == {kind.name for kind in kinds} and not left_out
    for name in names:
        final_rates(slider(), **{option: name})


def test_static_friction():
    held, slides = dropped(0.3, friction=0.1, static_friction=1.0), dropped(0.3, friction=0.1)
    assert held[0] < 0.01 < slides[0]


def test_restitution():
    assert dropped(restitution=0.9)[2] > dropped()[2] + 0.2


def test_contact_compliance():
    forms = dict(time_constant=0.05), dict(damping_ratio=2.0), dict(impedance=(0.5, 0.6)), dict(stiffness=1e4)
    for form in (*forms, dict(stiffness=1e4, dissipation=5.0)):
        assert (dropped(**form) != dropped()).any(), form
    assert (dropped(stiffness=1e4) != dropped(stiffness=1e4, dissipation=5.0)).any()


def test_contact_pairs():
    def rates(**own):
        builder = sim.ModelBuilder()
        body = builder.add_body(xform=(0, 0, 0.2, 0, 0, 0, 1), velocity=(1, 0, -1, 0, 0, 0))
        builder.add_shape_box(body, 0.2, 0.2, 0.2)
        builder.add_ground_plane()
        builder.add_contact_pair(0, 1, **own)
        return final_rates(builder.finalize(device="cpu"), 10)

    parameters = dict(
        friction=(0.1, 0.2, 0, 0, 0), reference=(0.05, 1.0), impedance=(0.5, 0.6), friction_reference=(1.0, 1.0)
    )
    for name, value in (parameters | dict(contact_dim=1, margin=0.01)).items():
        assert (rates(**{name: value}) != rates()).any(), name
    assert (rates(margin=0.01, gap=0.0) == rates(margin=0.01, gap=1.0)).all()  # the gap exerts nothing


def test_particles():
    assert not hasattr(sim.ModelBuilder(), "add_particle")


def test_gradients():
    with pytest.raises(sim.UnsupportedError, match="gradients"):
        sim.ModelBuilder().finalize(device="cpu", requires_grad=True)


def test_every_feature_has_its_test():
    tested = {name.removeprefix("test_").replace("_", " ") for name in globals() if name.startswith("test_")}
    by_option = {"friction cones", "integrators"}
    assert {feature.replace(",", "") for feature in SUPPORTS} <= tested | by_option
