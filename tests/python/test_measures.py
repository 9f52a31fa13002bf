"""Measures on request: delays, windows, captures, qlog, packets, inner variables, metrics of one's own."""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from conftest import SMALL, haltere
from haltere import load
from haltere.analysis import delays, metrics
from haltere.analysis.measures import Run
from haltere.errors import InputError
from haltere.report import explore, look, overview
from haltere.report.many import MOST_POINTS, over_axes
from haltere.runs.results import Results

MORE = """
[[traffic]]
name = "voice"
kind = "cbr"
pairs = [2]
rate = "100kbit"
packet = "160B"

[[traffic]]
name = "web"
kind = "poisson"
sizes = "cache"
per_second = 20

[measure]
delays = true
state = true
qlog = true
pcap = ["left>right"]
snaplen = "2kB"
packets = ["left>right"]
size_bins = ["1kB", "10kB"]
convergence = { within = "50%", hold = "500ms" }

[measure.metrics]
deepest = "SELECT max(packets) FROM queue_series, span WHERE at_ns BETWEEN from_ns AND to_ns"
late = { sql = "SELECT quantile_cont(rtt_ns, 0.9) / 1e6 FROM pings", unit = "ms", about = "late pings", better = "lower" }
"""


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """The small experiment with everything asked for, two seeds."""
    folder = tmp_path_factory.mktemp("asked")
    (folder / "asked.toml").write_text(SMALL + MORE)
    return load(folder / "asked.toml").run(seeds=2, out=folder / "results", quiet=True)


def first(results: Results) -> Run:
    """The first run."""
    return Run(results, results.runs[0])


def test_a_percentile_from_bins_is_that_of_the_packets(asked: Results) -> None:
    packets = asked.run_table("packets", asked.runs[0]).to_pandas()
    left = packets.at_ns + packets.sojourn_ns
    sent = packets[packets.fate.isin(["sent", "marked"]) & (left >= 1_000_000_000)]
    for q in (50, 95, 99):
        want = float(np.percentile(sent.sojourn_ns, q, method="inverted_cdf")) * 1e-6
        assert metrics.named(first(asked), f"sojourn_p{q}") == pytest.approx(want, rel=0.004)
    summary = asked.run_table("delay_summary", asked.runs[0]).to_pandas().set_index(["measure", "name"])
    row = summary.loc[("sojourn", "left>right")]
    assert row.samples == len(sent) and row.max_ns == sent.sojourn_ns.max()
    assert metrics.named(first(asked), "sojourn_p95.left>right") == pytest.approx(row.p95_ns * 1e-6, rel=1e-9)


def test_summary_and_report_have_the_delays(asked: Results) -> None:
    point = asked.summary()[0]
    assert set(point["rtt_ms"]) == {"bulk1"} and set(point["one_way_ms"]) == {"voice"}
    voice = point["one_way_ms"]["voice"]
    assert 7 < voice["p50"]["mean"] < voice["p99"]["mean"] < 1000 and 0 <= voice["loss"]["mean"] < 0.5
    assert voice["jitter"]["mean"] > 0
    titles = [table.title for table in overview.document(asked, figures=False).tables()]
    assert {
        "Sojourn times (ms)",
        "Round-trip times of TCP (ms)",
        "One-way delays of UDP (ms)",
        "Custom metrics",
    } <= set(titles)


def test_sizes_of_ones_own(asked: Results) -> None:
    assert list(metrics.sizes(first(asked))) == ["all", "up to 1 kB", "1 kB to 10 kB", "over 10 kB"]
    assert "1 kB to 10 kB" in asked.summary()[0]["completions"]["web"]


def test_metrics_of_ones_own_are_metrics(asked: Results) -> None:
    run = first(asked)
    series = asked.run_table("queue_series", run.done).to_pandas()
    assert metrics.named(run, "deepest") == series[series.at_ns >= 1_000_000_000].packets.max()
    assert asked.summary()[0]["own"]["late"]["n"] == 2
    assert {"deepest", "late"} <= set(metrics.every(run))
    told = load(asked.directory.parent / "asked.toml").with_values(
        {"precision": {"within": "90%", "of": ["deepest"], "max_seeds": 3}}
    )
    again = told.run(out=asked.directory.parent / "precise", quiet=True)
    assert "deepest" in again.manifest["precision"][0]["widths"]


