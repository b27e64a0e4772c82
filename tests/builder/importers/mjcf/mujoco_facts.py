"""What MuJoCo makes of an MJCF file, in the form of the expected files, and a builder's answer to the same."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import mujoco
import numpy as np

import simengine as sim
from simengine.builder.elements import WORLD
from simengine.builder.frames import IDENTITY, compose, rotation_matrix
from simengine.enums import DofKind, JointType

JOINTS = ("free", "ball", "slide", "hinge")
GEOMS = ("plane", "hfield", "sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh", "sdf")
SHOWN = {"convex_hull": "mesh", "heightfield": "hfield"}


def expected_files(shared: Path) -> list[Path]:
    """The expected files of MJCF below a folder."""
    return sorted(
        path for path in (shared / "assets").rglob("*.expected.json") if '"format":"MJCF"' in path.read_text()[:40]
    )


def read(path, **options):
    """A builder with the file in it, and the report; warnings are the report's."""
    builder = sim.ModelBuilder()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report = builder.add_mjcf(path, **options)
    return builder, report


def finalized(builder):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return builder.finalize(device="cpu", precision="float64")


def xyzw(quat_wxyz) -> np.ndarray:
    return np.roll(np.asarray(quat_wxyz, float), -1)


class Answer:
    """A builder's bodies, joints and shapes in the order of the file."""

    def __init__(self, builder, report):
        self.builder, self.report = builder, report
        carriers = self._carriers()
        self.bodies = [i for i in range(len(builder.bodies)) if i not in carriers]
        self.joints = [
            (j, first, kind) for j, joint in enumerate(builder.joints) for first, kind in self._file_joints(joint)
        ]

    def _carriers(self) -> set[int]:
        """Bodies that stand between the joints of one body of the file."""
        names = {body.label for body in self.builder.bodies}
        return {
            i
            for i, body in enumerate(self.builder.bodies)
            if body.label.startswith("carrier") or body.label.partition("/")[0] in names - {body.label}
        }

    def _file_joints(self, joint):
        if joint.type == JointType.FREE:
            return [(0, "free")]
        found, i = [], 0
        while i < len(joint.dofs):
            kind = joint.dofs[i].kind
            if kind == DofKind.BALL_X:
                found.append((i, "ball"))
                i += 3
            else:
                found.append((i, "slide" if kind == DofKind.LINEAR else "hinge"))
                i += 1
        return found

    def poses(self) -> list:
        """World poses of all bodies at the initial coordinates, the world's last (so that index -1 finds it)."""
        model = finalized(self.builder)
        state = model.state()
        sim.eval_fk(model, state)
        return [*map(tuple, np.asarray(state.body_q)), IDENTITY]

    def at(self, model, joints, qpos, qvel):
        """Our state at MuJoCo's ``qpos``, ``qvel``, and (T, order): qvel = T joint_qd[order]."""
        state = model.state()
        q, qd = np.array(state.joint_q), np.zeros(model.joint_dof_count)
        turn, order = np.eye(len(qvel)), np.zeros(len(qvel), int)
        for (j, first, kind), fact in zip(self.joints, joints, strict=True):
            at_q, at_v = int(model.joint_q_start[j]) + first, int(model.joint_qd_start[j]) + first
            from_q, from_v = fact["qposadr"], fact["dofadr"]
            width = {"free": 6, "ball": 3}.get(kind, 1)
            order[from_v : from_v + width] = range(at_v, at_v + width)
            qd[at_v : at_v + width] = qvel[from_v : from_v + width]
            if width == 1:
                q[at_q] = qpos[from_q]
                continue
            q[at_q : at_q + width - 3] = qpos[from_q : from_q + width - 3]
            quat = xyzw(qpos[from_q + width - 3 : from_q + width + 1])
            q[at_q + width - 3 : at_q + width + 1] = quat
            rotation = rotation_matrix(tuple(quat / np.linalg.norm(quat)))
            qd[at_v + width - 3 : at_v + width] = rotation @ qvel[from_v + width - 3 : from_v + width]
            turn[from_v + width - 3 : from_v + width, from_v + width - 3 : from_v + width] = rotation.T
        state.joint_q, state.joint_qd = q, qd
        sim.eval_fk(model, state)
        return state, turn, order


