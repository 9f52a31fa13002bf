"""Installs a wheel into a clean virtual environment outside of the source and runs it: `python tools/release/try_wheel.py WHEEL`.

By default the other packages are those of the environment that runs this program, so that nothing is fetched. With ``--fetch`` they are
installed from the package index, as a user's would be, and the size of a plain installation is checked. With ``--compile`` the Rust sources in the wheel are type-checked.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import urllib.request
import venv
from collections.abc import Callable, Sequence
from pathlib import Path

#: What a plain installation may need on disk.
MOST_MB = 300


def size_mb(folder: Path) -> float:
    """Megabytes of the files below a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6


class Trial:
    """A clean environment with the wheel, and a folder outside of the source."""

    def __init__(self, wheel: Path, folder: Path, *, fetch: bool) -> None:
        self.folder = folder
        home = folder / "venv"
        venv.create(home, with_pip=fetch, symlinks=True)
        self.bin = home / "bin"
        self.environment = {
            **{name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")},
            "PATH": f"{self.bin}:{os.environ['PATH']}",
            "XDG_CACHE_HOME": str(folder / "cache"),
        }
        if fetch:
            site = next(home.glob("lib/python*/site-packages"))
            before = size_mb(site)
            self.ran(str(self.bin / "python"), "-m", "pip", "install", "--quiet", str(wheel))
            added = size_mb(site) - before
            if added > MOST_MB:
                raise SystemExit(f"the wheel must install in {MOST_MB} MB, got {added:.0f} MB")
            print(f"installed    {added:.0f} MB")
            self.ran(str(self.bin / "python"), "-m", "pip", "install", "--quiet", f"{wheel}[report]")
            return
        site = next(home.glob("lib/python*/site-packages"))
        into = [sys.executable, "-m", "pip", "--python", str(self.bin / "python"), "install", "--quiet"]
        self.ran(*into, "--no-deps", "--no-index", str(wheel))
        # A path in a .pth file is added as it is: its own .pth files, which lead to the source, are not read.
        (site / "borrowed.pth").write_text(f"{sysconfig.get_path('purelib')}\n")

    def ran(self, *command: str, timeout: float = 900) -> str:
        """What a command prints to standard output. Raises :class:`SystemExit` if it fails."""
        done = subprocess.run(
            command, cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=timeout
        )
        if done.returncode:
            raise SystemExit(f"{' '.join(command)}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def haltere(self, *arguments: str) -> str:
        """The same for the installed command."""
        return self.ran(str(self.bin / "haltere"), *arguments)


def package(trial: Trial) -> str:
    """The package is the installed one, and nothing of it leads to a source checkout."""
    program = "import haltere, haltere.data as d; print(haltere.__file__); print(d.root()); print(d.CHECKOUT)"
    file, root, checkout = trial.ran(str(trial.bin / "python"), "-c", program).splitlines()
    inside = all(Path(one).is_relative_to(trial.bin.parent) for one in (file, root))
    if not inside or checkout != "False":
        raise SystemExit(f"the package must be in {trial.bin.parent}, got {file} with the files of {root}")
    return root


def study(trial: Trial) -> str:
    """A published study runs, and writes its report."""
    trial.haltere("reproduce", "aqm-lab", "--quick", "--seeds", "1", "--out", "study")
    found = sorted(path.name for path in (trial.folder / "study").rglob("*.html"))
    if not found:
        raise SystemExit("reproduce: it must write a page, got none")
    return ", ".join(found)


def validation(trial: Trial) -> str:
    """The references measured on Linux are in the package."""
    last = trial.haltere("validate", "--only", "^A_codel_F2$", "--seeds", "1").strip().splitlines()
    if not any("codel" in line for line in last):
        raise SystemExit("validate: it must print the comparison, got " + "\n".join(last))
    return f"{len(last)} lines"


def playground(trial: Trial) -> str:
    """The page of the playground is served."""
    server = subprocess.Popen(
        [str(trial.bin / "haltere"), "play", "--no-browser"], cwd=trial.folder, env=trial.environment,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    try:
        assert server.stdout is not None
        address = server.stdout.readline().strip()
        with urllib.request.urlopen(address, timeout=30) as answer:
            page = answer.read().decode()
    finally:
        server.terminate()
        server.wait(timeout=30)
    if "<html" not in page.lower():
        raise SystemExit(f"play: it must serve a page, got {page[:80]!r}")
    return f"{len(page)} bytes"


def kernels(trial: Trial) -> str:
    """No guest kernel is built yet, and the command says so."""
    return trial.haltere("kernel", "list").strip()


def compiles(trial: Trial) -> str:
    """The sources of the guest program and of the fabric, as they are in the wheel, pass `cargo check`."""
    if shutil.which("cargo") is None:
        return "skipped: cargo is missing"
    root = Path(package(trial))
    # The fabric has no standard library: it needs its release profile, which ends at a panic.
    for name, arguments in (("", ["-p", "haltere-kernel", "--bin", "haltere-guest"]), ("kernel/door", ["--release"])):
        command = ["cargo", "check", "--quiet", "--offline", *arguments]
        done = subprocess.run(command, cwd=root / name, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{' '.join(command)}: {done.stderr}")
    return "guest program and fabric"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Installs a wheel outside of the source and runs it.")
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--fetch", action="store_true", help="install the other packages from the package index")
    parser.add_argument("--compile", action="store_true", help="also type-check the Rust sources in the wheel")
    given = parser.parse_args(arguments)
    parts: list[Callable[[Trial], str]] = [package, study, validation, playground, kernels]
    with tempfile.TemporaryDirectory(prefix="haltere-wheel-") as folder:
        trial = Trial(given.wheel.resolve(), Path(folder), fetch=given.fetch)
        for part in [*parts, *([compiles] if given.compile else [])]:
            print(f"{part.__name__:<12} {part(trial)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
