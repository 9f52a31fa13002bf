"""Programs of this machine in the kernel world: unmodified, with the same bytes for the same seed, and contained."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow
import pytest

import programs
from haltere import HaltereError, InputError, _core
from haltere.worlds import world
from test_kernel import guests, kernel, nobody_left  # noqa: F401

pytestmark = pytest.mark.usefixtures("kernel")


def run(folder: Path, client: Sequence[str], seed: int = 1, **keys: Any) -> dict[str, list[dict[str, Any]]]:
    """The tables of a run with one program, with its digest and the digest of its capture."""
    entry = {"kind": "program", "pairs": [1], "jitter": "0s", "client": list(client)} | keys
    experiment = programs.NET | {"title": "programs", "traffic": [entry]}
    scenario = _core.Scenario.from_json(json.dumps(experiment))
    captures = folder / "captures"
    shutil.rmtree(captures, ignore_errors=True)
    done = world("kernel", pcap=str(captures)).run(scenario, seed, _core.Progress())
    (packets,) = captures.glob("*.pcap")
    tables = {name: pyarrow.table(table).to_pylist() for name, table in done.tables().items()}
    digests = [done.digest(), hashlib.sha256(packets.read_bytes()).hexdigest()]
    return tables | {"digests": [{"digest": one} for one in digests]}


def output(tables: dict[str, list[dict[str, Any]]], name: str = "stdout", side: str = "client") -> str:
    (one,) = [row for row in tables["outputs"] if (row["side"], row["name"]) == (side, name)]
    return str(one["text"])


def sh(script: str) -> list[str]:
    return ["/bin/sh", "-c", script]


def python(script: str) -> list[str]:
    return ["/usr/bin/python3", "-c", script]


needs_python = pytest.mark.skipif(not Path("/usr/bin/python3").exists(), reason="needs /usr/bin/python3")


@pytest.mark.slow
@pytest.mark.parametrize("program", programs.PROGRAMS, ids=lambda one: one.name)
def test_an_unmodified_program_gives_the_same_bytes_alone_and_beside_another_guest(
    program: programs.Program, tmp_path: Path
) -> None:
    if program.missing:
        pytest.skip(f"needs {program.missing}")
    programs.make(program, tmp_path)
    experiment = program.experiment(tmp_path)
    one = programs.run(experiment)
    with ThreadPoolExecutor(2) as pool:
        pair = list(pool.map(lambda _: programs.run(experiment).digest, range(2)))
    assert pair == [one.digest] * 2
    # QUIC has another congestion control, and aioquic's acknowledges each packet.
    part = 0.8 if program.name == "aioquic" else 0.98
    assert programs.goodput(experiment) > part * programs.goodput(programs.own())


@needs_python
def test_a_segment_takes_the_memory_that_the_simulator_counts(tmp_path: Path) -> None:
    """A fresh send buffer has room for two windows of ten segments, of 2304 B each (`header_room`)."""
    server = "import socket; s = socket.create_server(('', 7)); s.accept()[0].recv(1)"
    client = """import socket, struct, sys
