"""The study aqm-lab: its file is the authors' set-up, its rates are theirs, and its verdicts come from intervals."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from haltere import load
from haltere.analysis import measures
from haltere.experiment import seconds_of
from haltere.runs.plan import plan_runs
from haltere.runs.results import Results
from haltere.studies import Options, data, expected
from haltere.studies.aqm_lab import cells, reproduce, tables
from haltere.studies.aqm_lab.cells import LABELS, Cell, Given
from haltere.studies.aqm_lab.findings import findings, three_bands


def test_the_file_is_the_authors_set_up() -> None:
    one = load(data("aqm-lab") / "authors.toml").to_dict()
    upload, download, ping = one["traffic"]
    normal = [float(seconds_of(upload[key]["normal"]["sd"])) ** 2 for key in ("on", "off")]
    assert normal == pytest.approx([2.0, 3.0], rel=1e-6)  # ns-3 takes the variance
    assert [seconds_of(upload[key]["normal"]["mean"]) for key in ("on", "off")] == [5.0, 8.0]
    assert (download["on"], download["off"]) == ("1s", "1s")
    for source in (upload, download):
        assert (source["begin"], source["start"], source["jitter"], source["stop"]) == ("off", "100ms", "0ns", "100s")
        assert (seconds_of(source["stop"]), source["rate"]) == (100.0, "20Mbit")
        assert source["packet"] == one["tcp"]["mss"] == "1.024kB"
    assert (one["duration"], ping["interval"]) == ("100.1s", "1s")
    assert one["sweep"]["zip"]["traffic[0].count"] == [1, *expected("aqm-lab")["pairs"]]
    assert [queue["kind"] for queue in one["sweep"]["topology.chain.links[1].queue"]][2:] == [
        "codel",
        "fq_codel",
        "pie",
    ]


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """Two pairs under all five disciplines, one seed of 12 seconds: the uploads are on once."""
    one = load(data("aqm-lab") / "authors.toml")
    sweep = {**one.to_dict()["sweep"], "zip": {"traffic[0].count": [2], "traffic[1].count": [2]}}
    stops = {"traffic[0].stop": "12s", "traffic[1].stop": "12s"}
    one = one.with_values({"sweep": sweep, "duration": "12.1s", **stops})
    return plan_runs([one], [3], tmp_path_factory.mktemp("aqm"), quiet=True, labels=[{"reading": ""}])


def test_a_rate_is_what_arrived_over_the_time_of_the_last_arrival(short: Results) -> None:
    run = measures.Run(short, short.runs[0])
    flows = {row["flow"]: row for row in run.flows.to_pylist() if row["from"] == "n3"}
    rates = cells._rates_mbit(run, "n3")
    assert len(rates) == len(flows) == 2
    for rate, row in zip(rates, flows.values(), strict=True):
        # Downloads are on in the seconds 1.1 to 2.1, 3.1 to 4.1, ..., 11.1 to 12: the last bytes come before 12.1 s.
        assert rate == pytest.approx(row["received_bytes"] * 8e-6 / 12, rel=0.03)
        assert 0 < rate < 10


def test_round_trip_times_are_cut_to_whole_milliseconds(short: Results) -> None:
    whole, exact = (cells.measure(short, short.runs, whole_ms=cut) for cut in (True, False))
    assert set(whole) == {(2, name) for name in LABELS}
    for key, cell in whole.items():
        assert 0 <= exact[key].median_rtt_ms[0] - cell.median_rtt_ms[0] < 1
        assert (2 * cell.median_rtt_ms[0]).is_integer()


def test_one_seed_tells_nothing(short: Results) -> None:
    found = findings(cells.measure(short, short.runs, whole_ms=True), Given.authors())
    assert {finding.verdict for finding in found} == {"inconclusive"}


def synthetic(change: dict[tuple[int, str, str], float], seeds: int = 5) -> dict[tuple[int, str], Cell]:
    """Cells that are the paper's, with seeds near one another; `change` is added to (pairs, discipline, measure)."""
    given, rng = Given.authors(), np.random.default_rng(1)
    made: dict[tuple[int, str], Cell] = {}
    for pairs in (1, 2, 5, 10, 20):
        for i, name in enumerate(LABELS):
            cell = made[pairs, name] = Cell()
            for measure in ("median_rtt_ms", "jain_up", "jain_down", "drops", "queue_packets"):
                value = given.of_paper(measure, max(pairs, 2), name)
                if value is None:  # medians with 5 and 10 pairs, and what the paper does not print
                    value = {"median_rtt_ms": 80.0 + 5 * i if i else 400.0, "drops": 0.0}.get(
                        measure, 50.0 if i in (0, 4) else 20.0
                    )
                noise = 0.0 if measure == "drops" else 1e-5
                value += change.get((pairs, name, measure), 0.0)
                cell.of(measure).extend(value * (1 + noise * rng.standard_normal(seeds)))
    return made


