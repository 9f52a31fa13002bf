"""Transport stacks in shared libraries: the example in C through the interface, and noq and quinn (slow)."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tomllib
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from conftest import called
from haltere import Scenario, _core, stacks
from haltere.errors import HaltereError, InputError

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "stacks/example/toy.c"

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")


def compiled(source: str, folder: Path, name: str = "libtoy.so", *words: str) -> Path:
    """The library of that source."""
    file = folder / f"{name}.c"
    file.write_text(source)
    library = folder / name
    include = f"-I{ROOT / 'stacks/adapter/include'}"
    command = [
        "cc",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-shared",
        "-fPIC",
        "-O1",
        include,
        "-o",
        str(library),
        str(file),
        *words,
    ]
    subprocess.run(command, check=True)
    return library


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(EXAMPLE.read_text(), tmp_path_factory.mktemp("toy"))


def experiment(
    stack: Any, traffic: dict[str, Any] | None = None, link: dict[str, Any] | None = None, **more: Any
) -> _core.Scenario:
    """Traffic over 10 Mbit/s and a round trip of 40 ms."""
    entry = {"kind": "bulk", "stack": stack, "congestion": "cubic"} | (traffic or {})
    queue = {"kind": "drop_tail", "limit": "1bdp"}
    bottleneck = {"rate": "10Mbit", "delay": "20ms", "queue": queue} | (link or {})
    access = {"rate": "1Gbit", "delay": "0s"}
    topology = {"dumbbell": {"pairs": 2, "access": access, "bottleneck": bottleneck}}
    value = {"duration": "10s", "warmup": "2s", "topology": topology, "traffic": [entry]} | more
    return Scenario.from_dict(value)._core


def flows(scenario: _core.Scenario) -> dict[str, list[Any]]:
    columns: dict[str, list[Any]] = pa.table(_core.run(scenario, 1).tables()["flows"]).to_pydict()
    return columns


def test_a_flow_on_a_stack_fills_the_link(toy: Path) -> None:
    """A window of 200 datagrams is more than both the path and its queue hold."""
    own = flows(experiment({"kind": str(toy), "control": "fixed", "window": 60}, {"pairs": [1]}))
    assert own["congestion"] == ["toy:fixed"]
    assert 9.0e6 < own["goodput_bps"][0] < 10e6
    haltere = flows(experiment({"kind": str(toy), "control": "haltere"}, {"pairs": [1]}))
    assert haltere["congestion"] == ["toy:haltere-cubic"]
    assert 8.0e6 < haltere["goodput_bps"][0] < 10e6
    assert haltere["retransmissions"][0] > 0, "CUBIC fills the queue until it drops"
    assert haltere["srtt_ns"][0] > 40_000_000


def test_a_small_window_limits_the_rate(toy: Path) -> None:
    """Ten datagrams of 1472 B in a round trip of 40 ms are 2.9 Mbit/s."""
    told = flows(experiment({"kind": str(toy), "control": "fixed", "window": 10}, {"pairs": [1]}))
    assert told["goodput_bps"][0] == pytest.approx(10 * (1472 - 16) * 8 / 0.0415, rel=0.05)
    assert told["retransmissions"] == [0]


def test_lost_datagrams_are_sent_again(toy: Path) -> None:
    told = flows(experiment({"kind": str(toy), "control": "fixed"}, {"pairs": [1], "bytes": "1MB"}, {"loss": "2%"}))
    assert told["received_bytes"] == [1_000_000]
    assert told["completed_ns"][0] is not None
    assert told["retransmissions"][0] > 5


@pytest.mark.parametrize("kind", ["poisson", "web", "rpc", "video", "on_off"])
def test_every_kind_runs_on_a_stack_as_on_tcp(kind: str, toy: Path) -> None:
    more: dict[str, Any] = {
        "poisson": {"load": 0.3, "sizes": "20kB"},
        "web": {"objects": 5, "sizes": "10kB", "think": "100ms"},
        "on_off": {"rate": "2Mbit", "on": "1s", "off": "1s"},
    }.get(kind, {})
    entry = {"kind": kind, "pairs": "all"} | more
    both = ({"kind": str(toy), "control": "fixed"}, "tcp")
    received = [sum(flows(experiment(stack, entry))["received_bytes"]) for stack in both]
    assert received[0] > 100_000
    assert received[0] == pytest.approx(received[1], rel=0.5)


def test_runs_repeat_and_the_key_knows_the_library(toy: Path, tmp_path: Path) -> None:
    stack = {"kind": str(toy), "control": "haltere"}
    first, second = (_core.run(experiment(stack), 1).digest() for _ in range(2))
    assert first == second
    other = compiled(EXAMPLE.read_text().replace("end->srtt / 8", "end->srtt / 4"), tmp_path)
    keys = [experiment(stack | {"kind": str(one)}).hash(1) for one in (toy, other)]
    assert keys[0] != keys[1]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("return (int64_t)(*segment = len + next->len);", "return (int64_t)(*segment = 70000);"), "transmit must return datagrams that fit"),
        (("return (int64_t)(bytes + (fin ? 1 : 0));", "return 5000000;"), "write must take at most"),
        (("if (len < HEADER) {", "if (1) {"), "a datagram is too short"),
    ],
)  # fmt: skip
def test_a_stack_that_misbehaves_ends_the_run_with_a_line(change: tuple[str, str], says: str, tmp_path: Path) -> None:
    broken = compiled(EXAMPLE.read_text().replace(*change), tmp_path)
    with pytest.raises(HaltereError, match=says) as caught:
        _core.run(experiment({"kind": str(broken), "control": "fixed"}), 1)
    assert "library:" in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("stack", "traffic", "says"),
    [
        ("nothing", {}, "stack must be `tcp`, a stack that was built, or the path of a library, got `nothing`"),
        ("./absent.so", {}, "No such file"),
        (str(EXAMPLE), {}, "invalid ELF header|file too short|stack"),
        ({"kind": "TOY", "windows": 3}, {}, "windows"),
        ({"kind": "TOY", "control": "vegas"}, {}, "control"),
        ("TOY", {"congestion": "cubic"}, "congestion must be a control of `toy`: `fixed`, got `cubic`"),
        ({"kind": "TOY", "control": "fixed"}, {"kind": "ftp", "files": ["1MB"]}, "stack must be `tcp` for the kind `ftp`"),
    ],
)  # fmt: skip
def test_bad_stacks_are_refused_before_the_run(stack: Any, traffic: dict[str, Any], says: str, toy: Path) -> None:
    if isinstance(stack, dict):
        stack = {**stack, "kind": str(toy)}
    with pytest.raises(InputError, match=says):
        _core.sim_check(experiment(str(toy) if stack == "TOY" else stack, traffic))


def over_paths(
    stack: Any, number: int = 2, first: dict[str, Any] | None = None, far: str = "10ms", **entry: Any
) -> _core.Scenario:
    """A flow over disjoint paths of 10 Mbit/s and a round trip of 20 ms each; `far` is the delay of the last one."""
    ends = [(f"a{n}", f"b{n}") for n in range(number)]
    queue = {"kind": "drop_tail", "limit": "1bdp"}
    links = [{"from": a, "to": b, "rate": "10Mbit", "delay": "10ms", "queue": queue} for a, b in ends]
    paths = [{"from": a, "to": b} for a, b in ends]
    paths[-1] |= first or {}
    links[-1]["delay"] = far
    traffic = {"kind": "multipath", "stack": stack, "congestion": "cubic", "paths": paths} | entry
    topology = {"graph": {"nodes": [node for pair in ends for node in pair], "links": links}}
    value = {"duration": "10s", "warmup": "2s", "topology": topology, "traffic": [traffic]}
    return Scenario.from_dict(value)._core


@pytest.fixture(scope="module")
def forked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example with two paths that it takes in turn."""
    paths = """
        static void arrives(haltere_end *end, uint32_t path) { end->config.log += path; }
        static uint32_t leaves(haltere_end *end) { return end->config.secrets ^= 1; }
        static int32_t info_of(haltere_end *end, uint32_t path, haltere_info *into) {
            *into = (haltere_info){.ssthresh = UINT64_MAX, .packets_sent = end->config.log + path};
            return 0;
        }
        static const haltere_paths PATHS = {.arrives = arrives, .leaves = leaves, .info = info_of};
        static const haltere_stack TABLE = {
            .paths = &PATHS,"""
    source = EXAMPLE.read_text().replace("static const haltere_stack TABLE = {", paths)
    return compiled(source, tmp_path_factory.mktemp("forked"), "libforked.so")


