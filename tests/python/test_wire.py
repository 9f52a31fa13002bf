"""The wire: real packets in network namespaces, from the command line. In CI these do not skip."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import loops
from conftest import UPLOADS, command
from haltere import Results

EXPERIMENT = """\
title = "Two kernel flows and a ping"
duration = "3s"
warmup = "1s"
seeds = 2

[topology.dumbbell]
pairs = 2
access = { rate = "100Mbit", delay = "1ms" }
bottleneck = { rate = "5Mbit", delay = "8ms", queue = { kind = "fq_codel" } }

[[traffic]]
kind = "bulk"
pairs = "all"
congestion = ["cubic", "reno"]

[[traffic]]
name = "ping"
kind = "ping"
pairs = [1]
interval = "50ms"
"""


def _prefix() -> list[str] | None:
    """What stands before a command so that it may make network namespaces: nothing as root, `unshare -Urn` for others."""
    for prefix in ([], ["unshare", "-Urn"]):
        if shutil.which((prefix or ["unshare"])[0]) is None:
            continue
        if subprocess.run([*prefix, "unshare", "-n", "true"], capture_output=True).returncode == 0:
            return prefix
    return None


PREFIX = _prefix()
privileged = pytest.mark.skipif(
    PREFIX is None and not os.environ.get("CI"), reason="needs root or `unshare -Urn`, and neither is there"
)


def on_wire(
    *arguments: str | Path, cwd: Path, prefix: Sequence[str] | None = None, timeout: float = 600
) -> subprocess.CompletedProcess[str]:
    """Runs a command line where it may use the wire."""
    before = (PREFIX or []) if prefix is None else prefix
    return subprocess.run(
        [*before, *command(*map(str, arguments))], cwd=cwd, capture_output=True, text=True, timeout=timeout
    )


def late_s(run: Mapping[str, Any], quantile: str = "max") -> float:
    """How long the router and the agent of a run made something wait: a busy machine takes the processor away."""
    notes = run["wire"]
    late: float = notes["router"]["late_us"][quantile] + notes["agent"]["late_us"][quantile]
    return late * 1e-6


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "net.toml"
    path.write_text(EXPERIMENT)
    return path


@privileged
def test_a_run_on_the_wire_fills_the_same_tables(file: Path) -> None:
    done = on_wire("run", file.name, "--world", "wire", "--ignore-calibration", cwd=file.parent)
    assert done.returncode == 0, done.stderr
    assert "2/2 runs" in done.stderr and "Ping round-trip time" in done.stdout
    folder = file.parent / "results" / "net-wire"
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["world"] == "wire" and manifest["complete"]
    for run in manifest["runs"]:
        calibration, router = run["wire"]["calibration"], run["wire"]["router"]
        assert calibration["link"]["planned_bps"] == 5_000_000
        assert calibration["planned_rtt_s"] == pytest.approx(0.0202, abs=0.0005)
        assert router["unaccounted"] == 0
        assert router["schedule"] in ("fifo", "slice", "shared")
        assert 0 < router["departed"] == sum(port["sent"] + port["refused"] for port in router["ports"])
        # What the line carries in 3 s, headers included, to a packet.
        assert all(link["sent_bytes"] <= 3 * 5e6 / 8 + 1514 for link in router["links"] if link["name"] == "l>r")
    # The results directory is one like any other.
    assert len(on_wire("hash", folder, cwd=file.parent, prefix=[]).stdout.splitlines()) == 3
    flows = json.loads(
        on_wire("run", file.name, "--world", "wire", "--ignore-calibration", "--json", cwd=file.parent).stdout
    )
    (point,) = flows["summary"]
    # Nothing is faster than the way, and never more than the line carries. What is late at the end of the warm-up counts after it.
    assert point["ping_ms"]["p50"]["mean"] > 18.0
    rate = sum(one["goodput_mbit"]["mean"] for one in point["traffic"].values())
    late = max(late_s(run) for run in json.loads((folder / "manifest.json").read_text())["runs"])
    assert rate < 5 * 1448 / 1514 * (1 + late / 2)
    assert {one["wire"]["router"]["cpu"] > 0 for one in manifest["runs"]} == {True}


def _loops_in(world: str, folder: Path, *more: str) -> loops.Tables:
    """The tables of the closed loops in that world."""
    out = folder / world
    shutil.rmtree(out, ignore_errors=True)
    done = on_wire("run", "loops.toml", "--world", world, *more, "--out", world, cwd=folder)
    assert done.returncode == 0, done.stderr
    names = ("pages", "segments", "completions", "voices", "flows", "flow_series")
    return {name: Results(out).table(name).to_pylist() for name in names}


@privileged
def test_closed_loops_and_calls_are_those_of_the_simulator(tmp_path: Path) -> None:
    (tmp_path / "loops.toml").write_text(loops.EXPERIMENT)
    simulated = _loops_in("sim", tmp_path)
    real = _loops_in("wire", tmp_path, "--ignore-calibration")
    loops.same_draws(simulated, real)
    (run,) = json.loads((tmp_path / "wire" / "manifest.json").read_text())["runs"]
    # Times are the simulator's if the machine had time for the run.
    if late_s(run, "p99") < 0.001 and late_s(run) < 0.01:
        loops.same_loops(simulated, real, near=0.05)


@privileged
@pytest.mark.skipif(shutil.which("unshare") is None, reason="needs unshare")
def test_it_works_in_a_user_namespace(file: Path) -> None:
    prefix = ["unshare", "-Urn"]
    if subprocess.run([*prefix, "true"], capture_output=True).returncode:
        pytest.skip("this kernel gives no user namespaces")
    done = on_wire(
        "run", file.name, "--world", "wire", "--ignore-calibration", "--seeds", "1", cwd=file.parent, prefix=prefix
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("tcp.ack_every=1", "traffic[0]: ack_every must be the default on the wire, got another value"),
        (
            'traffic[0].congestion={ kind = "cubic", beta = 0.5 }',
            "traffic[0]: congestion must be `cubic` with its defaults on the wire",
        ),
        ("traffic[0].congestion=bbr3", "traffic[0]: congestion must be one that this kernel has"),
        ("traffic[0].ecn=true", None),
    ],
)
def test_what_the_wire_cannot_do_is_refused_before_the_run(file: Path, change: str, message: str | None) -> None:
    if message is None:  # two entries of one host that want different kernels
        text = EXPERIMENT + '\n[[traffic]]\nname = "other"\nkind = "bulk"\npairs = [1]\n'
        file.write_text(text)
        message = "traffic[2]: tcp must be the same as that of traffic[0] at `c1` on the wire"
    done = on_wire("run", file.name, "--world", "wire", "--set", change, cwd=file.parent)
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1
    assert message in done.stderr and done.stderr.startswith("haltere: net.toml"), done.stderr
    assert list(file.parent.iterdir()) == [file], "nothing is written"


def test_without_privilege_one_line_says_what_is_needed(file: Path) -> None:
    prefix: list[str] = []
    if os.geteuid() == 0:  # root that may do nothing
        if shutil.which("setpriv") is None:
            pytest.skip("needs setpriv to give up privileges")
        prefix = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]
    elif subprocess.run(["unshare", "-n", "true"], capture_output=True).returncode == 0:
        pytest.skip("this user may make namespaces")
    done = on_wire("run", file.name, "--world", "wire", cwd=file.parent, prefix=prefix)
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1, done.stderr
    assert "needs root or CAP_NET_ADMIN; run it as root, or inside `unshare -Urn`" in done.stderr
    assert list(file.parent.iterdir()) == [file], "nothing is written"


@privileged
def test_an_interrupt_takes_everything_down(file: Path) -> None:
    process = subprocess.Popen(
        [
            *(PREFIX or []),
            *command("run", file.name, "--world", "wire", "--ignore-calibration", "--set", "duration=60s"),
        ],
        cwd=file.parent,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    deadline = time.monotonic() + 300
    while not (file.parent / "results").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(2)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=600)
    assert process.returncode == 130 and "interrupted" in errors and "Traceback" not in errors
    manifest = json.loads((file.parent / "results" / "net-wire" / "manifest.json").read_text())
    assert not manifest["complete"] and manifest["runs"] == []
    # Its namespaces had no name, and with the process the last descriptor of them is gone.
    again = on_wire("run", file.name, "--world", "wire", "--ignore-calibration", "--seeds", "1", cwd=file.parent)
    assert again.returncode == 0, again.stderr


@privileged
def test_uploads_go_to_a_real_server(tmp_path: Path) -> None:
    if subprocess.run([sys.executable, "-c", "import pyftpdlib"], capture_output=True).returncode:
        assert not os.environ.get("CI"), "must not be skipped in CI: pyftpdlib is not installed"
        pytest.skip("pyftpdlib is not installed")
    path = tmp_path / "ftp.toml"
    path.write_text(UPLOADS)
    done = on_wire("run", path.name, "--world", "wire", "--ignore-calibration", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    import haltere as package

    tasks = package.Results(tmp_path / "results" / "ftp-wire").table("tasks").to_pylist()
    ended = [task for task in tasks if task["end_ns"] is not None]
    (run,) = json.loads((tmp_path / "results" / "ftp-wire" / "manifest.json").read_text())["runs"]
    assert len(ended) > (10 if late_s(run) < 0.02 else 0) and all(task["failures"] == 0 for task in ended)
    for task in ended:
        # Eight round trips of 4 ms of dialogue and handshakes, and the file at 5 Mbit/s.
        assert (task["end_ns"] - task["start_ns"]) * 1e-9 > 8 * 0.004 + task["file_bytes"] * 8 / 5e6
    assert {task["file_bytes"] for task in tasks} == {5000, 60000}


STREAM = """\
title = "One stream, two paths"
duration = "3s"
warmup = "1s"
seeds = 1