def assert_near(ours, theirs, what: str, relative: float = 1e-6, scale: float | None = None) -> None:
    """Each number within ``relative`` of the largest."""
    ours, theirs = np.asarray(ours, float), np.asarray(theirs, float)
    assert ours.shape == theirs.shape, f"{what}: shape {ours.shape}, not {theirs.shape}"
    if theirs.size:
        bound = relative * max(np.abs(theirs).max() if scale is None else scale, 1e-12)
        assert np.abs(ours - theirs).max() <= bound, f"{what}: {ours} is not {theirs}"


def assert_same_turn(ours, theirs, what: str) -> None:
    dot = abs(float(np.dot(ours, theirs)))
    assert dot > 1.0 - 1e-10, f"{what}: quaternion {ours} is not {theirs}"


def check_bodies(facts: dict, answer: Answer) -> None:
    """Order, parents, masses, centres of mass, inertias, poses at qpos0, gravcomp and mocap."""
    builder, poses = answer.builder, answer.poses()
    joint_of = {joint.child: joint for joint in builder.joints}
    names = ["world", *(name for name in _names(facts["bodies"][1:]))]
    assert len(answer.bodies) == len(facts["bodies"]) - 1
    for i, fact in zip(answer.bodies, facts["bodies"][1:], strict=True):
        body, what = builder.bodies[i], f"body {fact['name']}"
        if not fact["name"].startswith("#"):
            assert body.label == fact["name"]
        parent = joint_of[i].parent if i in joint_of else WORLD
        while parent != WORLD and parent not in answer.bodies:
            parent = joint_of[parent].parent
        expected = names.index(fact["parent"]) - 1 if fact["parent"] in names else WORLD
        assert parent == (WORLD if expected < 0 else answer.bodies[expected]), what
        assert_near(body.mass, fact["mass"], f"{what}, mass")
        xx, yy, zz, xy, xz, yz = fact["inertia_about_com_body_axes_xx_yy_zz_xy_xz_yz"]
        inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        assert_near(np.reshape(body.inertia, (3, 3)), inertia, f"{what}, inertia")
        if fact["mass"] > 0.0:  # MuJoCo gives a body without mass some centre
            assert_near(body.com, fact["com_in_body"], f"{what}, com", scale=1.0)
        assert_near(poses[i][:3], fact["world_pos_at_qpos0"], f"{what}, position", scale=1.0)
        assert_same_turn(poses[i][3:], xyzw(fact["world_quat_wxyz_at_qpos0"]), what)
        assert body.gravity_compensation == fact["gravcomp"]
        assert body.kinematic == fact["mocap"]


def _names(facts: list[dict]) -> list[str]:
    return [fact["name"] for fact in facts]


def check_joints(facts: dict, answer: Answer) -> None:
    """Types, axes and anchors in the body, limits, reference, springs, damping, armature, friction."""
    builder = answer.builder
    assert len(answer.joints) == len(facts["joints"])
    for (j, first, kind), fact in zip(answer.joints, facts["joints"], strict=True):
        joint, what = builder.joints[j], f"joint {fact['name']}"
        dof = joint.dofs[first]
        assert kind == fact["type"], what
        if not fact["name"].startswith("#"):
            assert fact["name"] in (joint.label, dof.label), what
            assert answer.report.joints[fact["name"]] == j
        for name, value in (("damping", dof.damping), ("armature", dof.armature), ("frictionloss", dof.friction)):
            assert_near(value, fact.get(name, 0.0), f"{what}, {name}")
        if kind == "free":
            continue
        assert_near(dof.stiffness, fact.get("stiffness", 0.0), f"{what}, stiffness")
        limits = fact.get("range")
        if kind == "ball":
            assert_near(joint.angle_limit if limits else 0.0, limits[1] if limits else 0.0, f"{what}, range")
            continue
        ours = (dof.limit_lower, dof.limit_upper)
        assert_near(ours if limits else np.isinf(ours), limits or (1.0, 1.0), f"{what}, range")
        assert_near(joint.coords()[first], fact["ref"], f"{what}, ref", scale=1.0)
        if "springref" in fact:
            assert_near([dof.spring_ref], np.ravel(fact["springref"]), f"{what}, springref", scale=1.0)
        _check_axis(answer, j, first, fact, what)


