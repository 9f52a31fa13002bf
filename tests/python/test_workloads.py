"""Workloads: their metrics are what their tables say, the summary has them, and sentences tell them."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import haltere
from haltere import captures
from haltere.analysis import metrics
from haltere.analysis.measures import Run, by_point
from haltere.report import overview, words

FILE = """
duration = "20s"
warmup = "5s"
cooldown = "5s"
seeds = 2
[topology.dumbbell]
pairs = 3
access = { rate = "1Gbit", delay = "1ms" }
bottleneck = { rate = "10Mbit", delay = "5ms" }
[[traffic]]
kind = "web"
pairs = [1]
count = 2
objects = 3
sizes = "20kB"
think = "300ms"
[[traffic]]
kind = "rpc"
pairs = [2]
outstanding = 2
[[traffic]]
kind = "video"
pairs = [3]
segment = "1s"
buffer = "6s"
ladder = ["1Mbit", "3Mbit"]
[[traffic]]
kind = "voip"
pairs = [1]
direction = "both"
"""


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> haltere.Results:
    folder = tmp_path_factory.mktemp("workloads")
    (folder / "x.toml").write_text(FILE)
    return haltere.load(folder / "x.toml").run(out=folder / "out")


@pytest.fixture
def run(results: haltere.Results) -> Run:
    return Run(results, results.runs[0])


def rows(run: Run, table: str) -> list[dict[str, Any]]:
    """The rows that began in the measured part of the run, from 5 s to 15 s."""
    every: list[dict[str, Any]] = run.table(table).to_pylist()
    return [row for row in every if 5e9 <= row["start_ns"] <= 15e9]


def test_pages_and_calls_are_those_of_the_measured_part(run: Run) -> None:
    loads = [row["load_ns"] * 1e-9 for row in rows(run, "pages") if row["load_ns"] is not None]
    assert metrics.named(run, "pages") == len(loads) > 20
    assert metrics.named(run, "page_load_p50.web1") == pytest.approx(float(np.median(loads)))
    calls = [row["fct_ns"] * 1e-6 for row in rows(run, "completions") if row["flow"].startswith("rpc2")]
    answered = [took for took in calls if took is not None]
    assert metrics.named(run, "calls") == len(answered)
    assert metrics.named(run, "rpc_p99") == pytest.approx(float(np.percentile(answered, 99)))
    assert math.isnan(metrics.named(run, "rpc_p99.web1")), "another kind has none"


def test_objects_of_all_users_count_by_size(run: Run) -> None:
    objects = [row for row in rows(run, "completions") if row["flow"].startswith("web1")]
    assert {row["flow"] for row in objects} == {"web1:c1>s1", "web1:c1>s1#2"}, "both users"
    took = [row["fct_ns"] * 1e-6 for row in objects if row["fct_ns"] is not None]
    assert metrics.named(run, "fct_p95.web1/up to 100 kB") == pytest.approx(float(np.percentile(took, 95)))


def test_video_and_voice_follow_from_their_tables(run: Run) -> None:
    came = [row for row in rows(run, "segments") if row["fetch_ns"] is not None]
    rates = [row["bitrate_bps"] * 1e-6 for row in came]
    assert metrics.named(run, "video_bitrate") == pytest.approx(float(np.mean(rates)))
    stalled = sum(row["stall_ns"] for row in rows(run, "segments")) * 1e-9
    assert metrics.named(run, "rebuffer_ratio") == pytest.approx(stalled / (stalled + len(came)))
    changes = sum(a != b for a, b in itertools.pairwise(rates))
    assert metrics.named(run, "video_switches") == pytest.approx(changes * 60 / len(came))
    assert 0 < metrics.named(run, "video_startup") < 2
    voices = run.table("voices").to_pylist()
    assert [row["flow"] for row in voices] == ["voip4:c1>s1", "voip4:s1>c1"]
    assert metrics.named(run, "mos") == pytest.approx(np.mean([row["mos"] for row in voices]))
    # 60 ms of playout and 20 ms of codec beside 7 ms of propagation: at best 93.2 - 0.024 * 87 = 91.1, a score of 4.37.
    assert 1 <= metrics.named(run, "mos") < 4.38 and metrics.named(run, "voip_delay") > 87


def test_the_summary_and_the_report_have_them(results: haltere.Results) -> None:
    (point,) = results.summary()
    assert point["web"]["web1"]["pages"]["n"] == 2
    assert point["voice"]["voip4"]["mos"]["mean"] > 1
    text = overview.document(results, figures=False).text()
    for title in ("Web pages", "Calls", "Video", "Voice", "the first 5 s and the last 5 s are left out"):
        assert title in text, title
    told = words.of_workloads(by_point(results)[0][1])
    assert [one.split(":")[0] for one in told] == ["web1", "rpc2", "video3", "voip4"]
    assert "pages a run, median load time" in told[0] and "mean opinion score" in told[3]


def test_the_flows_of_a_capture_become_a_file_to_replay(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    flows = '[{"start_ns": 0, "client": 0, "from_client": true, "bytes": 500}, {"start_ns": 1500000, "client": 2, "from_client": false, "bytes": 9000}]'
    monkeypatch.setattr(captures._core, "capture_flows", lambda path, progress: flows)
    text = captures.flows_csv(tmp_path / "x.pcap", 2)
    assert text == "start,from,to,size\n0.000000000,c1,s1,500\n0.001500000,s1,c1,9000\n"
    (tmp_path / "flows.csv").write_text(text)
    (tmp_path / "x.toml").write_text(
        'duration = "1s"\n[topology.dumbbell]\npairs = 2\naccess = { rate = "1Gbit" }\nbottleneck = { rate = "10Mbit", delay = "5ms" }\n'
        '[[traffic]]\nkind = "replay"\nfile = "flows.csv"\n'
    )
    made = haltere.load(tmp_path / "x.toml").run(seeds=1, out=tmp_path / "out")
    sizes = made.run_table("completions", made.runs[0])["bytes"].to_pylist()
    assert sizes == [500, 9000]
