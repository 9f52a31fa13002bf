"""The study `quic-conformance`: the controls of QUIC stacks beside the same controls of Haltere's TCP, alone and in pairs.

A study of ours. It takes what quicly and neqo published of their own controls as findings. In the kernel world Linux's TCP takes the place of
Haltere's, and the stacks are left out: they run in the simulator alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .. import stacks
from ..analysis import envelope, measures, metrics, stats
from ..analysis.envelope import Array
from ..analysis.stats import Mean
from ..api import Scenario
from ..errors import InputError
from ..report import plot
from ..report.document import Figure, Heading, Table, Text
from ..runs.results import Results
from .base import (
    Claims,
    Finding,
    Judged,
    Options,
    Outcome,
    beside_linux,
    data,
    expected,
    findings_table,
    opened,
    over_rows,
    ran_with_linux,
    within,
)

ID = "quic-conformance"
BOTTLENECK = "topology.dumbbell.bottleneck"
QUEUES: Mapping[str, Any] = {
    "drop tail": {"kind": "drop_tail", "limit": "1bdp"}, "CoDel": "codel", "FQ-CoDel": "fq_codel", "DualPI2": "dualpi2",
}  # fmt: skip
#: One-way delays in ms: half of the round-trip times.
DELAYS = (10, 30, 80)
#: That of the envelopes: QUICbench has round-trip times of 10 and 50 ms.
ENVELOPE_DELAY = 30
#: Packets after which the receiver acknowledges, by acknowledgements in a round trip of 333 packets.
ACKS = {2: 165, 4: 82, 24: 13}
#: Points of a share that count as like ours: 10 of 100 each way.
LIKE = (40.0, 60.0)


class Variant(NamedTuple):
    """A control of a stack."""

    stack: str
    control: str

    @property
    def name(self) -> str:
        """As tables have it."""
        return f"{self.stack}:{self.control}"

    @property
    def of_quic(self) -> bool:
        """Not Haltere's TCP or Linux's."""
        return self.stack not in ("tcp", "Linux")


VARIANTS = tuple(
    Variant(stack, control)
    for control, of in {
        "cubic": ("tcp", "noq", "quinn"), "reno": ("tcp", "noq", "quinn"), "bbr": ("tcp", "quinn"), "bbr3": ("tcp", "noq"),
    }.items()
    for stack in of
)  # fmt: skip
#: Ours as in Linux: the default is RFC 9438's.
AS_LINUX = Variant("tcp", "cubic-linux")
#: Linux's own, in the kernel world.
OF_LINUX = tuple(Variant("Linux", control) for control in ("cubic", "reno", "bbr"))
PARAMETERS = {"cubic-linux": {"kind": "cubic", "reno_friendly": "linux", "hystart": "linux_6_13"}}
QUICK_DELAYS, QUICK_QUEUES, QUICK_SEEDS = (30,), ("drop tail", "FQ-CoDel"), 3
LEFT_OUT = "all controls but CUBIC, CoDel and DualPI2, round-trip times of 20 and 160 ms; all but 3 seeds"

#: By name of the variant, queue and delay: a metric's value for each seed.
Cells = dict[tuple[str, str, int], list[float]]


def reproduce(options: Options) -> Outcome:
    """Runs the study and says which control of which stack is like ours."""
    variants = list(OF_LINUX if options.linux else VARIANTS)
    if options.quick:
        variants = [one for one in variants if one.control == "cubic"]
    needed(variants)
    seeds = options.seeds or (QUICK_SEEDS if options.quick else None)
    queues, delays = (QUICK_QUEUES, QUICK_DELAYS) if options.quick else (tuple(QUEUES), DELAYS)
    grid = [(queue, delay) for delay in delays for queue in queues]
    results = {
        part: ran(options, part, planned(part, variants, grid), seeds) for part in ("alone", "transfer", "pair", "same")
    }
    if not options.linux:
        middle = [(queue, ENVELOPE_DELAY) for queue in queues]
        results["envelope"] = ran(options, "envelope", planned("envelope", variants, middle), seeds)
        for part in ("alone", "transfer"):
            results[f"{part}-linux"] = ran(options, part, planned(part, [AS_LINUX], grid), seeds, f"{part}-linux")
    if quic := [one for one in variants if one.of_quic and one.control == "cubic"]:
        results["acks"] = ran(options, "acks", [acks(one, n) for one in quic for n in ACKS], seeds)
    outcome = report(results, LEFT_OUT if options.quick else "")
    if not options.linux:
        tables = ran_with_linux(ID).get("tables", {})
        blocks = outcome.document.blocks
        blocks[:] = [beside(one, tables.get(one.name)) if isinstance(one, Table) else one for one in blocks]
    return outcome


def needed(variants: Sequence[Variant]) -> None:
    """Stops before the runs if a stack is not built."""
    built = {one.name for one in stacks.built()}
    if missing := [name for name in dict.fromkeys(one.stack for one in variants if one.of_quic) if name not in built]:
        commands = "; ".join(f"`haltere stack build {name}`" for name in missing)
        raise InputError(f"{ID}: stacks must be built first, got none of {', '.join(missing)}; {commands}")


Planned = tuple[dict[str, Any], dict[str, Any]]


def planned(part: str, variants: Sequence[Variant], grid: Sequence[tuple[str, int]]) -> Iterator[Planned]:
    """Labels and changed values of the runs of a part."""
    for variant in variants:
        first = {
            "traffic.main.congestion": PARAMETERS.get(variant.control, variant.control),
            **({"traffic.main.stack": variant.stack} if variant.of_quic else {}),
        }
        if part == "same":
            if variant.control == "cubic":
                second = {key.replace("main", "other"): value for key, value in first.items()}
                for profile, one in expected(ID)["quicly"].items():
                    yield (
                        {"variant": variant.stack if variant.of_quic else "tcp", "queue": profile, "delay": 0},
                        {**first, **second, f"{BOTTLENECK}.delay": one["delay"]},
                    )
            continue
        for queue, delay in grid:
            place = {f"{BOTTLENECK}.delay": f"{delay}ms", f"{BOTTLENECK}.queue": QUEUES[queue]}
            other = {"traffic.other.congestion": variant.control} if part in ("pair", "envelope") else {}
            yield {"variant": variant.name, "queue": queue, "delay": delay}, {**first, **other, **place}


def acks(variant: Variant, n: int) -> Planned:
    """A run with so many acknowledgements a round trip."""
    stack = {"kind": variant.stack, "ack_threshold": ACKS[n]}
    return {"variant": variant.stack, "queue": "", "delay": n}, {
        "traffic.main.stack": stack,
        "traffic.main.congestion": variant.control,
    }


def ran(options: Options, part: str, runs: Any, seeds: int | None, into: str = "") -> Results:
    """The runs of a part."""
    base = Scenario.load(data(ID) / f"{part}.toml")
    labels, scenarios = [], []
    for label, values in runs:
        labels.append(label)
        scenarios.append(base.with_values(values))
    return options.run(scenarios, labels, seeds=seeds, part=into or part, title=base.title)


def cells(results: Results, metric: str) -> Cells:
    """A metric by variant, queue and delay."""
    return {
        (str(point.labels["variant"]), str(point.labels["queue"]), int(point.labels["delay"])): [metrics.named(run, metric) for run in runs]
        for point, runs in measures.by_point(results)
    }  # fmt: skip


def shares(results: Results) -> Cells:
    """The first flow's part of the goodput of both, in percent."""
    first, second = cells(results, "goodput.main"), cells(results, "goodput.other")
    return {key: [100 * a / (a + b) for a, b in zip(first[key], second[key], strict=True)] for key in first}


