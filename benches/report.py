"""docs/performance.md and its figure, from the results of the suite."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from measure import Spread, ratios, slope

TARGET = 25
"""How many times less CPU than ns-3 scenarios a to c should take."""

REFERENCE: Mapping[str, tuple[int, int, int, int]] = {
    "h-16": (600, 149, 274, 959),
    "h-256": (900, 178, 312, 1666),
    "h-10000": (1800, 374, 481, 3577),
}
"""By case, in ns a pair: the aim; two other loops without TCP, a timing wheel and a heap of links' heads; htsim. The loops and
htsim were measured elsewhere, on a machine of this class, with as many packets under way as here."""

Case = dict[str, Any]
Run = dict[str, Any]


def per_pair_ns(run: Run, segment: int) -> float:
    """Per full segment delivered to an application: a data packet that crossed the network, and its acknowledgement."""
    return float(run["cpu_s"] * 1e9 / (run["said"]["received_bytes"] / segment))


def per_crossing_ns(run: Run) -> float:
    """Per data packet over the bottleneck, with its acknowledgement."""
    said = run["said"]
    return float(run["cpu_s"] * 1e9 / (said["pairs"] if "pairs" in said else said["bottleneck_packets"]))


def crossings(case: Case, who: str) -> list[float]:
    """What a pair cost in each run of a program; none where it did not take part."""
    return [per_crossing_ns(run) for run in case.get(who, [])]


def flow_kib(run: Run) -> float:
    """Memory of a flow: what came to be resident after the program's start, by all flows of the run."""
    return float((run["peak_kb"] - run["said"]["start_kb"]) / run["said"]["flows"])


COLUMNS: Mapping[str, Callable[[Run, int], float]] = {
    "CPU, s": lambda run, _: run["cpu_s"],
    "ns a pair": per_pair_ns,
    "ns a packet-hop": lambda run, _: run["cpu_s"] * 1e9 / run["said"]["hops"],
    "10⁶ events/s": lambda run, _: run["said"]["events"] / run["cpu_s"] / 1e6,
    "peak MB": lambda run, _: run["peak_kb"] / 1024,
    "KiB a flow": lambda run, _: flow_kib(run),
}
"""What can be said of a run, by the head of its column."""


def spread(case: Case, who: str, column: str) -> Spread:
    return Spread.of([COLUMNS[column](run, case["segment"]) for run in case[who]])


def ratio(case: Case, who: str = "ns3", than: str = "haltere") -> Spread | None:
    """How many times the CPU time of `than` for the same number of delivered segments `who` takes."""
    other, ours = ([per_pair_ns(run, case["segment"]) for run in case.get(name, [])] for name in (who, than))
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


def cost_table(first: str, cases: Mapping[str, Case], columns: Sequence[str]) -> str:
    """A row a case: Haltere's median, and ns-3's after a stroke where it took part."""
    rows = []
    for name, case in cases.items():
        known = [who for who in ("haltere", "ns3") if case.get(who)]
        cells = [" / ".join(number(spread(case, who, column).median) for who in known) for column in columns]
        beside = times(ratio(case)) if case.get("ns3") else case.get("ns3_failed", "–")
        rows.append([name, beside, *cells])
    return table([first, "ns-3's CPU over Haltere's", *columns], rows)


def work_table(cases: Mapping[str, Case]) -> str:
    keys = {
        "delivered, MB": ("received_bytes", 1e-6),
        "packets into watched queues": ("bottleneck_packets", 1),
        "dropped there": ("drops", 1),
        "marked there": ("marks", 1),
        "packet-hops": ("hops", 1),
    }
    rows = []
    for id, case in cases.items():
        if not case.get("ns3"):
            continue
        said = [case[who][0]["said"] for who in ("haltere", "ns3")]
        cells = [
            " / ".join(f"{one[key] * scale:,.{1 if scale < 1 else 0}f}" for one in said) for key, scale in keys.values()
        ]
        rows.append([f"({id})", *cells])
    return table(["scenario", *keys], rows)


