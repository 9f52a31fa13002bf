"""The playground in a browser: what a lecturer does on the page, and what the page then shows."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import command
from haltere import Scenario


@pytest.fixture
def browser_page() -> Iterator[Any]:
    """A page of headless Chromium. In CI its absence is a failure, elsewhere the test is skipped."""
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        sync_playwright = None
    if chromium is None or sync_playwright is None:
        missing = "Chromium" if chromium is None else "playwright"
        assert not os.environ.get("CI"), f"{missing} must be installed in CI"
        pytest.skip(f"{missing} is not installed")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        try:
            yield browser.new_page(viewport={"width": 1280, "height": 800}, color_scheme="light")
        finally:
            browser.close()


@pytest.fixture
def served(tmp_path: Path) -> Iterator[str]:
    """`haltere play` in a process of its own: its address."""
    process = subprocess.Popen(
        command("play", "--no-browser"), cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait(10)


#: Mean of the queue over the last seconds, as the page holds it.
MEAN = """(seconds) => { const { t, packets } = playground.stores()[0].queue, now = t.at(-1);
  const mine = packets.filter((_, i) => t[i] > now - seconds); return mine.reduce((a, b) => a + b, 0) / mine.length; }"""
#: How many pixels of a chart have been drawn on.
PIXELS = """(id) => { const canvas = document.querySelector(`[data-chart=${id}] canvas`);
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  let sum = 0; for (let i = 3; i < data.length; i += 4) sum += data[i] > 0; return sum; }"""


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


def test_choose_run_change_the_discipline_and_see_the_queue_fall(browser_page: Any, served: str) -> None:
    page, errors = browser_page, []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.goto(served)
    # Choose: a rate, a wrong one first.
    rate = page.locator("[data-path='topology.dumbbell.bottleneck.rate']")
    rate.locator("input").fill("20 Mbps")
    wait(page, "document.querySelector('.error:not(:empty)')")
    assert "rate must be a rate in bit/s" in rate.locator(".error").inner_text()
    assert rate.locator("input").get_attribute("aria-invalid") == "true"
    rate.locator("input").fill("20Mbit")
    wait(page, "!document.querySelector('.error:not(:empty)')")
    empty = {chart: page.evaluate(PIXELS, chart) for chart in ("queue", "cwnd", "share", "ping")}
    # Run, and see the lines move.
    page.get_by_role("radio", name="20×").click()
    page.get_by_role("button", name="Run", exact=True).click()
    until(page, 5)
    first = page.evaluate("playground.stores()[0].now")
    for chart, before in empty.items():
        wait(page, f"({PIXELS})({chart!r}) > {before} + 300")
    until(page, 20)
    assert page.evaluate("playground.stores()[0].now") > first
    high = page.evaluate(MEAN, 10)
    # Change the discipline while it runs.
    page.get_by_label("Queue discipline").select_option("codel")
    changed = page.evaluate("playground.stores()[0].now")
    until(page, changed + 25)
    low = page.evaluate(MEAN, 10)
    assert high > 150 and low < high / 3, f"the queue fell from {high} to {low} packets"
    assert [mark["text"] for mark in page.evaluate("playground.stores()[0].marks")] == ["codel"]
    # Rate and delay, and a flow more.
    page.locator("[data-path='topology.dumbbell.bottleneck.delay'] input").fill("20ms")
    page.locator("[data-path='topology.dumbbell.bottleneck.delay'] input").press("Enter")
    page.get_by_label("Congestion control of the flows to add").select_option("reno")
    page.get_by_role("button", name="Let a flow join").click()
    wait(page, "playground.stores()[0].marks.length === 3")
    assert [mark["text"] for mark in page.evaluate("playground.stores()[0].marks")] == ["codel", "delay 20ms", "+ reno"]
    wait(page, "playground.stores()[0].flows.received[4]?.at(-1) > 0")
    # Export what there is.
    with page.expect_download() as download:
        page.get_by_role("button", name="Export").click()
    scenario = Scenario.load(download.value.path())
    assert scenario.to_dict()["topology"]["dumbbell"]["bottleneck"]["queue"]["kind"] == "codel"
    assert [one.get("congestion") for one in scenario.to_dict()["traffic"]][1:] != []
    page.get_by_role("button", name="Stop").click()
    page.get_by_role("button", name="Run", exact=True).wait_for()
    assert errors == []


def test_two_setups_side_by_side(browser_page: Any, served: str) -> None:
    page = browser_page
    page.goto(served)
    page.get_by_role("button", name="Compare").click()
    assert page.get_by_label("Queue discipline").input_value() == "fq_codel"
    page.get_by_role("radio", name="20×").click()
    page.get_by_role("button", name="Run", exact=True).click()
    until(page, 15)
    delays = [page.locator(f"[data-setup='{i}'] [data-tile=delay] b").inner_text() for i in (0, 1)]
    a, b = (float(text.split()[0]) for text in delays)
    assert a > 3 * b, f"drop tail waits {a} ms, FQ-CoDel {b} ms"
    a, b = page.evaluate("playground.stores().map((store) => store.now)")
    assert a == b, "in step"
    with page.expect_download() as download:
        page.get_by_role("button", name="Export").click()
    assert download.value.suggested_filename in ("play-a.toml", "play-b.toml")