def test_a_stack_chooses_among_paths(forked: Path) -> None:
    """Twice the rate of one path. Of a path that is cut nothing arrives any more."""
    stack = {"kind": str(forked), "control": "fixed", "window": 60}
    told = _core.run(over_paths(stack), 1)
    tables = {name: pa.table(table).to_pylist() for name, table in told.tables().items()}
    (flow,) = tables["flows"]
    assert 18e6 < flow["goodput_bps"] < 20e6
    last = {row["path"]: row for row in tables["paths"]}
    assert set(last) == {0, 1} and last[0]["given_bytes"] == pytest.approx(last[1]["given_bytes"], rel=0.01)
    assert last[0]["segments"] > 100 and last[1]["segments"] == last[0]["segments"] + 1, (
        "the client hears of both paths"
    )
    assert told.digest() == _core.run(over_paths(stack), 1).digest()
    cut = flows(over_paths(stack, first={"cut": "5s"}))
    assert cut["goodput_bps"][0] < 0.7 * flow["goodput_bps"]


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ({"multipath": {"scheduler": "blest"}}, "multipath must be left out with the stack `toy`"),
        ({"rate": "1Mbit"}, "rate must be left out"),
        ({"first": {"join": "1s"}}, "paths.join must be left out"),
    ],
)  # fmt: skip
def test_what_the_stack_decides_over_paths_is_refused(entry: dict[str, Any], says: str, forked: Path) -> None:
    with pytest.raises(InputError, match=says):
        over_paths({"kind": str(forked), "control": "fixed"}, **entry)


