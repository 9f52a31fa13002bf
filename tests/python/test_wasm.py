"""Mechanisms that are WebAssembly modules: the same as those of the tree, described, refused, and begun by `haltere new`."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pyarrow as pa
import pytest

from conftest import ROOT, called
from haltere import HaltereError, InputError, Scenario, _core, starters
from haltere.worlds.kernel import Kernel
from test_outside import NETWORKS, experiment, same, tables
from test_wire import on_wire, privileged

MODULES = ROOT / "tests" / "wasm"
#: The suffix of the modules from each language.
LANGUAGES = {"rust": "rust", "c": "c", "assemblyscript": "asc"}


def module(name: str) -> str:
    """What an experiment writes for a module of the tests."""
    return f"wasm:{MODULES / name}.wasm"


@pytest.fixture(scope="module")
def ours() -> dict[str, dict[str, pa.Table]]:
    """The tables of the tree's Reno on each network."""
    return {name: tables(experiment("reno", **network)) for name, network in NETWORKS.items()}


@pytest.mark.parametrize("language", LANGUAGES.values())
@pytest.mark.parametrize("network", NETWORKS)
def test_reno_in_wasm_has_the_windows_of_reno(
    network: str, language: str, ours: dict[str, dict[str, pa.Table]]
) -> None:
    assert len(NETWORKS) == 20
    theirs = tables(experiment(module(f"reno_{language}"), **NETWORKS[network]))
    assert ours[network]["flow_series"].num_rows > 0 or network == "arrivals"
    same(ours[network], theirs)


@pytest.mark.parametrize("language", LANGUAGES.values())
@pytest.mark.parametrize("limit", [3, 10, 100])
def test_a_queue_in_wasm_drops_what_drop_tail_drops(limit: int, language: str) -> None:
    tree = tables(experiment("cubic", queue={"kind": "drop_tail", "limit": f"{limit}p"}))
    counted = tree["links"]
    assert sum(sum(counted[one].to_pylist()) for one in counted.column_names if one.startswith("dropped")) > 0
    same(tree, tables(experiment("cubic", queue={"kind": module(f"fifo_{language}"), "limit": limit})))


@pytest.mark.parametrize("language", LANGUAGES.values())
def test_a_queue_in_wasm_marks(language: str) -> None:
    queue = {"kind": module(f"fifo_{language}"), "limit": 100, "threshold": 20}
    run = tables(experiment("cubic", queue=queue, traffic={"ecn": True}))
    links = run["links"]
    count = {one: sum(links[one].to_pylist()) for one in links.column_names if one.startswith(("marked", "dropped"))}
    assert sum(n for one, n in count.items() if one.startswith("marked")) > 0
    assert sum(n for one, n in count.items() if one.startswith("dropped")) == 0


def test_a_parameter_reaches_the_module() -> None:
    half, most = (tables(experiment({"kind": module("reno_c"), "beta": beta})) for beta in (0.5, 0.9))
    assert not half["flow_series"].equals(most["flow_series"])
    same(half, tables(experiment(module("reno_rust"))))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a module of one's own and an experiment with it."""
    shutil.copy(MODULES / "reno_c.wasm", tmp_path / "own.wasm")
    write(tmp_path, '{ kind = "wasm:own.wasm", beta = 0.7 }')
    return tmp_path


def write(folder: Path, congestion: str, queue: str = '"drop_tail"') -> Path:
    file = folder / "experiment.toml"
    file.write_text(f"""\
duration = "2s"
seeds = 1
[topology.dumbbell]
pairs = 1
access = {{ rate = "1Gbit", delay = "1ms" }}
bottleneck = {{ rate = "10Mbit", delay = "9ms", queue = {queue} }}
[[traffic]]
kind = "bulk"
congestion = {congestion}
""")
    return file


def refused(folder: Path, congestion: str, queue: str = '"drop_tail"') -> str:
    with pytest.raises(InputError) as error:
        Scenario.load(write(folder, congestion, queue))
    return str(error.value).replace(f"{folder}/", "")


