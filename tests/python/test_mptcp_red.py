"""The study mptcp-red: its network is the paper's, its figures are computed as they say, and every verdict follows from an interval."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from haltere import load
from haltere.studies import Finding, Options, Verdict, data
from haltere.studies.mptcp_red import detectors as read_detectors
from haltere.studies.mptcp_red import reproduce
from haltere.studies.mptcp_red.detectors import (
    METHODS,
    MSCM,
    MSCM_BY_PLACE,
    PAIRS,
    PHIS,
    RED_CPI,
    SHARED,
    Detector,
    area,
    at_least,
    fewer_false,
    larger_area,
    roc,
)  # fmt: skip
from haltere.studies.mptcp_red.findings import DELAY, detector_findings, findings, open_if_readings_differ
from haltere.studies.mptcp_red.readings import READINGS
from haltere.studies.mptcp_red.sides import PathMeasures, Side


def test_the_experiments_differ_in_the_main_stream_alone() -> None:
    of = {name: load(data("mptcp-red") / f"{name}.toml").to_dict() for name in ("main", "realtime", "cut")}
    assert of["main"]["topology"] == of["realtime"]["topology"] == of["cut"]["topology"]
    rows = of["main"]["topology"]["multipath"]
    assert {rows[row]["jitter"] for row in ("wifi", "cellular", "bottleneck", "others")} == {"100us"}
    assert of["main"]["traffic"][0] == of["realtime"]["traffic"][0] == of["cut"]["traffic"][0]
    ends = [(path["from"], path["to"]) for path in of["main"]["traffic"][1]["paths"]]
    assert ends == [("s1", "d1"), ("s1", "d2"), ("s2", "d1")], "A, B and C"
    assert [path.get("cut") for path in of["cut"]["traffic"][1]["paths"]] == ["30s", None, None]


def test_the_correlators_stand_in_the_order_of_their_names() -> None:
    given = load(data("mptcp-red") / "main.toml").to_dict()["traffic"][1]["multipath"]["correlators"]
    assert len(given) == len(METHODS)
    steers, red, mscm, place = (given[i] for i in (0, RED_CPI, MSCM, MSCM_BY_PLACE))
    assert (steers["sampling"], steers["resolution"], steers["interval"], steers["window"]) == (
        "visit",
        "125ns",
        "2s",
        50,
    )
    assert (red["sampling"], red["resolution"]) == ("measurement", "100us")
    assert (mscm["pairing"], place["pairing"]) == ("time", "place")
    assert red["interval"] == mscm["interval"] == place["interval"], "a common time step"
    assert red["window"] == mscm["window"] == 50


def test_every_reading_is_an_experiment() -> None:
    main = load(data("mptcp-red") / "main.toml")
    for group in READINGS.values():
        for changes in group.values():
            assert len(main.with_values(changes).points()) == 2, "both schedulers"


def test_the_area_is_the_chance_that_shared_lies_above_apart() -> None:
    assert area(np.array([0.0, 0.5]), np.array([0.6, 0.7])) == 1.0
    assert area(np.array([0.0, 1.0]), np.array([0.5])) == 0.5
    assert area(np.array([0.5]), np.array([0.5])) == 0.5, "a tie counts half"
    # The same as the area under the curve that is drawn, but for the thresholds that it leaves out.
    rng = np.random.default_rng(1)
    apart, shared = rng.normal(0, 1, 400), rng.normal(1, 1, 300)
    false, true = roc(apart, shared)
    assert (false[0], true[0], false[-1], true[-1]) == (0, 0, 1, 1)
    assert area(apart, shared) == pytest.approx(np.trapezoid(true, false), abs=2e-3)


def test_a_threshold_counts_what_reaches_it() -> None:
    rates = at_least(np.array([0.1, 0.8, 0.9, -0.5]))
    assert PHIS[0] == 0.05, "0 would count every coefficient that is not negative"
    assert rates[PHIS == 0.05] == 0.75
    assert rates[PHIS == 0.8] == 0.5
    assert rates[PHIS == 1.0] == 0.0


def _detector(apart: list[float], shared: list[float]) -> Detector:
    """Two seeds with these coefficients, the second a little less."""
    seeds = {pair: [np.array(shared if pair == SHARED else apart) - less for less in (0.0, 0.01)] for pair in PAIRS}
    return Detector(coefficients=seeds, shares={pair: [c >= 0.8 for c in each] for pair, each in seeds.items()})


def test_detectors_are_compared_seed_by_seed() -> None:
    good, bad = _detector([0.0, 0.1], [0.9, 1.0]), _detector([0.0, 0.95], [0.5, 1.0])
    assert larger_area(good, bad).low > 0 > larger_area(bad, good).high
    by_phi = dict(fewer_false(good, bad))
    assert by_phi["MSCM - RED-CPI at phi = 0.8"].low > 0
    assert len(by_phi) == 16


def test_false_positives_are_judged_at_the_module_s_phi_and_over_all() -> None:
    """RED-CPI is better at low thresholds and worse at high ones: the mean over all of them decides, and not one of sixteen."""
    red, mscm = _detector([0.0, 0.0, 0.0, 0.6], [0.9, 1.0]), _detector([0.0, 0.5, 0.5, 0.5], [0.9, 1.0])
    given = [red] * len(METHODS)
    given[MSCM] = mscm
    found = {one.text: one for one in detector_findings(given)}
    false = found["RED-CPI has fewer false positives than MSCM over phi up to 0.8 (mean of 16 values)"]
    assert false.verdict == "held", false
    assert "of 16 phis" in false.ours, false.ours
    assert found["RED-CPI has fewer false positives than MSCM at phi = 0.8, the module's"].verdict == "inconclusive"
    assert found["RED-CPI: A-B and A-C are centred on 0"].verdict == "held"
    assert found["MSCM: A-B and A-C tend to be negative"].verdict == "not held"


def test_the_largest_delay_is_open_if_the_bound_of_the_cross_connection_decides() -> None:
    def of(verdict: Verdict, reading: str = "") -> Finding:
        return Finding(DELAY, verdict, "", why="it is full", reading=reading, p=0.001)

    (told,) = open_if_readings_differ([of("not held")], [of("held", "8, cross 5"), of("held", "6, cross 8")])
    assert told.verdict == "inconclusive" and told.why.startswith("open: held with every bounded cross connection")
    (told,) = open_if_readings_differ([of("not held")], [of("held", "8, cross 5"), of("not held", "6, cross 8")])
    assert told.verdict == "not held"


def _sides(red: tuple[float, float, float], lower_by: float) -> dict[str, Side]:
    """Five runs of each scheduler: replicas of A, B and C under RED, and how much RED lowers the delays."""
    noise = (-2.0, -1.0, 0.0, 1.0, 2.0)

    def run(replicas: tuple[float, float, float], delay: float, add: float) -> PathMeasures:
        each = [value + add for value in replicas]
        return PathMeasures(each, each, each, [15.0, delay + add, delay + add], each, each, [4.0, 1.0, 1.0])

    return {
        "redundant": Side([run((1000, 1000, 1000), 700, add) for add in noise]),
        "red": Side([run(red, 700 - lower_by, -add) for add in noise]),
    }


def test_verdicts_follow_from_intervals() -> None:
    def verdicts(red: tuple[float, float, float], lower_by: float) -> dict[str, str]:
        return {one.text: one.verdict for one in findings(_sides(red, lower_by))}

    few, alike = (
        "Under RED, C carries far fewer replicas than A and B",
        "Under RED, A and B carry about as many replicas",
    )
    held = verdicts((900, 850, 200), 300)
    assert held.pop("RED raises the least throughput of A") == "inconclusive"
    assert set(held.values()) == {"held"}
    assert verdicts((900, 850, 600), 0)[few] == "not held"
    assert verdicts((900, 600, 200), 0)[alike] == "not held"
    assert verdicts((900, 850, 200), 0)[DELAY] == "inconclusive"
    assert verdicts((900, 850, 200), -300)[DELAY] == "not held"


def test_the_page_opens_with_the_findings_and_ends_with_what_if(tmp_path: Path) -> None:
    outcome = reproduce(Options(quick=True, seeds=2, out=tmp_path, quiet=True))
    primary = [finding for finding in outcome.findings if not finding.reading]
    assert len(primary) == 15
    assert all(finding.paper and finding.why and finding.ours for finding in primary)
    names = [table.name for table in outcome.document.tables()]
    assert names == ["findings", "detectors", "paths", "cross", "variants", "readings-1"]
    assert sorted(p.stem for p in (tmp_path / "figures").glob("*.png")) == [
        "coefficients",
        "cross",
        "detectors",
        "duplicates",
        "paths",
        "replicas",
    ]
    # One copy of the stream fits the bottleneck beside a bounded cross connection, two do not.
    delays = [one for one in outcome.findings if one.reading and one.text == DELAY]
    assert len(delays) == 3 and all(one.verdict == "held" or one.why.startswith("held alone") for one in delays), delays


def test_a_run_says_something_of_every_method(tmp_path: Path) -> None:
    results = load(data("mptcp-red") / "main.toml").run(seeds=1, out=tmp_path, quiet=True)
    methods = read_detectors(results)
    assert len(methods) == len(METHODS)
    for name, method in zip(METHODS, methods, strict=True):
        assert sum(len(each[0]) for each in method.shares.values()) > 0, name
        assert ("SBD" in name) == (len(method.all(SHARED)) == 0), name
