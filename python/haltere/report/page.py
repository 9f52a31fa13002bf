"""A document as one HTML page: style, scripts, figures and their data inside, and a rule that forbids it the network."""

from __future__ import annotations

import base64
import gzip
import hashlib
import html as _html
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .. import assets
from .blocks import Block, Bullets, Choice, Figure, Heading, Picture, Table

# Nothing may be fetched: what is not in the file does not exist for it.
# Of scripts and styles only those run whose SHA-256 is here, so that no text of an experiment can become one.
_POLICY = "default-src 'none'; img-src data: blob:; style-src {}; script-src {}"
_STYLES = re.compile(r"<style>(.*?)</style>", re.DOTALL)
_LICENCES = (
    "/*! Apache ECharts 6.1.0: Apache License 2.0, (c) The Apache Software Foundation. "
    "ZRender: BSD 3-Clause, (c) Baidu Inc. tslib: 0BSD, (c) Microsoft Corporation. */\n"
)
# From so many headings on, the page begins with a list of them.
_MOST_HEADINGS = 3
# A cell of words longer than this may break into lines.
_LONG_CELL = 24


def html(heading: str, blocks: Sequence[Block]) -> str:
    """The document with that title and these blocks as one HTML file that needs nothing else."""
    body = "\n".join(_block(block, place) for place, block in enumerate(blocks))
    title = _text(heading)
    live = any(mark in body for mark in ('class="chart', 'class="data', 'class="picture-of', 'class="still'))
    # The licences ask for their lines in every copy.
    scripts = _LICENCES + assets.text("echarts.min.js") + assets.text("report.js")
    styles = [assets.text("report.css") + _widths(blocks), *_STYLES.findall(body)]
    policy = _POLICY.format(_hashes(styles), _hashes([scripts] if live else []))
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{styles[0]}</style></head>\n"
        f"<body><main>\n<h1>{title}</h1>\n{_contents(blocks)}{body}\n</main>\n"
        + (f"<script>{scripts}</script>\n" if live else "")
        + "</body></html>\n"
    )


def fragment(document: Any) -> str:
    """The text and tables of a document as HTML for a notebook, which has its own style and runs none of our scripts."""
    shown = [block for block in document.blocks if not isinstance(block, Figure | Picture | Choice)]
    return f"<h3>{_text(document.title)}</h3>" + "\n".join(_block(block, place) for place, block in enumerate(shown))


def _hashes(texts: Sequence[str]) -> str:
    """What a Content-Security-Policy calls the sources of these elements."""
    found = dict.fromkeys(_base64(hashlib.sha256(text.encode()).digest()) for text in texts)
    return " ".join(f"'sha256-{one}'" for one in found) or "'none'"


def _widths(blocks: Sequence[Block]) -> str:
    """A rule for each width of a picture: the policy allows no style in an element."""
    found = {_width(block) for block in blocks if isinstance(block, Picture)} - {""}
    return "".join(f".w{one.replace('.', '-')}{{--w:{one}px}}" for one in sorted(found))


def _width(block: Picture) -> str:
    found = re.search(r'viewBox="\S+ \S+ ([0-9.]+)', block.svg)
    return found[1] if found else ""


def _text(value: object) -> str:
    return _html.escape(str(value))


