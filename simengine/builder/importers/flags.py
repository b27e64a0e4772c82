"""MuJoCo's flags that turn off a part of the physics: that part is taken out of what a file holds."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import TYPE_CHECKING

from simengine.builder.importers.report import Place

if TYPE_CHECKING:
    from simengine.builder.elements import Elements
    from simengine.builder.importers.front import Import

OLDER = {"passive": ("spring", "damper")}
"""Flags of older MuJoCo, and those that took their place."""

CONSTRAINTS = ("contact", "limit", "frictionloss", "equality")
"""What the flag "constraint" is for, all together."""

TURNS_OFF = {
    "contact": "shapes do not collide, contact pairs are left out",
    "limit": "joints and tendons have no limits",
    "frictionloss": "joints and tendons have no dry friction",
    "equality": "equalities are not active",
    "constraint": "no collisions, limits, dry friction and equalities",
    "spring": "joints and tendons have no stiffness",
    "damper": "joints and tendons have no damping",
    "passive": "joints and tendons have no stiffness and damping",
    "gravity": "gravity is zero",
}
"""What a file says that disables each of them."""

UNSIMULATED = {
    "actuation": "actuators are not simulated",
    "clampctrl": "actuators are not simulated",
    "sensor": "sensors are not simulated",
    "refsafe": "time constants are raised to two time steps all the same",
    "eulerdamp": "the integrator takes damping at the end of the step all the same",
    "autoreset": "worlds that diverge are reported, and not reset, all the same",
    "nativeccd": "pairs of shapes have routines of our own",
    "multiccd": "pairs of shapes have routines of our own",
    "override": "contact parameters are those of the shapes and pairs",
    "sleep": "bodies do not sleep",
    "diagexact": "regularisation is by inverse weights of the bodies",
    "ipc": "contacts are without barriers",
    "speculative": "fast bodies are followed in a way of our own",
}
"""Why each of these flags changes nothing here; the others change no result in MuJoCo either."""

OFF_BY_DEFAULT = ("override", "energy", "fwdinv", "invdiscrete", "sleep", "diagexact", "ipc", "speculative")
"""Flags that do something when they are enabled; all others do when they are disabled."""


def turn_off(job: Import, disabled: Mapping[str, Place]) -> None:
    """Take out of the scratch builder what flags disable, and note how much that was; ``disabled``: with their places.

    Gravity is the importer's own matter.
    """
    for flag, place in disabled.items():
        count = 0
        for element, name, off in _switches(job.scratch, flag):
            count += getattr(element, name) != off
            setattr(element, name, off)
        if flag in ("contact", "constraint"):
            count += len(job.scratch.contact_pairs)
            job.scratch.contact_pairs.clear()
        if count:
            values = "one value" if count == 1 else f"{count} values"
            job.notes.note("ignored", f"flag '{flag}'", place, f"disabled, so {TURNS_OFF[flag]}: {values} of the file")


def holds(flag: str, elements: Elements, gravity) -> bool:
    """Whether a scene as a whole is as a disabled flag makes it: a file says so of all that it holds."""
    if flag == "gravity":
        return not any(gravity)
    if flag in ("contact", "constraint") and elements.contact_pairs:
        return False
    return all(getattr(element, name) == off for element, name, off in _switches(elements, flag))


def _switches(elements, flag: str) -> list[tuple[object, str, object]]:
    """What a flag turns off, if anything: each element, its field, and the value of that when it is off."""
    if flag == "constraint":
        return [switch for each in CONSTRAINTS for switch in _switches(elements, each)]
    joints = elements.joints
    parts = [*(dof for joint in joints for dof in joint.dofs), *elements.tendons]
    if flag == "limit":
        fields = {"limit_lower": -inf, "limit_upper": inf}
        of_balls = {"angle_limit": inf, "swing_limit": (inf, inf), "twist_limit": (-inf, inf)}
        return [(part, *one) for part in parts for one in fields.items()] + [
            (joint, *one) for joint in joints for one in of_balls.items()
        ]
    if flag == "contact":
        return [(shape, "collides", False) for shape in elements.shapes]
    if flag == "equality":
        return [(each, "active", False) for each in (*elements.equalities, *elements.tendon_equalities)]
    fields = {"frictionloss": "friction", "spring": "stiffness", "damper": "damping"}
    return [(part, fields[flag], 0.0) for part in parts] if flag in fields else []
