"""A process that has loaded the package and its libraries, and forks for each command of a test: loading takes most of the time of a short
command. As a program it serves the socket whose number it is given."""

from __future__ import annotations

import array
import gc
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

#: Variables that Python reads before the first module is loaded.
_AT_START = ("PYTHON", "LC_", "LANG")


def _start() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name.startswith(_AT_START) or name == "PATH"}


class Warm:
    """The other end of such a process."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        self.start, self._socket = _start(), ours
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, __file__, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
            )

    @property
    def fits(self) -> bool:
        """Whether a command that begins here would find the same environment when Python starts."""
        return self._process.poll() is None and self.start == _start()

    def run(
        self, arguments: list[str], cwd: Path, env: dict[str, str], timeout: float
    ) -> subprocess.CompletedProcess[str]:
        """As `subprocess.run` of `haltere ARGUMENTS` does, with what it writes captured."""
        with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
            asked = json.dumps([arguments, str(cwd), env]).encode()
            files = array.array("i", [out.fileno(), err.fileno()])
            self._socket.sendmsg([len(asked).to_bytes(8, "big")], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, files)])
            self._socket.sendall(asked)
            self._socket.settimeout(None)
            child = int.from_bytes(_exactly(self._socket, 8), "big")
            self._socket.settimeout(timeout)
            try:
                status = int.from_bytes(_exactly(self._socket, 8), "big", signed=True)
            except TimeoutError:
                os.kill(child, signal.SIGKILL)
                self._socket.settimeout(None)
                _exactly(self._socket, 8)
                raise subprocess.TimeoutExpired(["haltere", *arguments], timeout) from None
            texts = [(file.seek(0), file.read())[1] for file in (out, err)]
        return subprocess.CompletedProcess(["haltere", *arguments], status, *texts)

    def close(self) -> None:
        """Ends the process."""
        self._socket.close()
        self._process.wait()


def _exactly(source: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        more = source.recv(count - len(data))
        if not more:
            raise EOFError
        data += more
    return data


def _serve(source: socket.socket) -> None:
    """Answers requests; in a child it returns, set up as the command is to find it."""
    while True:
        size, ancillary, _, _ = source.recvmsg(8, socket.CMSG_SPACE(8))
        if not size:
            os._exit(0)
        files = array.array("i", ancillary[0][2])
        arguments, cwd, env = json.loads(_exactly(source, int.from_bytes(size, "big")))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # numpy has threads, which wait
            child = os.fork()
        if child == 0:
            source.close()
            for number, file in enumerate(files, 1):
                os.dup2(file, number)
                os.close(file)
            os.chdir(cwd)
            os.environ.clear()
            os.environ.update(env)
            sys.argv, sys.path[0] = ["haltere", *arguments], cwd
            return
        for file in files:
            os.close(file)
        source.sendall(child.to_bytes(8, "big"))
        _, status = os.waitpid(child, 0)
        source.sendall(os.waitstatus_to_exitcode(status).to_bytes(8, "big", signed=True))


if __name__ == "__main__":
    import haltere.__main__
    import haltere.report.explore
    import haltere.report.over
    import haltere.report.overview

    gc.freeze()
    _serve(socket.socket(fileno=int(sys.argv[1])))
    sys.exit(haltere.__main__.main())
