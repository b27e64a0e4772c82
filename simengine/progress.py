"""What tells a waiting person that work goes on: a bar and a note; silent where nobody looks."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Iterator
from typing import TextIO

WIDTH = 30
LEAST_INTERVAL = 0.1  # s between two drawings
PATIENCE = 2.0  # s without a word


def has_reader(stream: TextIO | None) -> bool:
    """Whether a person sees what ``stream`` is given: a terminal, or the standard error of an interactive session."""
    if stream is None or getattr(stream, "closed", False):
        return False
    if getattr(stream, "isatty", lambda: False)():
        return True
    return stream is sys.stderr and hasattr(sys, "ps1")  # notebooks set ps1 too


@contextlib.contextmanager
def note_if_long(text: str, stream: TextIO | None = None, patience: float = PATIENCE) -> Iterator[None]:
    """Write ``text`` as a line on ``stream`` (default standard error) if the block takes longer than ``patience``, s,
    and a person looks."""
    out = sys.stderr if stream is None else stream
    timer = threading.Timer(patience, lambda: print(text, file=out, flush=True))
    timer.daemon = True
    if has_reader(out):
        timer.start()
    try:
        yield
    finally:
        timer.cancel()


class Progress:
    """A bar of ``total`` units: ``with Progress(total, "simulating") as bar: bar.advance(n)``.

    Draws on ``stream`` (default standard error), and only where a person looks; it is wiped at the end.
    """

    def __init__(self, total: int, label: str, stream: TextIO | None = None):
        self.total, self.label, self.done = total, label, 0
        self._stream = sys.stderr if stream is None else stream
        self._shown = has_reader(self._stream)
        self._started = time.perf_counter()
        self._drawn = -LEAST_INTERVAL

    def advance(self, units: int = 1) -> None:
        """Count ``units`` more as done."""
        self.done += units
        elapsed = time.perf_counter() - self._started
        if self._shown and elapsed - self._drawn >= LEAST_INTERVAL:
            self._drawn = elapsed
            self._stream.write(f"\r{self.text(elapsed)}\x1b[K")
            self._stream.flush()

    def text(self, elapsed: float) -> str:
        """The bar as text, ``elapsed`` seconds after its start."""
        share = min(self.done / self.total, 1.0) if self.total else 1.0
        filled = int(share * WIDTH)
        left = f", {elapsed * (1 - share) / share:.0f} s left" if share > 0 else ""
        return f"{self.label} [{'#' * filled}{'-' * (WIDTH - filled)}] {share:4.0%}{left}"

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *error) -> None:
        if self._shown:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
