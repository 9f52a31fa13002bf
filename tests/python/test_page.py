"""The report in a browser: zoom, reading off, names that hide, sorting, downloads, and nothing asked of the network."""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from haltere import load
from haltere.analysis import stats
from haltere.report import overview, picture, plot
from haltere.report.document import Choice, Document, Figure
from haltere.runs.results import Results

playwright = (
    pytest.importorskip("playwright.sync_api")
    if not os.environ.get("CI")
    else __import__("playwright.sync_api").sync_api
)

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

EXPERIMENT = """\
title = "Two controls, two queues"
duration = "3s"
warmup = "1s"

[topology.dumbbell]
pairs = 4
access = { rate = "100Mbit", delay = "1ms" }
bottleneck = { rate = "10Mbit", delay = "5ms", queue = { kind = "codel" } }

[[traffic]]
kind = "bulk"
pairs = "all"
congestion = ["cubic", "reno"]

[[traffic]]
name = "ping"
kind = "ping"
pairs = [1]
interval = "50ms"

[sweep]
"topology.dumbbell.bottleneck.queue" = ["drop_tail", "codel"]
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if CHROMIUM is None:
        reason = "no chromium on the path: apt-get install chromium"
        if os.environ.get("CI"):
            pytest.fail(reason)
        print(f"skipped: {reason}")
        pytest.skip(reason)
    with playwright.sync_playwright() as driver:
        one = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield one
        one.close()


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    folder = tmp_path_factory.mktemp("page")
    (folder / "small.toml").write_text(EXPERIMENT)
    done = load(folder / "small.toml").run(seeds=2, out=folder / "out")
    overview.document(done, figures=True).write(done.directory)
    return done


@pytest.fixture
def page(browser: Any, results: Results) -> Iterator[Any]:
    """The report, opened; what it asks of the network and what goes wrong in it ends the test."""
    tab = browser.new_page(viewport={"width": 1100, "height": 900})
    wrong: list[str] = []
    tab.on("pageerror", lambda error: wrong.append(str(error)))
    tab.on("console", lambda line: wrong.append(line.text) if line.type in ("error", "warning") else None)
    tab.on(
        "request",
        lambda request: wrong.append(request.url) if not request.url.startswith(("file:", "data:", "blob:")) else None,
    )
    tab.goto((results.directory / "report.html").resolve().as_uri())
    tab.wait_for_selector("figure.choice[data-shown]")
    yield tab
    tab.close()
    assert wrong == []


def span(page: Any, name: str, which: int = 0) -> float:
    """How much of x a panel shows."""
    told: float = page.evaluate(
        "([name, i]) => { const f = haltere.live.map((one) => one.figure()).find((f) => f.key === name); return f.span(i); }",
        [name, which],
    )
    return told


def place(page: Any, name: str, which: int, x: float, y: float | None = None) -> tuple[float, float]:
    """Where on the page these values of a panel are; the middle of y if none is given."""
    left, top = page.evaluate(
        "([name, i, x, y]) => { const f = haltere.live.map((one) => one.figure()).find((f) => f.key === name); const [low, high] = f.ranges[i][1];"
        " const at = f.chart.convertToPixel({ gridIndex: i }, [x, y ?? (low + high) / 2]), box = () => f.host.getBoundingClientRect();"
        " scrollBy(0, box().top + at[1] - 400); return [box().left + at[0], box().top + at[1]]; }",
        [name, which, x, y],
    )
    return left, top


def drag(page: Any, name: str, start: float, end: float) -> None:
    """Draws the mouse over part of the first panel, from one x to another."""
    page.mouse.move(*place(page, name, 0, start))
    page.mouse.down()
    page.mouse.move(*place(page, name, 0, end), steps=6)
    page.mouse.up()


def tip(page: Any, name: str, which: int, x: float, y: float | None = None) -> str:
    """What the page says with the mouse there."""
    page.mouse.move(0, 0)
    page.mouse.move(*place(page, name, which, x, y))
    box = page.locator(f"figure[data-name='{name}'] .tip").first
    box.wait_for(state="visible")
    said: str = box.inner_text()
    return said


def test_a_stretch_that_is_drawn_over_is_zoomed_in_all_panels_and_out_again(page: Any) -> None:
    whole = span(page, "run")
    drag(page, "run", 0.75, 1.5)
    assert span(page, "run") == pytest.approx(whole / 4, rel=0.05)
    assert span(page, "run", 1) == span(page, "run"), "panels of one time axis go together"
    page.locator("figure[data-name=run] .tools button", has_text="reset zoom").click()
    assert span(page, "run") == pytest.approx(whole)


def test_values_are_read_off_under_the_mouse(page: Any) -> None:
    said = tip(page, "run", 0, 1.5)
    assert "time 1.5" in said and "s1 cubic" in said
    assert "Congestion window" in said, "panels of one time axis are read together"


def test_a_point_of_a_sweep_shows_its_own_values_and_intervals(page: Any, results: Results) -> None:
    """A tenth of the way to the next point is still this point."""
    spec = json.loads((results.directory / "figures" / "goodput.json").read_text())["panels"][0]
    for place_of, name in spec["x"]["ticks"]:
        for off in (-0.4, 0.0, 0.4):
            said = tip(page, "goodput", 0, place_of + off)
            assert said.splitlines()[0].startswith(name)
            for bars in (one for one in spec["series"] if one["kind"] == "bars"):
                own = next(i for i, x in enumerate(bars["x"]) if round(x) == place_of)
                whiskers = next(o for o in spec["series"] if o["kind"] == "whiskers" and o["name"] == bars["name"])
                at = whiskers["x"].index(bars["x"][own])
                row = next(line for line in said.splitlines() if line.startswith(bars["name"]))
                shown = [
                    float(text) for text in re.findall(r"-?\d+\.?\d*(?:e[-+]\d+)?", row.removeprefix(bars["name"]))
                ]
                assert shown == pytest.approx([bars["y"][own], whiskers["lo"][at], whiskers["hi"][at]], rel=1e-3)


def test_points_of_a_curve_are_read_at_their_own_place(browser: Any, tmp_path: Path) -> None:
    """Two curves over other buffers, and a band of its own thinning: no value of a neighbour, no interval of one."""
    axis = {"label": "buffer (BDP)", "log": True, "min": 0.25, "max": 8, "reversed": False}

    def curve(name: str, x: list[float], y: list[float]) -> list[dict[str, Any]]:
        low, high = [one - 1 for one in y], [one + 1 for one in y]
        band = {"kind": "area", "name": name, "colour": "#0072b2", "x": x, "lo": low, "hi": high}
        return [band, {"kind": "line", "name": name, "colour": "#0072b2", "x": x, "y": y, "width": 1.2, "sign": "o"}]

    series = [*curve("cubic", [0.5, 1, 2, 4], [10, 20, 30, 40]), *curve("bbr", [0.5, 2, 4], [50, 60, 70])]
    panel = {
        "title": "",
        "x": axis,
        "y": {**axis, "label": "Mbit/s", "log": False, "min": 0, "max": 80},
        "series": series,
    }
    spec = {"columns": 1, "shared": False, "panels": [{**panel, "rules": [], "texts": []}]}
    (tmp_path / "curve.png").write_bytes(b"\x89PNG")
    (tmp_path / "curve.json").write_text(json.dumps(spec))
    (tmp_path / "page.html").write_text(Document("Curves", [Figure(tmp_path / "curve.png", "Curves")]).html())
    tab = browser.new_page(viewport={"width": 900, "height": 700})
    tab.goto((tmp_path / "page.html").as_uri())
    tab.wait_for_selector("html[data-ready]")
    at_one, at_two = tip(tab, "curve", 0, 1.02), tip(tab, "curve", 0, 1.98)
    tab.close()
    assert "buffer 1 BDP" in at_one and "20 [19, 21]" in at_one and "bbr" not in at_one
    assert "buffer 2 BDP" in at_two and "30 [29, 31]" in at_two and "60 [59, 61]" in at_two


def test_a_name_hides_its_line_and_shows_it_again(page: Any) -> None:
    def picture() -> str:
        page.mouse.move(0, 0)
        told: str = page.locator("figure[data-name=run] canvas").first.evaluate("(c) => c.toDataURL()")
        return told

    before = picture()
    name = page.locator("figure[data-name=run] .legend button").first
    name.click()
    assert name.get_attribute("aria-pressed") == "false"
    page.wait_for_timeout(100)
    assert picture() != before
    name.click()
    page.wait_for_timeout(100)
    assert picture() == before


def test_another_run_is_shown_when_chosen(page: Any) -> None:
    before = page.locator("figure.choice").get_attribute("data-shown")
    page.locator("figure.choice select[name=point]").select_option("codel")
    page.wait_for_selector(f"figure.choice:not([data-shown='{before}'])")
    page.locator("figure.choice select[name=seed]").select_option("2")
    page.wait_for_selector("figure.choice[data-shown='run-3']")


def test_a_table_is_sorted_by_its_numbers_one_way_and_the_other(page: Any) -> None:
    def column() -> list[float]:
        return [
            float(cell.split()[0])
            for cell in page.locator("table[data-name=links] tbody tr td:nth-child(4)").all_inner_texts()
        ]

    head = page.locator("table[data-name=links] thead th").nth(3)
    head.locator("button").click()
    assert column() == sorted(column()) and head.get_attribute("aria-sort") == "ascending"
    head.locator("button").click()
    assert column() == sorted(column(), reverse=True) and len(set(column())) > 1


@pytest.mark.parametrize(
    ("selector", "label", "name", "begins"),
    [
        ("div.block:has(table[data-name=traffic])", "CSV", "traffic.csv", b"point,traffic,flows,"),
        ("figure[data-name=rates]", "CSV", "rates.csv", b"panel,series,kind,x,y,low,high"),
        ("figure[data-name=rates]", "PNG", "rates.png", b"\x89PNG"),
        ("figure[data-name=rates]", "SVG", "rates.svg", b"<svg"),
        ("figure[data-name=rates]", "PDF", "rates.pdf", b"%PDF"),
        ("figure[data-name=run]", "CSV", "run.csv", b"panel,series,kind"),
        ("figure[data-name=run]", "PNG", "run.png", b"\x89PNG"),
        ("figure[data-name=run]", "PDF", "run.pdf", b"%PDF"),
        ("figure[data-name=network]", "SVG", "network.svg", b"<svg"),
        ("figure[data-name=network]", "PNG", "network.png", b"\x89PNG"),
        ("figure[data-name=network]", "PDF", "network.pdf", b"%PDF"),
    ],
)
def test_everything_can_be_downloaded(
    page: Any, tmp_path: Path, selector: str, label: str, name: str, begins: bytes
) -> None:
    with page.expect_download() as download:
        page.locator(f"{selector} .tools").locator("a, button", has_text=label).click()
    assert download.value.suggested_filename == name
    download.value.save_as(tmp_path / name)
    data = (tmp_path / name).read_bytes()
    assert data.startswith(begins) and len(data) > 100
    if label == "PDF":
        assert data.rstrip().endswith(b"%%EOF") and b"startxref" in data
        assert b"/Image" not in data and b" Tj" in data and b" l\n" in data, "lines and letters, no picture"
        start = int(data.rpartition(b"startxref")[2].split()[0])
        assert data[start:].startswith(b"xref\n0 5\n")
        for line, number in zip(data[start:].split(b"\n")[3:7], range(1, 5), strict=True):
            assert data[int(line.split()[0]) :].startswith(b"%d 0 obj" % number), "the table of objects is right"


def test_nothing_stands_out_on_a_narrow_dark_page(browser: Any, results: Results) -> None:
    tab = browser.new_page(viewport={"width": 380, "height": 800}, color_scheme="dark")
    tab.goto((results.directory / "report.html").resolve().as_uri())
    tab.wait_for_selector("figure.choice[data-shown]")
    assert tab.evaluate("document.documentElement.scrollWidth") <= 380
    assert tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 27)"
    tab.close()


@pytest.mark.parametrize(("width", "whole"), [(1280, False), (420, True)])
def test_names_along_an_axis_are_whole(browser: Any, tmp_path: Path, width: int, whole: bool) -> None:
    """In lines if there is room for the longest word, otherwise aslant; no name is cut, so that no two are alike."""
    names = [f"queue={queue} count={count}" for queue in ("drop_tail", "codel", "fq_codel") for count in (1, 2, 4)]
    fig, (axes,) = plot.figure()
    plot.bars(axes, names, {"goodput": [stats.mean([1.0, 2.0])] * len(names)})
    path = plot.save(fig, tmp_path / "bars")[0]
    (tmp_path / "report.html").write_text(Document("Bars", [Figure(path, "Bars")]).html())
    tab = browser.new_page(viewport={"width": width, "height": 900})
    tab.goto((tmp_path / "report.html").as_uri())
    tab.wait_for_selector("html[data-ready]")
    drawn = tab.evaluate("haltere.live[0].figure().svg('')")
    texts = [re.sub("<[^>]*>", "", one) for one in re.findall(r"<text[^>]*>.*?</text>", drawn, re.S)]
    for name in names:
        assert name in texts if whole else all(texts.count(part) >= 1 for part in name.split()), texts
    assert not any("…" in text for text in texts)
    tab.close()


def test_fifty_runs_open_at_once(browser: Any, tmp_path: Path) -> None:
    """The time is printed, not judged: a loaded machine would say little of the page."""
    chance = np.random.default_rng(1)
    x = [round(0.2 * i, 1) for i in range(200)]
    axis = {"label": "", "log": False, "min": 0, "max": 40, "reversed": False}

    def panel() -> dict[str, Any]:
        lines = [
            {
                "kind": "line",
                "name": f"f{i}",
                "colour": "#0072b2",
                "x": x,
                "y": [round(v, 3) for v in chance.random(200)],
            }
            for i in range(16)
        ]
        return {"title": "", "x": axis, "y": {**axis, "max": 1}, "series": lines, "rules": [], "texts": []}

    spec = {"columns": 1, "shared": True, "height": 165, "panels": [panel() for _ in range(4)]}
    options = [({"seed": str(i)}, spec) for i in range(50)]
    (tmp_path / "report.html").write_text(Document("Many", [Choice("run", "Runs", options)]).html())
    tab = browser.new_page()
    began = time.monotonic()
    tab.goto((tmp_path / "report.html").as_uri())
    tab.wait_for_selector("figure.choice[data-shown]")
    size = (tmp_path / "report.html").stat().st_size / 1e6
    print(f"50 runs of 16 flows, {size:.1f} MB: shown after {time.monotonic() - began:.2f} s")
    assert tab.locator("canvas").count() == 1
    tab.close()


def test_the_network_is_drawn_with_what_the_scenario_says(results: Results) -> None:
    drawn = picture.svg([picture.network(point.scenario) or pytest.fail("dumbbell") for point in results.points])
    for text in (
        "c1 … c4",
        "× 4",
        "10 Mbit/s, 5 ms",
        "100 Mbit/s, 1 ms",
        "drop_tail | codel",
        "cubic, reno, every pair",
    ):
        assert text in drawn
