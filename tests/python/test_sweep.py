"""Sweeps: grids, axes that walk together, axes that count somewhere only, and what is left out."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import haltere as package
from conftest import ROOT, SMALL, haltere

QUEUE = "topology.dumbbell.bottleneck.queue"


def scenario(sweep: str) -> package.Scenario:
    return package.Scenario.from_toml(f"{SMALL}\n[sweep]\n{sweep}", "file.toml")


def names(of: package.Scenario) -> list[str]:
    from haltere.runs.plan import Plan

    return [point.name for point in Plan([of]).points]


def test_zipped_axes_walk_together_and_cross_the_others() -> None:
    told = scenario(
        """
"topology.dumbbell.pairs" = [2, 4]
[[sweep.zip]]
"topology.dumbbell.bottleneck.rate" = ["10Mbit", "20Mbit", "40Mbit"]
"topology.dumbbell.bottleneck.delay" = ["20ms", "10ms", "5ms"]
"""
    )
    assert names(told)[:3] == [
        "pairs=2 rate=10Mbit delay=20ms",
        "pairs=2 rate=20Mbit delay=10ms",
        "pairs=2 rate=40Mbit delay=5ms",
    ]
    assert len(names(told)) == 6
    (_, last) = told.points()[-1]
    bottleneck = json.loads(last.to_json())["topology"]["dumbbell"]["bottleneck"]
    assert (bottleneck["rate"], bottleneck["delay"]) == ("40Mbit", "5ms")


def test_skip_leaves_out_what_its_when_names() -> None:
    told = scenario(
        f"""
"{QUEUE}" = ["drop_tail", "codel", {{ kind = "codel", target = "20ms" }}]
"topology.dumbbell.pairs" = [2, 4, 8]
skip = [
  {{ when = {{ queue = "drop_tail", pairs = [4, 8] }} }},
  {{ when = {{ queue = {{ kind = "codel", target = "20ms" }}, pairs = 8 }} }},
]
"""
    )
    left = [(labels[QUEUE], labels["topology.dumbbell.pairs"]) for labels, _ in told.points()]
    slow = {"kind": "codel", "target": "20ms"}
    assert left == [("drop_tail", 2), ("codel", 2), ("codel", 4), ("codel", 8), (slow, 2), (slow, 4)]


def test_an_axis_with_when_counts_only_there() -> None:
    told = scenario(
        f"""
"{QUEUE}" = ["drop_tail", "codel"]
"{QUEUE}.target" = {{ values = ["5ms", "20ms"], when = {{ queue = "codel" }} }}
"""
    )
    # `queue` alone is a table once a key below it is set: the label keeps what was written.
    assert names(told) == ["queue=drop_tail", "queue=codel target=5ms", "queue=codel target=20ms"]
    targets = [json.loads(core.to_json())["topology"]["dumbbell"]["bottleneck"]["queue"] for _, core in told.points()]
    assert "target" not in targets[0] and [one["target"] for one in targets[1:]] == ["5ms", "20ms"]


@pytest.mark.parametrize(
    ("sweep", "told"),
    [
        ('zip = [{ "traffic[0].count" = [1, 2], seeds = [1, 2, 3] }]', "`seeds` must be as long as `traffic[0].count`"),
        ('seeds = [1]\nzip = [{ seeds = [2] }]', "`seeds` must be in one axis only, got two"),
        ('"topology.dumbbell.pairs" = [2]\nskip = [{ when = { pars = 2 } }]', "got `pars`; did you mean `pairs`?"),
        ('"topology.dumbbell.pairs" = [2]\nskip = [{ when = { pairs = 3 } }]', "`pairs` must be a value of its axis: `2`, got `3`"),
        ('"topology.dumbbell.pairs" = [2]\nskip = [{ when = { pairs = 2 } }]', "`skip` leaves at least one point, got none"),
        ('"topology.dumbbell.pairs" = [2]\nskip = [{ when = {} }]', "when must be a table with at least one key"),
        ('"topology.dumbbell.pairs" = [2]\nskip = [{ wen = { pairs = 2 } }]', "did you mean `when`?"),
        ('"topology.dumbbell.pairs" = []', "must be a list of at least 1, got an empty list"),
        ('"traffic[0].count" = [1]\n"traffic[1].count" = [1]\nskip = [{ when = { count = 1 } }]', "write the whole path"),
        ('seeds = { values = [1], when = { seeds = 1 } }', "key must be one of the axes that it may name"),
    ],
)  # fmt: skip
def test_a_wrong_sweep_is_told_in_one_line_with_its_place(sweep: str, told: str) -> None:
    with pytest.raises(package.InputError) as error:
        scenario(sweep)
    assert told in str(error.value), error.value
    assert str(error.value).startswith("file.toml:"), error.value


def test_python_makes_the_same_sweep_as_the_file() -> None:
    written = scenario(
        f"""
