"""The report's sentences and its drawing of the network, where they can be told from the input."""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import ROOT, haltere
from haltere import load
from haltere.analysis import metrics
from haltere.analysis.measures import by_point
from haltere.api import Scenario
from haltere.report import layout, overview, picture, words
from haltere.report.document import Choice, Picture


def network(text: str) -> layout.Network:
    drawn = picture.network(Scenario.from_toml(text).to_dict())
    assert drawn is not None
    return drawn


TRAFFIC = '\n[[traffic]]\nkind = "bulk"\nfrom = "a1"\nto = "z"\n'


def test_leaves_that_are_alike_are_one_box() -> None:
    leaves = ", ".join(f'{{ from = "a{i}", to = "r", rate = "1Gbit" }}' for i in range(1, 17))
    names = ", ".join(f'"a{i}"' for i in range(1, 17))
    graph = f'duration = "1s"\n[topology.graph]\nnodes = [{names}, "r", "z"]\nlinks = [{leaves}, {{ from = "r", to = "z", rate = "10Mbit", delay = "5ms" }}]\n'
    entries = "".join(TRAFFIC.replace("a1", f"a{i}") for i in range(1, 17))
    drawn = network(graph + entries)
    assert [(node.label, node.count) for node in drawn.nodes] == [("a1 … a16", 16), ("r", 1), ("z", 1)]
    assert "a1 … a16" in picture.svg([drawn]) and "× 16" in picture.svg([drawn])


@pytest.mark.parametrize(
    "file",
    sorted(path for path in (ROOT / "papers").glob("*/*.toml") if path.name != "expected.toml"),
    ids=lambda p: p.stem,
)
def test_the_network_of_every_study_can_be_drawn_without_boxes_on_boxes(file: Path) -> None:
    scenario = load(file).to_dict()
    rows = [
        {"from": "a", "to": "b", "rate_bps": 10_000_000, "queue": "codel", "watched": True},
        {"from": "b", "to": "a", "rate_bps": None, "queue": "drop_tail", "watched": False},
    ]
    drawn = [picture.network(scenario, rows)]
    shown = picture.merged([one for one in drawn if one])
    column = layout.columns([n.name for n in shown.nodes], [(k.start, k.end) for k in shown.links])
    assert all(column[k.start] != column[k.end] for k in shown.links)
    text = picture.svg([one for one in drawn if one])
    assert text.count("<rect") >= len(shown.nodes) and "nan" not in text


def test_a_window_that_fills_its_buffer_is_warned_of(small: Path) -> None:
    narrow = load(small).with_values({"tcp.recv_buffer": "6kB", "traffic.0.congestion": "cubic"})
    done = narrow.run(seeds=1)
    points = by_point(done)
    told = "\n".join(words.cautions(done, points))
    assert "Windows of bulk flows reach the buffer" in told and "No watched link was more than 80 % busy" in told
    wide = load(small).run(seeds=1)
    assert "buffer" not in "\n".join(words.cautions(wide, by_point(wide)))


def test_the_winner_is_named_only_where_the_seeds_agree(small: Path) -> None:
    even = load(small).with_values({"traffic.0.congestion": "cubic", "topology.dumbbell.bottleneck.queue": "fq_codel"})
    told = words.sentences(even.run(seeds=2), by_point(even.run(seeds=2)))
    assert told[0].startswith(
        "2 cubic bulk flows ran for 3 s, of which the first 1 s are left out, with 2 seeds: 2 runs."
    )
    assert not any("got the most" in one for one in told)
    unlike = (
        load(small)
        .with_values({"traffic.0.congestion": ["bbr", "vegas"], "topology.dumbbell.bottleneck.queue": "drop_tail"})
        .run(seeds=3)
    )
    assert any("Of all flows bbr got the most" in one for one in words.sentences(unlike, by_point(unlike)))


