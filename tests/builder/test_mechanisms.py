"""What a builder keeps without simulating it: it is checked, copied, merged, renamed and renumbered like all else."""

import dataclasses
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import simengine as sim
from simengine import ModelError
from simengine.builder import frames
from simengine.builder.mechanisms import KEPT, HeightField, PathPoint
from simengine.builder.mesh_data import surface_mesh
from simengine.enums import ShapeType
from tests.builder.scenes import chain


def robot(count=3):
    """A chain with one of everything that is kept, each referring to several kinds of elements."""
    builder = chain(count)
    last = count - 1
    sites = [builder.add_site(i, label=f"site_{i}") for i in range(count)]
    fixed = builder.add_tendon(label="fixed", terms=((0, 1.0), (last, -2.0)))
    builder.add_tendon(
        label="spatial",
        path=(
            PathPoint("site", sites[0]),
            PathPoint("shape", last, side=sites[1]),
            PathPoint("pulley", divisor=2.0),
            PathPoint("site", sites[last]),
        ),
    )
    builder.add_actuator("joint", last, label="motor")
    builder.add_actuator("tendon", fixed, label="winch")
    builder.add_actuator("slider_crank", sites[0], label="crank", reference=sites[last])
    builder.add_actuator("body", last, label="wind")
    builder.add_sensor("gyro", label="gyro", object_kind="site", object=sites[1])
    builder.add_sensor("framepos", label="frame", object_kind="body_inertial", object=last,
                       reference_kind="shape", reference=0)  # fmt: skip
    builder.add_sensor("force", label="force", object_kind="actuator", object=1)
    builder.add_sensor("clock", label="clock")
    builder.add_keyframe(label="home", joints=((0, (0.1,), (0.0,)), (last, (0.2,), (0.5,))),
                         actuators=((1, (0.3,), ()),), bodies=((0, (0, 0, 1, 0, 0, 0, 1)),))  # fmt: skip
    builder.add_contact_pair(0, last, label="pair", contact_dim=1)
    builder.add_tendon_equality(fixed, "together", tendon1=1, polynomial=(0, 2))
    builder.add_deformable("cable", [(0, 0, 0), (1, 0, 0)], [(0, 1)], label="rope", body=last)
    return builder


def references(builder):
    """Each kept element by its label, with the labels of what it refers to in place of indices."""

    def name(kind, index):
        plural = {"body": "bodies"}.get(kind, f"{kind}s")
        return "world" if index == -1 else getattr(builder, plural)[index].label

    result = {}
    for kind in KEPT:
        for element in getattr(builder._elements.copy(), kind):
            found = []
            element.renumber(lambda of, index, found=found: found.append((of, name(of, index))) or index)
            result[kind, element.label] = found
    return result


def prefixed(expected, prefix):
    return {
        (kind, f"{prefix}/{label}"): [(of, f"{prefix}/{name}") for of, name in found]
        for (kind, label), found in expected.items()
    }


@pytest.mark.parametrize("before", [0, 1, 3])
def test_merged_elements_refer_to_what_they_referred_to(before):
    builder = sim.ModelBuilder()
    if before:
        builder.merge_builder(robot(before + 1), label_prefix="first")
    builder.merge_builder(robot(), label_prefix="second")
    expected = prefixed(references(robot()), "second")
    if before:
        expected |= prefixed(references(robot(before + 1)), "first")
    assert references(builder) == expected


def test_labels_that_are_taken_are_refused_and_leave_both_builders_alone():
    builder = robot()
    key = builder._elements.key()
    for kind in KEPT.values():
        other = sim.ModelBuilder()
        body = other.add_body(mass=1, inertia=(1, 1, 1), label="other")
        other.add_joint_revolute(-1, body, label="other")
        other.add_shape_sphere(body, 0.1, label="other")
        other.add_shape_sphere(body, 0.1, label="other too")
        add = {
            "tendon": lambda b: b.add_tendon("fixed", terms=((0, 1.0),)),
            "actuator": lambda b: b.add_actuator("joint", 0, "motor"),
            "sensor": lambda b: b.add_sensor("clock", "clock"),
            "keyframe": lambda b: b.add_keyframe("home"),
            "contact pair": lambda b: b.add_contact_pair(0, 1, "pair"),
            "tendon equality": lambda b: b.add_tendon_equality(0, "together"),
            "deformable": lambda b: b.add_deformable("cable", [(0, 0, 0), (1, 0, 0)], [(0, 1)], "rope"),
        }[kind]
        if kind == "tendon equality":
            other.add_tendon("other", terms=((0, 1.0),))
        add(other)
        with pytest.raises(ModelError, match=f"{kind} label .* is taken"):
            builder.merge_builder(other)
        with pytest.raises(ModelError, match=f"{kind} label .* is taken"):
            add(builder)
        assert builder._elements.key() == key


