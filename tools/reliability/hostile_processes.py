"""Parts of the attack on processes and stores: the playground, the router, faults, kills, damage, exits, streams."""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import shutil
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from trial import HALTERE, ROOT, Missing, Score, command, corpus, experiment, mutated, part

sys.path.insert(0, str(ROOT / "tests" / "python"))


@part("hostile connections to a running playground; after each it must answer its own page", share=2)
def playground(score: Score, draw: random.Random, folder: Path) -> None:
    """Raw bytes, foreign hosts and origins, wrong tokens, other paths, connections that say nothing."""
    server = subprocess.Popen(
        [*HALTERE, "play", "--no-browser"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert server.stdout is not None
    url = ""
    while "token=" not in url:
        url = server.stdout.readline()
        assert url, "the playground did not start"
    found = re.search(r"127\.0\.0\.1:(\d+)/\?token=(\S+)", url)
    assert found is not None
    port, token = int(found[1]), found[2]

    def ask(request: bytes) -> bytes:
        with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
            connection.sendall(request)
            connection.settimeout(0.3 if request[:3] != b"GET" else 10)
            with contextlib.suppress(TimeoutError):
                return connection.recv(4096)
        return b""

    def get(path: str, host: str, more: str = "") -> bytes:
        return ask(f"GET {path} HTTP/1.1\r\nHost: {host}\r\n{more}\r\n".encode())

    own = f"127.0.0.1:{port}"
    hosts = ["evil.example", "", own + ".evil.example", "127.0.0.1", f"0.0.0.0:{port}"]
    paths = [
        f"/?token={token}",
        "/ws",
        "/page/../../../etc/passwd",
        "/page/%2e%2e/%2e%2e/session.py",
        "/assets//etc/passwd",
        "/?token=",
        "/" + "a" * 9000,
    ]
    upgrade = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
    probes: list[Callable[[], bytes]] = [
        lambda: get(draw.choice(paths), draw.choice(hosts)),
        lambda: get(draw.choice(paths[1:]), own),
        lambda: get(f"/ws?token={token}", own, f"Origin: http://{draw.choice(hosts[:1])}\r\n{upgrade}"),
        lambda: get(f"/?token={token[:-1]}{draw.choice('AB')}x", own),
        lambda: ask(draw.randbytes(draw.randrange(1, 400))),
        lambda: ask(b""),
    ]
    try:
        for i in score.tries(300):
            with score.one(f"probe {i}", ConnectionError):
                answer = probes[i % len(probes)]()
                assert b" 200 " not in answer[:20] and b" 101 " not in answer[:20] and b"root:" not in answer, answer[
                    :200
                ]
            with score.one(f"its own page after probe {i}"):
                assert b" 200 " in get(f"/?token={token}", own)[:20]
        with score.one("the end of the playground"):
            server.terminate()  # as Ctrl-C, which a process in the background may ignore
            told = server.communicate(timeout=60)[0]
            assert "Traceback" not in told, told
    finally:
        server.kill()


@part(
    "changed frames, half of them with work left to the interface, into a running router; then a datagram must pass",
    share=2,
)
def frames(score: Score, draw: random.Random, folder: Path) -> None:
    """Between two network namespaces. A frame that the kernel refuses to send does not count."""
    import test_router

    if test_router.PREFIX is None or shutil.which("ip") is None:
        raise Missing("root or `unshare -Urn`, and iproute2")
    files, of_kernel = [*corpus("frame"), *(data + bytes(1400) for data in corpus("frame"))], 0
    with test_router.routed(folder, "--json", "--quiet", "--queue", "fq_codel", "--rate", "1Gbit") as net:
        sender = net.at(net.left, sys.executable, "-c", SEND, stdin=subprocess.PIPE)
        receiver = net.at(net.right, sys.executable, "-c", RECEIVE)
        for i in score.tries(2 * 17_000 // BATCH):
            batch = [(virtio(draw, bool(j % 2)) + framed(mutated(files, draw))).hex() for j in range(BATCH)]
            print(json.dumps(batch), file=sender.stdin, flush=True)
            sent = int(sender.stdout.readline())
            of_kernel += sent
            with score.one(f"frames of batch {i}", count=sent):
                assert receiver.stdout.readline() == f"{i}\n", "no datagram passes"
            if of_kernel >= 17_000:
                break
        for process in (sender, receiver):
            process.kill()
            process.communicate()
        with score.one("the end of the router"):
            status, out, errors = net.end()
            last = json.loads(out.splitlines()[-1])
            assert status == 0 and last["unaccounted"] == 0 and "panicked" not in errors, (status, errors[-300:])
            port = last["ports"][0]
            assert port["received"] + port["overrun"] >= of_kernel, (port, of_kernel)


BATCH = 500


def framed(data: bytes) -> bytes:
    """What an interface of 1500 bytes sends."""
    return data[:1514].ljust(60, b"\0")


def virtio(draw: random.Random, plain: bool) -> bytes:
    """A virtio-net header: flags, kind of segmentation, length of headers, of segments, start and place of the checksum."""
    if plain:
        return bytes(10)
    flags, kind = draw.choice([0, 1, 1, 1, 255]), draw.choice([0, 0, 1, 3, 4, 5, 0x81, 255])
    small = lambda: draw.choice([0, 14, 34, 54, draw.randrange(1500)])  # noqa: E731
    return struct.pack("=BBHHHH", flags, kind, small(), small(), small(), draw.choice([6, 16, small()]))


#: Sends the frames of each line, then asks for a datagram to pass until told that one has.
SEND = """
import json, socket, sys
raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW); raw.setsockopt(263, 15, 1); raw.bind(("a0", 0))
asks = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); asks.settimeout(0.2)
for i, line in enumerate(sys.stdin):
    sent = 0
    for frame in json.loads(line):
        try:
            raw.send(bytes.fromhex(frame))
            sent += 1
        except OSError:
            pass
    for _ in range(100):
        asks.sendto(str(i).encode(), ("10.1.0.2", 6000))
        try:
            if asks.recv(100) == str(i).encode():
                break
        except OSError:
            pass
    print(sent, flush=True)
"""
#: Says each number that it hears once, and answers it.
RECEIVE = """
import socket
s, last = socket.socket(socket.AF_INET, socket.SOCK_DGRAM), None
s.bind(("10.1.0.2", 6000))
while True:
    data, peer = s.recvfrom(100)
    s.sendto(data, peer)
    if data != last:
        last = data
        print(data.decode(), flush=True)
"""


@part("kills of `haltere run` at any moment, then the reference's digest", share=2)
def kills(score: Score, draw: random.Random, folder: Path) -> None:
    """SIGKILL."""
    (folder / "small.toml").write_text(experiment())
    line = [*HALTERE, "run", "small.toml", "--seeds", "60"]
    subprocess.run([*line, "--out", "reference"], cwd=folder, check=True, capture_output=True, timeout=120)
    for i in score.tries(30):
        with score.one(f"kill {i}"):
            process = subprocess.Popen(
                [*line, "--out", "killed"], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            time.sleep(draw.uniform(0.2, 1.2))
            process.kill()
            process.wait()
            for run in (folder / "killed" / "runs").glob("[!.]*"):
                assert (run / "run.json").exists(), f"{run.name} is there in part"
    with score.one("the run after the kills"):
        subprocess.run([*line, "--out", "killed"], cwd=folder, check=True, capture_output=True, timeout=120)
        digests = [
            subprocess.run([*HALTERE, "hash", out], cwd=folder, check=True, capture_output=True).stdout.split()[0]
            for out in ("killed", "reference")
        ]
        assert digests[0] == digests[1], digests


@part("commands on damaged stores (bytes changed, files cut, gone, replaced by folders)", share=2)
def damaged_stores(score: Score, draw: random.Random, folder: Path) -> None:
    """hash, results, compare, report, SQL, and run, which makes what is damaged anew."""
    (folder / "small.toml").write_text(experiment())
    subprocess.run(
        [*HALTERE, "run", "small.toml", "--out", "whole"], cwd=folder, check=True, capture_output=True, timeout=120
    )
    reference = json.loads((folder / "whole" / "manifest.json").read_text())["runs"]
    for i in score.tries(60):
        store = folder / "damaged"
        shutil.rmtree(store, ignore_errors=True)
        shutil.copytree(folder / "whole", store)
        victims = sorted(path for path in store.rglob("*") if path.is_file())
        for victim in draw.sample(victims, draw.randint(1, 3)):
            harm(victim, draw)
        # Haltere removes no folder of which it does not know what is in it.
        refused = (store / "manifest.json").is_dir()
        for line in (
            ["hash", "damaged", "--verify"],
            ["results", "damaged", "--check"],
            ["results", "damaged", "--query", "SELECT count(*) FROM flows"],
            ["report", "damaged"],
        ):
            command(score, line, folder, {0, 1, 2})
        command(score, ["run", "small.toml", "--out", "damaged"], folder, {2 if refused else 0})
        if refused:
            continue
        with score.one(f"digests after store {i}"):
            again = json.loads((store / "manifest.json").read_text())["runs"]
            assert [run["digest"] for run in again] == [run["digest"] for run in reference]


def harm(victim: Path, draw: random.Random) -> None:
    """Damages a file."""
    data = victim.read_bytes()
    at = draw.randrange(len(data))
    match draw.randrange(5):
        case 0:
            victim.write_bytes(data[:at])
        case 1:
            victim.write_bytes(bytes([*data[:at], data[at] ^ (1 << draw.randrange(8)), *data[at + 1 :]]))
        case 2:
            victim.unlink()
        case 3:
            victim.unlink()
            victim.mkdir()
        case _:
            victim.write_bytes(draw.randbytes(len(data)))


@part("ends of processes that have read tables", share=2)
def exits(score: Score, draw: random.Random, folder: Path) -> None:
    """Once 15 of 300 aborted: a thread of Arrow outlived the interpreter."""
    (folder / "small.toml").write_text(experiment())
    subprocess.run([*HALTERE, "run", "small.toml", "--out", "out"], cwd=folder, check=True, capture_output=True)
    for i in score.tries(300 // AT_ONCE):
        line = [sys.executable, "-c", EXITS, str(AT_ONCE)]
        done = subprocess.run(line, cwd=folder, capture_output=True, text=True, check=True)
        for status in json.loads(done.stdout):
            with score.one(f"exit of process {i}"):
                assert status == 0, f"status {status}"


#: Ends of processes in one process of their parent's.
AT_ONCE = 30
#: Two at a time, so that threads come late. A child ends as an interpreter ends.
EXITS = """
import json, os, sys
import haltere
import pandas, pyarrow.parquet  # once, and not in each child

results, most = haltere.Results("out"), int(sys.argv[1])
statuses, children = [], 0
while len(statuses) < most:
    while children < 2 and children + len(statuses) < most:
        if os.fork() == 0:
            for name in ("flow_series", "queue_series", "flows", "links"):
                results.table(name)
            sys.exit(0)
        children += 1
    statuses.append(os.waitstatus_to_exitcode(os.wait()[1]))
    children -= 1
print(json.dumps(statuses))
"""


@part("streams that are closed, full or ASCII, and arguments that are not UTF-8 or too large")
def streams(score: Score, draw: random.Random, folder: Path) -> None:
    """One line, no traceback."""
    (folder / "small.toml").write_text(experiment().replace("Attack", "Flüsse"), encoding="utf-8")
    haltere = " ".join(HALTERE)
    for line in (
        "list >&-", "list 2>&-", "list >/dev/full", "list | head -1", "run small.toml >&-", "run $'\\xff'", "explain $'\\xff'",
        "run small.toml --set title=$'\\xff'", "run small.toml --seeds 1000000000", "run small.toml --seeds -1", f"run small.toml --set {'x' * 5000}",
        "run small.toml --out /proc/x", "run small.toml --out /dev/null", f"run small.toml --out {'n' * 300}", "run small.toml --out s3://nowhere/x",
    ):  # fmt: skip
        with score.one(line[:60]):
            wrong_place = {
                "AWS_ENDPOINT_URL": "http://127.0.0.1:9",
                "AWS_ACCESS_KEY_ID": "x",
                "AWS_SECRET_ACCESS_KEY": "x",
                "AWS_MAX_ATTEMPTS": "1",
            }
            more = {**os.environ, "PYTHONIOENCODING": "ascii", **wrong_place}
            done = subprocess.run(
                ["bash", "-c", f"{haltere} {line}"], cwd=folder, capture_output=True, timeout=60, env=more
            )
            told = done.stderr.decode(errors="replace")
            assert done.returncode in (0, 1, 2) and "Traceback" not in told, (done.returncode, told[-300:])
            assert all(len(one) < 1100 for one in told.splitlines()), "a line over 1,000 characters"


def faults(score: Score, history: str) -> None:
    """Histories of one kind."""
    import store_faults

    report = store_faults.Report()
    for seed in score.tries(10_000):
        with score.one(f"seed {seed}"):
            getattr(store_faults, history)(seed, report)


@part("histories of a store whose workers die, come back late or do a task twice", share=2)
def worker_faults(score: Score, draw: random.Random, folder: Path) -> None:
    """The path of Dask."""
    faults(score, "workers_history")


@part("histories of an object store whose requests fail", share=2)
def bucket_faults(score: Score, draw: random.Random, folder: Path) -> None:
    """The path of S3."""
    faults(score, "bucket_history")


@part("histories of a store on a disk with faults (fail, short, torn, power cut, deaths, other processes)", share=3)
def disk_faults(score: Score, draw: random.Random, folder: Path) -> None:
    """See tests/python/store_faults.py."""
    faults(score, "disk_history")
