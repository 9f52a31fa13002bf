"""An interrupt in mid-run: out within a second, finished runs kept, the same command goes on."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from pathlib import Path

import pytest

from conftest import command, haltere
from haltere.runs.store import Store


def interrupted(small: Path, wait_for: int) -> tuple[int, float, str]:
    """Starts a long run, interrupts it once `wait_for` runs are there; exit status, seconds to exit, standard error."""
    runs = small.parent / "results" / "small" / "runs"
    process = subprocess.Popen(
        command("run", small.name, "--jobs", "2", "--seeds", "500", "--set", "duration=20s"),
        cwd=small.parent,
        stderr=subprocess.PIPE,
        text=True,
        # A shell that runs the tests in the background has them ignore interrupts, and children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    deadline = time.monotonic() + 60
    while len(list(runs.glob("[!.]*/run.json"))) < wait_for:
        assert process.poll() is None and time.monotonic() < deadline, "the run ended before it could be interrupted"
        time.sleep(0.01)
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=120)
    return process.returncode, time.monotonic() - began, errors


def test_an_interrupt_keeps_what_is_done_and_a_second_call_goes_on(small: Path) -> None:
    status, seconds, errors = interrupted(small, 3)
    assert status == 130
    # One second on an idle machine; far less than the run has left on a busy one.
    assert seconds < 60, seconds
    assert (
        errors.splitlines()[-1] == "haltere: interrupted; finished runs are kept, the same command goes on from there"
    )
    assert "Traceback" not in errors
    folder = small.parent / "results" / "small"
    manifest = json.loads((folder / "manifest.json").read_text())
    kept = {run["key"] for run in manifest["runs"]}
    assert not manifest["complete"] and len(kept) >= 3
    assert set(Store(folder).find(kept, verify=True)) == kept, f"a half-written run: {kept}"
    stamps = {path: path.stat().st_mtime_ns for path in folder.glob("runs/*/*")}

    seeds = len(kept) + 2
    again = haltere("run", small.name, "--seeds", str(seeds), "--set", "duration=20s", cwd=small.parent)
    assert again.returncode == 0, again.stderr
    assert f"({len(kept)} found): 2/2 runs" in again.stderr
    assert all(path.stat().st_mtime_ns == stamp for path, stamp in stamps.items())
    assert json.loads((folder / "manifest.json").read_text())["complete"]


ENDLESS = """\
import time
from haltere import CongestionControl

class Endless(CongestionControl):
    def {where}(self, *_):
        open("in-the-loop", "w").close()
        {body}
"""
#: An exception ends this loop.
LOOP = "while True: pass"
#: None is raised while this sleeps.
STUBBORN = "time.sleep(1e6)"


def looping(small: Path, where: str, body: str, number: signal.Signals, most: int) -> tuple[int, str]:
    """Runs a Python class whose method never returns, and sends the signal, at most so often; exit status and standard error."""
    (small.parent / "own.py").write_text(ENDLESS.format(where=where, body=body))
    told, reached = small.parent / "errors.txt", small.parent / "in-the-loop"
    with told.open("w") as errors:
        process = subprocess.Popen(
            command("run", small.name, "--set", 'traffic.0.congestion=[{kind = "python:own.py:Endless"}]'),
            cwd=small.parent,
            stderr=errors,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )
        deadline = time.monotonic() + 100
        while not reached.exists():
            assert process.poll() is None and time.monotonic() < deadline, told.read_text()
            time.sleep(0.05)
        for _ in range(most):
            process.send_signal(number)
            try:
                process.wait(timeout=3 if most > 1 else 100)
                break
            except subprocess.TimeoutExpired:
                continue
        process.kill()
    return process.wait(), told.read_text()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("where", ["on_ack", "__init__"])
def test_one_signal_ends_a_class_in_an_endless_loop(small: Path, where: str, number: signal.Signals) -> None:
    status, errors = looping(small, where, LOOP, number, 1)
    assert status == 130 and "Traceback" not in errors, errors
    assert errors.splitlines()[-1].startswith("haltere: interrupted; finished runs are kept")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_second_signal_ends_the_process_at_once(small: Path, number: signal.Signals) -> None:
    # More than two on a busy machine: two signals that nobody has handled yet are one.
    status, errors = looping(small, "on_ack", STUBBORN, number, 20)
    assert status == 130, errors
    assert errors.splitlines()[-1] == "haltere: interrupted twice; ended at once"
