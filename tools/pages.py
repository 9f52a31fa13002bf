"""Writes the printed output in the documents: `make pages`, or `python tools/pages.py [PAGE ...]`.

Two kinds of comments in a page name what follows them:

- ``<!-- output: COMMAND -->`` precedes a ``text`` block. It has what the command prints on standard output. The commands of a page run in
  order in one new folder, which has the files of the page's ``<!-- example: NAME -->`` blocks. ``<!-- output: COMMAND | REGEX -->`` keeps
  the lines that the expression finds.
- ``<!-- table: NAME of FILE -->`` precedes a table, and ``<!-- table: end -->`` follows it. FILE lies beside the page. It is the output
  of ``haltere reproduce STUDY --json``, and ``findings`` names its findings. ``python tools/pages.py --study STUDY`` makes the file
  anew, which takes minutes, and then the page's tables.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
#: The study's output, beside its page.
STORED = "reproduced.json"
PAGES = (
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "papers").glob("*/README.md")),
)

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
    """A table of a study's output by its name, or the findings."""
    if name == "findings":
        columns = ("finding", "paper", "ours", "verdict", "why")
        return _markdown(
            columns,
            [[one["text"], *(one[key] for key in columns[1:])] for one in stored["findings"] if not one["reading"]],
        )
    named = {one["name"]: one for one in stored["tables"]}
    if name not in named:
        raise SystemExit(f"pages: a table must be one of {', '.join(named)}, got `{name}`")
    return _markdown(named[name]["columns"], named[name]["rows"])


def with_tables(text: str, folder: Path) -> str:
    """The page with its tables drawn from the stored output of its study."""

    def drawn(found: re.Match[str]) -> str:
        return _within(
            text, found, "\n" + table(json.loads((folder / found["file"]).read_text()), found["name"]) + "\n"
        )

    return TABLE.sub(drawn, text)


def page_of(path: Path) -> str:
    """The page as it should be: its commands are run."""
    with tempfile.TemporaryDirectory() as folder:
        return with_outputs(with_tables(path.read_text(), path.parent), Path(folder))


def reproduce(study: str) -> Iterator[Path]:
    """Runs a study in full and stores its output; gives its page."""
    home = ROOT / "papers" / study
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "haltere", "reproduce", study, "--json", "--out", f"{folder}/{study}"]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    (home / STORED).write_text(json.dumps(json.loads(done.stdout), indent=1, ensure_ascii=False) + "\n")
    yield home / "README.md"


def main() -> None:
    parser = argparse.ArgumentParser(description="Writes the printed output in the documents.")
    parser.add_argument("pages", nargs="*", type=Path, metavar="PAGE", help="only these pages")
    parser.add_argument("--study", metavar="STUDY", help="first reproduce this study in full, and write its page alone")
    options = parser.parse_args()
    for path in reproduce(options.study) if options.study else options.pages or PAGES:
        new = page_of(path)
        if new != path.read_text():
            path.write_text(new)
            print(path)


if __name__ == "__main__":
    main()
