"""Mechanisms written in Python: the same as those of the tree, deterministic, found, described, and told of with the line of the user's code."""

from __future__ import annotations

import os
import textwrap
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import haltere as package
from conftest import ROOT, called, haltere
from haltere import HaltereError, InputError, Scenario, _core

EXAMPLES = ROOT / "examples" / "outside"
RENO, CODEL = f"python:{EXAMPLES / 'reno.py'}:Reno", f"python:{EXAMPLES / 'codel.py'}:Codel"


def experiment(
    congestion: Any,
    *,
    rate: str = "10Mbit",
    delay: str = "18ms",
    queue: Any = "drop_tail",
    duration: str = "4s",
    traffic: dict[str, Any] | None = None,
    **bottleneck: Any,
) -> dict[str, Any]:
    """A dumbbell of two pairs."""
    return {
        "duration": duration,
        "seeds": 1,
        "topology": {
            "dumbbell": {
                "pairs": 2,
                "access": {"rate": "1Gbit", "delay": "1ms"},
                "bottleneck": {"rate": rate, "delay": delay, "queue": queue, **bottleneck},
            }
        },
        "traffic": [{"kind": "bulk", "congestion": congestion, **(traffic or {})}],
        "measure": {"flows": "20ms", "queues": "20ms"},
    }


def tables(values: dict[str, Any], seed: int = 1) -> dict[str, pa.Table]:
    """All tables of a run without the names of mechanisms."""
    run = _core.run(Scenario.from_dict(values)._core, seed)
    named = {"flows": ["congestion"], "queues": ["queue"], "links": ["queue"]}
    return {
        name: pa.table(table).drop_columns([one for one in named.get(name, []) if one in pa.table(table).column_names])
        for name, table in run.tables().items()
    }


def same(ours: dict[str, pa.Table], theirs: dict[str, pa.Table]) -> None:
    """Every value of every table is the same."""
    assert ours.keys() == theirs.keys()
    for name, table in ours.items():
        shown = [one for one in table.column_names if one in theirs[name].column_names]
        assert len(shown) >= len(table.column_names) - 4, name
        assert table.select(shown).equals(theirs[name].select(shown)), name


SMALL_QUEUE = {"kind": "drop_tail", "limit": "10p"}
#: Rates, round-trip times, queues, losses, ECN, short flows, idle times.
NETWORKS: dict[str, dict[str, Any]] = {
    "plain": {},
    "slow": {"rate": "1Mbit"},
    "fast": {"rate": "50Mbit", "duration": "2s"},
    "near": {"delay": "1ms"},
    "far": {"delay": "150ms"},
    "tiny queue": {"queue": {"kind": "drop_tail", "limit": "3p"}},
    "small queue": {"queue": SMALL_QUEUE},
    "deep queue": {"queue": {"kind": "drop_tail", "limit": "1000p"}},
    "codel": {"queue": "codel"},
    "red": {"queue": {"kind": "red", "limit": "100p"}},
    "ecn": {"queue": {"kind": "codel", "ecn": True}, "traffic": {"ecn": True}},
    "loss": {"loss": 0.01},
    "heavy loss": {"loss": 0.15},
    "loss in bursts": {"loss": {"kind": "gilbert_elliott", "p": "1%", "r": "25%"}},
    "reordering": {"reorder": 0.02, "reorder_by": "8ms"},
    "jitter": {"jitter": "3ms"},
    "short": {"traffic": {"bytes": "30kB"}},
    "both ways": {"traffic": {"direction": "both"}},
    "idle": {
        "traffic": {"kind": "on_off", "rate": "8Mbit", "on": {"exponential": "200ms"}, "off": {"exponential": "400ms"}}
    },
    "arrivals": {"traffic": {"kind": "poisson", "sizes": "40kB", "per_second": 20, "pairs": "all"}},
}


@pytest.mark.parametrize("name", NETWORKS)
def test_reno_in_python_has_the_windows_of_reno(name: str) -> None:
    assert len(NETWORKS) == 20
    ours, theirs = tables(experiment("reno", **NETWORKS[name])), tables(experiment(RENO, **NETWORKS[name]))
    assert ours["flow_series"].num_rows > 0 or name == "arrivals"
    same(ours, theirs)


