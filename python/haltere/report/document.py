"""Reports: one list of blocks, rendered as text for the terminal, as Markdown, as CSV and as one HTML file.

The HTML file (:mod:`haltere.report.page`) holds its figures, their data, its scripts and its style itself, so it opens anywhere, without a network.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..runs.files import write_atomically

__all__ = ["Block", "Bullets", "Choice", "Document", "Figure", "Heading", "Picture", "Table", "Text"]


@dataclass(frozen=True)
class Heading:
    """A heading of level 1 to 3."""

    text: str
    level: int = 2


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str


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


@dataclass(frozen=True)
class Bullets:
    """Sentences, one below the other; ``care``: what a reader should be careful about."""

    lines: Sequence[str]
    care: bool = False


@dataclass(frozen=True)
class Figure:
    """A figure as :func:`haltere.report.plot.save` wrote it: the PNG at ``path``, and beside it the PDF and the data (JSON), where there are any."""

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


def _text_table(table: Table) -> str:
    widths = [max(len(str(row[i])) for row in (table.columns, *table.rows)) for i in range(len(table.columns))]

    def one(row: Sequence[str]) -> str:
        cells = [c.ljust(w) if i < table.left else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True))]
        return "  ".join(cells).rstrip()

    lines = [table.title, one(table.columns), "  ".join("-" * w for w in widths)]
    lines += [one(row) for row in table.rows]
    if table.note:
        lines.append(table.note)
    return "\n".join(lines)


def _markdown_table(table: Table) -> str:
    def one(row: Sequence[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"

    rule = "|" + "|".join("---" if i < table.left else "--:" for i in range(len(table.columns))) + "|"
    lines = [f"**{table.title}**", "", one(table.columns), rule, *(one(row) for row in table.rows)]
    if table.note:
        lines += ["", table.note]
    return "\n".join(lines)


@dataclass
class Document:
    """A title and its blocks."""

    title: str
    blocks: list[Block] = field(default_factory=list)

    def add(self, *blocks: Block) -> None:
        """Appends blocks."""
        self.blocks.extend(blocks)

    def tables(self) -> list[Table]:
        """The tables, in order."""
        return [block for block in self.blocks if isinstance(block, Table)]

    def text(self) -> str:
        """For the terminal: no images, only where they are.

        >>> document = Document("A run", [Table("t", "Rates", ["flow", "Mbit/s"], [["a", "9.1"], ["b", "10.0"]])])
        >>> print(document.text())
        A run
        =====
        <BLANKLINE>
        Rates
        flow  Mbit/s
        ----  ------
        a        9.1
        b       10.0
        """
        parts = [self.title + "\n" + "=" * len(self.title)]
        shown = [block for block in self.blocks if not isinstance(block, Figure | Picture | Choice)]
        for block, after in zip(shown, [*shown[1:], None], strict=True):
            if isinstance(block, Table):
                parts.append(_text_table(block))
            elif isinstance(block, Heading) and after is not None and not isinstance(after, Heading):
                parts.append(block.text + "\n" + "-" * len(block.text))
            elif isinstance(block, Bullets):
                parts.append("\n".join(f"- {line}" for line in block.lines))
            elif isinstance(block, Text):
                parts.append(block.text)
        return "\n\n".join(parts)

    def markdown(self, base: Path | None = None) -> str:
        """As Markdown; image paths are relative to ``base``."""
        parts = [f"# {self.title}"]
        for block in self.blocks:
            if isinstance(block, Table):
                parts.append(_markdown_table(block))
            elif isinstance(block, Heading):
                parts.append("#" * block.level + " " + block.text)
            elif isinstance(block, Text):
                parts.append(block.text)
            elif isinstance(block, Bullets):
                parts.append("\n".join(f"- {line}" for line in block.lines))
            elif isinstance(block, Figure):
                path = block.path.relative_to(base) if base else block.path
                parts.append(f"![{block.caption}]({path.as_posix()})\n\n{block.caption}")
            elif isinstance(block, Picture):
                parts.append(f"![{block.caption}](figures/{block.name}.svg)\n\n{block.caption}")
        return "\n\n".join(parts) + "\n"

    def html(self) -> str:
        """As one HTML file that needs nothing else."""
        from .page import html

        return html(self)

    def write(self, directory: str | Path) -> list[Path]:
        """Writes ``report.html``, ``report.md``, one ``tables/NAME.csv`` a table and ``figures/NAME.svg`` a picture; returns the paths."""
        base = Path(directory)
        written = {base / "report.html": self.html(), base / "report.md": self.markdown(base)}
        for table in self.tables():
            out = io.StringIO()
            writer = csv.writer(out, lineterminator="\n")
            writer.writerow(table.columns)
            writer.writerows(table.rows)
            written[base / "tables" / f"{table.name}.csv"] = out.getvalue()
        for block in self.blocks:
            if isinstance(block, Picture):
                written[base / "figures" / f"{block.name}.svg"] = block.svg + "\n"
        for path, text in written.items():
            write_atomically(path, text)
        return list(written)