def completion_table(cases: Mapping[str, Case]) -> str:
    """Completion times of the first run of each, by size of the flow."""
    rows = []
    for id, case in cases.items():
        for who, name in (("haltere", ""), ("ns3", ", ns-3")):
            if not case.get(who):
                continue
            ended = case[who][0]["said"]["completions"]
            for of in ended["by_size"]:
                us, slow = of["us"], of.get("slowdown", {})
                # A class that all flows are in says nothing new.
                if of["sizes"] != "all" and of["completed"] == ended["completed"]:
                    continue
                flows = f"{of.get('completed', ended['completed']):,}"
                cells = [number(us[p]) for p in ("p50", "p95", "p99", "most")]
                cells += [number(slow[p]) if slow.get(p) else "–" for p in ("p50", "p99")]
                rows.append([f"({id}){name}", of["sizes"], flows, *cells])
    return table(
        ["scenario", "size", "ended", "median, µs", "95 %", "99 %", "most", "over the ideal: median", "99 %"], rows
    )


def growth(cases: Mapping[str, Case], group: str = "d") -> dict[int, Case]:
    """The growth curve by the number of flows: each with its own hosts, or (`m`) between the same."""
    found = {int(id.split("-")[1]): case for id, case in cases.items() if id.startswith(f"{group}-")}
    return dict(sorted(found.items()))


def memory(points: Mapping[int, Case], where: str) -> str:
    """How much more memory one more flow takes: the slope of the peak from 64 flows on."""
    told = []
    for who, name in (("haltere", "Haltere"), ("ns3", "ns-3")):
        peaks = [
            (float(n), spread(c, who, "peak MB").median * 1024) for n, c in points.items() if n >= 64 and c.get(who)
        ]
        if len(peaks) > 1:
            told.append(f"{name} {number(slope(peaks))} KiB (up to {peaks[-1][0]:,.0f} flows)")
    if not told:
        return ""
    return f"{where}: {', '.join(told)}."


def bare_table(cases: Mapping[str, Case]) -> str:
    rows = []
    for id, case in cases.items():
        if not case.get("bare"):
            continue
        ours, learned, dumbbell, bare = (crossings(case, who) for who in ("haltere", "tuned", "dumbbell", "bare"))
        cells = [
            f"{number(Spread.of(values).median)} ({number(min(values))})" if values else "–"
            for values in (ours, learned, dumbbell, bare)
        ]
        known = ["–"] * 4
        if id in REFERENCE:
            aim, wheel, heap, htsim = REFERENCE[id]
            known = [f"{aim:,}", f"{aim / wheel:.1f}", f"{wheel} to {heap}", f"{htsim:,}"]
        beside = [times(ratios(values, bare)) if values else "–" for values in (ours, learned)]
        rows.append([case["title"], *cells, *beside, *known])
    head = [
        "CPU time of a pair, ns",
        "Haltere",
        "tuned",
        "Haltere, the loop's RTTs",
        "bare loop",
        "Haltere over the loop",
        "tuned over the loop",
        "aim",
        "aim over a wheel",
        "other loops",
        "htsim",
    ]
    return table(head, rows)


def aims(cases: Mapping[str, Case]) -> str:
    """How many of the aims beside the bare loop are reached: in ns, and as a ratio to the loop; by medians, and by the least runs."""
    told = []
    for who, name in (("haltere", "Haltere reaches"), ("tuned", "the tuned build reaches")):
        known = [
            (aim, aim / wheel, crossings(cases[id], who), crossings(cases[id], "bare"))
            for id, (aim, wheel, *_) in REFERENCE.items()
            if cases.get(id, {}).get(who)
        ]
        if known:
            ns = sum(Spread.of(ours).median <= aim for aim, _, ours, _ in known)
            beside = sum(ratios(ours, bare).median <= most for _, most, ours, bare in known)
            least_ns = sum(min(ours) <= aim for aim, _, ours, _ in known)
            least_beside = sum(min(ours) / min(bare) <= most for _, most, ours, bare in known)
            told.append(
                f"By medians {name} {ns} of {len(known)} aims in ns and {beside} as a ratio to a timing wheel,"
                f" by the least of all runs {least_ns} and {least_beside}."
            )
    return " ".join(told)