@pytest.mark.parametrize(
    "network",
    [{}, {"rate": "2Mbit", "delay": "50ms"}, {"queue_keys": {"target": "1ms", "interval": "20ms"}}, {"ecn": True}],
)
def test_codel_in_python_drops_what_codel_drops(network: dict[str, Any]) -> None:
    keys = network.pop("queue_keys", {})
    ecn = network.pop("ecn", False)

    def run(kind: str) -> dict[str, pa.Table]:
        values = experiment("cubic", queue={"kind": kind, "ecn": ecn, **keys}, **network, traffic={"ecn": ecn})
        return tables({**values, "duration": "8s"})

    ours = run("codel")
    counted = ours["links"] if "links" in ours else ours["queues"]
    assert (
        sum(sum(counted[one].to_pylist()) for one in counted.column_names if one.startswith(("dropped", "marked"))) > 0
    )
    same(ours, run(CODEL))


OWN = '''
import haltere
from haltere import param
from haltere.mechanisms import Duration

class Half(haltere.CongestionControl):
    """Half the window after a loss.

    Not in the summary.
    """
    class Params:
        gain: float = param(1, min=0, max=4, unit="segments", doc="Growth in a round trip.")
        pause: Duration = param("5ms", min="1ms", doc="A pause.")
    def on_ack(self, ev):
        if ev.cwnd_limited and not ev.in_recovery:
            self.cwnd += self.params.gain * self.mss * ev.acked / self.cwnd
    def on_loss(self, ev):
        self.ssthresh = self.cwnd = max(self.cwnd / 2, 2 * self.mss)
    def on_rto(self, ev):
        self.cwnd = self.mss

class Drop(haltere.Queue):
    def __init__(self):
        self.packets = []
    def enqueue(self, now, packet):
        if self.random.random() < 0.02:
            self.drop(packet)
        else:
            self.packets.append(packet)
    def dequeue(self, now):
        return self.packets.pop(0) if self.packets else None
'''


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a module of the user's own."""
    (tmp_path / "own.py").write_text(OWN)
    return tmp_path


def write(folder: Path, congestion: str, queue: str = '"drop_tail"', duration: str = "2s") -> Path:
    file = folder / "experiment.toml"
    file.write_text(
        f"""
        duration = "{duration}"
        seeds = 2
        [topology.dumbbell]
        pairs = 1
        access = {{ rate = "1Gbit", delay = "1ms" }}
        bottleneck = {{ rate = "10Mbit", delay = "9ms", queue = {queue} }}
        [[traffic]]
        kind = "bulk"
        congestion = {congestion}
        """
    )
    return file


def refused(folder: Path, congestion: str, queue: str = '"drop_tail"') -> str:
    with pytest.raises(InputError) as error:
        Scenario.load(write(folder, congestion, queue))
    return str(error.value).replace(f"{folder}/", "")


def test_mistakes_are_told_in_the_form_of_all_errors(folder: Path) -> None:
    place = "experiment.toml:10: traffic[0]"
    near = refused(folder, '"python:own:Hal"')
    assert (
        near
        == f"{place}: congestion must be a congestion control of `own.py`: one of `Half`, got `Hal`; did you mean `Half`?"
    )
    assert refused(folder, '{ kind = "python:own:Drop" }').startswith(
        f"{place}.congestion: kind must be a congestion control, a subclass of `haltere.CongestionControl`, got `Drop`, a queue discipline"
    )
    assert "kind must be a module that exists, got `owm`" in refused(folder, '{ kind = "python:owm:Half" }')
    assert "a file that exists, got `./no.py`" in refused(folder, '"python:./no.py:Half"')
    assert "in a language of this program: `python:`" in refused(folder, '"cobol:own:Half"')
    assert refused(folder, '{ kind = "python:own:Half", gian = 2 }').endswith(
        "key must be one of `gain`, `pause`, got `gian`; did you mean `gain`?"
    )
    assert refused(folder, '{ kind = "python:own:Half", gain = 5 }').endswith("gain must be at most 4, got 5")
    assert "pause must be a duration" in refused(folder, '{ kind = "python:own:Half", pause = "5" }')
    assert refused(folder, '{ kind = "python:own:Half", pause = "1us" }').endswith(
        "pause must be at least 1ms, got 1us"
    )
    assert refused(folder, '"reno"', '{ kind = "python:own:Drop", x = 1 }').endswith(
        "key must be left out, as `Drop` has no parameters, got `x`"
    )


