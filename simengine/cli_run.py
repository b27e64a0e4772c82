"""``simengine run``: a robot from a file, on the ground, for some seconds."""

from __future__ import annotations

import math
import time
import warnings
from contextlib import nullcontext

import numpy as np

import simengine as sim
from simengine.cli_files import asset_options, find_robot
from simengine.containers import to_numpy
from simengine.enums import JointType
from simengine.errors import ModelError
from simengine.placement import reach, stance
from simengine.progress import Progress

CLEARANCE = 0.001
"""m: between the ground and the lowest point of a robot that was given no height."""
LOOK_INTERVAL = 0.1
"""s: about how often the status of the worlds is read and the bar moved on."""
MOST_SUNK, MOST_TILT = 0.1, math.radians(10)
"""Share of its height that a robot may sink, and rad that it may lean, before more drive frequency is advised."""


def run(options) -> int:
    """Simulate as the options of the command line say; returns the exit code."""
    _check(options)
    if options.threads:
        sim.set_num_threads(options.threads)
    builder = _build(options)
    model = builder.finalize(device=options.device, precision=options.precision, seed=options.seed)
    solver = sim.solvers.Featherstone(model, integrator=options.integrator, unsupported="warn")
    simulation = sim.Simulation(model, solver, options.dt, options.substeps)
    _add_noise(simulation, options.noise, options.seed)
    with _recorder(model, options) as recorder:
        simulation.recorder = recorder
        try:
            _simulate(simulation, options.seconds)
        except KeyboardInterrupt:
            raise KeyboardInterrupt(_how_far(simulation, options.seconds, recorder)) from None
        if options.floating and not options.no_ground:
            _tell_stance(simulation, options.drive_frequency)
        if recorder is not None:
            print(
                f"writing {recorder.path}: {recorder.frame_count} frames of {_counted(len(recorder.worlds), 'world')}"
            )
    return 0


def _check(options) -> None:
    for name in ("seconds", "dt"):
        value = getattr(options, name)
        if not (math.isfinite(value) and value > 0):
            raise ModelError(f"is {value!r}; give a positive number of seconds", element=f"--{name}")
    if options.seconds < options.dt:
        raise ModelError(f"is {options.seconds}, less than one frame of {options.dt:.3g} s", element="--seconds")
    if not (math.isfinite(options.drive_frequency) and options.drive_frequency >= 0):
        raise ModelError("must be a positive number of Hz, or 0 for no drives", element="--drive-frequency")
    if not (math.isfinite(options.noise) and options.noise >= 0):
        raise ModelError("must be 0 or more", element="--noise")
    if options.xform is not None and len(options.xform) not in (3, 7):
        raise ModelError(f"has {len(options.xform)} numbers; give 3 or 7", element="--xform")


def _build(options) -> sim.ModelBuilder:
    path = find_robot(options.file)
    robot = sim.ModelBuilder()
    frequency = options.drive_frequency or None
    report = robot.add_urdf(path, floating=options.floating, drive_frequency=frequency, **asset_options(options))
    print(report.summary())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of the robot: the model that is simulated says it again
        standing = robot.finalize(device="cpu", precision="float64")
    template = sim.ModelBuilder()
    template.merge_builder(robot, xform=_place(standing, options))
    builder = sim.ModelBuilder()
    builder.replicate(template, options.worlds, spacing=_spacing(standing))
    if not options.no_ground:
        builder.add_ground_plane()
    print(f"drives hold the initial pose at {frequency:g} Hz (--drive-frequency)" if frequency else "no drives")
    return builder


def _place(standing: sim.Model, options) -> np.ndarray:
    """The pose at which the robot is put into its world."""
    if options.xform is not None:
        return sim.transform(options.xform[:3], options.xform[3:] or (0, 0, 0, 1))
    height = options.height
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
    starts = to_numpy(model.world_coord_start)
    q = to_numpy(simulation.state.joint_q).astype(float)
    for world in range(1, model.world_count):
        own = (coords >= starts[world]) & (coords < starts[world + 1])
        random = np.random.Generator(np.random.Philox(key=(seed, world)))
        moved = q[coords[own]] + random.uniform(-amplitude, amplitude, int(own.sum()))
        lower, upper = (to_numpy(getattr(model, f"joint_limit_{side}"))[dofs[own]] for side in ("lower", "upper"))
        q[coords[own]] = np.clip(moved, lower, upper)
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


def _tell_stance(simulation: sim.Simulation, frequency: float) -> None:
    """Print how the first robot ended compared with its start; advise stiffer drives where it sank or leans much."""
    found = stance(simulation.model, simulation.state)
    if found is None:
        return
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
