"""MuJoCo's compiled model built again through ModelBuilder, and the map between the two engines' states."""

from __future__ import annotations

import mujoco
import numpy as np

import simengine as sim

GEOM = mujoco.mjtGeom
JOINT = mujoco.mjtJoint


def rotation(quat_wxyz) -> np.ndarray:
    """Rotation matrix of MuJoCo's quaternion."""
    matrix = np.zeros(9)
    mujoco.mju_quat2Mat(matrix, np.asarray(quat_wxyz, float))
    return matrix.reshape(3, 3)


def pose(position, quat_wxyz) -> tuple:
    """Seven numbers: position, then quaternion x, y, z, w."""
    return (*position, *np.roll(quat_wxyz, -1))


def exact_options(model: mujoco.MjModel, cone: str = "elliptic") -> None:
    """Newton's method to round-off, Euler."""
    model.opt.solver = mujoco.mjtSolver.mjSOL_NEWTON
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_EULER
    model.opt.disableflags &= ~int(mujoco.mjtDisableBit.mjDSBL_EULERDAMP)
    model.opt.cone = getattr(mujoco.mjtCone, f"mjCONE_{cone.upper()}")
    model.opt.iterations, model.opt.ls_iterations = 200, 200
    model.opt.tolerance, model.opt.ls_tolerance = 1e-15, 1e-10


