"""The terminal: control characters of files are shown, not sent, and a few words have a colour.

On a terminal, standard output and standard error show control characters as ``\\x1b`` and the like. Colours are our own: they
follow a random word of this process, which no file can contain. ``NO_COLOR`` turns them off.
"""

from __future__ import annotations

import os
import re
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

#: All of C0 but tab and line feed, DEL and C1; and what turns the direction of the text that follows.
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_OURS = f"\x1b{secrets.token_hex(8)}"
_COLOUR = re.compile(f"{_OURS}([0-9]+)m")
COLOURS = {"red": 31, "green": 32, "yellow": 33}


def visible(text: str) -> str:
    """The text with its control characters as they are written in a program.

    >>> visible("a\\x1b]0;title\\x07\\tb")
    'a\\\\x1b]0;title\\\\x07\\tb'
    """
    return _CONTROLS.sub(lambda found: ascii(found[0])[1:-1], text)


class _Shown:
    """A stream to a terminal."""

    def __init__(self, stream: Any) -> None:
        self.below = stream

    def write(self, text: str) -> int:
        parts = _COLOUR.split(text)  # text and colours in turn
        self.below.write("".join(f"\x1b[{part}m" if i % 2 else visible(part) for i, part in enumerate(parts)))
        return len(text)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.below, name)


@contextmanager
def shown() -> Iterator[None]:
    """Standard output and standard error, as long as it lasts."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (_Shown(one) if one is not None and one.isatty() else one for one in before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def below(stream: Any) -> Any:
    """The stream for one who draws a line again and again, and must make the texts of others :func:`visible`."""
    return stream.below if isinstance(stream, _Shown) else stream


def painted(text: str, colour: str, stream: Any = None) -> str:
    """The text in a colour, if the stream (default: standard output) is a terminal with colours and ``NO_COLOR`` is not set."""
    wanted = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    if not wanted or not isinstance(sys.stdout if stream is None else stream, _Shown):
        return text
    return f"{_OURS}{COLOURS[colour]}m{text}{_OURS}0m"
