"""What the study `rafle` ran, and the quantities that its tables, figures and findings share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...analysis import stats
from ...analysis.stats import Mean
from ..base import Options
from .router import DROP_TAIL, PAPERS, PRIMARY, SERVICES
from .tasks import BUCKET, Array, Cell, Cells, Tasks, bucket_mean, bucket_sd, paper_s_share

#: Experiment 2 is measured in this part of the run.
STEADY_S = (1000.0, 4000.0)
#: "The first seconds" of figure 5, and the files that drop tail must have served by then on average: a ratio of single files says nothing.
EARLY_S, EARLY_FILES = (20.0, 100.0), 5
#: Figure 4, by the paper: in this part of the run priority lies nearer to the equal share.
EXCEPTED_S = (225.0, 410.0)


@dataclass
class Study:
    """The runs, by reading and queue, and the paper's numbers."""

    options: Options
    names: list[str]
    given: dict[str, Any]
    first: Cells = field(default_factory=dict)
    """Experiment 1."""
    second: Cells = field(default_factory=dict)
    """Experiment 2."""
    memories: dict[str, dict[int, Cell]] = field(default_factory=dict)
    """RAFLE in the primary reading by service and N."""
    changes: dict[str, dict[str, Cell]] = field(default_factory=dict)
    """Experiment 1 by change to the primary reading and queue."""
    lengths: dict[int, dict[str, Cell]] = field(default_factory=dict)
    """Experiment 1 by length of the queues, and queue."""
    steady: dict[int, dict[str, Cell]] = field(default_factory=dict)
    """Experiment 2 by length of the queues, and queue."""
    fits: dict[tuple[int, float], dict[str, Cell]] = field(default_factory=dict)
    """The paper's five rows of table 2 by length of the queues and megabytes in the files up to 100 KB."""
    left_out: str = ""

    @property
    def classified(self) -> list[str]:
        """The queues that classify."""
        return [name for name in self.names if name != DROP_TAIL]

    @property
    def readings(self) -> list[str]:
        """The readings that were run, the primary first."""
        return list(dict.fromkeys(reading for reading, _ in self.first))

    @property
    def rate_bps(self) -> float:
        """The router's rate."""
        return float(self.given["shaper_mbit"]) * 1e6

    @property
    def sizes(self) -> list[int]:
        """The file base of the primary reading, in bytes."""
        return [int(size) for size in self.first[PRIMARY, DROP_TAIL].tasks[0].bytes]

    def of(self, reading: str) -> dict[str, Cell]:
        """Experiment 1 under a reading, by queue."""
        return {name: cell for (one, name), cell in self.first.items() if one == reading}

    # -- experiment 1 -----------------------------------------------------------------------------------------------------

    @staticmethod
    def gain(cells: dict[str, Cell], name: str, measure: Callable[[Tasks], float]) -> Mean:
        """The paper's gain in percent, seed by seed: how much more drop tail took."""
        pairs = zip(cells[DROP_TAIL].over(measure), cells[name].over(measure), strict=True)
        return stats.mean([(base / ours - 1) * 100 for base, ours in pairs])

    @staticmethod
    def rafle_less_ideal(cells: dict[str, Cell]) -> tuple[Mean, Mean]:
        """Under round robin: mean time of files up to 100 KB with RAFLE less ideal's, in seconds and in percent of ideal's."""
        ours, ideal = (cells[f"{c}/round_robin"].over(bucket_mean(0)) for c in ("rafle", "ideal"))
        part = [(a / b - 1) * 100 for a, b in zip(ours, ideal, strict=True)]
        return stats.paired_difference(ours, ideal), stats.mean(part)

    @staticmethod
    def part_of_ideal(cells: dict[str, Cell]) -> Mean:
        """RAFLE's gain under priority over ideal's, a value a seed."""
        base = cells[DROP_TAIL].over(bucket_mean(0))
        rafle, ideal = (cells[f"{c}/priority"].over(bucket_mean(0)) for c in ("rafle", "ideal"))
        return stats.mean([(b / r - 1) / (b / i - 1) for b, r, i in zip(base, rafle, ideal, strict=True)])

    def away_from_equal_share(self, cells: dict[str, Cell], name: str) -> list[float]:
        """Tasks by which the number not done lies away from the paper's equal share, outside the time that the paper excepts."""
        grid = np.arange(5.0, 2000.0, 5.0)
        grid = grid[(grid < EXCEPTED_S[0]) | (grid > EXCEPTED_S[1])]
        share = paper_s_share(cells[name].tasks[0].bucket, self.rate_bps, grid)
        return cells[name].over(lambda tasks: float(np.abs(tasks.active(grid) - share).mean()))

    @staticmethod
    def done_early(cells: dict[str, Cell], name: str) -> list[tuple[float, list[float]]]:
        """Tasks done by each of the first seconds over drop tail's, a value a seed; drop tail's is the mean of its seeds."""
        grid = np.arange(EARLY_S[0], EARLY_S[1] + 1, 5.0)
        base = np.mean([tasks.done(grid) for tasks in cells[DROP_TAIL].tasks], axis=0)
        shown = base >= EARLY_FILES
        each = np.array([tasks.done(grid[shown]) / base[shown] for tasks in cells[name].tasks])
        return [(float(at), each[:, i].tolist()) for i, at in enumerate(grid[shown])]

    def table2(self, cells: dict[str, Cell], key: str) -> dict[tuple[str, int], list[float]]:
        """log10 of ours over the paper's for each mean or deviation of table 2, a value a seed. What a seed lacks is left out."""
        measure = {"mean": bucket_mean, "sd": bucket_sd}[key]
        out = {}
        for name, row in self.given["table2"][key].items():
            for bucket, paper in enumerate(row):
                values = [value for value in cells[name].over(measure(bucket)) if value > 0]
                if values:
                    out[name, bucket] = [float(np.log10(value / paper)) for value in values]
        return out

    def factor(self, cells: dict[str, Cell], key: str = "mean") -> float:
        """The root mean square of those, of the means over the seeds, as a factor."""
        return float(10 ** np.sqrt(np.mean([np.mean(values) ** 2 for values in self.table2(cells, key).values()])))

    # -- experiment 2 -----------------------------------------------------------------------------------------------------

    def served(self, reading: str | int, name: str, low: float = STEADY_S[0], high: float = STEADY_S[1]) -> list[Array]:
        """Files done in that time by bucket, one array a seed; ``reading``: its name, or a length of the queues."""
        cell = self.steady[reading][name] if isinstance(reading, int) else self.second[reading, name]
        return [tasks.served(low, high) for tasks in cell.tasks]

    def steady_gains(self, reading: str | int, name: str, buckets: slice = slice(0, 1)) -> list[float]:
        """Percent more files of these buckets served than by drop tail, a value a seed."""
        pairs = zip(self.served(reading, name), self.served(reading, DROP_TAIL), strict=True)
        return [(float(ours[buckets].sum() / base[buckets].sum()) - 1) * 100 for ours, base in pairs]

    def contrast(self, reading: str | int) -> Mean:
        """Table 4 as a whole: the mean gain of the three queues under round robin less that under priority, in points."""
        mean = {s: np.mean([self.steady_gains(reading, f"{c}/{s}") for c in PAPERS], axis=0) for s in SERVICES}
        return stats.paired_difference(mean["round_robin"], mean["priority"])

    def drift(self, reading: str, name: str) -> tuple[list[list[float]], Mean]:
        """Files of the first bucket served in each 1000 s, a value a seed, and the last less the first in percent of the first's mean."""
        edges = np.arange(STEADY_S[0], STEADY_S[1], 1000.0)
        parts = [[float(one[0]) for one in self.served(reading, name, low, low + 1000.0)] for low in edges]
        percent = 100 / max(float(np.mean(parts[0])), 1.0)
        return parts, stats.paired_difference(np.multiply(parts[-1], percent), np.multiply(parts[0], percent))

    def constancy(self, reading: str, name: str) -> list[float]:
        """The deviation over time of the number of tasks whose data connection is open, a value a seed."""
        grid = np.arange(STEADY_S[0], STEADY_S[1], 10.0)
        return self.second[reading, name].over(lambda tasks: float(np.std(tasks.transferring(grid))))


def within_first_bucket(low: float, high: float) -> Callable[[Tasks], float]:
    """The mean time of files of more than `low` and at most `high` bytes."""
    return lambda tasks: float(np.nanmean(tasks.took[(tasks.bytes > low) & (tasks.bytes <= high)]))


def deviation_above(size: float) -> Callable[[Tasks], float]:
    """The mean over the buckets above `size` bytes of the deviation within a bucket."""
    first = int(size // BUCKET)

    def measure(tasks: Tasks) -> float:
        buckets: Sequence[int] = [b for b in range(first, 40) if (tasks.bucket == b).sum() >= 2]
        return float(np.nanmean([np.nanstd(tasks.took[tasks.bucket == b], ddof=1) for b in buckets]))

    return measure
