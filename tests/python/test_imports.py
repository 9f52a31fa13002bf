"""The modules of the package: no circle of imports, old names for one version, and a command that starts quickly."""

from __future__ import annotations

import ast
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


def imported(name: str, path: Path) -> Iterator[str]:
    """Every module of the package that a module imports: at its top, in functions, and for the type checker alone."""
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names if one.name in KNOWN)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) + 1 - node.level] if node.level else []
            target = ".".join([*base, *(node.module or "").split(".")]).strip(".")
            for one in node.names:
                below = f"{target}.{one.name}"
                if below in KNOWN or target in KNOWN:
                    yield below if below in KNOWN else target


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


def test_a_circle_would_be_found() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [["a", "b", "c"]]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("haltere.stats", "haltere.analysis.stats"),
        ("haltere.papers", "haltere.studies"),
        ("haltere.papers.rafle_tasks", "haltere.studies.rafle.tasks"),
        ("haltere.results", "haltere.runs.results"),
    ],
)
def test_a_module_is_found_under_its_old_name_with_a_warning(old: str, new: str) -> None:
    script = (
        "import importlib, warnings\n"
        "with warnings.catch_warnings(record=True) as seen:\n"
        "    warnings.simplefilter('always')\n"
        f"    one, other = importlib.import_module('{old}'), importlib.import_module('{new}')\n"
        f"    import {old}\n"
        "assert one is other and one.__spec__.name == one.__name__ == other.__name__, one.__spec__\n"
        f"assert any('is now `{new}`' in str(w.message) for w in seen), seen\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_what_the_readme_imports_is_there() -> None:
    script = "import haltere; from haltere import stats; haltere.load, haltere.Results, haltere.stats.mean, stats.jain"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "`haltere.stats` is now `haltere.analysis.stats`" in done.stderr


def test_an_old_flag_works_and_says_its_new_name(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "haltere", "run", "none.toml", "--anyway"], cwd=tmp_path, capture_output=True, text=True
    )
    first, *rest = done.stderr.splitlines()
    assert first == "haltere: --anyway is now --ignore-calibration; the old name goes with the next version"
    assert done.returncode == 2 and len(rest) == 1 and "none.toml: file must exist" in rest[0]


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


def test_no_module_compares_the_names_of_mechanisms() -> None:
    """Reports, analyses and commands ask how a traffic kind, a topology or a discipline behaves, never which one it is."""
    named = {name for what in ("traffic", "topologies", "queues") for name in _core.names(what)}
    found = []
    for folder in ("report", "analysis", "commands"):
        for path in sorted((PACKAGE / folder).rglob("*.py")):
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
