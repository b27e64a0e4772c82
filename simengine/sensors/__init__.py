"""Sensors: what measures a state without changing it."""

from simengine.lazy import lazy_names

_NAMES = dict.fromkeys(("Camera", "RayCaster", "RayHits", "lidar"), "simengine.sensors.ray_caster")
_NAMES |= dict.fromkeys(("ContactReadings", "ContactSensor"), "simengine.sensors.contact_sensor")

__all__ = ["Camera", "ContactReadings", "ContactSensor", "RayCaster", "RayHits", "lidar"]

__getattr__, __dir__ = lazy_names(__name__, _NAMES)
