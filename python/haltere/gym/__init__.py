"""A gym: runs of the simulator that wait for decisions, as environments of Gymnasium and PettingZoo.

>>> import haltere.gym as gym
>>> env = gym.make("experiment.toml", agent="download")     # doctest: +SKIP
>>> envs = gym.make_vec(64, networks="train")               # doctest: +SKIP

``pip install 'haltere[gym]'`` brings Gymnasium and PettingZoo.
"""

from __future__ import annotations

from . import needs as needs
from . import rewards
from .fields import ACTIONS, QUEUE_FIELDS, SENDER_FIELDS, Action, Field
from .parallel import SendersEnv, make_parallel
from .policy import Policy
from .scores import score
from .single import HaltereEnv, make, make_queue
from .split import Network, networks
from .vector import HaltereVectorEnv, make_vec

__all__ = [
    "ACTIONS", "QUEUE_FIELDS", "SENDER_FIELDS", "Action", "Field", "HaltereEnv", "HaltereVectorEnv", "Network", "Policy", "SendersEnv",
    "make", "make_parallel", "make_queue", "make_vec", "networks", "rewards", "score",
]  # fmt: skip
