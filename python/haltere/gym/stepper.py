"""What the environments of all libraries have in common: runs in steps, and the arrays into which a step writes."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _core
from ..api import Scenario
from ..errors import InputError, unknown
from .fields import ACTIONS, QUEUE_FIELDS, SENDER_FIELDS, Array, Interval, chosen, observation_space
from .rewards import Reward, find
from .split import Network, networks

#: What :func:`haltere.gym.make` and its like take for networks.
Networks = str | Path | Scenario | Network | Sequence[str | Path | Scenario | Network]

TERMINATED, TRUNCATED, BEGUN = 1, 2, 4
#: The largest seed: whole numbers with a sign hold it.
MOST_SEED = 2**63 - 1


@dataclass(frozen=True)
class Choices:
    """Who decides, what and how often, as the simulator reads it."""

    agents: list[str]
    link: str | None
    action: str
    interval: str
    decides: bool = True
    limit: str | None = None
    ecn: bool = False


def scenarios(given: Networks) -> list[Scenario]:
    """The experiments that ``given`` names: files, experiments, networks of the gym, or ``train`` and ``held_out``."""
    if isinstance(given, str) and given in ("train", "held_out"):
        return [network.scenario() for network in networks(given)]
    if isinstance(given, Scenario):
        return [given]
    if isinstance(given, Network):
        return [given.scenario()]
    if isinstance(given, str | Path):
        return [Scenario.load(given)]
    return [scenario for one in given for scenario in scenarios(one)]


class Stepper:
    """Runs in steps. After each step ``rows``, ``counters`` and ``flags`` have what it showed."""

    def __init__(
        self,
        given: Networks,
        choices: Choices,
        observe: str | Sequence[str],
        reward: str | Reward,
        count: int = 1,
        threads: int | None = None,
        fixed: bool = False,
    ) -> None:
        if not 1 <= count <= 65536:
            raise InputError(f"gym: environments must be from 1 to 65536, got {count}")
        if choices.action not in ACTIONS:
            raise unknown("gym: action", choices.action, ACTIONS)
        queue = choices.link is not None
        self.action = ACTIONS[choices.action]
        self.fields = QUEUE_FIELDS if queue else SENDER_FIELDS
        self.columns = chosen(self.fields, observe)
        self.observation_space = observation_space(self.fields, self.columns)
        self.reward = find(reward, queue)
        threads = threads or len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else threads or 1
        cores = [scenario._core for scenario in scenarios(given)]
        self._gym = _core.Gym(cores, json.dumps(asdict(choices)), count, threads, fixed)
        self.names = self._gym.names()
        self.counter_names = _core.gym_counters(queue)
        agents = len(self.names)
        self.rows: Array = np.zeros((count, agents, len(self.fields)))
        self.counters: npt.NDArray[np.int64] = np.zeros((count, agents, len(self.counter_names)), np.int64)
        self.flags: npt.NDArray[np.uint8] = np.zeros((count, agents), np.uint8)
        #: Fields by name: the same array with each step.
        self._interval = Interval(self.fields, self.rows)
        self._count = count

    def reset(self, seeds: Sequence[int | None], which: Sequence[bool] | None = None) -> None:
        """A new run begins. A seed makes it the first run of that seed; without one it is the next of the seed before."""
        for seed in seeds:
            if seed is not None and not 0 <= seed <= MOST_SEED:
                raise InputError(f"gym: seed must be from 0 to {MOST_SEED}, got {seed}")
        self._gym.reset(list(which) if which is not None else [True] * self._count, list(seeds))
        self._gym.show(self.rows, self.counters, self.flags)

    def step(self, actions: Any, restart: bool = True) -> None:
        """One decision each, and the interval after it. ``restart``: a run that is over is followed by the next; else it stays."""
        self._gym.step(np.ascontiguousarray(actions, np.float64).reshape(-1), restart)
        self._gym.show(self.rows, self.counters, self.flags)

    def observations(self) -> npt.NDArray[np.float32]:
        """The chosen fields: environment, who decides, field. The simulator keeps each in its range, and rounding does, too."""
        return self.rows[:, :, self.columns].astype(np.float32)

    def rewards(self) -> Array:
        """The reward of each that decides, of each environment; 0 for a run that has just begun."""
        reward = np.asarray(self.reward(self._interval), np.float64)
        return np.where(self.flags & BEGUN, 0.0, reward)

    def info(self, env: int, agent: int = 0) -> dict[str, Any]:
        """Exact whole numbers, and what the network alone knows."""
        found: dict[str, Any] = dict(zip(self.counter_names, map(int, self.counters[env, agent]), strict=True))
        for number, field in enumerate(self.fields):
            if field.group == "network":
                found[field.name] = float(self.rows[env, agent, number])
        found["duration"] = float(self.rows[env, agent, 0])
        return found
