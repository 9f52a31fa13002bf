"""Packs of scenarios: `haltere pack`, `haltere check`, and what `pack.toml` may say."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from conftest import ROOT, called
from haltere import InputError
from haltere.analysis.stats import mean
from haltere.packs import Variant, find, names
from haltere.packs.condition import Condition
from haltere.packs.play import Row, judged
from test_wasm import missing, wasm_linker

RENO = ROOT / "python" / "haltere" / "examples" / "outside" / "reno.py"
FILE = """\
duration = "10s"

[topology.dumbbell]
pairs = 1
access = { rate = "1Gbit" }
bottleneck = { rate = "10Mbit", delay = "10ms", queue = { kind = "drop_tail", limit = "25p" }, jitter = "1ms", ring = "1p" }

[[traffic]]
name = "main"
kind = "bulk"
bytes = "2MB"
jitter = "1ms"

[[traffic]]
name = "voice"
kind = "voip"
"""
PACK = """\
title = "Mine"
source = "this test"
licence = "MIT"
file = "one.toml"
seeds = 3
figures = [{ of = "took.main", margin = 0.05 }, { of = "sent_again.main", margin = 0.25, least = 0.002 }]

[keys]
rate = "topology.dumbbell.bottleneck.rate"

[[case]]
name = "slow"
must = ["took.main <= 5"]
set = { rate = "5Mbit" }

