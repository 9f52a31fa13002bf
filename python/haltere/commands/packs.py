"""`haltere pack` and `haltere check`."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import stacks, worlds
from ..errors import HaltereError, InputError
from ._common import Commands, count, mechanism, show

if TYPE_CHECKING:
    from ..packs import Figure, Variant
    from ..packs.play import Played, Row

#: Cases of which a check shows the smallest experiment.
_SMALLEST = 3


def add(to: Commands) -> None:
    """Adds to the command line."""
    where = {"choices": list(worlds.WORLDS), "default": worlds.DEFAULT}
    inner = Commands(to.add("pack", _list), "pack ")
    inner.add("list", _list)
    inner.add("run", _run, control="many", stack="many", only="many", world=where)
    to.add("check", _check, only="many", margin=_percent, world=where, max_seeds={"type": count, "default": 40})


def _percent(text: str) -> float:
    try:
        value = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        value = -1.0
    if not 0 <= value < 10:
        raise argparse.ArgumentTypeError(f"must be at least 0, such as 5%, got `{text}`")
    return value


def _list(args: argparse.Namespace) -> int:
    from ..packs import find, names
    from ..report.document import Document, Table

    packs = [find(name) for name in names()]
    rows = [[one.name, one.title, str(len(one.cases)), str(len(one.left_out))] for one in packs]
    print(Document("Packs", [Table("packs", "", ["pack", "title", "cases", "left out"], rows, left=2)]).text())
    print("\nRFC 9743 and RFC 7928 are `haltere characterize`. A folder with a `pack.toml` is a pack, too.")
    return 0


def _control(text: str, where: str) -> Any:
    return mechanism(text, ("congestion",), where)[0]


def _run(args: argparse.Namespace) -> int:
    from ..packs import Variant, find
    from ..packs.play import conditions, judged, play
    from ..packs.report import of_pack, to_json

    pack = find(args.name).only(args.only)
    controls = [_control(text, "--control") for text in args.control] or [None]
    under_test: list[str | None] = [stacks.named(text) for text in args.stack] or [None]
    variants = _distinct([Variant.of(control, stack) for stack in under_test for control in controls])
    out = args.out or Path("results") / f"pack-{pack.name}"
    played = play(pack, variants, out, seeds=args.seeds, jobs=args.jobs, world=args.world)
    rows = judged(conditions(played))
    show(of_pack(played, rows), out, to_json(played, rows, {}) if args.json else None)
    return 0


def _distinct(variants: list[Variant]) -> list[Variant]:
    """Variants whose names are the same get them in full, or numbers."""
    from dataclasses import replace

    from ..search.attack import named

    def named_apart(name: Callable[[int], str]) -> None:
        names = [one.name for one in variants]
        for i, one in enumerate(variants):
            if names.count(one.name) > 1:
                variants[i] = replace(one, name=name(i))

    named_apart(lambda i: named(variants[i].control or variants[i].stack))
    named_apart(lambda i: f"{variants[i].name} ({i + 1})")
    return variants


def _check(args: argparse.Namespace) -> int:
    from dataclasses import replace

    from ..packs import Variant, find
    from ..packs.play import Paired, comparisons, conditions, judged, play
    from ..packs.report import of_check, to_json, verdict, write_junit
    from ..runs.files import write_atomically

    pack = find(args.pack).only(args.only)
    if args.control is None and args.stack is None:
        raise InputError("check: --control or --stack must be given")
    if args.seeds == 1 and args.base is not None:
        raise InputError("check: --seeds must be at least 2 with --base, got 1")
    if args.build:
        _built(args.build, Path.cwd())
    figures = [one if args.margin is None else replace(one, margin=args.margin) for one in pack.figures]
    out = args.out or Path("results") / f"check-{pack.name}"
    control = None if args.control is None else _control(args.control, "--control")
    new = Variant.of(control, None if args.stack is None else stacks.named(args.stack))
    with _base(args, new, out) as base:
        variants = _distinct([base, new] if base else [new])
        rule = Paired.over(pack, figures, args.max_seeds) if base and args.seeds is None else None
        seeds = args.seeds or (min(10, args.max_seeds) if rule else None)
        played = play(pack, variants, out, seeds=seeds, jobs=args.jobs, world=args.world, precision=rule)
        rows = conditions(played) + (comparisons(played, figures) if base else [])
        rows = judged(rows, variants[0].name if base else "")
        smaller = _smallest(played, rows, figures, out, args.jobs) if base else {}
    document = of_check(played, rows, variants[0].name if base else "", smaller)
    result = to_json(played, [row for row in rows if row.variant == variants[-1].name], smaller)
    write_junit(played, rows, out / "junit.xml")
    write_atomically(out / "check.json", json.dumps(result, indent=1, ensure_ascii=False) + "\n")
    show(document, out, result if args.json else None)
    if not result["passed"]:
        print(f"haltere: check: {verdict(rows, played.failed)}", file=sys.stderr)
    return 0 if result["passed"] else 1


def _smallest(played: Played, rows: list[Row], figures: list[Figure], out: Path, jobs: int | None) -> dict[str, Path]:
    """The smallest experiments of the clearest rows, one a case."""
    from ..packs.smaller import smallest

    base, new = played.variants
    cases = {case.name: case for case in played.pack.cases}
    found: dict[str, Path] = {}
    for row in sorted((row for row in rows if row.is_bad and row.variant == new.name), key=lambda row: row.p):
        if row.case in found or len(found) == _SMALLEST:
            continue
        figure = next((one for one in figures if row.is_figure and one.of == row.what), None)
        if path := smallest(cases[row.case], row, base, new, figure, out, jobs):
            found[row.case] = path
    return found


# -- what it is compared with ---------------------------------------------------------------------------------------------


@contextmanager
def _base(args: argparse.Namespace, new: Variant, out: Path) -> Iterator[Variant | None]:
    """The variant that ``--base`` names: a mechanism or a library, or the same files as they were at a git revision."""
    from dataclasses import replace

    text = args.base
    is_file = stacks.is_library(args.stack) if args.stack else ":" in args.control
    if text is None:
        yield None
    elif is_file and ":" not in text and not Path(text).is_file() and _revision(text):
        with _tree(text, out.resolve().with_name(f"{out.name}-base"), args.build) as folder:
            control = (
                new.control if not isinstance(new.control, dict) else {**new.control, "source": {"folder": str(folder)}}
            )
            stack = stacks.named(args.stack, folder) if args.stack else None
            yield replace(new, name=f"{new.name} at {text}", control=control, stack=stack)
    elif args.stack:
        yield type(new).of(new.control, stacks.named(text))
    else:
        yield type(new).of(_control(text, "--base"), None)


def _git(*words: str) -> str:
    done = subprocess.run(["git", *words], capture_output=True, text=True)
    if done.returncode:
        raise InputError(f"--base: git {words[0]} must succeed, got `{' '.join(done.stderr.split())}`")
    return done.stdout.strip()


def _revision(text: str) -> bool:
    try:
        return bool(_git("rev-parse", "--verify", "--quiet", f"{text}^{{commit}}"))
    except (InputError, OSError):
        return False


@contextmanager
def _tree(revision: str, folder: Path, build: str | None) -> Iterator[Path]:
    """This folder as it was at a revision, in a worktree that ends with the check."""
    inner = Path.cwd().relative_to(Path(_git("rev-parse", "--show-toplevel")).resolve())
    subprocess.run(["git", "worktree", "remove", "--force", str(folder)], capture_output=True)
    _git("worktree", "add", "--detach", "--force", str(folder), revision)
    try:
        if build:
            _built(build, folder / inner)
        yield folder / inner
    finally:
        subprocess.run(["git", "worktree", "remove", "--force", str(folder)], capture_output=True)


def _built(command: str, folder: Path) -> None:
    done = subprocess.run(command, shell=True, cwd=folder, stdout=2)  # its output is no result
    if done.returncode:
        raise HaltereError(f"--build: `{command}` must succeed in {folder}, got exit status {done.returncode}")
