"""`haltere router`."""

from __future__ import annotations

import argparse
import json
import re
import signal
import socket
from typing import Any

from ..errors import InputError
from ..signals import handled
from ._common import LINE, Commands

#: The options that the router itself reads.
_OPTIONS = (
    "left", "right", "seed", "isn_bits", "spin", "reorder", "reorder_by", "slots", "quiet", "json", "keep_privileges", "rtt", "prometheus",
    "duration", "pcap_left", "pcap_right",
)  # fmt: skip


def add(to: Commands) -> None:
    """Adds to the command line."""
    number = {"type": int}
    to.add(
        "router", _router, left={"required": True}, right={"required": True}, seed=number | {"default": 1}, reorder_by={"default": "1ms"},
        isn_bits=number | {"default": 0}, spin={"default": "0s"}, slots=number | {"default": 8192}, pcap={"dest": "pcap_left"},
    )  # fmt: skip


def link_toml(args: argparse.Namespace, side: str) -> str:
    """One direction of a link, from options such as ``rate`` and ``rate_right``, as an experiment file writes it."""
    keys = []
    for name in LINE:
        value = getattr(args, f"{name}_{side}") or getattr(args, name)
        if value is None:
            continue
        written = value.strip()
        # A table of TOML, a number, or a text.
        plain = written.startswith("{") or (name == "loss" and not written.endswith("%"))
        if name == "queue" and not plain:
            written = f"{{ kind = {json.dumps(written)} }}"
        elif not plain:
            written = json.dumps(written)
        keys.append(f"{name} = {written}")
    return "\n".join(keys)


def _scenario(args: argparse.Namespace) -> Any:
    """Both directions as a scenario: its reader checks them, and its errors are those of a file."""
    from .. import _core

    # Two links in a row: the first is left to right, the second right to left.
    text = (
        f'duration = "1s"\n[[topology.chain.links]]\n{link_toml(args, "right")}\n'
        f"[[topology.chain.links]]\n{link_toml(args, 'left')}\n"
        '[[traffic]]\nkind = "ping"\nfrom = "n1"\nto = "n3"\n'
    )
    try:
        return _core.Scenario.from_toml(text, "router")
    except InputError as error:
        # The line and the path are those of a file that the user never saw.
        text = re.sub(r"^router(:\d+)?: ", "", str(error))
        raise InputError(f"router: {re.sub(r'topology.chain.links.[01].[.:] ?', '--', text)}") from None


def _taken(*interfaces: str) -> list[socket.socket]:
    """A mark on each interface, as long as these sockets live: their names are those of the network namespace, and end with the process."""
    marks = []
    for name in interfaces:
        try:
            number = socket.if_nametoindex(name)
        except OSError:
            continue  # the router itself says what is wrong
        marks.append(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
        try:
            marks[-1].bind(f"\0haltere-router-{number}")
        except OSError:
            raise InputError(
                f"router: `{name}` must be without a router, got one that `haltere router` is at"
            ) from None
    return marks


def _router(args: argparse.Namespace) -> int:
    from .. import _core

    scenario = _scenario(args)
    options = {name: getattr(args, name) for name in _OPTIONS if getattr(args, name) is not None}
    marks = _taken(args.left, args.right) if args.left != args.right else []
    # Python's own handler writes the number of each signal to where the router reads it, whichever thread gets the signal.
    theirs, ours = socket.socketpair()
    with theirs, ours, handled(lambda *_: None, signal.SIGTERM, signal.SIGINT, signal.SIGUSR1):
        ours.setblocking(False)
        fd = signal.set_wakeup_fd(ours.fileno())
        try:
            _core.wire_router(scenario, json.dumps(options), theirs.fileno())
        finally:
            signal.set_wakeup_fd(fd)
            for one in marks:
                one.close()
    return 0