[[case]]
name = "fast"
must = ["goodput.main / 10 >= 0.5"]
"""


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """A folder with a pack and a control in Python."""
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "pack.toml").write_text(PACK)
    (tmp_path / "pack" / "one.toml").write_text(FILE)
    (tmp_path / "control.py").write_text(RENO.read_text())
    return tmp_path


# ---- packs that come with Haltere ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", names())
def test_every_case_takes_every_kind_of_control(name: str) -> None:
    pack = find(name)
    for case in pack.cases:
        for control in ("cubic", "bbr3", {"kind": "reno"}):
            case.scenario(Variant.of(control, None))


def test_c4_has_its_31_cases_and_interop_its_nine() -> None:
    c4 = find("c4")
    assert len(c4.cases) + len(c4.left_out) == 31
    assert all("Wi-Fi" in why for why in c4.left_out.values()), "only these may be left out"
    assert len(find("interop").cases) == 9 and not find("interop").left_out


def test_c4_is_read_as_its_specifications_say() -> None:
    case = next(case for case in find("c4").cases if case.name == "low_and_up")
    link = case.experiment(Variant("as written"))["topology"]["dumbbell"]["bottleneck"]
    # 80 ms at each of the rates.
    assert (link["delay"], link["trace"]["rows"].split("\n")[1:]) == ("50ms", ["0,5Mbit,33", "2.5s,10Mbit,66"])


def test_a_pack_runs_and_says_what_holds(tmp_path: Path) -> None:
    words = ("--control", "cubic", "--control", "bbr3", "--only", "goodput", "--only", "longrtt", "--seeds", "2")
    done = called("pack", "run", "interop", *words, "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["rows"]
    assert {(row["case"], row["variant"]) for row in rows} == {
        (case, control) for case in ("goodput", "longrtt") for control in ("cubic", "bbr3")
    }
    assert {row["verdict"] for row in rows} == {"held"}
    # 10 MB of payload at 10 Mbit/s take 8.36 s with headers; a round trip of 1.5 s and its half take 2.25 s.
    values = {(row["case"], row["variant"]): row["value"]["mean"] for row in rows}
    assert 8.36 < values["goodput", "cubic"] < 8.6 and values["longrtt", "cubic"] == pytest.approx(2.25, abs=0.01)
    assert (tmp_path / "results" / "pack-interop" / "report.html").is_file()


# ---- a pack of one's own -------------------------------------------------------------------------------------------------


def test_a_control_with_a_fault_is_found_with_its_smallest_experiment(mine: Path) -> None:
    control = '{ kind = "cubic", beta = 0.99 }'
    done = called("check", "pack", "--control", control, "--base", "cubic", "--seeds", "4", "--out", "out", cwd=mine)
    assert done.returncode == 1 and "Failed: 2 figures are worse" in done.stdout, done.stdout + done.stderr
    result = json.loads((mine / "out" / "check.json").read_text())
    worse = {row["case"]: row for row in result["rows"] if row["verdict"] == "worse"}
    assert worse.keys() == {"slow", "fast"} and {row["what"] for row in worse.values()} == {"sent_again.main"}
    assert worse["fast"]["value"]["mean"] > 2 * worse["fast"]["base"]["mean"] > 0
    suite = ET.parse(mine / "out" / "junit.xml").find("testsuite")
    assert suite is not None and suite.get("failures") == "2" and suite.get("tests") == "6"
    assert "figures/differences.png" in (mine / "out" / "report.md").read_text()
    smallest = mine / "out" / "worse-fast.toml"
    values = tomllib.loads(smallest.read_text())
    assert [one["name"] for one in values["traffic"]] == ["main"], "the voice is not needed"
    assert not {"jitter", "ring"} & values["topology"]["dumbbell"]["bottleneck"].keys()
    assert float(values["duration"].removesuffix("s")) < 10
    again = called("run", smallest, "--seeds", "1", "--json", cwd=mine)
    assert again.returncode == 0, again.stderr


def test_a_control_beside_itself_passes(mine: Path) -> None:
    done = called("check", "pack", "--control", "cubic", "--base", "cubic", "--only", "fast", cwd=mine)
    assert done.returncode == 0 and "Passed" in done.stdout, done.stdout + done.stderr


def test_the_base_may_be_a_revision_of_the_file(mine: Path) -> None:
    def git(*words: str) -> str:
        quiet = ["-c", "user.name=n", "-c", "user.email=e", "-c", "commit.gpgsign=false"]
        return subprocess.run(["git", *quiet, *words], cwd=mine, check=True, capture_output=True, text=True).stdout

    git("init", "-q", "-b", "main")
    git("add", ".")
    git("commit", "-q", "-m", "Reno")
    good = RENO.read_text()
    bad = good.replace("self.window, self.credit = self.threshold, 0", "self.threshold, self.credit = self.window, 0")
    assert bad != good, "a loss leaves the window as it is"
    (mine / "control.py").write_text(bad)
    words = ("check", "pack", "--control", "python:control.py:Reno", "--base", "main", "--only", "fast", "--seeds", "4")
    done = called(*words, "--build", "touch built", cwd=mine)
    assert done.returncode == 1 and "Reno beside Reno at main" in done.stdout, done.stdout + done.stderr
    assert (mine / "built").is_file() and git("worktree", "list").count("\n") == 1, "the other tree is gone"


def test_a_control_that_ends_a_run_fails_the_check_and_the_other_cases_are_judged(mine: Path) -> None:
    text = RENO.read_text().replace("    def on_loss(self, ev):\n", "    def on_loss(self, ev):\n        1 / 0\n")
    (mine / "control.py").write_text(text)
    deep = PACK.replace('set = { rate = "5Mbit" }', 'set = { "topology.dumbbell.bottleneck.queue.limit" = "2000p" }')
    (mine / "pack" / "pack.toml").write_text(deep)
    done = called("check", "pack", "--control", "python:control.py:Reno", "--seeds", "1", cwd=mine)
    assert done.returncode == 1 and "Failed: 1 case did not end" in done.stdout, done.stdout + done.stderr
    assert "ZeroDivisionError" in done.stdout and "1 of 1 conditions hold" in done.stdout, done.stdout
    suite = ET.parse(mine / "results" / "check-pack" / "junit.xml").find("testsuite")
    assert suite is not None and (suite.get("errors"), suite.get("tests")) == ("1", "2")


def test_a_condition_that_fails_with_the_base_too_is_no_fault() -> None:
    bad, good = mean([1.0, 1.1, 1.2]), mean([-1.0, -1.1, -1.2])
    rows = [Row("c", side, "x <= 1", "s", bad, bad) for side in ("new", "base")]
    assert [row.verdict for row in judged(rows, "base")] == [
        "not held, as with the baseline",
        "not held, as with the baseline",
    ]
    assert not any(row.is_bad for row in judged(rows, "base"))
    assert [row.verdict for row in judged([rows[0], Row("c", "base", "x <= 1", "s", good, good)], "base")] == [
        "not held",
        "held",
    ]


def test_verdicts_allow_for_the_number_of_rows() -> None:
    # One-sided p = 0.03 alone; with nine rows that hold it is none.
    edge, fine = mean([0.5, 0.9, 1.3]), mean([-1.0, -1.1, -1.2])
    assert judged([Row("a", "new", "x", "", edge, edge)])[0].verdict == "not held"
    rows = [Row("a", "new", "x", "", edge, edge), *(Row(str(i), "new", "x", "", fine, fine) for i in range(9))]
    assert [row.verdict for row in judged(rows)] == ["inconclusive", *["held"] * 9]


@pytest.mark.parametrize(
    "text",
    [
        "took.main",
        "took.main <= 1 <= 2",
        "1 <= 2",
        "took.main == 1",
        "f(1) <= 2",
        "took.main <= 'a'",
        "took.main <= True",
        "(",
    ],
)
def test_what_is_no_condition_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"here: must be a comparison of metrics such as `took.main <= 5.5`, got"):
        Condition.of(text, "here")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (('title = "Mine"\n', ""), "pack/pack.toml: `title` must be given"),
        (("seeds = 3", "seed = 3"), "key must be one of case, .*, got `seed`; did you mean `seeds`"),
        (("took.main <= 5", "tok.main <= 5"), "case slow: metric must be .* got `tok`; did you mean `took`"),
        (('set = { rate = "5Mbit" }', 'set = { rate = "5Mbi" }'), "case slow: topology.dumbbell.bottleneck: rate must be"),
        (('set = { rate', 'set = { "traffic.7.bytes"'), "case slow: key must be one of the experiment or of `keys`, got `traffic.7.bytes`"),
        (('name = "fast"', 'name = "slow"'), "case must have a name of its own, got `slow` twice"),
        (('name = "fast"', 'name = "fast"\ntested = ["mine"]'), r"tested must name traffic entries \(main, voice\), got `mine`"),
        (('file = "one.toml"', 'file = "none.toml"'), "none.toml: file must be readable"),
    ],
)  # fmt: skip
def test_an_error_in_a_pack_is_one_line(mine: Path, change: tuple[str, str], says: str) -> None:
    assert change[0] in PACK
    (mine / "pack" / "pack.toml").write_text(PACK.replace(*change))
    done = called("check", "pack", "--control", "cubic", cwd=mine)
    assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr
    assert re.search(says, done.stderr), done.stderr


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("check", "interopp", "--control", "cubic"), "pack must be one of .*, got `interopp`; did you mean `interop`"),
        (("check", "interop"), "--control or --stack must be given"),
        (("check", "interop", "--control", "cubic", "--base", "cubik"), "--base must be a congestion control, got `cubik`"),
        (("pack", "run", "interop", "--only", "goodputt"), "--only must be one of .*; did you mean `goodput`"),
        (("pack", "run", "c4", "--only", "nothing"), "--only must be one of"),
    ],
)  # fmt: skip
def test_a_wrong_word_writes_nothing(tmp_path: Path, words: tuple[str, ...], says: str) -> None:
    done = called(*words, cwd=tmp_path)
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and re.search(says, done.stderr), done.stderr
    assert not list(tmp_path.iterdir())


# ---- the action ----------------------------------------------------------------------------------------------------------

ACTION = ROOT / "action.yml"


def steps(workspace: Path, inputs: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Carries out the steps of the action as GitHub does, with `haltere` on the path."""
    yaml = pytest.importorskip("yaml")
    action = yaml.safe_load(ACTION.read_text())
    given = {name: str(one.get("default", "")) for name, one in action["inputs"].items()} | inputs
    tools = workspace.parent / "tools"
    tools.mkdir(exist_ok=True)
    (tools / "haltere").write_text(f'#!/bin/sh\nexec {sys.executable} -m haltere "$@"\n')
    (tools / "haltere").chmod(0o755)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("CARGO_TARGET", "RUSTFLAGS"))}
    env = {
        **kept, "PATH": f"{tools}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT / "python"), "GITHUB_ACTION_PATH": str(ROOT),
        "GITHUB_STEP_SUMMARY": str(workspace.parent / "summary.md"),
    }  # fmt: skip
    for step in action["runs"]["steps"]:
        filled = {
            name: re.sub(r"\$\{\{ inputs\.(\w+) \}\}", lambda found: given[found[1]], value)
            for name, value in step.get("env", {}).items()
        }
        assert step["shell"] == "bash"
        done = subprocess.run(
            ["bash", "-eo", "pipefail", "-c", step["run"]], cwd=workspace, env={**env, **filled}, capture_output=True, text=True, timeout=900
        )  # fmt: skip
        if done.returncode:
            break
    return done


