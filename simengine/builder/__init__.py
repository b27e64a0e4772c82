"""Describing scenes: ``ModelBuilder`` and the values it takes. Names are loaded when they are asked for."""

from simengine.lazy import lazy_names

_NAMES = {
    "ModelBuilder": "simengine.builder.builder",
    "Material": "simengine.builder.material",
    "JointConfig": "simengine.builder.elements",
    "Mesh": "simengine.builder.mesh_data",
    "convex_hull": "simengine.builder.mesh_data",
    "load_mesh": "simengine.builder.meshes.files",
    "load_tetrahedra": "simengine.builder.meshes.files",
    "mesh_inertia": "simengine.builder.meshes.mass",
    "decompose": "simengine.builder.meshes.decompose",
    "ImportReport": "simengine.builder.importers.report",
}

__getattr__, __dir__ = lazy_names(__name__, _NAMES)
