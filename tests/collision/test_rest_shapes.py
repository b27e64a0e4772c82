"""Resting with every kind of shape: 3 s at 5 ms on each other, in stacks, and dragged over a triangulated floor."""

from __future__ import annotations

import numpy as np
import pytest

import simengine as sim
from simengine.builder.mesh_data import convex_hull
from tests.collision.test_collide_convex import CORNERS
from tests.collision.test_collide_mesh import floor

AT = sim.transform
LYING = sim.quat_from_axis_angle((0, 1, 0), np.pi / 2)
DT = 0.005


def prism(radius: float, half: float, sides: int) -> np.ndarray:
    around = np.linspace(0, 2 * np.pi, sides, endpoint=False)
    rim = np.column_stack([radius * np.cos(around), radius * np.sin(around)])
    return np.concatenate([np.column_stack([rim, np.full(sides, z)]) for z in (-half, half)])


TABLES = {
    "box": lambda b: b.add_shape_box(-1, 0.5, 0.5, 0.1, xform=AT(p=(0, 0, -0.1))),
    "hull": lambda b: b.add_shape_convex_hull(-1, prism(0.6, 0.1, 9), xform=AT(p=(0, 0, -0.1))),
    "cylinder": lambda b: b.add_shape_cylinder(-1, 0.6, 0.1, xform=AT(p=(0, 0, -0.1))),
    "mesh": lambda b: b.add_shape_mesh(-1, floor()),
    "height field": lambda b: b.add_shape_heightfield(-1, np.zeros((30, 30)), 2, 2, 0.2),
    "plane": lambda b: b.add_ground_plane(),
}
BODIES = {
    "box": (0.1, lambda b, k: b.add_shape_box(k, 0.1, 0.15, 0.1), (0, 0, 0, 1)),
    "cylinder": (0.2, lambda b, k: b.add_shape_cylinder(k, 0.1, 0.2), (0, 0, 0, 1)),
    "lying cylinder": (0.1, lambda b, k: b.add_shape_cylinder(k, 0.1, 0.2), LYING),
    "cone": (0.2, lambda b, k: b.add_shape_cone(k, 0.1, 0.2), (0, 0, 0, 1)),
    "hull": (0.1, lambda b, k: b.add_shape_convex_hull(k, prism(0.1, 0.1, 7)), (0, 0, 0, 1)),
    "lying capsule": (0.1, lambda b, k: b.add_shape_capsule(k, 0.1, 0.2), LYING),
    "ellipsoid": (0.1, lambda b, k: b.add_shape_ellipsoid(k, 0.3, 0.2, 0.1), (0, 0, 0, 1)),
    "mesh": (0.1, lambda b, k: b.add_shape_mesh(k, convex_hull(prism(0.1, 0.1, 7))), (0, 0, 0, 1)),
}
NAMED = [("box", "box"), ("box", "cylinder"), ("hull", "hull"), ("mesh", "lying capsule"), ("height field", "box")]
CASES = [(table, body, "float32") for table in TABLES for body in BODIES] + [(*case, "float64") for case in NAMED]


def simulate(model, seconds: float, settle: float = 1.0):
    """Positions over the last ``seconds``, the largest speed, and the sets of (shape, shape, feature) that occurred."""
    solver = sim.solvers.Featherstone(model)
    state, next_state = model.state(), model.state()
    control, contacts = model.control(), model.contacts()
    places, speed, manifolds = [], 0.0, set()
    for step in range(round((settle + seconds) / DT)):
        sim.collide(model, state, contacts)
        solver.step(state, next_state, control, contacts, DT)
        state, next_state = next_state, state
        if step * DT >= settle:
            places.append(state.body_q[:, :3].copy())
            speed = max(speed, float(np.abs(state.body_qd).max()))
            n = int(contacts.count[0])
            manifolds.add(np.stack([contacts.shape0, contacts.shape1, contacts.feature])[:, :n].tobytes())
    solver.check(state)
    return np.array(places), speed, manifolds


@pytest.mark.parametrize(("table", "body", "precision"), CASES, ids=lambda x: x)
def test_a_body_at_rest_neither_drifts_nor_trembles(table, body, precision):
    """Drift below 0.1 mm and speeds below 1e-4 m/s (rad/s) over 3 s, and one manifold; all pairs in float32, where it
    is harder."""
    builder = sim.ModelBuilder()
    TABLES[table](builder)
    height, add, q = BODIES[body]
    add(builder, builder.add_body(xform=AT(p=(0.03, 0.02, height), q=q)))
    model = builder.finalize(device="cpu", precision=precision)
    places, speed, manifolds = simulate(model, 3.0)
    assert np.abs(places[-1] - places[0]).max() < 1e-4 and np.ptp(places, axis=0).max() < 1e-4
    assert speed < 1e-4
    # the triangles that report a contact of two meshes may change
    assert len(manifolds) == 1 or (body == "mesh" and table in ("mesh", "height field"))