def tuned(cases: Mapping[str, Case]) -> str:
    """What learning from runs is worth."""
    rows = []
    for id, case in cases.items():
        if case.get("tuned"):
            seconds = " / ".join(number(spread(case, who, "CPU, s").median) for who in ("haltere", "tuned"))
            beside = [times(ratio(case, "tuned")), seconds, times(ratio(case, "ns3", "tuned"))]
            rows.append([f"({id}) {case['title']}", *beside])
    if not rows:
        return ""
    head = ["scenario", "tuned over usual", "CPU, s: usual / tuned", "ns-3's CPU over tuned Haltere's"]
    return f"## Tuned\n\n{TUNED}\n{table(head, rows)}\n\n"


def tracing(cases: Mapping[str, Case]) -> str:
    """What a record costs."""
    case = cases.get("t")
    if not case or not case.get("traced"):
        return ""
    return (
        "## With a record\n\n"
        "The network of (b), 4 s of it, with a record of the bottleneck's queue each millisecond and of all flows each 10 ms, kept in memory,"
        f" beside the same run without: {times(ratio(case, 'traced'))} times the CPU time, turns: {len(case['traced'])}, each ratio of two"
        " runs one after the other.\n\n"
    )


def figure(points: Mapping[int, Case], file: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    shown, (cost, memory) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    for who, name, colour in (("ns3", "ns-3", "#c44e52"), ("haltere", "Haltere", "#4c72b0")):
        known = {flows: case for flows, case in points.items() if case.get(who)}
        for axes, column, scale in ((cost, "ns a pair", 1e-3), (memory, "peak MB", 1)):
            spreads = [spread(case, who, column) for case in known.values()]
            least, middle, most = ([getattr(s, of) * scale for s in spreads] for of in ("least", "median", "most"))
            axes.fill_between(list(known), least, most, color=colour, alpha=0.2, lw=0)
            axes.plot(list(known), middle, marker="o", ms=4, color=colour, label=name)
    for axes, title in ((cost, "CPU time of a delivered segment, µs"), (memory, "peak memory, MB")):
        axes.set(xscale="log", yscale="log", xlabel="flows", title=title)
        axes.grid(alpha=0.3)
        axes.legend(frameon=False)
    file.parent.mkdir(parents=True, exist_ok=True)
    shown.savefig(file, dpi=130)
    plt.close(shown)


def verdict(cases: Mapping[str, Case], chosen: str | None) -> str:
    """Scenarios a to c against the aim."""
    known = {id: ratio(cases[id]) for id in "abc" if id in cases and cases[id].get("ns3")}
    if not known:
        return f"The aim for (a) to (c) is {TARGET} times less CPU than ns-3; it was not run with them."
    said = [f"({id}) {number(r.median)}" for id, r in known.items() if r]
    missed = [f"({id})" for id, r in known.items() if r and r.median < TARGET]
    outcome = (
        f"{' and '.join(missed)} {'is' if len(missed) == 1 else 'are'} below it"
        if missed
        else f"{'it is' if len(known) == 1 else 'all are'} above it"
    )
    text = f"The aim for (a) to (c) is {TARGET} times less CPU than ns-3: {', '.join(said)}; {outcome}."
    if chosen == "optimized":
        return f"{text} ns-3 is the build `optimized`: without logging and asserts, `-O3 -march=native`."
    return (
        f"{text} That is against the build `{chosen}`, the fastest that was here. One compiled without logging (`make bench-ns3`) is"
        " faster; against it these ratios are yet to be measured, and will be smaller."
    )


def builds(results: dict[str, Any]) -> str:
    rows = []
    for b in results["ns3"]["builds"]:
        chosen = " (took part)" if b["name"] == results["ns3"]["chosen"] else ""
        checks = f"{b['log_checks']:,}" if b["log_checks"] >= 0 else "not counted"
        rows.append([f"{b['version']} {b['name']}{chosen}", b["note"], f"`{b['flags']}`", checks, f"{b['cpu_s']:.2f}"])
    head = [
        "build",
        "what it is",
        "our program",
        "checks for logging in its Internet library",
        "CPU s of one second of (c)",
    ]
    return table(head, rows) if rows else "None was here."


def machine(results: dict[str, Any]) -> str:
    """Where and when, and which cases were measured apart from the others."""
    m = results["machine"]
    when = {id: case.get("when") for id, case in results["cases"].items()}
    here = {key: m[key] for key in ("commit", "changed", "load", "date")}
    others: dict[tuple[Any, ...], list[str]] = {}
    for id, that in when.items():
        if that and that != here:
            others.setdefault(tuple(that.values()), []).append(f"({id})")

    def told(commit: str, changed: bool, load: float, date: str) -> str:
        return f"Haltere at {commit}{', with changes not committed' if changed else ''}, {date}, load average {load} at the start"

    text = (
        f"{m['cpu']}, {m['cores']} cores, {m['system']}, Linux {m['kernel']}; {m['rustc']}; {m['gcc']}. {told(**here)}."
    )
    for that, ids in others.items():
        text += f" Measured at another time: {', '.join(ids)}: {told(*that)}."
    if max([m["load"], *(that["load"] for that in when.values() if that)]) > m["cores"] / 2:
        text += (
            "\n\nWhere the load was above half the cores, other work kept this machine busy: CPU times are longer than on an idle one, on both sides;"
            " runs in turn keep the ratios, with more spread."
        )
    return text


TUNED = """\
`make tuned` builds the package once more after it has run: the compiler learns which way branches mostly go (profile-guided optimisation), from networks that
are not those of this page ([tuned.py](../benches/tuned.py), [decision 0078](decisions/0078-a-build-that-learned-from-runs.md)). Results are the same, byte for byte.
Everything else on this page is the usual build, but for the columns that say *tuned*; ns-3 did not learn from runs.
"""


PAGE = """\
<!-- Written by `make bench` from benches/results.json; the words stand in benches/report.py. -->

# Performance

Haltere and ns-3 run the same scenarios in turn on one machine: A B, B A, A B. The figures that travel are the ratios: each is
of two runs one after the other, and what stands here is the median over the turns, with the least and the most in brackets.
{verdict}

A *pair* is a full segment delivered to an application: a data packet that crossed the network, with its acknowledgement. A
*packet-hop* is a packet on a line. CPU time is user and system time of the whole process, its start and the building of the
network included. Events are as each program counts its own; Haltere needs fewer than one a packet-hop ([decision 0077](decisions/0077-links-fed-by-one-link.md)). Peak memory is what was resident at most (`VmHWM`); memory of a flow
is what became resident after the program's start (network, packets and the record of flows included) divided by the flows. In
a cell `Haltere / ns-3` are the medians of both; one number: Haltere alone.

## Long flows

{cost}

## A data centre

{fabric}

128 hosts at 10 Gbit/s, DCTCP, step threshold. Permutation: each host sends to one other without end. Incast: every 2 ms 64 hosts send
32 kB each to one host. Flows are spread over equal paths by a hash of addresses and ports; Haltere's plan tells ns-3 the path of each
flow, there and back, and the suite checks for the permutations that both used the same links.

## Short flows

{short}

Poisson arrivals over 9 leaves and 4 spines, 144 hosts at 10 Gbit/s, DCTCP, sizes of the web-search law (1.7 MB on average). Flows
are born and die; the memory of a flow is over all that there were. How long they took, in the first run of each:

{completions}

The ideal of a flow is what it would take alone on its path: handshake, propagation, and its bytes on the slowest link.

## The same work

Both run the same plan: Haltere reads the experiment file (`benches/scenarios`), draws round-trip times, starts, sizes and paths, and
prints nodes, links and flows; ns-3 builds exactly these (`benches/ns3/plan.cc`). Both have segments of the same size, the same
fixed buffers, an initial window of 10, SACK, an acknowledgement for every second segment or after the same delay, the same least
retransmission timeout (200 ms and 40 ms; 5 ms and 1 ms in the data centre), the same queues with the same limits, and no recording.
What they then carried, in the first run of each, `Haltere / ns-3`:

{work}

What differs. Haltere's TCP follows Linux: it also runs RACK, tail loss probes, F-RTO and undo, which ns-3 has not; its CUBIC
and the end of its slow start are not ns-3's, so losses differ, most in (a) ([validation](validation.md) holds Haltere's beside Linux's).
ns-3's packets carry real headers, Haltere's do not: it writes them only where a capture is asked for. For ns-3 we chose what
makes it fast: the device's own queue where it is drop-tail, no queue disc above it; a queue disc of few lines for the step,
where its examples take RED; routes in a hash table, since its own tables are read from end to end for each packet (where a destination
has several next hops, by addresses and the server's port, which are read from the packet); IPv6 off; the strong end system model; no tracing, no checksums, and it need not tear itself down.

## Growth

DCTCP flows over one link of 10 Gbit/s, 200 ms; only their number differs. Building the network is in the CPU time. What each delivered stands
above, under (d). With 4,096 flows a third of ns-3's time goes into its routers' lists of packet handlers, which have a few for each device
(`Node::ReceiveFromDevice` and `TrafficControlLayer::Receive`, by `perf record`); these we left as they are.

{growth}

What one more flow takes, as the slope of peak memory from 64 flows on, packets under way, records and plan included. {memory} {shared}

![CPU time and memory against the number of flows](images/performance-growth.png)

## Beside a bare event loop

How far above the floor, as medians and, in brackets, the least of all runs (this machine is a share of a larger one: for seconds or minutes everything
takes up to twice as long, what runs through more code most): (b) at more sizes, and a loop that does nothing but move packets over the same links
(`crates/haltere-sim/examples/bare_loop.rs`: a timing wheel, fixed windows, no loss, no timers, no TCP). Here a pair is a data packet over
the bottleneck with its acknowledgement, on both sides; the loop acknowledges every packet, so a pair of it is six packet-hops;
Haltere's receivers do as Linux's, mostly every second, so a pair of Haltere's is some five.

{bare}

{aims} *Haltere* runs the experiment file, whose round-trip times are drawn with the seed, with the settings of (b). *Haltere, the loop's RTTs*
is `crates/haltere-sim/examples/dumbbell.rs`: the very round-trip times of the loop, and Haltere's own defaults (buffers that grow, Linux's quick
acknowledgements). *Other loops* and *htsim* were measured elsewhere on this class of machine: loops without TCP over the same
links, a timing wheel and a heap of the links' heads; and htsim with a simple TCP without SACK. They had 104, 65 and 16 packets of a flow
under way, in twice the bandwidth-delay product, as the flows of the first three rows have pipe and queue for. *Aim over a wheel* is what the
aim makes of the wheel measured with it; how fast the machine is at the time matters to a ratio less than to its two times. The last row is harder: the pipe
holds less than a packet of each flow, a quarter of all packets are lost, and the flows live from one retransmission timeout to the next.

{tuned}{tracing}## Which ns-3

{builds}

Each is tried first on one second of scenario (c); the fastest takes part. That logging is compiled out is checked in the library
itself, by counting calls of `LogComponent::IsEnabled`.

## The machine, and how to run it again

{machine}

```
make bench-ns3     # once: ns-3 from Debian's source package, optimised
make bench         # the usual cases; writes benches/results.json, this page and its figure
make bench-all     # the long ones, too: a million flows
.venv/bin/python benches/bench.py run --only a,b     # some of it; then: benches/bench.py report
make bench-check   # instructions of a pair of (b) beside the committed count, under Valgrind's callgrind
```

Without ns-3 the rest runs, and says how to get it. Haltere is compiled with `cargo build --release` (the workspace's profile: fat LTO,
one codegen unit, for any x86-64), not for this machine alone.
"""


def write(results: dict[str, Any], docs: Path) -> None:
    cases = results["cases"]
    points = growth(cases)

    def titled(*groups: str) -> dict[str, Case]:
        return {f"({id}) {case['title']}": case for id, case in cases.items() if id.split("-")[0] in groups}

    ending = {id: case for id, case in cases.items() if id.startswith("g-") or id.endswith("incast")}
    page = PAGE.format(
        verdict=verdict(cases, results["ns3"]["chosen"]),
        cost=cost_table("scenario", titled("a", "b", "c", "e"), list(COLUMNS)[:-1]),
        fabric=cost_table("scenario", titled("f"), list(COLUMNS)),
        short=cost_table("scenario", titled("g"), list(COLUMNS)),
        completions=completion_table(ending),
        work=work_table(cases),
        growth=cost_table("flows", {f"{n:,}": case for n, case in points.items()}, list(COLUMNS)[1:]),
        memory=memory(points, "With its two hosts and four links"),
        shared=memory(growth(cases, "m"), "Between hosts that are there already, (m)"),
        bare=bare_table(cases),
        aims=aims(cases),
        tuned=tuned(cases),
        tracing=tracing(cases),
        builds=builds(results),
        machine=machine(results),
    )
    (docs / "performance.md").write_text(page)
    if points:
        figure(points, docs / "images" / "performance-growth.png")
