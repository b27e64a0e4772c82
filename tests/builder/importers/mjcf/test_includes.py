"""<include> and <model>: how deep elements may stand and how many files may be read."""

from __future__ import annotations

import mujoco
import pytest

from simengine.builder.importers.mjcf.includes import DEPTH, FILES
from simengine.builder.importers.xml_reader import XmlLimits
from simengine.errors import AssetError
from tests.builder.importers.mjcf.mujoco_facts import read

GEOM = '<geom size=".1"/>'


def chain(name: str, count: int, inside: str) -> str:
    """Bodies below each other, with something on the last."""
    return "".join(f'<body name="{name}{i}">{GEOM}' for i in range(count)) + inside + "</body>" * count


def write_includes(folder, files: int, bodies: int):
    """Files of nested bodies, each included by the innermost of the one before; returns the first."""
    for k in range(files):
        text = chain(f"b{k}_", bodies, f'<include file="f{k + 1}.xml"/>' if k + 1 < files else GEOM)
        text = f"<worldbody>{text}</worldbody>" if k == 0 else text
        (folder / f"f{k}.xml").write_text(f"<mujoco>{text}</mujoco>")
    return folder / "f0.xml"


def test_included_elements_count_as_nested_in_what_includes_them(tmp_path):
    path = write_includes(tmp_path, 8, 100)
    with pytest.raises(AssetError, match=rf"f1\.xml.*nested more than {DEPTH} deep"):
        read(path)


def test_includes_in_includes_are_read_as_mujoco_reads_them(tmp_path):
    path = write_includes(tmp_path, 4, 30)  # 120 bodies, in <mujoco> and <worldbody>, with a geom on the last
    builder, _ = read(path)
    m = mujoco.MjModel.from_xml_path(str(path))
    assert [body.label for body in builder.bodies] == [m.body(i).name for i in range(1, m.nbody)]
    read(path, xml_limits=XmlLimits(depth=123))
    with pytest.raises(AssetError, match="nested more than 122 deep"):
        read(path, xml_limits=XmlLimits(depth=122))


def test_a_larger_cap_on_depth_does_not_lead_past_the_stack(tmp_path):
    path = tmp_path / "f.xml"
    path.write_text(f"<mujoco><worldbody>{chain('b', 2000, GEOM)}</worldbody></mujoco>")
    with pytest.raises(AssetError, match=f"nested more than {DEPTH} deep"):
        read(path, xml_limits=XmlLimits(depth=5000))


def test_models_that_attach_models_are_counted(tmp_path):
    for k in range(8):  # three models each: 3^7 of the last
        models = "".join(f'<model name="m{i}" file="g{k + 1}.xml"/>' for i in range(3)) if k < 7 else ""
        text = f"<asset>{models}</asset><worldbody><body name='b'>{GEOM}</body></worldbody>"
        (tmp_path / f"g{k}.xml").write_text(f'<mujoco model="x{k}">{text}</mujoco>')
    with pytest.raises(AssetError, match=f"more than {FILES} files are included and attached"):
        read(tmp_path / "g0.xml")


@pytest.mark.parametrize("more", [0, 1])
def test_the_includes_of_attached_models_count_with_the_models(more, tmp_path):
    """Ten models of 19 includes each are 200 files."""
    for k in range(10):
        includes = "".join(f'<include file="p{i}.xml"/>' for i in range(19))
        (tmp_path / f"m{k}.xml").write_text(f"<mujoco><worldbody>{includes}</worldbody></mujoco>")
    for i in range(19):
        (tmp_path / f"p{i}.xml").write_text(f"<x>{GEOM}</x>")
    (tmp_path / "more.xml").write_text(f"<x>{GEOM}</x>")
    models = "".join(f'<model name="m{k}" file="m{k}.xml"/>' for k in range(10))
    attached = "".join(f'<attach model="m{k}" prefix="a{k}"/>' for k in range(10))
    extra = '<include file="more.xml"/>' * more
    path = tmp_path / "s.xml"
    path.write_text(f"<mujoco><asset>{models}</asset><worldbody>{extra}{attached}</worldbody></mujoco>")
    if more:
        with pytest.raises(AssetError, match="more than 200 files"):
            read(path)
    else:
        assert len(read(path)[0].shapes) == 190
