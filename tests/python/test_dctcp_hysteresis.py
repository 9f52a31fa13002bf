"""The study dctcp-hysteresis: its case files are the paper's, and it tells a verdict for every finding."""

from __future__ import annotations

from pathlib import Path

import pytest

from haltere import load
from haltere.errors import InputError
from haltere.studies import Options, data, expected
from haltere.studies import dctcp_hysteresis as study
from haltere.studies.dctcp_hysteresis import paper

# Tables 4 and 6: sender, UDP rate, seconds.
UDP = {
    "A": [("h1", "2Mbit", "25s"), ("h3", "2Mbit", "25s"), ("h5", "2Mbit", "25s")],
    "B": [("h1", "10Mbit", "50s"), ("h3", "5Mbit", "25s"), ("h5", "5Mbit", "25s")],
    "C": [("h1", "10Mbit", "25s"), ("h3", "5Mbit", "50s"), ("h5", "5Mbit", "50s")],
    "D": [("h1", "1Mbit", "25s"), ("h3", "1Mbit", "25s"), ("h5", "1Mbit", "25s")],
    "E": [("h1", "5Mbit", "50s"), ("h3", "5Mbit", "50s"), ("h5", "5Mbit", "50s")],
}


@pytest.mark.parametrize("case", paper.CASES)
def test_a_case_has_the_traffic_of_the_paper_s_table(case: str) -> None:
    scenario = load(data("dctcp-hysteresis") / f"case-{case.lower()}.toml").to_dict()
    udp = [(t["from"], t["rate"], t["stop"]) for t in scenario["traffic"] if t["kind"] == "cbr"]
    assert udp == UDP[case]
    tcp = [t["from"].upper() for t in scenario["traffic"] if t["kind"] == "bulk"]
    assert tcp == (["H1"] if case in "ABC" else ["H1", "H3", "H5"])
    assert {len(given["mean"]) for given in expected("dctcp-hysteresis")[case].values()} == {len(tcp)}
    assert paper.NEAREST[case] in scenario["sweep"][paper.RATE]


def test_one_seed_tells_no_difference(tmp_path: Path) -> None:
    options = Options(quick=True, seeds=1, out=tmp_path, variant="paper", quiet=True)
    outcome = study.reproduce(options)
    assert len(outcome.findings) == 9
    assert {finding.verdict for finding in outcome.findings} == {"cannot be told"}
    assert "other than the nearest" in outcome.left_out
    assert len(list((tmp_path / "paper" / "figures").glob("*.png"))) == 4


def test_an_unknown_part_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="variant must be one of `paper`, `map`, `fast`, `incast`, got `slow`"):
        study.reproduce(Options(out=tmp_path, variant="slow"))
