"""Mutants of the queue disciplines and congestion controls: `make mutants`. cargo-mutants names them; this tries them.

cargo-mutants compiles a crate for each mutant, which takes hours. Here one compilation has them all: the body of a function becomes a
choice between its mutants and itself, and a variable of the environment chooses the mutant. Those that the compiler refuses are taken out
first. What only compiles in another place is not tried: constants, `const fn`, functions in functions.

cargo-mutants finds modules by their `mod` lines. A registry's macro declares those of the mechanisms, so it does not see them. In a copy of
the sources, each line of a registry gets a `mod` line beside it that the compiler ignores.

The tests inside the sources go first, as they take a blink. What they miss meets the other tests of its crate.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CRATES = ("queue", "congestion")
ENTRY = re.compile(r"^    (?:@elsewhere )?(?P<module>[a-z0-9_]+) => [A-Z]\w*(?:<\w+>)?(?:, boxed)?;$", re.MULTILINE)
#: Files that hold registries.
REGISTRIES = ("src/lib.rs", "src/classify/mod.rs", "src/service/mod.rs", "src/service.rs")
#: A mutant that overflows in plain sight is one, not an error of the compiler. On the line of the first sentence of the crate.
ALLOWED = "#![allow(arithmetic_overflow, unconditional_panic)] "
#: What the crate asks for its mutant; 0 is none.
CHOICE = """
extern crate std as std_of_mutants;
/// The mutant of this process.
pub fn mutant_here() -> u32 {
    static CHOSEN: std_of_mutants::sync::OnceLock<u32> = std_of_mutants::sync::OnceLock::new();
    *CHOSEN.get_or_init(|| std_of_mutants::env::var("HALTERE_MUTANT").map_or(0, |text| text.parse().unwrap()))
}
"""
#: Seconds of processor time after which a test binary counts as one that never ends; it needs a tenth at most. And its memory.
LIMIT_S, LIMIT_BYTES = 20, 4 << 30
#: What has no meaning inside of strings, characters and comments: brackets.
TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|b?r(#*)".*?"\1|b?"(?:\\.|[^"\\])*"|b?\'(?:\\[^\']+|[^\'\\])\'|[{}]', re.DOTALL)


@dataclass(frozen=True)
class Mutant:
    """One change: where, of which function, to what."""

    number: int
    name: str
    file: str
    start: int
    end: int
    function: tuple[int, int]
    replacement: str


def declared(text: str) -> str:
    """The text with a `mod` line for each module that a registry's macro declares. No compiler sees `cfg(any())`."""
    return text + "".join(f"\n#[cfg(any())]\nmod {found['module']};" for found in ENTRY.finditer(text)) + "\n"


def copied(to: Path) -> None:
    """The workspace, with the modules declared."""
    for name in ("Cargo.toml", "Cargo.lock", "crates", "tests", "fuzz", "p4"):
        source = ROOT / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, to / name)
    for crate in CRATES:
        for name in REGISTRIES:
            file = to / "crates" / f"haltere-{crate}" / name
            if file.exists():
                file.write_text(declared(file.read_text(encoding="utf-8")), encoding="utf-8")


def listed(tree: Path, crate: str) -> list[Mutant]:
    """Every mutant that cargo-mutants names, but for those outside of functions."""
    line = ["cargo", "mutants", "--list", "--json", "--no-config", f"-phaltere-{crate}"]
    every = json.loads(subprocess.run(line, cwd=tree, capture_output=True, check=True).stdout)
    starts: dict[str, list[int]] = {}
    out = []
    for number, one in enumerate(every, start=1):
        file = one["file"]
        if file not in starts:
            lines = (tree / file).read_text(encoding="utf-8").splitlines(keepends=True)
            starts[file] = [sum(map(len, lines[:i])) for i in range(len(lines))]

        def span(of: dict[str, dict[str, int]], at: Sequence[int] = starts[file]) -> tuple[int, int]:
            return tuple(at[of[end]["line"] - 1] + of[end]["column"] - 1 for end in ("start", "end"))  # type: ignore[return-value]

        if one["function"]:
            around = span(one["function"]["span"])
            out.append(Mutant(number, one["name"], file, *span(one["span"]), around, one["replacement"]))
    return out


