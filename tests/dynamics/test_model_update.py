"""Inverse weights of bodies and degrees of freedom against MuJoCo's body_invweight0 and dof_invweight0."""

import mujoco
import numpy as np
import pytest

import simengine as sim
from tests.dynamics.trees import (
    TOLERANCE,
    Tree,
    add_to_builder,
    difference,
    model_of,
    random_link,
    random_tree,
    state_of,
)
from tests.mujoco_models.exporter import MujocoTwin


@pytest.mark.parametrize("seed", range(4))
def test_inverse_weights_are_mujocos(seed, device, precision):
    tree = random_tree(seed, bodies=12, roots=3)
    tree.links[0].child_xform[:3] = 0.0  # MuJoCo's rates of a free joint are those of the body's origin
    model = model_of(tree, device, precision)
    bodies, dofs = MujocoTwin(tree).inverse_weights()
    assert difference(model.body_inverse_weight, bodies) < TOLERANCE[precision]
    assert difference(model.dof_inverse_weight, dofs) < TOLERANCE[precision]


def dense_inverse_weights(model):
    """From the mass matrix and the Jacobian at the model's initial coordinates, by dense inversion."""
    state = state_of(model, model.joint_q, model.joint_qd)
    mass, jacobian = sim.eval_mass_matrix(model, state)[0], sim.eval_jacobian(model, state)[0]
    joint_of_dof = np.repeat(np.arange(model.joint_count), np.diff(model.joint_qd_start))
    free = model.body_flags[model.joint_child[joint_of_dof]] == 0
    inverse = np.zeros_like(mass)
    inverse[np.ix_(free, free)] = np.linalg.inv(mass[np.ix_(free, free)])
    return np.diag(jacobian @ inverse @ jacobian.T).reshape(-1, 2, 3).mean(axis=2), np.diag(inverse).copy()


def test_they_are_taken_at_the_initial_coordinates():
    tree = random_tree(7, kinds=("revolute", "prismatic"), free_root=False)
    builder = sim.ModelBuilder()
    add_to_builder(builder, tree)
    model = builder.finalize(device="cpu", precision="float64")
    before = model.body_inverse_weight.copy()
    model.joint_q = np.random.default_rng(0).uniform(-1, 1, size=model.joint_coord_count)
    model.update()
    bodies, dofs = dense_inverse_weights(model)
    assert difference(model.body_inverse_weight, bodies) < 1e-12
    assert difference(model.dof_inverse_weight, dofs) < 1e-12
    assert difference(model.body_inverse_weight, before) > 1e-3


def test_kinematic_bodies_do_not_yield():
    """On a kinematic base the weights are those of a held base; of the base and what is fixed to it they are zero."""
    rng = np.random.default_rng(0)
    kinds = (("free", -1), ("revolute", 0), ("ball", 1), ("fixed", 0))
    links = [random_link(rng, kind, parent) for kind, parent in kinds]
    tree = Tree(links, [0, 1, 2, 3])
    builder = sim.ModelBuilder()
    add_to_builder(builder, tree)
    builder.bodies[0].kinematic = True
    model = builder.finalize(device="cpu", precision="float64")
    bodies, dofs = dense_inverse_weights(model)
    assert np.all(model.body_inverse_weight[[0, 3]] == 0)
    assert np.all(model.dof_inverse_weight[:6] == 0)
    assert difference(model.body_inverse_weight, bodies) < 1e-12
    dofs[7:10] = dofs[7:10].mean()
    assert difference(model.dof_inverse_weight, dofs) < 1e-12


def test_a_free_body_has_the_inverse_of_its_mass_and_inertia():
    builder = sim.ModelBuilder()
    builder.add_body(mass=4.0, inertia=np.diag([0.1, 0.2, 0.25]))
    model = builder.finalize(device="cpu", precision="float64")
    assert model.body_inverse_weight[0] == pytest.approx([1 / 4, (10 + 5 + 4) / 3], rel=1e-14)
    assert model.dof_inverse_weight == pytest.approx([1 / 4] * 3 + [(10 + 5 + 4) / 3] * 3, rel=1e-14)


