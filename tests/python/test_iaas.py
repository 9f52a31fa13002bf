"""The study iaas: its files are the paper's set-up, its measures add up, and one seed proves nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from haltere import load
from haltere.analysis import measures
from haltere.analysis.stats import Mean
from haltere.runs.plan import plan_runs
from haltere.runs.results import Results
from haltere.studies import data, expected, iaas
from haltere.studies.iaas import cells as runs
from haltere.studies.iaas.cells import CASES, DELAY, NEGOTIATED, PAIRS, STUDIED, Cell, fair_mbit, shorter
from haltere.studies.iaas.findings import EARLY, NEGOTIATED_ECN, NOT_NEGOTIATED, findings, side

QUEUE = "topology.dumbbell.bottleneck.queue"


def scenario(name: str) -> dict[str, Any]:
    return load(data("iaas") / name).to_dict()


def test_the_files_are_the_paper_s_set_up() -> None:
    without, with_ecn = scenario("drop_tail.toml"), scenario("red_ecn.toml")
    told = expected("iaas")
    for one in (without, with_ecn):
        link = one["topology"]["dumbbell"]
        assert (link["bottleneck"]["rate"], link["access"]["rate"], one["seeds"]) == ("1Gbit", "1Gbit", told["runs"])
        dealt = [c if isinstance(c, str) else c["kind"] for c in one["traffic"][0]["congestion"]]
        assert dealt == told["controls"] == list(STUDIED)
        assert one["sweep"][PAIRS] == told["pairs"]
    red = with_ecn["topology"]["dumbbell"]["bottleneck"]["queue"]
    # Limit 10^6 B, min 9 * 10^4 B, max min + 1, burst 61, probability 1, average packet 1500 B, with ECN.
    assert (red["kind"], red["burst"], red["probability"], red["ecn"]) == ("red", 61, 1.0, True)
    assert with_ecn["sweep"][NEGOTIATED] == [True, False] and not without.get("tcp", {}).get("ecn")


def test_the_paper_does_not_say_on_which_side_bbr_lies() -> None:
    told = expected("iaas")["without_ecn"]
    assert told["dispersed"] == ["bbr", "vegas"]
    assert not {"above_fair_share", "below_fair_share"} & set(told)


def test_the_matrix_has_the_same_red_and_every_pair_of_controls() -> None:
    study, matrix = scenario("red_ecn.toml"), scenario("matrix.toml")
    axes = matrix["sweep"]
    last = load(data("iaas") / "matrix.toml").with_values({QUEUE: axes[QUEUE][-1], "sweep": {}}).to_dict()
    assert last["topology"]["dumbbell"]["bottleneck"]["queue"] == study["topology"]["dumbbell"]["bottleneck"]["queue"]
    pairs = {frozenset(c if isinstance(c, str) else c["kind"] for c in pair) for pair in axes["traffic[0].congestion"]}
    assert len(pairs) == len(axes["traffic[0].congestion"]) == 21, "six controls, each beside each and beside itself"


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """The cells at 1 ms, one seed of two seconds.

    What waits out of order when the warm-up ends is delivered after it: in a second this can be over 1 % of what the link carries.
    """
    each = [shorter(one, {DELAY: ["500us"]}, "200ms", "2s") for one in runs._files()]
    return plan_runs(each, [1], tmp_path_factory.mktemp("iaas"), quiet=True, labels=[{"red": False}, {"red": True}])


def test_what_the_controls_have_adds_up_to_what_the_link_carries(short: Results) -> None:
    cells = runs.measure(short)
    assert [key[1:] for key in cells] == [(case, pairs) for case in CASES for pairs in (4, 8, 16)]
    for (_, _, pairs), cell in cells.items():
        total = sum(cell.mbit[control][0] for control in STUDIED) * pairs / len(STUDIED)
        assert total <= 1.01 * fair_mbit(pairs) * pairs
        assert total == pytest.approx(1000 * runs.PAYLOAD * cell.utilisation[0], rel=0.03)
        assert 1 / pairs <= cell.jain[0] <= 1
        whole = sum(cell.over_time[control][0].sum() for control in STUDIED) * pairs / len(STUDIED)
        assert whole <= 1.001 * 2.0 * 1000 * runs.PAYLOAD
    for done in short.runs:
        run = measures.Run(short, done)
        by_control = runs.by_control(run)
        assert {len(values) for values in by_control.values()} == {len(run.goodput_mbit()) // 4}
        assert sum(map(sum, by_control.values())) == pytest.approx(float(np.sum(run.goodput_mbit())))


def test_red_marks_for_hosts_that_negotiate_ecn_and_drops_for_others(short: Results) -> None:
    for (_, case, _), cell in runs.measure(short).items():
        assert (cell.marked[0] > 0) == (case == "red"), case
        if case == "red_off":
            assert cell.drops[0] > 0


def test_one_seed_tells_no_difference(short: Results) -> None:
    outcome = iaas.report(short, left_out="all but a second")
    primary = [finding for finding in outcome.findings if not finding.reading]
    assert len(primary) == 9
    assert {finding.reading for finding in outcome.findings} == {"", NOT_NEGOTIATED, NEGOTIATED_ECN, EARLY}
    # An interval of one value is unbounded: nothing may be called held or not held that rests on one.
    told = {finding.verdict for finding in outcome.findings}
    assert told == {"inconclusive"}
    assert outcome.document.tables()[0].name == "findings"
    assert {path.name for path in (short.directory / "figures").iterdir()} == {
        f"{name}.{kind}" for name in ("figure1", "figure2", "over-time", "ours") for kind in ("png", "pdf", "json")
    }


def cell(shares: dict[str, float], pairs: int, drops: float) -> Cell:
    """Five seeds of the same shares of the fair share, but for a thousandth."""
    noise = [0.999, 1.0, 1.001, 1.0, 1.0]
    made = Cell(drops=[drops * one for one in noise], jain=noise, utilisation=[0.99] * 5)
    made.mbit = {c: [share * fair_mbit(pairs) * one for one in noise] for c, share in shares.items()}
    made.early = made.mbit
    return made


def told(cells: dict[runs.Key, Cell]) -> dict[str, str]:
    return {one.text: one.verdict for one in findings(cells) if not one.reading}


def test_verdicts_follow_from_the_cells() -> None:
    """The paper's picture, and one in which one control has everything."""
    apart = {"cubic": 1.0, "reno": 1.1, "bbr": 0.2, "vegas": 1.7}
    alike = dict.fromkeys(STUDIED, 1.0)
    starved = {"cubic": 0.1, "reno": 0.1, "bbr": 3.7, "vegas": 0.1}
    cells = {(1.0, "1000p", n): cell(apart, n, 10) for n in (4, 8, 16)}
    cells |= {(1.0, "red", n): cell(alike, n, 0) for n in (4, 8, 16)}
    cells |= {(1.0, "red_off", n): cell(alike, n, 500) for n in (4, 8, 16)}
    held = told(cells)
    assert [verdict for text, verdict in held.items() if "deviation" not in text] == ["held"] * 8
    assert next(verdict for text, verdict in held.items() if "deviation" in text) == "not held"
    dropped = "With ECN and RED packets are still dropped, at every number of pairs"
    assert {one.reading: one.verdict for one in findings(cells) if one.text == dropped} == {
        "": "held",
        NEGOTIATED_ECN: "not held",
    }
    for n in (4, 8, 16):
        cells[1.0, "red", n] = cell(starved, n, 0)
    worse = told(cells)
    changed = {text for text in held if held[text] != worse[text]}
    assert {worse[text] for text in changed} == {"not held"} and len(changed) == 2


def test_the_side_of_the_fair_share_needs_an_interval() -> None:
    assert [side(Mean(mean, 0.1, 0.1, 5)) for mean in (0.5, 1.05, 2.0)] == ["below", "at the fair share", "above"]