def _check_axis(answer: Answer, j: int, first: int, fact: dict, what: str) -> None:
    """Axis and anchor of a hinge or slider, in the frame of the body of the file at qpos0."""
    builder, joint = answer.builder, answer.builder.joints[j]
    poses = answer_poses(answer)
    frame, q = compose(poses[joint.parent], joint.parent_xform), joint.coords()
    axis = None
    for i, dof in enumerate(joint.dofs):
        rotation = rotation_matrix(frame[3:])
        if i == first:
            axis, anchor = rotation @ dof.axis, np.array(frame[:3])
        if dof.kind == DofKind.LINEAR:
            frame = (*(np.array(frame[:3]) + rotation @ np.array(dof.axis) * q[i]), *frame[3:])
        elif dof.kind == DofKind.ANGULAR:
            half = 0.5 * q[i]
            frame = compose(frame, (0, 0, 0, *(np.array(dof.axis) * np.sin(half)), np.cos(half)))
        else:
            break
    child = joint.child
    while child not in answer.bodies:  # a carrier: at qpos0 it stands where the body does
        child = next(other.child for other in builder.joints if other.parent == child)
    place = poses[child]
    back = rotation_matrix(place[3:]).T
    assert_near(back @ axis, fact["axis_in_body"], f"{what}, axis", scale=1.0)
    if fact["type"] == "hinge":
        assert_near(back @ (anchor - place[:3]), fact["anchor_in_body"], f"{what}, anchor", scale=1.0)


def answer_poses(answer: Answer) -> list:
    if not hasattr(answer, "kept_poses"):
        answer.kept_poses = answer.poses()
    return answer.kept_poses


def check_geoms(facts: dict, answer: Answer) -> None:
    """Types, contact masks, friction, world poses and sizes; of meshes the bounds of their vertices in the world."""
    builder, poses = answer.builder, answer_poses(answer)
    assert len(builder.shapes) == len(facts["geoms"])
    for shape, fact in zip(builder.shapes, facts["geoms"], strict=True):
        what, kind = f"geom {fact['name']}", shape.type.name.lower()
        assert SHOWN.get(kind, kind) == fact["type"], what
        if not fact["name"].startswith("#"):
            assert shape.label == fact["name"]
        body = "world" if shape.body == WORLD else builder.bodies[shape.body].label
        assert fact["body"].startswith("#") or body == fact["body"]
        assert (shape.contype, shape.conaffinity) == (fact["contype"] % 2**32, fact["conaffinity"] % 2**32)
        material = shape.material
        assert material.contact_dim == fact["condim"]
        assert_near((material.friction, material.torsional, material.rolling), fact["friction"], f"{what}, friction")
        pose = compose(poses[shape.body], shape.xform)
        if fact["type"] == "mesh":
            points = shape.mesh.vertices * shape.size @ rotation_matrix(pose[3:]).T + pose[:3]
            bounds = [points.min(axis=0), points.max(axis=0)]
            # MuJoCo's vertices are float32
            assert_near(bounds, fact["world_aabb_at_qpos0"], f"{what}, bounds", 2e-6, scale=1.0)
            continue
        assert_near(pose[:3], fact["world_pos_at_qpos0"], f"{what}, position", scale=1.0)
        _check_size(shape, fact, what)
        _check_turn(fact, pose, what)


def _check_size(shape, fact: dict, what: str) -> None:
    used = {"plane": 2, "sphere": 1, "capsule": 2, "cylinder": 2}.get(fact["type"], 3)
    size = fact["size"]
    if fact["type"] == "hfield":
        used = 2
    assert_near(shape.size[:used], size[:used], f"{what}, size")


