"""The study rafle: its file base meets what the paper's figures say, its files are the primary reading, its verdicts follow from intervals."""

from __future__ import annotations

import csv
import tomllib
from pathlib import Path

import numpy as np
import pytest

from haltere import load
from haltere.studies import Options, data, expected, rafle
from haltere.studies.rafle import router
from haltere.studies.rafle.file_base import AS_READ, UPPER_EDGES, Base
from haltere.studies.rafle.file_base import sizes as base
from haltere.studies.rafle.router import CHANGES, PRIMARY, READINGS, queue, values
from haltere.studies.rafle.study import Study
from haltere.studies.rafle.tasks import (
    Cell,
    Tasks,
    chance_of_contrast,
    chance_of_gain,
    equal_share,
    paper_s_share,
    stragglers,
)

FOLDER = Path(__file__).resolve().parents[2] / "papers" / "rafle"
KB = 1000


@pytest.fixture(scope="module")
def sizes() -> list[int]:
    with (FOLDER / "files.csv").open(encoding="utf-8") as table:
        return [int(row["bytes"]) for row in csv.DictReader(table)]


def test_there_are_564_files_of_at_most_four_megabytes(sizes: list[int]) -> None:
    assert len(sizes) == 564
    assert min(sizes) >= 100 and max(sizes) == 3950 * KB, "the middle of the last bucket, which ends at 4 MB"


def test_so_many_files_lie_above_each_edge(sizes: list[int]) -> None:
    assert [sum(size > edge * KB for size in sizes) for edge in (100, 200, 300, 400)] == [126, 105, 97, 93]


def test_small_files_hold_what_they_should(sizes: list[int]) -> None:
    assert sum(size for size in sizes if size <= 100 * KB) == 10_700 * KB
    assert sum(size for size in sizes if size <= 16 * KB) == 3950 * KB, "one file of the last bucket"


def test_the_base_takes_more_than_1900_seconds(sizes: list[int]) -> None:
    assert 236_900 * KB < sum(sizes) < 237_100 * KB
    assert sum(sizes) * 8 / 1e6 * 1514 / 1448 > 1900


def test_drop_tail_s_times_give_the_first_bucket() -> None:
    """At an equal share a file of a bucket's middle ends when all have sent as much: what that leaves for the first bucket."""
    above = [middle for middle in (150, 250, 350, 450) for _ in range({150: 21, 250: 8, 350: 4, 450: 5}[middle])]
    above += [1000] * 88
    drop_tail = expected("rafle")["table2"]["mean"]["drop_tail"]
    first = [drop_tail[b] / 8 * 1e3 - sum(min(size, 50 + 100 * b) for size in above) for b in (1, 2)]
    assert [round(kilobytes / 100) / 10 for kilobytes in first] == [11.4, 10.7]


