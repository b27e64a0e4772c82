"""Simulation: steps a model by whole frames, captured in a graph, with checks, files and a recorder."""

from __future__ import annotations

import operator
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from simengine.checks import require_container
from simengine.collision.pipeline import collide
from simengine.containers import to_numpy
from simengine.errors import ModelError
from simengine.fixed import Fixed
from simengine.runtime import modes
from simengine.runtime.capture import Graph, capture
from simengine.solvers.base import checked_dt
from simengine.solvers.status import Status
from simengine.state import Control, State


class Simulation(Fixed):
    """A model, its solver, and the state that they advance.

    Parameters
    ----------
    model: the Model.
    solver: a solver of this model. Its first step warns of what ``solver.advise`` says.
    dt: s, the time of one frame.
    substeps: solver steps of ``dt / substeps`` in each frame.
    contacts: a Contacts of the model (``model.contacts()``), to which the contacts of each step and their forces are
        written, for ``ContactSensor`` and your own code; None: the solver finds them by itself, with the same bits.
    recorder: what gets every frame by ``recorder.write(state, seconds)``, such as ``sim.viewers.UsdRecorder``; may
        be set later. The first frame that it gets is the one before the next step.

    ``state`` is the same State throughout and holds the last frame after each ``step``; it may be written, or
    ``sim.reset``, between steps, and ``control`` likewise. To set one of the two copies what it is given into it, so
    ``simulation.state = sim.State.load(model, path)`` goes on from there. All else but ``recorder`` is given to the
    constructor and stays: to set it raises AttributeError. ``frame_count``: frames stepped by this object.
    """

    _free = ("state", "control", "recorder")

    def __init__(self, model, solver, dt: float, substeps: int = 1, *, contacts=None, recorder=None):
        if getattr(solver, "model", None) is not model:
            raise ModelError(
                "belongs to another model or is none; make it for this model", element="Simulation, solver"
            )
        if contacts is not None:
            require_container("Simulation", "contacts", contacts, "contacts", model)
        dt, substeps = checked_dt(solver.name, dt), _whole(substeps, "substeps", 1)
        self._set(model=model, solver=solver, dt=dt, substeps=substeps, contacts=contacts, recorder=recorder)
        self._frame_count = 0
        self._state, self._control, self._other = model.state(), model.control(), model.state()
        self._pair = [self._state, self._other]  # the first holds the last step
        self._steps_of_graph = substeps if model.device.is_cuda else 1  # on the CPU a launch lasts as long as it runs
        self._graphs: list[Graph] = []
        self._kernel_changes: int | None = None  # that the graphs were captured at

    @property
    def state(self) -> State:
        """The last frame. To set it copies a State, of this model or of one with the same structure."""
        return self._state

    @state.setter
    def state(self, state: State) -> None:
        self._pair[0].assign(state)  # a recorder may set it amid a call of step

    @property
    def control(self) -> Control:
        """What drives the steps to come. To set it copies a Control, as with ``state``."""
        return self._control

    @control.setter
    def control(self, control: Control) -> None:
        self._control.assign(control)

    @property
    def frame_count(self) -> int:
        """Frames stepped by this object."""
        return self._frame_count

    @property
    def time(self) -> np.ndarray:
        """Simulated time of each world (worlds,) float64 in s, since its start or last reset. Waits for the device."""
        return to_numpy(self.state.time).copy()

    def step(self, frames: int = 1) -> None:
        """Advance by ``frames`` frames. A GPU may still be at work when this returns (``sim.synchronize``).

        The first call captures a frame (on the CPU a step) in a graph, which later ones replay; it is captured anew
        when the solver has changed over to faster kernels. With SIMENGINE_DEBUG=1 every kernel is launched by itself
        and checked. Ctrl-C takes effect between two frames, on the CPU between two steps too: the state is that of a
        whole step, which ``time`` tells.
        """
        frames = _whole(frames, "frames", 0)
        modes.refuse_while_capturing("Simulation.step was called")
        pair = self._pair
        try:
            with _interrupts_between() as interrupt:
                for _ in range(frames):
                    self._step_frame(pair, interrupt)
                    interrupt()
        finally:
            if pair[0] is not self._state:
                pair.reverse()
                self._state.assign(pair[1])

    def _step_frame(self, pair: list[State], interrupt: Callable[[], None]) -> None:
        """One frame from ``pair[0]``; afterwards ``pair[0]`` is the state that holds the result."""
        if self.recorder is not None and not self.recorder.frame_count:
            self.recorder.write(pair[0], self._frame_count * self.dt)
        if not modes.debug:
            self._make_graphs()
        for step in range(0, self.substeps, 1 if modes.debug else self._steps_of_graph):
            if step:
                interrupt()
            if modes.debug:
                self._launch_step(pair)
            else:
                self._replay(pair)
        object.__setattr__(self, "_frame_count", self._frame_count + 1)  # the rule's time shows in a small frame
        if self.recorder is not None:
            self.recorder.write(pair[0], self._frame_count * self.dt)

    def _launch_step(self, pair: list[State]) -> None:
        if self.contacts is not None:
            collide(self.model, pair[0], self.contacts, self.dt / self.substeps)
        self.solver.step(*pair, self._control, self.contacts, self.dt / self.substeps)
        pair.reverse()

    def _replay(self, pair: list[State]) -> None:
        self._graphs[pair[0] is not self._state].launch()
        if self._steps_of_graph % 2:
            pair.reverse()

    def _make_graphs(self) -> None:
        """Graphs of the kernels that the solver uses now."""
        if not self._graphs:
            self._prepare_launches()
        if self._kernel_changes != self.solver.kernel_changes:
            self._kernel_changes = self.solver.kernel_changes
            self._graphs = self._capture()

    def _prepare_launches(self) -> None:
        """Compile and allocate, which must come before a capture: step forth and back once, and put the state back."""
        kept, pair = self._state.copy(), [self._state, self._other]
        try:
            for _ in range(2):
                self._launch_step(pair)
        finally:
            self._state.assign(kept)

    def _capture(self) -> list[Graph]:
        """A graph from ``state`` on; where it is of an odd number of steps, one from the other state too."""
        pair, graphs = [self._state, self._other], []
        for _ in range(1 + self._steps_of_graph % 2):
            with capture(self.model.device) as graph:
                for _ in range(self._steps_of_graph):
                    self._launch_step(pair)
            graphs.append(graph)
        return graphs

    def check(self, on_problem: str = "raise") -> Status:
        """What went wrong in which world, as ``solver.check``: raises DivergenceError or CapacityError, or warns."""
        return self.solver.check(self._state, on_problem)

    def save(self, path: str | os.PathLike) -> None:
        """Write the state to an .npz file, from which ``load`` resumes bit for bit. Control is not in it."""
        self._state.save(path)

    def load(self, path: str | os.PathLike) -> None:
        """Go on from a file of ``save``. Raises AssetError for a damaged file, ModelError for one of another model."""
        self.state = State.load(self.model, path)


def _whole(value, name: str, lowest: int) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        number = lowest - 1
    if number < lowest or isinstance(value, bool):
        raise ModelError(f"is {value!r}; it must be a whole number, {lowest} or more", element=f"Simulation, {name}")
    return number


@contextmanager
def _interrupts_between() -> Iterator[Callable[[], None]]:
    """Hold Ctrl-C back within the block; the function given lets one take effect that came meanwhile.

    Python runs handlers in the main thread alone, so in others there is nothing to hold back; nor is there where the
    handler was not set by Python.
    """
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGINT) is None:
        yield lambda: None
        return
    came: list[tuple] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: came.append((number, frame)))

    def deliver() -> None:
        if came:
            number, frame = came.pop()
            if callable(before):
                before(number, frame)
            elif before != signal.SIG_IGN:
                raise KeyboardInterrupt

    try:
        yield deliver
    finally:
        signal.signal(signal.SIGINT, before)
        deliver()
