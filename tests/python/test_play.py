"""The playground: what the live run gives, who may talk to the server and how it answers, and the page in a browser."""

from __future__ import annotations

import asyncio
import copy
import json
import os
import re
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from conftest import command, haltere
from haltere import Scenario, _core
from haltere.errors import HaltereError, InputError
from haltere.play import export
from haltere.play.server import Playground

EXPERIMENT: dict[str, Any] = {
    "title": "play",
    "duration": "60s",
    "topology": {
        "dumbbell": {
            "pairs": 1,
            "access": {"rate": "1Gbit", "delay": "50us"},
            "bottleneck": {"rate": "20Mbit", "delay": "10ms", "queue": {"kind": "drop_tail", "limit": "400p"}},
        }
    },
    "traffic": [
        {"name": "ping", "kind": "ping", "pairs": [1], "interval": "100ms"},
        {"kind": "bulk", "pairs": [1], "count": 2, "congestion": "cubic"},
    ],
    "measure": {"queues": "10ms", "flows": "100ms"},
}


def with_bottleneck(**changes: Any) -> dict[str, Any]:
    """The experiment with another bottleneck."""
    other = copy.deepcopy(EXPERIMENT)
    other["topology"]["dumbbell"]["bottleneck"].update(changes)
    return other


def core(experiment: dict[str, Any]) -> _core.Scenario:
    return _core.Scenario.from_json(json.dumps(experiment))


# The live run.


def test_a_live_run_that_is_not_changed_has_the_digest_of_an_ordinary_one() -> None:
    experiment = {**EXPERIMENT, "duration": "5s"}
    live = _core.Live(core(experiment), 7)
    seen = 0
    while live.now_s < 5:
        live.advance(0.317)
        seen += len(live.samples()["queues"]["t"])
    assert seen == 1000, "each sample once: every 10 ms, of both directions of the bottleneck"
    run = live.finish()
    assert run.digest() == _core.run(core(experiment), 7).digest()
    with pytest.raises(HaltereError, match="got one that is finished"):
        live.advance(1)


def test_a_live_run_takes_another_queue_and_says_what_it_cannot_take() -> None:
    live = _core.Live(core(EXPERIMENT), 1)
    live.advance(20)

    def queue() -> list[int]:
        """What waited in the last five seconds before the bottleneck."""
        queues = live.samples()["queues"]
        forward = live.links.index("left>right")
        return [n for link, n in zip(queues["link"], queues["packets"], strict=True) if link == forward][-500:]

    before = queue()
    with pytest.raises(InputError, match=r"flows must be those of the run, `bulk2:c1>s1` as it was"):
        live.change(core({**EXPERIMENT, "traffic": EXPERIMENT["traffic"][:1]}))
    live.change(core(with_bottleneck(queue={"kind": "codel"})))
    live.advance(20)
    after = queue()
    assert sum(before) > 250 * 500 and sum(after) < 60 * 500, f"from {sum(before) / 500} to {sum(after) / 500} packets"


def test_the_export_is_read_back_as_it_was() -> None:
    odd = copy.deepcopy(EXPERIMENT)
    odd["title"] = 'quotes " and \\ and ü\x7f'
    odd["traffic"].append({"kind": "bulk", "pairs": [1], "congestion": {"kind": "cubic", "beta": 0.5}, "ecn": True})
    odd["tcp"] = {"sack": True}
    text = export.toml(odd, [(1.5, "x = 1")])
    assert Scenario.from_toml(text).to_dict() == Scenario.from_dict(odd).to_dict()
    assert "#   1.50 s  x = 1" in text


# The server.


@asynccontextmanager
async def playground() -> AsyncIterator[Playground]:
    """A server that listens, with what it logs."""
    lines: list[str] = []
    server = Playground(log=lines.append)
    server.lines = lines  # type: ignore[attr-defined]
    async with await server.start():
        yield server


def talk(conversation: Callable[[Playground, ClientConnection], Awaitable[None]]) -> None:
    """Has a conversation with a server, as a page would begin it."""

    async def whole() -> None:
        async with playground() as server, connect(page(server), max_size=None) as socket:
            assert (await hear(socket, "hello"))["version"] == _core.version
            await conversation(server, socket)

    asyncio.run(asyncio.wait_for(whole(), 60))


