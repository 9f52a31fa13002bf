"""A live network of namespaces: the wire's, for programs that a person starts."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from .. import _core
from ..errors import HaltereError, InputError
from ..signals import handled
from .base import Change, Servers, Show

__all__ = ["NETWORK", "Namespaces"]

#: Names the socket of the network in which a program runs.
NETWORK = "HALTERE_NETWORK"
#: Set in the user namespace that a command made for itself.
_INSIDE = "HALTERE_USER_NAMESPACE"
_SHELL = os.environ.get("SHELL") or "/bin/sh"


class Namespaces:
    """The hosts of an experiment as network namespaces. Programs in them ask for counters and changes at a socket."""

    def __init__(self, scenario: _core.Scenario, outside: str | None) -> None:
        _enter_user_namespace()
        self._network = _core.LiveNetwork(scenario, outside)
        self.hosts = self._network.hosts

    def run(self, host: str, command: Sequence[str], servers: Servers, change: Change, show: Show) -> int:
        """See :class:`haltere.worlds.base.Live`."""
        try:
            # Ctrl-C is for the program, which has the same terminal.
            with _answering(self._network, change) as path, handled(signal.SIG_IGN, signal.SIGINT, signal.SIGQUIT):
                environment = [(NETWORK, path)]
                for where, commands in servers.items():
                    for words in commands:
                        self._network.serve(where, list(words), environment)
                return self._network.run(host, list(command) or [_SHELL], environment)
        finally:
            self._network.close()


def _enter_user_namespace() -> None:
    """A user who may make no network namespace gets a user namespace first: this command starts again inside of it."""
    if os.geteuid() == 0 or _INSIDE in os.environ:
        return
    unshare = shutil.which("unshare")
    if unshare is None:
        raise InputError("making network namespaces needs root, or the program `unshare` (util-linux)")
    os.environ[_INSIDE] = "1"
    sys.stdout.flush()
    os.execv(unshare, [unshare, "-Urn", sys.executable, "-P", "-m", "haltere", *sys.argv[1:]])


@contextmanager
def _answering(network: _core.LiveNetwork, change: Change) -> Iterator[str]:
    """A socket at which `haltere network` asks; gives its path."""
    folder = tempfile.mkdtemp(prefix="haltere-network-")
    path = os.path.join(folder, "socket")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(path)
        listener.listen()
        threading.Thread(target=_answer_all, args=(listener, network, change), daemon=True).start()
        try:
            yield path
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _answer_all(listener: socket.socket, network: _core.LiveNetwork, change: Change) -> None:
    while True:
        try:
            line, _ = listener.accept()
        except OSError:
            return
        with line, line.makefile("rw", encoding="utf-8") as stream:
            try:
                changes = json.loads(stream.readline())
                if changes:
                    change(changes, network.change)
                answer = {"network": json.loads(network.snapshot())}
            except HaltereError as error:
                answer = {"error": str(error)}
            except ValueError:
                answer = {"error": "not understood"}
            stream.write(json.dumps(answer) + "\n")
