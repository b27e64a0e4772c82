"""Viewers: what shows or records a simulation."""

from simengine.lazy import lazy_names

_NAMES = {"UsdRecorder": "simengine.viewers.usd_recorder"}

__all__ = ["UsdRecorder"]

__getattr__, __dir__ = lazy_names(__name__, _NAMES)
