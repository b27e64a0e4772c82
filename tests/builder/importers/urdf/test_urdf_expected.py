"""Robots by others against facts from pinocchio: counts, masses, inertias, link poses, mass matrix and bias force.

Known differences are ours by decision and stand in the tables below: links that must have mass get that of their
geometry, where pinocchio computes with none.
"""

import json
import math
import warnings
import xml.etree.ElementTree as tree
from pathlib import Path

import numpy as np
import pytest
import trimesh
from scipy import spatial

import simengine as sim
from simengine.builder.frames import rotation_matrix

EDGE = "urdf-usd-converter/urdf_edge_cases"
ROBOTS = (
    "newton-assets/franka_description/urdfs/fr3_franka_hand.urdf",
    "newton-assets/allegro_hand_description/allegro_hand_description_left.urdf",
    "newton-assets/anymal_c_simple_description/urdf/anymal.urdf",
    "example-robot-data/robots/ur_description/urdf/ur5_robot.urdf",
    "example-robot-data/robots/talos_data/robots/talos_reduced.urdf",
    "IsaacGymEnvs/robot_properties_fingers/urdf/edu/trifingeredu.urdf",
    "newton/urdf/cartpole.urdf",
    "newton/urdf/quadruped.urdf",
    "newton/urdf/humanoid.urdf",
)
"""All masses that matter are written: everything agrees."""

FLOATING = tuple(name for name in ROBOTS if any(robot in name for robot in ("anymal", "talos", "quadruped")))
"""Those for which pinocchio also gave facts with a free base."""

STILL = tuple(
    f"{EDGE}/{name}.urdf"
    for name in (
        "inertia",
        "inertia_large_degenerate",
        "change_joint_order",
        "simple-primitives",
        "multiple_visuals_collisions_in_link",
        "undefined",
        "warning_obj_no_exist_filename",
    )
)
"""Nothing moves: counts, masses, inertias and poses agree."""

MASS_FROM_GEOMETRY = {
    "IsaacGymEnvs/sektion_cabinet_model/urdf/sektion_cabinet_2.urdf": 8,
    f"{EDGE}/fixed_continuous_joints.urdf": 1,
    f"{EDGE}/fixed_floating_joints.urdf": 1,
    f"{EDGE}/link_ghost_link_children.urdf": 1,
    f"{EDGE}/link_skip_ghost_link_chain_branch.urdf": 1,
    f"{EDGE}/mimic_joint.urdf": 4,
    f"{EDGE}/revolute_joints.urdf": 4,
}
"""No mass is written; so many links get that of their geometry. Counts and poses agree."""

REFUSED = {
    f"{EDGE}/error_joint_axis_0.urdf": ("zero length", 25),
    f"{EDGE}/error_no_joint_mimic_joint.urdf": ("no attribute 'joint'", 26),
    f"{EDGE}/error_duplicate_link_names.urdf": ("two links are called 'link2'", 22),
    f"{EDGE}/error_convert_loop_joint_structure.urdf": ("close a loop", 2),
    f"{EDGE}/prismatic_joints.urdf": ("2 links have no parent (BaseLink, Arm_5)", 43),
    f"{EDGE}/fixed_planar_joints.urdf": ("2 links have no parent", 75),
    f"{EDGE}/meshes.urdf": ("'assets/box.dae' was not found", 42),
}
"""What we do not read, with a part of the message and the line."""

ELSEWHERE = (f"{EDGE}/inertia_origin_mass_no_inertia.urdf",)
"""Has a test of its own below."""

TOLERANCE = {"float64": 1e-9, "float32": 1e-4}


def load(path: Path, precision="float64", **options):
    """Model, report and expected facts of a file; the warnings that a robot deserves are not what is tested here."""
    builder = sim.ModelBuilder()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        report = builder.add_urdf(path, filter_overlapping=False, **options)
        model = builder.finalize(device="cpu", precision=precision)
    return model, report, json.loads(path.with_suffix(".expected.json").read_text())


def read(path: Path, **options):
    """Builder and plain facts of a file."""
    builder = sim.ModelBuilder()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        builder.add_urdf(path, filter_overlapping=False, **options)
    return builder, json.loads(path.with_suffix(".expected.json").read_text())["xml"]


