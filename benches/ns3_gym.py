"""ns3-gym on the network of `benches/gym.py`: compiles our ns-3 program against it, and runs environments of it.

ns3-gym is not ours and not here. How to get it is in `benches/README.md`.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ns3

SOURCES = ("container", "spaces", "opengym_env", "opengym_interface")
#: The first port on which an agent listens.
PORT = 5601


@dataclass(frozen=True)
class Setup:
    """A folder of ns3-gym (its branch for ns-3.36 or later), and a Python that has what it needs."""

    folder: Path
    python: str
    build: ns3.Build
    into: Path

    def compile(self) -> Path:
        """Our program `ns3/gym.cc` with ns3-gym's sources."""
        model = self.folder / "model"
        program, made = self.into / f"gym-{self.build.name}", self.into / "ns3-gym"
        sources = [ns3.HERE / "gym.cc", *(model / f"{name}.cc" for name in SOURCES)]
        if program.exists() and program.stat().st_mtime > max(
            s.stat().st_mtime for s in (*sources, ns3.HERE / "common.h")
        ):
            return program
        made.mkdir(parents=True, exist_ok=True)
        package = model / "ns3gym" / "ns3gym"
        _run(["protoc", f"-I{model}", f"--cpp_out={made}", f"--python_out={package}", str(model / "messages.proto")])
        build = self.build
        minor = build.version.split(".")[1]
        command = ["g++", "-O3", "-DNDEBUG", f"-DNS3_MINOR={minor}", *build.flags, "-isystem", str(build.include)]
        command += [f"-I{made}", f"-I{model}", *map(str, sources), str(made / "messages.pb.cc"), "-o", str(program)]
        command += [f"-L{build.libraries}", f"-Wl,-rpath,{build.libraries}", "-Wl,--allow-shlib-undefined"]
        command += [*(f"-l{build.prefix}{module}{build.suffix}" for module in ns3.MODULES), "-lzmq", "-lprotobuf"]
        _run(command)
        return program

    def steps_a_second(self, envs: int, actions: tuple[float, float], *arguments: str) -> dict[str, float]:
        """So many environments at once, each an agent and a process of ns-3: steps a second of CPU time of both, and of time.

        Time counts from the first step of the first agent to the last of the last.
        """
        program, least, most = self.compile(), *map(str, actions)
        path = f"{self.folder / 'model' / 'ns3gym'}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
        agents = [
            subprocess.Popen(
                [self.python, "-W", "ignore", str(ns3.HERE / "agent.py"), str(program), str(PORT + number), least, most, *arguments],
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                env={**os.environ, "PYTHONPATH": path},
            )
            for number in range(envs)
        ]  # fmt: skip
        said: list[dict[str, Any]] = [json.loads(agent.communicate()[0].splitlines()[-1]) for agent in agents]
        steps = sum(one["agent_steps"] for one in said)
        agent, simulator = (sum(one[name] for one in said) for name in ("agent_cpu_s", "run_cpu_s"))
        return {
            "steps a CPU second": round(steps / (agent + simulator), 1),
            "steps a second": round(steps / (max(one["ended"] for one in said) - min(one["began"] for one in said)), 1),
            "us of the agent": round(1e6 * agent / steps, 1),
            "us of ns-3": round(1e6 * simulator / steps, 1),
            "bit/s": round(8 * said[0]["received_bytes"] / float(arguments[0].removeprefix("--seconds="))),
        }


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}\n{done.stderr[-2000:]}")


def find(folder: Path, own: Path, python: str) -> Setup:
    """The setup, or why there is none."""
    if not (folder / "model" / "opengym_interface.cc").exists():
        raise SystemExit(f"{folder} has no model/opengym_interface.cc; benches/README.md says how to get ns3-gym")
    if not (found := ns3.builds(own / "build")):
        raise SystemExit(ns3.HOW_TO_GET)
    if not shutil.which("protoc"):
        raise SystemExit("protoc is missing: apt-get install protobuf-compiler libprotobuf-dev libzmq3-dev cppzmq-dev")
    return Setup(folder.absolute(), python, found[0], own)
