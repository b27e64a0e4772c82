"""What MJCF gives relative to the inertia at the initial pose: springdamper of joints, dampratio of actuators."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace

import numpy as np

from simengine.builder.importers.mjcf.build_tree import Placed
from simengine.builder.importers.mjcf.document import Document
from simengine.builder.importers.report import Notes, Place


def set_from_reference(scratch, document: Document, placed: Placed, notes: Notes) -> None:
    """Set stiffness and damping of joints with a springdamper, and the damping of servos with a dampratio.

    As MuJoCo 4: with m = 1 / (M^-1)_ii, a mean over the dofs of a joint, stiffness = m / (tc dr)^2 and damping =
    2 m / tc. A servo's damping is 2 dr sqrt(kp m), m = 1 / (J M^-1 J^T), J what it acts through.
    """
    sprung = [
        (placed.joints[id(joint)], joint)
        for body in document.world.tree()
        for joint in body.joints
        if joint.spring_damper[0] > 0.0 and joint.kind != "free"
    ]
    servos = [index for index, actuator in enumerate(scratch.actuators) if _has_ratio(actuator)]
    if not sprung and not servos:
        return
    place = sprung[0][1].element if sprung else placed.places[scratch.actuators[servos[0]].label]
    inverse = _inverse(_mass_matrix(scratch), place)
    starts = np.cumsum([0, *(len(joint.dofs) for joint in scratch.joints)])
    for (index, first), joint in sprung:
        dofs = scratch.joints[index].dofs[first : first + (3 if joint.kind == "ball" else 1)]
        at = starts[index] + first
        mean = 1.0 / float(np.mean(np.diagonal(inverse)[at : at + len(dofs)]))
        time, ratio = joint.spring_damper
        for dof in dofs:
            dof.stiffness, dof.damping = mean / (time * ratio) ** 2, 2.0 * mean / time
    for index in servos:
        actuator = scratch.actuators[index]
        row = _row(actuator, scratch, starts, len(inverse))
        if row is None or not row.any():
            reason = (
                f"actuator {actuator.label!r} keeps it as a positive third bias parameter: no joint tells its inertia"
            )
            notes.note("warned", "dampratio", placed.places[actuator.label], reason)
            continue
        kind, bias = actuator.bias
        damping = 2.0 * bias[2] * math.sqrt(-bias[1] / float(row @ inverse @ row))
        scratch.actuators[index] = replace(actuator, bias=(kind, (*bias[:2], -damping, *bias[3:])))


def _inverse(mass: np.ndarray, place: Place) -> np.ndarray:
    """By Cholesky's factor, so that it is positive; refused where rounding leaves no such factor."""
    try:
        half = np.linalg.inv(np.linalg.cholesky(mass))
    except np.linalg.LinAlgError:
        reason = "its springdamper or dampratio needs the inertia at the reference pose, whose matrix is singular"
        raise place.error(f"{reason}: masses or distances differ too much, mend them") from None
    return half.T @ half


def _has_ratio(actuator) -> bool:
    kind, gain = actuator.gain
    bias = actuator.bias[1]
    return len(bias) > 2 and bias[2] > 0.0 > bias[1] and (kind == "pid" or gain[0] == -bias[1])


def _row(actuator, scratch, starts: np.ndarray, count: int) -> np.ndarray | None:
    """The Jacobian (dofs,) of an actuator on a joint with one coordinate or on a fixed tendon; None for others."""
    row = np.zeros(count)
    if actuator.transmission in ("joint", "joint_in_parent"):
        joint = scratch.joints[actuator.target]
        if joint.coord_count > len(joint.dofs):  # it has a ball
            return None
        row[starts[actuator.target] + actuator.dof] = actuator.gear[0]
        return row
    if actuator.transmission == "tendon" and scratch.tendons[actuator.target].terms:
        return actuator.gear[0] * _tendon_row(scratch.tendons[actuator.target], starts, count)
    return None


def _tendon_row(tendon, starts: np.ndarray, count: int) -> np.ndarray:
    row = np.zeros(count)
    for (joint, coefficient), dof in zip(tendon.terms, tendon.dofs or (0,) * len(tendon.terms), strict=True):
        row[starts[joint] + dof] += coefficient
    return row


def _mass_matrix(scratch) -> np.ndarray:
    """(dofs, dofs) at the initial coordinates, with the armatures of fixed tendons (J^T a J)."""
    from simengine.dynamics import eval_mass_matrix

    collides = [shape.collides for shape in scratch.shapes]
    paired = {index for pair in scratch.contact_pairs for index in (pair.shape0, pair.shape1)}
    try:
        for index, shape in enumerate(scratch.shapes):  # trees and hulls are of no use here
            shape.collides = index in paired
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the user's own finalize says it again
            model = scratch.finalize(device="cpu", precision="float64")
    finally:
        for shape, given in zip(scratch.shapes, collides, strict=True):
            shape.collides = given
    result = np.array(eval_mass_matrix(model, model.state()))[0]
    starts = np.cumsum([0, *(len(joint.dofs) for joint in scratch.joints)])
    for tendon in scratch.tendons:
        if tendon.terms and tendon.armature:
            row = _tendon_row(tendon, starts, len(result))
            result += tendon.armature * np.outer(row, row)
    return result