def test_every_urdf_with_expected_facts_is_in_a_table(shared):
    files = {p.relative_to(shared / "assets").as_posix() for p in (shared / "assets").rglob("*.urdf")}
    facts = {name: (shared / "assets" / name).with_suffix(".expected.json") for name in files}
    files = {name for name, path in facts.items() if path.exists()}
    assert set(FLOATING) == {name for name in files if "floating_base" in json.loads(facts[name].read_text())}
    assert files == {*ROBOTS, *STILL, *MASS_FROM_GEOMETRY, *REFUSED, *ELSEWHERE}


@pytest.mark.parametrize("name", [*ROBOTS, *STILL, *MASS_FROM_GEOMETRY])
def test_counts(shared, name):
    model, report, expected = load(shared / "assets" / name)
    facts = expected["xml"]
    assert report.name == facts["robot_name"]
    assert model.body_count == facts["links"]
    assert model.joint_count == facts["joints"] + 1  # and the one that fixes the root
    kinds = {kind.removesuffix(" joints"): n for kind, n in report.read.items() if kind.endswith(" joints")}
    assert report.read.get("inertials", 0) == len(facts["link_inertials"])
    assert report.read.get("effort limits", 0) == sum("effort" in limit for limit in facts["limits"].values())
    assert kinds == facts["joint_type_counts"]
    if "fixed_base" in expected:
        assert model.joint_dof_count == expected["fixed_base"]["nv"]
    assert report.read.get("collisions", 0) == sum(facts["collision_geometry_counts"].values())
    absent = _absent(facts["visual_meshes"], shared / "assets" / name)
    assert report.read.get("visuals", 0) == sum(facts["visual_geometry_counts"].values()) - absent
    fixed = {joint for joint, fact in facts["mimic"].items() if _joint_kind(model, joint) == sim.enums.JointType.FIXED}
    assert {mimic[0] for mimic in report.mimics} == set(facts["mimic"]) - fixed


@pytest.mark.parametrize("name", [*ROBOTS, *STILL, *MASS_FROM_GEOMETRY])
def test_limits_dynamics_and_mimic(shared, name):
    builder, facts = read(shared / "assets" / name, velocity_limits=True)
    joints = {joint.label: joint for joint in builder.joints}
    for label, limit in facts["limits"].items():
        for dof in joints[label].dofs:
            bounded = joints[label].type == sim.enums.JointType.PRISMATIC or label not in _continuous(shared, name)
            if bounded and ("lower" in limit or "upper" in limit):
                assert (dof.limit_lower, dof.limit_upper) == (limit.get("lower", 0.0), limit.get("upper", 0.0))
            for field, fact in (("effort_limit", "effort"), ("velocity_limit", "velocity")):
                assert getattr(dof, field) == (limit.get(fact) or math.inf)  # 0 means none
    for label, fact in facts["joint_dynamics"].items():
        for dof in joints[label].dofs:
            assert (dof.damping, dof.friction) == (fact.get("damping", 0.0), fact.get("friction", 0.0))
    labels = [joint.label for joint in builder.joints]
    made = {labels[e.object0]: (labels[e.object1], e.data[1], e.data[0]) for e in builder.equalities}
    moving = {label for label in facts["mimic"] if joints[label].dofs}
    assert made == {
        label: tuple(facts["mimic"][label][k] for k in ("joint", "multiplier", "offset")) for label in moving
    }


def _continuous(shared, name) -> set[str]:
    root = tree.parse(shared / "assets" / name).getroot()
    return {joint.get("name") for joint in root.findall("joint") if joint.get("type") in ("continuous", "fixed")}


