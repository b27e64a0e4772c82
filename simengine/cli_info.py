"""``simengine info``: what a robot file holds, and how it was read."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Iterable

import numpy as np

import simengine as sim
from simengine.builder.mechanisms import KEPT
from simengine.cli_files import find_robot, format_of, read_into
from simengine.containers import to_numpy
from simengine.enums import JointType, ShapeFlag, ShapeType
from simengine.errors import printable
from simengine.placement import reach

BODY_HEAD = ("body", "mass kg", "centre of mass m", "inertia kg m2 (diagonal)", "collides", "shown")
JOINT_HEAD = ("joint", "type", "parent", "child", "limits", "effort", "velocity", "damping")


def info(options) -> int:
    """Print bodies, joints, masses, limits, and what was defaulted and ignored; returns the exit code."""
    builder = sim.ModelBuilder()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the report below holds it all
        report = read_into(builder, options.file, options, velocity_limits=True)
        model = builder.finalize(device="cpu", precision="float64")
    print(_summary(model, report, format_of(find_robot(options.file))))
    print()
    print(table(BODY_HEAD, _bodies(model)))
    print()
    print(table(JOINT_HEAD, _joints(model)))
    print()
    kept = [(plural.replace("_", " "), map(printable, labels)) for plural, labels in _kept(builder) if labels]
    if kept:
        print("\n".join(f"{plural}: {', '.join(labels)}" for plural, labels in kept) + "\n")
    print(report)
    return 0


def _summary(model, report, kind: str) -> str:
    extent = [[reach(model, sign * axis) for sign in (1, -1)] for axis in np.eye(3)]
    size = "no shapes"
    if None not in extent[0]:
        size = "size " + " x ".join(f"{sum(both):.3g}" for both in extent) + " m where joints start"
    mass = float(to_numpy(model.body_mass).sum())
    numbers = ((model.body_count, "body", "bodies"), (model.joint_count, "joint", "joints"))
    numbers += ((model.joint_dof_count, "degree of freedom", "degrees of freedom"),)
    counts = ", ".join(f"{number} {one if number == 1 else many}" for number, one, many in numbers)
    fixed = ", the root link fixed" if kind == "urdf" else ""
    return f"{printable(report.name) or '(no name)'}: {counts}{fixed}, mass {mass:.4g} kg, {size}"


def _kept(builder) -> Iterable[tuple[str, list[str]]]:
    """Labels of what the file holds besides bodies, joints and shapes."""
    for plural in ("sites", "equalities", *KEPT):
        yield plural, [element.label for element in getattr(builder, plural)]


def _bodies(model) -> Iterable[tuple[str, ...]]:
    mass, com, inertia = (to_numpy(getattr(model, f"body_{name}")) for name in ("mass", "com", "inertia"))
    shape_body, shape_flags = to_numpy(model.shape_body), to_numpy(model.shape_flags)
    for body, label in enumerate(model.body_label):
        shapes = [_kinds(model, (shape_body == body) & ((shape_flags & flag) != 0)) for flag in ShapeFlag]
        diagonal = " ".join(f"{x:.3g}" for x in np.diagonal(inertia[body]))
        yield label, f"{mass[body]:.4g}", " ".join(f"{x:.3g}" for x in com[body]), diagonal, *shapes


def _kinds(model, chosen: np.ndarray) -> str:
    """The chosen shapes by kind and number."""
    kinds = Counter(ShapeType(int(kind)).name.lower() for kind in to_numpy(model.shape_type)[chosen])
    return ", ".join(f"{count} {kind}" if count > 1 else kind for kind, count in kinds.items()) or "-"


def _joints(model) -> Iterable[tuple[str, ...]]:
    rows = ("joint_type", "joint_parent", "joint_child", "joint_qd_start", "joint_limit_lower", "joint_limit_upper")
    kind, parent, child, start, lower, upper = (to_numpy(getattr(model, name)) for name in rows)
    rows = ("joint_effort_limit", "joint_velocity_limit", "joint_damping")
    effort, velocity, damping = (to_numpy(getattr(model, name)) for name in rows)
    for joint, label in enumerate(model.joint_label):
        dofs = range(start[joint], start[joint + 1])
        yield (
            label,
            JointType(int(kind[joint])).name.lower(),
            "world" if parent[joint] < 0 else model.body_label[parent[joint]],
            model.body_label[child[joint]],
            ", ".join(_limits(lower[dof], upper[dof]) for dof in dofs) or "-",
            ", ".join(_number(effort[dof]) for dof in dofs) or "-",
            ", ".join(_number(velocity[dof]) for dof in dofs) or "-",
            ", ".join(_number(damping[dof]) for dof in dofs) or "-",
        )


def _limits(lower: float, upper: float) -> str:
    return "none" if math.isinf(lower) and math.isinf(upper) else f"{lower:.4g} to {upper:.4g}"


def _number(value: float) -> str:
    return "none" if math.isinf(value) else f"{value:.4g}"


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """Rows of text in columns under a head; a cell that would break the lines is quoted."""
    rows = [head, *([printable(cell) for cell in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
    return "\n".join(line.rstrip() for line in lines)
