"""The kernel world: real Linux in virtual time (``world``), its guest kernels (``guests``, ``build``), and ``haltere kernel`` (``command``)."""

from .world import Kernel, own_discipline

__all__ = ["Kernel", "own_discipline"]
