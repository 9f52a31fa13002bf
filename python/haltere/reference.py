"""Writes the reference pages: `python -m haltere.reference docs/reference`. One page a mechanism, from the schema alone."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from .catalogue import Entry, entries

__all__ = ["pages", "write"]

_KINDS = {
    "tables": "Tables of the experiment file",
    "queues": "Queue disciplines",
    "congestion": "Congestion controls",
    "topologies": "Topologies",
    "traffic": "Traffic",
    "schedulers": "Schedulers of multipath connections",
    "correlators": "Correlators of multipath connections",
}
_MADE = "<!-- Made by `make docs` from the schema. Change the doc comments of the source instead. -->"


def _file(entry: Entry) -> str:
    return f"{entry.kind}-{entry.name}.md"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _page(entry: Entry) -> str:
    parts = [_MADE, f"# {entry.name}", f"{_KINDS[entry.kind]}. [All pages](README.md)", entry.about]
    example = _example(entry)
    if example:
        parts.append(f"```toml\n{example}\n```")
    parameters = entry.parameters()
    if parameters:
        rows = ["| key | takes | default | meaning |", "|---|---|---|---|"]
        for one in parameters:
            default = "**required**" if one.default == "required" else "" if one.default == "–" else f"`{one.default}`"
            rows.append(f"| `{one.name}` | {_cell(one.takes)} | {_cell(default)} | {_cell(one.about)} |")
        parts += ["## Keys", "\n".join(rows)]
    return "\n\n".join(part.strip() for part in parts if part) + "\n"


def _example(entry: Entry) -> str:
    """How a mechanism is named in an experiment file."""
    if entry.kind == "queues":
        return f'queue = {{ kind = "{entry.name}" }}   # or: queue = "{entry.name}"'
    if entry.kind == "congestion":
        return f'congestion = {{ kind = "{entry.name}" }}   # or: congestion = "{entry.name}"'
    if entry.kind == "traffic":
        return f'[[traffic]]\nkind = "{entry.name}"'
    if entry.kind == "schedulers":
        return f'multipath = {{ scheduler = {{ kind = "{entry.name}" }} }}   # or: scheduler = "{entry.name}"'
    if entry.kind == "correlators":
        return f'multipath = {{ correlators = [{{ kind = "{entry.name}" }}] }}   # or: ["{entry.name}"]'
    if entry.kind == "topologies":
        return f"[topology.{entry.name}]"
    return ""


def pages() -> dict[str, str]:
    """Every page: file name and text."""
    out = {_file(entry): _page(entry) for entry in entries()}
    index = [_MADE, "# Reference", "`haltere explain NAME` prints the same. Quantities are written with their unit:"]
    index.append(_quantities())
    for kind, title in _KINDS.items():
        lines = [
            f"- [{entry.name}]({_file(entry)}): {entry.summary}".removesuffix(": ")
            for entry in entries()
            if entry.kind == kind
        ]
        index += [f"## {title}", "\n".join(lines)]
    out["README.md"] = "\n\n".join(index) + "\n"
    return out


def _quantities() -> str:
    from .catalogue import schema

    lines = []
    for name, one in schema()["$defs"].items():
        if name[0].islower() and one.get("description"):
            lines.append(f"- **{name}**: {' '.join(str(one['description']).split())}")
    return "\n".join(lines)


def write(folder: Path) -> list[Path]:
    """Writes every page into a folder, and removes pages of what is no more; returns what is there."""
    folder.mkdir(parents=True, exist_ok=True)
    told = pages()
    for path in folder.glob("*.md"):
        if path.name not in told:
            path.unlink()
    for name, text in told.items():
        (folder / name).write_text(text, encoding="utf-8", newline="\n")
    return [folder / name for name in told]


def main(arguments: Sequence[str]) -> int:
    """Writes the pages into the folder named."""
    if len(arguments) != 1:
        print("usage: python -m haltere.reference FOLDER", file=sys.stderr)
        return 2
    print(f"{len(write(Path(arguments[0])))} pages in {arguments[0]}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
