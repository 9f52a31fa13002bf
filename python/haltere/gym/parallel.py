"""Several senders decide: an environment of PettingZoo."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.utils import seeding
from pettingzoo import ParallelEnv

from .rewards import Reward
from .stepper import TERMINATED, TRUNCATED, Choices, Networks, Stepper

Observation = npt.NDArray[np.float32]
ByAgent = dict[str, Any]


class SendersEnv(ParallelEnv[str, Observation, Any]):  # type: ignore[misc]
    """A run that waits for the decisions of several senders, all at the same instants. Agents are the flows, by name."""

    metadata = {"name": "haltere_senders", "render_modes": []}  # noqa: RUF012 (PettingZoo's)

    def __init__(self, stepper: Stepper) -> None:
        self.stepper = stepper
        self.possible_agents = list(stepper.names)
        self.agents: list[str] = []
        self.observation_spaces = {name: stepper.observation_space for name in stepper.names}
        self.action_spaces = {name: stepper.action.space() for name in stepper.names}
        self.render_mode = None
        self._has_seed = False

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """The space of that agent's observations."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """The space of that agent's decisions."""
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[ByAgent, ByAgent]:
        """Begins a run. With ``seed`` it is the first run of that seed; without, the next."""
        if seed is None and not self._has_seed:
            seed = int(seeding.np_random()[0].integers(2**63))
        self._has_seed = True
        self.stepper.reset([seed])
        self.agents = list(self.possible_agents)
        return self._shown(self.agents)

    def _shown(self, agents: Sequence[str]) -> tuple[ByAgent, ByAgent]:
        observations = self.stepper.observations()[0]
        numbers = {name: self.possible_agents.index(name) for name in agents}
        return (
            {name: observations[number] for name, number in numbers.items()},
            {name: self.stepper.info(0, number) for name, number in numbers.items()},
        )

    def step(self, actions: ByAgent) -> tuple[ByAgent, ByAgent, ByAgent, ByAgent, ByAgent]:
        """One decision of each agent, and the interval after it. An agent that is done leaves."""
        if not self.agents:
            return {}, {}, {}, {}, {}
        width = self.stepper.action.width
        values = np.zeros((len(self.possible_agents), width))
        for number, name in enumerate(self.possible_agents):
            # A flow that is complete decides nothing more: its value has no effect.
            values[number] = np.asarray(actions[name], np.float64) if name in actions else self.stepper.action.low
        self.stepper.step(values)
        agents = list(self.agents)
        observations, infos = self._shown(agents)
        rewards = self.stepper.rewards()[0]
        of = {name: self.possible_agents.index(name) for name in agents}
        flags = {name: int(self.stepper.flags[0, number]) for name, number in of.items()}
        terminated = {name: bool(flag & TERMINATED) for name, flag in flags.items()}
        truncated = {name: bool(flag & TRUNCATED) for name, flag in flags.items()}
        self.agents = [name for name in agents if not terminated[name] and not truncated[name]]
        return observations, {name: float(rewards[number]) for name, number in of.items()}, terminated, truncated, infos

    def render(self) -> None:
        """Nothing: `haltere play` shows runs."""

    def close(self) -> None:
        """Nothing is open."""


def make_parallel(
    networks: Networks,
    agents: Sequence[str | int] = ("agent",),
    *,
    action: str = "cwnd",
    interval: str = "20ms",
    observe: str | Sequence[str] = "scaled",
    reward: str | Reward = "power",
    decides: bool = True,
) -> SendersEnv:
    """An environment in which several senders decide.

    ``agents``: names of flows, or of traffic entries, which stand for all their flows. The other parameters are those of
    :func:`haltere.gym.make`, but ``interval`` is a duration.
    """
    choices = Choices([str(agent) for agent in agents], None, action, interval, decides)
    return SendersEnv(Stepper(networks, choices, observe, reward))
