"""Every USD file with an expected file (made with OpenUSD): units, counts, masses, joints, drives, colliders."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

from simengine.builder.frames import compose, inverse, rotation_matrix
from simengine.builder.template import compile_template
from simengine.enums import DofKind, JointType, ShapeType
from tests.builder.importers.usd.expected import all_expected, apart, imported, number, pose_of, unit

DEGREE = math.pi / 180.0

MASSLESS = {
    "ur5.usda": {
        "/ur5/Geometry/world/base_link/shoulder_link/upper_arm_link/forearm_link/wrist_1_link/"
        "wrist_2_link/wrist_3_link/ee_link"
    }
}
"""Bodies whose mass and whole inertia tensor are written as zero: without mass here, a small box of OpenUSD's."""

MOVED = {
    "FixedTendonTest.usda": "its bodies stand 9 m off from where the joints hold them",
    "MultipleSpatialTendonsTest.usda": "as FixedTendonTest",
}
"""Files whose bodies are not where they are written: the joints decide."""

UNAPPLIED = {"/Robot/D6"}
"""Joints with limits whose LimitAPI is not applied: OpenUSD has none of them, here they are as they were meant."""


@pytest.fixture(scope="module")
def files(shared):
    """(file name, expected, builder, report, initial poses of bodies) of each, in the stage's own up axis."""
    result = []
    for path, expected in all_expected(shared / "assets"):
        builder, report = imported(path, expected["up_axis"])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            template = compile_template(builder._elements, (), builder.gravity)
        result.append((path.name, expected, builder, report, template))
    assert len(result) > 100
    return result


def test_every_prim_that_usdphysics_counts_is_read_or_named(files):
    for name, expected, builder, report, _ in files:
        counts = expected["counts"]
        enabled = [body for body in expected["rigid_bodies"] if body["enabled"]]
        assert set(report.bodies) == {body["path"] for body in enabled}, name
        noted = "\n".join(str(note) for note in report.ignored)
        joined = {equality.label for equality in builder.equalities} | set(report.joints)
        for joint in expected["joints"]:
            label = joint["path"].rpartition("/")[2]
            assert joint["path"] in joined or label in joined or joint["path"] in noted, (name, joint["path"])
        parts = {shape.label for shape in builder.shapes}
        deformed = {deformable.label for deformable in builder.deformables}
        for collider in expected["colliders"]:
            label = collider["path"].rpartition("/")[2]
            found = {label, collider["path"]} & (parts | deformed)
            assert found or collider["path"] in noted, (name, collider["path"])
        assert len(builder.deformables) >= counts["tet_meshes"], name


def test_gravity_is_that_of_the_scene_in_si(files):
    for name, expected, builder, _, _ in files:
        up = {"X": (1, 0, 0), "Y": (0, 1, 0), "Z": (0, 0, 1)}.get(expected["up_axis"], (0, 1, 0))
        wanted = -9.81 * np.array(up, float)
        if expected["scenes"]:
            scene = expected["scenes"][0]
            strength = number(scene["gravity_magnitude"])
            strength = 9.81 if strength < 0 else strength * expected["meters_per_unit"]
            direction = np.array(scene["gravity_direction"])
            if direction.any():
                wanted = strength * direction / np.linalg.norm(direction)
            else:
                wanted = -strength * np.array(up, float)
        np.testing.assert_allclose(builder.gravity, wanted, rtol=1e-6, atol=1e-9, err_msg=name)


def test_bodies_stand_where_the_stage_puts_them(files):
    for name, expected, _, report, template in files:
        if name in MOVED:
            continue
        for body in expected["rigid_bodies"]:
            if body["enabled"]:
                wanted = pose_of(body["world"], expected["meters_per_unit"])
                index = report.bodies[body["path"]]
                found = tuple(template.arrays["body_q"][index])
                off = {note.where for note in report.warned if note.what in ("poses", "start")}
                if not any(joint["path"] in off for joint in expected["joints"]):
                    # joint frames of the humanoid are 3e-5 rad off from its bodies' poses
                    assert apart(found, wanted) < 1e-4 * (1 + np.abs(wanted[:3]).max()), (name, body["path"])


def test_masses_are_those_of_openusd(files):
    checked = 0
    for name, expected, builder, report, _ in files:
        metre, kilogram = expected["meters_per_unit"], expected["kilograms_per_unit"]
        for body in expected["rigid_bodies"]:
            written = body.get("openusd_ComputeMassProperties")
            if not written or not body["enabled"] or body["path"] in MASSLESS.get(name, ()):
                continue
            found = builder.bodies[report.bodies[body["path"]]]
            if written["mass"] < 0:  # OpenUSD's word for a body that nothing gives a mass
                assert found.mass == 0
                continue
            wanted = written["mass"] * kilogram
            assert found.mass == pytest.approx(wanted, rel=1e-5), (name, body["path"])
            size = 1e-5 * (1.0 + np.abs(written["com_in_body"]).max()) * metre
            np.testing.assert_allclose(found.com, np.array(written["com_in_body"]) * metre, atol=size, err_msg=name)
            xx, yy, zz, xy, xz, yz = written["inertia_about_com_body_axes_xx_yy_zz_xy_xz_yz"]
            inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) * kilogram * metre**2
            np.testing.assert_allclose(
                np.reshape(found.inertia, (3, 3)), inertia, atol=2e-5 * np.abs(inertia).max(), err_msg=body["path"]
            )
            checked += 1
    assert checked > 150


