"""The rules of the studies' verdicts, and how often they err: the table of docs/verdicts.md is what this file simulates."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from conftest import ROOT
from haltere import load
from haltere.analysis import stats
from haltere.analysis.stats import Mean
from haltere.studies import base, findings_table
from haltere.studies.base import Finding, Judged, judge, judge_size, over_rows, unfairness, weakest, within

TRIALS = 400
PAGE = ROOT / "docs" / "verdicts.md"


def drawn(rng: np.random.Generator, seeds: int, truth: float = 0.0) -> Mean:
    """Differences of so many seeds with that true mean and a deviation of 1."""
    return stats.mean(rng.normal(truth, 1.0, seeds))


def rate(verdicts: list[str], wanted: str) -> str:
    return f"{100 * verdicts.count(wanted) / len(verdicts):.1f}"


def rates() -> list[list[str]]:
    """Rows of the page: what is true, the rule, parts, seeds, and how often each verdict comes, in percent."""
    rng = np.random.default_rng(1)
    rows = []
    for truth, what in (
        (0.0, "no difference"),
        (1.0, "a difference of one deviation"),
        (-1.0, "the opposite, of one deviation"),
    ):
        for parts in (1, 6, 16):
            for seeds in (5, 10, 30):
                told = [judge([("", drawn(rng, seeds, truth)) for _ in range(parts)]).verdict for _ in range(TRIALS)]
                rows.append(
                    [what, "all above 0", str(parts), str(seeds), rate(told, "held"), "–", rate(told, "not held")]
                )
    for truth in (0.0, 0.25, 0.5, 1.0):
        told = [judge_size(drawn(rng, 10, 2 * truth), 2.0).verdict for _ in range(TRIALS)]
        what = f"{truth:g} times the paper's size, which is two deviations"
        rows.append([what, "size", "1", "10", rate(told, "held"), rate(told, "direction only"), rate(told, "not held")])
    return rows


def any_decided(rng: np.random.Generator, rows: int, seeds: int, corrected: bool) -> bool:
    """Whether a table of so many findings, none of them true or false, has a decided verdict."""
    table = [Finding.of(str(i), judge([("", drawn(rng, seeds))]), "", "") for i in range(rows)]
    return any(one.verdict != "inconclusive" for one in (over_rows(table) if corrected else table))


def covered(rng: np.random.Generator, logarithmic: bool) -> bool:
    """Whether a 95 % interval of ten fairness indices near 1 has the true mean; 1 less the index is log-normal."""
    logs = rng.normal(-3.0, 0.5, 10)
    if logarithmic:
        mean, true = stats.mean(unfairness(1 - 10**logs)), -3.0
    else:
        mean, true = stats.mean(1 - 10**logs), 1 - 10 ** (-3.0 + math.log(10) * 0.5**2 / 2)
    return mean.low <= true <= mean.high


def test_the_page_has_the_error_rates_of_the_rules() -> None:
    page = PAGE.read_text(encoding="utf-8")
    missing = [line for row in rates() if (line := f"| {' | '.join(row)} |") not in page]
    assert not missing, "docs/verdicts.md needs:\n" + "\n".join(missing)


def test_a_table_of_findings_that_say_nothing_is_decided_in_five_percent_of_cases_only() -> None:
    rng = np.random.default_rng(2)
    alone, together = (
        np.mean([any_decided(rng, 12, 10, corrected) for _ in range(500)]) for corrected in (False, True)
    )
    assert alone > 0.4 and together < 0.075
    assert (
        f"{100 * alone:.0f} % of such tables" in PAGE.read_text()
        and f"{100 * together:.0f} % with it" in PAGE.read_text()
    )


def test_an_interval_of_indices_near_one_is_sound_on_a_logarithmic_scale_only() -> None:
    rng = np.random.default_rng(3)
    plain, logarithmic = (np.mean([covered(rng, scale) for _ in range(2000)]) for scale in (False, True))
    assert plain < 0.88 and abs(logarithmic - 0.95) < 0.015
    assert f"{100 * plain:.0f} %" in PAGE.read_text() and f"{100 * logarithmic:.0f} %" in PAGE.read_text()


def mean(value: float, half: float) -> Mean:
    """A mean of ten values with that interval."""
    return Mean(value, half, half * math.sqrt(10) / stats.student_t(0.95, 9), 10)


def test_not_held_needs_more_than_one_of_many_intervals() -> None:
    """One of 16 lies just below 0: by chance one of them does in a third of all cases."""
    just_below = mean(-1.05, 1.0)
    rest = [("", mean(0.2, 1.0))] * 15
    assert judge([("a", just_below)]).verdict == "not held"
    assert judge([("a", just_below), *rest]).verdict == "inconclusive"
    assert judge([("a", mean(-3.0, 1.0)), *rest])[:2] == ("not held", "least: a = -3.0 ± 1.0")


def test_a_wide_interval_is_not_held_sooner_than_a_narrow_one() -> None:
    assert [judge_size(mean(1.0, half), 3.0).verdict for half in (0.99, 0.4)] == ["direction only"] * 2
    assert [judge_size(mean(value, 0.5), 3.0).verdict for value in (1.4, 1.6, 5.9, 6.1)] == [
        "direction only",
        "held",
        "held",
        "direction only",
    ]
    told = [judge_size(mean(value, half), -3.0).verdict for value, half in ((-3, 0.5), (3, 0.5), (0.1, 0.5), (-0.1, 2))]
    assert told == ["held", "not held", "not held", "inconclusive"], "half of the paper's size is excluded, or is not"


def test_one_seed_decides_nothing() -> None:
    one = stats.mean([3.0])
    assert {judge([("", one)]).verdict, judge_size(one, 3.0).verdict, within(one, -5, 5).verdict} == {"inconclusive"}


def test_a_finding_of_parts_is_as_strong_as_its_weakest_part() -> None:
    held, only = Judged("held", "", 0.001), Judged("direction only", "", 0.002)
    assert weakest([held, only])[::2] == ("direction only", 0.002)
    assert weakest([held, Judged("not held", "", 0.02)])[::2] == ("not held", 0.04)
    assert weakest([held] * 9 + [Judged("not held", "", 0.02)]).verdict == "inconclusive"


def test_what_does_not_pass_holm_over_the_rows_says_so() -> None:
    rows = [Finding(str(i), "held", "", p=p) for i, p in enumerate((0.001, 0.03, 0.2))]
    told = over_rows(rows)
    assert [one.verdict for one in told] == ["held", "inconclusive", "inconclusive"]
    assert told[1].why == "held alone, not over 3 rows (Holm: p = 0.06)"
    assert over_rows([Finding("a", "not testable", "")]) == [Finding("a", "not testable", "")]


def test_a_finding_stands_beside_what_linux_s_tcp_gives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "data", lambda study: tmp_path / study)
    findings = [
        Finding("a", "held", "2 ± 1"),
        Finding("b", "held", "1 ± 0"),
        Finding("a", "held", "3 ± 1", reading="c"),
    ]
    assert findings_table(findings, "x", 10).columns == ["finding", "paper", "ours", "verdict", "why"]
    (tmp_path / "x").mkdir()
    told = {"linux": "6.1.192", "seeds": 10, "findings": [{"text": "a", "verdict": "not held", "ours": "-2 ± 1"}]}
    (tmp_path / "x" / base.WITH_LINUX).write_text(json.dumps(told))
    table = findings_table(findings, "x", 10, 4)
    assert table.columns[3] == "with Linux's TCP" and [row[3] for row in table.rows] == ["not held: -2 ± 1", "–"]
    assert table.note.startswith("Seeds: 10; 4 of other readings. With Linux's TCP: Linux 6.1.192")


def test_with_linux_s_tcp_an_experiment_keeps_all_but_the_parameters_of_tcp() -> None:
    plain = load(ROOT / "papers" / "rafle" / "beyond-two-bottlenecks.toml").to_dict()
    for file in ("aqm-lab/authors", "rafle/simultaneous", "iaas/red_ecn", "dctcp-hysteresis/case-e"):
        ours = load(ROOT / "papers" / f"{file}.toml")
        values, linux = ours.to_dict(), base.with_linux_tcp(ours).to_dict()
        for key in ("topology", "duration", "sweep", "measure"):
            assert values.get(key) == linux.get(key), (file, key)
        kept = {key: values["tcp"][key] for key in ("ecn", "ignore_returned")}
        assert linux["tcp"] == {**plain["tcp"], **kept}
        for one, other in zip(values["traffic"], linux["traffic"], strict=True):
            assert {**one, "congestion": ""} == {**other, "congestion": ""}
    assert load(ROOT / "papers" / "aqm-lab" / "authors.toml").to_dict()["tcp"] != plain["tcp"]
