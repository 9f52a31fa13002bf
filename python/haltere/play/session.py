"""The set-ups of one page run side by side at the pace that was chosen, are changed, and stop when the page goes."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Any

from .. import _core
from ..errors import HaltereError
from ..limits import PLAYGROUND as MOST
from . import export
from .protocol import Refused, entry_of, experiment_of, opened, read, refused, seconds_of, setup_of, speed_of
from .setup import Setup

Tell = Callable[[dict[str, Any]], Awaitable[None]]

#: Seconds between two looks at the simulator.
TICK = 0.05


class Session:
    """What one page runs. ``allowed``: the mechanisms from outside the tree that it may name."""

    def __init__(self, tell: Tell, allowed: Collection[str] = ()) -> None:
        self._tell, self._allowed = tell, allowed
        self.setups: list[Setup] = []
        self._pace: float | None = 1.0
        #: No step while a set-up is changed, and no change during a step.
        self._lock = asyncio.Lock()
        self._going = asyncio.Event()
        self._progress = _core.Progress()
        self._task: asyncio.Task[None] | None = None

    @property
    def running(self) -> bool:
        """True while a run has not come to its end, also when it pauses."""
        return self._task is not None and not self._task.done()

    async def take(self, message: str | bytes) -> None:
        """Carries out one request. Raises :class:`Refused`."""
        do, keys = read(message)
        try:
            await getattr(self, f"_{do}")(**keys)
        except HaltereError as error:
            raise refused(error) from None

    async def _made(self, experiment: Any, seed: int) -> Setup:
        """Reads an experiment and builds its run: on a thread, so that the other pages go on meanwhile."""
        return await asyncio.to_thread(lambda: Setup(*experiment_of(experiment, self._allowed), seed))

    async def _check(self, experiment: Any, setup: Any) -> None:
        index = setup_of(setup)
        with _of(index):
            # Building the run finds what the schema cannot tell, such as a threshold above another.
            await self._made(experiment, 1)
        await self._tell({"tell": "checked", "setup": index})

    async def _open(self, setups: Any) -> None:
        written = []
        for index, one in enumerate(_several(setups, "open")):
            with _of(index):
                written.append(await asyncio.to_thread(opened, one, self._allowed))
                await self._made(one, 1)
        await self._tell({"tell": "opened", "setups": written})

    async def _start(self, setups: Any, speed: Any, seed: Any) -> None:
        several = _several(setups, "start")
        if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**63:
            raise Refused("start: seed must be a whole number from 0 to 2^63 - 1")
        pace, made = speed_of(speed), []
        for index, one in enumerate(several):
            with _of(index):
                made.append(await self._made(one, seed))
        await self.stop()
        self.setups, self._pace, self._progress = made, pace, _core.Progress()
        self._going.set()
        await self._tell({"tell": "started", "setups": [{"flows": one.flows(), "end": one.end} for one in made]})
        self._task = asyncio.create_task(self._go())

    async def _change(self, experiment: Any, setup: Any) -> None:
        index = self._index(setup)
        with _of(index):
            new = await asyncio.to_thread(experiment_of, experiment, self._allowed)
            async with self._lock:
                what = self.setups[index].change(*new)
        await self._told(index, "changed", what)

    async def _join(self, traffic: Any, setup: Any, delay: Any) -> None:
        await self._edit(setup, "joined", lambda one: one.with_flows(traffic, delay))

    async def _leave(self, entry: Any, setup: Any) -> None:
        await self._edit(setup, "left", lambda one: one.without_flows(entry_of(entry, one.experiment)))

    async def _outage(self, seconds: Any, setup: Any) -> None:
        await self._edit(setup, "outage", lambda one: one.with_outage(seconds_of(seconds)))

    async def _edit(self, setup: Any, tell: str, edited: Callable[[Setup], dict[str, Any]]) -> None:
        """A change whose time is now: the run is where it is until the change is made."""
        index = self._index(setup)
        one = self.setups[index]
        with _of(index):
            async with self._lock:
                what = one.change(*await asyncio.to_thread(experiment_of, edited(one), self._allowed))
        await self._told(index, tell, what)

    async def _told(self, index: int, tell: str, what: list[str]) -> None:
        one = self.setups[index]
        now = one.live.now_s
        message = {"setup": index, "at": now, "what": what, "experiment": one.experiment, "flows": one.flows()}
        await self._tell({"tell": tell, **message})

    async def _speed(self, speed: Any) -> None:
        self._pace = speed_of(speed)

    async def _pause(self) -> None:
        self._going.clear()

    async def _resume(self) -> None:
        self._going.set()

    async def _stop(self) -> None:
        await self.stop()
        await self._tell({"tell": "ended", "why": "stopped"})

    async def _export(self, experiment: Any, setup: Any) -> None:
        index = setup_of(setup)
        with _of(index):
            written, _ = await asyncio.to_thread(experiment_of, experiment, self._allowed)
        ran = index < len(self.setups) and self.setups[index].experiment == written
        text = export.toml(written, self.setups[index].changes if ran else ())
        await self._tell({"tell": "exported", "setup": index, "text": text})

    def _index(self, setup: Any) -> int:
        if not self.running:
            raise Refused("there must be a run, got none; press Run")
        return setup_of(setup, len(self.setups))

    async def stop(self) -> None:
        """Ends the run, also in the middle of a step."""
        task, self._task = self._task, None
        if task is not None:
            self._progress.cancel()
            self._going.set()
            await asyncio.gather(task, return_exceptions=True)

    async def _go(self) -> None:
        """Step by step to the end: no step is to take longer than two ticks."""
        budget, before = TICK, time.perf_counter()
        try:
            while not self._progress.cancelled:
                if not self._going.is_set():
                    await self._going.wait()
                    before = time.perf_counter()
                begun = time.perf_counter()
                # What passed since the last step, but no catching up after a stall.
                due = math.inf if self._pace is None else min(begun - before, 4 * TICK) * self._pace
                before = begun
                await self._step(min(due, budget))
                took = time.perf_counter() - begun
                budget = min(max(budget * min(max(TICK / max(took, 1e-4), 0.25), 2.0), 1e-4), 10.0)
                if all(one.done for one in self.setups):
                    return await self._tell({"tell": "ended", "why": "done"})
                await asyncio.sleep(max(0.0, TICK - (time.perf_counter() - begun)))
        except Exception as error:  # the page must hear of it, whatever it is
            if not self._progress.cancelled:
                known = isinstance(error, HaltereError)
                text = str(error) if known else f"a bug in haltere, please report it: {error!r}"
                await self._tell({"tell": "ended", "why": "failed", "text": text})

    async def _step(self, seconds: float) -> None:
        async with self._lock:
            steps = (asyncio.to_thread(one.live.advance, seconds, self._progress) for one in self.setups)
            await asyncio.gather(*steps)
            samples = [one.samples() for one in self.setups]
        await self._tell({"tell": "samples", "setups": samples})


@contextmanager
def _of(setup: int) -> Iterator[None]:
    """What is refused inside is about that set-up."""
    try:
        yield
    except Refused as error:
        error.setup = setup
        raise


def _several(setups: Any, do: str) -> list[Any]:
    if not isinstance(setups, list) or not 1 <= len(setups) <= MOST["setups"]:
        raise Refused(f"{do}: setups must be a list of 1 to {MOST['setups']} experiments")
    return setups
