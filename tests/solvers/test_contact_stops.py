"""Robots whose limbs meet each other fast: the solve ends soon, and no energy comes in."""

from __future__ import annotations

import numpy as np
import pytest

import simengine as sim

WORLDS, DT = 1024, 0.005
THIN, LONG = 0.015, 0.12  # m: a limb's radius, and half of its length

ADD_LIMB = {
    "capsule": lambda builder, link, at: builder.add_shape_capsule(link, THIN, LONG, xform=at),
    "box": lambda builder, link, at: builder.add_shape_box(link, THIN, THIN, LONG, xform=at),
    "cylinder": lambda builder, link, at: builder.add_shape_cylinder(link, THIN, LONG, xform=at),
}


def crab(kind: str) -> sim.ModelBuilder:
    """A floating base with two pairs of limbs that can cross, each of two links that turn about y and x."""
    builder = sim.ModelBuilder()
    builder.default_material = sim.Material(friction=1.0)
    base = builder.add_body()
    builder.add_shape_box(base, 0.2, 0.05, 0.03)
    builder.add_joint_free(-1, base)
    for i in range(4):
        parent, along = base, sim.transform((-0.09 + 0.06 * i, 0.04 * (-1) ** i, 0))
        for _, axis in zip(range(2), "YX", strict=True):
            link = builder.add_body()
            ADD_LIMB[kind](builder, link, sim.transform((0, 0, -LONG)))
            builder.add_joint_revolute(parent, link, axis=axis, parent_xform=along)
            parent, along = link, sim.transform((0, 0, -2 * LONG))
    return builder


def crowd(kind: str, **options):
    """Crabs that stand anyhow and move fast, without gravity: a model, its solver and its state."""
    builder = sim.ModelBuilder(gravity=(0, 0, 0))
    builder.replicate(crab(kind), WORLDS)
    model = builder.finalize(device="cpu", precision="float64")
    solver = sim.solvers.Featherstone(model, tolerance=1e-10, **options)
    state = model.state()
    rng = np.random.default_rng(7)
    q, qd = state.joint_q.reshape(WORLDS, -1), state.joint_qd.reshape(WORLDS, -1)
    q[:, 7:] = rng.uniform(-0.6, 0.6, (WORLDS, q.shape[1] - 7))
    qd[:] = rng.uniform(-1, 1, qd.shape) * np.r_[np.full(3, 2.0), np.full(3, 10.0), np.full(qd.shape[1] - 6, 40.0)]
    sim.eval_fk(model, state)
    return model, solver, state


def met_on_the_way(model, state):
    """Contacts for a step of DT, and which worlds have some of them though nothing touches yet."""
    touching, contacts = model.contacts(), model.contacts()
    sim.collide(model, state, touching)
    sim.collide(model, state, contacts, dt=DT)
    return contacts, (touching.count == 0) & (contacts.count > 0)


@pytest.mark.parametrize("cone", ["elliptic", "pyramidal"])
@pytest.mark.parametrize("kind", ADD_LIMB)
def test_limbs_that_are_stopped_take_energy(kind, cone):
    model, solver, state = crowd(kind, cone=cone)
    contacts, met = met_on_the_way(model, state)
    mass = sim.eval_mass_matrix(model, state)

    def energy_after(contacts):  # J, with the mass matrix of the start, as the step sees it
        end = model.state()
        solver.step(state, end, model.control(), contacts, dt=DT)
        speeds = end.joint_qd.reshape(WORLDS, -1)
        return 0.5 * np.einsum("wi,wij,wj->w", speeds, mass, speeds)

    stopped, free = energy_after(contacts), energy_after(model.contacts())
    assert np.all(stopped[met] <= (1 + 1e-9) * free[met])
    assert np.count_nonzero(stopped[met] < 0.99 * free[met]) >= 20


@pytest.mark.parametrize("kind", ADD_LIMB)
def test_limbs_that_are_stopped_need_few_iterations(kind):
    model, solver, state = crowd(kind)
    contacts, met = met_on_the_way(model, state)
    solver.step(state, model.state(), model.control(), contacts, dt=DT)
    assert np.count_nonzero(solver.iterations[met] > 2) >= 20
    assert solver.iterations[met].max() <= 50 and solver.residual[met].max() <= 1e-10


@pytest.mark.parametrize("moves", [False, True])
def test_what_lies_on_the_same_conveyor_takes_no_friction(moves):
    """A ball that comes down fast and aslant on a slab that stands or is moved, another ball lying on it or not."""
    ends = []
    for others in (0, 1):
        builder = sim.ModelBuilder()
        builder.default_material = sim.Material(friction=0.2)
        slab = builder.add_body(kinematic=True) if moves else -1
        builder.add_shape_box(slab, 2, 2, 0.02)
        for i in range(1 + others):
            velocity = (15.0, 0, -10.0, 0, 0, 0) if i == 0 else (0, 0, 0, 0, 0, 0)
            height = 0.02 + 0.01 + (0.005 if i == 0 else -1e-4)
            ball = builder.add_body(xform=sim.transform((float(i), 0, height)), velocity=velocity)
            builder.add_shape_sphere(ball, 0.01)
        model = builder.finalize(device="cpu", precision="float64")
        solver = sim.solvers.Featherstone(model)
        state, end = model.state(), model.state()
        solver.step(state, end, model.control(), None, dt=DT)
        sim.eval_fk(model, end)
        ends.append(end.body_qd[1 if moves else 0].copy())
    assert np.allclose(*ends, rtol=1e-9) and ends[0][0] == pytest.approx(15 - 0.2 * 9, abs=0.01)
