"""Every code block of the documents is carried out, in the order of its page. What this machine may lack is read by the command line's parser alone."""

from __future__ import annotations

import itertools
import re
import shlex
import shutil
import sys
import textwrap
import tomllib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any

import pytest

import haltere as package
from conftest import ROOT, SMALL, haltere
from haltere import _core, catalogue, cli, stacks

PAGES = [
    ROOT / "README.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs" / "paper").glob("*.md")),
    *sorted((ROOT / "papers").glob("*/README.md")), ROOT / "kernel" / "README.md", ROOT / "bpf" / "README.md",
]  # fmt: skip
BLOCK = re.compile(r"(?:<!-- example: (\S+) -->\n)?^```([\w{}-]*)[^\n]*\n(.*?)^```$", re.M | re.S)

#: Needs another machine, privileges, a built kernel, a browser or minutes: the parser alone reads it.
PARSED = re.compile(
    r"--dask|s3://|--world|worlds|^haltere (?:play|kernel|router|reproduce|course|validate|classify|correlate|search|attack|pack run|check|stack build)\b"
)
#: Programs of the machine, which are not carried out.
OTHERS = {"source", "tar", "pip", ".venv/bin/python", "git", "cc"}
#: What is added to a command so that it takes seconds.
SHORTER = {"run": ["--quick"], "characterize": ["--quick", "--seeds", "1"]}
#: The words of a command that a shell reads before `haltere`.
BEFORE = re.compile(r"^(?:unshare -\S+ |sudo |time )+")


def shorter(arguments: list[str]) -> list[str]:
    """What is added to this command."""
    more = SHORTER.get(arguments[0], [])
    if arguments[0] != "characterize":
        return more
    scenario = "heavy" if arguments[1] in _core.names("queues") else "start"
    return [*more, "--only", scenario]


@dataclass(frozen=True)
class Block:
    """A code block and where it is."""

    page: Path
    line: int
    name: str | None
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text()
    for one in BLOCK.finditer(text):
        yield Block(page, text[: one.start()].count("\n") + 1, one[1], one[2], one[3])


def commands(text: str) -> Iterator[str]:
    """The commands of a shell block, without comments; those joined by `&&` or `||` one by one."""
    for line in text.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        for joined, part in itertools.groupby(words, lambda word: word in ("&&", "||")):
            if not joined:
                yield shlex.join(part)


ALL = [block for page in PAGES for block in blocks(page)]
WITH_CODE = sorted({block.page for block in ALL if block.language in ("sh", "python", "toml")})


@pytest.fixture(scope="session")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an experiment and the results directories that the pages name."""
    folder = tmp_path_factory.mktemp("documents")
    queue, pairs, rate = (
        '"topology.dumbbell.bottleneck.queue" = ["codel", "fq_codel", "pie"]',
        '"topology.dumbbell.pairs" = [2, 4]',
        '"topology.dumbbell.bottleneck.rate" = ["10Mbit", "20Mbit"]',
    )
    for name, axes in {
        "experiment": (queue, pairs),
        "sweep": (queue, rate),
        "aqm": (queue,),
        "codel": (),
        "pie": (),
    }.items():
        text = "\n".join([SMALL.replace('"3s"', '"2s"'), *(["[sweep]"] if axes else []), *axes])
        (folder / f"{name}.toml").write_text(text)
        package.load(folder / f"{name}.toml").run(seeds=2, out=folder / "results" / name)
    return folder


@pytest.mark.parametrize("block", ALL, ids=str)
def test_a_block_names_its_language(block: Block) -> None:
    assert block.language in ("sh", "python", "toml", "text", "json", "{toctree}", "{eval-rst}"), (
        "sh, python, toml, text or json"
    )


@pytest.mark.parametrize("page", WITH_CODE, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_blocks_of_a_page_run(page: Path, results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(shutil.copytree(results, tmp_path / "work"))
    if (ROOT / "examples").is_dir():
        Path("examples").symlink_to(ROOT / "examples")
    for block in blocks(page):
        if block.language == "toml":
            is_an_experiment(block)
        elif block.language == "sh":
            for command in commands(block.text):
                ran(command, block)
        elif block.language == "python" and block.name:
            Path(block.name).write_text(block.text)
        elif block.language == "python":
            executed(block, monkeypatch)


#: Commands in indented blocks and in the text: with placeholders such as FILE, so the parser alone reads them.
IN_TEXT = re.compile(r"^ {4}((?:unshare -\S+ |sudo )*haltere .*)$|`(haltere [a-z][^`]*)`", re.M)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_parser_knows_the_commands_in_the_text(page: Path) -> None:
    for one in IN_TEXT.finditer(BLOCK.sub("", page.read_text())):
        for command in commands(one[1] or one[2]):
            word, *arguments = shlex.split(BEFORE.sub("", command))
            if word != "haltere" or re.search(r"[|\[]|\.\.\.", command):
                continue
            try:
                cli._parser(arguments).parse_args(arguments)
            except SystemExit as stopped:
                assert not stopped.code, command  # `--help`
            except package.InputError as error:
                # A mention such as `haltere run` leaves out what it is not about.
                assert re.search("arguments are required|expected one argument", str(error)), f"{command}: {error}"


#: Controls and queues in the text, but for those from outside the tree.
KEY_IN_TEXT = re.compile(r"`((congestion|queue) = [^`:]+)`")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_controls_and_queues_in_the_text_can_be_read(page: Path) -> None:
    for text, key in KEY_IN_TEXT.findall(BLOCK.sub("", page.read_text())):
        value = tomllib.loads(text)[key]
        link = {"rate": "10Mbit", "queue": value}
        if isinstance(value, dict) and value["kind"] in catalogue.media():
            del link["rate"]  # the queue has it
        changes = {"traffic.0.congestion": value} if key == "congestion" else {"topology.dumbbell.bottleneck": link}
        package.Scenario.from_toml(SMALL).with_values(changes)


def is_an_experiment(block: Block) -> None:
    """Reads an experiment, or a part of one in a small experiment. A named one is kept for the page's next blocks."""
    for text in re.split(r"^# or$", block.text, flags=re.M):
        # Keys that stand under no table come first in the file, tables last.
        top, tables = re.match(r"((?:(?!\[)[^\n]*\n)*)(.*)", text, re.S).groups()  # type: ignore[union-attr]
        head, rest = SMALL.partition("seeds")[0], SMALL[SMALL.index("[topology") :]
        whole = text if "[topology" in text else f"{top}\n{head}{rest}\n{tables}"
        path = Path(block.name or "block.toml")
        # A stack is a library that nobody has built here: the rest is read without it.
        whole = re.sub(r"^stack += .*\n", "", whole, flags=re.M)
        path.write_text(whole)
        shutil.rmtree(Path("results") / path.stem, ignore_errors=True)
        assert package.load(path).to_dict() and tomllib.loads(whole), block


