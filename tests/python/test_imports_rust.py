"""Rust files of one crate import each other in circles of at most four files.

An edge is a path that begins with `crate::` or `super::` outside `#[cfg(test)]`, from its file to the file of the module that it names.
A file whose items are re-exported by another counts as imported by who names the re-export: the edge goes to the file that re-exports.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CRATES = sorted(path.parent for path in (ROOT / "crates").glob("*/Cargo.toml"))
LARGEST = 4
KNOWN: dict[str, int] = {}
"""Crates that are not there yet, with the files of their largest circle: it must not grow."""


def _without_tests(text: str) -> str:
    """The source up to its test module, without comments and strings."""
    text = re.split(r"#\[cfg\(test\)\]\s*(?:#\[[^\n]*\]\s*)*mod tests\b", text)[0]
    text = re.sub(r"//[^\n]*", "", text)
    return re.sub(r'"(?:[^"\\]|\\.)*"', '""', text)


def _module(source: Path, file: Path) -> tuple[str, ...]:
    parts = list(file.relative_to(source).with_suffix("").parts)
    if parts[-1] in {"mod", "lib", "main"}:
        parts.pop()
    return tuple(parts)


def _tree(text: str) -> list[tuple[str, ...]]:
    """The paths of a use tree such as `a::{b, c::d}`."""
    head, brace, rest = text.partition("{")
    names = tuple(name.strip() for name in head.split("::") if name.strip())
    if not brace:
        return [names]
    depth, part, parts = 0, "", []
    for letter in rest:
        if letter == "{":
            depth += 1
        elif letter == "}":
            depth -= 1
            if depth < 0:
                break
        if letter == "," and depth == 0:
            parts.append(part)
            part = ""
        else:
            part += letter
    parts.append(part)
    return [names + path for part in parts if part.strip() for path in _tree(part.strip())]


def _paths(text: str) -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = []
    for use in re.finditer(r"\buse\s+((?:crate|super)::[^;]*);", text):
        found += _tree(use[1])
    rest = re.sub(r"\buse\s+[^;]*;", "", text)
    for path in re.finditer(r"\b(?:crate|super)(?:::\w+)+", rest):
        found.append(tuple(path[0].split("::")))
    return found


def imports(crate: Path) -> dict[str, set[str]]:
    """Of each file of a crate the files that it imports."""
    source = crate / "src"
    files = {
        _module(source, file): file
        for file in source.rglob("*.rs")
        if "tests" not in file.stem and "tests" not in file.relative_to(source).parts
    }
    edges: dict[str, set[str]] = {}
    for module, file in files.items():
        name = str(file.relative_to(source))
        edges[name] = set()
        for path in _paths(_without_tests(file.read_text())):
            base, rest = ((), path[1:]) if path[0] == "crate" else (module, path)
            while rest and rest[0] == "super":
                base, rest = base[:-1], rest[1:]
            target = base + tuple(rest)
            while target not in files and target:
                target = target[:-1]
            if target != module and target in files:
                edges[name].add(str(files[target].relative_to(source)))
    return edges


def circles(edges: dict[str, set[str]]) -> list[list[str]]:
    """The strongly connected components of more than one file, the largest first (Tarjan 1972)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(edges[node]):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            at = stack.index(node)
            found.append(sorted(stack[at:]))
            del stack[at:]

    for node in sorted(edges):
        if node not in index:
            visit(node)
    return sorted((circle for circle in found if len(circle) > 1), key=lambda circle: -len(circle))


@pytest.mark.parametrize("crate", CRATES, ids=lambda crate: crate.name)
def test_no_circle_of_imports_has_more_than_four_files(crate: Path) -> None:
    most = KNOWN.get(crate.name, LARGEST)
    assert [circle for circle in circles(imports(crate)) if len(circle) > most] == []


def test_a_circle_is_found(tmp_path: Path) -> None:
    source = tmp_path / "src"
    (source / "b").mkdir(parents=True)
    (source / "lib.rs").write_text("mod a;\nmod b;\n")
    (source / "a.rs").write_text("use crate::b::{c::C, D};\n#[cfg(test)]\nmod tests { use super::*; }\n")
    (source / "b" / "mod.rs").write_text("// use crate::a::A;\npub mod c;\npub struct D;\n")
    (source / "b" / "c.rs").write_text('const X: &str = "crate::a";\nfn f() -> super::super::a::A { todo!() }\n')
    edges = imports(tmp_path)
    assert edges["a.rs"] == {"b/c.rs", "b/mod.rs"}
    assert circles(edges) == [["a.rs", "b/c.rs"]]
