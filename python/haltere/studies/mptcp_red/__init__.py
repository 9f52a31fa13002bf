"""The study `mptcp-red`: redundant scheduling over uncorrelated paths.

Source: B. Felix, I. Steuck, A. Santos, M. Nogueira, "Escalonador de Pacotes para Transmissao por Multi-caminhos Nao-Correlacionados em
Redes Heterogeneas sem Fio". `papers/mptcp-red/README.md` says what the paper leaves open and how it is read here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ...analysis import measures, stats
from ...analysis.stats import Mean
from ...api import Scenario
from ...report import plot
from ...report.document import Document, Figure, Heading, Table, Text
from ...runs.results import Results
from ..base import Finding, Options, Outcome, data, expected, findings_table, judge
from . import readings

__all__ = ["reproduce"]

Array = NDArray[np.float64]

ID = "mptcp-red"
SCHEDULER = "traffic[1].multipath.scheduler"
PATHS = ("A", "B", "C")
PAIRS = {(0, 1): "A-B", (0, 2): "A-C", (1, 2): "B-C"}
SHARED = (1, 2)
# In the order of `correlators` in main.toml.
METHODS = ("RED-CPI", "MSCM", "SBD", "RED-CPI, each SRTT")
PHIS = np.round(np.arange(0.0, 1.001, 0.05), 2)


@dataclass
class PathMeasures:
    """One run: each list has one value a path."""

    replicas: list[float] = field(default_factory=list)
    dup_acks: list[float] = field(default_factory=list)
    retransmissions: list[float] = field(default_factory=list)
    max_srtt_ms: list[float] = field(default_factory=list)
    mean_srtt_ms: list[float] = field(default_factory=list)
    rate_mbit: list[float] = field(default_factory=list)
    least_rate_mbit: list[float] = field(default_factory=list)
    given_mb: list[float] = field(default_factory=list)


@dataclass
class Side:
    """All runs under one scheduler."""

    runs: list[PathMeasures] = field(default_factory=list)
    srtt_ms: list[list[Array]] = field(default_factory=lambda: [[], [], []])
    rate_mbit: list[list[Array]] = field(default_factory=lambda: [[], [], []])
    at_s: Array | None = None
    dup_acks: list[Array] = field(default_factory=list)
    retransmissions: list[Array] = field(default_factory=list)
    delays_ms: list[Array] = field(default_factory=list)
    received_mb: list[float] = field(default_factory=list)
    late_max_ms: list[float] = field(default_factory=list)

    def of(self, measure: str, path: int | None = None) -> list[float]:
        """That measure of one path, or of all together, one value a run."""
        values = [getattr(run, measure) for run in self.runs]
        return [float(sum(v)) if path is None else float(v[path]) for v in values]


def _main(table: pa.Table) -> pa.Table:
    return table.filter(pc.equal(table["flow"].cast(pa.string()), "main"))


def _numbers(table: pa.Table, column: str) -> Array:
    return np.asarray(table[column].to_numpy(), dtype=float)


def _take(side: Side, results: Results, run: Any, warmup_s: float) -> None:
    """Reads one run into `side`."""
    paths = _main(results.run_table("paths", run))
    number = _numbers(paths, "path")
    one, dup, again = PathMeasures(), [], []
    for path in range(len(PATHS)):
        rows = paths.filter(pa.array(number == path))
        at = _numbers(rows, "at_ns") / 1e9
        warm = at >= warmup_s
        given = _numbers(rows, "given_bytes")
        rate = np.diff(given) * 8 / np.maximum(np.diff(at), 1e-9) / 1e6
        # Over a second, as throughput is looked at: ten samples of 100 ms.
        width = max(1, round(1.0 / float(np.median(np.diff(at)))))
        whole = rate[warm[1:]]
        second = whole[: len(whole) // width * width].reshape(-1, width).mean(axis=1)
        srtt = _numbers(rows, "srtt_ns")[warm] / 1e6
        srtt = srtt[srtt > 0]
        side.srtt_ms[path].append(srtt)
        side.rate_mbit[path].append(second)
        one.replicas.append(_numbers(rows, "replicas")[-1])
        one.dup_acks.append(_numbers(rows, "dup_acks")[-1])
        one.retransmissions.append(_numbers(rows, "retransmissions")[-1])
        one.max_srtt_ms.append(float(srtt.max()) if len(srtt) else math.nan)
        one.mean_srtt_ms.append(float(srtt.mean()) if len(srtt) else math.nan)
        one.rate_mbit.append(float(second.mean()))
        one.least_rate_mbit.append(float(second.min()))
        one.given_mb.append(float(given[-1]) / 1e6)
        grid = np.arange(3.0, at[-1], 1.0)
        side.at_s = grid
        dup.append(np.interp(grid, at, _numbers(rows, "dup_acks")))
        again.append(np.interp(grid, at, _numbers(rows, "retransmissions")))
    side.runs.append(one)
    side.dup_acks.append(np.sum(dup, axis=0))
    side.retransmissions.append(np.sum(again, axis=0))
    delays = _main(results.run_table("delays", run))
    at = _numbers(delays, "at_ns") / 1e9
    ms = _numbers(delays, "delay_ns") / 1e6
    side.delays_ms.append(ms[at >= warmup_s])
    late = ms[at >= 25.0]
    side.late_max_ms.append(float(late.max()) if len(late) else math.nan)
    flows = _main(results.run_table("flows", run))
    side.received_mb.append(float(flows["received_bytes"][0].as_py()) / 1e6)


def _sides(results: Results) -> dict[str, Side]:
    sides: dict[str, Side] = {}
    for run in results.runs:
        point = results.points[run.point]
        label = point.labels[SCHEDULER]
        name = label if isinstance(label, str) else str(label["kind"])
        warmup = measures.seconds(point.scenario) - measures.span_s(point.scenario)
        _take(sides.setdefault(name, Side()), results, run, warmup)
    return sides


# -- detectors ------------------------------------------------------------------------------------------------------------


@dataclass
class Verdicts:
    """What one method said of one pair, all runs under the redundant scheduler together."""

    coefficients: Array
    shares: Array


def _verdicts(results: Results) -> dict[tuple[int, tuple[int, int]], Verdicts]:
    found: dict[tuple[int, tuple[int, int]], list[tuple[Array, Array]]] = {}
    for run in results.runs:
        if str(results.points[run.point].labels[SCHEDULER]).find("redundant") < 0:
            continue
        table = _main(results.run_table("coefficients", run))
        at = _numbers(table, "at_ns") / 1e9
        method, a, b = (_numbers(table, name) for name in ("correlator", "path_a", "path_b"))
        coefficient = np.asarray(table["coefficient"].to_numpy(zero_copy_only=False), dtype=float)
        shares = np.asarray(table["shares"].to_numpy(zero_copy_only=False), dtype=float)
        for index in range(len(METHODS)):
            for pair in PAIRS:
                # RFC 8382 has its first verdict after M intervals of 350 ms.
                rows = (method == index) & (a == pair[0]) & (b == pair[1]) & (at > 12.5)
                found.setdefault((index, pair), []).append((coefficient[rows], shares[rows]))
    joined = {}
    for key, parts in found.items():
        c = np.concatenate([p[0] for p in parts])
        joined[key] = Verdicts(c[~np.isnan(c)], np.concatenate([p[1] for p in parts]))
    return joined


def _rates(verdicts: dict[tuple[int, tuple[int, int]], Verdicts], method: int) -> tuple[Array, Array]:
    """False and true positive rate at each phi."""
    apart = np.concatenate([verdicts[method, pair].coefficients for pair in PAIRS if pair != SHARED])
    return _at_least(apart), _at_least(verdicts[method, SHARED].coefficients)


def _roc(verdicts: dict[tuple[int, tuple[int, int]], Verdicts], method: int) -> tuple[Array, Array]:
    """False and true positive rate at every threshold that tells two coefficients apart."""
    apart = np.concatenate([verdicts[method, pair].coefficients for pair in PAIRS if pair != SHARED])
    shared = verdicts[method, SHARED].coefficients
    if not len(apart) or not len(shared):
        return np.array([math.nan]), np.array([math.nan])
    cuts = np.unique(np.concatenate([apart, shared]))[::-1]
    rates = [(len(v) - np.searchsorted(np.sort(v), cuts, "left")) / len(v) for v in (apart, shared)]
    return np.concatenate([[0.0], rates[0]]), np.concatenate([[0.0], rates[1]])


def _at_least(values: Array) -> Array:
    """The part of the values that reaches each phi."""
    return np.array([float((values >= phi).mean()) if len(values) else math.nan for phi in PHIS])


def _area(apart: Array, shared: Array) -> float:
    """Area under the ROC curve: the chance that a shared pair's coefficient is above one of a pair that is apart."""
    if not len(apart) or not len(shared):
        return math.nan
    order = np.sort(apart)
    below = np.searchsorted(order, shared, "left")
    equal = np.searchsorted(order, shared, "right") - below
    return float((below + 0.5 * equal).mean() / len(order))


