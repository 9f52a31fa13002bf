"""The network of p4/net.sh, made and removed; kernel TCP over it through the Python model of the P4 program.

Run as a program, this file is the switch: `test_p4_net.py VARIANT UPPER [syn] [dctcp]` forwards between the devices portN of its
namespace. `dctcp` makes every TCP packet of the hosts ECN-capable, as DCTCP does; `syn` also returns what has no payload or a SYN.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

P4 = Path(__file__).resolve().parent
sys.path.insert(0, str(P4))

from packets import CE, ECT0, ETHERTYPE_IPV4, NOT_ECT, TCP, Fault, Packet, Switch  # noqa: E402

HOSTS = 3
PREFIX = f"p4test{os.getpid()}"
BYTES = 300_000
OFFLOADS = (
    "rx-checksumming",
    "tx-checksumming",
    "scatter-gather",
    "tcp-segmentation-offload",
    "generic-segmentation-offload",
    "generic-receive-offload",
)

# ---------------------------------------------------------------------------------------------------------------------------
# The switch


class EagerSwitch(Switch):
    """Returns every TCP packet, as haltere.p4 did once."""

    def is_returnable(self, packet: Packet) -> bool:
        return packet.protocol == TCP


def forwarded(switch: Switch, packet: Packet, is_copy: bool = False) -> Iterator[tuple[int, Packet, bool]]:
    """What leaves the switch for a packet that came in: port, packet, and whether it is a copy."""
    routed = switch.route(packet)
    if routed is None or routed[0] > HOSTS:
        return
    original, copy = switch.leave(routed[0], 0, routed[1], is_copy)
    yield routed[0], original, is_copy
    if copy is not None:
        yield from forwarded(switch, copy, is_copy=True)


def run_switch(variant: str, upper: int, options: list[str]) -> None:
    """Forwards until SIGTERM, then prints what it counted."""
    switch = (EagerSwitch if "syn" in options else Switch)(variant, upper, upper)
    counted = {"forwarded": 0, "copies": 0, "marked": 0, "faults": 0}
    devices = {}
    for port in range(1, HOSTS + 1):
        device = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETHERTYPE_IPV4))
        device.bind((f"port{port}", 0))
        devices[port] = device
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(print(json.dumps(counted))))
    print("ready", flush=True)
    while True:
        for device in select.select(list(devices.values()), [], [])[0]:
            frame, sender = device.recvfrom(65536)
            if sender[2] == socket.PACKET_OUTGOING:
                continue
            try:
                packet = Packet.parse(frame)
            except Fault as fault:
                counted["faults"] += 1
                print(fault, file=sys.stderr)
                continue
            if "dctcp" in options and packet.protocol == TCP and packet.ecn == NOT_ECT:
                packet = replace(packet, ecn=ECT0)
            for port, out, is_copy in forwarded(switch, packet):
                counted["copies" if is_copy else "forwarded"] += 1
                counted["marked"] += int(out.ecn == CE and not is_copy)
                devices[port].send(out.frame())


if __name__ == "__main__":
    run_switch(sys.argv[1], int(sys.argv[2]), sys.argv[3:])
    sys.exit()

# ---------------------------------------------------------------------------------------------------------------------------
# The network

missing = [tool for tool in ("ip", "ethtool") if shutil.which(tool) is None]
pytestmark = pytest.mark.skipif(
    bool(missing) or os.geteuid() != 0,
    reason=f"p4/net.sh needs {', '.join(missing)}" if missing else "p4/net.sh needs root",
)


def net(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [P4 / "net.sh", *arguments],
        env={**os.environ, "HALTERE_P4_PREFIX": PREFIX},
        capture_output=True,
        text=True,
        timeout=60,
    )


def ip(*arguments: str) -> Any:
    return json.loads(
        subprocess.run(["ip", "-j", *arguments], capture_output=True, text=True, check=True).stdout or "[]"
    )


def namespaces() -> set[str]:
    names = {entry["name"] for entry in ip("netns", "list")}
    return {name.removeprefix(f"{PREFIX}-") for name in names if name.startswith(f"{PREFIX}-")}


def inside(name: str, *command: str) -> list[str]:
    return ["ip", "netns", "exec", f"{PREFIX}-{name}", *command]


def output(name: str, *command: str) -> str:
    return subprocess.run(inside(name, *command), capture_output=True, text=True, check=True, timeout=60).stdout


@pytest.fixture
def network() -> Iterator[None]:
    made = net("up", str(HOSTS))
    try:
        assert made.returncode == 0, made.stderr
        yield
    finally:
        removed = net("down")
    assert removed.returncode == 0, removed.stderr
    assert namespaces() == set()


def test_every_host_has_its_cable_and_knows_the_others(network: None) -> None:
    assert namespaces() == {"switch", "h1", "h2", "h3"}
    ports = {link["ifname"]: link for link in ip("-n", f"{PREFIX}-switch", "link", "show") if link["ifname"] != "lo"}
    assert set(ports) == {"port1", "port2", "port3"}
    assert all({"UP", "LOWER_UP"} <= set(link["flags"]) for link in ports.values())
    for host in range(1, HOSTS + 1):
        (device,) = ip("-n", f"{PREFIX}-h{host}", "address", "show", "eth0")
        assert {"UP", "LOWER_UP"} <= set(device["flags"])
        assert device["address"] == f"00:00:00:00:00:0{host}"
        assert [(a["local"], a["prefixlen"]) for a in device["addr_info"]] == [(f"10.0.0.{host}", 24)], "and no IPv6"
        neighbours = ip("-n", f"{PREFIX}-h{host}", "neighbour", "show")
        assert all(n["state"] == ["PERMANENT"] and n["dev"] == "eth0" for n in neighbours)
        others = {f"10.0.0.{o}": f"00:00:00:00:00:0{o}" for o in range(1, HOSTS + 1) if o != host}
        assert {n["dst"]: n["lladdr"] for n in neighbours} == others


def test_offloads_are_off_at_both_ends(network: None) -> None:
    for host in range(1, HOSTS + 1):
        for name, device in ((f"h{host}", "eth0"), ("switch", f"port{host}")):
            lines = output(name, "ethtool", "-k", device).splitlines()
            state = {
                key.strip(): value.split()[0]
                for key, _, value in (line.partition(":") for line in lines)
                if value.strip()
            }
            assert {offload: state[offload] for offload in OFFLOADS} == dict.fromkeys(OFFLOADS, "off"), device


def test_the_control_port_is_reached_in_the_switch_s_namespace_only(network: None) -> None:
    listen = "import socket; s = socket.create_server(('0.0.0.0', 9090)); print('ready', flush=True); s.accept()"
    with subprocess.Popen(inside("switch", sys.executable, "-c", listen), stdout=subprocess.PIPE, text=True) as control:
        try:
            assert control.stdout is not None and control.stdout.readline() == "ready\n"
            connect = "import socket; print(socket.socket().connect_ex(('127.0.0.1', 9090)))"
            assert output("h1", sys.executable, "-c", connect) != "0\n"
            addresses = ip("-n", f"{PREFIX}-switch", "address", "show")
            assert [d["ifname"] for d in addresses if d["addr_info"]] == ["lo"], "no address that a host could ask"
            assert output("switch", sys.executable, "-c", connect) == "0\n"
        finally:
            control.terminate()


def test_a_network_that_exists_is_not_made_again(network: None) -> None:
    again = net("up")
    assert again.returncode == 1
    assert again.stderr.startswith("net.sh: the network must not exist yet, got ")
    assert namespaces() == {"switch", "h1", "h2", "h3"}, "and the first one is left as it was"


@pytest.mark.parametrize("arguments", [(), ("sideways",), ("up", "2", "3"), ("down", "1")])
def test_wrong_arguments_are_refused(arguments: tuple[str, ...]) -> None:
    refused = net(*arguments)
    assert (refused.returncode, refused.stderr) == (2, "usage: p4/net.sh up [HOSTS] | down\n")


@pytest.mark.parametrize("hosts", ["1", "7", "22", "two"])
def test_a_wrong_number_of_hosts_is_refused(hosts: str) -> None:
    refused = net("up", hosts)
    assert (refused.returncode, refused.stderr) == (1, f"net.sh: HOSTS must be 2 to 6, got {hosts}\n")
    assert namespaces() == set()


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="shellcheck is not on the PATH")
def test_shellcheck_finds_nothing() -> None:
    found = subprocess.run(["shellcheck", P4 / "net.sh"], capture_output=True, text=True)
    assert found.returncode == 0, found.stdout


# ---------------------------------------------------------------------------------------------------------------------------
# Kernel TCP through the model of the program


@contextmanager
def switch(*arguments: str) -> Iterator[dict[str, int]]:
    """The switch while the block runs; afterwards what it counted."""
    counted: dict[str, int] = {}
    command = inside("switch", sys.executable, __file__, *arguments)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None and process.stdout.readline() == "ready\n"
            yield counted
        finally:
            process.terminate()
            counted.update(json.loads(process.communicate(timeout=10)[0]))


SERVER = """
import socket
server = socket.create_server(("10.0.0.2", 5001))
print("ready", flush=True)
peer, _ = server.accept()
peer.settimeout(20)
total = 0
while data := peer.recv(65536):
    total += len(data)
