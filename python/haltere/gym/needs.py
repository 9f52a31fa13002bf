"""Checks that the packages of the extra ``gym`` are installed, before anything imports them."""

from __future__ import annotations

import importlib.util

from ..errors import HaltereError


class NotInstalled(HaltereError, ImportError):
    """A package is missing."""


for _name in ("gymnasium", "pettingzoo"):
    if importlib.util.find_spec(_name) is None:
        raise NotInstalled(f"haltere.gym: {_name} must be installed, got none; `pip install 'haltere[gym]'`")
