"""The study dctcp-hysteresis: its case files are the paper's, and it tells a verdict for every finding."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from haltere import load
from haltere.analysis import stats
from haltere.errors import InputError
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


@pytest.mark.parametrize("case", cases.CASES)
def test_a_case_has_the_traffic_of_the_paper_s_table(case: str) -> None:
    scenario = load(data("dctcp-hysteresis") / f"case-{case.lower()}.toml").to_dict()
    udp = [(t["from"], t["rate"], t["stop"]) for t in scenario["traffic"] if t["kind"] == "cbr"]
    assert udp == UDP[case]
    tcp = [t["from"].upper() for t in scenario["traffic"] if t["kind"] == "bulk"]
    assert tcp == (["H1"] if case in "ABC" else ["H1", "H3", "H5"])
    assert {len(given["mean"]) for given in expected("dctcp-hysteresis")[case].values()} == {len(tcp)}
    assert cases.PRIMARY.rate in scenario["sweep"]["topology.switch.processor.packet_rate"]


def test_a_case_file_is_the_primary_reading() -> None:
    """What `haltere run` makes of it is what the study makes of it."""
    for case in cases.CASES:
        file = load(data("dctcp-hysteresis") / f"case-{case.lower()}.toml")
        own = {json.dumps(json.loads(core.to_json()), sort_keys=True) for _, core in file.points()}
        studied = {
            json.dumps(scenario.to_dict(), sort_keys=True)
            for scenario, labels in cases.scenarios(quick=True)
            if labels["case"] == case and labels["structure"] == "bmv2" and not labels["counts"]
        }
        assert len(studied) == len(cases.variants(case)) and studied <= own, case


def test_every_reading_has_the_runs_that_it_needs() -> None:
    labels = [labels for _, labels in cases.scenarios(quick=False)]
    assert len({tuple(one.values()) for one in labels}) == len(labels)
    for setup in (cases.PRIMARY, *cases.READINGS):
        for claim in paper.CLAIMS:
            for case, variant in (claim.more, claim.less):
                counts = setup.counts and "return" in variant
                wanted = {
                    "case": case,
                    "structure": setup.structure,
                    "rate": setup.rate,
                    "counts": counts,
                    "variant": variant,
                }
                assert wanted in labels


def cell(h1: list[float], udp: list[float] | None = None, signals: float = 9.0) -> cases.Cell:
    seeds = len(h1)
    tcp = {"H1": h1, "H3": h1, "H5": h1}
    return cases.Cell(tcp, {"H1": udp or h1}, [1.0] * seeds, [1.0] * seeds, [signals] * seeds, [0.0] * seeds)


def cells_of(one: cases.Cell, other: cases.Cell) -> cases.Cells:
    """One threshold has the first, every other variant the second."""
    all_cells = cases.Cells()
    for case in cases.CASES:
        for variant in cases.variants(case):
            all_cells._cells[case, cases.PRIMARY, variant] = one if variant == "one" else other
    return all_cells


def verdicts(one: cases.Cell, other: cases.Cell) -> dict[str, str]:
    found = paper._findings(cells_of(one, other), cases.PRIMARY, expected("dctcp-hysteresis"))
    return {finding.text: finding.verdict for finding in found}


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
    assert told["one threshold: H1 gets more in B than in C"] == "inconclusive"


def test_so_many_runs_as_the_paper_s_own_deviations_ask_for() -> None:
    """0.11 Mbit/s in case A with deviations of 0.1234 and 0.1863: the interval of 17 runs each contains 0, that of 18 does not."""
    claim = next(claim for claim in paper.CLAIMS if claim.more == ("A", "hysteresis"))
    more, less, deviation = claim.paper(expected("dctcp-hysteresis")) or (0.0, 0.0, 0.0)
    assert (more, less) == (3.53, 3.42)
    assert cases.runs_needed(more - less, deviation) == 18
    assert stats.student_t(0.95, 32) * deviation * (2 / 17) ** 0.5 > 0.11


def test_one_seed_tells_no_difference(tmp_path: Path) -> None:
    options = Options(quick=True, seeds=1, out=tmp_path, variant="paper", quiet=True)
    outcome = study.reproduce(options)
    primary = [finding for finding in outcome.findings if not finding.reading]
    assert len(primary) == len(paper.CLAIMS) + 1
    # In BMv2's structure nothing is marked; one seed is inconclusive.
    assert [finding.verdict for finding in primary] == ["not testable"] * 11 + ["inconclusive"] * 2
    assert {finding.verdict for finding in outcome.findings} == {"not testable", "inconclusive"}
    assert "rates other than 1000 packets/s" in outcome.left_out
    assert outcome.document.tables()[0].name == "findings"
    assert len(list((tmp_path / "paper" / "figures").glob("*.png"))) == 5


def test_an_unknown_part_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="variant must be one of `paper`, `map`, `fast`, `incast`, got `slow`"):
        study.reproduce(Options(out=tmp_path, variant="slow"))