def body(text: str, function: tuple[int, int]) -> tuple[int, int] | None:
    """What is between the braces of a function; `None` for a `const fn`."""
    open_at, found = [], None
    for token in TOKEN.finditer(text, *function):
        if token[0] == "{":
            open_at.append(token.end())
        elif token[0] == "}":
            found = open_at.pop(), token.start()
    if not found or re.search(r"^\s*(pub(\(.*?\))? )?const fn ", text[function[0] : found[0]], re.MULTILINE):
        return None
    return found


def woven(text: str, mutants: Sequence[Mutant]) -> tuple[str, dict[int, int]]:
    """The text with these mutants in it, and the mutant of each line that one has."""
    functions: dict[tuple[int, int], list[Mutant]] = defaultdict(list)
    for mutant in mutants:
        functions[mutant.function].append(mutant)
    pieces, of_line, line, done = [], {}, 1, 0

    def put(piece: str, number: int = 0) -> None:
        nonlocal line
        pieces.append(piece)
        count = piece.count("\n")
        of_line.update(dict.fromkeys(range(line, line + count + 1), number) if number else {})
        line += count

    for function, own in sorted(functions.items()):
        place = body(text, function)
        if place is None or function[0] < done:
            continue
        put(text[done : place[0]] + " match crate::mutant_here() {\n")
        for mutant in own:
            changed = text[place[0] : mutant.start] + mutant.replacement + text[mutant.end : place[1]]
            put(f"{mutant.number} => {{{changed}\n}}", mutant.number)
            put("\n")
        put("_ => {" + text[slice(*place)] + "} }")
        done = place[1]
    put(text[done:])
    return "".join(pieces), of_line


def messages(tree: Path, *line: str) -> Iterator[dict[str, object]]:
    """What cargo says."""
    told = subprocess.run(
        ["cargo", *line, "--quiet", "--message-format=json"], cwd=tree, capture_output=True, check=False
    )
    return map(json.loads, told.stdout.splitlines())


def blamed(errors: Sequence[dict[str, object]], of_line: dict[str, dict[int, int]], primary: bool) -> set[int]:
    """The mutants at the places of these errors, or at those that explain them."""
    spans = [span for error in errors for span in error["spans"] if span["is_primary"] is primary]  # type: ignore[attr-defined]
    return {of_line.get(span["file_name"], {}).get(span["line_start"], 0) for span in spans} - {0}


def compiled(tree: Path, crate: str, mutants: Sequence[Mutant]) -> list[Mutant]:
    """The mutants that the compiler takes; the sources of the tree have all of them then."""
    left, whole = list(mutants), {}
    for file in {one.file for one in left} | {f"crates/haltere-{crate}/src/lib.rs"}:
        whole[file] = (tree / file).read_text(encoding="utf-8")
    while True:
        of_line = {}
        for file, text in whole.items():
            new, of_line[file] = woven(text, [one for one in left if one.file == file])
            new = ALLOWED + new + CHOICE if file.endswith("/src/lib.rs") else new
            (tree / file).write_text(new, encoding="utf-8")
        errors = [
            one["message"]
            for one in messages(tree, "check", f"-phaltere-{crate}")
            if one["reason"] == "compiler-message" and one["message"]["level"] == "error" and one["message"]["spans"]  # type: ignore[index]
        ]
        refused = blamed(errors, of_line, primary=True) or blamed(errors, of_line, primary=False)
        tried = {number for lines in of_line.values() for number in lines.values()}
        if errors and not refused:
            raise SystemExit(f"no mutant's error: {errors[0]['rendered']}")  # type: ignore[index]
        left = [one for one in left if one.number in tried - refused]
        print(f"{crate}: {len(left)} of {len(mutants)} mutants, {len(refused)} were refused", flush=True)
        if not refused:
            return left