@pytest.mark.parametrize("name", [*ROBOTS, *MASS_FROM_GEOMETRY, f"{EDGE}/multiple_visuals_collisions_in_link.urdf"])
def test_every_mesh_is_that_of_its_file(shared, name):
    """Extents and area against trimesh; where triangles were dropped as repeated or flat, the area is smaller."""
    path = shared / "assets" / name
    builder, facts = read(path)
    root = tree.parse(path).getroot()
    named = [(m.get("filename"), m.get("scale")) for m in root.iter("mesh") if _present(facts, m.get("filename"))]
    shapes = [shape for shape in builder.shapes if shape.mesh is not None]
    assert len(shapes) == len(named)
    used = {shape.mesh.label for shape in shapes}
    assert used == {filename for filename, _ in named}
    packages = {folder.name: folder for folder in (shared / "assets").glob("*/*") if folder.is_dir()}
    packages["example-robot-data"] = shared / "assets/example-robot-data"
    for filename in used:
        package, _, inside = filename.removeprefix("package://").partition("/")
        file = packages[package] / inside if filename.startswith("package://") else path.parent / filename
        plain = [
            trimesh.Trimesh(m.vertices, m.faces) for m in trimesh.load_scene(file, process=False).geometry.values()
        ]
        references = []
        for scale in {scale for other, scale in named if other == filename}:
            reference = trimesh.util.concatenate(plain)
            reference.vertices = reference.vertices * np.array([float(x) for x in (scale or "1 1 1").split()])
            references.append(reference)
        for mesh in {shape.mesh for shape in shapes if shape.mesh.label == filename}:
            ours = trimesh.Trimesh(mesh.vertices, mesh.triangles, process=False)
            same = [reference for reference in references if np.allclose(ours.bounds, reference.bounds, atol=1e-9)]
            assert same, filename
            assert 0.9 * same[0].area < ours.area <= same[0].area * (1 + 1e-9)
            assert len(ours.faces) < len(same[0].faces) or ours.area == pytest.approx(same[0].area, rel=1e-9)


def _present(facts: dict, filename: str) -> bool:
    return any(facts[kind].get(filename, {}).get("present", False) for kind in ("visual_meshes", "collision_meshes"))


def _absent(meshes: dict, path: Path) -> int:
    """How many visual elements name a mesh that is not there."""
    text = path.read_text()
    return sum(_uses(text, name) for name, fact in meshes.items() if not fact["present"])


def _uses(text: str, filename: str) -> int:
    return sum(mesh.get("filename") == filename for mesh in tree.fromstring(text).findall(".//visual//mesh"))


def _joint_kind(model, name):
    return model.joint_type[list(model.joint_label).index(name)]


@pytest.mark.parametrize("name", [*ROBOTS, *STILL])
def test_masses_and_inertias(shared, name):
    model, _, expected = load(shared / "assets" / name)
    facts = expected["xml"]
    assert model.body_mass.sum() == pytest.approx(facts["total_mass"], rel=1e-9)
    for body, label in enumerate(model.body_label):
        fact = facts["link_inertials"].get(label)
        if fact is None:
            assert model.body_mass[body] == 0.0
            continue
        xx, yy, zz, xy, xz, yz = fact["inertia_about_com_link_axes_xx_yy_zz_xy_xz_yz"]
        inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        assert model.body_mass[body] == pytest.approx(fact["mass"], rel=1e-9)
        # the facts have 9 significant digits, or 9 decimals where turned
        assert np.abs(model.body_com[body] - fact["com"]).max() <= 1e-9
        assert np.abs(model.body_inertia[body] - inertia).max() <= 1e-9 * max(np.abs(inertia).max(), 1.0)


@pytest.mark.parametrize("name", [*ROBOTS, *STILL, *MASS_FROM_GEOMETRY])
def test_link_poses_at_zero(shared, name):
    model, _, expected = load(shared / "assets" / name)
    poses = expected.get("link_poses_at_zero_by_plain_tree_walk") or expected["fixed_base"]["link_poses_at_zero"]
    state = model.state()
    kinds = np.repeat(model.joint_type, np.diff(model.joint_q_start))
    state.joint_q[kinds != sim.enums.JointType.FREE] = 0.0
    sim.eval_fk(model, state)
    assert_poses(model, state, poses, 1e-9)


@pytest.mark.parametrize("name", ROBOTS)
def test_fixed_base_dynamics(shared, name, precision):
    model, _, expected = load(shared / "assets" / name, precision)
    facts = expected["fixed_base"]["state_seed0"]
    state, tolerance = model.state(), TOLERANCE[precision]
    dofs = set_joints(model, state, facts)
    sim.eval_fk(model, state)
    assert_poses(model, state, facts["link_poses"], tolerance)
    mass = sim.eval_mass_matrix(model, state)[0][np.ix_(dofs, dofs)]
    assert_close(mass, facts["M"], tolerance)
    assert_close(sim.eval_bias_force(model, state)[dofs], facts["bias"], tolerance)
    state.joint_qd[:] = 0.0
    assert_close(sim.eval_bias_force(model, state)[dofs], facts["bias_at_zero_velocity"], tolerance)


