"""contacts.force after a step, and contact pairs with parameters of their own."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import simengine as sim
from simengine.errors import CapacityError, ModelError, UnsupportedError
from tests.mujoco_models.importer import Scene
from tests.solvers.scenes import run
from tests.solvers.test_featherstone_mujoco import compare_steps

MASS, WEIGHT = 64.0, 64.0 * 9.81
"""Of a box of 0.4 m and the default density."""

PAIRS = """<mujoco><option timestep="0.004" impratio="{impratio}"/>
<worldbody><geom name="floor" type="plane" size="0 0 1" friction=".9"/>
<body pos="0 0 .09"><freejoint/><geom name="ball" type="sphere" size=".1" contype="0" conaffinity="0"/></body>
<body pos="0 .02 .275"><freejoint/><geom name="top" type="box" size=".12 .1 .08" margin=".01"/></body>
<body pos="1 0 .1"><freejoint/><geom name="rod" type="capsule" size=".1 .2" friction=".2" priority="3"/></body>
<body pos="2 0 .12"><freejoint/><geom name="crate" type="box" size=".1 .2 .1" condim="3" solref=".05 .5"/></body>
</worldbody><contact>
<pair geom1="ball" geom2="floor" friction=".3 .8" solref=".03 .8" solimp=".7 .95 .02 .3 3" solreffriction=".08 1.4"/>
<pair geom1="ball" geom2="top" friction=".9 .2" margin=".03" gap=".01" solref=".01 1.2"/>
<pair geom1="floor" geom2="rod" condim="1" margin=".015"/>
<pair geom1="crate" geom2="floor" friction=".6 .6" margin=".04" gap=".02" solreffriction=".01 1"/>
</contact></mujoco>"""

ROLLING = """<mujoco><option timestep="0.004"/>
<worldbody><geom name="floor" type="plane" size="0 0 1"/>
<body pos="0 0 .2"><freejoint/><geom name="one" type="sphere" size=".1"/></body>
<body pos=".3 .1 .3"><freejoint/><geom name="two" type="sphere" size=".08" contype="0" conaffinity="0"/></body>
<body pos=".1 .05 .5"><freejoint/><geom name="three" type="sphere" size=".09"/></body>
</worldbody><contact>
<pair geom1="one" geom2="floor" friction=".3 .8" margin=".05" solref=".02 .9"/>
<pair geom1="two" geom2="floor" friction=".7 .1" gap=".02" margin=".01" solimp=".8 .9 .01 .5 2"/>
<pair geom1="three" geom2="one" condim="1" margin=".2" gap=".1" solref=".05 1"/>
<pair geom1="two" geom2="one" condim="3" friction=".2 .2"/>
</contact></mujoco>"""


def settled(builder, dt=0.005, steps=400, **options):
    """A model's contacts, and its state, after a rest of ``steps`` steps and one more that writes forces."""
    model = builder.finalize(device="cpu", precision="float64")
    solver = sim.solvers.Featherstone(model, tolerance=1e-13, **options)
    state = run(solver, model.state(), model.control(), dt, steps)
    contacts, after = model.contacts(), model.state()
    sim.collide(model, state, contacts)
    solver.step(state, after, model.control(), contacts, dt)
    return model, contacts, state, after


def forces_by_pair(contacts, world: int = 0) -> dict:
    """Sum of the forces on the second shape of each pair of shapes that touches."""
    first, count = int(contacts.world_start[world]), int(contacts.count[world])
    sums: dict = {}
    for i in range(first, first + count):
        pair = int(contacts.shape0[i]), int(contacts.shape1[i])
        sums[pair] = sums.get(pair, np.zeros(3)) + contacts.force[i]
    return sums


# ---- known answers ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cone", ["elliptic", "pyramidal"])
def test_the_plane_carries_the_weight_of_a_box_at_rest(cone):
    builder = sim.ModelBuilder()
    body = builder.add_body(xform=(0, 0, 0.2, 0, 0, 0, 1))
    builder.add_shape_box(body, 0.2, 0.2, 0.2)
    builder.add_ground_plane()
    _, contacts, _, _ = settled(builder, cone=cone)
    (pair,) = forces_by_pair(contacts)
    assert contacts.shape0[0] == 1 and pair == (1, 0)  # the plane first: the force is that on the box
    assert forces_by_pair(contacts)[pair] == pytest.approx([0, 0, WEIGHT], abs=1e-6 * WEIGHT)


