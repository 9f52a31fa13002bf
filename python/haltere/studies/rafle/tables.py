"""The tables of the study `rafle`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...analysis import stats
from ...analysis.stats import Mean
from ...report.document import Table
from ..base import within
from .router import DROP_TAIL, LABELS, PAPERS, PRIMARY, SERVICES
from .study import Study, within_first_bucket
from .tasks import BUCKET, Cell, Tasks, bucket_mean, bucket_percentile, bucket_sd, chance_of_gain, stragglers


def of_all(study: Study) -> list[Table]:
    """The tables of the primary reading."""
    made = [table1(study)] if study.memories else []
    made += [table2(study), first_bucket(study)]
    return [*made, table4(study)] if study.second else made


def table1(study: Study) -> Table:
    """Hit rates for each memory."""
    paper, rows = study.given["table1"], []
    other = study.memories.get("round_robin", {})
    for n, cell in study.memories["priority"].items():
        short, long = cell.rates()
        product = [a * b for a, b in zip(short, long, strict=True)]
        at = paper["n"].index(n)
        theirs = [paper["short"][at], paper["long"][at], paper["short"][at] * paper["long"][at]]
        ours = [stats.mean(values).format(3) for values in (short, long, product)]
        printed = [cell for pair in zip(ours, (f"{t:.3f}" for t in theirs), strict=True) for cell in pair]
        rr = stats.mean(other[n].rates()[1]).format(3) if n in other else "–"
        rows.append([str(n), *printed, stats.mean(cell.over(bucket_mean(0))).format(1), rr])
    columns = ["N", "short", "paper", "long", "paper", "product", "paper", "0-100 KB (s)", "long, round robin"]
    note = "Packets towards the server that are called what their task is. 0-100 KB: mean time of the files, a second criterion."
    return Table("table1", "Table 1: RAFLE's hit rates, under priority", columns, rows, note)


def table2(study: Study) -> Table:
    """Mean and deviation of the time a file takes, by bucket."""
    paper, cells = study.given["table2"], study.of(PRIMARY)
    rows = [["Equal share", "paper", *(f"{t:.1f}" for t in paper["equal_share"])]]
    for name in study.names:
        means = [stats.mean(cells[name].over(bucket_mean(b))) for b in range(5)]
        sds = [stats.mean(cells[name].over(bucket_sd(b))) for b in range(5)]
        ours = [f"{m.format(1)} (sd {s.mean:.1f})" for m, s in zip(means, sds, strict=True)]
        rows.append([LABELS[name], "ours", *ours])
        if name in paper["mean"]:
            theirs = zip(paper["mean"][name], paper["sd"][name], strict=True)
            rows.append(["", "paper", *(f"{m:.1f} (sd {s:.1f})" for m, s in theirs)])
    columns = ["queue", "source", *(f"{b * 100}-{b * 100 + 100} KB (s)" for b in range(5))]
    undone = sum(int(np.isnan(t.end).sum()) for name in study.names for t in cells[name].tasks)
    failed = sum(t.failures for name in study.names for t in cells[name].tasks)
    note = f"Tasks not done when the runs ended: {undone}; connections that gave up and began again: {failed}."
    return Table("table2", "Table 2: completion time by file size", columns, rows, note, left=2)


def first_bucket(study: Study) -> Table:
    """Files up to 100 KB: mean and deviation beside the paper's, median, 95th percentile, and the two halves of the bucket."""
    paper, cells, short = study.given["table2"], study.of(PRIMARY), study.given["short_bytes"]
    measures: list[tuple[Callable[[Cell], list[float]], str | None]] = [
        (lambda cell: cell.over(bucket_mean(0)), "mean"),
        (lambda cell: cell.over(bucket_sd(0)), "sd"),
        (lambda cell: cell.over(bucket_percentile(0, 50)), None),
        (lambda cell: cell.over(bucket_percentile(0, 95)), None),
        (lambda cell: cell.over(within_first_bucket(0, short)), None),
        (lambda cell: cell.over(within_first_bucket(short, BUCKET)), None),
    ]
    rows = []
    for name in study.names:
        row = [LABELS[name]]
        for measure, key in measures:
            row.append(stats.mean(measure(cells[name])).format(1))
            if key:
                row.append(f"{paper[key][name][0]:.1f}" if name in paper[key] else "–")
        rows.append(row)
    columns = ["queue", "mean (s)", "paper", "deviation (s)", "paper", "median (s)", "95th percentile (s)", "up to 16 KB (s)", "16-100 KB (s)"]  # fmt: skip
    return Table("first-bucket", "Files up to 100 KB: completion time", columns, rows)


