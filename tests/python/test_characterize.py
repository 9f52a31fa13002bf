"""`haltere characterize`: the scenarios of RFC 7928, the card, and what is measured."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from conftest import called
from haltere import InputError, _core, catalogue
from haltere.api import Scenario
from haltere.characterize import characterize
from haltere.characterize.measure import Cell, ellipse
from haltere.characterize.scenarios import cases, experiment
from haltere.studies import Options


@pytest.mark.parametrize("kind", sorted(set(_core.names("queues")) - catalogue.media()))
def test_every_discipline_can_be_put_into_every_scenario(kind: str) -> None:
    # What a discipline needs beside its kind is not ours to know: those of two parts stand for themselves.
    queue = {"kind": kind}
    for case in cases():
        Scenario.from_dict(experiment(case, queue, False), case.key)
        Scenario.from_dict(experiment(case, queue, True), case.key)


def test_a_discipline_that_is_the_line_is_refused() -> None:
    with pytest.raises(InputError, match="rate must be left out beside the queue `docsis`"):
        Scenario.from_dict(experiment(cases()[0], {"kind": "docsis"}, False), "docsis")


def test_the_scenarios_are_those_of_the_rfc() -> None:
    sections = {case.section for case in cases()}
    assert sections >= {"5.1.1", "5.1.2", "5.2", "5.3.1", "5.3.2", "5.4", "6", "7", "8.2.2", "8.2.3", "8.2.4", "8.2.5", "8.2.6.1", "8.2.6.2", "9.1", "9.2", "10"}  # fmt: skip
    assert len({case.key for case in cases()}) == len(cases())


def test_a_queue_that_is_managed_waits_less_than_drop_tail(tmp_path: Path) -> None:
    outcome = characterize(
        "codel", {"target": "5ms"}, Options(quick=True, seeds=2, out=tmp_path, quiet=True), ["medium"]
    )
    tables = {table["name"]: table for table in outcome.to_json()["tables"]}
    assert tables["delay"]["columns"] == [
        "RFC 7928",
        "scenario",
        "codel, target=5ms",
        "drop_tail",
        "codel",
        "pie",
        "fq_codel",
    ]
    ours, tail, plain, *_ = (float(cell.split()[0]) for cell in tables["delay"]["rows"][0][2:])
    assert ours < 40 < 100 < tail
    assert ours == plain, "its own default said aloud is the same discipline, and meets the same chance"
    assert tables["card"]["rows"][0][:2] == ["8.2.3", "medium congestion"]
    outcome.document.write(tmp_path)
    told = json.loads((tmp_path / "figures" / "ellipses-stability.json").read_text())
    assert {s["name"] for s in told["panels"][0]["series"]} == {
        "codel, target=5ms",
        "drop_tail",
        "codel",
        "pie",
        "fq_codel",
    }
    assert told["panels"][0]["x"]["reversed"] and told["panels"][0]["x"]["log"]


def test_an_ellipse_is_the_gaussian_of_its_points() -> None:
    chance = np.random.default_rng(1)
    delay, rate = 10 ** chance.normal(1.0, 0.2, 20_000), chance.normal(9.0, 0.5, 20_000)
    drawn = ellipse(Cell(points=[(delay, rate)]))
    assert drawn is not None
    x, y, (middle, height) = drawn
    assert middle == pytest.approx(10, rel=0.02) and height == pytest.approx(9, rel=0.01)
    assert np.log10(x).max() == pytest.approx(1.2, abs=0.01) and y.max() == pytest.approx(9.5, abs=0.02)


def test_the_bottleneck_that_changes_is_measured_at_its_rate_of_the_time() -> None:
    slow = next(case for case in cases() if case.key == "varying-capacity-slow")
    assert [slow.rate_mbit(t) for t in (0, 19.9, 20, 39.9, 40, 65)] == [100, 100, 10, 10, 100, 10]


def test_the_command_says_what_it_ran_and_left_out(tmp_path: Path) -> None:
    done = called("characterize", "pie", "--quick", "--only", "friendly", "--seeds", "2", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "pie through the scenarios of RFC 7928" in done.stdout and "5.1.1" in done.stdout
    assert (tmp_path / "results" / "characterize-pie-quick" / "report.html").is_file()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["coddle"], "NAME must be a congestion control or a queue discipline"),
        (["codel", "--set", "targt=5ms"], "did you mean `target`"),
        (["codel", "--only", "havy"], "--only must be one of"),
    ],
)
def test_a_wrong_word_is_told_before_anything_runs(tmp_path: Path, arguments: list[str], says: str) -> None:
    done = called("characterize", *arguments, cwd=tmp_path)
    assert done.returncode == 2 and says in done.stderr and done.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_settings_are_checked_from_python_too(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="target"):
        characterize("codel", {"target": "0s"}, Options(quick=True, out=tmp_path / "out", quiet=True))
    assert not (tmp_path / "out").exists()
