"""The study `dctcp-hysteresis`: DCTCP with two marking thresholds and with marked copies returned to the sender.

Source: V. L. G. Silva, J. A. M. Nacif and M. A. M. Vieira, "Data Center TCP com Histerese em Switches P4". `papers/dctcp-hysteresis/README.md`
says what the paper leaves open and how it is read here. Here are the runs; what they show is in two modules beside this one.
"""

from __future__ import annotations

from typing import Any

from ...api import Scenario
from ...report.document import Document, Heading, Text
from ...runs.results import Results
from ..base import Finding, Options, Outcome, data, with_axes
from . import cases, fast, paper

ID = "dctcp-hysteresis"
PARTS = ("paper", "map", "fast", "incast")
QUICK_SEEDS = 5


def reproduce(options: Options) -> Outcome:
    """Runs the study and checks its findings."""
    parts = (
        [options.variant_of(*PARTS)]
        if options.variant
        else [part for part in PARTS if not (options.quick and part == "map")]
    )
    document = Document("dctcp-hysteresis: DCTCP with two thresholds and with returned packets")
    left_out = _left_out(options)
    if left_out:
        document.add(Text(f"Left out by --quick: {left_out}."))
    findings: list[Finding] = []
    for part in parts:
        results = _PARTS[part](options)
        heading, show = _SHOWN[part]
        document.add(Heading(heading))
        findings += show(results, document)
    return Outcome(ID, document, findings, left_out)


def _left_out(options: Options) -> str:
    if not options.quick:
        return ""
    left = [
        f"rates other than {cases.PRIMARY.rate} packets/s",
        "the map",
        "40 and 100 Gbit/s",
        "4, 8, 32 senders",
    ]
    return "; ".join(left + (["5 of 10 seeds"] if options.seeds is None else []))


def _load(name: str) -> Scenario:
    return Scenario.load(data(ID) / f"{name}.toml")


def _run(options: Options, part: str, scenarios: list[Scenario], labels: list[dict[str, Any]], title: str) -> Results:
    seeds = options.seeds if options.seeds is not None or not options.quick else QUICK_SEEDS
    return options.run(scenarios, labels, seeds=seeds, title=title, part=part)


def _run_paper(options: Options) -> Results:
    scenarios, labels = zip(*cases.scenarios(options.quick), strict=True)
    return _run(options, "paper", list(scenarios), list(labels), "Cases A to E of the paper")


def _run_map(options: Options) -> Results:
    scenario = _load("map")
    return _run(options, "map", [scenario], [{}], scenario.title)


def _at_speeds(options: Options, part: str) -> Results:
    """The experiment of that name at each speed, which is that of every link."""
    scenario = _load(part)
    if options.quick:
        scenario = with_axes(scenario, {fast.SENDERS: [2, 16, 64]})
    speeds = fast.SPEEDS[:1] if options.quick else fast.SPEEDS
    each = [
        scenario.with_values({"topology.dumbbell.access.rate": rate, "topology.dumbbell.bottleneck.rate": rate})
        for rate in speeds
    ]
    return _run(options, part, each, [{"rate": rate} for rate in speeds], scenario.title)


def _run_fast(options: Options) -> Results:
    return _at_speeds(options, "fast")


def _run_incast(options: Options) -> Results:
    return _at_speeds(options, "incast")


_PARTS = {"paper": _run_paper, "map": _run_map, "fast": _run_fast, "incast": _run_incast}
_SHOWN = {
    "paper": ("Findings", paper.show),
    "map": ("Beyond the paper: where the two thresholds should lie", fast.show_map),
    "fast": ("Beyond the paper: long flows at 10, 40 and 100 Gbit/s", fast.show_fast),
    "incast": ("Beyond the paper: incast at 10, 40 and 100 Gbit/s", fast.show_incast),
}
