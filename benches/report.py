"""docs/performance.md and its figure, from the results of the suite."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import costs
import instructions
from measure import Spread, ratios, slope

REFERENCE: Mapping[str, tuple[int, int, int]] = {
    "h-16": (149, 274, 959),
    "h-256": (178, 312, 1666),
    "h-10000": (374, 481, 3577),
}
"""By case, in ns a pair: two other loops without TCP, a timing wheel and a heap of links' heads; htsim. They were measured elsewhere, on a
machine of this class, with as many packets in flight as here."""

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


def growth(cases: Mapping[str, Case], group: str = "d") -> dict[int, Case]:
    """The growth curve by the number of flows: each with its own hosts, or (`m`) between the same."""
    found = {int(id.split("-")[1]): case for id, case in cases.items() if id.startswith(f"{group}-")}
    return dict(sorted(found.items()))


def memory(cases: Mapping[str, Case]) -> str:
    """How much more memory one more flow takes: the slope of the peak from 64 flows on."""
    rows = []
    for group, where in (("d", "with its two hosts and four links"), ("m", "between existing hosts, (m)")):
        cells = []
        for who in ("haltere", "ns3"):
            known = [(n, case) for n, case in growth(cases, group).items() if n >= 64 and case.get(who)]
            peaks = [(float(n), spread(case, who, "peak MB").median * 1024) for n, case in known]
            cells.append(f"{number(slope(peaks))} (up to {peaks[-1][0]:,.0f} flows)" if len(peaks) > 1 else "–")
        if cells != ["–", "–"]:
            rows.append([where, *cells])
    if not rows:
        return ""
    return (
        "Memory of one more flow is the slope of peak memory from 64 flows on. It includes packets in flight, records and the plan."
        f"\n\n{table(['one more flow', 'Haltere, KiB', 'ns-3, KiB'], rows)}"
    )


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
        known = ["–"] * 2
        if id in REFERENCE:
            wheel, heap, htsim = REFERENCE[id]
            known = [f"{wheel} to {heap}", f"{htsim:,}"]
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
        "other loops",
        "htsim",
    ]
    return table(head, rows)


def tuned(cases: Mapping[str, Case]) -> str:
    """What the profile-guided build saves."""
    rows = []
    for id, case in cases.items():
        if case.get("tuned"):
            seconds = " / ".join(number(spread(case, who, "CPU, s").median) for who in ("haltere", "tuned"))
            beside = [times(ratio(case, "tuned")), seconds, times(ratio(case, "ns3", "tuned"))]
            rows.append([f"({id}) {case['title']}", *beside])
    if not rows:
        return ""
    head = ["scenario", "tuned over usual", "CPU, s: usual / tuned", "ns-3's CPU over tuned Haltere's"]
    return f"## The profile-guided build\n\n{table(head, rows)}\n\n{TUNED}\n"


def tracing(cases: Mapping[str, Case]) -> str:
    """What a record costs."""
    case = cases.get("t")
    if not case or not case.get("traced"):
        return ""
    return (
        "## Cost of a record\n\n"
        f"A run with a record takes {times(ratio(case, 'traced'))} times the CPU time of one without ({len(case['traced'])} turns, 4 s of the network of"
        " (b)). The record has the bottleneck's queue each millisecond and all flows each 10 ms, in memory.\n\n"
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


def verdict(chosen: str | None) -> str:
    """Which build of ns-3 took part."""
    if chosen == "optimized":
        return "The build of ns-3 is `optimized`: without logging and asserts, `-O3 -march=native`."
    return f"The build of ns-3 is `{chosen}`, the fastest that was found. A build without logging (`make bench-ns3`) is faster."


def summary(cases: Mapping[str, Case]) -> str:
    """The ratios of CPU time and of peak memory: a table of scenarios a to c, and the range over all that ns-3 ran too."""
    both = {id: case for id, case in cases.items() if case.get("ns3")}
    if not both:
        return ""
    cpu = {id: times(ratio(case)) for id, case in both.items()}
    medians = [found.median for case in both.values() if (found := ratio(case))]
    peaks = {
        id: spread(case, "ns3", "peak MB").median / spread(case, "haltere", "peak MB").median
        for id, case in both.items()
    }
    rows = [[f"({id}) {both[id]['title']}", cpu[id], number(peaks[id])] for id in "abc" if id in both]
    head = ["scenario", "ns-3's CPU time over Haltere's", "ns-3's peak memory over Haltere's"]
    return (
        f"{table(head, rows)}\n\n"
        f"Both programs ran {len(both)} scenarios. ns-3 took {number(min(medians))} to {number(max(medians))} times the CPU time of Haltere, and"
        f" {number(min(peaks.values()))} to {number(max(peaks.values()))} times its peak memory."
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
        "calls that check for logging in its Internet library",
        "CPU time of one second of (c), s",
    ]
    return table(head, rows) if rows else "No build was found."


def machine(results: dict[str, Any]) -> str:
    """Where and when, and which cases were measured apart from the others."""
    m = results["machine"]
    when = {id: case.get("when") for id, case in results["cases"].items()}
    here = {key: m[key] for key in ("commit", "changed", "load", "date")}
    others: dict[tuple[Any, ...], list[str]] = {}
    for id, that in when.items():
        if that and that != here:
            others.setdefault(tuple(that.values()), []).append(f"({id})")

    def told(commit: str, changed: bool, load: float, date: str) -> list[str]:
        return [f"{commit}{', with changes not committed' if changed else ''}", date, str(load)]

    rows = [["the other cases", *told(**here)]] if others else [["all cases", *told(**here)]]
    rows += [[", ".join(ids), *told(*that)] for that, ids in others.items()]
    text = f"{m['cpu']}, {m['cores']} cores, {m['system']}, Linux {m['kernel']}; {m['rustc']}; {m['gcc']}.\n\n" + table(
        ["cases", "Haltere at commit", "date", "load average at the start"], rows
    )
    if max([m["load"], *(that["load"] for that in when.values() if that)]) > m["cores"] / 2:
        text += "\n\nOther work kept this machine busy if the load was above half the cores. CPU times are then longer, and ratios vary more."
    return text


TUNED = """\
`make tuned` builds the package, runs it, and builds it again with the profile of the runs. It takes about ten minutes. Results are the same,
byte for byte. The runs use other networks than this page ([tuned.py](../benches/tuned.py),
[decision 0078](decisions/simulator.md#0078-a-profile-guided-build)). Columns with *tuned* show this build, all others the usual one.
"""


PAGE = """\
<!-- Written by `make bench` from benches/results.json; the text is in benches/report.py. -->

# Performance

CPU time and memory of Haltere and ns-3 on the same scenarios. {verdict}

{summary}

A ratio of CPU time is the median over pairs of consecutive runs, with the least and the most in brackets. The programs alternate on one machine,
so load changes times more than ratios. Expect these ratios on your machine, not these times. A ratio of peak memory is the ratio of the
medians.

## Terms of the tables

| term | meaning |
| --- | --- |
| cell with two numbers | medians of Haltere / ns-3; one number is Haltere alone |
| pair | a full segment delivered to an application, with its acknowledgement |
| packet-hop | one packet on one link |
| CPU time | user and system time of the whole process, start-up and construction of the network included |
| events | each program counts its own; Haltere needs less than one a packet-hop ([decision 0077](decisions/simulator.md#0077-links-fed-by-one-link)) |
| peak memory | maximum resident memory (`VmHWM`) |
| KiB a flow | memory that became resident after the start, over the number of flows: network, packets and records |

## Long flows

{cost}

## A data centre

{fabric}

There are 128 hosts at 10 Gbit/s, with DCTCP and a step threshold. In a permutation each host sends to one other host for the whole run. In an incast
64 hosts send 32 kB each to one host, every 2 ms. A hash of addresses and ports spreads the flows over equal paths. Haltere's plan gives ns-3 the
path of each flow; for the permutations the suite checks that both used the same links.

## Short flows

{short}

Flows arrive as a Poisson process, over 9 leaves and 4 spines with 144 hosts at 10 Gbit/s and DCTCP. Sizes follow the web-search distribution (mean
1.7 MB). KiB a flow counts all flows that arrived. `benches/results.json` has the completion times.

## Growth

{growth}

DCTCP flows share one link of 10 Gbit/s for 200 ms. With 4,096 flows, ns-3 spends a third of its time in its routers' lists of packet handlers
(`Node::ReceiveFromDevice` and `TrafficControlLayer::Receive`).

{memory}

![CPU time and memory against the number of flows](images/performance-growth.png)

## Beside a bare event loop

{bare}

The bare loop only moves packets over the same links, with a timing wheel and fixed windows: no loss, no timers, no TCP
(`crates/haltere-sim/examples/bare_loop.rs`). The table shows how much Haltere adds to this. A figure is a median, with the least of all runs in
brackets. Here a pair is a data packet over the bottleneck with its acknowledgement. The loop acknowledges every packet, so its pair is six
packet-hops. Haltere's receivers acknowledge most second packets, so its pair is about five.

| column | meaning |
| --- | --- |
| Haltere | the experiment file with the settings of (b); its round-trip times are drawn with the seed |
| tuned | the same with the profile-guided build |
| Haltere, the loop's RTTs | `crates/haltere-sim/examples/dumbbell.rs`: exactly the round-trip times of the loop, and Haltere's own defaults (buffers that grow, Linux's quick acknowledgements) |
| other loops | two loops without TCP over the same links: a timing wheel, and a heap of the links' heads |
| htsim | htsim with a simple TCP without SACK |

*Other loops* and *htsim* were measured elsewhere, on this class of machine, with 104, 65 and 16 packets of a flow in flight. In the last row the link
holds less than one packet of each flow. A quarter of all packets are lost, and the flows depend on retransmission timeouts.

{tuned}{tracing}{costs}## Instructions

![Instructions of a pair in five networks, by change](images/performance-instructions.png)

{instructions}

Each line of `benches/instructions.csv` is a commit that changed a count on purpose. `make bench-check` counts again and fails if a network costs more than
1 % above the last line. Counts do not depend on the load of the machine. Valgrind's callgrind counts a longer and a shorter run, and the difference
leaves out the start. Some pairs need more packet-hops than others: a dumbbell has about five, the fat tree eight.

## The same work

Both programs run the same plan. Haltere reads the experiment file (`benches/scenarios`), draws round-trip times, starts, sizes and paths, and prints
nodes, links and flows. ns-3 builds these (`benches/ns3/plan.cc`). Both have the same:

- segment size, fixed buffers, initial window (10), and SACK;
- acknowledgements: for every second segment, or after the same delay;
- minimum retransmission timeout and delay: 200 ms and 40 ms; 5 ms and 1 ms in the data centre;
- queues with the same limits;
- no recording.

**Differences.** Haltere's TCP follows Linux: it has RACK, tail loss probes, F-RTO and undo, which ns-3 lacks. CUBIC and the end of slow start differ,
so losses differ, most in (a). ns-3's packets carry real headers; Haltere writes headers only for a capture.

**Choices that make ns-3 fast.**
- A drop-tail queue is the device's own queue, with no queue disc above it.
- The step threshold is a queue disc of few lines. The examples of ns-3 use RED.
- Routes are in a hash table, because ns-3 searches its own tables from end to end for each packet. If a destination has
  several next hops, the key is the addresses and the server's port, which are read from the packet.
- IPv6 is off, and the strong end system model is on.
- There is no tracing and no checksums, and the program ends without destroying its objects.

`benches/results.json` has the bytes that both delivered, their drops and their marks.

## Which ns-3

{builds}

Each build runs one second of scenario (c), and the fastest takes part. The suite counts calls of `LogComponent::IsEnabled` in the library, to check
that logging is compiled out.

## How to run it again

```sh
make bench-ns3     # once: ns-3 from Debian's source package, optimised
make bench         # the usual cases; writes benches/results.json, this page and its figure
make bench-all     # the long cases too: a million flows
.venv/bin/python benches/bench.py run --only a,b     # some cases; then: benches/bench.py report
make bench-check   # instructions of a pair in five networks compared with the committed counts, under Valgrind's callgrind
```

Without ns-3 the other programs run, and a message says how to get ns-3. Haltere is compiled with `cargo build --release` (the workspace's
profile: fat LTO, one codegen unit) for any x86-64, not for this machine alone.

## The machine

{machine}
"""


def write(results: dict[str, Any], docs: Path) -> None:
    cases = results["cases"]
    points = growth(cases)

    def titled(*groups: str) -> dict[str, Case]:
        return {f"({id}) {case['title']}": case for id, case in cases.items() if id.split("-")[0] in groups}

    page = PAGE.format(
        verdict=verdict(results["ns3"]["chosen"]),
        summary=summary(cases),
        cost=cost_table("scenario", titled("a", "b", "c", "e"), list(COLUMNS)[:-1]),
        fabric=cost_table("scenario", titled("f"), list(COLUMNS)),
        short=cost_table("scenario", titled("g"), list(COLUMNS)),
        growth=cost_table("flows", {f"{n:,}": case for n, case in points.items()}, list(COLUMNS)[1:]),
        memory=memory(cases),
        bare=bare_table(cases),
        tuned=tuned(cases),
        tracing=tracing(cases),
        costs=costs.section(),
        instructions=instructions.table(),
        builds=builds(results),
        machine=machine(results),
    )
    (docs / "performance.md").write_text(page)
    instructions.figure(docs / "images" / "performance-instructions.png")
    if points:
        figure(points, docs / "images" / "performance-growth.png")
