"""docs/performance.md and its figure, from the results of the suite."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from measure import Spread, ratios, slope

TARGET = 25
"""How many times less CPU than ns-3 scenarios a to c should take."""


def pairs(run: dict[str, Any], segment: int) -> float:
    """Full segments delivered to applications: each is a data packet that crossed the network, and its acknowledgement."""
    return float(run["said"]["received_bytes"]) / segment


def per_pair_ns(case: dict[str, Any], who: str) -> list[float]:
    return [run["cpu_s"] * 1e9 / pairs(run, case["segment"]) for run in case[who]]


def per_hop_ns(case: dict[str, Any], who: str) -> list[float]:
    return [run["cpu_s"] * 1e9 / run["said"]["hops"] for run in case[who]]


def events_per_s(case: dict[str, Any], who: str) -> list[float]:
    return [run["said"]["events"] / run["cpu_s"] for run in case[who]]


def median(values: Sequence[float]) -> float:
    return Spread.of(values).median


def ratio(case: dict[str, Any], who: str = "ns3") -> Spread | None:
    """How many times Haltere's CPU time for the same number of delivered segments `who` takes."""
    other, ours = per_pair_ns(case, who), per_pair_ns(case, "haltere")
    return ratios(other, ours[: len(other)]) if other else None


def number(value: float) -> str:
    """Three digits that mean something, thousands set apart."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def times(spread: Spread | None) -> str:
    if not spread:
        return "–"
    if spread.least == spread.most:
        return f"**{number(spread.median)}** (one turn)"
    return f"**{number(spread.median)}** ({number(spread.least)} to {number(spread.most)})"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    align = "|".join([" --- "] + [" ---: "] * (len(head) - 1))
    return "\n".join(["| " + " | ".join(head) + " |", f"|{align}|", *("| " + " | ".join(row) + " |" for row in rows)])


def both(case: dict[str, Any], measure: Any) -> list[str]:
    """A quantity of Haltere's and of ns-3's runs, each as its median."""
    return [
        number(median(measure(case, who))) if case.get(who) else case.get("ns3_failed", "–")
        for who in ("haltere", "ns3")
    ]


def cost_table(cases: dict[str, Any]) -> str:
    head = [
        "scenario",
        "ns-3's CPU over Haltere's",
        "CPU, s",
        "ns-3",
        "ns a pair",
        "ns-3",
        "ns a packet-hop",
        "ns-3",
        "10⁶ events/s",
        "ns-3",
        "peak MB",
        "ns-3",
    ]
    rows = []
    for id, case in cases.items():
        row = [f"({id}) {case['title']}", times(ratio(case)) if case.get("ns3") else "–"]
        for measure in (
            lambda c, who: [run["cpu_s"] for run in c[who]],
            per_pair_ns,
            per_hop_ns,
            lambda c, who: [e / 1e6 for e in events_per_s(c, who)],
            lambda c, who: [run["peak_kb"] / 1024 for run in c[who]],
        ):
            row += both(case, measure)
        rows.append(row)
    return table(head, rows)


def work_table(cases: dict[str, Any]) -> str:
    head = [
        "scenario",
        "delivered, MB",
        "ns-3",
        "watched queue: packets",
        "ns-3",
        "dropped there",
        "ns-3",
        "marked there",
        "ns-3",
        "packet-hops",
        "ns-3",
    ]
    rows = []
    for id, case in cases.items():
        if not case.get("ns3"):
            continue
        ours, theirs = case["haltere"][0]["said"], case["ns3"][0]["said"]
        row = [f"({id})"]
        for key, scale in (("received_bytes", 1e6), ("bottleneck_packets", 1), ("drops", 1), ("marks", 1), ("hops", 1)):
            row += [f"{said[key] / scale:,.{1 if scale > 1 else 0}f}" for said in (ours, theirs)]
        rows.append(row)
    return table(head, rows)


def tracing(cases: dict[str, Any]) -> str:
    """What a record costs."""
    for case in cases.values():
        if case.get("traced"):
            over = ratio(case, "traced")
            assert over is not None
            return f"With a record (the queue each millisecond, all flows each 10 ms) the first of these takes {times(over)} times the CPU time.\n\n"
    return ""


def growth(cases: dict[str, Any]) -> list[tuple[int, dict[str, Any]]]:
    found = [(int(id.split("-")[1]), case) for id, case in cases.items() if id.startswith("d-")]
    return sorted(found, key=lambda entry: entry[0])


def memory_per_flow(points: Sequence[tuple[int, dict[str, Any]]], who: str) -> float | None:
    """How much more memory, in KiB, one more flow takes, with its two hosts and four links: the slope from 256 flows on."""
    peaks = [
        (float(flows), median([run["peak_kb"] for run in case[who]]))
        for flows, case in points
        if flows >= 256 and case.get(who)
    ]
    return slope(peaks) if len(peaks) > 1 else None


def growth_table(points: Sequence[tuple[int, dict[str, Any]]]) -> str:
    rows = []
    for flows, case in points:
        mb = both(case, lambda c, who: [run["peak_kb"] / 1024 for run in c[who]])
        rows.append([f"{flows:,}", *both(case, per_pair_ns), times(ratio(case)) if case.get("ns3") else "–", *mb])
    return table(["flows", "ns a pair", "ns-3", "ns-3's CPU over Haltere's", "peak MB", "ns-3"], rows)


def bare_table(cases: dict[str, Any]) -> str:
    rows = []
    for case in cases.values():
        if not case.get("bare"):
            continue
        # The loop counts its acknowledgements as segments of 1448 bytes, as these cases do.
        ours, bare = (Spread.of(per_pair_ns(case, who)) for who in ("haltere", "bare"))
        over = ratios(per_pair_ns(case, "haltere"), per_pair_ns(case, "bare"))
        spread = [f"{number(s.median)} ({number(s.least)} to {number(s.most)})" for s in (ours, bare)]
        rows.append([case["title"], *spread, times(over)])
    return table(["", "Haltere, ns a pair", "bare loop, ns a pair", "ratio"], rows)


def figure(points: Sequence[tuple[int, dict[str, Any]]], file: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    shown, (cost, memory) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    for who, name, colour in (("ns3", "ns-3", "#c44e52"), ("haltere", "Haltere", "#4c72b0")):
        known = [(flows, case) for flows, case in points if case.get(who)]
        if not known:
            continue
        xs = [flows for flows, _ in known]
        spreads = [Spread.of(per_pair_ns(case, who)) for _, case in known]
        cost.fill_between(
            xs, [s.least / 1e3 for s in spreads], [s.most / 1e3 for s in spreads], color=colour, alpha=0.2, lw=0
        )
        cost.plot(xs, [s.median / 1e3 for s in spreads], marker="o", ms=4, color=colour, label=name)
        memory.plot(
            xs,
            [median([r["peak_kb"] for r in c[who]]) / 1024 for _, c in known],
            marker="o",
            ms=4,
            color=colour,
            label=name,
        )
    for axes, title in ((cost, "CPU time of a delivered segment, µs"), (memory, "peak memory, MB")):
        axes.set(xscale="log", yscale="log", xlabel="flows", title=title)
        axes.grid(alpha=0.3)
        axes.legend(frameon=False)
    file.parent.mkdir(parents=True, exist_ok=True)
    shown.savefig(file, dpi=130)
    plt.close(shown)


def verdict(cases: dict[str, Any], chosen: str | None) -> str:
    """Scenarios a to c against the aim."""
    known = {id: ratio(cases[id]) for id in "abc" if id in cases and cases[id].get("ns3")}
    if not known:
        return "ns-3 did not take part."
    said = [f"({id}) {number(r.median)}" for id, r in known.items() if r]
    missed = [f"({id})" for id, r in known.items() if r and r.median < TARGET]
    outcome = f"{' and '.join(missed)} below it" if missed else f"{'it is' if len(known) == 1 else 'all are'} above it"
    text = f"The aim for (a) to (c) is {TARGET} times less CPU than ns-3: {', '.join(said)}; {outcome}."
    if chosen != "optimized":
        text += (
            f" That is against the build `{chosen}`, the fastest that was here. One compiled without logging (`make bench-ns3`) is faster;"
            " against it these ratios are yet to be measured, and will be smaller."
        )
    return text


def resident(cases: dict[str, Any]) -> str:
    """What peak memory means in these results."""
    if all("peak_kb" in run["said"] for case in cases.values() for run in case["haltere"] + case.get("ns3", [])):
        return "Peak memory is what was resident at most (`VmHWM`)."
    return "Peak memory is `ru_maxrss`, in which some 13 MB of the program that starts them are a floor: less cannot be seen."


def builds(results: dict[str, Any]) -> str:
    rows = []
    for b in results["ns3"]["builds"]:
        chosen = " (took part)" if b["name"] == results["ns3"]["chosen"] else ""
        checks = f"{b['log_checks']:,}" if b["log_checks"] >= 0 else "not counted"
        rows.append([f"{b['version']} {b['name']}{chosen}", b["note"], f"`{b['flags']}`", checks, f"{b['cpu_s']:.2f}"])
    return table(
        [
            "build",
            "what it is",
            "our program",
            "checks for logging in its Internet library",
            "CPU s of one second of (c)",
        ],
        rows,
    )


PAGE = """\
<!-- Written by `make bench` from benches/results.json; the words stand in benches/report.py. -->