def report(results: Mapping[str, Results], left_out: str = "") -> Outcome:
    """What these runs show."""
    found = over_rows(findings(results))
    seeds = len(results["pair"].seeds)
    document = opened(
        f"{ID}: controls of QUIC stacks beside the same controls of TCP",
        f"Seeds: {seeds} for each cell. Means over the seeds with 95 % intervals. The bottleneck has 20 Mbit/s.",
        left_out,
    )
    folder = results["pair"].directory.parent / "figures"
    document.add(share_table(shares(results["pair"])))
    if "envelope" in results:
        document.add(envelope_table(results["envelope"]))
    document.add(figure(results["alone"], folder / "envelope"))
    alone = alone_cells(results)
    document.add(
        *(
            side_by_side(control, alone)
            for control in TITLES
            if any(f":{control}" in name for name, *_ in alone["took"])
        ),
        alone_table(alone),
        Heading("Published figures"),
        Text(_PUBLISHED),
        findings_table(found, ID, len(results["same"].seeds)),
    )
    if "acks" in results:
        document.add(acks_table(cells(results["acks"], "goodput.main")))
    return Outcome(ID, document, found, left_out)


def beside(table: Table, linux: Mapping[str, Any] | None) -> Table:
    """A table with what Linux's own TCP gave in the kernel world."""
    columns, rows = beside_linux(table.columns, table.rows, linux)
    return replace(table, columns=columns, rows=rows)


_PUBLISHED = "Figures of other stacks, over paths of which the sources say part: a comparison, not a reproduction."


