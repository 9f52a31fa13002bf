"""Programs of the machine in the kernel world and on the wire: the table of docs/programs.md.

    python tools/programs.py [--kernels 6.1,7.2] [--wire]

Each program runs twice with one seed, then two guests at once. `HALTERE_AIOQUIC` names a Python that has aioquic.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow

from haltere import _core
from haltere.worlds import world

SOURCES = Path(__file__).resolve().parents[1] / "tests" / "programs"
MBIT, SECONDS = 10, 8
#: Goodput is measured from 2 s to 4 s, while every program sends.
WINDOW = (2, 4)
#: The network, and flows of Haltere's own that send as long as the programs do.
NET = {
    "duration": f"{SECONDS}s",
    "warmup": "0s",
    "seeds": 1,
    "topology": {
        "dumbbell": {
            "pairs": 1,
            "access": {"rate": "100Mbit", "delay": "1ms"},
            "bottleneck": {"rate": f"{MBIT}Mbit", "delay": "8ms", "queue": {"kind": "fq_codel"}},
        }
    },
}
NGINX = """\
daemon off;
user root root;
worker_processes 2;
pid nginx.pid;
error_log stderr;
events {}
http {
    access_log off;
    client_body_temp_path body;
    proxy_temp_path proxy;
    fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi;
    scgi_temp_path scgi;
    server { listen 80; root FOLDER/pages; }
}
"""
#: ssh and sshd want a key that only they can read; a program does not own the files that it is shown.
OWN_KEY = 'cp "$0/key" own && chmod 600 own'
SSHD = """\
Port 2222
AuthorizedKeysFile FOLDER/key.pub
StrictModes no
Subsystem sftp internal-sftp
UsePAM no
PidFile none
"""
SSH = """\
Port 2222
StrictHostKeyChecking no
UserKnownHostsFile /dev/null
"""


@dataclass(frozen=True)
class Program:
    """A client and its server; ``FOLDER`` in words is the folder with what :func:`make` made."""

    name: str
    #: Commands that must be there to make and run it.
    needs: Sequence[str]
    server: Sequence[str]
    client: Sequence[str]
    ready: dict[str, Any]
    #: A command that makes it, in the folder.
    made_by: Sequence[str] = ()
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def missing(self) -> str:
        """A command that is not there; empty: none."""
        return next((name for name in self.needs if not name or shutil.which(name) is None), "") or (
            "" if all(self.needs) else "a Python with aioquic (HALTERE_AIOQUIC)"
        )

    def experiment(self, folder: Path) -> dict[str, Any]:
        """The network with this program alone."""
        words = {
            key: [word.replace("FOLDER", str(folder)) for word in getattr(self, key)] for key in ("server", "client")
        }
        return NET | {
            "title": self.name,
            "traffic": [
                {"kind": "program", "pairs": [1], "jitter": "0s", "ready": self.ready}
                | {
                    "environment": {
                        key: value.replace("FOLDER", str(folder)) for key, value in self.environment.items()
                    }
                }
                | words
            ],
        }


QUIC_GO = "v0.65.0"
QUIC = os.environ.get("HALTERE_AIOQUIC", "")
PROGRAMS = (
    Program("iperf3", ["iperf3"], ["iperf3", "-s", "-1"], ["iperf3", "-c", "{to}", "-t", "5", "-J"], {"port": 5201}),
    Program(
        "Go, 4 goroutines", ["go"], ["FOLDER/streams", "serve"], ["FOLDER/streams", "{to}"], {"line": "ready"},
        ["go", "build", "-o", "streams", str(SOURCES / "streams.go")],
    ),
    Program(
        "C, 4 threads", ["gcc"], ["FOLDER/threads"], ["FOLDER/threads", "{to}"], {"port": 5002},
        ["gcc", "-O1", "-pthread", "-o", "threads", str(SOURCES / "threads.c")],
    ),
    Program(
        "nginx and curl", ["nginx", "curl"], ["nginx", "-p", "{out}", "-c", "FOLDER/nginx.conf"],
        ["curl", "-sS", "-o", "got", "-w", "%{size_download} bytes in %{time_total} s", "http://{to}/page"], {"port": 80},
        environment={"PAGES": "FOLDER/pages"},
    ),
    Program(
        "http.server and curl", ["python3", "curl"], ["python3", "-u", "-m", "http.server", "-d", "FOLDER/pages", "80"],
        ["curl", "-sS", "-o", "got", "-w", "%{size_download} bytes in %{time_total} s", "http://{to}/page"], {"port": 80},
    ),
    Program(
        "quic-go", ["go"], ["FOLDER/quic", "serve"], ["FOLDER/quic", "{to}"], {"line": "ready"},
        ["sh", "-c", "mkdir -p quic-go && cd quic-go && cp " + str(SOURCES / "quic.go") + " . && (test -e go.mod || go mod init quic)"
         f" && go get github.com/quic-go/quic-go@{QUIC_GO} && go build -o ../quic ."],
    ),
    Program(
        "sshd and scp", ["/usr/sbin/sshd", "scp", "ssh-keygen"],
        ["sh", "-c", f'{OWN_KEY} && exec /usr/sbin/sshd -D -e -f "$0/sshd_config" -h "$PWD/own"', "FOLDER"],
        ["sh", "-c", f'{OWN_KEY} && exec scp -F "$0/ssh_config" -i own "$1:$0/pages/page" got', "FOLDER", "{to}"], {"port": 2222},
        ["sh", "-c", "rm -f key key.pub; ssh-keygen -q -t ed25519 -N '' -f key && chmod 644 key"],
    ),
    Program("aioquic", [QUIC], [QUIC, str(SOURCES / "quic.py")], [QUIC, str(SOURCES / "quic.py"), "{to}"], {"line": "ready"}),
)  # fmt: skip


def make(program: Program, folder: Path) -> None:
    """Compiles the program and writes what it needs."""
    (folder / "pages").mkdir(exist_ok=True)
    (folder / "pages" / "page").write_bytes(bytes(6_000_000))
    # SFTP sends the time of the last access, which a first reading changes if the file was changed since.
    os.utime(folder / "pages" / "page", (time.time(), 0))
    for name, text in {"nginx.conf": NGINX, "sshd_config": SSHD, "ssh_config": SSH}.items():
        (folder / name).write_text(text.replace("FOLDER", str(folder)))
    if program.made_by:
        environment = {"GOCACHE": str(folder / "cache"), "CGO_ENABLED": "0"}
        subprocess.run(program.made_by, cwd=folder, check=True, env=os.environ | environment)


@dataclass(frozen=True)
class Ran:
    """A run: digest of its tables and of the capture, and processor seconds."""

    digest: str
    cpu: float


def run(experiment: dict[str, Any], **options: Any) -> Ran:
    """One run in the kernel world."""
    scenario = _core.Scenario.from_json(json.dumps(experiment))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory() as captures:
        done = world("kernel", pcap=captures, **options).run(scenario, 1, _core.Progress())
        (packets,) = Path(captures).glob("*.pcap")
        digest = hashlib.sha256(done.digest().encode() + packets.read_bytes()).hexdigest()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Ran(digest, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def goodput(experiment: dict[str, Any], name: str = "kernel", **options: Any) -> float:
    """Payload that the network delivered in the window, in Mbit/s."""
    begin, end = WINDOW
    scenario = _core.Scenario.from_json(json.dumps(experiment | {"warmup": f"{begin}s", "duration": f"{end}s"}))
    done = world(name, **options).run(scenario, 1, _core.Progress())
    (flow,) = pyarrow.table(done.tables()["flows"]).to_pylist()
    return float(flow["received_after_warmup"] * 8e-6 / (end - begin))


def own() -> dict[str, Any]:
    """A flow of Haltere's own on the same network."""
    return NET | {"title": "own", "traffic": [{"kind": "bulk", "pairs": [1], "congestion": "cubic", "jitter": "0s"}]}