def _words(text: str) -> str:
    """A text of sentences; what is in backticks is code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", _text(text))


def _contents(blocks: Sequence[Block]) -> str:
    shown = [(i, block) for i, block in enumerate(blocks) if isinstance(block, Heading) and block.level <= 2]
    if len(shown) < _MOST_HEADINGS:
        return ""
    return "<nav>" + "".join(f'<a href="#h{i}">{_text(block.text)}</a>' for i, block in shown) + "</nav>\n"


def _block(block: Block, place: int) -> str:
    if isinstance(block, Heading):
        return f'<h{block.level} id="h{place}">{_text(block.text)}</h{block.level}>'
    if isinstance(block, Bullets):
        return _bullets(block)
    if isinstance(block, Table):
        return _table(block)
    if isinstance(block, Figure):
        return _figure(block)
    if isinstance(block, Picture):
        return _picture(block)
    if isinstance(block, Choice):
        return _choice(block)
    link = f' <a href="{_text(block.link[1])}">{_text(block.link[0])}</a>' if block.link else ""
    return f"<p>{_words(block.text)}{link}</p>"


def _bullets(block: Bullets) -> str:
    items = "\n".join(f"<li>{_words(line)}</li>" for line in block.lines)
    return f'<ul class="{"care" if block.care else "words"}">\n{items}\n</ul>'


def _table(block: Table) -> str:
    def cells(tag: str, row: Any) -> str:
        parts = []
        for i, cell in enumerate(row):
            kinds = ["l"] * (i < block.left) + ["w"] * (tag == "td" and len(str(cell)) > _LONG_CELL)
            kind = f' class="{" ".join(kinds)}"' if kinds else ""
            parts.append(f"<{tag}{kind}>{_marked(_text(cell))}</{tag}>")
        return "<tr>" + "".join(parts) + "</tr>"

    rows = "\n".join(cells("td", row) for row in block.rows)
    note = f'<p class="note">{_words(block.note)}</p>' if block.note else ""
    name = _text(block.name)
    return (
        f'<div class="block"><div class="bar"><b id="t-{name}">{_text(block.title)}</b><span class="tools"></span></div>'
        f'<div class="wide"><table class="data" data-name="{name}" aria-labelledby="t-{name}"><thead>{cells("th", block.columns)}</thead>'
        f"<tbody>\n{rows}\n</tbody></table></div>{note}</div>"
    )


#: A cell of a column with marks of significance: it ends with one, or with room for one.
_MARKED = re.compile(r"(.*?\S) (\*{0,3}) *")


def _marked(cell: str) -> str:
    """A cell whose mark, if it has one, has a place of its own, so that numbers stay below one another."""
    found = _MARKED.fullmatch(cell)
    return f'{found[1]}<span class="m">{found[2]}</span>' if found else cell


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _json(value: Any) -> str:
    """JSON for use in a script: no `<` in it ends the element or begins another."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")


def _figure(block: Figure) -> str:
    """A figure whose data can be read is drawn by the page; of any other the page has the print as PNG and PDF."""
    name, caption, words = _text(block.path.stem), _text(block.caption), _words(block.caption)
    data_of = _read(block.path.with_suffix(".json"))
    if data_of is not None:
        return (
            f'<figure class="chart" data-name="{name}"><div class="tools"></div><div class="legend"></div>'
            f'<div class="panels" role="img" aria-label="{caption}"></div><figcaption>{words}</figcaption>'
            f'<script type="application/json" class="spec">{_json(data_of)}</script></figure>'
        )
    image = f'<img alt="{caption}" src="data:image/png;base64,{_base64(block.path.read_bytes())}">'
    pdf, link = block.path.with_suffix(".pdf"), ""
    if pdf.exists():
        link = f'<a class="pdf" download="{name}.pdf" title="the figure as for print" href="data:application/pdf;base64,{_base64(pdf.read_bytes())}">PDF</a>'
    return f'<figure class="still" data-name="{name}"><div class="tools">{link}</div>{image}<figcaption>{words}</figcaption></figure>'


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return None


def _picture(block: Picture) -> str:
    width = _width(block)
    kind = f"picture w{width.replace('.', '-')}" if width else "picture"
    return (
        f'<figure class="picture-of" data-name="{_text(block.name)}"><div class="tools"></div><div class="{kind}">{block.svg}</div>'
        f"<figcaption>{_words(block.caption)}</figcaption></figure>"
    )


def _choice(block: Choice) -> str:
    name = _text(block.name)
    index = [{"labels": dict(labels), "id": f"{block.name}-{i}"} for i, (labels, _) in enumerate(block.options)]
    packed = []
    for i, (_, data_of) in enumerate(block.options):
        text = json.dumps(data_of, separators=(",", ":"), ensure_ascii=False).encode()
        packed.append(f'<script type="text/plain" id="{name}-{i}">{_base64(gzip.compress(text, 9, mtime=0))}</script>')
    return (
        f'<figure class="chart choice" data-name="{name}"><div class="tools"></div><div class="pick"></div><div class="legend"></div>'
        f'<div class="panels"></div><figcaption>{_words(block.caption)}</figcaption><script type="application/json" class="index">{_json(index)}</script>\n'
        + "\n".join(packed)
        + "</figure>"
    )
