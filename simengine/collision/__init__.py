"""Collision: where shapes touch, and space queries on their own."""

from simengine.lazy import lazy_names

_NAMES = {
    "collide": "simengine.collision.pipeline",
    "shape_distance": "simengine.collision.distance",
    "shape_bounds": "simengine.collision.bounds",
    "Bvh": "simengine.collision.bvh",
    "Mesh": "simengine.collision.mesh",
    "HashGrid": "simengine.collision.hash_grid",
    "SDF": "simengine.collision.sdf",
    "sort_pairs": "simengine.collision.sort",
    "exclusive_scan": "simengine.collision.sort",
    "compact": "simengine.collision.sort",
}

__getattr__, __dir__ = lazy_names(__name__, _NAMES)