@pytest.mark.parametrize(
    ("sql", "error"),
    [
        ("SELECT 1, 2", "one row with one number, got 1 rows of 2 values"),
        ("SELECT 'much'", "answer must be a number, got `much`"),
        ("SELEC 1", "sql must be a query"),
        ("SELECT count(*) FROM read_csv('/etc/passwd')", "sql must be a query"),
        ("SELECT goodput FROM flows", "sql must be a query"),
    ],
)
def test_a_question_that_cannot_be_answered(asked: Results, tmp_path: Path, sql: str, error: str) -> None:
    scenario = load(asked.directory.parent / "asked.toml").with_values({"measure.metrics": {"mine": sql}})
    results = scenario.run(seeds=1, out=tmp_path / "out", quiet=True)
    with pytest.raises(InputError, match=error):
        metrics.named(first(results), "mine")


def test_a_metric_may_not_take_a_name(small: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a name that is not taken, got `goodput`"):
        load(small).with_values({"measure.metrics": {"goodput": "SELECT 1"}}).run(out=tmp_path / "out", quiet=True)
    assert not (tmp_path / "out").exists()


def test_what_is_read_off_afterwards_makes_no_run_again(small: Path) -> None:
    scenario = load(small)
    key = scenario._core.hash(1)
    for change in (
        {"measure.size_bins": ["1kB"]},
        {"measure.metrics": {"x": "SELECT 1"}},
        {"measure.convergence": {"within": "10%"}},
    ):
        assert scenario.with_values(change)._core.hash(1) == key
    assert scenario.with_values({"measure.delays": True})._core.hash(1) != key


def test_tshark_reads_the_capture_without_complaint(asked: Results) -> None:
    if shutil.which("tshark") is None:
        assert "CI" not in os.environ, "tshark must be installed in CI"
        pytest.skip("tshark is not installed")
    files = {one["name"]: Path(one["path"]) for one in asked.files() if one["seed"] == 1}
    assert set(files) == {"left-right.pcapng", "senders.qlog"}

    def tshark(question: str) -> list[str]:
        checks = [part for one in ("ip", "tcp", "udp") for part in ("-o", f"{one}.check_checksum:TRUE")]
        done = subprocess.run(
            ["tshark", "-r", str(files["left-right.pcapng"]), *checks, "-Y", question],
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.splitlines()

    sent = asked.run_table("links", asked.runs[0]).to_pandas().set_index("link").loc["left>right"].sent
    assert len(tshark("frame")) == sent
    assert (
        tshark("_ws.malformed or ip.checksum.status == Bad or tcp.checksum.status == Bad or udp.checksum.status == Bad")
        == []
    )
    assert tshark("udp") and tshark("tcp.flags.syn == 1") and tshark("icmp")
    listed = haltere("results", asked.directory, "--files", cwd=asked.directory)
    assert listed.stdout.count("left-right.pcapng") == 2


def test_qlog_says_what_the_senders_did(asked: Results) -> None:
    path = next(one["path"] for one in asked.files() if one["name"] == "senders.qlog")
    told = json.loads(Path(path).read_text())
    assert told["file_schema"] == "urn:ietf:params:qlog:file:contained"
    flows = asked.run_table("flows", asked.runs[0]).to_pandas().set_index("flow")
    assert [trace["title"] for trace in told["traces"]] == list(flows[flows.group == "bulk1"].index)
    for trace in told["traces"]:
        times = [event["time"] for event in trace["events"]]
        assert times == sorted(times) and times[-1] <= 3000
        state: dict[str, float] = {}
        for event in trace["events"]:
            if event["name"] == "quic:recovery_metrics_updated":
                state |= event["data"]
        assert state["min_rtt"] == pytest.approx(flows.loc[trace["title"]].min_rtt_ns * 1e-6)
        assert {"congestion_window", "bytes_in_flight", "smoothed_rtt", "latest_rtt", "ssthresh"} <= set(state)
        assert any(
            event["name"] == "quic:congestion_state_updated" and event["data"]["new"] == "recovery"
            for event in trace["events"]
        )


def test_inner_variables_have_units_and_are_those_of_the_series(asked: Results) -> None:
    queue = asked.run_table("queue_state", asked.runs[0]).to_pandas()
    units = dict(zip(queue.variable, queue.unit, strict=True))
    assert units["count"] == "" and units["drop_next"] == "s" and units["sojourn"] == "s"
    series = asked.run_table("queue_series", asked.runs[0]).to_pandas()
    assert (queue[queue.variable == "count"].value.to_numpy() == series["count"].to_numpy()).all()
    flow = asked.run_table("flow_state", asked.runs[0]).to_pandas()
    assert {"ca_state", "ssthresh", "w_max", "k"} <= set(flow.variable.astype(str))
    with look.looking(look.Look(formats=("svg",))):
        _, (path,) = explore.draw(asked)
    assert "w_max of the senders" in path.read_text()


def test_a_window_leaves_out_what_is_outside(small: Path, tmp_path: Path) -> None:
    scenario = load(small)
    window = scenario.with_values({"warmup": "0s", "measure.window": ["1s", "2s"]}).run(
        seeds=1, out=tmp_path / "a", quiet=True
    )
    shorter = scenario.with_values({"duration": "2s"}).run(seeds=1, out=tmp_path / "b", quiet=True)
    for name in ("goodput", "utilisation", "drops", "queue_counted"):
        assert metrics.named(first(window), name) == pytest.approx(metrics.named(first(shorter), name)), name
    with pytest.raises(InputError, match=r"measure: window must be a time and a later one, up to the duration of 3s"):
        scenario.with_values({"measure.window": ["1s", "4s"]})


def test_links_to_capture_must_be_there(small: Path) -> None:
    with pytest.raises(
        InputError, match=r"measure: pcap must be links of the network: .*got `left>rihgt`; did you mean `left>right`"
    ):
        load(small).with_values({"measure.pcap": ["left>rihgt"]})


def test_convergence_is_the_time_from_which_rates_stay_fair(asked: Results) -> None:
    at = np.arange(1.0, 11.0)
    one = np.array([9.0, 9, 9, 5.4, 9, 5.2, 5, 5, 5, 5])
    rates = np.stack([one, 10 - one], axis=1)
    assert delays.settled(at, rates, 0.1, 3.0, 1.0) == 5.0  # good in the fourth interval, but not for long
    assert math.isnan(delays.settled(at, rates, 0.01, 9.0, 1.0))
    value = metrics.named(first(asked), "convergence.bulk1")
    assert math.isnan(value) or 0 <= value <= 2.5


def test_a_large_sweep_is_told_over_its_axes(small: Path, tmp_path: Path) -> None:
    delay = "topology.dumbbell.bottleneck.delay"
    rate = "topology.dumbbell.bottleneck.rate"
    scenario = load(small).with_values(
        {
            "duration": "300ms", "warmup": "0s", "measure.metrics": {"late": "SELECT max(rtt_ns) / 1e6 FROM pings"},
            "sweep": {rate: ["2Mbit", "4Mbit"], delay: [f"{i}ms" for i in range(1, 16)]},
        }
    )  # fmt: skip
    results = scenario.run(seeds=1, out=tmp_path / "out", quiet=True)
    assert len(results.points) == 30 > MOST_POINTS
    table = overview.document(results, figures=False).tables()[0]
    names = [row[0] for row in table.rows if row[1] == "bulk1"]
    assert {"rate=2Mbit (15 points)", "rate=4Mbit (15 points)", "delay=1ms (2 points)", "delay=15ms (2 points)"} <= set(
        names
    )
    assert len(names) == 2 + 12
    assert len([row for row in table.every if row[1] == "bulk1"]) == 30
    assert "3 more values of axes and all 30 points" in table.note
    done = haltere("plot", results.directory, "--y", "late", "--x", "delay", "--by", "rate", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    told, left = over_axes([{**one, "name": "", "words": one["labels"]} for one in results.summary()])
    own = [
        one["traffic"]["bulk1"]["goodput_mbit"]["mean"] for one in results.summary() if one["labels"][rate] == "2Mbit"
    ]
    slow = next(one for one in told if one["name"] == "rate=2Mbit (15 points)")
    assert left == 3 and slow["traffic"]["bulk1"]["goodput_mbit"]["mean"] == pytest.approx(np.mean(own))
