"""Kinematics and smooth dynamics of articulated worlds, as functions of a model and a state.

The kernels are ``kernels_cuda/eval.cu`` and ``model_update.cu``: recursive Newton-Euler and composite rigid bodies, as
in R. Featherstone, Rigid Body Dynamics Algorithms (Springer 2008), chapters 4 to 6. Every result has an entry for each
body and degree of freedom in the user's order. Nothing of the state is changed but what a function says it writes.
"""

from __future__ import annotations

import functools

import numpy as np

from simengine.checks import checked_array, checked_mask, require_container
from simengine.enums import DENSE_DOFS, DofKind
from simengine.errors import ModelError, UnsupportedError
from simengine.runtime import modes
from simengine.runtime.kernel import Kernel
from simengine.runtime.launch import PreparedLaunch
from simengine.runtime.world_launch import lanes_for, launch_of


def eval_fk(model, state, world_mask=None) -> None:
    """Forward kinematics: from ``state.joint_q`` and ``joint_qd`` to ``state.body_q`` and ``body_qd``.

    ``world_mask`` (worlds,) bool on the model's device: which worlds to write; default all. Quaternions need not be
    normalised. Poses are of the body frames (m); velocities are of the centres of mass (m/s), then angular (rad/s), in
    world axes.
    """
    require_container("eval_fk", "state", state, "state", model)
    arrays = dict(world_mask=checked_mask("eval_fk", model, world_mask), joint_q=state.joint_q, joint_qd=state.joint_qd)
    _launch("eval_fk", model, body_q=state.body_q, body_qd=state.body_qd, **arrays)


def eval_ik(model, state) -> None:
    """Inverse kinematics: from ``state.body_q`` and ``body_qd`` to ``state.joint_q`` and ``joint_qd``.

    Angles come out in (-pi, pi], quaternions as they turn the joint frames (either sign). Of the two triples of
    angles that three successive axes have, the one with the smaller middle angle is taken; where the outer axes fall
    together, the first angle is zero. Bodies that are off what their joints allow give the nearest coordinates: slides
    by least squares along the axes, turns by projecting the rotation on the axes.
    """
    require_container("eval_ik", "state", state, "state", model)
    arrays = dict(body_q=state.body_q, body_qd=state.body_qd, joint_q=state.joint_q, joint_qd=state.joint_qd)
    _launch("eval_ik", model, **arrays)


def eval_mass_matrix(model, state, out=None):
    """Mass matrices (worlds, nv, nv) at ``state.joint_q``, with armature; kg, kg m or kg m2; zero between trees.

    Symmetric to the last bit. All worlds must have the same degrees of freedom, else ModelError. ``out``: an array to
    write into. Composite rigid bodies: Featherstone 2008, section 6.2.
    """
    require_container("eval_mass_matrix", "state", state, "state", model)
    require_dense(model, "eval_mass_matrix")
    nv = _each(model, "dofs", "eval_mass_matrix")
    out = _out(model, out, (model.world_count, nv, nv), "eval_mass_matrix")
    _launch("eval_mass_matrix", model, joint_q=state.joint_q, joint_qd=state.joint_qd, mass=out)
    return out


def eval_jacobian(model, state, out=None):
    """Jacobians (worlds, 6 bodies, nv) at ``state.joint_q``: for each body three rows of the velocity of its centre of
    mass, then three of its angular velocity, in world axes, for unit rates of each degree of freedom.

    All worlds must have the same bodies and degrees of freedom, else ModelError. ``out``: an array to write into.
    """
    require_container("eval_jacobian", "state", state, "state", model)
    require_dense(model, "eval_jacobian")
    nv, bodies = _each(model, "dofs", "eval_jacobian"), _each(model, "bodies", "eval_jacobian")
    out = _out(model, out, (model.world_count, 6 * bodies, nv), "eval_jacobian")
    _launch("eval_jacobian", model, joint_q=state.joint_q, joint_qd=state.joint_qd, jacobian=out)
    return out


def eval_inverse_dynamics(model, state, joint_qdd, out=None):
    """Efforts (nv,) in N or N m that give the accelerations ``joint_qdd`` (nv,) at the state: M qdd + bias.

    With gravity and armature, without springs, damping, drives and contacts. ``nv`` counts the degrees of freedom of
    all worlds. ``out``: an array to write into. Recursive Newton-Euler: Featherstone 2008, section 5.3.
    """
    require_container("eval_inverse_dynamics", "state", state, "state", model)
    joint_qdd = _array(model, joint_qdd, (model.joint_dof_count,), "eval_inverse_dynamics, joint_qdd")
    out = _out(model, out, (model.joint_dof_count,), "eval_inverse_dynamics")
    arrays = dict(joint_q=state.joint_q, joint_qd=state.joint_qd, joint_qdd=joint_qdd)
    _launch("eval_inverse_dynamics", model, joint_f=out, **arrays)
    return out


def eval_bias_force(model, state, out=None):
    """Coriolis, centrifugal and gravity efforts (nv,) in N or N m at the state: those that give no acceleration.

    ``out``: an array to write into.
    """
    require_container("eval_bias_force", "state", state, "state", model)
    out = _out(model, out, (model.joint_dof_count,), "eval_bias_force")
    _launch("eval_bias_force", model, joint_q=state.joint_q, joint_qd=state.joint_qd, joint_f=out)
    return out


