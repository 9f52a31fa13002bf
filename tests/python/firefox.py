"""A page of headless Firefox, which is driven by WebDriver BiDi: Debian's Firefox, as it is."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from websockets.sync.client import ClientConnection, connect

NAMES = ("firefox-esr", "firefox")


class Page:
    """One page: it goes to addresses and evaluates expressions."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket, self._number = socket, 0
        self.ask("session.new", capabilities={})
        self._context = self.ask("browsingContext.getTree")["contexts"][0]["context"]

    def ask(self, method: str, **parameters: Any) -> Any:
        self._number += 1
        self._socket.send(json.dumps({"id": self._number, "method": method, "params": parameters}))
        while True:
            told = json.loads(self._socket.recv(timeout=120))
            if told.get("id") == self._number:
                assert told["type"] == "success", told
                return told["result"]

    def goto(self, address: str) -> None:
        self.ask("browsingContext.navigate", context=self._context, url=address, wait="complete")

    def evaluate(self, expression: str) -> Any:
        """What the expression gives: a string, a number or a truth value."""
        target = {"context": self._context}
        told = self.ask("script.evaluate", expression=expression, target=target, awaitPromise=True)
        assert told["type"] == "success", told
        return told["result"].get("value")

    def wait(self, expression: str) -> None:
        end = time.monotonic() + 120
        while not self.evaluate(f"Boolean({expression})"):
            assert time.monotonic() < end, f"the page did not say that {expression}"
            time.sleep(0.05)


@contextmanager
def firefox(folder: Path) -> Iterator[Page]:
    """A page of Firefox, with its profile in the folder; the test is skipped if there is none."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        pytest.skip("Firefox is not installed; Chromium has the same test")
    profile, log = folder / "profile", folder / "firefox.log"
    profile.mkdir()
    with log.open("w") as to:
        command = [found, "--headless", "--no-remote", "--profile", str(profile), "--remote-debugging-port", "0"]
        process = subprocess.Popen(command, stdout=to, stderr=to, env={"HOME": str(folder), "MOZ_HEADLESS": "1"})
    try:
        end = time.monotonic() + 120
        while not (listens := re.search(r"WebDriver BiDi listening on (ws://\S+)", log.read_text())):
            assert process.poll() is None and time.monotonic() < end, log.read_text()
            time.sleep(0.1)
        with connect(f"{listens[1]}/session", max_size=None) as socket:
            yield Page(socket)
    finally:
        process.terminate()
        process.wait(60)
