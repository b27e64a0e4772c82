"""Malformed and hostile MJCF: each case is refused with its place, mended and noted, or passed over and noted."""

from __future__ import annotations

import os
import warnings

import pytest

import simengine as sim
from simengine.builder.importers.xml_reader import XmlLimits
from simengine.errors import AssetError
from tests.builder.importers.mjcf.mujoco_facts import read

GEOM = '<geom size=".1"/>'
FLAT = 'vertex="0 0 0 1 0 0 1 1 0 0 1 0" face="0 1 2 0 2 3"'
BODY = f'<body name="b"><joint name="j"/>{GEOM}<site name="s"/></body>'


def scene(inside: str = "", tail: str = "", head: str = "") -> str:
    return f"<mujoco>{head}<worldbody>{inside}</worldbody>{tail}</mujoco>"


def body(inside: str) -> str:
    return scene(f'<body name="b"><joint name="j"/>{GEOM}{inside}</body>')


def with_mesh(asset: str, geom: str = '<geom type="mesh" mesh="m"/>') -> str:
    return scene(geom, head=f"<asset>{asset}</asset>")


REJECTED = {
    # text and structure
    "empty": ("", "empty"),
    "blank": (" \n\t ", "empty"),
    "cut off": ("<mujoco><worldbody><geom", "not well-formed"),
    "another root": ("<robot/>", "root element"),
    "entities": ('<!DOCTYPE x [<!ENTITY a "b">]><mujoco>&a;</mujoco>', "document type"),
    "external entity": ('<!DOCTYPE x SYSTEM "http://x/y"><mujoco/>', "document type"),
    "deep": ("<mujoco>" + "<body>" * 100_000, "nested"),
    "null bytes": ("<mujoco>\0</mujoco>", "not well-formed"),
    "an attribute twice": ('<mujoco><worldbody><geom size="1" size="2"/></worldbody></mujoco>', "not well-formed"),
    # numbers
    "comma": (scene('<geom size="0,1"/>'), "not a decimal number"),
    "overflow": (scene('<geom size="1e999"/>'), "too large"),
    "hex": (scene('<geom size="0x1"/>'), "not a decimal number"),
    "underscores": (scene('<geom size="1_0"/>'), "not a decimal number"),
    "nan": (scene('<geom size="nan"/>'), "not a decimal number"),
    "inf": (scene('<geom size=".1" pos="inf 0 0"/>'), "not a decimal number"),
    "too few": (scene('<geom size=".1" pos="1 2"/>'), "has 2 numbers"),
    "too many": (scene('<geom size=".1" pos="1 2 3 4"/>'), "has 4 numbers"),
    "no number": (scene('<geom size=""/>'), "has 0 numbers"),
    "a fraction of a whole number": (scene('<geom size=".1" contype="1.5"/>'), "whole number"),
    "bad word": (scene('<geom size=".1" type="ball"/>'), "is one of"),
    "bad flag": (scene(head='<compiler autolimits="yes"/>'), "is one of"),
    "a huge length": (scene('<geom size="1e20"/>'), "attribute 'size' holds 1e+20: no robot has"),
    "a huge negative place": (scene('<geom size="1" pos="0 -1e16 0"/>'), "attribute 'pos' holds -1e+16"),
    "a huge mass": (body('<geom size="1" mass="1e16"/>'), "attribute 'mass' holds 1e+16"),
    "a huge vertex": (
        scene(head='<asset><mesh name="m" vertex="0 0 0 1 0 0 0 1 0 0 0 1e16"/></asset>'),
        "attribute 'vertex' holds 1e+16",
    ),
    # structure of MJCF
    "two inertials": (body('<inertial pos="0 0 0" mass="1"/><inertial pos="0 0 0" mass="1"/>'), "already"),
    "inertial in a replicate": (
        body('<replicate count="2"><inertial pos="0 0 0" mass="1"/></replicate>'),
        "not in a replicate",
    ),
    "joint in the world": (scene('<joint name="j"/>'), "world has no joints"),
    "world with attributes": ('<mujoco><worldbody name="x"/></mujoco>', "no attributes"),
    "unknown class": (scene('<geom class="x" size=".1"/>'), "class 'x' is not defined"),
    "class twice": (scene(head='<default><default class="a"/><default class="a"/></default>'), "defined already"),
    "class without a name": (scene(head="<default><default/></default>"), "has no attribute 'class'"),
    "names twice": (scene(BODY + BODY), "is taken"),
    "a free joint deep": (body(f"<body><freejoint/>{GEOM}</body>"), "child of the world"),
    "a mocap body deep": (body(f'<body mocap="true">{GEOM}</body>'), "mocap"),
    "seven degrees of freedom": (scene("<body>" + '<joint type="slide"/>' * 7 + GEOM + "</body>"), "more than 6"),
    "ball then hinge": (scene(f'<body><joint type="ball"/><joint/>{GEOM}</body>'), "another rotation"),
    "global coordinates": (scene(head='<compiler coordinate="global"/>'), "removed"),
    "bad eulerseq": (scene(head='<compiler eulerseq="xyq"/>'), "eulerseq"),
    "endless copies": (scene(f'<replicate count="1000000000"><body>{GEOM}</body></replicate>'), "cap on copies"),
    "copies of copies": (
        scene('<replicate count="900">' * 4 + f"<body>{GEOM}</body>" + "</replicate>" * 4),
        "cap on copies",
    ),
    "self attachment of a name that is taken": (scene(f'{BODY}<attach body="b" prefix=""/>'), "is taken"),
    "attaching what is not there": (scene('<attach body="x" prefix="p"/>'), "not in the model"),
    "attaching an unknown model": (scene('<attach model="x" prefix="p"/>'), "not an asset"),
    # geometry
    "size zero": (scene('<geom size="0"/>'), "positive sizes"),
    "size negative": (scene('<geom type="box" size="1 -1 1"/>'), "positive sizes"),
    "size missing": (scene('<geom type="capsule" size="1"/>'), "positive sizes"),
    "fromto of one point": (scene('<geom type="capsule" size="1" fromto="1 1 1 1 1 1"/>'), "are one"),
    "fromto of a sphere": (scene('<geom size="1" fromto="0 0 0 1 1 1"/>'), "no fromto"),
    "fromto and pos": (scene('<geom type="box" size="1" pos="1 0 0" fromto="0 0 0 1 1 1"/>'), "pos and fromto"),
    "zero quaternion": (scene('<geom size="1" quat="0 0 0 0"/>'), "zero length"),
    "two orientations": (scene('<geom size="1" quat="1 0 0 0" euler="1 2 3"/>'), "one orientation"),
    "zero axis": (scene(f'<body><joint axis="0 0 0"/>{GEOM}</body>'), "zero length"),
    "negative friction": (scene('<geom size="1" friction="-1"/>'), "0 or more"),
    "negative mass": (body('<geom size="1" mass="-1"/>'), "0 or more"),
    "negative density": (body('<geom size="1" density="-1"/>'), "0 or more"),
    "bad condim": (scene('<geom size="1" condim="2"/>'), "condim"),
    "no mesh": (scene('<geom type="mesh"/>'), "no mesh"),
    "unknown mesh": (scene('<geom type="mesh" mesh="m"/>'), "mesh 'm' is not in the file"),
    "unknown material": (scene('<geom size="1" material="m"/>'), "material 'm' is not in the file"),
    "scale zero": (with_mesh('<mesh name="m" file="m.obj" scale="1 0 1"/>'), "zero"),
    "mesh of nothing": (with_mesh('<mesh name="m"/>'), "either a file or vertices"),
    "mesh by a formula": (with_mesh('<mesh name="m" builtin="wedge" params="3 3 90 40 0"/>'), "formula"),
    "endless sphere": (with_mesh('<mesh name="m" builtin="sphere" params="40"/>'), "subdivision"),
    "torus without numbers": (with_mesh('<mesh name="m" builtin="supertorus" params="40"/>'), "not 4"),
    "faces that lead nowhere": (with_mesh('<mesh name="m" vertex="0 0 0 1 0 0 0 1 0 0 0 1" face="0 1 9"/>'), "face"),
    "vertices in threes": (with_mesh('<mesh name="m" vertex="0 0 0 1"/>'), "multiple of 3"),
    "points in a plane": (with_mesh('<mesh name="m" vertex="0 0 0 1 0 0 0 1 0 1 1 0"/>'), "coplanar"),
    "two meshes of a name": (with_mesh('<mesh name="m" file="a.obj"/><mesh name="m" file="b.obj"/>'), "is taken"),
    "mesh not there": (with_mesh('<mesh name="m" file="m.obj"/>'), "was not found"),
    "mesh above": (with_mesh('<mesh name="m" file="../m.obj"/>'), "outside"),
    "mesh by folders above": (
        with_mesh('<mesh file="m.obj" name="m"/>').replace("<asset", '<compiler meshdir="../.."/><asset'),
        "outside",
    ),
    "mesh at an absolute path": (with_mesh('<mesh name="m" file="/etc/passwd"/>'), "outside"),
    "mesh with a backslash": (with_mesh('<mesh name="m" file="a\\b.obj"/>'), "backslash"),
    "mesh on a drive": (with_mesh('<mesh name="m" file="C:/b.obj"/>'), "drive"),
    "mesh from the network": (with_mesh('<mesh name="m" file="http://x/b.obj"/>'), "only package"),
    "mesh that is a folder": (with_mesh('<mesh name="m" file="folder"/>'), "not a regular file"),
    "mesh that is a pipe": (with_mesh('<mesh name="m" file="pipe.obj"/>'), "not a regular file"),
    "mesh of another case": (with_mesh('<mesh name="m" file="REAL.obj"/>'), "case"),
    "mesh by a link outside": (with_mesh('<mesh name="m" file="link.obj"/>'), "outside"),
    "mesh of garbage": (with_mesh('<mesh name="m" file="real.obj"/>'), "scene.xml:1"),
    "height field of nothing": (
        scene('<geom type="hfield" hfield="h"/>', head='<asset><hfield name="h" size="1 1 1 1"/></asset>'),
        "at least 2",
    ),
    "height field of other length": (
        scene(head='<asset><hfield name="h" size="1 1 1 1" nrow="2" ncol="2" elevation="1 2 3"/></asset>'),
        "not nrow",
    ),
    "endless height field": (
        scene(head='<asset><hfield name="h" size="1 1 1 1" nrow="1000000" ncol="1000000"/></asset>'),
        "heights at most",
    ),
    "flat mesh that collides": (with_mesh(f'<mesh name="m" {FLAT} inertia="shell"/>'), "lie in one plane"),
    "flat mesh of a pair": (
        scene(
            '<geom name="a" type="mesh" mesh="m" contype="0" conaffinity="0"/><geom name="g" size="1"/>',
            '<contact><pair geom1="a" geom2="g"/></contact>',
            f'<asset><mesh name="m" {FLAT} inertia="shell"/></asset>',
        ),
        "lie in one plane",
    ),
    "mesh on a line that collides": (
        with_mesh('<mesh name="m" vertex="0 0 0 1 1 1 2 2 2 3 3 3" face="0 1 2 1 2 3" inertia="shell"/>'),
        "lie on one line",
    ),
    # matter
    "a sphere too large for an inertia": (body('<geom size="1e120"/>'), "holds 1e+120: no robot"),
    "a shell too large for an inertia": (body('<geom size="1e120" shellinertia="true"/>'), "no robot"),
    "a hollow ellipsoid too large for an inertia": (
        body('<geom type="ellipsoid" size="1e200 1e200 1e200" shellinertia="true"/>'),
        "holds 1e+200: no robot",
    ),
    "a leaf without mass": (scene('<body name="b"><joint/></body>'), "mass"),
    "inertia with a negative moment": (
        body('<inertial pos="0 0 0" mass="1" fullinertia="1 1 1 2 0 0"/>'),
        "principal moment",
    ),
    "inertia that no body has": (body('<inertial pos="0 0 0" mass="1" diaginertia="1 1 3"/>'), "triangle"),
    "inertial without a place": (body('<inertial mass="1"/>'), "'pos'"),
    "negative damping": (scene(f'<body><joint damping="-1"/>{GEOM}</body>'), "0 or more"),
    "negative armature": (scene(f'<body><joint armature="-1"/>{GEOM}</body>'), "0 or more"),
    "negative stiffness": (scene(f'<body><joint stiffness="-1"/>{GEOM}</body>'), "0 or more"),
    "negative frictionloss": (scene(f'<body><joint frictionloss="-1"/>{GEOM}</body>'), "0 or more"),
    "limits crossed": (scene(f'<body><joint limited="true" range="2 1"/>{GEOM}</body>'), "empty"),
    "limits of nothing": (scene(f'<body><joint limited="true"/>{GEOM}</body>'), "empty"),
    "range that nothing declares": (
        scene(f'<body><joint range="1 2"/>{GEOM}</body>', head='<compiler autolimits="false"/>'),
        "autolimits",
    ),
    # references
    "exclude of nobody": (
        scene(BODY, '<contact><exclude body1="b" body2="x"/></contact>'),
        "body 'x' is not in the file",
    ),
    "exclude of one": (scene(BODY, '<contact><exclude body1="b" body2="b"/></contact>'), "itself"),
    "pair of nothing": (scene(BODY, '<contact><pair geom1="x" geom2="y"/></contact>'), "geom 'x' is not in the file"),
    "equality of nothing": (scene(BODY, '<equality><joint joint1="x"/></equality>'), "joint 'x' is not in the file"),
    "equality with itself": (scene(BODY, '<equality><joint joint1="j" joint2="j"/></equality>'), "itself"),
    "equality of a ball": (
        scene(f'<body><joint type="ball" name="q"/>{GEOM}</body>', '<equality><joint joint1="q"/></equality>'),
        "one coordinate",
    ),
    "weld without ends": (scene(BODY, "<equality><weld/></equality>"), "give body1"),
    "connect without an anchor": (scene(BODY, '<equality><connect body1="b"/></equality>'), "body1 and anchor"),
    "tendon of nothing": (scene(BODY, '<tendon><fixed name="t"/></tendon>'), "no joints"),
    "tendon over nothing": (scene(BODY, '<tendon><fixed><joint joint="x" coef="1"/></fixed></tendon>'), "joint 'x'"),
    "tendon of one site": (scene(BODY, '<tendon><spatial><site site="s"/></spatial></tendon>'), "two sites"),
    "tendon about a box": (
        scene(
            f'<site name="a"/><geom name="g" type="box" size="1 1 1"/>{BODY}',
            '<tendon><spatial><site site="a"/><geom geom="g"/><site site="s"/></spatial></tendon>',
        ),
        "sphere or cylinder",
    ),
    "actuator of nothing": (scene(BODY, '<actuator><motor joint="x"/></actuator>'), "joint 'x'"),
    "actuator without a target": (scene(BODY, "<actuator><motor/></actuator>"), "no target"),
    "actuator of two": (scene(BODY, '<actuator><motor joint="j" site="s"/></actuator>'), "joint and site"),
    "sensor of nothing": (scene(BODY, '<sensor><jointpos joint="x"/></sensor>'), "joint 'x'"),
    "sensor without a place": (scene(BODY, "<sensor><gyro/></sensor>"), "'site'"),
    "keyframe of other length": (scene(BODY, '<keyframe><key qpos="1 2"/></keyframe>'), "the model takes 1"),
    "keyframe with other inputs": (scene(BODY, '<keyframe><key ctrl="1"/></keyframe>'), "the model takes 0"),
    "custom numbers too long": (
        scene(head='<custom><numeric name="n" size="2000000000"/></custom>'),
        "below a million",
    ),
    "kv and dampratio": (scene(BODY, '<actuator><position joint="j" kv="1" dampratio="1"/></actuator>'), "one of them"),
    "negative kv": (scene(BODY, '<actuator><position joint="j" kv="-1"/></actuator>'), "0 or more"),
    "input range of nothing": (scene(BODY, '<actuator><motor joint="j" ctrllimited="true"/></actuator>'), "empty"),
    "a tuple of an unknown kind": (
        scene(head='<custom><tuple name="t"><element objtype="wheel" objname="x"/></tuple></custom>'),
        "is one of",
    ),
    "a tuple of nothing": (
        scene(head='<custom><tuple name="t"><element objtype="xbody" objname="x"/></tuple></custom>'),
        "body 'x' is not in the file",
    ),
    "plugin geoms": (scene('<geom size="1"><plugin plugin="x"/></geom>'), "plugins"),
    # several files
    "includes itself": ('<mujoco><include file="scene.xml"/></mujoco>', "included already"),
    "includes in a circle": ('<mujoco><include file="circle.xml"/></mujoco>', "included already"),
    "includes what is not there": ('<mujoco><include file="x.xml"/></mujoco>', "was not found"),
    "includes from above": ('<mujoco><include file="../x.xml"/></mujoco>', "outside"),
    "includes nothing": ('<mujoco><include file="hollow.xml"/></mujoco>', "no elements"),
    "includes no XML": ('<mujoco><include file="real.obj"/></mujoco>', "included file"),
    "include with children": ('<mujoco><include file="hollow.xml"><body/></include></mujoco>', "is empty"),
    "attaches itself": (scene(head='<asset><model name="m" file="scene.xml"/></asset>'), "more than 8 deep"),
    "attaches what is not there": (scene(head='<asset><model name="m" file="x.xml"/></asset>'), "was not found"),
}


