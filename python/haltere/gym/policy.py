"""A policy: a small neural network that decides for a sender. The simulator runs the same file by itself (``kind = "policy:FILE.json"``)."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _core
from ..errors import InputError
from .fields import SENDER_FIELDS, Array, chosen

FORMAT = "haltere-policy-1"


@dataclass
class Policy:
    """Observations are scaled, ``clamp((x - mean) / scale, -clip, clip)``, and go through the layers. The result is the decision: values in the
    range of the action, or for ``discrete`` the number of the largest. Parameters are 64-bit numbers, observations 32-bit ones.
    """

    observe: list[str]
    weights: list[Array]
    biases: list[Array]
    mean: Array
    scale: Array
    activations: list[str]
    action: str = "cwnd"
    interval: str = "1rtt"
    clip: float = 10.0
    name: str = ""
    about: str = ""
    _compiled: _core.GymPolicy | None = field(default=None, repr=False, compare=False)

    @classmethod
    def random(
        cls,
        observe: str | Sequence[str],
        hidden: Sequence[int] = (16,),
        outputs: int = 1,
        seed: int = 0,
        **settings: Any,
    ) -> Policy:
        """A policy with small random weights, ``tanh`` between the layers and in the end. Ranges of the fields give mean and scale."""
        columns = chosen(SENDER_FIELDS, observe)
        drawn = np.random.default_rng(seed)
        widths = [len(columns), *hidden, outputs]
        weights = [drawn.normal(0, 1 / np.sqrt(a), (b, a)) for a, b in itertools.pairwise(widths)]
        spans = [SENDER_FIELDS[column].high - SENDER_FIELDS[column].low for column in columns]
        scale = np.array([span / 4 if np.isfinite(span) else 1.0 for span in spans])
        return cls(
            observe=[SENDER_FIELDS[column].name for column in columns],
            weights=weights,
            biases=[np.zeros(width) for width in widths[1:]],
            mean=np.zeros(len(columns)),
            scale=scale,
            activations=["tanh"] * len(weights),
            **settings,
        )

    @property
    def parameters(self) -> Array:
        """All weights and biases as one vector."""
        return np.concatenate(
            [part.reshape(-1) for pair in zip(self.weights, self.biases, strict=True) for part in pair]
        )

    def with_parameters(self, vector: Array) -> Policy:
        """The policy with these weights and biases."""
        weights, biases, at = [], [], 0
        for old in self.weights:
            rows, columns = old.shape
            weights.append(vector[at : at + rows * columns].reshape(rows, columns).copy())
            biases.append(vector[at + rows * columns : at + rows * columns + rows].copy())
            at += rows * columns + rows
        if at != len(vector):
            raise InputError(f"policy: parameters must be {at} numbers, got {len(vector)}")
        rest = {
            name: getattr(self, name)
            for name in ("observe", "mean", "scale", "activations", "action", "interval", "clip", "name", "about")
        }
        return Policy(weights=weights, biases=biases, **rest)

    def to_dict(self) -> dict[str, Any]:
        """What the file holds."""
        layers = [
            {"weights": weights.tolist(), "bias": bias.tolist(), "activation": activation}
            for weights, bias, activation in zip(self.weights, self.biases, self.activations, strict=True)
        ]
        return {
            "format": FORMAT, "name": self.name, "about": self.about, "action": self.action, "interval": self.interval,
            "observations": self.observe, "mean": np.asarray(self.mean).tolist(), "scale": np.asarray(self.scale).tolist(),
            "clip": self.clip, "layers": layers,
        }  # fmt: skip

    def save(self, path: str | Path) -> None:
        """Writes the file that ``kind = "policy:FILE.json"`` reads."""
        text = json.dumps(self.to_dict(), indent=1) + "\n"
        _core.GymPolicy(text)
        Path(path).write_text(text)

    @classmethod
    def load(cls, path: str | Path) -> Policy:
        """Reads a file."""
        text = Path(path).read_text()
        _core.GymPolicy(text)
        table = json.loads(text)
        layers = table["layers"]
        return cls(
            observe=table["observations"],
            weights=[np.array(layer["weights"]) for layer in layers],
            biases=[np.array(layer["bias"]) for layer in layers],
            mean=np.array(table["mean"]),
            scale=np.array(table["scale"]),
            activations=[layer["activation"] for layer in layers],
            **{name: table[name] for name in ("action", "interval", "clip")},
            **{name: table.get(name, "") for name in ("name", "about")},
        )

    def act(self, observations: npt.NDArray[Any]) -> Array:
        """The decisions for rows of observations, as the simulator computes them: to the last bit."""
        if self._compiled is None:
            self._compiled = _core.GymPolicy(json.dumps(self.to_dict()))
        rows = np.ascontiguousarray(observations, np.float64)
        decided: Array = np.array(self._compiled.act(rows.reshape(-1)))
        return decided.reshape(*rows.shape[:-1], -1)


def act_all(policies: Sequence[Policy], observations: npt.NDArray[Any]) -> Array:
    """The outputs of policies of one shape, each for its own rows: (policy, row, field) to (policy, row, output). NumPy computes them, so the
    last bits may differ from :meth:`Policy.act`."""
    first = policies[0]
    x = np.clip((observations - first.mean) / first.scale, -first.clip, first.clip)
    functions: dict[str, Callable[[Array], Array]] = {
        "tanh": np.tanh,
        "linear": lambda value: value,
        "relu": lambda value: np.maximum(value, 0.0),
    }
    for number, activation in enumerate(first.activations):
        weights = np.stack([policy.weights[number] for policy in policies])
        biases = np.stack([policy.biases[number] for policy in policies])
        x = functions[activation](np.einsum("pri,poi->pro", x, weights) + biases[:, None, :])
    return np.asarray(x)
