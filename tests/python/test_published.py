"""Measurements that others have published, as experiments: `validation/published`."""

from __future__ import annotations

import importlib.util

import pytest

from conftest import ROOT

_spec = importlib.util.spec_from_file_location("l4s", ROOT / "validation" / "published" / "l4s.py")
assert _spec and _spec.loader
l4s = importlib.util.module_from_spec(_spec)
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
    for n, goodputs in zip((1, 2), l4s.ours(row, 2), strict=True):
        published = float(row[f"published_{n}_mbit"])
        assert abs(sum(goodputs) / 2 - published) < room, f"flow {n}: {goodputs}"
