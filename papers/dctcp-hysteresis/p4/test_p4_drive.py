"""p4/drive.py from end to end, with a stand-in for BMv2: the model of the program behind a queue that is served slowly.

The stand-in does not show that haltere.p4 is right. It shows that the driver passes a right switch and fails a wrong one.
Run as a program, this file is the stand-in: `test_p4_drive.py NAME WRONG ARGUMENTS...` with the name of one of BMv2's tools.
"""

from __future__ import annotations

import os
import select
import shutil
import socket
import subprocess
import sys
import time
from collections import deque
from dataclasses import replace
from pathlib import Path

import pytest

P4 = Path(__file__).resolve().parent
sys.path.insert(0, str(P4))

from drive import BURSTS  # noqa: E402
from packets import CE, ECT0, ETHERTYPE_IPV4, NOT_ECT, Packet, Switch, internet_checksum  # noqa: E402

CONTROL = ("127.0.0.1", 9090)

# ---------------------------------------------------------------------------------------------------------------------------
# The stand-in


class Wrong(Switch):
    """The model with one mistake."""

    def __init__(self, mistake: str, variant: str, upper: int, lower: int) -> None:
        super().__init__(variant, upper, upper if mistake == "one threshold" else lower)
        self.mistake = mistake

    def leave(self, port: int, depth: int, packet: Packet, is_copy: bool = False) -> tuple[Packet, Packet | None]:
        if self.mistake == "not-ect marked" and packet.ecn == NOT_ECT:
            packet, copy = super().leave(port, depth, replace(packet, ecn=ECT0), is_copy)
            return replace(packet, ecn=CE if depth >= self.upper else NOT_ECT), copy
        packet, copy = super().leave(port, depth, packet, is_copy)
        if copy is not None and self.mistake == "ports not exchanged":
            copy = replace(copy, transport=packet.transport)
        if copy is not None and self.mistake == "ttl not restored":
            copy = replace(copy, ttl=packet.ttl)
        return packet, copy

    def is_returnable(self, packet: Packet) -> bool:
        return packet.transport[12] != 0 if self.mistake == "all returned" else super().is_returnable(packet)

    def frame(self, packet: Packet) -> bytes:
        """The packet as bytes; with options left out of the header checksum, if that is the mistake."""
        frame = packet.frame()
        if self.mistake == "options not in checksum" and packet.options:
            header = frame[14:24] + b"\0\0" + frame[26:34]
            return frame[:24] + internet_checksum(header).to_bytes(2, "big") + frame[26:]
        return frame


def compile_(arguments: list[str]) -> None:
    """As p4c: what the program was compiled with stands in its output."""
    assert arguments[-1].endswith("haltere.p4") and "-DSHOW_DEPTH" in arguments
    names = ["hysteresis" if "-DHYSTERESIS" in arguments else "", "return" if "-DRETURN" in arguments else ""]
    Path(arguments[arguments.index("-o") + 1], "haltere.json").write_text("-".join(filter(None, names)) or "threshold")


def command() -> None:
    """As simple_switch_CLI: the commands go to the switch."""
    with socket.create_connection(CONTROL, 5) as control:
        control.sendall(sys.stdin.buffer.read())
        control.shutdown(socket.SHUT_WR)
        control.recv(1)


