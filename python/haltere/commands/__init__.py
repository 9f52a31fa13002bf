"""The commands, one module each; a new one is a file and a line in ``ALL``."""

from __future__ import annotations

from . import (
    attack,
    characterize,
    classify,
    compare,
    compare_worlds,
    correlate,
    export,
    hash,
    kernel,
    mechanisms,
    new,
    play,
    plot,
    replay,
    report,
    reproduce,
    results,
    router,
    run,
    search,
    sweep,
    validate,
)

__all__ = ["ALL"]

#: In the order in which `haltere --help` names them. Each has ``add(to)``, which adds it to the command line.
ALL = (
    new,
    run,
    sweep,
    search,
    attack,
    reproduce,
    compare_worlds,
    router,
    kernel,
    validate,
    mechanisms,  # `list`, `explain` and `schema`
    classify,
    correlate,
    replay,
    plot,
    report,
    hash,
    results,
    export,
    compare,
    characterize,
    play,
)