# -- beside TCP -----------------------------------------------------------------------------------------------------------


def verdict(share: Mean) -> Judged:
    """Whether a share is like that of two equal flows."""
    return within(share, *LIKE, digits=0)


def share_table(all_shares: Cells) -> Table:
    """The share of each variant beside the same control of TCP, by queue and round-trip time."""
    keys = list(all_shares)
    rows_of = list(dict.fromkeys((variant, delay) for variant, _, delay in keys))
    queues = list(dict.fromkeys(queue for _, queue, _ in keys))
    means = {key: stats.mean(values) for key, values in all_shares.items()}
    judged = [verdict(means[key]) for key in keys]
    adjusted = stats.holm([1.0 if one.p is None else one.p for one in judged])
    # A dagger: the whole interval is outside, after Holm over all cells.
    marks = {
        key: " †" if one.verdict == "not held" and p < 0.05 else ""
        for key, one, p in zip(keys, judged, adjusted, strict=True)
    }
    rows = [
        [variant, f"{2 * delay} ms", *(f"{means[variant, queue, delay].format(0)}{marks[variant, queue, delay]}" for queue in queues)]
        for variant, delay in rows_of
    ]  # fmt: skip
    note = f"†: outside of {LIKE[0]:g} to {LIKE[1]:g} % with its whole interval, after Holm's correction over all {len(keys)} cells."
    return Table(
        "shares",
        "Share of the link beside the same control of TCP (%)",
        ["control", "round trip", *queues],
        rows,
        note,
        left=2,
    )


# -- envelopes ------------------------------------------------------------------------------------------------------------


def points(run: measures.Run, entry: str) -> Array:
    """Throughput in Mbit/s and smoothed round-trip time in ms of a flow, from sample to sample after the warm-up."""
    series = run.table("flow_series", ["at_ns", "flow", "received_bytes", "srtt_ns"], flow=run.flows_of(entry))
    at, received, srtt = (series[name].to_numpy().astype(float) for name in ("at_ns", "received_bytes", "srtt_ns"))
    rates = np.diff(received) * 8e3 / np.diff(at)
    after = run.measured_ns(at[:-1])
    return np.stack((rates[after], srtt[1:][after] * 1e-6), axis=1)


def conformances(results: Results) -> dict[tuple[str, str], list[float]]:
    """By variant and queue the conformance of each seed with the same control of TCP beside itself, in percent; of TCP with the flow beside it."""
    out: dict[tuple[str, str], list[float]] = {}
    reference: dict[tuple[str, str], list[Array]] = {}
    for point, runs in measures.by_point(results):
        variant, queue = str(point.labels["variant"]), str(point.labels["queue"])
        place = (variant.split(":")[1], queue)
        # The variants of a control begin with TCP's.
        reference.setdefault(place, [points(run, "other") for run in runs])
        own = [points(run, "main") for run in runs]
        out[variant, queue] = [100 * envelope.conformance(*both) for both in zip(own, reference[place], strict=True)]
    return out


def envelope_table(results: Results) -> Table:
    """Conformance with the same control of TCP."""
    all_of = conformances(results)
    queues = list(dict.fromkeys(queue for _, queue in all_of))
    rows = [
        [variant, *(stats.mean(all_of[variant, queue]).format(0) for queue in queues)]
        for variant in dict.fromkeys(variant for variant, _ in all_of)
    ]
    note = "A row of tcp compares two flows of one run: by so much two flows of one control differ."
    title = f"Conformance (QUICbench): points in the envelope of the other, {2 * ENVELOPE_DELAY} ms (%)"
    return Table("conformance", title, ["control", *queues], rows, note)


# -- alone ----------------------------------------------------------------------------------------------------------------


TITLES = {"cubic": "CUBIC", "reno": "NewReno", "bbr": "BBR and BBRv3"}
ALONE = {"goodput": "goodput.main", "wait": "wait", "again": "sent_again.main", "took": "took.main"}


def alone_cells(results: Mapping[str, Results]) -> dict[str, Cells]:
    """What is measured of a flow alone: goodput, mean wait in the queue, packets sent again, and the time of a transfer of 1 MB."""
    out: dict[str, Cells] = {}
    for name, metric in ALONE.items():
        part = "transfer" if name == "took" else "alone"
        out[name] = {
            key: values
            for one in (part, f"{part}-linux")
            if one in results
            for key, values in cells(results[one], metric).items()
        }
    return out