def test_a_stack_of_one_path_is_refused_over_two(toy: Path) -> None:
    stack = {"kind": str(toy), "control": "fixed"}
    assert flows(over_paths(stack, 1))["goodput_bps"][0] > 1e6
    with pytest.raises(InputError, match="stack must be one of several paths, got `toy`"):
        over_paths(stack)


@pytest.mark.slow
def test_noq_fills_two_paths(library: Callable[..., stacks.Stack]) -> None:
    library("noq")
    (both,), (one,) = (flows(over_paths("noq", number))["goodput_bps"] for number in (2, 1))
    assert both == pytest.approx(2 * one, rel=0.02)
    assert len({_core.run(over_paths("noq"), 1).digest() for _ in range(2)}) == 1
    (unequal,) = flows(over_paths("noq", far="40ms"))["goodput_bps"]
    assert unequal == pytest.approx(both, rel=0.02)
    with pytest.raises(HaltereError, match="too many gaps in stream buffer"):  # a fault of noq 1.4.0: docs/quic.md
        _core.run(over_paths("noq", first={"cut": "5s"}), 1)


def test_a_library_for_another_version_of_the_interface_is_refused(tmp_path: Path) -> None:
    old = compiled(EXAMPLE.read_text().replace(".abi = HALTERE_STACK_ABI", ".abi = 1"), tmp_path)
    with pytest.raises(InputError, match="its version of the interface is 1, and Haltere's 3"):
        experiment({"kind": str(old), "control": "fixed"})


def test_captures_hold_the_payload(toy: Path) -> None:
    scenario = experiment(
        {"kind": str(toy), "control": "fixed"}, {"pairs": [1], "bytes": "10kB"}, measure={"pcap": ["left>right"]}
    )
    (capture,) = _core.run(scenario, 1).files().values()
    assert b"\x01\x00\x00\x00\x00\x00\x00\x00" in capture, "the header of the first chunk"


