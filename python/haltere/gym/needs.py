"""The gym needs packages that are not part of every installation. This module comes first, and says so."""

from __future__ import annotations

import importlib.util

from ..errors import HaltereError


class NotInstalled(HaltereError, ImportError):
    """A package is missing."""


for _name in ("gymnasium", "pettingzoo"):
    if importlib.util.find_spec(_name) is None:
        raise NotInstalled(f"haltere.gym: {_name} must be installed, got none; `pip install 'haltere[gym]'`")