def test_masses_written_in_the_file_are_taken(files):
    checked = 0
    for name, expected, builder, report, _ in files:
        metre, kilogram = expected["meters_per_unit"], expected["kilograms_per_unit"]
        for body in expected["rigid_bodies"]:
            written = body.get("mass_api") or {}
            if not body["enabled"]:
                continue
            found = builder.bodies[report.bodies[body["path"]]]
            if written.get("mass"):
                assert found.mass == pytest.approx(written["mass"] * kilogram, rel=1e-6), (name, body["path"])
                checked += 1
            diagonal = np.array(written.get("diagonal_inertia", (0, 0, 0)))
            if diagonal.any():
                moments = np.linalg.eigvalsh(np.reshape(found.inertia, (3, 3)))
                np.testing.assert_allclose(moments, np.sort(diagonal) * kilogram * metre**2, rtol=1e-5, err_msg=name)
    assert checked > 100


def joints_of(expected, builder, report):
    """(expected joint, joint of the builder) for those of the tree that are not turned round."""
    for joint in expected["joints"]:
        if joint["path"] not in report.joints:
            continue
        found = builder.joints[report.joints[joint["path"]]]
        child = report.bodies.get((joint["body1"] or [None])[0])
        if child == found.child:
            yield joint, found


def scales(expected) -> dict[str, np.ndarray]:
    """World scale of each body by path."""
    return {body["path"]: np.array(body["world"]["scale"]) for body in expected["rigid_bodies"]}


def test_joint_frames_are_those_of_the_file(files):
    checked = 0
    for name, expected, builder, report, _ in files:
        metre, of_body = expected["meters_per_unit"], scales(expected)
        for joint, found in joints_of(expected, builder, report):
            for end, frame in (("0", found.parent_xform), ("1", found.child_xform)):
                body = (joint[f"body{end}"] or [""])[0]
                if body not in of_body:
                    continue
                w, x, y, z = joint[f"local_rot{end}"]
                point = np.array(joint[f"local_pos{end}"]) * of_body[body] * metre
                np.testing.assert_allclose(frame[:3], point, atol=1e-6 * (1 + np.abs(point).max()), err_msg=name)
                turn = rotation_matrix(unit((x, y, z, w)))
                if found.type == JointType.BALL:  # turned so that the joint's axis is X
                    turn = turn @ np.roll(np.eye(3), {"X": 0, "Y": 1, "Z": 2}[joint.get("axis", "X")], axis=0)
                np.testing.assert_allclose(rotation_matrix(frame[3:]), turn, atol=1e-5, err_msg=joint["path"])
                checked += 1
    assert checked > 150


def axes_of(joint) -> list[tuple[str, bool]]:
    """Names and whether angular of the degrees of freedom that the file leaves a joint."""
    kind = joint["type"]
    if kind == "PhysicsRevoluteJoint":
        return [("angular", True)]
    if kind == "PhysicsPrismaticJoint":
        return [("linear", False)]
    if kind != "PhysicsJoint":
        return []
    free = []
    for name in ("transX", "transY", "transZ", "rotX", "rotY", "rotZ"):
        limit = joint.get("limits", {}).get(name)
        lower, upper = (number(limit[end]) for end in ("low", "high")) if limit else (-math.inf, math.inf)
        if lower < upper or lower == upper != 0:
            free.append((name, name.startswith("rot")))
    return free


