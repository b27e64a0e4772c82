"""Texts of small URDFs, and what tests do with them."""

import warnings

import pytest

import simengine as sim

BALL = '<inertial><mass value="2"/><inertia ixx="0.1" ixy="0" ixz="0" iyy="0.2" iyz="0" izz="0.25"/></inertial>'
TETRAHEDRON = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"


def robot(body: str, name="r") -> str:
    return f'<robot name="{name}">\n{body}\n</robot>'


def two_links(joint="", kind="revolute", child=BALL, base="") -> str:
    """Links base and arm; the joint stands on line 4."""
    return robot(
        f'<link name="base">{base}</link>\n<link name="arm">{child}</link>\n'
        f'<joint name="j" type="{kind}"><parent link="base"/><child link="arm"/>{joint}</joint>'
    )


def one_link(inside: str) -> str:
    """A link of line 2."""
    return robot(f'<link name="base">{inside}</link>')


def add(tmp_path, text: str, quiet=True, builder=None, **options):
    path = tmp_path / "robot.urdf"
    path.write_text(text)
    builder = sim.ModelBuilder() if builder is None else builder
    with warnings.catch_warnings():
        if quiet:
            warnings.simplefilter("ignore", UserWarning)
        report = builder.add_urdf(path, **({"filter_overlapping": False} | options))
    return builder, report


def refused(tmp_path, text: str, *words: str, line=None, **options):
    builder = sim.ModelBuilder()
    with pytest.raises(sim.AssetError) as caught:
        add(tmp_path, text, builder=builder, **options)
    for word in words:
        assert word in str(caught.value), f"{word!r} not in {caught.value}"
    assert caught.value.file.endswith("robot.urdf")
    assert caught.value.line is not None
    if line is not None:
        assert caught.value.line == line
    assert not (builder.bodies or builder.joints or builder.shapes or builder.equalities)


def joint(name, parent, child, inside="", kind="continuous"):
    return f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>{inside}</joint>\n'


def links(count):
    return "".join(f'<link name="l{i}">{BALL}</link>\n' for i in range(count))


def mesh_link(filename="a.obj", tag="collision", extra=""):
    return one_link(f'<{tag}><geometry><mesh filename="{filename}" {extra}/></geometry></{tag}>')
