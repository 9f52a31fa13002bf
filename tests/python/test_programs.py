"""Programs of the machine as traffic, and networks that stand. In CI the wire's part does not skip."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import textwrap
import uuid
from pathlib import Path

import pytest

from conftest import haltere
from haltere import Results
from test_wire import on_wire, privileged

NET = """\
duration = "{duration}"
warmup = "0s"
seeds = 1

[topology.dumbbell]
pairs = 1
access = {{ rate = "100Mbit", delay = "1ms" }}
bottleneck = {{ rate = "20Mbit", delay = "4ms", queue = {{ kind = "fq_codel" }} }}

[[traffic]]
name = "own"
kind = "program"
jitter = "0s"
pairs = [1]
"""

SERVER = """
import socket, sys
listener = socket.create_server(("", 8000))
print("open", flush=True)
line, _ = listener.accept()
line.sendall(bytes(int(sys.argv[1])))
"""
CLIENT = """
import os, socket, sys
line = socket.create_connection((sys.argv[1], 8000))
got = 0
while piece := line.recv(65536):
    got += len(piece)
print(f"read {got} with seed {sys.argv[2]} as {os.environ['WHO']}")
open("note.txt", "w").write("kept")
"""


def experiment(folder: Path, *, duration: str = "8s", **keys: object) -> Path:
    """An experiment with one program; texts in ``{...}`` of its words stay."""
    own = "".join(f"{key} = {value if isinstance(value, str) else json.dumps(value)}\n" for key, value in keys.items())
    path = folder / "own.toml"
    path.write_text(NET.format(duration=duration) + own)
    return path


def python(script: str, *words: str) -> list[str]:
    return [sys.executable, "-I", "-S", "-c", textwrap.dedent(script), *words]


def on(world: str, path: Path, *more: str) -> subprocess.CompletedProcess[str]:
    unfit = ["--ignore-calibration"] if world == "wire" else []
    return on_wire("run", path.name, "--world", world, *unfit, *more, cwd=path.parent)


@privileged
def test_a_program_runs_unmodified_and_its_outputs_and_connections_are_kept(tmp_path: Path) -> None:
    path = experiment(
        tmp_path, server=python(SERVER, "1000000"), client=python(CLIENT, "{to}", "{seed}"),
        ready='{ line = "open" }', environment='{ WHO = "client of {from}" }',
    )  # fmt: skip
    done = on("wire", path)
    assert done.returncode == 0, done.stderr
    run = Results(tmp_path / "results" / "own-wire")
    programs = run.table("programs").to_pylist()
    assert [(one["side"], one["status"]) for one in programs] == [("server", 0), ("client", 0)]
    assert programs[1]["start_ns"] < programs[1]["end_ns"] < 8e9
    outputs = {(one["side"], one["name"]): one["text"] for one in run.table("outputs").to_pylist()}
    assert outputs["client", "stdout"].startswith("read 1000000 with seed 1 as client of 10.72.0.")
    assert outputs["client", "note.txt"] == "kept"
    down = max(run.table("sockets").to_pylist(), key=lambda one: one["payload"])
    assert down["protocol"] == 6 and down["from_port"] == 8000
    # What was retransmitted counts, too; a SYN with its options looks like 8 bytes of payload.
    assert 1_000_000 <= down["payload"] <= 1_100_000 and down["delivered"] <= down["packets"]
    (flow,) = run.table("flows").to_pylist()
    assert flow["kind"] == "program" and flow["received_bytes"] == down["payload"]


@privileged
@pytest.mark.skipif(shutil.which("iperf3") is None, reason="needs iperf3")
def test_iperf3_speaks_for_itself_and_the_network_counts_the_truth(tmp_path: Path) -> None:
    path = experiment(
        tmp_path, server=["iperf3", "-s", "-1"], client=["iperf3", "-c", "{to}", "-n", "500K", "-J"], ready="{ port = 5201 }"
    )  # fmt: skip
    done = on("wire", path)
    assert done.returncode == 0, done.stderr
    run = Results(tmp_path / "results" / "own-wire")
    said = {row["end"]: row for row in run.table("iperf3").to_pylist()}
    assert said["sender"]["bytes"] >= 500 * 1024 and said["sender"]["rtt_mean_us"] >= 12_000
    assert said["sender"]["side"] == "client" and said["receiver"]["retransmits"] is None
    (flow,) = run.table("flows").to_pylist()
    up = max(run.table("sockets").to_pylist(), key=lambda one: one["payload"])
    # The flow is all that the client sent: iperf3's data and its control connection.
    sent = sum(one["payload"] for one in run.table("sockets").to_pylist() if one["from"] == up["from"])
    assert flow["received_bytes"] == sent > up["payload"] >= said["receiver"]["bytes"] > 0
    # A full packet takes 0.12 ms at 100 Mbit/s and 0.61 ms at 20 Mbit/s; the rest is queueing.
    assert 0 < up["sojourn_mean_ns"] < up["sojourn_max_ns"] and up["sojourn_max_ns"] > 0.7e6


@privileged
@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ({"client": python("import sys; print('no way', file=sys.stderr); sys.exit(3)")}, "traffic[0]: client `{python}`: ended with status 3: no way"),
        ({"client": ["no-such-program"]}, "traffic[0]: client `no-such-program`: `no-such-program` must be a program of this machine"),
        ({"client": ["true"], "server": python("raise SystemExit('cannot bind')"), "ready": "{ port = 80 }"}, "traffic[0]: server `{python}`: ended with status 1 before it was ready: cannot bind"),
    ],
)  # fmt: skip
def test_a_program_that_fails_ends_the_run_with_its_last_words(
    tmp_path: Path, keys: dict[str, object], says: str
) -> None:
    done = on("wire", experiment(tmp_path, **keys))
    assert done.returncode == 1, done.stderr
    assert says.format(python=sys.executable) in done.stderr


@privileged
def test_a_program_that_hangs_is_ended_and_nothing_of_it_stays(tmp_path: Path) -> None:
    token = f"haltere-test-{uuid.uuid4().hex}"
    # Its child leaves the group and ignores every signal that can be ignored.
    script = f"""
    import os, signal, time
    if os.fork() == 0:
        os.setsid()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
    time.sleep(1000)  # {token}
    """
    done = on("wire", experiment(tmp_path, client=python(script), stop='"1s"'))
    assert done.returncode == 0, done.stderr
    run = Results(tmp_path / "results" / "own-wire")
    (program,) = run.table("programs").to_pylist()
    assert program["status"] == 128 + 9 and program["end_ns"] >= 1e9
    left = [path for path in Path("/proc").glob("[0-9]*/cmdline") if _has(path, token)]
    assert left == []


def _has(cmdline: Path, token: str) -> bool:
    try:
        return token.encode() in cmdline.read_bytes()
    except OSError:
        return False


def test_the_simulator_says_which_worlds_run_programs(tmp_path: Path) -> None:
    path = experiment(tmp_path, client=["true"])
    done = haltere("run", path.name, cwd=tmp_path)
    assert done.returncode == 2
    assert "got `program`; `--world wire` and `--world kernel` run it" in done.stderr


@privileged
def test_a_program_behind_one_link_sees_its_rate_and_its_change(tmp_path: Path) -> None:
    script = """
    import socket, subprocess, sys, time
    def rate():
        line, got, begun = socket.create_connection(("outside", 8000)), 0, time.monotonic()
        while piece := line.recv(65536):
            got += len(piece)
        return 8e-6 * got / (time.monotonic() - begun)
    first = rate()
    subprocess.run([sys.executable, "-m", "haltere", "network", "rate=2Mbit"], check=True)
    print(first, rate())
    """
    server = """
    import socket, sys
    listener = socket.create_server(("", 8000))
    while True:
        line, _ = listener.accept()
        line.sendall(bytes(500_000))
        line.close()
    """
    serves = " ".join(
        f"'{word}'" if " " in word or "\n" in word else word for word in [sys.executable, str(tmp_path / "server.py")]
    )
    (tmp_path / "server.py").write_text(textwrap.dedent(server))
    done = on_wire(
        "link", "--rate", "20Mbit", "--delay", "5ms", "--server", serves, "--", *python(script), cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    first, second = map(float, done.stdout.splitlines()[-1].split())
    # No more than the link carries; how much less is the machine's.
    assert second < 2.05 and second < first <= 20.5


def test_options_of_exec_may_follow_its_host_as_in_its_help(tmp_path: Path) -> None:
    path = experiment(tmp_path, client=["true"])
    done = haltere("exec", path.name, "c1", "--server", "no host", "--", "true", "--server", "its own", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == "haltere: exec: --server must be 'HOST: COMMAND', got `no host`\n"
    done = haltere("exec", path.name, "c1", cwd=tmp_path)
    assert "a program must follow `--`, got none" in done.stderr


@privileged
def test_exec_gives_the_programs_exit_status_and_names_of_hosts(tmp_path: Path) -> None:
    path = experiment(tmp_path, client=["true"])
    done = on_wire(
        "exec",
        path.name,
        "c1",
        "--",
        sys.executable,
        "-c",
        "import socket; print(socket.gethostbyname('s1')); exit(7)",
        cwd=tmp_path,
    )
    assert done.returncode == 7 and done.stdout.startswith("10.72.0."), done.stderr
    wrong = on_wire("exec", path.name, "nobody", "--", "true", cwd=tmp_path)
    assert wrong.returncode == 2 and "host: must be one of `c1`, `s1`, got `nobody`" in wrong.stderr
