"""What haltere.p4 must do with each packet, without BMv2: packets, the path of a packet, and the check of a run.

`Packet` reads and writes the headers that the switch touches. `Switch` is the path of a packet through the program: which packets are
marked or returned, and how they look when they leave. `faults` compares what came out of a switch with that.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace

ETHERTYPE_IPV4 = 0x0800
TCP, UDP = 6, 17
NOT_ECT, ECT1, ECT0, CE = 0, 1, 2, 3
FIN, SYN, RST, ACK = 1, 2, 4, 16
MORE_FRAGMENTS = 0x2000
FRAGMENT_OFFSET = 0x1FFF
# TTL of a copy before it is forwarded, as in haltere.p4.
INITIAL_TTL = 64
# TTL of what the driver sends: far enough from INITIAL_TTL to tell a restored TTL from one that was not.
SENT_TTL = 33


class Fault(ValueError):
    """A frame is not what it must be."""


def internet_checksum(data: bytes) -> int:
    """RFC 1071: 0 over data whose checksum is right."""
    data += b"\0" * (len(data) % 2)
    total: int = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def mac(host: int) -> bytes:
    """The MAC address of a host, as commands.txt and net.sh have it."""
    return bytes([0, 0, 0, 0, 0, host])


def address(host: int) -> bytes:
    """The IPv4 address of a host."""
    return bytes([10, 0, 0, host])


@dataclass(frozen=True)
class Packet:
    """An IPv4 packet in an Ethernet frame. `transport` is what follows the IP header."""

    eth_dst: bytes
    eth_src: bytes
    dscp: int
    ecn: int
    identification: int
    fragment: int
    ttl: int
    protocol: int
    src: bytes
    dst: bytes
    options: bytes
    transport: bytes

    @staticmethod
    def parse(frame: bytes) -> Packet:
        """Reads a frame; a fault where it is no IPv4, or a checksum is wrong."""
        header_length = (frame[14] & 15) * 4
        header = frame[14 : 14 + header_length]
        if (
            frame[12:14] != struct.pack("!H", ETHERTYPE_IPV4)
            or frame[14] >> 4 != 4
            or not 20 <= len(header) == header_length
        ):
            raise Fault(f"a frame must be IPv4, got {frame.hex()}")
        if internet_checksum(header) != 0:
            raise Fault(f"the header checksum must be right, got {header.hex()}")
        _, tos, length, identification, fragment, ttl, protocol, _, src, dst = struct.unpack(
            "!BBHHHBBH4s4s", header[:20]
        )
        transport = frame[14 + header_length : 14 + length]
        packet = Packet(
            frame[:6],
            frame[6:12],
            tos >> 2,
            tos & 3,
            identification,
            fragment,
            ttl,
            protocol,
            src,
            dst,
            header[20:],
            transport,
        )
        if protocol in (TCP, UDP) and not packet.is_fragment and packet.transport_checksum() != 0:
            raise Fault(f"the transport checksum must be right, got {transport.hex()}")
        return packet

    def frame(self) -> bytes:
        """The packet as bytes, with its IP header checksum."""
        words = 5 + len(self.options) // 4
        length = words * 4 + len(self.transport)
        header = struct.pack(
            "!BBHHHBBH4s4s",
            0x40 | words,
            self.dscp << 2 | self.ecn,
            length,
            self.identification,
            self.fragment,
            self.ttl,
            self.protocol,
            0,
            self.src,
            self.dst,
        )
        header += self.options
        header = header[:10] + struct.pack("!H", internet_checksum(header)) + header[12:]
        return self.eth_dst + self.eth_src + struct.pack("!H", ETHERTYPE_IPV4) + header + self.transport

    @property
    def is_fragment(self) -> bool:
        """More fragments follow, or came before."""
        return self.fragment & (MORE_FRAGMENTS | FRAGMENT_OFFSET) != 0

    @property
    def ports(self) -> bytes:
        """Source port and destination port."""
        return self.transport[:4]

    @property
    def number(self) -> int:
        """Which packet of the driver it is: TCP's sequence number, or the first bytes of a datagram."""
        at = 4 if self.protocol == TCP else 8
        return int.from_bytes(self.transport[at : at + 4], "big")

    @property
    def is_data_segment(self) -> bool:
        """TCP with payload, without SYN, FIN and RST, in one piece: what may be returned."""
        if self.protocol != TCP or self.is_fragment or len(self.transport) < 20:
            return False
        has_payload = (self.transport[12] >> 4) * 4 < len(self.transport)
        return has_payload and self.transport[13] & (SYN | FIN | RST) == 0

    def transport_checksum(self) -> int:
        """The checksum over pseudo-header and transport: 0 where it is right."""
        pseudo = self.src + self.dst + struct.pack("!HH", self.protocol, len(self.transport))
        return internet_checksum(pseudo + self.transport)

    def with_transport_checksum(self) -> Packet:
        """The same with the transport's checksum filled in."""
        at = 16 if self.protocol == TCP else 6
        empty = replace(self, transport=self.transport[:at] + b"\0\0" + self.transport[at + 2 :])
        total = struct.pack("!H", empty.transport_checksum())
        return replace(self, transport=self.transport[:at] + total + self.transport[at + 2 :])


