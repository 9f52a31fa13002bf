"""`haltere validate`: reading, translating, measuring and comparing. The keys of a scenario are shown by what they do in a run."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("haltere")

import draw
import validation_compact as compact
from haltere import _core
from haltere.validate import dynamics, load, measures, ours, translate, validate
from haltere.validate.scenario import expand_flows, expand_transfers, normal
from haltere.validate.tc import parse_qdisc, queue_of_classes
from haltere.validate.tc_words import NotTranslated, duration, rate_bps, size_bytes, time_ns, timer_period_ns
from linux_results import LINUX, case, result, write


def test_units_are_those_of_tc() -> None:
    assert (time_ns("5ms"), time_ns("100us"), time_ns("7"), time_ns("1s")) == (5_000_000, 100_000, 7_000, 10**9)
    assert (size_bytes("30000"), size_bytes("15k"), size_bytes("32Mb")) == (30000, 15360, 32 << 20)
    assert (rate_bps("10Mbit"), rate_bps("1mbps"), rate_bps("500")) == (10_000_000, 8_000_000, 500)
    assert duration(16_000_000) == "16ms"
    assert duration(256) == "256ns"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("pfifo limit 100", {"kind": "drop_tail", "limit": "100p"}),
        ("pfifo", {"kind": "drop_tail", "limit": "1000p"}),
        ("bfifo limit 15000", {"kind": "drop_tail", "limit": "15000B"}),
        ("bfifo", {"kind": "drop_tail", "limit": "1514000B"}),
        ("codel limit 1000", {"kind": "codel", "limit": "1000p"}),
        ("codel target 20ms interval 200ms ecn ce_threshold 1ms", {"kind": "codel", "limit": "1000p", "target": "20ms", "interval": "200ms", "ecn": True, "ce_threshold": "1ms"}),
        ("fq_codel limit 500 flows 16 quantum 300 memory_limit 1Mb noecn", {"kind": "fq_codel", "limit": "500p", "flows": 16, "quantum": "300B", "memory_limit": "1048576B", "ecn": False}),
        ("pie limit 1000", {"kind": "pie", "limit": "1000p", "tupdate": "20ms", "first_update": "500ms", "max_probability": 256}),
        ("pie target 20ms tupdate 30ms alpha 4 beta 32 ecn bytemode dq_rate_estimator", {"kind": "pie", "limit": "1000p", "tupdate": "36ms", "first_update": "500ms", "max_probability": 256, "target": "20ms", "alpha": 0.25, "beta": 2.0, "ecn": True, "bytemode": True, "dq_rate_estimator": True}),
        ("red limit 400000 min 30000 max 90000 avpkt 1000 burst 55 ecn adaptative bandwidth 10Mbit probability 0.02", {"kind": "red", "limit": "400000B", "min": "30000B", "max": "90000B", "avpkt": "1000B", "burst": 55, "probability": 0.02, "bandwidth": "10000000bit", "ecn": True}),
        ("fq_pie ecn alpha 4 tupdate 30ms ecn_prob 5", {"kind": "fq_pie", "tupdate": "36ms", "first_update": "500ms", "max_probability": 256, "alpha": 0.25, "ecn_threshold": 0.05, "ecn": True}),
        ("sfq limit 100 divisor 512 headdrop", {"kind": "sfq", "limit": "100p", "flows": 512, "head_drop": True}),
        ("choke limit 200 min 20 max 60 bandwidth 10mbit ecn",
         {"kind": "choke", "limit": "200p", "min": "20p", "max": "60p", "bandwidth": "10000000bit", "ecn": True}),
        ("sfb rehash 500 db 100 increment 0.002", {"kind": "sfb", "limit": "1000p", "ecn": True, "rehash": "500ms", "warmup": "100ms", "increment": 131 / 65535}),
        ("tbf rate 10mbit burst 5kb latency 50ms peakrate 20mbit minburst 2000",
         {"kind": "tbf", "rate": "10000000bit", "burst": "5120B", "latency": "50ms", "peakrate": "20000000bit", "mtu": "2000B"}),
        ("fq orphan_mask 255 quantum 3028 maxrate 1mbit", {"kind": "fq", "flows": 256, "quantum": "3028B", "maxrate": "1000000bit"}),
        # An overhead begins with the network layer's length, so the Ethernet header goes.
        ("cake bandwidth 10mbit besteffort dual-srchost overhead 44 atm ack-filter",
         {"kind": "cake", "bandwidth": "10000000bit", "diffserv": "besteffort", "isolation": "dual-srchost", "overhead": 30, "framing": "atm",
          "ack_filter": "on"}),
        ("cake unlimited ingress", {"kind": "cake", "ingress": True}),
        ("sfq limit 50 perturb 10", {"kind": "sfq", "limit": "50p", "perturb": "10240ms"}),
        ("sfq limit 50 perturb 0", {"kind": "sfq", "limit": "50p"}),
        ("fq flow_limit 30", {"kind": "fq", "flow_limit": 30}),
    ],
)  # fmt: skip
def test_the_text_of_a_discipline_becomes_its_parameters(text: str, expected: dict[str, Any]) -> None:
    assert parse_qdisc(text).as_dict() == expected
    _core.Scenario.from_json(json.dumps(translate.translate(case(qdisc=text), 1)))  # the simulator has these parameters


def test_pfifo_fast_takes_the_device_queue_length_and_frees_its_ring_in_batches() -> None:
    assert parse_qdisc("pfifo_fast", 100).as_dict() == {"kind": "pfifo_fast", "limit": "100p", "release_batch": 16}
    assert parse_qdisc("pfifo_fast", 20).params["release_batch"] == 1


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("hhf limit 1000", "`hhf` has no counterpart"),
        ("codel limit", "`limit` lacks its value"),
        ("codel limit ten", "limit must be a whole number, got `ten`"),
        ("pfifo limit 5 colour red", "option `colour`"),
        ("red min 3000 max 9000", "`limit` is missing"),
        ("sfq redflowlimit 10", "option `redflowlimit`"),
        ("cake autorate-ingress", "option `autorate-ingress`"),
        ("", "is empty"),
    ],
)
def test_a_discipline_that_is_not_known_is_refused_with_a_reason(text: str, reason: str) -> None:
    with pytest.raises(NotTranslated, match=reason):
        parse_qdisc(text)


def test_a_kernel_timer_set_in_its_own_handler_runs_one_slot_of_the_wheel_later() -> None:
    # Measured on Linux 6.1 at 250 Hz: PIE's probability changes every 20 ms, not every 16.
    assert [timer_period_ns(ms * 1_000_000) for ms in (15, 16, 1, 30)] == [
        20_000_000,
        20_000_000,
        8_000_000,
        36_000_000,
    ]
    assert timer_period_ns(500_000_000) == 512_000_000


# ------------------------------------------------------------------ reading
def test_starts_are_drawn_as_the_harness_draws_them() -> None:
    scenario = normal({"seed": 1, "flows": [{"dir": "fwd", "cc": "cubic", "n": 3, "start": 0.05, "spread": 0.5}]})
    assert [flow.start for flow in expand_flows(scenario)] == [0.304297, 0.082114, 0.278836]  # of A_*_r1


def test_repetitions_are_joined_and_the_summary_adds_those_without_a_file(tmp_path: Path) -> None:
    write(tmp_path, "X_r1.json", result())
    row = {
        "reps": 3,
        "goodput_fwd": [9.0, 8.0, 7.0],
        "by_cc_fwd": {"cubic": [6, 4, 7], "bbr": [3, 4, 0]},
        "loss_pct_fwd": [1, 2, 3],
    }
    write(tmp_path, "summary.json", {"X": row})
    (only,) = load.read_directory(tmp_path)
    assert [repetition.seed for repetition in only.repetitions] == [1, 2, 3]
    assert only.repetitions[0].starts == [0.05, 0.0]
    assert only.repetitions[1].measures == {
        "goodput fwd": 8.0,
        "loss fwd": 2,
        "share fwd cubic": 50.0,
        "share fwd bbr": 50.0,
    }
    assert len(only.starts(7)) == 2


def test_any_directory_will_do_with_subdirectories_lists_and_names_of_its_own(tmp_path: Path) -> None:
    write(tmp_path / "a" / "deep", "one.json", [result(name="P_r1"), result(name="P_r2", seed=2)])
    write(tmp_path / "b", "two.json", result(name="P_r1"))
    write(tmp_path / "b", "three.json", result(name="P_r1", rate_mbit=20))
    write(tmp_path / "b", "notes.json", {"hello": 1})
    found = load.read_directory(tmp_path)
    assert [(c.group, len(c.repetitions)) for c in found] == [("a/deep", 2), ("b", 1), ("b", 1)]
    assert len({(c.group, c.name) for c in found}) == 3


def test_an_empty_directory_is_wrong_input(tmp_path: Path) -> None:
    with pytest.raises(load.BadInput, match="holds no result file"):
        load.read_directory(tmp_path)


def test_measures_of_linux_are_goodput_jain_shares_queue_loss_marks_and_ping() -> None:
    told = measures.of_linux(normal(result()["scenario"]), result())
    expected = {"goodput fwd": 9.0, "jain fwd": 0.9, "share fwd cubic": 200 / 3, "share fwd bbr": 100 / 3}
    expected |= {"queue fwd": 12.5, "loss fwd": 1.0, "marks fwd": 10.0, "ping median": 30.0, "ping p95": 40.0}
    assert told == pytest.approx(expected)


def test_the_compact_form_gives_the_same_measures(tmp_path: Path) -> None:
    series = {
        "t": [0.0, 0.02, 0.04],
        "cwnd": [10, 20, 30],
        "ca_state": [0, 0, 3],
        "pacing_Bps": [0, 0, 0],
        "rx": [0, 1, 2],
    }
    scenario = {"sample": {"tcp_ms": 20}, "store_cols": ["cwnd", "ca_state", "pacing_Bps"], "warmup": 0.0}
    full = result(flows=[{"cc": "reno"}], **scenario)
    full["flows"] = [full["flows"][0] | {"series": series}]
    write(tmp_path / "full", "X_r1.json", full)
    compact.compact_directory(tmp_path / "full", tmp_path / "small")
    one, other = load.read_directory(tmp_path / "full")[0], load.read_directory(tmp_path / "small")[0]
    assert one.repetitions == other.repetitions
    assert one.repetitions[0].measures["first loss"] == 0.04
    assert (tmp_path / "small" / "X_r1.json").stat().st_size < (tmp_path / "full" / "X_r1.json").stat().st_size


# ------------------------------------------------------------------ translating
def test_the_bottleneck_hands_over_at_the_start_with_one_frame_saved() -> None:
    links = translate.translate(case(both_ways=True, access_mbit=100), 1)["topology"]["graph"]["links"]
    back = links[0]["reverse"]
    assert (links[0]["from"], links[0]["to"], links[0]["rate"], links[0]["delay"]) == (
        "n1",
        "r0",
        "100000000bit",
        "10ms",
    )
    assert (back["rate"], back["handover"], back["burst"], back["delay"]) == ("10000000bit", "start", "1514B", "0s")
    assert back["queue"] == {"kind": "drop_tail", "limit": "50p"}
    assert links[1]["reverse"]["watch"] is True


def test_without_both_ways_the_way_back_is_infinitely_fast() -> None:
    links = translate.translate(case(access_mbit=100), 1)["topology"]["graph"]["links"]
    assert (links[0]["from"], links[0]["to"]) == ("r0", "n1")
    assert "rate" not in links[0]
    assert links[0]["reverse"]["rate"] == "100000000bit"


def test_netem_serialises_truly_and_has_its_own_limit() -> None:
    back = translate.translate(case(shaper="netem"), 1)["topology"]["graph"]["links"][1]["reverse"]
    assert (back["handover"], back["queue"]) == ("end", {"kind": "drop_tail", "limit": "1000000p"})


def test_flows_start_when_they_did_and_dctcp_uses_ecn_whatever_the_sysctl_says() -> None:
    told = translate.translate(case(flows=[{"cc": "dctcp", "start": 1.5, "stop": 7}, {"cc": "reno", "dir": "rev"}]), 1)[
        "traffic"
    ]
    assert [(f["from"], f["start"], f.get("stop"), f["ecn"]) for f in told] == [
        ("n1", "1500ms", "7s", True),
        ("n3", "0ns", None, False),
    ]


def test_pings_are_ecn_capable_where_ecn_is_on() -> None:
    ping = translate.translate(case(ecn=1, ping={"interval": 0.05}), 1)["traffic"][-1]
    assert (ping["ecn"], ping["interval"], ping["start"], ping["payload"]) == (True, "50ms", "50ms", "56B")


def test_sysctls_become_parameters_of_the_endpoints() -> None:
    sysctl = {"net.ipv4.tcp_rmem": "4096 131072 67108864", "net.ipv4.tcp_sack": 0, "net.ipv4.tcp_timestamps": "0"}
    tcp = translate.translate(case(sysctl=sysctl, mtu=1400), 1)["tcp"]
    assert tcp == {
        "recv_buffer_initial": "65536B",
        "recv_buffer_max": "33554432B",
        "sack": False,
        "timestamps": False,
        "mss": "1360B",
    }
    assert translate.translate(case(), 1)["tcp"] == {"mss": "1448B"}


@pytest.mark.parametrize(
    "scenario",
    [{"mptcp": True}, {"shaper": "magic"}, {"sysctl": {"net.ipv4.tcp_magic": 1}}, {"sysctl": {"net.ipv4.tcp_rmem": "many"}},
     {"flows": [{"cc": "magic"}]}, {"qdisc": "hhf"}, {"topology": "star"}, {"pre": "ip link"}],
)  # fmt: skip
def test_what_cannot_be_translated_says_why(scenario: dict[str, Any]) -> None:
    with pytest.raises(NotTranslated, match=r"\w+ \w+"):
        translate.translate(case(**scenario), 1)


PATHS = [
    {"rate_mbit": 20, "rtt_ms": 20, "qdisc": "pfifo limit 33"},
    {"rate_mbit": 5, "rtt_ms": 100, "qdisc": "pfifo limit 41"},
]
MPTCP = {"mptcp": True, "paths": PATHS, "ping": None, "flows": [{"cc": "cubic", "start": 0.05, "proto": "mptcp"}]}


def test_multipath_tcp_has_a_router_and_a_subflow_for_each_path() -> None:
    told = translate.translate(case(**MPTCP), 1)
    (flow,) = told["traffic"]
    assert flow["paths"] == [{"from": "n1", "to": "n3"}, {"from": "n1.1", "to": "n3.1"}]
    assert flow["multipath"] == {"scheduler": "linux", "tune_send_buffer": True, "opportunistic": False}
    assert "from" not in flow and "to" not in flow
    links = {(link["from"], link["to"]): link for link in told["topology"]["graph"]["links"]}
    assert set(links) == {("n1", "r0"), ("n3", "r0"), ("n1.1", "r1"), ("n3.1", "r1")}
    assert [links[end]["delay"] for end in (("n1", "r0"), ("n3.1", "r1"))] == ["10ms", "50ms"]
    assert (
        links["n3.1", "r1"]["reverse"] | {"rate": "5000000bit", "queue": {"kind": "drop_tail", "limit": "41p"}}
        == (links["n3.1", "r1"]["reverse"])
    )
    assert [translate.link_of(way, path) for way in ("fwd", "rev") for path in (0, 1)] == [
        "r0>n3",
        "r1>n3.1",
        "r0>n1",
        "r1>n1.1",
    ]


@pytest.mark.parametrize(
    "change",
    [{"mptcp": False}, {"paths": None}, {"ping": {"interval": 0.1}}, {"flows": [{"cc": "cubic", "proto": "sctp"}]},
     {"flows": [{"cc": "cubic", "proto": "mptcp", "path": 1}]}, {"flows": [{"cc": "cubic", "proto": "tcp"}]}],
)  # fmt: skip
def test_multipath_tcp_that_is_not_known_says_why(change: dict[str, Any]) -> None:
    with pytest.raises(NotTranslated, match=r"\w+ \w+"):
        translate.translate(case(**MPTCP | change), 1)


# ------------------------------------------------------------------ keys that are not known
@pytest.mark.parametrize(
    ("scenario", "name"),
    [({"colour": "red"}, "colour"), ({"flows": [{"cc": "reno", "weight": 2}]}, "flows.weight"),
     ({"transfers": [{"per_second": 1, "sizes": {"1": 1}, "law": "x"}]}, "transfers.law"), ({"udp": [{"rate_mbit": 1, "burst": 3}]}, "udp.burst"),
     ({"steps": [{"at": 1, "rtt_ms": 3}]}, "steps.rtt_ms"), ({"hosts": {"n4": {"rtt_ms": 30, "rate_mbit": 3}}}, "hosts.rate_mbit"),
     ({"ping": {"interval": 1, "count": 3}}, "ping.count"), ({"sample": {"link_ms": 3}}, "sample.link_ms")],
)  # fmt: skip
def test_a_key_that_is_not_known_is_refused_by_name(scenario: dict[str, Any], name: str) -> None:
    with pytest.raises(NotTranslated, match=f"not supported: `{name}`"):
        translate.translate(case(**scenario), 1)


def test_a_scenario_with_an_unknown_key_is_not_comparable_and_says_which(tmp_path: Path) -> None:
    write(tmp_path, "X_r1.json", result(colour="red", shape="round"))
    told = validate(load.read_directory(tmp_path), seeds=1)
    assert told.rows == []
    assert told.skipped == [("X", "scenario keys that are not supported: `colour`, `shape`")]


@pytest.mark.parametrize(
    ("scenario", "reason"),
    [({"netem_fwd": "reorder 5% 50%"}, "correlation of reordering"), ({"netem_rev": "loss"}, "lacks a number"),
     ({"netem_fwd": "loss 1% 25%"}, "correlation of losses"), ({"netem_fwd": "delay 1ms 2ms"}, "jitter above the delay"),
     ({"netem_fwd": "delay 5ms 1ms distribution normal"}, "`distribution`"), ({"netem_fwd": "delay 5ms 1ms 25%"}, "correlation of delays"),
     ({"steps": [{"at": 1, "cmd": "true"}]}, "`cmd`"), ({"steps": [{"at": 1, "rate_mbit": 3}], "shaper": "tbf"}, "must be `htb`"),
     ({"flows": [{"cc": "reno", "host": "n5"}]}, "host `n5`"), ({"hosts": {"n4": {"rtt_ms": 5}}}, "at least half"),
     ({"udp": [{"rate_mbit": 1, "tos": 187}]}, "tos must not mark"), ({"transfers": [{"cc": "magic", "per_second": 9, "sizes": {"9": 1}}]}, "`magic`"),
     ({**MPTCP, "udp": [{"rate_mbit": 1}]}, "beside several paths")],
)  # fmt: skip
def test_a_value_that_cannot_be_run_is_refused_with_its_reason(scenario: dict[str, Any], reason: str) -> None:
    with pytest.raises(NotTranslated, match=reason):
        translate.translate(case(**scenario), 1)


def test_the_kernels_own_discipline_is_for_the_kernel_world_alone() -> None:
    own = case(**RENO | {"qdisc": "fq_codel limit 100", "on_linux": True})
    pairs = [
        end for link in translate.translate(own, 1)["topology"]["graph"]["links"] for end in (link, link["reverse"])
    ]
    assert {"kind": "kernel", "tc": "fq_codel limit 100"} in [end.get("queue") for end in pairs]
    with pytest.raises(NotTranslated, match="kernel world"):
        ours.run(own, 1)


def test_a_draw_is_the_same_for_its_seed_and_every_condition_can_be_run() -> None:
    scenarios = draw.draw(1, 60)
    assert scenarios == draw.draw(1, 60) != draw.draw(2, 60)
    for one in scenarios:
        _core.Scenario.from_json(json.dumps(translate.translate(case(**one), 1)))


# ------------------------------------------------------------------ keys that are known, by what they do
RENO = {"flows": [{"cc": "reno"}], "duration": 10, "warmup": 2}


def tables(**scenario: Any) -> dict[str, Any]:
    return ours.tables_of(case(**RENO | scenario), 1)


def rows_by(table: Any, key: str) -> dict[str, dict[str, Any]]:
    return {row[key]: row for row in table.to_pylist()}


def test_netem_loss_loses_so_many_packets_on_the_way_of_the_data_alone() -> None:
    links = rows_by(tables(netem_fwd="loss 2%", flows=[], udp=[{"rate_mbit": 8}])["links"], "link")
    assert links["n1>r0"]["lost"] / links["n1>r0"]["sent"] == pytest.approx(0.02, abs=0.006)
    assert links["r0>n3"]["lost"] == links["n3>r0"]["lost"] == 0


def test_netem_sends_a_part_of_the_packets_without_its_delay() -> None:
    told = tables(netem_fwd="delay 30ms reorder 25%", flows=[], ping={"interval": 0.02})["pings"]
    early = [rtt < 20e6 for rtt in told.column("rtt_ns").to_pylist()]
    assert sum(early) / len(early) == pytest.approx(0.25, abs=0.08)


def test_netem_has_a_rate_and_udp_a_class() -> None:
    told = tables(netem_fwd="rate 2mbit", flows=[], udp=[{"rate_mbit": 8, "tos": 186}])
    sent = rows_by(told["links"], "link")["n1>r0"]["sent"] * 1042 * 8 / 10e6
    assert sent == pytest.approx(2, rel=0.05)
    (entry,) = translate.translate(case(udp=[{"rate_mbit": 8, "tos": 186}]), 1)["traffic"][-1:]
    assert (entry["dscp"], entry["ecn"]) == (46, True)


def test_netem_jitter_is_uniform_around_its_delay() -> None:
    told = tables(netem_fwd="delay 10ms 2ms", flows=[], ping={"interval": 0.02})["pings"]
    rtts = [rtt * 1e-6 for rtt in told.column("rtt_ns").to_pylist()]
    assert 18 <= min(rtts) < 18.3
    assert 21.7 < max(rtts) <= 22.3
    assert sum(rtts) / len(rtts) == pytest.approx(20, abs=0.25)


@pytest.mark.parametrize(("scenario", "overtakes"), [({}, True), ({"access_mbit": 100}, False)])
def test_netem_jitter_makes_packets_overtake_without_a_rate(scenario: dict[str, Any], overtakes: bool) -> None:
    """A packet that is held back by 10 ms more than the one after it, 1.2 ms later, makes a hole of several segments."""
    told = tables(netem_fwd="delay 20ms 5ms", **scenario)
    (flow,) = [row for row in told["flows"].to_pylist() if row["flow"] == "f0"]
    lost = sum(row["lost"] + row["dropped_overlimit"] for row in told["links"].to_pylist())
    assert (flow["retransmissions"] > lost) == overtakes
    graph = translate.translate(case(**RENO | {"netem_fwd": "delay 20ms 5ms"} | scenario), 1)["topology"]["graph"]
    link = graph["links"][0]
    assert link.get("overtake", False) == overtakes
    assert not link["reverse"].get("overtake", False), "the other direction has its own netem"


def test_what_is_not_repeated_exactly_is_said() -> None:
    assert translate.differences(case(netem_fwd="delay 9ms 1ms").scenario) == []
    (frame,) = translate.differences(case(steps=[{"at": 1, "rate_mbit": 5}]).scenario)
    assert "one frame" in frame


def test_transfers_are_drawn_as_the_harness_draws_them() -> None:
    group = {"per_second": 4.596, "sizes": {"10000": 0.6, "100000": 0.3, "1000000": 0.1}, "start": 1.0, "cc": "cubic"}
    drawn = expand_transfers(normal({"seed": 1, "duration": 40, "transfers": [group]}))
    # Of F_20M80_codel_cubic2_r1, as the harness wrote them down.
    assert [(one.start, one.bytes) for one in drawn[:3]] == [(1.102648, 10000), (1.346732, 10000), (1.485159, 10000)]
    assert len(drawn) == 188


def test_a_transfer_alone_needs_a_round_trip_for_the_handshake_and_half_of_one_for_the_data() -> None:
    told = ours.run(case(flows=[], transfers=[{"per_second": 1, "sizes": {"10000": 1}}], warmup=0), 1)
    seven_frames = 7 * 1514 * 8 / 10e6 * 1000
    assert 30 < (told["fct fwd 10 kB p50"] or 0) < 30 + seven_frames + 1
    assert told["done fwd 10 kB"] == 100


def test_transfers_beside_a_long_flow_wait_in_its_queue() -> None:
    transfers = [{"per_second": 1, "sizes": {"10000": 1}}]
    alone, beside = (ours.run(case(flows=flows, transfers=transfers), 1) for flows in ([], [{"cc": "cubic"}]))
    assert (beside["fct fwd 10 kB p50"] or 0) > 1.5 * (alone["fct fwd 10 kB p50"] or 0)


def test_a_host_has_a_round_trip_time_of_its_own() -> None:
    for flow, sender, rtt in (({"cc": "reno"}, "n1", 20), ({"cc": "reno", "host": "n4"}, "n4", 70)):
        told = rows_by(tables(hosts={"n4": {"rtt_ms": 70}}, flows=[flow])["flows"], "flow")["f0"]
        assert told["from"] == sender
        assert told["min_rtt_ns"] * 1e-6 == pytest.approx(rtt, abs=1.5)


def test_udp_sends_payload_at_its_rate_and_takes_it_from_a_tcp_flow() -> None:
    told = ours.run(case(**RENO | {"udp": [{"rate_mbit": 4, "size": 1000}]}), 1)
    assert told["goodput fwd udp 0"] == pytest.approx(4, rel=0.05)
    assert told["goodput fwd"] == pytest.approx((10 - 4 * 1.042) * 1448 / 1514, rel=0.1)


def test_a_step_changes_the_rate_of_the_bottleneck() -> None:
    told = tables(steps=[{"at": 6, "rate_mbit": 2}], duration=10, warmup=6.5)
    sent = rows_by(told["links"], "link")["r0>n3"]["sent_bytes_after_warmup"] * 8e-6 / 3.5
    assert sent == pytest.approx(2, rel=0.02)


def test_a_flow_with_ecn_is_marked_and_one_without_loses() -> None:
    flows = [{"cc": "reno", "ecn": True}, {"cc": "reno", "ecn": False}]
    told = rows_by(tables(ecn=2, qdisc="codel limit 1000 ecn", flows=flows)["flows"], "flow")
    assert told["f0"]["delivered_ce"] > 0 == told["f1"]["delivered_ce"]
    assert told["f0"]["ecn_reductions"] > 0 == told["f1"]["ecn_reductions"]
    assert told["f1"]["retransmissions_after_warmup"] > 0


def test_a_flow_with_ecn_asks_in_vain_if_the_other_end_does_not_accept_it() -> None:
    for setting, asked in ((0, False), (2, True), (1, True)):
        told = translate.translate(case(ecn=setting, flows=[{"cc": "reno", "ecn": True}]), 1)
        assert told["traffic"][0]["ecn"] is asked


def test_ce_threshold_of_fq_codel_marks_what_waited_longer() -> None:
    flows = [{"cc": "dctcp"}, {"cc": "dctcp"}]
    low, high = (
        ours.run(case(**RENO | {"flows": flows, "qdisc": f"fq_codel noecn ce_threshold {at}"}), 1)
        for at in ("3ms", "900ms")
    )
    # With `noecn` CoDel itself marks nothing.
    assert (low["marks fwd told"] or 0) > 2
    assert high["marks fwd told"] == 0
    assert "marks fwd" not in low
    assert (low["queue fwd"] or 0) < (high["queue fwd"] or 0)


# ------------------------------------------------------------------ dynamics
def test_losses_windows_and_period_are_found() -> None:
    t = [i / 50 for i in range(1000)]
    cwnd = [10 + (i % 200) / 2 for i in range(1000)]
    told = dynamics.measure(dynamics.Series("reno", 1.0, t, cwnd, [4.0, 8.0, 12.0, 16.0], [0.0] * 1000))
    assert told["first loss"] == 4.0
    assert told["cwnd at loss 4"] == pytest.approx(109.5)
    assert told["period"] == pytest.approx(4.0)
    assert told["cwnd mean"] == pytest.approx(59.75)


def test_bbr_is_told_by_its_estimate_and_its_probes() -> None:
    t = [i / 50 for i in range(2000)]
    cwnd = [4 if 10 <= at < 10.2 or 20 <= at < 20.2 or 30.4 <= at < 30.6 else 100 for at in t]
    told = dynamics.measure(dynamics.Series("bbr", 5.0, t, cwnd, [], [19.0 if i % 8 else 23.75 for i in range(2000)]))
    assert told == {"bandwidth": 19.0, "probe_rtt period": pytest.approx(10.2), "probe_rtt first": 10.0}


# ------------------------------------------------------------------ the sets H and I, and classes
RECIPE = LINUX.parent / "sets.py"


def recipe() -> list[dict[str, Any]]:
    made = subprocess.run([sys.executable, RECIPE], capture_output=True, text=True, check=True)
    return list(json.loads(made.stdout))


def test_the_recipe_makes_what_is_stored() -> None:
    every = {scenario["name"]: normal(scenario) for scenario in recipe()}
    stored = [path for of in "HI" for path in (RECIPE.parent / "linux" / of).glob("*.json")]
    assert stored
    for path in stored:
        assert normal(json.loads(path.read_text())["scenario"]) == every[path.stem], path


def test_a_discipline_that_shapes_is_alone_on_a_fast_link() -> None:
    (scenario,) = [one for one in recipe() if one["name"] == "H_tbf_tail_r1"]
    links = translate.translate(load.Case("x", "H", normal(scenario)), 1)["topology"]["graph"]["links"]
    found = [way.get("queue") or {} for link in links for way in (link, link["reverse"])]
    (queue,) = [queue for queue in found if queue.get("kind") == "tbf"]
    assert queue == {"kind": "tbf", "rate": "10000000bit", "burst": "15000B", "limit": "60000B"}


def test_a_class_of_htb_may_borrow_up_to_its_ceiling() -> None:
    queue = queue_of_classes({"kind": "htb", "classes": [{"rate": 7}, {"rate": 2, "ceil": 4, "prio": 1}]}, 10)
    one, two = queue["classes"]
    assert (queue["kind"], queue["rate"]) == ("htb", "10Mbit")
    assert (one["rate"], one["ceil"], one["priority"], one["match"]) == ("7Mbit", "10Mbit", 0, {"dscp": [0, 1]})
    assert (two["rate"], two["ceil"], two["priority"], two["match"]) == ("2Mbit", "4Mbit", 1, {"dscp": [2]})


def test_a_class_of_drr_has_a_quantum_and_no_rate() -> None:
    queue = queue_of_classes({"kind": "drr", "classes": [{}, {"quantum": 4542}]}, 10)
    assert "rate" not in queue
    assert [one["quantum"] for one in queue["classes"]] == ["1514B", "4542B"]
    assert all("rate" not in one for one in queue["classes"])


def test_other_disciplines_are_refused() -> None:
    with pytest.raises(NotTranslated, match="kind must be `htb` or `drr`, got `hfsc`"):
        queue_of_classes({"kind": "hfsc", "classes": []}, 10)