# Performance

Haltere and ns-3 run the same scenarios in turn, one run of each after the other (A B A B), on one machine. The figures that
travel are the ratios; each is the median over the turns, with the least and the most in brackets. {verdict}

{cost}

CPU time is user and system time of the whole process, its start and the building of the network included. A *pair* is a full
segment delivered to an application: a data packet that crossed the network, with its acknowledgement. A *packet-hop* is a
packet on a line. {resident}

## The same work

Both run the same plan: Haltere reads the experiment file (`benches/scenarios`), draws round-trip times and starts, and
prints nodes, links and flows; ns-3 builds exactly these (`benches/ns3/plan.cc`). Both have segments of the same size, the same
fixed buffers, an initial window of 10, SACK, an acknowledgement for every second segment or after 40 ms, a least
retransmission timeout of 200 ms, the same queues with the same limits, and no recording. What they then carried, in the first
run of each:

{work}

What differs. Haltere's TCP follows Linux: it also runs RACK, tail loss probes, F-RTO and undo, which ns-3 has not; its CUBIC
and the end of its slow start are not ns-3's, so losses differ, most in (a) ([validation](validation.md) holds Haltere's beside Linux's).
ns-3's packets carry real headers, Haltere's do not: it writes them only where a capture is asked for. For ns-3 we chose what
makes it fast: the device's own queue where it is drop-tail, no queue disc above it; a queue disc of few lines for the step,
where its examples take RED; routes in a hash table, since its own tables are read from end to end for each packet; IPv6 off;
the strong end system model; no tracing, no checksums, and it need not tear itself down.

