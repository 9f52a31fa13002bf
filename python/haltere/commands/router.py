"""`haltere router`."""

from __future__ import annotations

import argparse
import json
import re
import signal
import socket
from pathlib import Path
from typing import Any

from ..errors import InputError
from ._common import Commands

# Options of the line, as an experiment file names them; each may be given for one direction alone.
LINE = {
    "rate": ("RATE", "rate of the line, such as 10Mbit (default: none, packets take no time)"),
    "delay": ("SPAN", "propagation time, such as 10ms (default: 0s)"),
    "jitter": ("SPAN", "each packet takes longer by up to this; order is kept (default: 0s)"),
    "loss": ("P", "probability that a packet is lost on the line, such as 0.01 or 1%% (default: 0)"),
    "queue": ("QUEUE", "discipline: its name, or with parameters '{ kind = \"rafle\", n = 40 }' (default: drop_tail)"),
}


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
    router.add_argument("--left", required=True, metavar="IF", help="one interface")
    router.add_argument("--right", required=True, metavar="IF", help="the other interface")
    for name, (what, about) in LINE.items():
        router.add_argument(f"--{name}", metavar=what, help=about)
        for side in ("right", "left"):
            router.add_argument(f"--{name}-{side}", metavar=what, help=argparse.SUPPRESS)
    router.add_argument("--rtt", metavar="SPAN", help="round-trip time of the flows, for queue sizes in `bdp` (default: twice the delay)")  # fmt: skip
    router.add_argument("--seed", type=int, default=1, metavar="N", help="random seed (default: 1)")
    router.add_argument(
        "--reorder", metavar="P", help="probability that a packet is delayed so that later ones overtake it"
    )
    router.add_argument("--reorder-by", metavar="SPAN", default="1ms", help="for how long (default: 1ms)")
    router.add_argument("--isn-bits", type=int, default=0, metavar="N", help="senders' sequence numbers start with N zero bits, for run2c")  # fmt: skip
    router.add_argument("--spin", metavar="SPAN", default="0s", help="stay awake this long before a deadline: precise, and takes a core")  # fmt: skip
    router.add_argument("--slots", type=int, default=8192, metavar="N", help="received frames that an interface can hold (default: 8192)")  # fmt: skip
    router.add_argument("--prometheus", metavar="ADDR", help="serve /metrics, and /stats as JSON, at this address, such as 127.0.0.1:9900")  # fmt: skip
    router.add_argument("--json", action="store_true", help="print a line of JSON a second, and at the end, on standard output")  # fmt: skip
    router.add_argument("--pcap", type=Path, metavar="FILE", help="write what passes the left interface as pcapng")
    router.add_argument("--pcap-right", type=Path, metavar="FILE", help="write what passes the right interface")
    router.add_argument("--duration", metavar="SPAN", help="end by itself after this")
    router.add_argument("--quiet", action="store_true", help="no line a second")
    router.add_argument("--keep-privileges", action="store_true", help="stay root, with all capabilities, once the interfaces are open")  # fmt: skip


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
    options: dict[str, Any] = {
        "left": args.left,
        "right": args.right,
        "seed": args.seed,
        "isn_bits": args.isn_bits,
        "spin": args.spin,
        "reorder_by": args.reorder_by,
        "slots": args.slots,
        "quiet": args.quiet,
        "json": args.json,
        "keep_privileges": args.keep_privileges,
    }
    for name in ("reorder", "rtt", "prometheus", "duration"):
        if getattr(args, name) is not None:
            options[name] = getattr(args, name)
    for name, path in (("pcap_left", args.pcap), ("pcap_right", args.pcap_right)):
        if path is not None:
            options[name] = str(path)
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
