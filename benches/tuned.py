"""A build for speed: the compiler learns from runs which way branches mostly go (profile-guided optimisation).

    python benches/tuned.py        learn, and build the library of the Python package that runs this; `make tuned` does it

Learning builds the simulator with counters, runs it over networks that are not the benchmarks', and merges what was counted into
`target/tuned/haltere.profdata`. Results are the same, byte for byte, as without.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent
HERE = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "tuned"
EXAMPLES = HERE / "release" / "examples"
LIBRARY = HERE / "release" / f"lib_core.{'dylib' if sys.platform == 'darwin' else 'so'}"
PROFILE = HERE / "haltere.profdata"
PROGRAMS = ("dumbbell", "scenario")

LESSONS: Sequence[Sequence[str]] = (
    ("dumbbell", "40", "1Gbit", "20ms", "20%", "4"),
    ("dumbbell", "2000", "10Gbit", "50ms", "20%", "0.6"),
    ("dumbbell", "40", "1Gbit", "2ms", "20%", "2", "dctcp", '{ "kind": "threshold" }'),
    ("dumbbell", "25", "50Mbit", "40ms", "20%", "20", "reno", '{ "kind": "fq_codel" }'),
    ("dumbbell", "25", "50Mbit", "40ms", "20%", "10", "bbr", '{ "kind": "codel" }'),
    ("dumbbell", "25", "50Mbit", "40ms", "20%", "10", "cubic", '{ "kind": "red" }'),
    ("dumbbell", "25", "50Mbit", "40ms", "20%", "10", "cubic", '{ "kind": "pie" }'),
    ("scenario", str(ROOT / "benches" / "scenarios" / "lesson.toml")),
)
"""What is learned from: programs (`crates/haltere-sim/examples`) and their arguments."""


class NoTool(RuntimeError):
    """The compiler's tool that merges what runs counted is not here."""


def profdata() -> str:
    """The `llvm-profdata` that reads what this compiler's programs count: of the same LLVM."""
    said = subprocess.run(["rustc", "-vV"], capture_output=True, text=True, check=True).stdout
    sysroot = subprocess.run(["rustc", "--print", "sysroot"], capture_output=True, text=True, check=True).stdout.strip()
    version = dict(line.split(": ") for line in said.splitlines() if ": " in line)["LLVM version"].split(".")[0]
    own = next(Path(sysroot).glob("lib/rustlib/*/bin/llvm-profdata"), None)
    if tool := own or shutil.which(f"llvm-profdata-{version}"):
        return str(tool)
    raise NoTool(
        f"llvm-profdata of LLVM {version} is missing: rustup component add llvm-tools, or on Debian: apt-get install llvm-{version}"
    )


def build(flags: str, target: Path) -> None:
    """The package's library and the programs, in a directory of their own: the usual build stays. All at once, so that what they share is compiled
    once and has the same names: what the programs count holds for the library."""
    command = ["cargo", "build", "--release", "--quiet", "-p", "haltere-python", "-p", "haltere-sim", "--lib"]
    programs = [f"--example={name}" for name in PROGRAMS]
    environment = os.environ | {"RUSTFLAGS": flags, "CARGO_TARGET_DIR": str(target)}
    subprocess.run([*command, *programs], cwd=ROOT, check=True, env=environment)


def is_learned() -> bool:
    """True where the profile is younger than all that it depends on."""
    sources = [*ROOT.glob("crates/**/*.rs"), *ROOT.glob("Cargo.*"), Path(__file__)]
    return PROFILE.exists() and PROFILE.stat().st_mtime > max(source.stat().st_mtime for source in sources)


def learn() -> str:
    """Counts in runs which way branches go, if that is not known: the compiler's flags that use it."""
    tool = profdata()
    if not is_learned():
        counted = HERE / "counted"
        shutil.rmtree(counted, ignore_errors=True)
        build(f"-Cprofile-generate={counted}", HERE / "learning")
        for name, *arguments in LESSONS:
            program = HERE / "learning" / "release" / "examples" / name
            subprocess.run([str(program), *arguments], check=True, stdout=subprocess.DEVNULL)
        subprocess.run([tool, "merge", "-o", str(PROFILE), *map(str, counted.glob("*.profraw"))], check=True)
    return f"-Cprofile-use={PROFILE}"


def build_tuned() -> None:
    """The package's library and the programs, tuned."""
    build(learn(), HERE)


def are_built() -> bool:
    """True where the tuned library and programs are there, made of the sources as they are."""
    made = [LIBRARY, *(EXAMPLES / name for name in PROGRAMS)]
    return is_learned() and all(one.exists() and one.stat().st_mtime > PROFILE.stat().st_mtime for one in made)


def main() -> None:
    try:
        build_tuned()
    except NoTool as missing:
        sys.exit(f"tuned: {missing}")
    import haltere._core

    # Not written over: a program that has the old one open keeps it.
    installed = Path(haltere._core.__file__)
    fresh = installed.with_suffix(".fresh")
    shutil.copy(LIBRARY, fresh)
    fresh.replace(installed)
    print(f"tuned: {installed} is built for speed; after a change of the sources `make setup` builds it as usual")


if __name__ == "__main__":
    main()