def main() -> None:
    """Prints the table in Markdown, a line as soon as it is known."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--kernels", default="6.1", help="the first is run twice; the others once each")
    arguments.add_argument("--wire", action="store_true", help="run on the wire, too: as root or in `unshare -Urn`")
    given = arguments.parse_args()
    kernels = given.kernels.split(",")
    first = kernels[0]
    heads = ["program", "two runs", "two at once", *(f"Linux {one}" for one in kernels), "wire", "CPU"]
    print(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
    flow = run(own(), kernel=first)
    goodputs = [f"{goodput(own(), kernel=one):.2f}" for one in kernels] + [on_wire(own()) if given.wire else ""]
    print(f"| Haltere's own CUBIC flow | | | {' | '.join(goodputs)} | {flow.cpu / SECONDS:.2f} |", flush=True)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for program in PROGRAMS:
            if program.missing:
                print(f"{program.name}: skipped, needs {program.missing}", file=sys.stderr)
                continue
            make(program, folder)
            experiment = program.experiment(folder)
            one, two = run(experiment, kernel=first), run(experiment, kernel=first)
            with ThreadPoolExecutor(2) as pool:
                pair = list(pool.map(lambda _, e=experiment: run(e, kernel=first).digest, range(2)))  # type: ignore[misc]
            line = [
                program.name,
                "equal" if one.digest == two.digest else "differ",
                "equal" if set(pair) == {one.digest} else "differ",
                *(f"{goodput(experiment, kernel=kernel):.2f}" for kernel in kernels),
                on_wire(experiment) if given.wire else "",
                f"{min(one.cpu, two.cpu) / SECONDS:.2f}",
            ]
            print(f"| {' | '.join(line)} |", flush=True)


def on_wire(experiment: dict[str, Any]) -> str:
    """The same on the wire, in Mbit/s."""
    return f"{goodput(experiment, 'wire', ignore_calibration=True):.2f}"


if __name__ == "__main__":
    main()