SO_MEMINFO, SNDBUF = 55, 3
s = socket.create_connection((sys.argv[1], 7))
print(struct.unpack("9I", s.getsockopt(socket.SOL_SOCKET, SO_MEMINFO, 36))[SNDBUF])"""
    tables = run(tmp_path, [*python(client), "{to}"], server=python(server), ready={"port": 7})
    assert output(tables) == f"{2 * 10 * 2304}\n"


@needs_python
def test_a_script_is_run_by_the_interpreter_that_it_names(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("#!/usr/bin/python3\nprint(2**70)\n")
    script.chmod(0o755)
    assert output(run(tmp_path, [str(script)])) == f"{2**70}\n"


SEES = """
echo $HOME; id -u; ls /dev/shm /tmp; cat /etc/hosts
grep -c . /proc/self/status; cat /sys/kernel/mm/transparent_hugepage/enabled 2>&1 | head -c 0
head -c 8 /dev/urandom | od -An -tx1; date +%s.%N
(sleep 0.25; kill -USR1 $$) & trap 'echo signal' USR1; wait; wait; date +%s.%N
"""


def test_a_program_sees_its_own_machine_and_its_time_random_numbers_and_signals_follow_the_seed(tmp_path: Path) -> None:
    one, again, other = (run(tmp_path, sh(SEES), seed) for seed in (1, 1, 2))
    lines = output(one).splitlines()
    assert lines[0].startswith("/tmp/haltere-programs-") and int(lines[1]) > 0
    assert "127.0.0.1 localhost" in lines and any(line.endswith(" c1") for line in lines)
    began, signal, ended = lines[-3:]
    assert signal == "signal"
    # Virtual time: 2023, and a quarter of a second later.
    assert began.startswith("1700000") and 0.25 <= float(ended) - float(began) < 0.3
    assert one["digests"] == again["digests"] and output(one) == output(again)
    random = -4
    assert output(other).splitlines()[random] != lines[random]


def test_files_of_this_machine_are_read_only_and_those_that_nothing_names_are_closed(tmp_path: Path) -> None:
    (tmp_path / "named").write_text("named")
    (tmp_path / "secret").write_text("secret")
    script = (
        'cat "$FILE"; cat "${FILE%named}secret"; echo x >"$FILE"; echo x >/usr/made; echo y >/tmp/own && cat /tmp/own'
    )
    told = run(tmp_path, sh(script), environment={"FILE": str(tmp_path / "named")})
    assert output(told) == "namedy\n"
    errors = output(told, "stderr")
    # A file below /tmp that nothing names is not there: /tmp is the guest's own.
    assert errors.count("Read-only file system") == 2 and "No such file" in errors
    assert (tmp_path / "named").read_text() == "named"


#: What a program tries, and the line that ends its run.
HOSTILE = {
    "reboot": (python("import ctypes; l = ctypes.CDLL(None); raise SystemExit(f'reboot gives {l.reboot(0x4321fedc)}')"), "reboot gives -1"),
    "raw sockets": (python("import socket; socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)"), "Operation not permitted"),
    "frames": (python("import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 3)"), "Operation not permitted"),
    "10,000 sockets": (python("import socket; all = [socket.socket() for _ in range(10000)]"), "Too many open files"),
    "a file of the machine": (sh("echo x >/usr/made"), "Read-only file system"),
    "a full disk": (sh("cat /dev/zero >big"), "write error"),
    "the guest's first process": (python("import os; os.kill(1, 9)"), "Operation not permitted"),
    "the guest's own files": (python("import os; os.listdir('/proc/1/root')"), "Permission denied"),
    "the network itself": (sh("echo start 0 >/proc/haltere"), "Permission denied"),
}  # fmt: skip


@needs_python
@pytest.mark.usefixtures("nobody_left")
@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_program_is_contained_and_ends_with_one_line(what: str, tmp_path: Path) -> None:
    client, told = HOSTILE[what]
    with pytest.raises(HaltereError, match=r"traffic\[0\]: client `[^`]*`: ended with status \d+: ") as error:
        run(tmp_path, client)
    assert told in str(error.value) and "\n" not in str(error.value)


#: Programs that use up what there is. The last ones stop the clock.
GREEDY = {
    "an endless loop": (sh("while :; do :; done"), "3", "processor time while its clock stood still"),
    "a fork bomb": (python("import os\nwhile True:\n    os.fork()"), "5", r"processor time while its clock stood still|Resource temporarily unavailable"),
    "a memory bomb": (python("all = [bytearray(b'x' * (1 << 20)) for _ in range(10000)]"), "100", r"status 137: .*; the guest ran out of its 768M of memory: "),
}  # fmt: skip


@needs_python
@pytest.mark.slow
@pytest.mark.usefixtures("nobody_left")
@pytest.mark.parametrize("what", GREEDY)
def test_a_greedy_program_is_ended_with_its_guest(what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    client, patience, told = GREEDY[what]
    monkeypatch.setenv("HALTERE_KERNEL_PATIENCE", patience)
    with pytest.raises(HaltereError, match=told) as error:
        run(tmp_path, client)
    assert "\n" not in str(error.value)


@pytest.mark.usefixtures("nobody_left")
@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ({"client": ["no-such-program"]}, "client `no-such-program`: `no-such-program` must be a program of this machine"),
        ({"client": sh("echo last words >&2; exit 3")}, "client `/bin/sh`: ended with status 3: last words"),
        ({"client": ["true"], "server": sh("echo cannot bind; exit 1"), "ready": {"port": 80}}, "server `/bin/sh`: ended with status 1 before it was ready: cannot bind"),
        ({"client": ["true"], "server": sh("echo waits; sleep 100"), "ready": {"port": 80}}, "server `/bin/sh`: opened no such port within 10 s: waits"),
    ],
)  # fmt: skip
def test_a_program_that_is_missing_fails_or_hangs_ends_the_run_with_its_last_words(
    keys: dict[str, Any], told: str, tmp_path: Path
) -> None:
    with pytest.raises((HaltereError, InputError)) as error:
        run(tmp_path, **keys)
    assert f"traffic[0]: {told}" in str(error.value)


def test_a_client_that_hangs_is_ended_at_its_stop(tmp_path: Path) -> None:
    told = run(tmp_path, sh("trap '' TERM; echo waits; while :; do sleep 100; done"), stop="1s")
    (program,) = told["programs"]
    assert program["status"] == 128 + 9 and 1.5e9 <= program["end_ns"] < 1.6e9
    assert output(told) == "waits\n"


@pytest.mark.slow
def test_a_python_of_its_own_below_tmp_runs(tmp_path: Path) -> None:
    made = subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "own")], capture_output=True)
    if made.returncode:
        pytest.skip("needs venv")
    client = [str(tmp_path / "own/bin/python"), "-c", "import sys; print(sys.prefix)"]
    assert output(run(tmp_path, client)).strip() == str(tmp_path / "own")
