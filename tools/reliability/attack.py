"""Attacks this build and writes the table of it: `make attack`.

Each part is a process of its own, so a part that ends the process is counted as fallen. All draws follow from `--seed`. A try survives if it
ends as it should: with a result, or with an error of one line that Haltere reports. A panic, a traceback, an end by a signal, a
store that lost a run and a try that takes longer than a minute have fallen.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CORPUS = ROOT / "fuzz" / "corpus"
DOCUMENT = ROOT / "docs" / "reliability.md"
BEGIN, END = "<!-- attack: made by `make attack` -->", "<!-- attack: end -->"
#: A part that takes longer has fallen.
PART_S = 300
#: A pipe that nobody writes to. To open it would wait for ever.
ALARM_S = 60


class Score:
    """What a part tried, and what fell."""

    def __init__(self) -> None:
        self.tried = 0
        self.fallen: list[str] = []

    @contextlib.contextmanager
    def one(self, name: str, *fine: type[BaseException]) -> Iterator[None]:
        """One try: it may end well, or with one of these errors."""
        self.tried += 1
        try:
            yield
        except fine:
            pass
        except BaseException as error:
            self.fallen.append(f"{name}: {type(error).__name__}: {str(error)[:200]}")


Part = Callable[[Score, random.Random, Path], None]
PARTS: dict[str, tuple[str, Part]] = {}


def part(what: str) -> Callable[[Part], Part]:
    """Registers a part; ``what`` is its row in the table."""

    def register(does: Part) -> Part:
        PARTS[does.__name__] = (what, does)
        return does

    return register


def corpus(target: str) -> list[bytes]:
    """The files of a fuzz target."""
    return [path.read_bytes() for path in sorted((CORPUS / target).iterdir())]


WORDS = [
    b"0",
    b"-1",
    b"1e300",
    b"18446744073709551616",
    b'"\\u0000"',
    b"[]",
    b"{}",
    b"true",
    b'"1bdp"',
    b"null",
    b'"99999999999s"',
    b"\xff",
]


def mutated(files: Sequence[bytes], draw: random.Random) -> bytes:
    """One of the files with one to four changes."""
    data = bytearray(draw.choice(files))
    for _ in range(draw.randint(1, 4)):
        at = draw.randrange(len(data) + 1)
        span = data[at : at + draw.randrange(1, 20)]
        match draw.randrange(6):
            case 0:
                del data[at : at + len(span)]
            case 1:
                data[at:at] = span
            case 2:
                other = draw.choice(files)
                start = draw.randrange(len(other) + 1)
                data[at:at] = other[start : start + 20]
            case 3:
                data[at:at] = draw.choice(WORDS)
            case 4 if at < len(data):
                data[at] = draw.randrange(256)
            case _ if at < len(data):
                data[at] ^= 1 << draw.randrange(8)
    return bytes(data)


# -- what is read ---------------------------------------------------------------------------------------------------------


@part("changed experiment files and pages' JSON, read")
def experiments(score: Score, draw: random.Random, folder: Path) -> None:
    """Values replaced, parts cut out, doubled and exchanged."""
    from haltere import _core
    from haltere.errors import InputError

    files = corpus("experiment")
    for i in range(3000):
        text = mutated(files, draw).decode(errors="replace")
        with score.one(f"experiment {i}", InputError):
            read = _core.Scenario.from_json if text.startswith("{") else _core.Scenario.from_toml
            read(text, "x")


@part("changed captures, classified and correlated")
def captures(score: Score, draw: random.Random, folder: Path) -> None:
    """pcap and pcapng."""
    from haltere import _core
    from haltere.errors import InputError

    files, path = corpus("capture"), folder / "capture"
    for i in range(2000):
        path.write_bytes(mutated(files, draw))
        with score.one(f"capture {i}", InputError):
            if i % 2:
                _core.capture_classify(str(path), "{}")
            else:
                _core.capture_correlate([[str(path)]], "{}")


EXPERIMENT = """\
title = "Attack"
duration = "2s"
seeds = 2
[topology.dumbbell]
pairs = 1
access = { rate = "100Mbit", delay = "1ms" }
bottleneck = { delay = "5ms", BOTTLENECK }
[[traffic]]
kind = "TRAFFIC
"""


def experiment(bottleneck: str = 'rate = "10Mbit"', traffic: str = 'bulk"') -> str:
    """A small experiment."""
    return EXPERIMENT.replace("BOTTLENECK", bottleneck).replace("TRAFFIC", traffic)


@part("changed traces and tables of flow sizes, named by an experiment")
def named_files(score: Score, draw: random.Random, folder: Path) -> None:
    """Files that an experiment names."""
    import haltere

    (folder / "trace.toml").write_text(experiment('trace = "file"'))
    (folder / "sizes.toml").write_text(experiment(traffic='poisson"\nload = 0.5\nsizes = { file = "file" }'))
    traces, sizes = corpus("trace"), [data[4:] for data in corpus("arrivals")]
    for i in range(800):
        kind, files = (("trace", traces), ("sizes", sizes))[i % 2]
        (folder / "file").write_bytes(mutated(files, draw))
        with score.one(f"{kind} {i}", haltere.InputError):
            haltere.load(folder / f"{kind}.toml")


@part("special files (directory, pipe, device, 1 TB, gone) under every key and command that names a file")
def special_files(score: Score, draw: random.Random, folder: Path) -> None:
    """Regular files alone are read, and none is waited for."""
    os.mkfifo(folder / "pipe")
    with open(folder / "large", "wb") as large:
        large.truncate(1 << 40)
    for name in (".", "pipe", "/dev/zero", "/dev/tty", "/dev/full", "/proc/self/mem", "large", "gone"):
        (folder / "trace.toml").write_text(experiment(f'trace = "{name}"'))
        (folder / "sizes.toml").write_text(experiment(traffic=f'poisson"\nload = 0.5\nsizes = {{ file = "{name}" }}'))
        # A capture of any size is a capture.
        captures = [] if name == "large" else [["classify", name], ["correlate", name]]
        for line in (["run", "trace.toml"], ["run", "sizes.toml"], ["run", name], ["results", name], *captures):
            command(score, line, folder, {1, 2})


@part("checksum files and manifests with changed bytes and values, checked")
def records(score: Score, draw: random.Random, folder: Path) -> None:
    """The two JSON files of a store."""
    from haltere.runs.records import seal_of, wrong_in_manifest

    files = corpus("checksum")
    for i in range(5000):
        with score.one(f"checksum file {i}"):
            data = mutated(files, draw)
            read = seal_of(data, "0" * 32)
            assert read is None or set(read) >= {"key", "seed", "digest", "wall_s", "files"}
            with contextlib.suppress(ValueError):
                value = json.loads(data)
                if isinstance(value, dict):
                    wrong_in_manifest(value)


# -- the playground -------------------------------------------------------------------------------------------------------


@part("changed messages of the playground, read and their experiments checked")
def messages(score: Score, draw: random.Random, folder: Path) -> None:
    """What a page sends over the WebSocket."""
    from haltere.play.protocol import Refused, experiment_of, read, setup_of, speed_of

    files = corpus("message")
    for i in range(3000):
        with score.one(f"message {i}", Refused):
            _, keys = read(mutated(files, draw).decode(errors="replace"))
            if "experiment" in keys:
                experiment_of(keys["experiment"])
            if "setup" in keys:
                setup_of(keys["setup"])
            if "speed" in keys:
                speed_of(keys["speed"])


@part("hostile connections to a running playground; after each it must answer its own page")
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
        for i in range(300):
            with score.one(f"probe {i}", ConnectionError):
                answer = probes[i % len(probes)]()
                assert b" 200 " not in answer[:20] and b" 101 " not in answer[:20] and b"root:" not in answer, answer[
                    :200
                ]
            with score.one(f"its own page after probe {i}"):
                assert b" 200 " in get(f"/?token={token}", own)[:20]
        with score.one("the end of the playground"):
            server.send_signal(signal.SIGINT)
            told = server.communicate(timeout=60)[0]
            assert "Traceback" not in told, told
    finally:
        server.kill()


# -- the store ------------------------------------------------------------------------------------------------------------


def faults(score: Score, history: str, seconds: float) -> None:
    """Histories of one kind, for so long."""
    sys.path.insert(0, str(ROOT / "tests" / "python"))
    import store_faults

    report, end, seed = store_faults.Report(), time.monotonic() + seconds, 0
    while time.monotonic() < end and seed < 10_000:
        with score.one(f"seed {seed}"):
            getattr(store_faults, history)(seed, report)
        seed += 1


@part("histories of a store on a disk with faults (fail, short, torn, power cut, deaths, other processes)")
def disk_faults(score: Score, draw: random.Random, folder: Path) -> None:
    """See tests/python/store_faults.py."""
    faults(score, "disk_history", 60)


@part("histories of a store whose workers die, come back late or do a task twice")
def worker_faults(score: Score, draw: random.Random, folder: Path) -> None:
    """The path of Dask."""
    faults(score, "workers_history", 30)


@part("histories of an object store whose requests fail")
def bucket_faults(score: Score, draw: random.Random, folder: Path) -> None:
    """The path of S3."""
    faults(score, "bucket_history", 30)


@part("kills of `haltere run` at any moment, then the reference's digest")
def kills(score: Score, draw: random.Random, folder: Path) -> None:
    """SIGKILL."""
    (folder / "small.toml").write_text(experiment())
    line = [*HALTERE, "run", "small.toml", "--seeds", "60"]
    subprocess.run([*line, "--out", "reference"], cwd=folder, check=True, capture_output=True, timeout=120)
    for i in range(30):
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


@part("commands on damaged stores (bytes changed, files cut, gone, replaced by folders)")
def damaged_stores(score: Score, draw: random.Random, folder: Path) -> None:
    """hash, results, compare, report, SQL, and run, which makes what is damaged anew."""
    import shutil

    (folder / "small.toml").write_text(experiment())
    subprocess.run(
        [*HALTERE, "run", "small.toml", "--out", "whole"], cwd=folder, check=True, capture_output=True, timeout=120
    )
    reference = json.loads((folder / "whole" / "manifest.json").read_text())["runs"]
    for i in range(60):
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


# -- the process ----------------------------------------------------------------------------------------------------------

HALTERE = [sys.executable, "-m", "haltere"]


def command(score: Score, line: Sequence[str], folder: Path, fine: set[int]) -> None:
    """A command in this process, which is far quicker than one of its own: its status is one of these, and an error is one line."""
    from haltere import cli

    out, err = io.StringIO(), io.StringIO()
    with score.one(" ".join(line)):
        here = Path.cwd()
        os.chdir(folder)
        signal.alarm(ALARM_S)
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                status = cli.main(list(line))
        except SystemExit as error:
            status = error.code if isinstance(error.code, int) else 1
        finally:
            signal.alarm(0)
            os.chdir(here)
        told = err.getvalue()
        assert status in fine, f"status {status}: {told[-300:]}"
        assert "Traceback" not in told and "this is a bug" not in told, told[-300:]
        assert all(len(one) < 1100 for one in told.splitlines()), "a line over 1,000 characters"


@part("ends of processes that have read tables")
def exits(score: Score, draw: random.Random, folder: Path) -> None:
    """Once 15 of 300 aborted: a thread of Arrow outlived the interpreter."""
    (folder / "small.toml").write_text(experiment())
    subprocess.run(
        [*HALTERE, "run", "small.toml", "--out", "out"], cwd=folder, check=True, capture_output=True, timeout=120
    )
    done = subprocess.run(
        [sys.executable, "-c", EXITS], cwd=folder, capture_output=True, text=True, timeout=PART_S, check=True
    )
    for i, status in enumerate(json.loads(done.stdout)):
        with score.one(f"exit {i}"):
            assert status == 0, f"status {status}"


#: Two at a time, so that threads come late. A child ends as an interpreter ends.
EXITS = """
import json, os, sys
import haltere
import pandas, pyarrow.parquet  # once, and not in each child