def _areas(verdicts: dict[tuple[int, tuple[int, int]], Verdicts]) -> dict[int, float]:
    areas = {}
    for method in range(len(METHODS)):
        apart = np.concatenate([verdicts[method, pair].coefficients for pair in PAIRS if pair != SHARED])
        areas[method] = _area(apart, verdicts[method, SHARED].coefficients)
    return areas


def _detector_table(verdicts: dict[tuple[int, tuple[int, int]], Verdicts]) -> Table:
    rows = []
    areas = _areas(verdicts)
    for method, name in enumerate(METHODS):
        for pair, label in PAIRS.items():
            v = verdicts[method, pair]
            c = v.coefficients
            quartiles = [f"{np.percentile(c, q):.2f}" if len(c) else "–" for q in (25, 50, 75)]
            area = f"{areas[method]:.3f}" if pair == SHARED and not math.isnan(areas[method]) else ""
            rows.append([name if pair == (0, 1) else "", label, *quartiles, f"{100 * v.shares.mean():.1f}", area])
    columns = ["method", "pair", "25 %", "median", "75 %", "held to share (%)", "area under ROC"]
    note = "B and C share a bottleneck; A shares none. SBD (RFC 8382) groups paths and has no coefficient."
    return Table("detectors", "Figures 6 and 7: coefficients and verdicts by pair", columns, rows, note, left=2)


