"""`haltere router` with the machine's defaults and with hostile input: offloads, options, privileges, interfaces that go. In CI these do not skip."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from conftest import command, haltere
from test_wire import PREFIX, on_wire, privileged

needs_ip = pytest.mark.skipif(
    shutil.which("ip") is None and not os.environ.get("CI"), reason="needs iproute2 to make interfaces"
)

#: Longer than anything here takes on a machine with much other work.
PATIENCE_S = 600

# Two hosts, a and b, and between them a namespace whose two interfaces left0 and right0 the router joins. All veth pairs have the
# offloads that the kernel gives them. The process numbers of a, b and the router are printed, a signal to the shell goes on to the router.
JOINED = """\
set -e
ip link set lo up
ip link add name left0 type veth peer name a0; ip link add name right0 type veth peer name b0
unshare -n sleep 3600 & A=$!; unshare -n sleep 3600 & B=$!
trap 'kill $A $B' EXIT
for host in $A $B; do  # they are in namespaces of their own soon
  while [ "$(readlink /proc/$host/ns/net)" = "$(readlink /proc/$$/ns/net)" ]; do sleep 0.01; done
done
host() {  # process, interface, number
  ip link set $2 netns $1
  nsenter -n -t $1 ip link set lo up
  nsenter -n -t $1 ip addr add 10.1.0.$3/24 dev $2
  nsenter -n -t $1 ip addr add fd00::$3/64 dev $2 nodad
  nsenter -n -t $1 ip link set $2 up
}
host $A a0 1; host $B b0 2
ip link set left0 up; ip link set right0 up
"$@" & ROUTER=$!
trap 'kill -TERM $ROUTER' TERM
echo $A $B $ROUTER
S=0; wait $ROUTER || S=$?
if [ $S -gt 128 ]; then S=0; wait $ROUTER || S=$?; fi
exit $S
"""


@dataclass
class Routed:
    """A router at work."""

    process: subprocess.Popen[str]
    left: int
    right: int
    router: int

    def at(self, host: int, *arguments: str, **how: object) -> subprocess.Popen[str]:
        """Starts a program at one of the hosts, or, at the router's own process, in its namespace."""
        enter = ["nsenter", "-n", *(["-U", "--preserve-credentials"] if PREFIX else []), "-t", str(host)]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **how}
        return subprocess.Popen([*enter, *arguments], **pipes)  # type: ignore[call-overload, no-any-return]

    def done(self, host: int, *arguments: str, timeout: float = PATIENCE_S) -> str:
        """Runs a program there; its output."""
        process = self.at(host, *arguments)
        out, errors = process.communicate(timeout=timeout)
        assert process.returncode == 0, errors
        return out

    def next_error(self) -> str:
        """The next line that the router says to standard error."""
        assert self.process.stderr is not None
        return self.process.stderr.readline()

    def end(self, number: int | None = signal.SIGTERM, timeout: float = PATIENCE_S) -> tuple[int, str, str]:
        """Ends the router; status, standard output and error. With no signal waits until it ends by itself."""
        if number is not None:
            self.process.send_signal(number)
        out, errors = self.process.communicate(timeout=timeout)
        return self.process.returncode, out, errors


