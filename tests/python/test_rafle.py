"""The file base of the study rafle meets what the paper's figures say of it, and is what its script makes."""

from __future__ import annotations

import csv
import importlib.util
import tomllib
from pathlib import Path
from typing import Any

import pytest

from haltere.studies import expected
from haltere.studies.rafle.router import DEFAULT_READINGS, READINGS, queue
from haltere.studies.rafle.tasks import chance_of_gain, equal_share

FOLDER = Path(__file__).resolve().parents[2] / "papers" / "rafle"
KB = 1000


@pytest.fixture(scope="module")
def sizes() -> list[int]:
    with (FOLDER / "files.csv").open(encoding="utf-8") as table:
        return [int(row["bytes"]) for row in csv.DictReader(table)]


def test_there_are_564_files_of_at_most_four_megabytes(sizes: list[int]) -> None:
    assert (len(sizes), max(sizes)) == (564, 4000 * KB)
    assert min(sizes) >= 1


def test_so_many_files_lie_above_each_edge(sizes: list[int]) -> None:
    assert [sum(size > edge * KB for size in sizes) for edge in (100, 200, 300, 400)] == [126, 105, 97, 93]


def test_small_files_hold_what_they_should(sizes: list[int]) -> None:
    assert sum(size for size in sizes if size <= 100 * KB) == 15_600 * KB
    tiny = sum(size for size in sizes if size <= 16 * KB)
    assert 3900 * KB <= tiny <= 4000 * KB, "about one file of the last bucket"


def test_the_equal_share_takes_the_paper_s_times(sizes: list[int]) -> None:
    times = [equal_share(sizes, bucket * 100 * KB, 1e6) for bucket in range(1, 6)]
    assert times == expected("rafle")["table2"]["equal_share"]


def test_the_same_times_follow_from_the_histogram_alone(sizes: list[int]) -> None:
    """Every file taken at the middle of its bucket: what the paper may have done (README.md)."""
    middles = [((size - 1) // (100 * KB)) * 100 * KB + 50 * KB for size in sizes]
    times = [equal_share(middles, bucket * 100 * KB + 50 * KB, 1e6) for bucket in range(5)]
    assert times == expected("rafle")["table2"]["equal_share"]


def test_table_and_experiment_files_are_what_the_script_makes(sizes: list[int]) -> None:
    spec = importlib.util.spec_from_file_location("make_files", FOLDER / "make_files.py")
    assert spec and spec.loader
    script: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    assert script.base() == sizes
    for name in ("simultaneous.toml", "steady.toml"):
        experiment = tomllib.loads((FOLDER / name).read_text(encoding="utf-8"))
        assert [int(text.removesuffix("B")) for text in experiment["traffic"][0]["files"]] == sizes


def test_what_a_reading_of_the_router_bounds() -> None:
    def bounds(reading: str) -> tuple[str, str, str]:
        sorted_ = queue("rafle/priority", reading)
        assert sorted_["short"] == sorted_["long"]
        return queue("drop_tail", reading)["limit"], sorted_["limit"], sorted_["short"]["limit"]

    roomy, clicks = "1000000p", "1000p"
    assert bounds("a") == (roomy, roomy, roomy)
    assert bounds("b") == (clicks, clicks, roomy)
    assert bounds("c") == bounds("c3") == (clicks, roomy, clicks)
    assert [READINGS[name].initial_window for name in DEFAULT_READINGS] == [10, 10, 10, 3]


def test_chance_alone_explains_table_4(sizes: list[int]) -> None:
    """All six gains of the paper lie where those of two equal queues lie in 95 of 100 cases."""
    low, high = chance_of_gain(sizes, 3000 * 125_000, 3)
    assert low < -10 and high > 10
    assert all(low < gain < high for gain in expected("rafle")["table4"].values())
