"""Transport stacks in shared libraries: the example in C through the interface, and noq and quinn (slow)."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tomllib
from collections.abc import Callable
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


def compiled(source: str, folder: Path, name: str = "libtoy.so") -> Path:
    """The library of that source."""
    file = folder / f"{name}.c"
    file.write_text(source)
    library = folder / name
    include = f"-I{ROOT / 'stacks/adapter/include'}"
    command = ["cc", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-O1", include, "-o", str(library), str(file)]
    subprocess.run(command, check=True)
    return library


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(EXAMPLE.read_text(), tmp_path_factory.mktemp("toy"))


def experiment(
    stack: Any, traffic: dict[str, Any] | None = None, loss: str = "0%", pcap: bool = False
) -> _core.Scenario:
    """Traffic over 10 Mbit/s and a round trip of 40 ms."""
    entry = {"kind": "bulk", "stack": stack, "congestion": "cubic"} | (traffic or {})
    bottleneck = {"rate": "10Mbit", "delay": "20ms", "queue": {"kind": "drop_tail", "limit": "1bdp"}, "loss": loss}
    access = {"rate": "1Gbit", "delay": "0s"}
    topology = {"dumbbell": {"pairs": 2, "access": access, "bottleneck": bottleneck}}
    measure = {"pcap": ["left>right"]} if pcap else {}
    value = {"duration": "10s", "warmup": "2s", "topology": topology, "traffic": [entry], "measure": measure}
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
    told = flows(experiment({"kind": str(toy), "control": "fixed"}, {"pairs": [1], "bytes": "1MB"}, loss="2%"))
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


def test_captures_hold_the_payload(toy: Path) -> None:
    scenario = experiment({"kind": str(toy), "control": "fixed"}, {"pairs": [1], "bytes": "10kB"}, pcap=True)
    (capture,) = _core.run(scenario, 1).files().values()
    assert b"\x01\x00\x00\x00\x00\x00\x00\x00" in capture, "the header of the first chunk"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., stacks.Stack]:
    """Builds a stack into a cache of its own."""
    os.environ.setdefault("HALTERE_STACKS_TARGET", str(tmp_path_factory.mktemp("target")))

    def build(name: str, version: str | None = None) -> stacks.Stack:
        return stacks.build(name, version)

    return build


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
