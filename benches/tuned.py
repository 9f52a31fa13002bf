"""A build for speed: the compiler learns from runs which way branches mostly go (profile-guided optimisation).

    python benches/tuned.py        learn, and build the Python package into the environment that runs this; `make tuned` does it

Learning builds the simulator with counters, runs it over networks that are not the benchmarks', and merges what was counted into
`target/tuned/haltere.profdata`. Results are the same, byte for byte, as without.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent
HERE = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "tuned"
EXAMPLES = HERE / "release" / "examples"
PROFILE = HERE / "haltere.profdata"

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


def build(flags: str, target: Path, *command: str) -> None:
    """Runs a command that builds, with flags of the compiler and in a directory of its own: the usual build stays."""
    environment = os.environ | {"RUSTFLAGS": flags, "CARGO_TARGET_DIR": str(target)}
    subprocess.run(command, cwd=ROOT, check=True, env=environment)


def cargo(names: Iterable[str]) -> list[str]:
    """The command that builds these programs of the simulator."""
    examples = [word for name in names for word in ("--example", name)]
    return ["cargo", "build", "--release", "--quiet", "-p", "haltere-sim", *examples]


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
        build(f"-Cprofile-generate={counted}", HERE / "learning", *cargo({lesson[0] for lesson in LESSONS}))
        for name, *arguments in LESSONS:
            program = HERE / "learning" / "release" / "examples" / name
            subprocess.run([str(program), *arguments], check=True, stdout=subprocess.DEVNULL)
        subprocess.run([tool, "merge", "-o", str(PROFILE), *map(str, counted.glob("*.profraw"))], check=True)
    return f"-Cprofile-use={PROFILE}"


def build_programs(names: Iterable[str]) -> None:
    """These programs of the simulator, tuned, in `EXAMPLES`."""
    build(learn(), HERE, *cargo(names))


def are_built(names: Iterable[str]) -> bool:
    """True where these tuned programs are there, made of the sources as they are."""
    programs = [EXAMPLES / name for name in names]
    return is_learned() and all(p.exists() and p.stat().st_mtime > PROFILE.stat().st_mtime for p in programs)


def main() -> None:
    try:
        flags = learn()
    except NoTool as missing:
        sys.exit(f"tuned: {missing}")
    maturin = Path(sys.executable).with_name("maturin")
    build(flags, HERE, str(maturin), "develop", "--profile", "release", "--quiet")
    print("tuned: the package is built for speed; after a change of the sources `make setup` builds it as usual")


if __name__ == "__main__":
    main()
