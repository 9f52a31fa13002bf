"""Transport stacks in shared libraries: which are built, and how one is built."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from . import data
from .errors import HaltereError, InputError, unknown

__all__ = ["Stack", "build", "built", "cache", "is_library", "known", "label", "named"]

#: What a build asks of cargo: random numbers that a stack takes from the system follow from the run's seed instead.
_FLAGS = '--cfg getrandom_backend="custom"'


@dataclass(frozen=True)
class Stack:
    """A stack that is built."""

    name: str
    version: str
    file: Path


def is_library(stack: str) -> bool:
    """Whether a stack is the path of a library, not a name."""
    return "/" in stack or Path(stack).suffix in (".so", ".dylib", ".dll")


def named(text: str, folder: Path | None = None) -> str:
    """A stack as an experiment names it: its name, or the whole path of its library."""
    return str(((folder or Path.cwd()) / text).resolve()) if is_library(text) else text


def label(stack: str) -> str:
    """A stack's name in tables."""
    return Path(stack).stem if is_library(stack) else stack


def cache() -> Path:
    """The folder of stacks: one folder a name, and in it one a version."""
    return data.cache("stacks")


def known() -> dict[str, str]:
    """The stacks that can be built, and the version of each that an adapter is tested with."""
    found = {}
    for manifest in sorted(data.folder("stacks").glob("*/Cargo.toml")):
        if wanted := re.search(r'^proto = .*version = "([^"]+)"', manifest.read_text(), re.M):
            found[manifest.parent.name] = wanted[1]
    return found


def built() -> list[Stack]:
    """The stacks that are built, by name and version."""
    files = sorted(cache().glob("*/*/libstack.so"))
    return [Stack(file.parts[-3], file.parts[-2], file) for file in files]


def build(
    name: str, version: str | None = None, source: Path | None = None, env: Mapping[str, str] = os.environ
) -> Stack:
    """Builds a stack and keeps it under the cache folder. Crates come from the registry that cargo is set up for.

    ``source``: the folder of the stack's own crate, instead of a version in the registry; ``version`` is then a name for it.
    """
    if name not in known():
        raise unknown("stack", name, known())
    if source is not None:
        version = version or "local"
        if not re.fullmatch(r"[\w.+-]+", version):
            raise InputError(f"--version must be of letters, digits, `.`, `+`, `-` and `_`, got `{version}`")
        if not (source / "Cargo.toml").is_file():
            raise InputError(
                f"--source must be the folder of the crate `{name}-proto`, got `{source}`, which has no `Cargo.toml`"
            )
    elif version is not None and not re.fullmatch(r"\d+\.\d+\.\d+[\w.+-]*", version):
        raise InputError(f"--version must be three numbers with dots between, got `{version}`")
    if shutil.which("cargo") is None:
        raise InputError("stack: cargo must be installed to build one in Rust, got none in PATH; https://rustup.rs")
    # A version of its own has a lock of its own, so it is built in a copy.
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "stacks"
        shutil.copytree(data.folder("stacks"), copy, ignore=shutil.ignore_patterns("target"))
        manifest = copy / name / "Cargo.toml"
        if version is not None:
            where = f'path = "{source.resolve()}"' if source else f'version = "={version}"'
            manifest.write_text(
                re.sub(r'^(proto = .*)version = "[^"]+"', rf"\1{where}", manifest.read_text(), flags=re.M)
            )
            (copy / name / "Cargo.lock").unlink(missing_ok=True)
        chosen = version or known()[name]
        target = Path(env.get("HALTERE_STACKS_TARGET") or Path(folder) / "target")
        command = [
            "cargo",
            "build",
            "--release",
            "--quiet",
            "--manifest-path",
            str(manifest),
            *(["--locked"] if version is None else []),
        ]
        flags = {"RUSTFLAGS": _FLAGS, "HALTERE_STACK_VERSION": chosen, "CARGO_TARGET_DIR": str(target)}
        done = subprocess.run(command, env={**env, **flags}, capture_output=True, text=True, check=False)
        if done.returncode:
            first = next((line for line in done.stderr.splitlines() if line.startswith("error")), "cargo failed")
            raise HaltereError(f"stack: `{name}` {chosen} must compile with its adapter, got {first}\n{done.stderr}")
        file = cache() / name / chosen / "libstack.so"
        file.parent.mkdir(parents=True, exist_ok=True)
        fresh = file.with_suffix(".new")
        shutil.copyfile(target / "release" / f"lib{name}.so", fresh)
        fresh.replace(file)
    return Stack(name, chosen, file)
