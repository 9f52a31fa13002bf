"""Schedulers, classifiers and traffic sources in Python: the same as those of the tree, deterministic, and told of with the line of the user's code."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import haltere as package
from conftest import ROOT, called
from haltere import HaltereError, InputError, Scenario, _core
from haltere.toml import toml
from test_outside import experiment, same, tables

EXAMPLES = ROOT / "examples" / "outside"
ROUND_ROBIN, LOWEST_RTT = (f"python:{EXAMPLES / 'schedulers.py'}:{name}" for name in ("RoundRobin", "LowestRtt"))
LAS, ON_OFF = f"python:{EXAMPLES / 'las.py'}:Las", f"python:{EXAMPLES / 'on_off.py'}:OnOff"


def multipath(scheduler: Any, **changes: Any) -> dict[str, Any]:
    """Two paths of unlike delay."""
    tail = {"kind": "drop_tail", "limit": "60p"}
    second = {"from": "s2", "to": "d2", "join": "200ms"}
    network = {
        "wifi": {"rate": "20Mbit", "delay": "5ms", "queue": tail},
        "cellular": {"rate": "8Mbit", "delay": "30ms", "queue": tail},
        "bottleneck": {"queue": tail},
        **changes.pop("network", {}),
    }
    connection = {"scheduler": scheduler, **changes.pop("multipath", {})}
    entry = {"kind": "multipath", "congestion": "lia", "paths": [{"from": "s1", "to": "d1"}, second], **changes}
    return {
        "duration": "3s",
        "topology": {"multipath": network},
        "traffic": [{**entry, "multipath": connection}],
        "measure": {"flows": "20ms", "queues": "20ms"},
    }


def carried(paths: pa.Table) -> list[int]:
    """The segments that each path carried in all."""
    rows = paths.group_by("path").aggregate([("segments", "max")]).sort_by("path")
    return [int(count) for count in rows["segments_max"].to_pylist()]


PATHS: dict[str, dict[str, Any]] = {
    "plain": {},
    "loss": {"network": {"cellular": {"rate": "8Mbit", "delay": "30ms", "loss": 0.01}}},
    "jitter": {"network": {"wifi": {"rate": "20Mbit", "delay": "5ms", "jitter": "5ms"}}},
    "a small receive buffer": {"multipath": {"recv_buffer": "60kB"}},
    "a rate": {"rate": "5Mbit", "packet": "1kB"},
}


@pytest.mark.parametrize("network", PATHS)
@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("round_robin", ROUND_ROBIN),
        ({"kind": "round_robin", "segments": 3}, {"kind": ROUND_ROBIN, "segments": 3}),
        ("lowest_rtt", LOWEST_RTT),
    ],
)
def test_schedulers_in_python_choose_as_those_of_the_tree(network: str, ours: Any, theirs: Any) -> None:
    one = tables(multipath(ours, **PATHS[network]))
    # A flow of 5 Mbit/s fits on the fastest path alone.
    least = 1 if "rate" in PATHS[network] and ours == "lowest_rtt" else 2
    assert sum(count > 0 for count in carried(one["paths"])) >= least
    same(one, tables(multipath(theirs, **PATHS[network])))


@pytest.mark.parametrize("threshold", ["16kB", "100kB"])
def test_a_classifier_in_python_calls_what_las_calls(threshold: str) -> None:
    def run(kind: str) -> dict[str, pa.Table]:
        queue = {"kind": "classed", "classifier": {"kind": kind, "threshold": threshold, "timeout": "400ms"}}
        values = experiment("cubic", queue=queue)
        values["traffic"].append(
            {"kind": "poisson", "name": "short", "sizes": "40kB", "per_second": 20, "pairs": "all"}
        )
        return tables(values)

    ours = run("las")
    assert ours["completions"].num_rows > 20
    same(ours, run(LAS))


@pytest.mark.parametrize("times", [("300ms", "200ms"), ("7ms", "1500us"), ("50ms", "1s")])
def test_a_source_in_python_writes_what_on_off_writes(times: tuple[str, str]) -> None:
    on, off = times
    rates = {"on_off": "rate", ON_OFF: "bitrate"}

    def run(kind: str) -> dict[str, pa.Table]:
        values = experiment("cubic")
        entry = {"name": "x", "kind": kind, "pairs": "all", rates[kind]: "8Mbit", "on": on, "off": off}
        found = tables({**values, "traffic": [entry]})
        return {name: one.drop_columns(["kind"]) if "kind" in one.column_names else one for name, one in found.items()}

    ours = run("on_off")
    assert min(ours["flows"]["received_bytes"].to_pylist()) > 50_000
    same(ours, run(ON_OFF))


OWN = '''
import haltere
from haltere import param
from haltere.mechanisms import MS, SECOND, Duration

class Dice(haltere.Scheduler):
    """A path by chance."""
    class Params:
        bias: float = param(0.5, min=0, max=1, doc="How often it is the first.")
    def pick(self, now, paths, seg):
        open = [path for path in paths if path.is_open]
        return open[0 if self.random.random() < self.params.bias else -1] if open else None

class Both(haltere.Scheduler):
    replicates = True
    def pick(self, now, paths, seg):
        return [path for path in paths if path.is_open and path.path not in seg.carried]

class Coin(haltere.Classifier):
    is_random = True
    def classify(self, now, packet):
        return "long" if self.random.random() < 0.5 else "short"

class Poisson(haltere.Source):
    """Requests at random times, each answered by the server."""
    class Params:
        gap: Duration = param("20ms", min="1us", doc="The mean time between two requests.")
    answers = 0
    def step(self, now):
        self.write(2000)
        return now + 1 + int(self.random.expovariate(1 / self.params.gap))
    def on_server(self, now, received):
        self.write(received / 2)
    def on_client(self, now, received):
        self.answers += received

class Once(haltere.Source):
    limit = left = 50_000
    def step(self, now):
        self.left -= self.write(self.left)
        if not self.left:
            self.close()
    def on_client(self, now, received):
        self.step(now)

class Wary(haltere.CongestionControl):
    seen = 0
    def on_coupling(self, siblings, this):
        assert siblings[this].cwnd == self.cwnd, (siblings[this].cwnd, self.cwnd)
        self.seen = max(self.seen, len(siblings))
        self.bytes_between_losses = siblings[this].between_losses + 1
    shows = {"seen": ""}
'''


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a module of the user's own."""
    (tmp_path / "own.py").write_text(OWN)
    return tmp_path


