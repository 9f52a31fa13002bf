"""Builds the page that runs experiments in a browser: `python tools/web/build.py FOLDER`. The folder needs no server.

The module is compiled for `wasm32-unknown-unknown`: with the standard library of the toolchain, if it has that target
(`rustup target add wasm32-unknown-unknown`), else with one built from source, if a compiler has the sources (Debian: `rustc-web` and
`rust-web-src`) and `wasm-ld` is there (Debian: `lld`). `wasm-opt` (Debian: `binaryen`) makes it smaller, and Zopfli packs it: without
them it is over its budget.
"""

from __future__ import annotations

import argparse
import base64
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from haltere.play import bundle

ROOT = Path(__file__).resolve().parents[2]
WEB = bundle.HERE / "web"
TARGET = "wasm32-unknown-unknown"
#: What the module may weigh, packed.
MOST_BYTES = 1_500_000
#: What rustc's modules may contain. The module no longer says so once its symbols are stripped.
FEATURES = ("bulk-memory", "multivalue", "mutable-globals", "nontrapping-float-to-int", "reference-types", "sign-ext")
MISSING = f"the target {TARGET} is missing: rustup target add {TARGET}, or on Debian: apt-get install rustc-web rust-web-src lld"


@dataclass(frozen=True)
class Toolchain:
    """A way to compile for the target: what cargo is told, and its environment."""

    about: str
    arguments: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)


def toolchain() -> Toolchain | None:
    """The first compiler that has the target, or can build it; ``None`` if there is none."""
    compilers = [os.environ.get("RUSTC") or "rustc", "/usr/bin/rustc"]
    for compiler in filter(shutil.which, compilers):
        libraries = _asked(compiler, "--print", "target-libdir", "--target", TARGET)
        if libraries and any(Path(libraries).glob("libcore-*.rlib")):
            return Toolchain(f"{compiler} has {TARGET}", (), {"RUSTC": compiler})
    linker = shutil.which("wasm-ld") or shutil.which("rust-lld")
    for compiler in filter(shutil.which, compilers):
        sources = Path(_asked(compiler, "--print", "sysroot") or "/-") / "lib" / "rustlib" / "src" / "rust" / "library"
        if linker and (sources / "std").is_dir():
            more = {"RUSTC": compiler, "RUSTC_BOOTSTRAP": "1", f"CARGO_TARGET_{_upper(TARGET)}_LINKER": linker}
            return Toolchain(f"{compiler} builds its library for {TARGET}", ("-Zbuild-std=std,panic_abort",), more)
    return None


def _asked(compiler: str, *question: str) -> str:
    done = subprocess.run([compiler, *question], capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else ""


def _upper(name: str) -> str:
    return name.replace("-", "_").upper()


def module(found: Toolchain) -> bytes:
    """The WebAssembly module, compiled."""
    command = ["cargo", "build", "--quiet", "--profile", "browser", "--lib", "-p", "haltere-web", "--target", TARGET]
    subprocess.run([*command, *found.arguments], cwd=ROOT, env={**os.environ, **found.environment}, check=True)
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return optimised(target / TARGET / "browser" / "haltere_web.wasm")


def optimised(file: Path) -> bytes:
    """The module as `wasm-opt` leaves it, or as it is without that program."""
    if shutil.which("wasm-opt") is None:
        return file.read_bytes()
    with tempfile.TemporaryDirectory() as folder:
        smaller = Path(folder) / file.name
        features = [f"--enable-{name}" for name in FEATURES]
        subprocess.run(["wasm-opt", "-O3", *features, str(file), "-o", str(smaller)], check=True)
        return smaller.read_bytes()


def examples() -> dict[str, list[dict[str, str]]]:
    """The experiments of `haltere new`, by subject."""
    from haltere import templates

    out: dict[str, list[dict[str, str]]] = {}
    for subject, names in templates.SECTIONS.items():
        for one in map(templates.find, names):
            if one.path.suffix == ".toml":
                entry = {"name": one.name, "title": one.title, "about": one.about, "text": one.text}
                out.setdefault(subject, []).append(entry)
    return out


def pages() -> dict[str, str]:
    """The pages by name, each with its styles and scripts in it."""
    made = [
        bundle.data("examples", examples()),
        bundle.script(bundle.bundle(WEB / "worker.js"), "text/plain", "worker"),
        bundle.script(bundle.read(bundle.ASSETS / "uplot.min.js")),
        bundle.script(bundle.bundle(WEB / "lab.js")),
    ]
    lab = bundle.read(WEB / "index.html").replace(
        "<!-- styles -->", f"<style>{bundle.styles()}{bundle.read(WEB / 'lab.css')}</style>"
    )
    shared = (
        "The link has the whole set-up, in the part after <code>#</code>, which browsers send to nobody. "
        "It opens in any browser, and with <code>haltere play 'LINK'</code>."
    )
    worker = bundle.script(bundle.bundle(WEB / "player.js"), "text/plain", "worker")
    play = bundle.playground(WEB / "talk.js", shared, [bundle.data("hello", bundle.hello()), worker])
    return {"index.html": lab.replace("<!-- scripts -->", "\n".join(made)), "play.html": play}


def write(to: Path, compiled: bytes) -> int:
    """Writes the folder; what the module weighs, packed."""
    import zopfli.gzip

    to.mkdir(parents=True, exist_ok=True)
    packed: bytes = zopfli.gzip.compress(compiled, numiterations=5)
    (to / "haltere.wasm.gz").write_bytes(packed)
    # A page of a file may not read another file, but it may load a script.
    (to / "haltere.wasm.js").write_text(f'globalThis.HALTERE_MODULE = "{base64.b64encode(packed).decode()}";\n')
    for name, text in pages().items():
        (to / name).write_text(text, encoding="utf-8")
    for name in ("uplot.LICENSE",):
        shutil.copy(bundle.ASSETS / name, to / name)
    return len(packed)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Builds the page that runs experiments in a browser.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--module", type=Path, help="a module that is there already, instead of compiling one")
    given = parser.parse_args(arguments)
    if given.module:
        compiled = given.module.read_bytes()
    else:
        found = toolchain()
        if found is None:
            print(MISSING, file=sys.stderr)
            return 2
        print(found.about, file=sys.stderr)
        compiled = module(found)
    packed = write(given.folder, compiled)
    print(f"{given.folder / 'index.html'}  module {len(compiled):,} bytes, packed {packed:,}")
    if packed > MOST_BYTES:
        print(
            f"the module must be at most {MOST_BYTES:,} bytes packed, got {packed:,}; wasm-opt makes it smaller: on Debian apt-get install binaryen",
            file=sys.stderr,
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
