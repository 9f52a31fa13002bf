"""Reports: one list of blocks, rendered as text for the terminal, as Markdown, as CSV and as one HTML file.

The HTML file (:mod:`haltere.report.page`) holds its figures, their data, its scripts and its style itself, so it opens anywhere, without a network.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..runs.cells import csv
from ..runs.files import write_atomically
from ..terminal import painted
from . import page
from .blocks import Block, Bullets, Choice, Figure, Heading, Picture, Table, Text

__all__ = ["Block", "Bullets", "Choice", "Document", "Figure", "Heading", "Picture", "Table", "Text"]


#: Verdicts that have a colour on a terminal.
_COLOURS = {"held": "green", "direction only": "yellow", "inconclusive": "yellow", "not held": "red"}


def _text_table(table: Table) -> str:
    widths = [max(len(str(row[i])) for row in (table.columns, *table.rows)) for i in range(len(table.columns))]

    def one(row: Sequence[str]) -> str:
        cells = [c.ljust(w) if i < table.left else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True))]
        if cells:
            cells[-1] = cells[-1].rstrip()
        return "  ".join(painted(c, _COLOURS[v]) if (v := c.strip()) in _COLOURS else c for c in cells).rstrip()

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
        """For the terminal, without images.

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
                shown = (
                    f"![{block.caption}]({path.as_posix()})"
                    if block.path.exists()
                    else "*Drawn in report.html; `haltere plot` writes it as PNG, PDF and SVG.*"
                )
                parts.append(f"{shown}\n\n{block.caption}")
            elif isinstance(block, Picture):
                parts.append(f"![{block.caption}](figures/{block.name}.svg)\n\n{block.caption}")
        return "\n\n".join(parts) + "\n"

    def html(self) -> str:
        """As one HTML file that needs nothing else."""
        return page.html(self.title, self.blocks)

    def write(self, directory: str | Path) -> list[Path]:
        """Writes ``report.html``, ``report.md``, one ``tables/NAME.csv`` a table and ``figures/NAME.svg`` a picture; returns the paths."""
        base = Path(directory)
        written = {base / "report.html": self.html(), base / "report.md": self.markdown(base)}
        for table in self.tables():
            written[base / "tables" / f"{table.name}.csv"] = csv([table.columns, *(table.every or table.rows)])
        for block in self.blocks:
            if isinstance(block, Picture):
                written[base / "figures" / f"{block.name}.svg"] = block.svg + "\n"
        for path, text in written.items():
            write_atomically(path, text)
        return list(written)
