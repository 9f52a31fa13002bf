"""The command line. Thin: the modules of `commands` read arguments, call the package and print.

Exit status: 0 done, 2 the input is wrong (one line, nothing written), 130 interrupted, 1 anything else.
Progress goes to standard error, results to standard output.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from . import commands
from .commands._common import Commands, Parser
from .errors import DeprecatedKeyWarning, HaltereError, InputError

__all__ = ["main"]

_EPILOG = """\
A first experiment:
  haltere list                         what there is
  haltere explain codel                one mechanism, its parameters and its source
  haltere run experiment.toml          run it with every seed; results in results/experiment
  haltere report results/experiment    figures and one HTML file
  haltere reproduce aqm-lab --quick    a published study again, beside its own figures

Exit status: 0 done, 2 wrong input (nothing written), 130 interrupted (finished runs are kept), 1 anything else.
"""


def _parser() -> argparse.ArgumentParser:
    from . import __version__

    top = Parser(
        prog="haltere",
        description="A laboratory for how flows share a bottleneck.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"haltere {__version__}")
    top.add_argument("--traceback", action="store_true", help="show where in the program an unexpected error arose")
    to = Commands(top)
    for one in commands.ALL:
        one.add(to)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command line; returns the exit status."""
    given = sys.argv[1:] if argv is None else list(argv)
    try:
        with _terminated_as_interrupted(), _deprecated_keys_printed():
            args = _parser().parse_args(given)
            status: int = args.does(args)
            sys.stdout.flush()
            return status
    except InputError as error:
        print(f"haltere: {_one_line(error)}", file=sys.stderr)
        return 2
    except (HaltereError, OSError) as error:
        if isinstance(error, BrokenPipeError):  # the reader of our output has gone, as in `haltere list | head -1`
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 1
        print(f"haltere: {_one_line(error)}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("haltere: interrupted; finished runs are kept, the same command goes on from there", file=sys.stderr)
        return 130
    except BaseException as error:  # a panic of the Rust core is no Exception
        if isinstance(error, SystemExit | GeneratorExit):
            raise
        return _bug(error, "--traceback" in given)


def _bug(error: BaseException, traced: bool) -> int:
    """What no command expects."""
    if traced:
        traceback.print_exception(error)
    what = f"{type(error).__name__}: {_one_line(error)}" if str(error) else type(error).__name__
    hint = "the traceback above" if traced else "what `haltere --traceback COMMAND ...` prints"
    print(f"haltere: this is a bug, please report it with {hint}: {what}", file=sys.stderr)
    return 1


@contextmanager
def _terminated_as_interrupted() -> Iterator[None]:
    """SIGTERM is as Ctrl-C, unless the program that calls this has its own handler. Only the main thread may say so."""
    is_ours = threading.current_thread() is threading.main_thread()
    if not is_ours or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


@contextmanager
def _deprecated_keys_printed() -> Iterator[None]:
    """Deprecated keys of experiments are printed as `warning: LINE`, each line once a command."""
    printed: set[str] = set()
    with warnings.catch_warnings():
        warnings.simplefilter("always", DeprecatedKeyWarning)
        others = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
            if not issubclass(category, DeprecatedKeyWarning):
                others(message, category, *place, **more)
            elif str(message) not in printed:
                printed.add(str(message))
                print(f"warning: {message}", file=sys.stderr)

        warnings.showwarning = show
        yield


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())