# -- figures --------------------------------------------------------------------------------------------------------------


def _figures(
    results: Results, sides: dict[str, Side], verdicts: dict[tuple[int, tuple[int, int]], Verdicts]
) -> list[Figure]:
    folder = results.directory / "figures"
    return [
        _figure6(verdicts, folder / "coefficients"),
        _figure7(verdicts, folder / "detectors"),
        _figure8(sides, folder / "paths"),
        _figure9(sides, folder / "duplicates"),
        _figure10(sides, folder / "replicas"),
    ]


def _figure6(verdicts: dict[tuple[int, tuple[int, int]], Verdicts], stem: Any) -> Figure:
    shown = [0, 1, 3]
    fig, panels = plot.figure(1, len(shown), width=7.2, height=3.0, share=True)
    for axes, method in zip(panels, shown, strict=True):
        values = [verdicts[method, pair].coefficients for pair in PAIRS]
        colour = plot.PALETTE[0]
        axes.boxplot(
            [v if len(v) else [math.nan] for v in values],
            showfliers=False,
            widths=0.6,
            patch_artist=True,
            boxprops={"facecolor": "#DCE9F3", "edgecolor": colour},
            medianprops={"color": plot.PALETTE[1], "linewidth": 1.6},
            whiskerprops={"color": colour},
            capprops={"color": colour},
        )
        axes.set_xticks(range(1, len(PAIRS) + 1), list(PAIRS.values()))
        axes.axhline(0.8, color="#B0B0B0", linewidth=0.8, linestyle="--")
        plot.title(axes, METHODS[method])
    panels[0].set_ylabel("coefficient")
    panels[0].set_ylim(-1.05, 1.05)
    plot.save(fig, stem)
    return Figure(
        stem.with_suffix(".png"), "Coefficient by pair, redundant scheduler, all seeds (figure 6); dashed: phi = 0.8."
    )


