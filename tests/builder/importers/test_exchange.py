"""Messages between processes: what goes in comes out, and nothing else is taken for a message."""

import contextlib
import json
from dataclasses import is_dataclass
from typing import get_args, get_type_hints

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import simengine as sim
from simengine.builder.elements import KINDS, Body, Dof, Elements, Shape
from simengine.builder.importers.exchange import CLASSES, MARK, ExchangeError, decode, encode, matches
from simengine.builder.importers.mjcf.mjcf import MjcfOptions
from simengine.builder.importers.report import ImportReport, Note
from simengine.builder.importers.urdf.urdf import UrdfOptions
from simengine.builder.importers.usd.usd import UsdOptions
from simengine.builder.mechanisms import PathPoint, SceneOptions
from simengine.builder.mesh_data import Mesh
from simengine.enums import JointType, ShapeType
from tests.builder.test_mechanisms import robot

plain = st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats(allow_nan=False) | st.text(max_size=5)
values = st.recursive(
    plain,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)


@settings(max_examples=200, deadline=None)
@given(values)
def test_plain_values_come_back(value):
    back = decode(encode(value))
    assert back == value
    assert repr(back) == repr(value)  # types, and the signs of zeros


@pytest.mark.parametrize("array", [np.eye(3), np.zeros((0, 3)), np.arange(4, dtype=np.int32), np.array(2.5)])
def test_arrays_come_back_bit_for_bit(array):
    back = decode(encode({"a": array}))["a"]
    assert (back.dtype, back.shape, back.tobytes()) == (array.dtype, array.shape, array.tobytes())


def test_numbers_of_numpy_become_plain_ones():
    assert repr(decode(encode((np.float64(0.1), np.int32(3), np.bool_(True))))) == "(0.1, 3, True)"


def scene():
    """A builder with one of everything."""
    builder = robot()
    mesh = Mesh(np.eye(3), [[0, 1, 2]], "flag")
    for i in range(2):
        builder.add_shape_mesh(-1, mesh, label=f"flag {i}")
    builder.add_shape_mesh(-1, Mesh(np.eye(3), [[0, 1, 2]], "the same flag"), label="flag 2")
    builder.add_shape_heightfield(-1, [[0, 1], [2, -0.0]], 1, 1, label="hills")
    builder.add_equality_joint(1, 0, (0, 2), label="gear")
    builder.add_joint_ball(2, builder.add_body(mass=1, inertia=(1, 1, 1)), swing=(1, 2), q=(0, 0, 0.6, 0.8))
    builder.add_shape_collision_filter_pair(0, 2)
    builder.options.dt, builder.options.disabled = 0.002, ("gravity",)
    builder.custom = [("numbers", (1.0, 2.0)), ("word", "x"), ("array", np.arange(3.0))]
    builder.shapes[0].material = sim.Material(friction=0.4, stiffness=1e4)
    return builder


def test_a_builder_comes_back_equal():
    elements = scene()._elements
    back = decode(encode(elements))
    assert back.key() == elements.key()
    assert isinstance(back, Elements)
    assert [shape.mesh.label for shape in back.shapes if shape.type == ShapeType.MESH] == [
        "flag",
        "flag",
        "the same flag",
    ]
    assert back.shapes[4].mesh is back.shapes[5].mesh or back.shapes[3].mesh is back.shapes[4].mesh  # sent once
    assert type(back.joints[0].type) is JointType


def test_parameters_of_a_sensor_come_back():
    builder = robot()
    builder.add_sensor("gyro", parameters=(("noise", 0.1), ("nsample", 3), ("cutoff", (1.0, 2.0)), ("user", "x")))
    assert decode(encode(builder._elements)).key() == builder._elements.key()


def test_a_report_comes_back_equal():
    report = ImportReport("a.urdf", "a", {"links": 2}, [Note("x", "line 1", "why")], bodies={"l": 0}, shapes=[0, 1])
    report.mimics.append(("a", "b", 1.0, 0.0))
    assert decode(encode(report)) == report


@pytest.mark.parametrize("value", [object(), lambda: 0, 1j, b"x", np.array(["a"]), np.array([object()]), {1: object()}])
def test_what_is_not_plain_cannot_be_sent(value):
    with pytest.raises(ExchangeError):
        encode(value)


