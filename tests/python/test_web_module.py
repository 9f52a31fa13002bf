"""The page that runs experiments in a browser, with its module: the same bytes and the same numbers as here, in Node, Chromium and Firefox."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from browsing import hosted, web_folder
from conftest import SMALL
from firefox import firefox
from haltere import Scenario, _core, templates
from haltere.analysis import metrics
from haltere.analysis.measures import by_point
from haltere.play import browser
from test_web import WEB, chromium

#: Ten experiments, each at its first point: every kind of traffic and of topology that an example has.
TEN = ("bbr-vs-cubic", "aqm-shootout", "cellular", "incast", "l4s", "multipath", "rafle", "short-flows", "video", "web")


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
