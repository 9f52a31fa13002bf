"""What goes wrong, in one tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._core import HaltereError, InputError

if TYPE_CHECKING:
    from .runs.results import Results
    from .runs.runner import Failed

__all__ = ["HaltereError", "InputError", "RunsFailed"]


class RunsFailed(HaltereError):
    """Some runs came to no end. ``results`` holds the others, ``failed`` says which and why."""

    def __init__(self, results: Results, failed: list[Failed], planned: int) -> None:
        self.results, self.failed = results, failed
        told = [f"{results.points[one.point].name} seed={one.seed}: {one.error}" for one in failed[:3]]
        if len(failed) > len(told):
            told.append(f"and {len(failed) - len(told)} more in manifest.json")
        super().__init__(
            f"{results.where}: all runs must come to their end, got {len(failed)} of {planned} that failed: "
            f"{'; '.join(told)}. The others are kept; the same command tries these again"
        )
