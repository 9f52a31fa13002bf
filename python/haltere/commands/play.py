"""`haltere play`."""

from __future__ import annotations

import argparse
import re

from ..errors import HaltereError, InputError
from ._common import Commands


def add(to: Commands) -> None:
    """Adds to the command line."""
    to.add("play", _play, port={"type": _port, "default": 0}, allow="many")


def _port(text: str) -> int:
    if not text.isdigit() or not 1 <= int(text) <= 65535:
        raise argparse.ArgumentTypeError(f"must be a whole number from 1 to 65535, got `{text}`")
    return int(text)


_SETUP = re.compile(r"setup=[A-Za-z0-9_-]+")


def _fragment(link: str | None) -> str:
    """The part of a link that has the set-up, for the address of this server.

    >>> _fragment("http://127.0.0.1:4711/#setup=q1Y-_w"), _fragment(None)
    ('#setup=q1Y-_w', '')
    """
    if link is None:
        return ""
    setup = link.partition("#")[2]
    if not _SETUP.fullmatch(setup):
        shown = link if len(link) <= 60 else f"{link[:60]}..."
        raise InputError(
            f"play: link must be an address with `#setup=...`, got `{shown}`; copy it from Share, in quotes"
        )
    return f"#{setup}"


def _play(args: argparse.Namespace) -> int:
    import asyncio
    import sys
    import webbrowser

    try:
        from ..play.server import Playground
    except ImportError as error:
        if (error.name or "").split(".")[0] != "websockets":
            raise
        raise HaltereError("play: `websockets` must be installed, got none; pip install websockets") from None

    fragment = _fragment(args.link)

    def ready(address: str) -> None:
        url = address + fragment
        print(url, flush=True)
        print("Ctrl-C ends it.", file=sys.stderr, flush=True)
        if not args.no_browser:
            webbrowser.open(url)

    try:
        asyncio.run(Playground(args.port, allowed=args.allow).forever(ready))
    except OSError as error:
        raise InputError(f"play: port must be free, got {args.port}: {error.strerror or error}") from None
    except KeyboardInterrupt:
        pass  # that is how it ends
    return 0