def test_each_joint_of_a_stack_carries_what_stands_above_it():
    builder = sim.ModelBuilder()
    for i in range(3):
        body = builder.add_body(xform=(0.01 * i, 0, 0.2 + 0.4 * i, 0, 0, 0, 1))
        builder.add_shape_box(body, 0.2, 0.2, 0.2)
    builder.add_ground_plane()
    _, contacts, _, _ = settled(builder, steps=1500)
    sums = forces_by_pair(contacts)
    assert sorted(sums) == [(0, 1), (1, 2), (3, 0)]
    for pair, above in {(3, 0): 3, (0, 1): 2, (1, 2): 1}.items():
        assert sums[pair] == pytest.approx([0, 0, above * WEIGHT], abs=1e-6 * WEIGHT)


def test_on_a_slope_the_force_has_the_normal_and_the_tangential_part_of_the_weight():
    """With friction 1 on 20 degrees nothing slides but for the creep of the regularisation."""
    angle = np.radians(20)
    gravity = 9.81 * np.array([np.sin(angle), 0, -np.cos(angle)])
    builder = sim.ModelBuilder(gravity=tuple(gravity))
    body = builder.add_body(xform=(0, 0, 0.2, 0, 0, 0, 1))
    builder.add_shape_box(body, 0.2, 0.2, 0.2)
    builder.add_ground_plane()
    _, contacts, _, _ = settled(builder, steps=1000, impratio=10)
    (force,) = forces_by_pair(contacts).values()
    assert force == pytest.approx(-MASS * gravity, abs=1e-5 * WEIGHT)


def test_forces_account_for_the_change_of_momentum_of_each_body():
    """m (v+ - v) = h (m g + f) and, about the centre, L+ - L = h sum r x f for balls, whose spin has no bias."""
    builder = sim.ModelBuilder()
    rng = np.random.default_rng(0)
    for i in range(6):
        place = (0.15 * (i % 2), 0.1 * (i % 3), 0.1 + 0.17 * i)
        body = builder.add_body(xform=(*place, 0, 0, 0, 1), velocity=tuple(rng.normal(size=6)))
        builder.add_shape_sphere(body, 0.1)
    builder.add_ground_plane()
    model = builder.finalize(device="cpu", precision="float64")
    solver = sim.solvers.Featherstone(model, tolerance=1e-14)
    state, after, contacts, pushed = model.state(), model.state(), model.contacts(), 0
    for _ in range(300):
        sim.collide(model, state, contacts)
        solver.step(state, after, model.control(), contacts, 0.004)
        pushed += check_momentum(model, state, after, contacts, 0.004)
        state, after = after, state
    assert pushed > 1000


def check_momentum(model, state, after, contacts, dt: float) -> int:
    """The balance of every ball over a step; how many contacts pushed."""
    force, moment = np.zeros((model.body_count, 3)), np.zeros((model.body_count, 3))
    count = int(contacts.count[0])
    for i in range(count):
        bodies = [int(model.shape_body[s[i]]) for s in (contacts.shape0, contacts.shape1)]
        points = [
            p[i] if b < 0 else world_point(state.body_q[b], p[i])
            for b, p in zip(bodies, (contacts.point0, contacts.point1), strict=True)
        ]
        for body, sign in zip(bodies, (-1, 1), strict=True):
            if body >= 0:
                force[body] += sign * contacts.force[i]
                moment[body] += sign * np.cross(np.mean(points, 0) - state.body_q[body, :3], contacts.force[i])
    mass, inertia = model.body_mass[:, None], model.body_inertia[:, 0, 0, None]
    change = after.body_qd - state.body_qd
    assert np.abs(mass * change[:, :3] - dt * (mass * model.gravity[0] + force)).max() < 1e-10
    assert np.abs(inertia * change[:, 3:] - dt * moment).max() < 1e-10
    return int((np.abs(contacts.force[:count]).sum(1) > 0).sum())


def world_point(pose, point) -> np.ndarray:
    x, y, z, w = pose[3:]
    axis = np.array([x, y, z])
    return pose[:3] + point + 2 * np.cross(axis, np.cross(axis, point) + w * point)


def test_models_that_collide_before_the_step_write_forces_too():
    builder = sim.ModelBuilder()
    body = builder.add_body(xform=(0, 0, 0.2, 0, 0, 0, 1))
    builder.add_shape_cone(body, 0.2, 0.2)
    builder.add_ground_plane()
    model, contacts, _, _ = settled(builder)
    assert not model.collides_in_step
    (force,) = forces_by_pair(contacts).values()
    assert force == pytest.approx([0, 0, 9.81 * model.body_mass[0]], rel=1e-6, abs=1e-6)


# ---- rows that are not contacts of the step --------------------------------------------------------------------------


