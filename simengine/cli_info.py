"""``simengine info``: what a robot file holds, and how it was read."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Iterable

import numpy as np

import simengine as sim
from simengine.cli_files import asset_options, find_robot
from simengine.containers import to_numpy
from simengine.enums import JointType, ShapeFlag, ShapeType
from simengine.placement import reach

BODY_HEAD = ("body", "mass kg", "centre of mass m", "inertia kg m2 (diagonal)", "collides", "shown")
JOINT_HEAD = ("joint", "type", "parent", "child", "limits", "effort", "velocity", "damping")


def info(options) -> int:
    """Print bodies, joints, masses, limits, and what was defaulted and ignored; returns the exit code."""
    builder = sim.ModelBuilder()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the report below holds it all
        report = builder.add_urdf(find_robot(options.file), **asset_options(options))
        model = builder.finalize(device="cpu", precision="float64")
    print(_summary(model, report))
    print()
    print(table(BODY_HEAD, _bodies(model)))
    print()
    print(table(JOINT_HEAD, _joints(model)))
    print()
    print(report)
    return 0


def _summary(model, report) -> str:
    extent = [[reach(model, sign * axis) for sign in (1, -1)] for axis in np.eye(3)]
    size = " x ".join(f"{sum(both):.3g}" for both in extent) if None not in extent[0] else "none"
    mass = float(to_numpy(model.body_mass).sum())
    counts = f"{model.body_count} bodies, {model.joint_count} joints, {model.joint_dof_count} degrees of freedom"
    return f"{report.name}: {counts}, mass {mass:.4g} kg, size {size} m (joints where they start, the root link fixed)"


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
    """Rows of text in columns under a head."""
    rows = [head, *rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
    return "\n".join(line.rstrip() for line in lines)
