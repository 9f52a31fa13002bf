"""Wrong input: one clear line, exit status 2, nothing written."""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import ROOT, SMALL, called, listing

CASES = sorted((ROOT / "tests" / "errors").glob("*.toml"))


def check(done, folder: Path, before: set[str]) -> str:  # type: ignore[no-untyped-def]
    lines = done.stderr.splitlines()
    assert done.returncode == 2, (done.returncode, done.stderr)
    assert len(lines) == 1 and lines[0].startswith("haltere: "), done.stderr
    assert done.stdout == ""
    assert listing(folder) == before
    return str(lines[0].removeprefix("haltere: "))


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_a_wrong_experiment_file_is_told_in_one_line(path: Path, tmp_path: Path) -> None:
    (tmp_path / path.name).write_bytes(path.read_bytes())
    before = listing(tmp_path)
    line = check(called("run", path.name, cwd=tmp_path), tmp_path, before)
    assert line.startswith(path.name), line


def test_there_are_wrong_files_enough() -> None:
    assert len(CASES) >= 10


ARGUMENTS = {
    "a directory as file": (("run", "."), ".: must be a file, got a directory"),
    "no such file": (("run", "none.toml"), "none.toml: file must exist; `haltere run FILE` takes an experiment file"),
    "not text": (("run", "bytes.toml"), "bytes.toml: file must be UTF-8 text, got byte 0xff at offset 0"),
    "no seeds": (("run", "good.toml", "--seeds", "0"), "run: argument --seeds: must be a whole number of at least 1, got `0`; see `haltere run --help`"),
    "half a job": (("run", "good.toml", "--jobs", "0.5"), "run: argument --jobs: must be a whole number of at least 1, got `0.5`; see `haltere run --help`"),
    "set without value": (("run", "good.toml", "--set", "seeds"), "--set must be KEY=VALUE, got `seeds`"),
    "out is a file": (("run", "good.toml", "--out", "good.toml"), "good.toml: results directory must be a directory, got a file"),
    "out is somebody's": (("run", "good.toml", "--out", "."), ".: results directory must be empty or hold results of haltere; choose another with --out"),
    "no such study": (("reproduce", "aqmlab"), "study must be one of"),
    "no results": (("report", "."), ".: must be a results directory, got no manifest.json in it"),
    "no such mechanism": (("explain", "codell"), "did you mean `codel`"),
    "no such kind": (("list", "queuess"), "did you mean `queues`?"),
    "no command": ((), "the following arguments are required: COMMAND; see `haltere --help`"),
}  # fmt: skip


@pytest.mark.parametrize("name", ARGUMENTS)
def test_wrong_arguments_are_told_in_one_line(name: str, tmp_path: Path) -> None:
    (tmp_path / "good.toml").write_text(SMALL)
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    before = listing(tmp_path)
    arguments, message = ARGUMENTS[name]
    assert message in check(called(*arguments, cwd=tmp_path), tmp_path, before)


def test_a_wrong_set_names_the_key(tmp_path: Path) -> None:
    (tmp_path / "good.toml").write_text(SMALL)
    before = listing(tmp_path)
    line = check(called("run", "good.toml", "--set", "topology.dumbbell.pairs=0", cwd=tmp_path), tmp_path, before)
    assert "pairs must be" in line and "got 0" in line


def test_a_manifest_that_is_not_ours_is_refused(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text('{"points": 3}')
    before = listing(tmp_path)
    assert "manifest must be one that haltere wrote" in check(called("hash", ".", cwd=tmp_path), tmp_path, before)
