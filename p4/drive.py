#!/usr/bin/env python3
"""Runs one variant of haltere.p4 in BMv2 and prints what became of each packet: `depth marked returned`, a line each.

    drive.py VARIANT UPPER LOWER        VARIANT: threshold, hysteresis, return, hysteresis-return

Packets go in at one virtual interface and come out at another; the switch serves few of them a second, so bursts and pauses
make the queue rise and fall through both thresholds. The program is compiled with SHOW_DEPTH and writes the depth that
each packet found into its IP identification: the marks can then be held against any other implementation, whatever the
timing was. Needs root, `ip`, `p4c`, `simple_switch` and `simple_switch_CLI`.
"""

import os
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
DEFINES = {
    "threshold": [],
    "hysteresis": ["-DHYSTERESIS"],
    "return": ["-DRETURN"],
    "hysteresis-return": ["-DHYSTERESIS", "-DRETURN"],
}
TOOLS = ("ip", "p4c", "simple_switch", "simple_switch_CLI")
# Packets a second that leave the switch, and bursts sent with the pause after each in seconds.
SERVICE = 200
BURSTS = [(50, 0.1), (10, 0.05), (20, 0.12), (30, 0.2), (5, 0.02), (40, 0.4)]
ETHERTYPE = 0x0800


def checksum(header: bytes) -> int:
    total = sum(struct.unpack(f"!{len(header) // 2}H", header))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def packet(number: int) -> bytes:
    """TCP from 10.0.0.1 to 10.0.0.2, ECT(0); its sequence number says which one it is."""
    tcp = struct.pack("!HHIIBBHHH", 40000, 5001, number, 0, 0x50, 0x10, 65535, 0, 0) + b"\0" * 100
    head = struct.pack("!BBHHHBBH4s4s", 0x45, 2, 20 + len(tcp), 0, 0x4000, 64, 6, 0, b"\x0a\0\0\1", b"\x0a\0\0\2")
    head = head[:10] + struct.pack("!H", checksum(head)) + head[12:]
    return b"\0\0\0\0\0\2" + b"\0\0\0\0\0\1" + struct.pack("!H", ETHERTYPE) + head + tcp


def received(device: socket.socket) -> dict[int, tuple[int, int]]:
    """Packets that wait at a device: number, (depth, ECN). A wrong header checksum ends the run."""
    found = {}
    while True:
        try:
            frame, address = device.recvfrom(65536)
        except BlockingIOError:
            return found
        if address[2] == socket.PACKET_OUTGOING or frame[12:14] != struct.pack("!H", ETHERTYPE):
            continue
        head = frame[14:34]
        if checksum(head) != 0:
            sys.exit(f"haltere.p4: the header checksum must be right, got {head.hex()}")
        (number,) = struct.unpack("!I", frame[38:42])
        found[number] = (struct.unpack("!H", head[4:6])[0], head[1] & 3)


def opened(name: str) -> socket.socket:
    device = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETHERTYPE))
    device.bind((name, 0))
    device.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
    device.setblocking(False)
    return device


def drive(variant: str, upper: int, lower: int, folder: Path) -> None:
    program = folder / "haltere.json"
    source = str(HERE / "haltere.p4")
    subprocess.run(
        ["p4c", "--target", "bmv2", "--arch", "v1model", "-DSHOW_DEPTH", *DEFINES[variant], "-o", str(folder), source],
        check=True,
        stdout=sys.stderr,
    )
    pairs = [(f"hp4-{i}", f"hp4-{i}s") for i in (1, 2, 7)]
    ports = [f"{port}@{inner}" for port, (_, inner) in zip((1, 2, 7), pairs, strict=True)]
    switch = None
    try:
        for outer, inner in pairs:
            subprocess.run(["ip", "link", "add", outer, "type", "veth", "peer", "name", inner], check=True)
            for name in (outer, inner):
                subprocess.run(["ip", "link", "set", name, "up"], check=True)
        arguments = [part for port in ports for part in ("-i", port)]
        switch = subprocess.Popen(["simple_switch", *arguments, str(program)], stdout=subprocess.DEVNULL)
        time.sleep(3)
        commands = (HERE / "commands.txt").read_text()
        commands += (
            f"register_write HaltereEgress.thresholds 0 {upper}\nregister_write HaltereEgress.thresholds 1 {lower}\n"
        )
        commands += f"set_queue_rate {SERVICE} 2\n"
        subprocess.run(["simple_switch_CLI"], input=commands, text=True, check=True, stdout=sys.stderr)
        near, far = opened(pairs[0][0]), opened(pairs[1][0])
        sent = 0
        for count, pause in BURSTS:
            for _ in range(count):
                near.send(packet(sent))
                sent += 1
            time.sleep(pause)
        time.sleep(2)
        there, back = received(far), received(near)
        for number, (depth, ecn) in sorted(there.items()):
            print(depth, int(ecn == 3), int(number in back))
        strangers = sorted(number for number, (_, ecn) in back.items() if number not in there or ecn != 3)
        if strangers:
            sys.exit(f"haltere.p4: a returned packet must have an original and be marked, got {strangers}")
    finally:
        if switch is not None:
            switch.terminate()
            switch.wait(10)
        for outer, _ in pairs:
            subprocess.run(["ip", "link", "del", outer], check=False, stderr=subprocess.DEVNULL)


def main() -> None:
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing or os.geteuid() != 0:
        print("not run:", f"{', '.join(missing)} not on the PATH" if missing else "needs root for virtual interfaces")
        sys.exit(77)
    variant, upper, lower = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    with tempfile.TemporaryDirectory(prefix="haltere-p4-") as folder:
        drive(variant, upper, lower, Path(folder))


if __name__ == "__main__":
    main()
