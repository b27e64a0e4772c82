"""Which shapes may touch: every rule, and the routines."""

import numpy as np
import pytest

import simengine as sim
from simengine.builder.pairs import ROUTINES
from simengine.builder.template import compile_template
from simengine.enums import PAIR_CONTACTS, PairRoutine, ShapeType
from tests.builder.scenes import chain


def pair_labels(builder, shared=()):
    template = compile_template(builder._elements, shared, builder.gravity)
    names = [*template.labels["shape"], *(shape.label for shape in shared)]
    t = template.topology
    return [(names[i], names[j]) for i, j in zip(t["pair_shape0"], t["pair_shape1"], strict=True)]


def as_sets(pairs):
    return {frozenset(pair) for pair in pairs}


def test_parent_and_child_do_not_touch_but_grandchildren_do():
    assert as_sets(pair_labels(chain(3))) == {frozenset(("capsule_0", "capsule_2"))}


def test_children_of_the_world_touch_the_world():
    builder = chain(1)
    builder.add_ground_plane()
    assert pair_labels(builder) == [("ground", "capsule_0")]


def test_collide_with_parent_lets_them_touch():
    builder = chain(2)
    builder.joints[1].collide_with_parent = True
    assert pair_labels(builder) == [("capsule_0", "capsule_1")]


def test_bodies_fixed_together_count_as_one():
    builder = chain(2)
    tool = builder.add_body()
    builder.add_shape_sphere(tool, 0.1, label="tool")
    builder.add_joint_fixed(1, tool)
    finger = builder.add_body()
    builder.add_shape_sphere(finger, 0.1, label="finger")
    builder.add_joint_revolute(tool, finger)
    assert as_sets(pair_labels(builder)) == {frozenset(("finger", "capsule_0"))}


def test_a_base_fixed_to_the_world_does_not_touch_its_child_nor_the_ground():
    builder = sim.ModelBuilder()
    base, arm = builder.add_body(), builder.add_body()
    builder.add_shape_box(base, 0.1, 0.1, 0.1, label="base")
    builder.add_shape_sphere(arm, 0.1, label="arm")
    builder.add_joint_fixed(-1, base)
    builder.add_joint_revolute(base, arm)
    builder.add_ground_plane()
    assert pair_labels(builder) == [("ground", "arm")]


def test_kinematic_bodies_touch_moving_ones_alone():
    builder = sim.ModelBuilder()
    for name, kinematic in (("a", True), ("b", True), ("c", False)):
        builder.add_shape_sphere(builder.add_body(kinematic=kinematic), 0.1, label=name)
    builder.add_ground_plane()
    assert as_sets(pair_labels(builder)) == {frozenset(p) for p in (("a", "c"), ("b", "c"), ("ground", "c"))}


def test_groups_filters_and_idle_shapes_are_left_out():
    builder = sim.ModelBuilder()
    groups = {"any": -1, "one": 1, "uno": 1, "two": 2}
    index = {name: builder.add_shape_sphere(builder.add_body(), 0.1, collision_group=group, label=name)
             for name, group in groups.items()}  # fmt: skip
    builder.add_shape_sphere(builder.add_body(), 0.1, collides=False, density=1, label="ghost")
    expected = {frozenset(p) for p in (("any", "one"), ("any", "uno"), ("any", "two"), ("one", "uno"))}
    assert as_sets(pair_labels(builder)) == expected
    builder.add_shape_collision_filter_pair(index["uno"], index["any"])
    assert as_sets(pair_labels(builder)) == expected - {frozenset(("any", "uno"))}


