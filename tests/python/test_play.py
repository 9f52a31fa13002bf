"""The playground: what the live run gives, who may talk to the server and how it answers, and the page in a browser."""

from __future__ import annotations

import asyncio
import copy
import json
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from conftest import command, haltere
from haltere import Scenario, _core
from haltere.errors import HaltereError, InputError
from haltere.play import browser, export
from haltere.play.server import Playground
from playing import EXPERIMENT, core, hear, page, playground, say, start, talk, with_bottleneck

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


def test_the_page_is_served_to_who_has_the_token_and_nothing_else_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def get(url: str, **headers: str) -> tuple[int, str, Any]:
        try:
            with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=60) as answer:
                return answer.status, answer.read().decode(), answer.headers
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode(), error.headers

    async def whole() -> None:
        async with playground() as server:
            base = f"http://127.0.0.1:{server.port}"
            monkeypatch.setattr(browser, "FOLDER", tmp_path)
            shared = ('id="here"', "haltere play 'LINK'")
            for made in (False, True):  # whether `make web` wrote the page that runs a link
                code, text, _ = await asyncio.to_thread(get, base + "/", Accept="text/html")
                assert (code, *(part in text for part in shared)) == (200, made, True) and server.token not in text
                (tmp_path / "play.html").write_text("<title>Haltere laboratory</title>")
            code, text, headers = await asyncio.to_thread(get, base + "/browser/play.html")
            assert code == 200 and "laboratory" in text and "wasm-unsafe-eval" in headers["Content-Security-Policy"]
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
                ("/browser/../server.py", 404),
                ("/etc", 404),
            ):
                assert (await asyncio.to_thread(get, base + wrong))[0] == code, wrong
            # A foreign page that has its own name point here.
            assert (await asyncio.to_thread(get, server.url, Host="evil.example"))[0] == 403
            assert server.token not in (await asyncio.to_thread(get, base + "/"))[1]
            # What no library takes for an address.
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            writer.write(f"GET //[ HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n\r\n".encode())
            assert (await reader.readline()).split()[1] == b"400"
            writer.close()

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
    ('{"do": "join", "setup": 0, "traffic": {}, "delay": null}', "there must be a run"),
    ('{"do": "leave", "setup": 0, "entry": 1}', "there must be a run"),
    ('{"do": "outage", "setup": 0, "seconds": 1}', "there must be a run"),
    ('{"do": "open", "setups": {}}', "open: setups must be a list of 1 to 2 experiments"),
    ('{"do": "open", "setups": [[]]}', "experiment must be an object, got a list"),
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
        await say(socket, do="join", setup=0, traffic={"kind": "bulk", "congestion": "bbr"}, delay=None)
        joined = await hear(socket, "joined")
        assert joined["flows"][-1] == {"name": "bulk3", "entry": 2, "backward": False}
        assert joined["experiment"]["traffic"][2]["pairs"] == [2]
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
        with urllib.request.urlopen(url, timeout=60) as answer:
            assert answer.status == 200
        taken = haltere("play", "--no-browser", "--port", url.split(":")[2].split("/")[0], cwd=tmp_path)
        assert taken.returncode == 2 and "play: port must be free, got" in taken.stderr
    finally:
        process.terminate()
        process.wait(60)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_command_cleanly_while_a_page_is_open(number: signal.Signals, tmp_path: Path) -> None:
    process = subprocess.Popen(
        command("play", "--no-browser"), cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip

    async def whole() -> None:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        async with connect(url.replace("http", "ws").replace("/?", "/ws?"), max_size=None) as socket:
            assert json.loads(await socket.recv())["tell"] == "hello"
            await start(socket, speed=1)
            process.send_signal(number)
            with pytest.raises(ConnectionClosed):
                while True:
                    await socket.recv()

    try:
        asyncio.run(asyncio.wait_for(whole(), 60))
        _, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 0 and "Traceback" not in errors and "never retrieved" not in errors, errors


def test_without_websockets_the_command_names_what_to_install(tmp_path: Path) -> None:
    script = "import sys; sys.modules['websockets'] = None; from haltere.cli import main; sys.exit(main(['play']))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=tmp_path, timeout=60)
    assert done.returncode == 1
    assert done.stderr == "haltere: play: `websockets` must be installed, got none; pip install websockets\n"
