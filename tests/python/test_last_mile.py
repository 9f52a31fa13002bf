"""The last mile: self-inflicted delay, access links, an outage of 30 s, and the study."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import called
from haltere import load, templates
from haltere.analysis import metrics
from haltere.analysis.measures import Run
from haltere.analysis.newest import percentile
from haltere.api import Scenario
from haltere.errors import InputError
from haltere.report import explore
from haltere.studies import last_mile

# -- self-inflicted delay -------------------------------------------------------------------------------------------------


def test_the_age_of_the_newest_packet_counts_over_time_and_not_by_packet() -> None:
    # Sent each 10 ms, on the line for 20 ms; then a second of silence.
    sent = np.arange(0.0, 1.0, 0.01)
    ages = [percentile(sent, sent + 0.02, 0.02, 2.0, q) for q in (0.25, 0.5, 0.95, 1.0)]
    # For 0.99 s the age goes from 20 to 30 ms, again and again, and in the 0.99 s behind from 20 ms to 1.01 s: 1 s is up to 30 ms old.
    assert ages == pytest.approx([0.02 + 0.01 * 0.495, 0.02 + 0.01 * 0.99, 1.01 - 0.05 * 1.98, 1.01])
    # A packet that arrives late and was sent earlier makes nothing younger.
    late = percentile(np.append(sent, 0.0), np.append(sent + 0.02, 1.5), 0.02, 2.0, 0.95)
    assert late == pytest.approx(ages[2])


def _cellular(**changes: Any) -> Run:
    scenario = Scenario.load(templates.find("cellular").path).with_values(
        {
            "sweep": {},
            "duration": "12s",
            "warmup": "2s",
            "topology.dumbbell.pairs": 1,
            "traffic": [{"kind": "bulk"}],
            **changes,
        }
    )
    results = scenario.run(seeds=1)
    return Run(results, results.runs[0])


def test_a_sender_below_the_rate_inflicts_little_upon_itself_and_a_full_buffer_much(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    # 12 Mbit/s: an opportunity each ms. A packet each 12 ms waits for less than 1 ms; its age goes up to 12 ms and its own wait.
    fixed = {"topology.dumbbell.bottleneck.trace": {"gaps": "1"}, "topology.dumbbell.access.delay": "0ms"}
    stream = {"kind": "cbr", "rate": "1Mbit", "packet": "1472B"}
    slow = metrics.named(_cellular(traffic=[stream], **fixed), "self_inflicted")
    assert 0.95 * 12 - 2 < slow < 13
    # Half a thousand packets of buffer are half a second.
    deep = metrics.named(_cellular(**fixed), "self_inflicted")
    assert 400 < deep < 530
    assert np.isnan(metrics.named(_cellular(**{**fixed, "measure.packets": []}), "self_inflicted"))
    with_trace = _cellular()
    assert metrics.named(with_trace, "self_inflicted") > 500 and metrics.named(with_trace, "utilisation") > 0.95


# -- the rate behind the throughput ---------------------------------------------------------------------------------------


def test_a_link_whose_rate_changes_is_an_area_behind_the_throughput(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run = _cellular()
    area, own = explore._carried(run, "left>right")
    assert (area["kind"], own["kind"]) == ("area", "step") and run.varies("left>right")
    rate = max(value for value in area["hi"] if value is not None)
    assert 11 < rate < 13 and max(own["y"]) <= rate + 1e-6
    fixed = _cellular(**{"topology.dumbbell.bottleneck.trace": {"gaps": "1"}})
    assert [one["kind"] for one in explore._carried(fixed, "left>right")] == ["step", "step"]


def test_the_capacity_of_a_drawn_link_is_that_of_the_seed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = 'duration = "10s"\nseeds = 2\n[topology.dumbbell]\npairs = 1\naccess = {}\nbottleneck = { path = "lte-driving" }\n[[traffic]]\nkind = "bulk"\n'
    Path("x.toml").write_text(text)
    results = load("x.toml").run()
    for done in results.runs:
        carried = Run(results, done).throughput("left>right")
        assert carried is not None and carried[2] is not None
        assert (carried[1] <= carried[2] + 1e-6).all() and carried[1].sum() > 0.3 * carried[2].sum()


# -- access links ---------------------------------------------------------------------------------------------------------


def test_access_links_are_listed_and_explained(tmp_path: Path) -> None:
    names = json.loads(called("list", "paths", "--json", cwd=tmp_path).stdout)["paths"]
    assert {"dsl-16/1", "cable-250/25", "ftth-1000", "lte-driving", "5g-still", "starlink", "wifi-busy", "geo"} <= set(
        names
    )
    told = called("explain", "dsl-16/1", cwd=tmp_path).stdout
    assert "access link" in told and "Netalyzr" in told and 'path = "dsl-16/1"' in told and 'rate = "16Mbit"' in told


@pytest.mark.parametrize(("path", "mean_ms"), [("cable-100/10", 28.0), ("cable-250/25", 28.0), ("5g-still", 21.0)])
def test_idle_links_have_the_round_trip_of_their_source(
    path: str, mean_ms: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    # 37 ms has no factor in common with slots of 1 ms and grants of 2 and 8 ms, so that pings come at all their phases.
    results = Scenario.from_dict(
        {
            "duration": "60s",
            "warmup": "1s",
            "topology": {"dumbbell": {"pairs": 1, "access": {"rate": "10Gbit"}, "bottleneck": {"path": path}}},
            "traffic": [{"kind": "ping", "interval": "37ms"}],
        }
    ).run(seeds=1)
    # Within 2 %: the sources have whole milliseconds.
    assert Run(results, results.runs[0]).ping_ms().mean() == pytest.approx(mean_ms, rel=0.02)


def test_a_station_s_rates_may_be_those_of_a_recorded_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    # 12 Mbit/s for half a second, then nothing for half a second.
    (tmp_path / "x.down").write_text("\n".join(map(str, [*range(1, 501), 1000])) + "\n")
    assert called("trace", "convert", "x.down", "--out", "x.csv", cwd=tmp_path).returncode == 0

    def run(steps: str) -> Any:
        cell = f'{{ kind = "cell", error = 0, users = [{{ rate = "1Mbit", steps = {steps}, repeat = "1001ms" }}] }}'
        (tmp_path / "x.toml").write_text(
            f'duration = "3s"\n[topology.dumbbell]\npairs = 1\naccess = {{}}\nbottleneck = {{ queue = {cell}, reverse = {{ delay = "1ms" }} }}\n'
            '[[traffic]]\nkind = "cbr"\nrate = "20Mbit"\n'
        )
        return Scenario.load(tmp_path / "x.toml").run(seeds=1)

    file = run('"x.csv"')
    rows = [row.split(",") for row in (tmp_path / "x.csv").read_text().splitlines()[1:]]
    tables = ", ".join(f'{{ at = "{at}s", rate = "{float(rate):.0f}bit" }}' for at, rate in rows)
    assert file.runs[0].digest == run(f"[{tables}]").runs[0].digest
    with pytest.raises(InputError, match="steps must be a CSV file of times and rates, got `y"):
        run('"y.csv"')


# -- an outage of 30 s ----------------------------------------------------------------------------------------------------


def _timeouts(changes: dict[str, Any], folder: Path) -> tuple[list[float], list[tuple[float, float, float]], int]:
    """Times of the timeouts (s); times, windows (bytes) and ssthresh of all changes; and what was sent again after the outage."""
    results = Scenario.load(templates.find("outage").path).with_values(changes).run(seeds=1, out=folder)
    path = next(one["path"] for one in results.files() if one["name"] == "senders.qlog")
    events = json.loads(Path(path).read_text())["traces"][0]["events"]
    at, windows, window, threshold = [], [], 0.0, 0.0
    for event in events:
        data = event["data"]
        if data.get("pto_count"):
            at.append(event["time"] * 1e-3)
        window, threshold = data.get("congestion_window", window), data.get("ssthresh", threshold)
        windows.append((event["time"] * 1e-3, window, threshold))
    series = results.table("flow_series", columns=["at_ns", "retransmissions"]).to_pylist()
    again = [row["retransmissions"] for row in series if row["at_ns"] > 39e9]
    return at, windows, again[-1] - again[0]


_LOST = {
    "topology.dumbbell.bottleneck.trace": {
        "kind": "csv",
        "rows": "time,rate,loss\n0,10Mbit,0\n10,10Mbit,1\n40,10Mbit,0",
    }
}


@pytest.mark.parametrize("lost", [False, True])
def test_the_timer_doubles_through_the_outage(lost: bool, tmp_path: Path) -> None:
    """RFC 6298: a timeout sets the timer anew (5.6) after twice the time (5.5), and it never fires before a second... of Linux's 200 ms."""
    at, windows, _ = _timeouts(_LOST if lost else {}, tmp_path / "out")
    silent = [time for time in at if 10 < time < 41]
    assert len(silent) >= 5
    gaps = [b - a for a, b in pairwise(silent)]
    # Half a thousand packets of 10 Mbit/s are 600 ms of round-trip time, so the timer starts well above its least value.
    assert all(1.95 < b / a < 2.05 for a, b in pairwise(gaps)), gaps
    # Each timeout leaves one segment as window (RFC 5681).
    assert min(window for time, window, _ in windows if 11 < time < 40) <= 1448