def test_the_equal_share_follows_from_the_histogram_alone(sizes: list[int]) -> None:
    """Every file taken at the middle of its bucket: what the paper must have done, for it gives its five times."""
    middles = [((size - 1) // (100 * KB)) * 100 * KB + 50 * KB for size in sizes]
    times = [equal_share(middles, bucket * 100 * KB + 50 * KB, 1e6) for bucket in range(5)]
    assert times == expected("rafle")["table2"]["equal_share"]
    buckets = np.array([(size - 1) // (100 * KB) for size in sizes])
    left = paper_s_share(buckets, 1e6, np.array([0.0, 225.5, 225.7, 326.5]))
    assert left.tolist() == [564, 564, 126, 105]


def test_other_bases_differ_only_in_what_is_open() -> None:
    assert sum(size <= 16 * KB for size in base(Base(tiny=320))) == 320
    assert sum(size for size in base(Base(first_bucket=11_300 * KB)) if size <= 100 * KB) == 11_300 * KB
    upper = base(UPPER_EDGES)
    times = [equal_share(upper, bucket * 100 * KB, 1e6) for bucket in range(1, 6)]
    assert times == expected("rafle")["table2"]["equal_share"]
    with pytest.raises(ValueError, match="must be able to hold"):
        base(Base(tiny=200))


def test_table_and_experiment_files_are_what_the_script_makes(sizes: list[int]) -> None:
    assert base(AS_READ) == sizes
    for name in ("simultaneous.toml", "steady.toml"):
        experiment = tomllib.loads((FOLDER / name).read_text(encoding="utf-8"))
        assert [int(text.removesuffix("B")) for text in experiment["traffic"][0]["files"]] == sizes


def test_the_experiment_files_are_the_primary_reading() -> None:
    """`haltere run` on them is the study's drop tail."""
    for name in ("simultaneous.toml", "steady.toml"):
        scenario = load(data("rafle") / name)
        as_read = scenario.with_values({**values(READINGS[PRIMARY]), "topology.chain.links[1].queue": queue("drop_tail", READINGS[PRIMARY])})  # fmt: skip
        assert as_read.to_dict() == scenario.to_dict()
    assert scenario.to_dict()["tcp"]["initial_rto"] == "3s"


def test_what_a_reading_of_the_router_bounds() -> None:
    def bounds(reading: str) -> tuple[str, str, str]:
        sorted_ = queue("rafle/priority", READINGS[reading])
        assert sorted_["short"] == sorted_["long"]
        return queue("drop_tail", READINGS[reading])["limit"], sorted_["limit"], sorted_["short"]["limit"]

    roomy, clicks = "1000000p", "1000p"
    assert bounds("a") == (roomy, roomy, roomy)
    assert bounds("b") == (clicks, clicks, roomy)
    assert bounds("c") == (clicks, roomy, clicks) and bounds("fit") == ("700p", roomy, "700p")


def test_every_change_changes_one_thing() -> None:
    primary = READINGS[PRIMARY]
    for name, change in CHANGES.items():
        fields = {field for field in vars(primary) if getattr(primary, field) != getattr(change, field)}
        assert len(fields) == 1, name


def test_each_gain_of_table_4_lies_within_chance_but_not_all_six_together(sizes: list[int]) -> None:
    given = expected("rafle")["table4"]
    low, high = chance_of_gain(sizes, 3000 * 125_000, 3)
    assert low < -10 and high > 10
    assert all(low < gain < high for gain in given.values())
    contrast = np.mean([given[f"{c}/round_robin"] - given[f"{c}/priority"] for c in router.PAPERS])
    assert contrast == pytest.approx(14.2, abs=0.05)
    assert chance_of_contrast(sizes, 3000 * 125_000, 3, float(contrast)) < 0.005


def tasks(took: list[float]) -> Tasks:
    """Tasks of one run: files of 50 KB that took so long."""
    n = len(took)
    zero = np.zeros(n)
    return Tasks(np.full(n, 50_000.0), zero, zero, np.array(took), 0)


def cells(drop_tail: float, ideal: float, rafle_: float) -> dict[str, Cell]:
    """Two seeds of three queues under both services, each a constant but for a second of noise."""
    made = {"drop_tail": Cell([tasks([drop_tail]), tasks([drop_tail + 1])])}
    for service in ("round_robin", "priority"):
        made[f"ideal/{service}"] = Cell([tasks([ideal]), tasks([ideal])])
        made[f"rafle/{service}"] = Cell([tasks([rafle_]), tasks([rafle_])])
    return made


def test_a_gain_is_how_much_more_drop_tail_took() -> None:
    made = cells(drop_tail=150, ideal=100, rafle_=125)
    gain = Study.gain(made, "ideal/priority", lambda one: float(one.took[0]))
    assert gain.mean == pytest.approx(50.5)
    assert Study.part_of_ideal(made).mean == pytest.approx((0.2 / 0.5 + (26 / 125) / (51 / 100)) / 2)
    seconds, percent = Study.rafle_less_ideal(made)
    assert (seconds.mean, percent.mean) == (25.0, 25.0)


def test_figure_5_begins_when_drop_tail_has_served_some_files() -> None:
    """One file a second from 30 s on: five by 34 s, so the ratio counts from 35 s on."""
    made = {
        name: Cell([tasks([30.0 + i / speed for i in range(200)])])
        for name, speed in (("drop_tail", 1), ("rafle/priority", 2))
    }
    early = Study.done_early(made, "rafle/priority")
    assert early[0][0] == 35.0 and early[0][1][0] == pytest.approx(11 / 6) and early[-1][0] == 100.0


def test_stragglers_make_the_paper_s_two_moments() -> None:
    """The files found have its mean and deviation when they are put together again."""
    given = expected("rafle")["table2"]
    mean, deviation = given["mean"]["drop_tail"][0], given["sd"]["drop_tail"][0]
    late, rest = stragglers(438, mean, deviation, 1750, 100)
    assert (438 - late) * rest + late * 1750 == pytest.approx(438 * mean)
    squares = (438 - late) * (rest**2 + 100**2) + late * 1750**2 - 438 * mean**2
    assert squares == pytest.approx(437 * deviation**2)
    assert 13 < late < 15 and rest < given["mean"]["rafle/priority"][0], "without them RAFLE is slower"


@pytest.mark.slow
def test_the_study_runs_and_opens_with_its_findings(tmp_path: Path) -> None:
    """One seed: no verdict may rest on it, and every table and figure is made."""
    outcome = rafle.reproduce(Options(quick=True, seeds=1, out=tmp_path, jobs=2, quiet=True))
    assert {finding.verdict for finding in outcome.findings} == {"inconclusive"}
    blocks = outcome.document.blocks
    first = next(block for block in blocks if hasattr(block, "rows"))
    assert first is outcome.document.tables()[0] and first.name == "findings"
    assert 15 <= len(first.rows) <= 20
    headings = [block.text for block in blocks if type(block).__name__ == "Heading"]
    assert headings == ["Figures", "Tables", "What if"]
    assert {path.stem for path in (tmp_path / "figures").glob("*.png")} == {
        "active", "buckets", "changes", "lengths", "normalised", "served", "steady",
    }  # fmt: skip
    assert not any(finding.reading for finding in outcome.findings[:17])
