"""``sim.capture``: launches are recorded, not run, and replayed together. On a GPU it is a CUDA graph."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from simengine.errors import LaunchError, callsite
from simengine.fixed import Fixed
from simengine.runtime import modes
from simengine.runtime.devices import Device, get_device


class Graph(Fixed):
    """Recorded launches. ``launch`` runs them in order; ``device`` is where; ``len`` is how many there are."""

    def __init__(self, device: Device):
        self._set(device=device)
        self._launches: list = []
        self._replay = None
        self._thread = threading.get_ident()

    def launch(self) -> None:
        """Run what was captured; a GPU works on while this returns, on CuPy's current stream."""
        if self._replay is None:
            raise LaunchError(
                "the graph is not complete: launch it after its capture has ended without an error", site=callsite()
            )
        modes.refuse_while_capturing("a graph was launched")
        if modes.profile is not None:
            modes.profile.time_launch("graph", self.device, self._replay)
        else:
            self._replay()

    def record(self, launch) -> None:
        """Take up one prepared launch; called by launches while the capture is on."""
        if threading.get_ident() != self._thread:
            raise LaunchError(
                "another thread launched a kernel within sim.capture: capture in one thread at a time", site=callsite()
            )
        if launch.device != self.device:
            raise LaunchError(
                f"the kernel runs on {launch.device}, the capture is on {self.device}",
                kernel=launch.kernel.name,
                site=callsite(),
            )
        kept = launch.frozen()
        self._launches.append(kept)
        self._take_up(kept)

    def __len__(self) -> int:
        return len(self._launches)

    def _take_up(self, launch) -> None:
        raise NotImplementedError

    def _recording(self):
        raise NotImplementedError


class CpuGraph(Graph):
    """Launches with the arguments that they had when they were recorded."""

    def _take_up(self, launch):
        pass

    @contextmanager
    def _recording(self):
        yield
        self._replay = self._run_all

    def _run_all(self) -> None:
        for launch in self._launches:
            launch.run_recorded()


class GpuGraph(Graph):
    """A CUDA graph, recorded on a stream of its own. It keeps the launches, and so their arrays, alive."""

    def _take_up(self, launch):
        launch.enqueue()

    @contextmanager
    def _recording(self):
        cupy = self.device.array_module
        with self.device.context():
            self.device.synchronize()  # what was given to other streams comes before
            stream = cupy.cuda.Stream(non_blocking=True)
            with stream, cupy.cuda.using_allocator(_refuse_memory):
                stream.begin_capture()
                try:
                    yield
                finally:
                    graph = stream.end_capture()
        self._replay = graph.launch


def _refuse_memory(size: int):
    raise LaunchError(
        f"an array of {size} bytes was made within sim.capture: make it before the capture", site=callsite()
    )


@contextmanager
def capture(device: str | Device | None = None) -> Iterator[Graph]:
    """Record launches on ``device``: ``with sim.capture(model.device) as graph: ...``, then ``graph.launch()``.

    Nothing runs within the block. Arrays keep their identity: a replay reads and writes the same arrays, whatever
    they hold by then. Scalars such as dt are frozen. Making an array within the block, launching on another device,
    from another thread or a graph, and a capture within a capture raise LaunchError. On the CPU plain NumPy
    operations within the block are not recorded: they run at once.
    """
    device = get_device(device)
    graph = GpuGraph(device) if device.is_cuda else CpuGraph(device)
    with modes.capturing(graph), graph._recording():
        yield graph
