"""``simengine run``: a robot or scene from a file, on the ground, for some seconds."""

from __future__ import annotations

import itertools
import math
import time
import warnings
from contextlib import nullcontext

import numpy as np

import simengine as sim
from simengine.builder.importers.zero_pose import ZeroPose, is_driven
from simengine.builder.mechanisms import SceneOptions
from simengine.cli_checks import check_run
from simengine.cli_files import find_robot, format_of, read_into
from simengine.containers import to_numpy
from simengine.enums import JointType, ShapeType
from simengine.errors import ModelError, printable
from simengine.placement import deepest, has_colliding_shape, reach, stance
from simengine.progress import Progress

CLEARANCE = 0.001
"""m: between the ground and the lowest point of a robot that was given no height."""
DRIVE_FREQUENCY, SUBSTEPS = 5.0, 4
"""Hz of the drives, and steps in a frame, where neither the user nor the file says."""
DEFAULT_STEPS = {"mjcf": 0.002}
"""s: the step of a format whose files leave it out, but mean one."""
MOST_SUBSTEPS, LONG = 10_000, 10**6
"""Steps in a frame that a file may ask for, and steps of a run of which the user is told."""
INTEGRATORS = {"euler": "euler", "implicit": "implicit", "implicitfast": "implicit"}
"""The solver's integrator for the file's word; others take the solver's own."""
LOOK_INTERVAL = 0.1
"""s: about how often the status of the worlds is read and the bar moved on."""
MOST_INSIDE = 0.01
"""m that a robot may begin inside the ground without a word."""
MOST_SUNK, MOST_TILT = 0.1, math.radians(10)
"""Share of its height that a robot may sink, and rad that it may lean, before more drive frequency is advised."""


def run(options) -> int:
    """Simulate as the options of the command line say; returns the exit code."""
    check_run(options)
    if options.threads:
        sim.set_num_threads(options.threads)
    builder, scene, frequency = _build(options)
    substeps = _substeps(scene, options)
    _tell_length(round(options.seconds / options.dt), substeps)
    model = builder.finalize(device=options.device, precision=options.precision, seed=options.seed)
    _warn_of_depth(model)
    if options.floating and not options.no_ground and not has_colliding_shape(model):
        warnings.warn("no shape of the robot collides: it falls through the ground", stacklevel=1)
    solver = sim.solvers.Featherstone(model, unsupported="warn", **_solver_options(scene, options, frequency))
    simulation = sim.Simulation(model, solver, options.dt, substeps)
    _add_noise(simulation, options.noise, options.seed)
    with _recorder(model, options) as recorder:
        simulation.recorder = recorder
        try:
            _simulate(simulation, options.seconds)
        except KeyboardInterrupt:
            raise KeyboardInterrupt(_how_far(simulation, options.seconds, recorder)) from None
        if not (options.floating and not options.no_ground and _tell_stance(simulation, frequency)):
            _tell_heaviest(simulation)
        if recorder is not None:
            print(
                f"writing {recorder.path}: {recorder.frame_count} frames of {_counted(len(recorder.worlds), 'world')}"
            )
    return 0


