"""One sender, or one queue, decides: environments of Gymnasium."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt

from ..errors import InputError
from .rewards import Reward
from .stepper import TERMINATED, TRUNCATED, Choices, Networks, Stepper

Observation = npt.NDArray[np.float32]


class HaltereEnv(gymnasium.Env[Any, Any]):
    """A run that waits for the decisions of one sender or one queue.

    An episode is a run of the experiment. It is *truncated* at the end of the experiment's ``duration``, and *terminated* when the sender's
    flow is complete or its connection is gone. The same seed and the same actions give the same observations, byte for byte.
    """

    metadata = {"render_modes": []}  # noqa: RUF012 (Gymnasium's)

    def __init__(self, stepper: Stepper) -> None:
        if len(stepper.names) != 1:
            raise InputError(
                f"gym: agent must be one flow, got {len(stepper.names)}: `{'`, `'.join(stepper.names[:5])}`; "
                "`haltere.gym.make_parallel` takes several"
            )
        self.stepper = stepper
        self.observation_space = stepper.observation_space
        self.action_space = stepper.action.space()
        self._has_seed = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begins a run. With ``seed`` it is the first run of that seed; without, the next."""
        super().reset(seed=seed)
        if seed is None and not self._has_seed:
            seed = int(self.np_random.integers(2**63))
        self._has_seed = True
        self.stepper.reset([seed])
        return self.stepper.observations()[0, 0], self.stepper.info(0)

    def step(self, action: Any) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """One decision, and the interval after it."""
        if self.stepper.flags[0, 0] & (TERMINATED | TRUNCATED):
            raise InputError("gym: reset must come after the end of a run, got step")
        self.stepper.step(np.asarray(action, np.float64))
        flags = self.stepper.flags[0, 0]
        reward = float(self.stepper.rewards()[0, 0])
        ended = bool(flags & TERMINATED), bool(flags & TRUNCATED)
        return self.stepper.observations()[0, 0], reward, *ended, self.stepper.info(0)


def make(
    networks: Networks,
    agent: str | int = "agent",
    *,
    action: str = "cwnd",
    interval: str = "1rtt",
    observe: str | Sequence[str] = "scaled",
    reward: str | Reward = "power",
    decides: bool = True,
) -> HaltereEnv:
    """An environment in which one sender decides.

    ``networks``: an experiment file, or several of which each run draws one. ``agent``: the name of a flow or of its traffic entry, or its
    index. ``action``, ``observe``, ``reward``: see :data:`ACTIONS`, :data:`SENDER_FIELDS` and :mod:`haltere.gym.rewards`. ``interval``: a
    duration, round-trip times such as ``1rtt``, or ``ack`` for each acknowledgement. If ``decides`` is false, the sender has the experiment's own congestion control, and actions
    have no effect.
    """
    choices = Choices([str(agent)], None, action, interval, decides)
    return HaltereEnv(Stepper(networks, choices, observe, reward))


def make_queue(
    networks: Networks,
    link: str,
    *,
    interval: str = "20ms",
    observe: str | Sequence[str] = "scaled",
    reward: str | Reward = "queue_delay",
    limit: str = "1000p",
    ecn: bool = False,
    decides: bool = True,
) -> HaltereEnv:
    """An environment in which the queue of a link decides with which probability it drops a packet that arrives, or marks it with ``ecn``.

    ``link`` names one direction: ``left>right`` for the bottleneck of a dumbbell. ``limit`` is what the queue can hold.
    """
    choices = Choices([], link, "probability", interval, decides, limit, ecn)
    return HaltereEnv(Stepper(networks, choices, observe, reward))