def test_contacts_that_do_not_push_have_no_force():
    builder = sim.ModelBuilder()
    body = builder.add_body(xform=(0, 0, 0.5, 0, 0, 0, 1))
    builder.add_shape_sphere(body, 0.2, gap=1.0)
    builder.add_ground_plane()
    model = builder.finalize(device="cpu", precision="float64")
    solver, state, contacts = sim.solvers.Featherstone(model), model.state(), model.contacts()
    sim.collide(model, state, contacts)
    contacts.force = 7.0
    solver.step(state, model.state(), model.control(), contacts, 0.005)
    assert contacts.count[0] == 1 and not contacts.force.any()


def test_contacts_fed_in_beyond_what_a_world_can_have_are_lost_without_force():
    builder = sim.ModelBuilder()
    body = builder.add_body(xform=(0, 0, 0.19, 0, 0, 0, 1))
    builder.add_shape_sphere(body, 0.2)
    builder.add_ground_plane()
    model = builder.finalize(device="cpu", precision="float64")
    solver, state, after = sim.solvers.Featherstone(model), model.state(), model.state()
    contacts = model.contacts(capacity_per_world=4)
    sim.collide(model, state, contacts)
    for name, values in contacts.arrays().items():
        if name not in ("world_start", "count", "needed"):
            values[1:] = values[0]
    contacts.count[0], contacts.needed[0], contacts.force[:] = 3, 5, 7.0  # of a sphere on a plane there is one at most
    solver.step(state, after, model.control(), contacts, 0.005)
    assert contacts.force[0, 2] > 0 and not contacts.force[1:3].any()
    assert (contacts.force[3] == 7).all()  # not in use
    with pytest.raises(CapacityError, match="world 0"):
        solver.check(after)


@pytest.mark.parametrize("row", ["shape0", "parameter"])
def test_a_row_of_no_shape_or_pair_of_the_world_has_no_force_and_does_not_shift_the_others(row):
    builder, template = sim.ModelBuilder(), sim.ModelBuilder()
    body = template.add_body(xform=(0, 0, 0.19, 0, 0, 0, 1))
    template.add_shape_box(body, 0.2, 0.2, 0.2)
    template.add_shape_plane(-1)
    template.add_contact_pair(0, 1)
    builder.replicate(template, 2)
    model = builder.finalize(device="cpu", precision="float64")
    solver, state, contacts = sim.solvers.Featherstone(model), model.state(), model.contacts()
    sim.collide(model, state, contacts)
    lost = [int(contacts.world_start[1]) + 1]
    getattr(contacts, row)[lost] = {"shape0": 0, "parameter": 0}[row]  # of the other world
    contacts.force = 7.0
    after = model.state()
    solver.step(state, after, model.control(), contacts, 0.005)
    used = np.concatenate(
        [start + np.arange(n) for start, n in zip(contacts.world_start, contacts.count, strict=False)]
    )
    assert list(np.flatnonzero(contacts.force[used, 2] == 0)) == [list(used).index(lost[0])]
    assert np.all(contacts.force[used[:4], 2] == pytest.approx(contacts.force[used[0], 2]))
    with pytest.raises(CapacityError, match="world 1"):
        solver.check(after)


def test_lanes_do_not_change_the_bits_of_forces():
    builder = sim.ModelBuilder()
    for i in range(3):
        body = builder.add_body(xform=(0.05 * i, 0, 0.19 + 0.39 * i, 0, 0, 0, 1))
        builder.add_shape_box(body, 0.2, 0.2, 0.2)
    builder.add_ground_plane()
    builder.add_contact_pair(0, 1, friction=(0.3, 0.7, 0, 0, 0), margin=0.02)
    results = []
    for lanes, seed in ((None, 0), (1, 0), (4, 1), (32, 2)):
        model = builder.finalize(device="cpu")
        solver, contacts, after = sim.solvers.Featherstone(model), model.contacts(), model.state()
        sim.collide(model, model.state(), contacts)
        if lanes is None:
            solver.step(model.state(), after, model.control(), contacts, 0.005)
        else:
            with sim.runtime.modes.emulated_lanes(lanes, seed=seed):
                solver.step(model.state(), after, model.control(), contacts, 0.005)
        results.append((contacts.force.copy(), after.joint_qd.copy()))
    assert np.abs(results[0][0]).max() > 0
    for force, rates in results[1:]:
        assert np.array_equal(force, results[0][0]) and np.array_equal(rates, results[0][1])


