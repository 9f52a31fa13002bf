"""Worlds are a registry: one that is added runs experiments, has options and is compared, and nothing asks for its name."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import haltere
from conftest import ROOT
from haltere import _core, cli, worlds
from haltere.analysis import parity
from haltere.worlds import Made, World, option


class Slowed:
    """A run of the toy world: that of the simulator with another digest."""

    def __init__(self, run: _core.Run) -> None:
        self.run = run

    def tables(self) -> Mapping[str, Any]:
        return self.run.tables()

    def digest(self) -> str:
        return "0dd" + self.run.digest()[3:]


@dataclass(frozen=True)
class Toy(World):
    """Runs each experiment in the simulator, with another seed."""

    skip: bool = option(False, "count seeds from 1000")

    name = "toy"
    about = "A toy."
    title = "toy"
    place = "in the toy"
    most_jobs = 1
    most_jobs_because = "a toy does one thing at a time"
    elsewhere = False
    errors_are_of_one_run = False

    def check(self, scenarios: Sequence[_core.Scenario]) -> None:
        for scenario in scenarios:
            if scenario.duration_s > 5:
                raise haltere.InputError(f"duration must be at most 5 s in the toy, got {scenario.duration_s:g} s")

    def run(self, scenario: _core.Scenario, seed: int, progress: _core.Progress) -> Slowed:
        return Slowed(_core.run(scenario, seed + (1000 if self.skip else 100), progress))

    def notes(self, made: Made) -> Mapping[str, Any]:
        return {"toy": {"skipped": self.skip}}

    def remarks(self, notes: Sequence[Mapping[str, Any]]) -> list[str]:
        return [f"{sum('toy' in one for one in notes)} runs were toys."]


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(worlds.WORLDS, "toy", Toy)


@pytest.mark.usefixtures("toy")
def test_a_world_is_added_by_one_line(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scenario = haltere.load(small)
    there = scenario.run(seeds=2, out=small.parent / "there", world="toy")
    assert (
        there.manifest["world"] == "toy"
        and [dict(run.notes) for run in there.runs] == [{"toy": {"skipped": False}}] * 2
    )
    assert all(run.digest.startswith("0dd") for run in there.runs)
    # What was read back is what was written.
    again = haltere.Results(small.parent / "there")
    assert [run.to_dict() for run in again.runs] == [run.to_dict() for run in there.runs]
    # Its runs are its own: the simulator's have other keys.
    here = scenario.run(seeds=[101, 102], out=small.parent / "here")
    assert not {run.key for run in here.runs} & {run.key for run in there.runs}
    assert here.table("flows")["goodput_bps"].to_pylist() == there.table("flows")["goodput_bps"].to_pylist()


@pytest.mark.usefixtures("toy")
def test_what_a_world_refuses_is_refused_before_anything_is_written(small: Path) -> None:
    for change, told in (
        ({"jobs": 2}, "jobs must be 1 in the toy, got 2; a toy does one thing at a time"),
        ({"executor": object()}, "executor must be left out in world `toy`"),
    ):
        with pytest.raises(haltere.InputError, match=told):
            haltere.load(small).run(world="toy", out=small.parent / "out", **change)  # type: ignore[arg-type]
    with pytest.raises(haltere.InputError, match="duration must be at most 5 s in the toy"):
        haltere.load(small).with_values({"duration": "9s"}).run(world="toy", out=small.parent / "out")
    assert not (small.parent / "out").exists()
    with pytest.raises(haltere.InputError, match="world must be one of `sim`, `wire`, `kernel`, `toy`, got `toys`"):
        haltere.load(small).run(world="toys")
    with pytest.raises(haltere.InputError, match=r"option must be one that it has \(`skip`\), got `hop`"):
        worlds.world("toy", hop=True)


@pytest.mark.usefixtures("toy")
def test_the_command_line_has_the_world_and_its_options(
    small: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(small.parent)
    assert cli.main(["run", small.name, "--world", "toy", "--skip", "--seeds", "1"]) == 0
    manifest = json.loads((small.parent / "results" / "small-toy" / "manifest.json").read_text())
    assert manifest["runs"][0]["toy"] == {"skipped": True}
    assert cli.main(["list", "worlds"]) == 0 and "toy     A toy." in capsys.readouterr().out


@pytest.mark.usefixtures("toy")
def test_any_two_worlds_are_compared(
    small: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(small.parent)
    assert cli.main(["compare-worlds", small.name, "--worlds", "sim,toy", "--seeds", "3", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    rows = {row["metric"]: row for row in told["rows"]}
    assert {"goodput of all flows", "share of cubic", "Jain's index", "left>right: utilisation", "ping: median"} <= set(
        rows
    )
    share = rows["share of cubic"]
    assert share["unit"] == "%" and share["sim"]["mean"] != share["toy"]["mean"]
    assert share["difference"]["mean"] == pytest.approx(share["toy"]["mean"] - share["sim"]["mean"])
    report = (small.parent / "results" / "small-worlds" / "report.md").read_text()
    assert "Simulator and toy" in report and "3 runs were toys." in report
    assert cli.main(["compare-worlds", small.name, "--worlds", "toy,toy"]) == 2


@dataclass(frozen=True)
class Unfit(Toy):
    """The toy on a machine that is late for some seeds."""

    late: tuple[int, ...] = ()

    name = "unfit"

    def run(self, scenario: _core.Scenario, seed: int, progress: _core.Progress) -> Slowed:
        if seed in self.late:
            raise haltere.HaltereError("the machine is not fit for this run: jitter must be at most 300us, got 2ms")
        return super().run(scenario, seed, progress)


@pytest.mark.parametrize("late", [(2,), (1, 2, 3)])
def test_runs_that_the_machine_was_not_fit_for_are_named_and_the_others_compared(
    late: tuple[int, ...], small: Path
) -> None:
    compare = lambda: parity.compare(  # noqa: E731
        haltere.load(small), worlds=["sim", Unfit(late=late)], seeds=3, out=small.parent / "out", quiet=True
    )
    if len(late) == 3:
        with pytest.raises(haltere.RunsFailed, match=r"3 of 3 runs failed: .* the machine is not fit for this run"):
            compare()
        return
    done = compare()
    (row,) = [row for row in done.rows if row.metric == "goodput of all flows"]
    assert (row.baseline.n, row.other.n) == (3, 2)
    text = done.document().text()
    assert "toy, all, seed 2: the machine is not fit for this run: jitter must be at most 300us, got 2ms." in text
    assert [one["seed"] for one in done.to_json()["unfit"]["unfit"]] == [2]


@pytest.mark.parametrize(
    ("p99", "latest", "says"),
    [
        (90, 250, "The calibration allows 300 us, so delays are the plan's."),
        (90, 171136, "the latest 171 ms; hosts wrote and read at most 2 ms late. The calibration allows 300 us, so means and percentiles"),
        (900, 171136, "so delays are too long by as much, and flows that wait for them are slower: repeat the runs"),
    ],
)  # fmt: skip
def test_a_report_says_what_the_lateness_of_the_wire_means(p99: float, latest: float, says: str) -> None:
    late = {"mean": 20, "p50": 15, "p99": p99, "max": latest}
    router = {"late_us": late, "cpu": 0.05, "unaccounted": 0, "ports": [], "schedule": "fifo"}
    calibration = {"planned_rtt_s": 0.01, "measured_rtt_s": 0.0101, "jitter_s": 2e-5, "out_of_bounds": None}
    notes = {"calibration": calibration, "router": router, "agent": {"late_us": {**late, "max": 2000}}}
    text = " ".join(worlds.world("wire").remarks([{"wire": notes}]))
    assert says in text and "Rates hold" in text, text


@dataclass(frozen=True)
class Third(World):
    """One more, without options."""

    name = "third"
    about = "A third."
    title = "third"
    place = "in the third"
    elsewhere = False

    def run(self, scenario: _core.Scenario, seed: int, progress: _core.Progress) -> _core.Run:
        return _core.run(scenario, seed + 200, progress)


@pytest.mark.usefixtures("toy")
def test_three_worlds_have_a_column_each_and_a_figure(
    small: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.setitem(worlds.WORLDS, Third.name, Third)
    monkeypatch.chdir(small.parent)
    small.write_text(small.read_text() + '\n[measure]\nqueues = "50ms"\nflows = "50ms"\n')
    assert cli.main(["compare-worlds", small.name, "--worlds", "sim,toy,third", "--seeds", "2"]) == 0
    told = capsys.readouterr().out
    assert "Simulator, toy and third" in told and "third less simulator" in told
    (line,) = [one for one in told.splitlines() if one.startswith("goodput of all flows")]
    assert len(line.split("  ")) >= 8
    assert (small.parent / "results" / "small-worlds" / "worlds.png").stat().st_size > 10_000
    assert "worlds.svg" in told


def test_no_module_asks_for_the_name_of_a_world() -> None:
    package, named = ROOT / "python" / "haltere", []
    for path in sorted(package.rglob("*.py")):
        place = path.relative_to(package)
        if place.parts[0] != "worlds" or place.name == "__init__.py":
            text = path.read_text()
            named += [
                f"{place}: {name}" for name in worlds.WORLDS for quote in "'\"" if f"{quote}{name}{quote}" in text
            ]
    # A command has the name of its world, and the doctest of `worlds` names one.
    assert named == ["commands/__init__.py: kernel", "worlds/__init__.py: wire"]
