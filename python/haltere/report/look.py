"""How figures look in print: size, font and line width for a paper or for slides, the labels of the axes, and the formats of the files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from matplotlib import font_manager, image
from matplotlib.backends import backend_agg, backend_mixed, backend_pgf
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ..errors import InputError, nearest
from . import latex

#: The formats of figures, in the order in which they are written.
FORMATS = ("png", "pdf", "svg", "pgf")
#: Points of the text of a figure that nobody asked to look otherwise.
USUAL = 9.0


@dataclass(frozen=True)
class Look:
    """What is asked of figures; what is not, is as each figure has it."""

    width: float | None = None
    """Inches."""
    height: float | None = None
    points: float = USUAL
    """Size of the text."""
    lines: float = 1.0
    """Factor of the width of lines."""
    rc: Mapping[str, Any] = field(default_factory=dict)
    x_label: str | None = None
    y_label: str | None = None
    formats: tuple[str, ...] | None = None

    def size(self, width: float, height: float) -> tuple[float, float]:
        """The size of a figure that has this one otherwise. Text keeps its room: height shrinks less than width."""
        if self.width is None:
            return width, self.height or height
        return self.width, self.height or height * max(self.width / width, 0.75 * self.points / USUAL)

    def columns(self, many: int) -> int:
        """Panels side by side: one in a narrow figure."""
        return 1 if self.width is not None and self.width / self.points < 0.5 else many


#: The styles. A column of a paper in two columns is 3.5 inches wide (IEEE: 3.5, ACM: 3.33); slides of 16:9 are 13.33 by 7.5.
STYLES: dict[str, Look] = {
    "paper": Look(3.5, points=8.0, lines=0.85, rc={"font.family": ["STIXGeneral", "DejaVu Sans"], "mathtext.fontset": "stix"}),
    "slides": Look(10.0, points=16.0, lines=1.7),
}  # fmt: skip
_NOW: ContextVar[Look] = ContextVar("look", default=Look())  # noqa: B039  (it is frozen)


def now() -> Look:
    """What was asked of the figures that are being drawn."""
    return _NOW.get()


@contextmanager
def looking(look: Look) -> Iterator[None]:
    """Figures look like that, as long as it lasts."""
    before = _NOW.set(look)
    try:
        yield
    finally:
        _NOW.reset(before)


def inches(text: str) -> float:
    """A length with its unit.

    >>> inches("3.5in"), inches("8.89cm"), inches("254mm"), inches("72pt")
    (3.5, 3.5, 10.0, 1.0)
    """
    found = re.fullmatch(r"([0-9]*\.?[0-9]+)\s*(in|cm|mm|pt)", text.strip())
    value = float(found[1]) / {"in": 1, "cm": 2.54, "mm": 25.4, "pt": 72}[found[2]] if found else 0.0
    if not 0.5 <= value <= 100:
        raise InputError(f"length must be a number with `in`, `cm`, `mm` or `pt`, from 0.5in to 100in, got `{text}`")
    return round(value, 6)


def font(name: str) -> dict[str, Any]:
    """The settings of text in a font of this machine."""
    known = sorted({one.name for one in font_manager.fontManager.ttflist})
    if name not in known:
        raise InputError(f"--font must be a font of this machine, got `{name}`{nearest(name, known, 3)}")
    return {"font.family": [name, "DejaVu Sans"]}


def finish(fig: Figure) -> None:
    """Lines and labels of a figure that is drawn, as asked."""
    look = now()
    if look.lines != 1.0:
        for line in fig.findobj(Line2D):
            line.set_linewidth(line.get_linewidth() * look.lines)
            line.set_markersize(line.get_markersize() * look.lines)
    for axes in fig.axes:
        if look.x_label is not None and axes.get_xlabel():
            axes.set_xlabel(look.x_label)
        if look.y_label is not None and axes.get_ylabel():
            axes.set_ylabel(look.y_label)


#: A dollar sign that Matplotlib takes for the border of math.
_DOLLAR = re.compile(r"(?<!\\)\$")
# Matplotlib's renderers have no types.
_PGF: Any = backend_pgf.RendererPgf
_AGG: Any = backend_agg.RendererAgg
_MIXED: Any = backend_mixed.MixedModeRenderer


class _Pgf(_PGF):  # type: ignore[misc]
    """PGF whose layout takes the widths of Matplotlib's own font, so that no TeX is called; the text has the font of the document."""

    def __init__(self, figure: Figure, file: Any) -> None:
        super().__init__(figure, file)
        self._widths = _AGG(1, 1, figure.dpi)

    def draw_text(self, gc: Any, x: float, y: float, s: str, *rest: Any, **more: Any) -> None:
        # Text between two dollars is math for Matplotlib and for TeX.
        parts = _DOLLAR.split(s)
        plain = "$".join(one if i % 2 else latex.escaped(one) for i, one in enumerate(parts if len(parts) % 2 else [s]))
        super().draw_text(gc, x, y, plain, *rest, **more)

    def draw_image(self, gc: Any, x: float, y: float, im: Any, transform: Any = None) -> None:
        """As Matplotlib's, which asks TeX for the command first."""
        height, width = im.shape[:2]
        inch = 1.0 / self.dpi
        move, size = (1.0, 0.0, 0.0, 1.0, x * inch, y * inch), (width * inch, height * inch)
        if transform is not None:
            a, b, c, d, e, f = transform.frozen().to_values()
            move, size = (a * inch, b * inch, c * inch, d * inch, (e + x) * inch, (f + y) * inch), (1.0, 1.0)
        stem = Path(self.fh.name)
        picture = stem.with_name(f"{stem.stem}-img{self.image_counter}.png")
        self.image_counter += 1
        image.imsave(picture, im[::-1])
        self.fh.write("\\begin{pgfscope}%\n")
        self._print_pgf_clip(gc)
        self.fh.write("\\pgfsys@transformcm{{{:f}}}{{{:f}}}{{{:f}}}{{{:f}}}{{{:f}in}}{{{:f}in}}%\n".format(*move))
        smooth = str(transform is None).lower()
        shown = f"\\pgfimage[interpolate={smooth},width={size[0]:f}in,height={size[1]:f}in]{{{picture.name}}}"
        self.fh.write(f"\\pgftext[left,bottom]{{{shown}}}%\n\\end{{pgfscope}}%\n")

    def get_text_width_height_descent(self, s: str, prop: Any, ismath: Any) -> tuple[float, float, float]:
        out: tuple[float, float, float] = self._widths.get_text_width_height_descent(s, prop, ismath)
        return out


def pgf(fig: Figure, path: Path) -> None:
    """Writes the figure as PGF: ``\\usepackage{pgf}`` and ``\\input{NAME.pgf}``. Pictures in it are files beside it."""
    width, height = fig.get_size_inches()
    with path.open("w", encoding="utf-8") as file:
        file.write(
            "% \\usepackage{pgf} and \\input this file; its text has the font of the document.\n\\begingroup\\makeatletter\n"
            "\\everymath=\\expandafter{\\the\\everymath\\displaystyle}\\def\\mathdefault#1{#1}\n\\begin{pgfpicture}\n"
            f"\\pgfpathrectangle{{\\pgfpointorigin}}{{\\pgfqpoint{{{width:f}in}}{{{height:f}in}}}}\n\\pgfusepath{{use as bounding box, clip}}\n"
        )
        fig.draw(_MIXED(fig, width, height, fig.dpi, _Pgf(fig, file)))
        file.write("\\end{pgfpicture}\\makeatother\\endgroup\n")