def test_made_up_labels_give_way_when_merged():
    def one():
        builder = sim.ModelBuilder()
        builder.add_sensor("clock")
        return builder

    builder = one()
    builder.merge_builder(one())
    assert [sensor.label for sensor in builder.sensors] == ["sensor_0", "sensor_1"]


def test_collapsing_renumbers_what_is_kept():
    def with_fixed():
        builder = robot()
        held = builder.add_body(mass=1, inertia=(1, 1, 1), label="held")
        # a fixed joint in front of all others in the tree: the bodies after it change their numbers
        builder.add_joint_fixed(-1, held, label="hold")
        tip = builder.add_body(mass=1, inertia=(1, 1, 1), label="tip")
        hinge = builder.add_joint_revolute(held, tip, label="tip")
        builder.add_actuator("joint", hinge, label="tip motor")
        builder.add_actuator("body", tip, label="tip wind")
        return builder

    expected = references(with_fixed())
    builder = with_fixed()
    builder.collapse_fixed_joints()
    assert [body.label for body in builder.bodies] == ["link_0", "link_1", "link_2", "tip"]
    assert references(builder) == expected


@pytest.mark.parametrize(
    "add",
    [
        lambda b, joint, body: b.add_actuator("joint", joint, "x"),
        lambda b, joint, body: b.add_actuator("body", body, "x"),
        lambda b, joint, body: b.add_tendon("x", terms=((joint, 1.0),)),
        lambda b, joint, body: b.add_sensor("pos", "x", object_kind="body", object=body),
        lambda b, joint, body: b.add_keyframe("x", joints=((joint, (), ()),)),
        lambda b, joint, body: b.add_deformable("cable", [(0, 0, 0), (1, 0, 0)], [(0, 1)], "x", body=body),
    ],
)
def test_collapsing_refuses_to_merge_what_something_refers_to(add):
    builder = chain(1)
    body = builder.add_body(mass=1, inertia=(1, 1, 1), label="held")
    joint = builder.add_joint_fixed(0, body, label="hold")
    add(builder, joint, body)
    key = builder._elements.key()
    with pytest.raises(ModelError, match="'x': refers to a (joint|body) that would be merged; keep its fixed joint"):
        builder.collapse_fixed_joints()
    assert builder._elements.key() == key
    builder.collapse_fixed_joints(keep=[joint])


@pytest.mark.parametrize(
    "add, message",
    [
        (lambda b: b.add_tendon("x", terms=((9, 1.0),)), "tendon 'x': names joint 9; there are 3"),
        (lambda b: b.add_tendon("x", terms=((-1, 1.0),)), "tendon 'x': names joint -1"),
        (lambda b: b.add_tendon("x", terms=(5,)), "tendon 'x': has a malformed or unknown reference"),
        (lambda b: b.add_tendon("x", path=(PathPoint("knot", 0),)), "tendon 'x': has a malformed or unknown"),
        (lambda b: b.add_tendon("x", path=(PathPoint("site", 9),)), "tendon 'x': names site 9"),
        (lambda b: b.add_tendon("x", stifness=1), "tendon 'x': has no 'stifness'; did you mean 'stiffness'"),
        (lambda b: b.add_actuator("muscle", 0, "x"), "actuator 'x': has a malformed or unknown reference"),
        (lambda b: b.add_actuator("joint", 7, "x"), "actuator 'x': names joint 7"),
        (lambda b: b.add_actuator("site", 0, "x", reference=9), "actuator 'x': names site 9"),
        (lambda b: b.add_sensor("gyro", "x", object_kind="site", object=9), "sensor 'x': names site 9"),
        (lambda b: b.add_sensor("gyro", "x", object_kind="wheel", object=0), "sensor 'x': has a malformed or unknown"),
        (lambda b: b.add_keyframe("x", actuators=((0, 0.3, ()),)), "keyframe 'x': actuators are"),
        (lambda b: b.add_keyframe("x", joints=((9, (), ()),)), "keyframe 'x': names joint 9"),
        (lambda b: b.add_keyframe("x", bodies=((9, ()),)), "keyframe 'x': names body 9"),
        (lambda b: b.add_contact_pair(0, 9, "x"), "contact pair 'x': names shape 9"),
        (lambda b: b.add_deformable("cable", [(0, 0)], [(0, 1)], "x"), "deformable, vertex: has 2 numbers"),
        (lambda b: b.add_deformable("cable", [(0, 0, 0)], [(0, 1)], "x", body=9), "deformable 'x': names body 9"),
    ],
)
def test_references_to_what_is_not_there_are_refused(add, message):
    builder = robot()
    key = builder._elements.key()
    with pytest.raises(ModelError, match=message):
        add(builder)
    assert builder._elements.key() == key