BOTH_WAYS = """\
title = "Unlike flows"
duration = "4s"
warmup = "1s"
seeds = 2

[topology.dumbbell]
pairs = 2
access = { rate = "100Mbit", delay = "1ms" }
bottleneck = { rate = "50Mbit", delay = "5ms", queue = "codel", reverse = { rate = "10Mbit", queue = "codel" } }

[[traffic]]
name = "download"
kind = "bulk"
pairs = [1]

[[traffic]]
name = "upload"
kind = "bulk"
pairs = [2]
direction = "backward"
"""

VOICE = """
[[traffic]]
name = "voice"
kind = "cbr"
pairs = [1]
rate = "100kbit"
packet = "200B"
"""

SHORT = """
[[traffic]]
name = "web"
kind = "poisson"
sizes = "cache"
per_second = 100
"""


def test_flows_over_other_links_are_not_compared() -> None:
    """A download over 50 Mbit/s and an upload over 10 Mbit/s: no winner, no share, no index of fairness."""
    done = Scenario.from_toml(BOTH_WAYS).run()
    told = " ".join(words.sentences(done, by_point(done)))
    assert "got the most" not in told and "times what" not in told and "Jain" not in told
    assert "left>right" in told and "right>left" in told


def test_no_index_of_fairness_over_unlike_kinds() -> None:
    forward = BOTH_WAYS.replace('direction = "backward"\n', "")
    alike, unlike = Scenario.from_toml(forward).run(), Scenario.from_toml(forward + VOICE).run()
    assert "Jain" in " ".join(words.sentences(alike, by_point(alike)))
    told = " ".join(words.sentences(unlike, by_point(unlike)))
    assert "Jain" not in told and "Shares are most even" not in told


def test_flows_that_come_and_go_are_counted_one_by_one() -> None:
    done = Scenario.from_toml(BOTH_WAYS + SHORT).run(seeds=1)
    run = by_point(done)[0][1][0]
    came = len(run.table("completions"))
    told = words.sentences(done, by_point(done))[0]
    assert came > 100 and f"{came} cubic poisson flows" in told and "1 cubic poisson flow" not in told
    assert metrics.mean_of([run], "goodput_flow", "web") is None, "the row of the entry is the sum of its flows"
    assert metrics.mean_of([run], "goodput_flow", "download") is not None


def test_the_discipline_or_an_outage_is_named_if_it_holds_the_flows_back(monkeypatch: pytest.MonkeyPatch) -> None:
    forward = BOTH_WAYS.replace('direction = "backward"\n', "").replace(
        'reverse = { rate = "10Mbit", queue = "codel" }', "reverse = {}"
    )
    harsh = forward.replace('queue = "codel", reverse', 'queue = { kind = "drop_tail", limit = "2p" }, reverse')
    done = Scenario.from_toml(harsh).run(seeds=1)
    told = " ".join(words.cautions(done, by_point(done)))
    assert "its queue dropped or marked packets" in told and "something else" not in told
    outage = forward.replace(
        'queue = "codel", reverse',
        'queue = "codel", schedule = [{ at = "1s", rate = "0bit" }, { at = "2800ms", rate = "50Mbit" }], reverse',
    )
    monkeypatch.setattr(words, "_idle", lambda run: True)
    done = Scenario.from_toml(outage).run(seeds=1)
    told = " ".join(words.cautions(done, by_point(done)))
    assert "falls to 0" in told and "something else" not in told


def test_marks_that_no_queue_makes_and_huge_buffers_are_warned_of(small: Path) -> None:
    base = load(small)
    assert base.warnings == []
    blind = base.with_values({"traffic.0.congestion": "dctcp", "traffic.0.ecn": True})
    assert ["uses dctcp" in one and "no queue at a bottleneck marks" in one for one in blind.warnings] == [True]
    assert blind.with_values({"topology.dumbbell.bottleneck.queue": {"kind": "codel", "ecn": True}}).warnings == []
    assert any("uses ECN" in one for one in base.with_values({"tcp.ecn": True}).warnings)
    # 10 Mbit/s and 14 ms: a product of 17.5 kB.
    deep = base.with_values({"topology.dumbbell.bottleneck.queue": {"kind": "drop_tail", "limit": "437.5kB"}})
    assert any("left>right (437.5kB) holds 25 bandwidth-delay products" in one for one in deep.warnings)
    fits = base.with_values({"topology.dumbbell.bottleneck.queue": {"kind": "drop_tail", "limit": "430kB"}})
    assert fits.warnings == []
    swept = base.sweep({"topology.dumbbell.bottleneck.queue": [{"kind": "drop_tail", "limit": "1MB"}, "codel"]})
    assert all("(in 1 of 2 points)" in one for one in swept.warnings) and swept.warnings


