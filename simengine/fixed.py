"""Objects whose options are given to the constructor and stay."""

from __future__ import annotations

from simengine.errors import did_you_mean


class Fixed:
    """Refuses to have its public attributes set: prepared launches, captured graphs and trees hold what they were made
    of, so what is set later would be ignored without a word.

    A constructor, and a method that changes such an attribute, does so by ``_set``. ``_free``: public names that may be
    set, properties with a setter among them. Arrays may be written in place.
    """

    _free: tuple[str, ...] = ()

    def _set(self, **fields) -> None:
        """Set public attributes, past the rule of ``__setattr__``."""
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value) -> None:
        if name.startswith("_") or name in self._free:  # private ones first: they are set while stepping
            object.__setattr__(self, name, value)
            return
        if name in self.__dict__ and self.__dict__[name] is value:  # the end of an in-place operation
            return
        known = [key for key in (*dir(type(self)), *self.__dict__) if not key.startswith("_")]
        added = self.__dict__.get("_added", frozenset())  # by a user's own subclass
        if name in added or (name not in known and not type(self).__module__.startswith("simengine.")):
            object.__setattr__(self, "_added", added | {name})
            object.__setattr__(self, name, value)
            return
        rule = "options are given to the constructor and stay"
        problem = "cannot be set" if name in known else f"is unknown{did_you_mean(name, known)}"
        raise AttributeError(f"{type(self).__name__}.{name} {problem}; {rule}")
