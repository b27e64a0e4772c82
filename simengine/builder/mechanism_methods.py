"""The part of ModelBuilder for contact pairs and for what is not simulated yet: tendons, actuators, sensors, ..."""

from __future__ import annotations

from collections import Counter

from simengine.builder.mechanisms import (
    KEPT,
    Actuator,
    ContactPair,
    Deformable,
    Keyframe,
    SceneOptions,
    Sensor,
    Tendon,
    TendonEquality,
)
from simengine.builder.validate import check_kept
from simengine.errors import ModelError, did_you_mean, warn_user
from simengine.values import numbers

UNNOTICED = ("sensors", "keyframes", "contact_pairs")
"""Elements that a model has, or that change nothing in how it moves."""


class MechanismMethods:
    """Methods of ModelBuilder, which gives ``_elements``, ``_template_elements``, ``_label`` and ``_append``."""

    @property
    def tendons(self) -> list[Tendon]:
        """The tendons of this builder's own world; kept, not simulated."""
        return self._elements.tendons

    @property
    def actuators(self) -> list[Actuator]:
        """The actuators of this builder's own world; kept, not simulated."""
        return self._elements.actuators

    @property
    def sensors(self) -> list[Sensor]:
        """The sensors of this builder's own world; kept, not evaluated."""
        return self._elements.sensors

    @property
    def keyframes(self) -> list[Keyframe]:
        """The named states of this builder's own world."""
        return self._elements.keyframes

    @property
    def contact_pairs(self) -> list[ContactPair]:
        """Pairs of shapes that may touch whatever filters say, with parameters of their own."""
        return self._elements.contact_pairs

    @property
    def deformables(self) -> list[Deformable]:
        """Cables, cloth and soft bodies; kept, not simulated."""
        return self._elements.deformables

    @property
    def tendon_equalities(self) -> list[TendonEquality]:
        """Equalities between the lengths of tendons; kept, not simulated."""
        return self._elements.tendon_equalities

    @property
    def options(self) -> SceneOptions:
        """What the files read so far ask of a simulation."""
        return self._elements.options

    @property
    def custom(self) -> tuple[tuple[str, object], ...]:
        """(name, value) pairs that files hold for their users."""
        return self._elements.custom

    @custom.setter
    def custom(self, pairs) -> None:
        self._elements.custom = tuple((str(name), value) for name, value in pairs)

    def add_tendon(self, label: str | None = None, **fields) -> int:
        """Add a tendon, which is kept and not simulated; ``fields``: those of ``mechanisms.Tendon``."""
        return self._keep("tendon", Tendon, label, fields)

    def add_tendon_equality(self, tendon0: int, label: str | None = None, **fields) -> int:
        """Hold the length of a tendon; ``fields``: those of ``mechanisms.TendonEquality``, kept and not simulated."""
        return self._keep("tendon equality", TendonEquality, label, {"tendon0": tendon0} | fields)

    def add_actuator(self, transmission: str, target: int, label: str | None = None, **fields) -> int:
        """Add an actuator, which is kept and not simulated; ``fields``: those of ``mechanisms.Actuator``."""
        return self._keep("actuator", Actuator, label, {"transmission": transmission, "target": target} | fields)

    def add_sensor(self, kind: str, label: str | None = None, **fields) -> int:
        """Add a sensor, which is kept and not evaluated; ``fields``: those of ``mechanisms.Sensor``."""
        return self._keep("sensor", Sensor, label, {"kind": kind} | fields)

    def add_keyframe(self, label: str | None = None, **fields) -> int:
        """Add a named state; ``fields``: those of ``mechanisms.Keyframe``."""
        return self._keep("keyframe", Keyframe, label, fields)

    def add_contact_pair(self, shape0: int, shape1: int, label: str | None = None, **fields) -> int:
        """Let two shapes touch whatever filters say; ``fields``: those of ``mechanisms.ContactPair``.

        The index is that of the pair's entries in the ``contact_pair_*`` rows of a model of one world, and is found in
        ``contacts.parameter``. Raises ModelError for shapes that do not exist, are one, do not collide or are a pair
        already, and for values out of their range.
        """
        return self._keep("contact pair", ContactPair, label, {"shape0": shape0, "shape1": shape1} | fields)

    def add_deformable(self, kind: str, vertices, elements, label: str | None = None, **fields) -> int:
        """Add a cable, cloth or soft body, which is kept and not simulated: see ``mechanisms.Deformable``."""
        vertices = tuple(numbers(point, 3, "deformable, vertex") for point in vertices)
        elements = tuple(tuple(int(i) for i in element) for element in elements)
        return self._keep(
            "deformable", Deformable, label, {"kind": kind, "vertices": vertices, "elements": elements} | fields
        )

    def _keep(self, singular: str, kind: type, label: str | None, fields: dict) -> int:
        self._require_one_world(singular)
        label, auto = self._label(singular, label)
        known = [name for name in kind.__dataclass_fields__ if name not in ("label", "auto_label")]
        for name in fields:
            if name not in known:
                raise ModelError(f"has no {name!r}{did_you_mean(name, known)}", element=f"{singular} {label!r}")
        element = kind(label, auto, **fields)
        check_kept(element, singular, self._elements)
        (plural,) = (plural for plural, name in KEPT.items() if name == singular)
        return self._append(singular, getattr(self._elements, plural), element)

    def _warn_of_kept(self) -> None:
        """One warning for all that a model has no place for yet."""
        counts = Counter()
        for elements in (self._elements, *(elements for elements, _ in self._template_elements)):
            counts.update({kind: len(getattr(elements, kind)) for kind in KEPT if kind not in UNNOTICED})
        kept = [f"{count} {kind.replace('_', ' ')}" for kind, count in counts.items() if count]
        if kept:
            warn_user(f"the model leaves out what is not simulated yet: {', '.join(kept)}")
