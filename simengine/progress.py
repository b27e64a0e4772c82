"""A progress bar for the terminal; silent where the output is none."""

from __future__ import annotations

import sys
import time
from typing import TextIO

WIDTH = 30
LEAST_INTERVAL = 0.1  # s between two drawings


class Progress:
    """A bar of ``total`` units: ``with Progress(total, "simulating") as bar: bar.advance(n)``.

    Draws on ``stream`` (default standard error), and only where that is a terminal; it is wiped at the end.
    """

    def __init__(self, total: int, label: str, stream: TextIO | None = None):
        self.total, self.label, self.done = total, label, 0
        self._stream = sys.stderr if stream is None else stream
        self._shown = bool(getattr(self._stream, "isatty", lambda: False)())
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
