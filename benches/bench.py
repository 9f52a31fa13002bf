"""The benchmark suite: Haltere and ns-3 run the same scenarios in turn, one after the other, on this machine.

    python benches/bench.py                    build, run everything, write results.json, docs/performance.md and its figure
    python benches/bench.py --all              the long cases, too (a million flows)
    python benches/bench.py run --only a,b     run some again and keep the other results
    python benches/bench.py report             write the page from the results that are there

`make bench` does the first.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import measure
import ns3
import report
import tuned
from suite import CASES, SCENARIOS, Case, set_key

EXAMPLE_PROGRAMS = ("scenario", "bare_loop", "dumbbell")

HERE = Path(__file__).parent
ROOT = HERE.parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
WORK = TARGET / "bench"
EXAMPLES = TARGET / "release" / "examples"
UNLIMITED_S = 24 * 3600.0
OWN_NS3 = Path(os.environ.get("NS3_BUILD", TARGET / "ns3" / "build"))


def experiment(case: Case, traced: bool = False) -> Path:
    """The case's experiment with its settings, as a file."""
    table = tomllib.loads((SCENARIOS / case.file).read_text())
    for path, value in case.settings.items():
        set_key(table, path, value)
    if traced:
        table["measure"] = {"queues": "1ms", "flows": "10ms"}
    WORK.mkdir(parents=True, exist_ok=True)
    file = WORK / f"{case.id}{'-traced' if traced else ''}.json"
    file.write_text(json.dumps(table, indent=1))
    return file


def segment(case: Case) -> int:
    """Payload bytes of a full segment in that case."""
    return int(tomllib.loads((SCENARIOS / case.file).read_text())["tcp"]["mss"].removesuffix("B"))


def build_own() -> None:
    """Haltere's programs, as the sources are now; where it can be done, also as they are after a lesson."""
    examples = [word for name in EXAMPLE_PROGRAMS for word in ("--example", name)]
    subprocess.run(["cargo", "build", "--release", "--quiet", "-p", "haltere-sim", *examples], cwd=ROOT, check=True)
    try:
        tuned.build_tuned()
    except tuned.NoTool as missing:
        print(f"the tuned build does not take part: {missing}", file=sys.stderr)


def build() -> None:
    """The programs of Haltere and of ns-3."""
    build_own()
    for one in ns3.builds(OWN_NS3):
        try:
            one.compile(WORK)
        except (OSError, RuntimeError) as error:
            print(f"ns-3 ({one.name}) cannot be used: {error}", file=sys.stderr)


def output(*command: str) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def machine() -> dict[str, Any]:
    """What the figures depend on."""
    cpu = next(
        (line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line),
        "",
    )
    return {
        "cpu": cpu or platform.processor(),
        "cores": os.cpu_count(),
        "system": platform.freedesktop_os_release().get("PRETTY_NAME", platform.system()),
        "kernel": platform.release(),
        "rustc": output("rustc", "--version"),
        "gcc": output("g++", "--version").splitlines()[0] if output("g++", "--version") else "",
        "commit": output("git", "rev-parse", "--short", "HEAD"),
        "changed": bool(output("git", "status", "--porcelain", "--untracked-files=no", "crates", "Cargo.toml")),
        "load": round(os.getloadavg()[0], 1),
        "date": datetime.date.today().isoformat(),
    }


def haltere_command(file: Path, examples: Path = EXAMPLES) -> list[str]:
    return [str(examples / "scenario"), str(file), "1"]


def plan(file: Path) -> Path:
    """The plan that Haltere makes of an experiment, for ns-3."""
    written = file.with_suffix(".plan")
    text = subprocess.run([*haltere_command(file), "--plan"], capture_output=True, text=True, check=True).stdout
    written.write_text(text)
    return written


def choose_ns3(limit_s: float) -> dict[str, Any]:
    """Runs a short scenario with every build of ns-3 that is here; the fastest takes part."""
    short = Case("calibration", "", "dctcp.toml", {"duration": "1s", "warmup": "100ms"})
    described = []
    for one in ns3.builds(OWN_NS3):
        program = WORK / f"plan-{one.name}"
        if not program.exists():
            continue
        done = min(
            (measure.run([str(program), f"--plan={plan(experiment(short))}"], limit_s) for _ in range(2)),
            key=lambda r: r.cpu_s,
        )
        described.append(
            {
                "name": one.name,
                "version": one.version,
                "note": one.note,
                "flags": "-O3 -DNDEBUG " + " ".join(one.flags),
                "log_checks": one.log_checks(),
                "cpu_s": done.cpu_s,
                "events": done.said["events"],
            }
        )
        print(f"ns-3 {one.version} ({one.name}): {done.cpu_s:.2f} s of CPU for one second of scenario c", flush=True)
    best = min(described, key=lambda b: b["cpu_s"], default=None)
    return {"builds": described, "chosen": best["name"] if best else None}