peer.sendall(total.to_bytes(8, "big"))
peer.close()
"""
CLIENT = f"""
import socket
peer = socket.create_connection(("10.0.0.2", 5001), 20)
peer.settimeout(20)
peer.sendall(bytes({BYTES}))
peer.shutdown(socket.SHUT_WR)
print(int.from_bytes(peer.recv(8), "big"))
"""


def transferred() -> tuple[int | None, str]:
    """Bytes that a server at h2 counted of a client at h1, and what the client complained about."""
    for host in ("h1", "h2"):
        output(host, "sh", "-c", "echo 1 > /proc/sys/net/ipv4/tcp_ecn")
    with subprocess.Popen(
        inside("h2", sys.executable, "-c", SERVER), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as server:
        try:
            assert server.stdout is not None and server.stdout.readline() == "ready\n"
            client = inside("h1", sys.executable, "-c", CLIENT)
            ran = subprocess.run(client, capture_output=True, text=True, timeout=60)
        finally:
            server.kill()
    return int(ran.stdout) if ran.returncode == 0 else None, ran.stderr


def netstat(name: str) -> dict[str, int]:
    """The kernel's TcpExt counters in a namespace."""
    names, values = [
        line.split()[1:] for line in output(name, "cat", "/proc/net/netstat").splitlines() if line.startswith("TcpExt")
    ]
    return dict(zip(names, map(int, values), strict=True))


