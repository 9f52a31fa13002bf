"""The P4 program without BMv2: its source against the claims of its README, and the driver's checks against forged runs."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

P4 = Path(__file__).resolve().parent
sys.path.insert(0, str(P4))

import packets  # noqa: E402
from packets import ACK, CE, ECT0, KINDS, NOT_ECT, Packet, Switch, fates, faults, kind_of, packet  # noqa: E402

VARIANTS = ("threshold", "hysteresis", "return", "hysteresis-return")
UPPER, LOWER = 20, 12

# ---------------------------------------------------------------------------------------------------------------------------
# The source


def source() -> str:
    return (P4 / "haltere.p4").read_text()


def preprocessed(text: str, *defined: str) -> str:
    """The program of a variant: comments removed, `#ifdef`, `#else` and `#endif` followed."""
    out, taken = [], [True]
    for line in re.sub(r"/\*.*?\*/", "", text, flags=re.S).splitlines():
        words = line.split()
        match words[:1]:
            case ["#ifdef"]:
                taken.append(words[1] in defined)
            case ["#else"]:
                taken[-1] = not taken[-1]
            case ["#endif"]:
                taken.pop()
            case _ if all(taken):
                out.append(line)
    assert taken == [True], "every #ifdef must have its #endif"
    return "\n".join(out)


def block(text: str, head: str) -> str:
    """What stands between the braces after the first match of `head`."""
    found = re.search(head, text)
    assert found is not None, f"the program must have `{head}`"
    start = text.index("{", found.end())
    depth = 0
    for at in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if depth == 0:
            return text[start + 1 : at]
    raise AssertionError(f"the braces of `{head}` must be closed")


def flat(text: str) -> str:
    return re.sub(r"\s+", " ", text)


def headers(text: str) -> dict[str, dict[str, int]]:
    """Each header's fields with their widths; that of a varbit is negative."""
    out = {}
    for name in re.findall(r"^header (\w+)", text, flags=re.M):
        fields = re.findall(r"(bit|varbit)<(\d+)> (\w+);", block(text, rf"header {name}\b"))
        out[name] = {field: int(width) * (1 if kind == "bit" else -1) for kind, width, field in fields}
    return out


def check_source(text: str) -> None:
    """What haltere.p4 claims, as far as its text shows it."""
    for defined in (
        (),
        ("HYSTERESIS",),
        ("RETURN",),
        ("HYSTERESIS", "RETURN"),
        ("RETURN", "MARK", "DEPTHS"),
        ("HYSTERESIS", "RETURN", "SHOW_DEPTH"),
    ):
        program = preprocessed(text, *defined)
        for pair in ("{}", "()", "[]"):
            assert program.count(pair[0]) == program.count(pair[1]), f"{defined}: {pair} must be closed"
        check_names(program)
        check_headers(program)
        check_checksums(program)
        check_returning(program, "RETURN" in defined, "RETURN" not in defined or "MARK" in defined)


def check_names(program: str) -> None:
    registers = re.findall(r"register<[^(]*\(\d+\) (\w+);", program)
    for name in registers + re.findall(r"^ *action (\w+)", program, flags=re.M):
        assert len(re.findall(rf"\b{name}\b", program)) >= 2, f"`{name}` must be used"
    for name in re.findall(r"(\w+)\.(?:read|write)\(", program):
        assert name in registers, f"`{name}` must be declared"
    states = set(re.findall(r"state (\w+)", program)) | {"accept", "reject"}
    targets = re.findall(r"transition (\w+);", program) + re.findall(
        r": (\w+);\n", block(program, "parser HaltereParser")
    )
    assert set(targets) <= states, f"unknown states {set(targets) - states}"
    assert states - {"start", "accept", "reject"} <= set(targets), "every state must be reached"


def check_headers(program: str) -> None:
    found = headers(program)
    fixed = {name: sum(width for width in fields.values() if width > 0) for name, fields in found.items()}
    assert fixed == {"ethernet_t": 112, "ipv4_t": 160, "ip_start_t": 8, "tcp_t": 160}
    assert found["ipv4_t"].get("options") == -320, "the longest header has 40 bytes of options"
    members = re.findall(r"(\w+) (\w+);", block(program, "struct headers_t"))
    for kind, member in members:
        for field in re.findall(rf"h\.{member}\.(\w+)\b(?!\()", program):
            assert field in found[kind], f"{member} must have a field `{field}`"
        assert f"packet.extract(h.{member}" in program, f"{member} must be parsed"
    emitted = re.findall(r"packet\.emit\(h\.(\w+)\)", program)
    assert emitted == [member for _, member in members], "what is parsed must be emitted, in that order"
    # The options are carried: the length of what is extracted is that of the header.
    assert "packet.extract(h.ipv4, ((bit<32>) packet.lookahead<ip_start_t>().ihl - 5) * 32);" in program


