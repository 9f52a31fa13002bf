"""The benchmark driver's arithmetic and parsing; nothing here is timed."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

BENCHES = Path(__file__).resolve().parents[2] / "benches"
sys.path.insert(0, str(BENCHES))

import bench  # noqa: E402
import instructions  # noqa: E402
import measure  # noqa: E402
import report  # noqa: E402
import suite  # noqa: E402

import haltere  # noqa: E402


def a_run(cpu_s: float, received: int, hops: int = 600, peak_kb: int = 1000) -> dict[str, object]:
    return {"cpu_s": cpu_s, "peak_kb": peak_kb, "said": {"received_bytes": received, "hops": hops, "events": 50}}


def test_the_last_line_of_json_counts_whatever_a_library_says_before() -> None:
    assert measure.parse('Attribute deprecated {x}\n{"a": 1}\n{"a": 2}\nbye\n') == {"a": 2}
    with pytest.raises(measure.ProgramFailed, match="no line of JSON"):
        measure.parse("Segmentation fault")


def test_of_a_table_for_people_the_numbers_count() -> None:
    assert measure.parse("flows 16, 10 ms\n  pairs         83210\n  CPU of a pair   612 ns\n") == {
        "pairs": 83210,
        "CPU of a pair": 612,
    }


def test_a_child_is_charged_for_its_own_work() -> None:
    done = measure.run([sys.executable, "-c", "sum(range(3_000_000)); print('{\"ok\": true}')"], 60)
    assert done.said == {"ok": True}
    assert 0 < done.cpu_s < 60
    assert done.peak_kb > 1000
    assert measure.run(["echo", '{"peak_kb": 7}'], 60).peak_kb == 7


def test_a_program_that_fails_is_told_with_its_status_and_words() -> None:
    with pytest.raises(measure.ProgramFailed, match="ended with 3: no such plan"):
        measure.run([sys.executable, "-c", "import sys; print('no such plan'); sys.exit(3)"], 60)


def test_ratios_pair_neighbours_in_time() -> None:
    # The machine is twice as slow in the second turn; the ratio does not notice.
    assert measure.ratios([30.0, 60.0, 36.0], [1.0, 2.0, 1.0]) == measure.Spread(30.0, 30.0, 36.0)
    with pytest.raises(ValueError, match="in pairs, got 1 and 2"):
        measure.ratios([1.0], [1.0, 2.0])


def test_slope_is_what_one_more_costs() -> None:
    assert measure.slope([(256, 1000), (1024, 1768), (4096, 4840)]) == pytest.approx(1.0)


def test_cost_is_by_delivered_segment_so_that_more_work_is_not_held_against_anyone() -> None:
    case = {"segment": 1000, "haltere": [a_run(1.0, 2_000_000)], "ns3": [a_run(15.0, 1_000_000)]}
    assert report.spread(case, "haltere", "ns a pair") == measure.Spread(500_000.0, 500_000.0, 500_000.0)
    spread = report.ratio(case)
    assert spread is not None
    assert spread.median == pytest.approx(30.0)


def test_the_build_of_ns3_is_named() -> None:
    assert "`optimized`" in report.verdict("optimized") and "make bench-ns3" not in report.verdict("optimized")
    assert "`debian`" in report.verdict("debian") and "make bench-ns3" in report.verdict("debian")


def test_runs_added_later_follow_those_that_are_there() -> None:
    before = {"title": "t", "haltere": [1], "ns3": [2]}
    assert bench.together(before, {"title": "t", "haltere": [3], "ns3": [4]}) == {
        "title": "t",
        "haltere": [1, 3],
        "ns3": [2, 4],
    }


def test_settings_reach_into_lists() -> None:
    table = {"traffic": [{"kind": "bulk"}], "topology": {"dumbbell": {"pairs": 1}}}
    bench.set_key(table, "traffic[0].congestion", "dctcp")
    bench.set_key(table, "topology.dumbbell.pairs", 4)
    assert table == {"traffic": [{"kind": "bulk", "congestion": "dctcp"}], "topology": {"dumbbell": {"pairs": 4}}}
    bench.set_key(table, "traffic[0]", {"kind": "incast"})
    assert table["traffic"] == [{"kind": "incast"}]


def test_permutations_must_take_the_same_paths_in_both_simulators() -> None:
    case = next(c for c in suite.CASES if c.id == "f-tree")
    result = {who: [{"said": {"links_which": which}}] for who, which in (("haltere", "a"), ("ns3", "b"))}
    with pytest.raises(RuntimeError, match="f-tree: the flows' paths differ"):
        bench.same_paths(case, result)
    bench.same_paths(case, result | {"haltere": result["ns3"]})


def test_memory_of_a_flow_is_what_came_after_the_start() -> None:
    run = {"peak_kb": 5000, "said": {"start_kb": 3000, "flows": 100}}
    assert report.flow_kib(run) == 20


def test_the_history_of_instructions_has_every_network_in_every_line() -> None:
    for line in instructions.history():
        assert all(1000 < float(line[name]) < 100_000 for name in instructions.NETWORKS), line
        assert line["rustc"].startswith("rustc ") and line["why"], line
    assert f"{float(line['cake']):,.0f} |" in (BENCHES.parent / "docs" / "performance.md").read_text()


@pytest.mark.parametrize("network", instructions.NETWORKS)
def test_every_network_of_bench_check_is_an_experiment(network: str) -> None:
    table = instructions.experiment(instructions.NETWORKS[network], 0.5)
    assert haltere.Scenario.from_dict(table, network).to_dict()["duration"] == "500ms"


@pytest.mark.parametrize("case", suite.CASES, ids=lambda case: case.id)
def test_every_scenario_can_be_run(case: suite.Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "WORK", tmp_path)
    haltere.Scenario.from_dict(json.loads(bench.experiment(case).read_text()), case.id)
