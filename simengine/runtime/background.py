"""Compiles kernels in child processes while this one goes on.

Children rather than threads: NVRTC cannot be interrupted, and a process that ends while one of its threads compiles
crashes. A child can be ended at any time. What it makes lies in the cache, where all find it.
"""

from __future__ import annotations

import atexit
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from simengine.errors import SimError
from simengine.runtime import build, cache, nvrtc, pool

MOST_AT_ONCE = max(1, min(4, pool.default_threads() // 2))
"""Children that compile at the same time: half of the processors are left to what goes on."""

_running: set[Compilation] = set()


def find_compiled(text: str, arch: str) -> Path | None:
    """The compiled form of a text for ``arch`` ("cpu" or a GPU's, such as "sm_90") if it is there, else None."""
    return build.find_compiled(text) if arch == "cpu" else nvrtc.find_compiled(text, arch)


def running() -> int:
    """How many children of this process are compiling."""
    for compilation in list(_running):
        compilation.poll()
    return len(_running)


class Compilation:
    """The compilation of one text by a child; it begins at once. ``error``: the compiler's words where it failed.

    ``kernel`` and ``label`` as in build.compile_text. When ``poll`` sees it end, it is logged and counted in a profile.
    """

    def __init__(self, text: str, kernel: str, arch: str, label: str | None = None):
        self.text, self.kernel, self.arch, self.label = text, kernel, arch, label or kernel
        self.error: str | None = None
        self._start()

    def _start(self) -> None:
        self._owner = os.getpid()
        self._process = self._folder = None
        try:
            self._process = self._begin()
        except OSError as error:  # no room, no right to write, too many processes
            self.error = f"no process could be started to compile it: {error}"
            self._clean_up()
            return
        _running.add(self)

    def _begin(self) -> subprocess.Popen:
        """The child, given its text and its job in a folder of its own."""
        self._folder = Path(tempfile.mkdtemp(prefix=cache.work_prefix(), dir=cache.folder()))
        (self._folder / "text").write_text(self.text, encoding="utf-8")
        job = {
            "kernel": self.kernel,
            "label": self.label,
            "arch": build.architecture() if self.arch == "cpu" else self.arch,
        }
        (self._folder / "job").write_text(json.dumps(job), encoding="utf-8")
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
            "SIMENGINE_CACHE_DIR": str(cache.folder()),
        }
        with open(self._folder / "log", "wb") as log:
            return subprocess.Popen(
                [sys.executable, "-P", "-m", "simengine.runtime.background", str(self._folder)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self._folder,
                env=environment,
                process_group=0,  # ended together with the compiler that it calls, and not by Ctrl-C
            )

    def poll(self) -> bool:
        """Whether it has ended, with or without an error. After a fork the new process compiles for itself."""
        if self._process is None:
            return True
        if self._owner != os.getpid():
            _running.discard(self)
            self._start()
            return self._process is None
        if self._process.poll() is None:
            return False
        if find_compiled(self.text, self.arch) is None:
            ended = f"the process that compiled it ended with code {self._process.returncode}"
            self.error = self._words("log") or ended
        elif seconds := self._words("seconds"):
            build.note_compilation(self.label, self.arch, float(seconds))
        self._clean_up()
        return True

    def _words(self, name: str) -> str:
        """What the child wrote into a file of its folder; nothing where that is gone."""
        try:
            return (self._folder / name).read_text(encoding="utf-8", errors="replace").strip()
        except OSError:
            return ""

    def stop(self) -> None:
        """End it where it is this process's own."""
        if self._process is not None and self._owner == os.getpid():
            if self._process.poll() is None:
                os.killpg(self._process.pid, signal.SIGTERM)
                self._process.wait()
            self._clean_up()

    def _clean_up(self) -> None:
        _running.discard(self)
        self._process = None
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)


@atexit.register
def _stop_all() -> None:
    for compilation in list(_running):
        compilation.stop()


def main(folder: Path) -> int:
    """The child: compiles the text in ``folder`` into the cache; says what went wrong on the error output."""
    job = json.loads((folder / "job").read_text(encoding="utf-8"))
    text = (folder / "text").read_text(encoding="utf-8")
    started = time.perf_counter()
    try:
        if job["arch"] in build.ARCHITECTURES:
            # so that the compiler's folder is removed
            signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(1))
            build.compile_text(text, job["kernel"], job["arch"], job["label"])
        else:
            nvrtc.compile_text(text, job["kernel"], job["arch"], label=job["label"])
    except (SimError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    (folder / "seconds").write_text(str(time.perf_counter() - started))
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