@pytest.mark.parametrize("name", ROBOTS)
def test_collapsed_fixed_joints_keep_the_dynamics(shared, name):
    model, report, expected = load(shared / "assets" / name, collapse_fixed_joints=True)
    facts = expected["fixed_base"]["state_seed0"]
    moving = sum(count for kind, count in expected["xml"]["joint_type_counts"].items() if kind != "fixed")
    assert model.body_count == model.joint_count == moving
    state = model.state()
    dofs = set_joints(model, state, facts)
    sim.eval_fk(model, state)
    assert_poses(model, state, {link: facts["link_poses"][link] for link in model.body_label}, 1e-9)
    assert_close(sim.eval_mass_matrix(model, state)[0][np.ix_(dofs, dofs)], facts["M"], 1e-9)
    assert_close(sim.eval_bias_force(model, state)[dofs], facts["bias"], 1e-9)
    assert set(report.bodies) == set(expected["xml"]["link_inertials"]) | set(expected["xml"]["links_without_inertial"])


@pytest.mark.parametrize("name", FLOATING)
def test_floating_base_dynamics(shared, name, precision):
    """pinocchio gives the base's twist in base axes: rates of ours = A rates of theirs, A = blkdiag(R, R, 1).

    Its bias has zero acceleration of the base in base axes; then that of the base's origin in the world is w x v.
    """
    model, _, expected = load(shared / "assets" / name, precision, floating=True)
    facts = expected["floating_base"]["state_seed0"]
    state, tolerance = model.state(), TOLERANCE[precision]
    base = facts["base"]
    w, x, y, z = base["quat_wxyz"]
    rotation = rotation_matrix((x, y, z, w))
    linear, angular = (np.array(base[f"{kind}_velocity_in_base_axes"]) for kind in ("linear", "angular"))
    state.joint_q[:7] = (*base["pos"], x, y, z, w)
    state.joint_qd[:6] = (*rotation @ linear, *rotation @ angular)
    dofs = [*range(6), *set_joints(model, state, facts)]
    sim.eval_fk(model, state)
    assert_poses(model, state, facts["link_poses"], tolerance)
    turn = np.eye(model.joint_dof_count)
    turn[:3, :3] = turn[3:6, 3:6] = rotation
    mass = turn.T @ sim.eval_mass_matrix(model, state)[0] @ turn
    assert_close(mass[np.ix_(dofs, dofs)], facts["M"], tolerance)
    acceleration = np.zeros_like(state.joint_qd)
    acceleration[:3] = rotation @ np.cross(angular, linear)
    bias = turn.T @ sim.eval_inverse_dynamics(model, state, acceleration)
    assert_close(bias[dofs], facts["bias"], tolerance)


@pytest.mark.parametrize("name", MASS_FROM_GEOMETRY)
def test_links_that_must_have_mass_get_it_from_their_geometry(shared, name):
    model, report, _ = load(shared / "assets" / name)
    filled = [note for note in report.defaulted if note.what.startswith("mass of")]
    assert len(filled) == MASS_FROM_GEOMETRY[name]
    assert all("1000 kg/m3" in note.reason for note in filled)
    assert (model.body_mass > 0).sum() == len(filled)
    mass = sim.eval_mass_matrix(model, model.state())[0]
    assert np.linalg.eigvalsh(mass).min() > 0.0


