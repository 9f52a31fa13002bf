"""Writes the reference pages: `python tools/reference.py docs/reference`. One page a mechanism, from the schema alone."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path

from dictionary import page as page_of_tables
from haltere import _core
from haltere.analysis.metrics import METRICS
from haltere.catalogue import Entry, Parameter, entries
from haltere.limits import CORE, MOST_BYTES, MOST_PAGES, PLAYGROUND, Limit

_MADE = "<!-- Made by `make docs` from the schema. Change the doc comments of the source instead. -->"
#: Kinds whose entries stand in the index and have no page of their own.
_INDEXED = ("paths", "choices", "quantities")

_MESSAGE = "message of the playground"


def limits() -> list[Limit]:
    """Every row of the table."""
    shown = {
        "setups": "set-ups side by side",
        "pairs": "pairs of hosts",
        "entries": "traffic entries",
        "count": "`count` of a traffic entry",
        "speed": "simulated seconds a second",
        "outage": "seconds of an outage",
        "state": "flows with their inner state",
    }
    return [
        *CORE,
        Limit(_MESSAGE, "size", MOST_BYTES, "bytes"),
        Limit(_MESSAGE, "pages that are open", MOST_PAGES),
        *(Limit(_MESSAGE, text, PLAYGROUND[name]) for name, text in shown.items()),
    ]


def limits_page() -> str:
    """The table as Markdown, for the reference."""
    rows = ["| input | limit | at most |", "|---|---|---|"]
    rows += [f"| {one.input} | {one.what} | {one} |" for one in limits()]
    about = (
        "Haltere refuses what is larger, in one line that names the limit. Files must be regular files: a directory, a pipe or a device is "
        "refused before it is read. A schema limit of a single key is on the page of that key."
    )
    return "\n\n".join(["# Limits", about, "\n".join(rows)]) + "\n"


def _title(entry: Entry) -> str:
    """The heading of an entry's kind, such as "Queue disciplines"."""
    first, _, rest = entry.one.partition(" of ")
    plural = f"{first.removesuffix('y')}ies" if first.endswith("gy") else f"{first}s"
    title = " of ".join([plural, rest] if rest else [plural])
    return f"{title[0].upper()}{title[1:]}"


def _file(entry: Entry) -> str:
    return f"{entry.kind}-{entry.name}.md"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _page(entry: Entry) -> str:
    about = re.sub(r"^(Source|Deviations|Known problems):", r"**\1:**", entry.about, flags=re.M)
    parts = [_MADE, f"# {entry.name}", f"{_title(entry)}. [All pages](README.md)", about]
    used = entry.used_in()
    if used:
        parts.append(f"Written under: {', '.join(used)}.")
    if entry.example:
        parts.append(f"```toml\n{entry.example}\n```")
    parameters = entry.parameters()
    if parameters:
        parts += ["## Keys" if "properties" in entry.schema else "## Forms", _table(parameters)]
    return "\n\n".join(part.strip() for part in parts if part) + "\n"


def _table(parameters: Sequence[Parameter]) -> str:
    rows = ["| key | takes | default | meaning |", "|---|---|---|---|"]
    for one in parameters:
        default = "**required**" if one.default == "required" else "" if one.default == "–" else f"`{one.default}`"
        name = one.name if "`" in one.name else f"`{one.name}`"
        rows.append(f"| {name} | {_cell(one.takes)} | {_cell(default)} | {_cell(one.about)} |")
    return "\n".join(rows)


def pages() -> dict[str, str]:
    """Every page: file name and text."""
    out = {_file(entry): _page(entry) for entry in entries() if entry.kind not in _INDEXED}
    index = [_MADE, "# Reference", "`haltere explain NAME` prints the same."]
    for kind in dict.fromkeys(entry.kind for entry in entries()):
        of_kind = [entry for entry in entries() if entry.kind == kind]
        lines = [line for entry in of_kind for line in _indexed(entry)]
        index += [f"## {_title(of_kind[0]) if kind not in _INDEXED else kind.capitalize()}", "\n".join(lines)]
    out["limits.md"] = f"{_MADE}\n\n{limits_page()}"
    index += ["## Inputs", "- [limits](limits.md): what an input may hold at most"]
    out["data.md"] = page_of_tables(_MADE)
    out["metrics.md"] = _metrics_page()
    out["gym.md"] = _gym_page()
    index.insert(
        3,
        "\n".join(
            [
                "- [Tables of results](data.md): every table and column, with units.",
                "- [Metrics](metrics.md): what is read off a run, with units.",
                "- [Gym](gym.md): the fields of observations and the actions of `haltere.gym`.",
            ]
        ),
    )
    out["README.md"] = "\n\n".join(index) + "\n"
    return out


