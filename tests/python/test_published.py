"""Measurements that others have published, as experiments: `validation/published`."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

import haltere
from conftest import ROOT

with (ROOT / "validation" / "published" / "l4s.csv").open() as file:
    L4S = list(csv.DictReader(file))

LINK_MBIT = 50.0
#: Points of the link by which a figure may differ.
POINTS = 0.05


def scenario(row: dict[str, str], folder: Path) -> haltere.Scenario:
    delays = ", ".join(f'"{float(row[key]) / 4}ms"' for key in ("rtt_1_ms", "rtt_2_ms"))
    flows = "".join(
        f'[[traffic]]\nkind = "bulk"\nname = "flow{n}"\npairs = [{n}]\ncongestion = "{row[f"control_{n}"]}"\n'
        for n in (1, 2)
    )
    path = folder / "row.toml"
    path.write_text(
        f"""
        duration = "180s"
        warmup = "120s"
        [topology.dumbbell]
        pairs = 2
        access = {{ rate = "1Gbit" }}
        access_delays = [{delays}]
        bottleneck = {{ rate = "{LINK_MBIT:g}Mbit", queue = "{row["queue"]}" }}
        {flows}
        """
    )
    return haltere.load(path)


@pytest.mark.parametrize("row", L4S, ids=lambda row: "-".join(list(row.values())[:5]))
def test_flows_share_a_link_as_measured_on_linux_with_l4s(row: dict[str, str], tmp_path: Path) -> None:
    flows = scenario(row, tmp_path).run(seeds=2).pandas("flows")
    ours = flows.groupby("group", observed=True)["goodput_bps"].mean() / 1e6
    for n in (1, 2):
        published = float(row[f"published_{n}_mbit"])
        assert abs(ours[f"flow{n}"] - published) < POINTS * LINK_MBIT, f"flow {n}: {ours.to_dict()}"
