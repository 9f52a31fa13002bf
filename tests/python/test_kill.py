"""kill -9 at any moment: nothing lost, nothing run twice, nothing corrupt."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

import haltere as package
from conftest import listing
from haltere.runs.store import Store

KILLS, SEEDS = 20, 150
LIFE = "import haltere; haltere.load('small.toml').run(seeds={}, out='swept')"


def sealed(out: Path) -> dict[str, tuple[int, int]]:
    """The runs that are there, each with what changes when it is written again."""
    # What has a name with a dot in front is being written and may go at any time.
    seals = ((path, path.stat()) for path in out.glob("runs/[!.]*/run.json"))
    return {
        run["key"]: (seal.st_ino, seal.st_mtime_ns)
        for path, seal in seals
        for run in json.loads(path.read_bytes())["runs"]
    }


def one_life(folder: Path, chance: random.Random) -> None:
    """Starts the sweep and kills it: half the times wherever it is, half the times soon after its next run is kept."""
    before = len(sealed(folder / "swept"))
    process = subprocess.Popen([sys.executable, "-c", LIFE.format(SEEDS)], cwd=folder)
    if chance.random() < 0.5:
        time.sleep(chance.uniform(0, 1.0))
    else:
        deadline = time.monotonic() + 60
        while len(sealed(folder / "swept")) <= before and process.poll() is None:
            assert time.monotonic() < deadline
            time.sleep(0.002)
        time.sleep(chance.uniform(0, 0.1))
    process.kill()
    process.wait()


@pytest.mark.slow
def test_twenty_kills_lose_nothing_repeat_nothing_and_spoil_nothing(small: Path) -> None:
    folder, chance = small.parent, random.Random(20)
    kept: dict[str, tuple[int, int]] = {}
    for _ in range(KILLS):
        one_life(folder, chance)
        now = sealed(folder / "swept")
        assert kept.items() <= now.items(), "a finished run was lost or made again"
        kept = now
    assert kept, "no life lasted for a run"
    assert len(Store(folder / "swept").find(kept, verify=True)) == len(kept), "a kept run is damaged"

    results = package.load(small).run(seeds=SEEDS, out=folder / "swept")
    assert results.complete and len(results.runs) == SEEDS
    assert kept.items() <= sealed(folder / "swept").items()
    assert not [name for name in listing(folder / "swept") if name.endswith(".tmp")], "scratch was left"
    reference = package.load(small).run(seeds=SEEDS, out=folder / "reference")
    assert results.digest() == reference.digest()
