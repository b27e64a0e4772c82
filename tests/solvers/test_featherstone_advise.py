"""Each warning of advise beside a measured failure on one side of its bound and a sound run on the other."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest

import simengine as sim
from simengine.runtime import modes
from tests.solvers.scenes import add_box, add_sphere, on_ground, run, slider

pytestmark = pytest.mark.filterwarnings("ignore")
G = 9.81


def amplitude(model, integrator: str, dt: float) -> float:
    solver, control = sim.solvers.Featherstone(model, integrator=integrator), model.control()
    control.joint_target_pos[0] = 1e-6
    peak = []
    with modes.debugging(False):  # which would stop at the first infinity by itself
        run(solver, model.state(), control, dt, 4000, lambda i, s: peak.append(abs(float(s.joint_q[0]))))
    return np.nanmax(peak[-100:]) if np.isfinite(peak[-100:]).all() else np.inf


@pytest.mark.parametrize(
    "options",
    [
        dict(target_ke=400.0, target_kd=2.0),
        dict(target_ke=400.0, target_kd=100.0),
        dict(stiffness=300.0),
        dict(stiffness=300.0, damping=3.0),
        dict(target_kd=50.0),
        dict(target_ke=200.0, damping=5.0),
    ],
)
def test_euler_diverges_beyond_the_step_that_advise_calls_safe_and_not_below(options):
    model = slider(mass=1.5, **options)
    solver = sim.solvers.Featherstone(model, integrator="euler")
    (advice,) = solver.advise(10.0)
    assert advice.value == 10.0 and "joint" in advice.element
    assert amplitude(model, "euler", advice.safe * 0.97) < 1e-4
    disturbed = amplitude(model, "euler", advice.safe * 1.03)
    assert disturbed > 1.0 or disturbed == np.inf or _kicked(model, advice.safe * 1.03) > 1.0
    assert not solver.advise(advice.safe * 0.97)
    assert not sim.solvers.Featherstone(model).advise(10.0)


def _kicked(model, dt: float) -> float:
    """For what has no target: the rate that is left of a small one."""
    solver = sim.solvers.Featherstone(model, integrator="euler")
    state = model.state()
    state.joint_qd[0] = 1e-6
    with modes.debugging(False):
        state = run(solver, state, model.control(), dt, 4000)
    return np.inf if not np.isfinite(state.joint_qd[0]) else abs(float(state.joint_qd[0]))


def rods(count: int, mirrored: bool = False, **options) -> sim.ModelBuilder:
    """A chain of rods of 1 m and 1 kg on hinges, without gravity. ``mirrored``: of hinges that count the other way."""
    builder, parent = sim.ModelBuilder(gravity=0.0), -1
    for i in range(count):
        rod = builder.add_body(mass=1.0, inertia=(1 / 12,) * 3)
        options |= dict(parent_xform=sim.transform((0, 0, 0.0 if i == 0 else -0.5)), qd=[1e-7 * (-1) ** i])
        axis = (0, -1 if mirrored and i % 2 else 1, 0)
        builder.add_joint_revolute(parent, rod, axis=axis, child_xform=sim.transform((0, 0, 0.5)), **options)
        parent = rod
    return builder


def longest_step_of_rods(count: int, ke: float, kd: float, damping: float) -> float:
    """The h at which 4 M - h^2 K - 2 h (C - B) turns singular, as an eigenvalue problem in 1/h; M of the straight chain
    by hand."""
    arm = np.array([[max(k - i + 0.5, 0.0) for i in range(count)] for k in range(count)])
    turns = np.tri(count)
    mass = arm.T @ arm + turns.T @ turns / 12
    unit, none = np.eye(count), np.zeros((count, count))
    inverse = np.linalg.inv(mass)
    companion = np.block([[inverse @ (0.5 * (kd - damping) * unit), inverse @ (0.25 * ke * unit)], [unit, none]])
    return 1 / np.linalg.eigvals(companion).real.max()


def peak_rate(model, dt: float) -> float:
    solver, rates = sim.solvers.Featherstone(model, integrator="euler"), []
    with modes.debugging(False):
        run(solver, model.state(), model.control(), dt, 800, lambda i, s: rates.append(np.abs(s.joint_qd).max()))
    return float(np.max(rates)) if np.isfinite(rates).all() else np.inf


@pytest.mark.parametrize("mirrored", [False, True])
@pytest.mark.parametrize("ke, kd, damping", [(400.0, 0.0, 0.0), (400.0, 2.0, 0.0), (0.0, 5.0, 0.0), (400.0, 3.0, 1.0)])
def test_euler_on_a_chain_diverges_beyond_the_step_that_advise_calls_safe_and_not_below(ke, kd, damping, mirrored):
    model = rods(5, mirrored, target_ke=ke, target_kd=kd, damping=damping).finalize(device="cpu", precision="float64")
    limit = longest_step_of_rods(5, ke, kd, damping)
    if ke == 400.0 and kd == 0:
        assert limit == pytest.approx(0.01640, abs=1e-5)
    (advice,) = sim.solvers.Featherstone(model, integrator="euler").advise(10 * limit)
    assert advice.safe == pytest.approx(limit, rel=1e-9) and type(advice.safe) is float
    assert peak_rate(model, 0.98 * limit) < 1e-5
    assert peak_rate(model, 1.02 * limit) > 1e-4


def test_worlds_of_different_chains_are_each_advised_on():
    builder = sim.ModelBuilder()
    for count in (1, 3):
        builder.replicate(rods(count, target_ke=400.0), 2)
    model = builder.finalize(device="cpu", precision="float64")
    found = sim.solvers.Featherstone(model, integrator="euler").advise(1.0)
    limits = [longest_step_of_rods(count, 400.0, 0.0, 0.0) for count in (1, 3)]
    assert sorted(a.safe for a in found) == pytest.approx(sorted(limits), rel=1e-9)


def test_a_contact_is_softer_than_asked_once_dt_exceeds_half_its_time_constant():
    """Rest depth g (1 - d)(tc z)^2 holds up to dt = tc/2 and not beyond."""
    tc, d = 0.01, 0.9
    material = sim.Material(time_constant=tc, impedance=(d, d, 0.001, 0.5, 2))
    wanted = G * (1 - d) * tc**2
    for dt, sound in ((0.0049, True), (0.008, False)):
        model = on_ground(add_sphere(0.1), 0.1, material)
        solver = sim.solvers.Featherstone(model)
        advice = solver.advise(dt)
        assert bool(advice) != sound
        state = run(solver, model.state(), model.control(), dt, 1000)
        assert (0.1 - state.body_q[0, 2] == pytest.approx(wanted, rel=1e-3)) == sound
    assert advice[0].safe == pytest.approx(tc / 2)


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_a_time_constant_of_two_steps_but_for_round_off_is_none_to_advise_on(precision):
    """0.02 in float32 is less than twice 1/100, and 0.3 in float64 less than 3 * 0.1."""
    for constant, dt in ((0.02, 1 / 100), (0.3, 3 * 0.1 / 2)):
        builder = sim.ModelBuilder()
        builder.add_ground_plane(material=sim.Material(time_constant=constant))
        ball, material = builder.add_body(), sim.Material(time_constant=constant)
        builder.add_shape_sphere(ball, 0.1, material=material)
        solver = sim.solvers.Featherstone(builder.finalize(device="cpu", precision=precision))
        assert solver.advise(dt) == []
        assert len(solver.advise(dt * (1 + 1e-5))) == 1


def test_a_step_far_beyond_the_time_constants_is_told_how_deep_things_sink():
    material = sim.Material(time_constant=0.01, impedance=(0.9, 0.9, 0.001, 0.5, 2))
    model = on_ground(add_sphere(0.1), 0.1, material)
    solver, dt = sim.solvers.Featherstone(model), 0.05
    (advice,) = solver.advise(dt)
    told = float(re.search(r"sinks by about (\S+) m", advice.problem).group(1))
    state = run(solver, model.state(), model.control(), dt, 300)
    assert 0.1 - state.body_q[0, 2] == pytest.approx(told, rel=0.05)
    assert "sinks" not in solver.advise(0.008)[0].problem


def test_limits_are_advised_on_likewise():
    model = slider(limit_upper=0.1, limit_reference=(0.01, 1.0))
    solver = sim.solvers.Featherstone(model)
    assert not solver.advise(0.004)
    assert solver.advise(0.006)[0].safe == pytest.approx(0.005)


def chain(ratio: float) -> sim.Model:
    """A light body that floats, a heavy one hinged to it at its centre: the light one is pushed along."""
    builder = sim.ModelBuilder(gravity=0.0)
    light = builder.add_body(mass=1.0, inertia=(1.0,) * 3, label="light")
    heavy = builder.add_body(mass=ratio, inertia=(ratio,) * 3, label="heavy")
    builder.add_joint_free(-1, light)
    builder.add_joint_prismatic(light, heavy, axis="X")
    return builder.finalize(device="cpu", precision="float32")


def test_mass_ratios_along_a_chain_lose_the_light_body_in_float32():
    """Pushed by 1 N the light body takes 1 m/s2, whatever slides free on it: right below the ratio, wrong far above."""
    for ratio, sound in ((9e3, True), (1e9, False)):
        model = chain(ratio)
        solver, control = sim.solvers.Featherstone(model), model.control()
        assert bool(solver.advise(1e-3)) != sound
        control.body_f[0, 0] = 1.0
        state, out = model.state(), model.state()
        solver.step(state, out, control, None, 1e-3)
        assert (out.body_qd[0, 0] / 1e-3 == pytest.approx(1.0, rel=0.02)) == sound
    advice = solver.advise(1e-3)[0]
    assert "heavy" in advice.element and "light" in advice.element
    assert advice.value == pytest.approx(1e9, rel=1e-3) and advice.safe == 1e4


def test_links_of_no_mass_count_with_their_neighbours():
    """A hinge of two axes made with a link of no mass, in the chain or at its root, loses nothing."""
    builder = sim.ModelBuilder()
    names = ("root", "trunk", "cross", "arm")
    root, trunk, cross, arm = (
        builder.add_body(mass=m, inertia=(m,) * 3, label=name) for m, name in zip((0, 1.0, 0, 0.1), names, strict=True)
    )
    for parent, child, axis in ((-1, root, "X"), (root, trunk, "Y"), (trunk, cross, "X"), (cross, arm, "Y")):
        builder.add_joint_revolute(parent, child, axis=axis, child_xform=(0, 0, 0.3, 0, 0, 0, 1))
    assert sim.solvers.Featherstone(builder.finalize(device="cpu")).advise(1e-3) == []
    builder.bodies[trunk].mass = 1e5
    (advice,) = sim.solvers.Featherstone(builder.finalize(device="cpu")).advise(1e-3)
    assert advice.value == pytest.approx(1e6) and "trunk" in advice.element


def test_kinematic_bodies_have_no_mass_to_compare():
    builder = sim.ModelBuilder()
    gantry = builder.add_body(kinematic=True, mass=1e9, inertia=(1, 1, 1))
    builder.add_joint_free(-1, gantry)
    hook = builder.add_body(mass=1.0, inertia=(1, 1, 1))
    builder.add_shape_sphere(hook, 0.1, density=0.0)
    builder.add_joint_revolute(gantry, hook)
    assert sim.solvers.Featherstone(builder.finalize(device="cpu")).advise(1e-3) == []


def test_many_bad_pairs_make_one_line_with_their_count():
    builder = sim.ModelBuilder()
    trunk = builder.add_body(mass=1e6, inertia=(1, 1, 1), label="trunk")
    builder.add_joint_free(-1, trunk)
    for i in range(14):
        builder.add_joint_revolute(trunk, builder.add_body(mass=1.0 + i, inertia=(1, 1, 1), label=f"leaf{i}"))
    (advice,) = sim.solvers.Featherstone(builder.finalize(device="cpu")).advise(1e-3)
    assert advice.value == pytest.approx(1e6) and "'leaf0' and 13 more pairs" in advice.element
    assert str(advice).endswith("(now 1e+06, safe 1e+04)") and "np." not in repr(advice)


def footed(share: float) -> sim.Model:
    """10 kg that stand on a foot with a share of their mass, by a stiff drive."""
    builder = sim.ModelBuilder()
    trunk = builder.add_body(mass=10.0, inertia=(1.0,) * 3, label="trunk")
    foot = builder.add_body(mass=10.0 * share, inertia=(1e-3,) * 3, label="foot")
    builder.add_shape_sphere(foot, 0.05, density=0.0)
    builder.add_joint_prismatic(-1, trunk, axis="Z", parent_xform=(0, 0, 1.05, 0, 0, 0, 1))
    builder.add_joint_prismatic(
        trunk, foot, axis="Z", parent_xform=(0, 0, -1, 0, 0, 0, 1), target_ke=1e5, target_kd=1e3
    )
    builder.add_ground_plane()
    return builder.finalize(device="cpu", precision="float64")


def test_fixed_joints_are_no_places_where_masses_differ():
    """A frame of no mass on a body, and a body on a mount of no mass that the world holds, lose nothing."""
    builder = sim.ModelBuilder()
    mount, frame = (builder.add_body(mass=0.0, inertia=(0.0, 0.0, 0.0), label=name) for name in ("mount", "frame"))
    arm, hand = (builder.add_body(mass=mass, inertia=(0.1, 0.1, 0.1), label=str(mass)) for mass in (1.0, 1e-3))
    builder.add_joint_fixed(-1, mount)
    builder.add_joint_revolute(mount, arm)
    builder.add_joint_fixed(arm, frame)
    builder.add_joint_revolute(frame, hand)
    solver = sim.solvers.Featherstone(builder.finalize(device="cpu"))
    assert solver.advise(0.001) == []
    builder.bodies[arm].mass = 50.0
    (advice,) = sim.solvers.Featherstone(builder.finalize(device="cpu")).advise(0.001)
    assert advice.value == pytest.approx(5e4)
    assert "'0.001'" in advice.element


def test_a_robot_sinks_through_a_nearly_massless_foot():
    for share, sound in ((0.5, True), (1e-5, False)):
        model = footed(share)
        solver = sim.solvers.Featherstone(model)
        named = [advice for advice in solver.advise(2e-3) if "massless" in advice.problem]
        assert bool(named) != sound
        state = run(solver, model.state(), model.control(), 2e-3, 500)
        assert (state.body_q[1, 2] > 0.0) == sound
    assert "foot" in named[0].element and named[0].value == pytest.approx(
        3e-5, rel=0.01
    )  # the mean over x, y and z, of which only z moves


def test_the_first_step_warns_of_what_advise_finds():
    model = slider(target_ke=5e5)
    solver = sim.solvers.Featherstone(model, integrator="euler")
    with pytest.warns(UserWarning, match="euler unstable"):
        solver.step(model.state(), model.state(), model.control(), None, 5e-3)


def two_boxes_a_world(worlds: int) -> sim.Model:
    template, builder = sim.ModelBuilder(), sim.ModelBuilder()
    for name in ("a", "b"):
        template.add_shape_box(template.add_body(label=name), 0.1, 0.1, 0.1, label=name)
    builder.replicate(template, worlds)
    builder.add_ground_plane()
    return builder.finalize(device="cpu", precision="float64")


@pytest.mark.parametrize("world", [0, 5, 6])
def test_worlds_that_were_made_different_are_each_looked_at(world):
    model = two_boxes_a_world(7)
    solver = sim.solvers.Featherstone(model, specialise=False)
    assert not solver.advise(2e-3)
    shape = 2 * world + 1
    random = np.random.default_rng(0)
    model.shape_restitution[:] = random.uniform(0, 0.5, model.shape_count)  # all worlds differ
    model.shape_reference[shape - 1 : shape + 1, 1] = 0.01
    (advice,) = solver.advise(2e-3)
    assert advice.element == f"shapes 'a' and 'b' in world {world}" and "damping ratio" in advice.problem
    model.shape_reference[shape - 1 : shape + 1] = ((0.02, 1.0), (1e-3, 1.0))
    (advice,) = solver.advise(2e-3)
    assert advice.element == f"shape b in world {world}" and "time constant" in advice.problem
    assert advice.safe == pytest.approx(5e-4)


def test_worlds_that_are_alike_are_told_of_once_without_a_number():
    model = two_boxes_a_world(3)
    model.shape_reference[:, 0] = 1e-3
    (advice,) = sim.solvers.Featherstone(model, specialise=False).advise(2e-3)
    assert advice.element == "shapes a, b"


def hanging_chain(links: int) -> sim.ModelBuilder:
    builder, last = sim.ModelBuilder(), -1
    for i in range(links):
        body = builder.add_body(label=f"link{i}")
        builder.add_shape_box(body, 0.02, 0.02, 0.05, collides=False)
        below = sim.transform((0, 0, -0.05 if i else 0))
        builder.add_joint_revolute(last, body, axis="Y", parent_xform=below, child_xform=sim.transform((0, 0, 0.05)))
        last = body
    return builder


@pytest.mark.parametrize(
    "links, precision, holds", [(60, "float32", True), (80, "float32", False), (80, "float64", True)]
)
def test_a_chain_too_long_for_float32_is_told_of_and_breaks_down(links, precision, holds):
    model = hanging_chain(links).finalize(device="cpu", precision=precision)
    solver = sim.solvers.Featherstone(model, specialise=False)
    assert [advice.element for advice in solver.advise(1 / 240)] == (
        [] if holds else ["the chain that ends in body 'link79'"]
    )
    for turn in (0.3, 1.5):
        state = model.state()
        state.joint_q[0] = turn
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            state = run(solver, state, model.control(), 1 / 240, 240)
        assert np.isfinite(state.joint_q).all() == holds


def test_chains_of_later_worlds_are_told_of_too():
    builder = sim.ModelBuilder()
    for links in (3, 61, 60):
        builder.replicate(hanging_chain(links), 2)
    (advice,) = sim.solvers.Featherstone(builder.finalize(device="cpu"), specialise=False).advise(1 / 240)
    assert advice.value == 61 and "link60" in advice.element


def test_bodies_that_joints_hold_together_are_no_links_of_a_chain():
    builder, last = sim.ModelBuilder(), -1
    for _ in range(80):
        body = builder.add_body(mass=1.0, inertia=np.eye(3))
        builder.add_joint_fixed(last, body) if last >= 0 else builder.add_joint_revolute(-1, body, axis="Y")
        last = body
    model = builder.finalize(device="cpu")
    assert not sim.solvers.Featherstone(model, specialise=False).advise(1 / 240)


@pytest.mark.parametrize("ratio", [0.0, 1e-12])
def test_a_damping_ratio_that_damps_nothing_is_told_with_one_that_is_enough(ratio):
    """Written into the model; a Material refuses it."""
    model = on_ground(add_box((0.2, 0.2, 0.2)), 0.2, sim.Material())
    model.shape_reference[:, 1] = ratio
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = [one for one in sim.solvers.Featherstone(model).advise(0.005) if "damping ratio" in one.problem]
    assert len(found) == 1 and 0.1 < found[0].safe < 1