def _metrics_page() -> str:
    """Every metric with its unit, what may follow its dot, and the table that it is read off."""
    about = (
        "A metric is one number that is read off a run. Reports, `haltere compare --metrics`, `haltere plot --y`, the stopping rule "
        "`[precision]` and `haltere search` take these names. A name alone means the whole run; a part after a dot means a part of it, such as "
        "`goodput.bulk1` or `queue.left>right`. An experiment may add its own with `[measure.metrics]`."
    )
    rows = ["| metric | meaning | unit | better | after a dot | table |", "|---|---|---|---|---|---|"]
    for one in METRICS.values():
        told = one.described
        needs = f", {told['needs']}" if told["needs"] else ""
        rows.append(
            f"| `{one.name}` | {one.about}{needs} | {told['unit']} | {told['better']} | {told['part']} | [`{one.reads}`](data.md) |"
        )
    return "\n\n".join([_MADE, "# Metrics", about, "\n".join(rows)]) + "\n"


def _gym_page() -> str:
    """The fields and actions of the gym, from the simulator's tables."""
    parts = [
        _MADE,
        "# Gym: observations and actions",
        "The fields and actions of [`haltere.gym`](../gym.md). `1` is a number without a unit, `log2` the binary logarithm of a ratio. The group"
        " `network` is known to the simulator alone: rewards and `info` have it, observations do not.",
    ]
    for who, is_queue in (("A sender", False), ("A queue", True)):
        groups: dict[str, list[str]] = {}
        for name, group, unit, low, high, meaning in _core.gym_fields(is_queue):
            groups.setdefault(group, []).append(
                f"| `{name}` | {unit} | {low:g} to {'∞' if high > 1e300 else f'{high:g}'} | {meaning} |"
            )
        for group, rows in groups.items():
            head = ["| field | unit | range | meaning |", "|---|---|---|---|"]
            parts += [f"## {who}: `{group}`", "\n".join([*head, *rows])]
    rows = ["| action | values | unit | range | meaning |", "|---|---|---|---|---|"]
    for name, width, choices, unit, low, high, meaning in _core.gym_actions():
        values = f"one of {choices}" if choices else str(width)
        rows.append(f"| `{name}` | {values} | {unit} | {low:.10g} to {high:.10g} | {meaning} |")
    return "\n\n".join([*parts, "## Actions", "\n".join(rows)]) + "\n"


def _indexed(entry: Entry) -> list[str]:
    if entry.kind not in _INDEXED:
        return [f"- [{entry.name}]({_file(entry)}): {entry.summary}".removesuffix(": ")]
    values = entry.parameters() if entry.kind == "choices" else []
    return [f"- **{entry.name}**: {_flat(entry.about)}", *(f"  - `{one.name}`: {one.about}" for one in values)]


def _flat(text: str) -> str:
    return " ".join(text.split())


def write(folder: Path) -> list[Path]:
    """Writes every page into a folder, and removes pages of what is no more; returns what is there."""
    folder.mkdir(parents=True, exist_ok=True)
    known = pages()
    for path in folder.glob("*.md"):
        if path.name not in known:
            path.unlink()
    for name, text in known.items():
        (folder / name).write_text(text, encoding="utf-8", newline="\n")
    return [folder / name for name in known]


def main(arguments: Sequence[str]) -> int:
    """Writes the pages into the folder named."""
    if len(arguments) != 1:
        print("usage: python tools/reference.py FOLDER", file=sys.stderr)
        return 2
    print(f"{len(write(Path(arguments[0])))} pages in {arguments[0]}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