def read(folder: Path, values: dict[str, Any]) -> Scenario:
    """The experiment, as a file of that folder."""
    file = folder / "experiment.toml"
    file.write_text(toml(values))
    return Scenario.load(file)


def entry(kind: str, **keys: Any) -> dict[str, Any]:
    return {**experiment("cubic", duration="2s"), "traffic": [{"kind": kind, **keys}]}


@pytest.mark.parametrize(
    "values",
    [
        multipath("python:own:Dice"),
        multipath({"kind": "python:own:Dice", "bias": 0.9}),
        experiment("cubic", queue={"kind": "classed", "classifier": "python:own:Coin"}, duration="2s"),
        entry("python:own:Poisson", gap="5ms"),
    ],
)
def test_random_numbers_follow_from_the_seed(folder: Path, values: dict[str, Any]) -> None:
    scenario = read(folder, values)._core
    first, again, other = (_core.run(scenario, seed).digest() for seed in (1, 1, 2))
    assert first == again != other


def test_a_scheduler_may_replicate(folder: Path) -> None:
    ours, theirs = tables(multipath("redundant")), _core.run(read(folder, multipath("python:own:Both"))._core, 1)
    segments = carried(pa.table(theirs.tables()["paths"]))
    assert min(segments) > 0.5 * min(carried(ours["paths"]))


def test_a_source_has_answers_and_a_limit(folder: Path) -> None:
    flows = pa.table(_core.run(read(folder, entry("python:own:Poisson", gap="5ms"))._core, 1).tables()["flows"])
    # 400 requests of 2000 bytes in two seconds, and answers of half the size.
    assert 1_000_000 < flows["received_bytes"].to_pylist()[0] < 1_400_000
    once = pa.table(_core.run(read(folder, entry("python:own:Once", pairs="all"))._core, 1).tables()["flows"])
    assert once["received_bytes"].to_pylist() == [50_000, 50_000] and None not in once["completed_ns"].to_pylist()


def test_a_coupled_control_sees_its_siblings(folder: Path) -> None:
    run = _core.run(read(folder, multipath("round_robin", congestion="python:own:Wary"))._core, 1)
    assert run.digest()
    (folder / "own.py").write_text(
        OWN.replace("self.seen = max", "assert len(siblings) < 2, len(siblings); self.seen = max")
    )
    with pytest.raises(HaltereError, match="on_coupling must return without an error, got AssertionError: 2 at"):
        _core.run(read(folder, multipath("round_robin", congestion="python:own:Wary"))._core, 1)


def refused(folder: Path, values: dict[str, Any]) -> str:
    with pytest.raises(InputError) as error:
        read(folder, values)
    return re.sub(r"^experiment\.toml:\d+: ", "", str(error.value).replace(f"{folder}/", ""))


