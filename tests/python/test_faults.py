"""What is damaged, hostile or missing: no traceback, nothing believed that was not written, one line that says what is wrong."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import haltere as package
from conftest import haltere
from haltere import Results
from haltere.runs.query import columns, query
from haltere.runs.records import seal_of, wrong_in_manifest
from haltere.runs.store import Damaged


def flip(file: Path, at: int = 60) -> None:
    """One bit of a file changes."""
    data = file.read_bytes()
    file.write_bytes(bytes([*data[:at], data[at] ^ 4, *data[at + 1 :]]))


def of_run(results: Results, name: str, place: int = 0) -> Path:
    return results.directory / "runs" / results.runs[place].key / name


# -- every way to the data ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sql", ["SELECT count(*) FROM flows", "SELECT count(*) FROM FLOWS", "SHOW TABLES"])
def test_sql_does_not_believe_a_damaged_file(small: Path, sql: str) -> None:
    results = package.load(small).run(seeds=2, out=small.parent / "out")
    assert query(results, sql).num_rows > 0
    flip(of_run(results, "flows.parquet", 1))
    with pytest.raises(Damaged, match=r"flows\.parquet: its bytes are not those that were written; run the experiment"):
        query(results, sql)
    with pytest.raises(Damaged):
        columns(results)
    assert query(results, "SELECT count(*) FROM links").num_rows == 1, "a table that is sound is answered"


def test_hash_verify_and_results_check_find_each_damaged_file(small: Path) -> None:
    results = package.load(small).run(seeds=2, out=small.parent / "out")
    sound = haltere("results", "out", "--check", cwd=small.parent)
    assert sound.returncode == 0 and "2 runs, 12 files, all as they were written" in sound.stdout, sound.stdout
    plain, verified = (haltere("hash", "out", *more, cwd=small.parent) for more in ((), ("--verify",)))
    assert verified.returncode == 0 and verified.stdout == plain.stdout
    flip(of_run(results, "links.parquet"))
    of_run(results, "flows.parquet", 1).unlink()
    for arguments in (("hash", "out", "--verify"), ("results", "out", "--check")):
        done = haltere(*arguments, cwd=small.parent)
        assert done.returncode == 1 and done.stdout == "", done.stdout
        first, second = done.stderr.splitlines()
        assert "links.parquet: its bytes are not" in done.stderr and "flows.parquet: the file is missing" in done.stderr
        assert "run the experiment again" in second and "Traceback" not in first


def test_a_seal_that_says_another_digest_than_the_manifest_is_found(small: Path) -> None:
    results = package.load(small).run(seeds=1, out=small.parent / "out")
    file = of_run(results, "run.json")
    seal = json.loads(file.read_text())
    file.write_text(json.dumps({**seal, "digest": "0" * 64}))
    assert results.check() == [
        f"{results.where}/runs/{results.runs[0].key}/run.json: digest and seed are not those in manifest.json"
    ]


# -- damaged stores -------------------------------------------------------------------------------------------------------

WRONG_SEALS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "a list": lambda seal: [seal],
    "a number": lambda seal: 3,
    "files as a list": lambda seal: {**seal, "files": list(seal["files"])},
    "no files": lambda seal: {**seal, "files": {}},
    "a file without its checksum": lambda seal: {**seal, "files": {name: {"bytes": 3} for name in seal["files"]}},
    "a file elsewhere": lambda seal: {**seal, "files": {"../../manifest.json": {"bytes": 3, "sha256": "0" * 64}}},
    "a size that is a word": lambda seal: {
        **seal,
        "files": {name: {**one, "bytes": "x"} for name, one in seal["files"].items()},
    },
    "a digest that is a number": lambda seal: {**seal, "digest": 7},
    "a seed that is a word": lambda seal: {**seal, "seed": "one"},
    "a time that is none": lambda seal: {**seal, "wall_s": None},
    "a time without end": lambda seal: {**seal, "wall_s": float("inf")},
}


@pytest.mark.parametrize("harm", [*WRONG_SEALS, "deep", "a folder in its place", "a file in the run's place"])
def test_a_malformed_seal_is_as_none_and_run_makes_the_run_anew_and_says_so(small: Path, harm: str) -> None:
    scenario, out = package.load(small), small.parent / "out"
    whole = scenario.run(seeds=2, out=out)
    seal = of_run(whole, "run.json")
    if harm in WRONG_SEALS:
        seal.write_text(json.dumps(WRONG_SEALS[harm](json.loads(seal.read_text()))))
    elif harm == "deep":
        seal.write_text("[" * 100_000)
    else:
        for file in seal.parent.iterdir():
            file.unlink()
        if harm == "a folder in its place":
            seal.mkdir()
        else:
            seal.parent.rmdir()
            seal.parent.write_text("no run")
    with pytest.raises(Damaged, match="is missing from the store, or its seal is malformed"):
        Results(out).table("flows")
    again = haltere("run", small.name, "--seeds", "2", "--out", "out", cwd=small.parent)
    assert again.returncode == 0, again.stderr
    assert "out: 1 damaged or incomplete runs are made anew" in again.stderr
    results = Results(out)
    assert results.check() == [] and results.digest() == whole.digest()


def test_a_manifest_is_checked_in_full_and_written_anew_if_it_is_malformed(small: Path) -> None:
    out = small.parent / "out"
    digest = package.load(small).run(seeds=2, out=out).digest()
    good = (out / "manifest.json").read_text()
    for name, value in {
        "title": 3, "complete": "yes", "seeds": ["a"], "scenarios": {}, "points": [{"labels": 1, "scenario": {}}],
        "runs": [{"key": "x"}], "planned": [[1, 2]], "failed": [{}], "precision": [3], "environment": [],
    }.items():  # fmt: skip
        (out / "manifest.json").write_text(json.dumps({**json.loads(good), name: value}))
        with pytest.raises(
            package.InputError, match=f"manifest must be one that haltere wrote, got a malformed `{name}"
        ):
            Results(out)
    again = haltere("run", small.name, "--seeds", "2", "--out", "out", cwd=small.parent)
    assert again.returncode == 0 and "malformed `environment`; it is written anew" in again.stderr, again.stderr
    assert Results(out).digest() == digest


def test_no_change_of_a_seal_or_a_manifest_is_a_python_error(small: Path) -> None:
    results = package.load(small).run(seeds=1, out=small.parent / "out")
    key, draw = results.runs[0].key, random.Random(19)
    values = [None, True, -1, 2**70, 1.5, "x", [], {}, [[]], [{}], {"a": []}]

    def changed(value: Any) -> Any:
        if isinstance(value, dict) and value and draw.random() < 0.8:
            name = draw.choice(list(value))
            return {**value, name: changed(value[name])}
        if isinstance(value, list) and value and draw.random() < 0.8:
            return [changed(value[0]), *value[1:]]
        return draw.choice(values)

    seal, manifest = json.loads(of_run(results, "run.json").read_text()), dict(results.manifest)
    for _ in range(2000):
        seal_of(json.dumps(changed(seal)).encode(), key)
        other = changed(manifest)
        if isinstance(other, dict) and not wrong_in_manifest(other):
            Results.of(results.store, other).digest()
    for _ in range(200):
        text = bytearray(json.dumps(seal).encode())
        text[draw.randrange(len(text))] = draw.randrange(256)
        seal_of(bytes(text), key)


BUG = "import sys; from haltere import catalogue, cli\ndef broken(*_, **__): raise {what}\ncatalogue.explain = broken\nsys.exit(cli.main(sys.argv[1:]))"


@pytest.mark.parametrize("what", ["KeyError('x')", "RecursionError('deep')", "type('PanicException', (BaseException,), {})('x')"])  # fmt: skip
def test_a_bug_is_one_line_and_a_traceback_if_asked_for(tmp_path: Path, what: str) -> None:
    def explain(*before: str) -> subprocess.CompletedProcess[str]:
        code = [sys.executable, "-c", BUG.replace("{what}", what), *before, "explain", "codel"]
        return subprocess.run(code, cwd=tmp_path, capture_output=True, text=True, timeout=60)

    done = explain()
    assert done.returncode == 1 and len(done.stderr.splitlines()) == 1, done.stderr
    assert "this is a bug, please report" in done.stderr and "haltere --traceback" in done.stderr
    told = explain("--traceback")
    assert told.returncode == 1 and "Traceback" in told.stderr and "broken" in told.stderr
