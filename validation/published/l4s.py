"""The table of l4s-tests beside ours: runs each row of `l4s.csv` and writes `l4s-ours.csv`.

    python validation/published/l4s.py [SEEDS]

A row is two flows of unlike round-trip times for 180 s; the last 60 s count. A run takes a second or less.
"""

from __future__ import annotations

import csv
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import haltere

HERE = Path(__file__).absolute().parent
SEEDS = 5
POINTS = 0.05
"""Points of the link by which a figure may differ."""
LIMITS = {"50": "1000p", "10": "200p"}
"""Drop tail's limit by the link's rate in Mbit/s."""
OF_2020 = {
    "prague": '{ kind = "prague", rtt_min = "0ms" }',
    "dualpi2": '{ kind = "dualpi2", min_step_packets = 2 }',
}
"""The kernel of the measurements: its Prague had no virtual round-trip time, its DualPI2 marked only if two packets waited."""


def rows() -> list[dict[str, str]]:
    """The published rows."""
    with (HERE / "l4s.csv").open() as file:
        return list(csv.DictReader(file))


def scenario(row: dict[str, str], folder: Path) -> haltere.Scenario:
    """The experiment of a row."""
    delays = ", ".join(f'"{float(row[key]) / 4}ms"' for key in ("rtt_1_ms", "rtt_2_ms"))
    limit = f', limit = "{LIMITS[row["rate_mbit"]]}"' if row["queue"] == "drop_tail" else ""
    queue = OF_2020.get(row["queue"], f'{{ kind = "{row["queue"]}"{limit} }}')
    controls = [OF_2020.get(row[f"control_{n}"], f'"{row[f"control_{n}"]}"') for n in (1, 2)]
    flows = "".join(
        f'[[traffic]]\nkind = "bulk"\nname = "flow{n}"\npairs = [{n}]\ncongestion = {control}\n'
        for n, control in enumerate(controls, 1)
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
        bottleneck = {{ rate = "{row["rate_mbit"]}Mbit", queue = {queue} }}
        {flows}
        """
    )
    return haltere.load(path)


def ours(row: dict[str, str], seeds: int) -> list[list[float]]:
    """Goodput of both flows in Mbit/s, by seed."""
    with tempfile.TemporaryDirectory() as folder:
        flows = scenario(row, Path(folder)).run(seeds=seeds).pandas("flows")
    found = flows.groupby(["group", "seed"], observed=True)["goodput_bps"].mean() / 1e6
    return [list(found[f"flow{n}"]) for n in (1, 2)]


def within(row: dict[str, str], goodputs: list[list[float]]) -> list[bool]:
    """Of each flow: its mean is within 5 points of the link, or the published figure within the range of our seeds."""
    room = POINTS * float(row["rate_mbit"])
    found = []
    for n, values in zip((1, 2), goodputs, strict=True):
        published, mean = float(row[f"published_{n}_mbit"]), sum(values) / len(values)
        found.append(abs(mean - published) <= room or min(values) <= published <= max(values))
    return found


def main() -> None:
    """Runs all rows and prints how many figures are within."""
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else SEEDS
    published = rows()
    with ThreadPoolExecutor(2) as pool:
        goodputs = list(pool.map(lambda row: ours(row, seeds), published))
    results = []
    for row, values in zip(published, goodputs, strict=True):
        told: dict[str, str] = {}
        for n, (own, inside) in enumerate(zip(values, within(row, values), strict=True), 1):
            told |= {f"ours_{n}_mbit": f"{sum(own) / len(own):.2f}", f"least_{n}_mbit": f"{min(own):.2f}"}
            told |= {f"most_{n}_mbit": f"{max(own):.2f}", f"within_{n}": "yes" if inside else "no"}
        results.append(row | told)
    with (HERE / "l4s-ours.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, results[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(results)
    figures = [row[f"within_{n}"] == "yes" for row in results for n in (1, 2)]
    print(f"{sum(figures)} of {len(figures)} figures are within ({sum(figures) / len(figures):.0%})")


if __name__ == "__main__":
    main()
