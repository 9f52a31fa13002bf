"""Builds the page that runs experiments in a browser: `python tools/web/build.py FOLDER`. The folder needs no server.

The module is compiled for `wasm32-unknown-unknown`: with the standard library of the toolchain, if it has that target
(`rustup target add wasm32-unknown-unknown`), else with one built from source, if a compiler has the sources (Debian: `rustc-web` and
`rust-web-src`) and `wasm-ld` is there (Debian: `lld`).
"""

from __future__ import annotations

import argparse
import base64
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PLAY = ROOT / "python" / "haltere" / "play"
ASSETS = ROOT / "python" / "haltere" / "assets"
TARGET = "wasm32-unknown-unknown"
#: What the module may weigh, packed.
MOST_BYTES = 1_500_000
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
    return (target / TARGET / "browser" / "haltere_web.wasm").read_bytes()


_IMPORT = re.compile(r'^import (?:\* as (?P<all>\w+)|\{(?P<names>[^}]+)\}) from "(?P<file>[^"]+)";\n', re.M)
_NAME = re.compile(r"^export (?:async )?(?:const|let|function|class) (\w+)", re.M)


def bundle(start: Path, instead: Mapping[Path, Path] | None = None) -> str:
    """One plain script of a module and those that it imports, as pages of files may load no modules.

    Each module becomes a function that gives what it exports. Only the forms of import and export that the page uses are known.
    ``instead``: modules that others take the place of.
    """
    other = instead or {}
    done: dict[Path, str] = {}

    def found(path: Path, one: re.Match[str]) -> Path:
        named = (path.parent / one["file"]).resolve()
        return other.get(named, named)

    def add(path: Path) -> None:
        if path in done:
            return
        done[path] = ""  # a circle would end here, and its names would be unknown when they are used
        text = path.read_text(encoding="utf-8")
        own = _NAME.findall(text)
        for one in _IMPORT.finditer(text):
            add(found(path, one))
        text = _IMPORT.sub(lambda one: _taken(one, found(path, one)), text)
        text = re.sub(r"^export (?=async |const |let |function |class )", "", text, flags=re.M)
        left = re.search(r"^(?:import|export)\b.*$", text, re.M)
        if left:
            raise SystemExit(f"{path}: import or export must be one that the bundler knows, got `{left[0]}`")
        del done[path]  # after those that it imports
        done[path] = f"const {_variable(path)} = (() => {{\n{text}\nreturn {{ {', '.join(own)} }};\n}})();\n"

    add(start.resolve())
    return '"use strict";\n' + "".join(done.values())


def _variable(path: Path) -> str:
    return f"{path.parent.name}_{path.stem}".replace("-", "_")


def _taken(one: re.Match[str], path: Path) -> str:
    source = _variable(path)
    if one["all"]:
        return f"const {one['all']} = {source};\n"
    names = ", ".join(name.strip().replace(" as ", ": ") for name in one["names"].split(","))
    return f"const {{ {names} }} = {source};\n"


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


def hello() -> dict[str, Any]:
    """What the playground needs to begin, beside the schema."""
    from haltere.limits import PLAYGROUND
    from haltere.play import courses, presets

    return {"most": PLAYGROUND, "presets": presets.listed(), "courses": courses.listed()}


def _script(text: str, kind: str = "", name: str = "") -> str:
    """A script in the page. It ends at the first `</script`, wherever that stands."""
    safe = text.replace("</script", r"<\/script").replace("<!--", r"<\!--")
    return "<script" + (f' type="{kind}"' if kind else "") + (f' id="{name}"' if name else "") + f">{safe}</script>"


def _data(name: str, value: Any) -> str:
    return f'<script type="application/json" id="{name}">{json.dumps(value).replace("<", chr(92) + "u003c")}</script>'


def pages() -> dict[str, str]:
    """The pages by name, each with its styles and scripts in it."""
    web, own = PLAY / "web", PLAY / "page"
    read = lambda path: path.read_text(encoding="utf-8")  # noqa: E731
    plot = _script(read(ASSETS / "uplot.min.js"))
    styles = read(ASSETS / "uplot.min.css") + read(own / "page.css")
    made = [
        _data("examples", examples()),
        _script(bundle(web / "worker.js"), "text/plain", "worker"),
        plot,
        _script(bundle(web / "lab.js")),
    ]
    lab = read(web / "index.html").replace("<!-- styles -->", f"<style>{styles}{read(web / 'lab.css')}</style>")
    live = [
        _data("hello", hello()),
        _script(bundle(web / "player.js"), "text/plain", "worker"),
        plot,
        _script(bundle(own / "main.js", {own / "talk.js": web / "talk.js"})),
    ]
    shared = (
        "The link has the whole set-up, in the part after <code>#</code>, which browsers send to nobody. "
        "It opens in any browser, and with <code>haltere play 'LINK'</code>."
    )
    play = re.sub(r"<link rel=\"stylesheet\"[^>]*>\n|<script src=[^>]*></script>\n", "", read(own / "index.html"))
    play = re.sub(r"(?<=<p>)The link has the whole set-up.*?(?=</p>)", shared, play)
    play = play.replace("</head>", f"<style>{styles}</style>\n</head>").replace(
        "</body>", "\n".join(live) + "\n</body>"
    )
    return {"index.html": lab.replace("<!-- scripts -->", "\n".join(made)), "play.html": play}


def write(to: Path, compiled: bytes) -> int:
    """Writes the folder; what the module weighs, packed."""
    to.mkdir(parents=True, exist_ok=True)
    packed = gzip.compress(compiled, 9, mtime=0)
    (to / "haltere.wasm.gz").write_bytes(packed)
    # A page of a file may not read another file, but it may load a script.
    (to / "haltere.wasm.js").write_text(f'globalThis.HALTERE_MODULE = "{base64.b64encode(packed).decode()}";\n')
    for name, text in pages().items():
        (to / name).write_text(text, encoding="utf-8")
    for name in ("uplot.LICENSE",):
        shutil.copy(ASSETS / name, to / name)
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
        print(f"the module must be at most {MOST_BYTES:,} bytes packed, got {packed:,}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