def check_checksums(program: str) -> None:
    expected = [field for field in headers(program)["ipv4_t"] if field != "checksum"]
    for call in ("verify_checksum", "update_checksum"):
        body = flat(program[program.index(f"{call}(") :])
        assert body.startswith(f"{call}(h.ipv4.isValid(), {{"), f"{call} must cover headers of every length"
        assert re.findall(r"h\.ipv4\.(\w+)", body[body.index("{") : body.index("}")]) == expected, call
        assert body[body.index("}") :].startswith("}, h.ipv4.checksum, HashAlgorithm.csum16);")


def check_returning(program: str, returns: bool, marks: bool) -> None:
    ingress, egress = flat(block(program, "control HaltereIngress")), flat(block(program, "control HaltereEgress"))
    assert "if (standard.instance_type == RECIRCULATED) { h.ipv4.ecn = CE; }" in ingress
    told = block(egress, r"if \(meets_congestion && h\.ipv4\.ecn != NOT_ECT && h\.ipv4\.ecn != CE\)")
    assert egress.count("clone(") == told.count("clone(") == int(returns)
    assert egress.count("h.ipv4.ecn = CE") == told.count("h.ipv4.ecn = CE") == int(marks), (
        "CE: ECN-capable packets only"
    )
    if returns:
        condition = told[: told.index("count(RETURNED)")]
        for part in (
            "h.tcp.isValid()",
            "(((bit<16>) h.ipv4.ihl + (bit<16>) h.tcp.data_offset) << 2) < h.ipv4.total_length",
            "if (has_payload && h.tcp.syn == 0 && h.tcp.fin == 0 && h.tcp.rst == 0)",
        ):
            assert part in condition, f"a clone needs `{part}`"
    turned = block(egress, "action turn_round")
    for header, a, b in (("ethernet", "src", "dst"), ("ipv4", "src", "dst"), ("tcp", "src", "dst")):
        exchange = rf"bit<\d+> (\w+) = h\.{header}\.{a}; h\.{header}\.{a} = h\.{header}\.{b}; h\.{header}\.{b} = \1;"
        assert re.search(exchange, turned), f"the ends of {header} must be exchanged"
    assert "h.ipv4.ttl = INITIAL_TTL;" in turned
    assert "(0, 0, PROTOCOL_TCP): tcp;" in program, "fragments have no TCP header to return"


def test_the_source_does_what_it_claims() -> None:
    check_source(source())


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (" && h.tcp.syn == 0", ""),
        (" && h.tcp.rst == 0", ""),
        ("has_payload && ", ""),
        ("h.ipv4.options },", "},"),
        ("h.ipv4.isValid(),", "h.ipv4.isValid() && h.ipv4.ihl == 5,"),
        ("h.ipv4.more_fragments, h.ipv4.fragment_offset, h.ipv4.ttl", "h.ipv4.fragment_offset, h.ipv4.ttl"),
        ("    varbit<320> options;\n", ""),
        ("h.tcp.dst = port;", "h.tcp.src = port;"),
        ("        h.ipv4.ttl = INITIAL_TTL;\n", ""),
        ("h.ipv4.ecn != NOT_ECT && ", ""),
        ("        packet.emit(h.tcp);\n", ""),
        ("#ifdef HYSTERESIS\n    /* Algorithm", "#ifdef NOTHING\n    /* Algorithm"),
        ("(0, 0, PROTOCOL_TCP): tcp;", "(0, 0, PROTOCOL_TCP): accept;"),
    ],
)
def test_a_source_that_breaks_a_claim_is_found(old: str, new: str) -> None:
    text = source()
    assert old in text, f"the program no longer has {old!r}: this mutant tests nothing"
    with pytest.raises(AssertionError):
        check_source(text.replace(old, new))


def test_without_hysteresis_there_is_no_state() -> None:
    assert "congested" not in preprocessed(source()).replace("meets_congestion", "")


def test_a_state_that_is_not_used_is_found() -> None:
    text = re.sub(r"#ifdef HYSTERESIS\n(.*?congested;\n)#endif\n", r"\1", source(), count=1, flags=re.S)
    with pytest.raises(AssertionError, match="`congested` must be used"):
        check_source(text)


