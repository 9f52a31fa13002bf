"""The study `quic-conformance`, as far as it needs no stack that is built; the full runs are in `papers/quic-conformance`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from conftest import ROOT
from haltere.analysis import envelope
from haltere.analysis.stats import mean
from haltere.studies import Options
from haltere.studies import quic_conformance as study
from haltere.studies.quic_conformance import Variant


def test_a_stack_that_is_not_built_stops_it_with_the_command_that_builds_it(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "haltere", "reproduce", "quic-conformance", "--quick"]
    env = os.environ | {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    done = subprocess.run(words, cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr
    assert "`haltere stack build noq`; `haltere stack build quinn`" in done.stderr
    assert not (tmp_path / "results").exists()


def test_tcp_beside_itself_gets_half(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study, "VARIANTS", (Variant("tcp", "cubic"),))
    outcome = study.reproduce(Options(quick=True, seeds=2, quiet=True, out=tmp_path))
    tables = {table.name: table for table in outcome.document.tables()}
    assert {"shares", "conformance", "alone", "findings"} <= tables.keys() and "acks" not in tables
    (row,) = tables["shares"].rows
    assert row[:2] == ["tcp:cubic", "60 ms"] and all(25 < float(cell.split()[0]) < 75 for cell in row[2:])
    (row,) = tables["conformance"].rows
    assert row[0] == "tcp:cubic" and 80 < float(row[2].split()[0]) <= 100, "behind FQ-CoDel"
    # 20 Mbit/s of packets of 1514 bytes with 1448 of payload, less what CUBIC leaves unused.
    assert all(17 < float(row[3].split()[0]) < 19.2 for row in tables["alone"].rows)
    assert [one.text.split(" gets")[0] for one in outcome.findings] == ["CUBIC of tcp"] * 2


def test_a_share_is_like_ours_if_its_whole_interval_lies_within_the_bounds() -> None:
    told = [study.verdict(mean([middle - 1, middle, middle + 1])).verdict for middle in (50.0, 58.5, 66.0)]
    assert told == ["held", "inconclusive", "not held"]


def test_conformance_is_the_part_of_the_points_in_the_envelope_of_the_other() -> None:
    square = np.array([[x, y] for x in (0.0, 1, 2, 3) for y in (0.0, 1, 2, 3)] + [[1.5, 1.5]] * 4)
    assert envelope.hull(square).tolist() == [[0, 0], [3, 0], [3, 3], [0, 3]]
    assert len(envelope.kept(square)) == 19, "one corner of twenty points is left out"
    assert envelope.conformance(square, square) == 1
    assert envelope.conformance(square, square + np.array([10, 0])) == 0
    # Five points at each corner of a square. The last one goes, so 9 of 19 lie in the same square half a side to the right, and 10 of its 19 in this.
    corners = np.repeat([[0.0, 0], [0, 1], [1, 0], [1, 1]], 5, axis=0)
    assert envelope.conformance(corners, corners + np.array([0.5, 0])) == (9 + 10) / 38
    assert envelope.hull(np.array([[0.0, 0], [1, 1]])).tolist() == [[0, 0], [1, 1]]


def test_the_experiments_of_the_kernel_world_have_tcp_alone() -> None:
    assert Options(world="kernel").linux
    assert {one.stack for one in study.VARIANTS} == {"tcp", "noq", "quinn"}
    assert (ROOT / "papers/quic-conformance/expected.toml").is_file()
