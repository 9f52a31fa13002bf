"""Typed views of an experiment: they read keys of the schema alone."""

from __future__ import annotations

import json
from typing import Any

import pytest

from conftest import ROOT
from haltere import _core, load
from haltere.experiment import Experiment, Topology, Traffic

FILES = sorted([*(ROOT / "examples").glob("*.toml"), *(ROOT / "papers").glob("*/*.toml")])


class Recorded(dict[str, Any]):
    """A mapping that knows the keys that were read."""

    def __init__(self, values: dict[str, Any], read: set[str]) -> None:
        super().__init__(values)
        self.read = read

    def __getitem__(self, key: str) -> Any:
        self.read.add(key)
        return super().__getitem__(key)

    def get(self, key: str, default: Any = None) -> Any:
        self.read.add(key)
        return super().get(key, default)


def keys(definition: dict[str, Any]) -> set[str]:
    """The keys of a table, or of all tables of a union."""
    options = [*definition.get("oneOf", ()), *definition.get("anyOf", ())]
    return set(definition.get("properties", ())).union(*map(keys, options))


def read_all(view: object) -> None:
    for name in dir(type(view)):
        if not name.startswith("_") and not callable(getattr(type(view), name)):
            getattr(view, name)


def test_views_read_keys_of_the_schema() -> None:
    schema = json.loads(_core.schema())
    top, entry, measure = set[str](), set[str](), set[str]()
    values = load(ROOT / "examples" / "rrul.toml").to_dict()
    values["measure"] = Recorded(values["measure"], measure)
    values["traffic"] = [Recorded(one, entry) for one in values["traffic"]]
    experiment = Experiment(Recorded(values, top))
    read_all(experiment)
    for one in experiment.traffic:
        read_all(one)
    assert top and top <= schema["properties"].keys()
    assert entry and entry <= keys(schema["$defs"]["Traffic"]) | {"kind"}
    assert measure and measure <= keys(schema["$defs"]["MeasureSpec"])


@pytest.mark.parametrize("path", [one for one in FILES if "[topology" in one.read_text()], ids=lambda one: one.stem)
def test_a_view_of_a_file_agrees_with_its_scenario(path: Any) -> None:
    scenario = load(path)
    view = scenario.experiment
    assert view.duration_s == pytest.approx(scenario.points()[0][1].duration_s)
    assert 0 <= view.warmup_s < view.until_s <= view.duration_s
    assert all(one.kind and one.name for one in view.traffic)


def test_a_topology_gives_every_table_in_it() -> None:
    links = [{"rate": "1Mbit"}, {"rate": "2Mbit", "schedule": [{"rate": "0bit"}]}]
    topology = Topology("graph", {"nodes": ["a"], "links": links})
    assert topology.all("rate") == ["1Mbit", "2Mbit", "0bit"]


def test_one_control_and_a_list_of_controls_read_alike() -> None:
    assert Traffic(0, {"kind": "bulk", "congestion": "reno"}).congestion == ["reno"]
    assert Traffic(0, {"kind": "bulk", "congestion": ["reno", {"kind": "bbr"}]}).congestion == ["reno", {"kind": "bbr"}]
    assert Traffic(1, {"kind": "ping"}).congestion == []