def test_a_module_that_cannot_be_imported_is_told_with_its_line(folder: Path) -> None:
    (folder / "broken.py").write_text("import haltere\n\nx = 1 / 0\n")
    assert refused(folder, '"python:broken:Half"').endswith(
        "but `broken.py` raises, got ZeroDivisionError: division by zero at broken.py:3"
    )
    (folder / "broken.py").write_text("import haltere\nclass Half(:\n")
    assert "SyntaxError" in refused(folder, '"python:broken:Half"') and "broken.py:2" in refused(
        folder, '"python:broken:Half"'
    )
    (folder / "init.py").write_text(
        OWN.replace("    def on_ack", "    def __init__(self):\n        self.x = self.y\n    def on_ack", 1)
    )
    told = refused(folder, '"python:init:Half"')
    assert "`__init__` returns without an error" in told and "AttributeError" in told and "init.py:15" in told


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("self.cwnd = self.mss", "self.cwnd = self.mss / 0"), "on_rto must return without an error, got ZeroDivisionError: division by zero at own.py:20"),
        (("+= self.params.gain *", "+= self.gain *"), "on_ack must return without an error, got AttributeError: 'Half' object has no attribute 'gain' at own.py:16"),
        (("+= self.params.gain * self.mss * ev.acked / self.cwnd", "= 'x'"), "on_ack must leave `cwnd` a number of bytes, 0 or more, got `'x'`"),
        (("+= self.params.gain * self.mss * ev.acked / self.cwnd", "= float('nan')"), "on_ack must leave `cwnd` a number of bytes, 0 or more, got `nan`"),
    ],
)  # fmt: skip
def test_a_failure_ends_the_run_with_the_line_of_the_users_code(
    folder: Path, change: tuple[str, str], told: str
) -> None:
    (folder / "own.py").write_text(OWN.replace(*change))
    file = write(folder, '"python:own:Half"')
    file.write_text(file.read_text().replace('delay = "9ms"', 'delay = "9ms", loss = 0.5'))
    with pytest.raises(HaltereError) as error:
        _core.run(Scenario.load(file)._core, 1)
    assert str(error.value).replace(f"{folder}/", "").startswith(f"python:own:Half: {told}")
    if "must return" in told:
        assert error.value.__cause__ is not None


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("return self.packets.pop(0) if self.packets else None", "return None"), "dequeue must give a packet, or drop those that wait, got none while"),
        (("return self.packets.pop(0) if self.packets else None", "return 7"), "dequeue must return without an error, got TypeError: `dequeue` must return a packet or `None`, got `7`"),
        (("self.packets.pop(0) if", "self.packets[0] if"), "dequeue must name packets that wait, got the number of packet 0, which does not"),
        (("self.packets.append(packet)", "self.drop(packet); self.drop(packet)"), "enqueue must name packets that wait, got a drop of packet"),
    ],
)  # fmt: skip
def test_a_discipline_that_breaks_its_contract_ends_the_run(folder: Path, change: tuple[str, str], told: str) -> None:
    (folder / "own.py").write_text(OWN.replace(*change))
    with pytest.raises(HaltereError) as error:
        _core.run(Scenario.load(write(folder, '"reno"', '"python:own:Drop"'))._core, 1)
    assert str(error.value).startswith(f"python:own:Drop: {told}")


def test_the_command_line_runs_it_and_reports_it_by_its_name(folder: Path) -> None:
    file = write(folder, '["python:own:Half", { kind = "python:own:Half", gain = 2 }]', '"python:own:Drop"')
    assert haltere("run", str(file), "--out", str(folder / "out"), "--jobs", "2", cwd=folder).returncode == 0
    assert called("report", folder / "out", cwd=folder).returncode == 0
    shown = (folder / "out" / "report.md").read_text()
    assert "Half" in shown and "outside" not in shown
    assert "Drop" in (folder / "out" / "figures" / "network.svg").read_text()
    assert called("run", file, "--out", folder / "out", cwd=folder).returncode == 0
    told = called("explain", "python:own:Half", cwd=folder)
    assert told.returncode == 0
    assert all(one in told.stdout for one in ("Half the window after a loss.", "gain", "segments"))


