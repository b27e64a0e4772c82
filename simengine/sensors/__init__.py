"""Sensors: what measures a state without changing it."""

from simengine.lazy import lazy_names

_NAMES = dict.fromkeys(("Camera", "RayCaster", "RayHits", "lidar"), "simengine.sensors.ray_caster")

__all__ = ["Camera", "RayCaster", "RayHits", "lidar"]

__getattr__, __dir__ = lazy_names(__name__, _NAMES)
