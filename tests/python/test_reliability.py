"""The tools of docs/reliability.md: limits that the code enforces, the lock, the mutator and a short attack."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT
from haltere.limits import limits, most
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
@pytest.mark.parametrize("part", ["experiments", "captures", "named_files", "special_files", "records", "messages"])
def test_the_parts_of_the_attack_that_take_seconds(part: str) -> None:
    done = tool("attack.py", "--part", part, "--seed", "7")
    score = json.loads(done.stdout.splitlines()[-1])
    assert score["tried"] > 40 and score["fallen"] == [], score


@pytest.mark.skipif(os.name != "posix", reason="alarms")
def test_the_attack_keeps_to_its_clock_and_a_try_that_hangs_has_fallen() -> None:
    code = """
import attack, random, sys, time, trial
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
sys.exit(attack.main(sys.argv[1:]))
"""
    score = json.loads(tool("-c", code, "--part", "slow", "--seconds", "1").stdout)
    assert 1 <= score["tried"] < 10 and score["fallen"] == [], score
    late = tool("-c", code, "--part", "hangs")
    assert late.returncode == 1 and "Timeout" in late.stderr and "in hangs" in late.stderr, "it says where"
    score = json.loads(tool("-c", code, "--part", "wrong").stdout)
    assert score["tried"] == 5 and len(score["fallen"]) == 5, score


@privileged
@needs_ip
def test_thousands_of_frames_do_not_stop_the_router() -> None:
    done = tool("attack.py", "--part", "frames", "--seed", "7")
    score = json.loads(done.stdout.splitlines()[-1])
    assert score["tried"] >= 17_000 and score["fallen"] == [], score


CHANGED = """
import mutants
text = "def f(a, b):\\n    if a < b and not a:\\n        return a + 1\\n"
print([mutants.changed(text, one.place, one.number) for one in mutants.sites(text)])
"""


def test_the_mutator_changes_one_expression_at_a_time() -> None:
    done = tool("-c", CHANGED)
    assert done.returncode == 0, done.stderr
    for part in ("if False", "a <= b", "a < b or", "and a:", "a - 1", "a + 2", "return None"):
        assert done.stdout.count(part) == 1, (part, done.stdout)


def test_a_change_meets_the_tests_that_reach_its_line_and_the_quickest_first() -> None:
    code = r"""
import mutants
from pathlib import Path
text = '''LIMIT = 3
def first(a):
    if a:
        return a + 1
    return a * 2
def second(a):
    return a - 1
'''
of = {one.name: one for one in mutants.sites(text)}
file = Path("x.py")
reached = {
    "slow": (9.0, [("x.py", 3), ("x.py", 4), ("x.py", 5)]),
    "quick": (1.0, [("x.py", 3), ("x.py", 5)]),
    "long": (mutants.BUDGET_S, [("x.py", 3)]),
    "other": (2.0, [("x.py", 7), ("y.py", 4)]),
    "none": (0.1, [("y.py", 3)]),
}
tests = lambda name: mutants.fitting(of[name], file, reached)
assert tests("4: arithmetic: a + 1") == ["slow"], of
assert tests("3: condition: if a:") == ["quick", "slow"], "the long one is beyond the budget"
assert tests("7: arithmetic: a - 1") == ["other"]
assert tests("1: number: 3") == ["quick", "other", "slow"], "outside of functions: all that reach the file"
del reached["slow"], reached["long"]
assert tests("4: arithmetic: a + 1") == ["quick"], "no test reaches the line: those of its function"
"""
    done = tool("-c", code)
    assert done.returncode == 0, done.stderr


def test_a_fork_tells_its_status_and_one_that_never_ends_is_ended() -> None:
    code = """
import mutants, time
assert mutants.forked(lambda: 0, 60) == 0 and mutants.forked(lambda: 3, 60) == 3
assert mutants.forked(lambda: 1 // 0, 60) == 70
assert mutants.forked(lambda: time.sleep(600), 0.3) is None
"""
    done = tool("-c", code)
    assert done.returncode == 0, done.stderr


def test_the_programs_whose_lines_count_are_those_that_cargo_ran() -> None:
    told = "   Compiling haltere-units\n     Running unittests src/lib.rs (target/debug/deps/haltere_units-d3)\n     Running tests/laws.rs (/a/laws-57)\n"
    done = tool("-c", f"import covered; print(covered.RUNNING.findall({told!r}))")
    assert done.stdout == "['target/debug/deps/haltere_units-d3', '/a/laws-57']\n", done.stderr


DECLARED = """
import json, rust_mutants
crates = rust_mutants.ROOT / "crates"
print(json.dumps({crate: rust_mutants.declared((crates / f"haltere-{crate}" / "src/lib.rs").read_text()) for crate in rust_mutants.CRATES}))
"""


def test_cargo_mutants_is_told_of_each_module_that_a_registry_declares() -> None:
    from haltere import catalogue

    texts = json.loads(tool("-c", DECLARED).stdout)
    names = {entry.name for entry in catalogue.entries()}
    for crate, least in (("queue", 15), ("congestion", 15)):
        sources = {path.stem for path in (ROOT / "crates" / f"haltere-{crate}" / "src").glob("*.rs")}
        mechanisms = sources & names
        assert len(mechanisms) >= least and all(f"mod {name};" in texts[crate] for name in mechanisms), mechanisms


def test_a_short_long_run_conserves_packets() -> None:
    done = tool("long.py", "--hours", "0.05", "--packets", "2e5")
    assert done.returncode == 0 and done.stdout.count("conservation holds on all 34 links") == 2, (
        done.stdout + done.stderr
    )


def test_mutants_of_rust_are_woven_into_the_bodies_of_their_functions() -> None:
    code = r"""
import rust_mutants as tool
text = '''const fn fixed() -> u32 { 1 + 1 }
/// A `{` in a comment, a string, a character and a lifetime.
pub fn less<'a>(a: &'a [u32], b: u32) -> bool { // {
    let _ = ("}", '}', r#"}"#);
    a[0] < b
}
fn last() -> u32 { 7 }
'''
at, inside = text.index("< b"), (text.index("pub fn"), text.index("}\nfn last") + 1)
first = text.index("1 + 1") + 2
mutants = [
    tool.Mutant(1, "not tried", "f", first, first + 1, (0, text.index("}") + 1), "-"),
    tool.Mutant(2, "<=", "f", at, at + 1, inside, "<="),
    tool.Mutant(3, ">", "f", at, at + 1, inside, ">"),
]
new, of_line = tool.woven(text, mutants)
assert new.startswith("const fn fixed() -> u32 { 1 + 1 }") and new.endswith("fn last() -> u32 { 7 }\n")
lines = new.splitlines()
assert [lines[line - 1] for line in sorted(of_line) if " b" in lines[line - 1]] == ["    a[0] <= b", "    a[0] > b"]
assert set(of_line.values()) == {2, 3} and new.count("    a[0] < b\n") == 1
assert tool.woven(text, [])[0] == text
"""
    done = tool("-c", code)
    assert done.returncode == 0, done.stderr