results = haltere.Results("out")
statuses, children = [], 0
while len(statuses) < 300:
    while children < 2 and children + len(statuses) < 300:
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


@part("random frames and frame scripts through the parser and the router (8 704 and 512, by proptest)")
def frames(score: Score, draw: random.Random, folder: Path) -> None:
    """The tests of haltere-wire that the fuzz targets share; counted by test, as each ends at the first that falls."""
    if subprocess.run(["cargo", "--version"], capture_output=True, check=False).returncode:
        raise SystemExit("cargo is missing")
    names = ("no_bytes_make_it_panic", "no_damage_to_a_good_frame_makes_it_panic", "no_script_breaks_the_router")
    for name in names:
        with score.one(name):
            done = subprocess.run(
                ["cargo", "test", "-q", "-p", "haltere-wire", "--lib", name], cwd=ROOT, capture_output=True, text=True
            )
            assert done.returncode == 0 and "1 passed" in done.stdout, done.stdout[-300:] + done.stderr[-300:]


# -- the table ------------------------------------------------------------------------------------------------------------


def in_process(name: str, seed: int) -> tuple[int, list[str], float]:
    """Runs a part in a process of its own: what it tried, what fell, and seconds."""
    began = time.monotonic()
    line = [sys.executable, __file__, "--part", name, "--seed", str(seed)]
    try:
        done = subprocess.run(line, capture_output=True, text=True, timeout=PART_S, check=False)
    except subprocess.TimeoutExpired:
        return 1, [f"it took longer than {PART_S} s"], time.monotonic() - began
    seconds = time.monotonic() - began
    try:
        last = json.loads(done.stdout.splitlines()[-1])
    except (ValueError, IndexError):
        return 1, [f"its process ended with {done.returncode}: {done.stderr[-400:]}"], seconds
    return last["tried"], last["fallen"], seconds