def page(server: Playground, token: str | None = None) -> str:
    return f"ws://127.0.0.1:{server.port}/ws?token={server.token if token is None else token}"


async def say(socket: ClientConnection, **message: Any) -> None:
    await socket.send(json.dumps(message))


async def hear(socket: ClientConnection, tell: str) -> dict[str, Any]:
    """The next message of that kind."""
    while True:
        told: dict[str, Any] = json.loads(await socket.recv())
        if told["tell"] == tell:
            return told
        assert told["tell"] != "refused", told["text"]


async def start(socket: ClientConnection, *setups: dict[str, Any], speed: Any = "max") -> dict[str, Any]:
    await say(socket, do="start", setups=list(setups or (EXPERIMENT,)), speed=speed, seed=1)
    return await hear(socket, "started")


def test_only_the_page_with_the_token_may_come_in() -> None:
    async def status(uri: str, **options: Any) -> tuple[int, str]:
        with pytest.raises(InvalidStatus) as refused:
            async with connect(uri, **options):
                pass
        return refused.value.response.status_code, (refused.value.response.body or b"").decode()

    async def whole() -> None:
        async with playground() as server:
            token = r"token must be the one in the address"
            for wrong in ("", "x", server.token[:-1], server.token + "a", f"{server.token}&token=x"):
                code, text = await status(page(server, wrong))
                assert code == 403 and re.search(token, text), wrong
            code, text = await status(page(server), origin="http://evil.example")  # type: ignore[arg-type]
            assert code == 403 and "origin must be the playground's own page, got http://evil.example" in text
            code, text = await status(page(server), origin=f"http://127.0.0.1:{server.port + 1}")  # type: ignore[arg-type]
            assert code == 403
            code, text = await status(
                page(server).replace("127.0.0.1", "localhost"),
                host="127.0.0.1",
                additional_headers={"Host": "evil.example"},
            )
            assert code == 403 and "host must be" in text
            async with connect(page(server), origin=f"http://127.0.0.1:{server.port}"):  # type: ignore[arg-type]
                assert len(server.sessions) == 1

    asyncio.run(asyncio.wait_for(whole(), 60))


def test_the_page_is_served_to_who_has_the_token_and_nothing_else_is() -> None:
    def get(url: str, **headers: str) -> tuple[int, str, Any]:
        try:
            with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=10) as answer:
                return answer.status, answer.read().decode(), answer.headers
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode(), error.headers

    async def whole() -> None:
        async with playground() as server:
            base = f"http://127.0.0.1:{server.port}"
            code, text, headers = await asyncio.to_thread(get, server.url)
            assert code == 200 and "<title>Haltere playground</title>" in text
            assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
            assert headers["Cache-Control"] == "no-store" and headers["Referrer-Policy"] == "no-referrer"
            for name in set(re.findall(r'(?:src|href)="(/[^"]+)"', text)):
                assert (await asyncio.to_thread(get, base + name))[0] == 200, name
            for wrong, code in (
                ("/", 403),
                ("/?token=x", 403),
                ("/page/../server.py", 404),
                ("/page/nothing", 404),
                ("/etc", 404),
            ):
                assert (await asyncio.to_thread(get, base + wrong))[0] == code, wrong
            # A foreign page that has its own name point here.
            assert (await asyncio.to_thread(get, server.url, Host="evil.example"))[0] == 403
            assert server.token not in (await asyncio.to_thread(get, base + "/"))[1]

    asyncio.run(asyncio.wait_for(whole(), 60))


