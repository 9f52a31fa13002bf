"""Reports: one list of blocks, rendered as text for the terminal, as Markdown, as CSV and as one HTML file.

The HTML file holds its images and its style itself, so it opens anywhere, without a network.
"""

from __future__ import annotations

import base64
import csv
import html
import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .files import write_atomically

__all__ = ["Document", "Figure", "Heading", "Table", "Text"]


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
class Figure:
    """An image: the PNG in the file at ``path``."""

    path: Path
    caption: str


Block = Heading | Text | Table | Figure


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


def _html_table(table: Table) -> str:
    def cells(tag: str, row: Sequence[str]) -> str:
        parts = []
        for i, cell in enumerate(row):
            kind = ' class="l"' if i < table.left else ""
            parts.append(f"<{tag}{kind}>{html.escape(cell)}</{tag}>")
        return "<tr>" + "".join(parts) + "</tr>"

    body = "\n".join(cells("td", row) for row in table.rows)
    note = f'<p class="note">{html.escape(table.note)}</p>' if table.note else ""
    caption = f"<caption>{html.escape(table.title)}</caption>"
    head = f"<thead>{cells('th', table.columns)}</thead>"
    return f'<div class="wide"><table>{caption}{head}<tbody>\n{body}\n</tbody></table></div>{note}'


_CSS = """
:root { color-scheme: light }
body { font: 16px/1.5 system-ui, sans-serif; color: #222; background: #fff; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
h1, h2, h3 { line-height: 1.2; margin: 2rem 0 .6rem } h1 { margin-top: 0 }
.wide { overflow-x: auto } table { border-collapse: collapse; margin: 1rem 0; font-size: .9rem; font-variant-numeric: tabular-nums }
caption { text-align: left; font-weight: 600; padding-bottom: .3rem }
th, td { text-align: right; padding: .2rem .7rem; border-bottom: 1px solid #e4e4e4 } th { border-bottom: 2px solid #999 }
.l { text-align: left } .note, figcaption { font-size: .85rem; color: #555 }
figure { margin: 1.5rem 0 } img { max-width: 100%; height: auto }
"""


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
        shown = [block for block in self.blocks if not isinstance(block, Figure)]
        for block, after in zip(shown, [*shown[1:], None], strict=True):
            if isinstance(block, Table):
                parts.append(_text_table(block))
            elif isinstance(block, Heading) and after is not None and not isinstance(after, Heading):
                parts.append(block.text + "\n" + "-" * len(block.text))
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
            else:
                path = block.path.relative_to(base) if base else block.path
                parts.append(f"![{block.caption}]({path.as_posix()})\n\n{block.caption}")
        return "\n\n".join(parts) + "\n"

    def html(self) -> str:
        """As one HTML file with its images inside."""
        parts = []
        for block in self.blocks:
            if isinstance(block, Table):
                parts.append(_html_table(block))
            elif isinstance(block, Heading):
                parts.append(f"<h{block.level}>{html.escape(block.text)}</h{block.level}>")
            elif isinstance(block, Text):
                parts.append(f"<p>{html.escape(block.text)}</p>")
            else:
                data = base64.b64encode(block.path.read_bytes()).decode("ascii")
                caption = html.escape(block.caption)
                image = f'<img alt="{caption}" src="data:image/png;base64,{data}">'
                parts.append(f"<figure>{image}<figcaption>{caption}</figcaption></figure>")
        title = html.escape(self.title)
        head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{title}</title>'
        body = "\n".join(parts)
        return f'<!doctype html>\n<html lang="en"><head>{head}<style>{_CSS}</style></head>\n<body>\n<h1>{title}</h1>\n{body}\n</body></html>\n'

    def write(self, directory: str | Path) -> list[Path]:
        """Writes ``report.html``, ``report.md`` and one ``tables/NAME.csv`` a table; returns the paths."""
        base = Path(directory)
        written = {base / "report.html": self.html(), base / "report.md": self.markdown(base)}
        for table in self.tables():
            out = io.StringIO()
            writer = csv.writer(out, lineterminator="\n")
            writer.writerow(table.columns)
            writer.writerows(table.rows)
            written[base / "tables" / f"{table.name}.csv"] = out.getvalue()
        for path, text in written.items():
            write_atomically(path, text)
        return list(written)
