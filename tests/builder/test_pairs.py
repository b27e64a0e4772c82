"""Which shapes may touch: every rule, and the routines."""

import tracemalloc

import numpy as np
import pytest

import simengine as sim
from simengine.builder import pairs
from simengine.builder.pairs import PairRules
from simengine.builder.template import compile_template, floating_joints
from simengine.enums import PAIR_CONTACTS, PRIMITIVE_ROUTINES, JointType, PairRoutine, ShapeType
from simengine.pair_routines import ROUTINES
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
    """Closed forms for 400 spheres and 200 planes, each on a body of its own, a tenth of the spheres filtered."""
    builder = sim.ModelBuilder()
    spheres = [builder.add_shape_sphere(builder.add_body(), 0.1, collision_group=1) for _ in range(400)]
    for _ in range(200):
        builder.add_shape_plane(builder.add_body(mass=1, inertia=(1, 1, 1)), collision_group=2)
    builder.filter_shapes(spheres[360:][::-1])
    template = compile_template(builder._elements, (), builder.gravity)
    assert template.unsupported == {("plane", "plane"): 200 * 199 // 2}
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
        own, any_convex = f"{low.name}_{high.name}", "PLANE_CONVEX" if low == ShapeType.PLANE else "CONVEX_CONVEX"
        known = {primitive.name for primitive in PRIMITIVE_ROUTINES}
        assert PairRoutine(routine).name == (own if own in known else any_convex)
        (i,), (j,) = template.topology["pair_shape0"], template.topology["pair_shape1"]
        assert (template.arrays["shape_type"][i], template.arrays["shape_type"][j]) == (low, high)
    else:
        assert template.unsupported == {(low.name.lower(), high.name.lower()): 1}
        assert len(template.topology["pair_routine"]) == 0


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


def test_shapes_that_never_touch_change_no_pair_and_are_not_looked_at(monkeypatch):
    """Visuals between the shapes that collide, with filters among and between them: the pairs are those without."""
    random = np.random.default_rng(4)
    plain, dressed = sim.ModelBuilder(), sim.ModelBuilder()
    numbers = []  # of each shape that collides, among all
    for body in range(6):
        for builder in (plain, dressed):
            builder.add_body(mass=1, inertia=(1, 1, 1))
        for _ in range(random.integers(0, 3)):
            dressed.add_shape_sphere(body, 1.0, collides=False)
        numbers.append(dressed.add_shape_sphere(body, 0.1, label=f"s{body}"))
        plain.add_shape_sphere(body, 0.1, label=f"s{body}")
    for i, j in ((0, 1), (2, 5)):
        plain.add_shape_collision_filter_pair(i, j)
        dressed.add_shape_collision_filter_pair(numbers[i], numbers[j])
    for i in set(range(len(dressed.shapes))) - set(numbers):
        dressed.add_shape_collision_filter_pair(i, numbers[3])
    plain.add_contact_pair(0, 1)
    dressed.add_contact_pair(numbers[0], numbers[1])
    looked, ordered = [], PairRules.ordered
    monkeypatch.setattr(
        PairRules, "ordered", lambda self, rows: (looked.append(len(self.type)), ordered(self, rows))[1]
    )
    assert pair_labels(dressed) == pair_labels(plain)
    assert len(pair_labels(plain)) == 6 * 5 // 2 - 1
    assert set(looked) == {6}
    assert len(dressed.shapes) > 6


def rule_by_rule(builder, i: int, j: int) -> bool:
    """Whether two shapes may touch, by the rules one after another."""
    joint_of = {joint.child: joint for joint in builder.joints}

    def root(body):  # the first of the bodies that fixed joints between bodies hang it on
        while body in joint_of and joint_of[body].type == JointType.FIXED and joint_of[body].parent != -1:
            body = joint_of[body].parent
        return body

    def held(body):
        if body == -1:
            return True
        together = [b for b in range(len(builder.bodies)) if root(b) == root(body)]
        fixed = any(
            b in joint_of and joint_of[b].type == JointType.FIXED and joint_of[b].parent == -1 for b in together
        )
        return fixed or any(builder.bodies[b].kinematic for b in together)

    def is_child(body, other):
        joint = joint_of.get(root(body))
        free = joint is None or joint.parent == -1 or joint.collide_with_parent
        return not free and root(joint.parent) == root(other)

    a, b = builder.shapes[i], builder.shapes[j]
    if any({pair.shape0, pair.shape1} == {i, j} for pair in builder.contact_pairs):
        return True
    if not (a.collides and b.collides) or (i, j) in builder._elements.filters or (held(a.body) and held(b.body)):
        return False
    if a.group != b.group and -1 not in (a.group, b.group):
        return False
    if not (a.contype & b.conaffinity or b.contype & a.conaffinity):
        return False
    if -1 in (a.body, b.body):
        return True
    same = root(a.body) == root(b.body)
    return not same and not is_child(a.body, b.body) and not is_child(b.body, a.body)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("block", [1, 50, 1 << 20])
def test_all_rules_together_are_those_one_by_one(seed, block, monkeypatch):
    """Random chains of all joints, with every rule in use; pairs in order, whatever the size of a block."""
    monkeypatch.setattr(pairs, "BLOCK", block)
    random = np.random.default_rng(seed)
    builder = sim.ModelBuilder()
    for _ in range(14):
        kind = random.choice(["free", "revolute", "fixed", "held", "loose"])
        body = builder.add_body(mass=1, inertia=(1, 1, 1), kinematic=kind == "free" and random.random() < 0.3)
        if kind in ("revolute", "loose") and body:
            joint = builder.add_joint_revolute(int(random.integers(body)), body)
            builder.joints[joint].collide_with_parent = kind == "loose"
        elif kind == "fixed" and body:
            builder.add_joint_fixed(int(random.integers(body)), body)
        elif kind == "held":
            builder.add_joint_fixed(-1, body)
    for _ in range(40):
        add = builder.add_shape_sphere if random.random() < 0.5 else builder.add_shape_capsule
        sizes = (0.1,) if add == builder.add_shape_sphere else (0.1, 0.1)
        options = dict(contype=int(random.integers(4)), conaffinity=int(random.integers(4)), density=0)
        options |= dict(collision_group=int(random.choice([-1, -1, 1, 2])), collides=bool(random.random() < 0.9))
        add(int(random.integers(-1, 14)), *sizes, **options)
    for i, j in random.integers(40, size=(30, 2)):
        if i != j:
            builder.add_shape_collision_filter_pair(int(i), int(j))
    for i, j in random.integers(40, size=(6, 2)):
        if i != j and builder.shapes[i].collides and builder.shapes[j].collides:
            builder.add_contact_pair(int(i), int(j))
    t = compile_template(builder._elements, (), builder.gravity).topology
    found = list(zip(t["pair_shape0"].tolist(), t["pair_shape1"].tolist(), strict=True))
    expected = {(i, j) for i in range(40) for j in range(i + 1, 40) if rule_by_rule(builder, i, j)}
    assert found == sorted(found) and len(set(found)) == len(found)
    assert {tuple(sorted(pair)) for pair in found} == expected


def test_memory_grows_with_the_pairs_alone():
    """2,000,000 pairs of 2,000 spheres: eight bytes for each and one for its routine, twice while they are put
    together, and a block of a million."""
    builder = sim.ModelBuilder()
    for _ in range(2000):
        builder.add_shape_sphere(builder.add_body(), 0.1)
    joints = floating_joints(builder._elements)
    tracemalloc.start()
    table = pairs.list_pairs(PairRules(builder.bodies, joints, builder.shapes))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(table.first) == 2000 * 1999 // 2
    assert peak < 50e6
