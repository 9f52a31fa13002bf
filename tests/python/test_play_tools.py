"""The playground's tools in a browser: links, undo, time span, files, keyboard, narrow pages, what a run is given meanwhile."""

from __future__ import annotations

import json
import re
import subprocess
import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from browsing import page_of, run, served_at, until, wait
from conftest import command, haltere
from haltere.play import courses, presets
from haltere.play.protocol import FLOWS

#: 33 pages of Chromium.
pytestmark = pytest.mark.slow

BOTTLENECK = "topology.dumbbell.bottleneck"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with served_at(tmp_path_factory.mktemp("play")) as url:
        yield url


@pytest.fixture
def page(address: str) -> Iterator[Any]:
    """The page; what goes wrong in it, and what it asks of others, ends the test."""
    with page_of(address) as page:
        yield page


def written(page: Any, setup: int = 0) -> dict[str, Any]:
    """The experiment of a set-up."""
    told: dict[str, Any] = page.evaluate(f"playground.state.setups[{setup}].written")
    return told


def bottleneck(page: Any, setup: int = 0) -> dict[str, Any]:
    told: dict[str, Any] = written(page, setup)["topology"]["dumbbell"]["bottleneck"]
    return told


def notice(page: Any) -> str:
    """What the page says at its top."""
    said: str = page.locator("#notice").inner_text()
    return said


def shared(page: Any) -> str:
    """Opens Share: its link."""
    page.get_by_role("button", name="Share").click()
    wait(page, "document.getElementById('sharing').open")
    link: str = page.get_by_label("Link to this set-up").input_value()
    return link


def field(page: Any, path: str) -> Any:
    return page.locator(f"[data-path='{path}'] input")


def fill(page: Any, path: str, value: str) -> None:
    field(page, path).fill(value)
    field(page, path).press("Enter")


def test_every_preset_is_chosen_says_what_to_look_at_and_is_accepted(page: Any) -> None:
    for preset in presets.PRESETS:
        page.get_by_label("Preset").select_option(preset.name)
        assert preset.title in page.locator("#about").inner_text()
        assert page.locator("#tabs").is_visible() == (len(preset.setups) == 2)
        page.wait_for_timeout(250)
        assert page.locator(".error:not(:empty)").count() == 0, preset.name
    page.get_by_role("button", name="Undo").click()
    assert written(page)["traffic"] == presets.PRESETS[-2].setups[0]["traffic"]


def test_every_course_is_accepted_and_follows_the_rate(page: Any) -> None:
    for course in courses.COURSES:
        page.get_by_label("rate over time").select_option(course.name)
        fill(page, f"{BOTTLENECK}.rate", "8Mbit")
        now = bottleneck(page)
        assert [step["rate"] for step in now["schedule"]][:3] == [
            "0bit" if factor == 0 else f"{factor * 8000:g}kbit" for _, factor in course.steps[:3]
        ]
        assert page.get_by_label("rate over time").input_value() == course.name
        page.wait_for_timeout(150)
        assert page.locator(".error:not(:empty)").count() == 0, course.name
    page.get_by_label("rate over time").select_option("tunnels")
    run(page, "max")
    until(page, 18)
    rates = page.evaluate(
        "(() => { const q = playground.stores()[0].queue; return q.capacity.filter((_, i) => q.t[i] > 15.1 && q.t[i] < 16.9); })()"
    )
    assert set(rates) == {0}, "no link from 15 to 17 s"
    assert page.get_by_role("button", name="Outage now").is_disabled()
    assert "The rate must be constant" in page.locator("#panel").inner_text()


def test_compare_says_why_it_is_grey(page: Any) -> None:
    run(page, "1")
    compare = page.get_by_role("button", name="Compare")
    assert compare.get_attribute("aria-disabled") == "true"
    assert "stop the run first" in compare.get_attribute("title")
    compare.click(force=True)
    assert notice(page) == "Compare: stop the run first, because both set-ups start together."
    assert not page.locator("#tabs").is_visible()
    page.get_by_role("button", name="Stop").click()
    wait(page, "!playground.state.running")
    compare.click()
    assert page.locator("#tabs").is_visible()