def test_commands_name_what_the_program_has() -> None:
    text, commands = source(), (P4 / "commands.txt").read_text().splitlines()
    hosts = [line.split() for line in commands if line.startswith("table_add")]
    assert [words[1:3] for words in hosts] == [["routes", "forward"]] * 6
    for host, words in enumerate(hosts, 1):
        assert words[3:] == [f"10.0.0.{host}/32", "=>", packets.mac(host).hex(":"), str(host)]
    assert "table routes" in text and "action forward(bit<48> mac, bit<9> port)" in text
    session = re.search(r"RETURN_SESSION = (\d+);", text)
    assert session is not None
    assert [line for line in commands if line.startswith("mirroring_add")] == [f"mirroring_add {session[1]} 7"]
    for index, line in enumerate(line for line in commands if line.startswith("register_write")):
        assert line.startswith(f"register_write HaltereEgress.thresholds {index} ")
    assert len(commands) == 9
    assert f"INITIAL_TTL = {packets.INITIAL_TTL};" in text


# ---------------------------------------------------------------------------------------------------------------------------
# The driver's packets and the path of a packet


@pytest.mark.parametrize("kind", KINDS)
def test_a_packet_of_each_kind_is_read_as_it_was_written(kind: str) -> None:
    for number in range(4):
        sent = packet(number, kind)
        assert Packet.parse(sent.frame()) == sent
        assert sent.number == number


def test_a_wrong_checksum_is_a_fault() -> None:
    frame = bytearray(packet(1, "options").frame())
    for at in (22, 60):  # the TTL, and a byte of the TCP header
        frame[at] ^= 1
        with pytest.raises(packets.Fault, match="checksum must be right"):
            Packet.parse(bytes(frame))
        frame[at] ^= 1
    Packet.parse(bytes(frame))


@pytest.mark.parametrize(
    ("kind", "is_marked", "is_returned"),
    # As KINDS of crates/haltere-queue/tests/it/p4.rs has it for the discipline.
    [
        ("data", True, True),
        ("ect1", True, True),
        ("not-ect", False, False),
        ("ce", False, False),
        ("udp", True, False),
        ("options", True, True),
        ("syn", True, False),
        ("ack", True, False),
        ("fin", True, False),
        ("rst", True, False),
        ("fragment", True, False),
    ],
)
def test_a_full_queue_tells_these_kinds(kind: str, is_marked: bool, is_returned: bool) -> None:
    sent = packet(3, kind)
    marked, copy = Switch("threshold", UPPER, LOWER).leave(2, UPPER, sent)
    assert (marked.ecn == CE and sent.ecn != CE, copy) == (is_marked, None)
    original, copy = Switch("return", UPPER, LOWER).leave(2, UPPER, sent)
    assert original == sent
    assert (copy is not None) == is_returned


def test_the_ports_of_a_switch_have_their_own_state() -> None:
    switch = Switch("hysteresis", UPPER, LOWER)
    assert [switch.is_congested(2, depth) for depth in (15, 20, 15, 12, 11, 15)] == [
        False,
        True,
        True,
        True,
        False,
        False,
    ]
    switch.is_congested(2, 20)
    assert not switch.is_congested(1, 15)


# ---------------------------------------------------------------------------------------------------------------------------
# The driver's check: forged runs


class Run:
    """What a right switch makes of the driver's packets: the queue rises above the upper threshold, falls between and below."""

    def __init__(self, variant: str) -> None:
        self.variant = variant
        self.sent: dict[int, str] = {}
        self.there: list[Packet] = []
        self.back: list[Packet] = []
        switch = Switch(variant, UPPER, LOWER)
        for number, depth in enumerate([*range(50), *range(45, 11, -1), *range(11, 18), *range(17, 60)]):
            self.sent[number] = kind_of(number)
            routed = switch.route(packet(number, kind_of(number)))
            assert routed is not None
            original, copy = switch.leave(routed[0], depth, routed[1])
            self.there.append(replace(original, identification=depth))
            if copy is not None:
                returned = switch.route(copy)
                assert returned is not None
                self.back.append(replace(returned[1], identification=0))

    def faults(self) -> list[str]:
        return faults(self.variant, UPPER, LOWER, self.sent, self.there, self.back)


def changed(**values: Any) -> Callable[[Packet], Packet]:
    return lambda p: replace(p, **values)


def ports_as_sent(p: Packet) -> Packet:
    return replace(p, transport=p.ports[2:] + p.ports[:2] + p.transport[4:])