def test_exit_status_is_1_during_a_run_and_2_before(folder: Path) -> None:
    assert called("run", write(folder, '"python:own:Hal"'), "--out", folder / "a", cwd=folder).returncode == 2
    (folder / "own.py").write_text(OWN.replace("+= self.params", "+= self"))
    done = called("run", write(folder, '"python:own:Half"'), "--out", folder / "b", cwd=folder)
    assert done.returncode == 1 and "own.py:16" in done.stderr and "Traceback" not in done.stderr
    traced = called("--traceback", "run", folder / "experiment.toml", "--out", folder / "b", cwd=folder)
    assert traced.returncode == 1 and "Traceback" in traced.stderr and "self.cwnd += self.gain" in traced.stderr


def test_another_code_is_another_run_and_the_same_code_is_not(folder: Path, tmp_path: Path) -> None:
    file = write(folder, '"python:own:Half"')
    key = Scenario.load(file)._core.hash(1)
    assert Scenario.load(file)._core.hash(1) == key
    (folder / "helper.py").write_text("GAIN = 1\n")
    (folder / "own.py").write_text("import helper\n" + OWN)
    with_helper = Scenario.load(file)._core.hash(1)
    (folder / "helper.py").write_text("GAIN = 20\n")
    assert len({key, with_helper, Scenario.load(file)._core.hash(1)}) == 3
    (folder / "own.py").write_text(OWN)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "own.py").write_text(OWN)
    assert Scenario.load(write(elsewhere, '"python:own:Half"'))._core.hash(1) == key


def test_random_numbers_follow_from_the_seed(folder: Path) -> None:
    scenario = Scenario.load(write(folder, '"reno"', '"python:own:Drop"'))._core
    first, again, other = (_core.run(scenario, seed).digest() for seed in (1, 1, 2))
    assert first == again != other


def test_a_class_of_the_program_is_registered(folder: Path) -> None:
    class Fixed(package.CongestionControl):
        def __init__(self) -> None:
            self.cwnd = 4 * self.mss

    assert package.register(Fixed) == "python:Fixed"
    scenario = Scenario.from_dict(experiment("python:Fixed"))
    series = pa.table(_core.run(scenario._core, 1).tables()["flow_series"])
    assert {one for one in series["cwnd_bytes"].to_pylist() if one} == {4 * 1448}
    with pytest.raises(InputError, match="did you mean `Fixed`"):
        Scenario.from_dict(experiment("python:Fixd"))


def test_a_scenario_travels_with_its_digest(folder: Path) -> None:
    scenario = Scenario.load(write(folder, '"python:own:Half"'))._core
    text = scenario.to_json()
    assert _core.Scenario.from_json(text).hash(1) == scenario.hash(1)
    (folder / "own.py").write_text(OWN + "\n# changed\n")
    with pytest.raises(InputError, match="as it was read, with the digest"):
        _core.Scenario.from_json(text)


def test_the_parameters_of_a_sweep_are_those_of_the_class(folder: Path) -> None:
    file = write(folder, '"python:own:Half"')
    file.write_text(file.read_text() + textwrap.dedent('\n[sweep]\n"traffic.0.congestion.gain" = [1, 2]\n'))
    points = Scenario.load(file).points()
    assert [labels for labels, _ in points] == [{"traffic.0.congestion.gain": 1}, {"traffic.0.congestion.gain": 2}]
    assert points[0][1].hash(1) != points[1][1].hash(1)


def test_the_working_directory_does_not_matter(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    before = Path.cwd()
    os.chdir(tmp_path_factory.mktemp("other"))
    try:
        assert Scenario.load(write(folder, '"python:./own.py:Half"')).points()
    finally:
        os.chdir(before)


def test_worlds_that_cannot_run_python_refuse_it(folder: Path) -> None:
    from haltere.worlds.base import refuse_outside

    core = Scenario.load(write(folder, '["reno", "python:own:Half"]'))._core
    with pytest.raises(InputError) as error:
        refuse_outside([core], "on the wire", ["python"])
    assert str(error.value).startswith(
        "traffic[0].congestion[1]: kind must be a mechanism of the tree on the wire, got `python:own:Half`"
    )
    refuse_outside([core], "on the wire", ["wasm"])
