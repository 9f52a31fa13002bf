"""The content security policy of a report in a real browser: nothing of the page's own is blocked, every chart is drawn, and what was
put into the page later does not run."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import haltere as package
from conftest import SMALL
from haltere.report import overview

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

#: Each canvas with its size, and how many of its pixels are not transparent.
DRAWN = """() => [...document.querySelectorAll("canvas")].map((one) => {
  const pixels = one.getContext("2d").getImageData(0, 0, one.width, one.height).data;
  let drawn = 0;
  for (let i = 3; i < pixels.length; i += 4) drawn += pixels[i] > 0;
  return [one.width * one.height, drawn];
})"""
WATCH = "window.blocked = []; addEventListener('securitypolicyviolation', (one) => blocked.push(`${one.violatedDirective}: ${one.blockedURI} ${one.sample}`));"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if not os.environ.get("CI"):
        pytest.importorskip("playwright.sync_api")
        if CHROMIUM is None:
            pytest.skip("no chromium on the path: apt-get install chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        one = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield one
        one.close()


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("policy")
    results = (
        package.Scenario.from_toml(SMALL)
        .with_values({"title": "<!-- </script><img src=x onerror=alert(1)>"})
        .run(seeds=2, out=folder)
    )
    overview.document(results, figures=True).write(results.directory)
    return folder / "report.html"


def opened(browser: Any, path: Path) -> tuple[Any, list[str]]:
    """The page, and what went wrong in it so far."""
    tab = browser.new_page(viewport={"width": 1100, "height": 900})
    wrong: list[str] = []
    tab.on("pageerror", lambda error: wrong.append(str(error)))
    tab.on("dialog", lambda dialog: wrong.append(f"dialog: {dialog.message}"))
    tab.on("console", lambda line: wrong.append(line.text) if line.type in ("error", "warning") else None)
    tab.add_init_script(WATCH)
    tab.goto(path.resolve().as_uri())
    return tab, wrong


def test_the_policy_blocks_nothing_of_the_reports_own_and_every_chart_is_drawn(browser: Any, report: Path) -> None:
    tab, wrong = opened(browser, report)
    tab.wait_for_selector("canvas")
    for i in range(tab.locator("canvas").count()):
        tab.locator("canvas").nth(i).scroll_into_view_if_needed()
    tab.wait_for_timeout(300)
    charts = tab.evaluate(DRAWN)
    assert charts and all(pixels and drawn > pixels / 500 for pixels, drawn in charts), charts
    assert tab.evaluate("blocked") == [] and wrong == []
    tab.close()


def test_a_script_that_was_put_into_the_file_does_not_run(browser: Any, report: Path) -> None:
    page = report.read_text()
    changed = report.with_name("changed.html")
    changed.write_text(
        page.replace("</body>", "<script>window.ran = 1</script><img src=x: onerror='window.ran = 1'></body>")
    )
    assert changed.read_text() != page
    tab, wrong = opened(browser, changed)
    tab.wait_for_selector("canvas")
    assert tab.evaluate("window.ran") is None
    assert any("script-src" in one for one in tab.evaluate("blocked")) and wrong, "the browser says what it blocked"
    tab.close()
