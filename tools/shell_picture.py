"""The picture of a shell in docs/programs.md: what a person types and sees, drawn from a real session in the kernel world.

    python tools/shell_picture.py

It needs a guest kernel (`haltere kernel build`).
"""

from __future__ import annotations

import os
import pty
import re
import shlex
import subprocess
import sys
from pathlib import Path

import matplotlib.pyplot as plt

TO = Path(__file__).resolve().parents[1] / "docs" / "images" / "shell.png"
COMMAND = "link --rate 10Mbit --delay 20ms --server 'iperf3 -s' --world kernel"
TYPED = ["ping -c 2 outside", "haltere network delay=40ms", "iperf3 -c outside -t 60 | tail -3", "haltere network"]
PROMPT = re.compile(r"\[\d+\.\d{3} s\] inside\$ ")
PAPER, INK, PALE, GREEN = "#1f232b", "#ffffff", "#d5d8de", "#7fbf7f"
#: Inches of a character and of a line.
WIDE, HIGH = 0.0903, 0.19


def session() -> list[str]:
    """The lines on the terminal."""
    ours, theirs = pty.openpty()
    shell = subprocess.Popen(
        [sys.executable, "-m", "haltere", *shlex.split(COMMAND)],
        stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
    )  # fmt: skip
    os.close(theirs)
    seen = ""
    for count, line in enumerate([*TYPED, "exit"], 1):
        while len(PROMPT.findall(seen)) < count:
            seen += os.read(ours, 65536).decode()
        os.write(ours, f"{line}\n".encode())
    shell.wait()
    # A prompt is written again, over the one before it.
    lines = [line.rstrip("\r").rpartition("\r")[2] for line in seen.split("\n")]
    return [f"$ haltere {COMMAND}", *lines[:-1]]


def draw(lines: list[str]) -> None:
    width, height = (max(map(len, lines)) + 4) * WIDE, (len(lines) + 2) * HIGH
    figure = plt.figure(figsize=(width, height), facecolor=PAPER)
    look = {"family": "monospace", "fontsize": 10.8, "va": "top"}
    for row, line in enumerate(lines):
        prompt = re.match(rf"\$ |{PROMPT.pattern}", line)
        at = len(prompt[0]) if prompt else 0
        y = 1 - (row + 1) * HIGH / height
        figure.text(2 * WIDE / width, y, line[:at], color=GREEN, **look)
        text, weight = (INK, "bold") if prompt else (PALE, "normal")
        figure.text((2 + at) * WIDE / width, y, line[at:].replace("$", r"\$"), color=text, weight=weight, **look)
    figure.savefig(TO, dpi=110, facecolor=PAPER, metadata={"Software": None})


if __name__ == "__main__":
    draw(session())