def folder_of(tmp_path, text: str):
    inside = tmp_path / "asset"
    inside.mkdir()
    (tmp_path / "m.obj").write_text("v 0 0 0\n")
    (tmp_path / "x.xml").write_text("<mujoco/>")
    (inside / "folder").mkdir()
    os.mkfifo(inside / "pipe.obj")
    (inside / "real.obj").write_text("v 1 2\nf 1 2 3\n")
    (inside / "link.obj").symlink_to(tmp_path / "m.obj")
    (inside / "hollow.xml").write_text("<mujoco/>")
    (inside / "circle.xml").write_text('<mujoco><include file="back.xml"/></mujoco>')
    (inside / "back.xml").write_text('<mujoco><include file="circle.xml"/></mujoco>')
    path = inside / "scene.xml"
    path.write_text(text)
    return path


@pytest.mark.parametrize("name", REJECTED)
def test_it_is_refused_with_its_place_and_nothing_is_built(name, tmp_path):
    text, words = REJECTED[name]
    path = folder_of(tmp_path, text)
    builder = sim.ModelBuilder()
    before = builder._elements.key()
    with pytest.raises(AssetError) as caught, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        builder.add_mjcf(path)
    assert words in str(caught.value)
    assert str(path.parent) in str(caught.value)
    assert builder._elements.key() == before


