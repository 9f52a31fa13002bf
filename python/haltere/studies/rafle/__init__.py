"""The study `rafle`: short flows first, without state: RAFLE, RuN2C, the ideal classifier and rivals under FTP uploads.

Source: S. S. Mussi, M. R. N. Ribeiro, "RAFLE: uma proposta para diferenciacao de fluxos sem manutencao de estados em roteadores",
SBRC 2013. `papers/rafle/README.md` says what the paper leaves open and how it is read here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...analysis import stats
from ...analysis.stats import Mean
from ...api import Scenario
from ...errors import InputError
from ...report.document import Document, Heading, Table, Text
from ..base import Finding, Options, Outcome, Verdict, data, expected, findings_table, judge
from . import figures
from .router import DEFAULT_READINGS, DROP_TAIL, LABELS, PAPERS, READINGS, SERVICES, queue
from .tasks import (
    BUCKET,
    LAST_BUCKETS,
    Cell,
    Cells,
    Tasks,
    bucket_mean,
    bucket_sd,
    chance_of_gain,
    equal_share,
    verdicts,
)

__all__ = ["equal_share", "reproduce"]

Array = NDArray[np.float64]

ID = "rafle"
QUEUE = "topology.chain.links[1].queue"
WATCHED = "router>server"
MEMORIES = (10, 30, 40, 50, 60, 100)
WINDOW_S = 1000.0


def _last_end(tasks: Tasks) -> float:
    return float(np.nanmax(tasks.end))


def _gain(ours: Sequence[float], base: Sequence[float]) -> list[float]:
    """The paper's gain in percent, seed by seed: how much more drop tail took."""
    return [(b / o - 1) * 100 for o, b in zip(ours, base, strict=True)]


# -- running --------------------------------------------------------------------------------------------------------------


def _run(
    file: str, queues: Mapping[str, dict[str, Any]], options: Options, seeds: int | None, part: str, reading: str
) -> dict[str, Cell]:
    """Runs an experiment file with each of these queues; the cells by the queues' names."""
    window = {"tcp.initial_window": READINGS[reading].initial_window}
    scenario = Scenario.load(data(ID) / file).with_values({"sweep": {QUEUE: list(queues.values())}, **window})
    results = scenario.run(seeds=seeds, jobs=options.jobs, out=options.out / part, quiet=options.quiet)
    cells: dict[str, Cell] = {name: Cell() for name in queues}
    names = list(queues)
    for run in results.runs:
        cell = cells[names[run.point]]
        cell.tasks.append(Tasks.of(results, run))
        cell.verdicts.append(verdicts(results, run))
    return cells


def _plan(options: Options) -> tuple[list[str], list[str], int | None, str]:
    """Queues, readings, seeds, and what `--quick` leaves out."""
    if options.variant not in (None, *READINGS):
        raise InputError(f"variant must be one of `a`, `b`, `c`, `c3`, got `{options.variant}`")
    readings = [options.variant] if options.variant else list(DEFAULT_READINGS)
    if not options.quick:
        return list(LABELS), readings, options.seeds, ""
    left = "LAS and FQ-CoDel; memories other than 40; experiment 2"
    if not options.variant:
        readings, left = ["c"], left + "; the readings a, b and c3"
    seeds = options.seeds if options.seeds is not None else 2
    return (
        [n for n in LABELS if n == DROP_TAIL or n.split("/")[0] in PAPERS],
        readings,
        seeds,
        f"{left}; all but {seeds} of 10 seeds",
    )


