"""A progress bar on standard error; plain lines if standard error is no terminal."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TextIO

from ..terminal import below, visible


def _span(seconds: float) -> str:
    """A span for people.

    >>> _span(59.6), _span(61), _span(3720)
    ('1m00s', '1m01s', '1h02m')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02d}s"
    return f"{whole // 3600}h{whole % 3600 // 60:02d}m"


class Bar:
    """Shows how much of ``total`` units of work is done. Use as a context manager.

    On a terminal one line is redrawn; elsewhere a line is written at the start, at every quarter and at the end.
    """

    def __init__(
        self, total: int, what: str, stream: TextIO | None = None, quiet: bool = False, unit: str = "runs"
    ) -> None:
        self.total, self.what, self.unit = total, visible(what), unit
        self.stream: TextIO = below(sys.stderr if stream is None else stream)
        self.quiet = quiet or total == 0
        self.terminal = self.stream.isatty()
        self.began = time.monotonic()
        self._shown = -1.0
        self._drawn_at = 0.0

    def update(self, done: float) -> None:
        """``done`` units of work are done; may have a fraction."""
        if self.quiet:
            return
        now = time.monotonic()
        fraction = done / self.total
        if self.terminal:
            if now - self._drawn_at < 0.1 and done < self.total:
                return
            self._drawn_at = now
            filled = int(fraction * 24)
            self._write(f"\r{self.what} [{'#' * filled}{'.' * (24 - filled)}] {self._figures(done, now)}\x1b[K")
        elif fraction >= self._shown + 0.25 or (done >= self.total and self._shown < 1):
            self._shown = int(fraction * 4) / 4
            self._write(f"{self.what}: {self._figures(done, now)}\n")

    def _figures(self, done: float, now: float) -> str:
        spent = now - self.began
        text = f"{int(done)}/{self.total} {self.unit}, {_span(spent)}"
        if 0 < done < self.total and spent > 2:
            text += f", about {_span(spent * (self.total - done) / done)} left"
        return text

    def _write(self, text: str) -> None:
        try:
            self.stream.write(text)
            self.stream.flush()
        except OSError:  # standard error is gone: the work goes on without a bar
            self.quiet = True

    def __enter__(self) -> Bar:
        self.update(0)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.terminal and not self.quiet:
            self._write("\n")
