"""The recipe of CONTRIBUTING.md, carried out on a copy of the source as it is written there."""

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


@pytest.mark.skipif(shutil.which("cargo") is None, reason="the recipe compiles Rust: it needs cargo")
def test_the_recipe_for_a_queue_discipline_works_as_written(tmp_path: Path) -> None:
    tree = tmp_path / "haltere"
    tree.mkdir()
    for name in ("Cargo.toml", "Cargo.lock", "clippy.toml"):
        shutil.copy(ROOT / name, tree / name)
    shutil.copytree(ROOT / "crates", tree / "crates")
    blocks = list(BLOCK.finditer((ROOT / "CONTRIBUTING.md").read_text()))
    assert len(blocks) == 4
    # The crates that the recipe's own depends on are built already: a target directory beside the usual one keeps them for next time.
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "recipe"
    ran = ""
    for block in blocks:
        if block["file"]:
            apply(block, tree)
            continue
        done = subprocess.run(
            block["text"],
            shell=True,
            cwd=tree,
            env={**os.environ, "CARGO_TARGET_DIR": str(target)},
            capture_output=True,
            text=True,
            timeout=900,
        )
        assert done.returncode == 0, done.stderr[-4000:] + done.stdout[-4000:]
        ran += done.stdout
    counts = [int(n) for n in re.findall(r"test result: ok\. (\d+) passed", ran)]
    assert sum(counts) >= 1, f"no conformance test ran:\n{ran}"
