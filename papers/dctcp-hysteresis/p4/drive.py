#!/usr/bin/env python3
"""Runs one variant of haltere.p4 in BMv2, checks every packet, and prints its result: `kind depth marked returned`.

    drive.py VARIANT UPPER LOWER        VARIANT: threshold, hysteresis, return, hysteresis-return

Packets go in at one virtual interface and come out at another; the switch serves few of them a second, so bursts and pauses
make the queue rise and fall through both thresholds. The program is compiled with SHOW_DEPTH and writes the depth that
each packet found into its IP identification: the marks can then be compared with any other implementation, whatever the
timing was. packets.py says what must come out; a run with a fault, or one that does not show enough, ends with status 1.

All of it runs in a network namespace of its own, which ends with it: BMv2's control port listens on every address.
Needs root, `ip`, `unshare`, `p4c`, `simple_switch` and `simple_switch_CLI`; without them it says so and ends with status 77.
"""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from packets import ETHERTYPE_IPV4, Fault, Packet, fates, faults, kind_of, packet

HERE = Path(__file__).resolve().parent
DEFINES = {
    "threshold": [],
    "hysteresis": ["-DHYSTERESIS"],
    "return": ["-DRETURN"],
    "hysteresis-return": ["-DHYSTERESIS", "-DRETURN"],
}
TOOLS = ("ip", "unshare", "p4c", "simple_switch", "simple_switch_CLI")
SKIPPED = 77
# Says that the process is in its own network namespace.
INSIDE = "--inside"
CONTROL = ("127.0.0.1", 9090)
# Packets a second that leave the switch, and bursts sent with the pause after each in seconds. The single packets come more
# slowly than they leave: each finds a shorter queue, and some find one between the thresholds, whatever the timing is.
SERVICE = 200
BURSTS = [(50, 0.1), (10, 0.05), (20, 0.12), (30, 0.2), (5, 0.02), (40, 0.05), *[(1, 0.008)] * 80]
PORTS = (1, 2)


def received(device: socket.socket) -> list[Packet]:
    """The IPv4 packets that wait at a device, in their order. A wrong checksum ends the run."""
    found: list[Packet] = []
    while True:
        try:
            frame, sender = device.recvfrom(65536)
        except BlockingIOError:
            return found
        if sender[2] == socket.PACKET_OUTGOING or frame[12:14] != ETHERTYPE_IPV4.to_bytes(2, "big"):
            continue
        try:
            found.append(Packet.parse(frame))
        except Fault as fault:
            sys.exit(f"haltere.p4: {fault}")


def opened(name: str) -> socket.socket:
    device = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETHERTYPE_IPV4))
    device.bind((name, 0))
    device.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
    device.setblocking(False)
    return device


def compiled(variant: str, folder: Path) -> Path:
    command = ["p4c", "--target", "bmv2", "--arch", "v1model", "-DSHOW_DEPTH", *DEFINES[variant], "-o", str(folder)]
    subprocess.run([*command, str(HERE / "haltere.p4")], check=True, stdout=sys.stderr)
    return folder / "haltere.json"


def cabled() -> None:
    """The virtual interfaces: `portN` is the switch's end, `hostN` the driver's."""
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    for port in PORTS:
        pair = (f"host{port}", f"port{port}")
        subprocess.run(["ip", "link", "add", pair[0], "type", "veth", "peer", "name", pair[1]], check=True)
        for name in pair:
            subprocess.run(["ip", "link", "set", name, "up"], check=True)


def wait_for_control(switch: subprocess.Popen[bytes]) -> None:
    """Waits until BMv2 takes commands."""
    for _ in range(100):
        if switch.poll() is not None:
            sys.exit(f"simple_switch must keep running, ended with status {switch.returncode}")
        try:
            socket.create_connection(CONTROL, 1).close()
        except OSError:
            time.sleep(0.1)
        else:
            time.sleep(1)
            return
    sys.exit(f"simple_switch must listen on port {CONTROL[1]} within 10 s")


def configure(upper: int, lower: int) -> None:
    commands = (HERE / "commands.txt").read_text()
    for index, threshold in enumerate((upper, lower)):
        commands += f"register_write HaltereEgress.thresholds {index} {threshold}\n"
    commands += f"set_queue_rate {SERVICE} 2\n"
    subprocess.run(["simple_switch_CLI"], input=commands, text=True, check=True, stdout=sys.stderr)


def exchanged() -> tuple[dict[int, str], list[Packet], list[Packet]]:
    """Sends the bursts: the kind of each number sent, what arrived, what came back."""
    near, far = opened("host1"), opened("host2")
    sent: dict[int, str] = {}
    for count, pause in BURSTS:
        for _ in range(count):
            number = len(sent)
            sent[number] = kind_of(number)
            near.send(packet(number, sent[number]).frame())
        time.sleep(pause)
    time.sleep(1)
    return sent, received(far), received(near)


def drive(variant: str, upper: int, lower: int, folder: Path) -> None:
    program = compiled(variant, folder)
    cabled()
    interfaces = [part for port in PORTS for part in ("-i", f"{port}@port{port}")]
    switch = subprocess.Popen(["simple_switch", *interfaces, str(program)], stdout=subprocess.DEVNULL)
    try:
        wait_for_control(switch)
        configure(upper, lower)
        sent, there, back = exchanged()
    finally:
        switch.terminate()
        switch.wait(10)
    for fate in fates(sent, there, back):
        print(fate.kind, fate.depth, int(fate.marked), int(fate.returned))
    found = faults(variant, upper, lower, sent, there, back)
    if found:
        sys.exit("\n".join(f"haltere.p4, {variant}: {fault}" for fault in found))


def main() -> None:
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing or os.geteuid() != 0:
        print("not run:", f"{', '.join(missing)} not on the PATH" if missing else "needs root for virtual interfaces")
        sys.exit(SKIPPED)
    arguments = sys.argv[1:]
    if arguments[:1] != [INSIDE]:
        os.execvp("unshare", ["unshare", "--net", sys.executable, str(HERE / "drive.py"), INSIDE, *arguments])
    variant, upper, lower = arguments[1], int(arguments[2]), int(arguments[3])
    with tempfile.TemporaryDirectory(prefix="haltere-p4-") as folder:
        drive(variant, upper, lower, Path(folder))


if __name__ == "__main__":
    main()
