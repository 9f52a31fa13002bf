"""The tables of the study `rafle`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...analysis import stats
from ...analysis.stats import Mean
from ...report.document import Table
from .findings import within
from .router import CHANGES, DROP_TAIL, LABELS, PAPERS, PRIMARY, SERVICES
from .study import Study, within_first_bucket
from .tasks import BUCKET, Cell, bucket_mean, bucket_percentile, bucket_sd, chance_of_gain


def of_all(study: Study) -> list[Table]:
    """The tables of the primary reading."""
    made = [table1(study)] if study.memories else []
    made += [table2(study), first_bucket(study), table3(study)]
    return [*made, table4(study), windows(study)] if study.second else made


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


def table3(study: Study) -> Table:
    """Gains of the first bucket over drop tail."""
    paper, cells, rows = study.given["table3"], study.of(PRIMARY), []
    for name in study.classified:
        row = [LABELS[name]]
        for measure, key in ((bucket_mean(0), "mean"), (bucket_sd(0), "sd")):
            theirs = paper[key].get(name)
            row += [study.gain(cells, name, measure).format(1), "–" if theirs is None else f"{theirs:.1f}"]
        for q in (50, 95):
            row.append(study.gain(cells, name, bucket_percentile(0, q)).format(1))
        rows.append(row)
    columns = ["queue", "mean time (%)", "paper", "deviation (%)", "paper", "median (%)", "95th percentile (%)"]
    return Table("table3", "Table 3: gain of files up to 100 KB over drop tail", columns, rows)


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


def windows(study: Study) -> Table:
    """The stationarity check: files of the first bucket by window."""
    rows = []
    for name in study.names:
        parts, drift = study.drift(PRIMARY, name)
        rows.append([LABELS[name], *(stats.mean(part).format(0) for part in parts), drift.format(1)])
    columns = ["queue", "1000-2000 s", "2000-3000 s", "3000-4000 s", "last less first (%)"]
    return Table("windows", "Files up to 100 KB served per 1000 s", columns, rows)


def by_change(study: Study) -> Table:
    """Experiment 1 with one change each: the gains of table 3, and whether RAFLE equals ideal under round robin."""
    paper = study.given["table3"]["mean"]
    order = [f"{c}/{s}" for s in SERVICES for c in PAPERS]
    rows = [["paper", "-0.4", "", "168 (305)", *(f"{paper[n]:.1f}" for n in order)]]
    for change, cells in {"primary reading": study.of(PRIMARY), **study.changes}.items():
        drop_tail = [float(np.mean(cells[DROP_TAIL].over(m))) for m in (bucket_mean(0), bucket_sd(0))]
        gains = [study.gain(cells, name, bucket_mean(0)).format(1) for name in order]
        part = study.rafle_less_ideal(cells)[1]
        shown = f"{drop_tail[0]:.0f} ({drop_tail[1]:.0f})"
        rows.append([change, part.format(1), within(part, -5, 5), shown, *gains])
    columns = ["change", "RAFLE RR less ideal RR (%)", "equal (within 5 %)", "drop tail: mean (sd), s", *(f"{LABELS[n]} (%)" for n in order)]  # fmt: skip
    runs = {len(cells[DROP_TAIL].tasks) for cells in study.changes.values()}
    note = f"Each row changes one thing of the primary reading; {min(runs)} seeds." if runs else ""
    left = [change for change in CHANGES if change not in study.changes]
    if left:
        note += f" Not run: {', '.join(left)}."
    return Table("changes", "What if: gain of files up to 100 KB over drop tail, by change", columns, rows, note)


def by_reading(study: Study, what: str) -> Table:
    """The gains of table 3 (`mean`) or of table 4 (`served`), a column a reading."""
    paper = study.given["table4"] if what == "served" else study.given["table3"]["mean"]

    def gain(reading: str, name: str) -> Mean:
        if what == "served":
            return stats.mean(study.steady_gains(reading, name))
        return study.gain(study.of(reading), name, bucket_mean(0))

    shown = [r for r in study.readings if what != "served" or (r, DROP_TAIL) in study.second]
    names = [f"{c}/{s}" for s in SERVICES for c in PAPERS]
    rows = [[LABELS[n], f"{paper[n]:.1f}", *(gain(r, n).format(1) for r in shown)] for n in names]
    if what == "served":
        rows.append(["RR less Prio", "14.2", *(study.contrast(r).format(1) for r in shown)])
    title = {"mean": "Table 3, mean time: gain over drop tail (%)", "served": "Table 4: gain in files served (%)"}[what]
    return Table(f"gains-{what}", f"What if: {title}, by reading", ["queue", "paper", *(f"({r})" for r in shown)], rows)
