#!/usr/bin/env python3
"""Runs the paper's cases A to E on BMv2 itself and writes what the study's page reads: ../bmv2.json.

    sudo ./cases.py                     every case and marking, 10 runs each, in random order; 2 h 10 min
    sudo ./cases.py --runs 5 --cases BC
    ./cases.py --dry-run                prints every command and runs none

The network is that of net.sh with links of 1 Gbit/s and 3 ms (netem). Hosts send with DCTCP: `sysctl` sets it in every namespace, since a
listener that is not DCTCP's refuses ECN and nothing would be marked. Traffic is that of ../case-*.toml, by iperf 2, as in the paper. The
order is random, so that a slow change of the machine falls on all markings alike.

Needs root, `ip`, `tc`, `ethtool`, `sysctl`, `iperf` (version 2), `p4c`, `simple_switch` and `simple_switch_CLI`, and the kernel modules
sch_netem and tcp_dctcp; what is missing is named before anything is changed, and the status is 77.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
OUT = HERE.parent / "bmv2.json"
TOOLS = ("ip", "tc", "ethtool", "sysctl", "iperf", "p4c", "simple_switch", "simple_switch_CLI")
MODULES = ("sch_netem", "tcp_dctcp")
SKIPPED = 77
HOSTS = 6
DEPTHS = 128
#: As the study calls them, and how the program is compiled for each. The original of a returned packet is marked, too.
DEFINES = {
    "one": [],
    "hysteresis": ["-DHYSTERESIS"],
    "return": ["-DRETURN", "-DMARK"],
    "return-hysteresis": ["-DRETURN", "-DMARK", "-DHYSTERESIS"],
}
TCP_PORT, UDP_PORT = 5001, 5002


def namespace(host: int | str) -> str:
    return f"p4-{host}" if host == "switch" else f"p4-h{host}"


def inside(host: int | str, *command: str) -> list[str]:
    return ["ip", "netns", "exec", namespace(host), *command]


class Shell:
    """Runs commands, or prints them."""

    def __init__(self, dry: bool) -> None:
        self.dry = dry
        self.going: list[subprocess.Popen[str]] = []

    def run(self, *command: str, given: str = "") -> str:
        """What the command prints; its failure ends the program with what it said."""
        if self.dry:
            print(shlex.join(command) + (f" <<< {shlex.quote(given)}" if given else ""))
            return ""
        done = subprocess.run(command, input=given, capture_output=True, text=True)
        if done.returncode:
            self.stop()
            sys.exit(f"cases.py: {shlex.join(command)}: status {done.returncode}: {done.stderr.strip()}")
        return done.stdout

    def start(self, *command: str) -> subprocess.Popen[str] | None:
        """In the background."""
        if self.dry:
            print(shlex.join(command), "&")
            return None
        self.going.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True))
        return self.going[-1]

    def wait(self, seconds: float) -> None:
        """Some seconds."""
        if self.dry:
            print(f"sleep {seconds:g}")
        else:
            time.sleep(seconds)

    def stop(self) -> list[str]:
        """Ends what was started here and gives what each printed."""
        printed = []
        for process in self.going:
            process.terminate()
            printed.append(process.communicate(timeout=10)[0])
        self.going = []
        return printed


def missing() -> list[str]:
    """What this machine lacks."""
    lacks = [f"`{tool}`" for tool in TOOLS if shutil.which(tool) is None]
    lacks += [] if os.geteuid() == 0 else ["root"]
    if shutil.which("iperf"):
        told = subprocess.run(["iperf", "--version"], capture_output=True, text=True)
        if not re.search(r"version 2", told.stdout + told.stderr):
            lacks.append("iperf of version 2")
    for module in MODULES:
        if subprocess.run(["modprobe", module], capture_output=True).returncode if shutil.which("modprobe") else True:
            lacks.append(f"the kernel module {module}")
    return lacks


def case(name: str) -> dict[str, Any]:
    """The traffic of a case by kind."""
    entries = tomllib.loads((HERE.parent / f"case-{name.lower()}.toml").read_text())["traffic"]
    return {kind: [entry for entry in entries if entry["kind"] == kind] for kind in ("bulk", "cbr")}


def variants(name: str) -> list[str]:
    return ["one", "hysteresis"] if name in "ABC" else ["one", "return", "return-hysteresis"]


def set_up(shell: Shell) -> None:
    """The namespaces, links of 1 Gbit/s and 3 ms each way, and DCTCP at both ends."""
    shell.run(str(HERE / "net.sh"), "up")
    link = ("root", "netem", "rate", "1gbit", "delay", "3ms", "limit", "10000")
    for host in range(1, HOSTS + 1):
        shell.run("tc", "-n", namespace(host), "qdisc", "replace", "dev", "eth0", *link)
        shell.run("tc", "-n", namespace("switch"), "qdisc", "replace", "dev", f"port{host}", *link)
        shell.run(*inside(host, "sysctl", "-qw", "net.ipv4.tcp_congestion_control=dctcp", "net.ipv4.tcp_ecn=1"))


def compiled(shell: Shell, folder: Path) -> dict[str, Path]:
    """Each variant's program."""
    programs = {}
    for variant, defines in DEFINES.items():
        out = folder / variant
        shell.run(
            "p4c",
            "--target",
            "bmv2",
            "--arch",
            "v1model",
            "-DDEPTHS",
            *defines,
            "-o",
            str(out),
            str(HERE / "haltere.p4"),
        )
        programs[variant] = out / "haltere.json"
    return programs