def alone_table(alone: Mapping[str, Cells]) -> Table:
    """A flow alone, each control."""
    factors = {"again": 100.0}
    rows = [
        [name, queue, f"{2 * delay} ms", *(stats.mean(alone[one][name, queue, delay]).scaled(factors.get(one, 1.0)).format(2) for one in ALONE)]
        for name, queue, delay in alone["took"]
    ]  # fmt: skip
    columns = ["control", "queue", "round trip", "goodput (Mbit/s)", "wait (ms)", "sent again (%)", "1 MB (s)"]
    return Table("alone", "A flow alone", columns, rows, left=3)


def side_by_side(control: str, alone: Mapping[str, Cells]) -> Table:
    """A control of each stack alone, a column each."""
    keys = [key for key in alone["took"] if key[0].split(":")[1].startswith(control)]
    names, places = list(dict.fromkeys(key[0] for key in keys)), list(dict.fromkeys(key[1:] for key in keys))
    rows = [
        [queue, f"{2 * delay} ms", *(" / ".join(stats.mean(alone[one][name, queue, delay]).format(2) for one in ("goodput", "wait", "took")) for name in names)]
        for queue, delay in places
    ]  # fmt: skip
    note = "Goodput in Mbit/s / mean wait in the queue in ms / time of a transfer of 1 MB in s."
    if AS_LINUX.name in names:
        note += f" `{AS_LINUX.control}` is ours with Linux's HyStart and Reno-friendly growth."
    columns = ["queue", "round trip", *names]
    return Table(control, f"{TITLES[control]} alone", columns, rows, note, left=len(columns))


def figure(alone: Results, stem: Path) -> Figure:
    """Delay and throughput of each control alone, a panel a queue and round-trip time."""
    goodput, wait = cells(alone, "goodput.main"), cells(alone, "wait")
    places = list(dict.fromkeys(key[1:] for key in goodput))
    variants = list(dict.fromkeys(key[0] for key in goodput))
    queues = len(dict.fromkeys(queue for queue, _ in places))
    lowest = min(stats.mean(values).mean for values in goodput.values())
    fig, panels = plot.panels(len(places), queues, height=0.8, row=2.0)
    markers = {"tcp": "o", "noq": "s", "quinn": "^", "Linux": "D"}
    colours = {control: f"C{n}" for n, control in enumerate(dict.fromkeys(name.split(":")[1] for name in variants))}
    with plot.style():
        for axes, (queue, delay) in zip(panels, places, strict=True):
            for name in variants:
                x, y = (stats.mean(one[name, queue, delay]) for one in (wait, goodput))
                stack, control = name.split(":")
                half = [np.nan_to_num(one.half) for one in (x, y)]
                axes.errorbar(
                    x.mean,
                    y.mean,
                    half[1],
                    half[0],
                    marker=markers.get(stack, "o"),
                    color=colours[control],
                    ms=5,
                    label=name,
                    ls="",
                    lw=1,
                )
            axes.set_ylim(lowest - 0.3, 19.5)
            axes.set_xlabel("wait (ms)")
            axes.set_ylabel("Mbit/s")
            plot.title(axes, f"{queue}, {2 * delay} ms")
    plot.legend(fig, panels[0], 5)
    return plot.saved(
        fig,
        stem,
        "Mean wait in the queue and goodput of each control alone, with 95 % intervals. Like implementations lie together.",
    )


# -- published figures ----------------------------------------------------------------------------------------------------


def findings(results: Mapping[str, Results]) -> list[Finding]:
    """What quicly and neqo published of their controls."""
    claims, printed, found = Claims(ID), expected(ID)["quicly"], []
    for (stack, profile, _), values in shares(results["same"]).items():
        one = printed[profile]
        judged = within(stats.mean(values), 47.5, 52.5)
        found.append(claims("equal", judged, stack=stack, profile=profile, share=one["share"], sd=one["sd"]))
    goodput = cells(results["acks"], "goodput.main") if "acks" in results else {}
    for stack in dict.fromkeys(stack for stack, *_ in goodput):
        few, many = (np.array(goodput[stack, "", n]) for n in (2, 24))
        found.append(claims("acks", within(stats.mean(100 * (few / many - 1)), -10, 10), stack=stack))
    return found


def acks_table(goodput: Cells) -> Table:
    """Goodput by acknowledgements a round trip, beside neqo's."""
    printed = expected(ID)["neqo"]
    names = list(dict.fromkeys(stack for stack, *_ in goodput))
    rows = [
        [str(n), *(stats.mean(goodput[stack, "", n]).format(2) for stack in names), str(printed[str(n)])] for n in ACKS
    ]
    columns = ["acknowledgements a round trip", *(f"{one} (Mbit/s of 50)" for one in names), "neqo (Mbit/s)"]
    return Table("acks", "CUBIC by acknowledgements a round trip", columns, rows)
