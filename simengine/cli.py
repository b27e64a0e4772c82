"""The command ``simengine``: run, info, convert, doctor, cache.

Exit codes: 0 all well; 1 the simulation went wrong, ``doctor`` found a problem, or standard output cannot be written;
2 wrong usage, or a file that cannot be read or written; 130 interrupted.
"""

from __future__ import annotations

import argparse
import errno
import logging
import os
import sys
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from simengine import __version__
from simengine.errors import CapacityError, DivergenceError, KernelCompileError, LaunchError, SimError

WENT_WRONG, WRONG_USE, INTERRUPTED = 1, 2, 130
WRITE_ERRORS = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT, errno.EIO)
"""Of the system, when a file, pipe or terminal takes no more; those of other files name them."""
RUN_ERRORS = (DivergenceError, CapacityError, KernelCompileError, LaunchError, MemoryError)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line ``arguments`` (default ``sys.argv``) and return the exit code."""
    parser = make_parser()
    options = parser.parse_args(arguments, argparse.Namespace(debug=False))
    try:
        with _messages(options.debug):
            code = options.command(options)
            sys.stdout.flush()
            return code
    except BrokenPipeError:  # whoever read the output has gone
        _drop_output()
        return WENT_WRONG
    except KeyboardInterrupt as interrupt:
        print("interrupted", *interrupt.args, file=sys.stderr)
        return INTERRUPTED
    except (SimError, OSError, MemoryError) as error:
        if isinstance(error, OSError) and error.errno in WRITE_ERRORS and error.filename is None:  # of print
            _drop_output()
            print(f"error: standard output: cannot be written: {error.strerror}", file=sys.stderr)
            return WENT_WRONG
        if options.debug:
            traceback.print_exc()
        else:
            print(f"error: {_one_line(error)}", file=sys.stderr)
        return WENT_WRONG if isinstance(error, RUN_ERRORS) else WRONG_USE


def _drop_output() -> None:
    """Send what is left to print nowhere: a second error, at the end of the process, would be told without words."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def make_parser() -> argparse.ArgumentParser:
    """The parser of all commands; ``command`` of what it returns is the function to call."""
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument(
        "--debug", action="store_true", default=argparse.SUPPRESS, help="show the traceback of an error"
    )
    parser = argparse.ArgumentParser(
        prog="simengine", description="Physics of robots on the CPU and on GPUs.", parents=[common]
    )
    parser.add_argument("--version", action="version", version=f"simengine {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    _add_run(commands, common)
    info = _add(commands, common, "info", _info, "what a robot file holds, and how it was read")
    _add_file(info)
    convert = _add(commands, common, "convert", _convert, "write a robot file in another format")
    _add_file(convert)
    convert.add_argument(
        "output",
        help="the file to write; its ending tells the format: .urdf, .xml, .usda, .usdc. Missing folders are made; "
        "another file of that name is replaced, but never the one that is read",
    )
    _add(commands, common, "doctor", _doctor, "what this machine has, what is missing and how to mend it")
    cache = _add(commands, common, "cache", _cache, "the compiled kernels on this machine")
    cache.add_argument("action", choices=("list", "clear"))
    return parser


def _add(commands, common, name: str, function, text: str) -> argparse.ArgumentParser:
    parser = commands.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.", parents=[common])
    parser.set_defaults(command=function)
    return parser


def _add_file(command: argparse.ArgumentParser) -> None:
    command.add_argument("file", help="a URDF, MJCF or USD file, or the name of a robot that comes with simengine")
    for name, text in (
        ("--allow-path", "a folder outside the file's own in which meshes may lie; may be given again"),
        ("--package-root", "a folder that holds packages of package:// names; may be given again"),
    ):
        command.add_argument(name, action="append", default=[], metavar="DIR", help=text)
    command.add_argument("--strict", action="store_true", help="refuse a file of which anything would be ignored")
    command.add_argument(
        "--trust",
        action="store_true",
        help="read a file outside the working folder in this process, not in one of its own with limits",
    )


def _add_run(commands, common) -> None:
    run = _add(commands, common, "run", _run, "simulate a robot from a file; drives hold its initial pose")
    _add_file(run)
    scene = run.add_argument_group("scene")
    scene.add_argument("--floating", action="store_true", help="the root link of a URDF moves freely; else it is fixed")
    scene.add_argument("--worlds", type=_count, default=1, metavar="N", help="copies of the robot (default 1)")
    place = scene.add_mutually_exclusive_group()
    place.add_argument(
        "--height",
        type=float,
        metavar="M",
        help="of the root link (default: a URDF just clears the ground, others stand where the file says)",
    )
    place.add_argument(
        "--xform", type=float, nargs="+", metavar="X", help="of the root link: x y z, or x y z qx qy qz qw"
    )
    scene.add_argument(
        "--no-ground",
        action="store_true",
        help="add no ground plane at height 0 (where the file has one, none is)",
    )
    scene.add_argument(
        "--drive-frequency",
        type=float,
        metavar="HZ",
        help="stiffness of the drives that hold the pose, as a frequency (default: the file's drives, or 5; 0: none)",
    )
    scene.add_argument(
        "--noise",
        type=float,
        default=0.0,
        metavar="R",
        help="worlds after the first start with joints moved at random by at most this (rad or m)",
    )
    scene.add_argument("--seed", type=_natural, default=0, metavar="N", help="of the noise (default 0)")
    time = run.add_argument_group("time")
    time.add_argument("--seconds", type=float, default=3.0, metavar="S", help="time to simulate (default 3)")
    time.add_argument("--dt", type=float, default=1 / 60, metavar="S", help="of a frame (default 1/60)")
    time.add_argument(
        "--substeps", type=_count, metavar="N", help="steps in a frame (default: as the file's step asks, else 4)"
    )
    machine = run.add_argument_group("solver and machine")
    machine.add_argument("--solver", choices=("featherstone",), default="featherstone")
    machine.add_argument(
        "--integrator", choices=("implicit", "euler"), help="default: what the file says, else implicit"
    )
    machine.add_argument("--device", help='"cpu" or "cuda:0" (default: a GPU where there is one)')
    machine.add_argument("--precision", choices=("float32", "float64"), default="float32")
    machine.add_argument("--threads", type=_count, metavar="N", help="of the CPU (default: all)")
    output = run.add_argument_group("output")
    output.add_argument("--record", metavar="FILE", help="write all frames to a .usdc, .usda or .usd file")
    output.add_argument(
        "--record-worlds", type=_count, default=64, metavar="N", help="how many worlds, the first (default 64)"
    )


def _natural(text: str, lowest: int = 0) -> int:
    if not text.isdecimal() or not lowest <= int(text) < 2**31:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {lowest} to {2**31 - 1}")
    return int(text)


def _count(text: str) -> int:
    return _natural(text, lowest=1)


def _run(options) -> int:
    from simengine.cli_run import run

    return run(options)


def _info(options) -> int:
    from simengine.cli_info import info

    return info(options)


def _convert(options) -> int:
    from simengine.cli_convert import convert

    return convert(options)


def _doctor(options) -> int:
    from simengine.runtime.diagnosis import doctor

    findings = doctor()
    for finding in findings:
        print(finding)
    return WENT_WRONG if any(finding.good is False for finding in findings) else 0


def _cache(options) -> int:
    from simengine.runtime import cache

    if options.action == "clear":
        print(f"removed {cache.clear()} kernels from {cache.folder()}")
        return 0
    entries = cache.entries()
    for entry in entries:
        print(f"{entry['name'][:16]}  {entry['kind']}  {entry['bytes'] / 1e3:10.1f} kB  {entry['label']}")
    print(f"{len(entries)} kernels, {sum(entry['bytes'] for entry in entries) / 1e6:.1f} MB in {cache.folder()}")
    return 0


def _one_line(problem: Exception) -> str:
    """The message of an error or a warning on one line; what a compiler said is left to ``--debug``."""
    lines = str(problem).strip().splitlines() or [
        "out of memory" if isinstance(problem, MemoryError) else repr(problem)
    ]
    return lines[0] + (" (--debug shows more)" if len(lines) > 1 else "")


@contextmanager
def _messages(debug: bool) -> Iterator[None]:
    """Warnings (as single lines, or whole in ``debug``) and what the package logs, on standard error."""

    def show(message, category, filename, lineno, file=None, line=None) -> None:
        print(f"warning: {message if debug else _one_line(message)}", file=sys.stderr)

    logger, handler = logging.getLogger("simengine"), logging.StreamHandler()
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.showwarning = show
            yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)


if __name__ == "__main__":
    sys.exit(main())
