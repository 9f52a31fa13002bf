"""Draws conditions for a blind comparison, from a seed, over all queue disciplines and controls that both sides have.

    python validation/draw.py 1 60 --out draw1

draws 60 scenarios that nobody chose, measures each five times in the kernel world with Linux's TCP and Linux's own discipline, runs the
simulator with ten seeds, and counts the rows that are inside `haltere validate`'s tolerances. `draw1/RELEASE.json` keeps what was measured, so
that an interrupted draw goes on; `draw1/rows.csv` has every row. Count a draw once, mend causes, then draw anew with another seed.

    python validation/draw.py 1 60 --scenarios > draw1.json

prints the scenarios instead, for another harness, as `sets.py` does.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

from haltere import validate
from haltere.runs.progress import Bar
from haltere.validate import ours
from haltere.validate.load import Case, Repetition
from haltere.validate.scenario import normal
from haltere.worlds import Kernel
from sets import FRAME, base, bulk

REPETITIONS = 5
RATES = (5, 10, 20, 50, 100)
"""Mbit/s."""
RTTS = (5, 10, 20, 40, 80, 160)
"""Milliseconds."""
CONTROLS = ("cubic", "reno", "bbr", "vegas", "highspeed", "scalable", "hybla", "htcp", "westwood", "bic", "illinois", "veno", "yeah", "cdg", "nv", "lp")  # fmt: skip
Words = Callable[[Random, float, int], str]
"""The text of `tc` for a rate and a bandwidth-delay product in packets."""


def _red(draw: Random, rate: float, bdp: int) -> str:
    least = draw.choice((10, 20, 40))
    most = least * draw.choice((2, 3))
    words = f"red limit {8 * most * FRAME} min {least * FRAME} max {most * FRAME} avpkt 1000 bandwidth {rate}mbit"
    return f"{words} burst {round(least * FRAME / 1000 * 5 / 3)} probability {draw.choice((0.02, 0.1))}"


def _choke(draw: Random, rate: float, bdp: int) -> str:
    least = draw.choice((10, 20))
    return f"choke limit {10 * least} min {least} max {3 * least} bandwidth {rate}mbit"


def _delayed(kind: str) -> Words:
    return lambda draw, rate, bdp: f"{kind} target {draw.choice((3, 5, 15))}ms interval {draw.choice((60, 100, 200))}ms"


def _targeted(kind: str) -> Words:
    return lambda draw, rate, bdp: f"{kind} target {draw.choice((10, 15, 25))}ms"


WORDS: dict[str, Words] = {
    "pfifo": lambda draw, rate, bdp: f"pfifo limit {max(8, round(bdp * draw.choice((0.5, 1, 2, 4))))}",
    "bfifo": lambda draw, rate, bdp: f"bfifo limit {max(8, round(bdp * draw.choice((0.5, 1, 2)))) * FRAME}",
    "codel": _delayed("codel"),
    "fq_codel": _delayed("fq_codel"),
    "pie": _targeted("pie"),
    "fq_pie": _targeted("fq_pie"),
    "red": _red,
    "choke": _choke,
    "sfq": lambda draw, rate, bdp: f"sfq limit {max(16, 2 * bdp)} {draw.choice(('', 'headdrop'))}".strip(),
    "sfb": lambda draw, rate, bdp: "sfb",
    "fq": lambda draw, rate, bdp: f"fq flow_limit {draw.choice((30, 100))}",
    "cake": lambda draw, rate, bdp: f"cake unlimited rtt {draw.choice((50, 100))}ms",
}
SHAPING: dict[str, Words] = {
    "tbf": lambda draw, rate, bdp: (
        f"tbf rate {rate}mbit burst {draw.choice((2, 10)) * FRAME} latency {draw.choice((20, 50, 100))}ms"
    ),
    "cake": lambda draw, rate, bdp: f"cake bandwidth {rate}mbit {draw.choice(('besteffort', 'diffserv4', 'flows'))}",
}
"""Disciplines that shape themselves."""
MARKING = ("codel", "fq_codel", "pie", "fq_pie", "red", "choke", "sfb", "cake")


def _flows(draw: Random) -> list[dict[str, Any]]:
    """One control alone, the same several times, or two beside each other."""
    first, second = draw.sample(CONTROLS, 2)
    number = draw.choice((1, 1, 2, 4, 8))
    return [bulk(first, number)] + ([bulk(second, number)] if draw.random() < 0.5 else [])


def condition(draw: Random, name: str) -> dict[str, Any]:
    """One scenario."""
    rate, rtt = draw.choice(RATES), draw.choice(RTTS)
    bdp = max(1, round(rate * 1e6 * rtt / 1000 / 8 / FRAME))
    shapes = draw.random() < 0.2
    of = SHAPING if shapes else WORDS
    kind = draw.choice(sorted(of))
    words, flows = of[kind](draw, rate, bdp), _flows(draw)
    scenario = base("X", f"{name}_{kind}_{'_'.join(flow['cc'] for flow in flows)}", rate, rtt, words, flows)
    if shapes:
        scenario["shaper"] = "none"
    if kind in MARKING and draw.random() < 0.3:
        scenario |= {"ecn": 1, "qdisc": words if kind in ("sfb", "cake", "fq_codel") else f"{words} ecn"}
    if draw.random() < 0.2:
        scenario["netem_fwd"] = draw.choice(("loss 0.1%", "loss 0.5%", "loss 1%"))
    if draw.random() < 0.15:
        sizes = {"10000": 5, "100000": 3, "1000000": 1}
        scenario["transfers"] = [{"dir": "fwd", "cc": "cubic", "per_second": rate / 10, "sizes": sizes, "start": 1.0}]
    return scenario


def draw(seed: int, number: int) -> list[dict[str, Any]]:
    """So many scenarios; the same for the same seed."""
    random = Random(f"draw-{seed}")
    return [condition(random, f"{seed}.{k:02d}") for k in range(1, number + 1)]


def measured(scenario: dict[str, Any], kept: dict[str, Any], where: Kernel) -> Case:
    """The scenario as Linux runs it. `kept` has the measures that are known, and gets the others."""
    case = Case(scenario["name"], scenario["set"], normal(scenario))
    linux = Case(case.name, case.group, replace(case.scenario, on_linux=True))
    for seed in range(1, REPETITIONS + 1):
        name = f"{case.name}_r{seed}"
        if name not in kept:
            kept[name] = dict(ours.run(linux, seed, where))
        case.repetitions.append(Repetition(seed, linux.starts(seed), kept[name]))
    return case


def count(scenarios: list[dict[str, Any]], out: Path, where: Kernel, jobs: int) -> str:
    """Measures and compares a draw; what it came to, in words."""
    out.mkdir(parents=True, exist_ok=True)
    store = out / f"{where.built.release}.json"
    kept = json.loads(store.read_text()) if store.is_file() else {}
    cases = []
    with ThreadPoolExecutor(jobs) as pool, Bar(len(scenarios), "draw") as bar:
        try:
            for case in pool.map(lambda scenario: measured(scenario, kept, where), scenarios):
                cases.append(case)
                bar.update(len(cases))
                store.write_text(json.dumps(dict(kept), indent=0))
        finally:
            pool.shutdown(cancel_futures=True)
            store.write_text(json.dumps(kept, indent=0))
    outcome = validate.validate(cases, jobs=jobs, quiet=False)
    validate.write_csv(outcome.rows, out / validate.ROWS)
    lines = [f"not compared: {name}: {reason}" for name, reason in outcome.skipped]
    for row in outcome.rows:
        if not row.inside:
            lines.append(f"outside: {row.case}: {row.measure}: Linux {row.linux}, ours {row.ours}")
    inside, rows = sum(row.inside for row in outcome.rows), len(outcome.rows)
    return "\n".join([*lines, f"beside Linux {where.built.release}: {inside} of {rows} ({100 * inside / rows:.1f} %)"])


def main() -> None:
    """Prints the scenarios of a draw, all repetitions, or counts it."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("seed", type=int)
    parser.add_argument("number", type=int, help="how many scenarios")
    parser.add_argument("--scenarios", action="store_true", help="only print them")
    parser.add_argument("--out", type=Path, default=Path("draw"), help="the folder of the measures and rows")
    parser.add_argument("--kernel", default="6.1", help="which kernel (default: 6.1, that of the sets)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    scenarios = draw(options.seed, options.number)
    if options.scenarios:
        every = [
            scenario | {"name": f"{scenario['name']}_r{repetition}", "seed": repetition}
            for repetition in range(1, REPETITIONS + 1)
            for scenario in scenarios
        ]
        json.dump(every, sys.stdout, indent=1)
    else:
        print(count(scenarios, options.out, Kernel(kernel=options.kernel), options.jobs))


if __name__ == "__main__":
    main()
