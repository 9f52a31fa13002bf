"""Soak of the wire: 64 flows over 100 Mbit/s for ten minutes; memory, accounts; then kill -9 in the middle, and again, clean.

python tests/wire/soak.py [SECONDS]      (as root, or in `unshare -Urn`)
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent


def start(seconds: float, out: Path) -> subprocess.Popen[bytes]:
    """A run of so many seconds."""
    command = [
        sys.executable,
        "-m",
        "haltere",
        "run",
        str(HERE / "soak.toml"),
        "--world",
        "wire",
        "--ignore-calibration",
    ]
    return subprocess.Popen(
        [*command, "--set", f"duration={seconds:g}s", "--out", str(out)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def resident_kb(pid: int) -> int:
    """Memory of a process."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))


def namespaces() -> set[str]:
    """Network namespaces that some process is in or holds."""
    found = set()
    for process in Path("/proc").glob("[0-9]*"):
        for link in [process / "ns" / "net", *process.glob("fd/*")]:
            try:
                target = os.readlink(link)
            except OSError:
                continue
            if target.startswith("net:["):
                found.add(target)
    return found


def main() -> int:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 600
    before = namespaces()
    with tempfile.TemporaryDirectory() as folder:
        process = start(seconds, Path(folder) / "long")
        memory: list[int] = []
        began = time.monotonic()
        while process.poll() is None:
            time.sleep(5)
            if process.poll() is None and time.monotonic() - began > 20:
                memory.append(resident_kb(process.pid))
        print(f"{time.monotonic() - began:.0f} s, exit status {process.returncode}")
        (run,) = json.loads((Path(folder) / "long" / "manifest.json").read_text())["runs"]
        router = run["wire"]["router"]
        refused = sum(port["overrun"] + port["refused"] for port in router["ports"])
        link = max(router["links"], key=lambda one: one["dropped_congestion"])
        print(
            f"bottleneck: {link['sent']} packets, {link['sent_bytes'] * 8e-6 / router['time_s']:.3f} Mbit/s; all ports: {router['arrived']} came, "
            f"{router['departed']} left, {router['inside']} inside, {router['unaccounted']} unaccounted for, {refused} lost outside; "
            f"router {100 * router['cpu']:.0f} % of a core; late: {router['late_us']}"
        )
        quarter = max(1, len(memory) // 4)
        print(
            f"resident memory: first quarter at most {max(memory[:quarter])} kB, last quarter at most {max(memory[-quarter:])} kB"
        )
        process = start(60, Path(folder) / "killed")
        time.sleep(15)
        process.kill()
        process.wait()
        time.sleep(1)
        print(f"killed in the middle: {len(namespaces() - before)} namespaces left")
        process = start(8, Path(folder) / "killed")
        print(
            f"again in the same directory: exit status {process.wait()}, {len(namespaces() - before)} namespaces left"
        )
    return int(router["unaccounted"] != 0 or bool(namespaces() - before))


if __name__ == "__main__":
    sys.exit(main())