@pytest.mark.parametrize(
    ("axes", "place", "angle"),
    [
        (["0 0 1"], (0, 0, 0), 0.0),
        (["1 0 0", "0 0 1"], (0, 0, 0), 0.0),
        (["1 1 0"], (0, 0, 0), 0.0),
        (["0 0 1"], (0.1, 0, 0), 0.0),
        (["0 0 1"], (0, 0, 0), 0.1),
    ],
)
def test_sliders_have_mujocos_weights(axes, place, angle, precision):
    """MuJoCo gives 1/m where a body slides along axes of its inertia, elsewhere the mean over three directions."""
    joints = "".join(f'<joint type="slide" axis="{axis}" armature="2"/>' for axis in axes)
    geom = f'<geom type="box" size=".1 .2 .3" pos="{place[0]} {place[1]} {place[2]}" axisangle="1 0 0 {angle}"/>'
    body = f'<body euler=".3 .2 .1">{joints}{geom}</body>'
    twin = mujoco.MjModel.from_xml_string(f'<mujoco><compiler angle="radian"/><worldbody>{body}</worldbody></mujoco>')
    builder = sim.ModelBuilder()
    body = builder.add_body()
    builder.add_shape_box(body, 0.1, 0.2, 0.3, xform=sim.transform(place, sim.quat_from_axis_angle((1, 0, 0), angle)))
    frame = sim.transform(q=np.roll(twin.body_quat[1], -1))
    directions = [tuple(map(float, axis.split())) for axis in axes]
    builder.add_joint_d6(-1, body, linear_axes=directions, armature=2.0, parent_xform=frame)
    model = builder.finalize(device="cpu", precision=precision)
    assert model.body_inverse_weight[0] == pytest.approx(twin.body_invweight0[1], rel=1e-6, abs=1e-9)


def test_only_marked_worlds_are_recomputed(device):
    model = model_of(random_tree(0, bodies=3, roots=1), device, worlds=3)
    before = sim.to_numpy(model.body_inverse_weight).reshape(3, -1).copy()
    model.body_mass[:] *= 2.0
    model.update(world_mask=device.asarray(np.array([False, True, False])))
    after = sim.to_numpy(model.body_inverse_weight).reshape(3, -1)
    assert np.array_equal(after[[0, 2]], before[[0, 2]])
    assert np.all(after[1] < before[1])


CUBE = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], float)
FACES = [[0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1], [2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4]]
FACES += [[1, 5, 7], [1, 7, 3]]
SIZED = {  # how a shape of so many sizes is added
    "sphere": (1, lambda b, i, s: b.add_shape_sphere(i, *s)),
    "capsule": (2, lambda b, i, s: b.add_shape_capsule(i, *s)),
    "ellipsoid": (3, lambda b, i, s: b.add_shape_ellipsoid(i, *s)),
    "cylinder": (2, lambda b, i, s: b.add_shape_cylinder(i, *s)),
    "box": (3, lambda b, i, s: b.add_shape_box(i, *s)),
    "cone": (2, lambda b, i, s: b.add_shape_cone(i, *s)),
    "hull": (3, lambda b, i, s: b.add_shape_convex_hull(i, CUBE + (0.2, 0, 0.1), scale=s)),
    "mesh": (3, lambda b, i, s: b.add_shape_mesh(i, (CUBE + (0.2, 0, 0.1), FACES), scale=s)),
    "sphere that does not collide": (1, lambda b, i, s: b.add_shape_sphere(i, *s, collides=False)),
}


def sized(sizes, device, precision):
    """Two worlds of one body for each kind of shape; ``sizes``: (kinds, 3)."""
    builder, world = sim.ModelBuilder(), sim.ModelBuilder()
    for (count, add), size in zip(SIZED.values(), sizes, strict=True):
        add(world, world.add_body(mass=1.0, inertia=np.eye(3)), tuple(size[:count]))
    builder.replicate(world, 2)
    builder.add_ground_plane()
    return builder.finalize(device=device, precision=precision)


def test_radii_follow_sizes_that_are_written(device, precision):
    random = np.random.default_rng(3)
    before, after = random.uniform(0.2, 1.0, (2, len(SIZED), 3))
    model, expected = sized(before, device, precision), sized(after, device, precision)

    def radii(of) -> np.ndarray:
        return np.array([sim.to_numpy(of.shape_radius), sim.to_numpy(of.shape_inradius)])

    old, wanted = radii(model), radii(expected)
    model.update()
    assert np.array_equal(radii(model), old)  # no size was written: no bit changes
    model.shape_size = expected.shape_size
    model.update(world_mask=model.device.asarray(np.array([False, True])))
    found, one = radii(model), len(SIZED)
    assert np.array_equal(found[:, :one], old[:, :one])
    assert np.allclose(found[:, one:], wanted[:, one:], rtol=8 * np.finfo(precision).eps, atol=0)


def test_a_shape_made_larger_touches_what_it_reaches():
    builder = sim.ModelBuilder()
    builder.add_shape_sphere(builder.add_body(xform=sim.transform((0, 0, 0.25))), 0.1)
    builder.add_ground_plane()
    model = builder.finalize(device="cpu", precision="float64")
    model.shape_size[0, 0] = 0.3
    model.update()
    contacts = model.contacts()
    sim.collide(model, model.state(), contacts)
    assert contacts.count[0] == 1 and np.isclose(contacts.distance[0], -0.05)
