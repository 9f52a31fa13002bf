"""The study mptcp-red: its network is the paper's, its figures are computed as they say, and every finding gets a verdict."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from haltere import load
from haltere.studies import Options, data
from haltere.studies import mptcp_red as study


def test_the_experiments_differ_in_the_main_stream_alone() -> None:
    of = {name: load(data("mptcp-red") / f"{name}.toml").to_dict() for name in ("main", "realtime", "cut")}
    assert all(list(one["topology"]) == ["multipath"] for one in of.values())
    assert of["main"]["traffic"][0] == of["realtime"]["traffic"][0] == of["cut"]["traffic"][0]
    ends = [(path["from"], path["to"]) for path in of["main"]["traffic"][1]["paths"]]
    assert ends == [("s1", "d1"), ("s1", "d2"), ("s2", "d1")], "A, B and C"
    assert [path.get("cut") for path in of["cut"]["traffic"][1]["paths"]] == ["30s", None, None]
    main = of["main"]["traffic"][1]["multipath"]["correlators"]
    assert [one["kind"] for one in main] == ["red_cpi", "mscm", "sbd", "red_cpi"]
    assert (main[0]["window"], main[0]["sampling"], main[3]["sampling"]) == (50, "opportunity", "measurement")


def test_the_area_is_the_chance_that_shared_lies_above_apart() -> None:
    assert study._area(np.array([0.0, 0.5]), np.array([0.6, 0.7])) == 1.0
    assert study._area(np.array([0.0, 1.0]), np.array([0.5])) == 0.5
    assert study._area(np.array([0.5]), np.array([0.5])) == 0.5, "a tie counts half"
    assert math.isnan(study._area(np.array([]), np.array([0.5])))
    # The same as the area under the steps that the thresholds give.
    rng = np.random.default_rng(1)
    apart, shared = rng.normal(0, 1, 400), rng.normal(1, 1, 300)
    cuts = np.sort(np.concatenate([apart, shared, [9.0]]))[::-1]
    false, true = ([float((v >= c).mean()) for c in cuts] for v in (apart, shared))
    assert study._area(apart, shared) == pytest.approx(np.trapezoid(true, false), abs=1e-9)


def test_a_threshold_counts_what_reaches_it() -> None:
    rates = study._at_least(np.array([0.1, 0.8, 0.9, -0.5]))
    assert rates[study.PHIS == 0.0] == 0.75
    assert rates[study.PHIS == 0.8] == 0.5
    assert rates[study.PHIS == 1.0] == 0.0


def test_every_finding_gets_a_verdict_and_the_paths_do_what_they_are(tmp_path: Path) -> None:
    outcome = study.reproduce(Options(quick=True, seeds=2, out=tmp_path, quiet=True))
    assert len(outcome.findings) == 13
    assert {finding.verdict for finding in outcome.findings} <= {"held", "not held", "cannot be told"}
    assert sorted(p.stem for p in (tmp_path / "figures").glob("*.png")) == [
        "coefficients",
        "detectors",
        "duplicates",
        "paths",
        "replicas",
    ]
    verdicts = {finding.text: finding.verdict for finding in outcome.findings}
    assert verdicts["RED-CPI: B-C lies close to 1 (median above 0.8)"] == "held"