def _figure7(verdicts: dict[tuple[int, tuple[int, int]], Verdicts], stem: Any) -> Figure:
    fig, (left, right) = plot.figure(1, 2, width=7.2, height=3.2)
    areas = _areas(verdicts)
    for colour, method in zip(plot.PALETTE, (0, 1, 3), strict=False):
        plot.line(left, PHIS, _rates(verdicts, method)[0], METHODS[method], colour)
        plot.line(right, *_roc(verdicts, method), f"{METHODS[method]} ({areas[method]:.2f})", colour)
    sbd_false = np.concatenate([verdicts[2, pair].shares for pair in PAIRS if pair != SHARED]).mean()
    right.plot([sbd_false], [verdicts[2, SHARED].shares.mean()], "o", color="#202020", label="SBD (RFC 8382)")
    left.axhline(sbd_false, color="#202020", linewidth=0.8, linestyle=":")
    right.plot([0, 1], [0, 1], color="#B0B0B0", linewidth=0.8, linestyle="--")
    for axes in (left, right):
        axes.set_xlim(-0.02, 1.02)
    left.set_ylim(bottom=-0.02)
    right.set_ylim(-0.02, 1.02)
    left.set_xlabel("phi")
    left.set_ylabel("false positive rate")
    right.set_xlabel("false positive rate")
    right.set_ylabel("true positive rate")
    right.legend(fontsize=7, frameon=False, loc="lower right")
    plot.legend(fig, left)
    plot.save(fig, stem)
    return Figure(
        stem.with_suffix(".png"),
        "False positives against phi, and ROC with the area under each curve (figure 7); dotted and dot: SBD.",
    )


def _figure8(sides: dict[str, Side], stem: Any) -> Figure:
    fig, panels = plot.figure(2, 2, width=7.2, height=5.2)
    for column, name in enumerate(("redundant", "red")):
        for row, (measure, label) in enumerate(
            (("srtt_ms", "smoothed RTT (ms)"), ("rate_mbit", "throughput (Mbit/s)"))
        ):
            axes = panels[2 * row + column]
            for path, letter in enumerate(PATHS):
                plot.cdf(axes, np.concatenate(getattr(sides[name], measure)[path]), letter, plot.PALETTE[path])
            axes.set_xlabel(label)
            if row == 0:
                plot.title(axes, {"redundant": "redundant", "red": "RED"}[name])
    for row in (0, 1):
        pair = panels[2 * row], panels[2 * row + 1]
        most = max(axes.get_xlim()[1] for axes in pair)
        for axes in pair:
            axes.set_xlim(-0.02 * most, most)
        pair[0].set_ylabel("part of the samples")
    plot.legend(fig, panels[0])
    plot.save(fig, stem)
    return Figure(stem.with_suffix(".png"), "Distribution of delay and throughput by path, all seeds (figure 8).")


def _figure9(sides: dict[str, Side], stem: Any) -> Figure:
    fig, panels = plot.figure(1, 2, width=7.2, height=3.0)
    for axes, (measure, label) in zip(
        panels, (("dup_acks", "duplicate ACKs so far"), ("retransmissions", "retransmissions so far")), strict=True
    ):
        for colour, name in zip(plot.PALETTE, ("redundant", "red"), strict=False):
            side = sides[name]
            if side.at_s is not None:
                plot.band(axes, side.at_s, getattr(side, measure), {"red": "RED"}.get(name, name), colour)
        axes.set_xlabel("time (s)")
        axes.set_ylabel(label)
    plot.legend(fig, panels[0])
    plot.save(fig, stem)
    return Figure(stem.with_suffix(".png"), "NCAD and NCR over time: mean and range over the seeds (figure 9).")


def _figure10(sides: dict[str, Side], stem: Any) -> Figure:
    fig, (axes,) = plot.figure(height=3.0)
    groups = [*PATHS, "all"]
    series = {
        label: [stats.mean(sides[name].of("replicas", path)) for path in (0, 1, 2, None)]
        for name, label in (("redundant", "redundant"), ("red", "RED"))
    }
    plot.bars(axes, groups, series, {}, plot.colours(series))
    axes.set_ylabel("replicated segments a run")
    axes.set_ylim(bottom=0)
    plot.legend(fig, axes)
    plot.save(fig, stem)
    return Figure(stem.with_suffix(".png"), "NMR by path with 95 % intervals (figure 10).")


# -- tables ---------------------------------------------------------------------------------------------------------------


