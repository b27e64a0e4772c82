"""Collapsing fixed joints changes neither matter nor motion nor which shapes may touch."""

import numpy as np
import pytest

import simengine as sim
from simengine.builder import frames
from simengine.builder.inertia import combine
from simengine.builder.masses import body_masses
from simengine.builder.template import compile_template
from tests.builder.scenes import add_random_joint, random_pose


def robot(seed, explicit, floating=False):
    """A tree of hinges, sliders and balls with fixed joints between; masses given, from shapes, or some of each."""
    rng = np.random.default_rng(seed)
    builder = sim.ModelBuilder()
    for i in range(14):
        own = dict(mass=rng.uniform(0.5, 2), com=rng.normal(size=3), inertia=rng.uniform(1, 1.5, 3))
        body = builder.add_body(**(own if explicit(i) else {}), label=f"b{i}")
        size = rng.uniform(0.1, 0.3, 3)
        builder.add_shape_box(body, *size, xform=random_pose(rng), label=f"s{i}")
        builder.add_site(body, random_pose(rng), label=f"site{i}")
        if i == 0 and floating:
            continue
        kind = ("revolute", "fixed", "prismatic", "fixed", "ball", "fixed")[i % 6]
        parent = int(rng.integers(-1 if i < 8 and not floating else 0, max(i, 1))) if i else -1
        add_random_joint(builder, rng, kind, parent, body)
    return builder


MASSES = {"given": lambda i: True, "from shapes": lambda i: False, "mixed": lambda i: i % 3 == 0}


@pytest.mark.parametrize("explicit", MASSES.values(), ids=MASSES)
@pytest.mark.parametrize("floating", [False, True])
def test_motion_is_that_of_the_whole_robot(explicit, floating):
    whole, merged = (robot(5, explicit, floating) for _ in range(2))
    mapping = merged.collapse_fixed_joints()
    assert len(merged.bodies) < len(whole.bodies)
    a, b = (builder.finalize(device="cpu", precision="float64") for builder in (whole, merged))
    for model in (a, b):
        sim.eval_fk(model, model.state())
    assert a.joint_coord_count == b.joint_coord_count
    np.testing.assert_allclose(
        sim.eval_mass_matrix(a, a.state()), sim.eval_mass_matrix(b, b.state()), rtol=1e-11, atol=1e-11
    )
    bias = sim.eval_bias_force(a, a.state())
    np.testing.assert_allclose(bias, sim.eval_bias_force(b, b.state()), atol=1e-10 * np.abs(bias).max())
    for old, new in mapping.items():
        if a.body_label[old] == (b.body_label[new] if new >= 0 else None):
            np.testing.assert_allclose(a.body_q[old], b.body_q[new], atol=1e-12)


@pytest.mark.parametrize("floating", [False, True])
def test_shapes_and_sites_keep_their_places(floating):
    whole, merged = (robot(6, MASSES["mixed"], floating) for _ in range(2))
    merged.collapse_fixed_joints()
    places = []
    for builder in (whole, merged):
        arrays = compile_template(builder._elements, (), builder.gravity).arrays
        poses = [*map(tuple, arrays["body_q"]), frames.IDENTITY]  # the last for body -1
        places.append([frames.compose(poses[e.body], e.xform) for e in (*builder.shapes, *builder.sites)])
    for before, after in zip(*places, strict=True):
        assert np.linalg.norm(np.subtract(before[:3], after[:3])) < 1e-12
        assert frames.angle_between(before[3:], after[3:]) < 1e-7


@pytest.mark.parametrize("explicit", MASSES.values(), ids=MASSES)
def test_mass_centre_and_inertia_of_a_floating_robot_are_kept(explicit):
    totals = []
    for collapse in (False, True):
        builder = robot(7, explicit, floating=True)
        if collapse:
            builder.collapse_fixed_joints()
        arrays = compile_template(builder._elements, (), builder.gravity).arrays
        parts = [
            own.moved(tuple(pose)) for own, pose in zip(body_masses(builder._elements), arrays["body_q"], strict=True)
        ]
        totals.append(combine(parts))
    assert totals[0].mass == pytest.approx(totals[1].mass, rel=1e-13)
    np.testing.assert_allclose(totals[0].com, totals[1].com, atol=1e-12)
    np.testing.assert_allclose(totals[0].inertia, totals[1].inertia, rtol=1e-12, atol=1e-11)


