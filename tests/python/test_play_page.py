"""The playground in a browser: what a lecturer does on the page, and what the page then shows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from browsing import hosted, page_of, served_at, until, wait, web_folder
from haltere import Scenario


@pytest.fixture(params=["server", pytest.param("worker", marks=pytest.mark.slow)])
def page(request: pytest.FixtureRequest, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The page of a server of its own, and the page whose simulator is in a worker."""
    alone = request.param == "worker"
    server = hosted(web_folder(tmp_path_factory)) if alone else served_at(tmp_path)
    with server as address, page_of(address + "play.html" if alone else address) as page:
        yield page


#: Mean of the queue over the last seconds, as the page holds it.
MEAN = """(seconds) => { const { t, packets } = playground.stores()[0].queue, now = t.at(-1);
  const mine = packets.filter((_, i) => t[i] > now - seconds); return mine.reduce((a, b) => a + b, 0) / mine.length; }"""
#: How many pixels of a chart have been drawn on.
PIXELS = """(id) => { const canvas = document.querySelector(`[data-chart=${id}] canvas`);
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  let sum = 0; for (let i = 3; i < data.length; i += 4) sum += data[i] > 0; return sum; }"""


def test_choose_run_change_the_discipline_and_see_the_queue_fall(page: Any) -> None:
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
    page.get_by_label("Queue discipline", exact=True).select_option("codel")
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
    window = page.evaluate("playground.columns()[0].charts.plots[1].figure.lines.at(-1)")
    begun = page.evaluate("playground.stores()[0].flows.cwnd[4][0]")
    assert window["name"] == "reno" and begun is None, "its line begins when it joins"
    # Export what there is.
    with page.expect_download() as download:
        page.get_by_role("button", name="Export").click()
    scenario = Scenario.load(download.value.path())
    assert scenario.to_dict()["topology"]["dumbbell"]["bottleneck"]["queue"]["kind"] == "codel"
    assert [one.get("congestion") for one in scenario.to_dict()["traffic"]][1:] != []
    page.get_by_role("button", name="Stop").click()
    page.get_by_role("button", name="Run", exact=True).wait_for()


def test_two_setups_side_by_side(page: Any) -> None:
    page.get_by_role("button", name="Compare").click()
    assert page.get_by_label("Queue discipline", exact=True).input_value() == "fq_codel"
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
