"""Builds guest kernels: Linux's source as Debian packs it, our patches and device, and what a user adds.

A kernel lies in a folder named by the hash of all that goes into it, so that it is built once. The patched source stays, one tree a
version, so that the next build of the version compiles only what differs.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO

from ... import _core, data
from ...errors import HaltereError, InputError
from .guests import GuestKernel, cache

__all__ = ["VERSIONS", "build", "guest_program"]

#: Versions that Debian packs as ``linux-source-VERSION``: the first two in its release 12, the last in ``unstable``.
VERSIONS = ("6.1", "6.12", "7.2")

#: Programs that a build needs, and the Debian packages that have them.
_NEEDS = {
    "make": "make", "gcc": "gcc", "ld": "binutils", "objcopy": "binutils", "flex": "flex", "bison": "bison", "bc": "bc",
    "perl": "perl", "tar": "tar", "xz": "xz-utils", "patch": "patch", "cargo": "rustup",
}  # fmt: skip

#: Where the files of --add go in Linux, by the first part of their names.
_PLACES = {"tcp": "net/ipv4", "sch": "net/sched", "mptcp": "net/mptcp"}

#: Compiled files of a whole build, for the progress line.
_FILES = 1750

#: The target is named, so that flags for it do not reach build scripts and macros.
_TARGET = "x86_64-unknown-linux-gnu"

Say = Callable[[str], None]


def build(
    version: str = VERSIONS[0], *, source: Path | None = None, patches: Sequence[Path] = (), add: Sequence[Path] = (),
    jobs: int | None = None, force: bool = False, say: Say = lambda _: None,
) -> GuestKernel:  # fmt: skip
    """Builds a kernel, or finds it built: Debian's ``version`` or the tree ``source``, changed by ``patches``, with the files ``add`` compiled in.

    ``say`` receives the progress. Raises :class:`haltere.InputError` with what is missing and how to get it.
    """
    ours = _ours()
    _check(version, source, patches, add)
    if (add or patches) and not _core.kernel_confined():
        say("this machine has no Landlock: the code of --add and --patch may read and write what you may")
    with tempfile.TemporaryDirectory(prefix="haltere-kernel-") as scratch:
        say("compiling the guest program and the fabric")
        guest, fabric = guest_program(), _fabric(ours)
        origin = _Origin(version, source, Path(scratch))
        key = _hash(origin.identity, ours, fabric, [*patches, *add])
        folder = cache() / key[:16]
        if not (folder / "kernel.json").exists() or force:
            tree = _tree(origin, ours, patches, say)
            with _locked(tree.with_name(f"{tree.name}.lock")):
                _prepare(tree, ours, fabric, add)
                began = time.monotonic()
                _make(tree, jobs, say)
                folder.mkdir(parents=True, exist_ok=True)
                shutil.copy2(tree / "vmlinux", folder / "vmlinux")
                shutil.copy2(tree / ".config", folder / "config")
                seconds = round(time.monotonic() - began, 1)
        else:
            seconds = json.loads((folder / "kernel.json").read_text())["seconds"]
    say("booting it")
    return _seal(folder, key, guest, origin.name, (patches, add), seconds)


#: What is compiled for a guest, of the repository.
_SOURCES = tuple(map(Path, ("Cargo.toml", "Cargo.lock", "crates/", "kernel/", "bpf/")))


def _ours() -> Path:
    """The folder with our side of the kernel: the source checkout, or a copy of the package's sources that can be written to."""
    root = data.root()
    if not (root / "kernel/door/Cargo.toml").exists():
        raise InputError(f"the sources of the guest kernel must be in {root}, got none; install Haltere from its wheel")
    if data.CHECKOUT:
        return root
    kept = cache() / "haltere"
    kept.mkdir(parents=True, exist_ok=True)
    with _locked(kept / ".lock"):
        for part in _SOURCES:
            _put_all(root / part, kept / part)
    return kept


def _put_all(one: Path, to: Path) -> None:
    """Makes `to` the same as `one`. A file that has not changed keeps its time, so cargo does not compile it again."""
    if one.is_file():
        to.parent.mkdir(parents=True, exist_ok=True)
        _put(one, to)
        return
    names = {path.name for path in one.iterdir()}
    for name in names:
        _put_all(one / name, to / name)
    for old in to.iterdir():
        if old.name not in names:
            shutil.rmtree(old) if old.is_dir() else old.unlink()