def test_two_cubes_side_by_side_are_one_box():
    builder = sim.ModelBuilder()
    cubes = [builder.add_body(mass=1, inertia=(1 / 6,) * 3) for _ in range(2)]
    builder.add_joint_fixed(*cubes, parent_xform=(1, 0, 0, 0, 0, 0, 1))
    assert builder.collapse_fixed_joints() == {0: 0, 1: 0}
    (own,) = body_masses(builder._elements)
    assert own.mass == 2
    np.testing.assert_allclose(own.com, [0.5, 0, 0])
    np.testing.assert_allclose(own.inertia, np.diag([1 / 3, 5 / 6, 5 / 6]), atol=1e-15)


@pytest.mark.parametrize("seed", range(3))
def test_the_same_shapes_may_touch_as_before(seed):
    """Except those that became part of the world: two unmoving things never touch, before or after."""
    pairs = []
    for collapse in (False, True):
        builder = robot(seed, MASSES["from shapes"])
        if collapse:
            builder.collapse_fixed_joints()
        template = compile_template(builder._elements, (), builder.gravity)
        t = template.topology
        names = template.labels["shape"]
        pairs.append({(names[i], names[j]) for i, j in zip(t["pair_shape0"], t["pair_shape1"], strict=True)})
    assert pairs[0] == pairs[1]
    assert pairs[0]


def test_what_is_fixed_to_the_world_becomes_static_and_its_child_still_does_not_touch_it():
    builder = sim.ModelBuilder()
    base, arm = builder.add_body(label="base"), builder.add_body(label="arm")
    builder.add_shape_box(base, 0.1, 0.1, 0.1, xform=(0, 0, 0.5, 0, 0, 0, 1))
    builder.add_shape_sphere(arm, 0.1)
    builder.add_joint_fixed(-1, base, parent_xform=(1, 0, 0, 0, 0, 0, 1))
    builder.add_joint_revolute(base, arm)
    assert builder.collapse_fixed_joints() == {base: -1, arm: 0}
    assert builder.shapes[0].body == -1
    assert builder.shapes[0].xform[:3] == (1, 0, 0.5)
    assert builder.joints[0].parent == -1
    assert builder.joints[0].parent_xform[:3] == (1, 0, 0)
    assert builder._elements.filters == {(0, 1)}


def test_kept_joints_stay_and_labels_can_be_used_again():
    builder = sim.ModelBuilder()
    for name in ("a", "b", "c"):
        builder.add_body(mass=1, inertia=(1, 1, 1), label=name)
    kept = builder.add_joint_fixed(0, 1, label="kept")
    builder.add_joint_fixed(1, 2, label="gone")
    assert builder.collapse_fixed_joints(keep=[kept]) == {0: 0, 1: 1, 2: 1}
    assert [joint.label for joint in builder.joints] == ["kept"]
    builder.add_body(label="c")
    with pytest.raises(sim.ModelError, match="keep names joint 7"):
        builder.collapse_fixed_joints(keep=[7])


def test_an_equality_between_merged_bodies_is_refused_and_others_are_moved():
    builder = sim.ModelBuilder()
    for name in ("a", "b", "c"):
        builder.add_body(mass=1, inertia=(1, 1, 1), label=name)
    builder.add_joint_fixed(0, 1, parent_xform=(1, 0, 0, 0, 0, 0, 1))
    builder.add_equality_connect(1, 2, point0=(0, 2, 0))
    builder.collapse_fixed_joints()
    equality = builder.equalities[0]
    assert (equality.object0, equality.object1, equality.xform0[:3]) == (0, 1, (1, 2, 0))
    builder.add_equality_weld(0, 1, label="weld")
    builder.add_joint_fixed(0, 1)
    with pytest.raises(sim.ModelError, match=r"equality .*joins bodies that became one"):
        builder.collapse_fixed_joints()