def test_the_logs_of_both_ends_are_files_of_the_run(tmp_path: Path) -> None:
    """A library that writes 100,000 bytes for each end, more than one part."""
    log = """
        static int64_t log_some(haltere_end *end, uint8_t *buffer, size_t capacity) {
            uint64_t *left = &end->config.seed;
            if (*left > 100000) *left = end->config.log ? 100000 : 0;
            size_t len = *left < capacity ? *left : capacity;
            memset(buffer, end->config.is_server ? 's' : 'c', len);
            *left -= len;
            return (int64_t)len;
        }
        static const haltere_stack TABLE = {
            .log = log_some,"""
    toy = compiled(EXAMPLE.read_text().replace("static const haltere_stack TABLE = {", log), tmp_path)
    stack = {"kind": str(toy), "control": "fixed"}
    entries = {
        "bulk": {"bytes": "10kB"},
        "web": {"objects": 2, "sizes": "10kB"},
        "poisson": {"load": 0.1, "sizes": "10kB"},
    }
    for kind, entry in entries.items():
        scenario = experiment(stack, {"name": "main", "kind": kind, "pairs": [1]} | entry, measure={"qlog": True})
        files = {name: text for name, text in _core.run(scenario, 1).files().items() if name.endswith(".sqlog")}
        assert files["main.1.client.sqlog"] == b"c" * 100_000 and files["main.1.server.sqlog"] == b"s" * 100_000
        assert (len(files) == 2) == (kind == "bulk"), "the others open several connections"
        assert len({name.split(".")[1] for name in files}) == len(files) / 2
    assert not _core.run(experiment(stack, {"pairs": [1]}), 1).files()


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., stacks.Stack]:
    """Builds a stack, once for all tests."""
    os.environ.setdefault("HALTERE_STACKS_TARGET", str(tmp_path_factory.mktemp("target")))
    return cache(stacks.build)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["noq", "quinn"])
def test_quic_runs_beside_tcp(name: str, library: Callable[..., stacks.Stack]) -> None:
    library(name)
    scenario = experiment(name, {"pairs": [1]})
    alone = flows(scenario)
    assert alone["congestion"] == [f"{name}:cubic"]
    assert 8.5e6 < alone["goodput_bps"][0] < 10e6
    first, second = (_core.run(scenario, 1).digest() for _ in range(2))
    assert first == second


def test_the_adapter_of_ngtcp2_runs_every_kind(tmp_path: Path) -> None:
    """With Debian's library, if it is installed. Its CUBIC fills a link with a queue, and runs repeat."""
    probe = ["cc", "-E", "-include", "ngtcp2/ngtcp2.h", "-x", "c", os.devnull]
    if subprocess.run(probe, capture_output=True, check=False).returncode:
        pytest.skip("libngtcp2-dev is missing")
    source = (ROOT / "stacks/ngtcp2/ngtcp2.c").read_text()
    stack = str(compiled(source, tmp_path, "libngtcp2-stack.so", "-lngtcp2"))
    alone = experiment(stack, {"pairs": [1]})
    (goodput,) = flows(alone)["goodput_bps"]
    assert 9.0e6 < goodput < 10e6 and _core.run(alone, 1).digest() == _core.run(alone, 1).digest()
    lossy = flows(experiment(stack, {"pairs": [1], "bytes": "1MB"}, {"loss": "5%"}))
    assert lossy["received_bytes"] == [1_000_000] and lossy["completed_ns"][0] is not None
    web = {"kind": "web", "pairs": [1], "objects": 5, "sizes": "10kB", "think": "100ms"}
    received = [flows(experiment(one, web))["received_bytes"][0] for one in (stack, "tcp")]
    assert received[0] == pytest.approx(received[1], rel=0.2)
    with pytest.raises(InputError, match=r"control must be .*`own`, `reno`, `cubic`, `bbr`"):
        _core.sim_check(experiment({"kind": stack, "control": "haltere"}))


QUIC = pytest.mark.parametrize("name", ["noq", "quinn"])


