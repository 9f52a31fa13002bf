"""Published studies, run again: `haltere reproduce STUDY`.

A study is a module with ``reproduce(options)``: a function of :class:`Options` that returns an :class:`Outcome`, a document with tables
and figures, and the paper's findings, each with a verdict and the figures that support it. One line in
``_STUDIES`` makes a study known to the command line. Its experiment files, the paper's printed numbers and a README with what the paper
leaves open are in ``papers/STUDY/`` of the repository.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable

from ..errors import unknown
from ..report.document import Text
from .base import (
    Finding,
    Options,
    Outcome,
    Verdict,
    data,
    expected,
    findings_table,
    judge,
    judge_size,
    readings_table,
    weakened,
)

__all__ = [
    "Finding", "Options", "Outcome", "Verdict", "data", "expected", "findings_table", "judge", "judge_size",
    "readings_table", "studies", "study",
]  # fmt: skip

#: Name on the command line, module of this package with ``reproduce(options) -> Outcome``, one line on what it is about.
_STUDIES = {
    "aqm-lab": ("aqm_lab", "five queue disciplines under two-way TCP: queue, fairness, round-trip time"),
    "rafle": ("rafle", "short flows first, without state: RAFLE against drop tail, RuN2C and ideal"),
    "iaas": ("iaas", "four congestion controls share one gigabit, without ECN and with ECN and RED"),
    "mptcp-red": ("mptcp_red", "redundant multipath scheduling over paths that share no bottleneck: RED, RED-CPI"),
    "last-mile": ("last_mile", "eight congestion controls over ten access links: web page, call, bulk"),
    "quic-conformance": (
        "quic_conformance",
        "controls of QUIC stacks beside the same controls of TCP: shares, delay, transfers",
    ),
    "dctcp-hysteresis": ("dctcp_hysteresis", "DCTCP with two marking thresholds and returned packets"),
}


def studies() -> dict[str, str]:
    """The studies: name and what each is about."""
    return {name: about for name, (_, about) in _STUDIES.items()}


def study(name: str) -> Callable[[Options], Outcome]:
    """The study of that name."""
    if name not in _STUDIES:
        raise unknown("study", name, _STUDIES)
    module = importlib.import_module(f"{__name__}.{_STUDIES[name][0]}")

    def reproduce(options: Options) -> Outcome:
        outcome: Outcome = module.reproduce(options)
        if options.linux:
            outcome.document.blocks.insert(0, Text("With Linux's TCP, in the kernel world: the primary reading alone."))
        elif options.quick:
            weakened(outcome)
        return outcome

    return reproduce