# The kinds of packets that a run sends.
KINDS = ("data", "ect1", "not-ect", "ce", "udp", "options", "syn", "ack", "fin", "rst", "fragment")
# No operation; router alert (RFC 2113); the longest that fits, 40 bytes.
OPTIONS = (b"\x01\x01\x01\x00", b"\x94\x04\x00\x00", b"\x94\x04\x00\x00" + b"\x01" * 35 + b"\x00")
_ECN = {"not-ect": NOT_ECT, "ce": CE, "ect1": ECT1}
_FLAGS = {"syn": SYN, "fin": ACK | FIN, "rst": ACK | RST}


def packet(number: int, kind: str) -> Packet:
    """The packet of a kind from 10.0.0.1 to 10.0.0.2; its number says which one it is."""
    payload = b"" if kind in ("syn", "ack", "rst") else bytes(i & 0xFF for i in range(100))
    if kind == "udp":
        transport = struct.pack("!HHHHI", 40000, 5001, 12 + len(payload), 0, number) + payload
    else:
        flags = _FLAGS.get(kind, ACK)
        transport = struct.pack("!HHIIBBHHH", 40000, 5001, number, 77, 0x50, flags, 65535, 0, 0) + payload
    return Packet(
        eth_dst=mac(2),
        eth_src=mac(1),
        dscp=10,
        ecn=_ECN.get(kind, ECT0),
        identification=number & 0xFFFF,
        fragment=MORE_FRAGMENTS if kind == "fragment" else 0x4000,
        ttl=SENT_TTL,
        protocol=UDP if kind == "udp" else TCP,
        src=address(1),
        dst=address(2),
        options=OPTIONS[number % len(OPTIONS)] if kind == "options" else b"",
        transport=transport,
    ).with_transport_checksum()