def test_mistakes_are_told_in_the_form_of_all_errors(folder: Path) -> None:
    place = "traffic[0]"
    assert (
        "scheduler must be a path scheduler of `own.py`: one of `Dice`, `Both`, got `Dise`; did you mean `Dice`?"
        in refused(folder, multipath("python:own:Dise"))
    )
    assert "must be a flow classifier, a subclass of `haltere.Classifier`, got `Dice`, a path scheduler" in refused(
        folder, experiment("cubic", queue={"kind": "classed", "classifier": "python:own:Dice"})
    )
    assert refused(folder, entry("python:own:Dice")).startswith(
        f"{place}: kind must be a traffic source, a subclass of `haltere.Source`, got `Dice`"
    )
    assert refused(folder, multipath({"kind": "python:own:Dice", "bias": 2})).endswith("bias must be at most 1, got 2")
    assert refused(folder, entry("python:own:Poisson", gab="1s")).endswith("got `gab`; did you mean `gap`?")
    assert refused(folder, entry("python:own:Poisson", pears="all")).endswith("got `pears`; did you mean `pairs`?")
    assert refused(folder, entry("python:own:Poisson", pairs=3)).startswith(f"{place}: pairs must be")
    assert refused(folder, entry("python:own:Poisson", congestion="python:own:Dice")).startswith(
        f"{place}: congestion must be a congestion control"
    )
    (folder / "own.py").write_text(OWN.replace("gap: Duration", "start: Duration"))
    assert "parameters have other names than the keys of a traffic entry" in refused(
        folder, entry("python:own:Poisson")
    )


@pytest.mark.parametrize(
    ("values", "change", "told"),
    [
        (multipath("python:own:Dice"), ("return open[0 if", "return 7 if open else open[0 if"), "pick must name paths from 0 to"),
        (multipath("python:own:Dice"), ("return open[0 if", "return 'x' if open else open[0 if"), "pick must return without an error, got TypeError: `pick` must return a path, several paths, their numbers, or `None`, got `'x'`"),
        (multipath("python:own:Dice"), ("self.params.bias", "self.bias"), "pick must return without an error, got AttributeError: 'Dice' object has no attribute 'bias' at own.py:12"),
        (experiment("cubic", queue={"kind": "classed", "classifier": "python:own:Coin"}), ('else "short"', "else 0"), "classify must return without an error, got TypeError: `classify` must return `\"short\"` or `\"long\"`, got `0`"),
        (entry("python:own:Poisson"), ("return now + 1 +", "return now - 1 -"), "step must return without an error, got ValueError: the next step must be after"),
        (entry("python:own:Poisson"), ("self.write(received / 2)", "self.write(-1)"), "on_server must return without an error, got ValueError: write: size must be 0 or more, got -1 at own.py:33"),
    ],
)  # fmt: skip
def test_a_failure_ends_the_run_with_the_line_of_the_users_code(
    folder: Path, values: dict[str, Any], change: tuple[str, str], told: str
) -> None:
    (folder / "own.py").write_text(OWN.replace(*change))
    with pytest.raises(HaltereError) as error:
        _core.run(read(folder, values)._core, 1)
    assert told in str(error.value).replace(f"{folder}/", "")


def test_a_scenario_is_filled_and_read_again(folder: Path) -> None:
    values = entry("python:own:Poisson", congestion="python:own:Wary", pairs="all")
    scenario = read(folder, values)._core
    filled = json.loads(scenario.to_json())["traffic"][0]
    assert (filled["kind"], filled["gap"]) == ("python:own:Poisson", "20ms")
    assert filled["congestion"]["kind"] == "python:own:Wary" and filled["pairs"] == "all"
    assert _core.Scenario.from_json(scenario.to_json()).hash(1) == scenario.hash(1)
    assert read(folder, {**values, "sweep": {"traffic.0.gap": ["5ms", "10ms"]}}).points()[1][0] == {
        "traffic.0.gap": "10ms"
    }
    (folder / "own.py").write_text(OWN + "# changed\n")
    assert read(folder, values)._core.hash(1) != scenario.hash(1)


def test_a_class_of_the_program_is_registered() -> None:
    class First(package.Scheduler):
        def pick(self, now: int, paths: Any, seg: Any) -> int:
            return 0

    assert package.register(First) == "python:First"
    segments = carried(tables(multipath("python:First"))["paths"])
    assert segments[0] > 0 and segments[1] == 0


def test_the_command_line_runs_and_reports_them_by_their_names(folder: Path) -> None:
    values = entry("python:own:Poisson", pairs="all")
    values["topology"]["dumbbell"]["bottleneck"]["queue"] = {"kind": "classed", "classifier": "python:own:Coin"}
    read(folder, {**values, "seeds": 2})
    done = called("run", "experiment.toml", "--out", "out", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert called("report", "out", cwd=folder).returncode == 0
    shown = (folder / "out" / "report.md").read_text()
    assert "Poisson" in shown and "outside" not in shown
    for name, key in {"Dice": "multipath.scheduler", "Coin": "classifier", "Poisson": "[[traffic]]"}.items():
        told = called("explain", f"python:own:{name}", cwd=folder)
        assert told.returncode == 0 and key in told.stdout, told.stdout + told.stderr


@pytest.mark.parametrize("name", ["schedulers", "las", "on_off"])
def test_the_examples_run(name: str, tmp_path: Path) -> None:
    done = called("run", str(EXAMPLES / f"{name}.toml"), "--quick", "--out", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