def lacks_its_stack(arguments: Sequence[str]) -> bool:
    """Whether a command is about a transport stack that nobody has built here."""
    built = {stack.name for stack in stacks.built()}
    return any(option == "--stack" and name not in built for option, name in itertools.pairwise(arguments))


def ran(command: str, block: Block) -> None:
    """Carries out a command, shortened, or has the parser read it."""
    plain = BEFORE.sub("", command)
    word, *arguments = shlex.split(plain)
    to = arguments[-1] if ">" in arguments[-2:-1] else None
    arguments = arguments[:-2] if to else arguments
    if word == "make":
        makefiles = [ROOT / "Makefile", *ROOT.glob("tools/*/targets.mk")]
        targets = re.findall(r"^([a-z0-9-]+):", "".join(path.read_text() for path in makefiles), re.M)
        assert arguments[0] in targets, f"{block}: {command}"
    elif word == "haltere" and (PARSED.search(plain) or lacks_its_stack(arguments)):
        cli._parser(arguments).parse_args(arguments)
    elif word == "haltere":
        done = haltere(*arguments, *shorter(arguments), cwd=Path.cwd(), timeout=300)
        assert done.returncode == 0, f"{block}: {command}\n{done.stderr}"
        if to:
            Path(to).write_text(done.stdout)
    else:
        assert word in OTHERS, f"{block}: {command}"


class Client:
    """Stands for `distributed.Client`: its executor is a thread of this process."""

    def __init__(self, cluster: Any) -> None:
        assert cluster

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def get_executor(self, *, pure: bool) -> ThreadPoolExecutor:
        assert pure is False
        return ThreadPoolExecutor(1)


class Cluster:
    """Stands for a cluster on SLURM, on Kubernetes or of this machine."""

    def __init__(self, **settings: object) -> None:
        assert settings

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def adapt(self, **limits: int) -> None:
        assert limits


def executed(block: Block, monkeypatch: pytest.MonkeyPatch) -> None:
    """Executes Python. Clusters and buckets become a thread and a folder."""
    for name, value in (
        ("dask_jobqueue", "SLURMCluster"),
        ("dask_kubernetes.operator", "KubeCluster"),
        ("dask_kubernetes", ""),
    ):
        module = ModuleType(name)
        if value:
            setattr(module, value, Cluster)
        monkeypatch.setitem(sys.modules, name, module)
    distributed = ModuleType("distributed")
    distributed.Client = Client  # type: ignore[attr-defined]
    distributed.LocalCluster = Cluster  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "distributed", distributed)
    text = re.sub(r"s3://bucket|/shared", "results/elsewhere", textwrap.dedent(block.text))
    scope: dict[str, Any] = {"haltere": package, "executor": ThreadPoolExecutor(1), "__name__": "__main__"}
    exec(compile(text, str(block), "exec"), scope)
