"""The recipes of docs/contributing, carried out on a copy of the source as they are written there; the files that they touch are counted."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT

BLOCK = re.compile(
    r"^```((?:rust|python) file=(?P<file>\S+)(?: (?P<where>after|before)=\"(?P<anchor>[^\"]+)\")?|sh run)\n(?P<text>.*?)^```$",
    re.M | re.S,
)


def apply(block: re.Match[str], tree: Path) -> None:
    path = tree / block["file"]
    if not block["where"]:
        assert not path.exists(), f"{path} exists already"
        path.write_text(block["text"])
        return
    lines = path.read_text().splitlines(keepends=True)
    places = [i for i, line in enumerate(lines) if line.strip() == block["anchor"]]
    assert len(places) == 1, f"`{block['anchor']}` must stand once in {block['file']}, got {len(places)}"
    lines.insert(places[0] + (block["where"] == "after"), block["text"])
    path.write_text("".join(lines))


def sections() -> dict[str, str]:
    """The recipes by their headings."""
    pages = [path.read_text() for path in sorted((ROOT / "docs/contributing").glob("*.md"))]
    return {text.partition("\n")[0].removeprefix("# "): text for text in pages if BLOCK.search(text)}


def test_the_rules_lead_to_every_recipe() -> None:
    named = set(re.findall(r"docs/contributing/([a-z-]+)\.md", (ROOT / "CONTRIBUTING.md").read_text()))
    assert named == {path.stem for path in (ROOT / "docs/contributing").glob("*.md")}


#: New files, changed files and lines in the changed files that a recipe may have.
LIMITS = {
    "Add a queue discipline": (1, 1, 1),
    "Add a congestion control": (1, 1, 1),
    "Add a path scheduler": (1, 1, 1),
    "Add a traffic kind": (3, 3, 3),
    "Add a topology": (1, 1, 1),
    "Add a metric": (0, 1, 1),
    # In Python a registration is an import and an entry.
    "Add a world": (1, 1, 2),
    "Add a command": (1, 1, 1),
}
PYTHON = ("Add a metric", "Add a world", "Add a command")


def test_every_recipe_has_its_limits() -> None:
    assert set(sections()) == set(LIMITS)


@pytest.mark.parametrize("recipe", LIMITS)
def test_a_recipe_touches_no_more_files_than_it_may(recipe: str) -> None:
    blocks = [block for block in BLOCK.finditer(sections()[recipe]) if block["file"]]
    new = {block["file"] for block in blocks if not block["where"]}
    changed = {block["file"] for block in blocks if block["where"]}
    lines = sum(block["text"].count("\n") for block in blocks if block["where"])
    assert (len(new), len(changed), lines) == LIMITS[recipe], f"{sorted(new)} {sorted(changed)}"


def carried_out(recipe: str, tree: Path, env: dict[str, str]) -> str:
    """Applies the blocks of a recipe to a copy of the source and runs its commands; what they printed."""
    ran = ""
    for block in BLOCK.finditer(sections()[recipe]):
        if block["file"]:
            apply(block, tree)
            continue
        done = subprocess.run(
            "set -e\n" + block["text"],
            shell=True,
            cwd=tree,
            env={**os.environ, **env},
            capture_output=True,
            text=True,
            timeout=1800,
        )
        assert done.returncode == 0, done.stderr[-4000:] + done.stdout[-4000:]
        ran += done.stdout
    return ran


def copied(tree: Path) -> None:
    """Makes the tree a copy of the Rust sources. Files that are the same stay: cargo compiles again what is younger than its output."""
    files = [path for path in (ROOT / "crates").rglob("*") if path.is_file()]
    files += [ROOT / name for name in ("Cargo.toml", "Cargo.lock", "clippy.toml")]
    wanted = {tree / path.relative_to(ROOT): path.read_bytes() for path in files}
    for path in [path for path in tree.rglob("*") if path.is_file()]:
        if path not in wanted:
            path.unlink()
    for path, data in wanted.items():
        if not path.exists() or path.read_bytes() != data:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cargo") is None, reason="the recipe compiles Rust: it needs cargo")
@pytest.mark.parametrize("recipe", [name for name in LIMITS if name not in PYTHON])
def test_a_recipe_works_as_written(recipe: str) -> None:
    # One place for all recipes, beside what `cargo test` compiled: dependencies and crates that no recipe changes are compiled once.
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve()
    tree = target / "recipe" / "haltere"
    copied(tree)
    ran = carried_out(recipe, tree, {"CARGO_TARGET_DIR": str(target)})
    counts = [int(n) for n in re.findall(r"test result: ok\. (\d+) passed", ran)]
    assert len(counts) >= 2 and all(counts), f"a command ran no test:\n{ran}"


@pytest.mark.parametrize("recipe", PYTHON)
def test_a_recipe_in_python_works_as_written(recipe: str, tmp_path: Path) -> None:
    tree = tmp_path / "haltere"
    left_out = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "python", tree / "python", ignore=left_out)
    shutil.copytree(ROOT / "tests" / "python", tree / "tests" / "python", ignore=left_out)
    here = Path(sys.executable).parent
    ran = carried_out(
        recipe, tree, {"PYTHONPATH": str(tree / "python"), "PATH": f"{here}{os.pathsep}{os.environ['PATH']}"}
    )
    assert ran.strip() and "skipped" not in ran