MENDED = {
    "axis that is not unit": (scene(f'<body><joint axis="0 0 5"/>{GEOM}</body>'), None),
    "quaternion that is not unit": (scene('<geom size="1" quat="5 0 0 0"/>'), None),
    "unknown element": (scene("<geometry/>"), "ignored"),
    "unknown attribute": (scene('<geom size="1" colour="1"/>'), "ignored"),
    "text": (scene("hello"), "ignored"),
    "limits that are none": (scene(f'<body><joint range="2 1"/>{GEOM}</body>'), "warned"),
    "mesh that is only seen and not there": (
        with_mesh('<mesh name="m" file="m.obj"/>', '<geom type="mesh" mesh="m" contype="0" conaffinity="0"/>'),
        "ignored",
    ),
    "mesh by a formula that is only seen": (
        with_mesh(
            '<mesh name="m" builtin="wedge" params="3 3 90 40 0"/>',
            '<geom type="mesh" mesh="m" contype="0" conaffinity="0"/>',
        ),
        "ignored",
    ),
    "impedance out of bounds": (scene('<geom size="1" solimp="2 -1 -1 3 0"/>'), "repaired"),
    "quadratic damping": (scene(f'<body><joint damping="1 2"/>{GEOM}</body>'), "ignored"),
    "moments of a thin body are balanced": (
        scene(
            '<body><joint/><inertial pos="0 0 0" mass="1" diaginertia="1 1 3"/></body>',
            head='<compiler balanceinertia="true"/>',
        ),
        "repaired",
    ),
    "zero quaternion in a keyframe": (
        scene(f"<body><freejoint/>{GEOM}</body>", '<keyframe><key qpos="0 0 0 0 0 0 0"/></keyframe>'),
        "repaired",
    ),
    "deformable bodies": (scene('<flexcomp name="f" type="grid" count="3 3 1"/>'), "ignored"),
    "actuators of plugins, with sensors and keyframes": (
        scene(
            BODY,
            '<actuator><plugin name="p" joint="j" plugin="x"/><motor joint="j"/></actuator>'
            '<sensor><actuatorfrc actuator="p"/></sensor><keyframe><key ctrl="1 2"/></keyframe>',
        ),
        "ignored",
    ),
    "a keyframe with coordinates of deformable bodies": (
        scene('<flexcomp name="f" type="grid" count="3 3 1"/>', '<keyframe><key qpos="1 2 3"/></keyframe>'),
        "ignored",
    ),
    "what refers to parts of deformable bodies": (
        scene(
            BODY + '<flexcomp name="f" type="grid" count="3 3 1"/>',
            '<equality><connect body1="f_0" body2="b" anchor="0 0 0"/></equality>',
        ),
        "ignored",
    ),
    "a flat mesh that is only seen": (
        with_mesh(
            f'<mesh name="m" {FLAT} inertia="shell"/>', '<geom type="mesh" mesh="m" contype="0" conaffinity="0"/>'
        ),
        None,
    ),
    "a ball that is held": (scene(f'<body><joint type="ball" limited="true"/>{GEOM}</body>'), "warned"),
    "a mesh by a plugin that is only seen": (
        with_mesh(
            '<mesh name="m"><plugin instance="x"/></mesh>',
            '<geom type="mesh" mesh="m" contype="0" conaffinity="0"/>',
        ),
        "ignored",
    ),
    "a sensor on a camera": (scene("<camera name='c'/>", '<sensor><rangefinder camera="c"/></sensor>'), "ignored"),
}


