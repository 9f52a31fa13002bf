"""Comparisons seed by seed, and questions in SQL."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import haltere as package
from conftest import ROOT, SMALL, haltere
from haltere.analysis import stats
from haltere.analysis.compare import Difference, compare
from haltere.analysis.stats import Mean
from haltere.runs.query import query

SWEEP = '\n[sweep]\n"topology.dumbbell.bottleneck.queue" = ["codel", "drop_tail"]\n"topology.dumbbell.pairs" = [2, 3]\n'


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results of two disciplines at two sizes, and of each size alone."""
    folder = tmp_path_factory.mktemp("compare")
    package.Scenario.from_toml(SMALL + SWEEP).run(seeds=6, out=folder / "both")
    for queue in ("codel", "drop_tail"):
        changes = {"topology.dumbbell.bottleneck.queue": queue}
        package.Scenario.from_toml(SMALL).with_values(changes).run(
            seeds=8 if queue == "codel" else 6, out=folder / queue
        )
    return folder


def test_a_difference_is_that_of_the_pairs(swept: Path) -> None:
    told = {one.metric: one for one in compare(swept / "codel", swept / "drop_tail")}
    delay = told["ping_p95"]
    assert delay.difference.n == 6, "of the eight seeds of one side six are common"
    assert delay.difference.mean == pytest.approx(delay.b.mean - delay.a.mean) and delay.significant
    assert delay.effect == pytest.approx(delay.difference.mean / delay.difference.sd)
    # The buffer of a drop-tail queue stands full.
    assert delay.difference.mean > 5 and "ping_p95: B is" in delay.sentence() and "higher than A" in delay.sentence()
    assert "6 seeds; a large effect" in delay.sentence()


def test_pairing_makes_the_interval_narrower_where_chance_is_common() -> None:
    chance = [1.0, 5.0, 3.0, 9.0, 7.0]
    pair = stats.paired_difference([x + 0.5 + 0.01 * i for i, x in enumerate(chance)], chance)
    assert pair.half < 0.05 < stats.mean(chance).half


def test_points_of_a_sweep_make_pairs_by_what_is_not_named(swept: Path) -> None:
    both = f"{swept / 'both'}@queue="
    told = compare(f"{both}codel", f"{both}drop_tail", ["ping_p50"])
    assert [one.point for one in told] == ["pairs=2", "pairs=3"]
    alone = compare(swept / "codel", swept / "drop_tail", ["ping_p50"])
    assert told[0].difference == alone[0].difference


def test_the_sentence_says_when_nothing_can_be_told() -> None:
    flat = Difference("all", "jain", "", Mean(0.9, 0, 0, 4), Mean(0.9, 0, 0, 4), stats.mean([0.0, 0.0, 0.0, 0.0]))
    assert flat.sentence() == "jain: A and B are equal in all 4 seeds."
    vague = Difference("all", "goodput", "Mbit/s", Mean(9, 1, 1, 4), Mean(9.1, 1, 1, 4), Mean(0.1, 0.4, 0.25, 4))
    assert vague.sentence() == (
        "goodput: no significant difference; B minus A is 0.1 Mbit/s on average, with an interval from -0.3 to 0.5 Mbit/s, 4 seeds."
    )
    lower = Difference("all", "drops", "packets", Mean(50, 1, 1, 9), Mean(40, 1, 1, 9), Mean(-10, 3, 4, 9))
    assert (
        lower.sentence()
        == "drops: B is 10 packets, 20.0% lower than A (-13 to -7 packets, 9 seeds; a large effect, d = -2.5)."
    )