def update_model(model, world_mask=None) -> None:
    """Recompute ``model.body_inverse_weight``, ``dof_inverse_weight`` and the initial ``body_q`` and ``body_qd``.

    The weights are the means of the diagonal of J M^-1 J^T (J the Jacobian of a body's centre of mass: three linear and
    three angular rows) and of M^-1 (over the dofs of one kind of a ball or free joint) at ``model.joint_q``, as
    MuJoCo's body_invweight0 and dof_invweight0. A body without children that only slides, along axes of its inertia and
    with its centre of mass at the origin, has 1/mass. Degrees of freedom of kinematic bodies do not yield and have
    zero. Poses and velocities are those of ``model.joint_q`` and ``joint_qd``.
    ``world_mask`` (worlds,) bool on the model's device: which worlds; default all.
    """
    names = ("body_inverse_weight", "dof_inverse_weight", "body_q", "body_qd")
    arrays = {name: getattr(model, name) for name in names}
    arrays["world_mask"] = checked_mask("update", model, world_mask)
    if largest_world(model) <= DENSE_DOFS:
        _launch("model_update", model, **arrays)
        return
    key = ("model_update_trees", modes.debug, modes.poison)
    if key not in model.launches:
        with model.device.apart():
            model.launches[key] = [_tree_launch(model, group, arrays) for group in model.groups]
    for launch in model.launches[key]:
        launch.set("world_mask", arrays["world_mask"])
        launch()


def tree_rows(tables) -> np.ndarray:
    """The trees of a world, from the tables of its batch group, (trees, 5) int32, as TreeRow of model_update.cu."""
    first = np.flatnonzero(tables["link_parent"] == 0)
    end = np.append(first[1:], len(tables["link_parent"]))
    total = np.append(tables["link_dof_start"], len(tables["dof_link"]))
    begin, behind = total[first], total[end]
    last = tables["dof_coord"] + np.where(tables["dof_kind"] >= DofKind.BALL_X, 4, 1)
    rows = np.zeros((len(first), 5), np.int32)
    rows[:, 0], rows[:, 1], rows[:, 2] = first, end, behind - begin
    for row, i, j in zip(rows, begin, behind, strict=True):
        if j > i:
            row[3] = tables["dof_coord"][i:j].min()
            row[4] = last[i:j].max() - row[3]
    return rows


def _tree_launch(model, group, arrays: dict) -> PreparedLaunch:
    """``model.update`` of a batch group of large worlds: a group of lanes works a tree."""
    rows = tree_rows(group.tables)
    most = rows.max(axis=0, initial=0)
    links = int((rows[:, 1] - rows[:, 0]).max(initial=0)) + 1
    common = {"precision": model.precision, "device": model.device, "lanes": lanes_for(links)}
    arguments = arrays | {"model": model, "topology": group, "trees": len(rows)}
    arguments["tree_row"] = model.device.asarray(rows)
    needed = model.device.zeros(1, np.int64)
    sizes = {"links": links, "dofs": int(most[2]), "coords": int(most[4]), "bytes": needed}
    _kernel("model_update_tree_bytes").prepare(sizes, items=1, **common)()
    return _kernel("model_update_trees").prepare(
        arguments, worlds=len(rows) * len(group.worlds), scratch=int(needed[0]), **common
    )


def largest_world(model) -> int:
    """The most degrees of freedom of a world."""
    return max((group.counts()["link_dofs"] for group in model.groups), default=0)


def require_dense(model, what: str) -> None:
    """Raise UnsupportedError where a world has more degrees of freedom than mass matrices are made for."""
    if largest_world(model) > DENSE_DOFS:
        raise UnsupportedError(
            f"{what} serves worlds of at most {DENSE_DOFS} degrees of freedom; this model has one of "
            f"{largest_world(model)}",
            property="degrees of freedom",
        )


# ---- launches


@functools.cache
def _kernel(name: str) -> Kernel:
    if name.startswith("model_update"):  # every model waits for it, and runs it once
        return Kernel("model_update.cu", name, quick=True)
    return Kernel("eval.cu", name)


def _launch(name: str, model, **arrays) -> None:
    """Run a kernel of worlds over each batch group of the model."""
    memory = "model_update_memory_bytes" if name == "model_update" else "eval_memory_bytes"
    launch_of(model, name, memory, _kernel, "links", name)(**arrays)


# ---- checks


def _each(model, over: str, what: str) -> int:
    """How many of a kind each world has; ModelError naming the first world that differs from world 0."""
    starts = np.asarray(model._starts[over])
    sizes = np.diff(starts)
    odd = np.flatnonzero(sizes != sizes[0])
    if odd.size:
        raise ModelError(
            f"{what} needs worlds that are alike: world 0 has {sizes[0]} {over}, world {odd[0]} has {sizes[odd[0]]}; "
            "make one model for each kind of world"
        )
    return int(sizes[0])


def _out(model, out, shape: tuple[int, ...], what: str):
    """The array to write into: the user's, checked, or a new one."""
    if out is None:
        return model.device.zeros(shape, model.precision)
    return _array(model, out, shape, f"{what}, out")


def _array(model, array, shape: tuple[int, ...], what: str):
    return checked_array(what, array, shape, model.precision, model.device)
