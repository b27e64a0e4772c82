"""The errors of simengine. A message says what happened, where, and what to do; attributes hold the same as data."""

from __future__ import annotations

import difflib
import os
import sys
import warnings
from pathlib import Path

SPOKEN_WITH_A_VOWEL = ("sdf", "hfield", "ndarray")

PACKAGE = str(Path(__file__).resolve().parent)


def callsite() -> str:
    """File and line of the call that led into simengine; empty where there is none."""
    frame = _user_frame()[0]
    return "" if frame is None else f"{os.path.abspath(frame.f_code.co_filename)}:{frame.f_lineno}"


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """A warning that points at the call that led into simengine."""
    warnings.warn(message, category, stacklevel=_user_frame()[1])


def _user_frame():
    """The innermost frame outside the package, and how many it is out from the caller, who is 1."""
    frame, out = sys._getframe(1), 1
    while frame is not None:
        file = os.path.abspath(frame.f_code.co_filename)
        if not file.startswith(PACKAGE + os.sep) and not file.endswith(("contextlib.py", "functools.py")):
            break
        frame, out = frame.f_back, out + 1
    return frame, out


class SimError(Exception):
    """What all errors of simengine derive from. With SIMENGINE_DEBUG=1 each carries the user's call as a note."""

    def __init__(self, message=""):
        super().__init__(message)
        if os.environ.get("SIMENGINE_DEBUG", "") not in ("", "0") and (site := callsite()):
            self.add_note(f"called at {site}")

    def __reduce__(self):  # an error made in a child process keeps its message and its data
        return _again, (type(self), self.args, dict(self.__dict__))


def _again(kind, args, fields) -> SimError:
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(fields)
    return error


class AssetError(SimError):
    """A file from outside cannot be read: which file, where in it, which element.

    Attributes: ``file`` (str), ``line`` (int or None), ``prim_path`` (str or None), ``element`` (str or None).
    """

    def __init__(self, message, *, file=None, line=None, prim_path=None, element=None):
        self.file, self.line, self.prim_path, self.element = file, line, prim_path, element
        place = "" if file is None else printable(file)
        if line is not None:
            place += f":{line}"
        if prim_path is not None:
            place += f" <{prim_path}>"
        what = f"{element}: {message}" if element else message
        super().__init__(f"{place}: {what}" if place else what)


class ModelError(SimError):
    """A model, a state or an argument is not what it must be: ``element`` names it, the message says how to mend it."""

    def __init__(self, message, *, element=None):
        self.element = element
        super().__init__(f"{element}: {message}" if element else message)


class UnsupportedError(SimError):
    """A solver was asked for what it does not do.

    Attributes: ``solver``, ``property`` (str), ``elements`` and ``alternatives`` (tuples of str; the latter are
    the solvers that support the property).
    """

    def __init__(self, message, *, solver=None, property=None, elements=(), alternatives=()):
        self.solver, self.property = solver, property
        self.elements, self.alternatives = tuple(elements), tuple(alternatives)
        text = f"{solver}: {message}" if solver else message
        if self.elements:
            text += f" (on {shortened(self.elements)})"
        if self.alternatives:
            text += f"; supported by {', '.join(self.alternatives)}"
        super().__init__(text)


class DeviceError(SimError):
    """A device was asked for that is not there, or that lacks something: the message says what and how to get it."""


class KernelCompileError(SimError):
    """A kernel does not compile.

    Attributes: ``kernel`` (str), ``file`` (str or None), ``line`` (int or None), ``excerpt`` and ``log`` (str: the
    source line, and the compiler's words).
    """

    def __init__(self, message, *, kernel="", file=None, line=None, excerpt="", log=""):
        self.kernel, self.file, self.line, self.excerpt, self.log = kernel, file, line, excerpt, log
        text = f"kernel {kernel}: " if kernel else ""
        if file:
            text += f"{file}:{line}: " if line else f"{file}: "
        text += message
        if excerpt:
            text += f"\n    {excerpt.strip()}"
        if log and log.strip() not in text:
            text += f"\n{log.strip()[:4000]}"
        super().__init__(text)


class LaunchError(SimError):
    """A kernel was given arguments, or a size, that it cannot run with.

    Attributes: ``kernel``, ``parameter`` (str or None), ``site`` (str: file and line of the user's call).
    """

    def __init__(self, message, *, kernel="", parameter=None, site=""):
        self.kernel, self.parameter, self.site = kernel, parameter, site
        text = f"kernel {kernel}" if kernel else "launch"
        if parameter:
            text += f", parameter {parameter}"
        text += f": {message}"
        if site:
            text += f" (called at {site})"
        super().__init__(text)


class CapacityError(SimError):
    """A buffer is too small. Attributes: ``buffer`` (str), ``needed``, ``had`` (int)."""

    def __init__(self, message, *, buffer="", needed=None, had=None):
        self.buffer, self.needed, self.had = buffer, needed, had
        sizes = "" if needed is None else f" (needed {needed}, had {had})"
        super().__init__(f"{buffer}: {message}{sizes}" if buffer else message + sizes)


class DivergenceError(SimError):
    """A world holds numbers that are not finite, or did not converge.

    Attributes: ``worlds`` (tuple of int), ``step`` (int or None: the step at which the first of the worlds reported
    something first), ``element`` (body or particle), ``quantity`` (str).
    """

    def __init__(self, message, *, worlds=(), step=None, element=None, quantity=None):
        self.worlds, self.step, self.element, self.quantity = tuple(worlds), step, element, quantity
        super().__init__(message)


class MissingExtraError(SimError, ImportError):
    """A package outside the core is needed; the message holds the command that installs it."""

    def __init__(self, package, extra, purpose):
        self.package, self.extra = package, extra
        super().__init__(f'{purpose} needs the package {package}: pip install "simengine[{extra}]"')


def printable(path) -> str:
    """A path as it is; in quotes, with escapes, where it holds a line break or another control character."""
    text = str(path)
    return text if text.isprintable() else repr(text)


def shortened(names, limit=5) -> str:
    """The first few names of many, and how many more there are."""
    names = [str(name) for name in names]
    more = len(names) - limit
    return ", ".join(names[:limit]) + (f" and {more} more" if more > 0 else "")


def with_article(name: str) -> str:
    """A name behind "a" or "an", as it is spoken: an ellipsoid, an int, an SDF."""
    return f"{'an' if name[:1].lower() in 'aeio' or name.lower() in SPOKEN_WITH_A_VOWEL else 'a'} {name}"


def did_you_mean(name, known) -> str:
    """A hint for a misspelt name: ``; did you mean 'x'?``, or nothing where none is close."""
    close = difflib.get_close_matches(str(name), [str(k) for k in known], n=1, cutoff=0.66)
    return f"; did you mean {close[0]!r}?" if close else ""
