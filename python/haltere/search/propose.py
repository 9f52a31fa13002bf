"""Who proposes candidates: Optuna's tree-structured Parzen estimator (Bergstra et al., NIPS 2011), an optional package."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from ..runs.store import need
from .ranges import Draw

#: Random candidates before the estimator starts; after that one of so many is random, to explore values far from the best.
_AT_RANDOM, _ONE_OF = 10, 3
_OTHER_SEED = 1_000_003


class Proposer:
    """Proposes candidates that ``build`` makes of drawn values. The same seed and the same answers give the same proposals."""

    def __init__(self, build: Callable[[Draw], dict[str, Any]], seed: int, batch: int, where: str) -> None:
        optuna = need("optuna", "search", where)
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of arguments that Optuna calls experimental
            self._estimator = optuna.samplers.TPESampler(
                seed=seed, n_startup_trials=_AT_RANDOM, constant_liar=batch > 1
            )
        # Another seed: the estimator draws its first candidates as this one would.
        self._random = optuna.samplers.RandomSampler(seed=seed + _OTHER_SEED)
        self._study = optuna.create_study(direction="maximize", sampler=self._estimator)
        self._asked = 0
        self._failed = optuna.trial.TrialState.FAIL
        self._build = build

    def ask(self) -> tuple[Any, dict[str, Any]]:
        """A proposal, and what :meth:`tell` takes with its score."""
        self._asked += 1
        self._study.sampler = self._random if self._asked % _ONE_OF == 0 else self._estimator
        trial = self._study.ask()
        return trial, self._build(trial)

    def tell(self, trial: Any, score: float | None) -> None:
        """The score of a proposal, the higher the better; ``None``: it has none.

        A candidate that was stopped early has the mean over fewer seeds. That is a fair estimate, so the estimator takes it as any other.
        """
        self._study.tell(trial, score, state=self._failed if score is None else None)