def test_mass_of_a_cabinet_is_that_of_its_meshes(shared):
    """Volume within a surface as trimesh sums it, where it is closed; where it is open, that of its hull by SciPy."""
    folder = shared / "assets/IsaacGymEnvs/sektion_cabinet_model"
    model, report, _ = load(folder / "urdf/sektion_cabinet_2.urdf")
    handle = trimesh.load_mesh(folder / "meshes/drawer_handle_convexdecomposition.obj")
    nob = trimesh.load_mesh(folder / "meshes/door_left_nob.stl")
    for link, volume in (
        ("drawer_handle_top", abs(handle.volume)),
        ("door_left_nob_link", spatial.ConvexHull(nob.vertices).volume),
    ):
        assert model.body_mass[model.find_bodies(link)[0]] == pytest.approx(1000.0 * volume, rel=1e-6)
    assert any("door_left_nob" in note.what and "convex hull" in note.reason for note in report.repaired)


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_read_is_refused_with_its_line(shared, name):
    words, line = REFUSED[name]
    builder = sim.ModelBuilder()
    with pytest.raises(sim.AssetError) as caught:
        builder.add_urdf(shared / "assets" / name)
    assert words in str(caught.value)
    assert caught.value.line == line
    assert not builder.bodies and not builder.shapes and not builder.joints


def test_a_robot_of_meshes_is_read_once_its_absent_collision_is_there(shared, tmp_path):
    folder = shared / "assets" / EDGE
    (tmp_path / "assets").mkdir()
    for mesh in (folder / "assets").iterdir():
        (tmp_path / "assets" / mesh.name).write_bytes(mesh.read_bytes())
    text = (folder / "meshes.urdf").read_text().replace("assets/box.dae", "assets/box.obj")
    (tmp_path / "meshes.urdf").write_text(text)
    (tmp_path / "meshes.expected.json").write_text((folder / "meshes.expected.json").read_text())
    model, report, expected = load(tmp_path / "meshes.urdf")
    assert model.body_count == expected["xml"]["links"]
    assert report.read["collisions"] == sum(expected["xml"]["collision_geometry_counts"].values())
    assert_poses(model, model.state(), expected["fixed_base"]["link_poses_at_zero"], 1e-9)
    assert [report.read["visuals"], len(report.ignored)] == [4, 5]  # no .dae lies there, and .dxf is not read


def test_mass_without_inertia_takes_the_shape_of_the_geometry(shared):
    """pinocchio takes zero inertia. The link's only shape is a box."""
    path = shared / "assets" / ELSEWHERE[0]
    model, report, expected = load(path)
    (fact,) = expected["xml"]["link_inertials"].values()
    assert model.body_mass[0] == fact["mass"]
    assert model.body_com[0] == pytest.approx(fact["com"])
    sizes = [float(x) for x in path.read_text().split('size="')[1].split('"')[0].split()]
    total = sum(x * x for x in sizes)
    assert np.diagonal(model.body_inertia[0]) == pytest.approx([fact["mass"] * (total - x * x) / 12 for x in sizes])
    assert [note.what for note in report.defaulted] == [f"inertia of '{model.body_label[0]}'"]


def set_joints(model, state, facts) -> list[int]:
    """Set coordinates and rates by joint name; the dofs of ours in the order of the facts' moving joints."""
    labels = list(model.joint_label)
    for name, value in facts["q"].items():
        state.joint_q[model.joint_q_start[labels.index(name)]] = value
    for name, value in facts["v"].items():
        state.joint_qd[model.joint_qd_start[labels.index(name)]] = value
    order = [name for name in facts["dof_order"] if not name.startswith("base:")]
    assert sorted(order) == sorted(facts["v"])
    return [int(model.joint_qd_start[labels.index(name)]) for name in order]


def assert_poses(model, state, poses, tolerance) -> None:
    """The facts' positions have 10 decimals; angles are compared through the quaternions, whose sign is free."""
    assert set(poses) == set(model.body_label)
    for body, label in enumerate(model.body_label):
        pose, fact = state.body_q[body], poses[label]
        size = max(1.0, math.dist(fact["pos"], (0, 0, 0)))
        assert np.abs(pose[:3] - fact["pos"]).max() <= tolerance * size, label
        w, x, y, z = fact["quat"]
        quat = np.array([x, y, z, w])
        error = min(np.abs(pose[3:] - quat).max(), np.abs(pose[3:] + quat).max())
        assert error <= tolerance, label


def assert_close(value, fact, tolerance) -> None:
    """Error relative to the largest entry: the facts have 11 digits of each."""
    fact = np.array(fact)
    assert np.abs(value - fact).max() <= tolerance * max(np.abs(fact).max(), 1e-300)