def test_a_timeout_that_was_spurious_is_undone(tmp_path: Path) -> None:
    """RFC 5682: after the outage the first acknowledgements are of originals that had waited, so nothing was lost."""
    _, windows, again = _timeouts({}, tmp_path / "out")
    before = max(window for time, window, _ in windows if 9 < time < 10)
    after = max(window for time, window, _ in windows if 40 < time < 43)
    # The window is back, and the 500 packets that waited do not go again.
    assert after > 0.9 * before and again == 0


def test_a_timeout_after_loss_is_not_undone(tmp_path: Path) -> None:
    """RFC 5681: what was in flight is lost; the sender begins with one segment and half the flight as threshold."""
    at, windows, again = _timeouts(_LOST, tmp_path / "out")
    before = max(window for time, window, _ in windows if 9 < time < 10)
    begins = max(time for time in at if time < 60)
    soon = [window for time, window, _ in windows if begins < time < begins + 0.2]
    assert max(soon) < before / 2 and again > 100


# -- the study ------------------------------------------------------------------------------------------------------------


def test_what_cannot_be_told_from_the_best_is_as_good() -> None:
    cells = {
        ("x", "a"): [10.0, 11.0, 12.0],
        ("x", "b"): [10.1, 10.8, 12.2],
        ("x", "c"): [5.0, 5.5, 6.5],
        ("x", "d"): [float("nan")] * 3,
    }
    assert last_mile.winners(cells, "x", more=True) == ["b", "a"] and last_mile.winners(cells, "x", more=False) == ["c"]
    assert last_mile.links(cells) == ["x"] and last_mile.mean(cells["x", "d"]) is None


@pytest.mark.slow
def test_the_quick_study_ends_with_its_tables(tmp_path: Path) -> None:
    done = called("reproduce", "last-mile", "--quick", "--seeds", "2", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert {table["name"] for table in told["tables"]} >= {"best", "page", "call", "bulk", "sprout", "findings"}
    assert len(told["findings"]) == 3
