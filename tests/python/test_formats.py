"""Files of other tools: what is written can be read by those tools and again by us, and what is read runs."""

from __future__ import annotations

import gzip
import itertools
import json
import shutil
import subprocess
import sys
from datetime import datetime
from pathlib import Path
from xml.etree import ElementTree

import pytest

import haltere
from conftest import haltere as typed
from haltere import formats
from haltere.errors import InputError

TWO_WAYS = """
title = "T"
duration = "3s"
seeds = 1

[topology.dumbbell]
pairs = 2
access = { rate = "1Gbit", delay = "1ms" }
bottleneck = { rate = "10Mbit", delay = "9ms", queue = "fq_codel" }

[[traffic]]
name = "TCP download BE"
kind = "bulk"
pairs = [1]

[[traffic]]
name = "TCP upload"
kind = "bulk"
pairs = [1]
count = 2
direction = "backward"

[[traffic]]
name = "Ping (ms) ICMP"
kind = "ping"
pairs = [2]
interval = "200ms"

[[traffic]]
name = "udp"
kind = "cbr"
pairs = [2]
rate = "100kbit"
"""


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> haltere.Results:
    return haltere.Scenario.from_toml(TWO_WAYS).run(out=tmp_path_factory.mktemp("formats") / "two")


def imported(*words: str | Path, folder: Path) -> tuple[haltere.Scenario, str]:
    """What `haltere import` writes, and what it says on standard error."""
    done = typed("import", *words, "--out", "out.toml", cwd=folder)
    assert done.returncode == 0, done.stderr
    return haltere.load(folder / "out.toml"), done.stderr


def link(scenario: haltere.Scenario) -> dict:
    return scenario.to_dict()["topology"]["dumbbell"]["bottleneck"]


def test_a_flent_file_has_the_goodput_and_round_trip_times_of_the_run(results: haltere.Results, tmp_path: Path) -> None:
    [path] = formats.write("flent", results, tmp_path)
    curves = {one.name: one for one in formats.curves(path)}
    assert {
        "TCP download BE",
        "TCP upload::1",
        "TCP upload::2",
        "TCP upload sum",
        "TCP totals",
        "Ping (ms) ICMP",
    } <= set(curves)
    # The raw samples add up to what the flow received until the last of them.
    raw = json.loads(gzip.decompress(path.read_bytes()))["raw_values"]["TCP download BE"]
    began = datetime.fromisoformat(results.manifest["began"]).timestamp()
    times = [0.0, *(one["t"] - began for one in raw)]
    spans = [after - before for before, after in itertools.pairwise(times)]
    total = sum(one["val"] * span / 8e-6 for one, span in zip(raw, spans, strict=True))
    samples = results.table("flow_series", columns=["flow", "received_bytes"]).to_pylist()
    assert total == pytest.approx(
        max(one["received_bytes"] for one in samples if one["flow"] == "TCP download BE"), rel=1e-4
    )
    rtts = [one["rtt_ns"] / 1e6 for one in results.table("pings").to_pylist()]
    assert min(rtts) <= min(curves["Ping (ms) ICMP"].values) <= max(curves["Ping (ms) ICMP"].values) <= max(rtts)
    # The same run gives the same bytes.
    again = formats.write("flent", results, tmp_path / "again")
    assert again[0].read_bytes() == path.read_bytes()


def test_flent_reads_and_draws_the_file(results: haltere.Results, tmp_path: Path) -> None:
    flent = shutil.which("flent", path=str(Path(sys.executable).parent)) or shutil.which("flent")
    if flent is None:
        pytest.skip("flent is not installed; `pip install flent` brings it")
    [path] = formats.write("flent", results, tmp_path)
    text = subprocess.run([flent, "-f", "summary", path], capture_output=True, text=True, check=True).stdout
    assert "TCP download BE" in text and "Ping (ms) ICMP" in text and "Mbits/s" in text
    figure = tmp_path / "figure.png"
    subprocess.run([flent, "-p", "totals", "-o", figure, path], capture_output=True, check=True)
    assert figure.read_bytes().startswith(b"\x89PNG") and figure.stat().st_size > 5000


def test_iperf3_files_add_up_to_what_a_flow_received(results: haltere.Results, tmp_path: Path) -> None:
    paths = formats.write("iperf3", results, tmp_path)
    assert len(paths) == 3
    held = json.loads(next(path for path in paths if "download" in path.name).read_text())
    [flow] = [one for one in results.table("flows").to_pylist() if one["flow"] == "TCP download BE"]
    total = sum(one["sum"]["bytes"] for one in held["intervals"])
    assert total == held["end"]["sum_received"]["bytes"] == pytest.approx(flow["received_bytes"], rel=0.01)
    [curve] = formats.curves(paths[0])
    assert curve.unit == "Mbit/s" and len(curve.times) == len(held["intervals"])