WRONG: list[tuple[str, str]] = [
    ("nonsense", "a message must be JSON"),
    ("[1]", "a message must be a JSON object, got a list"),
    ('{"do": NaN}', "a message must be JSON"),
    ("[" * 50_000, "a message must be JSON"),
    ("{}", "do must be one of `check`"),
    ('{"do": "__init__"}', "do must be one of `check`"),
    ('{"do": "stop", "now": 1}', "stop: keys must be nothing, got `now`"),
    ('{"do": "speed"}', "speed: speed must be given, got nothing"),
    ('{"do": "speed", "speed": 0}', "speed must be `max` or a number from 0.01 to 1000, got 0"),
    ('{"do": "speed", "speed": true}', "speed must be `max` or a number"),
    ('{"do": "start", "setups": [], "speed": 1, "seed": 1}', "setups must be a list of 1 to 2 experiments"),
    ('{"do": "start", "setups": [{}], "speed": 1, "seed": -1}', "seed must be a whole number"),
    ('{"do": "start", "setups": [{}], "speed": 1, "seed": 1}', "topology must be a dumbbell in the playground"),
    ('{"do": "check", "setup": 2, "experiment": {}}', "setup must be a whole number from 0 to 1, got 2"),
    ('{"do": "change", "setup": 0, "experiment": {}}', "there must be a run, got none; press Run"),
    ('{"do": "join", "setup": 0, "traffic": {}}', "there must be a run"),
]


def test_wrong_requests_are_answered_with_what_must_be() -> None:
    async def conversation(server: Playground, socket: ClientConnection) -> None:
        for message, words in WRONG:
            await socket.send(message)
            assert words in (await hear(socket, "refused"))["text"], message[:60]
        await start(socket)  # and the page can go on
        assert (await hear(socket, "samples"))["setups"][0]["now"] > 0

    talk(conversation)


def test_a_wrong_value_is_named_with_its_key_in_the_programs_words() -> None:
    wrong: list[tuple[dict[str, Any], str, str]] = [
        (with_bottleneck(rate="fast"), "topology.dumbbell.bottleneck.rate", "rate must be a rate in bit/s"),
        (with_bottleneck(rate="0bit"), "topology.dumbbell.bottleneck.rate", "rate must be"),
        (with_bottleneck(queue={"kind": "cdel"}), "topology.dumbbell.bottleneck.queue.kind", "did you mean `codel`"),
        (
            with_bottleneck(queue={"kind": "codel", "target": "5"}),
            "topology.dumbbell.bottleneck.queue.target",
            "target must be",
        ),
        (
            with_bottleneck(queue={"kind": "codel", "target": "2s"}),
            "topology.dumbbell.bottleneck.queue.interval",
            "must be at least",
        ),
        ({**EXPERIMENT, "duration": "x"}, "duration", "duration must be"),
        (
            {**EXPERIMENT, "traffic": [{**EXPERIMENT["traffic"][1], "count": 501}]},
            "traffic[0].count",
            "count must be at most 500",
        ),
        (
            {**EXPERIMENT, "traffic": [{**EXPERIMENT["traffic"][1], "count": "many"}]},
            "traffic[0].count",
            "count must be",
        ),
        (
            {**EXPERIMENT, "traffic": [{**EXPERIMENT["traffic"][1], "congestion": {"kind": "cubic", "beta": 7}}]},
            "traffic[0].congestion.beta",
            "beta must be",
        ),
    ]

    async def conversation(server: Playground, socket: ClientConnection) -> None:
        for experiment, at, words in wrong:
            await say(socket, do="check", setup=1, experiment=experiment)
            told = await hear(socket, "refused")
            assert (told["at"], told["setup"]) == (at, 1) and words in told["text"], told
        await say(socket, do="check", setup=0, experiment=EXPERIMENT)
        assert (await hear(socket, "checked"))["setup"] == 0

    talk(conversation)


