"""The command line. Thin: the modules of `commands` read arguments, call the package and print.

Exit status: 0 done, 2 the input is wrong (one line, nothing written), 130 interrupted, 141 nobody reads what it prints, 1 anything else.
Progress goes to standard error, results to standard output.
"""

from __future__ import annotations

import argparse
import errno
import io
import os
import select
import signal
import sys
import threading
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from . import commands, errors, terminal
from .commands._common import Commands, Help, Parser
from .errors import HaltereError, InputError
from .limits import most

__all__ = ["main"]

_EPILOG = """\
A first experiment:
  haltere list                         what there is
  haltere explain codel                one mechanism, its parameters and its source
  haltere run experiment.toml          run it with every seed; results in results/experiment
  haltere report results/experiment    figures and one HTML file
  haltere reproduce aqm-lab --quick    a published study, beside its own figures

Exit status: 0 done, 2 wrong input (nothing written), 130 interrupted (finished runs are kept), 1 anything else.
"""


def _parser(given: Sequence[str]) -> argparse.ArgumentParser:
    from ._core import version

    top = Parser(
        prog="haltere",
        description="A laboratory for how flows share a bottleneck.",
        epilog=_EPILOG,
        formatter_class=Help,
    )
    top.add_argument("--version", action="version", version=f"haltere {version}")
    top.add_argument("--traceback", action="store_true", help="show where in the program an unexpected error arose")
    to = Commands(top)
    for one in commands.modules(given):
        one.add(to)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command line; returns the exit status."""
    given = sys.argv[1:] if argv is None else list(argv)
    errors.traced = "--traceback" in given
    with terminal.shown():
        return _main(given)


def _main(given: Sequence[str]) -> int:
    try:
        _check_streams()
        with _interruptible():
            args = _parser(given).parse_args(given)
            commands.check(given)
            status: int = args.does(args)
            sys.stdout.flush()
            return status
    except InputError as error:
        return _say(error, 2)
    except UnicodeEncodeError as error:
        strange = [one for one in given if one.encode(errors="replace") != one.encode(errors="ignore")]
        if not strange:
            return _bug(error, "--traceback" in given)
        return _say(f"arguments must be UTF-8 text, got `{_one_line(strange[0])}`", 2)
    except (HaltereError, OSError) as error:
        if isinstance(error, BrokenPipeError) and _unread():
            return 128 + signal.SIGPIPE  # as other tools end in `haltere list | head -1`
        _flushed()
        wrong_place = isinstance(error, OSError) and error.filename is not None and error.errno in _WRONG_PLACE
        return _say(error, 2 if wrong_place else 1)
    except KeyboardInterrupt:
        return _say("interrupted; finished runs are kept, the same command goes on from there", 130)
    except BaseException as error:  # a panic of the Rust core is no Exception
        if isinstance(error, SystemExit | GeneratorExit):
            raise
        return _bug(error, "--traceback" in given)


def _say(what: object, status: int) -> int:
    """Says in one line why the command ends, and with which status."""
    with suppress(OSError):  # standard error may be closed, too
        print(f"{terminal.painted('haltere:', 'red', sys.stderr)} {_one_line(what)}", file=sys.stderr, flush=True)
    return status


#: What the system says of a file that cannot be written there, or read.
_WRONG_PLACE = (
    errno.EACCES, errno.EEXIST, errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.ENOENT, errno.ENOTDIR, errno.EPERM, errno.EROFS,
)  # fmt: skip


def _check_streams() -> None:
    """Standard error may be closed; standard output may not. Both write every character, if need be as an escape."""
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  (for the life of the process)
    if sys.stdout is None:
        raise InputError("standard output must be open, got a closed one; to see nothing, add >/dev/null")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(terminal.below(stream), io.TextIOWrapper):
            terminal.below(stream).reconfigure(errors="backslashreplace")


def _unread() -> bool:
    """Whether the reader of standard output has closed it. The rest of the output is dropped, so that the end of the process does not write it."""
    try:
        poll = select.poll()
        poll.register(sys.stdout.fileno(), 0)
        gone = any(what & select.POLLERR for _, what in poll.poll(0))
    except (OSError, ValueError):  # it has no number
        gone = False
    if gone:
        _dropped()
    return gone


def _flushed() -> None:
    """Writes out what was printed, or drops it."""
    try:
        sys.stdout.flush()
    except OSError:
        _dropped()


def _dropped() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _bug(error: BaseException, traced: bool) -> int:
    """Reports an error that is not the user's."""
    if traced:
        traceback.print_exception(error)
    what = f"{type(error).__name__}: {_one_line(error)}" if str(error) else type(error).__name__
    hint = "the traceback above" if traced else "what `haltere --traceback COMMAND ...` prints"
    return _say(f"this is a bug, please report it with {hint}: {what}", 1)


@contextmanager
def _interruptible() -> Iterator[None]:
    """SIGTERM is as Ctrl-C, and the second of them ends the process at once, even if a Python class never returns.

    The program that calls this may have handlers of its own, which stay. Only the main thread may set handlers.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    default: dict[int, Any] = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
    ours = [number for number, handler in default.items() if signal.getsignal(number) is handler]
    is_interrupted = False

    def interrupt(number: int, frame: object) -> None:
        nonlocal is_interrupted
        if is_interrupted:
            os.write(2, b"haltere: interrupted twice; ended at once\n")
            os._exit(130)
        is_interrupted = True
        raise KeyboardInterrupt

    for number in ours:
        signal.signal(number, interrupt)
    try:
        yield
    except HaltereError:
        if is_interrupted:  # in the code of a class, whose error it then was
            raise KeyboardInterrupt from None
        raise
    finally:
        for number in ours:
            signal.signal(number, default[number])


#: An error says in a line what is wrong, however long the value is that is wrong.
_MOST_CHARACTERS = most("characters of an error, whose middle is left out")


def _one_line(what: object) -> str:
    line = " ".join(str(what).split())
    if len(line) > _MOST_CHARACTERS:
        half = _MOST_CHARACTERS // 2 - 10
        line = f"{line[:half]} ... {line[-half:]}"
    return line
