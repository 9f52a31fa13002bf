"""Checks the links of all Markdown files: `python tools/lint/links.py`.

A relative link must name a file or directory that exists, and a `#anchor` must be a heading of its page. Nothing is fetched: links to the
network are not checked.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from urllib.parse import unquote

ROOT = Path(__file__).resolve().parents[2]
#: Directories that are not part of the source.
SKIPPED = {"target", "results", "node_modules", "dist"}


def documents(root: Path) -> list[Path]:
    """All Markdown files of the source."""
    found = (path.relative_to(root) for path in root.rglob("*.md"))
    return sorted(root / path for path in found if not any(p in SKIPPED or p.startswith(".") for p in path.parts))


def prose(text: str) -> Iterator[tuple[int, str]]:
    """The lines outside of code blocks, by number."""
    fence = ""
    for number, line in enumerate(text.splitlines(), 1):
        mark = re.match(r"\s*(`{3,}|~{3,})", line)
        if mark and not fence:
            fence = mark[1]
        elif mark and mark[1].startswith(fence):
            fence = ""
        elif not fence:
            yield number, line


def slug(heading: str) -> str:
    """The anchor that GitHub gives a heading."""
    plain = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


@cache
def anchors(page: Path) -> frozenset[str]:
    """The anchors of a page: its headings, numbered if they repeat, and ids in HTML."""
    found: set[str] = set()
    seen: Counter[str] = Counter()
    for _, line in prose(page.read_text()):
        heading = re.match(r" {0,3}#{1,6}\s+(.*?)(?:\s+#+)?\s*$", line)
        if heading:
            name = slug(heading[1])
            found.add(f"{name}-{seen[name]}" if seen[name] else name)
            seen[name] += 1
        found.update(re.findall(r'<\w+[^>]*\s(?:id|name)="([^"]+)"', line))
    return frozenset(found)


def targets(line: str) -> Iterator[str]:
    """The targets of the links and images of a line."""
    plain = re.sub(r"(`+)(?:(?!\1).)*\1", "", line)
    yield from re.findall(r"\]\(<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\)", plain)
    yield from re.findall(r"^\s{0,3}\[[^\]^]+\]:\s+<?([^\s>]+)", plain)
    yield from re.findall(r'<(?:a|img)\s[^>]*(?:href|src)="([^"]+)"', plain)


def fault(page: Path, target: str) -> str | None:
    """What is wrong with a link, if anything."""
    if re.match(r"[a-z][a-z0-9+.-]*:|//", target, re.IGNORECASE):
        return None
    name, _, anchor = unquote(target).partition("#")
    to = page.parent / name if name else page
    if not to.exists():
        return f"link `{target}` must name an existing file"
    if anchor and to.suffix == ".md" and anchor not in anchors(to):
        return f"link `{target}` must name a heading of {to.name}"
    return None


def broken(root: Path) -> list[str]:
    """Every link that leads nowhere, with its place."""
    anchors.cache_clear()
    return [
        f"{page.relative_to(root)}:{number}: {wrong}"
        for page in documents(root)
        for number, line in prose(page.read_text())
        for target in targets(line)
        if (wrong := fault(page, target))
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Checks the links of all Markdown files.")
    parser.add_argument("--root", type=Path, default=ROOT, help="the directory to check")
    found = broken(parser.parse_args(arguments).root.resolve())
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
