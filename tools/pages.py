"""Writes the printed output in the documents: `make pages`, or `python tools/pages.py [PAGE ...]`.

Two kinds of comments in a page name what follows them:

- ``<!-- output: COMMAND -->`` precedes a ``text`` block. It has what the command prints on standard output. The commands of a page run in
  order in one new folder, which has the files of the page's ``<!-- example: NAME -->`` blocks. ``<!-- output: COMMAND | REGEX -->`` keeps
  the lines that the expression finds.
- ``<!-- table: NAME of FILE -->`` precedes a table, and ``<!-- table: end -->`` follows it. FILE lies beside the page. It is the output
  of ``haltere reproduce STUDY --json``, and ``findings`` names its findings. ``python tools/pages.py --study STUDY`` makes the file
  anew, which takes minutes, and then the page's tables; ``--study all`` does so for every study. ``--keep DIR`` keeps the runs, so that
  an interrupted or repeated command need not make them again. ``--linux`` runs the primary reading in the kernel world instead, and puts
  the column *with Linux's TCP* into the stored findings. ``--check`` says whether the runs of a study's experiment files are still those of its page.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from haltere.studies.base import LINUX as OF_LINUX
from haltere.studies.base import STORED, WITH_LINUX, beside_linux

ROOT = Path(__file__).resolve().parents[1]
#: The studies, and how long a run of each tells two builds apart.
SAMPLE = {
    "aqm-lab": "5s",
    "dctcp-hysteresis": "2s",
    "iaas": "500ms",
    "last-mile": "2s",
    "mptcp-red": "5s",
    "quic-conformance": "4s",
    "rafle": "100s",
}
#: The seeds of a study with Linux's TCP. For mptcp-red two kernels must be built: its page says how.
LINUX = {
    "aqm-lab": "5",
    "dctcp-hysteresis": "10",
    "iaas": "3",
    "mptcp-red": "10",
    "quic-conformance": "4",
    "rafle": "5",
}
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "papers").glob("*/README.md")))

EXAMPLE = re.compile(r"^<!-- example: (\S+) -->\n```\w+\n(.*?)^```$", re.M | re.S)
OUTPUT = re.compile(
    r"^<!-- output: (?P<command>[^|\n]+?)(?: \| (?P<lines>.+?))? -->\n```text\n(?P<text>.*?)^```$", re.M | re.S
)
TABLE = re.compile(r"^<!-- table: (?P<name>.+?) of (?P<file>\S+) -->\n(?P<text>.*?)^<!-- table: end -->$", re.M | re.S)


def _within(text: str, found: re.Match[str], new: str) -> str:
    """The comment and the block that it names, with another content."""
    at = found.start("text") - found.start(), found.end("text") - found.start()
    return found[0][: at[0]] + new + found[0][at[1] :]


def printed(command: str, lines: str | None, folder: Path) -> str:
    """What a command prints in that folder, or those of its lines that the expression finds."""
    word, *arguments = shlex.split(command)
    if word != "haltere":
        raise SystemExit(f"pages: an output must be of `haltere`, got `{command}`")
    done = subprocess.run([sys.executable, "-m", "haltere", *arguments], cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"pages: {command}: {done.stderr}")
    kept = [line.rstrip() for line in done.stdout.splitlines() if lines is None or re.search(lines, line)]
    if not kept:
        raise SystemExit(f"pages: {command}: no line has `{lines}`")
    return "\n".join(kept).strip("\n") + "\n"


def with_outputs(text: str, folder: Path) -> str:
    """The page with new output of its commands, which run in that folder."""
    if not OUTPUT.search(text):
        return text
    for name, content in EXAMPLE.findall(text):
        (folder / name).write_text(content)
    return OUTPUT.sub(lambda found: _within(text, found, printed(found["command"], found["lines"], folder)), text)


def _cell(text: Any) -> str:
    return str(text).replace("|", "\\|").strip()


def _markdown(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """A table; a column of numbers is aligned to the right."""
    numbers = [
        all(re.match(r"[-+–]?[\d.]*", str(row[n]))[0] or not row[n] for row in rows) for n in range(len(columns))
    ]  # type: ignore[index]
    lines = [columns, ["--:" if right else "---" for right in numbers], *rows]
    return (
        "".join(f"| {' | '.join(map(_cell, line))} |\n" for line in lines)
        .replace("| --- ", "|---")
        .replace("| --: ", "|--:")
    )


def table(stored: dict[str, Any], name: str) -> str:
    """A table of a study's output by its name; ``findings`` is made from the findings if the output has no such table."""
    named = {one["name"]: one for one in stored["tables"]}
    if name == "findings" and name not in named:
        columns = ("finding", "paper", "ours", "verdict", "why")
        rows = [[one["text"], *(one[key] for key in columns[1:])] for one in stored["findings"] if not one["reading"]]
        return _markdown(columns, rows)
    if name not in named:
        raise SystemExit(f"pages: a table must be one of {', '.join(named)}, got `{name}`")
    note = f"\n{named[name]['note']}\n" if name == "findings" else ""
    return _markdown(named[name]["columns"], named[name]["rows"]) + note


