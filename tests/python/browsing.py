"""What the browser tests of the playground share: a server, a page of headless Chromium, and waiting."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from conftest import ROOT, command


@contextmanager
def served_at(folder: Path, *arguments: str) -> Iterator[str]:
    """`haltere play` in a process of its own: its address."""
    process = subprocess.Popen(
        command("play", "--no-browser", *arguments),
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait(60)


@contextmanager
def page_of(address: str, width: int = 1280, height: int = 800, scheme: str = "light") -> Iterator[Any]:
    """A page of headless Chromium at that address. What goes wrong in it, and what it asks of others, ends the test. In CI the absence
    of Chromium is a failure, elsewhere the test is skipped."""
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        sync_playwright = None
    if chromium is None or sync_playwright is None:
        missing = "Chromium" if chromium is None else "playwright"
        assert not os.environ.get("CI"), f"{missing} must be installed in CI"
        pytest.skip(f"{missing} is not installed")
    wrong: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        try:
            page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
            page.on("pageerror", lambda error: wrong.append(str(error)))
            page.on("console", lambda line: wrong.append(line.text) if line.type == "error" else None)
            page.on("request", lambda one: wrong.append(one.url) if not is_local(one.url) else None)
            page.goto(address)
            wait(page, "window.playground?.state.setups.length")
            yield page
        finally:
            browser.close()
    assert wrong == []


def is_local(url: str) -> bool:
    """True for what the playground's own server or the page itself gives."""
    return url.startswith(("http://127.0.0.1:", "ws://127.0.0.1:", "blob:http://127.0.0.1:", "data:", "about:"))


def wait(page: Any, expression: str) -> None:
    """Waits until the page says that it is so. (Playwright's own way needs an eval, which the page forbids.)"""
    for _ in range(1200):
        if page.evaluate(f"Boolean({expression})"):
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"for a minute the page did not say that {expression}")


def until(page: Any, seconds: float) -> None:
    """Waits until so much has been simulated."""
    wait(page, f"playground.stores()[0]?.now >= {seconds}")


def run(page: Any, speed: str) -> None:
    """Starts the run at that speed."""
    page.get_by_role("radio", name=speed if speed == "max" else f"{speed}×", exact=True).click()
    page.get_by_role("button", name="Run", exact=True).click()
    wait(page, "playground.state.running && playground.stores()[0]")


def program(path: Path) -> ModuleType:
    """A program of `tools` as a module."""
    spec = importlib.util.spec_from_file_location(f"{path.parent.name}_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = found
    spec.loader.exec_module(found)
    return found


build = program(ROOT / "tools" / "web" / "build.py")
#: The pages that were built for these tests.
_BUILT: list[Path] = []


def web_folder(factory: pytest.TempPathFactory) -> Path:
    """The pages that need no server, with their module: those that `make web` wrote, if no source is newer, or built now."""
    if not _BUILT:
        made = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "web"
        kinds = (".rs", ".js", ".css", ".html", ".py")
        folders = (ROOT / one for one in ("crates", "python/haltere/play", "tools/web"))
        newest = max(one.stat().st_mtime for folder in folders for one in folder.rglob("*") if one.suffix in kinds)
        if not (made / "play.html").exists() or (made / "play.html").stat().st_mtime < newest:
            if build.toolchain() is None:
                assert not os.environ.get("CI"), build.MISSING
                pytest.skip(build.MISSING)
            made = factory.mktemp("web")
            assert build.main([str(made)]) == 0, "it is small enough"
        _BUILT.append(made)
    return _BUILT[0]


@contextmanager
def hosted(folder: Path) -> Iterator[str]:
    """A plain web host of that folder: its address."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            return None

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/"
    finally:
        server.shutdown()
