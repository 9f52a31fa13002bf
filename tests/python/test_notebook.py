"""The cell magic, in a shell that has what IPython's has for it, and the playground in a cell."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import haltere
from conftest import SMALL
from haltere import notebook, templates


class Shell:
    """What an extension may use of IPython."""

    def __init__(self) -> None:
        self.user_ns: dict[str, Any] = {}
        self.magics: dict[str, Any] = {}

    def register_magic_function(self, function: Any, magic_kind: str) -> None:
        self.magics[magic_kind] = function


@pytest.fixture
def shell() -> Shell:
    made = Shell()
    notebook.load_ipython_extension(made)
    return made


def test_a_cell_is_an_experiment_and_its_results_are_a_variable(shell: Shell) -> None:
    shown = shell.magics["cell"]("--seeds 2 --as mine --set duration=2s", SMALL)
    assert shell.user_ns["mine"] is shown and isinstance(shown, haltere.Results)
    assert len(shown.runs) == 2 and "<table" in shown._repr_html_()


@pytest.mark.parametrize(
    ("line", "cell", "message"),
    [
        ("", "duration = 3", "cell:1"),
        ("--seeds x", SMALL, "%%haltere: argument --seeds"),
        ("--as 1x", SMALL, "--as must be the name of a variable"),
    ],
)
def test_a_wrong_cell_is_one_line(
    shell: Shell, capsys: pytest.CaptureFixture[str], line: str, cell: str, message: str
) -> None:
    assert shell.magics["cell"](line, cell) is None
    printed = capsys.readouterr().out
    assert message in printed and printed.count("\n") == 1 and not shell.user_ns


def test_a_scenario_is_shown_as_the_drawing_of_its_network() -> None:
    shown = haltere.Scenario.from_toml(SMALL)._repr_html_()
    assert "<svg" in shown and "Two flows over one bottleneck" in shown and "left" in shown


def test_the_playground_in_a_cell_runs_and_follows_what_is_changed() -> None:
    pytest.importorskip("anywidget")
    scenario = haltere.Scenario.from_toml(SMALL)
    told: list[dict[str, Any]] = []

    async def conversation() -> None:
        live = notebook.live(scenario, height=500)
        live.send = told.append
        assert live.height == 500 and "src=" not in live.page.partition("<script")[0]
        assert [one["pairs"] for one in live.experiments[0]["traffic"]] == [[1], [2], [1]]
        assert [one.seeds for one in live.scenarios] == [scenario.seeds]

        async def say(until: str, **message: Any) -> dict[str, Any]:
            before = len(told)
            live._heard(None, message, [])
            while not (found := [one for one in told[before:] if one["tell"] == until]):
                assert not [one for one in told[before:] if one["tell"] == "refused"], told
                await asyncio.sleep(0.01)
            return found[-1]

        hello = await say("hello", do="hello")
        (experiment,) = hello["presets"][0]["setups"]
        await say("ended", do="start", setups=[experiment], speed="max", seed=1)
        assert next(one for one in reversed(told) if one["tell"] == "samples")["setups"][0]["now"] == 3.0
        bottleneck = {**experiment["topology"]["dumbbell"]["bottleneck"], "rate": "5Mbit"}
        dumbbell = {**experiment["topology"]["dumbbell"], "bottleneck": bottleneck}
        await say("checked", do="check", setup=0, experiment={**experiment, "topology": {"dumbbell": dumbbell}})
        assert live.scenarios[0].to_dict()["topology"]["dumbbell"]["bottleneck"]["rate"] == "5Mbit"
        live._heard(None, {"do": "nothing"}, [])
        await asyncio.sleep(0.05)
        assert told[-1]["tell"] == "refused" and "do must be one of" in told[-1]["text"]

    asyncio.run(asyncio.wait_for(conversation(), 60))


def test_what_the_playground_cannot_show_is_one_line() -> None:
    pytest.importorskip("anywidget")
    chain = haltere.Scenario.load(templates.find("multipath").path)
    with pytest.raises(haltere.InputError, match="live: topology must be a dumbbell in the playground"):
        notebook.live(chain)