# ---- contact pairs ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cone", ["elliptic", "pyramidal"])
@pytest.mark.parametrize("impratio", [1, 4])
def test_forces_of_contact_pairs_are_mujocos(cone, impratio):
    """Own friction along either tangent, dimension, softness of normal and tangents, margin and gap."""
    compare_steps(Scene(PAIRS.format(impratio=impratio), cone), 0, 60, 0.7, 0.01, 300)


def touching(scene) -> dict:
    """MuJoCo's distance of each pair of geoms in touch."""
    return {frozenset((int(c.geom1), int(c.geom2))): float(c.dist) for c in scene.data.contact}


@pytest.mark.parametrize("broad_phase", ["pairs", "bvh", "dense"])
def test_contacts_of_pairs_are_found_where_mujoco_finds_them(broad_phase):
    """With the margins and gaps of the pairs, wider and narrower than those of the shapes; each names its pair."""
    scene = Scene(ROLLING)
    model = scene._build().finalize(device="cpu", precision="float64", broad_phase=broad_phase)
    rng, contacts, seen = np.random.default_rng(1), model.contacts(), set()
    ends = [frozenset(map(int, pair)) for pair in zip(scene.mj.pair_geom1, scene.mj.pair_geom2, strict=True)]
    for _ in range(100):
        mujoco.mj_resetData(scene.mj, scene.data)
        scene.data.qpos[:] += rng.uniform(-0.25, 0.1, size=scene.mj.nq)
        mujoco.mj_normalizeQuat(scene.mj, scene.data.qpos)
        mujoco.mj_forward(scene.mj, scene.data)
        state = model.state()
        state.joint_q = scene.coordinates()
        sim.eval_fk(model, state)
        sim.collide(model, state, contacts)
        rows = range(int(contacts.count[0]))
        pairs = [frozenset((int(contacts.shape0[i]), int(contacts.shape1[i]))) for i in rows]
        ours = {pair: contacts.distance[i] for i, pair in enumerate(pairs)}
        assert ours == pytest.approx(touching(scene), abs=1e-12)
        assert [int(contacts.parameter[i]) for i in rows] == [ends.index(p) if p in ends else -1 for p in pairs]
        seen.update(pairs)
    assert seen >= set(ends)


@pytest.mark.parametrize("cone", ["elliptic", "pyramidal"])
def test_a_second_of_balls_with_contact_pairs_is_mujocos(cone):
    """Thrown on a plane and on each other, our own contacts: positions to 1e-9."""
    scene = Scene(ROLLING, cone)
    scene.data.qvel[:] = np.random.default_rng(3).normal(size=scene.mj.nv)
    mujoco.mj_forward(scene.mj, scene.data)
    solver = scene.solver(tolerance=1e-13)
    state, other, control, touched = scene.state(), scene.model.state(), scene.model.control(), 0
    for _ in range(250):
        solver.step(state, other, control, None, scene.dt)
        state, other = other, state
        mujoco.mj_step(scene.mj, scene.data)
        touched += scene.data.ncon
    assert touched > 250
    assert np.abs(state.joint_q - scene.coordinates()).max() < 1e-9


def test_what_a_pair_leaves_out_is_that_of_its_shapes():
    """Bit for bit as without the pair."""
    forces = []
    for pairs in (False, True):
        builder = sim.ModelBuilder()
        rough = sim.Material(friction=0.4, static_friction=0.6, restitution=0.2, time_constant=0.03)
        stiff = sim.Material(stiffness=1e5, dissipation=0.3)
        for i, material in enumerate((rough, stiff)):
            body = builder.add_body(xform=(i, 0, 0.19, 0, 0, 0, 1), velocity=(0.3, 0.1, -0.4, 0.2, 0.3, 0.4))
            builder.add_shape_box(body, 0.2, 0.2, 0.2, material=material, margin=0.01, gap=0.02)
        builder.add_ground_plane(material=rough)
        if pairs:
            builder.add_contact_pair(0, 2)
            builder.add_contact_pair(2, 1)
        model = builder.finalize(device="cpu")
        contacts = model.contacts()
        sim.collide(model, model.state(), contacts)
        sim.solvers.Featherstone(model).step(model.state(), model.state(), model.control(), contacts, 0.005)
        assert set(contacts.parameter[:8]) == ({0, 1} if pairs else {-1})
        forces.append(contacts.force)
    assert np.abs(forces[0]).max() > 0 and np.array_equal(*forces)