def table4(study: Study) -> Table:
    """Gains in files served in steady state."""
    rows = []
    for name in study.names:
        theirs = study.given["table4"].get(name)
        served = [float(one[0]) for one in study.served(PRIMARY, name)]
        gain = "–" if name == DROP_TAIL else stats.mean(study.steady_gains(PRIMARY, name)).format(1)
        rows.append([LABELS[name], stats.mean(served).format(0), gain, "–" if theirs is None else f"{theirs:.1f}"])
    columns = ["queue", "files up to 100 KB served", "gain (%)", "paper (%)"]
    low, high = chance_of_gain(study.sizes, 3000.0 * study.rate_bps / 8, 3)
    note = (
        "A busy line serves bytes, not files: between two equal queues the gain of three-run means, as the paper's are, "
        f"varies at random between {low:.0f} and {high:+.0f} % (95 %)."
    )
    return Table("table4", "Table 4: files served in [1000 s, 4000 s]", columns, rows, note)


ORDER = [f"{c}/{s}" for s in SERVICES for c in PAPERS]
STRAGGLERS_S = 1000.0


def what_if(study: Study) -> list[Table]:
    """The other readings, the scans, the single changes, and what follows from the paper's own two moments."""
    made = [by_reading(study, "mean"), by_reading(study, "served"), moments(study)]
    made += [by_length(study)] if study.lengths else []
    made += [fitted(study)] if study.fits else []
    return made + ([by_change(study)] if study.changes else [])


def _gains(study: Study, cells: dict[str, Cell]) -> list[str]:
    return [study.gain(cells, name, bucket_mean(0)).format(1) for name in ORDER]


def _drop_tail(cells: dict[str, Cell]) -> list[str]:
    """Drop tail's mean and deviation of the first bucket, and its stragglers."""
    mean, deviation = (float(np.mean(cells[DROP_TAIL].over(measure(0)))) for measure in (bucket_mean, bucket_sd))

    def late(tasks: Tasks) -> float:
        return float((tasks.took[tasks.bucket == 0] > STRAGGLERS_S).sum())

    return [f"{mean:.0f} ({deviation:.0f})", f"{np.mean(cells[DROP_TAIL].over(late)):.1f}"]


def by_length(study: Study) -> Table:
    """Experiment 1 by length of the queues, and table 4's contrast where experiment 2 was run."""
    paper = study.given["table3"]["mean"]
    rows = [["paper", "168 (305)", "about 14", "", *(f"{paper[n]:.1f}" for n in ORDER), "14.2"]]
    for packets in sorted({*study.lengths, *study.steady}):
        cells = study.lengths.get(packets)
        first = (
            ["–"] * 9 if cells is None else [*_drop_tail(cells), f"{study.factor(cells):.2f}", *_gains(study, cells)]
        )
        rows.append([str(packets), *first, study.contrast(packets).format(1) if packets in study.steady else "–"])
    columns = [
        "queues (packets)", "drop tail: mean (sd), s", f"above {STRAGGLERS_S:g} s", "table 2: factor", *(f"{LABELS[n]} (%)" for n in ORDER), "table 4: RR less Prio",
    ]  # fmt: skip
    note = "Files up to 100 KB: gains over drop tail. Above 1000 s: files a run under drop tail. Factor: of the 25 means of table 2, on average."
    return Table("queue-lengths", "What if: the length of the queues", columns, rows, note, left=1)


