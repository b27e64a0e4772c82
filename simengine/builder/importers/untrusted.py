"""Reading a file in a process of its own: what crashes, hangs or eats memory there is an AssetError here.

``python -m simengine.builder.importers.untrusted`` is that process. It is given a request on its standard input and
writes a result to its standard output, both as ``exchange`` encodes them; nothing is unpickled on either side. The
result is checked against the classes of the builder, compiled, and then merged as any import is.

POSIX limits the memory and the processor time of the process, and everything that it started is killed with it. Windows
has no such limit of memory; there the wall-clock time alone is limited, which holds everywhere.
"""

from __future__ import annotations

import importlib
import math
import os
import signal
import subprocess
import sys
import threading
import time
import traceback
import warnings
from pathlib import Path

from simengine import errors
from simengine.builder.elements import Elements
from simengine.builder.importers.exchange import ExchangeError, decode, encode, matches
from simengine.builder.importers.options import ChildLimits, check_kind
from simengine.builder.importers.report import ImportReport
from simengine.builder.template import compile_template
from simengine.errors import AssetError, ModelError, SimError, warn_user

POSIX = os.name == "posix"
KILLED = -9 if POSIX else 1
"""Code of a process that was ended by us, which may happen to one that has answered and is about to end."""

STDERR_BYTES = 1 << 16  # kept of what the process says
LAST_WORDS = 300  # characters of it in a message
ERRORS = ("AssetError", "MissingExtraError", "ModelError", "UnsupportedError")
ERROR_FIELDS = ("file", "line", "prim_path", "element", "package", "extra", "solver", "property", "elements",
                "alternatives")  # fmt: skip
WARNINGS = {"UserWarning": UserWarning, "RuntimeWarning": RuntimeWarning, "DeprecationWarning": DeprecationWarning}


def import_untrusted(builder, reader: str, source, options: dict) -> ImportReport:
    """Read ``source`` by the importer ``reader`` ("module:function") in another process, and merge what it read.

    Args:
        builder: the ModelBuilder.
        source: path of the file.
        options: those of the importer, without ``untrusted``; ``untrusted_limits`` (ChildLimits) caps the process.

    Raises:
        AssetError: the file is refused; or the process ended without a result, was stopped at a limit, or wrote
            something else.
        ModelError, MissingExtraError, UnsupportedError: as the importer raises them.
    """
    options = dict(options)
    limits = options.pop("untrusted_limits", None)
    check_kind("untrusted_limits", limits, ChildLimits)
    limits = limits or ChildLimits()
    if not isinstance(source, str | os.PathLike):
        raise ModelError(f"is {source!r}; with untrusted=True it must be a path", element="import, path")
    file = os.fspath(source)
    try:
        request = encode(_request(builder, reader, file, options, limits))
    except ExchangeError as error:
        raise ModelError(f"an option cannot be given to another process: {error}", element="import") from None
    answer = _Child(file, limits).ask(request)
    try:
        result = decode(answer)
        if not isinstance(result, dict):
            raise ExchangeError("it is no result")
        return _take(builder, file, result)
    except ExchangeError as error:
        raise AssetError(f"the process that read it wrote no result: {error}", file=file) from None


def _request(builder, reader: str, file: str, options: dict, limits: ChildLimits) -> dict:
    return {
        "reader": reader,
        "file": file,
        "options": {name: _sendable(value) for name, value in options.items()},
        "limits": limits,
        "up_axis": builder.up_axis,
        "gravity": builder._given_gravity,
        "default_material": builder.default_material,
        "default_joint": builder.default_joint,
        "default_density": builder.default_density,
    }