def reproduce(options: Options) -> Outcome:
    """Runs the study and checks its findings."""
    names, readings, seeds, left_out = _plan(options)
    given = expected(ID)
    first: Cells = {}
    second: Cells = {}
    for reading in readings:
        queues = {name: queue(name, reading) for name in names}
        for name, cell in _run("simultaneous.toml", queues, options, seeds, f"simultaneous-{reading}", reading).items():
            first[reading, name] = cell
        if not options.quick:
            for name, cell in _run("steady.toml", queues, options, seeds, f"steady-{reading}", reading).items():
                second[reading, name] = cell
    distances = {reading: _distance(first, reading, given) for reading in readings}
    nearer = min(distances, key=lambda reading: distances[reading])
    memories: dict[int, Cell] = {given["n"]: first[nearer, "rafle/round_robin"]}
    if not options.quick:
        others = {str(n): queue("rafle/round_robin", nearer, n) for n in MEMORIES if n != given["n"]}
        run = _run("simultaneous.toml", others, options, seeds, f"memory-{nearer}", nearer)
        memories |= {int(n): cell for n, cell in run.items()}
    study = Study(
        options, names, readings, nearer, distances, given, first, second, dict(sorted(memories.items())), left_out
    )
    return study.outcome()


def _distance(cells: Cells, reading: str, given: Mapping[str, Any]) -> float:
    """How far table 2's means are from the paper's: the mean absolute difference of their logarithms."""
    far = []
    for name, row in given["table2"]["mean"].items():
        for bucket, theirs in enumerate(row):
            ours = np.nanmean(cells[reading, name].over(bucket_mean(bucket)))
            far.append(abs(math.log(float(ours) / theirs)))
    return float(np.mean(far))


