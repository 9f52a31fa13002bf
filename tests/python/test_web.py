"""The page that runs experiments in a browser: its scripts without a module, and, marked slow, the module compiled: the same bytes and
the same numbers as here, in Node and in Chromium."""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from browsing import build, hosted, program, web_folder
from conftest import ROOT, SMALL
from firefox import firefox
from haltere import Scenario, _core, templates
from haltere.analysis import metrics, stats
from haltere.analysis.measures import by_point
from haltere.play import browser, bundle

WEB = ROOT / "python" / "haltere" / "play" / "web"
#: Ten experiments, each at its first point: every kind of traffic and of topology that an example has.
TEN = ("bbr-vs-cubic", "aqm-shootout", "cellular", "incast", "l4s", "multipath", "rafle", "short-flows", "video", "web")


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


# -- with the module ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return web_folder(tmp_path_factory)


NODE = """
import fs from "fs"; import zlib from "zlib";
const { Simulator } = await import(process.argv[2] + "/simulator.js"), { measure, TABLES } = await import(process.argv[2] + "/metrics.js");
const module = new WebAssembly.Module(zlib.gunzipSync(fs.readFileSync(process.argv[3]))), simulator = new Simulator(module), { kinds } = simulator.ask({ do: "about" });
const out = JSON.parse(fs.readFileSync(0)).map((text) => {
  const told = simulator.ask({ do: "run", text, point: 0, seed: 1, tables: TABLES });
  simulator.ask({ do: "start", text, point: 0, seed: 1, fixed: true });
  for (const seconds of [0.7, 1e6]) simulator.ask({ do: "advance", seconds, links: [0], flows: [0] });
  return { digest: told.digest, events: told.events, watched: simulator.ask({ do: "finish", tables: [] }).digest, values: measure(told, kinds) };
});
console.log(JSON.stringify(out));
"""


@pytest.mark.slow
def test_ten_experiments_have_the_same_bytes_and_numbers_in_node(folder: Path, tmp_path: Path) -> None:
    if shutil.which("node") is None:
        pytest.skip("node is not installed; Chromium has the same test")
    texts = [templates.find(name).text for name in TEN]
    (tmp_path / "runs.mjs").write_text(NODE)
    command = ["node", str(tmp_path / "runs.mjs"), str(WEB), str(folder / "haltere.wasm.gz")]
    told = json.loads(
        subprocess.run(command, input=json.dumps(texts), capture_output=True, text=True, check=True).stdout
    )
    for name, text, one in zip(TEN, texts, told, strict=True):
        point = _core.Scenario.from_toml(text, name).points()[0][1]
        native = _core.run(point, 1)
        assert (one["digest"], one["watched"], one["events"]) == (native.digest(), native.digest(), native.events), name
        results = Scenario(point).run(seeds=1, out=tmp_path / "results" / name)
        run = by_point(results)[0][1][0]
        for metric, value in one["values"].items():
            head, _, part = metric.partition(".")
            known = metrics.METRICS[head]
            own = float(run.goodput_of(run.classes()[part]).sum()) if part else known.value(run) * known.printed[0]
            assert value == pytest.approx(own, rel=1e-9, abs=1e-12), (name, metric)


def wait(page: Any, expression: str) -> None:
    page.wait_for_function(f"() => Boolean({expression})", timeout=120_000)


SHOWN = "document.querySelector('#digest').textContent"


def addresses(folder: Path, address: str) -> Iterator[tuple[str, str, str]]:
    """Ten experiments, each with the address of its page, of a file and of a server in turn, and its digest."""
    for place, name in enumerate(TEN):
        page = (folder / "index.html").as_uri() if place % 2 else address + "index.html"
        native = _core.run(_core.Scenario.from_toml(templates.find(name).text, name).points()[0][1], 1).digest()
        yield name, f"{page}#example={name}", native


READY = f"{SHOWN} && !document.querySelector('#digested').hidden"


@pytest.mark.slow
def test_ten_digests_in_chromium_from_a_file_and_from_a_server(folder: Path) -> None:
    with hosted(folder) as address, chromium() as page:
        for name, where, native in addresses(folder, address):
            page.goto("about:blank")
            page.goto(where)
            wait(page, READY)
            assert page.evaluate(SHOWN) == native, name


