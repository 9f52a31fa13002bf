"""Measurements that others have published, as experiments: `validation/published`."""

from __future__ import annotations

import csv
import importlib.util
import math
import sys

import pytest

from conftest import ROOT

_spec = importlib.util.spec_from_file_location("l4s", ROOT / "validation" / "published" / "l4s.py")
assert _spec and _spec.loader
l4s = importlib.util.module_from_spec(_spec)
sys.modules["l4s"] = l4s
_spec.loader.exec_module(l4s)

#: The rows of docs/l4s.md: unlike controls at equal round-trip times, and equal ones at the most unlike.
QUOTED = [
    ("50", "drop_tail", "cubic", "cubic", "160", "10"),
    ("50", "fq_codel", "cubic", "cubic", "160", "10"),
    ("50", "dualpi2", "cubic", "cubic", "160", "10"),
    ("50", "dualpi2", "cubic", "prague", "20", "20"),
    ("50", "dualpi2", "prague", "prague", "160", "10"),
]
ROWS = [row for row in l4s.rows() if tuple(list(row.values())[:6]) in QUOTED]


def test_every_quoted_row_is_published() -> None:
    assert len(ROWS) == len(QUOTED) and len(l4s.rows()) == 144


@pytest.mark.parametrize("row", ROWS, ids=lambda row: "-".join(list(row.values())[:6]))
def test_flows_share_a_link_as_measured_on_linux_with_l4s(row: dict[str, str]) -> None:
    room = l4s.POINTS * float(row["rate_mbit"])
    for n, goodputs in zip((1, 2), l4s.ours(row, 6), strict=True):
        published = float(row[f"published_{n}_mbit"])
        assert abs(sum(goodputs) / len(goodputs) - published) < room, f"flow {n}: {goodputs}"


def row(controls: str, rtts: str, figures: str) -> dict[str, str]:
    """A row at 10 Mbit/s behind drop tail."""
    names = ["control_1", "control_2", "rtt_1_ms", "rtt_2_ms", "published_1_mbit", "published_2_mbit"]
    values = f"{controls} {rtts} {figures}".split()
    return {"rate_mbit": "10", "queue": "drop_tail"} | dict(zip(names, values, strict=True))


def test_the_spread_of_two_orders_is_that_of_two_runs() -> None:
    """By hand: CUBIC 6 and 7, Prague 3 and 2.4: (1 / 2 + 0.36 / 2) / 2 = 0.34. Rows of unlike round trips do not count."""
    table = [
        row("cubic prague", "10 10", "6 3"),
        row("prague cubic", "10 10", "2.4 7"),
        row("cubic prague", "20 10", "9 0"),
    ]
    assert l4s.spreads(table) == {
        ("10", "drop_tail", ("cubic", "prague")): l4s.Spread(pytest.approx(math.sqrt(0.34)), 1)
    }


def test_the_spread_of_equal_flows_is_half_their_difference() -> None:
    """By hand: 5 and 4, then 4.2 and 4.8: (1 / 4 + 0.36 / 4) / 2 = 0.17; two repeats: t = 4.303."""
    table = [row("cubic cubic", "10 10", "5 4"), row("cubic cubic", "20 20", "4.2 4.8")]
    spread = l4s.spreads(table)["10", "drop_tail", ("cubic", "cubic")]
    assert spread == (pytest.approx(math.sqrt(0.17)), 2)
    assert spread.room() == pytest.approx(4.303 * math.sqrt(0.17))


def test_a_figure_agrees_by_three_rules() -> None:
    """Means 5.4, 6.0 and 7.0 beside 5: within half a Mbit/s; within the seeds only; within a spread of 4.303 * 0.5 only."""
    spread = l4s.Spread(0.5, 2)
    for seeds, held in (
        ([5.3, 5.5], (True, True, True)),
        ([4.9, 7.1], (False, True, True)),
        ([6.9, 7.1], (False, False, True)),
    ):
        assert l4s.verdicts(row("cubic cubic", "10 10", "5 5"), [seeds, seeds], spread)[0] == held
    assert l4s.verdicts(row("cubic cubic", "10 10", "5 5"), [[7.3, 7.5]] * 2, spread)[0] == (False, False, False)


def test_the_page_has_the_counts_of_the_stored_rows() -> None:
    with (ROOT / "validation" / "published" / "l4s-ours.csv").open() as file:
        stored = list(csv.DictReader(file))
    page = (ROOT / "docs" / "l4s.md").read_text()
    for rule in l4s.Verdict._fields:
        count = sum(found[f"{rule}_{n}"] == "yes" for found in stored for n in (1, 2))
        assert f"| {count} (" in page, (rule, count)