def kind_of(number: int) -> str:
    """Every second packet of a run is plain data; the other kinds take turns."""
    return KINDS[0] if number % 2 == 0 else KINDS[1 + number // 2 % (len(KINDS) - 1)]


class Switch:
    """haltere.p4 with its table as commands.txt fills it, but for its queues: the caller says how many packets waited."""

    def __init__(self, variant: str, upper: int, lower: int) -> None:
        self.returns = variant.endswith("return")
        self.upper = upper
        self.lower = lower if variant.startswith("hysteresis") else upper
        self.congested: dict[int, bool] = {}

    def is_congested(self, port: int, depth: int) -> bool:
        """Takes note of what a packet found waiting at a port; true where it meets congestion."""
        self.congested[port] = depth >= self.upper or (self.congested.get(port, False) and depth >= self.lower)
        return self.congested[port]

    @staticmethod
    def route(packet: Packet) -> tuple[int, Packet] | None:
        """Ingress: the port that the packet leaves by and how it looks then; nothing where it is dropped."""
        port = packet.dst[3]
        if packet.ttl <= 1 or packet.dst[:3] != b"\x0a\0\0" or not 1 <= port <= 6:
            return None
        return port, replace(packet, eth_src=packet.eth_dst, eth_dst=mac(port), ttl=packet.ttl - 1)

    def is_returnable(self, packet: Packet) -> bool:
        """A copy of this packet would go back if it met congestion."""
        return packet.is_data_segment

    def leave(self, port: int, depth: int, packet: Packet, is_copy: bool = False) -> tuple[Packet, Packet | None]:
        """Egress: the packet as it leaves, and the copy of it that comes in again."""
        if not self.is_congested(port, depth) or packet.ecn in (NOT_ECT, CE):
            return packet, None
        if not self.returns:
            return replace(packet, ecn=CE), None
        return packet, self.turned_round(packet) if self.is_returnable(packet) and not is_copy else None

    @staticmethod
    def turned_round(packet: Packet) -> Packet:
        """A copy with its ends exchanged, its TTL restored, and marked."""
        ports = packet.ports[2:] + packet.ports[:2]
        return replace(
            packet,
            eth_src=packet.eth_dst,
            eth_dst=packet.eth_src,
            src=packet.dst,
            dst=packet.src,
            transport=ports + packet.transport[4:],
            ttl=INITIAL_TTL,
            ecn=CE,
        )


@dataclass(frozen=True)
class Fate:
    """The result for a packet: the queue that it found, and whether it was marked and returned."""

    kind: str
    depth: int
    marked: bool
    returned: bool


def differences(got: Packet, expected: Packet) -> list[str]:
    """The fields that differ; the identification is the depth, and says nothing."""
    names = [f.name for f in fields(Packet) if f.name not in ("identification", "transport")]
    out = [
        f"{n} must be {_shown(getattr(expected, n))}, got {_shown(getattr(got, n))}"
        for n in names
        if getattr(got, n) != getattr(expected, n)
    ]
    if got.ports != expected.ports:
        out.append(f"ports must be {_shown(expected.ports)}, got {_shown(got.ports)}")
    if got.transport[4:] != expected.transport[4:]:
        out.append("what follows the ports must be as it was sent")
    return out


def _shown(value: object) -> str:
    return value.hex() if isinstance(value, bytes) else str(value)


def fates(sent: Mapping[int, str], there: Sequence[Packet], back: Iterable[Packet]) -> list[Fate]:
    """The result for each packet that arrived, in the order of arrival, which is that of the queue."""
    returned = {p.number for p in back}
    return [
        Fate(sent[p.number], p.identification, p.ecn == CE and sent[p.number] != "ce", p.number in returned)
        for p in there
        if p.number in sent
    ]


def faults(
    variant: str, upper: int, lower: int, sent: Mapping[int, str], there: Sequence[Packet], back: Sequence[Packet]
) -> list[str]:
    """What is wrong with a run: `sent` has the kind of each number, `there` what arrived, `back` what returned.

    Each packet that arrived and each copy must be as the program makes it from what was sent and from the depth that it found.
    The run must also have put the program to the test (`untested`).
    """
    switch = Switch(variant, upper, lower)
    expected_copies: dict[int, Packet] = {}
    out = []
    for got in there:
        if got.number not in sent:
            out.append(f"packet {got.number} arrived, but was not sent")
            continue
        kind = sent[got.number]
        routed = switch.route(packet(got.number, kind))
        assert routed is not None, "every kind has a route"
        expected, copy = switch.leave(routed[0], got.identification, routed[1])
        out += [f"{kind} packet {got.number} at depth {got.identification}: {d}" for d in differences(got, expected)]
        if copy is not None:
            copy_routed = switch.route(copy)
            assert copy_routed is not None, "a copy has a route"
            expected_copies[got.number] = copy_routed[1]
    out += [f"packet {n} arrived {times} times" for n, times in Counter(p.number for p in there).items() if times > 1]
    out += _faults_of_copies(sent, expected_copies, back)
    return out + untested(upper, switch.lower, sent, there, switch.returns, {p.number for p in back})


def _faults_of_copies(sent: Mapping[int, str], expected: Mapping[int, Packet], back: Sequence[Packet]) -> list[str]:
    out = []
    for copy in back:
        name = f"copy of {sent.get(copy.number, 'unknown')} packet {copy.number}"
        if copy.number in expected:
            out += [f"{name}: {d}" for d in differences(copy, expected[copy.number])]
        else:
            out.append(f"{name}: must not be returned")
    times = Counter(p.number for p in back)
    out += [f"{sent[n]} packet {n} must be returned once, got {times[n]} times" for n in expected if times[n] != 1]
    return out


def untested(
    upper: int, lower: int, sent: Mapping[int, str], there: Sequence[Packet], returns: bool, returned: set[int]
) -> list[str]:
    """What the run did not show: a run that shows nothing must not pass."""
    data = [p for p in there if sent.get(p.number) == "data"]
    told = {p.number for p in data if (p.number in returned if returns else p.ecn == CE)}
    out = []
    if not any(p.identification >= upper for p in data):
        out.append(f"the queue never reached the upper threshold, {upper} packets")
    if not any(p.identification < lower for p in data):
        out.append(f"the queue was never below the lower threshold, {lower} packets")
    between = [p for p in data if lower <= p.identification < upper]
    if lower < upper and not any(p.number in told for p in between):
        out.append(f"no packet was marked or returned between the thresholds, {lower} and {upper} packets")
    if lower < upper and all(p.number in told for p in between):
        out.append(f"no packet passed unmarked between the thresholds, {lower} and {upper} packets")
    full = {sent[p.number] for p in there if p.number in sent and p.identification >= upper}
    out += [f"no packet of kind {kind} met a queue above the upper threshold" for kind in KINDS if kind not in full]
    return out
