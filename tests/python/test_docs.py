"""The documentation says what is so: reference pages up to date, examples of the README carried out."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import reference
from conftest import ROOT, haltere

README = (ROOT / "README.md").read_text()


def example(name: str) -> str:
    found = re.search(rf"<!-- example: {re.escape(name)} -->\n```\w+\n(.*?)```", README, re.S)
    assert found, f"README.md has no example `{name}`"
    return found[1]


def test_the_reference_pages_are_those_of_the_schema() -> None:
    told = reference.pages()
    there = {path.name: path.read_text() for path in (ROOT / "docs" / "reference").glob("*.md")}
    assert sorted(there) == sorted(told), "run `make docs`"
    stale = [name for name in told if told[name] != there[name]]
    assert not stale, f"run `make docs`: {stale}"


def test_the_readme_s_experiment_runs_as_written(tmp_path: Path) -> None:
    (tmp_path / "experiment.toml").write_text(example("experiment.toml"))
    quick = haltere("run", "experiment.toml", "--quick", cwd=tmp_path)
    assert quick.returncode == 0, quick.stderr
    shell = re.findall(r"^haltere (run experiment\.toml --set .*)$", README, re.M)
    assert shell
    for line in shell:
        words = [*line.split(), "--quick"]
        done = haltere(*words, cwd=tmp_path)
        assert done.returncode == 0, done.stderr


def test_the_readme_s_python_runs_as_written(tmp_path: Path) -> None:
    text = example("experiment.toml").replace('"30s"', '"6s"').replace('"5s"', '"1s"')
    (tmp_path / "experiment.toml").write_text(text)
    done = subprocess.run(
        [sys.executable, "-c", example("python")], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 3


@pytest.mark.parametrize("path", sorted(ROOT.glob("python/haltere/**/*.py")), ids=lambda p: p.stem)
def test_no_module_is_longer_than_six_hundred_lines(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 600