def index_of(packets_: list[Packet], run: Run, kind: str, told: bool | None = None) -> int:
    """The last packet of that kind: the queue is full then."""
    return max(i for i, p in enumerate(packets_) if run.sent[p.number] == kind)


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_right_run_has_no_fault(variant: str) -> None:
    run = Run(variant)
    assert run.faults() == []
    told = [f for f in fates(run.sent, run.there, run.back) if f.marked or f.returned]
    assert {f.marked for f in told} == {"return" not in variant}
    kinds = {"data", "ect1", "options"} if "return" in variant else set(KINDS) - {"not-ect", "ce"}
    assert {f.kind for f in told} == kinds


@pytest.mark.parametrize(
    ("wrong", "fault"),
    [
        (ports_as_sent, "ports must be"),
        (changed(ttl=packets.SENT_TTL - 2), "ttl must be 63, got 31"),
        (changed(ecn=ECT0), "ecn must be 3, got 2"),
        (changed(src=packets.address(1), dst=packets.address(2)), "src must be 0a000002"),
        (changed(eth_dst=packets.mac(2)), "eth_dst must be 000000000001"),
        (changed(dscp=0), "dscp must be 10, got 0"),
        (lambda p: replace(p, transport=p.transport[:-1] + b"?"), "what follows the ports"),
    ],
)
@pytest.mark.parametrize("kind", ["data", "options"])
def test_a_wrong_copy_is_found(wrong: Callable[[Packet], Packet], fault: str, kind: str) -> None:
    for variant in ("return", "hysteresis-return"):
        run = Run(variant)
        at = index_of(run.back, run, kind)
        run.back[at] = wrong(run.back[at])
        found = run.faults()
        assert found and all(f"copy of {kind}" in f for f in found)
        assert any(fault in f for f in found), found


def test_copies_with_their_options_lost_are_found() -> None:
    run = Run("return")
    at = index_of(run.back, run, "options")
    run.back[at] = replace(run.back[at], options=b"")
    assert any("options must be" in f for f in run.faults())


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("data", "ect1", "options")])
def test_a_copy_of_what_must_not_be_returned_is_found(kind: str) -> None:
    run = Run("return")
    original = run.there[index_of(run.there, run, kind)]
    routed = Switch.route(Switch.turned_round(original))
    assert routed is not None
    run.back.append(routed[1])
    assert run.faults() == [f"copy of {kind} packet {original.number}: must not be returned"]


def test_a_missing_and_a_second_copy_are_found() -> None:
    run = Run("hysteresis-return")
    missing, twice = run.back.pop(3), run.back[5]
    run.back.append(twice)
    found = run.faults()
    assert len(found) == 2
    assert f"packet {missing.number} must be returned once, got 0 times" in found[0]
    assert f"packet {twice.number} must be returned once, got 2 times" in found[1]


@pytest.mark.parametrize(
    ("variant", "kind", "wrong", "fault"),
    [
        ("threshold", "not-ect", changed(ecn=CE), "ecn must be 0, got 3"),
        ("return", "not-ect", changed(ecn=CE), "ecn must be 0, got 3"),
        ("threshold", "udp", changed(ecn=ECT0), "ecn must be 3, got 2"),
        ("hysteresis", "ect1", changed(ecn=ECT0), "ecn must be 3, got 2"),
        ("hysteresis", "ce", changed(ecn=NOT_ECT), "ecn must be 3, got 0"),
        ("return", "data", changed(ecn=CE), "ecn must be 2, got 3"),
        ("threshold", "data", changed(ttl=packets.SENT_TTL), "ttl must be 32, got 33"),
        ("threshold", "options", changed(options=b""), "options must be"),
        ("threshold", "syn", changed(dst=packets.address(3)), "dst must be 0a000002"),
        ("threshold", "fin", ports_as_sent, "ports must be"),
    ],
)
def test_a_wrong_original_is_found(variant: str, kind: str, wrong: Callable[[Packet], Packet], fault: str) -> None:
    run = Run(variant)
    at = index_of(run.there, run, kind)
    run.there[at] = wrong(run.there[at])
    found = run.faults()
    assert any(fault in f and kind in f for f in found), found


def test_a_packet_that_was_not_sent_is_found() -> None:
    run = Run("threshold")
    run.there.append(packet(99_999, "data"))
    assert run.faults() == ["packet 99999 arrived, but was not sent"]