def test_the_command_warns_before_it_runs(small: Path) -> None:
    done = haltere("run", small.name, "--seeds", "1", "--set", "traffic.0.congestion=dctcp", cwd=small.parent)
    assert done.returncode == 0 and "warning: bulk1 uses dctcp" in done.stderr
    assert "uses dctcp" in done.stdout, "and the results say it again"


def test_a_link_at_0_bit_with_a_second_path_says_that_routes_are_static() -> None:
    links = [
        '{ from = "a", to = "b", rate = "10Mbit", delay = "1ms", schedule = [{ at = "1s", rate = "0bit" }] }',
        '{ from = "a", to = "c", rate = "10Mbit", delay = "1ms" }',
        '{ from = "c", to = "b", rate = "10Mbit", delay = "1ms" }',
        '{ from = "x", to = "a", rate = "1Gbit" }',
        '{ from = "b", to = "y", rate = "1Gbit" }',
    ]
    traffic = '\n[[traffic]]\nkind = "bulk"\nfrom = "x"\nto = "y"\n'

    def warned(some: list[str], more: str = "") -> str:
        text = f'duration = "2s"\n[topology.graph]\nnodes = ["a", "b", "c", "x", "y"]\nlinks = [{", ".join(some)}]\n{more}\n{traffic}'
        return " ".join(Scenario.from_toml(text).warnings)

    assert "routes are static" in warned(links)
    assert "routes are static" not in warned([one.replace("0bit", "1Mbit") for one in links])
    assert "routes are static" not in warned([links[0], links[1], *links[3:]]), "no second path"
    up = [one.replace("0bit", "1Mbit") for one in links]
    fail = 'fail = [{ from = "a", to = "b", at = "1s", until = "2s" }]\n'
    assert "without `reroute` routes are static" in warned(up, fail)
    assert "routes are static" not in warned(up, fail + 'reroute = "100ms"')


def test_the_report_of_an_incast_says_what_it_counts_and_draws_what_there_is(tmp_path: Path) -> None:
    text = """title = "Incast"
duration = "1s"
seeds = 2
[topology.leaf_spine]
leaves = 2
spines = 1
hosts = 3
access = { rate = "1Gbit", watch = true }
fabric = { rate = "10Gbit" }

[[traffic]]
kind = "incast"
name = "round"
senders = 4
bytes = "64kB"
interval = "100ms"
"""
    done = Scenario.from_toml(text).run(out=tmp_path / "out")
    page = overview.document(done, figures=True)
    tables = {table.name: table for table in page.tables()}
    came = len(by_point(done)[0][1][0].table("completions"))
    assert tables["traffic"].rows[0][1] == str(came) and tables["traffic"].rows[0][-1] == "–", "40 flows, not one"
    assert {"flows of a run", "unfinished in all runs"} <= set(tables["completions"].columns)
    assert [row[1] for row in tables["completions"].rows] == ["all"], "one size, one row"
    assert "links" in tables
    html = page.html()
    assert "None" not in next(block.svg for block in page.blocks if isinstance(block, Picture))
    assert 'data-name="fct"' in html and 'data-name="rates"' not in html
    choice = next(block for block in page.blocks if isinstance(block, Choice))
    panels = choice.options[0][1]["panels"]
    assert any("completion" in panel["title"] for panel in panels)
    assert all(any(v for one in panel["series"] for v in one.get("y", one.get("hi", []))) for panel in panels), (
        "none is empty"
    )