def test_worlds_may_differ_in_the_parameters_of_their_pairs():
    """In one batch group; a change of a row acts at the next step."""
    template = sim.ModelBuilder()
    body = template.add_body(xform=(0, 0, 0.19, 0, 0, 0, 1), velocity=(1.0, 0, 0, 0, 0, 0))
    template.add_shape_box(body, 0.2, 0.2, 0.2)
    template.add_shape_plane(-1)
    template.add_contact_pair(0, 1, friction=(0.5, 0.5, 0, 0, 0))
    builder = sim.ModelBuilder()
    builder.replicate(template, 3)
    model = builder.finalize(device="cpu", precision="float64")
    assert len(model.groups) == 1
    model.by_world(model.contact_pair_friction)[:, 0, :2] = [[0.1, 0.1], [0.5, 0.5], [0.0, 0.0]]
    solver = sim.solvers.Featherstone(model)
    state, contacts = model.state(), model.contacts()
    sim.collide(model, state, contacts)
    solver.step(state, model.state(), model.control(), contacts, 0.002)
    for world, friction in enumerate((0.1, 0.5, 0.0)):  # a box that slides along x
        (force,) = forces_by_pair(contacts, world).values()
        assert force[2] > 0.5 * WEIGHT
        assert force[:2] == pytest.approx([-friction * force[2], 0], abs=1e-6 * WEIGHT)


@pytest.mark.parametrize(
    "fields, problem",
    [
        ({"contact_dim": 2}, "contact_dim is 2; it is one of 1, 3, 4, 6"),
        ({"friction": (1, 1)}, "friction"),
        ({"friction": (1, -1, 0, 0, 0)}, "friction"),
        ({"friction": (1, float("nan"), 0, 0, 0)}, "friction"),
        ({"reference": (0.0, 1.0)}, "reference"),
        ({"friction_reference": (0.02, -1.0)}, "friction_reference"),
        ({"impedance": (2.0,)}, "impedance"),
        ({"margin": -0.1}, "margin"),
        ({"gap": float("inf")}, "gap"),
    ],
)
def test_parameters_out_of_range_are_refused(fields, problem):
    builder = sim.ModelBuilder()
    builder.add_shape_sphere(-1, 0.1)
    builder.add_shape_sphere(-1, 0.1)
    with pytest.raises(ModelError, match=problem):
        builder.add_contact_pair(0, 1, **fields)


def test_two_pairs_of_the_same_shapes_and_pairs_of_one_are_refused():
    builder = sim.ModelBuilder()
    builder.add_shape_sphere(-1, 0.1, label="a")
    builder.add_shape_sphere(-1, 0.1, label="b")
    with pytest.raises(ModelError, match="names shape 'a' twice"):
        builder.add_contact_pair(0, 0)
    builder.add_contact_pair(0, 1, label="one")
    builder.add_contact_pair(1, 0, label="two")
    with pytest.raises(ModelError, match="'two'.*'a' and 'b', which are contact pair 'one' already"):
        builder.finalize(device="cpu")


def test_dimensions_that_the_solver_lacks_are_refused():
    builder = sim.ModelBuilder()
    body = builder.add_body()
    builder.add_shape_sphere(body, 0.1)
    builder.add_ground_plane()
    builder.add_contact_pair(0, 1, contact_dim=6)
    with pytest.raises(UnsupportedError, match="contact pair 0"):
        sim.solvers.Featherstone(builder.finalize(device="cpu"))


@pytest.mark.slow
@pytest.mark.parametrize("pairs", [False, True])
def test_specialised_kernels_give_the_bits_of_the_general_one(pairs):
    """Where a model has no contact pairs their parameters are compiled out."""
    builder = sim.ModelBuilder()
    for i in range(2):
        body = builder.add_body(xform=(0.05 * i, 0, 0.19 + 0.39 * i, 0, 0, 0, 1), velocity=(0.5, 0.2, 0, 0, 0, 0.3))
        builder.add_shape_box(body, 0.2, 0.2, 0.2)
    builder.add_ground_plane()
    if pairs:
        builder.add_contact_pair(0, 1, friction=(0.3, 0.7, 0, 0, 0), margin=0.02)
        builder.add_contact_pair(0, 2, reference=(0.05, 0.8), friction_reference=(0.1, 1.0))
    results = []
    for specialise in (False, True):
        model = builder.finalize(device="cpu")
        solver, contacts, after = (
            sim.solvers.Featherstone(model, specialise=specialise),
            model.contacts(),
            model.state(),
        )
        state = run(solver, model.state(), model.control(), 0.005, 20)
        sim.collide(model, state, contacts)
        solver.step(state, after, model.control(), contacts, 0.005)
        results.append((contacts.force.copy(), after.joint_qd.copy()))
    assert np.abs(results[0][0]).max() > 0
    assert all(np.array_equal(one, other) for one, other in zip(*results, strict=True))
