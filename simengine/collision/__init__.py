"""Collision: where shapes touch."""

from simengine.lazy import lazy_names

_NAMES = {"collide": "simengine.collision.pipeline"}

__getattr__, __dir__ = lazy_names(__name__, _NAMES)
