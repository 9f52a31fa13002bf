"""Captures made of thin air, for tests and for measuring how fast captures are read.

python tests/python/synthetic.py big.pcap --megabytes 1000 --copies 49      # then: haltere classify big.pcap

With `--copies` the traffic is made once, and written that many times: one copy after another in time, each with source addresses of its own, so
that its flows are new ones. That is many times as fast as to draw every packet.
"""

from __future__ import annotations

import argparse
import random
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path

_HEAD = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 96, 101)  # pcap, microseconds, raw IP
_PACKET = struct.Struct("<IIII")
_IP_TCP = struct.Struct(">BBHHHBBHIIHHIIBBHHHBBBBII")
SYN, ACK = 2, 16
SIZE = _IP_TCP.size
_SOURCE = slice(_PACKET.size + 12, _PACKET.size + 16)
"""Where a record has its source address."""


def packet(
    at: float, flow: tuple[int, int, int, int], seq: int, payload: int, *, flags: int = ACK, ack: int = 1,
    stamps: tuple[int, int] = (0, 0),
) -> bytes:  # fmt: skip
    """One record: IPv4 and TCP with timestamps, payload cut off. ``flow``: addresses and ports, source first."""
    source, sink, source_port, sink_port = flow
    us = round(at * 1e6)
    total = SIZE + payload
    return _PACKET.pack(us // 1_000_000, us % 1_000_000, SIZE, total) + _IP_TCP.pack(
        0x45, 0, total, 0, 0x4000, 64, 6, 0, source, sink, source_port, sink_port, seq & 0xFFFFFFFF, ack & 0xFFFFFFFF,
        0x80, flags, 0xFFFF, 0, 0, 1, 1, 8, 10, stamps[0] & 0xFFFFFFFF, stamps[1] & 0xFFFFFFFF,
    )  # fmt: skip


def write(path: Path, packets: Iterable[bytes]) -> None:
    """A pcap file."""
    with path.open("wb") as file:
        file.write(_HEAD)
        file.writelines(packets)


def copies(packets: Iterable[bytes], count: int, gap_s: float = 1.0) -> Iterator[bytes]:
    """The packets, then the same ``count`` - 1 times more: later by their span and ``gap_s``, from other /16 networks."""
    one = list(packets)
    last_s, last_us, *_ = _PACKET.unpack_from(one[-1])
    span_us = last_s * 1_000_000 + last_us + round(gap_s * 1e6)
    heads = [_PACKET.unpack_from(record) for record in one]
    for copy in range(count):
        for (s, us, kept, total), record in zip(heads, one, strict=True):
            now = s * 1_000_000 + us + copy * span_us
            source = int.from_bytes(record[_SOURCE], "big") + (copy << 16)
            yield b"".join((
                _PACKET.pack(now // 1_000_000, now % 1_000_000, kept, total),
                record[_PACKET.size : _SOURCE.start],
                source.to_bytes(4, "big"),
                record[_SOURCE.stop :],
            ))  # fmt: skip


def traffic(count: int, seed: int = 1, active: int = 60, rate: float = 10_000.0) -> Iterator[bytes]:
    """``count`` packets of flows with heavy-tailed lengths (Pareto, 1.1), ``active`` at a time, in bursts of up to ten."""
    chance = random.Random(seed)
    new = 0

    def flow() -> list[int]:
        nonlocal new
        new += 1
        length = min(int(4 * chance.paretovariate(1.1)), 100_000)
        return [new, length, chance.getrandbits(32)]  # number, packets to go, sequence number; a SYN comes first

    under_way = [flow() for _ in range(active)]
    fresh = set(range(active))
    sent = 0
    while sent < count:
        place = chance.randrange(active)
        number, left, seq = under_way[place]
        key = (0x0A000000 + number % 65_521, 0x0B000001, 1024 + number % 60_000, 80)
        if place in fresh:
            yield packet(sent / rate, key, seq, 0, flags=SYN)
            fresh.discard(place)
            under_way[place][2] = seq + 1
            sent += 1
            continue
        burst = min(chance.randint(1, 10), left, count - sent)
        for _ in range(burst):
            yield packet(sent / rate, key, seq, 1448)
            seq += 1448
            sent += 1
        under_way[place][1:] = [left - burst, seq]
        if left == burst:
            under_way[place] = flow()
            fresh.add(place)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("--megabytes", type=int, default=1000, help="size of the file (default: %(default)s)")
    parser.add_argument(
        "--copies", type=int, default=1, help="how often the same traffic is written (default: %(default)s)"
    )
    args = parser.parse_args()
    packets = args.megabytes * 1_000_000 // (SIZE + 16)
    write(args.path, copies(traffic(packets // args.copies), args.copies))


if __name__ == "__main__":
    main()
