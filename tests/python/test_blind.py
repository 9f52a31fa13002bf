"""The blind test: a classifier that learned Linux's congestion controls names ours."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

import validation_blind as blind

LINUX = Path(__file__).parents[2] / "validation" / "linux"


def saw(low: float, rounds: int = 50, teeth: int = 10) -> list[float]:
    """A window that grows by a straight line from `low` to 100 and falls back, two samples a round-trip time."""
    return [low + (100 - low) * i / (2 * rounds) for _ in range(teeth) for i in range(2 * rounds)]


def test_a_saw_has_its_depth_and_a_straight_rise() -> None:
    depth, _, quarter, half, three_quarters, *_ = blind.features(saw(50), 2)
    assert depth == pytest.approx(0.5, abs=0.02)
    assert (quarter, half, three_quarters) == pytest.approx((0.25, 0.5, 0.75), abs=0.02)


def test_a_flat_curve_has_no_back_offs() -> None:
    assert blind.features([80.0] * 500, 2) == [1.0, *[0.0] * 7]


def test_features_have_no_unit() -> None:
    assert blind.features([7 * y for y in saw(70)], 2) == pytest.approx(blind.features(saw(70), 2))


def test_linux_is_named_by_its_other_repetitions() -> None:
    with (LINUX / blind.TRAINING).open(newline="") as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    told = [(row["run"], row["control"], [float(row[name]) for name in blind.FEATURES]) for row in rows]
    classifier = blind.Classifier.train((control, point) for run, control, point in told if not run.endswith("_r3"))
    held_out = [(control, point) for run, control, point in told if run.endswith("_r3")]
    right = sum(classifier.name(point) == control for control, point in held_out)
    assert (right, len(held_out)) == (20, 20)


def test_our_controls_are_called_by_their_names() -> None:
    called = blind.confusion(LINUX, seeds=(1,))
    assert sorted(called) == ["bbr", "cubic", "dctcp", "reno", "vegas"]
    wrong = {
        one: dict(counts) for one, counts in called.items() if any(not blind.is_right(one, name) for name in counts)
    }
    assert not wrong, f"of {len(blind.LINKS)} flows each: {wrong}"


def test_what_was_called_is_read_back(tmp_path: Path) -> None:
    called = blind.read_called(LINUX / blind.CALLED)
    blind.write_called(called, tmp_path / blind.CALLED)
    assert blind.read_called(tmp_path / blind.CALLED) == called
    assert "## Blind test" in blind.section(tmp_path)
    assert blind.section(tmp_path / "nowhere") == ""
