"""The study dctcp-hysteresis: its case files are the paper's, and it tells a verdict for every finding."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from haltere import load
from haltere.analysis import stats
from haltere.studies import Options, data, expected
from haltere.studies import dctcp_hysteresis as study
from haltere.studies.dctcp_hysteresis import cases, paper

# Tables 4 and 6: sender, UDP rate, seconds.
UDP = {
    "A": [("h1", "2Mbit", "25s"), ("h3", "2Mbit", "25s"), ("h5", "2Mbit", "25s")],
    "B": [("h1", "10Mbit", "50s"), ("h3", "5Mbit", "25s"), ("h5", "5Mbit", "25s")],
    "C": [("h1", "10Mbit", "25s"), ("h3", "5Mbit", "50s"), ("h5", "5Mbit", "50s")],
    "D": [("h1", "1Mbit", "25s"), ("h3", "1Mbit", "25s"), ("h5", "1Mbit", "25s")],
    "E": [("h1", "5Mbit", "50s"), ("h3", "5Mbit", "50s"), ("h5", "5Mbit", "50s")],
}
GIVEN = expected("dctcp-hysteresis")


@pytest.mark.parametrize("case", cases.CASES)
def test_a_case_has_the_traffic_of_the_paper_s_table(case: str) -> None:
    scenario = load(data("dctcp-hysteresis") / f"case-{case.lower()}.toml").to_dict()
    udp = [(t["from"], t["rate"], t["stop"]) for t in scenario["traffic"] if t["kind"] == "cbr"]
    assert udp == UDP[case]
    tcp = [t["from"].upper() for t in scenario["traffic"] if t["kind"] == "bulk"]
    assert tcp == (["H1"] if case in "ABC" else ["H1", "H3", "H5"])
    assert {len(given["mean"]) for given in GIVEN[case].values()} == {len(tcp)}


def test_a_case_file_is_the_primary_reading() -> None:
    """What `haltere run` makes of it is what the study makes of it."""
    for case in cases.CASES:
        file = load(data("dctcp-hysteresis") / f"case-{case.lower()}.toml")
        own = {json.dumps(json.loads(core.to_json()), sort_keys=True) for _, core in file.points()}
        studied = {
            json.dumps(scenario.to_dict(), sort_keys=True)
            for scenario, labels in cases.scenarios([cases.PRIMARY])
            if labels["case"] == case
        }
        assert len(studied) == len(cases.variants(case)) and studied <= own, case


def test_every_reading_has_the_runs_that_it_needs() -> None:
    every = [cases.PRIMARY, *cases.READINGS]
    labels = [tuple(labels.items()) for _, labels in cases.scenarios(every)]
    assert len(set(labels)) == len(labels)
    for setup in (cases.PRIMARY, *cases.READINGS):
        for claim in paper.CLAIMS:
            for case, variant in (claim.more, claim.less):
                wanted = {"case": case, "variant": variant, **vars(setup.of(variant))}
                assert tuple(wanted.items()) in labels


def cell(h1: list[float], udp: list[float] | None = None, signals: float = 9.0) -> cases.Cell:
    seeds = len(h1)
    tcp = {"H1": h1, "H3": h1, "H5": h1}
    return cases.Cell(tcp, {"H1": udp or h1}, {95: [1.0] * seeds}, [signals] * seeds)


def verdicts(one: cases.Cell, other: cases.Cell) -> dict[str, str]:
    """One threshold has the first, every other variant the second."""
    every = cases.Cells()
    for case in cases.CASES:
        for variant in cases.variants(case):
            every[case, cases.PRIMARY, variant] = one if variant == "one" else other
    return {finding.text: finding.verdict for finding in paper.findings(every, cases.PRIMARY, GIVEN)}


def test_a_verdict_says_whether_the_size_is_the_paper_s() -> None:
    """The paper's gain in case A is 3.2 %."""
    told = {}
    for percent in (-3.0, 0.6, 3.0):
        more = [1.0 + percent / 100 + jitter for jitter in (-0.001, 0.0, 0.001)]
        told[percent] = verdicts(cell([1.0, 1.0, 1.0]), cell(more))["A: hysteresis raises H1"]
    assert told == {-3.0: "not held", 0.6: "direction only", 3.0: "held"}


def test_variants_that_are_the_same_byte_for_byte_test_nothing() -> None:
    told = verdicts(cell([1.0, 1.1], signals=0.0), cell([1.0, 1.1], signals=0.0))
    assert set(list(told.values())[:11]) == {"not testable"}
    assert told["one threshold: H1 gets more in B than in C"] == "not held", "two cases with the same goodput"


def test_the_digits_of_the_paper_allow_five_runs_and_three() -> None:
    """Nine of the ten means of B, C, E from 100 kbit/s on are multiples of 0.2 kbit/s; the deviations of D are those of three hundredths."""
    means = [mean for case in "BCE" for row in GIVEN[case].values() for mean in row["mean"] if mean >= 0.1]
    assert [cases.means_that_fit(means, runs) for runs in (2, 3, 4, 5, 6)] == [2, 2, 2, 9, 4]
    rows = zip(GIVEN["D"].values(), GIVEN["deviations_of_D"], strict=True)
    pairs = [pair for row, texts in rows for pair in zip(row["mean"], texts, strict=True)]
    assert [cases.deviations_that_fit(pairs, runs) for runs in (2, 3, 4)] == [0, 9, 8]
    rng = np.random.default_rng(1)
    by_chance = [cases.deviations_that_fit([(1.5, f"{sd:.4f}")], 3) for sd in rng.uniform(0.02, 0.14, 200)]
    assert 0.1 < np.mean(by_chance) < 0.3
    assert [float(text) for texts in GIVEN["deviations_of_D"] for text in texts] == [
        sd for row in GIVEN["D"].values() for sd in row["sd"]
    ]


def test_none_of_the_paper_s_fifteen_differences_survives_holm() -> None:
    tests = cases.paper_tests(GIVEN)
    adjusted = stats.holm([one[5] for one in tests])
    least = min(tests, key=lambda one: one[5])
    assert len(tests) == 15 and least[:3] == ("D", "return-hysteresis", "H1")
    assert least[5] == pytest.approx(0.005, abs=0.001) and min(adjusted) == pytest.approx(0.08, abs=0.01)


def test_one_seed_tells_no_difference(tmp_path: Path) -> None:
    outcome = study.reproduce(Options(quick=True, seeds=1, out=tmp_path, quiet=True))
    primary = [finding for finding in outcome.findings if not finding.reading]
    assert len(primary) == len(paper.CLAIMS) + 1
    assert {finding.verdict for finding in outcome.findings} <= {"not testable", "inconclusive"}
    assert outcome.document.tables()[0].name == "findings"
    assert len(list((tmp_path / "paper" / "figures").glob("*.png"))) == 4
    # Packets are marked where the thresholds see them: in the mean of two seeds, as a seed in which H1 starves has few.
    outcome = study.reproduce(Options(quick=True, seeds=2, out=tmp_path, quiet=True))
    scan = next(table for table in outcome.document.tables() if table.name == "scan")
    assert int(scan.rows[1][scan.columns.index("marked in B")]) > 100
