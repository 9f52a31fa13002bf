"""What is found in another tool's file."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import InputError
from ..limits import most
from ..runs.files import read_regular

__all__ = ["Curve", "Found", "text_of"]


@dataclass
class Found:
    """An experiment that was read from another tool's file."""

    values: dict[str, Any]
    #: What the source says and the experiment lacks, a sentence each.
    left_out: list[str] = field(default_factory=list)


class Curve(NamedTuple):
    """One series of another tool's results: times in seconds from the start of its run, and values in ``unit``."""

    name: str
    unit: str
    times: list[float]
    values: list[float]


def text_of(path: str | Path) -> str:
    """The text of a file that a reader was given; refuses what is no text file of usual size."""
    try:
        return read_regular(Path(path), most("size of the file")).decode()
    except UnicodeDecodeError:
        raise InputError(f"{path}: file must be UTF-8 text") from None
    except OSError as error:
        raise InputError(f"{path}: file must be readable, got `{error.strerror or error}`") from None
