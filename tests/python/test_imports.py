"""The modules of the package: no circle of imports, and a command that starts quickly."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import ROOT
from haltere import _core

PACKAGE = ROOT / "python" / "haltere"


def module(path: Path) -> str:
    parts = ["haltere", *path.relative_to(PACKAGE).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module(path): path for path in sorted(PACKAGE.rglob("*.py"))}
KNOWN = {*MODULES, "haltere._core"}


def imported(name: str, path: Path, text: str | None = None) -> Iterator[str]:
    """Every module of the package that a module imports: at its top, in functions, for the type checker, and by `import_module`."""
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    for node in ast.walk(ast.parse(path.read_text() if text is None else text)):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names if one.name in KNOWN)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) + 1 - node.level] if node.level else []
            target = ".".join([*base, *(node.module or "").split(".")]).strip(".")
            for one in node.names:
                below = f"{target}.{one.name}"
                if below in KNOWN or target in KNOWN:
                    yield below if below in KNOWN else target
        elif isinstance(node, ast.Call) and ast.unparse(node.func).rsplit(".", 1)[-1] in (
            "import_module",
            "__import__",
        ):
            yield from _by_name(node.args[0], name, package)


def _by_name(wanted: ast.expr, name: str, package: list[str]) -> Iterator[str]:
    """The modules that `import_module` may load: a variable part of a name stands for one word."""
    parts = wanted.values if isinstance(wanted, ast.JoinedStr) else [wanted]
    pattern = ""
    for part in parts:
        if isinstance(part, ast.Constant):
            pattern += re.escape(str(part.value))
        elif isinstance(part, ast.FormattedValue):
            pattern += re.escape(name) if ast.unparse(part.value) == "__name__" else r"\w+"
    if pattern.startswith(r"\."):
        pattern = re.escape(".".join(package)) + pattern
    # A name that is wholly variable is one of a user's.
    if pattern.startswith("haltere"):
        yield from (one for one in KNOWN if re.fullmatch(pattern, one))


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """The groups of modules that import each other (Tarjan's strongly connected components of more than one)."""
    place: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    out: list[list[str]] = []

    def visit(name: str) -> None:
        place[name] = low[name] = len(place)
        stack.append(name)
        for other in sorted(graph[name]):
            if other not in place:
                visit(other)
            if other in stack:
                low[name] = min(low[name], low[other])
        if low[name] == place[name]:
            group = stack[stack.index(name) :]
            del stack[stack.index(name) :]
            if len(group) > 1 or name in graph[name]:
                out.append(sorted(group))

    for name in graph:
        if name not in place:
            visit(name)
    return out


def test_no_module_imports_itself_through_others() -> None:
    graph = {name: set(imported(name, path)) for name, path in MODULES.items()} | {"haltere._core": set()}
    assert sum(map(len, graph.values())) > 200, "the imports were not found"
    assert circles(graph) == []


#: The optional parts, and what may import each beside itself.
BESIDE = {
    "studies": {"commands.reproduce", "commands.characterize", "characterize", "catalogue"},
    "validate": {"commands.validate"},
    "characterize": {"commands.characterize"},
    "search": {"commands.search", "packs", "commands.packs"},
    "packs": {"commands.packs"},
    "gym": set[str](),
    "captures": {"commands.captures"},
}


@pytest.mark.parametrize("part", BESIDE)
def test_an_optional_part_is_imported_by_its_command_alone(part: str) -> None:
    def belongs(name: str, to: str) -> bool:
        return f"{name}.".startswith(f"haltere.{to}.")

    found = {
        name
        for name, path in MODULES.items()
        if any(belongs(one, part) for one in imported(name, path))
        and not any(belongs(name, one) for one in (part, "examples", "data", *BESIDE[part]))
    }
    assert found == set()


def test_a_hidden_import_is_seen() -> None:
    """In a function, in a module's `__getattr__`, and by the name of a module."""
    hidden = "def f():\n    from ..report import page\n"
    hidden += "def __getattr__(name):\n    return importlib.import_module('haltere.report.over')\n"
    hidden += "def g(name):\n    return import_module(f'haltere.report.{name}'), import_module(name)\n"
    seen = set(imported("haltere.runs.results", Path("results.py"), hidden))
    assert {"haltere.report.page", "haltere.report.over", "haltere.report.words"} <= seen
    assert all(one.startswith("haltere.report") for one in seen)
    assert "haltere.api" in imported("haltere", Path("__init__.py"), "importlib.import_module('.api', __name__)")


def test_a_circle_would_be_found() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [["a", "b", "c"]]


HEAVY = ("numpy", "pandas", "pyarrow", "matplotlib", "duckdb", "distributed", "fsspec", "websockets")


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["run", "--help"], ["list", "queues"]])
def test_the_command_loads_nothing_heavy_before_it_needs_it(arguments: list[str], tmp_path: Path) -> None:
    script = (
        "import sys\nfrom haltere import cli\n"
        f"try:\n    cli.main({arguments})\nexcept SystemExit:\n    pass\n"
        f"print(sorted(set({HEAVY}) & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    heavy = [] if "list" not in arguments else ["numpy"]  # statistics are loaded with the list of studies
    assert done.stderr.strip() == str(heavy)


def test_a_text_report_is_made_without_matplotlib(small: Path) -> None:
    script = (
        "import sys\nfrom haltere import cli\n"
        f"assert cli.main(['run', {small.name!r}, '--seeds', '1']) == 0\n"
        "assert 'matplotlib' not in sys.modules, 'a text needs no figures'"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=small.parent, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_a_command_whose_extra_is_missing_says_which_to_install(small: Path) -> None:
    script = f"import sys\nsys.modules['matplotlib'] = None\nfrom haltere import cli\nsys.exit(cli.main(['report', {small.name!r}]))"
    done = subprocess.run([sys.executable, "-c", script], cwd=small.parent, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr
    assert done.stderr.startswith("haltere: report: package `matplotlib` is not installed")
    assert done.stderr.endswith("type: pip install 'haltere[report]'\n")
    assert sorted(path.name for path in small.parent.iterdir()) == ["small.toml"]


def test_every_command_is_found_in_its_module() -> None:
    from haltere import commands
    from haltere.cli import _parser

    found = {name for one in commands.COMMANDS for name in _parser([one])._subparsers._group_actions[0].choices}
    assert found == set(commands.COMMANDS) and set(commands.COMMANDS) >= commands.DRAWS


def test_no_module_compares_the_names_of_mechanisms() -> None:
    """Reports, analyses and commands ask how a traffic kind, a topology or a discipline behaves, never which one it is."""
    named = {name for what in ("traffic", "topologies", "queues") for name in _core.names(what)}
    found = []
    for folder in ("report", "analysis", "commands"):
        for path in sorted((PACKAGE / folder).rglob("*.py")):
            if path.name == "__init__.py" and folder == "commands":
                continue  # `haltere replay` has the name of a traffic kind
            found += [f"{folder}/{path.name}:{line}: `{name}`" for line, name in _compared(path) if name in named]
    assert found == []


def _compared(path: Path) -> Iterator[tuple[int, object]]:
    """The texts that a module compares with, matches on or looks up tables by."""
    for node in ast.walk(ast.parse(path.read_text())):
        parts: list[ast.expr] = []
        if isinstance(node, ast.Compare):
            parts = [node.left, *node.comparators]
        elif isinstance(node, ast.Dict):
            parts = [key for key in node.keys if key is not None]
        elif isinstance(node, ast.MatchValue):
            parts = [node.value]
        yield from (
            (one.lineno, one.value) for part in parts for one in ast.walk(part) if isinstance(one, ast.Constant)
        )