@dataclass
class Study:
    """What the study ran, and what it makes of it."""

    options: Options
    names: list[str]
    readings: list[str]
    nearer: str
    distances: dict[str, float]
    given: dict[str, Any]
    first: Cells
    second: Cells
    memories: dict[int, Cell]
    left_out: str

    @property
    def classified(self) -> list[str]:
        return [name for name in self.names if name != DROP_TAIL]

    def outcome(self) -> Outcome:
        document = Document("rafle: short flows first, without state")
        seeds = len(self.first[self.nearer, DROP_TAIL].tasks)
        document.add(
            Text(f"{seeds} seeds; means with 95 % intervals. Paper: means of three runs on Click and real FTP.")
        )
        for reading in self.readings:
            what = f"Reading {reading}: {READINGS[reading].meaning}."
            document.add(
                Text(
                    f"{what} Mean distance from the paper's table 2: a factor of {math.exp(self.distances[reading]):.2f}."
                )
            )
        if self.left_out:
            document.add(Text(f"Left out by --quick: {self.left_out}."))
        document.add(Heading("Tables"))
        if not self.options.quick:
            document.add(self.table1())
        for reading in self.readings:
            document.add(self.table2(reading), self.table3(reading))
            if self.second:
                document.add(self.table4(reading), self.windows(reading))
        if len(self.readings) > 1:
            document.add(self.over_readings("mean"), self.over_readings("sd"))
            if self.second:
                document.add(self.over_readings("served"))
            document.add(self.halves())
        document.add(Heading("Figures"))
        for reading in self.readings:
            document.add(*figures.all_of(self, reading))
        findings = self.findings()
        document.add(Heading("Findings"), findings_table(findings))
        return Outcome(ID, document, findings, self.left_out)

    # -- tables ----------------------------------------------------------------------------------------------------------

    def table1(self) -> Table:
        """Classification rates for each memory, and the time that a short file takes with it."""
        rows = []
        paper = self.given["table1"]
        for n, cell in self.memories.items():
            short, long = cell.rates()
            product = [a * b for a, b in zip(short, long, strict=True)]
            times = stats.mean(cell.over(bucket_mean(0)))
            at = paper["n"].index(n)
            theirs = [paper["short"][at], paper["long"][at], paper["short"][at] * paper["long"][at]]
            ours = [stats.mean(values).format(3) for values in (short, long, product)]
            printed = [cell for pair in zip(ours, (f"{t:.3f}" for t in theirs), strict=True) for cell in pair]
            rows.append([str(n), *printed, times.format(1)])
        columns = ["N", "short", "paper", "long", "paper", "product", "paper", "0-100 KB (s)"]
        note = "Packets towards the server that are called what their task is; the last column is a second criterion, smaller is better."
        return Table("table1", f"Table 1: RAFLE's hit rates (round robin, reading {self.nearer})", columns, rows, note)

    def table2(self, reading: str) -> Table:
        """Mean and deviation of the time a file takes, by bucket."""
        paper = self.given["table2"]
        rows = [["Equal share", "paper", *(f"{t:.1f}" for t in paper["equal_share"])]]
        for name in self.names:
            cell = self.first[reading, name]
            means = [stats.mean(cell.over(bucket_mean(b))) for b in range(5)]
            sds = [stats.mean(cell.over(bucket_sd(b))) for b in range(5)]
            rows.append(
                [LABELS[name], "ours", *(f"{m.format(1)} (sd {s.mean:.1f})" for m, s in zip(means, sds, strict=True))]
            )
            if name in paper["mean"]:
                theirs = zip(paper["mean"][name], paper["sd"][name], strict=True)
                rows.append(["", "paper", *(f"{m:.1f} (sd {s:.1f})" for m, s in theirs)])
        columns = ["queue", "source", *(f"{b * 100}-{b * 100 + 100} KB (s)" for b in range(5))]
        undone = sum(int(np.isnan(t.end).sum()) for name in self.names for t in self.first[reading, name].tasks)
        failed = sum(t.failures for name in self.names for t in self.first[reading, name].tasks)
        note = f"Tasks not done when the runs ended: {undone}; connections that gave up and began again: {failed}."
        return Table(
            f"table2-{reading}",
            f"Table 2: completion time by file size, reading {reading}",
            columns,
            rows,
            note,
            left=2,
        )

    def gains(self, reading: str, name: str, measure: Callable[[Tasks], float]) -> Mean:
        """The gain over drop tail in percent, paired by seed."""
        base = self.first[reading, DROP_TAIL].over(measure)
        return stats.mean(_gain(self.first[reading, name].over(measure), base))

    def table3(self, reading: str) -> Table:
        """Gains of the first bucket over drop tail."""
        paper = self.given["table3"]
        rows = []
        for name in self.classified:
            row = [LABELS[name]]
            for measure, key in ((bucket_mean(0), "mean"), (bucket_sd(0), "sd")):
                theirs = paper[key].get(name)
                row += [self.gains(reading, name, measure).format(1), "–" if theirs is None else f"{theirs:.1f}"]
            rows.append(row)
        columns = ["queue", "mean time (%)", "paper", "deviation (%)", "paper"]
        return Table(
            f"table3-{reading}", f"Table 3: gain of files up to 100 KB over drop tail, reading {reading}", columns, rows
        )

    def served(
        self, reading: str, name: str, low: float = 1000.0, high: float = 4000.0, bucket: int = 0
    ) -> list[float]:
        """Files of a bucket done in that time, one value a seed."""
        return self.second[reading, name].over(lambda tasks: float(tasks.served(low, high)[bucket]))

    def steady_gain(self, reading: str, name: str) -> Mean:
        """Percent more files of the first bucket served than by drop tail."""
        base = self.served(reading, DROP_TAIL)
        return stats.mean([(o / b - 1) * 100 for o, b in zip(self.served(reading, name), base, strict=True)])

    def table4(self, reading: str) -> Table:
        """Gains in files served in steady state."""
        rows = []
        for name in self.names:
            theirs = self.given["table4"].get(name)
            gain = "–" if name == DROP_TAIL else self.steady_gain(reading, name).format(2)
            rows.append([
                LABELS[name], stats.mean(self.served(reading, name)).format(0), gain, "–" if theirs is None else f"{theirs:.2f}",
            ])  # fmt: skip
        columns = ["queue", "files up to 100 KB served", "gain (%)", "paper (%)"]
        sizes = self.first[reading, DROP_TAIL].tasks[0].bytes.tolist()
        low, high = chance_of_gain(sizes, 3000.0 * self.given["shaper_mbit"] * 1e6 / 8, 3)
        note = (
            "A busy line serves bytes, not files: between two equal queues the gain of three-run means, as the paper's are, "
            f"lies by the chance of the draws between {low:.0f} and {high:+.0f} % (95 %)."
        )
        title = f"Table 4: files served in [1000 s, 4000 s], reading {reading}"
        return Table(f"table4-{reading}", title, columns, rows, note)

    def over_readings(self, what: str) -> Table:
        """The gains of table 3 (`mean`, `sd`) or of table 4 (`served`), a column a reading."""
        measures: dict[str, tuple[str, Callable[[str, str], Mean]]] = {
            "mean": ("Table 3, mean time", lambda r, n: self.gains(r, n, bucket_mean(0))),
            "sd": ("Table 3, deviation", lambda r, n: self.gains(r, n, bucket_sd(0))),
            "served": ("Table 4, files served", self.steady_gain),
        }
        title, gain = measures[what]
        paper = self.given["table4"] if what == "served" else self.given["table3"][what]
        rows = [
            [LABELS[n], f"{paper[n]:.1f}" if n in paper else "–", *(gain(r, n).format(1) for r in self.readings)]
            for n in self.classified
        ]
        columns = ["queue", "paper", *(f"({r})" for r in self.readings)]
        return Table(
            f"gains-{what}", f"{title}: gain of files up to 100 KB over drop tail (%), by reading", columns, rows
        )

    def halves(self) -> Table:
        """What the first bucket hides: its files that are marked short, and those that are not."""
        short = self.given["short_bytes"]

        def mean(reading: str, name: str, low: float, high: float) -> str:
            times = self.first[reading, name].over(
                lambda t: float(np.nanmean(t.took[(t.bytes > low) & (t.bytes <= high)]))
            )
            return stats.mean(times).format(0)

        spans = [(0, short), (short, BUCKET)]
        rows = [[LABELS[n], *(mean(r, n, *span) for r in self.readings for span in spans)] for n in self.names]
        columns = [
            "queue",
            *(f"({r}) {low // 1000}–{high // 1000} KB (s)" for r in self.readings for low, high in spans),
        ]
        return Table("halves", "Completion time within the first bucket", columns, rows)

    def windows(self, reading: str) -> Table:
        """The stationarity check: files of the first bucket by window."""
        rows = []
        for name in self.names:
            parts = [self.served(reading, name, low, low + WINDOW_S) for low in (1000.0, 2000.0, 3000.0)]
            drift = stats.paired_difference(parts[2], parts[0])
            share = drift.mean / max(float(np.mean(parts[0])), 1.0) * 100
            verdict = "steady" if math.isnan(drift.half) or drift.low <= 0 <= drift.high else "drifting"
            rows.append(
                [
                    LABELS[name],
                    *(stats.mean(part).format(0) for part in parts),
                    drift.format(1),
                    f"{share:+.1f}",
                    verdict,
                ]
            )
        columns = ["queue", "1000-2000 s", "2000-3000 s", "3000-4000 s", "last less first", "%", "verdict"]
        title = f"Stationarity: files up to 100 KB served per 1000 s, reading {reading}"
        return Table(f"windows-{reading}", title, columns, rows)

    # -- findings --------------------------------------------------------------------------------------------------------

    def findings(self) -> list[Finding]:
        found: list[Finding] = []
        for reading in self.readings:
            found += self.about_first(reading)
            if self.second:
                found += self.about_second(reading)
        if len(self.memories) > 1:
            found.append(self.about_memory())
        return found

    def about_first(self, reading: str) -> list[Finding]:
        cells, out = self.first, []
        of = f"({reading}) "

        def add(text: str, differences: list[tuple[str, Mean]], unit: str, digits: int = 1) -> None:
            verdict, numbers = judge(differences, digits)
            out.append(Finding(of + text, verdict, f"{numbers} {unit}"))

        papers = [f"{c}/{s}" for s in SERVICES for c in PAPERS]
        mean = {name: cells[reading, name].over(bucket_mean(0)) for name in self.names}
        add(
            "table 3: every classifier brings files up to 100 KB through faster than drop tail",
            [(LABELS[n], self.gains(reading, n, bucket_mean(0))) for n in papers],
            "% gain",
        )
        add(
            "table 3: and with less deviation",
            [(LABELS[n], self.gains(reading, n, bucket_sd(0))) for n in papers],
            "% gain",
        )
        order = [("ideal/priority", "rafle/priority"), ("rafle/priority", "run2c/priority")]
        add(
            "table 3: under priority ideal beats RAFLE and RAFLE beats RuN2C",
            [
                (f"{LABELS[slow]} - {LABELS[fast]}", stats.paired_difference(mean[slow], mean[fast]))
                for fast, slow in order
            ],
            "s",
        )
        same = stats.paired_difference(mean["rafle/round_robin"], mean["ideal/round_robin"])
        part = same.mean / float(np.mean(mean["ideal/round_robin"]))
        verdict: Verdict = "held" if abs(part) <= 0.05 else "not held"
        out.append(
            Finding(
                of + "table 3: under round robin RAFLE equals ideal (within 5 %)",
                verdict,
                f"{same.format(1)} s, {part:+.1%}",
            )
        )
        lasts = {n: cells[reading, n].over(_last_end) for n in self.names}
        late = []
        for name in papers:
            allowed = [1.05 * b - o for o, b in zip(lasts[name], lasts[DROP_TAIL], strict=True)]
            late.append((LABELS[name], stats.mean(allowed)))
        add("the whole base takes no longer than under drop tail (at most 5 %)", late, "s to spare")
        wide = {
            s: cells[reading, f"rafle/{s}"].over(lambda t: float(np.nanmean([np.nanstd(t.took[t.bucket == b], ddof=1) for b in range(10, LAST_BUCKETS) if (t.bucket == b).sum() >= 2])))
            for s in SERVICES
        }  # fmt: skip
        add(
            "figure 3: above 1 MB RAFLE under priority deviates more than under round robin",
            [("Prio - RR", stats.paired_difference(wide["priority"], wide["round_robin"]))],
            "s",
        )
        return out

    def about_second(self, reading: str) -> list[Finding]:
        out = []
        of = f"({reading}) "
        for text, names, sign in (
            (
                "table 4: under round robin all three serve more small files than drop tail",
                [f"{c}/round_robin" for c in PAPERS],
                1,
            ),
            ("table 4: under priority ideal and RAFLE serve fewer", ["ideal/priority", "rafle/priority"], -1),
            ("table 4: under priority RuN2C serves more", ["run2c/priority"], 1),
        ):
            gains = [(LABELS[n], self.steady_gain(reading, n)) for n in names]
            turned = [(n, Mean(sign * g.mean, g.half, g.sd, g.n, g.confidence)) for n, g in gains]
            verdict, _ = judge(turned, 2)
            numbers = ", ".join(f"{n} {g.format(1)} %" for n, g in gains)
            out.append(Finding(of + text, verdict, numbers))
        drifting = [row[0] for row in self.windows(reading).rows if row[-1] == "drifting"]
        steady: Verdict = "not held" if drifting else "held"
        numbers = (
            f"first and last 1000 s differ: {', '.join(drifting)}"
            if drifting
            else "no difference between the first and the last 1000 s"
        )
        out.append(Finding(of + "experiment 2 is stationary from 1000 s on", steady, numbers))
        return out

    def about_memory(self) -> Finding:
        """Whether N = 40 is best by the paper's product, and which is best by time."""
        products = {}
        for n, cell in self.memories.items():
            short, long = cell.rates()
            products[n] = [a * b for a, b in zip(short, long, strict=True)]
        best = max(products, key=lambda n: float(np.mean(products[n])))
        times = {n: float(np.mean(cell.over(bucket_mean(0)))) for n, cell in self.memories.items()}
        fastest = min(times, key=lambda n: times[n])
        chosen = self.given["n"]
        rest = [
            (f"N = {chosen} less N = {n}", stats.paired_difference(products[chosen], products[n]))
            for n in products
            if n != chosen
        ]
        verdict, _ = judge(rest, 4)
        numbers = f"best product at N = {best} ({np.mean(products[best]):.3f}; N = {chosen}: {np.mean(products[chosen]):.3f}); least time at N = {fastest} ({times[fastest]:.1f} s; N = {chosen}: {times[chosen]:.1f} s)"
        return Finding(f"({self.nearer}) table 1: N = {chosen} has the best product of hit rates", verdict, numbers)
