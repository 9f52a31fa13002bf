"""IPython and Jupyter: ``%load_ext haltere.notebook`` brings the cell magic ``%%haltere``, whose cell is an experiment file.

    %%haltere --seeds 3
    duration = "10s"
    ...

The cell shows the tables of the report. The variable ``results`` holds the results, or the name after ``--as``.
:func:`live` shows the playground in a cell.
"""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .api import Scenario, parse_setting
from .errors import HaltereError, InputError

if TYPE_CHECKING:
    from .play.widget import Playground
    from .runs.results import Results


def live(*scenarios: Scenario, height: int = 720) -> Playground:
    """The playground in a cell, with one experiment or two, else with its presets. What is changed on the page is in its ``scenarios``."""
    try:
        from .play.widget import Playground
    except ImportError as error:
        raise InputError(f"live: {error.name} must be installed: pip install 'haltere[notebook]'") from None
    from .limits import PLAYGROUND
    from .play.protocol import Refused

    if len(scenarios) > PLAYGROUND["setups"]:
        raise InputError(f"live: scenarios must be at most {PLAYGROUND['setups']}, got {len(scenarios)}")
    try:
        return Playground([one.to_dict() for one in scenarios], height=height)
    except Refused as error:
        raise InputError(f"live: {error.text}") from None


class _Line(argparse.ArgumentParser):
    """The words behind the magic's name. A wrong one is an error of the cell and does not end the notebook."""

    def error(self, message: str) -> Any:
        raise InputError(f"%%haltere: {message}")


def _words(line: str) -> argparse.Namespace:
    parser = _Line(prog="%%haltere", add_help=False)
    parser.add_argument("--seeds", type=int)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--as", dest="name", default="results")
    return parser.parse_args(shlex.split(line))


def run_cell(line: str, cell: str) -> tuple[str, Results]:
    """Runs the experiment in a cell. Gives the name of the variable and the results."""
    words = _words(line)
    if not words.name.isidentifier():
        raise InputError(f"%%haltere: --as must be the name of a variable, got `{words.name}`")
    scenario = Scenario.from_toml(cell, "cell").with_values(dict(parse_setting(one) for one in words.set))
    return words.name, scenario.run(words.seeds, out=words.out, quiet=False)


def load_ipython_extension(shell: Any) -> None:
    """Called by ``%load_ext haltere.notebook``."""

    def haltere(line: str, cell: str) -> Results | None:
        try:
            name, results = run_cell(line, cell)
        except HaltereError as error:
            # One line, as on the command line.
            print(f"haltere: {error}")
            return None
        shell.user_ns[name] = results
        return results

    shell.register_magic_function(haltere, magic_kind="cell")