@contextlib.contextmanager
def routed(cwd: Path, *arguments: str) -> Iterator[Routed]:
    """A router between two hosts."""
    line = command("router", "--left", "left0", "--right", "right0", *arguments)
    process = subprocess.Popen(
        [*(PREFIX or []), "unshare", "-n", "bash", "-c", JOINED, "bash", *line],
        cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None and process.stderr is not None
    try:
        told = process.stdout.readline().split()
        assert len(told) == 3, process.stderr.read()
        made = Routed(process, *map(int, told))
        wait_until(lambda: sockets(made.router) >= 2, "the router has its interfaces")
        yield made
    finally:
        if process.poll() is None:
            process.terminate()
            try:
                process.communicate(timeout=PATIENCE_S)
            except subprocess.TimeoutExpired:
                process.kill()


def wait_until(is_so: Callable[[], bool], what: str, timeout: float = PATIENCE_S) -> None:
    """Waits for a condition."""
    deadline = time.monotonic() + timeout
    while not is_so():
        assert time.monotonic() < deadline, f"not in time: {what}"
        time.sleep(0.05)


def sockets(process: int) -> int:
    """Packet sockets bound to an interface in the namespace of that process."""
    try:
        lines = Path(f"/proc/{process}/net/packet").read_text().splitlines()[1:]
    except OSError:
        return 0
    return sum(1 for line in lines if line.split()[4] != "0" and line.split()[3] == "0003")


# Receives all, says its length and digest, sends as much back.
SERVER = """\
import hashlib, socket, sys
family = socket.AF_INET6 if ':' in sys.argv[1] else socket.AF_INET
listening = socket.create_server((sys.argv[1], 5001), family=family)
print('ready', flush=True)
peer, _ = listening.accept()
got = b''.join(iter(lambda: peer.recv(1 << 20), b''))
print(len(got), hashlib.sha256(got).hexdigest(), flush=True)
peer.sendall(got)
"""
CLIENT = """\
import hashlib, random, socket, sys
data = random.Random(7).randbytes(int(sys.argv[2]))
peer = socket.create_connection((sys.argv[1], 5001), timeout=500)
peer.sendall(data)
peer.shutdown(socket.SHUT_WR)
back = b''.join(iter(lambda: peer.recv(1 << 20), b''))
assert back == data, (len(back), len(data))
print(len(data), hashlib.sha256(data).hexdigest())
"""


def transfer(net: Routed, address: str, count: int) -> None:
    """So many bytes from the left host to the right one and back, by the kernels' TCP."""
    server = net.at(net.right, sys.executable, "-c", SERVER, address)
    assert server.stdout is not None
    try:
        assert server.stdout.readline() == "ready\n"
        sent = net.done(net.left, sys.executable, "-c", CLIENT, address, str(count))
        assert server.stdout.readline() == sent
    finally:
        server.kill()
        server.communicate()


def packets(path: Path) -> list[tuple[int, bytes]]:
    """Time stamp in nanoseconds and bytes of each packet of a pcapng file."""
    data, at, found = path.read_bytes(), 0, []
    while at < len(data):
        kind, total = struct.unpack_from("<II", data, at)
        if kind == 6:
            high, low, length = struct.unpack_from("<III", data, at + 12)
            found.append(((high << 32) + low, data[at + 28 : at + 28 + length]))
        at += total
    return found


def ones_sum(data: bytes) -> int:
    """RFC 1071; 0xffff if a checksum in it is right."""
    words = struct.unpack(f"!{len(data) // 2}H", data) if len(data) % 2 == 0 else struct.unpack(f"!{(len(data) + 1) // 2}H", data + b"\0")  # fmt: skip
    total = sum(words)
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return total


# An echo request from the left host to the right one by a raw socket; prints the seconds until the reply.
ECHO = """\
import socket, struct, time
s = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
s.settimeout(5)
b = struct.pack('!BBHHH', 8, 0, 0, 7, 1) + bytes(56)
w = sum(struct.unpack('!32H', b))
w = (w & 0xffff) + (w >> 16)
b = struct.pack('!BBHHH', 8, 0, ~(w + (w >> 16)) & 0xffff, 7, 1) + bytes(56)
for _ in range(100):
    t = time.monotonic()
    s.sendto(b, ('10.1.0.2', 0))
    try:
        s.recv(2048)
        print(time.monotonic() - t)
        break
    except OSError:
        pass
"""


@privileged
@needs_ip
def test_a_line_delays_what_passes_and_lets_out_what_is_inside(tmp_path: Path) -> None:
    options = ["--rate", "1Mbit", "--delay", "20ms", "--queue", '{ kind = "rafle", n = 40 }', "--prometheus", "127.0.0.1:9917", "--json", "--pcap", "left.pcapng"]  # fmt: skip
    with routed(tmp_path, *options) as net:
        rtts = [float(net.done(net.left, sys.executable, "-c", ECHO)) for _ in range(5)]
        # 20 ms each way and 98 bytes at 1 Mbit/s each way.
        assert min(rtts) >= 0.040 + 2 * 98 * 8 / 1e6
        fetch = "import urllib.request as u; print(u.urlopen('http://127.0.0.1:9917/metrics').read().decode())"
        metrics = net.done(net.router, sys.executable, "-c", fetch)
        status, out, errors = net.end()
    assert status == 0, errors
    for line in (
        'haltere_link_sent_packets_total{link="right"}',
        'haltere_late_seconds{quantile="0.99"}',
        "haltere_cpu_seconds_total{",
    ):
        assert line in metrics, metrics
    last = json.loads(out.splitlines()[-1])
    assert last["unaccounted"] == 0 and last["inside"] == 0, "SIGTERM lets out what is inside"
    assert last["links"][0]["name"] == "right" and last["links"][0]["sent"] >= 5
    assert 0 < last["cpu"] < 2 and last["late_us"]["max"] >= last["late_us"]["mean"] > 0, last
    assert (tmp_path / "left.pcapng").stat().st_size > 500


@privileged
@needs_ip
def test_tcp_of_the_kernel_passes_with_default_offloads(tmp_path: Path) -> None:
    before = time.time_ns()
    with routed(tmp_path, "--rate", "50Mbit", "--delay", "2ms", "--json", "--pcap", "left.pcapng") as net:
        assert "tcp-segmentation-offload: on" in offloads(net, net.left), "the kernel's defaults are what is tested"
        transfer(net, "10.1.0.2", 2_000_000)
        transfer(net, "fd00::2", 1_000_000)
        status, out, errors = net.end()
    assert status == 0 and "warning" not in errors, errors
    last = json.loads(out.splitlines()[-1])
    assert last["unaccounted"] == 0 and last["inside"] == 0
    for port in last["ports"]:
        assert port["segmented"] > 10 and port["unfinished_checksum"] > 10, "offloads were at work"
        assert port["unhandled"] == port["oversize"] == port["overrun"] == port["refused"] == 0
    passed = packets(tmp_path / "left.pcapng")
    assert max(len(frame) for _, frame in passed) == 1514, "what meets the queue is as on a line"
    assert all(before < stamp < time.time_ns() for stamp, _ in passed), "stamps are wall time"
    of_tcp = [frame for _, frame in passed if frame[12:14] == b"\x08\x00" and frame[23] == 6]
    assert len(of_tcp) > 2 * 2_000_000 / 1448
    for frame in of_tcp:
        ip = frame[14 : 14 + int.from_bytes(frame[16:18], "big")]
        pseudo = ip[12:20] + bytes([0, 6]) + (len(ip) - 20).to_bytes(2, "big")
        assert ones_sum(ip[:20]) == 0xFFFF and ones_sum(pseudo + ip[20:]) == 0xFFFF


def offloads(net: Routed, host: int) -> str:
    """What the host's interface leaves to it; told as ethtool does, without needing it."""
    program = (
        "import array, fcntl, socket, struct\n"
        "s = socket.socket()\n"
        "value = array.array('B', struct.pack('II', 0x1e, 0))\n"
        "fcntl.ioctl(s, 0x8946, struct.pack('16sP', b'a0', value.buffer_info()[0]))\n"
        "print('tcp-segmentation-offload:', 'on' if struct.unpack('II', value)[1] else 'off')\n"
    )
    return net.done(host, sys.executable, "-c", program)


# UDP_SEGMENT: one call, one long frame, many datagrams.
DATAGRAMS = """\
import socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.IPPROTO_UDP, 103, 1000)
for _ in range(5):
    s.sendto(bytes(range(256)) * 39 + b'end', ('10.1.0.2', 6000))
    time.sleep(0.05)
"""
RECEIVER = """\
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(('10.1.0.2', 6000)); s.settimeout(500)
print('ready', flush=True)
print([len(s.recv(65536)) for _ in range(50)])
"""


@privileged
@needs_ip
def test_datagrams_in_one_frame_are_cut(tmp_path: Path) -> None:
    with routed(tmp_path, "--json") as net:
        receiver = net.at(net.right, sys.executable, "-c", RECEIVER)
        assert receiver.stdout is not None and receiver.stdout.readline() == "ready\n"
        net.done(net.left, sys.executable, "-c", DATAGRAMS)
        out, errors = receiver.communicate(timeout=PATIENCE_S)
        assert json.loads(out) == ([1000] * 9 + [987]) * 5, errors
        status, out, _ = net.end()
    assert status == 0 and json.loads(out.splitlines()[-1])["ports"][0]["segmented"] == 5


# Random bytes behind the first bytes of what a router reads.
NOISE = """\
import random, socket, struct, sys
draw = random.Random(11)
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW); s.bind(('a0', 0))
heads = [b'\\x08\\x00\\x45', b'\\x86\\xdd\\x60', b'\\x08\\x06', b'\\x81\\x00', b'\\x88\\xa8', b'']
for i in range(int(sys.argv[1])):
    body = draw.choice(heads) + draw.randbytes(draw.randrange(0, 1480))
    s.send(draw.choice([b'\\xff' * 6, bytes([2, 0, 0, 0, 0, 2])]) + draw.randbytes(6) + body.ljust(2, b'\\0'))
"""


@privileged
@needs_ip
def test_random_frames_do_not_stop_it(tmp_path: Path) -> None:
    with routed(tmp_path, "--json", "--queue", "fq_codel") as net:
        net.done(net.left, sys.executable, "-c", NOISE, "3000")
        transfer(net, "10.1.0.2", 100_000)
        status, out, errors = net.end()
    assert status == 0, errors
    last = json.loads(out.splitlines()[-1])
    assert last["arrived"] > 3000 and last["unaccounted"] == 0 and last["malformed"] > 100


# SCTP packets whose checksum is left to the interface (a virtio-net header says so): a CRC, which the router does not finish.
UNFINISHED = """\
import socket, struct
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW); s.setsockopt(263, 15, 1); s.bind(('a0', 0))
sctp = bytes(40)
ip = bytes.fromhex('4500003c000040004084') + bytes(2) + bytes([10, 1, 0, 1, 10, 1, 0, 2]) + sctp
for _ in range(3):
    s.send(struct.pack('=BBHHHH', 1, 0, 0, 0, 34, 8) + b'\\xff' * 6 + bytes(6) + b'\\x08\\x00' + ip)
"""


@privileged
@needs_ip
def test_frames_that_cannot_be_finished_are_told_of_while_it_runs(tmp_path: Path) -> None:
    with routed(tmp_path, "--quiet") as net:
        net.done(net.left, sys.executable, "-c", UNFINISHED)
        line = net.next_error()
        status, out, errors = net.end()
    assert status == 0 and "3 not understood" in out and errors == "", (out, errors)
    assert line.startswith("haltere: router: warning: interface `left0`: 3 frames could not be cut"), line
    assert "ethtool -K" in line


# Datagrams without end.
STREAM = """\
import socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
def send():
    s.sendto(bytes(900), ('10.1.0.2', 9))
    time.sleep(0.0005)
for _ in range(200):
    send()
print('200 sent', flush=True)
while True:
    send()
"""


@privileged
@needs_ip
@pytest.mark.parametrize("traffic", [False, True])
def test_a_deleted_interface_ends_it_with_its_statistics(tmp_path: Path, traffic: bool) -> None:
    with routed(tmp_path, "--json", "--quiet", "--pcap", "left.pcapng") as net:
        sender = net.at(net.left, sys.executable, "-c", STREAM) if traffic else None
        if sender is not None:
            assert sender.stdout is not None and sender.stdout.readline() == "200 sent\n"
        net.done(net.router, "ip", "link", "delete", "right0")
        status, out, errors = net.end(None)
        if sender is not None:
            sender.kill()
            sender.communicate()
    assert status == 1, status
    assert errors.splitlines()[-1].startswith("haltere: router: interface `right0` is gone"), errors
    last = json.loads(out.splitlines()[-1])
    assert last["unaccounted"] == 0 and (last["arrived"] > 100) == traffic
    assert len(packets(tmp_path / "left.pcapng")) >= last["ports"][0]["received"], "the capture is complete"


@privileged
@needs_ip
def test_an_interface_that_is_down_is_told_of_and_may_come_back(tmp_path: Path) -> None:
    with routed(tmp_path, "--quiet") as net:
        net.done(net.router, "ip", "link", "set", "right0", "down")
        told = net.next_error()
        net.done(net.router, "ip", "link", "set", "right0", "up")
        transfer(net, "10.1.0.2", 100_000)
        status, _, errors = net.end()
    assert status == 0 and "warning: interface `right0` is down; `ip link set right0 up`" in told, (told, errors)


def state(process: int) -> dict[str, str]:
    """What the kernel says of a process."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


@privileged
@needs_ip
@pytest.mark.parametrize("keep", [False, True])
def test_it_gives_its_privileges_up(tmp_path: Path, keep: bool) -> None:
    with routed(tmp_path, "--quiet", *(["--keep-privileges"] if keep else [])) as net:
        is_up = lambda: (state(net.router)["CapPrm"] == "0" * 16) is not keep  # noqa: E731
        wait_until(is_up, "privileges are given up")
        told = state(net.router)
        transfer(net, "10.1.0.2", 100_000)
        status, _, errors = net.end()
    assert status == 0 and errors == "", errors
    if keep:
        assert int(told["CapEff"], 16) != 0 and told["NoNewPrivs"] == "0"
        return
    assert {told[name] for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")} == {"0" * 16} and told["NoNewPrivs"] == "1"
    if not PREFIX:
        assert told["Uid"].split() == told["Gid"].split() == ["65534"] * 4 and told["Groups"] == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--right", "x"], "router: --right must be another interface than --left, got `x`; a router joins two"),
        (["--isn-bits", "99"], "router: --isn-bits must be a whole number from 0 to 32, got `99`"),
        (["--isn-bits", "-1"], "router: --isn-bits must be a whole number from 0 to 32, got `-1`"),
        (["--duration", "0s"], "router: --duration must be more than zero, got `0s`; without it the router runs until a signal"),
        (["--duration", "5"], "router: --duration must be a duration such as `5ms`, got `5`; add a unit: `ns`, `us`, `ms`, `s`"),
        (["--slots", "0"], "router: --slots must be a whole number from 1 to 262144, got `0`"),
        (["--seed", "-1"], "router: --seed must be a whole number from 0 to 18446744073709551615, got `-1`"),
        (["--reorder", "2"], "router: --reorder must be a probability from 0 to 1 such as 0.02 or `2%`, got `2`"),
        (["--pcap", "nowhere/a.pcapng"], "router: --pcap must be a file that can be written, got `nowhere/a.pcapng`; its folder is not there"),
        (["--pcap-right", "/dev/full"], "router: --pcap-right must be a file that can be written, got `/dev/full`; it is there and no regular file"),
        (["--left", "nowhere"], "router: --left must be an interface of this network namespace, got `nowhere`; `ip link` lists them"),
    ],
)  # fmt: skip
def test_an_argument_out_of_range_is_refused_before_anything_starts(
    tmp_path: Path, arguments: list[str], message: str
) -> None:
    done = haltere("router", "--left", "x", "--right", "y", *arguments, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (2, f"haltere: {message}\n")
    assert list(tmp_path.iterdir()) == [], "nothing is written"


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--queue", "rafel", "kind must be one of"),
        ("--queue", "rafel", "did you mean `rafle`?"),
        ("--queue", '{ kind = "rafle", m = 3 }', "--queue: key must be one of `kind`, `n`"),
        ("--queue", '{ kind = "rafle", n = 0 }', "n must be from 1 to 1048576"),
        ("--rate", "fast", "rate must be"),
        ("--delay", "10", "delay must be"),
        ("--loss", "2", "loss must be"),
        ("--rate-left", "0bit", "rate must be"),
    ],
)
def test_a_wrong_option_of_the_router_has_the_error_of_a_file(
    tmp_path: Path, option: str, value: str, message: str
) -> None:
    done = haltere("router", "--left", "l", "--right", "r", option, value, cwd=tmp_path)
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1, done.stderr
    assert done.stderr.startswith("haltere: router: ") and message in done.stderr, done.stderr
    assert "topology" not in done.stderr, "the user wrote no file"


@privileged
def test_an_interface_that_is_not_there_is_named(tmp_path: Path) -> None:
    done = on_wire("router", "--left", "nowhere", "--right", "lo", cwd=tmp_path)
    assert done.returncode == 2
    assert (
        done.stderr
        == "haltere: router: --left must be an interface of this network namespace, got `nowhere`; `ip link` lists them\n"
    )


@privileged
@needs_ip
def test_loopback_and_a_taken_address_are_refused(tmp_path: Path) -> None:
    done = on_wire("router", "--left", "lo", "--right", "lo", cwd=tmp_path)
    assert done.returncode == 2 and "--right must be another interface than --left, got `lo`" in done.stderr
    script = 'ip link add name l0 type veth peer name r0; exec "$@"'
    inside = [*(PREFIX or []), "unshare", "-n", "bash", "-c", script, "bash"]
    done = on_wire("router", "--left", "l0", "--right", "lo", cwd=tmp_path, prefix=inside)
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("haltere: router: --right must be an Ethernet interface, got `lo`; "), done.stderr
    done = on_wire("router", "--left", "l0", "--right", "r0", "--prometheus", "x", cwd=tmp_path, prefix=inside)
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("haltere: router: --prometheus must be a free address of this machine"), done.stderr


def test_a_termination_is_as_an_interrupt_in_every_command(small: Path) -> None:
    arguments = ("run", small.name, "--jobs", "2", "--seeds", "500", "--set", "duration=20s")
    process = subprocess.Popen(command(*arguments), cwd=small.parent, stderr=subprocess.PIPE, text=True)
    runs = small.parent / "results" / "small" / "runs"
    wait_until(lambda: len(list(runs.glob("[!.]*/run.json"))) >= 2, "two runs are there")
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130 and "Traceback" not in errors, errors
    assert errors.splitlines()[-1].startswith("haltere: interrupted; finished runs are kept")
    manifest = json.loads((small.parent / "results" / "small" / "manifest.json").read_text())
    assert not manifest["complete"] and len(manifest["runs"]) >= 2


@privileged
def test_a_termination_on_the_wire_is_as_an_interrupt(small: Path) -> None:
    arguments = ("run", small.name, "--world", "wire", "--ignore-calibration", "--set", "duration=60s")
    process = subprocess.Popen(
        [*(PREFIX or []), *command(*arguments)], cwd=small.parent, stderr=subprocess.PIPE, text=True
    )
    wait_until(lambda: (small.parent / "results").exists(), "the run has begun")
    time.sleep(1)
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130 and "interrupted" in errors and "Traceback" not in errors, errors


@privileged
@pytest.mark.skipif(shutil.which("unshare") is None, reason="needs unshare")
def test_a_control_of_bpf_in_a_user_namespace_says_what_it_needs(small: Path) -> None:
    kinds = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()
    lacking = [kind for kind in ("vegas", "dctcp") if kind not in kinds]
    if not lacking:
        pytest.skip("this kernel has both controls")
    if subprocess.run(["unshare", "-Urn", "true"], capture_output=True).returncode:
        pytest.skip("this kernel gives no user namespaces")
    change = f'traffic[0].congestion="{lacking[0]}"'
    done = on_wire("run", small.name, "--world", "wire", "--set", change, cwd=small.parent, prefix=["unshare", "-Urn"])
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1, done.stderr
    assert f"congestion control {lacking[0]}: not in this kernel" in done.stderr
    assert "needs root outside a user namespace, got a user namespace" in done.stderr
    assert list(small.parent.iterdir()) == [small], "nothing is written"


def test_what_cannot_be_told_of_flows_is_not_said_to_be_separate() -> None:
    from haltere import captures

    report = {"methods": ["sbd"], "groups": [[[0, 1], [2], [3]]], "untold": [[2]], "pairs": []}
    told = captures._groups(report, 0)
    assert told == "sbd: flows 1, 2 share a bottleneck; 4 with none of the others; 3: inconclusive."
