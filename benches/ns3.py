"""Builds of ns-3 on this machine: which there are, how each was compiled, and our program against them."""

from __future__ import annotations

import re
import subprocess
import sysconfig
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent / "ns3"
MODULES = (
    "applications",
    "internet-apps",
    "point-to-point",
    "internet",
    "traffic-control",
    "bridge",
    "network",
    "stats",
    "core",
)

HOW_TO_GET = """\
ns-3 is not here. One of these, the first being the fastest:
  make bench-ns3               Debian's source package, compiled with --build-profile=optimized (some 6 minutes of CPU)
  apt-get install libns3-dev   Debian's library (release, logging compiled in)
  pip install ns3              the wheel of PyPI, into the Python that runs this (release, logging and asserts compiled in)
and g++ to compile against it (apt-get install g++). The rest of the suite runs without it."""


@dataclass(frozen=True)
class Build:
    """A build of ns-3."""

    name: str
    version: str
    note: str
    include: Path
    libraries: Path
    prefix: str
    """Of the libraries' names, before the module."""
    suffix: str
    flags: tuple[str, ...]

    def compile(self, into: Path, source: str = "plan") -> Path:
        """Our program `source`.cc against this build."""
        program = into / f"{source}-{self.name}"
        sources = [HERE / f"{source}.cc", HERE / "common.h"]
        if program.exists() and program.stat().st_mtime > max(s.stat().st_mtime for s in sources):
            return program
        into.mkdir(parents=True, exist_ok=True)
        minor = self.version.split(".")[1]
        # The compiler looks there anyway; named once more it would come before the C++ library's own headers.
        include = [] if self.include == Path("/usr/include") else ["-isystem", str(self.include)]
        command = ["g++", "-O3", "-DNDEBUG", f"-DNS3_MINOR={minor}", *self.flags, *include]
        command += [str(sources[0]), "-o", str(program), f"-L{self.libraries}", f"-Wl,-rpath,{self.libraries}"]
        command += ["-Wl,--allow-shlib-undefined", *(f"-l{self.prefix}{m}{self.suffix}" for m in MODULES)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(command)}\n{done.stderr[-2000:]}")
        return program

    def log_checks(self) -> int:
        """How often the library of the Internet stack asks whether logging is on: none where it was compiled without."""
        library = self.libraries / f"lib{self.prefix}internet{self.suffix}.so"
        try:
            code = subprocess.run(["objdump", "-d", "--no-show-raw-insn", str(library)], capture_output=True, text=True)
        except FileNotFoundError:
            return -1
        return len(re.findall(r"call.*LogComponent9IsEnabled", code.stdout))


def _own(root: Path) -> Build | None:
    """A tree that `./ns3 configure --build-profile=optimized` compiled."""
    found = sorted((root / "lib").glob("libns3*-core-optimized.so"))
    if not found:
        return None
    version = re.fullmatch(r"libns(3\.\d+)\S*-core-optimized\.so", found[0].name)
    assert version, found[0]
    return Build(
        "optimized",
        version[1],
        "own build of Debian's source, --build-profile=optimized: -O3 -DNDEBUG -march=native, no logging, no asserts",
        root / "include",
        root / "lib",
        f"ns{version[1]}-",
        "-optimized",
        ("-march=native", "-std=c++17"),
    )


def _debian() -> Build | None:
    found = sorted(Path("/usr/lib").glob("*/libns3-core.so"))
    if not found:
        return None
    version = re.search(r"libns3\.(\d+)|\.so\.(\d+)$", found[0].resolve().name)
    minor = (version[1] or version[2]) if version else "37"
    note = "Debian's libns3-dev, --build-profile=release --enable-logs: optimised, no asserts, logging compiled in"
    return Build("debian", f"3.{minor}", note, Path("/usr/include"), found[0].parent, "ns3-", "", ("-std=c++17",))


def _wheel() -> Build | None:
    root = Path(sysconfig.get_paths()["purelib"]) / "ns3"
    found = sorted((root / "lib64").glob("libns3.*-core.so"))
    if not found:
        return None
    version = found[0].name.removeprefix("libns").removesuffix("-core.so")
    # What the wheel's own CMake files say of it; without these two its headers do not fit its libraries.
    flags = ("-std=c++20", "-DNS3_BUILD_PROFILE_RELEASE", "-DNS3_LOG_ENABLE", "-DNS3_ASSERT_ENABLE")
    note = "PyPI's wheel: release, logging and asserts compiled in"
    return Build("wheel", version, note, root / "include", root / "lib64", f"ns{version}-", "", flags)


def builds(own: Path) -> list[Build]:
    """Those that are here, the one expected to be the fastest first."""
    return [build for build in (_own(own), _debian(), _wheel()) if build]
