"""docs/performance.md and its figure, from the results of the suite."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import costs
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
        "One more flow takes this much memory. It is the slope of peak memory from 64 flows on, and includes packets in flight, records and"
        f" the plan.\n\n{table(['one more flow', 'Haltere, KiB', 'ns-3, KiB'], rows)}"
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
    rows = []
    for who, name in (("haltere", "Haltere"), ("tuned", "tuned")):
        known = [
            (aim, aim / wheel, crossings(cases[id], who), crossings(cases[id], "bare"))
            for id, (aim, wheel, *_) in REFERENCE.items()
            if cases.get(id, {}).get(who)
        ]
        if known:
            reached = [
                sum(Spread.of(ours).median <= aim for aim, _, ours, _ in known),
                sum(ratios(ours, bare).median <= most for _, most, ours, bare in known),
                sum(min(ours) <= aim for aim, _, ours, _ in known),
                sum(min(ours) / min(bare) <= most for _, most, ours, bare in known),
            ]
            rows.append([name, *(f"{count} of {len(known)}" for count in reached)])
    if not rows:
        return ""
    head = [
        "build",
        "medians: time",
        "medians: ratio to a wheel",
        "least of all runs: time",
        "least of all runs: ratio to a wheel",
    ]
    return f"**Aims reached**, as a time and as a ratio to a timing wheel:\n\n{table(head, rows)}"


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
        f"A record costs {times(ratio(case, 'traced'))} times the CPU time of the same run without a record, in {len(case['traced'])} turns."
        " The run is 4 s of the network of (b). The record has the bottleneck's queue each millisecond and all flows each 10 ms, in"
        " memory.\n\n"
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
    aim = f"The aim for scenarios (a) to (c) is {TARGET} times less CPU time than ns-3"
    if not known:
        return f"{aim}. ns-3 was not run with them."
    medians = [f"({id}) {number(r.median)}" for id, r in known.items() if r]
    missed = [f"({id})" for id, r in known.items() if r and r.median < TARGET]
    outcome = "is missed in " + " and ".join(missed) if missed else "is reached"
    text = f"{aim}.\nIt {outcome}: {', '.join(medians)}."
    if chosen == "optimized":
        return f"{text}\nThe build of ns-3 is `optimized`: without logging and asserts, `-O3 -march=native`."
    return (
        f"{text}\nThe build of ns-3 is `{chosen}`, the fastest that was found. A build without logging (`make bench-ns3`) is"
        " faster. Ratios to it are not measured yet. They will be smaller."
    )


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
        text += (
            "\n\nIf the load was above half the cores, other work kept this machine busy. CPU times of both programs are then longer than on an"
            " idle machine. Ratios remain valid, because the programs run in turn, but they vary more."
        )
    return text


TUNED = """\
`make tuned` makes a profile-guided build. It builds the package, runs it, and builds it again. From the runs the compiler learns which direction
each branch usually takes. The networks of these runs are not those of this page ([tuned.py](../benches/tuned.py),
[decision 0078](decisions/0078-a-build-that-learned-from-runs.md)). Results are the same, byte for byte. Columns with *tuned* show this
build. All other columns on this page show the usual build. The build of ns-3 is not profile-guided.
"""


PAGE = """\
<!-- Written by `make bench` from benches/results.json; the text is in benches/report.py. -->

# Performance

This page compares the CPU time and memory of Haltere and ns-3 on the same scenarios.
{verdict}

{summary}

Each ratio of CPU time is the median over all turns, with the least and the most in brackets. A ratio compares two runs, one directly after the
other. The programs run in turn on one machine: A B, B A, A B. So load on the machine changes the times more than the ratios. Use the
ratios for your own machine, not the times. A ratio of peak memory is the ratio of the medians.

## Terms of the tables

- A **cell** with two numbers has the medians of Haltere / ns-3. A cell with one number is Haltere alone.
- A **pair** is a full segment delivered to an application: a data packet that crossed the network, with its acknowledgement.
- A **packet-hop** is one packet on one link.
- **CPU time** is user and system time of the whole process. It includes start-up and the construction of the network.
- **Events** are counted by each program in its own way. Haltere needs less than one event per packet-hop
  ([decision 0077](decisions/0077-links-fed-by-one-link.md)).
- **Peak memory** is the maximum resident memory (`VmHWM`).
- **Memory of a flow** is the memory that became resident after the program's start, divided by the number of flows. It includes the
  network, the packets and the record of flows.

## Long flows

{cost}

## A data centre

{fabric}

- **Network.** 128 hosts at 10 Gbit/s, DCTCP, step threshold.
- **Permutation.** Each host sends to one other host for the whole run.
- **Incast.** Every 2 ms, 64 hosts send 32 kB each to one host.
- **Paths.** A hash of addresses and ports spreads the flows over equal paths. Haltere's plan gives ns-3 the path of each flow in both
  directions. For the permutations the suite checks that both programs used the same links.

## Short flows

{short}

