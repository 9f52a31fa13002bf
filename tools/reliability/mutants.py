"""Changes the code and looks whether a test notices: `make mutants`. For the statistics and the store.

mutmut does the same for packages of pure Python; it copies the package without its compiled half. This one changes a copy of the tree's
Python, one expression at a time: comparisons, arithmetic, numbers, `and`/`or`, `not`, conditions and returned values.
"""

from __future__ import annotations

import argparse
import ast
import copy
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
STORE = [
    "tests/python/test_store_faults.py",
    "tests/python/test_faults.py",
    "tests/python/test_store.py",
    "-k",
    "not s3 and not bucket_holds and not playground and not page",
]
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


def sites(text: str) -> list[tuple[int, int, str]]:
    """Every change of a text: the place of its node, its number at that node, and what is changed in which line."""
    out = []
    for place, node in enumerate(ast.walk(ast.parse(text))):
        for number, (kind, _) in enumerate(changes(node)):
            line = getattr(node, "lineno", 0)
            out.append((place, number, f"{line}: {kind}: {ast.unparse(node).splitlines()[0][:80]}"))
    return out


def changed(text: str, place: int, number: int) -> str:
    """The text with that change."""
    tree = ast.parse(text)
    node = list(ast.walk(tree))[place]
    new = [one for _, one in changes(node)][number]
    return ast.unparse(ast.fix_missing_locations(Replace(node, new).visit(tree)))


def noticed(tree: Path, tests: Sequence[str]) -> bool:
    """Whether a test fails."""
    more = {**os.environ, "PYTHONPATH": str(tree / "python"), "HALTERE_TEST_FAULTS": "60", "HALTERE_TEST_EXITS": "4"}
    line = [sys.executable, "-m", "pytest", "-q", "-x", "--no-header", "-p", "no:cacheprovider", *tests]
    try:
        return subprocess.run(line, cwd=tree, env=more, capture_output=True, timeout=300, check=False).returncode != 0
    except subprocess.TimeoutExpired:
        return True


def main(arguments: Sequence[str]) -> int:
    """Tries a sample of each module, and lists the survivors."""
    to = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    to.add_argument("--sample", type=int, default=15, help="mutants of each module (15); 0: all")
    to.add_argument("--only", choices=MODULES, help="one module")
    to.add_argument("--seed", type=int, default=19)
    given = to.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="haltere-mutants-") as folder:
        tree = Path(folder)
        for name in ("python", "tests", "fuzz", "docs", "papers", "pyproject.toml", "README.md"):
            source = ROOT / name
            (shutil.copytree if source.is_dir() else shutil.copy)(source, tree / name)
        for module in [given.only] if given.only else MODULES:
            place = tree / "python" / "haltere" / module
            whole = place.read_text()
            every = sites(whole)
            some = random.Random(given.seed).sample(every, min(given.sample or len(every), len(every)))
            survivors = []
            for at, number, name in some:
                place.write_text(changed(whole, at, number))
                if not noticed(tree, MODULES[module]):
                    survivors.append(name)
                    print(f"  survived: {module}:{name}", flush=True)
            place.write_text(whole)
            print(
                f"{module}: {len(some) - len(survivors)} of {len(some)} noticed, of {len(every)} possible", flush=True
            )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
