"""The report's sentences and its drawing of the network, where they can be told from the input."""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import ROOT
from haltere import load
from haltere.analysis.measures import by_point
from haltere.api import Scenario
from haltere.report import layout, picture, words
from haltere.report.network import Network


def network(text: str) -> Network:
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
    assert not any("won" in one for one in told)
    unlike = (
        load(small)
        .with_values({"traffic.0.congestion": ["bbr", "vegas"], "topology.dumbbell.bottleneck.queue": "drop_tail"})
        .run(seeds=3)
    )
    assert any("Of all flows bbr won" in one for one in words.sentences(unlike, by_point(unlike)))