@pytest.mark.slow
@pytest.mark.parametrize(
    ("language", "right", "wrong"),
    [
        ("rust", "self.reduced()", "self.cwnd"),
        ("c", "ssthresh = cwnd = reduced();", "ssthresh = cwnd;"),
    ],
)
def test_the_steps_of_the_action_fail_a_change_that_is_worse(
    tmp_path: Path, language: str, right: str, wrong: str
) -> None:
    if why := missing(language):
        pytest.skip(f"{why} is missing")
    own, clone = tmp_path / "own", tmp_path / "clone"
    own.mkdir()
    assert called("new", "control", "--lang", language, "my-own", cwd=own).returncode == 0
    quiet = ["-c", "user.name=n", "-c", "user.email=e", "-c", "commit.gpgsign=false"]
    for words in (
        ["init", "-q", "-b", "main"],
        ["add", "."],
        [*quiet, "commit", "-q", "-m", "Reno"],
        ["clone", "-q", ".", str(clone)],
    ):
        subprocess.run(["git", *words], cwd=own, check=True, capture_output=True)
    linker = wasm_linker()
    build = f"make -C my-own {'' if language == 'rust' or not linker else f'LLD={linker}'}".strip()
    inputs = {"pack": "interop", "control": "wasm:my-own/my-own.wasm", "base": "origin/main", "build": build,
              "arguments": "--only goodput --seeds 3"}  # fmt: skip
    same = steps(clone, inputs)
    assert same.returncode == 0 and "Passed" in same.stdout, same.stdout + same.stderr
    (source,) = [path for path in (clone / "my-own").rglob("*") if path.name in ("lib.rs", "my-own.c")]
    text = source.read_text()
    assert right in text
    source.write_text(text.replace(right, wrong))
    worse = steps(clone, inputs)
    assert worse.returncode == 1 and "1 figure is worse" in worse.stdout, worse.stdout + worse.stderr
    summary = (tmp_path / "summary.md").read_text()
    assert "# Check of my-own beside my-own at origin/main" in summary
    assert "sent_again.main" in summary and "![" not in summary
    assert (clone / "haltere-check" / "worse-goodput.toml").is_file()


def test_the_example_workflow_gives_the_action_what_it_takes() -> None:
    yaml = pytest.importorskip("yaml")
    workflow = yaml.safe_load((ROOT / "examples" / "ci" / "check.yml").read_text())
    (step,) = [one for one in workflow["jobs"]["check"]["steps"] if "haltere" in one.get("uses", "")]
    known = yaml.safe_load(ACTION.read_text())["inputs"]
    assert step["with"].keys() <= known.keys()
    assert {name for name, one in known.items() if one.get("required")} <= step["with"].keys()
    assert set(workflow["jobs"]["check"]["strategy"]["matrix"]["pack"]) <= set(names())