@pytest.mark.parametrize("variant", ["hysteresis", "hysteresis-return"])
def test_one_threshold_where_there_must_be_two_is_found(variant: str) -> None:
    """A program compiled without HYSTERESIS."""
    run, other = Run(variant), Run(variant.replace("hysteresis-", "").replace("hysteresis", "threshold"))
    run.there, run.back = other.there, other.back
    found = run.faults()
    assert "no packet was marked or returned between the thresholds, 12 and 20 packets" in found
    assert len(found) > 1, "and the packets are named"


def only(run: Run, keep: Callable[[int], bool]) -> Run:
    """The run without the packets that found other depths."""
    numbers = {p.number for p in run.there if keep(p.identification)}
    run.there = [p for p in run.there if p.number in numbers]
    run.back = [p for p in run.back if p.number in numbers]
    return run


@pytest.mark.parametrize("variant", ["hysteresis", "hysteresis-return"])
def test_a_run_that_shows_nothing_between_the_thresholds_is_no_pass(variant: str) -> None:
    run = only(Run(variant), lambda depth: not LOWER <= depth < UPPER)
    assert run.faults() == [
        "no packet was marked or returned between the thresholds, 12 and 20 packets",
        "no packet passed unmarked between the thresholds, 12 and 20 packets",
    ]


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_run_whose_queue_stays_low_or_high_is_no_pass(variant: str) -> None:
    low = only(Run(variant), lambda depth: depth < LOWER).faults()
    assert "the queue never reached the upper threshold, 20 packets" in low
    assert sum("met a queue above" in fault for fault in low) == len(KINDS)
    high = only(Run(variant), lambda depth: depth >= UPPER).faults()
    lowest = LOWER if "hysteresis" in variant else UPPER
    assert f"the queue was never below the lower threshold, {lowest} packets" in high


def test_a_run_without_packets_is_no_pass() -> None:
    assert len(faults("threshold", UPPER, LOWER, {}, [], [])) == 2 + len(KINDS)


def test_the_driver_says_what_is_missing() -> None:
    empty = {"PATH": "/nonexistent"}
    ran = subprocess.run(
        [sys.executable, P4 / "drive.py", "threshold", "20", "12"], env=empty, capture_output=True, text=True
    )
    assert ran.returncode == 77
    assert ran.stdout == "not run: ip, unshare, p4c, simple_switch, simple_switch_CLI not on the PATH\n"


def test_the_kinds_differ_in_what_they_are_named_for() -> None:
    assert [packet(0, kind).ecn for kind in ("data", "ect1", "not-ect", "ce")] == [ECT0, 1, NOT_ECT, CE]
    assert packet(0, "udp").protocol == packets.UDP
    assert packet(0, "fragment").is_fragment
    assert {len(packet(n, "options").options) for n in range(3)} == {4, 40}
    assert [packet(0, kind).transport[13] for kind in ("ack", "syn", "fin", "rst")] == [ACK, 2, ACK | 1, ACK | 4]
    assert {kind_of(n) for n in range(2 * len(KINDS))} == set(KINDS)


def test_the_readme_s_commands_exist() -> None:
    readme = (P4 / "README.md").read_text()
    for name in re.findall(r"p4/(\w+\.\w+)", readme):
        assert Path(P4 / name).is_file(), name


def test_the_driver_of_the_cases_prints_every_command_and_says_what_it_lacks() -> None:
    """Nothing of it runs here: the plan has every case and marking so often, and the commands are the paper's."""
    import cases

    order = cases.plan("ABCDE", 3, seed=1)
    assert len(order) == 36 and {order.count(one) for one in order} == {3} and order != sorted(order)
    printed = subprocess.run(
        [sys.executable, P4 / "cases.py", "--dry-run", "--cases", "B"], capture_output=True, text=True, check=True
    ).stdout
    for part in (
        "netem rate 1gbit delay 3ms",
        "tcp_congestion_control=dctcp",
        "iperf -c 10.0.0.2 -p 5002 -u -b 10M -l 1470 -t 50",
        "HaltereEgress.depths",
    ):
        assert part in printed, part
    assert printed.count("sysctl") == 6 and "net.sh down" in printed.splitlines()[-1]


def test_the_servers_lines_become_goodputs() -> None:
    import cases

    line = "20260101000000,10.0.0.2,5001,10.0.0.1,40000,4,0.0-50.1,2405000,384800\n"
    assert cases.goodputs([line], [2]) == {"H1": 0.3848}
    with pytest.raises(SystemExit, match="must print a result"):
        cases.goodputs(["connect failed"], [2])