def with_tables(text: str, folder: Path) -> str:
    """The page with its tables drawn from the stored output of its study, if there is one."""

    def drawn(found: re.Match[str]) -> str:
        if not (folder / found["file"]).is_file():
            return found[0]
        return _within(
            text, found, "\n" + table(json.loads((folder / found["file"]).read_text()), found["name"]) + "\n"
        )

    return TABLE.sub(drawn, text)


def page_of(path: Path) -> str:
    """The page as it should be: its commands are run."""
    with tempfile.TemporaryDirectory() as folder:
        return with_outputs(with_tables(path.read_text(), path.parent), Path(folder))


def digests(study: str) -> dict[str, str]:
    """The digest of a short run of each experiment file of a study: it tells whether the build that made a page still makes the same runs."""
    from haltere import _core, load

    out = {}
    for path in sorted((ROOT / "papers" / study).glob("*.toml")):
        if path.name not in ("expected.toml", "wire.toml") and not path.name.startswith("beyond"):
            _, first = next(iter(load(path).with_values({"duration": SAMPLE[study], "warmup": "0s"}).points()))
            out[path.name] = _core.run(first, 1).digest()
    return out


def store(study: str, stored: dict[str, Any]) -> Path:
    """Stores the output of a full run, as far as the page needs it; gives the page."""
    home = ROOT / "papers" / study
    used = {found["name"] for found in TABLE.finditer((home / "README.md").read_text())}
    stored["tables"] = [one for one in stored["tables"] if one["name"] in used]
    stored["digests"] = digests(study)
    write(home, stored)
    return home / "README.md"


def run(study: str, out: Path, *options: str) -> dict[str, Any]:
    """The output of a study."""
    command = [sys.executable, "-m", "haltere", "reproduce", study, "--json", "--out", str(out), *options]
    output: dict[str, Any] = json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)
    return output


def with_linux(study: str, out: Path, *options: str) -> Path:
    """Runs the primary reading of a study with Linux's TCP, and stores its findings; gives the page."""
    output = run(study, out, "--world", "kernel", *options)
    ran = [done for path in sorted(out.rglob("manifest.json")) for done in json.loads(path.read_text())["runs"]]
    primary: dict[str, dict[str, Any]] = {}  # it comes first; a finding may be there again for another reading
    for one in output["findings"]:
        primary.setdefault(one["text"], {key: one[key] for key in ("text", "verdict", "ours")})
    home = ROOT / "papers" / study
    stored = json.loads((home / STORED).read_text())
    drawn = {table["name"] for table in stored["tables"]} - {"findings"}
    told = {
        "linux": ", ".join(sorted({done["kernel"]["release"] for done in ran})),
        "seeds": len({done["seed"] for done in ran}),
        "findings": list(primary.values()),
        "tables": {
            one["name"]: {"columns": one["columns"], "rows": one["rows"]}
            for one in output["tables"]
            if one["name"] in drawn
            and any(cell.startswith(OF_LINUX) for cell in (*one["columns"], *(row[0] for row in one["rows"][:1])))
        },
    }
    (home / WITH_LINUX).write_text(json.dumps(told, ensure_ascii=False, indent=1) + "\n")
    for table in stored["tables"]:
        put_linux(table, told)
    write(home, stored)
    return home / "README.md"


