"""The study iaas: its files are the paper's set-up, its measures add up, and one seed proves nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from haltere import load
from haltere.analysis import measures
from haltere.errors import InputError
from haltere.runs.plan import plan_runs
from haltere.runs.results import Results
from haltere.studies import Options, data, expected, iaas
from haltere.studies.iaas import matrix as iaas_matrix


def scenario(name: str) -> dict[str, Any]:
    return load(data("iaas") / name).to_dict()


def test_the_files_are_the_paper_s_set_up() -> None:
    without, with_ecn = scenario("drop_tail.toml"), scenario("red_ecn.toml")
    told = expected("iaas")
    for one in (without, with_ecn):
        link = one["topology"]["dumbbell"]
        assert (link["bottleneck"]["rate"], link["access"]["rate"], one["seeds"]) == ("1Gbit", "1Gbit", told["runs"])
        dealt = [c if isinstance(c, str) else c["kind"] for c in one["traffic"][0]["congestion"]]
        assert dealt == told["controls"] == list(iaas.STUDIED)
        assert one["sweep"][iaas.PAIRS] == told["pairs"]
    red = with_ecn["topology"]["dumbbell"]["bottleneck"]["queue"]
    # Limit 10^6 B, min 9 * 10^4 B, max min + 1, burst 61, probability 1, average packet 1500 B, with ECN.
    assert (red["kind"], red["burst"], red["probability"], red["ecn"]) == ("red", 61, 1.0, True)
    assert with_ecn["tcp"]["ecn"] is True and not without.get("tcp", {}).get("ecn")


def test_the_matrix_has_the_same_red() -> None:
    study = scenario("red_ecn.toml")["topology"]["dumbbell"]["bottleneck"]["queue"]
    base = load(data("iaas") / "matrix.toml").with_values(iaas_matrix._queue("red")).to_dict()
    assert base["topology"]["dumbbell"]["bottleneck"]["queue"] == study
    assert base["tcp"]["ecn"] is True


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """The paper's nine cells, one seed of two seconds.

    What waits out of order when the warm-up ends is delivered after it: in a second this can be over 1 % of what the link carries.
    """
    each = [load(data("iaas") / name) for name in ("drop_tail.toml", "red_ecn.toml")]
    each = [iaas.shorter(one, {iaas.DELAY: ["500us"]}) for one in each]
    each = [one.with_values({"warmup": "200ms", "duration": "2s"}) for one in each]
    return plan_runs(each, [1], tmp_path_factory.mktemp("iaas"), quiet=True, labels=[{"ecn": False}, {"ecn": True}])


def test_what_the_controls_have_adds_up_to_what_the_link_carries(short: Results) -> None:
    cells = iaas._measure(short)
    assert [key[1:] for key in cells] == [(case, pairs) for case in iaas.CASES for pairs in (4, 8, 16)]
    for (_, _, pairs), cell in cells.items():
        total = sum(cell.mbit[control][0] for control in iaas.STUDIED) * pairs / len(iaas.STUDIED)
        assert total <= 1.01 * iaas.fair_mbit(pairs) * pairs
        assert total == pytest.approx(1000 * iaas.PAYLOAD * cell.utilisation[0], rel=0.03)
        assert 1 / pairs <= cell.jain[0] <= 1
    for done in short.runs:
        run = measures.Run(short, done)
        by_control = iaas.by_control(run)
        assert {len(values) for values in by_control.values()} == {len(run.goodput_mbit()) // 4}
        assert sum(map(sum, by_control.values())) == pytest.approx(float(np.sum(run.goodput_mbit())))


def test_only_red_marks_and_only_drop_tail_drops_without_end(short: Results) -> None:
    cells = iaas._measure(short)
    for (_, case, _), cell in cells.items():
        assert (cell.marked[0] > 0) == (case == "red"), case


def test_one_seed_tells_no_difference(short: Results) -> None:
    outcome = iaas.report(short, "all but a second")
    assert len(outcome.findings) == 12
    # An interval of one value is unbounded: nothing may be called held or not held that rests on one.
    told = {finding.verdict for finding in outcome.findings if "packets are still dropped" not in finding.text}
    assert told == {"cannot be told"}
    assert {path.name for path in (short.directory / "figures").iterdir()} == {
        f"figure{n}.{kind}" for n in (1, 2) for kind in ("png", "pdf", "json")
    }


def test_harm_of_an_equal_share_is_half(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rates = {
        ("1bdp", "cubic", iaas_matrix.ALONE): [900.0, 900.0],
        ("1bdp", "cubic", "reno"): [450.0, 300.0],
        ("1bdp", "reno", "cubic"): [450.0, 600.0],
        ("1bdp", "cubic", "cubic"): [500.0, 400.0],
        ("1bdp", "cubic", "cubic (other)"): [400.0, 500.0],
    }
    assert list(iaas_matrix._harm(rates, "1bdp", "cubic", "reno")) == pytest.approx([0.5, 2 / 3])
    assert list(iaas_matrix._harm(rates, "1bdp", "cubic", "cubic")) == pytest.approx([0.5, 0.5])
    assert list(iaas_matrix._share(rates, "1bdp", "cubic", "reno")) == pytest.approx([50, 100 / 3])


def test_an_unknown_variant_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="variant must be `paper` or `matrix`, got `all`"):
        iaas.reproduce(Options(out=tmp_path, variant="all"))
