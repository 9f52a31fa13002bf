"""Metrics are one list: what is added to it is in the report, in comparisons, in the stopping rule and on the command line."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

import haltere
from conftest import ROOT
from haltere import cli
from haltere.analysis import metrics, parity
from haltere.analysis.compare import compare
from haltere.analysis.measures import Run, by_point
from haltere.analysis.metrics import METRICS, Metric
from haltere.report import overview

ADDED = Metric(
    "retransmitted", "segments sent again", "segments",
    lambda run, group: float(sum(
        row["retransmissions"] or 0 for row in run.flows.to_pylist() if group is None or row["group"] == group
    )),
    "lower", 1, "traffic", label="sent again", table="traffic", judged=True,
)  # fmt: skip


@pytest.fixture
def added(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(METRICS, "retransmitted", ADDED)


@pytest.mark.usefixtures("added")
def test_a_metric_is_added_by_one_entry(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scenario = haltere.load(small)
    one = scenario.run(seeds=3, out=small.parent / "one")
    other = scenario.with_values({"topology.dumbbell.bottleneck.queue": {"kind": "drop_tail", "limit": "10p"}}).run(
        seeds=3, out=small.parent / "other"
    )
    # The report and the summary.
    assert one.summary()[0]["traffic"]["bulk1"]["retransmitted"]["n"] == 3
    assert "sent again (segments)" in overview.document(one, figures=False).text()
    # Comparisons of variants and of worlds.
    (difference,) = [row for row in compare(one, other) if row.metric == "retransmitted"]
    assert difference.unit == "segments"
    rows = parity.rows_of("all", by_point(one)[0][1], by_point(other)[0][1])
    assert "sent again" in [row.metric for row in rows]
    # The stopping rule.
    assert "retransmitted" in metrics.default(Run(one, one.runs[0]))
    # The command line.
    command = ["compare", str(one.where), str(other.where), "--metrics", "retransmitted", "--json"]
    assert cli.main(command) == 0
    (told,) = json.loads(capsys.readouterr().out)["differences"]
    assert told["metric"] == "retransmitted" and told["significant"] == difference.significant


def test_every_metric_says_what_it_is(small: Path) -> None:
    run = Run(results := haltere.load(small).run(seeds=1), results.runs[0])
    for name, one in METRICS.items():
        assert one.name == name and one.about and one.heading and one.part in metrics.PARTS
        assert isinstance(one.of(run, None), float), name
        for part in metrics.parts(run, one.part):
            assert isinstance(metrics.named(run, f"{name}.{part}"), float)
    headings = [(one.table, one.key or name) for name, one in METRICS.items() if one.table]
    assert len(set(headings)) == len(headings)


def test_the_best_of_some_values_is_as_the_metric_says() -> None:
    assert METRICS["goodput"].best([1.0, 3.0, 2.0]) == 1
    assert METRICS["ping_p95"].best([1.0, 3.0, 2.0]) == 0


def test_no_module_has_a_list_of_metrics_of_its_own() -> None:
    """Two or more names of the list as texts, side by side, are a second list."""
    import ast

    found = []
    for path in sorted((ROOT / "python" / "haltere").rglob("*.py")):
        if (
            path.name == "metrics.py"
            or "studies" in path.parts
            or "validate" in path.parts
            or "characterize" in path.parts
        ):
            continue  # studies, validation and RFC 7928 measure what their sources measured
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Tuple | ast.List | ast.Set):
                texts = [one.value for one in node.elts if isinstance(one, ast.Constant)]
            elif isinstance(node, ast.Dict):
                texts = [one.value for one in node.keys if isinstance(one, ast.Constant)]
            else:
                continue
            if len(set(texts) & set(METRICS)) > 1:
                found.append(f"{path.name}: {texts}")
    assert found == []


def test_depths_at_dequeue_are_counted_if_asked_for(small: Path) -> None:
    scenario = haltere.load(small)
    without = Run(results := scenario.run(seeds=1), results.runs[0])
    assert math.isnan(metrics.named(without, "depth"))
    counted = scenario.with_values({"measure.depths": True}).run(seeds=1)
    run = Run(counted, counted.runs[0])
    link = run.watched()[0]
    table = run.table("depths").to_pylist()
    assert {row["link"] for row in table} <= set(run.watched())
    rows = [row for row in table if row["link"] == link]
    each = np.repeat([row["depth"] for row in rows], [row["packets"] for row in rows])
    assert len(each) == run.sent(link)
    assert metrics.named(run, "depth") == pytest.approx(each.mean())
    for q in (50, 95):
        assert metrics.named(run, f"depth_p{q}.{link}") == pytest.approx(np.percentile(each, q))
