"""What is said of a tendon in MuJoCo's words, which MJCF and the schemas of MjcPhysics share."""

from __future__ import annotations

import math

from simengine.builder.mechanisms import Tendon

NAMES = {
    "stiffness": "stiffness",
    "damping": "damping",
    "friction": "frictionloss",
    "armature": "armature",
    "limit_margin": "margin",
    "limit_reference": "solreflimit",
    "limit_impedance": "solimplimit",
    "friction_reference": "solreffriction",
    "friction_impedance": "solimpfriction",
    "width": "width",
}
"""MuJoCo's names of a tendon's fields."""

PLAIN = Tendon("", True)


def tendon_attributes(tendon: Tendon) -> dict:
    """What differs from the defaults, which are MuJoCo's; without the ranges."""
    values = {name: plain(getattr(tendon, field)) for field, name in NAMES.items()}
    defaults = {name: plain(getattr(PLAIN, field)) for field, name in NAMES.items()}
    result = {name: value for name, value in values.items() if value != defaults[name]}
    return result if tendon.spring_length is None else result | {"springlength": tendon.spring_length}


def tendon_ranges(tendon: Tendon) -> list[tuple[str, str, tuple[float, float]]]:
    """(flag that it holds, name, span) of each of its ranges."""
    return [
        ("limited", "range", (tendon.limit_lower, tendon.limit_upper)),
        ("actuatorfrclimited", "actuatorfrcrange", tendon.force_limit),
    ]


def is_endless(span: tuple[float, float]) -> bool:
    """Whether a range has no end, so that it says nothing."""
    return tuple(span) == (-math.inf, math.inf)


def plain(value: float | tuple) -> float | tuple:
    """Lists as tuples, so that they compare."""
    return value if isinstance(value, float | int) else tuple(value)