def _check_turn(fact: dict, pose, what: str) -> None:
    """Equal rotations, or ones that differ by a symmetry of the shape (principal axes have no signs)."""
    kind, size = fact["type"], np.array(fact["size"])
    if kind == "sphere":
        return
    ours, theirs = rotation_matrix(tuple(pose[3:])), rotation_matrix(tuple(xyzw(fact["world_quat_wxyz_at_qpos0"])))
    between = theirs.T @ ours
    if kind in ("box", "ellipsoid"):
        # a symmetric matrix with the half sizes in it is the same after any symmetry of the shape
        change = ours @ np.diag(size**2) @ ours.T - theirs @ np.diag(size**2) @ theirs.T
        assert_near(change, np.zeros((3, 3)), f"{what}, turn", scale=float(np.max(size**2)))
        return
    along = between[2, 2] if kind in ("plane", "hfield") else abs(between[2, 2])
    assert along > 1.0 - 1e-10, f"{what}: its axis is turned"


def check_dynamics(facts: dict, answer: Answer) -> None:
    """Body poses, mass matrix and bias force at the random state; without and with velocity."""
    if "state_seed0" not in facts or not facts["counts"]["nv"]:
        return
    fact = facts["state_seed0"]
    model = finalized(answer.builder)
    qpos, qvel = np.array(fact["qpos"]), np.array(fact["qvel"])
    state, turn, order = answer.at(model, facts["joints"], qpos, qvel)
    body_q = np.asarray(state.body_q)
    for i, (name, pose) in zip(answer.bodies, list(fact["body_poses"].items())[1:], strict=True):
        assert_near(body_q[i, :3], pose["pos"], f"{name}, position", scale=1.0)
        assert_same_turn(body_q[i, 3:], xyzw(pose["quat"]), name)
    ours = np.asarray(sim.eval_mass_matrix(model, state))[0][np.ix_(order, order)]
    ours = turn @ (ours + tendon_armature(answer, facts)) @ turn.T
    if "M" in fact:
        assert_near(ours, fact["M"], "mass matrix")
    else:
        (diagonal,) = [value for key, value in fact.items() if key.startswith("M")]
        assert_near(np.diagonal(ours), diagonal, "diagonal of the mass matrix")
    bias = turn @ np.asarray(sim.eval_bias_force(model, state))[order]
    scale = max(np.abs(fact["qfrc_bias"]).max(), np.abs(ours).max())  # gravity may have no arm
    assert_near(bias, fact["qfrc_bias"], "bias force", scale=scale)


def tendon_armature(answer: Answer, facts: dict) -> np.ndarray:
    """What armatures of fixed tendons add to MuJoCo's mass matrix (J^T a J); ours keeps tendons aside as yet."""
    count = facts["counts"]["nv"]
    result = np.zeros((count, count))
    dofs = {(j, first): fact["dofadr"] for (j, first, _), fact in zip(answer.joints, facts["joints"], strict=True)}
    for tendon in answer.builder.tendons:
        row = np.zeros(count)
        for (joint, coefficient), dof in zip(tendon.terms, tendon.dofs or (0,) * len(tendon.terms), strict=True):
            row[dofs[joint, dof]] += coefficient
        result += tendon.armature * np.outer(row, row)
    return result


# from MuJoCo's library


def facts_of(source: str | Path, seed: int = 0) -> dict:
    """The facts of an expected file, of a text or file that MuJoCo's library reads here."""
    path = str(source)
    load = mujoco.MjModel.from_xml_string if path.lstrip().startswith("<") else mujoco.MjModel.from_xml_path
    m = load(path)
    d = mujoco.MjData(m)
    mujoco.mj_forward(m, d)
    facts = {
        "model": m,
        "counts": {name: int(getattr(m, name)) for name in ("nbody", "njnt", "nq", "nv", "nu", "ngeom")},
        "bodies": [_body(m, d, i) for i in range(m.nbody)],
        "joints": [_joint(m, i) for i in range(m.njnt)],
        "geoms": [_geom(m, d, i) for i in range(m.ngeom)],
    }
    if m.nv:
        facts["state_seed0"] = _state(m, d, np.random.default_rng(seed))
    return facts


def _name(m, kind, i: int) -> str:
    return mujoco.mj_id2name(m, kind, i) or f"#{i}"