def _check(version: str, source: Path | None, patches: Sequence[Path], add: Sequence[Path]) -> None:
    if sys.platform != "linux" or platform.machine() != "x86_64":
        raise InputError(f"this machine must be Linux on x86-64, got {sys.platform} on {platform.machine()}")
    if source is None and version not in VERSIONS:
        raise InputError(f"version must be one of {', '.join(VERSIONS)}, got `{version}`; another tree: --source DIR")
    if source is not None and not (source / "arch" / "um").is_dir():
        raise InputError(f"--source must be a tree of Linux, got `{source}`, which has no arch/um")
    for one in patches:
        if not one.is_file():
            raise InputError(f"--patch must be a file, got `{one}`")
    for one in add:
        if not re.fullmatch(rf"({'|'.join(_PLACES)})_[a-z0-9_]+\.[ch]", one.name) or not one.is_file():
            kinds = "tcp_NAME.c (a congestion control), sch_NAME.c (a queue discipline) or mptcp_NAME.c (a scheduler)"
            raise InputError(f"--add must be a file named {kinds}, or its header, got `{one}`")
    missing = [name for name in _NEEDS if shutil.which(name) is None]
    if missing:
        packages = " ".join(sorted({_NEEDS[name] for name in missing}))
        raise InputError(
            f"programs must be there to build a kernel, missing: {', '.join(missing)}; on Debian: apt-get install {packages}"
        )


class _Origin:
    """The origin of the source of Linux."""

    def __init__(self, version: str, source: Path | None, scratch: Path) -> None:
        self._scratch = scratch
        self._source = source
        self._archive = None if source else self._debian(version)
        if source:
            head = (source / "Makefile").read_bytes()[:400]
            numbers = re.findall(rb"^(?:VERSION|PATCHLEVEL|SUBLEVEL) = (\d+)", head, re.MULTILINE)
            self.name = ".".join(number.decode() for number in numbers)
            listed = sorted(
                (str(p.relative_to(source)), p.stat().st_size, p.stat().st_mtime_ns) for p in source.rglob("*.[chS]")
            )
            self.identity = hashlib.sha256(repr(listed).encode()).hexdigest()
        else:
            assert self._archive is not None
            self.name = version
            self.identity = _digest(self._archive)
        self.series = ".".join(self.name.split(".")[:2])

    def _debian(self, version: str) -> Path:
        package = f"linux-source-{version}"
        installed = Path("/usr/src") / f"{package}.tar.xz"
        if installed.exists():
            return installed
        kept = cache() / "src" / f"{package}.tar.xz"
        if not kept.exists():
            self._download(package, kept)
        return kept

    def _download(self, package: str, to: Path) -> None:
        if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
            raise InputError(
                f"Linux's source must be given with --source DIR here, got none; only Debian has the package {package}"
            )
        # By its version: a user may have the list of another release for this one package, with a negative priority.
        listed = subprocess.run(["apt-cache", "madison", package], capture_output=True, text=True).stdout
        fields = listed.partition("\n")[0].split("|")
        wanted = f"{package}={fields[1].strip()}" if len(fields) > 1 else package
        done = subprocess.run(["apt-get", "download", wanted], cwd=self._scratch, capture_output=True, text=True)
        found = list(self._scratch.glob(f"{package}_*.deb"))
        if done.returncode or not found:
            why = (done.stderr.strip().splitlines() or ["nothing was fetched"])[-1]
            raise InputError(
                f"the package {package} must be there to fetch ({why}); run `apt-get update`, or give --source DIR"
                + ("; docs/kernel.md says how to add the list of `unstable`" if package.endswith(VERSIONS[-1]) else "")
            )
        subprocess.run(["dpkg-deb", "-x", str(found[0]), "unpacked"], cwd=self._scratch, check=True)
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(self._scratch / "unpacked" / "usr" / "src" / to.name, to)

    def unpack(self, to: Path) -> None:
        """Puts the tree at ``to``, whole or not at all."""
        draft = to.with_name(to.name + ".new")
        shutil.rmtree(draft, ignore_errors=True)
        if self._source:
            shutil.copytree(self._source, draft, symlinks=True, ignore=shutil.ignore_patterns(".git"))
        else:
            draft.mkdir(parents=True)
            subprocess.run(["tar", "xf", str(self._archive), "-C", str(draft), "--strip-components=1"], check=True)
        draft.rename(to)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _patches(ours: Path, series: str) -> list[Path]:
    """Those for every version (``NAME.patch``), and those for this one (``NAME.FIRST-LAST.patch``)."""
    every = sorted((ours / "kernel/patches").glob("*.patch"))
    return [one for one in every if _is_for(one.name, series)]


def _is_for(name: str, series: str) -> bool:
    bounds = re.fullmatch(r"[^.]+\.(\d+\.\d+)-(\d+\.\d+)\.patch", name)
    if bounds is None:
        return True
    first, this, last = (tuple(map(int, one.split("."))) for one in (bounds[1], series, bounds[2]))
    return first <= this <= last