def test_a_copy_shares_nothing_that_changes():
    builder = robot()
    elements, copy = builder._elements, builder._elements.copy()
    key = elements.key()
    assert copy.key() == key
    for kind in KEPT:
        for element in getattr(copy, kind):
            element.renumber(lambda of, index: index + 1)
            element.label += "!"
    copy.options.dt = 1.0
    copy.filters.add((0, 1))
    assert elements.key() == key
    assert copy.key() != key


def test_every_field_of_what_is_kept_counts_in_the_key():
    """A world that differs in one field is another world: no two of them share a template."""
    for kind in KEPT:
        for index, element in enumerate(getattr(robot()._elements, kind)):
            for field in dataclasses.fields(element):
                builder = robot()
                key = builder._elements.key()
                setattr(getattr(builder._elements, kind)[index], field.name, "changed")
                assert builder._elements.key() != key, (kind, field.name)
    for field in dataclasses.fields(robot().options):
        builder = robot()
        setattr(builder.options, field.name, "changed")
        assert builder._elements.key() != robot()._elements.key(), field.name


def test_finalize_names_what_it_leaves_out_and_no_more():
    with pytest.warns(UserWarning, match="2 tendons, 4 actuators, 1 deformables, 1 tendon equalities"):
        robot().finalize(device="cpu")
    builder = chain(2)
    builder.add_sensor("clock")
    builder.add_keyframe()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        builder.finalize(device="cpu")


def test_the_first_file_that_says_something_decides_the_options():
    first, second = sim.ModelBuilder(), sim.ModelBuilder()
    first.options.dt, second.options.dt = 0.002, 0.005
    second.options.cone = "elliptic"
    second.custom = [("note", 1)]
    builder = sim.ModelBuilder()
    builder.merge_builder(first)
    builder.merge_builder(second)
    assert (builder.options.dt, builder.options.cone, builder.custom) == (0.002, "elliptic", (("note", 1),))


def test_wind_and_flux_turn_with_what_stands_on_the_world():
    other = sim.ModelBuilder()
    other.options.wind, other.options.magnetic = (1, 2, 3), (0, -0.5, 0)
    turn = (1, 2, 3, 0, 0, 2**-0.5, 2**-0.5)  # x becomes y, and y -x
    builder = sim.ModelBuilder()
    builder.merge_builder(other, xform=turn)
    np.testing.assert_allclose(builder.options.wind, (-2, 1, 3), atol=1e-15)
    np.testing.assert_allclose(builder.options.magnetic, (0.5, 0, 0), atol=1e-15)
    assert (other.options.wind, other.options.magnetic) == ((1, 2, 3), (0, -0.5, 0))


def test_a_deformable_of_the_world_moves_with_it_and_one_on_a_body_does_not():
    other = chain(1)
    for body in (-1, 0):
        other.add_deformable("cable", [(0, 0, 0), (1, 0, 0)], [(0, 1)], f"rope {body}", body=body)
    turn = (1, 2, 3, 0, 0, 2**-0.5, 2**-0.5)
    builder = sim.ModelBuilder()
    builder.merge_builder(other, xform=turn)
    expected = [frames.apply(turn, (float(x), 0.0, 0.0)) for x in (0, 1)]
    np.testing.assert_allclose(builder.deformables[0].vertices, expected, atol=1e-15)
    assert builder.deformables[1].vertices == ((0, 0, 0), (1, 0, 0))


@pytest.mark.parametrize("by", ["q", "xform", "neither"])
def test_a_keyframe_moves_with_what_it_places(by):
    """Poses of bodies in a keyframe of the moved builder are those of the builder, moved."""

    def scene():
        builder = sim.ModelBuilder()
        body = builder.add_body((0, 0, 1, 0, 0, 0, 1) if by == "xform" else None, mass=1, inertia=(1, 1, 1))
        q = {"q": (0, 0, 1, 0, 0, 0, 1)} if by == "q" else {}
        free = builder.add_joint_free(-1, body, parent_xform=(1, 0, 0, 0, 0.6, 0, 0.8), **q)
        arm = builder.add_body(mass=1, inertia=(1, 1, 1))
        hinge = builder.add_joint_revolute(body, arm, axis="Y", parent_xform=(0, 0, 1, 0, 0, 0, 1))
        rates = (1, 2, 3, 4, 5, 6)
        moving = builder.add_body(kinematic=True)
        builder.add_keyframe(joints=((free, (1, 2, 3, 0.6, 0, 0, 0.8), rates), (hinge, (0.5,), (0.1,))),
                             bodies=((moving, (3, 2, 1, 0, 0, 0, 1)),))  # fmt: skip
        return builder

    def at_keyframe(builder):
        model = builder.finalize(device="cpu", precision="float64")
        state = model.state()
        for joint, q, qd in builder.keyframes[0].joints:
            start, rate = model.joint_q_start[joint], model.joint_qd_start[joint]
            state.joint_q[start : start + len(q)], state.joint_qd[rate : rate + len(qd)] = q, qd
        sim.eval_fk(model, state)
        return state

    turn = (1, -2, 3, 0, 0, 2**-0.5, 2**-0.5)
    plain, moved = scene(), sim.ModelBuilder()
    moved.merge_builder(scene(), xform=turn)
    before, after = at_keyframe(plain), at_keyframe(moved)
    for body in (0, 1):
        expected = frames.compose(turn, tuple(before.body_q[body]))
        np.testing.assert_allclose(after.body_q[body], expected, atol=1e-14)
        linear, angular = (frames.quat_rotate(turn[3:], tuple(part)) for part in before.body_qd[body].reshape(2, 3))
        np.testing.assert_allclose(after.body_qd[body], (*linear, *angular), atol=1e-14)
    ((_, pose),) = moved.keyframes[0].bodies
    np.testing.assert_allclose(pose, frames.compose(turn, (3, 2, 1, 0, 0, 0, 1)), atol=1e-15)


