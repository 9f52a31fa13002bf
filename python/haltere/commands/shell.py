"""`haltere shell`, `exec` and `link`: a live network with programs in its hosts."""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import signal
import socket
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import worlds
from ..errors import HaltereError, InputError
from ..worlds.live import NETWORK
from ._common import LINE, Commands, chosen_world
from .router import link_toml

if TYPE_CHECKING:
    from .. import _core
    from ..api import Scenario
    from ..worlds.base import Change, Servers

#: The two ends of `haltere link`.
_ENDS = ["inside", "outside"]
#: From the first look at the counters to the second.
_BETWEEN_S = 0.5


def add(to: Commands) -> None:
    """Adds to the command line."""
    live = [name for name, kind in worlds.WORLDS.items() if kind.has_live]
    world: dict[str, Any] = {"world": {"choices": live, "default": live[0]}}
    program = world | {"server": "many", "words": {"nargs": "*"}}
    to.add("shell", _shell, **world)
    for name, does in (("exec", _exec), ("link", _link)):
        to.add(name, does, **program).rest = "words"
    to.add("network", _network, changes={"nargs": "*"})


def _shell(args: argparse.Namespace) -> int:
    scenario = _loaded(args.file)
    return _stand(args, scenario, args.host, [], {}, _of_experiment(scenario))


def _exec(args: argparse.Namespace) -> int:
    servers: dict[str, list[list[str]]] = {}
    for one in args.server:
        host, colon, words = one.partition(":")
        if not colon or not words.strip():
            raise InputError(f"exec: --server must be 'HOST: COMMAND', got `{one}`")
        servers.setdefault(host.strip(), []).append(_words(words))
    scenario = _loaded(args.file)
    return _stand(args, scenario, args.host, _given(args, "exec"), servers, _of_experiment(scenario))


def _link(args: argparse.Namespace) -> int:
    servers = {"outside": [_words(one) for one in args.server]}
    return _stand(args, _link_scenario(args), "inside", _given(args, ""), servers, _of_link(args), outside="outside")


def _words(text: str) -> list[str]:
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise InputError(f"--server must be a command as a shell reads it, got `{text}`: {error}") from None
    if not words:
        raise InputError("--server must name a program, got nothing")
    return words


def _given(args: argparse.Namespace, command: str) -> list[str]:
    words: list[str] = args.words
    if not words and command:
        raise InputError(f"{command}: a program must follow `--`, got none; `haltere shell` gives a shell")
    return words


def _loaded(path: Path) -> Scenario:
    from ..api import Scenario

    scenario = Scenario.load(path)
    points = scenario.points()
    if len(points) > 1:
        raise InputError(f"{path}: sweep must be left out here, got {len(points)} points; there is one network")
    return scenario


def _link_scenario(args: argparse.Namespace) -> Scenario:
    """The link of these options as an experiment. Its errors name options."""
    from ..api import Scenario

    traces = args.trace.split(",") if args.trace else []
    if traces and (len(traces) != 2 or any(getattr(args, f"rate{side}") for side in ("", "_up", "_down"))):
        raise InputError(f"link: --trace must be two files, UP,DOWN, and no --rate, got `{args.trace}`")
    up, down = (f"trace = {json.dumps(str(Path(one).resolve()))}\n" for one in traces) if traces else ("", "")
    text = (
        f'duration = "1s"\n[topology.chain]\nnodes = {json.dumps(_ENDS)}\n'
        f"[[topology.chain.links]]\n{up}{link_toml(args, 'up')}\n"
        f"[topology.chain.links.reverse]\n{down}{link_toml(args, 'down')}\n"
        '[[traffic]]\nkind = "ping"\nfrom = "inside"\nto = "outside"\n'
    )
    try:
        return Scenario.from_toml(text, "link")
    except InputError as error:
        # The line and the path are those of a file that the user never saw.
        text = re.sub(r"^link(:\d+)?: ", "", str(error))
        raise InputError(f"link: {re.sub(r'topology.chain.links.0.(reverse)?[.:]? ?', '--', text)}") from None


def _stand(
    args: argparse.Namespace,
    scenario: Scenario,
    host: str | None,
    command: Sequence[str],
    servers: Servers,
    change: Change,
    outside: str | None = None,
) -> int:
    """Starts the network, runs the servers and the command (a shell, if there is none), and takes it down; the command's exit status."""
    world = chosen_world(args)
    network = world.live(scenario._core, outside)
    try:
        return network.run(host or network.hosts[0], command, servers, change, _counters)
    except KeyboardInterrupt:
        print("haltere: interrupted twice; the network has ended", file=sys.stderr)
        return 128 + signal.SIGINT


def _of_experiment(scenario: Scenario) -> Change:
    """Changes by the keys of an experiment file."""
    from ..api import parse_setting

    kept: dict[str, Any] = {}

    def change(settings: Sequence[str], carry_out: Callable[[_core.Scenario], None]) -> None:
        asked = kept | dict(parse_setting(one) for one in settings)
        carry_out(scenario.with_values(asked)._core)
        kept.update(asked)

    return change


def _of_link(args: argparse.Namespace) -> Change:
    """Changes by the options of `haltere link`."""

    def change(settings: Sequence[str], carry_out: Callable[[_core.Scenario], None]) -> None:
        asked = argparse.Namespace(**vars(args))
        for one in settings:
            key, equals, value = one.partition("=")
            if not equals or key.removesuffix("-up").removesuffix("-down") not in LINE:
                raise InputError(f"network: must be KEY=VALUE with a KEY of {', '.join(LINE)}, got `{one}`")
            setattr(asked, key.replace("-", "_"), value)
        carry_out(_link_scenario(asked)._core)
        vars(args).update(vars(asked))

    return change


def _network(args: argparse.Namespace) -> int:
    before = _asked(args.changes)["links"]
    time.sleep(_BETWEEN_S)
    print(_counters(before, _asked([])["links"], _BETWEEN_S))
    return 0


def _counters(before: Sequence[Mapping[str, Any]], now: Sequence[Mapping[str, Any]], seconds: float) -> str:
    """The counters of the links now, and the rate since those before."""
    from ..report.document import Document, Table

    sent = {one["name"]: one["sent_bytes"] for one in before}
    rows = []
    for link in now:
        mbps = 8e-6 * (link["sent_bytes"] - sent.get(link["name"], 0)) / max(seconds, 1e-9)
        dropped = link["dropped_overlimit"] + link["dropped_congestion"]
        counts = (link["waiting_packets"], link["sent"], dropped, link["marked"], link["lost"])
        rows.append([link["name"], f"{mbps:.2f}", *map(str, counts)])
    columns = ["link", "Mbit/s", "waiting", "sent", "dropped", "marked", "lost"]
    return Document("", [Table("network", "", columns, rows)]).text().strip()


def _asked(changes: Sequence[str]) -> Any:
    """The counters of the network around this process, after these changes."""
    path = os.environ.get(NETWORK)
    if path is None:
        raise InputError(
            "network: must run inside `haltere shell`, `exec` or `link`, and no network is around this process"
        )
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
        try:
            line.connect(path)
        except OSError:
            raise HaltereError("network: the network of this process has ended") from None
        with line.makefile("rw", encoding="utf-8") as stream:
            stream.write(json.dumps(changes) + "\n")
            stream.flush()
            answer = json.loads(stream.readline())
    if "error" in answer:
        raise InputError(answer["error"])
    return answer["network"]