def _device(ours: Path) -> list[Path]:
    """The C side of the fabric."""
    return sorted((ours / "kernel/config").parent.glob("*.[ch]"))


def _hash(identity: str, ours: Path, fabric: Path, theirs: Sequence[Path]) -> str:
    compiler = subprocess.run(["gcc", "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]
    parts = [identity, compiler, _digest(fabric)]
    files = [
        *sorted((ours / "kernel/patches").glob("*.patch")),
        ours / "kernel/config",
        *_device(ours),
        *theirs,
    ]
    parts += [f"{one.name} {_digest(one)}" for one in files]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _target(ours: Path) -> Path:
    return Path(os.environ.get("CARGO_TARGET_DIR", ours / "target")) / "guest-kernel"


def guest_program() -> Path:
    """Compiles the program that runs in guests."""
    ours = _ours()
    static = {"RUSTFLAGS": "-C target-feature=+crt-static"}
    _cargo(ours, ["-p", "haltere-kernel", "--bin", "haltere-guest", "--profile", "guest"], _target(ours), static)
    return _target(ours) / _TARGET / "guest" / "haltere-guest"


def _fabric(ours: Path) -> Path:
    """Compiles the fabric, an object file for the kernel."""
    target = _target(ours)
    bare = {"RUSTFLAGS": "-C relocation-model=static -C force-unwind-tables=no -C panic=abort"}
    _cargo(ours / "kernel/door", ["--release"], target, bare)
    library = target / _TARGET / "release" / "libhaltere_door.a"
    joined, fabric = library.with_name("joined.o"), library.with_name("haltere_fabric.o")
    names = re.findall(r"extern \"C\" fn (hk_\w+)", (ours / "kernel/door/src/lib.rs").read_text())
    entries = [name for name in names if not name.startswith("hk_k_")]
    subprocess.run(
        ["ld", "-r", "--gc-sections", *(f"-u{name}" for name in entries), "-e", entries[0], "-o", joined, library],
        check=True,
    )
    unwanted = (
        ".llvm*",
        ".rela.llvm*",
        ".eh_frame",
        ".rela.eh_frame",
        ".gcc_except_table*",
        ".debug*",
        ".comment",
        ".note*",
    )
    keep = [f"--keep-global-symbol={name}" for name in entries]
    subprocess.run(
        ["objcopy", *(f"-R{one}" for one in unwanted), "--strip-unneeded", *keep, joined, fabric], check=True
    )
    return fabric


def _cargo(folder: Path, arguments: Sequence[str], target: Path, environment: dict[str, str]) -> None:
    command = ["cargo", "build", "--quiet", "--target", _TARGET, "--target-dir", str(target), *arguments]
    done = subprocess.run(command, cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True)
    if done.returncode:
        raise HaltereError(f"compiling for the guest failed:\n{done.stderr.strip()}")


def _tree(origin: _Origin, ours: Path, theirs: Sequence[Path], say: Say) -> Path:
    """The patched source of that origin. A user's patches come first: they were made for Linux as it is."""
    patches = [*theirs, *_patches(ours, origin.series)]
    key = hashlib.sha256("\n".join([origin.identity, *(_digest(one) for one in patches)]).encode()).hexdigest()
    tree = cache() / "src" / f"{origin.name}-{key[:16]}"
    tree.parent.mkdir(parents=True, exist_ok=True)
    with _locked(tree.with_name(f"{tree.name}.lock")):
        if not (tree / ".patched").exists():
            say(f"unpacking Linux {origin.name}")
            shutil.rmtree(tree, ignore_errors=True)
            origin.unpack(tree)
            for one in patches:
                done = subprocess.run(
                    ["patch", "-p1", "--batch", "--forward", "-s", "-d", str(tree), "-i", str(one.resolve())],
                    capture_output=True,
                    text=True,
                )
                if done.returncode:
                    why = (done.stdout.strip().splitlines() or ["an error"])[-1]
                    raise InputError(f"{one.name} must fit Linux {origin.name}, got {why}")
            (tree / ".patched").touch()
    return tree


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[IO[str]]:
    """One build at a time in a tree."""
    with path.open("w") as lock:
        import fcntl  # there is none on Windows

        fcntl.flock(lock, fcntl.LOCK_EX)
        yield lock


def _prepare(tree: Path, ours: Path, fabric: Path, add: Sequence[Path]) -> None:
    """Puts our device and the user's files into the tree, and configures it."""
    device = tree / "drivers" / "net" / "haltere"
    device.mkdir(exist_ok=True)
    for one in _device(ours):
        _put(one, device / one.name)
    _put(fabric, device / "fabric.o_shipped")
    _write(device / "Makefile", "obj-y += haltere.o fabric.o\n")
    _with_line(tree / "drivers" / "net" / "Makefile", "obj-y += haltere/")
    added: dict[str, list[str]] = {kind: [] for kind in _PLACES}
    for one in add:
        kind = one.name.partition("_")[0]
        place = tree / _PLACES[kind]
        if (
            not (place / one.name).exists()
            or (place / one.name).read_bytes() == one.read_bytes()
            or _is_added(place / one.name)
        ):
            _put(one, place / one.name)
            (place / f".{one.name}.added").touch()
        else:
            raise InputError(f"--add must be a file that Linux does not have, got `{one.name}`; give it another name")
        if one.suffix == ".c":
            added[kind].append(f"obj-y += {one.stem}.o")
    for kind, folder in _PLACES.items():
        _with_line(tree / folder / "Makefile", "include $(srctree)/$(src)/Makefile.added")
        _write(tree / folder / "Makefile.added", "".join(f"{line}\n" for line in added[kind]))
    old = tree / ".config"
    if not old.exists() or not _same_config(tree, ours):
        _run(tree, ["make", "-s", "ARCH=um", "tinyconfig"])
        _run(tree, ["scripts/kconfig/merge_config.sh", "-m", ".config", str(ours / "kernel/config")])
        _run(tree, ["make", "-s", "ARCH=um", "olddefconfig"])
        _write(tree / ".config.of", _digest(ours / "kernel/config"))


def _is_added(path: Path) -> bool:
    return path.with_name(f".{path.name}.added").exists()


def _same_config(tree: Path, ours: Path) -> bool:
    noted = tree / ".config.of"
    return noted.exists() and noted.read_text() == _digest(ours / "kernel/config")


def _put(one: Path, to: Path) -> None:
    """Copies a file, unless it is the same: what has not changed is not compiled again."""
    if not to.exists() or to.read_bytes() != one.read_bytes():
        shutil.copyfile(one, to)


def _write(path: Path, text: str) -> None:
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def _with_line(path: Path, line: str) -> None:
    text = path.read_text()
    if line not in text.splitlines():
        path.write_text(f"{text.rstrip()}\n{line}\n")


def _run(tree: Path, command: Sequence[str]) -> None:
    done = subprocess.run(command, cwd=tree, capture_output=True, text=True, env={**os.environ, "ARCH": "um"})
    if done.returncode:
        raise HaltereError(f"{' '.join(command[:3])} failed in {tree}: {done.stderr.strip()[-600:]}")


def _make(tree: Path, jobs: int | None, say: Say) -> None:
    """Compiles, and says how many files are done."""
    command = ["make", "ARCH=um", f"-j{jobs or os.cpu_count() or 1}", "vmlinux"]
    log, done = tree / "build.log", 0
    with log.open("w") as to, subprocess.Popen(command, cwd=tree, stdout=subprocess.PIPE, stderr=to, text=True) as make:
        assert make.stdout is not None
        for line in make.stdout:
            done += line.startswith(("  CC ", "  AR "))
            if done % 25 == 0:
                say(f"compiling Linux: {done} files of about {_FILES}")
    if make.returncode:
        errors = [line for line in log.read_text().splitlines() if "error" in line.lower()]
        raise HaltereError("compiling Linux failed: " + ("\n".join(errors[:10]) or f"see {log}"))


def _seal(
    folder: Path, key: str, guest: Path, source: str, theirs: tuple[Sequence[Path], Sequence[Path]], seconds: float
) -> GuestKernel:
    """Boots the kernel to learn what it has, and notes that."""
    draft = folder / "haltere-guest.new"
    shutil.copy2(guest, draft)
    draft.rename(folder / "haltere-guest")
    about = json.loads(_core.kernel_about(str(folder / "vmlinux"), str(folder / "haltere-guest")))
    told = {
        "release": about["release"], "hash": key, "source": source, "config": _digest(folder / "config"),
        "guest": _digest(guest)[:16], "controls": about["controls"], "fabric": about["fabric"],
        "accurate_ecn": about["accurate_ecn"],
        "patches": {one.name: _digest(one) for one in theirs[0]}, "added": [one.name for one in theirs[1]], "seconds": seconds, "bytes": (folder / "vmlinux").stat().st_size,
        "built": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }  # fmt: skip
    draft = folder / "kernel.json.new"
    draft.write_text(json.dumps(told, indent=1))
    draft.rename(folder / "kernel.json")
    return GuestKernel(folder, told)