def test_flowmonitor_has_what_was_counted_and_no_invented_delays(results: haltere.Results, tmp_path: Path) -> None:
    [path] = formats.write("flowmonitor", results, tmp_path)
    top = ElementTree.parse(path).getroot()
    names = {one.get("flowId"): one.get("name") for one in top.findall("Ipv4FlowClassifier/Flow")}
    flows = {names[one.get("flowId")]: one.attrib for one in top.findall("FlowStats/Flow")}
    assert len(flows) == 5
    udp, tcp = flows["udp"], flows["TCP download BE"]
    assert int(udp["txPackets"]) - int(udp["rxPackets"]) == int(udp["lostPackets"]) >= 0
    assert int(tcp["txPackets"]) > 1000 and "rxPackets" not in tcp and "delaySum" not in tcp


def test_export_writes_them(results: haltere.Results, tmp_path: Path) -> None:
    line = ("export", Path(results.where).resolve(), "--out", tmp_path, "--format", "flent")
    done = typed(*line, cwd=tmp_path)
    assert Path(done.stdout.strip()).name == "two-0-1.flent.gz"
    refused = typed(*line, "--table", "flows", cwd=tmp_path)
    assert refused.returncode == 2 and "--table must be left out" in refused.stderr


def test_a_mahimahi_command_line_becomes_a_link_with_its_traces(tmp_path: Path) -> None:
    (tmp_path / "up").write_text("1\n2\n")
    (tmp_path / "down").write_text("1\n")
    line = (
        "mm-delay 20 mm-loss uplink 0.1 mm-loss uplink 0.1 mm-link --once --uplink-queue=codel up down "
        "--uplink-queue-args=packets=50,target=5,interval=100 --downlink-queue droptail --downlink-queue-args packets=100 "
        "--meter-uplink -- wget http://10.0.0.1/"
    )
    scenario, left_out = imported("mahimahi", line, folder=tmp_path)
    there, back = link(scenario), link(scenario)["reverse"]
    assert there["queue"]["limit"] == "100p" and there["delay"] == "20ms"
    assert back["queue"]["kind"] == "codel" and back["loss"] == pytest.approx(0.19)
    assert "wget" in left_out
    # A packet each millisecond: 12 Mbit/s of Ethernet frames.
    done = scenario.with_values({"duration": "2s", "seeds": 1}).run()
    assert done.table("links").to_pylist()[0]["sent"] > 1000


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("simple-p2p --delay=15ms --bandwidth=10Mbps --queue=25", {"rate": "10Mbit", "delay": "15ms"}),
        ("drop-rate --delay=15ms --bandwidth=10Mbps --queue=25 --rate_to_client=2 --rate_to_server=3", {"loss": 0.02}),
        ("blackhole --delay 15ms --bandwidth 10Mbps --queue 25 --on 5s --off 2s", {"schedule_repeat": "7s"}),
        ("droplist --delay=15ms --bandwidth=10Mbps --queue=25 --drops_to_client=0,4", {"lose": [1, 5]}),
    ],
)
def test_a_scenario_of_the_interop_runner_becomes_its_link(line: str, expected: dict, tmp_path: Path) -> None:
    scenario, left_out = imported("interop", line, folder=tmp_path)
    there = link(scenario)
    assert {key: there[key] for key in expected} == expected
    assert there["queue"]["limit"] == "25p" and "QUIC" in left_out


def test_crosstraffic_has_two_flows_of_which_one_is_endless(tmp_path: Path) -> None:
    line = "tcp-cross-traffic --delay=15ms --bandwidth=10Mbps --queue=25"
    scenario, _ = imported("interop", line, folder=tmp_path)
    assert [one.get("bytes") for one in scenario.to_dict()["traffic"]] == ["10MB", None]


MININET = """
from mininet.topo import Topo
class T(Topo):
    def build(self, n=2, bw=10):
        left, right = self.addSwitch('s1'), self.addSwitch('s2')
        opts = dict(bw=bw, delay='5ms', max_queue_size=100, use_htb=True)
        self.addLink(left, right, cls=TCLink, **opts)
        for h in range(n):
            self.addLink(self.addHost('h%d' % (h + 1)), left, bw=1000, delay='1ms')
            self.addLink(self.addHost(f'd{h + 1}'), right, loss=1, enable_red=True)
        for other in self.unknown():
            self.addHost(other)
def perf():
    net = Mininet(topo=T(n=3), link=TCLink)
    one, two = net.get('h1', 'd3')
    net.iperf((one, two))
"""


