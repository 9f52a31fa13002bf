"""Mechanisms of your own, written in Python.

>>> import haltere
>>> class Half(haltere.CongestionControl):
...     '''Half the window after a loss, one segment more each round trip.'''
...     def on_ack(self, ev):
...         if ev.cwnd_limited and not ev.in_recovery:
...             self.cwnd += self.mss * ev.acked / self.cwnd
...     def on_loss(self, ev):
...         self.ssthresh = self.cwnd = max(self.cwnd / 2, 2 * self.mss)
...     def on_rto(self, ev):
...         self.cwnd = self.mss
>>> haltere.register(Half)
'python:Half'

An experiment then says ``congestion = "python:Half"``. A class of a file needs no registration: ``python:my_module:Half`` and
``python:./file.py:Half`` name it, and the file is looked for beside the experiment file, then as any module is.

Times are whole nanoseconds (:data:`MS`, :data:`SECOND`), windows and sizes are bytes, rates are bit/s.
"""

from __future__ import annotations

from .base import MS, SECOND, US, Classifier, CongestionControl, Queue, Scheduler, Source
from .find import register
from .parameters import Bytes, Duration, Probability, Rate, param

__all__ = [
    "MS", "SECOND", "US", "Bytes", "Classifier", "CongestionControl", "Duration", "Probability", "Queue", "Rate", "Scheduler", "Source", "param",
    "register",
]  # fmt: skip
