"""Many environments, stepped together by one call that runs without Python, on a few threads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from ..errors import InputError, unknown
from .rewards import Reward
from .stepper import TERMINATED, TRUNCATED, Choices, Networks, Stepper

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float32]


class HaltereVectorEnv(VectorEnv[Floats, Any, npt.NDArray[Any]]):
    """Environments of one sender, or one queue, each. What they show does not depend on the number of threads.

    ``autoreset`` is Gymnasium's: with ``next_step`` the step after the end of a run begins the next one; with ``disabled`` an environment
    that is done stays so until ``reset(options={"reset_mask": mask})``.
    """

    def __init__(self, stepper: Stepper, count: int, autoreset: str) -> None:
        if len(stepper.names) != 1:
            raise InputError(f"gym: agent must be one flow in every network, got {len(stepper.names)}")
        modes = {"next_step": AutoresetMode.NEXT_STEP, "disabled": AutoresetMode.DISABLED}
        if autoreset not in modes:
            raise unknown("gym: autoreset", autoreset, modes)
        self.stepper = stepper
        self.num_envs = count
        self.metadata = {"autoreset_mode": modes[autoreset], "render_modes": []}
        self.render_mode = None
        self.single_observation_space = stepper.observation_space
        self.single_action_space = stepper.action.space()
        self.observation_space = batch_space(self.single_observation_space, count)
        self.action_space = batch_space(self.single_action_space, count)
        self._restart = autoreset == "next_step"
        shown = [field for field in stepper.fields if field.group == "network" or field.name == "duration"]
        self._shown = [stepper.fields.index(field) for field in shown]
        self._shown_names = [field.name for field in shown]
        self._has_seed = False
        self._was_over: Bools = np.zeros(count, np.bool_)

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Floats, dict[str, Any]]:
        """Begins runs. A whole number gives environment ``i`` the seed ``seed + i``."""
        mask = (options or {}).get("reset_mask")
        if seed is None and not self._has_seed:
            seed = int(self.np_random.integers(2**62))
        self._has_seed = True
        if seed is None or isinstance(seed, int | np.integer):
            seeds = [None if seed is None else int(seed) + number for number in range(self.num_envs)]
        else:
            seeds = list(seed)
        self.stepper.reset(seeds, mask)
        self._was_over[:] = False
        return self.stepper.observations()[:, 0], self._infos()

    def step(self, actions: Any) -> tuple[Floats, npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any], dict[str, Any]]:
        """One decision each, and the interval after it."""
        self.stepper.step(actions, self._restart)
        flags = self.stepper.flags[:, 0]
        terminated, truncated = (flags & TERMINATED).astype(np.bool_), (flags & TRUNCATED).astype(np.bool_)
        rewards = self.stepper.rewards()[:, 0]
        if not self._restart:
            rewards = np.where(self._was_over, 0.0, rewards)
            self._was_over = terminated | truncated
        return self.stepper.observations()[:, 0], rewards, terminated, truncated, self._infos()

    def _infos(self) -> dict[str, Any]:
        """Exact whole numbers, and what the network alone knows: an array each."""
        # One copy with a row for each, instead of a copy for each: a step has little else to do in Python.
        counters = self.stepper.counters[:, 0].T.copy()
        fields = self.stepper.rows[:, 0, self._shown].T.copy()
        infos: dict[str, Any] = dict(zip(self.stepper.counter_names, counters, strict=True))
        infos.update(zip(self._shown_names, fields, strict=True))
        return infos


def make_vec(
    count: int,
    networks: Networks = "train",
    agent: str | int = "agent",
    *,
    link: str | None = None,
    action: str = "cwnd",
    interval: str = "1rtt",
    observe: str | Sequence[str] = "scaled",
    reward: str | Reward = "power",
    decides: bool = True,
    limit: str = "1000p",
    ecn: bool = False,
    threads: int | None = None,
    fixed: bool = False,
    autoreset: str = "next_step",
) -> HaltereVectorEnv:
    """So many environments, stepped by one call that runs without Python on ``threads`` threads (the number of processors).

    Each run draws one of the ``networks`` with its seed. With ``fixed`` environment ``i`` always has network ``i`` modulo their number.
    With ``link`` a queue decides (:func:`haltere.gym.make_queue`), else a sender (:func:`haltere.gym.make`).
    """
    if link is not None:
        interval = "20ms" if interval == "1rtt" else interval
        reward = "queue_delay" if reward == "power" else reward
        choices = Choices([], link, "probability", interval, decides, limit, ecn)
    else:
        choices = Choices([str(agent)], None, action, interval, decides)
    stepper = Stepper(networks, choices, observe, reward, count, threads, fixed)
    return HaltereVectorEnv(stepper, count, autoreset)
