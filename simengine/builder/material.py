"""Surface material of a shape."""

from __future__ import annotations

import math
from dataclasses import dataclass

from simengine.enums import CombineMode
from simengine.errors import ModelError
from simengine.values import plain_float, written

DEFAULT_REFERENCE = (0.02, 1.0)
DEFAULT_IMPEDANCE = (0.9, 0.95, 0.001, 0.5, 2.0)
CONTACT_DIMENSIONS = (1, 3, 4, 6)
COMBINE_MODES = {mode.name.lower(): mode for mode in CombineMode}


@dataclass(frozen=True)
class Material:
    """How a surface rubs, bounces and yields.

    Compliance has two forms, of which at most one may be given: ``time_constant`` (s), ``damping_ratio`` and
    ``impedance`` (d0, dmax, width in m, midpoint, power), as in MuJoCo, default (0.02, 1, (0.9, 0.95, 0.001, 0.5, 2));
    or ``stiffness`` (N/m) with ``dissipation`` (s/m, default 0), the Hunt and Crossley factor 1 + dissipation * speed.

    Parameters
    ----------
    friction: coefficient of sliding friction.
    static_friction: coefficient while the contact slips slower than the solver's ``stiction_speed``; default friction.
    torsional, rolling: friction about the normal and about the tangents, as lengths in m (contact dimensions 4 and 6).
    restitution: speed after over speed before a bounce, 0 to 1.
    combine: "average", "minimum", "multiply", "maximum" or "mjcf"; of two materials the later in this list decides.
    priority: with "mjcf", the material of higher priority wins outright.
    contact_dim: 1 (frictionless), 3 (sliding), 4 (and torsional) or 6 (and rolling).

    Raises ModelError for a value out of its range and when both forms of compliance are given.
    """

    friction: float = 1.0
    static_friction: float | None = None
    torsional: float = 0.005
    rolling: float = 0.0001
    restitution: float = 0.0
    time_constant: float | None = None
    damping_ratio: float | None = None
    impedance: tuple | None = None
    stiffness: float | None = None
    dissipation: float | None = None
    combine: str = "average"
    priority: int = 0
    contact_dim: int = 3

    def __post_init__(self):
        reference_form = [name for name in ("time_constant", "damping_ratio", "impedance") if self._given(name)]
        si_form = [name for name in ("stiffness", "dissipation") if self._given(name)]
        if reference_form and si_form:
            raise ModelError(
                f"Material: {' and '.join(reference_form + si_form)} belong to two forms of compliance; give either "
                "time_constant, damping_ratio and impedance, or stiffness and dissipation"
            )
        if self._given("dissipation") and not self._given("stiffness"):
            raise ModelError("Material: dissipation is given without stiffness; give stiffness in N/m too")
        for name in ("friction", "static_friction", "torsional", "rolling", "dissipation"):
            self._check(name, lambda x: x >= 0, "zero or more")
        for name in ("time_constant", "damping_ratio", "stiffness"):
            self._check(name, lambda x: x > 0, "positive")
        self._check("restitution", lambda x: 0 <= x <= 1, "between 0 and 1")
        if self._given("impedance"):
            object.__setattr__(self, "impedance", checked_impedance(self.impedance, "Material: impedance"))
        if self._given("static_friction") and self.static_friction < self.friction:
            raise ModelError(
                f"Material: static_friction {self.static_friction:g} is below friction {self.friction:g}; "
                "raise it, or leave it out to make them equal"
            )
        if self.combine not in COMBINE_MODES:
            raise ModelError(f"Material: combine is {self.combine!r}; it is one of {', '.join(COMBINE_MODES)}")
        if self.contact_dim not in CONTACT_DIMENSIONS:
            raise ModelError(f"Material: contact_dim is {self.contact_dim!r}; it is one of 1, 3, 4, 6")

    def _given(self, name: str) -> bool:
        return getattr(self, name) is not None

    def _check(self, name: str, holds, wanted: str):
        value = getattr(self, name)
        if value is None:
            return
        try:
            number = plain_float(value)
        except (TypeError, ValueError):
            raise ModelError(f"Material: {name} is {written(value)}; it must be a number") from None
        if not math.isfinite(number) or not holds(number):
            raise ModelError(f"Material: {name} is {value!r}; it must be finite and {wanted}")
        object.__setattr__(self, name, number)

    def row(self) -> dict[str, object]:
        """The values of the ``shape_*`` arrays that come from the material, by array name."""
        return {
            "shape_friction": self.friction,
            "shape_static_friction": self.friction if self.static_friction is None else self.static_friction,
            "shape_torsional_friction": self.torsional,
            "shape_rolling_friction": self.rolling,
            "shape_restitution": self.restitution,
            "shape_reference": (
                DEFAULT_REFERENCE[0] if self.time_constant is None else self.time_constant,
                DEFAULT_REFERENCE[1] if self.damping_ratio is None else self.damping_ratio,
            ),
            "shape_impedance": DEFAULT_IMPEDANCE if self.impedance is None else self.impedance,
            "shape_stiffness": self.stiffness or 0.0,
            "shape_dissipation": self.dissipation or 0.0,
            "shape_combine": int(COMBINE_MODES[self.combine]),
            "shape_priority": int(self.priority),
            "shape_contact_dim": self.contact_dim,
        }


def checked_impedance(value, what: str) -> tuple[float, ...]:
    """Five numbers (d0, dmax, width, midpoint, power), of which trailing ones may be left out; ModelError otherwise."""
    try:
        given = tuple(plain_float(x) for x in value)
    except (TypeError, ValueError):
        raise ModelError(f"{what} is {written(value)}; it must be up to five numbers") from None
    if not 1 <= len(given) <= 5:
        raise ModelError(f"{what} has {len(given)} numbers; it takes d0, dmax, width, midpoint and power")
    numbers = given + DEFAULT_IMPEDANCE[len(given) :]
    d0, dmax, width, midpoint, power = numbers
    ranges = (0 <= d0 <= 1, 0 <= dmax <= 1, 0 <= width < math.inf, 0 <= midpoint <= 1, 1 <= power < math.inf)
    if not all(ranges):
        raise ModelError(
            f"{what} is {numbers}; d0, dmax and midpoint lie between 0 and 1, width is zero or more, power 1 or more"
        )
    return numbers
