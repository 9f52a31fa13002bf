"""Makes docs/gallery.md: runs the experiments that `haltere new` writes, each as its comment says, and keeps the figures.

`python tools/gallery.py` runs all, or those that are named; runs that are there are not made again. `--page` writes the page alone.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

from PIL import Image

from haltere import templates

ROOT = Path(__file__).resolve().parents[1]
PAGE, FIGURES = ROOT / "docs" / "gallery.md", ROOT / "docs" / "images" / "gallery"
#: A figure has few colours, so a palette of this size shows it as it is.
COLOURS = 64
HEAD = """\
<!-- Made by `make gallery` from python/haltere/examples. Change the comments of the examples instead. -->

# Gallery

Each figure is that of one experiment file. `haltere new NAME` writes the file with its comments, `haltere new` lists all. They are starting
points: change a value, add an axis to the sweep, and run again.
"""


def cpu() -> float:
    """CPU time of all commands so far, in seconds."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def make(one: templates.Template, work: Path) -> None:
    """Runs the commands of an example's comment and keeps its first figure."""
    shutil.copy(one.path, work)
    before = cpu()
    figures: list[Path] = []
    for words in one.commands:
        command = [sys.executable, "-m", *words] if words[0] == "haltere" else [sys.executable, *words[1:]]
        done = subprocess.run(
            command, cwd=work, stdout=subprocess.PIPE, text=True, env={**os.environ, "COLUMNS": "100"}
        )
        if done.returncode:
            raise SystemExit(f"{one.name}: {' '.join(words)} failed")
        figures += [work / line for line in done.stdout.splitlines() if line.endswith(".png")]
    print(f"{one.name:<16} {cpu() - before:6.1f} s of CPU", flush=True)
    picture = Image.open(figures[0]).convert("RGB")
    picture.quantize(COLOURS, dither=Image.Dither.NONE).save(FIGURES / f"{one.name}.png", optimize=True)


def page() -> str:
    """The text of docs/gallery.md."""
    parts = [HEAD]
    for subject, names in templates.SECTIONS.items():
        parts.append(f"## {subject}\n")
        for one in map(templates.find, names):
            commands = "\n".join(line.removeprefix("#   ") for line in one.text.splitlines() if line.startswith("#   "))
            parts.append(
                f"### {one.title}\n\n{one.about}\n\n![{one.title}](images/gallery/{one.name}.png)\n\n"
                f"```text\nhaltere new {one.name}\n{commands}\n```\n\n"
                f"[{one.path.name}](../python/haltere/examples/{one.path.name})\n"
            )
    return "\n".join(parts)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these examples")
    parser.add_argument("--page", action="store_true", help="write the page, run nothing")
    parser.add_argument("--work", type=Path, default=ROOT / "results" / "gallery", help="where the runs are kept")
    args = parser.parse_args()
    if not args.page:
        args.work.mkdir(parents=True, exist_ok=True)
        FIGURES.mkdir(parents=True, exist_ok=True)
        for one in map(templates.find, args.names) if args.names else templates.every():
            make(one, args.work)
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