def test_read_outs_have_the_names_of_their_flows(page: Any) -> None:
    run(page, "20")
    until(page, 5)
    keys = page.locator("[data-chart=cwnd] .key")
    assert [re.sub(r" [\d.]+$", "", text) for text in keys.all_text_contents()] == ["cubic 1", "cubic 2", "bbr"]
    assert all(re.search(r" \d", text) for text in keys.all_text_contents())
    assert page.locator("[data-chart=share] .key").all_text_contents()[-1] == "rate 50"
    # With the keyboard: from sample to sample, in all figures at once.
    page.get_by_role("button", name="Pause").click()
    plot = page.locator("[data-chart=queue] .plot")
    plot.focus()
    plot.press("PageUp")
    plot.press("ArrowLeft")
    at = [page.locator(f"[data-chart={name}] .at").inner_text() for name in ("queue", "cwnd")]
    assert all(re.fullmatch(r"at \d+\.\d\d s", text) for text in at)
    assert at[0][:-3] in plot.get_attribute("aria-label") and "waiting" in plot.get_attribute("aria-label")


def test_the_time_span_is_chosen_typed_and_drawn(page: Any) -> None:
    def shown() -> list[float]:
        page.wait_for_timeout(100)
        told: list[float] = page.evaluate("playground.span.at(playground.stores()[0].now)")
        return told

    run(page, "max")
    until(page, 90)
    page.get_by_role("button", name="Pause").click()
    page.wait_for_timeout(300)
    now = page.evaluate("playground.stores()[0].now")
    for name, span in (("5 s", 5), ("60 s", 60)):
        page.get_by_role("radio", name=name, exact=True).click()
        assert shown() == pytest.approx([now - span, now])
    page.get_by_role("radio", name="all", exact=True).click()
    assert shown() == pytest.approx([0, now])
    page.get_by_role("radio", name="all", exact=True).press("ArrowRight")
    page.get_by_label("Time shown from (s)").fill("10")
    page.get_by_label("Time shown to (s)").fill("30")
    page.keyboard.press("Enter")
    assert shown() == [10, 30]
    page.get_by_label("Time shown to (s)").fill("3")
    page.keyboard.press("Enter")
    assert page.get_by_label("Time shown to (s)").get_attribute("aria-invalid") == "true" and shown() == [10, 30]
    over = page.locator("[data-chart=ping] .u-over").bounding_box()
    page.mouse.move(over["x"] + over["width"] / 4, over["y"] + 20)
    page.mouse.down()
    page.mouse.move(over["x"] + over["width"] / 2, over["y"] + 20, steps=5)
    page.mouse.up()
    assert shown() == pytest.approx([15, 20], abs=0.2)
    page.mouse.dblclick(over["x"] + 50, over["y"] + 20)
    assert shown() == pytest.approx([0, now])


def test_a_flow_leaves(page: Any) -> None:
    run(page, "20")
    until(page, 4)
    page.get_by_role("button", name="Let this flow leave").click()
    wait(page, "playground.stores()[0].marks.length === 1")
    assert page.evaluate("playground.stores()[0].marks[0].text") == "− bbr"
    assert "left at" in page.locator(".flow.left").inner_text()
    left = page.evaluate("playground.stores()[0].marks[0].at")
    until(page, left + 5)
    received = page.evaluate(
        "(() => { const { t, received } = playground.stores()[0].flows; return received[3].filter((_, i) => t[i] > %f); })()"
        % (left + 2)
    )
    assert len(set(received)) == 1
    assert page.locator("[data-chart=share] .key", has_text="bbr").text_content() == "bbr 0"
    page.get_by_role("button", name="Stop").click()
    wait(page, "!playground.state.running")
    run(page, "1")  # and it is there again
    assert all("stop" not in entry for entry in written(page)["traffic"])


