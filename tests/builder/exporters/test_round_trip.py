"""Every file of the reference data: read, written to each format, and read again to an equal model.

What may differ, and why, stands in ``round_trips.EXPLAINED``; a difference that is not there fails.
"""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import mujoco
import pytest

from simengine.errors import AssetError
from tests.builder.exporters.random_robots import every_joint
from tests.builder.exporters.round_trips import SUFFIXES, read, unexplained, write

OWN = sorted((Path(__file__).resolve().parents[3] / "assets").glob("*.urdf"))
ASSETS = Path(__file__).resolve().parents[4] / "shared" / "assets"
MODELS = sorted(
    path
    for suffix in ("*.urdf", "*.xml", "*.usd", "*.usda", "*.usdc")
    for path in ASSETS.rglob(suffix)
    if "Payload" not in path.parts and "schemaTests" not in path.parts
)
QUICK = (
    "humanoid.xml", "pendula.xml", "constraints.xml", "hfield.xml", "newton_cradle.xml", "fr3_franka_hand.urdf",
    "mimic_joint.urdf", "ant.usda", "boxes_fourbar.usda", "deformables_mixed.usda", "test_joint_d6_6dof_actuated.usda",
)  # fmt: skip
EDGE_CASES = "urdf-usd-converter/urdf_edge_cases/"
NO_MODELS = {
    f"{EDGE_CASES}error_convert_loop_joint_structure.urdf": "every link has a parent",
    f"{EDGE_CASES}error_duplicate_link_names.urdf": "two links are called 'link2'",
    f"{EDGE_CASES}error_joint_axis_0.urdf": "has an axis of zero length",
    f"{EDGE_CASES}error_no_joint_mimic_joint.urdf": "has no attribute 'joint'",
    f"{EDGE_CASES}fixed_planar_joints.urdf": "2 links have no parent",
    f"{EDGE_CASES}meshes.urdf": "'assets/box.dae' was not found",
    f"{EDGE_CASES}prismatic_joints.urdf": "2 links have no parent",
}
"""Files that the importers must refuse, and what they say."""

REFUSED = {
    "trifingeredu.urdf": "a link has a principal moment of zero",
    "inertia.urdf": "a link has moments that no body can have",
    "allegro_hand_description_left.urdf": "links have moments that no body can have",
    "anymal.urdf": "links have moments that no body can have",
}
"""URDF files whose inertias, kept as they are, MuJoCo refuses, in the original as in ours."""


READABLE = [path for path in MODELS if path.relative_to(ASSETS).as_posix() not in NO_MODELS]


def model(path: Path):
    """The builder of a file."""
    return read(path, ASSETS if path.is_relative_to(ASSETS) else None)


@pytest.mark.parametrize("name", NO_MODELS)
def test_files_that_are_no_models_are_refused(shared, name):
    with pytest.raises(AssetError, match=re.escape(NO_MODELS[name])):
        model(ASSETS / name)


def check(path: Path, format_name: str, tmp_path: Path) -> None:
    found = unexplained(model(path), format_name, tmp_path)
    assert not found, "\n".join(map(str, found[:20]))


@pytest.mark.parametrize("format_name", SUFFIXES)
@pytest.mark.parametrize("path", OWN, ids=lambda path: path.name)
def test_our_own_robots_come_back_from_each_format(path, format_name, tmp_path):
    check(path, format_name, tmp_path)


@pytest.mark.parametrize("format_name", SUFFIXES)
@pytest.mark.parametrize(
    "path", [p for p in MODELS if p.name in QUICK], ids=lambda path: f"{path.parent.name}-{path.name}"
)
def test_some_files_come_back_from_each_format(shared, path, format_name, tmp_path):
    check(path, format_name, tmp_path)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("format_name", SUFFIXES)
def test_random_robots_come_back_from_each_format(format_name, seed, tmp_path):
    # where a ball starts is in a keyframe of MJCF, and in no URDF
    found = unexplained(every_joint(seed, balls=format_name == "usd"), format_name, tmp_path)
    assert not found, "\n".join(map(str, found[:20]))


@pytest.mark.slow
@pytest.mark.parametrize("format_name", SUFFIXES)
@pytest.mark.parametrize("path", READABLE, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_every_file_comes_back_from_each_format(shared, path, format_name, tmp_path):
    check(path, format_name, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".xml", ".urdf"])
@pytest.mark.parametrize("path", [*OWN, *READABLE], ids=lambda path: f"{path.parent.name}-{path.name}")
def test_mujoco_loads_what_was_written(path, suffix, tmp_path):
    builder = model(path)
    write(builder, tmp_path / f"out{suffix}")
    if suffix == ".urdf" and path.name in REFUSED:
        with pytest.raises(ValueError, match="inertia must"):
            mujoco.MjModel.from_xml_path(str(tmp_path / "out.urdf"))
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        loaded = mujoco.MjModel.from_xml_path(str(tmp_path / f"out{suffix}"))
    if suffix == ".xml":
        massive = sum(body.mass or 0.0 for body in builder.bodies)
        assert loaded.body_mass.sum() == pytest.approx(massive, rel=1e-9, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("path", [*OWN, *READABLE], ids=lambda path: f"{path.parent.name}-{path.name}")
def test_usds_own_parser_finds_the_bodies_and_joints(path, tmp_path):
    pytest.importorskip("pxr")
    from pxr import Usd, UsdPhysics

    builder = model(path)
    report = write(builder, tmp_path / "out.usda")
    stage = Usd.Stage.Open(str(tmp_path / "out.usda"))
    objects = UsdPhysics.UsdPhysicsLoadStageFromPrimRange(stage, ["/"])
    found = {str(kind).rpartition(".")[2]: list(pair[0]) for kind, pair in objects.items()}
    assert len(found.get("RigidBody", [])) == len(builder.bodies)
    joints = sum(len(paths) for kind, paths in found.items() if kind.endswith("Joint"))
    loops = sum(equality.type.name != "JOINT" for equality in builder.equalities)
    assert joints == report.written.get("joints", 0) + loops
    for path_of, body in zip(found.get("RigidBody", []), builder.bodies, strict=True):
        prim = stage.GetPrimAtPath(path_of)
        assert (prim.GetDisplayName() or prim.GetName()) == body.label
        if body.mass:
            assert UsdPhysics.MassAPI(prim).GetMassAttr().Get() == pytest.approx(body.mass, rel=1e-6)