def verdicts(made: dict[tuple[int, str], Cell]) -> dict[str, str]:
    return {finding.text: finding.verdict for finding in findings(made, Given.authors())}


def test_the_paper_s_own_values_hold() -> None:
    said = verdicts(synthetic({}))
    assert len(said) == 12
    # The text says so of figure 2, but its own figures have a discipline of 1000 packets above the ring.
    assert said.pop("with one pair, pfifo_fast drops when 100 packets wait (figure 2)") == "not held"
    assert set(said.values()) == {"held"}, said


def test_a_verdict_changes_with_what_it_judges() -> None:
    ared = "ARED has the lowest median RTT at 2 pairs"
    assert verdicts(synthetic({(2, "ared", "median_rtt_ms"): 3.0}))[ared] == "not held"
    by_much = "ARED has the lowest median RTT at 20 pairs, by much"
    assert verdicts(synthetic({(20, "ared", "median_rtt_ms"): 15.0}))[by_much] == "direction only"
    fall = "pfifo_fast's fairness falls from 10 to 20 pairs"
    assert verdicts(synthetic({(20, "pfifo_fast", "jain_down"): 0.05}))[fall] == "direction only"
    ring = "with one pair, pfifo_fast drops when 100 packets wait (figure 2)"
    assert verdicts(synthetic({(1, "pfifo_fast", "drops"): 7.0}))[ring] == "held"


def test_three_bands_are_no_cause_if_a_queue_without_bands_is_as_unfair() -> None:
    ours = Cell(jain_up=[0.9, 0.8, 0.7], jain_down=[0.95, 0.9, 0.8], drops=[1.0, 2.0, 3.0])
    assert three_bands(ours, ours.first(2)).verdict == "not held"
    assert (
        three_bands(ours, Cell(jain_up=[0.9, 0.81], jain_down=[0.95, 0.9], drops=[1.0, 2.0])).verdict == "inconclusive"
    )


def test_ns_3_has_every_cell_of_the_paper() -> None:
    given = Given.authors()
    runs = {len(cell.drops) for cell in given.ns3.values()}
    assert set(given.ns3) == {(pairs, name) for pairs in (1, 2, 5, 10, 20) for name in LABELS}
    assert len(runs) == 1 and min(runs) >= 5
    for name in LABELS:
        mean = given.of_ns3("median_rtt_ms", 2, name)
        assert mean is not None and not math.isnan(mean.half)


def test_the_distance_is_a_part_of_the_paper_s_median() -> None:
    made = synthetic({(2, "ared", "median_rtt_ms"): 6.6})
    assert tables.distance_part(made, Given.authors()) == pytest.approx(0.01, abs=1e-4)  # 10 % in one of ten cells


def test_the_page_begins_with_the_findings(tmp_path: Any) -> None:
    outcome = reproduce(Options(quick=True, seeds=1, out=tmp_path, quiet=True))
    first, *rest = outcome.document.blocks
    assert getattr(first, "name", "") == "findings"
    headings = [block.text for block in rest if type(block).__name__ == "Heading"]
    assert headings == ["Figures", "Tables"]  # "What if" is in the full study
    assert "5 pairs" in outcome.left_out