def _body(m, d, i: int) -> dict:
    rotation = np.zeros(9)
    mujoco.mju_quat2Mat(rotation, m.body_iquat[i])
    rotation = rotation.reshape(3, 3)
    inertia = rotation @ np.diag(m.body_inertia[i]) @ rotation.T
    return {
        "name": _name(m, mujoco.mjtObj.mjOBJ_BODY, i),
        "parent": _name(m, mujoco.mjtObj.mjOBJ_BODY, m.body_parentid[i]),
        "mass": m.body_mass[i],
        "com_in_body": m.body_ipos[i],
        "inertia_about_com_body_axes_xx_yy_zz_xy_xz_yz": inertia[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]],
        "world_pos_at_qpos0": d.xpos[i].copy(),
        "world_quat_wxyz_at_qpos0": d.xquat[i].copy(),
        "gravcomp": m.body_gravcomp[i],
        "mocap": bool(m.body_mocapid[i] >= 0),
    }


def _joint(m, i: int) -> dict:
    kind = JOINTS[m.jnt_type[i]]
    at = m.jnt_dofadr[i]
    fact = {
        "name": _name(m, mujoco.mjtObj.mjOBJ_JOINT, i),
        "type": kind,
        "qposadr": int(m.jnt_qposadr[i]),
        "dofadr": int(at),
        "axis_in_body": m.jnt_axis[i],
        "anchor_in_body": m.jnt_pos[i],
        "ref": m.qpos0[m.jnt_qposadr[i]] if kind in ("slide", "hinge") else 0.0,
        "damping": np.ravel(m.dof_damping[at])[0],
        "armature": m.dof_armature[at],
        "frictionloss": m.dof_frictionloss[at],
        "stiffness": np.ravel(m.jnt_stiffness[i])[0],
        "springref": m.qpos_spring[m.jnt_qposadr[i]],
    }
    if m.jnt_limited[i]:
        fact["range"] = list(m.jnt_range[i])
    return fact


def _geom(m, d, i: int) -> dict:
    kind = GEOMS[m.geom_type[i]]
    quat = np.zeros(4)
    mujoco.mju_mat2Quat(quat, d.geom_xmat[i])
    fact = {
        "name": _name(m, mujoco.mjtObj.mjOBJ_GEOM, i),
        "body": _name(m, mujoco.mjtObj.mjOBJ_BODY, m.geom_bodyid[i]),
        "type": kind,
        "contype": int(m.geom_contype[i]),
        "conaffinity": int(m.geom_conaffinity[i]),
        "condim": int(m.geom_condim[i]),
        "friction": m.geom_friction[i],
        "size": m.geom_size[i],
        "world_pos_at_qpos0": d.geom_xpos[i].copy(),
        "world_quat_wxyz_at_qpos0": quat,
    }
    if kind == "mesh":
        first, count = m.mesh_vertadr[m.geom_dataid[i]], m.mesh_vertnum[m.geom_dataid[i]]
        points = m.mesh_vert[first : first + count] @ d.geom_xmat[i].reshape(3, 3).T + d.geom_xpos[i]
        fact["world_aabb_at_qpos0"] = [points.min(axis=0), points.max(axis=0)]
    return fact


def _state(m, d, rng) -> dict:
    for i in range(m.njnt):
        at = m.jnt_qposadr[i]
        if JOINTS[m.jnt_type[i]] in ("free", "ball"):
            at += 3 if JOINTS[m.jnt_type[i]] == "free" else 0
            quat = rng.normal(size=4)
            d.qpos[at : at + 4] = quat / np.linalg.norm(quat)
        else:
            d.qpos[at] = rng.uniform(-1.0, 1.0)
    d.qvel[:] = rng.uniform(-1.0, 1.0, m.nv)
    mujoco.mj_forward(m, d)
    full = np.zeros((m.nv, m.nv))
    mujoco.mj_fullM(m, d, full)
    poses = {f"{i}": {"pos": d.xpos[i].copy(), "quat": d.xquat[i].copy()} for i in range(m.nbody)}
    return {
        "qpos": d.qpos.copy(),
        "qvel": d.qvel.copy(),
        "M": full,
        "qfrc_bias": d.qfrc_bias.copy(),
        "body_poses": poses,
    }


def check_all(facts: dict, answer: Answer) -> None:
    check_bodies(facts, answer)
    check_joints(facts, answer)
    check_geoms(facts, answer)
    check_dynamics(facts, answer)


def load_expected(path: Path) -> dict:
    return json.loads(path.read_text())