class StandIn:
    """As simple_switch: two ports, the second of which is served at the rate that was set."""

    def __init__(self, mistake: str, arguments: list[str]) -> None:
        self.mistake, self.variant = mistake, Path(arguments[-1]).read_text()
        self.switch = Wrong(mistake, self.variant, 1, 1)
        self.interval, self.due = 0.0, 0.0
        self.waiting: deque[tuple[Packet, int]] = deque()
        self.control = socket.create_server(CONTROL)
        self.devices = {}
        for interface in arguments[1:-1:2]:
            port, name = interface.split("@")
            device = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETHERTYPE_IPV4))
            device.bind((name, 0))
            self.devices[int(port)] = device

    def run(self) -> None:
        while True:
            now = time.monotonic()
            while self.waiting and self.due <= now:
                self.depart(*self.waiting.popleft())
                self.due += self.interval
            patience = max(self.due - now, 0) if self.waiting else 1
            for ready in select.select([self.control, *self.devices.values()], [], [], patience)[0]:
                if ready is self.control:
                    self.configure()
                else:
                    self.arrive(*ready.recvfrom(65536))

    def configure(self) -> None:
        peer, _ = self.control.accept()
        with peer, peer.makefile() as text:
            words = [line.split() for line in text]
        thresholds = {w[2]: int(w[3]) for w in words if w[:2] == ["register_write", "HaltereEgress.thresholds"]}
        if thresholds:
            self.switch = Wrong(self.mistake, self.variant, thresholds["0"], thresholds["1"])
        self.interval = next((1 / int(w[1]) for w in words if w[0] == "set_queue_rate"), self.interval)

    def arrive(self, frame: bytes, sender: tuple[str, int, int, int, bytes]) -> None:
        if sender[2] == socket.PACKET_OUTGOING:
            return
        routed = self.switch.route(Packet.parse(frame))
        if routed is not None and routed[0] == 2:
            if not self.waiting:
                self.due = max(self.due, time.monotonic())
            self.waiting.append((routed[1], len(self.waiting)))

    def depart(self, packet: Packet, depth: int) -> None:
        original, copy = self.switch.leave(2, depth, packet)
        self.devices[2].send(self.switch.frame(replace(original, identification=depth)))
        routed = None if copy is None else self.switch.route(copy)
        if routed is not None:
            self.devices[1].send(self.switch.frame(routed[1]))


def stand_in(name: str, mistake: str, arguments: list[str]) -> None:
    match name:
        case "p4c":
            compile_(arguments)
        case "simple_switch":
            StandIn(mistake, arguments).run()
        case "simple_switch_CLI":
            command()


if __name__ == "__main__":
    stand_in(sys.argv[1], sys.argv[2], sys.argv[3:])
    sys.exit()

# ---------------------------------------------------------------------------------------------------------------------------
# The driver

missing = [tool for tool in ("ip", "unshare") if shutil.which(tool) is None]
needs = "root" if not missing else ", ".join(missing)
#: In real time: the queue is served slowly.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(missing) or os.geteuid() != 0, reason=f"p4/drive.py needs {needs}"),
]


def driven(tmp_path: Path, variant: str, mistake: str = "none") -> subprocess.CompletedProcess[str]:
    for name in ("p4c", "simple_switch", "simple_switch_CLI"):
        tool = tmp_path / name
        tool.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{__file__}" {name} "{mistake}" "$@"\n')
        tool.chmod(0o755)
    return subprocess.run(
        [sys.executable, P4 / "drive.py", variant, "20", "12"],
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.mark.parametrize("variant", ["threshold", "hysteresis", "return", "hysteresis-return"])
def test_a_right_switch_passes(tmp_path: Path, variant: str) -> None:
    ran = driven(tmp_path, variant)
    assert ran.returncode == 0, ran.stderr
    lines = [line.split() for line in ran.stdout.splitlines()]
    assert len(lines) == sum(count for count, _ in BURSTS), "every packet of the bursts"
    told = 3 if "return" in variant else 2
    assert {words[told] for words in lines} == {"0", "1"}
    assert {words[5 - told] for words in lines} == {"0"}
    between = [words[told] for words in lines if words[0] == "data" and 12 <= int(words[1]) < 20]
    assert set(between) == ({"0", "1"} if "hysteresis" in variant else {"0"})


@pytest.mark.parametrize(
    ("variant", "mistake", "fault"),
    [
        ("return", "ports not exchanged", "ports must be 13899c40, got 9c401389"),
        ("return", "ttl not restored", "ttl must be 63, got 31"),
        ("threshold", "not-ect marked", "ecn must be 0, got 3"),
        ("hysteresis", "one threshold", "no packet was marked or returned between the thresholds, 12 and 20 packets"),
        ("return", "all returned", "must not be returned"),
        ("threshold", "options not in checksum", "the header checksum must be right"),
    ],
)
def test_a_wrong_switch_fails(tmp_path: Path, variant: str, mistake: str, fault: str) -> None:
    ran = driven(tmp_path, variant, mistake)
    assert ran.returncode == 1
    assert fault in ran.stderr, ran.stderr


def test_nothing_of_a_run_is_left(tmp_path: Path) -> None:
    def devices() -> set[str]:
        return set(os.listdir("/sys/class/net"))

    before = devices()
    assert driven(tmp_path, "threshold").returncode == 0
    assert devices() == before
    with socket.socket() as control:
        assert control.connect_ex(CONTROL) != 0, "the control port was in the driver's own namespace"
