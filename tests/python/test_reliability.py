"""The tools of docs/reliability.md: limits that the code enforces, the lock, and short runs with hostile input."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT
from haltere.limits import most
from reference import limits
from test_router import needs_ip
from test_wire import privileged

TOOLS = ROOT / "tools" / "reliability"


def tool(*arguments: str, timeout: float = 120) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], cwd=TOOLS, capture_output=True, text=True, timeout=timeout)


def test_the_table_of_limits_has_every_number_once_and_the_schema_agrees() -> None:
    from haltere import catalogue

    named = [(one.input, one.what) for one in limits()]
    assert len(set(named)) == len(named) > 15 and all(one.most > 0 for one in limits())
    assert json.loads(json.dumps(catalogue.schema()))["properties"]["seeds"]["maximum"] == most("random seeds")


def test_the_lock_satisfies_the_project_and_has_hashes() -> None:
    done = tool("locked.py", "requirements-lock.txt")
    assert done.returncode == 0 and "each with hashes" in done.stdout, done.stdout


def test_a_bill_of_materials_names_crates_and_packages(tmp_path: Path) -> None:
    done = tool("sbom.py", str(tmp_path / "bom.json"))
    assert done.returncode == 0, done.stderr
    found = {one["purl"].partition("@")[0] for one in json.loads((tmp_path / "bom.json").read_text())["components"]}
    assert {"pkg:cargo/serde", "pkg:cargo/pyo3", "pkg:pypi/pyarrow", "pkg:pypi/numpy"} <= found


@pytest.mark.skipif(os.name != "posix", reason="pipes that are files, and signals")
@pytest.mark.parametrize("part", ["named_files", "special_files", "records", "messages"])
def test_the_parts_of_the_attack_that_take_seconds(part: str) -> None:
    done = tool("hostile.py", "--part", part, "--seed", "7")
    score = json.loads(done.stdout.splitlines()[-1])
    assert score["tried"] > 40 and score["fallen"] == [], score


@pytest.mark.parametrize("part", ["experiments", "grammar", "captures"])
def test_mutants_reach_what_is_behind_the_readers(part: str) -> None:
    """Each part falls if a mechanism of a registry was in no experiment that ran, or saw no packet of a capture."""
    done = tool("hostile.py", "--part", part, "--seed", "7", "--seconds", "5", timeout=600)
    score = json.loads(done.stdout.splitlines()[-1])
    assert score["tried"] >= 2 and score["fallen"] == [], score
    counts = score["reached"]
    assert counts["classified"] and counts["correlated"] if part == "captures" else counts["ran"] > 20, counts


@pytest.mark.skipif(os.name != "posix", reason="alarms")
def test_the_attack_keeps_to_its_clock_and_a_try_that_hangs_has_fallen() -> None:
    code = """
import hostile, random, sys, time, trial
trial.PARTS.clear()
trial.ALARM_S = 2
@trial.part("slow", share=1)
def slow(score, draw, folder):
    for i in score.tries(1000):
        with score.one("try"):
            time.sleep(0.2)
@trial.part("hangs", share=1)
def hangs(score, draw, folder):
    with score.one("try"):
        time.sleep(600)
@trial.part("wrong", share=1)
def wrong(score, draw, folder):
    with score.one("five", count=5):
        assert False
@trial.part("refused", share=1)
def refused(score, draw, folder):
    score.needed.add("a name")
    for i in score.tries(30):
        with score.one("try", ValueError):
            raise ValueError
sys.exit(hostile.main(sys.argv[1:]))
"""
    score = json.loads(tool("-c", code, "--part", "slow", "--seconds", "1").stdout)
    assert 1 <= score["tried"] < 10 and score["fallen"] == [], score
    late = tool("-c", code, "--part", "hangs")
    assert late.returncode == 1 and "Timeout" in late.stderr and "in hangs" in late.stderr, "it says where"
    score = json.loads(tool("-c", code, "--part", "wrong").stdout)
    assert score["tried"] == 5 and len(score["fallen"]) == 5, score
    score = json.loads(tool("-c", code, "--part", "refused").stdout)
    assert score["fallen"] == [
        "every try was refused: what is behind the reader was not reached",
        "never reached: a name",
    ], score


@privileged
@needs_ip
def test_thousands_of_frames_do_not_stop_the_router() -> None:
    done = tool("hostile.py", "--part", "frames", "--seed", "7")
    score = json.loads(done.stdout.splitlines()[-1])
    assert score["tried"] >= 17_000 and score["fallen"] == [], score


def test_the_programs_whose_lines_count_are_those_that_cargo_ran() -> None:
    told = "   Compiling haltere-units\n     Running unittests src/lib.rs (target/debug/deps/haltere_units-d3)\n     Running tests/laws.rs (/a/laws-57)\n"
    done = tool("-c", f"import covered; print(covered.RUNNING.findall({told!r}))")
    assert done.stdout == "['target/debug/deps/haltere_units-d3', '/a/laws-57']\n", done.stderr


def test_a_short_long_run_conserves_packets() -> None:
    done = tool("long.py", "--hours", "0.05", "--packets", "2e5")
    assert done.returncode == 0 and done.stdout.count("conservation holds on all 34 links") == 2, (
        done.stdout + done.stderr
    )
