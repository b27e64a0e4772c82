"""Which form of its kernels a solver runs: the general one, or that for the sizes and topology of a batch group.

Both forms are one text and give the same bits. The general form is there at once; a specialised one is faster and takes
seconds to compile, which a child process does meanwhile (simengine/runtime/background.py).
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from simengine import structs
from simengine.errors import KernelCompileError, ModelError, warn_user
from simengine.runtime import background, build, modes
from simengine.runtime.kernel import Kernel

MOST_SPECIALISED = 8
"""Specialised kernels of one model."""

FEWEST_WORLDS = 4
"""Of more groups than that, one with fewer worlds keeps the general kernel."""

MOST_DOFS = 64
MOST_PAIRS = 2000
"""Degrees of freedom and pairs of shapes of a world above which a group keeps the general kernel: unrolled loops grow
with the dofs squared and tables with the pairs, and compilers take minutes for what gains little."""

CPU_DELAY = 30.0
"""s of use after which a specialised kernel is compiled for the CPU, where it takes 4 s and gains an eighth."""

CHOICES = ("auto", True, False)


@dataclass(frozen=True)
class Form:
    """One form of the kernels of a file. ``kernel(name)``: one of them."""

    kernel: Callable[[str], Kernel]
    is_specialised: bool


def specialised_form(file: str, group, constants: dict[str, int]) -> Form:
    """The form with the tables of one batch group, and further ``constants``, as constants of the text."""
    how = {"defines": {"SIM_SPECIALISED": 1, **constants}, "headers": structs.headers(group.tables)}
    return Form(functools.cache(functools.partial(Kernel, file, **how)), True)


class _Wanted:
    """A specialised form that is not compiled yet. ``text`` and ``label``: of the module that its kernels come from."""

    def __init__(self, group: int, form: Form, text: str, label: str):
        self.group, self.form, self.text, self.label = group, form, text, label
        self.compilation: background.Compilation | None = None


class Forms:
    """The form in use for each batch group of a model.

    ``kernel``: of ``file``, the one that steps. ``general``: gives a kernel of the general form by name. ``lanes``: of
    each group on a GPU. ``choice``: "auto" changes over to specialised forms when they are compiled; True compiles
    them at once and raises where that fails; False keeps the general form. ``constants``: macros of the
    specialised text.

    What the cache has is taken at once. Worlds of more than 64 degrees of freedom or 2,000 pairs of shapes keep the
    general form, whatever the choice. At most 8 forms are specialised, those of the groups with most worlds; in a model
    of more groups a group of fewer than 4 worlds keeps the general form.

    ``current``: the form of each group. ``changes``: how often that list has changed. ``waiting``: whether forms are
    still to come, so that ``poll`` is worth a call.
    """

    def __init__(
        self,
        file: str,
        kernel: str,
        general: Callable[[str], Kernel],
        model,
        lanes: Sequence[int],
        choice,
        constants: dict,
    ):
        if choice not in CHOICES:
            raise ModelError(f'specialise is {choice!r}; it is "auto", True or False')
        self._kernel, self._choice = kernel, choice if choice == "auto" else bool(choice)
        self._device, self._arch = model.device, model.device.arch
        self.current = [Form(general, False)] * len(model.groups)
        self.changes = 0
        self._wanted: list[_Wanted] = []
        if self._choice is True or (self._choice == "auto" and not modes.debug and self._has_compiler()):
            for g in chosen_groups([len(group.worlds) if _is_small(group) else 0 for group in model.groups]):
                self._want(g, specialised_form(file, model.groups[g], constants), model.precision, lanes[g])
        self._begin_at = time.monotonic() + (0 if model.device.is_cuda else CPU_DELAY)
        if self._choice is True:
            self.wait()
        elif model.device.is_cuda:
            self._begin_some()

    def _has_compiler(self) -> bool:
        try:
            return self._device.is_cuda or build.find_compiler() is not None
        except KernelCompileError as error:  # $CXX is wrong: what is prebuilt needs no compiler
            warn_user(f"kernels are not specialised: {error}", RuntimeWarning)
            return False

    def _want(self, group: int, form: Form, precision: str, lanes: int) -> None:
        text = form.kernel(self._kernel).text(precision, self._device, lanes)
        if background.find_compiled(text, self._arch) is not None:
            self.current[group] = form
        else:
            label = form.kernel(self._kernel).module_label(precision, lanes if self._device.is_cuda else None)
            self._wanted.append(_Wanted(group, form, text, label))

    @property
    def waiting(self) -> bool:
        return bool(self._wanted)

    def poll(self) -> bool:
        """Change over to what has been compiled; whether anything changed. Nothing changes while a capture is on."""
        if modes.capture is not None or time.monotonic() < self._begin_at:
            return False
        self._begin_some()
        ended = [w for w in self._wanted if w.compilation is not None and w.compilation.poll()]
        made = [w for w in ended if w.compilation.error is None]
        for wanted in made:
            self._wanted.remove(wanted)
            self.current[wanted.group] = wanted.form
        self.changes += bool(made)
        if len(made) < len(ended):
            self._give_up(next(w.compilation.error for w in ended if w not in made))
        return bool(made)

    def wait(self) -> bool:
        """Block until no form is to come; whether anything changed. Raises LaunchError while a capture is on."""
        modes.refuse_while_capturing("specialised kernels were waited for")
        self._begin_at = 0
        before = self.changes
        while self._wanted:
            self.poll()
            if self._wanted:
                time.sleep(0.005)
        return self.changes != before

    def _begin_some(self) -> None:
        for wanted in self._wanted:
            if wanted.compilation is None:
                if background.running() >= background.MOST_AT_ONCE:
                    return
                wanted.compilation = background.Compilation(wanted.text, self._kernel, self._arch, wanted.label)

    def _give_up(self, words: str) -> None:
        """Specialise nothing more: raise where the user asked for it, else warn, and go on as it is."""
        for wanted in self._wanted:
            if wanted.compilation is not None:
                wanted.compilation.stop()
        self._wanted.clear()
        message = f"the specialised form of {self._kernel} could not be compiled"
        if self._choice is True:
            raise KernelCompileError(message, kernel=self._kernel, log=words)
        warn_user(f"{message}, the general one does the work:\n{words}", RuntimeWarning)


def _is_small(group) -> bool:
    counts = group.counts()
    return counts["link_dofs"] <= MOST_DOFS and counts["pairs"] <= MOST_PAIRS


def chosen_groups(sizes: Sequence[int]) -> list[int]:
    """Indices of the batch groups that are worth a kernel of their own, from how many worlds of each might have one."""
    order = sorted((g for g in range(len(sizes)) if sizes[g]), key=lambda g: (-sizes[g], g))
    if len(sizes) > MOST_SPECIALISED:
        order = [g for g in order if sizes[g] >= FEWEST_WORLDS]
    return sorted(order[:MOST_SPECIALISED])