def stack(builder, add):
    for i in range(5):
        add(builder, builder.add_body(xform=AT(p=(0.002 * i, 0, 0.1 + 0.2 * i))))


def pyramid(builder, add):
    for row in range(4):
        for i in range(4 - row):
            add(builder, builder.add_body(xform=AT(p=(0.21 * (i - (3 - row) / 2), 0, 0.1 + 0.2 * row))))


STACKED = [(kind, ground, "float64") for kind in ("box", "hull", "cylinder", "mesh") for ground in ("plane", "mesh")]
STACKED += [("box", "plane", "float32"), ("hull", "mesh", "float32")]


@pytest.mark.parametrize(("kind", "ground", "precision"), STACKED, ids=lambda x: x)
@pytest.mark.parametrize("build", [stack, pyramid], ids=lambda f: f.__name__)
def test_stacks_and_pyramids_stand(build, kind, ground, precision):
    block = convex_hull(CORNERS * 0.1)
    add = {
        "box": lambda b, k: b.add_shape_box(k, 0.1, 0.1, 0.1),
        "hull": lambda b, k: b.add_shape_convex_hull(k, CORNERS * 0.1),
        "cylinder": lambda b, k: b.add_shape_cylinder(k, 0.1, 0.1),
        "mesh": lambda b, k: b.add_shape_mesh(k, block),
    }[kind]
    builder = sim.ModelBuilder()
    TABLES[ground](builder)
    build(builder, add)
    model = builder.finalize(device="cpu", precision=precision)
    places, speed, _ = simulate(model, 3.0, settle=2.0)
    assert np.abs(places[-1] - places[0]).max() < 1e-4
    assert speed < 1e-4


DRAGGED = [(kind, "float64") for kind in ("box", "lying cylinder", "hull", "lying capsule", "ellipsoid")]


@pytest.mark.parametrize(("kind", "precision"), [*DRAGGED, ("box", "float32")], ids=lambda x: x)
@pytest.mark.parametrize("ground", ["mesh", "height field"])
def test_a_body_dragged_over_triangles_goes_the_way_it_goes_on_a_plane(kind, ground, precision):
    """Pulled by a constant force against friction: position and rotation to 1e-6 (float32: 1e-3). Contacts are found
    2 mm early, so that what chatters under the pull does so alike."""
    paths = []
    for name in ("box" if "cylinder" in kind else "plane", ground):
        builder = sim.ModelBuilder()
        builder.default_material = sim.Material(friction=0.3)
        if name == "box":  # on the plane itself a cylinder has other points
            builder.add_shape_box(-1, 3, 3, 0.1, xform=AT(p=(0, 0, -0.1)))
        else:
            TABLES[name](builder)
        height, add, q = BODIES[kind]
        body = builder.add_body(xform=AT(p=(-0.8, -0.4, height - 1e-4), q=q))
        add(builder, body)
        model = builder.finalize(device="cpu", precision=precision)
        model.shape_gap = np.full(model.shape_count, 0.001, precision)
        solver = sim.solvers.Featherstone(model)
        state, next_state, control = model.state(), model.state(), model.control()
        path = []
        for step in range(300):
            if step == 100:
                control.body_f[0, :2] = 0.4 * 9.81 * float(model.body_mass[0]) * np.array([0.95, 0.3])
            solver.step(state, next_state, control, None, DT)
            state, next_state = next_state, state
            path.append(state.body_q[0].copy())
        paths.append(np.array(path))
    assert np.linalg.norm(paths[0][-1, :3] - paths[0][0, :3]) > 0.4
    assert np.abs(paths[1] - paths[0]).max() < (1e-6 if precision == "float64" else 1e-3)


def test_a_step_without_contacts_finds_those_of_collide():
    """Bit for bit, and from the joint coordinates alone."""
    builder = sim.ModelBuilder()
    builder.add_shape_mesh(-1, floor(height=lambda x, y: 0.1 * np.sin(5 * x)))
    for i, (height, add, q) in enumerate(BODIES.values()):
        add(builder, builder.add_body(xform=AT(p=(0.3 * (i % 3) - 0.3, 0.35 * (i // 3) - 0.3, height + 0.1), q=q)))
    model = builder.finalize(device="cpu", precision="float32")
    solver = sim.solvers.Featherstone(model)
    control, contacts = model.control(), model.contacts()
    one, two, out = model.state(), model.state(), model.state()
    for _ in range(60):
        sim.collide(model, one, contacts)
        solver.step(one, out, control, contacts, DT)
        one, out = out, one
        solver.step(two, out, control, None, DT)
        two, out = out, two
        for name in ("joint_q", "joint_qd", "body_q", "body_qd"):
            assert getattr(one, name).tobytes() == getattr(two, name).tobytes(), name
    assert int(contacts.count[0]) > 10
