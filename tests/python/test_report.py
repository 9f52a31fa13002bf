"""Documents and figures."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import numpy as np
import pytest

from haltere import assets, load
from haltere.analysis import stats
from haltere.report import charts, overview, plot
from haltere.report.document import Bullets, Document, Figure, Heading, Table, Text


def make(folder: Path) -> Document:
    fig, (axes,) = plot.figure()
    runs = [np.sin(np.linspace(0, 6, 50)) + i for i in range(3)]
    plot.band(axes, np.linspace(0, 6, 50), runs, "a", plot.PALETTE[0])
    axes.set_xlabel("time (s)")
    plot.legend(fig, axes)
    png, pdf = plot.save(fig, folder / "figures" / "wave")
    assert png.read_bytes().startswith(b"\x89PNG") and pdf.read_bytes().startswith(b"%PDF")
    table = Table("rates", "Rates <of> flows", ["flow", "Mbit/s"], [["a|b", "9.1"], ["c", "10.0"]], "A note.")
    return Document(
        "A & B", [Heading("Tables"), table, Heading("Figures"), Figure(png, "A wave"), Heading("End"), Text("Done.")]
    )


def test_the_html_report_needs_nothing_but_itself(tmp_path: Path) -> None:
    make(tmp_path).write(tmp_path)
    page = (tmp_path / "report.html").read_text()
    sources = re.findall(r'(?:src|href)="([^"]+)"', page)
    assert sources and all(
        source.startswith(("#h", "data:image/png;base64,", "data:application/pdf;base64,")) for source in sources
    )
    ours = page.replace(
        assets.text("echarts.min.js"), ""
    )  # a library that names them and never fetches: the policy forbids it
    assert len(ours) < len(page) and "@import" not in ours and "url(" not in ours
    assert "default-src 'none'" in page
    assert "Rates &lt;of&gt; flows" in page and "A &amp; B" in page


def test_a_figure_is_drawn_once_for_print_and_for_the_page(tmp_path: Path) -> None:
    make(tmp_path)
    told = json.loads((tmp_path / "figures" / "wave.json").read_text())
    (panel,) = told["panels"]
    kinds = {one["kind"]: one for one in panel["series"]}
    assert panel["x"]["label"] == "time (s)"
    assert kinds["line"]["name"] == "a" and len(kinds["line"]["x"]) == 50
    assert kinds["line"]["y"][0] == 1 and kinds["area"]["lo"][0] == 0 and kinds["area"]["hi"][0] == 2


def test_what_a_page_cannot_draw_is_shown_as_printed(tmp_path: Path) -> None:
    fig, (axes,) = plot.figure()
    axes.pie([1, 2])
    axes.contourf([[1, 2], [3, 4]])
    png, _ = plot.save(fig, tmp_path / "odd")
    assert charts.spec(fig) is None and not png.with_suffix(".json").exists()
    assert 'class="still"' in Document("A", [Figure(png, "Odd")]).html()


def test_bars_intervals_steps_and_heat_maps_are_read_off_a_figure() -> None:
    fig, panels = plot.figure(1, 3, width=12)
    one, two = stats.mean([1.0, 2.0, 3.0]), stats.mean([2.0])
    plot.bars(panels[0], ["x", "y"], {"a": [one, two], "b": [None, one]}, {"paper": {"a": [1.5, None]}})
    plot.cdf(panels[1], [3, 1, 2], "rtt", plot.PALETTE[1])
    plot.heat(panels[2], [[1, 2], [3, float("nan")]], ["r1", "r2"], ["c1", "c2"], "ms")
    told = charts.spec(fig)
    assert told is not None
    bars, steps, heat = told["panels"]
    by_kind = {(s["kind"], s["name"]): s for s in bars["series"]}
    assert by_kind["bars", "a"]["y"] == [2, 2] and by_kind["bars", "b"]["y"] == [None, 2]
    assert round(by_kind["whiskers", "a"]["hi"][0], 3) == 4.484
    assert by_kind["points", "paper"]["y"] == [1.5]
    assert [tick[1] for tick in bars["x"]["ticks"]] == ["x", "y"]
    assert steps["series"][0]["kind"] == "step" and steps["series"][0]["y"][-1] == 1
    assert heat["heat"]["values"] == [[1, 2], [3, None]] and heat["heat"]["rows"] == ["r1", "r2"]


@pytest.mark.parametrize("name", assets.OTHERS)
def test_files_of_others_are_as_they_were_built(name: str) -> None:
    assert hashlib.sha256(assets.text(name).encode()).hexdigest() == assets.OTHERS[name]
    assert "Leon Sorokin" in assets.text("uplot.LICENSE")
    assert all(who in assets.text("echarts.LICENSE") for who in ("Apache Software Foundation", "Baidu", "Microsoft"))


def test_every_format_holds_the_same_cells(tmp_path: Path) -> None:
    document = make(tmp_path)
    document.write(tmp_path)
    assert (tmp_path / "tables" / "rates.csv").read_text() == "flow,Mbit/s\na|b,9.1\nc,10.0\n"
    assert "| a\\|b | 9.1 |" in (tmp_path / "report.md").read_text()
    assert "![A wave](figures/wave.png)" in (tmp_path / "report.md").read_text()
    text = document.text()
    assert "c       10.0" in text and "Figures" not in text and "Done." in text


def test_figures_are_the_same_bytes_each_time(tmp_path: Path) -> None:
    make(tmp_path / "1")
    make(tmp_path / "2")
    for name in ("wave.png", "wave.pdf"):
        assert (tmp_path / "1" / "figures" / name).read_bytes() == (tmp_path / "2" / "figures" / name).read_bytes()


def test_every_kind_of_figure_can_be_drawn(tmp_path: Path) -> None:
    fig, panels = plot.figure(1, 3, width=12)
    one, two = stats.mean([1.0, 2.0, 3.0]), stats.mean([2.0])
    plot.bars(panels[0], ["x", "y"], {"a": [one, two], "b": [None, one]}, {"paper": {"a": [1.5, None]}})
    plot.cdf(panels[1], [3, 1, 2], "rtt", plot.PALETTE[1])
    plot.heat(panels[2], [[1, 2], [3, float("nan")]], ["r1", "r2"], ["c1", "c2"], "ms")
    assert all(path.stat().st_size > 1000 for path in plot.save(fig, tmp_path / "all"))
    heights = [bar.get_height() for bar in panels[0].patches]
    assert heights[0] == 2.0 and len(heights) == 4


def test_words_in_backticks_are_code_in_the_page() -> None:
    page = Document("Words", [Text("type `haltere plot --link <all>`"), Bullets(["set `limit`"])]).html()
    assert "type <code>haltere plot --link &lt;all&gt;</code>" in page and "<li>set <code>limit</code></li>" in page


def test_a_point_without_pings_has_a_row_of_dashes(small: Path) -> None:
    late = load(small).with_values({"traffic.ping.jitter": "0s"}).sweep({"traffic.ping.start": ["0s", "2999900us"]})
    results = late.run(2, out=small.parent / "out")
    pings = next(one for one in overview.tables(results) if one.name == "ping")
    assert [row[0] for row in pings.rows] == ["start=0s", "start=2999900us"]
    assert pings.rows[0][1] != "–" and pings.rows[1][1:] == ["–"] * 3
