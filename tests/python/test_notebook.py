"""The cell magic, in a shell that has what IPython's has for it."""

from __future__ import annotations

from typing import Any

import pytest

import haltere
from conftest import SMALL
from haltere import notebook


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
