"""The same bits: lanes, scratch, contacts found inside or passed, a world alone or among others, save and load."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

import simengine as sim
from simengine.runtime import modes


def template() -> sim.ModelBuilder:
    """Boxes and a sphere on each other and a chain with every kind of row, on a plane."""
    builder, rng = sim.ModelBuilder(), np.random.default_rng(3)
    for k in range(3):
        body = builder.add_body(xform=(*rng.normal(size=2) * 0.1, 0.3 + 0.35 * k, 0, 0, 0, 1))
        builder.add_shape_box(body, 0.15, 0.1, 0.12, material=sim.Material(friction=0.8, static_friction=1.0))
    sphere = builder.add_body(xform=(0.2, 0.3, 1, 0, 0, 0, 1))
    builder.add_shape_sphere(sphere, 0.1, material=sim.Material(restitution=0.5))
    soft = builder.add_body(xform=(-0.6, 0, 0.2, 0, 0, 0, 1))
    builder.add_shape_capsule(soft, 0.08, 0.1, material=sim.Material(stiffness=2e3, dissipation=2.0))
    parent = -1
    for k in range(4):
        body = builder.add_body()
        builder.add_shape_capsule(body, 0.04, 0.1)
        frames = dict(
            parent_xform=(0.5, 0, 0.9, 0, 0, 0, 1) if k == 0 else (0, 0, -0.15, 0, 0, 0, 1),
            child_xform=(0, 0, 0.15, 0, 0, 0, 1),
        )
        if k == 1:
            builder.add_joint_ball(
                parent, body, swing=(0.5, 0.4), twist=(-0.3, 0.3), damping=0.01, q=(0.1, 0.2, 0.1, 0.97), **frames
            )
        else:
            builder.add_joint_revolute(
                parent,
                body,
                axis="XYZ"[k % 2],
                limit_lower=-0.6,
                limit_upper=0.6,
                friction=0.05,
                damping=0.02,
                target_ke=3,
                target_kd=0.1,
                target_pos=0.3,
                effort_limit=0.5,
                velocity_limit=2.0,
                **frames,
            )
        parent = body
    return builder


def model_of(precision: str, worlds: int | None = None) -> sim.Model:
    scene, builder = template(), sim.ModelBuilder()
    if worlds is None:
        scene.add_ground_plane()
        return scene.finalize(device="cpu", precision=precision)
    builder.add_ground_plane()
    builder.replicate(scene, worlds)
    return builder.finalize(device="cpu", precision=precision)


def stepped(model, solver, steps: int, state=None, contacts=None, disturb=None):
    """The state after some steps."""
    state, other, control = state or model.state(), model.state(), model.control()
    if state.step_count[0] == 0:
        sim.eval_fk(model, state)
    if disturb is not None:
        disturb(model, state)
    for _ in range(steps):
        if contacts is not None:
            sim.collide(model, state, contacts)
        solver.step(state, other, control, contacts, 1 / 200)
        state, other = other, state
    return state


def digest(state) -> str:
    return hashlib.blake2b(b"".join(getattr(state, row.name).tobytes() for row in state.rows())).hexdigest()


@pytest.mark.parametrize("integrator, cone", [("implicit", "elliptic"), ("euler", "pyramidal")])
def test_bits_do_not_depend_on_lanes_or_on_what_memory_holds(precision, integrator, cone):
    model = model_of(precision)
    solver = sim.solvers.Featherstone(model, integrator=integrator, cone=cone)
    wanted = digest(stepped(model, solver, 100))
    with modes.poisoned_scratch():
        assert digest(stepped(model, solver, 100)) == wanted
    for lanes in (1, 4, 32):
        for seed in (1, 2):
            with modes.emulated_lanes(lanes, seed):
                assert digest(stepped(model, solver, 100)) == wanted, f"{lanes} lanes, order {seed}"


def test_contacts_passed_in_give_the_bits_of_contacts_found_inside(precision):
    model = model_of(precision)
    solver, contacts = sim.solvers.Featherstone(model), model.contacts()
    assert digest(stepped(model, solver, 150, contacts=contacts)) == digest(stepped(model, solver, 150))
    assert contacts.count[0] > 0 and np.abs(contacts.force).max() > 0


def shake(model, state):
    """Different velocities for each world, the same for a given index."""
    rates = model.by_world(state.joint_qd)
    for w in range(model.world_count):
        rates[w] = np.random.default_rng(w).normal(size=rates.shape[1]) * 0.3


def test_a_world_alone_has_the_bits_it_has_among_64(precision):
    many, one = model_of(precision, 64), model_of(precision, 1)
    crowd = stepped(many, sim.solvers.Featherstone(many), 60, disturb=shake)

    def as_world_37(model, state):
        state.joint_qd[:] = np.random.default_rng(37).normal(size=len(state.joint_qd)) * 0.3

    alone = stepped(one, sim.solvers.Featherstone(one), 60, disturb=as_world_37)
    for name in ("joint_q", "joint_qd", "body_q", "body_qd", "featherstone_qacc"):
        assert many.by_world(getattr(crowd, name))[37].tobytes() == getattr(alone, name).tobytes(), name


def test_threads_do_not_change_bits():
    model = model_of("float32", 16)
    solver, found = sim.solvers.Featherstone(model), set()
    for threads in (1, 2, 4):
        sim.set_num_threads(threads)
        found.add(digest(stepped(model, solver, 40, disturb=shake)))
    sim.set_num_threads(1)
    assert len(found) == 1


def test_a_run_goes_on_bit_for_bit_after_save_and_load(tmp_path, precision):
    model = model_of(precision)
    solver = sim.solvers.Featherstone(model)
    half = stepped(model, solver, 50)
    half.save(tmp_path / "half.npz")
    wanted = digest(stepped(model, solver, 50, state=half))
    again = sim.State.load(model, tmp_path / "half.npz")
    assert digest(stepped(model, solver, 50, state=again)) == wanted


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e20])
@pytest.mark.parametrize("precision", ["float32"])
def test_a_broken_world_changes_no_bit_of_the_others(precision, value):
    model = model_of(precision, 64)
    solver = sim.solvers.Featherstone(model)
    healthy = stepped(model, solver, 30, disturb=shake)

    def break_world_5(model, state):
        shake(model, state)
        model.by_world(state.joint_qd)[5, 2] = value

    with modes.debugging(False):  # which would stop at the first NaN by itself
        broken = stepped(model, solver, 30, disturb=break_world_5)
    others = np.arange(64) != 5
    for name in ("joint_q", "joint_qd", "featherstone_qacc"):
        assert np.array_equal(
            model.by_world(getattr(broken, name))[others], model.by_world(getattr(healthy, name))[others]
        )
    with pytest.raises(sim.DivergenceError, match=r"world 5\b") as caught:
        solver.check(broken)
    assert caught.value.worlds == (5,)
    assert solver.check(healthy).ok
