"""The recipes of CONTRIBUTING.md, carried out on a copy of the source as they are written there; the files that they touch are counted."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from conftest import ROOT

BLOCK = re.compile(
    r"^```(rust file=(?P<file>\S+)(?: (?P<where>after|before)=\"(?P<anchor>[^\"]+)\")?|sh run)\n(?P<text>.*?)^```$",
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
    """The recipes of CONTRIBUTING.md by their headings."""
    parts = re.split(r"^## (.+)$", (ROOT / "CONTRIBUTING.md").read_text(), flags=re.M)
    found = dict(zip(parts[1::2], parts[2::2], strict=True))
    return {heading: text for heading, text in found.items() if BLOCK.search(text)}


#: New files and changed files that a recipe may have.
LIMITS = {
    "Add a queue discipline": (1, 1),
    "Add a congestion control": (1, 1),
    "Add a path scheduler": (1, 1),
}


def test_every_recipe_has_its_limits() -> None:
    assert set(sections()) == set(LIMITS)


@pytest.mark.parametrize("recipe", sections())
def test_a_recipe_touches_no_more_files_than_it_may(recipe: str) -> None:
    blocks = [block for block in BLOCK.finditer(sections()[recipe]) if block["file"]]
    new = {block["file"] for block in blocks if not block["where"]}
    changed = {block["file"] for block in blocks if block["where"]}
    most_new, most_changed = LIMITS[recipe]
    assert 1 <= len(new) <= most_new and 1 <= len(changed) <= most_changed, f"{sorted(new)} {sorted(changed)}"


@pytest.mark.skipif(shutil.which("cargo") is None, reason="the recipe compiles Rust: it needs cargo")
@pytest.mark.parametrize("recipe", sections())
def test_a_recipe_works_as_written(recipe: str, tmp_path: Path) -> None:
    tree = tmp_path / "haltere"
    tree.mkdir()
    for name in ("Cargo.toml", "Cargo.lock", "clippy.toml"):
        shutil.copy(ROOT / name, tree / name)
    shutil.copytree(ROOT / "crates", tree / "crates")
    blocks = list(BLOCK.finditer(sections()[recipe]))
    # Dependencies are compiled once: the target directory stays for the next time.
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "recipe"
    ran = ""
    for block in blocks:
        if block["file"]:
            apply(block, tree)
            continue
        done = subprocess.run(
            "set -e\n" + block["text"],
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
    assert len(counts) >= 2 and all(counts), f"a command ran no test:\n{ran}"