## Growth

{growth}

{memory}

![CPU time and memory against the number of flows](images/performance-growth.png)

## Beside a bare event loop

How far above the floor: CUBIC with round-trip times spread by 30 %, and a loop that does nothing but move packets over the same
links (`crates/haltere-sim/examples/bare_loop.rs`: fixed windows, no loss, no timers, no TCP).

{bare}

{tracing}## Which ns-3

{builds}

Each is tried first on one second of scenario (c); the fastest takes part. That logging is compiled out is checked in the library
itself, by counting calls of `LogComponent::IsEnabled`.

## The machine, and how to run it again

{machine}

```
make bench-ns3     # once: ns-3 from Debian's source package, optimised
make bench         # everything; writes benches/results.json, this page and its figure
.venv/bin/python benches/bench.py run --only a,b     # some of it; then: benches/bench.py report
```

Without ns-3 the rest runs, and says how to get it. Haltere is compiled with `cargo build --release` (the workspace's profile: fat LTO,
one codegen unit, for any x86-64), not for this machine alone.
"""


def write(results: dict[str, Any], docs: Path) -> None:
    cases = results["cases"]
    points = growth(cases)
    others = {id: case for id, case in cases.items() if not id.startswith(("d-", "h-"))}
    per_flow = {who: memory_per_flow(points, who) for who in ("haltere", "ns3")}
    told = [
        f"{name} {number(kib)} KiB" for who, name in (("haltere", "Haltere"), ("ns3", "ns-3")) if (kib := per_flow[who])
    ]
    memory = (
        f"One more flow, with its two hosts and four links, takes: {', '.join(told)} (slope of peak memory from 256 flows on)."
        if told
        else ""
    )
    m = results["machine"]
    busy = (
        "\n\nOther work kept this machine busy, so every CPU time here is longer than on an idle one, on both sides; runs in turn keep"
        " the ratios, with more spread."
        if m["load"] > m["cores"] / 2
        else ""
    )
    changed = ", with changes not committed" if m["changed"] else ""
    page = PAGE.format(
        resident=resident(cases),
        verdict=verdict(cases, results["ns3"]["chosen"]),
        cost=cost_table(others),
        work=work_table(cases),
        growth=growth_table(points) if points else "",
        memory=memory,
        bare=bare_table(cases),
        tracing=tracing(cases),
        builds=builds(results) if results["ns3"]["builds"] else "None was here.",
        machine=f"{m['cpu']}, {m['cores']} cores, {m['system']}, Linux {m['kernel']}; {m['rustc']}; {m['gcc']}; load average {m['load']} at the start; Haltere at {m['commit']}{changed}; {m['date']}.{busy}",
    )
    (docs / "performance.md").write_text(page)
    if points:
        figure(points, docs / "images" / "performance-growth.png")
