"""Files for pages that need no network: the charts of others, and what Haltere adds to them.

ECharts 6.1.0 (Apache 2.0, ``echarts.LICENSE``) draws the reports. ``tools/echarts/build.sh`` bundles what they need from the published
packages. uPlot 1.6.32 (MIT, ``uplot.LICENSE``) draws the playground. It is the published build, byte for byte: ``npm pack uplot@1.6.32``,
``dist/uPlot.iife.min.js`` and ``dist/uPlot.min.css``. A test holds the checksums of all.
"""

from __future__ import annotations

from importlib.resources import files

__all__ = ["OTHERS", "text"]

#: SHA-256 of the files that are not ours.
OTHERS = {
    "echarts.min.js": "ac75602edb00fb7109b7428b76e08ff0a313b4a30f7e7f962ff40e6d66a2c167",
    "uplot.min.js": "19c8d4c6ad88929a79f4ae49d6f7161566dfd0ba3d15cc495e974f787eb78f1f",
    "uplot.min.css": "df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04",
}


def text(name: str) -> str:
    """The text of one of the files.

    >>> text("uplot.min.js").startswith("/*! https://github.com/leeoniya/uPlot (v1.6.32) */")
    True
    """
    return files(__name__).joinpath(name).read_text(encoding="utf-8")
