"""The commands, one module for each or for a few that belong together; a new one is a file and a name below."""

from . import (
    captures,
    characterize,
    compare,
    mechanisms,
    play,
    reproduce,
    results,
    run,
    sql,
    sweep,
    validate,
)

__all__ = ["ALL"]

#: In the order in which `haltere --help` names them.
ALL = (run, sweep, reproduce, validate, mechanisms, captures, results, sql, compare, characterize, play)
