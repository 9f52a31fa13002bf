"""The page that runs experiments in a browser: its scripts, without a module."""

from __future__ import annotations

import json
import math
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from browsing import build, program
from conftest import ROOT, SMALL
from haltere import Scenario, _core, templates
from haltere.analysis import stats
from haltere.play import browser, bundle

WEB = ROOT / "python" / "haltere" / "play" / "web"


@contextmanager
def chromium(width: int = 1280, height: int = 860, scheme: str = "light") -> Iterator[Any]:
    """A page of headless Chromium. An error in it, or a request to another machine, ends the test."""
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        sync_playwright = None
    if found is None or sync_playwright is None:
        missing = "Chromium" if found is None else "playwright"
        assert not os.environ.get("CI"), f"{missing} must be installed in CI"
        pytest.skip(f"{missing} is not installed")
    wrong: list[str] = []
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        try:
            page = started.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
            page.on("pageerror", lambda error: wrong.append(str(error)))
            page.on("request", lambda one: wrong.append(one.url) if is_foreign(one.url) else None)
            yield page
        finally:
            started.close()
    assert wrong == []


def is_foreign(url: str) -> bool:
    return url.startswith(("http:", "https:", "ws:", "wss:")) and "//127.0.0.1:" not in url


def called(page: Any, file: str, call: str) -> Any:
    """What an expression gives that may use all that a script of the page exports."""
    path = (WEB / file).resolve()
    return page.evaluate(f"(() => {{ {bundle.bundle(path)} const own = {bundle.variable(path)}; return {call}; }})()")


@pytest.fixture(scope="module")
def blank() -> Iterator[Any]:
    with chromium() as page:
        yield page


# -- without a module -----------------------------------------------------------------------------------------------------


def test_the_page_is_one_file_that_asks_nobody(tmp_path: Path) -> None:
    packed = build.write(tmp_path, b"\0asm")
    assert packed < 100 and {one.name for one in tmp_path.iterdir()} == {
        "index.html", "play.html", "haltere.wasm.gz", "haltere.wasm.js", "uplot.LICENSE",
    }  # fmt: skip
    for name in ("index.html", "play.html"):
        text = (tmp_path / name).read_text()
        for foreign in ('src="', "src='", "url(http", 'href="http', 'href="/', "@import"):
            assert foreign not in text.partition("<script")[0], foreign
        assert "<!-- styles -->" not in text and text.count("</script>") == 4 and "<style>" in text
    with chromium() as page:
        page.goto((tmp_path / "index.html").as_uri())
        page.get_by_text("The simulator could not be loaded").wait_for()
        names = page.evaluate(
            "[...document.querySelectorAll('#example option')].map((one) => one.value).filter(Boolean)"
        )
    assert names == [one.name for one in templates.every() if one.path.suffix == ".toml"]


def test_intervals_and_percentiles_are_those_of_the_reports(blank: Any) -> None:
    for n in (2, 3, 4, 5, 10, 11, 30, 200):
        assert called(blank, "statistics.js", f"own.studentT({n - 1})") == pytest.approx(
            stats.student_t(0.95, n - 1), rel=1e-9
        )
    values = [3.0, 1.5, 9.25, 4.0, 4.0, 7.5]
    own, ours = called(blank, "statistics.js", f"own.interval({values})"), stats.mean(values)
    assert (own["mean"], own["half"]) == pytest.approx((ours.mean, ours.half), rel=1e-12)
    for q in (0, 1, 50, 95, 99, 100):
        assert called(blank, "statistics.js", f"own.percentile({values}, {q})") == pytest.approx(
            stats.percentile(values, q)
        )
    assert called(blank, "statistics.js", "own.interval([5])") == {"mean": 5, "half": None, "n": 1}
    for one in (stats.mean(values), stats.mean([2000.0, 2200.0, 2150.0]), stats.Mean(10.0, math.nan, math.nan, 1)):
        half = None if math.isnan(one.half) else one.half
        said = called(blank, "statistics.js", f"own.spoken({json.dumps({'mean': one.mean, 'half': half})}, 2)")
        assert said == one.format(2)


