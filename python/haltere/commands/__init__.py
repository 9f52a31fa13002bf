"""The commands, one module for each or for a few that belong together; a new one is a file and a name below."""

from . import (
    captures,
    characterize,
    compare,
    compare_worlds,
    mechanisms,
    play,
    reproduce,
    results,
    router,
    run,
    sql,
    sweep,
    validate,
)

__all__ = ["ALL"]

#: In the order in which `haltere --help` names them.
ALL = (
    run,
    sweep,
    reproduce,
    compare_worlds,
    router,
    validate,
    mechanisms,
    captures,
    results,
    sql,
    compare,
    characterize,
    play,
)