def test_an_outage_stops_the_link_and_the_rate_comes_back(page: Any) -> None:
    run(page, "20")
    until(page, 3)
    page.get_by_label("Length of the outage").select_option("1")
    page.get_by_role("button", name="Outage now").click()
    wait(page, "playground.stores()[0].marks.length === 1")
    assert page.evaluate("playground.stores()[0].marks[0].text") == "outage 1 s"
    at = page.evaluate("playground.stores()[0].marks[0].at")
    until(page, at + 4)
    lowest = "Math.min(...playground.stores()[0].queue.capacity)"
    assert (
        page.evaluate(lowest) == 0 and page.evaluate("Math.round(playground.stores()[0].queue.capacity.at(-1))") == 50e6
    )
    fill(page, f"{BOTTLENECK}.rate", "20Mbit")
    wait(page, "Math.round(playground.stores()[0].queue.capacity.at(-1)) === 20e6")
    assert page.get_by_label("rate over time").input_value() == ""


def test_flows_have_round_trip_times_of_their_own_and_directions(page: Any) -> None:
    page.get_by_label("Direction", exact=True).nth(1).select_option("backward")
    page.get_by_text("Delay, times and parameters of bbr").click()
    fill(page, "topology.dumbbell.access_delays[1]", "20ms")
    assert written(page)["topology"]["dumbbell"]["access_delays"] == ["50us", "20ms"]
    assert page.locator(".note").all_inner_texts() == [
        "round trip 20.2 ms without queues",
        "round trip 100 ms without queues",
    ]
    fill(page, "topology.dumbbell.access_delays[1]", "20")
    wait(page, "document.querySelector('.error:not(:empty)')")
    assert "must be a duration" in page.locator(".error:not(:empty)").inner_text()
    fill(page, "topology.dumbbell.access_delays[1]", "20ms")
    page.locator("summary:visible", has_text="TCP of both ends").click()
    fill(page, "traffic[2].tcp.initial_window", "40")
    assert written(page)["traffic"][2]["tcp"] == {"initial_window": 40}
    page.get_by_role("button", name="Add flows").click()
    assert written(page)["topology"]["dumbbell"]["access_delays"] == ["50us", "20ms", "50us"]
    page.get_by_role("button", name="Remove").nth(1).click()
    assert "access_delays" not in written(page)["topology"]["dumbbell"]
    page.get_by_role("button", name="Undo").click()
    run(page, "20")
    until(page, 4)
    names = [re.sub(r" [\d.]+$", "", text) for text in page.locator("[data-chart=share] .key").all_text_contents()]
    assert "bbr 100 ms ←" in names and "rate ←" in names
    assert page.locator("[data-chart=queue] .key").count() == 2
    drawn = page.evaluate("playground.columns()[0].charts.plots.find((one) => one.kind.id === 'share').figure.lines")
    assert min(value for line in drawn for value in line["drawn"] if value is not None) < -5, (
        "uploads are drawn below zero"
    )


def test_every_discipline_and_control_is_there_with_its_parameters(page: Any, tmp_path: Path) -> None:
    listed = json.loads(haltere("list", "--json", cwd=tmp_path).stdout)
    queues = page.locator("#queue-kind option").all_inner_texts()
    controls = page.get_by_label("Congestion control of the flows to add").locator("option").all_inner_texts()
    assert queues == [name for name in listed["queues"] if name != "kernel"], (
        "only the kernel world has those of the kernel"
    )
    assert controls == [*listed["congestion"], *FLOWS[1:]], "the controls of transfers, and the applications"
    for queue in queues:
        page.get_by_label("Queue discipline", exact=True).select_option(queue)
        page.wait_for_timeout(100)
        assert page.locator(".error:not(:empty)").count() == 0, queue
    for control in controls:
        page.get_by_label("Congestion control or application", exact=True).first.select_option(control)
        page.wait_for_timeout(100)
        assert page.locator(".error:not(:empty)").count() == 0, control
    assert page.evaluate("new Set(['reno', 'copa', 'bic', 'veno', 'yeah'].map(playground.colour)).size") == 5


