"""Writes coefficients.csv: what SciPy says of 1,000 windows that `scipy.rs` draws in the same way.

Run with SciPy (1.14 or newer) beside it: python make.py. One line a window pair: Spearman's and Pearson's coefficient;
`nan` where one of the windows is constant.
"""

import warnings
from pathlib import Path

from scipy.stats import pearsonr, spearmanr

MASK = (1 << 64) - 1


class Stream:
    """A linear congruential generator (Knuth's MMIX), the upper 31 bits."""

    def __init__(self, seed: int) -> None:
        self.state = seed

    def below(self, most: int) -> int:
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) & MASK
        return (self.state >> 33) % most


def windows(index: int) -> tuple[list[int], list[int]]:
    """Two windows of 50: from nearly all ties to hardly any, from independent to nearly equal."""
    stream = Stream(index)
    span, noise = 1 + stream.below(1 << stream.below(24)), 1 + stream.below(1 << stream.below(24))
    first = [stream.below(span) for _ in range(50)]
    return first, [value + stream.below(noise) for value in first]


warnings.simplefilter("ignore")
lines = []
for index in range(1000):
    a, b = windows(index)
    lines.append(f"{spearmanr(a, b).statistic:.12f},{pearsonr(a, b).statistic:.12f}")
(Path(__file__).parent / "coefficients.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