[topology.graph]
nodes = ["s1", "s2", "d1", "d2"]
links = [
    { from = "s1", to = "d1", rate = "4Mbit", delay = "5ms", queue = { kind = "fq_codel" } },
    { from = "s2", to = "d2", rate = "2Mbit", delay = "5ms", queue = { kind = "fq_codel" } },
]

[[traffic]]
kind = "multipath"
congestion = "reno"
paths = [{ from = "s1", to = "d1" }, { from = "s2", to = "d2", join = "500ms" }]
multipath = { scheduler = "linux", tune_send_buffer = true, opportunistic = false }
"""


@privileged
def test_a_stream_goes_over_two_paths_of_the_kernel(tmp_path: Path) -> None:
    (tmp_path / "stream.toml").write_text(STREAM)
    done = on_wire("run", "stream.toml", "--world", "wire", "--ignore-calibration", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    import haltere as package

    results = package.Results(tmp_path / "results" / "stream-wire")
    rows = results.table("paths").to_pylist()
    acked = {path: max((row["acked_bytes"] for row in rows if row["path"] == path), default=0) for path in (0, 1)}
    (run,) = results.manifest["runs"]
    assert min(acked.values()) > 14_480 or late_s(run) > 0.1, (acked, late_s(run))
    assert all(row["at_ns"] >= 500_000_000 for row in rows if row["path"] == 1), "it joins when it shall"
    (flow,) = results.table("flows").to_pylist()
    # What has come is acknowledged or its acknowledgement is under way.
    under_way = lambda row: row["acked_bytes"] + row["in_flight_bytes"]  # noqa: E731
    sent = [max((under_way(row) for row in rows if row["path"] == path), default=0) for path in (0, 1)]
    assert 0 < flow["received_bytes"] <= sum(sent)
    other = [*("run", "stream.toml", "--world", "wire"), "--set", "traffic[0].multipath.scheduler=red"]
    refused = on_wire(*other, cwd=tmp_path)
    assert refused.returncode == 2 and len(refused.stderr.splitlines()) == 1
    assert "multipath.scheduler must be `linux` on the wire, got `red`" in refused.stderr, refused.stderr


@privileged
def test_both_worlds_are_compared(file: Path) -> None:
    done = on_wire("compare-worlds", file.name, "--ignore-calibration", "--json", cwd=file.parent)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    rows = {row["metric"]: row for row in told["rows"]}
    assert {"goodput of all flows", "share of cubic", "Jain's index", "ping: median"} <= rows.keys()
    median = rows["ping: median"]
    assert median["sim"]["mean"] > 18 and median["wire"]["mean"] > 18
    assert rows["goodput of all flows"]["difference"]["mean"] == pytest.approx(
        rows["goodput of all flows"]["wire"]["mean"] - rows["goodput of all flows"]["sim"]["mean"]
    )
    assert (file.parent / "results" / "net-worlds" / "report.md").exists()
