"""Our trees and models as models of MuJoCo's C library, and the map between the two engines' states.

``MujocoTwin`` is a tree of every kind of joint, for tests; ``ModelTwin`` the first world of a model with its shapes,
limits and drives, to be timed beside it. ``differences`` compares the two engines at a state.
"""

from __future__ import annotations

import mujoco
import numpy as np

import simengine as sim
from simengine.enums import JointType, ShapeType
from tests.dynamics.trees import GRAVITY, Link, Tree, compose, conjugate, inverse, product, to_matrix


def wxyz(q) -> np.ndarray:
    return np.roll(q, 1)


def text(values) -> str:
    return " ".join(repr(float(v)) for v in np.ravel(values))


def pose_text(pose) -> str:
    """Attributes of a pose."""
    return f'pos="{text(pose[:3])}" quat="{text(wxyz(pose[3:]))}"'


class MujocoTwin:
    """MuJoCo's model of a tree. ``set`` takes our state; T and T_rate map our rates to MuJoCo's."""

    def __init__(self, tree: Tree, gravity=GRAVITY, options: str = ""):
        self.tree = tree
        self.model = mujoco.MjModel.from_xml_string(self._mjcf(f'gravity="{text(gravity)}" {options}'))
        self.data = mujoco.MjData(self.model)
        self.coord_starts, self.dof_starts = tree.starts("coord_count"), tree.starts("dof_count")
        self.body_ids = [self.model.body(f"b{i}").id for i in range(len(tree.links))]

    # the file: at zero coordinates a body stands at parent_xform inverse(child_xform)

    def _mjcf(self, options: str) -> str:
        roots = "".join(self._body(i) for i, link in enumerate(self.tree.links) if link.parent < 0)
        return (
            f'<mujoco><compiler inertiafromgeom="false" angle="radian"/><option {options}/>'
            f"<worldbody>{self._geoms(-1)}{roots}</worldbody>{self._rest()}</mujoco>"
        )

    def _body(self, i: int) -> str:
        link = self.tree.links[i]
        m, inertial = link.inertia, ""
        if link.mass > 0:
            full = [m[0, 0], m[1, 1], m[2, 2], m[0, 1], m[0, 2], m[1, 2]]
            inertial = f'<inertial pos="{text(link.com)}" mass="{text(link.mass)}" fullinertia="{text(full)}"/>'
        children = "".join(self._body(k) for k, other in enumerate(self.tree.links) if other.parent == i)
        place = pose_text(compose(link.parent_xform, inverse(link.child_xform)))
        return f'<body name="b{i}" {place}>{inertial}{self._joints(i)}{self._geoms(i)}{children}</body>'

    def _joints(self, i: int) -> str:
        link = self.tree.links[i]
        if link.kind == "free":
            return f'<freejoint name="j{i}"/>'
        turn, place = to_matrix(link.child_xform[3:]), f'pos="{text(link.child_xform[:3])}"'
        elements = [
            f'<joint name="j{i}_{k}" type="{"slide" if kind == "linear" else "hinge"}" {place} '
            f'axis="{text(turn @ axis)}" armature="{text(link.armature[k])}" {self._dof_options(i, k)}/>'
            for k, (kind, axis) in enumerate(link.dofs)
        ]
        if link.has_ball:
            elements.append(f'<joint name="j{i}" type="ball" {place} armature="{text(link.armature[-1])}"/>')
        return "".join(elements)

    def _dof_options(self, i: int, k: int) -> str:
        """Further attributes of slide or hinge ``k`` of a body."""
        return ""

    def _geoms(self, i: int) -> str:
        """Geoms of a body, -1 the world."""
        return ""

    def _rest(self) -> str:
        """What follows the bodies."""
        return ""

    # states

    def _addresses(self, i: int, k: int | None = None) -> tuple[int, int]:
        joint = self.model.joint(f"j{i}" if k is None else f"j{i}_{k}")
        return joint.qposadr[0], joint.dofadr[0]

    def set(self, q: np.ndarray, qd: np.ndarray) -> None:
        """Put MuJoCo in our state and compute all that depends on position and velocity."""
        n = self.model.nv
        self.map, self.map_rate = np.zeros((n, n)), np.zeros(n)  # qd' = map qd; d(map)/dt qd
        for i, link in enumerate(self.tree.links):
            start, dof = self.coord_starts[i], self.dof_starts[i]
            if link.kind == "free":
                self._set_free(i, link, q[start : start + 7], qd[dof : dof + 6])
                continue
            for k in range(len(link.dofs)):
                at, row = self._addresses(i, k)
                self.data.qpos[at] = q[start + k]
                self.map[row, dof + k] = 1
            if link.has_ball:
                self._set_ball(i, link, q[start + len(link.dofs) :][:4], dof + len(link.dofs))
        self.data.qvel[:] = self.map @ qd
        mujoco.mj_forward(self.model, self.data)

    def _set_ball(self, i: int, link: Link, q, dof: int) -> None:
        at, row = self._addresses(i)
        turn, unit = link.child_xform[3:], q / np.linalg.norm(q)
        self.data.qpos[at : at + 4] = wxyz(product(product(turn, unit), conjugate(turn)))
        self.map[row : row + 3, dof : dof + 3] = to_matrix(product(turn, conjugate(unit)))

    def _set_free(self, i: int, link: Link, q, qd) -> None:
        at, row = self._addresses(i)
        dof = self.dof_starts[i]
        frame = compose(link.parent_xform, np.concatenate([q[:3], q[3:] / np.linalg.norm(q[3:])]))
        pose = compose(frame, inverse(link.child_xform))
        base = to_matrix(link.parent_xform[3:])
        arm, omega = pose[:3] - frame[:3], base @ qd[3:]
        self.data.qpos[at : at + 7] = np.concatenate([pose[:3], wxyz(pose[3:])])
        self.map[row : row + 3, dof : dof + 3] = base
        for k in range(3):
            self.map[row : row + 3, dof + 3 + k] = np.cross(base[:, k], arm)
        self.map[row + 3 : row + 6, dof + 3 : dof + 6] = to_matrix(pose[3:]).T @ base
        self.map_rate[row : row + 3] = np.cross(omega, np.cross(omega, arm))

    def mass_matrix(self) -> np.ndarray:
        """M in our rates."""
        full = np.zeros((self.model.nv, self.model.nv))
        mujoco.mj_fullM(self.model, self.data, full)
        self._full = full
        return self.map.T @ full @ self.map

    def bias(self) -> np.ndarray:
        """Coriolis, centrifugal and gravity effort in our rates."""
        self.mass_matrix()
        return self.map.T @ (self.data.qfrc_bias + self._full @ self.map_rate)

    def jacobian(self) -> np.ndarray:
        """(6 bodies, nv) in our rates: linear at the centre of mass, then angular."""
        rows = []
        for body in self.body_ids:
            linear, angular = np.zeros((3, self.model.nv)), np.zeros((3, self.model.nv))
            mujoco.mj_jacBodyCom(self.model, self.data, linear, angular, body)
            rows += [linear, angular]
        return np.concatenate(rows) @ self.map

    def poses(self) -> tuple[np.ndarray, np.ndarray]:
        """body positions (n, 3) and rotation matrices (n, 3, 3)."""
        return self.data.xpos[self.body_ids], self.data.xmat[self.body_ids].reshape(-1, 3, 3)

    def inverse_weights(self) -> tuple[np.ndarray, np.ndarray]:
        """body_invweight0 (n, 2) and dof_invweight0 in our order; a free or ball joint has one value a kind."""
        dofs = np.zeros(self.model.nv)
        for i, link in enumerate(self.tree.links):
            start = self.dof_starts[i]
            if link.kind != "free":
                for k in range(len(link.dofs)):
                    dofs[start + k] = self.model.dof_invweight0[self._addresses(i, k)[1]]
            if link.has_ball:
                count = 6 if link.kind == "free" else 3
                row = self._addresses(i)[1]
                end = start + link.dof_count
                dofs[end - count : end] = self.model.dof_invweight0[row : row + count]
        return self.model.body_invweight0[self.body_ids], dofs


