"""Changes the code and looks whether a test notices: `make mutants`. For the statistics and the store.

mutmut does the same for packages of pure Python; it copies the package without its compiled half. This one changes a copy of the tree's
Python, one expression at a time: comparisons, arithmetic, numbers, `and`/`or`, `not`, conditions and returned values.

A first run of the tests writes down which lines each of them reaches. A change then meets the tests that reach it, the quickest
first, for :data:`BUDGET_S`. Tests that reach it only in a command that they start do not count, so the score is a lower bound. Each change
is tried in a fork of a process that has imported the large libraries already.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import copy
import importlib
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
STORE = [
    "tests/python/test_store_faults.py",
    "tests/python/test_faults.py",
    "tests/python/test_store.py",
    "tests/python/test_store_by_hand.py",
    "tests/python/test_records_by_hand.py",
    "python/haltere/runs/records.py",
    "-k",
    "not s3 and not bucket_holds and not playground and not page",
]
#: Seconds of tests, as measured without a change, that one change meets at most.
BUDGET_S = 60.0
#: The modules, each with the tests that must notice.
MODULES = {
    "analysis/stats.py": [
        "tests/python/test_stats.py",
        "tests/python/test_stats_by_hand.py",
        "tests/python/test_precision.py",
        "python/haltere/analysis/stats.py",
    ],
    "runs/store.py": STORE,
    "runs/files.py": STORE,
    "runs/records.py": STORE,
}
COMPARE = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
ARITHMETIC = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
}


def changes(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """What this node may become."""
    new = copy.copy(node)  # what is below is shared, and replaced, not changed
    if isinstance(new, ast.Compare) and type(new.ops[0]) in COMPARE:
        new.ops = [COMPARE[type(new.ops[0])](), *new.ops[1:]]
        yield "comparison", new
    elif isinstance(new, ast.BinOp) and type(new.op) in ARITHMETIC:
        new.op = ARITHMETIC[type(new.op)]()
        yield "arithmetic", new
    elif isinstance(new, ast.BoolOp):
        new.op = ast.And() if isinstance(new.op, ast.Or) else ast.Or()
        yield "and/or", new
    elif isinstance(new, ast.UnaryOp) and isinstance(new.op, ast.Not):
        yield "not", new.operand
    elif isinstance(new, ast.Constant) and isinstance(new.value, int | float) and not isinstance(new.value, bool):
        yield "number", ast.Constant(new.value + 1)
    elif isinstance(new, ast.Return) and new.value is not None and not isinstance(new.value, ast.Constant):
        yield "return", ast.Return(ast.Constant(None))
    elif isinstance(new, ast.If):
        new.test = ast.Constant(False)
        yield "condition", new


class Replace(ast.NodeTransformer):
    """Puts a node in the place of another."""

    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        """The new one, once the old one is met."""
        if node is self.old:
            return ast.copy_location(self.new, node)
        return self.generic_visit(node)


@dataclass(frozen=True)
class Site:
    """One change: its node, its number at that node, the lines that it is on, those of its function, and a name."""

    place: int
    number: int
    lines: range
    around: range
    name: str


def sites(text: str) -> list[Site]:
    """Every change of a text."""
    tree = ast.parse(text)
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    out = []
    for place, node in enumerate(ast.walk(tree)):
        for number, (kind, _) in enumerate(changes(node)):
            # Of a condition the first lines, not what depends on it.
            lines = span(node.test if isinstance(node, ast.If) else node)
            inside = [one for one in map(span, functions) if lines.start in one]
            around = max(inside, key=lambda one: one.start, default=range(0))
            out.append(
                Site(place, number, lines, around, f"{lines.start}: {kind}: {ast.unparse(node).splitlines()[0][:80]}")
            )
    return out


def span(node: ast.AST) -> range:
    """The lines of a node."""
    return range(node.lineno, node.end_lineno + 1)  # type: ignore[attr-defined]


def changed(text: str, place: int, number: int) -> str:
    """The text with that change."""
    tree = ast.parse(text)
    node = list(ast.walk(tree))[place]
    new = [one for _, one in changes(node)][number]
    return ast.unparse(ast.fix_missing_locations(Replace(node, new).visit(tree)))


class Reached:
    """A plugin of pytest: the seconds of each test, and the lines of some files that it reaches in this process."""

    def __init__(self, files: Sequence[Path]) -> None:
        self.files = {str(file) for file in files}
        self.lines: set[tuple[str, int]] = set()
        #: By test: seconds, and pairs of a file and a line.
        self.tests: dict[str, tuple[float, list[tuple[str, int]]]] = {}

    def trace(self, frame: FrameType, event: str, _: Any) -> Any:
        """Follows the frames of these files alone."""
        if frame.f_code.co_filename not in self.files:
            return None
        self.lines.add((frame.f_code.co_filename, frame.f_lineno))
        return self.trace

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Watches one test with its fixtures."""
        self.lines, began = set(), time.monotonic()
        threading.settrace(self.trace)
        sys.settrace(self.trace)
        try:
            return (yield)
        finally:
            sys.settrace(None)
            threading.settrace(None)  # type: ignore[arg-type]
            self.tests[item.nodeid] = (time.monotonic() - began, sorted(self.lines))


