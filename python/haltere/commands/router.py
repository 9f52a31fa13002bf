"""`haltere router`."""

from __future__ import annotations

import argparse
import json
import re
import signal
import socket
from typing import Any

from ..errors import InputError
from ._common import Commands, takes

# Options of the line, as an experiment file names them; each may be given for one direction alone.
LINE = {
    "rate": ("RATE", "rate of the line, such as 10Mbit (default: none, packets take no time)"),
    "delay": ("SPAN", "propagation time, such as 10ms (default: 0s)"),
    "jitter": ("SPAN", "each packet takes longer by up to this; order is kept (default: 0s)"),
    "loss": ("P", "probability that a packet is lost on the line, such as 0.01 or 1%% (default: 0)"),
    "queue": ("QUEUE", "discipline: its name, or with parameters '{ kind = \"rafle\", n = 40 }' (default: drop_tail)"),
}

#: What the router itself is told.
_OPTIONS = (
    "left", "right", "seed", "isn_bits", "spin", "reorder", "reorder_by", "slots", "quiet", "json", "keep_privileges", "rtt", "prometheus",
    "duration", "pcap_left", "pcap_right",
)  # fmt: skip


def add(to: Commands) -> None:
    """Adds to the command line."""
    router = to.add(
        "router",
        _router,
        "be a router between two interfaces, with any queue discipline",
        "examples:\n"
        "  haltere router --left eth1 --right eth2 --rate 1Mbit --queue '{ kind = \"rafle\", n = 40 }'\n"
        "  haltere router --left eth1 --right eth2 --rate-right 20Mbit --rate-left 2Mbit --delay 15ms --queue fq_codel\n\n"
        "Options of the line hold for both directions, or for one: --rate-right is left to right, --rate-left right to left.\n"
        "SIGUSR1 prints the statistics as a line of JSON. SIGTERM and SIGINT take nothing more in, let out what is inside,\n"
        "print the statistics and end with status 0. If an interface goes, it prints them too and ends with status 1.\n"
        "The interfaces may keep their offloads: frames that hold several packets are cut, checksums finished, before a queue\n"
        "sees them. Needs root or CAP_NET_RAW to open the interfaces; then it gives all privileges up (user 65534, no capabilities).\n"
        "`haltere list queue` names the disciplines.",
    )
    takes(
        router,
        "--left IF  one interface\n--right IF  the other interface",
        left={"required": True},
        right={"required": True},
    )
    line_options(router, "right", "left")
    takes(
        router,
        """
        --rtt SPAN         round-trip time of the flows, for queue sizes in `bdp` (default: twice the delay)
        --seed N           random seed (default: 1)
        --reorder P        probability that a packet is delayed so that later ones overtake it
        --reorder-by SPAN  for how long (default: 1ms)
        --isn-bits N       senders' sequence numbers start with N zero bits, for run2c
        --spin SPAN        stay awake this long before a deadline: precise, and takes a core
        --slots N          received frames that an interface can hold (default: 8192)
        --prometheus ADDR  serve /metrics, and /stats as JSON, at this address, such as 127.0.0.1:9900
        --json             print a line of JSON a second, and at the end, on standard output
        --pcap FILE        write what passes the left interface as pcapng
        --pcap-right FILE  write what passes the right interface
        --duration SPAN    end by itself after this
        --quiet            no line a second
        --keep-privileges  stay root, with all capabilities, once the interfaces are open
        """,
        seed={"type": int, "default": 1}, reorder_by={"default": "1ms"}, isn_bits={"type": int, "default": 0}, spin={"default": "0s"},
        slots={"type": int, "default": 8192}, pcap={"dest": "pcap_left"},
    )  # fmt: skip


def line_options(one: argparse.ArgumentParser, *sides: str) -> None:
    """Adds the options of a line: each for both directions, and for one of them."""
    for name, (what, about) in LINE.items():
        one.add_argument(f"--{name}", metavar=what, help=about)
        for side in sides:
            one.add_argument(f"--{name}-{side}", metavar=what, help=argparse.SUPPRESS)


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
    with theirs, ours:
        ours.setblocking(False)
        before = {number: signal.signal(number, lambda *_: None) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1)}  # fmt: skip
        fd = signal.set_wakeup_fd(ours.fileno())
        try:
            _core.wire_router(scenario, json.dumps(options), theirs.fileno())
        finally:
            signal.set_wakeup_fd(fd)
            for number, handler in before.items():
                signal.signal(number, handler)
            for one in marks:
                one.close()
    return 0
