"""Scores: the mean reward of policies and of congestion controls, over networks and seeds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..errors import InputError
from .fields import Array
from .policy import Policy
from .rewards import Reward
from .split import Network
from .vector import HaltereVectorEnv, make_vec


def episode_means(envs: HaltereVectorEnv, seeds: Sequence[int], policy: Policy | None = None) -> Array:
    """The mean reward of one run in each environment, by time: a second counts the same in every network.

    ``envs`` has ``autoreset="disabled"``. Without a policy actions are 0, which have no effect if the environments do not decide.
    """
    observations, _ = envs.reset(seed=list(seeds))
    total, time = np.zeros(envs.num_envs), np.zeros(envs.num_envs)
    over = np.zeros(envs.num_envs, np.bool_)
    while not over.all():
        actions = np.zeros((envs.num_envs, 1)) if policy is None else policy.act(observations)
        observations, rewards, terminated, truncated, infos = envs.step(actions)
        spent = np.where(over, 0.0, infos["duration"])
        total += rewards * spent
        time += spent
        over |= terminated | truncated
    return total / np.maximum(time, 1e-9)


def score(
    who: str | Policy,
    networks: Sequence[Network],
    *,
    seeds: Sequence[int] = range(1, 6),
    reward: str | Reward = "power",
    interval: str = "1rtt",
    threads: int | None = None,
) -> Array:
    """The mean reward of a congestion control, by name, or of a policy: an array of networks and seeds."""
    if not networks:
        raise InputError("gym: networks must be at least one, got none")
    policy = who if isinstance(who, Policy) else None
    given = [network.scenario("cubic" if policy else str(who)) for network in networks]
    envs = make_vec(
        len(given),
        given,
        interval=policy.interval if policy else interval,
        action=policy.action if policy else "cwnd",
        observe=policy.observe if policy else "scaled",
        reward=reward,
        decides=policy is not None,
        threads=threads,
        fixed=True,
        autoreset="disabled",
    )
    return np.stack([episode_means(envs, [seed] * len(given), policy) for seed in seeds], axis=1)
