"""Tables for LaTeX, with `booktabs`."""

from __future__ import annotations

import re
from pathlib import Path

from ..runs.files import write_atomically
from .blocks import Table

#: Characters with a meaning in TeX, and those that a font of 256 characters lacks.
_ESCAPED = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "<": r"\textless{}", ">": r"\textgreater{}", "±": r"$\pm$", "–": "--",
    "−": "$-$", "×": r"$\times$", "→": r"$\to$", "←": r"$\gets$", "≤": r"$\le$", "≥": r"$\ge$", "µ": r"$\mu$", "μ": r"$\mu$", "…": r"\dots{}",
}  # fmt: skip
#: A number with its interval and its mark.
_MEASURED = re.compile(r"(-?[\d.]+)(?: ± ([\d.]+))?(?: (\*+))?\s*")


def escaped(text: str) -> str:
    r"""A text as LaTeX takes it.

    >>> print(escaped("fq_codel: 50 % of left>right"))
    fq\_codel: 50 \% of left\textgreater{}right
    """
    return "".join(_ESCAPED.get(letter, letter) for letter in text)


def cell(text: str) -> str:
    r"""A cell: numbers and intervals in math.

    >>> print(cell("8.97 ± 0.32 **"), cell("12"), cell("–"), cell("2 a%"))
    $8.97 \pm 0.32^{**}$ $12$ -- 2 a\%
    """
    found = _MEASURED.fullmatch(text)
    if not found:
        return escaped(text.rstrip())
    interval, mark = (rf" \pm {found[2]}" if found[2] else ""), (f"^{{{found[3]}}}" if found[3] else "")
    return f"${found[1]}{interval}{mark}$"


def table(one: Table) -> str:
    """A table as a float with its caption."""

    def line(cells: list[str]) -> str:
        return "  " + " & ".join(cells) + r" \\"

    form = "l" * one.left + "r" * (len(one.columns) - one.left)
    note = f" {escaped(one.note)}" if one.note else ""
    return "\n".join(
        [
            "% \\usepackage{booktabs}",
            r"\begin{table}", r"\centering", rf"\caption{{{escaped(one.title)}.{note}}}", rf"\label{{tab:{one.name}}}", r"\medskip",
            rf"\begin{{tabular}}{{{form}}}", r"\toprule", line([escaped(name) for name in one.columns]), r"\midrule",
            *(line([cell(str(text)) for text in row]) for row in one.rows), r"\bottomrule", r"\end{tabular}", r"\end{table}", "",
        ]
    )  # fmt: skip


def write(one: Table, path: Path) -> None:
    """Writes a table to a file."""
    write_atomically(path, table(one))