def control(shell: Shell, commands: str) -> str:
    """What BMv2's command line answers."""
    return shell.run(*inside("switch", "simple_switch_CLI"), given=commands)


def goodputs(printed: list[str], receivers: list[int]) -> dict[str, float]:
    """Mbit/s by sending host, from the servers' lines: iperf -y C ends them with bytes and bits per second."""
    found = {}
    for host, text in zip(receivers, printed, strict=True):
        lines = [line.split(",") for line in text.splitlines() if line.count(",") >= 8]
        if not lines:
            sys.exit(f"cases.py: iperf at h{host} must print a result, got {text!r}")
        found[f"H{host - 1}"] = float(lines[-1][8]) / 1e6
    return found


def one_run(shell: Shell, program: Path, traffic: dict[str, Any]) -> tuple[dict[str, float], list[int]]:
    """One run of a case: goodput by sending host, and how many packets found each depth."""
    ports = [part for port in range(1, HOSTS + 1) for part in ("-i", f"{port}@port{port}")]
    switch = shell.start(*inside("switch", "simple_switch", *ports, str(program)))
    shell.wait(3)
    if switch and switch.poll() is not None:
        sys.exit(f"cases.py: simple_switch must keep running, ended with status {switch.returncode}")
    control(shell, (HERE / "commands.txt").read_text())
    receivers = [int(entry["to"][1:]) for entry in traffic["bulk"]]
    clients = Shell(shell.dry)
    servers = Shell(shell.dry)
    for host in receivers:
        servers.start(*inside(host, "iperf", "-s", "-p", str(TCP_PORT), "-y", "C"))
    sinks = Shell(shell.dry)
    for entry in traffic["cbr"]:
        sinks.start(*inside(int(entry["to"][1:]), "iperf", "-s", "-u", "-p", str(UDP_PORT)))
    shell.wait(1)
    for kind, port in (("cbr", UDP_PORT), ("bulk", TCP_PORT)):
        for entry in traffic[kind]:
            to = f"10.0.0.{entry['to'][1:]}"
            seconds = entry.get("stop", "50s").removesuffix("s")
            rate = entry.get("rate", "").replace("Mbit", "M")
            udp = ["-u", "-b", rate, "-l", "1470"] if kind == "cbr" else []
            clients.start(*inside(int(entry["from"][1:]), "iperf", "-c", to, "-p", str(port), *udp, "-t", seconds))
    shell.wait(50 + 10)  # what waits in the switch when the senders end, and the last reports
    depths = control(shell, "register_read HaltereEgress.depths\n")
    clients.stop()
    sinks.stop()
    printed = servers.stop()
    shell.stop()
    if shell.dry:
        return {}, []
    counts = [int(count) for count in re.findall(r"\d+", depths.partition("=")[2])][:DEPTHS]
    return goodputs(printed, receivers), counts


def plan(cases: str, runs: int, seed: int) -> list[tuple[str, str]]:
    """Every run in random order."""
    each = [(name, variant) for name in cases for variant in variants(name)] * runs
    random.Random(seed).shuffle(each)
    return each


def write(results: list[tuple[str, str, dict[str, float], list[int]]], order: list[tuple[str, str]], seed: int) -> None:
    """The results so far, for the study's page."""
    goodput: dict[str, dict[str, dict[str, list[float]]]] = {}
    depths: dict[str, dict[str, list[int]]] = {}
    for name, variant, rates, counts in results:
        for host, rate in rates.items():
            goodput.setdefault(name, {}).setdefault(variant, {}).setdefault(host, []).append(rate)
        have = depths.setdefault(name, {}).setdefault(variant, [0] * len(counts))
        depths[name][variant] = [a + b for a, b in zip(have, counts, strict=True)]
    out = {
        "seed": seed,
        "done": len(results),
        "of": len(order),
        "kernel": os.uname().release,
        "goodput": goodput,
        "depths": depths,
    }
    OUT.write_text(json.dumps(out) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(
        description="The paper's cases on BMv2.", epilog=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=10, help="runs of each case and marking (default: 10)")
    parser.add_argument("--cases", default="ABCDE", help="which cases (default: ABCDE)")
    parser.add_argument("--seed", type=int, default=1, help="of the order (default: 1)")
    parser.add_argument(
        "--dry-run", action="store_true", help="print every command and run none; the first run of the order only"
    )
    options = parser.parse_args()
    unknown = set(options.cases) - set("ABCDE")
    if unknown or options.runs < 1:
        sys.exit("cases.py: --cases must be letters from A to E, and --runs at least 1")
    order, shell = plan(options.cases, options.runs, options.seed), Shell(options.dry_run)
    lacks = [] if options.dry_run else missing()
    if lacks:
        print("not run: needs", ", ".join(lacks))
        sys.exit(SKIPPED)
    with tempfile.TemporaryDirectory(prefix="haltere-p4-") as folder:
        programs = compiled(shell, Path("build") if options.dry_run else Path(folder))
        set_up(shell)
        try:
            results: list[tuple[str, str, dict[str, float], list[int]]] = []
            for name, variant in order[:1] if options.dry_run else order:
                rates, counts = one_run(shell, programs[variant], case(name))
                if not options.dry_run:
                    results.append((name, variant, rates, counts))
                    write(results, order, options.seed)
                    print(f"{len(results)}/{len(order)}: case {name}, {variant}: {rates}", flush=True)
        finally:
            shell.stop()
            shell.run(str(HERE / "net.sh"), "down")


if __name__ == "__main__":
    main()
