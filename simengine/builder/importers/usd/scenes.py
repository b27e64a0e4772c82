"""PhysicsScene prims: gravity, and what they ask of a simulation."""

from __future__ import annotations

import math

import numpy as np

from simengine.builder.importers.flags import OFF_BY_DEFAULT, OLDER, UNSIMULATED
from simengine.builder.importers.front import Import
from simengine.builder.importers.usd.attributes import row_of
from simengine.builder.importers.usd.reading import PrimPlace, Reader
from simengine.builder.values import AXES

EARTH = 9.81  # m/s2
ASKING = tuple(f"mjc:option:{name}" for name in ("density", "viscosity", "wind", "noslip_iterations"))
"""Options that ask for what is not simulated, unless they are zero."""

SWITCHES = ("newton:gravityEnabled", "mjc:flag:gravity")
GRAVITY = ("physics:gravityMagnitude", "physics:gravityDirection", *SWITCHES)


def read_scenes(job: Import, reader: Reader, prims: list, up_axis: str) -> dict[str, PrimPlace]:
    """Set gravity and ``builder.options`` by the first scene; the others are noted. Returns the flags that it disables,
    with their places.

    Where it says nothing of gravity, or there is none, the builder's stays: so the order of files does not matter.
    """
    scenes = [prim for prim in prims if str(prim.GetTypeName()) == "PhysicsScene"]
    if not scenes:
        _leave_gravity(job, reader.place("/"), "there is no PhysicsScene")
        return {}
    first = scenes[0]
    gravity = _gravity(reader, first, up_axis)
    if any(reader.raw(first, name) is not None for name in GRAVITY):
        job.set_gravity(gravity, reader.place(first), up_axis)
    else:
        _leave_gravity(job, reader.place(first), "the scene says nothing of it")
    _read_options(job, reader, first)
    job.scratch.options.turn(job.base(up_axis)[3:])
    for prim in scenes[1:]:
        other = _gravity(reader, prim, up_axis)
        same = np.allclose(other, gravity, rtol=1e-6, atol=1e-6)
        reason = f"gravity and options are those of {first.GetPath()}" + ("" if same else ", and its gravity differs")
        job.notes.note("warned", "another PhysicsScene", reader.place(prim), reason)
    return {flag: reader.place(first, f"mjc:flag:{flag}") for flag in job.scratch.options.disabled}


def _leave_gravity(job: Import, place: PrimPlace, reason: str) -> None:
    vector = ", ".join(f"{x:g}" for x in job.builder.gravity)
    job.notes.note("defaulted", "gravity", place, f"the builder's own, ({vector}) m/s2: {reason}")


def _gravity(reader: Reader, prim, up_axis: str) -> np.ndarray:
    """Gravity (3,) in m/s2, in the axes of the stage: that of the earth, down, where the scene does not say."""
    strength = reader.number(prim, "physics:gravityMagnitude", EARTH, infinite=True)
    direction = reader.vector(prim, "physics:gravityDirection", 3)
    if math.isinf(strength) and strength > 0.0:
        raise reader.place(prim, "physics:gravityMagnitude").error("is inf; it must be finite")
    if strength < 0.0:
        strength = EARTH
    if not all(reader.flag(prim, name, True) for name in SWITCHES):
        strength = 0.0
    if direction is None or not direction.any():
        direction = -np.array(AXES[up_axis])
    return strength * direction / np.linalg.norm(direction)


def _read_options(job: Import, reader: Reader, prim) -> None:
    options = job.scratch.options
    rate = reader.number(prim, "physxScene:timeStepsPerSecond", 0.0)
    rate = reader.number(prim, "newton:timeStepsPerSecond", rate)
    if rate > 0.0:
        options.dt = 1.0 / rate
    if (step := reader.number(prim, "mjc:option:timestep", 0.0)) > 0.0:
        options.dt = step
    iterations = reader.number(prim, "newton:maxSolverIterations", -1.0)
    iterations = reader.number(prim, "mjc:option:iterations", iterations)
    if iterations >= 0.0:
        options.iterations = int(iterations)
    for name in ("integrator", "cone"):
        if word := reader.word(prim, f"mjc:option:{name}", ""):
            setattr(options, name, word)
    for name in ("impratio", "tolerance"):
        if (value := reader.number(prim, f"mjc:option:{name}", 0.0)) > 0.0:
            setattr(options, name, value)
    _read_others(options, reader, prim)


def _read_others(options, reader: Reader, prim) -> None:
    """The medium; the remaining mjc:option:* as texts, and mjc:flag:* as names of flags."""
    known = ("timestep", "iterations", "integrator", "cone", "impratio", "tolerance")
    medium = ("density", "viscosity")
    vectors = ("wind", "magnetic")
    enabled, disabled, other = [], [], []
    for attribute in prim.GetAuthoredAttributes():
        name = attribute.GetName()
        word = name.rpartition(":")[2]
        if name.startswith("mjc:flag:"):
            is_on = reader.flag(prim, name, True)
            (enabled if is_on else disabled).extend(OLDER.get(word, (word,)))
            if word in UNSIMULATED and is_on == (word in OFF_BY_DEFAULT):
                reader.notes.keep(f"flag '{word}'", reader.place(prim, name), UNSIMULATED[word])
        elif name.startswith("mjc:option:") and word in medium:
            setattr(options, word, reader.least(prim, name, 0.0))
        elif name.startswith("mjc:option:") and word in vectors:
            vector = reader.vector(prim, name, 3)
            setattr(options, word, tuple(vector.tolist()))
        elif name.startswith("mjc:option:") and word not in known:
            other.append((word, str(reader.raw(prim, name))))
        if name in ASKING and np.any(reader.raw(prim, name)):
            reader.notes.keep(f"attribute '{name}'", reader.place(prim), row_of(name).reason)
    options.enabled, options.disabled, options.other = tuple(enabled), tuple(disabled), tuple(other)