# ---- height fields

heights = st.integers(2, 6).flatmap(
    lambda columns: st.lists(st.lists(st.floats(-10, 10), min_size=columns, max_size=columns), min_size=2, max_size=6)
)


@settings(max_examples=50, deadline=None)
@given(heights, st.floats(0.1, 10), st.floats(0.1, 10))
def test_the_surface_of_a_height_field_goes_through_its_heights(table, hx, hy):
    field = HeightField(table)
    mesh = surface_mesh(field, hx, hy)
    rows, columns = field.heights.shape
    points = mesh.vertices.reshape(rows, columns, 3)
    np.testing.assert_array_equal(points[:, :, 2], field.heights)
    np.testing.assert_allclose(points[0, :, 0], np.linspace(-hx, hx, columns))
    np.testing.assert_allclose(points[:, 0, 1], np.linspace(-hy, hy, rows))
    a, b, c = (mesh.vertices[mesh.triangles[:, i]] for i in range(3))
    up = np.cross(b - a, c - a)[:, 2]
    assert (up > 0).all()  # seen from above, counter-clockwise
    assert up.sum() / 2 == pytest.approx(4 * hx * hy)  # and its plan covers the field once


@pytest.mark.parametrize("table", [np.zeros((3, 3), complex), [[1j, 0], [0, 0]], [["a", "b"], ["c", "d"]]])
def test_heights_that_are_no_real_numbers_are_refused(table):
    with pytest.raises(ModelError, match="heights must be a table of real numbers"):
        sim.ModelBuilder().add_shape_heightfield(-1, table, 1, 1)


@settings(max_examples=50, deadline=None)
@given(heights, heights)
def test_height_fields_compare_by_content(one, other):
    equal = np.shape(one) == np.shape(other) and np.array(one, float).tobytes() == np.array(other, float).tobytes()
    assert (HeightField(one) == HeightField(other)) == equal
    assert HeightField(one) == HeightField(np.array(one), label="another name")
    assert hash(HeightField(one)) == hash(HeightField(np.array(one)))


def test_a_height_field_cannot_be_written_and_keeps_no_view_of_what_it_was_given():
    table = np.zeros((2, 3))
    field = HeightField(table)
    table[0, 0] = 5.0
    assert field.heights[0, 0] == 0.0
    with pytest.raises(ValueError, match="read-only"):
        field.heights[0, 0] = 1.0


def test_a_height_field_is_a_shape_without_mass_of_equal_worlds():
    def terrain(height):
        builder = chain(1)
        builder.add_shape_heightfield(-1, [[0, height], [0, 1]], 2, 3, base=0.5, label="terrain")
        return builder

    (shape,) = (shape for shape in terrain(1).shapes if shape.label == "terrain")
    assert (shape.type, shape.size, shape.density) == (ShapeType.HEIGHTFIELD, (2, 3, 0.5), 0)
    assert terrain(1)._elements.key() == terrain(1)._elements.key() != terrain(2)._elements.key()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = terrain(1).finalize(device="cpu")
    assert model.shape_type[-1] == ShapeType.HEIGHTFIELD


def test_a_contact_pair_of_a_shape_that_does_not_collide_is_refused():
    builder = sim.ModelBuilder()
    body = builder.add_body()
    builder.add_shape_sphere(body, 0.1, collides=False, label="ghost")
    builder.add_ground_plane()
    with pytest.raises(ModelError, match="names shape 'ghost', which does not collide; set collides=True"):
        builder.add_contact_pair(0, 1)
    builder.shapes[0].collides = True
    builder.add_contact_pair(0, 1)
    builder.shapes[0].collides = False
    with pytest.raises(ModelError, match="does not collide"):
        builder.finalize(device="cpu")