GEOMS = {
    ShapeType.PLANE: "plane",
    ShapeType.SPHERE: "sphere",
    ShapeType.CAPSULE: "capsule",
    ShapeType.BOX: "box",
    ShapeType.CYLINDER: "cylinder",
}
KINDS = {
    JointType.FREE: "free",
    JointType.FIXED: "fixed",
    JointType.REVOLUTE: "revolute",
    JointType.PRISMATIC: "prismatic",
}


def tree_of(model: sim.Model) -> Tree:
    """The first world of a model of free, fixed, revolute and prismatic joints; ValueError for others."""
    links = [None] * int(model.world_body_start[1])
    order = [int(child) for child in model.joint_child[: int(model.world_joint_start[1])]]
    for j, b in enumerate(order):
        kind = KINDS.get(JointType(int(model.joint_type[j])))
        if kind is None:
            raise ValueError(f"joint {model.joint_label[j]} is a {JointType(int(model.joint_type[j])).name}")
        frames = (np.array(xform[j], float) for xform in (model.joint_parent_xform, model.joint_child_xform))
        body = (np.array(row[b], float) for row in (model.body_mass, model.body_com, model.body_inertia))
        links[b] = Link(kind, int(model.joint_parent[j]), *frames, *body)
        dofs = range(int(model.joint_qd_start[j]), int(model.joint_qd_start[j + 1]))
        kinds = ["linear" if kind == "prismatic" or (kind == "free" and k < 3) else "angular" for k in range(len(dofs))]
        axes = [np.array(model.joint_axis[dof], float) for dof in dofs]
        links[b].dofs = list(zip(kinds, axes, strict=True))[: 3 if kind == "free" else None]
        links[b].armature = np.array([model.joint_armature[dof] for dof in dofs], float)
    return Tree(links, order)