def binaries(tree: Path, crate: str) -> list[Path]:
    """The test binaries, that of the sources first."""
    every = messages(tree, "test", "--lib", "--tests", "--no-run", f"-phaltere-{crate}")
    made = [one for one in every if one.get("executable") and "example" not in one["target"]["kind"]]  # type: ignore[index]
    made.sort(key=lambda one: "lib" not in one["target"]["kind"])  # type: ignore[index]
    if not made:
        raise SystemExit(f"the tests of {crate} do not compile with its mutants")
    return [Path(str(one["executable"])) for one in made]


def limited() -> None:
    """Of a test binary."""
    resource.setrlimit(resource.RLIMIT_CPU, (LIMIT_S, LIMIT_S))
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT_BYTES, LIMIT_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def fate(programs: Sequence[Path], folder: Path, number: int) -> str:
    """What becomes of a mutant: noticed, late or survived."""
    env = {**os.environ, "HALTERE_MUTANT": str(number), "RUST_BACKTRACE": "0"}
    for program in programs:
        try:
            ended = subprocess.run(
                [program, "--quiet"],
                cwd=folder,
                env=env,
                capture_output=True,
                preexec_fn=limited,
                timeout=900,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return "late"
        if ended.returncode:
            if not number:
                print(f"{program.name} ended with {ended.returncode}: {ended.stderr.decode(errors='replace')[-1000:]}")
            # The signal at the limit of processor time.
            return "late" if ended.returncode in (-24, -9) else "noticed"
    return "survived"


def survivors(output: str) -> set[str]:
    """The mutants that survived a run with this output."""
    return set(re.findall(r"^  survived: (.*)$", output, re.MULTILINE))


def tries(crate: str, sample: int, seed: int, files: Sequence[str], names: set[str]) -> None:
    """Prints what became of the mutants of a crate, or of a sample of those that compile."""
    with tempfile.TemporaryDirectory(prefix="haltere-mutants-") as folder:
        tree = Path(folder)
        copied(tree)
        every = [one for one in listed(tree, crate) if not files or any(part in one.file for part in files)]
        every = [one for one in every if not names or one.name in names]
        left = compiled(tree, crate, every)
        programs = binaries(tree, crate)
        inside = tree / "crates" / f"haltere-{crate}"
        if fate(programs, inside, 0) != "survived":
            raise SystemExit(f"the tests of {crate} fail without a mutant")
        some = random.Random(seed).sample(left, min(sample or len(left), len(left)))
        counts: dict[str, Counter[str]] = defaultdict(Counter)
        for mutant in sorted(some, key=lambda one: one.number):
            became = fate(programs, inside, mutant.number)
            counts[mutant.file][became] += 1
            counts[crate][became] += 1
            if became == "survived":
                print(f"  survived: {mutant.name}", flush=True)
        for key, by in sorted(counts.items()):
            noticed, tried = by["noticed"] + by["late"], by.total()
            print(
                f"{key}: {noticed} of {tried} noticed ({100 * noticed / tried:.1f} %), {by['late']} of them never ended"
            )


def main(arguments: Sequence[str]) -> int:
    """Tries the mutants, or a sample."""
    to = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    to.add_argument("--sample", type=int, default=200, help="mutants of each crate (200); 0: all")
    to.add_argument("--crate", choices=CRATES, action="append", help="one crate (both)")
    to.add_argument("--file", action="append", default=[], help="part of a file's name (all)")
    to.add_argument("--again", type=Path, help="only those that survived by this output of an earlier run")
    to.add_argument("--seed", type=int, default=19)
    given = to.parse_args(arguments)
    if not shutil.which("cargo-mutants"):
        raise SystemExit("cargo-mutants is missing: cargo install --locked cargo-mutants")
    os.environ.setdefault("CARGO_TARGET_DIR", str(ROOT / "target"))
    os.environ["CARGO_TARGET_DIR"] += "/mutants"
    names = survivors(given.again.read_text(encoding="utf-8")) if given.again else set()
    for crate in given.crate or CRATES:
        tries(crate, given.sample, given.seed, given.file, names)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