def test_applications_run_beside_transfers_and_are_drawn_by_what_arrives(page: Any) -> None:
    for kind in FLOWS[1:]:
        page.get_by_label("Congestion control of the flows to add").select_option(kind)
        page.get_by_role("button", name="Add flows").click()
    page.locator("details[data-name^=flow]").evaluate_all("all => all.forEach(one => { one.open = true; })")
    page.locator("[data-path='traffic[3].objects'] input").fill("[1, 2, 3]")
    wait(page, "document.querySelector('.error:not(:empty)')")
    assert page.locator("[data-path='traffic[3].objects'] .error").inner_text()
    page.locator("[data-path='traffic[3].objects'] input").fill("[2, 4]")
    wait(page, "!document.querySelector('.error:not(:empty)')")
    run(page, "20")
    until(page, 8)
    windows, shares = (
        {
            line["name"]: line["values"]
            for line in page.evaluate(f"playground.columns()[0].charts.plots[{i}].figure.lines")
        }
        for i in (1, 2)
    )
    assert not set(FLOWS) & set(windows) and set(FLOWS[1:]) <= set(shares)
    assert all(max(shares[kind]) > 0 for kind in FLOWS[1:])
    # 172 B of payload every 20 ms are 69 kbit/s.
    assert 0.06 < shares["voip"][-1] < 0.08


def test_inner_state_is_drawn_by_name_and_unit(page: Any) -> None:
    page.get_by_label("Queue discipline", exact=True).select_option("pie")
    run(page, "20")
    until(page, 8)
    variable = page.get_by_label("Inside the discipline: variable")
    assert {"drop_prob", "qdelay"} <= set(variable.locator("option").all_inner_texts())
    variable.select_option("qdelay")
    wait(page, "document.querySelector('[data-chart=queue_state] small').textContent === 'ms'")
    for _ in range(2):  # now, and where the pointer is
        page.wait_for_timeout(200)
        assert re.search(r"drop_prob 0\.?\d*", page.locator("[data-chart=queue_state] .also").text_content())
        page.locator("[data-chart=queue_state] .plot").hover()
    of_controls = page.get_by_label("Inside the controls: variable")
    assert {"ssthresh", "srtt", "bw", "w_max"} <= set(of_controls.locator("option").all_inner_texts())
    page.get_by_role("button", name="Pause").click()
    page.wait_for_timeout(300)
    of_controls.select_option("srtt")  # also of a run that pauses
    wait(page, "document.querySelector('[data-chart=flow_state] small').textContent === 'ms'")
    scale = "playground.columns()[0].charts.plots.at(-1).plot.scales.y.max"
    assert page.evaluate(scale) > 20
    page.get_by_role("button", name="Go on").click()
    of_controls.select_option("pacing_gain")
    wait(page, "document.querySelectorAll('[data-chart=flow_state] .key').length === 1")
    assert page.locator("[data-chart=flow_state] .key").text_content().startswith("bbr ")
    page.get_by_label("Queue discipline", exact=True).select_option("drop_tail")
    wait(
        page,
        "document.querySelector('[data-chart=queue_state] .plot').dataset.empty === 'drop_tail has no inner state.'",
    )


def test_a_state_has_the_name_that_its_unit_gives(page: Any) -> None:
    spoken = "(value) => import('/page/figures.js').then(({ spoken }) => spoken(value))"
    said = [
        page.evaluate(spoken, value)
        for value in (["state", "startup|drain", 1], ["bw", "bit/s", 2.5e7], ["rto", "s", 0.2])
    ]
    assert said == ["drain", "25 Mbit/s", "200 ms"]


