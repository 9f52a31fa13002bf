"""Rust files of one crate import each other in circles of at most six files.

An edge goes from a file to every file that a path in it leads through, outside `#[cfg(test)]`: to the file of the module that the path names
and, if that module re-exports the item, on to the file that has the item. So `use super::X`, where `X` is `pub use child::X`, imports the
parent and the child. A `use child::X` of a parent imports the child, and so does the path `child::X` in its code. A line of a registry
(`apps!`, `kinds!`, `registry!`) declares a module and imports nothing.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

Names = tuple[str, ...]
ROOT = Path(__file__).parents[2]
CRATES = sorted(path.parent for path in (ROOT / "crates").glob("*/Cargo.toml"))
LARGEST = 6


def _without_tests(text: str) -> str:
    """The source up to its test module, without comments and strings."""
    text = re.split(r"#\[cfg\(test\)\]\s*(?:#\[[^\n]*\]\s*)*mod tests\b", text)[0]
    text = re.sub(r"//[^\n]*", "", text)
    text = re.sub(r"^( *)(?:haltere_units::)?(?:apps|kinds|registry)! \{.*?^\1\}", "", text, flags=re.M | re.S)
    return re.sub(r'"(?:[^"\\]|\\.)*"', '""', text)


def _module(source: Path, file: Path) -> Names:
    parts = list(file.relative_to(source).with_suffix("").parts)
    if parts[-1] in {"mod", "lib", "main"}:
        parts.pop()
    return tuple(parts)


def _tree(text: str) -> list[Names]:
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


def _uses(text: str) -> list[tuple[str, Names]]:
    """The `use` declarations: the name that each one brings into its module, and the path. `*` is a name, too."""
    found = []
    for use in re.finditer(r"\buse\s+([^;]*);", text):
        for path in _tree(re.sub(r"\s+", " ", use[1])):
            last, _, alias = path[-1].partition(" as ")
            found.append((alias or last, (*path[:-1], last)))
    return found


class _Crate:
    """The modules of a crate, and which files their paths lead through."""

    def __init__(self, source: Path) -> None:
        self.files = {
            _module(source, file): str(file.relative_to(source))
            for file in source.rglob("*.rs")
            if "tests" not in file.stem and "tests" not in file.relative_to(source).parts
        }
        self.texts = {module: _without_tests((source / file).read_text()) for module, file in self.files.items()}
        self.uses = {module: _uses(text) for module, text in self.texts.items()}

    def absolute(self, module: Names, path: Names) -> Names | None:
        """The path from the root of the crate; None: it leads elsewhere."""
        if path[0] == "crate":
            return path[1:]
        if path[0] not in {"self", "super"}:
            return module + path if module + path[:1] in self.files else None
        while path and path[0] in {"self", "super"}:
            module, path = module[:-1] if path[0] == "super" else module, path[1:]
        return module + path

    def through(self, target: Names, seen: frozenset[tuple[Names, str]] = frozenset()) -> set[Names]:
        """The modules that an absolute path leads through: the one that it names, and those from which the item is re-exported."""
        module = target
        while module not in self.files and module:
            module = module[:-1]
        found = {module} & set(self.files)
        name = target[len(module)] if len(module) < len(target) else "self"
        if name in {"self", "*"} or (module, name) in seen or not found:
            return found
        for known, path in self.uses[module]:
            origin = self.absolute(module, path[:-1] if known == "*" else path)
            if origin is None or (known == "*" and not self.defines(origin, name)) or known not in {name, "*"}:
                continue
            found |= self.through(origin, seen | {(module, name)})
        return found

    def defines(self, module: Names, name: str) -> bool:
        words = "struct|enum|fn|trait|type|const|static|union|mod|macro_rules!"
        return re.search(rf"\b(?:{words})\s+{re.escape(name)}\b", self.texts.get(module, "")) is not None

    def paths(self, module: Names) -> list[Names]:
        rest = re.sub(r"\buse\s+[^;]*;", "", self.texts[module])
        written = [tuple(path[0].split("::")) for path in re.finditer(r"(?<![:\w])[a-z]\w*(?:::\w+)+", rest)]
        written = [path for path in written if path[0] in {"crate", "super"} or module + path[:1] in self.files]
        return [path for _, path in self.uses[module]] + written


def imports(crate: Path) -> dict[str, set[str]]:
    """Of each file of a crate the files that it imports."""
    modules = _Crate(crate / "src")
    edges: dict[str, set[str]] = {}
    for module, file in modules.files.items():
        targets = [modules.absolute(module, path) for path in modules.paths(module)]
        found = {other for target in targets if target is not None for other in modules.through(target)}
        edges[file] = {modules.files[other] for other in found - {module}}
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
def test_no_circle_of_imports_has_more_than_six_files(crate: Path) -> None:
    assert [circle for circle in circles(imports(crate)) if len(circle) > LARGEST] == []


def test_a_circle_is_found(tmp_path: Path) -> None:
    source = tmp_path / "src"
    (source / "b").mkdir(parents=True)
    (source / "lib.rs").write_text("mod a;\nmod b;\n")
    (source / "a.rs").write_text("use crate::b::{c::C, D};\n#[cfg(test)]\nmod tests { use super::*; }\n")
    (source / "b" / "mod.rs").write_text("// use crate::a::A;\npub mod c;\npub struct D;\nkinds! {\n    A, c::A;\n}\n")
    (source / "b" / "c.rs").write_text('const X: &str = "crate::a";\nfn f() -> super::super::a::A { todo!() }\n')
    edges = imports(tmp_path)
    assert edges["a.rs"] == {"b/c.rs", "b/mod.rs"}
    assert circles(edges) == [["a.rs", "b/c.rs"]]


def test_every_file_of_a_test_program_is_a_module_of_it() -> None:
    programs = sorted((ROOT / "crates").glob("*/tests/it/main.rs"))
    assert programs
    for main in programs:
        files = {path.stem for path in main.parent.glob("*.rs")} | {
            path.parent.name for path in main.parent.glob("*/mod.rs")
        }
        named = set(re.findall(r"^mod (\w+);", main.read_text(), re.M))
        assert files - {"main"} <= named, f"{main}: not compiled: {files - {'main'} - named}"


def test_a_re_export_of_the_parent_imports_the_child(tmp_path: Path) -> None:
    source = tmp_path / "src"
    (source / "a").mkdir(parents=True)
    (source / "lib.rs").write_text("mod a;\n")
    (source / "a" / "mod.rs").write_text("mod b;\nmod c;\nmod d;\npub use b::B;\npub(crate) use c::*;\n")
    (source / "a" / "b.rs").write_text("pub struct B;\nuse super::C as Other;\n")
    (source / "a" / "c.rs").write_text("pub struct C;\nfn f() -> crate::a::B { todo!() }\n")
    (source / "a" / "d.rs").write_text("use super::c::C;\n")
    edges = imports(tmp_path)
    assert edges["a/b.rs"] == edges["a/c.rs"] ^ {"a/b.rs", "a/c.rs"} == {"a/mod.rs", "a/c.rs"}
    assert edges["a/mod.rs"] == {"a/b.rs", "a/c.rs"}
    assert edges["a/d.rs"] == {"a/c.rs"}
    assert circles(edges) == [["a/b.rs", "a/c.rs", "a/mod.rs"]]


def test_a_path_through_a_child_imports_the_child(tmp_path: Path) -> None:
    source = tmp_path / "src"
    (source / "a").mkdir(parents=True)
    (source / "lib.rs").write_text("mod a;\n")
    (source / "a" / "mod.rs").write_text("mod b;\npub trait T {}\nfn f() -> b::B { todo!() }\n")
    (source / "a" / "b.rs").write_text("pub struct B;\nimpl super::T for B {}\n")
    assert circles(imports(tmp_path)) == [["a/b.rs", "a/mod.rs"]]
