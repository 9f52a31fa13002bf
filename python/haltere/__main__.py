"""`haltere`, and `python -m haltere`: interrupts are handled from the start."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any, NoReturn


def _too_early(*_: Any) -> NoReturn:
    """Ends the process while modules are loaded: nothing has begun, and an exception would arise inside one of them."""
    os.write(2, b"haltere: interrupted; nothing was begun\n")
    os._exit(130)


def main() -> int:
    """Runs the command line of this process; returns its exit status."""
    signals = {one: signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)}
    # A shell that starts us in the background has interrupts ignored: that stays.
    heard = [one for one, handler in signals.items() if handler in (signal.default_int_handler, signal.SIG_DFL)]
    for one in heard:
        signal.signal(one, _too_early)
    from . import cli

    for one in heard:
        signal.signal(one, signals[one])
    return cli.main()


if __name__ == "__main__":
    sys.exit(main())