def _path_table(sides: dict[str, Side]) -> Table:
    rows = []
    measured = (
        ("replicas", 0),
        ("dup_acks", 0),
        ("retransmissions", 1),
        ("mean_srtt_ms", 1),
        ("max_srtt_ms", 1),
        ("rate_mbit", 2),
        ("least_rate_mbit", 2),
    )
    for name in ("redundant", "red"):
        for path, letter in enumerate(PATHS):
            cells = [stats.mean(sides[name].of(measure, path)).format(digits) for measure, digits in measured]
            rows.append([{"red": "RED"}.get(name, name) if path == 0 else "", letter, *cells])
    columns = [
        "scheduler",
        "path",
        "NMR",
        "NCAD",
        "NCR",
        "mean SRTT (ms)",
        "largest SRTT (ms)",
        "Mbit/s",
        "least Mbit/s in a second",
    ]
    return Table("paths", "Figures 8 to 10 in numbers, a run", columns, rows, left=2)


def _stream_table(sides: dict[str, Side], cut: dict[str, Side]) -> Table:
    rows = []
    for name, side in sides.items():
        means = [float(np.mean(d)) for d in side.delays_ms]
        percentiles = [[stats.percentile(d, q) for d in side.delays_ms] for q in (95, 99)]
        price = [sum(run.given_mb) / max(got, 1e-9) for run, got in zip(side.runs, side.received_mb, strict=True)]
        late = stats.mean(cut[name].late_max_ms).format(0) if name in cut else "–"
        delays = [stats.mean(v).format(1) for v in (means, *percentiles)]
        rows.append([name, *delays, stats.mean(price).format(2), late])
    columns = [
        "scheduler",
        "mean (ms)",
        "p95 (ms)",
        "p99 (ms)",
        "bytes sent / bytes of the stream",
        "largest with A cut at 30 s (ms)",
    ]
    return Table("stream", "A stream of 1 Mbit/s: delay from write to read", columns, rows, left=1)


# -- findings -------------------------------------------------------------------------------------------------------------


def _less(sides: dict[str, Side], measure: str, paths: Sequence[int | None], what: str) -> list[tuple[str, Mean]]:
    """Redundant less RED, seed by seed."""
    out = []
    for path in paths:
        where = "" if path is None else f" of {PATHS[path]}"
        pair = sides["redundant"].of(measure, path), sides["red"].of(measure, path)
        out.append((f"{what}{where}, redundant - RED", stats.paired_difference(*pair)))
    return out


def _simple(text: str, holds: bool, figures: str) -> Finding:
    return Finding(text, "held" if holds else "not held", figures)


def _median(verdicts: dict[tuple[int, tuple[int, int]], Verdicts], method: int, pair: tuple[int, int]) -> float:
    c = verdicts[method, pair].coefficients
    return float(np.median(c)) if len(c) else math.nan


def _detector_findings(verdicts: dict[tuple[int, tuple[int, int]], Verdicts]) -> list[Finding]:
    apart = [_median(verdicts, 0, pair) for pair in PAIRS if pair != SHARED]
    shared = _median(verdicts, 0, SHARED)
    mscm = [_median(verdicts, 1, pair) for pair in PAIRS]
    false = {method: _rates(verdicts, method)[0] for method in (0, 1)}
    upto = PHIS <= 0.8
    areas = _areas(verdicts)
    at = int(np.argmin(np.abs(PHIS - 0.8)))
    return [
        _simple(
            "RED-CPI: the median of A-B and A-C is 0 (within 0.1)",
            all(abs(m) <= 0.1 for m in apart),
            f"medians {apart[0]:.2f}, {apart[1]:.2f}",
        ),
        _simple("RED-CPI: B-C lies close to 1 (median above 0.8)", shared > 0.8, f"median {shared:.2f}"),
        _simple(
            "MSCM: A-B and A-C tend to be negative, B-C above 0",
            mscm[0] < 0 and mscm[1] < 0 and mscm[2] > 0,
            f"medians {mscm[0]:.2f}, {mscm[1]:.2f}, {mscm[2]:.2f}",
        ),
        _simple(
            "RED-CPI has fewer false positives than MSCM for phi up to 0.8",
            bool(np.all(false[0][upto] <= false[1][upto])),
            f"at 0.8: {100 * false[0][at]:.1f} % and {100 * false[1][at]:.1f} %",
        ),
        _simple(
            "RED-CPI's ROC curve lies above MSCM's (area)",
            areas[0] > areas[1],
            f"areas {areas[0]:.3f} and {areas[1]:.3f}",
        ),
    ]