def test_undo_and_redo_with_the_mouse_and_with_keys(page: Any) -> None:
    undo, redo = page.get_by_role("button", name="Undo"), page.get_by_role("button", name="Redo")
    assert undo.is_disabled() and redo.is_disabled()
    fill(page, f"{BOTTLENECK}.rate", "20Mbit")
    page.get_by_label("Queue discipline", exact=True).select_option("codel")
    page.get_by_role("button", name="Add flows").click()
    page.keyboard.press("Control+z")
    assert len(written(page)["traffic"]) == 3 and bottleneck(page)["queue"]["kind"] == "codel"
    undo.click()
    assert bottleneck(page)["queue"]["kind"] == "drop_tail" and bottleneck(page)["rate"] == "20Mbit"
    undo.click()
    assert bottleneck(page)["rate"] == "50Mbit" and undo.is_disabled()
    assert field(page, f"{BOTTLENECK}.rate").input_value() == "50Mbit"
    redo.click()
    page.keyboard.press("Control+Shift+z")
    assert bottleneck(page)["queue"]["kind"] == "codel"
    # During a run what may change is undone, and what may not says so.
    run(page, "5")
    until(page, 1)
    page.get_by_label("Queue discipline", exact=True).select_option("pie")
    wait(page, "playground.stores()[0].marks.length === 1")
    undo.click()
    wait(page, "playground.stores()[0].marks.length === 2")
    assert page.evaluate("playground.stores()[0].marks.map((mark) => mark.text)") == ["pie", "codel"]
    page.get_by_role("button", name="Let a flow join").click()
    wait(page, "playground.stores()[0].marks.length === 3")
    undo.click()
    assert notice(page) == "Undo: stop the run first, because that changes its flows."
    assert len(written(page)["traffic"]) == 4


def test_the_address_has_the_set_up_and_gives_it_back(page: Any, address: str, tmp_path: Path) -> None:
    page.get_by_label("Preset").select_option("rtt-fairness")
    fill(page, f"{BOTTLENECK}.rate", "33Mbit")
    link = shared(page)
    assert link.startswith(address.split("?")[0] + "#setup=") and "token" not in link
    packed = link.split("#setup=")[1]
    inside = json.loads(zlib.decompress(urlsafe_b64decode(packed + "=" * (-len(packed) % 4)), wbits=-15))
    assert inside == {"version": 1, "setups": [written(page, 0), written(page, 1)]}
    page.get_by_role("button", name="Close").click()
    before = [written(page, i) for i in (0, 1)]
    page.reload()  # the page's own address
    wait(page, "window.playground?.state.setups.length === 2")
    assert [written(page, i) for i in (0, 1)] == before
    # Another server, with the link on its command line.
    process = subprocess.Popen(command("play", "--no-browser", link), cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        page.goto(process.stdout.readline().strip())
        wait(page, "window.playground?.state.setups.length === 2")
        assert [written(page, i) for i in (0, 1)] == before
    finally:
        process.terminate()
        process.wait(60)


def test_the_address_keeps_the_last_set_up_that_was_accepted(page: Any) -> None:
    fill(page, f"{BOTTLENECK}.rate", "33Mbit")
    page.wait_for_timeout(300)
    fill(page, f"{BOTTLENECK}.rate", "fast")
    wait(page, "document.querySelector('.error:not(:empty)')")
    page.reload()
    wait(page, "window.playground?.state.setups.length && !document.getElementById('notice').hidden")
    assert bottleneck(page)["rate"] == "33Mbit" and notice(page) == "The link's set-up is loaded."


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda link: link[:-20], "link: setup must be as the playground wrote it, got a damaged one"),
        (lambda link: link.replace("setup=", "setup=!"), "link: setup must be as the playground wrote it"),
        (lambda link: link.split("#")[0], "link: setup must be given after `#setup=`, got nothing"),
    ],
)
def test_a_damaged_link_is_refused_and_changes_nothing(page: Any, damage: Any, words: str) -> None:
    link = shared(page)
    before = written(page)
    page.get_by_label("Link to open").fill(damage(link))
    page.get_by_role("button", name="Open").click()
    wait(page, "document.getElementById('link-error').textContent")
    assert words in page.get_by_role("alert").inner_text()
    assert written(page) == before


