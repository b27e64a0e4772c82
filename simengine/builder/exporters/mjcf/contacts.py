"""Which geoms touch: MuJoCo's own rules, mended by ``<exclude>`` and ``<pair>`` until they let touch what we let touch.

MuJoCo passes over a pair whose masks do not meet, of one rigid group, of a group and the one that it hangs on (unless
that is the world), and of excluded bodies; a ``<pair>`` touches in any case.
"""

from __future__ import annotations

import numpy as np

from simengine.builder.elements import WORLD, Shape
from simengine.builder.exporters.mjcf.bodies import Carrier
from simengine.builder.exporters.mjcf.writer import Writer
from simengine.builder.exporters.xml_text import add
from simengine.enums import JointType


class RigidParts:
    """MuJoCo's rigid groups: ``part`` of each body (WORLD: that of the world), ``above``: the part that it hangs on."""

    def __init__(self, carriers: list[Carrier], writer: Writer):
        joints, bodies = writer.scene.elements.joints, writer.scene.elements.bodies
        self.part, self.above = {WORLD: WORLD}, {WORLD: WORLD}
        for carrier in carriers:
            held = all(joints[j].type == JointType.FIXED for j in carrier.chain)
            parent = self.part[carrier.parent]
            self.part[carrier.body] = parent if held and not bodies[carrier.body].kinematic else carrier.body
            self.above.setdefault(self.part[carrier.body], parent)


def write_contacts(writer: Writer, carriers: list[Carrier], touching: set[int]) -> None:
    """``touching``: shapes that collide in the file."""
    elements = writer.scene.elements
    count = len(elements.shapes)
    written = np.array([i in touching and ("shape", i) in writer.names for i in range(count)], bool)
    ours = np.triu(writer.scene.allowed_pairs() & written[:, None] & written, 1)
    theirs = np.triu(_touch_in_mujoco(writer, carriers) & written[:, None] & written, 1)
    bodies = np.array([shape.body for shape in elements.shapes], int)
    excluded = np.zeros((len(elements.bodies) + 1,) * 2, bool)  # WORLD, -1, is the last
    first, second = np.nonzero(theirs & ~ours)
    excluded[bodies[first], bodies[second]] = excluded[bodies[second], bodies[first]] = True
    for pair in np.argwhere(np.triu(excluded)).tolist():
        one, other = (writer.names["body", WORLD if body == len(elements.bodies) else body] for body in pair)
        add(writer.section("contact"), "exclude", body1=one, body2=other)
    writer.notes.report.count("excludes", int(np.triu(excluded).sum()))
    explicit = {tuple(sorted((pair.shape0, pair.shape1))) for pair in elements.contact_pairs}
    for i, k in np.argwhere(ours & (~theirs | excluded[bodies[:, None], bodies])).tolist():
        if (i, k) not in explicit:
            _write_pair(writer, i, k)
    _write_explicit(writer)


def _touch_in_mujoco(writer: Writer, carriers: list[Carrier]) -> np.ndarray:
    """(n, n) bool over all shapes, symmetric: what MuJoCo would let touch without excludes, if both collide."""
    elements, shapes = writer.scene.elements, writer.scene.elements.shapes
    parts = RigidParts(carriers, writer)
    part = np.array([parts.part[shape.body] for shape in shapes], int)
    above = np.array([parts.above[one] for one in part.tolist()], int)
    contype, conaffinity = (
        np.array([getattr(s, name) for s in shapes], np.int64) for name in ("contype", "conaffinity")
    )
    meets = contype[:, None] & conaffinity != 0
    result = (meets | meets.T) & (part[:, None] != part)
    if "filterparent" not in elements.options.disabled:
        hangs = above[:, None] == part  # the first on the second
        result &= ~((hangs | hangs.T) & (part[:, None] != WORLD) & (part != WORLD))
    return result


def _write_pair(writer: Writer, i: int, k: int) -> None:
    shapes = writer.scene.elements.shapes
    names = writer.names["shape", i], writer.names["shape", k]
    add(writer.section("contact"), "pair", geom1=names[0], geom2=names[1], **_combined(shapes[i], shapes[k]))
    reason = "written as a contact pair, since MuJoCo's filters would rule it out"
    writer.notes.rewrite("contact", f"shapes {shapes[i].label!r} and {shapes[k].label!r}", reason)


def _combined(a: Shape, b: Shape) -> dict:
    """Attributes of a pair: what MuJoCo makes of two geoms that it finds in touch by itself.

    A pair in a file takes nothing from its geoms.
    """
    rows = [shape.material.row() for shape in (a, b)]
    priorities = [row["shape_priority"] for row in rows]
    if priorities[0] != priorities[1]:
        rows = [rows[priorities.index(max(priorities))]] * 2
    weights = np.array([a.mix, b.mix]) if a.mix + b.mix > 0 else np.ones(2)
    means = {
        name: tuple(map(float, weights @ np.array([row[name] for row in rows]) / weights.sum()))
        for name in ("shape_reference", "shape_impedance")
    }
    slide, spin, roll = (
        max(row[f"shape_{name}"] for row in rows) for name in ("friction", "torsional_friction", "rolling_friction")
    )
    return {
        "condim": max(row["shape_contact_dim"] for row in rows),
        "friction": (slide, slide, spin, roll, roll),
        "solref": means["shape_reference"],
        "solimp": means["shape_impedance"],
        "margin": a.margin + b.margin,
        "gap": a.gap + b.gap,
    }


def _write_explicit(writer: Writer) -> None:
    shapes = writer.scene.elements.shapes
    for index, pair in enumerate(writer.scene.elements.contact_pairs):
        what = f"contact pair {pair.label!r}"
        ends = [writer.names.get(("shape", i)) for i in (pair.shape0, pair.shape1)]
        if None in ends:
            writer.notes.lose("contact pair", what, "one of its shapes could not be written")
            continue
        own = {
            "condim": pair.contact_dim,
            "friction": pair.friction,
            "solref": pair.reference,
            "solimp": pair.impedance,
            "margin": pair.margin,
            "gap": pair.gap,
        }
        values = {name: value for name, value in own.items() if value is not None}
        if len(values) < len(own):
            left = ", ".join(name for name in own if name not in values)
            reason = f"what it leaves to its shapes ({left}) is written as MuJoCo combines them"
            writer.notes.rewrite("contact pair", what, reason)
        add(
            writer.section("contact"),
            "pair",
            name=None if pair.auto_label else writer.name("contact pair", pair.label, index),
            geom1=ends[0],
            geom2=ends[1],
            **(_combined(shapes[pair.shape0], shapes[pair.shape1]) | values),
            solreffriction=pair.friction_reference,
        )
        writer.notes.report.count("contact pairs")