class ModelTwin(MujocoTwin):
    """The first world of ``model`` (on the CPU), with ``dt`` (s) and our solver's cone and integrator.

    For robots of free, fixed, revolute and prismatic joints, with position drives, on planes.
    """

    def __init__(self, model: sim.Model, dt: float, integrator: str = "implicitfast", cone: str = "elliptic"):
        self.ours = model
        shared = range(int(model.world_shape_start[-1]), model.shape_count)
        self.shapes = [*range(int(model.world_shape_start[1])), *shared]
        self.joint_of = {int(child): j for j, child in enumerate(model.joint_child[: int(model.world_joint_start[1])])}
        options = f'timestep="{dt!r}" cone="{cone}" integrator="{integrator}"'
        super().__init__(tree_of(model), model.gravity[0], options)

    def _dof(self, i: int) -> int:
        return int(self.ours.joint_qd_start[self.joint_of[i]])

    def _dof_options(self, i: int, k: int) -> str:
        m, dof = self.ours, self._dof(i) + k
        names = {"damping": m.joint_damping, "frictionloss": m.joint_friction, "stiffness": m.joint_stiffness}
        values = " ".join(f'{name}="{text(row[dof])}"' for name, row in names.items())
        lower, upper = m.joint_limit_lower[dof], m.joint_limit_upper[dof]
        if not (np.isfinite(lower) or np.isfinite(upper)):
            return values
        return (
            f'{values} limited="true" range="{text([max(lower, -1e6), min(upper, 1e6)])}" '
            f'solreflimit="{text(m.joint_limit_reference[dof])}" solimplimit="{text(m.joint_limit_impedance[dof])}"'
        )

    def _geoms(self, i: int) -> str:
        return "".join(self._geom(s) for s in self.shapes if self.ours.shape_body[s] == i)

    def _geom(self, s: int) -> str:
        m, kind = self.ours, ShapeType(int(self.ours.shape_type[s]))
        size = {ShapeType.SPHERE: 1, ShapeType.CAPSULE: 2, ShapeType.CYLINDER: 2}.get(kind, 3)
        values = [0, 0, 1] if kind == ShapeType.PLANE else m.shape_size[s][:size]
        friction = [row[s] for row in (m.shape_friction, m.shape_torsional_friction, m.shape_rolling_friction)]
        flags = "" if m.shape_flags[s] & 1 else ' contype="0" conaffinity="0"'
        return (
            f'<geom name="g{s}" type="{GEOMS[kind]}" size="{text(values)}" {pose_text(m.shape_xform[s])} '
            f'friction="{text(friction)}" solref="{text(m.shape_reference[s])}" condim="3" mass="0" '
            f'solimp="{text(m.shape_impedance[s])}" margin="{text(m.shape_margin[s])}" '
            f'gap="{text(m.shape_gap[s])}"{flags}/>'
        )

    def _rest(self) -> str:
        return f"<contact>{self._excludes()}</contact><actuator>{self._drives()}</actuator>"

    def _excludes(self) -> str:
        """Bodies whose shapes collide with each other in MuJoCo by its own rules, but not here."""
        tables = self.ours.groups[0].tables
        body = [int(self.ours.shape_body[s]) for s in self.shapes]
        collides = [bool(self.ours.shape_flags[s] & 1) for s in self.shapes]
        pairs = zip(tables["pair_shape0"], tables["pair_shape1"], strict=True)
        here = {frozenset((body[i], body[k])) for i, k in pairs}
        excluded = set()
        for i in range(len(body)):
            for k in range(i):
                x, y = self._weld(body[i]), self._weld(body[k])
                related = x == y or (x >= 0 and y >= 0 and (self._above(x) == y or self._above(y) == x))
                pair = frozenset((body[i], body[k]))
                if collides[i] and collides[k] and not related and pair not in here:
                    excluded.add(pair)
        names = [sorted("world" if b < 0 else f"b{b}" for b in pair) for pair in excluded]
        return "".join(f'<exclude body1="{first}" body2="{second}"/>' for first, second in sorted(names))

    def _weld(self, b: int) -> int:
        """The body that b moves with."""
        while b >= 0 and self.tree.links[b].kind == "fixed":
            b = self.tree.links[b].parent
        return b

    def _above(self, b: int) -> int:
        return self._weld(self.tree.links[b].parent)

    def _driven(self) -> list[tuple[int, int, int]]:
        """Body, number within its joint, and degree of freedom of each drive."""
        found = [(i, k, self._dof(i) + k) for i in self.tree.joint_order for k in range(len(self.tree.links[i].dofs))]
        ke, kd = self.ours.joint_target_ke, self.ours.joint_target_kd
        return [(i, k, dof) for i, k, dof in found if ke[dof] > 0 or kd[dof] > 0]

    def _drives(self) -> str:
        m, parts = self.ours, []
        for i, k, dof in self._driven():
            most = m.joint_effort_limit[dof]
            limit = f'forcelimited="true" forcerange="{text([-most, most])}"' if np.isfinite(most) else ""
            gains = f'kp="{text(m.joint_target_ke[dof])}" kv="{text(m.joint_target_kd[dof])}"'
            parts.append(f'<position joint="j{i}_{k}" {gains} {limit}/>')
        return "".join(parts)

    def put(self, state: sim.State) -> None:
        """Coordinates and rates of our first world, and its drive targets, into MuJoCo's state."""
        m = self.ours
        q, qd = state.joint_q[: int(m.world_coord_start[1])], state.joint_qd[: int(m.world_dof_start[1])]
        self.data.ctrl[:] = [m.joint_target_pos[dof] for _, _, dof in self._driven()]
        self.set(np.array(q, float), np.array(qd, float))


