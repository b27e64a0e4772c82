"""Readers that misbehave, for the tests of reading in another process: each takes the place of an importer there."""

import gc
import os
import signal
import subprocess
import sys
import time
import warnings

import simengine as sim


def aborts(builder, path, **options):
    os.abort()


def overflows_the_stack(builder, path, **options):
    import ctypes

    ctypes.string_at(0)


def exits(builder, path, **options):
    os._exit(3)


def eats_memory(builder, path, **options):
    kept = []
    while True:
        kept.append(bytearray(64 << 20))


def spins(builder, path, **options):
    while True:
        pass


def sleeps_behind_a_child(builder, path, **options):
    """Starts a process that outlives it, and ignores polite signals."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], close_fds=False)
    with open(path, "w") as file:
        file.write(str(child.pid))
    time.sleep(600)


def answers():
    """The file that main() holds for its answer."""
    return next(one for one in gc.get_objects() if type(one).__name__ == "BufferedWriter" and one.name > 2)


def writes_garbage(builder, path, **options):
    answers().write(b"\x80\x04cos\nsystem\n(S'true'\ntR." * 100)
    answers().flush()
    os._exit(0)


def sends_what_is_no_warning(builder, path, **options):
    """A robot, with warnings of another form than those of this project."""
    from simengine.builder.importers.exchange import encode

    report = sim.builder.importers.report.ImportReport(path)
    message = {"elements": builder._elements, "report": report, "gravity": None, "warnings": ["x", 5]}
    answers().write(encode(message))
    answers().flush()
    os._exit(0)


def writes_without_end(builder, path, **options):
    while True:
        answers().write(bytes(1 << 20))


def prints(builder, path, **options):
    """To the standard output, from Python and from C: no part of the answer."""
    print("simengine exchange 1")
    os.write(1, b"simengine exchange 1\n")
    builder.add_body(mass=1, inertia=(1, 1, 1), label="printed")
    return sim.builder.importers.report.ImportReport(path)


def is_wrong(builder, path, **options):
    raise KeyError("no such thing")


def refuses(builder, path, **options):
    raise sim.AssetError("is not to its liking", file=path, line=7, element="<link 'a'>")


def lacks_an_extra(builder, path, **options):
    raise sim.MissingExtraError("usd-core", "usd", "reading this")


def warns(builder, path, **options):
    warnings.warn("first", UserWarning, stacklevel=2)
    warnings.warn("second", DeprecationWarning, stacklevel=2)
    return sim.builder.importers.report.ImportReport(path)


def refers_to_what_is_not_there(builder, path, **options):
    body = builder.add_body(mass=1, inertia=(1, 1, 1), label="a")
    builder.add_joint_revolute(-1, body, label="j")
    builder.joints[0].parent = 17
    return sim.builder.importers.report.ImportReport(path)


def finds_a_module_in_the_working_folder(builder, path, **options):
    import planted

    raise sim.AssetError(f"ran {planted.__file__}", file=path)