@pytest.mark.slow
@QUIC
def test_a_resumed_connection_is_answered_one_round_trip_earlier(
    name: str, library: Callable[..., stacks.Stack]
) -> None:
    """A call that opens the connection, over a round trip of 40 ms. It repeats, and with `null` it has the same times."""
    library(name)
    entry = {"kind": "rpc", "pairs": [1], "response": "100B"}

    def first(**more: Any) -> float:
        run = _core.run(experiment({"kind": name} | more, entry), 1)
        return float(pa.table(run.tables()["completions"])["fct_ns"][0].as_py() / 1e6)

    usual, early = first(), first(early_data=True)
    assert usual == pytest.approx(80, abs=5) and early == pytest.approx(40, abs=3)
    assert early == first(early_data=True) == first(early_data=True, crypto="null")


@pytest.mark.slow
@QUIC
def test_settings_reach_the_stack(name: str, library: Callable[..., stacks.Stack]) -> None:
    library(name)

    def one(link: dict[str, Any] | None = None, traffic: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
        entry = {"pairs": [1], "bytes": "2MB"} | (traffic or {})
        return {key: column[0] for key, column in flows(experiment({"kind": name} | more, entry, link)).items()}

    # Every twentieth packet is overtaken by those of the next 10 ms, and none is lost.
    lossless = {"queue": {"kind": "drop_tail", "limit": "4MB"}}
    overtakes = lossless | {"reorder": 0.05, "reorder_by": "10ms"}
    patient = one(overtakes, packet_threshold=1000, time_threshold=10)
    assert patient["retransmissions"] == 0 < one(overtakes, time_threshold=10)["retransmissions"]
    assert one(overtakes, packet_threshold=1000)["retransmissions"] > 0, "the time alone"
    # Datagrams of 1200 and of 1452 bytes; those of 8984 bytes need a path that carries them.
    sent = [one(lossless, mtu=mtu)["segments_sent"] for mtu in (1200, 1452)]
    assert sent[0] / sent[1] == pytest.approx(1452 / 1200, rel=0.03)
    jumbo = one(lossless, traffic={"tcp": {"mss": "8960B"}}, initial_mtu=8984, mtu=8984)
    assert sent[1] / jumbo["segments_sent"] == pytest.approx(8984 / 1452, rel=0.1)
    # With a probe timeout of 15 ms the first packet is sent again before its answer comes.
    small = {"bytes": "1kB"}
    assert one(traffic=small, initial_rtt="5ms")["segments_sent"] > one(traffic=small)["segments_sent"]
    # Marks are no losses, and reduce the window.
    codel = {"queue": {"kind": "codel", "limit": "1MB", "ecn": True}}
    marked, dropped = (one(codel, {"ecn": ecn, "bytes": "8MB"}) for ecn in (True, False))
    assert marked["retransmissions"] == 0 < dropped["retransmissions"]
    assert 0 < marked["recoveries"] < 50


@pytest.mark.slow
@pytest.mark.parametrize(
    ("stack", "says"),
    [
        ({"initial_mtu": 1473, "mtu": 1500}, "initial_mtu must be at most 1472, which the path carries, got 1473"),
        ({"initial_mtu": 1300, "mtu": 1250}, "mtu must be at least initial_mtu, which is 1300, got 1250"),
        ({"time_threshold": 0.5}, "time_threshold must be .*1"),
        ({"packet_threshold": 0}, "packet_threshold must be .*1"),
        ({"initial_rtt": 3}, "initial_rtt must be a duration"),
        ({"early_data": "yes"}, "early_data must be"),
    ],
)  # fmt: skip
def test_settings_that_cannot_be_are_refused(
    stack: dict[str, Any], says: str, library: Callable[..., stacks.Stack]
) -> None:
    library("noq")
    with pytest.raises(InputError, match=says):
        _core.sim_check(experiment({"kind": "noq"} | stack))


@pytest.mark.slow
def test_a_stack_has_its_report_card_by_rfc_9743(library: Callable[..., stacks.Stack], tmp_path: Path) -> None:
    """Beside CUBIC and Reno of TCP in its place."""
    library("quinn")
    words = ("characterize", "cubic", "--stack", "quinn", "--only", "start", "--seeds", "2")
    done = called(*words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "quinn:cubic by the criteria of RFC 9743" in done.stdout and "in its place CUBIC" in done.stdout
    assert (tmp_path / "results/characterize-quinn-cubic/report.html").is_file()


@pytest.mark.slow
@QUIC
def test_both_ends_write_a_qlog(name: str, library: Callable[..., stacks.Stack]) -> None:
    library(name)
    entry = {"name": "main", "pairs": [1], "bytes": "100kB"}
    first, second = (_core.run(experiment(name, entry, measure={"qlog": True}), 1).files() for _ in range(2))
    assert first == second
    assert {"main.1.client.sqlog", "main.1.server.sqlog"} == {file for file in first if file.endswith(".sqlog")}
    for file, text in first.items():
        if file.endswith(".sqlog"):
            _, head, *events = (json.loads(one) if one else {} for one in text.split(b"\x1e"))
            assert "trace" in head
            names = {event["name"].split(":")[1] for event in events}
            assert {"packet_sent", "packet_received"} <= names and any("metrics" in one for one in names)
            assert all(earlier["time"] <= later["time"] for earlier, later in pairwise(events))


@pytest.mark.slow
@QUIC
@pytest.mark.skipif(shutil.which("tshark") is None, reason="there is no tshark")
def test_wireshark_decrypts_captures(name: str, library: Callable[..., stacks.Stack], tmp_path: Path) -> None:
    """Without a file of keys, early data included. Its streams hold what the flow's table says."""
    library(name)
    entry = {"pairs": [1], "bytes": "50kB"}
    measure = {"pcap": ["left>right", "right>left"], "snaplen": "65535B"}
    run = _core.run(experiment({"kind": name, "early_data": True}, entry, measure=measure), 1)
    for file, content in run.files().items():
        (tmp_path / file).write_bytes(content)
    both = tmp_path / "both.pcapng"
    subprocess.run(["mergecap", "-w", both, *(tmp_path / file for file in run.files())], check=True)
    words = ["-T", "fields", "-e", "quic.stream_data", "-e", "quic.long.packet_type"]
    read = ["tshark", "-r", both, "-Y", "quic.stream_data && !quic.decryption_failed", *words]
    rows = subprocess.run(read, check=True, capture_output=True, text=True).stdout.splitlines()
    data = [part for row in rows for part in row.split("\t")[0].split(",")]
    assert sum(len(part) for part in data) // 2 >= 50_000 and not "".join(data).strip("0")
    assert rows[0].split("\t")[1] == "0,1", "the first packets are Initial and 0-RTT"


@pytest.mark.parametrize("file", sorted((ROOT / "stacks/faults").glob("*.toml")), ids=lambda file: file.stem)
def test_the_smallest_experiments_of_faults_run(file: Path) -> None:
    """With TCP in the place of the faulty stack."""
    values = tomllib.loads(file.read_text())
    for entry in values["traffic"]:
        entry.pop("stack", None)
    assert flows(Scenario.from_dict(values)._core)["received_bytes"][0] > 100_000


def test_a_build_from_a_folder_needs_the_crate(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--source must be the folder of the crate `noq-proto`"):
        stacks.build("noq", source=tmp_path)
    with pytest.raises(InputError, match="--version must be of letters"):
        stacks.build("noq", "a/b", source=tmp_path)


@pytest.mark.slow
def test_a_check_finds_both_faults_of_an_older_cubic(library: Callable[..., stacks.Stack], tmp_path: Path) -> None:
    for version in ("1.0.0", "1.1.0"):
        library("noq", version)
    words = (
        "--stack",
        "noq@1.0.0",
        "--base",
        "noq@1.1.0",
        "--control",
        "cubic",
        "--only",
        "losses",
        "--only",
        "early_loss",
    )
    done = called("check", "window", *words, "--seeds", "2", "--out", "out", cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    rows = json.loads((tmp_path / "out" / "check.json").read_text())["rows"]
    worse = {(row["case"], row["what"]) for row in rows if row["verdict"] == "worse"}
    assert worse == {("losses", "took.main"), ("early_loss", "took.main")}


def test_the_list_names_what_can_be_built() -> None:
    assert {"noq", "quinn"} <= set(stacks.known())
    with pytest.raises(InputError, match="stack must be one of `noq`, `quinn`, got `nog`"):
        stacks.build("nog")