def forked(what: Callable[[], int], limit_s: float) -> int | None:
    """Does it in a process of its own, whose output goes nowhere: its status, or nothing if it did not end in time."""
    child = os.fork()
    if child == 0:
        os.setsid()  # a test that hangs ends with all that it started
        quiet = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            os.dup2(quiet, stream)
        status = 70
        with contextlib.suppress(BaseException):
            status = what()
        os._exit(status)
    end = time.monotonic() + limit_s
    pid = 0
    while not pid and time.monotonic() < end:
        time.sleep(0.02)
        pid, status = os.waitpid(child, os.WNOHANG)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    if pid:
        return os.waitstatus_to_exitcode(status)
    os.waitpid(child, 0)
    return None


def tested(*arguments: str, plugins: Sequence[object] = ()) -> int:
    """Runs tests in this process."""
    return int(pytest.main(["-q", "-x", "--no-header", "-p", "no:cacheprovider", *arguments], plugins=list(plugins)))


def reach(tree: Path, modules: Sequence[str], tests: Sequence[str]) -> dict[str, tuple[float, list[tuple[str, int]]]]:
    """What each test reaches of these modules, without a change."""
    told = tree / "reached.json"

    def watched() -> int:
        plugin = Reached([tree / "python" / "haltere" / module for module in modules])
        status = tested(*tests, plugins=[plugin])
        told.write_text(json.dumps(plugin.tests))
        return status

    if forked(watched, 3600) != 0:
        raise SystemExit(f"the tests fail without a change: {' '.join(tests)}")
    return json.loads(told.read_text())  # type: ignore[no-any-return]


def fitting(site: Site, file: Path, reached: dict[str, tuple[float, list[tuple[str, int]]]]) -> list[str]:
    """The tests for a change, the quickest first: those that reach its lines, or else its function, or else the module."""
    at = {name: {line for path, line in lines if path == str(file)} for name, (_, lines) in reached.items()}
    for wanted in (site.lines, site.around):
        if found := [name for name, lines in at.items() if not lines.isdisjoint(wanted)]:
            break
    else:
        found = [name for name, lines in at.items() if lines]
    some, left = [], BUDGET_S
    for name in sorted(found, key=lambda one: reached[one][0]):
        left -= reached[name][0]
        if some and left < 0:
            break
        some.append(name)
    return some


def copied(tree: Path) -> None:
    """The tree, and this process as one that runs its tests."""
    for name in ("python", "tests", "fuzz", "docs", "papers", "pyproject.toml", "README.md"):
        source = ROOT / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, tree / name)
    os.chdir(tree)
    more = {"PYTHONPATH": str(tree / "python"), "HALTERE_TEST_FAULTS": "60", "HALTERE_TEST_EXITS": "4"}
    # Two changes of one length in one second would have the same compiled file.
    os.environ.update(more, PYTHONDONTWRITEBYTECODE="1")
    sys.dont_write_bytecode = True
    sys.path[:1] = [str(tree / "python"), str(tree / "tests" / "python")]
    for cache in tree.rglob("__pycache__"):
        shutil.rmtree(cache)
    for library in ("numpy", "pandas", "pyarrow.parquet", "matplotlib.figure"):
        importlib.import_module(library)


def tries(tree: Path, module: str, sample: int, seed: int, reached: dict[str, Any]) -> None:
    """Prints what became of a sample of the changes of a module."""
    file = tree / "python" / "haltere" / module
    whole = file.read_text()
    every = sites(whole)
    some = random.Random(seed).sample(every, min(sample or len(every), len(every)))
    survivors = late = 0
    for site in some:
        file.write_text(changed(whole, site.place, site.number))
        tests = fitting(site, file, reached)
        limit = 20 + 4 * sum(reached[name][0] for name in tests)
        status = forked(lambda names=tests: tested(*names), limit) if tests else 0  # type: ignore[misc]
        late += status is None
        if status == 0:
            survivors += 1
            print(f"  survived: {module}:{site.name}", flush=True)
    file.write_text(whole)
    noticed = len(some) - survivors
    print(
        f"{module}: {noticed} of {len(some)} noticed ({100 * noticed / len(some):.1f} %), {late} of them never ended, of {len(every)} possible",
        flush=True,
    )


def main(arguments: Sequence[str]) -> int:
    """Tries a sample of each module, and lists the survivors."""
    to = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    to.add_argument("--sample", type=int, default=30, help="mutants of each module (30); 0: all")
    to.add_argument("--only", choices=MODULES, action="append", help="one module (all)")
    to.add_argument("--seed", type=int, default=19)
    given = to.parse_args(arguments)
    chosen = given.only or list(MODULES)
    with tempfile.TemporaryDirectory(prefix="haltere-mutants-") as folder:
        tree = Path(folder).resolve()
        copied(tree)
        for tests in dict.fromkeys(map(tuple, MODULES.values())):
            modules = [one for one in chosen if tuple(MODULES[one]) == tests]
            reached = reach(tree, modules, tests) if modules else {}
            for module in modules:
                tries(tree, module, given.sample, given.seed, reached)
        os.chdir(ROOT)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
