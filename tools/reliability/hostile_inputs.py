"""Parts of the attack that read: named and special files, checksum files, messages of the playground."""

from __future__ import annotations

import os
import random
from pathlib import Path

from trial import Score, command, corpus, experiment, mutated, part


@part("changed traces and tables of flow sizes, named by an experiment")
def named_files(score: Score, draw: random.Random, folder: Path) -> None:
    """Files that an experiment names."""
    import haltere

    (folder / "trace.toml").write_text(experiment('trace = "file"'))
    (folder / "sizes.toml").write_text(experiment(traffic='poisson"\nload = 0.5\nsizes = { file = "file" }'))
    traces, sizes = corpus("trace"), [data[4:] for data in corpus("arrivals")]
    for i in score.tries(800):
        kind, files = (("trace", traces), ("sizes", sizes))[i % 2]
        (folder / "file").write_bytes(mutated(files, draw))
        with score.one(f"{kind} {i}", haltere.InputError):
            haltere.load(folder / f"{kind}.toml")


@part("special files (directory, pipe, device, 1 TB, gone) under every key and command that names a file")
def special_files(score: Score, draw: random.Random, folder: Path) -> None:
    """Regular files alone are read, and none is waited for."""
    os.mkfifo(folder / "pipe")
    with open(folder / "large", "wb") as large:
        large.truncate(1 << 40)
    for name in (".", "pipe", "/dev/zero", "/dev/tty", "/dev/full", "/proc/self/mem", "large", "gone"):
        (folder / "trace.toml").write_text(experiment(f'trace = "{name}"'))
        (folder / "sizes.toml").write_text(experiment(traffic=f'poisson"\nload = 0.5\nsizes = {{ file = "{name}" }}'))
        # A capture of any size is a capture.
        captures = [] if name == "large" else [["classify", name], ["correlate", name]]
        for line in (["run", "trace.toml"], ["run", "sizes.toml"], ["run", name], ["results", name], *captures):
            command(score, line, folder, {1, 2})


@part("checksum files and manifests with changed bytes and values, checked")
def records(score: Score, draw: random.Random, folder: Path) -> None:
    """The two JSON files of a store."""
    from haltere.runs.records import with_checksum, without_checksum

    files = [with_checksum(data.decode()) for data in corpus("checksum") if data.startswith(b"{")]
    for i in score.tries(5000):
        with score.one(f"checksum file {i}"):
            data = mutated(files, draw)
            assert without_checksum(data) is None or data in files, "a changed byte was not noticed"


@part("changed messages of the playground, read and their experiments checked")
def messages(score: Score, draw: random.Random, folder: Path) -> None:
    """What a page sends over the WebSocket."""
    from haltere.play.protocol import Refused, experiment_of, read, setup_of, speed_of

    files = corpus("message")
    for i in score.tries(3000):
        with score.one(f"message {i}", Refused):
            _, keys = read(mutated(files, draw).decode(errors="replace"))
            if "experiment" in keys:
                experiment_of(keys["experiment"])
            if "setup" in keys:
                setup_of(keys["setup"])
            if "speed" in keys:
                speed_of(keys["speed"])
