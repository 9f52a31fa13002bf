"""Rewards: small functions of what an interval showed.

A reward takes an :class:`~haltere.gym.fields.Interval`, by which fields are arrays, and gives an array. Write your own the same way, with
NumPy's functions, and it works for one environment and for a thousand: ``lambda w: w["throughput"] / w["capacity"]``. The group
``network`` (``capacity``, ``path_rtt``, ``goodput``) is there too, although no observation has it. ``functools.partial`` sets weights.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..errors import InputError
from .fields import Array, Interval

Reward = Callable[[Interval], Array]


def _over(part: Array, whole: Array) -> Array:
    """A ratio; 0 of nothing."""
    quotient: Array = np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)
    return quotient


def power(w: Interval) -> Array:
    """Kleinrock's power over the best there is: share of the capacity, times path RTT over mean RTT. From 0 to 1."""
    return _over(w["throughput"], w["capacity"]) * np.minimum(_over(w["path_rtt"], w["rtt_mean"]), 1.0)


def throughput_delay(w: Interval, delay: float = 0.5, loss: float = 1.0) -> Array:
    """Share of the capacity, less ``delay`` for each path RTT of queueing delay, less ``loss`` times the share of lost bytes."""
    queueing = np.maximum(_over(w["rtt_mean"], w["path_rtt"]) - 1.0, 0.0)
    return _over(w["throughput"], w["capacity"]) - delay * np.minimum(queueing, 10.0) - loss * w["loss_share"]


def copa(w: Interval, delta: float = 0.5) -> Array:
    """Copa's objective (Arun and Balakrishnan, NSDI 2018): log2 of the throughput in Mbit/s, less ``delta`` times log2 of the queueing
    delay in ms, which counts as 1 ms at least."""
    queueing_ms = np.maximum((w["rtt_mean"] - w["base_rtt"]) * 1e3, 1.0)
    mbps = np.maximum(w["throughput"] / 1e6, 1e-3)
    utility: Array = np.log2(mbps) - delta * np.log2(queueing_ms)
    return utility


def allegro(w: Interval, alpha: float = 100.0) -> Array:
    """PCC Allegro's utility (Dong et al., NSDI 2015): T sigmoid(L - 0.05) - x L with x the sending rate and T = x (1 - L), in Mbit/s."""
    x, lost = w["send_rate"] / 1e6, w["loss_share"]
    utility: Array = x * (1.0 - lost) / (1.0 + np.exp(np.clip(alpha * (lost - 0.05), -50, 50))) - x * lost
    return utility


def vivace(w: Interval, exponent: float = 0.9, latency: float = 900.0, loss: float = 11.35) -> Array:
    """PCC Vivace's utility (Dong et al., NSDI 2018): x**t - b x dRTT/dt - c x L with the sending rate x in Mbit/s."""
    x = w["send_rate"] / 1e6
    utility: Array = x**exponent - latency * x * np.maximum(w["rtt_gradient"], 0.0) - loss * x * w["loss_share"]
    return utility


def queue_delay(w: Interval, target: float = 0.010) -> Array:
    """For a queue: utilisation, less 0.5 for each ``target`` seconds of sojourn time beyond the first, 2 at most."""
    late = np.clip(w["sojourn"] / target - 1.0, 0.0, 4.0)
    utility: Array = w["utilisation"] - 0.5 * late
    return utility


#: The rewards of a sender by name.
OF_SENDERS: dict[str, Reward] = {
    "power": power,
    "throughput_delay": throughput_delay,
    "copa": copa,
    "allegro": allegro,
    "vivace": vivace,
}
#: The rewards of a queue by name.
OF_QUEUES: dict[str, Reward] = {"queue_delay": queue_delay}


def find(reward: str | Reward, queue: bool) -> Reward:
    """The reward of that name, or the function itself."""
    if callable(reward):
        return reward
    known = OF_QUEUES if queue else OF_SENDERS
    if reward not in known:
        raise InputError(f"gym: reward must be a function or one of `{'`, `'.join(known)}`, got `{reward}`")
    return known[reward]