CARET = "‸"
OFFERS = [
    ("top[‸", "header", "[topology.dumbbell]"),
    ("‸", "key", "duration"),
    ('[topology.dumbbell]\nbott‸', "key", "bottleneck"),
    ('[topology.dumbbell]\nbottleneck = { rate = "1Mbit", de‸', "key", "delay"),
    ('[topology.dumbbell]\nbottleneck = { queue = { kind = "co‸', "value", '"codel"'),
    ('[topology.dumbbell]\nbottleneck = { queue = { kind = "codel", ‸ } }', "key", "target"),
    ('[topology.dumbbell]\nbottleneck = { queue = { kind = "fq_co‸ } }', "value", '"fq_codel"'),
    ('[[traffic]]\nkind = "vi‸"', "value", '"video"'),
    ('[[traffic]]\n‸\nkind = "bulk"', "key", "congestion"),
    ('[[traffic]]\nkind = "bulk"\ncongestion = ["cubic", "bb‸"]', "value", '"bbr"'),
    ('[[traffic]]\nkind = "ping"\n\n[[traffic]]\nkind = "bulk"\nec‸', "key", "ecn"),
    ('[[traffic]]\nkind = "bulk"\necn = ‸', "value", "true"),
    ("[measure]\ndel‸", "key", "delays"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "place", "offered"), OFFERS)
def test_the_editor_offers_what_the_schema_has_at_the_caret(blank: Any, text: str, place: str, offered: str) -> None:
    if text.startswith("top["):
        text = text.removeprefix("top")
    at, plain = text.index(CARET), text.replace(CARET, "")
    found = called(
        blank,
        "toml.js",
        f"own.offers({_core.schema()}, own.context({json.dumps(plain)}, {at})).map((one) => one.label)",
    )
    seen = called(blank, "toml.js", f"own.context({json.dumps(plain)}, {at}).place")
    assert (seen, offered in found) == (place, True), found


def test_what_is_given_or_of_another_kind_is_not_offered(blank: Any) -> None:
    text = '[[traffic]]\nkind = "ping"\ninterval = "1s"\n'
    found = called(
        blank,
        "toml.js",
        f"own.offers({_core.schema()}, own.context({json.dumps(text)}, {len(text)})).map((one) => one.label)",
    )
    assert "pairs" in found and not {"congestion", "interval", "kind"} & set(found)


def test_a_link_holds_the_file_in_python_and_on_the_page(blank: Any) -> None:
    text = SMALL + "# Größe: 5 µs\n"
    made = browser.fragment(text)
    path = (ROOT / "python/haltere/play/page/share.js").resolve()
    script = f"async (packed) => {{ {bundle.bundle(path)} return [await page_share.unpack(packed), await page_share.unpack(await page_share.pack({json.dumps(text)}))]; }}"
    assert blank.evaluate(script, made.removeprefix("#file=")) == [text, text]


def test_a_report_links_to_its_experiment(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from haltere.report import overview

    results = Scenario.load(small).run(seeds=1, out=small.parent / "results")
    monkeypatch.setattr(browser, "FOLDER", small.parent / "none")
    assert "Run it again" not in overview.document(results, figures=False).html()
    monkeypatch.setenv(browser.VARIABLE, "https://example.org/lab/")
    made = overview._again(results)
    assert made is not None and made[1].startswith("https://example.org/lab/#file=")
    import base64
    import zlib

    packed = made[1].partition("#file=")[2]
    text = zlib.decompress(base64.urlsafe_b64decode(packed + "=" * (-len(packed) % 4)), -15).decode()
    again = _core.Scenario.from_toml(text, "again.toml")
    assert json.loads(again.to_json()) == Scenario.load(small).to_dict()


def test_examples_and_experiments_of_the_site_open_the_page() -> None:
    site = program(ROOT / "tools" / "site" / "build.py")
    block = f'<div class="highlight-toml notranslate"><div class="highlight"><pre><span></span>{SMALL.replace(chr(34), "<span>&quot;</span>")}</pre></div>\n</div>'
    text = f'<img alt="x" src="../_images/web.png" /><img src="../_images/logo.png" /><p>web.toml</p>{block}'
    out = site.with_runs(text, "../browser/index.html", ["web"])
    assert '<a title="Run it in the browser" href="../browser/index.html#example=web"><img alt="x"' in out
    assert out.count("<a ") == 3 and f'href="../browser/index.html{browser.fragment(SMALL)}"' in out
    part = block.replace("[[traffic]]", "[traffic]")
    assert site.with_runs(part, "../browser/index.html", ["web"]) == part, "a part of an experiment is no experiment"
    other = block.replace("codel", "python:mine:Queue")
    assert site.with_runs(other, "../browser/index.html", ["web"]) == other, "the page reads no code of yours"
