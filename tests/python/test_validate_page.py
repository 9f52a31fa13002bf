"""`haltere validate`: comparing, the seeds that it runs, and what it prints."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("haltere")

import validation_causes as causes
import validation_compact as compact
import validation_page as page
from haltere.errors import InputError
from haltere.validate import Outcome, _seeds, compare, load, measures, ours, report, translate
from haltere.validate.scenario import Flow, expand_transfers, normal
from linux_results import LINUX, case, result, write


# ------------------------------------------------------------------ comparing
def rows(linux: list[dict[str, float | None]], ours: list[dict[str, float | None]]) -> dict[str, compare.Row]:
    return {row.measure: row for row in compare.compare_case("s", "c", linux, ours)}


def test_tolerances_are_three_percent_five_points_and_so_on() -> None:
    linux = {
        "goodput fwd": 100.0,
        "share fwd bbr": 50.0,
        "jain fwd": 0.9,
        "queue fwd": 100.0,
        "ping median": 100.0,
        "loss fwd": 1.0,
    }
    edge = {
        "goodput fwd": 103.0,
        "share fwd bbr": 45.0,
        "jain fwd": 0.93,
        "queue fwd": 115.0,
        "ping median": 85.0,
        "loss fwd": 1.25,
    }
    assert all(row.inside for row in rows([linux], [edge]).values())
    beyond = {
        "goodput fwd": 103.1,
        "share fwd bbr": 44.9,
        "jain fwd": 0.931,
        "queue fwd": 115.1,
        "ping median": 84.9,
        "loss fwd": 1.26,
    }
    assert not any(row.inside for row in rows([linux], [beyond]).values())


def test_a_copy_is_inside_as_often_as_our_runs_are_that_stand_for_linux() -> None:
    def copy(linux: int, *values: float) -> float | None:
        ours = [{"goodput fwd": value} for value in values]
        return rows([{"goodput fwd": 100.0}] * linux, ours)["goodput fwd"].copy

    assert copy(1, *[100.0] * 10) == 1.0
    assert copy(1, 90.0, 110.0, 90.0, 110.0) == 0.0, "one run is 10 % off the mean"
    assert copy(2, 90.0, 110.0, 90.0, 110.0) == 1.0, "two runs have the mean"
    assert copy(2, 90.0, 90.0, 110.0, 110.0, 90.0, 110.0) == pytest.approx(1 / 3)
    assert copy(2, 100.0, 100.0) is None, "no run is left to compare with them"


def test_a_larger_spread_of_linux_takes_the_place_of_the_tolerance() -> None:
    linux = [{"goodput fwd": value} for value in (90.0, 100.0, 110.0)]
    row = rows(linux, [{"goodput fwd": 109.0}])["goodput fwd"]
    assert (row.spread, row.tolerance, row.inside) == (10.0, 10.0, True)
    assert not rows(linux, [{"goodput fwd": 111.0}])["goodput fwd"].inside


def test_ours_has_a_student_interval() -> None:
    row = rows([{"goodput fwd": 10.0}], [{"goodput fwd": value} for value in (9.0, 10.0, 11.0)])["goodput fwd"]
    assert row.interval == pytest.approx(4.303 / 3**0.5, rel=1e-3)


def test_what_only_one_side_has_is_outside_and_what_neither_has_is_no_row() -> None:
    told = rows([{"first loss": 1.0, "period": None}], [{"first loss": None, "period": None}])
    assert not told["first loss"].inside
    assert "period" not in told


def test_nothing_lost_on_both_sides_is_inside() -> None:
    assert rows([{"loss fwd": 0.0}], [{"loss fwd": 0.0}])["loss fwd"].inside
    assert not rows([{"loss fwd": 0.0}], [{"loss fwd": 0.01}])["loss fwd"].inside


def test_the_queue_of_a_flow_told_by_its_estimate_has_a_quarter() -> None:
    told = rows([{"queue fwd": 8.0, "bandwidth": 19.0}], [{"queue fwd": 10.0, "bandwidth": 19.5}])
    assert told["queue fwd"].inside
    assert told["bandwidth"].tolerance == pytest.approx(0.57)


def test_completion_times_are_those_of_transfers_that_start_after_warm_up_and_six_seconds_before_the_end() -> None:
    scenario = normal({"duration": 20, "warmup": 5})
    drawn = [("fwd", 10000, at, time) for at, time in ((4.9, 9.0), (5, 0.1), (6, 0.2), (14, 0.3), (14.1, 9.0))]
    assert measures.fct(scenario, drawn) == pytest.approx(
        {"fct fwd 10 kB p50": 200.0, "fct fwd 10 kB p95": 200.0, "done fwd 10 kB": 100.0}
    )
    undone = measures.fct(scenario, [("rev", 100000, 6, None), ("rev", 100000, 7, None), ("rev", 100000, 8, 1.0)])
    assert undone["fct rev 100 kB p50"] is None
    assert undone["done rev 100 kB"] == pytest.approx(100 / 3)


def test_a_completion_time_that_linux_does_not_have_is_told_by_the_part_done() -> None:
    ours_done = {"fct fwd 10 kB p50": 90.0, "done fwd 10 kB": 60.0}
    told = rows([{"fct fwd 10 kB p50": None, "done fwd 10 kB": 20.0}], [ours_done])
    assert list(told) == ["done fwd 10 kB"]
    assert not told["done fwd 10 kB"].inside
    assert not rows([ours_done], [{"done fwd 10 kB": 60.0}])["fct fwd 10 kB p50"].inside
    assert rows([{"done fwd 10 kB": 100.0}], [{"done fwd 10 kB": 100.0}]) == {}


def test_shares_are_told_by_what_the_flows_differ_in() -> None:
    both = [Flow(cc="cubic", ecn=True), Flow(cc="cubic", ecn=False)]
    assert measures.labels(both) == ["cubic ecn", "cubic plain"]
    assert measures.labels([Flow(cc="cubic", ecn=True), Flow(cc="reno", ecn=True)]) == ["cubic", "reno"]
    assert measures.labels([Flow(cc="reno"), Flow(cc="reno", host="n4")]) == ["reno n1", "reno n4"]


def test_the_compact_form_keeps_completion_times_and_udp(tmp_path: Path) -> None:
    udp = {"rate_mbit": 2, "size": 1000}
    full = result(transfers=[{"per_second": 0.5, "sizes": {"10000": 1}}], udp=[udp])
    drawn = expand_transfers(normal(full["scenario"]))
    full["transfers"] = [vars(one) | {"fct": 0.05, "id": 2, "retrans": 0} for one in drawn]
    full["udp"] = [udp | {"series": [[5.0, 10, 10], [6.0, 260, 260]]}]
    write(tmp_path / "full", "X_r1.json", full)
    compact.compact_directory(tmp_path / "full", tmp_path / "small")
    one, other = (load.read_directory(tmp_path / form)[0] for form in ("full", "small"))
    assert one.repetitions == other.repetitions
    assert one.repetitions[0].measures["fct fwd 10 kB p50"] == 50
    assert one.repetitions[0].measures["goodput fwd udp 0"] == 2.0


def test_ten_seeds_are_run_those_of_the_repetitions_first() -> None:
    some = case()
    some.repetitions = [load.Repetition(seed, [], {}) for seed in (2, 5)]
    assert _seeds(some, None) == [2, 5, 1, 3, 4, 6, 7, 8, 9, 10]
    assert _seeds(some, 2) == [1, 2]


# ------------------------------------------------------------------ showing
def outcome() -> Outcome:
    told = compare.compare_case(
        "A", "A_x", [{"goodput fwd": 10.0, "loss fwd": 1.0}], [{"goodput fwd": 10.1, "loss fwd": 2.0}]
    )
    return Outcome(told, [("E_y", "Multipath TCP")])


def test_the_last_line_counts_and_what_is_not_comparable_is_said() -> None:
    lines = report.text(outcome())
    assert lines[-1] == "inside: 1 of 2 (50 %)"
    assert lines[-2] == "not comparable: 1 scenarios"
    assert lines[-3] == "not comparable: E_y: Multipath TCP"
    assert len({len(line.split("  ")[0]) for line in lines[:1]}) == 1
    assert lines[1].split()[0] == "A_x"


def test_json_holds_every_row() -> None:
    told = json.loads(report.as_json(outcome()))
    assert (told["inside"], told["rows_total"], told["not_comparable"][0]["scenario"]) == (1, 2, "E_y")
    assert told["rows"][1] | {"inside": False, "linux": 1.0, "ours": 2.0} == told["rows"][1]


def test_the_page_names_sets_findings_and_rows_outside(tmp_path: Path) -> None:
    text = page.page(outcome(), "validation/linux", "images/validation.png", "## What was found out\n\nNothing.")
    for part in (
        "| A | 2 | 1 | 50 % |  | 1 of 1 | 0 of 1 |",
        "| all | 2 | 1 | 50 % |  | 1 of 1 | 0 of 1 |",
        "[`outside.md`](outside.md)",
        "## What was found out",
        "- **Not explained** (1 row in set A). `A_x`.",
        "images/validation.png",
        "- E_y: Multipath TCP",
    ):
        assert part in text
    assert "| +1.000 | 0.250 |  | not explained |" in page.outside_page(outcome())


def test_the_figure_has_a_panel_for_each_measure(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    assert report.figure(outcome(), tmp_path / "images" / "v.png")
    assert (tmp_path / "images" / "v.png").stat().st_size > 1000


def test_rows_come_back_from_their_csv_and_make_the_page(tmp_path: Path) -> None:
    told = compare.compare_case("A", "A_x", [{"goodput fwd": 10.0, "first loss": 1.0}], [{"goodput fwd": 10.1}])
    compare.write_csv(told, tmp_path / "rows.csv")
    assert [row.as_dict() for row in page.read_csv(tmp_path / "rows.csv")] == [
        pytest.approx(row.as_dict()) for row in told
    ]
    made = tmp_path / "docs" / "page.md"
    page.main([str(tmp_path), "--rows", "--page", str(made)])
    assert "[`rows.csv`](../rows.csv)" in made.read_text()
    assert "| A | 2 | 1 | 50 % |" in made.read_text()


def test_rows_of_another_world_stand_beside_those_of_the_simulator(tmp_path: Path) -> None:
    def of_kernel(name: str, goodput: float) -> list[compare.Row]:
        return compare.compare_case(name[0], name, [{"goodput fwd": 10.0, "loss fwd": 1.0}], [{"goodput fwd": goodput}])

    (tmp_path / "A").mkdir()
    page.add_rows(of_kernel("A_x", 5.0), tmp_path / "A" / "kernel.csv")
    page.add_rows(of_kernel("A_y", 10.0), tmp_path / "A" / "kernel.csv")
    page.add_rows(of_kernel("A_x", 10.2), tmp_path / "A" / "kernel.csv")
    (other,) = page.worlds_of(tmp_path)
    assert other.title == "kernel world" and len(other.rows) == 4, "the second run of A_x replaces the first"
    told = outcome()
    assert [other.agrees(row) for row in told.rows] == [True, None], "one has no loss"
    text = page.page(told, "validation/linux", None, "", others=[other])
    assert "| A | 1 | 1 (100 %) | 1 (100 %) | 1 (100 %) |" in text
    assert "| Haltere | kernel world | difference |" in page.outside_page(told, others=[other])


def test_rows_of_another_world_have_causes_of_their_own(tmp_path: Path) -> None:
    far = compare.compare_case("A", "A_x", [{"goodput fwd": 10.0}], [{"goodput fwd": 5.0}])
    page.add_rows(far, tmp_path / "kernel.csv")
    entry = '[[cause]]\nname = "{}"\nscenarios = ".*"\ntext = "Said."\n'
    (tmp_path / causes.CAUSES).write_text(entry.format("Ours") + entry.format("Theirs") + 'world = "kernel"\n')
    text = page.page(outcome(), "linux", None, "", why=causes.load(tmp_path), others=page.worlds_of(tmp_path))
    assert (
        "Causes of the rows in which the kernel world is far from Linux:\n\n- **Theirs** (1 row in set A). Said."
        in text
    )
    assert "- **Ours** (1 row in set A). Said." in text


def test_the_default_world_does_not_stand_beside_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        page.main([str(tmp_path), "--world", "sim"])
    assert "invalid choice: 'sim'" in capsys.readouterr().err


def test_the_report_has_the_rows_by_set_every_row_and_what_is_not_comparable(tmp_path: Path) -> None:
    sets, rows = report.document(outcome(), None).tables()
    assert sets.rows == [["A", "2", "1", "50 %"], ["all", "2", "1", "50 %"]]
    assert rows.rows[1][0] == "A_x" and rows.rows[1][-1] == "OUTSIDE"
    assert "Not comparable: E_y: Multipath TCP" in report.document(outcome(), None).text()


def test_the_first_cause_that_fits_stands_beside_a_row(tmp_path: Path) -> None:
    (tmp_path / causes.CAUSES).write_text(
        """
        [[cause]]
        name = "Something else"
        scenarios = "B_.*"
        text = "Not here."
        [[cause]]
        name = "Too many drops"
        scenarios = "A_.*"
        measures = "loss .*"
        explained = false
        text = '''Seen in
        a series.'''
        """
    )
    why = causes.load(tmp_path)
    text = page.page(outcome(), "validation/linux", None, "", why=why)
    assert "- **Too many drops** (1 row in set A, not explained). Seen in a series." in text
    assert "| +1.000 | 0.250 |  | not explained: Too many drops |" in page.outside_page(outcome(), why)
    assert "Something else" not in text


@pytest.mark.parametrize(
    ("entry", "error"),
    [
        ('name = "x"\nscenarios = "A"', "cause 1: `text` must be given"),
        ('name = "x"\nscenarios = "("\ntext = "y"', "cause 1: `scenarios` must be a regular expression, got `(`"),
        ('name = "x"\nscenarios = "A"\ntext = "y"\nwhy = "z"', "cause 1: `why` must be one of"),
    ],
)
def test_a_cause_that_cannot_be_read_is_an_error(tmp_path: Path, entry: str, error: str) -> None:
    (tmp_path / causes.CAUSES).write_text(f"[[cause]]\n{entry}\n")
    with pytest.raises(InputError, match=re.escape(error)):
        causes.load(tmp_path)


def test_every_row_outside_of_the_page_has_a_cause_or_is_not_explained() -> None:
    rows = [row for row in page.read_csv(LINUX / "rows.csv") if not row.inside]
    why = causes.load(LINUX)
    listed = (LINUX / "outside.md").read_text()
    for row in rows:
        cause = causes.cause_of(row, why)
        assert f"| {row.case} | {row.measure}" in listed
        assert f"| {cause} |" in listed, f"{row.case}, {row.measure}"


def test_further_seeds_have_the_start_times_and_transfers_of_linux_in_turn() -> None:
    (case,) = (case for case in load.read_directory(LINUX / "A") if case.name == "A_codel_F5")
    assert [case.setup_seed(seed) for seed in range(1, 11)] == [1, 2, 3, 1, 2, 3, 1, 2, 3, 1]
    assert case.starts(5) == case.starts(2) != case.starts(4) == case.repetitions[0].starts
    (case,) = (case for case in load.read_directory(LINUX / "F") if case.name == "F_20M80_pfifo1bdp_cubic2")
    (alone,) = (case for case in load.read_directory(LINUX / "A100") if case.name == "A100_codel_F5")
    assert [alone.setup_seed(seed) for seed in (1, 2, 3)] == [1, 2, 3], "one repetition: further seeds draw their own"
    traffic = {seed: json.dumps(translate.translate(case, seed)["traffic"]) for seed in (1, 2, 4)}
    assert traffic[4] == traffic[1] != traffic[2]


@pytest.mark.parametrize(("rate_mbit", "rtt_ms", "linux"), [(100, 4, 12.2), (200, 2, 11.3)])
def test_one_dctcp_flow_is_marked_as_often_as_on_linux(rate_mbit: int, rtt_ms: int, linux: float) -> None:
    """Linux 6.1: 12.2 % (9057 of 74475 packets) at 100 Mbit/s, K = 20. Without pushed segments it was 14 %.

    With a threshold of 30280 B, 20 whole frames, the simulator marks 15.2 % at either rate.
    """
    (case,) = (case for case in load.read_directory(LINUX / "C") if case.name == "C_dctcp_N2_K10")
    qdisc = f"red limit 1500000 min 30000 max 30001 avpkt 1500 burst 20 ecn probability 1 bandwidth {rate_mbit}Mbit"
    flow = replace(case.scenario.flows[0], n=1)
    case.scenario = replace(case.scenario, qdisc=qdisc, flows=[flow], rate_mbit=rate_mbit, rtt_ms=rtt_ms)
    case.repetitions = []
    assert ours.run(case, 1)["marks fwd"] == pytest.approx(linux, abs=0.9)