def test_degrees_of_freedom_have_the_limits_and_drives_of_the_file(files):
    checked = driven = 0
    for name, expected, builder, report, _ in files:
        metre, kilogram = expected["meters_per_unit"], expected["kilograms_per_unit"]
        for joint, found in joints_of(expected, builder, report):
            axes = axes_of(joint)
            if not axes or joint["path"] in UNAPPLIED:
                continue
            assert len(found.dofs) == len(axes), (name, joint["path"])
            for (axis, angular), dof in zip(axes, found.dofs, strict=True):
                unit_of = DEGREE if angular else metre
                limits = joint.get("limits", {}).get(axis) or {
                    "low": joint.get("lowerLimit", "-inf"),
                    "high": joint.get("upperLimit", "inf"),
                }
                if dof.kind in (DofKind.LINEAR, DofKind.ANGULAR):
                    assert (dof.kind == DofKind.ANGULAR) == angular
                    for value, end in ((dof.limit_lower, "low"), (dof.limit_upper, "high")):
                        assert value == pytest.approx(number(limits[end]) * unit_of, rel=1e-6), (name, joint["path"])
                    checked += 1
                drive = joint.get("drives", {}).get(axis)
                if drive and drive.get("type", "force") == "force":
                    gain = kilogram * (metre**2 / DEGREE if angular else 1.0)
                    force = kilogram * metre * (metre if angular else 1.0)
                    wanted = {
                        "target_ke": drive["stiffness"] * gain,
                        "target_kd": drive["damping"] * gain,
                        "target_pos": drive["targetPosition"] * unit_of,
                        "target_vel": drive["targetVelocity"] * unit_of,
                        "effort_limit": number(drive["maxForce"]) * force,
                    }
                    for field, value in wanted.items():
                        if value < 1e37:
                            assert getattr(dof, field) == pytest.approx(value, rel=1e-5), (name, joint["path"], field)
                    driven += 1
    assert checked > 100
    assert driven > 50


def test_axes_of_hinges_and_sliders_are_those_of_the_file(files):
    unit_vectors = {"X": (1, 0, 0), "Y": (0, 1, 0), "Z": (0, 0, 1)}
    for name, expected, builder, report, _ in files:
        for joint, found in joints_of(expected, builder, report):
            if joint["type"] in ("PhysicsRevoluteJoint", "PhysicsPrismaticJoint"):
                np.testing.assert_array_equal(found.dofs[0].axis, unit_vectors[joint.get("axis", "X")], err_msg=name)


def test_colliders_have_the_place_and_size_of_the_file(files):
    checked = 0
    for name, expected, builder, _, _ in files:
        metre = expected["meters_per_unit"]
        shapes = {shape.label: shape for shape in builder.shapes}
        for collider in expected["colliders"]:
            shape = shapes.get(collider["path"]) or shapes.get(collider["path"].rpartition("/")[2])
            if shape is None or shape.type in (ShapeType.MESH, ShapeType.CONVEX_HULL, ShapeType.PLANE):
                continue
            world = pose_of(collider["world"], metre)
            body = collider["rigid_body"]
            owner = next((b for b in expected["rigid_bodies"] if b["path"] == body and b["enabled"]), None)
            assert (shape.body >= 0) == (owner is not None), (name, collider["path"])
            local = compose(inverse(pose_of(owner["world"], metre)), world) if owner else world
            np.testing.assert_allclose(shape.xform[:3], local[:3], atol=1e-5 * (1 + np.abs(local[:3]).max()))
            check_size(shape, collider, metre, name)
            checked += 1
    assert checked > 80


def check_size(shape, collider, metre, name):
    """The volume of a solid, from its size and scale."""
    stretch = np.abs(collider["world"]["scale"]) * metre
    if collider["type"] == "Cube":
        half = np.sort(0.5 * collider["size"] * stretch)
        np.testing.assert_allclose(np.sort(shape.size), half, rtol=1e-5, err_msg=name)
    elif collider["type"] == "Sphere":
        axes = np.sort(collider["radius"] * stretch)
        found = np.sort(shape.size) if shape.type == ShapeType.ELLIPSOID else np.repeat(shape.size[0], 3)
        np.testing.assert_allclose(found, axes, rtol=1e-5, err_msg=name)
    else:
        along = "XYZ".index(collider.get("axis", "Z"))
        across = np.delete(stretch, along)
        np.testing.assert_allclose(shape.size[0], collider["radius"] * across, rtol=1e-5, err_msg=name)
        np.testing.assert_allclose(shape.size[1], 0.5 * collider["height"] * stretch[along], rtol=1e-5, err_msg=name)


def test_meshes_have_the_bounds_of_the_file(files):
    checked = 0
    for name, expected, builder, _, template in files:
        metre = expected["meters_per_unit"]
        shapes = {shape.label: shape for shape in builder.shapes}
        for mesh in expected.get("geometry", []):
            bounds = mesh.get("world_bounds") or mesh.get("bounds_world")
            shape = shapes.get(mesh["path"]) or shapes.get(mesh["path"].rpartition("/")[2])
            if not bounds or shape is None or shape.mesh is None:
                continue
            frame = shape.xform
            if shape.body >= 0:
                frame = compose(tuple(template.arrays["body_q"][shape.body]), frame)
            points = shape.mesh.vertices @ rotation_matrix(unit(frame[3:])).T + np.array(frame[:3])
            found = np.array([points.min(axis=0), points.max(axis=0)])
            np.testing.assert_allclose(
                found, np.array(bounds) * metre, atol=2e-5 * (1 + np.abs(found).max()), err_msg=name
            )
            checked += 1
    assert checked > 40
