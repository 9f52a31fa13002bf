"""A person's programs in the kernel world. Whenever a program reads from its terminal, the clock of the guest stops."""

from __future__ import annotations

import contextlib
import json
import signal
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ... import _core
from ...errors import HaltereError, InputError
from ...signals import handled
from ...terminal import below
from .host_files import host_files

if TYPE_CHECKING:
    from ..base import Change, Servers, Show
    from .guests import GuestKernel

__all__ = ["Session"]

#: Interactive, but without control of jobs, which needs a terminal of its own.
_SHELL = ("/bin/sh", "-i", "+m")
#: How often Ctrl-C is looked for, in seconds.
_LOOK_S = 0.1


class Session:
    """The network of an experiment, without its traffic, in a guest that ends with the program at the terminal."""

    def __init__(self, kernel: GuestKernel, gso: bool, scenario: _core.Scenario) -> None:
        self._gso, self._scenario = gso, scenario
        self._line = _core.KernelSession(str(kernel.vmlinux), str(kernel.guest))
        self._progress = _core.Progress()
        #: What the program wrote since its last line feed: a prompt, if it reads then.
        self._prompt = b""
        self._is_reading = False
        #: How often Ctrl-C was pressed since the last message of the guest.
        self._interrupts = 0
        #: The counters that were shown last.
        self._shown: dict[str, Any] = {"time_s": 0.0, "links": []}
        self.hosts = _core.kernel_hosts(scenario)

    def run(self, host: str, command: Sequence[str], servers: Servers, change: Change, show: Show) -> int:
        """See :class:`haltere.worlds.base.Live`.

        Ctrl-C is for the program. A second one raises :class:`KeyboardInterrupt` if the program wrote nothing in between.
        """
        self._change, self._show_counters = change, show
        beside = [(where, _found(one)) for where, all in servers.items() for one in all]
        words = _found(command or _SHELL)
        session = {"servers": beside, "host": host, "words": words, "environment": [("PS1", f"{host}$ ")]}
        files = host_files([{"client": one} for one in (words, *(one for _, one in beside))])
        options = {"gso": self._gso, "host_files": files}
        with handled(self._interrupt, signal.SIGINT), ThreadPoolExecutor(1) as other:
            told = json.dumps(session), json.dumps(options)
            held = other.submit(self._line.hold, self._scenario, *told, self._progress)
            try:
                self._converse()
            except BaseException:
                self._progress.cancel()
                raise
            return held.result()

    def _does(self, line: str) -> bool:
        """Does what `haltere network` asks for. The guest has no such program. The clock is stopped, so rates are since the last time."""
        asked = line.split()
        if asked[:2] != ["haltere", "network"]:
            return False
        try:
            if asked[2:]:
                self._change(asked[2:], self._carry_out)
            now = json.loads(self._asked("c", b""))
            print(
                self._show_counters(self._shown["links"], now["links"], now["time_s"] - self._shown["time_s"]),
                flush=True,
            )
            self._shown = now
        except HaltereError as error:
            print(f"haltere: {error}", file=sys.stderr)
        return True

    def _carry_out(self, scenario: _core.Scenario) -> None:
        why = self._asked("s", _core.kernel_fabric(scenario).encode())
        if why:
            raise InputError(why.decode())

    def _asked(self, kind: str, text: bytes) -> bytes:
        self._line.say(kind, text)
        while (heard := self._line.hear(_LOOK_S)) is not None:
            if heard[0]:
                return heard[1]
        raise HaltereError("the guest has ended")

    def _converse(self) -> None:
        passed_on = 0
        while (heard := self._line.hear(_LOOK_S)) is not None:
            kind, text = heard
            if kind == "o":
                self._show(text)
            elif kind == "r":
                self._answer(int(text))
                self._interrupts = 0  # the program had ended
            if self._interrupts > 1 and not kind:  # the program does not end, or its loop leaves no time to pass
                raise KeyboardInterrupt
            if self._interrupts > passed_on:
                self._progress.interrupt()
            passed_on = self._interrupts = 0 if kind else self._interrupts

    def _show(self, text: bytes) -> None:
        out = below(sys.stdout)
        out.buffer.write(text)
        out.flush()
        self._prompt = (self._prompt + text).rpartition(b"\n")[2]

    def _answer(self, now_ns: int) -> None:
        """A program reads: gives it a line, or nothing if there are no more."""
        while True:
            try:
                line = self._read(now_ns)
            except KeyboardInterrupt:
                below(sys.stdout).write("\n")
                line = b"\n"
            if not self._does(line.decode(errors="replace")):
                break
        self._prompt = b""
        with contextlib.suppress(OSError):  # the guest has ended
            self._line.say("l", line)

    def _read(self, now_ns: int) -> bytes:
        if not sys.stdin.isatty():
            return sys.stdin.buffer.readline()
        with contextlib.suppress(ImportError):
            import readline  # noqa: F401 (lines can be edited and come back)
        try:
            self._is_reading = True
            return input(f"\r[{now_ns / 1e9:.3f} s] {self._prompt.decode(errors='replace')}").encode() + b"\n"
        except EOFError:
            below(sys.stdout).write("\n")
            return b""
        finally:
            self._is_reading = False

    def _interrupt(self, number: int, frame: object) -> None:
        """Ctrl-C is for the program."""
        if self._is_reading:
            raise KeyboardInterrupt
        self._interrupts += 1


def _found(words: Sequence[str]) -> list[str]:
    """The words of a program; one that is named by a path from here has its path from the root."""
    first, *rest = words
    return [str(Path(first).absolute()) if "/" in first else first, *rest]
