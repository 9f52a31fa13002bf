"""What the tests of the playground share: an experiment, a server, a conversation with it."""

from __future__ import annotations

import asyncio
import copy
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from websockets.asyncio.client import ClientConnection, connect

from haltere import _core
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


@asynccontextmanager
async def playground(allowed: Sequence[str] = ()) -> AsyncIterator[Playground]:
    """A server that listens, with what it logs."""
    lines: list[str] = []
    server = Playground(log=lines.append, allowed=allowed)
    server.lines = lines  # type: ignore[attr-defined]
    async with await server.start():
        yield server


def talk(conversation: Callable[[Playground, ClientConnection], Awaitable[None]], allowed: Sequence[str] = ()) -> None:
    """Has a conversation with a server, as a page would begin it."""

    async def whole() -> None:
        async with playground(allowed) as server, connect(page(server), max_size=None) as socket:
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
