"""`haltere characterize CONTROL`: the criteria of RFC 9743, the card; and the test cases of BBR's draft."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

import bbr_draft
from bbr_draft.cases import CASES
from conftest import called
from haltere import InputError, _core
from haltere.api import Scenario
from haltere.characterize.controls import characterize_control
from haltere.characterize.controls.card import compare
from haltere.characterize.controls.cases import CRITERIA, QUICK, cases, experiment
from haltere.characterize.controls.measures import MEASURES
from haltere.studies import Options


@pytest.mark.parametrize("kind", _core.names("congestion"))
def test_every_control_can_be_put_into_every_scenario(kind: str) -> None:
    for case in cases().values():
        Scenario.from_dict(experiment(case, {"kind": kind}), case.key)


def test_the_criteria_are_those_of_the_rfc_and_each_has_its_scenarios() -> None:
    known = cases()
    sections = {one.section for one in CRITERIA}
    assert sections >= {"5.1.1", "5.1.2", "5.1.3", "5.1.4", "5.1.5", "5.2.1", "5.2.2", "5.2.3", "6.1", "6.4", "7.1", "7.3", "7.4", "7.5", "7.7", "7.8", "7.9", "7.11"}  # fmt: skip
    used = {key for one in CRITERIA for key, _ in one.rows}
    assert used == set(known), "a scenario without a criterion would run for nothing"
    assert set(QUICK) <= used and {case.key for case in known.values() if case.drawn} <= used
    for one in CRITERIA:
        assert one.headline in [(key, measure) for key, measures in one.rows for measure in measures]
        assert all(measure in MEASURES for _, measures in one.rows for measure in measures)


@pytest.mark.parametrize(
    ("mine", "theirs", "better", "word"),
    [
        ([1.0, 1.1, 0.9], [2.0, 2.1, 1.9], -1, "better"),
        ([1.0, 1.1, 0.9], [2.0, 2.1, 1.9], 1, "worse"),
        ([1.0, 1.1, 0.9], [2.0, 2.1, 1.9], 0, "less"),
        ([1.0, 3.0, 2.0], [2.0, 2.1, 1.9], 1, "same"),
        ([0.0, 0.0], [0.0, 0.0], -1, "same"),
        ([1.0], [2.0], -1, "inconclusive"),
        ([math.nan], [2.0], -1, "inconclusive"),
    ],
)
def test_a_verdict_is_the_paired_interval_of_the_seeds(
    mine: list[float], theirs: list[float], better: int, word: str
) -> None:
    assert compare(mine, theirs, better)[0] == word


def _table(outcome: dict[str, object], name: str) -> list[list[str]]:
    tables = outcome["tables"]
    assert isinstance(tables, list)
    found: list[list[str]] = next(table["rows"] for table in tables if table["name"] == name)
    return found


def test_vegas_keeps_shorter_queues_than_the_standards_and_yields_to_them(tmp_path: Path) -> None:
    options = Options(seeds=3, out=tmp_path, quiet=True)
    outcome = characterize_control("vegas", {}, options, ["buffer-4", "beside-cubic-1"])
    told = outcome.to_json()
    delay = _table(told, "criterion-5-1-2")[0]
    assert delay[:2] == ["4 flows, buffer of 4 BDP", "mean queueing delay (ms)"]
    vegas, cubic = (float(cell.split()[0]) for cell in delay[2:4])
    assert vegas < 120 < cubic < 160, "160 ms are the buffer, which CUBIC fills"
    assert delay[5].startswith("better") and delay[6].startswith("better")
    others = _table(told, "criterion-5-2-1")[0]
    assert float(others[2].split()[0]) > 110, "CUBIC gets more than an equal share beside Vegas"
    card = {row[0]: row[2:] for row in _table(told, "card")}
    assert set(card) == {"5.1.2", "5.1.3", "5.2.1"} and card["5.1.2"][0] == "2"


def test_cubic_beside_itself_is_the_reference_and_an_equal_share(tmp_path: Path) -> None:
    outcome = characterize_control("cubic", {}, Options(seeds=3, out=tmp_path, quiet=True), ["beside-cubic-1"])
    table = next(one for one in outcome.document.tables() if one.name == "criterion-5-2-1")
    assert table.columns == ["scenario", "measure", "cubic", "Reno", "against Reno"]
    assert abs(float(table.rows[0][2].split()[0]) - 100) < 15


_MINE = """\
import haltere

class Mine(haltere.CongestionControl):
    \"\"\"Half the window after a loss.\"\"\"

    def on_ack(self, ev):
        self.cwnd += self.mss * ev.acked / self.cwnd

    def on_loss(self, ev):
        self.ssthresh = self.cwnd = max(self.cwnd / 2, 2 * self.mss)

    def on_rto(self, ev):
        self.cwnd = self.mss


class Fifo(haltere.Queue):
    \"\"\"A short queue.\"\"\"

    def __init__(self):
        self.waiting = []

    def enqueue(self, now, packet):
        self.waiting.append(packet) if len(self.waiting) < 20 else self.drop(packet, overlimit=True)

    def dequeue(self, now):
        return self.waiting.pop(0) if self.waiting else None
