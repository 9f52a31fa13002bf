"""Measurements that others have published, as experiments: `validation/published`."""

from __future__ import annotations

import csv
import importlib.util
import re

import pytest

from conftest import ROOT

FOLDER = ROOT / "validation" / "published"
_spec = importlib.util.spec_from_file_location("l4s", FOLDER / "l4s.py")
assert _spec and _spec.loader
l4s = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(l4s)

ROWS = l4s.rows()
with (FOLDER / "l4s-ours.csv").open() as file:
    OURS = list(csv.DictReader(file))
#: Of the table's 144 rows: two of each queue at both rates, those with the round-trip times that differ most among them.
SAMPLE = [
    row
    for row in ROWS
    if (row["rtt_1_ms"], row["rtt_2_ms"]) in (("160", "10"), ("20", "20")) and row["control_1"] == row["control_2"]
]


def name(row: dict[str, str]) -> str:
    return "-".join(list(row.values())[:6])


def test_ours_has_each_published_row_and_at_least_85_percent_are_within() -> None:
    assert [name(row) for row in OURS] == [name(row) for row in ROWS]
    within = [row[f"within_{n}"] == "yes" for row in OURS for n in (1, 2)]
    assert sum(within) >= 0.85 * len(within)


def test_the_page_says_how_many_are_within() -> None:
    within = sum(row[f"within_{n}"] == "yes" for row in OURS for n in (1, 2))
    assert re.search(rf"\b{within} of {2 * len(OURS)} figures\b", (ROOT / "docs" / "l4s.md").read_text())


@pytest.mark.parametrize("row", SAMPLE, ids=name)
def test_the_stored_figures_are_those_of_this_tree(row: dict[str, str]) -> None:
    stored = OURS[ROWS.index(row)]
    for n, values in zip((1, 2), l4s.ours(row, 1), strict=True):
        # One seed of those whose least and most are stored.
        assert float(stored[f"least_{n}_mbit"]) - 0.01 <= values[0] <= float(stored[f"most_{n}_mbit"]) + 0.01