def test_the_command_prints_a_table_and_a_sentence_each(swept: Path) -> None:
    done = haltere("compare", "codel", "drop_tail", "--metrics", "goodput,ping_p95", cwd=swept)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert sum(line.startswith(("goodput:", "ping_p95:")) for line in lines) == 2
    assert any(line.startswith("ping_p95 (ms)") for line in lines)
    told = json.loads(haltere("compare", "codel", "drop_tail", "--json", "--confidence", "99%", cwd=swept).stdout)
    assert {one["metric"].partition(".")[0] for one in told["differences"]} >= {
        "goodput",
        "jain",
        "ping_p50",
        "queue",
        "drops",
        "utilisation",
    }
    assert all(one["confidence"] == 0.99 for one in told["differences"])


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("codel", "nowhere"), "nowhere: must be a results directory"),
        (("both@queue=red", "codel"), "points must be at least 1, got none; there are `queue=codel pairs=2`"),
        (("both@quue=codel", "codel"), "key must be the end of one swept key, got `quue`"),
        (("both@codel", "codel"), "what follows `@` must be KEY=VALUE"),
        (("both", "codel"), "points must have swept values in common"),
        (("codel", "drop_tail", "--metrics", "speed"), "that `haltere list metrics` names, got `speed`"),
        (("codel", "drop_tail", "--confidence", "2"), "must lie between 0 and 100%, got `2`"),
    ],
)
def test_a_wrong_comparison_is_told(swept: Path, arguments: tuple[str, ...], told: str) -> None:
    done = haltere("compare", *arguments, cwd=swept)
    assert done.returncode == 2 and told in done.stderr and not done.stdout, done.stderr


def test_sql_sees_every_table_with_its_point_and_seed(swept: Path) -> None:
    results = package.Results(swept / "both")
    told = query(
        results, "SELECT queue, pairs, count(*) AS n FROM flows JOIN points USING (point) GROUP BY ALL ORDER BY ALL"
    )
    rows = [tuple(row.values()) for row in told.to_pylist()]
    # Of each pair one flow and, on the first pair, a ping; six seeds.
    assert rows == [("codel", 2, 18), ("codel", 3, 24), ("drop_tail", 2, 18), ("drop_tail", 3, 24)]
    flows = results.table("flows", columns=["flow", "goodput_bps"])
    same = query(results, "SELECT point, seed, flow, goodput_bps FROM flows ORDER BY point, seed, flow").to_pydict()
    assert same["goodput_bps"] == [
        row["goodput_bps"]
        for row in sorted(flows.to_pylist(), key=lambda row: (row["point"], row["seed"], row["flow"]))
    ]
    assert query(results, "SELECT sum(wall_s) > 0 AS some, count(*) AS n FROM runs").to_pylist() == [
        {"some": True, "n": 24}
    ]


def test_the_command_lists_tables_and_answers_as_text_csv_and_json(swept: Path) -> None:
    listed = haltere("results", "both", cwd=swept)
    assert listed.returncode == 0, listed.stderr
    assert "flows: point, seed, " in listed.stdout and "points: point, name, queue, pairs" in listed.stdout
    # Four points, and both directions of the bottleneck are watched.
    sql = "SELECT seed, count(*) AS n FROM links WHERE watched GROUP BY seed ORDER BY seed LIMIT 2"
    assert haltere("results", "both", "--query", sql, "--csv", cwd=swept).stdout == "seed,n\n1,8\n2,8\n"
    assert json.loads(haltere("results", "both", "--query", sql, "--json", cwd=swept).stdout)[0] == {"seed": 1, "n": 8}
    assert "2 rows" in haltere("results", "both", "--query", sql, cwd=swept).stdout
    wrong = haltere("results", "both", "--query", "SELECT speed FROM flows", cwd=swept)
    assert wrong.returncode == 2 and "query must be SQL that these tables can answer" in wrong.stderr
    assert len(wrong.stderr.splitlines()) == 1


def test_stars_allow_for_all_rows(swept: Path) -> None:
    sides = (swept / "codel", swept / "drop_tail")
    told = json.loads(haltere("compare", *sides, "--json", cwd=ROOT).stdout)["differences"]
    assert all(one["p_holm"] >= one["p"] for one in told)
    alone = json.loads(haltere("compare", *sides, "--json", "--metrics", "ping_p95", cwd=ROOT).stdout)["differences"]
    assert alone[0]["p_holm"] == alone[0]["p"], "one test needs no adjustment"
    starred = sum(one["p_holm"] < 0.05 for one in told)
    assert 0 < starred < len(told)
    table, _, rest = haltere("compare", *sides, cwd=ROOT).stdout.partition("ping_p95: B is")
    assert sum(line.rstrip().endswith("*") for line in table.splitlines()) == starred
    assert "Holm" in rest