def test_many_shapes_are_filtered_and_counted_like_few():
    """Closed forms for 400 spheres and 200 cones, each on a body of its own, a tenth of the spheres filtered."""
    builder = sim.ModelBuilder()
    spheres = [builder.add_shape_sphere(builder.add_body(), 0.1) for _ in range(400)]
    for _ in range(200):
        builder.add_shape_cone(builder.add_body(), 0.1, 0.1)
    builder.filter_shapes(spheres[360:][::-1])
    template = compile_template(builder._elements, (), builder.gravity)
    assert template.unsupported == {("sphere", "cone"): 400 * 200, ("cone", "cone"): 200 * 199 // 2}
    low, high = template.topology["pair_shape0"], template.topology["pair_shape1"]
    expected = [(i, j) for i in range(360) for j in range(i + 1, 400)]
    np.testing.assert_array_equal(np.stack([low, high], 1), expected)


@pytest.mark.parametrize("shapes", [(0, 1, 0), (0, -1), (3, 4)])
def test_filtered_shapes_must_be_there_and_differ(shapes):
    with pytest.raises(sim.ModelError, match="give two different ones below 4"):
        chain(4).filter_shapes(shapes)


def test_filtered_shapes_do_not_touch_one_another_but_others():
    builder = chain(4)
    builder.filter_shapes(range(4))
    builder.add_shape_sphere(builder.add_body(), 0.1, label="ball")
    assert as_sets(pair_labels(builder)) == {frozenset(("ball", f"capsule_{i}")) for i in range(4)}


def test_shared_shapes_come_after_those_of_the_world():
    ground = sim.ModelBuilder()
    ground.add_ground_plane()
    template = compile_template(chain(2)._elements, ground.shapes, ground.gravity)
    assert pair_labels(chain(2), ground.shapes) == [("ground", "capsule_0"), ("ground", "capsule_1")]
    np.testing.assert_array_equal(template.topology["pair_shape0"], [2, 2])
    np.testing.assert_array_equal(template.topology["shape_link"], [1, 2, 0])


ADD = {
    ShapeType.SPHERE: lambda b, body: b.add_shape_sphere(body, 0.1),
    ShapeType.BOX: lambda b, body: b.add_shape_box(body, 0.1, 0.1, 0.1),
    ShapeType.CAPSULE: lambda b, body: b.add_shape_capsule(body, 0.1, 0.1),
    ShapeType.CYLINDER: lambda b, body: b.add_shape_cylinder(body, 0.1, 0.1),
    ShapeType.ELLIPSOID: lambda b, body: b.add_shape_ellipsoid(body, 0.1, 0.1, 0.2),
    ShapeType.CONE: lambda b, body: b.add_shape_cone(body, 0.1, 0.1),
    ShapeType.PLANE: lambda b, body: b.add_shape_plane(body),
}


@pytest.mark.parametrize("first", ADD)
@pytest.mark.parametrize("second", ADD)
def test_each_pair_of_types_has_its_routine_or_is_counted(first, second):
    builder = sim.ModelBuilder()
    for shape_type in (first, second):
        ADD[shape_type](builder, builder.add_body(mass=1, inertia=(1, 1, 1)))
    template = compile_template(builder._elements, (), builder.gravity)
    low, high = sorted((first, second))
    if (low, high) in ROUTINES:
        assert template.unsupported == {}
        (routine,) = template.topology["pair_routine"]
        assert PairRoutine(routine).name == f"{low.name}_{high.name}"
        (i,), (j,) = template.topology["pair_shape0"], template.topology["pair_shape1"]
        assert (template.arrays["shape_type"][i], template.arrays["shape_type"][j]) == (low, high)
    else:
        assert template.unsupported == {(low.name.lower(), high.name.lower()): 1}
        assert len(template.topology["pair_routine"]) == 0


def test_every_routine_has_a_pair_of_types():
    assert sorted(ROUTINES.values()) == sorted(PairRoutine)


def test_slots_count_the_contacts_of_the_pairs_before():
    builder = sim.ModelBuilder()
    for shape_type in (ShapeType.BOX, ShapeType.SPHERE, ShapeType.CAPSULE):
        ADD[shape_type](builder, builder.add_body())
    builder.add_ground_plane()
    t = compile_template(builder._elements, (), builder.gravity).topology
    contacts = [PAIR_CONTACTS[routine] for routine in t["pair_routine"]]
    assert len(contacts) == 6
    np.testing.assert_array_equal(t["pair_slot"], [sum(contacts[:i]) for i in range(6)])
    order = list(zip(t["pair_shape0"], t["pair_shape1"], strict=True))
    assert order == sorted(order)