"""


def test_a_control_of_one_s_own_is_characterised_beside_any_other(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(_MINE)
    more = ["--only", "iot", "--seeds", "2", "--beside", "bbr3", "--beside", "reno"]
    done = called("characterize", "python:mine.py:Mine", *more, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    folder = tmp_path / "results" / "characterize-Mine"
    table = (folder / "tables" / "criterion-7-4.csv").read_text().splitlines()
    assert table[0] == "scenario,measure,Mine,bbr3,Reno,against bbr3,against Reno"
    assert "Mine by the criteria of RFC 9743" in done.stdout and "and with bbr3 and Reno in its place" in done.stdout
    assert "mine.py" not in (folder / "report.md").read_text(), "figures and tables have the class, not its file"


def test_a_discipline_of_one_s_own_is_characterised_beside_any_other(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(_MINE)
    more = ["--only", "friendly", "--quick", "--seeds", "1", "--beside", "codel", "--json"]
    done = called("characterize", "python:mine.py:Fifo", *more, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    table = next(one for one in json.loads(done.stdout)["tables"] if one["name"] == "delay")
    assert table["columns"][2:] == ["Fifo", "codel"]


def test_names_in_the_line_up_differ() -> None:
    from haltere.characterize.named import lineup

    assert list(lineup("python:a.py:Mine", {}, ["python:b.py:Mine", "cubic"], [])) == ["python:a.py:Mine", "python:b.py:Mine", "cubic"]  # fmt: skip
    assert list(lineup("cubic", {"beta": 0.5}, [], ["cubic", "reno"])) == ["cubic, beta=0.5", "cubic", "reno"]
    assert lineup("wasm:mine.wasm", {}, ["reno"], [])["mine"]["kind"] == "wasm:mine.wasm"


def test_a_report_without_figures_says_nothing_of_them_and_a_criterion_is_a_question(tmp_path: Path) -> None:
    done = called("characterize", "vegas", "--only", "beside-cubic-1", "--seeds", "2", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "results" / "characterize-vegas" / "report.md").read_text()
    assert "## Figures" not in text and "Figures:" not in done.stdout
    assert "to each other? Does it starve any?\n\n4 flows" in text
    page = (tmp_path / "results" / "characterize-vegas" / "report.html").read_text()
    assert '<td class="l w">packets dropped at the bottleneck (%)</td>' in page, (
        "it breaks, so that the last columns are seen"
    )
    assert all("?" in one.asks.split(".")[0] for one in CRITERIA)


def test_what_happens_at_a_change_of_the_path_is_drawn(tmp_path: Path) -> None:
    outcome = characterize_control("reno", {}, Options(seeds=2, out=tmp_path, quiet=True), ["rate-up"])
    outcome.document.write(tmp_path)
    drawn = json.loads((tmp_path / "figures" / "events.json").read_text())
    (panel,) = drawn["panels"]
    series = {one["name"]: one for one in panel["series"]}
    assert set(series) == {"Reno", "CUBIC"}
    assert (tmp_path / "report.html").is_file() and "7.9 Sudden changes" in (tmp_path / "report.md").read_text()


def test_the_command_takes_controls_and_says_what_it_left_out(tmp_path: Path) -> None:
    arguments = ["characterize", "lp", "--set", "inference=4", "--only", "path-20-40", "--seeds", "2"]
    done = called(*arguments, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "lp, inference=4 by the criteria of RFC 9743" in done.stdout and "6.1" in done.stdout
    assert (tmp_path / "results" / "characterize-lp-inference-4" / "report.html").is_file()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["cubik"], "did you mean `cubic`"),
        (["codel", "--of", "congestion"], "NAME must be a congestion control"),
        (["cubic", "--beside", "bbr4"], "--beside must be a congestion control, got `bbr4`; did you mean `bbr"),
        (["cubic", "--beside", "codel"], "--beside must be a congestion control"),
        (["reno", "--beside", "reno"], "--beside must differ from the characterised mechanism"),
        (["python:no.py:Mine"], "no.py"),
        (["cubic", "--set", "betta=0.5"], "did you mean `beta`"),
        (["cubic", "--only", "bufer-1"], "--only must be one of"),
        (["codel", "--stack", "noq"], "--stack must be left out for a queue discipline, got `noq`"),
        (["cubic", "--stack", "./absent.so", "--only", "start"], "absent.so"),
    ],
)
def test_a_wrong_word_is_told_before_anything_runs(tmp_path: Path, arguments: list[str], says: str) -> None:
    done = called("characterize", *arguments, cwd=tmp_path)
    assert done.returncode == 2 and says in done.stderr and done.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_settings_are_checked_from_python_too(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="beta"):
        characterize_control("cubic", {"beta": 2}, Options(out=tmp_path / "out", quiet=True))
    assert not (tmp_path / "out").exists()


def test_the_cases_are_those_of_the_draft() -> None:
    assert [case.number for case in CASES] == [f"A.{n}" for n in range(1, 23)]


def test_a_case_that_the_draft_does_not_have_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"--only must be one of A.1,"):
        bbr_draft.tested({}, Options(out=tmp_path, quiet=True), ["A.99"])


def test_the_draft_s_cases_hold_but_those_that_are_known(tmp_path: Path) -> None:
    (table,) = bbr_draft.tested({}, Options(out=tmp_path, quiet=True)).tables()
    rows = table.rows
    known = {"STARTUP finds the link's bandwidth", "the loss is not more than LossThresh (2 %) in the long run"}
    assert {row[2]: row[3] for row in rows if row[3] != "held"} == dict.fromkeys(known, "not held")
    assert {row[0] for row in rows} - {""} == {case.number for case in CASES}


def test_another_pace_of_probing_shows_in_the_draft_s_case(tmp_path: Path) -> None:
    options = Options(out=tmp_path, quiet=True)
    (table,) = bbr_draft.tested({"probe_rtt_interval": "2s"}, options, ["A.10"]).tables()
    row = table.rows[0]
    assert row[3] == "not held" and "2." in row[4], "PROBE_RTT comes every 2 s, not every 5"
