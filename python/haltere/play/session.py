"""The set-ups of one page: they run side by side at the pace that was chosen, they are changed, and they stop when the page goes."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable
from typing import Any

from .. import _core
from ..errors import HaltereError, InputError
from . import export
from .protocol import MOST, Refused, experiment_of, read, refused, setup_of, speed_of

__all__ = ["Session", "Setup"]

Tell = Callable[[dict[str, Any]], Awaitable[None]]

#: Seconds between two looks at the simulator.
TICK = 0.05


class Setup:
    """One set-up that runs: the experiment as it is written now, the run, and what was changed when."""

    def __init__(self, experiment: dict[str, Any], scenario: _core.Scenario, seed: int) -> None:
        try:
            self.live = _core.Live(scenario, seed)
        except InputError as error:
            raise refused(error) from None
        self.experiment, self.end = experiment, scenario.duration_s
        self.changes: list[tuple[float, str]] = []
        #: Samples are of the links that are watched; the page shows the bottleneck.
        self.bottleneck = self.live.links.index("left>right")

    @property
    def done(self) -> bool:
        """True at the end of the run; seconds are rounded, so to a nanosecond."""
        return self.live.now_s >= self.end - 1e-9

    def change(self, experiment: dict[str, Any], scenario: _core.Scenario) -> list[str]:
        """From now on the experiment is that. Says what changed."""
        try:
            self.live.change(scenario)
        except InputError as error:
            raise refused(error) from None
        what = export.changed_keys(self.experiment, experiment)
        self.experiment, self.end = experiment, scenario.duration_s
        self.changes += [(self.live.now_s, one) for one in what]
        return what

    def with_flows(self, entry: Any) -> dict[str, Any]:
        """The experiment with another traffic entry, which starts now between a pair of its own."""
        if not isinstance(entry, dict):
            raise Refused("traffic must be an object, got something else", "traffic")
        dumbbell = self.experiment["topology"]["dumbbell"]
        pairs = dumbbell["pairs"] + 1
        # Rounded up, so that the start is not past; the file then says exactly when.
        start = f"{math.ceil(self.live.now_s * 1000) / 1000:.3f}s"
        more = {**entry, "pairs": [pairs], "start": start, "jitter": "0s"}
        return {
            **self.experiment,
            "topology": {"dumbbell": {**dumbbell, "pairs": pairs}},
            "traffic": [*self.experiment["traffic"], more],
        }

    def flows(self) -> list[dict[str, Any]]:
        """Every flow: its name, and the index of its traffic entry."""
        labels = [entry.get("name") or f"{entry['kind']}{i + 1}" for i, entry in enumerate(self.experiment["traffic"])]
        return [{"name": name, "entry": labels.index(name.split(":")[0])} for name in self.live.flows]

    def samples(self) -> dict[str, Any]:
        """What was sampled since the last call: of the bottleneck's queue, the flows and the pings."""
        fresh = self.live.samples()
        queues = fresh["queues"]
        mine = [i for i, link in enumerate(queues["link"]) if link == self.bottleneck]
        names = ("t", "packets", "bytes", "dropped", "marked", "sent_bytes")
        queue = {name: [queues[name][i] for i in mine] for name in names}
        return {
            "now": self.live.now_s,
            "queue": {**queue, "vars": queues["vars"][mine[-1]] if mine else None},
            "flows": fresh["flows"],
            "pings": fresh["pings"],
        }


def _made(experiment: Any, seed: int) -> Setup:
    """Reads an experiment and builds its run: on a thread, so that the other pages go on meanwhile."""
    return Setup(*experiment_of(experiment), seed)


class Session:
    """What one page runs."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self.setups: list[Setup] = []
        self._speed: float | None = 1.0
        #: No step while a set-up is changed, and no change during a step.
        self._lock = asyncio.Lock()
        self._going = asyncio.Event()
        self._progress = _core.Progress()
        self._task: asyncio.Task[None] | None = None
        self._requests: dict[str, Callable[..., Awaitable[None]]] = {
            "check": self._check,
            "start": self._start,
            "change": self._change,
            "join": self._join,
            "speed": self._set_speed,
            "pause": self._pause,
            "resume": self._resume,
            "stop": self._stop,
            "export": self._export,
        }

    @property
    def running(self) -> bool:
        """True while a run has not come to its end, also when it pauses."""
        return self._task is not None and not self._task.done()

    async def take(self, message: str | bytes) -> None:
        """Carries out one request. Raises :class:`Refused`."""
        do, keys = read(message)
        try:
            await self._requests[do](**keys)
        except HaltereError as error:
            raise refused(error) from None

    async def _check(self, experiment: Any, setup: Any) -> None:
        index = setup_of(setup)
        with _of(index):
            # Building the run finds what the schema cannot tell, such as a threshold above another.
            await asyncio.to_thread(_made, experiment, 1)
        await self._tell({"tell": "checked", "setup": index})

    async def _start(self, setups: Any, speed: Any, seed: Any) -> None:
        if not isinstance(setups, list) or not 1 <= len(setups) <= MOST["setups"]:
            raise Refused(f"start: setups must be a list of 1 to {MOST['setups']} experiments")
        if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**63:
            raise Refused("start: seed must be a whole number from 0 to 2^63 - 1")
        pace, made = speed_of(speed), []
        for index, one in enumerate(setups):
            with _of(index):
                made.append(await asyncio.to_thread(_made, one, seed))
        await self.stop()
        self.setups, self._speed, self._progress = made, pace, _core.Progress()
        self._going.set()
        await self._tell({"tell": "started", "setups": [{"flows": one.flows(), "end": one.end} for one in made]})
        self._task = asyncio.create_task(self._go())

    async def _change(self, experiment: Any, setup: Any) -> None:
        index = self._index(setup)
        with _of(index):
            new = await asyncio.to_thread(experiment_of, experiment)
            async with self._lock:
                what = self.setups[index].change(*new)
        await self._told(index, "changed", what)

    async def _join(self, traffic: Any, setup: Any) -> None:
        index = self._index(setup)
        one = self.setups[index]
        with _of(index):
            async with self._lock:
                what = one.change(*await asyncio.to_thread(experiment_of, one.with_flows(traffic)))
        await self._told(index, "joined", what)

    async def _told(self, index: int, tell: str, what: list[str]) -> None:
        one = self.setups[index]
        now = one.live.now_s
        message = {"setup": index, "at": now, "what": what, "experiment": one.experiment, "flows": one.flows()}
        await self._tell({"tell": tell, **message})

    async def _set_speed(self, speed: Any) -> None:
        self._speed = speed_of(speed)

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
            written, _ = await asyncio.to_thread(experiment_of, experiment)
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
                due = math.inf if self._speed is None else min(begun - before, 4 * TICK) * self._speed
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


class _of:
    """What is refused inside is about that set-up."""

    def __init__(self, setup: int) -> None:
        self._setup = setup

    def __enter__(self) -> None:
        return None

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, Refused):
            error.setup = self._setup