Flows arrive as a Poisson process over 9 leaves and 4 spines. There are 144 hosts at 10 Gbit/s, with DCTCP. Sizes follow the web-search
distribution (1.7 MB on average). The memory of a flow is divided by all flows that arrived, not by those active at one time.
[Flow completion times](#flow-completion-times) are at the end of the page.

## Growth

{growth}

These are DCTCP flows over one link of 10 Gbit/s for 200 ms. Only the number of flows differs. CPU time includes the construction of the network.
The table of [work done](#work-done) has the bytes delivered, in the rows (d).

With 4,096 flows, a third of ns-3's time goes into its routers' lists of packet handlers. These lists have a few entries for each device
(`Node::ReceiveFromDevice` and `TrafficControlLayer::Receive`, by `perf record`). We left them unchanged.

{memory}

![CPU time and memory against the number of flows](images/performance-growth.png)

## Beside a bare event loop

{bare}

This table shows how far Haltere is above the least possible cost. The bare loop only moves packets over the same links
(`crates/haltere-sim/examples/bare_loop.rs`). It has a timing wheel and fixed windows. It has no loss, no timers and no TCP.

**How to read it.** A figure is a median, with the least of all runs in brackets. The machine is a share of a larger one. For seconds or minutes
everything on it takes up to twice as long. Programs that execute more code suffer most. Here a pair is a data packet over the
bottleneck with its acknowledgement, on both sides. The loop acknowledges every packet, so its pair is six packet-hops. Haltere's receivers behave as
Linux's and usually acknowledge every second packet, so its pair is about five.

{aims}

| column | meaning |
| --- | --- |
| Haltere | the experiment file with the settings of (b); its round-trip times are drawn with the seed |
| tuned | the same with the profile-guided build |
| Haltere, the loop's RTTs | `crates/haltere-sim/examples/dumbbell.rs`: exactly the round-trip times of the loop, and Haltere's own defaults (buffers that grow, Linux's quick acknowledgements) |
| other loops | two loops without TCP over the same links: a timing wheel, and a heap of the links' heads |
| htsim | htsim with a simple TCP without SACK |
| aim over a wheel | the aim divided by the time of the timing wheel in *other loops* |

*Other loops* and *htsim* were measured elsewhere, on this class of machine. They had 104, 65 and 16 packets of a flow in flight, in twice the
bandwidth-delay product. The flows of the first three rows have the same room in link and queue. The speed of the machine changes a ratio
less than its two times.

The last row is harder. The link holds less than one packet of each flow. A quarter of all packets are lost, and the flows depend on retransmission
timeouts.

{tuned}{tracing}{costs}## The same work

Both programs run the same plan. Haltere reads the experiment file (`benches/scenarios`) and draws round-trip times, starts, sizes and paths. It
prints nodes, links and flows. ns-3 builds exactly these (`benches/ns3/plan.cc`). Both programs have the same:

- segment size, fixed buffers, initial window (10), and SACK;
- acknowledgements: for every second segment, or after the same delay;
- minimum retransmission timeout and delay: 200 ms and 40 ms; 5 ms and 1 ms in the data centre;
- queues with the same limits;
- no recording.

**Differences of TCP.** Haltere's TCP follows Linux. It also has RACK, tail loss probes, F-RTO and undo, which ns-3 lacks. CUBIC and the end of
slow start differ between the two. So losses differ, most in (a). [Validation](validation.md) compares Haltere with Linux.

**Differences of packets.** ns-3's packets carry real headers. Haltere writes headers only for a capture.

**Choices that make ns-3 fast.**
- A drop-tail queue is the device's own queue, with no queue disc above it.
- The step threshold is a queue disc of few lines. The examples of ns-3 use RED.
- Routes are in a hash table, because ns-3 searches its own tables from end to end for each packet. If a destination has
  several next hops, the key is the addresses and the server's port, which are read from the packet.
- IPv6 is off, and the strong end system model is on.
- There is no tracing and no checksums, and the program ends without destroying its objects.

The [table of work done](#work-done) shows what both then carried.

## Which ns-3

{builds}

Each build first runs one second of scenario (c). The fastest takes part. The suite checks in the library itself that logging is compiled out:
it counts calls of `LogComponent::IsEnabled`.

## How to run it again

```sh
make bench-ns3     # once: ns-3 from Debian's source package, optimised
make bench         # the usual cases; writes benches/results.json, this page and its figure
make bench-all     # the long cases too: a million flows
.venv/bin/python benches/bench.py run --only a,b     # some cases; then: benches/bench.py report
make bench-check   # instructions of a pair of (b) compared with the committed count, under Valgrind's callgrind
```

Without ns-3 the other programs run, and a message says how to get ns-3. Haltere is compiled with `cargo build --release` (the workspace's
profile: fat LTO, one codegen unit) for any x86-64, not for this machine alone.

## The machine

{machine}

## Work done

The first run of each scenario, `Haltere / ns-3`:

{work}

## Flow completion times

The first run of each scenario. The ideal time of a flow is its time alone on its path: the handshake, the propagation, and its bytes on the slowest
link.

{completions}
"""


def write(results: dict[str, Any], docs: Path) -> None:
    cases = results["cases"]
    points = growth(cases)

    def titled(*groups: str) -> dict[str, Case]:
        return {f"({id}) {case['title']}": case for id, case in cases.items() if id.split("-")[0] in groups}

    ending = {id: case for id, case in cases.items() if id.startswith("g-") or id.endswith("incast")}
    page = PAGE.format(
        verdict=verdict(cases, results["ns3"]["chosen"]),
        summary=summary(cases),
        cost=cost_table("scenario", titled("a", "b", "c", "e"), list(COLUMNS)[:-1]),
        fabric=cost_table("scenario", titled("f"), list(COLUMNS)),
        short=cost_table("scenario", titled("g"), list(COLUMNS)),
        completions=completion_table(ending),
        work=work_table(cases),
        growth=cost_table("flows", {f"{n:,}": case for n, case in points.items()}, list(COLUMNS)[1:]),
        memory=memory(cases),
        bare=bare_table(cases),
        aims=aims(cases),
        tuned=tuned(cases),
        tracing=tracing(cases),
        costs=costs.section(),
        builds=builds(results),
        machine=machine(results),
    )
    (docs / "performance.md").write_text(page)
    if points:
        figure(points, docs / "images" / "performance-growth.png")