def test_two_setups_run_in_step_are_changed_and_joined() -> None:
    async def conversation(server: Playground, socket: ClientConnection) -> None:
        told = await start(socket, EXPERIMENT, with_bottleneck(queue={"kind": "fq_codel"}), speed=20)
        assert [len(one["flows"]) for one in told["setups"]] == [3, 3]
        while (sample := (await hear(socket, "samples"))["setups"])[0]["now"] < 10:
            assert sample[0]["now"] == sample[1]["now"]
        await say(socket, do="pause")
        await say(socket, do="change", setup=0, experiment=with_bottleneck(queue={"kind": "codel", "limit": "400p"}))
        changed = await hear(socket, "changed")
        assert changed["what"] == ['topology.dumbbell.bottleneck.queue = { kind = "codel", limit = "400p" }']
        await say(socket, do="change", setup=0, experiment=with_bottleneck(rate="none"))
        assert (await hear(socket, "refused"))["at"] == "topology.dumbbell.bottleneck.rate"
        await say(socket, do="join", setup=0, traffic={"kind": "bulk", "congestion": "bbr"})
        joined = await hear(socket, "joined")
        assert joined["flows"][-1] == {"name": "bulk3", "entry": 2} and joined["experiment"]["traffic"][2]["pairs"] == [
            2
        ]
        await say(socket, do="export", setup=0, experiment=joined["experiment"])
        text = (await hear(socket, "exported"))["text"]
        assert Scenario.from_toml(text).to_dict() == Scenario.from_dict(joined["experiment"]).to_dict()
        assert re.search(r"#   \d+\.\d\d s  topology\.dumbbell\.bottleneck\.queue", text), text
        await say(socket, do="resume")
        while 3 not in (sample := (await hear(socket, "samples"))["setups"])[0]["flows"]["flow"]:
            pass
        assert 3 not in sample[1]["flows"]["flow"]
        assert (await hear(socket, "ended"))["why"] == "done"

    talk(conversation)


def test_closing_the_page_stops_its_run() -> None:
    async def whole() -> None:
        async with playground() as server:
            async with connect(page(server), max_size=None) as socket:
                await hear(socket, "hello")
                await start(socket, speed=1)
                await hear(socket, "samples")
                (session,) = server.sessions
                assert session.running
            while server.sessions:
                await asyncio.sleep(0.01)
            assert not session.running
            at = session.setups[0].live.now_s
            await asyncio.sleep(0.3)
            assert session.setups[0].live.now_s == at, "nobody goes on with it"
            assert re.fullmatch(r"the page was closed: its run stopped at \d+\.\d\d s", server.lines[0])  # type: ignore[attr-defined]

    asyncio.run(asyncio.wait_for(whole(), 60))


def test_a_run_that_breaks_says_so_and_another_can_start() -> None:
    def broken() -> None:
        raise ZeroDivisionError("by hand")

    async def conversation(server: Playground, socket: ClientConnection) -> None:
        await start(socket, speed=1)
        (session,) = server.sessions
        session.setups[0].samples = broken  # type: ignore[assignment, method-assign]
        told = await hear(socket, "ended")
        assert told["why"] == "failed" and "a bug in haltere, please report it" in told["text"]
        await start(socket, speed=1)
        assert (await hear(socket, "samples"))["setups"][0]["now"] > 0

    talk(conversation)


def test_a_page_more_than_there_may_be_is_refused() -> None:
    async def whole() -> None:
        async with playground() as server:
            open_pages = [await connect(page(server)) for _ in range(4)]
            for one in open_pages:
                await hear(one, "hello")
            with pytest.raises(InvalidStatus, match="503"):
                await connect(page(server))
            for one in open_pages:
                await one.close()

    asyncio.run(asyncio.wait_for(whole(), 60))


def test_a_message_too_long_ends_the_conversation() -> None:
    async def conversation(server: Playground, socket: ClientConnection) -> None:
        await socket.send("x" * 300_000)
        with pytest.raises(ConnectionClosed):
            await hear(socket, "samples")

    talk(conversation)


# The command.


def test_the_command_prints_an_address_on_this_machine_only(tmp_path: Path) -> None:
    process = subprocess.Popen(
        command("play", "--no-browser"), cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/\?token=[\w-]{24}", url)
        with urllib.request.urlopen(url, timeout=10) as answer:
            assert answer.status == 200
        taken = haltere("play", "--no-browser", "--port", url.split(":")[2].split("/")[0], cwd=tmp_path)
        assert taken.returncode == 2 and "play: port must be free, got" in taken.stderr
    finally:
        process.terminate()
        process.wait(10)


def test_without_websockets_the_command_names_what_to_install(tmp_path: Path) -> None:
    script = "import sys; sys.modules['websockets'] = None; from haltere.cli import main; sys.exit(main(['play']))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=tmp_path, timeout=60)
    assert done.returncode == 1
    assert done.stderr == "haltere: play: `websockets` must be installed, got none; pip install 'haltere[play]'\n"


# The page in a browser.


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
