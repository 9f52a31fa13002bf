"""The extension gives the bytes that the Rust tests, another build of the same code, give (crates/haltere-sim/tests/digest.rs)."""

from __future__ import annotations

from pathlib import Path

from conftest import ROOT
from haltere import load


def test_two_builds_give_the_same_bytes(tmp_path: Path) -> None:
    golden = ROOT / "tests" / "golden"
    results = load(golden / "mix.toml").run(out=tmp_path, quiet=True)
    assert [run.digest for run in results.runs] == [(golden / "mix.digest").read_text().strip()]
