"""The recipes of docs/recipes-traffic.md, carried out on a copy of the source as they are written there, and the files that they touch."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from conftest import ROOT
from test_contributing import BLOCK, apply

RECIPES = ROOT / "docs" / "recipes-traffic.md"


def recipe(title: str) -> list[re.Match[str]]:
    """The code blocks below the heading of that title."""
    parts = re.split(r"^## (.*)$", RECIPES.read_text(), flags=re.M)
    texts = dict(zip(parts[1::2], parts[2::2], strict=True))
    return list(BLOCK.finditer(texts[title]))


@pytest.mark.parametrize(
    ("title", "most_new", "most_changed"), [("Add a traffic kind", 3, 3), ("Add a topology", 1, 1)]
)
def test_a_recipe_touches_few_files(title: str, most_new: int, most_changed: int) -> None:
    blocks = [block for block in recipe(title) if block["file"]]
    new = {block["file"] for block in blocks if not block["where"]}
    changed = {block["file"] for block in blocks if block["where"]}
    lines = sum(block["text"].count("\n") for block in blocks if block["where"])
    assert 0 < len(new) <= most_new and 0 < len(changed) <= most_changed, f"{sorted(new)} and {sorted(changed)}"
    assert lines == len(changed), f"a registry takes one line, got {lines} lines in {len(changed)} files"


@pytest.mark.skipif(shutil.which("cargo") is None, reason="the recipes compile Rust: they need cargo")
@pytest.mark.parametrize("title", ["Add a traffic kind", "Add a topology"])
def test_a_recipe_works_as_written(title: str, tmp_path: Path) -> None:
    tree = tmp_path / "haltere"
    tree.mkdir()
    for name in ("Cargo.toml", "Cargo.lock", "clippy.toml"):
        shutil.copy(ROOT / name, tree / name)
    shutil.copytree(ROOT / "crates", tree / "crates")
    # The crates that the recipe's own depends on are built already: a target directory beside the usual one keeps them for next time.
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "recipe"
    ran = ""
    for block in recipe(title):
        if block["file"]:
            apply(block, tree)
            continue
        done = subprocess.run(
            f"set -e\n{block['text']}",
            shell=True,
            cwd=tree,
            env={**os.environ, "CARGO_TARGET_DIR": str(target)},
            capture_output=True,
            text=True,
            timeout=1800,
        )
        assert done.returncode == 0, done.stderr[-4000:] + done.stdout[-4000:]
        ran += done.stdout
    counts = [int(n) for n in re.findall(r"test result: ok\. (\d+) passed", ran)]
    assert len(counts) == 2 and min(counts) >= 1, f"a test did not run:\n{ran}"