class Scene:
    """The same scene in both engines. ``mj``, ``data``: MuJoCo's; ``model``: ours; dofs are in the same order."""

    def __init__(
        self,
        mjcf: str,
        cone: str = "elliptic",
        precision: str = "float64",
        device: str = "cpu",
        worlds: int | None = None,
    ):
        self.mj = mujoco.MjModel.from_xml_string(mjcf)
        exact_options(self.mj, cone)
        self.data = mujoco.MjData(self.mj)
        template = self._build()
        if worlds is not None:
            builder = sim.ModelBuilder(gravity=tuple(self.mj.opt.gravity))
            builder.replicate(template, worlds)
            template = builder
        self.model = template.finalize(device=device, precision=precision)
        self.cone, self.dt = cone, self.mj.opt.timestep

    def solver(self, **options) -> sim.solvers.Featherstone:
        options = dict(integrator="euler", cone=self.cone, impratio=self.mj.opt.impratio) | options
        return sim.solvers.Featherstone(self.model, **options)

    # building

    def _build(self) -> sim.ModelBuilder:
        builder = sim.ModelBuilder(gravity=tuple(self.mj.opt.gravity))
        for body in range(1, self.mj.nbody):
            turn = rotation(self.mj.body_iquat[body])
            inertia = turn @ np.diag(self.mj.body_inertia[body]) @ turn.T
            builder.add_body(
                mass=self.mj.body_mass[body], com=self.mj.body_ipos[body], inertia=inertia, label=f"b{body}"
            )
        for body in range(1, self.mj.nbody):
            self._add_joint(builder, body)
        for geom in range(self.mj.ngeom):
            self._add_shape(builder, geom)
        for a in range(self.mj.ngeom):
            for b in range(a):
                if not self._collides(a, b):
                    builder.add_shape_collision_filter_pair(a, b)
        for i in range(self.mj.npair):
            self._add_contact_pair(builder, i)
        return builder

    def _add_contact_pair(self, builder, i: int) -> None:
        mj, tangents = self.mj, tuple(self.mj.pair_solreffriction[i])
        builder.add_contact_pair(
            int(mj.pair_geom1[i]),
            int(mj.pair_geom2[i]),
            contact_dim=int(mj.pair_dim[i]),
            friction=tuple(mj.pair_friction[i]),
            reference=tuple(mj.pair_solref[i]),
            friction_reference=tangents if any(tangents) else None,
            impedance=tuple(mj.pair_solimp[i]),
            margin=mj.pair_margin[i],
            gap=mj.pair_gap[i],
        )

    def _add_joint(self, builder, body: int) -> None:
        mj, parent = self.mj, int(self.mj.body_parentid[body]) - 1
        first, count = mj.body_jntadr[body], mj.body_jntnum[body]
        place = (mj.body_pos[body], mj.body_quat[body])
        if count == 0:
            builder.add_joint_fixed(parent, body - 1, parent_xform=pose(*place))
            return
        if mj.jnt_type[first] == JOINT.mjJNT_FREE:
            builder.add_joint_free(parent, body - 1, q=pose(mj.qpos0[:3], mj.qpos0[3:7]), **self._dof_options([first]))
            return
        joints = list(range(first, first + count))
        while joints:  # joints about different anchors: bodies of (nearly) no mass between them
            anchor = mj.jnt_pos[joints[0]]
            run = [j for k, j in enumerate(joints) if all(np.allclose(mj.jnt_pos[i], anchor) for i in joints[: k + 1])]
            joints = joints[len(run) :]
            child = builder.add_body(mass=1e-12, inertia=(1e-12,) * 3) if joints else body - 1
            parent_xform = pose(place[0] + rotation(place[1]) @ anchor, place[1])
            self._add_run(
                builder, parent, child, run, dict(parent_xform=parent_xform, child_xform=(*anchor, 0, 0, 0, 1))
            )
            parent, place = child, (np.zeros(3), np.array([1.0, 0, 0, 0]))

    def _dof_options(self, joints) -> dict:
        mj = self.mj
        dofs = np.concatenate([mj.jnt_dofadr[j] + np.arange({0: 6, 1: 3}.get(int(mj.jnt_type[j]), 1)) for j in joints])
        return dict(
            armature=mj.dof_armature[dofs],
            damping=mj.dof_damping[dofs],
            friction=mj.dof_frictionloss[dofs],
            friction_reference=tuple(mj.dof_solref[dofs[0]]),
            friction_impedance=tuple(mj.dof_solimp[dofs[0]]),
        )

    def _add_run(self, builder, parent: int, child: int, joints: list[int], frames: dict) -> None:
        """Successive joints about one anchor: a ball, or slides and hinges as a d6."""
        mj, first = self.mj, joints[0]
        options = dict(
            limit_reference=tuple(mj.jnt_solref[first]),
            limit_impedance=tuple(mj.jnt_solimp[first]),
            limit_margin=mj.jnt_margin[first],
            **frames,
            **self._dof_options(joints),
        )
        if mj.jnt_type[first] == JOINT.mjJNT_BALL:
            angle = max(mj.jnt_range[first]) if mj.jnt_limited[first] else None
            builder.add_joint_ball(parent, child, angle_limit=angle, stiffness=mj.jnt_stiffness[first], **options)
            return
        ranges = [mj.jnt_range[j] if mj.jnt_limited[j] else (-np.inf, np.inf) for j in joints]
        slides, hinges = (
            [tuple(mj.jnt_axis[j]) for j in joints if mj.jnt_type[j] == kind]
            for kind in (JOINT.mjJNT_SLIDE, JOINT.mjJNT_HINGE)
        )
        builder.add_joint_d6(
            parent,
            child,
            linear_axes=slides,
            angular_axes=hinges,
            limit_lower=[r[0] for r in ranges],
            limit_upper=[r[1] for r in ranges],
            stiffness=[mj.jnt_stiffness[j] for j in joints],
            spring_ref=[mj.qpos_spring[mj.jnt_qposadr[j]] for j in joints],
            **options,
        )

    def _add_shape(self, builder, geom: int) -> None:
        mj, kind, size = self.mj, self.mj.geom_type[geom], self.mj.geom_size[geom]
        material = sim.Material(
            friction=mj.geom_friction[geom][0],
            torsional=mj.geom_friction[geom][1],
            rolling=mj.geom_friction[geom][2],
            time_constant=mj.geom_solref[geom][0],
            damping_ratio=mj.geom_solref[geom][1],
            impedance=tuple(mj.geom_solimp[geom]),
            combine="mjcf",
            priority=int(mj.geom_priority[geom]),
            contact_dim=int(mj.geom_condim[geom]),
        )
        options = dict(
            xform=pose(mj.geom_pos[geom], mj.geom_quat[geom]),
            material=material,
            density=0.0,
            margin=mj.geom_margin[geom],
            gap=mj.geom_gap[geom],
            label=f"g{geom}",
        )
        body = int(mj.geom_bodyid[geom]) - 1
        if kind == GEOM.mjGEOM_PLANE:
            builder.add_shape_plane(body, **options)
        elif kind == GEOM.mjGEOM_SPHERE:
            builder.add_shape_sphere(body, size[0], **options)
        elif kind == GEOM.mjGEOM_CAPSULE:
            builder.add_shape_capsule(body, size[0], size[1], **options)
        elif kind == GEOM.mjGEOM_BOX:
            builder.add_shape_box(body, *size, **options)
        else:
            raise ValueError(f"geom type {kind}")

    def _collides(self, a: int, b: int) -> bool:
        mj = self.mj
        masks = (mj.geom_contype[a] & mj.geom_conaffinity[b]) | (mj.geom_contype[b] & mj.geom_conaffinity[a])
        welds = mj.body_weldid[mj.geom_bodyid[[a, b]]]
        parents = mj.body_weldid[mj.body_parentid[welds]]
        related = welds[0] == welds[1] or (all(welds) and (parents[0] == welds[1] or parents[1] == welds[0]))
        signatures = {tuple(sorted((s >> 16, s & 0xFFFF))) for s in mj.exclude_signature}
        excluded = tuple(sorted(mj.geom_bodyid[[a, b]])) in signatures
        return bool(masks) and not related and not excluded

    # states

    def rates_map(self) -> np.ndarray:
        """T with qvel = T joint_qd: MuJoCo's angular velocities of free and ball joints are in the child's axes."""
        turn = np.eye(self.mj.nv)
        for j in range(self.mj.njnt):
            at, dof = self.mj.jnt_qposadr[j], self.mj.jnt_dofadr[j]
            if self.mj.jnt_type[j] == JOINT.mjJNT_FREE:
                turn[dof + 3 : dof + 6, dof + 3 : dof + 6] = rotation(self.data.qpos[at + 3 : at + 7]).T
            if self.mj.jnt_type[j] == JOINT.mjJNT_BALL:
                turn[dof : dof + 3, dof : dof + 3] = rotation(self.data.qpos[at : at + 4]).T
        return turn

    def coordinates(self) -> np.ndarray:
        """joint_q of MuJoCo's qpos."""
        q = self.data.qpos.copy()
        for j in range(self.mj.njnt):
            if self.mj.jnt_type[j] == JOINT.mjJNT_FREE or self.mj.jnt_type[j] == JOINT.mjJNT_BALL:
                at = self.mj.jnt_qposadr[j] + 3 * (self.mj.jnt_type[j] == JOINT.mjJNT_FREE)
                q[at : at + 4] = np.roll(q[at : at + 4], -1)
        return q

    def state(self) -> sim.State:
        """Our state at MuJoCo's."""
        state = self.model.state()
        worlds = self.model.world_count
        real = self.model.precision
        state.joint_q = np.tile(self.coordinates(), worlds).astype(real)
        state.joint_qd = np.tile(self.rates_map().T @ self.data.qvel, worlds).astype(real)
        sim.eval_fk(self.model, state)
        return state

    def feed_contacts(self, contacts) -> None:
        """MuJoCo's contacts into a Contacts of one world."""
        count = self.data.ncon
        ends = [{int(a), int(b)} for a, b in zip(self.mj.pair_geom1, self.mj.pair_geom2, strict=True)]
        contacts.count[0] = contacts.needed[0] = count
        for i in range(count):
            c = self.data.contact[i]
            normal = c.frame[:3]
            for side, geom in ((0, c.geom1), (1, c.geom2)):
                body = self.mj.geom_bodyid[geom]
                point = c.pos + (side - 0.5) * c.dist * normal
                local = self.data.xmat[body].reshape(3, 3).T @ (point - self.data.xpos[body])
                getattr(contacts, f"point{side}")[i] = local
                getattr(contacts, f"shape{side}")[i] = self.model.find_shapes(f"g{geom}")[0]
            contacts.normal[i], contacts.tangent[i], contacts.distance[i] = normal, c.frame[3:6], c.dist
            both = {int(c.geom1), int(c.geom2)}
            contacts.parameter[i] = ends.index(both) if both in ends else -1

    def contact_forces(self) -> np.ndarray:
        """MuJoCo's forces on the second geom of each contact (contacts, 3), in world axes."""
        forces = np.zeros((self.data.ncon, 3))
        for i in range(self.data.ncon):
            along = np.zeros(6)
            mujoco.mj_contactForce(self.mj, self.data, i, along)
            forces[i] = along[:3] @ self.data.contact[i].frame.reshape(3, 3)
        return forces
