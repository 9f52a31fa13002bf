"""Finds words that the documents must not use: `python tools/lint/words.py`.

Rules are in `words.txt`: a regular expression, and what to write instead. By default the documents are checked, and a hit makes the
exit status 1. With ``--code`` the doc comments of Rust, the docstrings and texts of Python and the pages made from them are checked instead,
except the paths of ``UNREAD``; ``--all`` reads those too.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RULES = Path(__file__).with_name("words.txt")

#: Not yet read with ``--code``: files, and directories with all that is in them. Shorten it as they are rewritten.
UNREAD = ("CONTRIBUTING.md", "docs/contributing")

DOCUMENTS = ("README.md", "CHANGELOG.md", "docs/*.md", "docs/decisions/*.md", "benches/README.md")
#: Names the words to avoid.
EXEMPT = ("docs/glossary.md",)
#: Not checked with the documents: made from texts of the code, or written with it.
WITH_CODE = (
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "docs/contributing/*.md",
    "docs/validation.md",
    "docs/reference/*.md",
)
CODE = ("crates/**/*.rs", "python/**/*.py", "bpf/**/*.md", "papers/dctcp-hysteresis/p4/*.md")

Line = tuple[int, str]


@dataclass(frozen=True)
class Rule:
    """A pattern to avoid, and what to write instead."""

    text: str
    pattern: re.Pattern[str]
    instead: str

    @classmethod
    def parse(cls, line: str, where: str) -> Rule:
        """The rule of one line of the list."""
        text, arrow, instead = line.partition(" => ")
        if not arrow or not text.strip() or not instead.strip():
            raise ValueError(f"{where}: a rule must be `REGEX => what to write`, got `{line}`")
        plain = re.sub(r"\\.|\(\?.", "", text)
        try:
            pattern = re.compile(rf"(?<!\w)(?:{text})(?!\w)", 0 if plain != plain.lower() else re.IGNORECASE)
        except re.error as error:
            raise ValueError(f"{where}: a rule must be a regular expression, got `{text}`; {error}") from None
        return cls(text, pattern, instead.strip())


@dataclass(frozen=True)
class Hit:
    """A word that was found."""

    path: Path
    line: int
    found: str
    rule: Rule

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: `{self.found}`: write {self.rule.instead}"


def rules(path: Path = RULES) -> list[Rule]:
    """The rules of the list."""
    lines = enumerate(path.read_text().splitlines(), 1)
    return [Rule.parse(line, f"{path.name}:{n}") for n, line in lines if line.strip() and not line.startswith("#")]


def markdown_lines(text: str, quotes: bool = True) -> Iterator[Line]:
    """A document without the targets of its links; without inline code unless ``quotes``."""
    text = re.sub(r"\]\([^)]*\)", "]", text)
    for number, line in enumerate(text.splitlines(), 1):
        yield number, line if quotes else re.sub(r"`[^`]*`", "", line)


def rust_lines(text: str) -> Iterator[Line]:
    """Doc comments."""
    for number, line in enumerate(text.splitlines(), 1):
        comment = re.match(r"\s*//[/!](?!/)(.*)", line)
        if comment:
            yield number, comment[1]


def python_lines(text: str) -> Iterator[Line]:
    """Docstrings and texts: strings of more than one word, also the parts of f-strings."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value.strip():
            for offset, line in enumerate(node.value.splitlines()):
                yield min(node.lineno + offset, node.end_lineno or node.lineno), line


def lines_of(path: Path) -> Iterator[Line]:
    """What is checked in a file, by the kind of the file."""
    text = path.read_text()
    if path.suffix == ".rs":
        return rust_lines(text)
    if path.suffix == ".py":
        return python_lines(text)
    # The changelog may quote a name that was changed.
    return markdown_lines(text, quotes=path.name != "CHANGELOG.md")


def is_unread(path: Path) -> bool:
    """True if that path, from the root, is one of ``UNREAD`` or in one of them."""
    return any(path.is_relative_to(unread) for unread in UNREAD)


def files(root: Path, code: bool, unread: bool = False) -> list[Path]:
    """The files to check; of the code those of ``UNREAD`` only if ``unread``."""
    chosen = {path for pattern in ((*CODE, *WITH_CODE) if code else DOCUMENTS) for path in root.glob(pattern)}
    spared = {path for pattern in (EXEMPT if code else (*EXEMPT, *WITH_CODE)) for path in root.glob(pattern)}
    return sorted(path for path in chosen - spared if unread or not code or not is_unread(path.relative_to(root)))


def check(root: Path, code: bool, banned: Sequence[Rule], unread: bool = False) -> list[Hit]:
    """All hits, by file and line."""
    return [
        Hit(path.relative_to(root), number, " ".join(found[0].split()), rule)
        for path in files(root, code, unread)
        for number, line in lines_of(path)
        for rule in banned
        for found in rule.pattern.finditer(line)
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Finds words that the documents must not use.")
    parser.add_argument(
        "--code", action="store_true", help="check doc comments, docstrings and texts of the code instead"
    )
    parser.add_argument("--all", action="store_true", help="with --code: check also the paths that are not yet read")
    parser.add_argument("--count", action="store_true", help="print the number of hits of each rule, not the hits")
    parser.add_argument("--root", type=Path, default=ROOT, help="the directory to check")
    options = parser.parse_args(arguments)
    hits = check(options.root.resolve(), options.code, rules(), options.all)
    if options.count:
        for text, count in Counter(hit.rule.text for hit in hits).most_common():
            print(f"{count:6} {text}")
    else:
        print(*hits, sep="\n", end="\n" if hits else "")
    if hits:
        print(f"{len(hits)} words to replace; docs/glossary.md has the terms", file=sys.stderr)
    return 1 if hits else 0


if __name__ == "__main__":
    sys.exit(main())