def run_part(name: str, seed: int) -> int:
    """Runs a part here, and prints its score as JSON."""
    score = Score()
    with tempfile.TemporaryDirectory(prefix="haltere-attack-") as folder:
        PARTS[name][1](score, random.Random(f"{seed} {name}"), Path(folder))
    print(json.dumps({"tried": score.tried, "fallen": score.fallen}))
    return 0


def table(rows: Sequence[tuple[str, int, int]]) -> str:
    """The rows as Markdown."""
    lines = ["| what | tried | survived |", "|---|---:|---:|"]
    lines += [f"| {what} | {tried} | {survived} |" for what, tried, survived in rows]
    return "\n".join(lines)


def main(arguments: Sequence[str]) -> int:
    """Runs all parts, prints the table, and writes it if asked."""
    to = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    to.add_argument("--part", choices=PARTS, help="one part, in this process")
    to.add_argument("--seed", type=int, default=19)
    to.add_argument("--write", action="store_true", help=f"write the table into {DOCUMENT.relative_to(ROOT)}")
    given = to.parse_args(arguments)
    if given.part:
        return run_part(given.part, given.seed)
    rows, all_fallen = [], []
    for name, (what, _) in PARTS.items():
        tried, fallen, seconds = in_process(name, given.seed)
        rows.append((what, tried, tried - len(fallen)))
        all_fallen += [f"{name}: {one}" for one in fallen]
        print(f"{name}: {tried - len(fallen)} of {tried} survived, {seconds:.0f} s", file=sys.stderr, flush=True)
        for one in fallen[:5]:
            print(f"  {one}", file=sys.stderr, flush=True)
    print(table(rows))
    if given.write:
        text = DOCUMENT.read_text(encoding="utf-8")
        before, rest = text.split(BEGIN)
        after = rest.split(END)[1]
        DOCUMENT.write_text(f"{before}{BEGIN}\n\n{table(rows)}\n\n{END}{after}", encoding="utf-8")
    return 1 if all_fallen else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