def link_of(experiment: dict[str, Any]) -> str:
    """A link as the page writes it."""
    pack = zlib.compressobj(wbits=-15)
    packed = pack.compress(json.dumps({"version": 1, "setups": [experiment]}).encode()) + pack.flush()
    return "#setup=" + urlsafe_b64encode(packed).decode().rstrip("=")


def test_a_link_with_wrong_values_is_refused_in_the_programs_words(page: Any, address: str) -> None:
    experiment = written(page)
    wrong = json.loads(json.dumps(experiment))
    wrong["topology"]["dumbbell"]["bottleneck"]["rate"] = "0bit"
    page.goto("about:blank")
    page.goto(address + link_of(wrong))
    wait(page, "!document.getElementById('notice')?.hidden")
    assert notice(page).startswith("link: topology.dumbbell.bottleneck: rate must be above zero, got 0bit")
    assert written(page) == experiment, "the page begins as without a link"
    wrong["topology"]["dumbbell"]["bottleneck"] = {"trace": "/etc/hostname"}
    page.goto("about:blank")
    page.goto(address + link_of(wrong))
    wait(page, "!document.getElementById('notice')?.hidden")
    assert "reads no files" in notice(page)


def test_the_command_refuses_what_is_no_link(tmp_path: Path) -> None:
    done = haltere("play", "--no-browser", "http://127.0.0.1:1/?token=x", cwd=tmp_path)
    assert done.returncode == 2
    assert "play: link must be an address with `#setup=...`, got `http://127.0.0.1:1/?token=x`" in done.stderr


@pytest.mark.parametrize("figure", ["queue", "cwnd", "share", "ping", "queue_state", "flow_state"])
def test_each_figure_is_saved_as_csv_and_png(page: Any, tmp_path: Path, figure: str) -> None:
    page.get_by_label("Queue discipline", exact=True).select_option("codel")
    run(page, "20")
    until(page, 6)
    page.get_by_role("button", name="Pause").click()
    page.wait_for_timeout(300)
    page.get_by_role("radio", name="5 s", exact=True).click()
    page.wait_for_timeout(200)
    now = page.evaluate("playground.stores()[0].now")
    for kind in ("CSV", "PNG"):
        with page.expect_download() as download:
            page.locator(f"[data-chart={figure}] .tool", has_text=kind).click()
        assert download.value.suggested_filename == f"play-{figure}.{kind.lower()}"
        download.value.save_as(tmp_path / kind)
    assert (tmp_path / "PNG").read_bytes().startswith(b"\x89PNG") and (tmp_path / "PNG").stat().st_size > 2000
    head, *rows = (tmp_path / "CSV").read_text().splitlines()
    assert head.startswith("time (s),") and len(rows) > 40
    times = [float(row.split(",")[0]) for row in rows]
    assert times == sorted(times) and times[0] >= now - 5 and times[-1] <= now, "the time that is shown"
    if figure == "cwnd":
        assert head == "time (s),cubic 1 (kB),cubic 2 (kB),bbr (kB)"
    if figure == "share":  # each flow's own, not the stack
        last = [float(value) for value in rows[-1].split(",")[1:]]
        assert sum(last[:-1]) < 52 and last[-1] == 50


def test_names_of_others_are_no_formulas_in_a_spreadsheet(page: Any) -> None:
    figure = "{ t: [0], unit: '', lines: [{ name, values: [1] }, { name: 'a,\"b', values: [null] }] }"
    text = page.evaluate(f"(name) => import('/page/save.js').then(({{ csv }}) => csv({figure}, [0, 1]))", "=1+1")
    assert text == 'time (s),\'=1+1,"a,""b"\r\n0,1,\r\n'


