"""World launches: one kernel over all batch groups of a model, prepared once and given its arguments at each call."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from simengine.runtime import modes
from simengine.runtime.kernel import Kernel
from simengine.runtime.launch import PreparedLaunch

PLAIN = (False, False)
"""Neither debug nor poison."""


def lanes_for(count: int) -> int:
    """Lanes that work one world on a GPU: about as many as it has of what its kernel loops over."""
    return next((lanes for lanes in (4, 8, 16) if count <= lanes), 32)


class WorldLaunch:
    """A kernel that works the worlds of a model, one launch for each batch group.

    ``name`` of the kernel, and ``memory`` of the one that tells how much scratch a world needs; ``kernels``: for each
    group what gives a kernel of its form by name; ``lanes`` of each group on a GPU; ``label`` in a profile;
    ``constants``: arguments that stay the same; ``block``: threads of a block on a GPU, else as many as are held;
    ``many``: worlds that a group of lanes takes at a time, for each batch group: one, unless given.

    The first call prepares the launches and checks their arguments; later calls exchange those that are other objects,
    so that a thousand states cost no more than two. A container (State, Control, Contacts) takes the place of another
    unchecked: the caller has made sure that it is of this model (simengine/checks.py). The arguments of the last call
    are kept alive. A graph keeps those that it captured.

    Launches and their scratch exist once for each mode (debug, poison) and calling thread, whatever the arguments. So
    threads may each use a stream of their own; in one thread, runs of one WorldLaunch on two streams must not overlap.
    """

    def __init__(
        self,
        model,
        name: str,
        memory: str,
        kernels: Sequence[Callable[[str], Kernel]],
        lanes: Sequence[int],
        label: str | None = None,
        constants: Mapping | None = None,
        block: int | None = None,
        many: Sequence[int] | None = None,
    ):
        self.name, self.memory, self.label, self.block = name, memory, label or name, block
        self._constants = dict(constants or {})
        self._groups = list(zip(model.groups, kernels, lanes, many or [1] * len(lanes), strict=True))
        self._own = threading.local()

    def modules(self) -> list[tuple[Kernel, int]]:
        """What has to be compiled for it: a kernel of each module, and lanes."""
        return [(kernel(self.name), lanes) for _, kernel, lanes, _ in self._groups]

    def __call__(self, **arguments) -> None:
        """Run it; ``arguments`` by the names of the kernel's parameters, all but the constants and ``topology``."""
        prepared, mode = self._own.__dict__, (modes.debug, modes.poison) if modes.special else PLAIN
        if mode not in prepared:
            prepared[mode] = ([self._prepare(*group, arguments) for group in self._groups], dict(arguments))
        launches, last = prepared[mode]
        for name, argument in arguments.items():
            if argument is not last[name]:
                for launch in launches:
                    launch.exchange(name, argument)
                last[name] = argument
        for launch in launches:
            launch()

    def _prepare(
        self, group, kernel: Callable[[str], Kernel], lanes: int, many: int, arguments: dict
    ) -> PreparedLaunch:
        return kernel(self.name).prepare(
            {"topology": group, **self._constants, **arguments},
            worlds=-(-len(group.worlds) // many),
            lanes=lanes,
            **group.scratch_bytes(kernel(self.memory), lanes),
            block=self.block,
            label=self.label,
        )


def launch_of(model, name: str, memory: str, kernel: Callable[[str], Kernel], over: str, label: str) -> WorldLaunch:
    """The launch of a kernel of general form over a model's worlds: made once, and kept by the model.

    ``over``: the count of a batch group that its lanes share out; the rest as for ``WorldLaunch``.
    """
    found = model.launches.get(name)
    if found is None:
        lanes = [lanes_for(group.counts()[over]) for group in model.groups]
        found = WorldLaunch(model, name, memory, [kernel] * len(lanes), lanes, label, {"model": model})
        model.launches[name] = found
    return found


def compile_together(model, launches: Sequence[WorldLaunch]) -> None:
    """Compile the kernels of launches that are to follow each other at the same time, rather than each at its first
    call. While a mode is on (``modes.special``), which may want other forms of them, that is left to the calls."""
    if modes.special:
        return
    modules = dict.fromkeys(module for launch in launches for module in launch.modules())
    with ThreadPoolExecutor(max_workers=4) as threads:
        compiled = [
            threads.submit(kernel.compile_into_cache, model.device, model.precision, lanes) for kernel, lanes in modules
        ]
    for module in compiled:
        module.result()