"{QUEUE}" = ["drop_tail", "codel"]
"topology.dumbbell.pairs" = [2, 4]
skip = [{{ when = {{ queue = "drop_tail", pairs = 4 }} }}]
zip = [{{ warmup = ["0s", "1s"], duration = ["1s", "2s"] }}]
"""
    )
    made = package.Scenario.from_toml(SMALL).sweep(
        {QUEUE: ("drop_tail", "codel"), "topology.dumbbell.pairs": range(2, 5, 2)},
        zip=[{"warmup": ["0s", "1s"], "duration": ["1s", "2s"]}],
        skip=[{"queue": "drop_tail", "pairs": 4}],
    )
    assert [labels for labels, _ in made.points()] == [labels for labels, _ in written.points()]
    assert len(made.points()) == 6
    again = package.Scenario.from_dict(made.to_dict())
    assert [labels for labels, _ in again.points()] == [labels for labels, _ in made.points()]


def test_status_says_what_is_done_damaged_and_left(small: Path) -> None:
    small.write_text(small.read_text() + '[sweep]\n"topology.dumbbell.pairs" = [2, 3]\n')
    before = haltere("sweep", "status", small.name, cwd=small.parent)
    assert before.returncode == 0 and "0 of 6 runs done, 6 to do" in before.stdout, before.stderr
    haltere("run", small.name, "--seeds", "2", cwd=small.parent)
    victim = next((small.parent / "results" / "small" / "runs").glob("*/flows.parquet"))
    victim.write_bytes(victim.read_bytes()[:-1])
    told = json.loads(haltere("sweep", "status", small.name, "--json", cwd=small.parent).stdout)
    assert (told["planned"], told["done"], told["damaged"], told["to_do"]) == (6, 3, 1, 2)
    assert not told["complete"] and told["core_s_left"] > 0
    assert [one["point"] for one in told["points"]] == ["pairs=2", "pairs=3"]
    whole = haltere("sweep", "status", "results/small", cwd=small.parent)
    assert "3 of 4 runs done, 1 damaged" in whole.stdout


def test_the_sweep_of_the_documentation_is_one() -> None:
    text = (ROOT / "docs" / "scale.md").read_text()
    (example,) = re.findall(r"<!-- example: sweep\.toml -->\n```toml\n(.*?)```", text, re.S)
    told = names(package.Scenario.from_toml(example))
    # Drop tail with 2 pairs, CoDel with 3 numbers of pairs and 2 targets; each at 2 rates.
    assert len(told) == (1 + 3 * 2) * 2
    assert told[0] == "queue=drop_tail pairs=2 rate=20Mbit delay=18ms"
    for rule in re.findall(r"^precision = .*$", text, re.M):
        told_rule = package.Scenario.from_toml(f"{rule}\n{SMALL}").to_dict()["precision"]
        assert told_rule["within"] == 0.02


def test_every_command_of_a_sweep_explains_itself(tmp_path: Path) -> None:
    for words in (("sweep", "status"), ("results",), ("compare",)):
        told = haltere(*words, "--help", cwd=tmp_path)
        assert told.returncode == 0 and "examples:" in told.stdout, told.stderr
    bare = haltere("sweep", cwd=tmp_path)
    assert bare.returncode == 2 and bare.stderr.startswith("haltere: sweep: "), bare.stderr


@pytest.mark.parametrize(
    ("swept", "key"),
    [
        ("topology.dumbbell.bottleneck.rate", "topology.dumbbell.bottleneck.rate"),
        ("topology.dumbbell.bottleneck.queue", "topology.dumbbell.bottleneck.queue.limit"),
        ("traffic[0].start", "traffic.0.start"),
    ],
)
def test_a_value_that_the_sweep_would_replace_is_refused(small: Path, swept: str, key: str) -> None:
    values = {"rate": ["5Mbit", "10Mbit"], "queue": ["codel", "pie"], "start": ["0s", "1s"]}[swept.rsplit(".", 1)[-1]]
    axis = package.load(small).sweep({swept: values})
    with pytest.raises(package.InputError) as error:
        axis.with_values({key: {"rate": "1Mbit", "limit": "50p", "start": "2s"}[key.rsplit(".", 1)[-1]]})
    told = str(error.value)
    assert f"set {key}: " in told and "key must be one that `[sweep]` does not set" in told and f"`{swept}`" in told
    assert "sweep={}" in told


def test_a_set_key_below_a_swept_one_ends_the_command_before_anything_is_written(small: Path) -> None:
    small.write_text(small.read_text() + '[sweep]\n"topology.dumbbell.bottleneck.rate" = ["5Mbit", "10Mbit"]\n')
    done = haltere("run", small.name, "--set", "topology.dumbbell.bottleneck.rate=1Mbit", cwd=small.parent)
    assert done.returncode == 2 and "the sweep sets" in done.stderr and not (small.parent / "results").exists()
    without = package.load(small).with_values({"topology.dumbbell.bottleneck.rate": "1Mbit", "sweep": {}})
    assert len(without.points()) == 1
    assert without.to_dict()["topology"]["dumbbell"]["bottleneck"]["rate"] == "1Mbit"


def test_a_swept_kind_keeps_the_keys_that_both_kinds_have() -> None:
    text = SMALL.replace('{ kind = "codel" }', '{ kind = "codel", limit = "77p", target = "9ms", ecn = true }')
    points = package.Scenario.from_toml(text).sweep(
        {"topology.dumbbell.bottleneck.queue": ["drop_tail", "codel", "pie"]}
    )
    queues = [json.loads(core.to_json())["topology"]["dumbbell"]["bottleneck"]["queue"] for _, core in points.points()]
    assert [one["kind"] for one in queues] == ["drop_tail", "codel", "pie"]
    assert [one["limit"] for one in queues] == ["77p"] * 3
    assert queues[1]["target"] == queues[2]["target"] == "9ms" and queues[2]["ecn"] is True
    whole = package.Scenario.from_toml(text).sweep({"topology.dumbbell.bottleneck.queue": [{"kind": "drop_tail"}]})
    ((_, core),) = whole.points()
    assert json.loads(core.to_json())["topology"]["dumbbell"]["bottleneck"]["queue"]["limit"] == "1000p", (
        "a table is whole"
    )


@pytest.mark.parametrize("order", [1, -1])
def test_values_that_fit_only_together_may_come_in_any_order(small: Path, order: int) -> None:
    text = small.read_text().replace('duration = "3s"\nwarmup = "1s"', 'duration = "10s"\nwarmup = "5s"')
    small.write_text(text)
    changes = dict([("duration", "2s"), ("warmup", "1s")][::order])
    assert package.load(small).with_values(changes).to_dict()["duration"] == "2s"
    settings = [word for key, value in changes.items() for word in ("--set", f"{key}={value}")]
    done = haltere("run", small.name, "--seeds", "1", *settings, cwd=small.parent)
    assert done.returncode == 0, done.stderr
