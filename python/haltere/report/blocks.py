"""The blocks of which documents are made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Heading:
    """A heading of level 1 to 3."""

    text: str
    level: int = 2


@dataclass(frozen=True)
class Text:
    """A paragraph; ``link``: words and address of a link after it, which only pages have."""

    text: str
    link: tuple[str, str] | None = None


@dataclass(frozen=True)
class Table:
    """A table of printed cells. ``name`` is its file name as CSV; ``numeric`` columns are right-aligned (all but the first)."""

    name: str
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""
    left: int = 1
    """How many of the first columns are left-aligned."""
    every: Sequence[Sequence[str]] = ()
    """The rows of the CSV file, if ``rows`` sum them up."""


@dataclass(frozen=True)
class Bullets:
    """Sentences, one below the other; ``care``: what a reader should be careful about."""

    lines: Sequence[str]
    care: bool = False


@dataclass(frozen=True)
class Figure:
    """A figure as :func:`haltere.report.plot.save` wrote it: the PNG at ``path``, and beside it the PDF and the data (JSON), if there are any."""

    path: Path
    caption: str


@dataclass(frozen=True)
class Picture:
    """A drawing as SVG. ``name`` is its file name."""

    name: str
    svg: str
    caption: str


@dataclass(frozen=True)
class Choice:
    """Figures of which the page shows one at a time: what tells each from the others, and its data as :mod:`haltere.report.charts` writes it.

    Only the page has it.
    """

    name: str
    caption: str
    options: Sequence[tuple[Mapping[str, str], Mapping[str, Any]]]


Block = Heading | Text | Bullets | Table | Figure | Picture | Choice
