"""`unsafe` is denied in every crate. A file that allows it says why, and each use has a `SAFETY` comment."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
FILES = sorted(
    path
    for folder in ("crates", "stacks", "fuzz", "benches", "kernel")
    for path in (ROOT / folder).rglob("*.rs")
    if "target" not in path.relative_to(ROOT).parts
)
CARGO = "[lints]\nworkspace = true\n"
# The most files of `src` folders with `unsafe` in them. One more needs a reason as good; lower the number when one goes.
MOST = 11


def _code(path: Path) -> list[str]:
    text = re.sub(r'"(?:[^"\\\n]|\\.)*"', '""', path.read_text())
    return [re.sub(r"//.*", "", line) for line in text.splitlines()]


def _unsafe(path: Path) -> list[int]:
    """The lines with an `unsafe` block, function or implementation that the file writes itself."""
    found = re.compile(r"\bunsafe\s*(?:\{|impl\b|fn\b|extern\b)")
    return [number for number, line in enumerate(_code(path)) if found.search(line)]


def test_every_crate_denies_unsafe() -> None:
    assert re.search(r'^unsafe_code = "deny"$', (ROOT / "Cargo.toml").read_text(), re.M)
    for manifest in (ROOT / "crates").glob("*/Cargo.toml"):
        assert CARGO in manifest.read_text(), manifest


def test_files_with_unsafe_are_few_and_say_why() -> None:
    files = [path for path in FILES if _unsafe(path)]
    names = [str(path.relative_to(ROOT)) for path in files]
    assert len([name for name in names if "/src/" in name]) <= MOST, names
    for path in files:
        root = path.parent / "lib.rs" if "kernel/door" in str(path) else path  # all of that crate is the border to C
        assert re.search(r"(?:expect|allow)\(unsafe_code, reason = \"", root.read_text()), path


def test_every_use_has_a_safety_comment() -> None:
    lacking = []
    for path in FILES:
        lines = path.read_text().splitlines()
        for number in _unsafe(path):
            before = "\n".join(lines[max(0, number - 6) : number + 1])
            declares = re.search(r"unsafe\s+(?:extern\s+\"C\"\s*(?:\{|fn\b)|fn\b)", lines[number])
            if not declares and "SAFETY" not in before:
                lacking.append(f"{path.relative_to(ROOT)}:{number + 1}")
    assert lacking == []
