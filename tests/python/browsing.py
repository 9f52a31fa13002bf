"""What the browser tests of the playground share: a server, a page of headless Chromium, and waiting."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from conftest import command


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