def differences(model: sim.Model, state: sim.State, control: sim.Control, dt: float) -> dict[str, float]:
    """How far the two engines are apart at ``state``, relative: the same problem, explicit integration, solved exactly.

    ``model``: of one world in float64 on the CPU. Compared are mass matrix, bias, distances of contacts, accelerations.
    """
    twin = ModelTwin(model, dt, "Euler")
    twin.model.opt.tolerance, twin.model.opt.iterations = 1e-14, 200
    twin.put(state)
    twin.data.qfrc_applied[:] = np.linalg.solve(twin.map.T, control.joint_f)
    mujoco.mj_forward(twin.model, twin.data)
    contacts, after = model.contacts(), model.state()
    sim.collide(model, state, contacts)
    count = int(contacts.count[0])
    solver = sim.solvers.Featherstone(model, integrator="euler", tolerance=1e-12, unsupported="warn", specialise=False)
    solver.step(state, after, control, None, dt)
    pairs = {
        "mass_matrix": (sim.eval_mass_matrix(model, state)[0], twin.mass_matrix()),
        "bias": (sim.eval_bias_force(model, state), twin.bias()),
        "contact_distances": (np.sort(contacts.distance[:count]), np.sort(twin.data.contact.dist)),
        "accelerations": (after.featherstone_qacc, np.linalg.solve(twin.map, twin.data.qacc - twin.map_rate)),
    }
    return {
        name: float(np.abs(ours - theirs).max(initial=0) / max(np.abs(theirs).max(initial=0), 1e-12))
        if np.shape(ours) == np.shape(theirs)
        else float("inf")
        for name, (ours, theirs) in pairs.items()
    }