def fitted(study: Study) -> Table:
    """The factor of table 2's 25 means by length of the queues and megabytes in the files up to 100 KB."""
    lengths, megabytes = (sorted({key[i] for key in study.fits}) for i in (0, 1))
    rows = [[f"{n:g}", *(f"{study.factor(study.fits[int(n), mb]):.2f}" for mb in megabytes)] for n in lengths]
    note = "The reading (fit) has queues of 700 packets and the base of 10.7 MB, where drop tail has about the paper's stragglers."
    return Table("fit", "What if: queue and file base together, the factor of table 2's means", ["queues (packets)", *(f"{mb:g} MB" for mb in megabytes)], rows, note, left=1)  # fmt: skip


def moments(study: Study) -> Table:
    """What the paper's own mean and deviation of drop tail say of its gains."""
    given = study.given["table2"]
    small = int(np.sum(np.array(study.sizes) <= BUCKET))
    others = [row[0] for name, row in given["sd"].items() if name != DROP_TAIL]
    rows = []
    for at in (1500.0, 1750.0, 2000.0):
        late, rest = stragglers(
            small, given["mean"][DROP_TAIL][0], given["sd"][DROP_TAIL][0], at, float(np.mean(others))
        )
        gains = [f"{(rest / given['mean'][f'rafle/{service}'][0] - 1) * 100:+.0f}" for service in SERVICES]
        rows.append([f"{at:g}", f"{late:.0f}", f"{rest:.0f}", *gains])
    note = (
        f"Drop tail of the paper: mean {given['mean'][DROP_TAIL][0]:.0f} s, deviation {given['sd'][DROP_TAIL][0]:.0f} s of {small} files. If the others deviate as under "
        "the other queues, so many files must be stragglers; without them RAFLE's gains of table 3 are negative."
    )
    columns = ["stragglers take (s)", "files", "mean of the others (s)", "RAFLE RR without them (%)", "RAFLE Prio (%)"]
    return Table("moments", "Files up to 100 KB: what the paper's two moments say", columns, rows, note)


def by_change(study: Study) -> Table:
    """Experiment 1 with one change each: the gains of table 3, and whether RAFLE equals ideal under round robin."""
    paper = study.given["table3"]["mean"]
    rows = [["paper", "-0.4", "", "168 (305)", *(f"{paper[n]:.1f}" for n in ORDER)]]
    for change, cells in {"primary reading": study.of(PRIMARY), **study.changes}.items():
        part = study.rafle_less_ideal(cells)[1]
        rows.append([change, part.format(1), within(part, -5, 5).verdict, _drop_tail(cells)[0], *_gains(study, cells)])
    columns = [
        "change",
        "RAFLE RR less ideal RR (%)",
        "equal (within 5 %)",
        "drop tail: mean (sd), s",
        *(f"{LABELS[n]} (%)" for n in ORDER),
    ]
    runs = min(len(cells[DROP_TAIL].tasks) for cells in study.changes.values())
    note = f"Each row changes one thing of the primary reading; {runs} seeds."
    return Table("changes", "What if: gain of files up to 100 KB over drop tail, by change", columns, rows, note)


def by_reading(study: Study, what: str) -> Table:
    """The gains of table 3 (`mean`) or of table 4 (`served`), a column a reading."""
    paper = study.given["table4"] if what == "served" else study.given["table3"]["mean"]

    def gain(reading: str, name: str) -> Mean:
        if what == "served":
            return stats.mean(study.steady_gains(reading, name))
        return study.gain(study.of(reading), name, bucket_mean(0))

    shown = [r for r in study.readings if what != "served" or (r, DROP_TAIL) in study.second]
    rows = [[LABELS[n], f"{paper[n]:.1f}", *(gain(r, n).format(1) for r in shown)] for n in ORDER]
    if what == "served":
        rows.append(["RR less Prio", "14.2", *(study.contrast(r).format(1) for r in shown)])
    title = {"mean": "Table 3, mean time: gain over drop tail (%)", "served": "Table 4: gain in files served (%)"}[what]
    return Table(f"gains-{what}", f"What if: {title}, by reading", ["queue", "paper", *(f"({r})" for r in shown)], rows)
