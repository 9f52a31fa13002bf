"""What a page of the playground may name: of mechanisms from outside the tree those that whoever started it named, and no file."""

from __future__ import annotations

import asyncio
import copy
import json
import threading
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import ClientConnection

import browsing
from conftest import haltere
from haltere.errors import InputError
from haltere.play import session
from haltere.play.protocol import Refused, experiment_of, opened
from haltere.play.server import Playground
from playing import EXPERIMENT, hear, start, talk, with_bottleneck

OWN = '''
import pathlib
import haltere
from haltere import param

pathlib.Path(__file__).with_name("imported").touch()

class Fixed(haltere.CongestionControl):
    """A window that never changes."""
    class Params:
        segments: int = param(10, min=1, max=1000, unit="segments", doc="The window.")
    def __init__(self):
        self.cwnd = self.params.segments * self.mss

class Faulty(haltere.CongestionControl):
    def on_ack(self, ev):
        if ev.now > 2_000_000_000:
            raise RuntimeError("enough")

class Fifo(haltere.Queue):
    def __init__(self):
        self.packets = []
    def enqueue(self, now, packet):
        self.packets.append(packet)
    def dequeue(self, now):
        return self.packets.pop(0) if self.packets else None

class First(haltere.Scheduler):
    def pick(self, now, paths, seg):
        return 0
'''
FIXED, FAULTY, FIFO = "python:own:Fixed", "python:own:Faulty", "python:own:Fifo"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a module of the user's own, in which the server runs."""
    (tmp_path / "own.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def with_control(congestion: Any) -> dict[str, Any]:
    out = copy.deepcopy(EXPERIMENT)
    out["traffic"][1]["congestion"] = congestion
    return out


SWEPT = {**EXPERIMENT, "sweep": {"traffic.1.congestion": [FIXED]}}


@pytest.mark.parametrize(
    "experiment",
    [
        with_control(FIXED),
        with_control({"kind": FIXED, "segments": 4}),
        with_control(["cubic", FIXED]),
        with_control("python:./own.py:Fixed"),
        with_control("wasm:own.wasm"),
        with_control("policy:own.json"),
        with_bottleneck(queue=FIFO),
        with_bottleneck(queue={"kind": "classed", "classifier": "python:own:Short"}),
        {**EXPERIMENT, "traffic": [{"kind": "python:own:Source", "pairs": [1]}]},
        {**EXPERIMENT, "traffic": ["python:own:Source"]},
        SWEPT,
    ],
    ids=lambda one: json.dumps(one.get("sweep", one["traffic"][-1]))[:60],
)
def test_a_page_cannot_have_code_read(experiment: dict[str, Any], folder: Path) -> None:
    for take in (experiment_of, opened):
        with pytest.raises(Refused, match=r"in the playground"):
            take(experiment)
    assert not (folder / "imported").exists(), "nothing was imported"


def test_what_is_allowed_is_allowed_as_it_was_named(folder: Path) -> None:
    (folder / "other").mkdir()
    for experiment in (
        with_control("python:./own.py:Fixed"),
        with_control(FAULTY),
        with_control({"kind": FIXED, "source": {"folder": str(folder / "other")}}),
        {**EXPERIMENT, "sweep": {"traffic.1.congestion.source.folder": [str(folder / "other")]}},
    ):
        with pytest.raises(Refused, match="in the playground"):
            experiment_of(experiment, [FIXED])
    assert not (folder / "imported").exists()
    assert (
        experiment_of(with_control({"kind": FIXED, "segments": 4}), [FIXED])[0]["traffic"][1]["congestion"]["segments"]
        == 4
    )
    assert experiment_of({**EXPERIMENT, "title": "Queues: a comparison"})[0]["title"] == "Queues: a comparison"


def test_a_page_chooses_what_was_allowed_and_runs_it() -> None:
    async def conversation(_: Playground, socket: ClientConnection) -> None:
        await start(socket, {**with_control({"kind": FIXED, "segments": 4}), "duration": "3s"})
        assert (await hear(socket, "ended"))["why"] == "done"
        experiment = with_bottleneck(queue={"kind": FIFO})
        await start(socket, {**experiment, "duration": "3s"})
        assert (await hear(socket, "ended"))["why"] == "done"

    talk(conversation, [FIXED, FIFO])


def test_what_the_server_says_has_what_was_allowed() -> None:
    schema = Playground(allowed=[FIXED])._hello()["schema"]
    (tables,) = (one["oneOf"] for one in schema["$defs"]["CongestionParams"]["anyOf"] if "oneOf" in one)
    own = tables[-1]
    assert own["properties"]["kind"]["const"] == FIXED and own["properties"]["segments"]["default"] == 10
    without = Playground()._hello()["schema"]
    assert "own:Fixed" not in json.dumps(without)


def test_an_error_of_the_users_code_ends_the_run_and_not_the_server() -> None:
    async def conversation(_: Playground, socket: ClientConnection) -> None:
        await start(socket, {**with_control(FAULTY), "duration": "5s"})
        told = await hear(socket, "ended")
        assert told["why"] == "failed" and "RuntimeError: enough at" in told["text"] and "own.py:" in told["text"]
        await start(socket, {**EXPERIMENT, "duration": "1s"})
        assert (await hear(socket, "ended"))["why"] == "done"

    talk(conversation, [FAULTY])


def test_what_cannot_be_allowed_is_refused_at_the_start(folder: Path) -> None:
    for kind, told in {
        "cubic": "--allow must be a congestion control or a queue discipline of your own",
        "python:own:First": "got `python:own:First`, one of schedulers",
        "python:own:Fixedd": "did you mean `Fixed`?",
    }.items():
        with pytest.raises(InputError) as error:
            Playground(allowed=[kind])
        assert told in str(error.value)
    done = haltere("play", "--no-browser", "--allow", "cubic", cwd=folder)
    assert done.returncode == 2 and "--allow must be" in done.stderr


def test_the_page_offers_what_was_allowed(folder: Path) -> None:
    with browsing.served_at(folder, "--allow", FIXED, "--allow", FIFO) as address, browsing.page_of(address) as page:
        for kind in (FIXED, FIFO):
            browsing.wait(page, f"[...document.querySelectorAll('option')].some((one) => one.value === '{kind}')")


@pytest.mark.parametrize("path", ["/etc/passwd", "/dev/zero", "x.trace"])
@pytest.mark.parametrize("kind", ["trace", "trace table", "sizes"])
def test_a_page_cannot_name_a_file(kind: str, path: str) -> None:
    experiment = with_bottleneck(**({} if kind == "sizes" else {"trace": path if kind == "trace" else {"file": path}}))
    if kind == "sizes":
        experiment["traffic"] = [
            {"kind": "poisson", "pairs": [1], "load": 0.5, "sizes": {"kind": "file", "file": path}}
        ]
    with pytest.raises(Refused, match="must be left out in the playground, which reads no files") as caught:
        experiment_of(experiment)
    assert caught.value.at.rsplit(".", 1)[-1] in ("trace", "file")


def test_the_playground_reads_experiments_off_its_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[int] = []
    told: list[dict[str, Any]] = []

    async def tell(what: dict[str, Any]) -> None:
        told.append(what)

    real = session.experiment_of

    def experiment_of(*given: Any) -> Any:
        threads.append(threading.get_ident())
        return real(*given)

    monkeypatch.setattr(session, "experiment_of", experiment_of)
    for do in ("check", "export"):
        asyncio.run(session.Session(tell).take(json.dumps({"do": do, "experiment": EXPERIMENT, "setup": 0})))
    assert [one["tell"] for one in told] == ["checked", "exported"]
    assert len(threads) == 2 and threading.get_ident() not in threads