def test_a_mininet_script_is_followed_and_never_run(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(MININET + "\nraise SystemExit('must not run')\n")
    scenario, left_out = imported("mininet", "net.py", folder=tmp_path)
    graph, [flow] = scenario.to_dict()["topology"]["graph"], scenario.to_dict()["traffic"]
    assert set(graph["nodes"]) == {"s1", "s2", "h1", "h2", "h3", "d1", "d2", "d3"}
    middle = graph["links"][0]
    assert (middle["rate"], middle["delay"], middle["queue"]["limit"]) == ("10Mbit", "5ms", "100p")
    assert (flow["from"], flow["to"]) == ("h1", "d3")
    assert "self.unknown()" in left_out and "enable_red" in left_out


def test_a_specification_of_picoquic_becomes_a_link_and_two_flows(tmp_path: Path) -> None:
    (tmp_path / "spec.txt").write_text(
        "main_cc_algo: bbr\nmain_start_time: 1000000\nmain_scenario_text: =b1:*2:397:4000000;\nnb_connections: 2\n"
        "background_cc_algo: c4\nbackground_scenario_text: =b1:*1:397:10000000;=a1:d50:p2:S:n250:80;\n"
        "data_rate_in_gbps: 0.01\nlatency: 50000\nqueue_delay_max: 80000\nicid: cc10c400\nlink_scenario: low_and_up\n"
    )
    scenario, left_out = imported("pico_sim", "spec.txt", folder=tmp_path)
    there, [main, background] = link(scenario), scenario.to_dict()["traffic"]
    assert there["queue"]["limit"] == "100kB" and there["delay"] == "50ms" and len(there["schedule"]) == 2
    assert (main["bytes"], main["start"], main["congestion"]["kind"]) == ("8MB", "1s", "bbr3")
    assert background["congestion"]["kind"] == "cubic"
    assert "`c4`" in left_out and "media" in left_out
    assert [step["rate"] for step in there["schedule"]] == ["5Mbit", "10Mbit"]
    (tmp_path / "out.toml").unlink()
    (tmp_path / "spec.txt").write_text(
        "main_cc_algo: cubic\nmain_scenario_text: =b1:*1:397:10000000;\nnb_connections: 1\n"
        "data_rate_in_gbps: 0.02\nlatency: 40000\njitter: 7000\nwifi_jitter: 1\nlink_scenario: wifi_fade\n"
    )
    there = link(imported("pico_sim", "spec.txt", folder=tmp_path)[0])
    assert there["jitter"] == {"kind": "wifi", "mean": "7ms"}
    assert [(step["at"], step.get("rate"), step["jitter"]["mean"]) for step in there["schedule"]] == [
        ("0ns", None, "999us"), ("1s", "18Mbit", "12ms"), ("3s", "20Mbit", "999us")
    ]  # fmt: skip


def test_a_matrix_of_htsim_becomes_replayed_flows(tmp_path: Path) -> None:
    (tmp_path / "a.cm").write_text(
        "Nodes 16\nConnections 2\n0->15 start 0 size 200000\n1->8 id 2 start 5000000 size 100000\n"
    )
    (tmp_path / "a.topo").write_text(
        "Nodes 16\nTiers 2\nTier 0\nDownlink_speed_Gbps 100\nRadix_Up 2\nRadix_Down 4\nDownlink_Latency_ns 1000\n"
        "Tier 1\nDownlink_speed_Gbps 100\nRadix_Down 4\nDownlink_Latency_ns 500\n"
    )
    tree, _ = imported("htsim", "a.cm", folder=tmp_path)
    assert tree.to_dict()["topology"]["fat_tree"]["k"] == 4
    (tmp_path / "out.toml").unlink()
    leaves, _ = imported("htsim", "a.cm", "a.topo", folder=tmp_path)
    held = leaves.to_dict()["topology"]["leaf_spine"]
    assert (held["leaves"], held["spines"], held["hosts"]) == (4, 2, 4)
    done = leaves.with_values({"duration": "10ms", "seeds": 1}).run()
    assert sorted(one["bytes"] for one in done.table("completions").to_pylist()) == [100_000, 200_000]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("dummynet", "x"), "format must be one of `mahimahi`"),
        (("mahimahi", "mm-delay 20"), "must have one `mm-link`, got 0"),
        (("mahimahi", "mm-link up"), "two traces must follow, got 1"),
        (("mahimahi", "mm-link up down --uplink-queue"), "a value must follow"),
        (("mahimahi", "mm-link up down --uplink-queue=red"), "--uplink-queue must be one of"),
        (("interop", "simple"), "scenario must be one of simple-p2p"),
        (("interop", "simple-p2p --delay=1ms --bandwidth=1Mbps"), "--queue must be given"),
        (("mininet", "missing.py"), "must be readable"),
    ],
)
def test_what_cannot_be_read_is_refused_in_one_line(words: tuple[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        formats.read(words[0], words[1:])


@pytest.mark.parametrize(
    "content", [b"", b"\x1f\x8b\x08", b"[]", b'{"version": 4}', b'{"version": 99, "x_values": [], "results": {}}']
)
def test_a_damaged_file_of_curves_is_an_error(content: bytes, tmp_path: Path) -> None:
    for name in ("a.flent.gz", "a.json"):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InputError):
            formats.curves(tmp_path / name)