@pytest.mark.parametrize("name", MENDED)
def test_it_is_mended_or_passed_over_and_the_report_says_so(name, tmp_path):
    text, section = MENDED[name]
    builder, report = read(folder_of(tmp_path, text))
    if section:
        assert getattr(report, section)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        builder.finalize(device="cpu", precision="float64")


def test_caps_are_options(tmp_path):
    path = folder_of(tmp_path, scene(GEOM * 50))
    with pytest.raises(AssetError, match="more than 20 elements"):
        read(path, xml_limits=XmlLimits(elements=20))
    path.write_text(scene(f'<replicate count="5"><body>{GEOM}</body></replicate>'))
    with pytest.raises(AssetError, match="cap on copies"):
        read(path, copies=9)
    read(path, copies=10)


def test_allowed_folders_are_read(tmp_path):
    path = folder_of(tmp_path, '<mujoco><include file="../more.xml"/></mujoco>')
    (tmp_path / "more.xml").write_text(scene(GEOM))
    builder, _ = read(path, allow_paths=[tmp_path])
    assert len(builder.shapes) == 1


def test_encodings_that_are_read(tmp_path):
    text = '<?xml version="1.0" encoding="{}"?><mujoco model="café"><worldbody/></mujoco>'
    path = tmp_path / "scene.xml"
    for name in ("utf-8", "utf-16", "iso-8859-1"):
        path.write_bytes(text.format(name).encode(name))
        assert read(path)[1].name == "café"
    path.write_bytes(b"\xef\xbb\xbf" + text.format("utf-8").encode())
    assert read(path)[1].name == "café"