@pytest.mark.slow
def test_ten_digests_in_firefox_from_a_file_and_from_a_server(folder: Path, tmp_path: Path) -> None:
    with hosted(folder) as address, firefox(tmp_path) as page:
        for name, where, native in addresses(folder, address):
            page.goto("about:blank")
            page.goto(where)
            page.wait(READY)
            assert page.evaluate(SHOWN) == native, name


@pytest.mark.slow
def test_a_mistake_is_marked_a_completion_taken_and_all_runs_done_by_keyboard(folder: Path) -> None:
    with chromium() as page:
        page.goto((folder / "index.html").as_uri() + browser.fragment(SMALL))
        wait(page, "laboratory.first")
        area = page.get_by_label("Experiment file")
        area.focus()
        # A mistake: its line is marked, its words are shown, and the runs are not offered.
        area.fill(SMALL.replace('"codel"', '"codl"'))
        wait(page, "document.querySelector('#notice.bad')")
        assert "did you mean `codel`" in page.locator("#notice").inner_text()
        assert (
            page.locator("#editor .lines .wrong").inner_text() == "9"
            and page.get_by_role("button", name="Run", exact=False).first.is_disabled()
        )
        page.get_by_role("button", name="Go to line 9").press("Enter")
        assert page.evaluate("document.activeElement.id") == "file"
        # Put right with completion.
        area.fill(SMALL.replace('kind = "codel"', ""))
        at = SMALL.replace('kind = "codel"', "").index("queue = { ") + len("queue = { ")
        page.evaluate(f"document.getElementById('file').setSelectionRange({at}, {at})")
        page.keyboard.press("Control+Space")
        page.keyboard.type("ki")
        page.keyboard.press("Enter")
        wait(page, "!document.getElementById('offers').hidden")
        page.keyboard.type('"fq_co')
        page.keyboard.press("Tab")
        assert 'queue = { kind = "fq_codel"' in area.input_value()
        wait(page, "!document.querySelector('#notice.bad')")
        page.keyboard.press("Control+Enter")
        wait(page, "laboratory.state.sweep.runs.size === 3 && !laboratory.state.running")
        assert (
            "Means of 3 runs" in page.locator("#table caption").inner_text()
            and "±" in page.locator("#table").inner_text()
        )
        with page.expect_download() as download:
            page.get_by_role("button", name="Export").click()
            page.get_by_role("button", name="Results, one row per run (CSV)").click()
        rows = Path(download.value.path()).read_text().splitlines()
        assert len(rows) == 4 and rows[0].startswith("seed,digest,events,goodput (Mbit/s)")
        page.get_by_role("button", name="Close").click()
        for figure, kind in (("queue", "SVG"), ("share", "PNG"), ("delays", "CSV")):
            with page.expect_download() as download:
                page.locator(f"[data-chart={figure}]").get_by_role("button", name=kind).click()
            assert Path(download.value.path()).stat().st_size > 500
        # The link that it shares has the file as it is now.
        page.get_by_role("button", name="Share").click()
        wait(page, "document.querySelector('#sharing').open")
        link = page.get_by_label("Link to this experiment").input_value()
        now = area.input_value()
        page.goto("about:blank")
        page.goto(link)
        wait(page, "laboratory.first")
        assert page.get_by_label("Experiment file").input_value() == now


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_sweep_on_a_narrow_page(folder: Path, scheme: str) -> None:
    with chromium(420, 860, scheme) as page:
        page.goto((folder / "index.html").as_uri() + "#example=bbr-vs-cubic")
        wait(page, "laboratory.first")
        assert page.evaluate("document.documentElement.dataset.theme") == scheme
        page.get_by_label("Runs of each point", exact=False).or_(page.locator("#seeds")).first.fill("2")
        page.get_by_role("button", name="Run all 12").click()
        wait(page, "laboratory.state.sweep.runs.size === 12 && !laboratory.state.running")
        lines = page.evaluate("laboratory.over.figure.lines.map((one) => one.values)")
        assert len(lines[0]) == 6 and all(sum(of_both) > 15 for of_both in zip(*lines, strict=True))
        for view in ("Experiment", "Results"):
            page.get_by_role("radio", name=view).click()
            assert page.evaluate("document.documentElement.scrollWidth") <= 420, view
