"""simengine: a physics engine for robotics. Hand-written CUDA C++ kernels, the same text on the CPU and on GPUs."""

from simengine.lazy import lazy_names

__version__ = "0.1.0"

_NAMES = {
    "ModelBuilder": "simengine.builder.builder",
    "Material": "simengine.builder.material",
    "ImportReport": "simengine.builder.importers.report",
    "ExportReport": "simengine.builder.exporters.report",
    "export_mjcf": "simengine.builder.exporters.mjcf.mjcf",
    "export_urdf": "simengine.builder.exporters.urdf.urdf",
    "export_usd": "simengine.builder.exporters.usd.usd",
    "Model": "simengine.model",
    "State": "simengine.state",
    "Control": "simengine.state",
    "Contacts": "simengine.state",
    "Simulation": "simengine.simulation",
    "transform": "simengine.math",
    "quat_from_axis_angle": "simengine.math",
    "quat_from_euler": "simengine.math",
    "to_numpy": "simengine.containers",
    "eval_fk": "simengine.dynamics",
    "eval_ik": "simengine.dynamics",
    "eval_mass_matrix": "simengine.dynamics",
    "eval_jacobian": "simengine.dynamics",
    "eval_inverse_dynamics": "simengine.dynamics",
    "eval_bias_force": "simengine.dynamics",
    "collide": "simengine.collision.pipeline",
    "reset": "simengine.world_reset",
    "Kernel": "simengine.runtime.kernel",
    "real": "simengine.runtime.arguments",
    "capture": "simengine.runtime.capture",
    "profile": "simengine.runtime.profiling",
    "synchronize": "simengine.runtime.devices",
    "set_num_threads": "simengine.runtime.pool",
    "get_device": "simengine.runtime.devices",
    "devices": "simengine.runtime.devices",
    "SimError": "simengine.errors",
    "AssetError": "simengine.errors",
    "ModelError": "simengine.errors",
    "UnsupportedError": "simengine.errors",
    "DeviceError": "simengine.errors",
    "KernelCompileError": "simengine.errors",
    "LaunchError": "simengine.errors",
    "CapacityError": "simengine.errors",
    "DivergenceError": "simengine.errors",
    "MissingExtraError": "simengine.errors",
}

_SUBMODULES = ("runtime", "builder", "solvers", "collision", "sensors", "viewers", "usd", "errors", "schema", "enums")

_LATER = ("Tape", "envs", "interop")

__getattr__, __dir__ = lazy_names(__name__, _NAMES, _SUBMODULES, _LATER)