def put_linux(table: dict[str, Any], told: dict[str, Any]) -> None:
    """A stored table with what was measured with Linux's TCP: a column of the findings before their verdict, else columns or rows."""
    if table["name"] != "findings":
        linux = told.get("tables", {}).get(table["name"])
        table["columns"], table["rows"] = beside_linux(table["columns"], table["rows"], linux)
        return
    column, before = "with Linux's TCP", table["columns"].index("verdict")
    if table["columns"][before - 1] == column:
        before -= 1
        for row in (table["columns"], *table["rows"]):
            del row[before]
    linux = {one["text"]: f"{one['verdict']}: {one['ours']}" for one in told["findings"]}
    table["columns"].insert(before, column)
    for row in table["rows"]:
        row.insert(before, linux.get(row[0], "–"))
    ran = f" With Linux's TCP: Linux {told['linux']} in the kernel world, {told['seeds']} seeds; – was not run."
    table["note"] = re.sub(r" With Linux's TCP: .*?– was not run\.|$", lambda _: ran, table["note"], count=1)


def write(home: Path, stored: dict[str, Any]) -> None:
    """Writes the output of a study."""
    (home / STORED).write_text(json.dumps(stored, ensure_ascii=False, indent=0, separators=(",", ":")) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description="Writes the printed output in the documents.")
    parser.add_argument("pages", nargs="*", type=Path, metavar="PAGE", help="only these pages")
    parser.add_argument(
        "--study", metavar="STUDY", help="first reproduce this study (or `all`) in full, and write its page alone"
    )
    parser.add_argument(
        "--keep", type=Path, metavar="DIR", help="with --study: keep the runs in DIR, and use those that it has"
    )
    parser.add_argument("--seeds", metavar="N", help="with --study: so many seeds instead of the study's")
    parser.add_argument(
        "--linux",
        action="store_true",
        help="with --study: with Linux's TCP in the kernel world instead, for its column",
    )
    parser.add_argument("--kernel", metavar="X", help="with --linux: which kernel (default: the one built last)")
    parser.add_argument(
        "--check", action="store_true", help="only say which studies' pages are of another build's runs"
    )
    options = parser.parse_args()
    if options.check:
        paths = {study: ROOT / "papers" / study / STORED for study in SAMPLE}
        old = [
            study
            for study, path in paths.items()
            if not path.is_file() or json.loads(path.read_text())["digests"] != digests(study)
        ]
        raise SystemExit(
            f"pages: of another build, or never stored: {', '.join(old)}; `python tools/pages.py --study NAME`"
            if old
            else 0
        )
    studies = list(SAMPLE) if options.study == "all" else [options.study] if options.study else []
    seeds = ["--seeds", options.seeds] if options.seeds else []
    kernel = ["--kernel", options.kernel] if options.kernel else []
    with tempfile.TemporaryDirectory() as folder:
        keep = options.keep or Path(folder)
        made = [
            with_linux(study, keep / f"{study}-linux", "--seeds", seeds[1] if seeds else LINUX[study], *kernel)
            if options.linux
            else store(study, run(study, keep / study, *seeds))
            for study in studies
        ]
    for path in made or options.pages or PAGES:
        new = page_of(path)
        if new != path.read_text():
            path.write_text(new)
            print(path)


if __name__ == "__main__":
    main()
