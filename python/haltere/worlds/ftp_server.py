"""The FTP server of uploads on the wire: pyftpdlib, anonymous, storing into nothing. A program of its own, started in a namespace."""

from __future__ import annotations

import logging
import os
import sys
import warnings
from typing import Any


def main() -> int:
    """Serves port 21 until it is ended; says `ready` when it does."""
    warnings.simplefilter("ignore")  # of an anonymous user who may write, and of modules that Python will drop
    try:
        from pyftpdlib.authorizers import DummyAuthorizer
        from pyftpdlib.filesystems import AbstractedFS
        from pyftpdlib.handlers import DTPHandler, FTPHandler
        from pyftpdlib.servers import FTPServer
    except ImportError:
        print(
            "pyftpdlib (2 or newer) must be installed for uploads on the wire: pip install 'haltere[wire]'",
            file=sys.stderr,
        )
        return 1

    class Nothing(AbstractedFS):  # type: ignore[misc]
        """Takes every file and keeps none."""

        def open(self, filename: str, mode: str) -> Any:
            return open(os.devnull, mode)

    class Patient(DTPHandler):  # type: ignore[misc]
        """A data connection behind a long queue may be silent for long."""

        timeout = 3600
        ac_in_buffer_size = 1 << 18

    class Passive(FTPHandler.passive_dtp):  # type: ignore[misc]
        """So may the client that is to open one."""

        timeout = 3600

    class Handler(FTPHandler):  # type: ignore[misc]
        """As patient on the control connection."""

        abstracted_fs = Nothing
        dtp_handler = Patient
        passive_dtp = Passive
        timeout = 0
        banner = "ready"
        use_sendfile = False

    authorizer = DummyAuthorizer()
    authorizer.add_anonymous("/", perm="elradfmwMT")
    Handler.authorizer = authorizer
    logging.disable()
    FTPServer.max_cons = 0
    server = FTPServer(("", 21), Handler, backlog=4096)
    print("ready", flush=True)
    server.serve_forever()
    return 0


if __name__ == "__main__":
    sys.exit(main())
