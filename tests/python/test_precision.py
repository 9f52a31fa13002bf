"""The stopping rule: enough seeds and no more, the same ones whatever the number of jobs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import haltere as package
from conftest import SMALL, haltere
from haltere.analysis import metrics, stats
from haltere.analysis.measures import Run
from haltere.runs.precision import next_count

#: Flows that start at random times behind few packets of buffer: their shares differ from seed to seed.
NOISY = SMALL.replace('kind = "codel"', 'kind = "drop_tail", limit = "10p"')


def noisy(precision: object, sweep: str = "") -> package.Scenario:
    text = NOISY.replace("seeds = 3", f"seeds = 3\nprecision = {precision}") + sweep
    return package.Scenario.from_toml(text, "file.toml")


def widths(results: package.Results, point: int, name: str, n: int) -> float:
    runs = sorted((run for run in results.runs if run.point == point), key=lambda run: run.seed)[:n]
    mean = stats.mean([metrics.named(Run(results, run), name) for run in runs])
    return mean.half / mean.mean


def test_seeds_are_added_until_the_interval_is_that_narrow(tmp_path: Path) -> None:
    results = noisy('{ within = "3%", of = ["ping_p50", "jain"], max_seeds = 150 }').run(out=tmp_path / "out")
    (told,) = results.manifest["precision"]
    assert told["reached"] and 3 < told["seeds"] < 150 and len(results.runs) == told["seeds"]
    assert results.seeds == list(range(1, told["seeds"] + 1))
    for name in ("ping_p50", "jain"):
        assert (
            told["widths"][name] == pytest.approx(widths(results, 0, name, told["seeds"]))
            and told["widths"][name] <= 0.03
        )
    assert max(widths(results, 0, name, 3) for name in ("ping_p50", "jain")) > 0.03, "three seeds were enough"


def test_the_same_seeds_on_one_job_and_on_three_and_after_an_interrupted_call(tmp_path: Path) -> None:
    scenario = noisy(
        '{ within = "4%", of = ["ping_p50"], max_seeds = 60 }', '\n[sweep]\n"topology.dumbbell.pairs" = [2, 3]\n'
    )
    one = scenario.run(out=tmp_path / "one", jobs=1)
    scenario.run(out=tmp_path / "three", seeds=5)  # what a call that was stopped would have left
    three = scenario.run(out=tmp_path / "three", jobs=3)
    assert [(run.point, run.seed) for run in one.runs] == [(run.point, run.seed) for run in three.runs]
    assert one.digest() == three.digest() and one.manifest["precision"] == three.manifest["precision"]


def test_a_limit_that_is_reached_is_told(tmp_path: Path) -> None:
    path = tmp_path / "noisy.toml"
    path.write_text(NOISY.replace("seeds = 3", 'seeds = 3\nprecision = { within = "0.1%", max_seeds = 5 }'))
    done = haltere("run", path.name, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Precision 0.001 reached at 0 of 1 points, with 5 seeds each." in done.stdout
    assert "Not reached: all after 5 seeds: " in done.stdout
    fixed = haltere("run", path.name, "--seeds", "2", "--out", "fixed", cwd=tmp_path)
    assert "Precision" not in fixed.stdout and "(2 runs)" in fixed.stdout
    short = haltere("run", path.name, "--set", "precision=50%", "--set", "seeds=2", "--out", "short", cwd=tmp_path)
    assert "Precision 0.5 reached at 1 of 1 points" in short.stdout, short.stderr
    assert json.loads((tmp_path / "short" / "manifest.json").read_text())["scenarios"][0]["precision"]["within"] == 0.5


def test_the_number_of_seeds_grows_as_the_spread_calls_for() -> None:
    assert next_count(10, [0.019, 0.001], 0.02, 200) == 10
    assert next_count(10, [0.025], 0.02, 200) == 16  # 10 * (0.025 / 0.02)^2 = 15.6
    assert next_count(10, [0.0201], 0.02, 200) == 12  # at least two more
    assert next_count(10, [0.5], 0.02, 200) == 20  # at most twice as many
    assert next_count(150, [0.5], 0.02, 200) == 200
    assert next_count(200, [0.5], 0.02, 200) == 200  # the limit


@pytest.mark.parametrize(
    ("precision", "told"),
    [
        ('"0%"', "precision: within must be above 0 and below 100 %, got 0 %"),
        ('"2 percent"', "precision must be"),
        ('{ of = ["jain"] }', "within must be"),
        ('{ within = "2%", max_seeds = 2 }', "max_seeds must be at least `seeds`, 3"),
        ('{ within = "2%", off = [] }', "did you mean `of`?"),
    ],
)
def test_a_wrong_rule_is_told(precision: str, told: str) -> None:
    with pytest.raises(package.InputError) as error:
        noisy(precision)
    assert told in str(error.value) and str(error.value).startswith("file.toml:"), error.value


def test_a_metric_that_nobody_has_is_told() -> None:
    with pytest.raises(package.InputError, match=r"got `godput`; did you mean `goodput`"):
        noisy('{ within = "2%", of = ["godput"] }').run()
    with pytest.raises(package.InputError, match=r"metric must be `goodput` or one of `goodput.bulk1`"):
        noisy('{ within = "2%", of = ["goodput.bulk9"] }').run()
