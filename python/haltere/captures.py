"""Recorded traffic: classifiers and correlators on captures (pcap, pcapng).

>>> from haltere.captures import classify
>>> report = classify("capture.pcapng", ["rafle"], n=[10, 40])  # doctest: +SKIP
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any, TypeVar

from . import _core, kinds
from .analysis.stats import Mean
from .errors import unknown
from .report import plot
from .report.document import Document, Figure, Table, Text
from .runs.progress import Bar

#: What `classify` and `correlate` do if nothing else is asked for.
DEFAULTS: dict[str, Any] = json.loads(_core.capture_defaults())
CLASSIFIERS: tuple[str, ...] = tuple(DEFAULTS["classify"]["classifiers"])
METHODS: tuple[str, ...] = tuple(DEFAULTS["correlate"]["methods"])

Result = TypeVar("Result")


def _watched(work: Callable[[_core.Progress], Result], path: str | Path, what: str, quiet: bool) -> Result:
    """Does ``work`` in a thread of its own, with a bar of megabytes read; an interrupt ends it."""
    progress = _core.Progress()
    total = max(1, os.path.getsize(path) // 1_000_000) if os.path.exists(path) else 1
    with ThreadPoolExecutor(1) as pool:
        outcome = pool.submit(work, progress)
        if wait([outcome], 0.05).done and outcome.exception():
            return outcome.result()  # what is refused at once needs no bar
        with Bar(total, what, quiet=quiet, unit="MB") as bar:
            try:
                while not wait([outcome], 0.1).done:
                    bar.update(min(progress.done, 1.0) * total)
                bar.update(min(progress.done, 1.0) * total)
            except KeyboardInterrupt:
                progress.cancel()
                raise
    return outcome.result()


def _of(number: float | None) -> float:
    """JSON has no NaN: it says null."""
    return math.nan if number is None else float(number)


def _given(**options: Any) -> str:
    return json.dumps({key: value for key, value in options.items() if value is not None})


# -- classify -----------------------------------------------------------------------------------------------------------


def classify(
    capture: str | Path,
    classifiers: Sequence[str] = ("rafle",),
    *,
    n: Sequence[int] | None = None,
    short: str | None = None,
    draws: int | None = None,
    seed: int | None = None,
    quiet: bool = True,
) -> dict[str, Any]:
    """Shows every packet of a capture to classifiers, in the recorded order; one with a memory once for each memory ``n``
    (default: those of the study that brought it).

    A flow of at most ``short`` bytes of IP is short. A classifier that draws is replayed ``draws`` times with other draws. The defaults
    are those of ``DEFAULTS["classify"]``.
    """
    asked: list[dict[str, Any]] = []
    for name in classifiers:
        if name not in CLASSIFIERS:
            raise unknown("classifier", name, CLASSIFIERS)
        known = kinds.classifier(name)
        memories = known.memories if n is None else n
        asked += [{"kind": name, known.memory: memory} for memory in memories] if known.memory else [{"kind": name}]
    options = _given(classifiers=asked, short=short, draws=draws, seed=seed)
    report: dict[str, Any] = json.loads(
        _watched(lambda progress: _core.capture_classify(str(capture), options, progress), capture, "classify", quiet)
    )
    report["recommended"] = _recommended(report["scores"])
    return report


def flows_csv(capture: str | Path, pairs: int = 1, *, quiet: bool = True) -> str:
    """The TCP flows of a capture as the CSV that traffic of ``kind = "replay"`` reads: ``start,from,to,size``.

    Clients are spread over so many ``pairs`` of a dumbbell, in the order in which their addresses appear.
    """
    read = _watched(lambda progress: _core.capture_flows(str(capture), progress), capture, "replay", quiet)
    rows = ["start,from,to,size"]
    for flow in json.loads(read):
        pair = flow["client"] % pairs + 1
        client, server = f"c{pair}", f"s{pair}"
        start, end = (client, server) if flow["from_client"] else (server, client)
        rows.append(f"{flow['start_ns'] * 1e-9:.9f},{start},{end},{flow['bytes']}")
    return "\n".join(rows) + "\n"


def _recommended(scores: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """The memory with the best product of both hit rates (the paper's criterion), and those that are not significantly worse."""
    known = {_memory(score): score["product"] for score in _remembering(scores) if score["product"]["part"] is not None}
    if not known:
        return None
    best = max(known, key=lambda memory: known[memory]["part"])
    top = known[best]
    near = [
        memory
        for memory, product in known.items()
        if memory != best and top["part"] - product["part"] <= max(_of(top["half"]), _of(product["half"]))
    ]
    return {"n": best, "product": top, "not_told_from": near}


def _remembering(scores: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [score for score in scores if kinds.classifier(score["classifier"]["kind"]).memory]


def _memory(score: dict[str, Any]) -> int:
    classifier = score["classifier"]
    return int(classifier[kinds.classifier(classifier["kind"]).memory])


def _name(classifier: dict[str, Any]) -> str:
    parameter = kinds.classifier(classifier["kind"]).memory
    suffix = f", {parameter.upper()} = {classifier[parameter]}" if parameter else ""
    return f"{classifier['kind']}{suffix}"


def _rate(rate: dict[str, Any]) -> str:
    if rate["part"] is None:
        return "–"
    return f"{rate['part']:.3f}" if rate["half"] is None else f"{rate['part']:.3f} ± {rate['half']:.3f}"


def classify_document(report: dict[str, Any], capture: str | Path, short: str | None, out: Path) -> Document:
    """The report for people; its figure is drawn into ``out``."""
    document = Document(f"classify: {Path(capture).name}")
    document.add(
        Text(_traffic(report, short or DEFAULTS["classify"]["short"])), *(Text(note) for note in _notes(report))
    )
    rows = [
        [_name(score["classifier"]), _rate(score["short"]), _rate(score["long"]), _rate(score["product"])]
        for score in report["scores"]
    ]
    note = "Part of the packets of short flows called short, of long flows called long; 95 % intervals with flows as clusters."
    document.add(Table("hit-rates", "Hit rates", ["classifier", "short", "long", "product"], rows, note))
    best = report["recommended"]
    if best is not None:
        document.add(Text(_advice(best)))
    document.add(Text(_speed(report, " in")))
    if best is not None and len(_remembering(report["scores"])) > 1:
        document.add(_memory_figure(report, out))
    return document


def _speed(report: dict[str, Any], how: str) -> str:
    rate = report["packets"] / report["seconds"] if report["seconds"] > 0 else math.nan
    return f"{report['packets']} packets{how} {report['seconds']:.1f} s: {rate:,.0f} packets/s."


def _traffic(report: dict[str, Any], short: str) -> str:
    (short_flows, long_flows), (short_packets, long_packets) = report["flows"], report["packets_of"]
    text = (
        f"{short_flows} short flows (at most {short} of IP) with {short_packets} packets, "
        f"{long_flows} long ones with {long_packets}"
    )
    if report["without_flow"]:
        text += f"; {report['without_flow']} packets without IP left aside"
    return text + "."


def _notes(report: dict[str, Any]) -> list[str]:
    """What the user should know before believing the table."""
    notes = []
    for name in dict.fromkeys(score["classifier"]["kind"] for score in report["scores"]):
        classifier = kinds.classifier(name)
        if classifier.offsets and report["without_offset"]:
            notes.append(
                f"{name}: {report['without_offset']} packets belong to TCP flows that began before the capture. "
                "Their offset is unknown, and they are called short."
            )
        if classifier.offsets:
            notes.append(
                f"{name}: offsets are counted from each flow's SYN. A router can do so only if senders start their "
                "sequence numbers with zero low bits."
            )
        if classifier.marks:
            notes.append(
                f"{name} goes by the senders' marks (DSCP AF11 short, CS1 long): {report['marked']} packets bear one. "
                "A classifier with perfect knowledge has 1 and 1 by definition."
            )
    return notes


def _advice(best: dict[str, Any]) -> str:
    text = f"Recommended memory: N = {best['n']}, with the best product of both rates ({_rate(best['product'])})."
    if best["not_told_from"]:
        others = ", ".join(str(memory) for memory in best["not_told_from"])
        text += f" On this traffic N = {others} are not significantly worse."
    return text


def _memory_figure(report: dict[str, Any], out: Path) -> Figure:
    scores = _remembering(report["scores"])
    names = [str(_memory(score)) for score in scores]
    fig, panels = plot.figure(1, 2, width=7.2, height=3.1)

    def means(key: str) -> list[Mean | None]:
        return [
            None if s[key]["part"] is None else Mean(s[key]["part"], _of(s[key]["half"]), math.nan, 2, 0.95)
            for s in scores
        ]

    plot.bars(panels[0], names, {"short called short": means("short"), "long called long": means("long")}, dots=True)
    panels[0].set_ylabel("part of packets")
    panels[0].set_ylim(0, 1.02)
    panels[0].legend(loc="best", frameon=False, fontsize=8)
    plot.title(panels[0], "Hit rates")
    plot.bars(panels[1], names, {"product": means("product")}, dots=True)
    panels[1].set_ylim(bottom=0)
    panels[1].set_ylabel("short x long")
    plot.title(panels[1], "Product: the largest is recommended")
    for axes in panels:
        axes.set_xlabel("memory N (packets)")
    path = plot.save(fig, out / "figures" / "hit-rates")[0]
    return Figure(path, "RAFLE's hit rates by memory, with 95 % intervals.")


# -- correlate ----------------------------------------------------------------------------------------------------------


def correlate(
    captures: Sequence[str | Path],
    methods: Sequence[str] = METHODS,
    *,
    every: str | None = None,
    window: int | None = None,
    interval: str | None = None,
    phi: float | None = None,
    flows: int | None = None,
    least: int | None = None,
    source: str | None = None,
    quiet: bool = True,
) -> dict[str, Any]:
    """Which flows of captures share a bottleneck, by each method.

    A capture is a file; ``"up.pcapng+down.pcapng"`` are the two directions of one. ``window``, ``interval`` and ``phi`` are those of
    the methods that compare windows of samples. The other defaults are those of ``DEFAULTS["correlate"]``.
    """
    asked: list[dict[str, Any]] = []
    for name in methods:
        if name not in METHODS:
            raise unknown("method", name, METHODS)
        given = {"window": window, "interval": interval, "phi": phi} if name in windowed() else {}
        asked.append({"kind": name, **{key: value for key, value in given.items() if value is not None}})
    files = [_parts(capture) for capture in captures]
    options = _given(methods=asked, every=every, flows=flows, least=least, source=source)
    report: dict[str, Any] = json.loads(
        _watched(lambda progress: _core.capture_correlate(files, options, progress), files[0][0], "correlate", quiet)
    )
    report["methods"] = list(methods)
    report["captures"] = [str(capture) for capture in captures]
    return report


def windowed() -> list[str]:
    """The methods that compare windows of samples."""
    return [name for name in METHODS if "window" in kinds.parameters("CorrelatorParams", name)]


def _parts(capture: str | Path) -> list[str]:
    text = str(capture)
    return [text] if Path(text).exists() else text.split("+")


def correlate_document(report: dict[str, Any], out: Path) -> Document:
    """The report for people; its figure is drawn into ``out``."""
    document = Document("correlate: which flows share a bottleneck")
    several = len(report["captures"]) > 1
    measured = {"round_trip": "round trips", "one_way": "one-way delays"}

    def row(number: int, flow: dict[str, Any]) -> list[str]:
        capture = Path(report["captures"][flow["capture"]].split("+")[0]).name
        numbers = [
            f"{flow['deviation_ms']:.2f}",
            f"{flow['bytes'] / 1e6:.2f}",
            f"{flow['from_s']:.1f}–{flow['to_s']:.1f}",
        ]
        head = [str(number), flow["name"], *([capture] if several else [])]
        return [*head, measured[flow["source"]], str(flow["samples"]), *numbers]

    rows = [row(number, flow) for number, flow in enumerate(report["flows"], 1)]
    head = ["flow", "from > to", *(["capture"] if several else [])]
    columns = [*head, "measured", "samples", "deviation (ms)", "MB", "seconds"]
    note = f"{report['left_out']} flows with payload were not followed (too few measurements, or beyond --flows)."
    document.add(Table("flows", "Flows", columns, rows, note if report["left_out"] else "", left=4 if several else 3))
    document.add(_pairs(report), *(Text(_groups(report, m)) for m in range(len(report["methods"]))))
    document.add(Text(_speed(report, ", read twice in")), _time_figure(report, out))
    return document


def _pairs(report: dict[str, Any]) -> Table:
    verdicts = {True: "shared", False: "not shared", None: "inconclusive"}

    def row(pair: dict[str, Any]) -> list[str]:
        quartiles, shared = pair["quartiles"], pair["shared"]
        return [
            f"{pair['a'] + 1} and {pair['b'] + 1}",
            report["methods"][pair["method"]],
            verdicts[pair["shares"]],
            "–" if shared is None else f"{shared:.0%}",
            "–" if quartiles is None else f"{quartiles[1]:.2f} ({quartiles[0]:.2f} to {quartiles[2]:.2f})",
            str(pair["told"]),
        ]

    columns = ["flows", "method", "bottleneck", "of the time", "coefficient: median (quartiles)", "times"]
    return Table("pairs", "Pairs", columns, sorted(map(row, report["pairs"]), key=lambda row: row[0]), left=3)


def _groups(report: dict[str, Any], method: int) -> str:
    groups = report["groups"][method]
    shared = [", ".join(str(i + 1) for i in group) for group in groups if len(group) > 1]
    undecided = report["untold"][method]
    alone = [str(group[0] + 1) for group in groups if len(group) == 1 and group[0] not in undecided]
    parts = [f"flows {flows} share a bottleneck" for flows in shared]
    if alone:
        parts.append(f"{', '.join(alone)} with none of the others")
    if undecided:
        parts.append(f"{', '.join(str(flow + 1) for flow in undecided)}: inconclusive")
    return f"{report['methods'][method]}: {'; '.join(parts)}."


def _time_figure(report: dict[str, Any], out: Path) -> Figure:
    methods = report["methods"]
    fig, panels = plot.figure(1 + len(methods), 1, width=7.2, height=2.2 + 1.7 * len(methods), share=False)
    shades = plot.colours([str(i) for i in range(len(report["flows"]))])
    for i, series in enumerate(report["series"]):
        plot.line(panels[0], series["at_s"], series["delay_ms"], f"flow {i + 1}", shades[str(i)])
    panels[0].set_ylabel("smoothed delay (ms)")
    panels[0].legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize=8)
    pairs = sorted({(one["a"], one["b"]) for one in report["log"]})
    colour = plot.colours([f"{a}-{b}" for a, b in pairs])
    for axes, m in zip(panels[1:], range(len(methods)), strict=True):
        _method_panel(axes, report, m, pairs, colour)
        plot.title(axes, methods[m])
        axes.set_xlim(panels[0].get_xlim())
    panels[-1].set_xlabel("time (s)")
    path = plot.save(fig, out / "figures" / "correlation")[0]
    return Figure(path, "Smoothed delays of the flows, and what each method says of each pair over time.")


def _method_panel(
    axes: Any, report: dict[str, Any], method: int, pairs: Sequence[tuple[int, int]], colour: dict[str, str]
) -> None:
    """Coefficients over time. Of a method without one: the times at which it said `shared`."""
    log = [one for one in report["log"] if one["method"] == method]
    with_coefficient = any(one["coefficient"] is not None for one in log)
    for row, (a, b) in enumerate(pairs):
        of = [one for one in log if (one["a"], one["b"]) == (a, b)]
        if with_coefficient:
            at, values = [o["at_s"] for o in of], [o["coefficient"] for o in of]
            plot.line(axes, at, values, f"{a + 1} and {b + 1}", colour[f"{a}-{b}"])
        else:
            at = [o["at_s"] for o in of if o["shares"]]
            axes.plot(at, [row] * len(at), "|", color=colour[f"{a}-{b}"], markersize=7)
    if with_coefficient:
        axes.axhline(0.0, color="#888888", linewidth=0.7)
        axes.set_ylim(-1.05, 1.05)
        axes.set_ylabel("coefficient")
        if len(pairs) <= 10 and method == 0:
            axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize=8, title="flows")
    else:
        axes.set_yticks(range(len(pairs)), [f"{a + 1} and {b + 1}" for a, b in pairs])
        axes.set_ylim(-0.7, len(pairs) - 0.3)
        axes.set_ylabel("says: shared")