def message(document, rest=b""):
    text = document if isinstance(document, bytes) else json.dumps(document).encode()
    return MARK + len(text).to_bytes(8, "little") + text + rest


def wrapped(value, arrays=(), meshes=()):
    return message({"arrays": list(arrays), "meshes": list(meshes), "value": value})


def fields_of(element):
    return json.loads(encode(element)[len(MARK) + 8 :])["value"]["object"][1]


def with_field(element, name, value):
    fields = fields_of(element)
    fields[name] = value
    return wrapped({"object": [type(element).__name__, fields]})


BODY = Body("b", False)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"garbage",
        MARK,
        MARK + b"\xff" * 8,
        message(b"{"),
        message(b"[" * 100_000),
        message(b"1" * 5000),
        message([]),
        message({"value": 1}),
        wrapped({"pickle": "x"}),
        wrapped({"list": 5}),
        wrapped({"a": 1, "b": 2}),
        wrapped({"object": ["Popen", {}]}),
        wrapped({"object": ["Body", {}]}),
        wrapped({"object": ["Body", {"label": "x", "evil": 1}]}),
        wrapped({"enum": ["JointType", 99]}),
        wrapped({"enum": ["np", 1]}),
        wrapped({"array": 0}),
        wrapped({"array": -1}, [["<f8", [0]]]),
        wrapped({"array": True}, [["<f8", [0]], ["<f8", [0]]]),
        wrapped(1, [["|O", [0]]]),
        wrapped(1, [["<f8", [-1]]]),
        wrapped(1, [["<f8", [2**62, 2**62]]]),
        wrapped(1, [["<f8", [1]]]),
        wrapped({"mesh": 0}),
        wrapped(1, [["<f8", [0]]], [[0, 0, "m"]]),
        message({"arrays": [], "meshes": [], "value": 1}, b"left over"),
        with_field(BODY, "mass", "heavy"),
        with_field(BODY, "kinematic", 1),
        with_field(BODY, "label", None),
        with_field(BODY, "com", [1.0, 2.0]),
        with_field(BODY, "com", {"list": [1.0, 2.0, 3.0]}),
        with_field(Shape("s", False, ShapeType.BOX, 0), "type", 4),
        with_field(Shape("s", False, ShapeType.BOX, 0), "mesh", "m"),
        with_field(sim.Material(), "friction", -1.0),
        with_field(Elements(), "bodies", {"list": [1]}),
    ],
    ids=lambda data: repr(data[20:60]),
)
def test_what_is_no_message_is_refused(data):
    with pytest.raises(ExchangeError):
        decode(data)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_a_damaged_message_is_refused_or_read(data):
    good = bytearray(GOOD)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(good) - 1))
        good[at] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(good)) | st.just(len(good)))
    with contextlib.suppress(ExchangeError):
        decode(bytes(good[:cut]))


GOOD = encode({"elements": scene()._elements, "report": ImportReport("a")})


@pytest.mark.parametrize(
    "value, hint, right",
    [
        (1, float, True),
        (True, float, False),
        (True, int, False),
        (None, float | None, True),
        ((1, 2), tuple[int, int], True),
        ((1, 2), tuple[int, ...], True),
        ((1, "a"), tuple[int, ...], False),
        ((1, 2, 3), tuple[int, int], False),
        ([Dof()], list[Dof], True),
        ([1], list[Dof], False),
        ({(1, 2)}, set[tuple[int, int]], True),
        ({"a": 1}, dict[str, int], True),
        ({"a": "b"}, dict[str, int], False),
        ("x", object, True),
        (BODY, object, False),
    ],
)
def test_values_are_compared_with_declared_types(value, hint, right):
    assert matches(value, hint) is right


@pytest.mark.parametrize("options", [UrdfOptions, MjcfOptions, UsdOptions])
def test_every_option_of_an_importer_can_be_sent(options):
    kinds = [part for hint in get_type_hints(options).values() for part in get_args(hint) if is_dataclass(part)]
    assert len(kinds) >= 3
    for kind in kinds:
        assert decode(encode(kind())) == kind()


def test_every_class_that_elements_hold_can_be_sent():
    hints = get_type_hints(Elements)
    kinds = [get_args(hints[name])[0] for name in KINDS]
    assert {kind.__name__ for kind in (*kinds, Dof, sim.Material, PathPoint, SceneOptions)} <= set(CLASSES)