def _findings(sides: dict[str, Side], verdicts: dict[tuple[int, tuple[int, int]], Verdicts]) -> list[Finding]:
    found = _detector_findings(verdicts)

    def add(text: str, differences: list[tuple[str, Mean]], unit: str, digits: int = 1) -> None:
        verdict, figures = judge(differences, digits)
        found.append(Finding(text, verdict, f"{figures} {unit}".rstrip()))

    add("RED lowers the largest delay of B and C", _less(sides, "max_srtt_ms", (1, 2), "largest SRTT"), "ms")
    add("RED lowers the throughput of B and C", _less(sides, "rate_mbit", (1, 2), "throughput"), "Mbit/s", 2)
    least = [
        (name.replace("redundant - RED", "RED - redundant"), Mean(-d.mean, d.half, d.sd, d.n, d.confidence))
        for name, d in _less(sides, "least_rate_mbit", (0,), "least throughput")
    ]
    add("RED raises the least throughput of A", least, "Mbit/s", 3)
    add("RED has fewer duplicate ACKs (NCAD)", _less(sides, "dup_acks", (None,), "NCAD"), "", 0)
    add("RED has fewer retransmissions (NCR)", _less(sides, "retransmissions", (None,), "NCR"), "", 1)
    add("RED replicates less in all (NMR)", _less(sides, "replicas", (None,), "NMR"), "segments", 0)
    half = np.array(sides["redundant"].of("replicas", 2)) / 2
    verdict, figures = judge(
        [("half of C under redundant - C under RED", stats.paired_difference(half, sides["red"].of("replicas", 2)))], 0
    )
    found.append(Finding("RED replicates far less on C (under half)", verdict, f"{figures} segments"))
    a, b = (np.array(sides["red"].of("replicas", path)) for path in (0, 1))
    verdict, figures = judge([("a fifth of A - |A - B|", stats.paired_difference(0.2 * a, np.abs(a - b)))], 0)
    found.append(
        Finding("Under RED A and B carry about as many replicas (within a fifth)", verdict, f"{figures} segments")
    )
    return found


def reproduce(options: Options) -> Outcome:
    """Runs the study and checks its findings."""
    folder = data(ID)
    given = expected(ID)
    scenario = Scenario.load(folder / "main.toml")
    left_out = ""
    if options.quick:
        scenario = scenario.with_values({"duration": "30s"})
        left_out = "half of each run; all but 4 of 35 seeds; the stream under each scheduler; the cut of path A; other readings"
    seeds = options.seeds if options.seeds is not None else (4 if options.quick else int(given["runs"]))
    results = scenario.run(seeds=seeds, jobs=options.jobs, out=options.out, quiet=options.quiet)
    sides, verdicts = _sides(results), _verdicts(results)
    document = Document(f"mptcp-red: {results.title}")
    document.add(
        Text(
            f"{len(results.seeds)} seeds of {measures.seconds(results.points[0].scenario):.0f} s for each scheduler. Ours: mean over the "
            "seeds with its 95 % interval. The paper prints no numbers with its figures; its findings are held up below."
        )
    )
    if left_out:
        document.add(Text(f"Left out by --quick: {left_out}."))
    findings = _findings(sides, verdicts)
    document.add(Heading("Tables"), _detector_table(verdicts), _path_table(sides))
    if not options.quick:
        more = options.seeds
        stream = Scenario.load(folder / "realtime.toml").run(
            seeds=more, jobs=options.jobs, out=options.out, quiet=options.quiet
        )
        cut = Scenario.load(folder / "cut.toml").run(
            seeds=more, jobs=options.jobs, out=options.out, quiet=options.quiet
        )
        document.add(_stream_table(_sides(stream), _sides(cut)))
        document.add(
            readings.compare(scenario, findings, options, lambda other: _findings(_sides(other), _verdicts(other)))
        )
    document.add(Heading("Figures"), *_figures(results, sides, verdicts))
    document.add(Heading("Findings"), findings_table(findings))
    return Outcome(ID, document, findings, left_out)