def _sendable(value):
    """Paths, alone or in a list, as texts."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    return [_sendable(part) for part in value] if isinstance(value, list | tuple) else value


def _take(builder, file: str, result: dict) -> ImportReport:
    """Raise the error, or repeat the warnings and merge the elements, that the process sent."""
    match result:
        case {"error": str() as kind, "message": str() as message, "fields": dict() as fields} if kind in ERRORS:
            known = {name: value for name, value in fields.items() if name in ERROR_FIELDS}
            raise errors._again(getattr(errors, kind), (message,), known)
        case {"elements": Elements() as elements, "report": ImportReport() as report, "warnings": told} if matches(
            told, list[tuple[str, str]]
        ):
            pass
        case _:
            raise ExchangeError("it is neither a robot nor an error")
    scratch = type(builder)(up_axis=builder.up_axis)
    scratch._elements = elements
    gravity = result.get("gravity")
    try:
        if gravity is not None:
            scratch.gravity = gravity
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the user's own finalize says it again
            compile_template(elements, (), scratch.gravity)
    except (ModelError, TypeError, ValueError, LookupError, AttributeError, ArithmeticError) as error:
        raise AssetError(f"the process that read it sent what is no robot: {error}", file=file) from None
    offsets = builder.merge_builder(scratch)
    if builder._given_gravity is None and gravity is not None:
        builder.gravity = scratch.gravity
    report.bodies = {name: at + offsets.body if at >= 0 else at for name, at in report.bodies.items()}
    report.joints = {name: at + offsets.joint for name, at in report.joints.items()}
    report.shapes = [at + offsets.shape for at in report.shapes]
    for category, message in told:
        warn_user(message, WARNINGS.get(category, UserWarning))
    return report


class _Child:
    """The process, from its start to its end."""

    def __init__(self, file: str, limits: ChildLimits):
        self.file, self.limits = file, limits
        self.answer, self.words = bytearray(), bytearray()
        self.too_much = False

    def ask(self, request: bytes) -> bytes:
        """Start the process, give it the request, and return its answer; AssetError where there is none."""
        deadline = time.monotonic() + self.limits.seconds
        try:
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", __name__],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=_environment(),
                start_new_session=POSIX,
            )
        except OSError as error:
            raise self._error(f"it cannot be started: {error}") from None
        pipes = [
            threading.Thread(target=work, args=(process, *more), daemon=True)
            for work, *more in ((_give, request), (self._read_answer,), (self._read_words,))
        ]
        answering = pipes[1]
        try:
            for pipe in pipes:
                pipe.start()
            # its end closes the pipe, which nothing that it starts holds open; until it is collected below, its number
            # is its own, and so is that of its group
            answering.join(max(0.0, deadline - time.monotonic()))
            late = answering.is_alive()
        finally:
            _kill(process)
        for pipe in pipes:
            pipe.join(5.0)
        if late:
            raise self._error(f"it took more than {self.limits.seconds:g} s and was stopped")
        if self.too_much:
            raise self._error(f"it answered with more than {self.limits.answer_bytes} bytes and was stopped")
        if not self.answer or process.returncode not in (0, KILLED):
            raise self._error(self._end(process.returncode))
        return bytes(self.answer)

    def _error(self, reason: str) -> AssetError:
        return AssetError(
            f"reading it in a process of its own failed: {reason}; untrusted_limits=ChildLimits(...) sets the limits, "
            "and untrusted=False reads it without such a process",
            file=self.file,
        )

    def _read_answer(self, process) -> None:
        with process.stdout as stream:
            while not self.too_much and (part := stream.read1(1 << 20)):
                self.answer += part
                self.too_much = len(self.answer) > self.limits.answer_bytes

    def _read_words(self, process) -> None:
        with process.stderr as stream:
            while part := stream.read1(1 << 16):
                self.words = (self.words + part)[-STDERR_BYTES:]

    def _end(self, code: int) -> str:
        """What the end of the process says."""
        text = self.words.decode("utf-8", "replace").strip()
        if "MemoryError" in text or "bad_alloc" in text:
            return f"it needs more than the {self.limits.memory_bytes} bytes that it may use"
        lines = text.splitlines()
        last = repr(lines[-1][:LAST_WORDS]) if lines else "nothing"
        if code < 0:
            name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
            return f"it crashed ({name}; its last words: {last})"
        return f"it ended with code {code} (its last words: {last})"


def _environment() -> dict[str, str]:
    """The modules of this process, none of the working folder, which may be a stranger's; libraries of one thread."""
    here = os.getcwd()
    package = str(Path(errors.PACKAGE).parent)
    folders = [package, *(folder for folder in sys.path if os.path.isabs(folder) and folder not in (here, package))]
    threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    return {**os.environ, **threads, "MALLOC_ARENA_MAX": "2", "PYTHONPATH": os.pathsep.join(folders)}


def _give(process, request: bytes) -> None:
    try:
        process.stdin.write(request)
        process.stdin.close()
    except OSError:
        pass  # it ended before it read all: its end tells


def _kill(process) -> None:
    """End the process and all that it started."""
    try:
        if POSIX:
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    except (ProcessLookupError, PermissionError):
        pass  # all have ended
    process.wait()


# ---- the other process


def main() -> None:
    """Answer one request."""
    answer = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what libraries print is no part of the answer
    request = decode(sys.stdin.buffer.read())
    _limit(request["limits"])
    try:
        result = _read(request)
    except SimError as error:
        result = _described(error)
    answer.write(encode(result))
    answer.close()


def _limit(limits: ChildLimits) -> None:
    if not POSIX:
        return
    import resource

    seconds = math.ceil(limits.seconds) + 1
    for name, most in (("RLIMIT_AS", limits.memory_bytes), ("RLIMIT_CPU", seconds), ("RLIMIT_CORE", 0)):
        kind = getattr(resource, name)
        _, hard = resource.getrlimit(kind)
        most = int(most) if hard == resource.RLIM_INFINITY else min(int(most), hard)
        resource.setrlimit(kind, (most, most))


def _read(request: dict) -> dict:
    from simengine.builder.builder import ModelBuilder

    module, _, name = request["reader"].partition(":")
    reader = getattr(importlib.import_module(module), name)
    builder = ModelBuilder(up_axis=request["up_axis"], gravity=request["gravity"])
    builder.default_material, builder.default_joint = request["default_material"], request["default_joint"]
    builder.default_density = request["default_density"]
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        report = reader(builder, request["file"], **request["options"])
    return {
        "elements": builder._elements,
        "report": report,
        "gravity": builder._given_gravity,
        "warnings": [(warning.category.__name__, str(warning.message)) for warning in told],
    }


def _described(error: SimError) -> dict:
    """An error as the other side raises it again: of the nearest class that it knows."""
    kind = next((one.__name__ for one in type(error).__mro__ if one.__name__ in ERRORS), None)
    if kind is None:
        raise error
    fields = {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in vars(error).items()
        if value is None or isinstance(value, str | int | tuple)
    }
    return {"error": kind, "message": str(error), "fields": fields}


if __name__ == "__main__":
    try:
        main()
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)  # without waiting for what a library may have left running
