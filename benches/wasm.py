"""What a queue that is a WebAssembly module costs: instructions of a second of virtual time, beside `drop_tail` of the tree.

`python3 benches/wasm.py` counts under Valgrind's callgrind, as the difference of a longer and a shorter run, with the modules of
`tests/wasm`. Two Reno flows share 100 Mbit/s, and the modules drop what `drop_tail` drops, so all runs carry the same packets.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import measure

ROOT = Path(__file__).absolute().parent.parent
MODULES = {"C": "fifo_c", "AssemblyScript": "fifo_asc", "Rust": "fifo_rust"}
SECONDS = (1, 3)
PROFILE = "python"
"""That of the extension in the wheel."""
SCENARIO = """\
duration = "{seconds}s"
[topology.dumbbell]
pairs = 2
access = {{ rate = "1Gbit", delay = "1ms" }}
bottleneck = {{ rate = "100Mbit", delay = "9ms", queue = {queue} }}
[[traffic]]
kind = "bulk"
pairs = "all"
congestion = "reno"
[measure]
queues = "off"
flows = "off"
"""


def _said(command: Sequence[str | Path]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    if done.returncode:
        sys.exit(f"wasm: `{' '.join(map(str, command))}` ended with {done.returncode}:\n{done.stderr[-2000:]}")
    return done.stdout + done.stderr


def _count(program: Path, queue: str, seconds: int) -> tuple[int, dict[str, int]]:
    """Instructions of a run, and what it carried."""
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / "queue.toml"
        file.write_text(SCENARIO.format(seconds=seconds, queue=queue))
        told = _said(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", program, file])
    counted = re.search(r"Collected : (\d+)", told)
    assert counted, told
    return int(counted[1]), measure.parse(told)


def main() -> int:
    if not shutil.which("valgrind"):
        print("wasm: nothing was counted: valgrind is missing (on Debian: apt-get install valgrind)", file=sys.stderr)
        return 2
    _said(["cargo", "build", "--quiet", "--profile", PROFILE, "-p", "haltere-wasm", "--example", "run"])
    program = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).absolute() / PROFILE / "examples" / "run"
    queues = {"drop_tail of the tree": '{ kind = "drop_tail", limit = "1000p" }'} | {
        f"from {language}": f'{{ kind = "wasm:{ROOT / "tests" / "wasm" / name}.wasm", limit = 1000 }}'
        for language, name in MODULES.items()
    }
    native, carried = 0.0, None
    for name, queue in queues.items():
        (few, _), (many, said) = (_count(program, queue, seconds) for seconds in SECONDS)
        a_second = (many - few) / (SECONDS[1] - SECONDS[0])
        native, carried = native or a_second, carried or said
        assert said == carried, (name, said, carried)
        print(f"{name:<22} {a_second / 1e6:6.1f} million {a_second / native:5.2f} times", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
