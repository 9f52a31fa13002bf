"""Tables as CSV."""

from __future__ import annotations

import re
from collections.abc import Iterable

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-](inf|nan)")


def csv(rows: Iterable[Iterable[object]]) -> str:
    """The rows as CSV, each ended by a newline.

    A spreadsheet takes text that begins with ``= + - @`` for a formula. Such text begins with an apostrophe here; numbers stay as they are.

    >>> print(csv([["name", "x"], ["=1+1", -2.5], ["a,b", None]]), end="")
    name,x
    '=1+1,-2.5
    "a,b",
    """
    return "".join(",".join(map(_cell, row)) + "\n" for row in rows)


def _cell(value: object) -> str:
    text = "" if value is None else str(value)
    if text.startswith(("=", "+", "-", "@", "\t", "\r")) and not _NUMBER.fullmatch(text):
        text = f"'{text}"
    return '"' + text.replace('"', '""') + '"' if re.search(r'[",\r\n]', text) else text
