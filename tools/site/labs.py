"""The labs of the course as pages with what their notebooks show, for as long as the site is built."""

from __future__ import annotations

import base64
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import nbclient
import nbformat

from haltere import course

#: No cell takes longer than this, in seconds.
MOST_S = 1800


@contextmanager
def pages(docs: Path, work: Path) -> Iterator[None]:
    """The folder ``labs`` in the documents. The notebooks run in ``work``, whose finished runs are not repeated."""
    to = docs / "labs"
    shutil.rmtree(to, ignore_errors=True)  # of a build that was killed
    to.mkdir()
    try:
        for place, name in enumerate(course.LABS, 1):
            page = f"{place}-{name}"
            print(f"lab {page}", file=sys.stderr, flush=True)
            (to / f"{page}.md").write_text(_executed(course.find(name), work / page, to), encoding="utf-8")
        yield
    finally:
        shutil.rmtree(to)


def _executed(lab: course.Lab, work: Path, to: Path) -> str:
    """The page of a lab, executed; its figures are written beside it."""
    work.mkdir(parents=True, exist_ok=True)
    (work / lab.template.path.name).write_text(lab.template.text, encoding="utf-8")
    notebook = nbformat.reads(lab.notebook(), as_version=4)
    # The command is that of this interpreter, and prints without colours.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    environment = {**os.environ, "PATH": path, "NO_COLOR": "1"}
    client = nbclient.NotebookClient(notebook, timeout=MOST_S, resources={"metadata": {"path": str(work)}})
    client.execute(env=environment)
    parts = []
    for number, cell in enumerate(notebook.cells):
        if cell.cell_type == "markdown":
            parts.append(cell.source)
            continue
        is_command = cell.source.startswith("!")
        source = cell.source.replace("\n!", "\n").removeprefix("!") if is_command else cell.source
        parts.append(f"```{'sh' if is_command else 'python'}\n{source}\n```")
        parts += _shown(cell.outputs, work, to / f"{lab.name}-{number}")
    return "\n\n".join(parts) + "\n"


def _shown(outputs: list[Any], work: Path, stem: Path) -> Iterator[str]:
    """What a cell shows; pictures are written to ``stem``."""
    for number, one in enumerate(outputs):
        if one.output_type == "error":
            raise SystemExit(f"{stem.name}: {one.ename}: {one.evalue}")
        if one.output_type == "stream":
            if one.name == "stdout":
                yield from _printed(one.text, work, stem.with_name(f"{stem.name}-{number}.png"))
        elif "image/png" in one.data:
            yield _picture(base64.b64decode(one.data["image/png"]), stem.with_name(f"{stem.name}-{number}.png"))
        elif "text/html" in one.data:
            yield f"```{{raw}} html\n{one.data['text/html']}\n```"
        else:
            yield f"```text\n{one.data['text/plain']}\n```"


def _printed(text: str, work: Path, path: Path) -> Iterator[str]:
    """What a command printed, and the first picture that it names."""
    lines = text.splitlines()
    figures = {line for line in lines if Path(line).suffix in (".png", ".pdf", ".svg") and (work / line).is_file()}
    rest = "\n".join(line for line in lines if line not in figures)
    for line in [line for line in lines if line in figures and line.endswith(".png")][:1]:
        yield _picture((work / line).read_bytes(), path)
    if rest.strip():
        yield f"```text\n{rest}\n```"


def _picture(data: bytes, path: Path) -> str:
    path.write_bytes(data)
    return f"![A figure of the lab]({path.name})"