@pytest.mark.parametrize(
    ("variant", "upper", "copies", "marked"),
    [("threshold", 99, False, False), ("threshold", 0, False, True), ("return", 0, True, False)],
)
def test_tcp_passes_the_switch(network: None, variant: str, upper: int, copies: bool, marked: bool) -> None:
    with switch(variant, str(upper)) as counted:
        assert transferred() == (BYTES, "")
    assert counted["faults"] == 0, "with offloads off every checksum is right"
    assert (counted["copies"] > 0, counted["marked"] > 0) == (copies, marked)


def test_a_dctcp_connection_survives_its_copies(network: None) -> None:
    with switch("return", "0", "dctcp") as counted:
        assert transferred() == (BYTES, "")
    # Every segment with payload met congestion.
    assert counted["copies"] >= BYTES // 1460
    seen = netstat("h1")
    print(
        f"{counted['copies']} copies, {seen['PAWSEstab']} failed PAWS, {netstat('h2')['TCPDSACKRecv']} DSACKs reached the receiver"
    )


def test_a_returned_syn_breaks_the_connection(network: None) -> None:
    with switch("return", "0", "dctcp", "syn"):
        received, error = transferred()
    assert received is None and "ConnectionResetError" in error, error


def test_with_offloads_on_the_checksums_are_wrong(network: None) -> None:
    """Why net.sh turns them off."""
    for host in ("h1", "h2"):
        output(host, "ethtool", "-K", "eth0", "tx", "on", "sg", "on", "tso", "on", "gso", "on")
    with switch("threshold", "99") as counted:
        server = "import socket; s = socket.create_server(('10.0.0.2', 5001)); s.accept()"
        with subprocess.Popen(inside("h2", sys.executable, "-c", server)) as peer:
            connect = "import socket; s = socket.socket(); s.settimeout(1); print(s.connect_ex(('10.0.0.2', 5001)))"
            assert output("h1", sys.executable, "-c", connect) != "0\n"
            peer.kill()
    assert counted["faults"] > 0