def test_figures_are_hidden_and_shown(page: Any) -> None:
    figures = page.get_by_role("group", name="Figures shown")
    for name in ("Window", "Throughput", "Round trips", "Discipline", "Controls"):
        figures.get_by_role("button", name=name).click()
    page.wait_for_timeout(200)
    assert page.locator(".chart:visible").count() == 1
    assert page.locator("[data-chart=queue]").bounding_box()["width"] > 800, "one figure has the whole width"
    figures.get_by_role("button", name="Throughput").click()
    page.wait_for_timeout(200)
    assert page.locator(".chart:visible").count() == 2


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_narrow_page_is_usable(address: str, scheme: str) -> None:
    with page_of(address, width=420, height=860, scheme=scheme) as page:
        wide = "document.documentElement.scrollWidth"
        assert page.evaluate(wide) <= 420 and page.locator("#panel").is_visible()
        page.get_by_label("Preset").select_option("bufferbloat")
        assert page.evaluate(wide) <= 420
        page.get_by_text("Delay, times and parameters of cubic").click()
        assert page.evaluate(wide) <= 420
        run(page, "20")
        until(page, 3)
        assert page.evaluate(wide) <= 420 and not page.locator("#panel").is_visible(), "the run shows its figures"
        assert page.locator("[data-chart=queue] canvas").first.bounding_box()["width"] > 300
        page.get_by_role("radio", name="Set-up").click()
        assert page.locator("#panel").is_visible()
        page.get_by_role("button", name="Share").click()
        assert page.evaluate(wide) <= 420


CONTRAST = """() => {
  const lum = (c) => { const [r, g, b] = c.match(/[\\d.]+/g).map((v) => { v /= 255; return v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; }); return .2126 * r + .7152 * g + .0722 * b; };
  const ground = (e) => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor; if (!/, 0\\)$|transparent/.test(c)) return c; } return 'rgb(255,255,255)'; };
  const low = [];
  for (const e of document.querySelectorAll('body *')) {
    if (!e.checkVisibility() || e.closest(':disabled, [aria-disabled=true], svg') || ![...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim())) continue;
    const c = getComputedStyle(e).color;
    if (!c.startsWith('rgb') || !ground(e).startsWith('rgb')) continue;
    const [a, b] = [lum(c), lum(ground(e))].sort((x, y) => y - x), ratio = (a + .05) / (b + .05);
    if (ratio < 4.5) low.push([e.textContent.trim().slice(0, 30), ratio.toFixed(2)]);
  }
  return low;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_contrast_and_every_control_a_name(address: str, scheme: str) -> None:
    with page_of(address, scheme=scheme) as page:
        page.get_by_label("Preset").select_option("bufferbloat")
        run(page, "20")
        until(page, 3)
        assert page.evaluate(CONTRAST) == []
        unnamed = """() => [...document.querySelectorAll('button, input, select')].filter((e) => e.checkVisibility()
          && !(e.ariaLabel || e.labels?.length || e.textContent.trim() && e.tagName === 'BUTTON')).map((e) => e.outerHTML.slice(0, 80))"""
        assert page.evaluate(unnamed) == []


def test_the_whole_way_with_the_keyboard_alone(page: Any) -> None:
    """From the preset to the run, its speed and its end: tab, arrows and space."""
    page.locator("#preset").focus()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "run"
    page.keyboard.press("Tab")  # Pause and Stop are off: the speed is next
    assert page.evaluate("document.activeElement.dataset.speed") == "1"
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("playground.state.speed") == 20
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Space")
    until(page, 1)
    page.get_by_role("button", name="Stop").focus()
    page.keyboard.press("Enter")
    wait(page, "!playground.state.running")