def commands_of(case: Case, ns3_name: str | None) -> dict[str, list[str]]:
    """Who takes part in a case, and what each runs."""
    file = experiment(case)
    commands = {"haltere": haltere_command(file)}
    if case.tuned and tuned.are_built():
        commands["tuned"] = haltere_command(file, tuned.EXAMPLES)
    if case.dumbbell:
        commands["dumbbell"] = [str(EXAMPLES / "dumbbell"), *case.dumbbell]
    if case.bare:
        commands["bare"] = [str(EXAMPLES / "bare_loop"), *case.bare]
    if case.traced:
        commands["traced"] = haltere_command(experiment(case, traced=True))
    if case.ns3 and ns3_name:
        commands["ns3"] = [str(WORK / f"plan-{ns3_name}"), f"--plan={plan(file)}"]
    return commands


def run_case(case: Case, ns3_name: str | None, repeats: int | None, limit_s: float) -> Iterator[dict[str, Any]]:
    """All that take part in a case in turn, so often, every second time in the opposite order: what is known after each turn."""
    commands = commands_of(case, ns3_name)
    result: dict[str, Any] = {
        "title": case.title,
        "file": case.file,
        "settings": dict(case.settings),
        "segment": segment(case),
    }
    for name in commands:
        result[name] = []
    for turn in range(repeats or case.repeats):
        for name in list(commands) if turn % 2 == 0 else list(commands)[::-1]:
            try:
                done = measure.run(commands[name], limit_s if name == "ns3" else UNLIMITED_S)
            except measure.ProgramFailed as error:
                if name != "ns3":
                    raise
                print(f"{case.id}: ns-3 gives up: {error}", file=sys.stderr, flush=True)
                result["ns3_failed"] = (
                    f"no end within {limit_s:g} s of CPU"
                    if "-9" in str(error) or "-24" in str(error)
                    else "it ended with an error"
                )
                del commands["ns3"]
                continue
            result[name].append(
                {"cpu_s": done.cpu_s, "wall_s": done.wall_s, "peak_kb": done.peak_kb, "said": done.said}
            )
            print(f"{case.id:14} {name:8} {done.cpu_s:9.3f} s of CPU {done.peak_kb / 1024:8.1f} MB", flush=True)
        same_paths(case, result)
        yield result


def same_paths(case: Case, result: dict[str, Any]) -> None:
    """Flows without an end that are spread over several paths must take the same in both simulators, else their work differs."""
    if "traffic[0]" in case.settings or case.file not in ("leaf_spine.toml", "fat_tree.toml") or not result.get("ns3"):
        return
    ours, theirs = (result[who][-1]["said"]["links_which"] for who in ("haltere", "ns3"))
    if ours != theirs:
        raise RuntimeError(f"{case.id}: the flows' paths differ: other links were used ({ours}, in ns-3 {theirs})")


def together(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """The runs of two measurements of one case, one after the other."""
    return after | {who: before.get(who, []) + runs for who, runs in after.items() if isinstance(runs, list)}


def run(options: argparse.Namespace) -> None:
    kept = json.loads(options.results.read_text()) if options.results.exists() else {}
    only = options.only.split(",") if options.only else []
    cases = [c for c in CASES if c.id in only or ((c.usual or options.all) and (not only or c.group in only))]
    if not cases:
        sys.exit(f"bench: --only must name some of {', '.join(c.id for c in CASES)}, got {options.only}")
    if options.no_ns3:
        chosen: dict[str, Any] = {"builds": [], "chosen": None}
    elif only and kept.get("ns3", {}).get("chosen") and (WORK / f"plan-{kept['ns3']['chosen']}").exists():
        chosen = kept["ns3"]
    else:
        chosen = choose_ns3(options.limit)
        if not chosen["chosen"]:
            print(ns3.HOW_TO_GET, file=sys.stderr)
    # What is run again replaces what was there; of the long cases the results stay until they are run again.
    keep = {c.id for c in CASES if only or not (c.usual or options.all)}
    known = {id: case for id, case in kept.get("cases", {}).items() if id in keep}
    here = machine()
    when = {key: here[key] for key in ("commit", "changed", "load", "date")}
    for case in cases:
        before = known.get(case.id) if options.more else None
        for done in run_case(case, chosen["chosen"], options.repeats, options.limit):
            known[case.id] = (together(before, done) if before else done) | {"when": when}
            ordered = {c.id: known[c.id] for c in CASES if c.id in known}
            results = {"machine": here, "ns3": chosen, "cases": ordered}
            options.results.write_text(json.dumps(results, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", choices=["all", "build", "run", "report"], default="all")
    parser.add_argument("--all", action="store_true", help="the long cases, too")
    parser.add_argument("--only", help="cases or groups of them, such as a,b,d-16,e; the others' results are kept")
    parser.add_argument("--repeats", type=int, help="runs of each program; by case where not given")
    parser.add_argument("--more", action="store_true", help="with --only: add the runs to those that are there")
    parser.add_argument("--limit", type=float, default=150, help="seconds of CPU after which a run of ns-3 is given up")
    parser.add_argument("--no-ns3", action="store_true", help="Haltere and the bare loop alone")
    parser.add_argument("--results", type=Path, default=HERE / "results.json")
    options = parser.parse_args()
    if options.what in ("all", "build"):
        build()
    elif options.what == "run":
        build_own()
    if options.what in ("all", "run"):
        run(options)
    if options.what in ("all", "report"):
        report.write(json.loads(options.results.read_text()), ROOT / "docs")


if __name__ == "__main__":
    main()