def _build(options) -> tuple[sim.ModelBuilder, SceneOptions, float | None]:
    """The worlds, what the file asks of a simulation, and the frequency of the drives (None: none were added)."""
    robot, frequency = _read(options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of the robot: the model that is simulated says it again
        standing = robot.finalize(device="cpu", precision="float64")
    template = sim.ModelBuilder(up_axis=robot.up_axis, gravity=robot.gravity)
    template.merge_builder(robot, xform=_place(standing, options))
    builder = sim.ModelBuilder(up_axis=robot.up_axis, gravity=robot.gravity)
    builder.replicate(template, options.worlds, spacing=_spacing(standing))
    has_ground = any(shape.type == ShapeType.PLANE and shape.body < 0 for shape in template.shapes)
    if not (options.no_ground or has_ground):
        builder.add_ground_plane()
    return builder, robot.options, frequency


def _read(options) -> tuple[sim.ModelBuilder, float | None]:
    """The file in a builder, with drives that hold its pose unless it has its own; and their frequency."""
    robot = sim.ModelBuilder()
    if options.floating and format_of(find_robot(options.file)) != "urdf":
        reason = "has no effect: it is for URDF, and this file says itself whether its root moves freely"
        warnings.warn(f"--floating {reason}", stacklevel=1)
    report = read_into(robot, options.file, options, floating=options.floating)
    if not robot.bodies:
        warnings.warn(f"{printable(options.file)} holds no bodies: nothing moves", stacklevel=1)
    print(report.summary())
    frequency = options.drive_frequency
    if not any(is_driven(joint.dofs) for joint in robot.joints):
        print("no drives: no joint can have one")
        return robot, None
    if frequency is None and any(dof.target_ke or dof.target_kd for joint in robot.joints for dof in joint.dofs):
        print("the drives are those of the file (--drive-frequency)")
        return robot, None
    frequency = DRIVE_FREQUENCY if frequency is None else frequency
    if frequency:
        ZeroPose(robot).set_drives(frequency)
    print(f"drives hold the initial pose at {frequency:g} Hz (--drive-frequency)" if frequency else "no drives")
    return robot, frequency or None


def _solver_options(scene: SceneOptions, options, frequency: float | None) -> dict:
    """Integrator and cone as the user says, else as the file says, else the solver's own.

    Drives that were added are stiffer than what the file was made for, so with them a file's integrator is not taken.
    """
    chosen = {}
    integrator = options.integrator or (None if frequency else INTEGRATORS.get(scene.integrator or ""))
    if scene.integrator and not options.integrator:
        why = ", for the drives" if frequency else ""
        print(f"the file asks for the integrator {scene.integrator}: {integrator or 'implicit'}{why} (--integrator)")
    if integrator:
        chosen["integrator"] = integrator
    if scene.cone:
        chosen["cone"] = scene.cone
    if scene.impratio:
        chosen["impratio"] = scene.impratio
    return chosen


def _substeps(scene: SceneOptions, options) -> int:
    """Steps in a frame: as given, else so many that a step is no longer than the file's."""
    if options.substeps:
        return options.substeps
    default = DEFAULT_STEPS.get(format_of(find_robot(options.file)))
    step = scene.dt or default
    if not step:
        return SUBSTEPS
    count = max(1, math.ceil(options.dt / step - 1e-9))
    whose = "the file's step" if scene.dt else "the format's step, where a file says none,"
    if count > MOST_SUBSTEPS:
        reason = f"{whose} is {step:g} s: {count:,} steps in a frame of {options.dt:.3g} s"
        advice = "say how many there shall be (--substeps), or give a shorter frame (--dt)"
        raise ModelError(f"{reason}; {advice}", element=printable(options.file))
    print(f"{count} steps in a frame, since {whose} is {step:g} s (--substeps)")
    return count


def _tell_length(frames: int, substeps: int) -> None:
    if frames * substeps > LONG:
        print(f"{frames * substeps:,} steps are to come: {frames:,} frames of {_counted(substeps, 'step')}")


def _place(standing: sim.Model, options) -> np.ndarray:
    """The pose at which the robot is put into its world."""
    if options.xform is not None:
        return sim.transform(options.xform[:3], options.xform[3:] or (0, 0, 0, 1))
    height = options.height
    if height is None and format_of(find_robot(options.file)) != "urdf":
        return sim.transform()
    if height is None:
        lowest = reach(standing, (0, 0, -1))
        height = 0.0 if lowest is None else lowest + CLEARANCE
        print(f"the root link is {height:.3f} m high, so that the robot just clears the ground (--height)")
    return sim.transform((0, 0, height))


def _spacing(standing: sim.Model) -> float:
    """m between the worlds as viewers show them: half as much again as the robot is wide."""
    sides = [[reach(standing, sign * axis) for sign in (1, -1)] for axis in np.eye(3)[:2]]
    return 0.5 + 1.5 * max((sum(both) for both in sides if None not in both), default=1.0)


def _add_noise(simulation: sim.Simulation, amplitude: float, seed: int) -> None:
    """Move the initial hinges and sliders of all worlds but the first, each by numbers of its own, within limits."""
    if not amplitude:
        return
    model = simulation.model
    joints = np.flatnonzero(np.isin(to_numpy(model.joint_type), (JointType.REVOLUTE, JointType.PRISMATIC)))
    coords, dofs = to_numpy(model.joint_q_start)[joints], to_numpy(model.joint_qd_start)[joints]
    bounds = np.searchsorted(coords, to_numpy(model.world_coord_start))  # of each world's part of ``coords``
    q = to_numpy(simulation.state.joint_q).astype(float)
    moved = q[coords]
    for world, (start, end) in enumerate(itertools.pairwise(bounds)):
        if world:
            random = np.random.Generator(np.random.Philox(key=(seed, world)))
            moved[start:end] += random.uniform(-amplitude, amplitude, end - start)
    lower, upper = (to_numpy(getattr(model, f"joint_limit_{side}"))[dofs] for side in ("lower", "upper"))
    first = bounds[1]
    q[coords[first:]] = np.clip(moved, lower, upper)[first:]
    simulation.state.joint_q = model.device.asarray(q.astype(model.precision))
    sim.eval_fk(model, simulation.state)


def _recorder(model: sim.Model, options):
    if options.record is None:
        return nullcontext()
    shown = min(options.worlds, options.record_worlds)
    if shown < options.worlds:
        print(f"recording the first {shown} of {options.worlds} worlds (--record-worlds)")
    return sim.viewers.UsdRecorder(options.record, model, frames_per_second=1 / options.dt, worlds=range(shown))


def _simulate(simulation: sim.Simulation, seconds: float) -> None:
    frames = round(seconds / simulation.dt)
    worlds, device = simulation.model.world_count, simulation.model.device
    with Progress(frames, "simulating") as bar:
        began = time.perf_counter()
        _advance(simulation, 1, bar)
        first = time.perf_counter() - began
        at_once, began = 1, time.perf_counter()
        while simulation.frame_count < frames:
            before = time.perf_counter()
            _advance(simulation, min(at_once, frames - simulation.frame_count), bar)
            at_once = _frames_at_once(at_once, time.perf_counter() - before)
        elapsed = time.perf_counter() - began
    steps = (frames - 1) * simulation.substeps * worlds
    speed = f", the others {elapsed:.2f} s: {steps / elapsed:,.0f} steps per second" if steps else ""
    simulated = f"simulated {frames * simulation.dt:.3g} s of {_counted(worlds, 'world')} on {device}"
    print(f"{simulated}; the first frame took {first:.2f} s{speed}")


def _how_far(simulation: sim.Simulation, seconds: float, recorder) -> str:
    """What an interrupted run has come to."""
    recorded = f"; {recorder.path} holds {_counted(recorder.frame_count, 'frame')}" if recorder is not None else ""
    return f"after {simulation.frame_count * simulation.dt:.2f} of {seconds:g} s{recorded}"


def _warn_of_depth(model: sim.Model) -> None:
    """Say of a robot that begins inside the ground how deep it is: contacts throw it out."""
    found = deepest(model)
    if found is not None and found.depth > MOST_INSIDE:
        shape, plane = (repr(model.shape_label[i]) for i in found[:2])
        reason = f"the robot begins {found.depth:.3g} m inside the ground (shape {shape} in {plane}) and is thrown out"
        warnings.warn(f"{reason}; put it higher with --height or --xform", stacklevel=1)


def _tell_heaviest(simulation: sim.Simulation) -> None:
    """Print where the heaviest body of the first world that is not fixed to it ended, and how fast."""
    model, state = simulation.model, simulation.state
    mass = to_numpy(model.body_mass)[: int(to_numpy(model.world_body_start)[1])].astype(float)
    held = (to_numpy(model.joint_type) == JointType.FIXED) & (to_numpy(model.joint_parent) < 0)
    fixed = to_numpy(model.joint_child)[held]
    mass[fixed[fixed < len(mass)]] = 0
    if not mass.any():
        return
    body = int(mass.argmax())
    height, speed = float(to_numpy(state.body_q)[body, 2]), float(np.linalg.norm(to_numpy(state.body_qd)[body, :3]))
    print(f"the heaviest body, {model.body_label[body]!r}, ended {height:.3f} m high, at {speed:.3g} m/s")


def _tell_stance(simulation: sim.Simulation, frequency: float | None) -> bool:
    """Print how the first robot ended compared with its start; advise stiffer drives where it sank or leans much.

    False: it has no stance to tell of.
    """
    found = stance(simulation.model, simulation.state)
    if found is None:
        return False
    side = "lower" if found.sunk >= 0 else "higher"
    print(
        f"the root link ended {abs(found.sunk):.3f} m {side} than in the start pose on the ground, "
        f"tilted by {math.degrees(found.tilt):.0f} degrees"
    )
    if frequency and (found.sunk > MOST_SUNK * found.height or found.tilt > MOST_TILT):
        warnings.warn(
            "the robot sags or falls. The stiffness of a drive comes from the inertia that its joint moves, not from "
            f"the weight that rests on it: try --drive-frequency {2 * frequency:g}",
            stacklevel=1,
        )
    return True


def _advance(simulation: sim.Simulation, frames: int, bar: Progress) -> None:
    """Step, and wait for the outcome; raises where a world went wrong."""
    simulation.step(frames)
    simulation.check()
    bar.advance(frames)


def _frames_at_once(count: int, took: float) -> int:
    """Frames to step before the next look at the worlds, where ``count`` took so many seconds."""
    if took < 0.5 * LOOK_INTERVAL:
        return 2 * count
    return max(1, count // 2) if took > 2 * LOOK_INTERVAL else count


def _counted(number: int, thing: str) -> str:
    return f"{number} {thing}" + ("" if number == 1 else "s")