def test_what_is_no_module_is_refused_before_the_run(folder: Path) -> None:
    (folder / "text.wasm").write_text("(module)")
    with (folder / "huge.wasm").open("wb") as huge:
        huge.truncate(5 << 20)
    whole = (folder / "own.wasm").read_bytes()
    (folder / "cut.wasm").write_bytes(whole[: len(whole) // 2])
    (folder / "dir.wasm").mkdir()
    place = "experiment.toml:9: traffic[0]: congestion must be"
    assert refused(folder, '"wasm:none.wasm"').startswith(
        f"{place} the name of a WebAssembly module, got `none.wasm`, which does not exist"
    )
    assert "`dir.wasm`, which is a directory" in refused(folder, '"wasm:dir.wasm"')
    assert refused(folder, '"wasm:text.wasm"').startswith(
        f"{place} a module that Haltere can run, got `text.wasm`: module must be WebAssembly"
    )
    assert "module must be at most 4194304 bytes" in refused(folder, '"wasm:huge.wasm"')
    assert "module must be WebAssembly without vector instructions" in refused(folder, '"wasm:cut.wasm"')
    assert "a queue discipline, got `own.wasm`, which is a congestion control" in refused(
        folder, '"reno"', '"wasm:own.wasm"'
    )


def test_a_parameter_out_of_its_range_is_refused_by_its_name(folder: Path) -> None:
    assert "beta must be" in refused(folder, '{ kind = "wasm:own.wasm", beta = 1.5 }')
    assert "key must be `beta`, got `gamma`" in refused(folder, '{ kind = "wasm:own.wasm", gamma = 1 }')


def broken(folder: Path, was: bytes, new: bytes) -> None:
    """Changes the code of the module."""
    code = (folder / "own.wasm").read_bytes()
    assert code.count(was) >= 1
    (folder / "own.wasm").write_bytes(code.replace(was, new))


def test_another_module_is_another_run_and_the_same_one_is_not(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    key = Scenario.load(folder / "experiment.toml")._core.hash(1)
    elsewhere = shutil.copytree(folder, tmp_path_factory.mktemp("other") / "copy")
    assert Scenario.load(elsewhere / "experiment.toml")._core.hash(1) == key
    broken(folder, b"One segment more each round trip", b"Two segment more each round trip")
    assert Scenario.load(folder / "experiment.toml")._core.hash(1) != key


def test_explain_has_what_the_module_says_of_itself(folder: Path) -> None:
    done = called("explain", "wasm:own.wasm", cwd=folder)
    assert done.returncode == 0, done.stderr
    for part in ("One segment more each round trip", "beta", "0.5", "The part of the window that a loss leaves."):
        assert part in done.stdout


def leb(n: int) -> bytes:
    """A number as modules have it."""
    out = b""
    while True:
        n, low = n >> 7, n & 0x7F
        out += bytes([low | (0x80 if n else 0)])
        if not n:
            return out


def constant(n: int) -> bytes:
    """The instruction `i32.const` with a number below 8192."""
    return b"\x41" + bytes([n & 0x7F | 0x80, n >> 7])


def assembled(about: bytes, code: dict[str, bytes]) -> bytes:
    """A module of those functions: the first four give an address, the others nothing."""

    def vector(items: list[bytes]) -> bytes:
        return leb(len(items)) + b"".join(items)

    def section(number: int, body: bytes) -> bytes:
        return bytes([number]) + leb(len(body)) + body

    def name(text: str) -> bytes:
        return leb(len(text)) + text.encode()

    about += b"\0"
    addresses = {"haltere_abi": 1, "haltere_about": 2048, "haltere_event": 8, "haltere_answer": 1024}
    code = {**{one: constant(at) for one, at in addresses.items()}, **code}
    bodies = [b"\x00" + body + b"\x0b" for body in code.values()]
    exports = [name("memory") + b"\x02\x00", *(name(one) + b"\x00" + leb(i) for i, one in enumerate(code))]
    return b"\0asm\x01\0\0\0" + b"".join([
        section(1, vector([b"\x60\x00\x01\x7f", b"\x60\x00\x00"])),
        section(3, vector([b"\x00"] * 4 + [b"\x01"] * (len(code) - 4))),
        section(5, vector([b"\x00\x01"])),
        section(7, vector(exports)),
        section(10, vector([leb(len(body)) + body for body in bodies])),
        section(11, vector([b"\x00" + constant(2048) + b"\x0b" + leb(len(about)) + about])),
    ])  # fmt: skip


UNREACHABLE = b"\x00"
#: `i64.store` of -1 at 1032 and at 1040: no timer and no shaping; or, of a control, no pacing.
NONE_AT_1032, NONE_AT_1040 = (constant(at) + b"\x42\x7f" + b"\x37\x03\x00" for at in (1032, 1040))


def trapping_control() -> bytes:
    """A control with a window of 4096 bytes, which traps at an acknowledgement."""
    window = constant(1024) + b"\x42\x80\x20" + b"\x37\x03\x00"
    return assembled(
        b'{ "kind": "control", "summary": "It gives up." }', {"start": window + NONE_AT_1040, "on_ack": UNREACHABLE}
    )


def trapping_queue() -> bytes:
    """A queue that traps at a packet."""
    functions = {"start": NONE_AT_1032 + NONE_AT_1040, "enqueue": UNREACHABLE, "dequeue": b""}
    return assembled(b'{ "kind": "queue", "summary": "It gives up." }', functions)


def test_a_trap_ends_the_run_with_status_1(folder: Path) -> None:
    (folder / "own.wasm").write_bytes(trapping_control())
    file = write(folder, '"wasm:own.wasm"')
    with pytest.raises(HaltereError, match=r"wasm:own\.wasm: on_ack must return, got the instruction `unreachable`"):
        _core.run(Scenario.load(file)._core, 1)
    done = called("run", "experiment.toml", cwd=folder)
    assert done.returncode == 1 and "on_ack must return, got the instruction `unreachable`" in done.stderr


def test_the_kernel_world_refuses_it(folder: Path) -> None:
    with pytest.raises(
        InputError, match=r"kind must be a mechanism of the tree .*got `wasm:own\.wasm`; the simulator runs it"
    ):
        Kernel().check([Scenario.load(folder / "experiment.toml")._core])


@privileged
def test_a_queue_in_wasm_runs_in_the_router_of_the_wire(folder: Path) -> None:
    shutil.copy(MODULES / "fifo_c.wasm", folder / "queue.wasm")
    file = write(folder, '"cubic"', '{ kind = "wasm:queue.wasm", limit = 10 }')
    done = on_wire("run", file.name, "--world", "wire", "--ignore-calibration", cwd=folder)
    assert done.returncode == 0, done.stderr
    (folder / "queue.wasm").write_bytes(trapping_queue())
    write(folder, '"cubic"', '{ kind = "wasm:queue.wasm" }')
    done = on_wire("run", file.name, "--world", "wire", "--ignore-calibration", cwd=folder)
    assert (
        done.returncode == 1
        and "wasm:queue.wasm: enqueue must return, got the instruction `unreachable`" in done.stderr
    )
    write(folder, '"wasm:own.wasm"')
    done = on_wire("run", file.name, "--world", "wire", "--ignore-calibration", cwd=folder)
    assert done.returncode == 2 and "a control that the kernel has on the wire, got wasm:own.wasm" in done.stderr


# ---- `haltere new` -------------------------------------------------------------------------------------------------


def wasm_linker() -> str | None:
    """What clang needs to find a linker of WebAssembly: nothing if lld is installed, that of Rust, or none."""
    if shutil.which("wasm-ld"):
        return ""
    if shutil.which("rustc"):
        root = subprocess.run(["rustc", "--print", "sysroot"], capture_output=True, text=True).stdout.strip()
        for linker in Path(root).glob("lib/rustlib/*/bin/gcc-ld/wasm-ld"):
            return f"-fuse-ld={linker}"
    return None


def missing(language: str) -> str | None:
    """What this machine lacks for a language."""
    if language == "rust":
        root = (
            subprocess.run(["rustc", "--print", "sysroot"], capture_output=True, text=True).stdout.strip()
            if shutil.which("rustc")
            else "/none"
        )
        return (
            None
            if Path(root, "lib/rustlib/wasm32-unknown-unknown").is_dir()
            else "Rust's target wasm32-unknown-unknown"
        )
    if language == "c":
        return "clang and lld" if not shutil.which("clang") or wasm_linker() is None else None
    return None if os.environ.get("HALTERE_NPM") else "npm and the network: HALTERE_NPM=1 says that they are there"


def run_its_tests(folder: Path, *variables: str) -> None:
    """`make test` in `my-own`, with this Haltere as the command."""
    (folder / "bin").mkdir()
    command = folder / "bin" / "haltere"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m haltere "$@"\n')
    command.chmod(0o755)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("CARGO_TARGET", "RUSTFLAGS"))}
    path = f"{folder / 'bin'}:{os.environ['PATH']}"
    made = subprocess.run(
        ["make", "-C", "my-own", "test", *variables],
        cwd=folder,
        env={**kept, "PATH": path, "PYTHONPATH": str(ROOT / "python")},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert made.returncode == 0, made.stdout + made.stderr
    assert (folder / "my-own" / "results" / "experiment").is_dir()


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("kind", ["control", "queue"])
def test_a_starter_builds_and_its_tests_pass(kind: str, language: str, tmp_path: Path) -> None:
    if lack := missing(language):
        pytest.skip(f"needs {lack}")
    assert called("new", kind, "--lang", language, "my-own", cwd=tmp_path).returncode == 0
    run_its_tests(tmp_path, f"LLD={wasm_linker() or ''}")
    built = called("explain", "wasm:my-own/my-own.wasm", cwd=tmp_path)
    kept_one = called(
        "explain", module(f"{'reno' if kind == 'control' else 'fifo'}_{LANGUAGES[language]}"), cwd=tmp_path
    )
    said = [[line for line in one.stdout.splitlines() if "wasm:" not in line] for one in (built, kept_one)]
    assert said[0] == said[1] and len(said[0]) > 5, "build.sh builds the modules of the tests anew"


@pytest.mark.parametrize("kind", starters.KINDS)
def test_a_starter_in_python_runs_and_its_tests_pass(kind: str, tmp_path: Path) -> None:
    made = called("new", kind, "--lang", "python", "my-own", cwd=tmp_path)
    assert made.returncode == 0 and f"{starters.KINDS[kind]} in python" in made.stdout, made.stderr
    run_its_tests(tmp_path, f"PYTHON={sys.executable}")
    told = called("explain", "python:my_own:MyOwn", cwd=tmp_path / "my-own")
    assert told.returncode == 0 and "Takes: " in told.stdout, told.stdout + told.stderr


def test_the_queue_in_python_drops_and_marks_what_the_modules_do(tmp_path: Path) -> None:
    starters.begin(starters.find("queue", "python"), tmp_path / "own")
    keys = {"limit": 30, "threshold": 20}
    own, theirs = (
        tables(experiment("cubic", queue={"kind": kind, **keys}, traffic={"ecn": True}))
        for kind in (f"python:{tmp_path / 'own' / 'own.py'}:Own", module("fifo_c"))
    )
    same(own, theirs)


@pytest.mark.parametrize("kind", starters.KINDS)
def test_every_starter_is_complete_and_has_no_placeholder_left(kind: str) -> None:
    for language in starters.languages(kind):
        files = dict(starters.find(kind, language).files("a-name"))
        assert {"README.md", "experiment.toml"} <= files.keys()
        for file, text in files.items():
            assert not any(mark in file + text for mark in ("@name@", "@Name@", "@crate@", "@kind@", "@about@")), file


def test_new_refuses_what_it_cannot_do(tmp_path: Path) -> None:
    def told(*arguments: str) -> str:
        done = called("new", *arguments, cwd=tmp_path)
        assert done.returncode == 2
        return done.stderr.strip()

    assert told("control", "--lang", "cobol", "x").endswith(
        "--lang must be one of `assemblyscript`, `c`, `python`, `rust`, `rust-crate`, got `cobol`"
    )
    assert "got none" in told("control", "x")
    assert "name must be lower-case letters" in told("queue", "--lang", "c", "My Queue")
    assert "folder must be one, got 2" in told("queue", "x", "--lang", "c", "y")
    assert "--lang must be given for a mechanism alone (`control`, `queue`, " in told("rrul", "--lang", "c")
    assert told("source", "--lang", "c", "x").endswith("--lang must be one of `python`, got `c`")
    assert called("new", "queue", "--lang", "c", "sub/x", cwd=tmp_path).returncode == 0
    assert "folder must be new" in told("queue", "--lang", "c", "sub/x")


def test_limits_of_modules_are_in_the_table() -> None:
    assert {one["what"] for one in json.loads(_core.limits()) if one["input"] == "WebAssembly module"} == {
        "size",
        "memory of one mechanism",
        "tables",
        "elements of one table",
        "instructions of one call",
    }


def test_the_library_of_the_extension_has_its_dependencies() -> None:
    own, library = (
        tomllib.loads((ROOT / "crates" / "haltere-python" / where / "Cargo.toml").read_text()) for where in ("", "rlib")
    )
    wire = 'cfg(target_os = "linux")'
    for ours, theirs in (
        (own["dependencies"], library["dependencies"]),
        (own["target"][wire]["dependencies"], library["target"][wire]["dependencies"]),
    ):
        assert ours.keys() == theirs.keys()


def test_explain_says_why_a_module_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bad.wasm").write_bytes(b"\0asm\1\0\0\0\xff")
    done = called("explain", "wasm:bad.wasm", cwd=tmp_path)
    assert done.returncode == 2 and "must be a module that Haltere can run, got `bad.wasm`" in done.stderr, done.stderr
