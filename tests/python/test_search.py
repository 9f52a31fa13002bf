"""`haltere search` and `haltere attack`: ranges, candidates, what is left out, resumption, and the files that they write."""

from __future__ import annotations

import importlib.util
import json
import random
import re
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import haltere as package
from conftest import ROOT, SMALL, called, command, haltere
from haltere import templates
from haltere.kinds import label
from haltere.search.attack import core, kernel_refuses
from haltere.search.experiment import changed_file
from haltere.search.harms import HARMS
from haltere.search.network import KEYS, OPTIONAL, Scene, Space, experiment
from haltere.search.race import hopeless, rounds
from haltere.search.ranges import Choice, Range, Span, parse_range
from haltere.search.reduce import minimal, shorter
from haltere.toml import toml

needs_optuna = pytest.mark.skipif(
    importlib.util.find_spec("optuna") is None, reason="optuna is not installed: pip install 'haltere[search]'"
)
LIMIT = "topology.dumbbell.bottleneck.queue.limit"
#: A network whose best buffer is known: a queue of 4 packets starves the link, one of 60 does not.
DEEP = SMALL.replace('{ kind = "codel" }', '{ kind = "drop_tail", limit = "4p" }')


class Chance:
    """Draws as Optuna's trials do, from a seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def suggest_float(self, name: str, low: float, high: float, *, log: bool = False) -> float:
        return self._random.uniform(low, high)

    def suggest_int(self, name: str, low: int, high: int, *, log: bool = False) -> int:
        return self._random.randint(low, high)

    def suggest_categorical(self, name: str, choices: list[Any]) -> Any:
        return self._random.choice(choices)


# -- ranges ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("1ms..100ms", Span(1e-3, 0.1, "duration", True, False)),
        ("10ms..100ms", Span(1e-2, 0.1, "duration", False, False)),
        ("log:10ms..0.1s", Span(1e-2, 0.1, "duration", True, False)),
        ("linear:1Mbit..1Gbit", Span(1e6, 1e9, "rate", False, False)),
        ("2..64", Span(2, 64, "number", True, True)),
        ("0.5..2", Span(0.5, 2, "number", False, False)),
        ("0..64", Span(0, 64, "number", False, True)),
        ("10p..50p", Span(10, 50, "packets", False, True)),
        ("0.5bdp..2bdp", Span(0.5, 2, "bandwidth-delay products", False, False)),
        ("cubic,bbr", Choice(("cubic", "bbr"))),
        ("true,false", Choice((True, False))),
        ('5ms,{ kind = "pie", target = "5ms" },[1, 2]', Choice(("5ms", {"kind": "pie", "target": "5ms"}, [1, 2]))),
    ],
)
def test_a_range_is_read_with_its_unit_and_its_scale(text: str, read: Range) -> None:
    assert parse_range(text, "--over") == read


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("1ms..2Mbit", "both ends must have units of one kind, got a duration and a rate in `1ms..2Mbit`"),
        ("5..5", "lower end must be below the upper one, got `5..5`"),
        ("1..fast", "both ends must be a number with one of the units"),
        ("log:0..5", "lower end must be > 0 on a logarithmic scale, got `log:0..5`"),
        ("log:a,b", "range must be LOW..HIGH behind `log:`, got `log:a,b`"),
        ("a,,b", "range must be LOW..HIGH or values with commas between, got `a,,b`"),
    ],
)
def test_a_wrong_range_is_told_with_its_rule(text: str, error: str) -> None:
    with pytest.raises(package.InputError) as told:
        parse_range(text, "--over KEY")
    assert str(told.value).startswith(f"--over KEY: {error}")


def test_drawn_values_have_three_digits_lie_within_the_ends_and_are_read_by_experiments() -> None:
    for text, key in (("1.2345ms..98ms", "topology.dumbbell.bottleneck.delay"), ("3Mbit..17Mbit", "topology.dumbbell.bottleneck.rate"), ("5p..70p", LIMIT)):  # fmt: skip
        one = parse_range(text, key)
        assert isinstance(one, Span)
        for seed in range(50):
            value = one.draw(key, Chance(seed))
            assert one.low <= one.number(value) <= one.high
            assert len(re.sub(r"\D", "", value).strip("0")) <= 5  # the ends themselves may have more than three
            package.Scenario.from_toml(SMALL).with_values({key: value})


# -- what is left out -----------------------------------------------------------------------------------------------------


def test_delta_debugging_keeps_exactly_what_is_needed_and_asks_no_subset_twice() -> None:
    pieces = list(range(16))
    for needed in ({3}, {0, 15}, {2, 7, 11}, set(pieces)):
        asked: list[tuple[int, ...]] = []

        def holds(some: list[int], needed: set[int] = needed, asked: list[tuple[int, ...]] = asked) -> bool:
            asked.append(tuple(some))
            return needed <= set(some)

        assert set(minimal(pieces, holds)) == needed
        assert len(asked) == len(set(asked))


def test_a_piece_that_stands_in_for_another_is_left_out() -> None:
    # Either of 1 and 2 does.
    assert len(minimal([1, 2, 3], lambda some: 1 in some or 2 in some)) == 1


def test_values_are_rounded_as_far_as_it_holds() -> None:
    ranges: dict[str, Range] = {"delay": parse_range("1ms..100ms", ""), "rate": parse_range("1Mbit..90Mbit", "")}
    values = {"delay": "12.7ms", "rate": "43.2Mbit"}
    assert shorter(values, ranges, lambda some: True) == {"delay": "10ms", "rate": "40Mbit"}
    assert shorter(values, ranges, lambda some: some["rate"] != "40Mbit") == {"delay": "10ms", "rate": "43Mbit"}
    assert shorter(values, ranges, lambda some: False) == values


# -- candidates -----------------------------------------------------------------------------------------------------------


def test_a_candidate_stops_only_if_its_interval_lies_below_the_best() -> None:
    best = [10.0, 12.0, 11.0, 13.0]
    assert hopeless([5.0, 7.0], best)  # the same difference in both seeds
    assert not hopeless([9.0, 12.5], best)
    assert not hopeless([5.0], best)  # of one seed nothing is known
    assert not hopeless([5.0, 7.0], None)
    assert rounds(10) == [2, 4, 8, 10]


# -- files ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", [one.path for one in templates.every() if one.path.suffix == ".toml"], ids=lambda path: path.stem)  # fmt: skip
def test_an_experiment_that_is_written_is_read_as_the_same(path: Path) -> None:
    values = tomllib.loads(path.read_text())
    assert tomllib.loads(toml(values)) == values


@pytest.mark.parametrize(
    "changes",
    [
        {"topology.dumbbell.bottleneck.delay": "7ms"},
        {"topology.dumbbell.bottleneck.queue.target": "9ms", "traffic.ping.interval": "50ms"},
        {"topology.dumbbell.bottleneck.queue": "pie", "topology.dumbbell.bottleneck.queue.tupdate": "30ms"},
        {"traffic.0.congestion": "bbr", "traffic.0.tcp.initial_window": 4},
    ],
)
def test_the_changed_file_has_what_differs_and_no_other_default(small: Path, changes: dict[str, Any]) -> None:
    before = package.load(small)
    after = before.with_values(changes)
    text = changed_file(small, before, after, "# found")
    assert package.Scenario.from_toml(text).to_dict() == after.to_dict()
    original = tomllib.loads(small.read_text())

    def leaves(value: Any) -> int:
        return sum(map(leaves, value.values() if isinstance(value, dict) else value)) if isinstance(value, dict | list) else 1  # fmt: skip

    assert leaves(tomllib.loads(text)) <= leaves(original) + len(changes)


# -- networks -------------------------------------------------------------------------------------------------------------

SCENES = {
    "alone": Scene("bbr", False, HARMS["low_utilisation"], "cubic"),
    "beside": Scene("bbr", False, HARMS["starves"], "cubic", "cubic"),
    "fair": Scene("reno", False, HARMS["unfairness"], "cubic"),
    "far": Scene("reno", False, HARMS["unfairness"], "cubic", None, True),
    "ping": Scene({"kind": "cubic", "hystart": "off"}, False, HARMS["delay"], "cubic"),
    "queue": Scene("pie", True, HARMS["drift"], "codel"),
    "state": Scene("fq_pie", True, HARMS["regimes"], "codel"),
}


@pytest.mark.parametrize("scene", SCENES.values(), ids=SCENES)
def test_every_network_of_the_space_is_an_experiment_and_so_is_the_plain_one(scene: Scene) -> None:
    space = Space.of(scene, {}, None)
    for seed in range(40):
        values = space.draw(Chance(seed))
        for network in (values, space.without(values, space.removable(values))):
            for target in (scene.target, scene.reference):
                assert core(network, scene, target).duration_s == pytest.approx(scene.harm.duration_s)
        plain = space.without(values, space.removable(values))
        assert not {one.partition(".")[0] for one in plain} & set(space.optional)
        assert space.removable(plain) == []


def test_every_harm_has_a_value_in_a_plain_network_and_is_worse_where_it_is_known_to_be() -> None:
    from haltere.analysis.measures import Run
    from haltere.analysis.summary import _Made
    from haltere.runs.records import Done, Point

    plain = {"rate": "10Mbit", "rtt": "40ms", "buffer": "1bdp", "queue": "drop_tail", "flows": 2, "beside_flows": 1, "control": "cubic"}  # fmt: skip

    def measured(name: str, target: Any, *, is_queue: bool = False, **changes: Any) -> float:
        beside = "cubic" if HARMS[name].beside else None
        scene = Scene(target, is_queue, HARMS[name], "reno", beside)
        one = core(plain | changes, scene, target)
        made = package._core.run(one, 1)
        done = Done("key", 0, 1, made.digest(), 0.0)
        tables = {name: pa.table(table) for name, table in made.tables().items()}
        return HARMS[name].of(Run(_Made(Point(0, {}, json.loads(one.to_json())), done, tables), done))

    assert measured("low_utilisation", "reno", loss="3%") > measured("low_utilisation", "reno") + 5
    assert measured("slow_startup", "reno", rtt="200ms", rate="50Mbit") > 10
    assert measured("delay", "cubic", buffer="4bdp") > measured("delay", "cubic") + 1
    assert measured("loss", "bbr", buffer="0.25bdp") > measured("loss", "reno") + 1
    assert measured("starves", "bbr") > measured("starves", "cubic") + 20
    assert measured("starved", "vegas", buffer="4bdp") > measured("starved", "cubic") + 20
    assert 0 <= measured("unfairness", "reno") < 50
    deep = {"is_queue": True, "buffer": "4bdp"}
    assert measured("drift", "drop_tail", **deep) > measured("drift", "codel", **deep) + 1
    assert measured("regimes", "pie", is_queue=True, rate="15Mbit", buffer="8bdp", flows=5) > 20
    assert measured("regimes", "codel", is_queue=True) == 0
    assert {"low_utilisation", "slow_startup", "delay", "loss", "starves", "starved", "unfairness", "drift", "regimes"} == set(HARMS)  # fmt: skip


def test_what_over_names_is_always_there_and_not_removed() -> None:
    space = Space.of(SCENES["beside"], {"buffer": parse_range("1bdp", ""), "jitter": parse_range("2ms", "")}, ["loss"])
    for seed in range(20):
        values = space.draw(Chance(seed))
        assert values["buffer"] == "1bdp" and values["jitter"] == "2ms"
        assert not {"cross.kind", "late"} & set(values)
        assert "jitter" not in space.removable(values)


def test_steps_of_rate_and_delay_are_in_the_order_of_time_and_those_of_one_instant_are_one() -> None:
    values = {"rate": "10Mbit", "rtt": "40ms", "buffer": "1bdp", "queue": "drop_tail", "flows": 1}
    values |= {"rate_step1.at": "60%", "rate_step1.to": "50%", "rate_step2.at": "20%", "rate_step2.to": "10%", "delay_step1.at": "20%", "delay_step1.to": "200%"}  # fmt: skip
    link = experiment(values, SCENES["alone"], "bbr")["topology"]["dumbbell"]["bottleneck"]
    assert link["schedule"] == [{"at": "4s", "rate": "1Mbit", "delay": "40ms"}, {"at": "12s", "rate": "5Mbit"}]


# -- the commands ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("search", "small.toml", "--maximise", "goodput"), "the following arguments are required: --over"),
        (("search", "small.toml", "--over", f"{LIMIT}=5p..50p"), "one of the arguments --maximise"),
        (("search", "small.toml", "--maximise", "goodputt", "--over", f"{LIMIT}=5p..50p"), "did you mean `goodput`"),
        (("search", "small.toml", "--maximise", "jain", "--over", "topology.dumbbell.pears=2..4"), "did you mean `pairs`?"),
        (("search", "small.toml", "--maximise", "jain", "--over", "seeds"), "--over must be KEY=RANGE, got `seeds`"),
        (("search", "small.toml", "--maximise", "jain", "--over", f"{LIMIT}=5p"), f"`--set {LIMIT}=5p` sets one"),
        (("search", "small.toml", "--maximise", "jain", "--over", f"{LIMIT}=5p..9p", "--over", f"{LIMIT}=1p..2p"), "must name each key once"),
        (("search", "small.toml", "--maximise", "jain", "--over", f"{LIMIT}=5p..9p", "--time", "soon"), "a time > 0 such as `10min`"),
        (("attack", "bbrr"), "CONTROL must be a congestion control or a queue discipline, got `bbrr`; did you mean `bbr`?"),
        (("attack", "bbr", "--harm", "starved"), "--beside must name a congestion control for the harm `starved`, got none"),
        (("attack", "bbr", "--harm", "delai"), "did you mean `delay`?"),
        (("attack", "pie", "--harm", "slow_startup"), "got `slow_startup`, a harm of a congestion control"),
        (("attack", "pie", "--beside", "cubic", "--harm", "drift"), "--beside must be left out if a queue discipline is attacked"),
        (("attack", "bbr", "--beside", "codel"), "--beside must be a congestion control, got `codel`"),
        (("attack", "bbr", "--reference", "bbr"), "--reference must differ from the target, got `bbr`"),
        (("attack", "bbr", "--over", "bufer=1bdp"), "did you mean `buffer`?"),
        (("attack", "bbr", "--over", "far=50%..60%"), "--over: key must be one that this attack has, got `far`"),
        (("attack", "bbr", "--conditions", "wind"), "--conditions must be among"),
        (("attack", "bbr", "--keep", "2"), "must be a probability from 0 to 1"),
    ],
)  # fmt: skip
def test_wrong_arguments_are_told_in_one_line_and_nothing_is_written(small: Path, words: tuple[str, ...], told: str) -> None:  # fmt: skip
    done = called(*words, cwd=small.parent)
    assert done.returncode == 2 and told in done.stderr, done.stderr
    assert len(done.stderr.splitlines()) == 1 and not (small.parent / "results").exists()


def test_without_optuna_the_error_says_what_to_install(small: Path) -> None:
    without = (
        f"import sys; sys.modules['optuna'] = None; from haltere.cli import main; sys.exit(main({['attack', 'bbr']!r}))"
    )
    done = subprocess.run([sys.executable, "-c", without], cwd=small.parent, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and "type: pip install 'haltere[search]'" in done.stderr, done.stderr
    assert not (small.parent / "results").exists()


def searched(folder: Path, out: str, *more: str) -> dict[str, Any]:
    words = ("search", "deep.toml", "--maximise", "utilisation", "--over", f"{LIMIT}=2p..64p", "--over", "traffic.ping.interval=90ms,100ms")  # fmt: skip
    done = called(*words, "--trials", "10", "--seeds", "2", "--json", "--out", out, *more, cwd=folder)
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told


@pytest.fixture
def deep(tmp_path: Path) -> Path:
    """A folder with an experiment whose buffer is too small."""
    (tmp_path / "deep.toml").write_text(DEEP)
    return tmp_path


@needs_optuna
def test_a_search_finds_the_better_buffer_and_leaves_out_what_does_not_matter(deep: Path) -> None:
    told = searched(deep, "a")
    assert told["better"] and told["difference"]["mean"] > 0.01
    assert set(told["values"]) == {LIMIT}  # the interval of the pings does nothing for the link
    best = package.load(deep / "a" / "best.toml")
    assert best.to_dict()["topology"]["dumbbell"]["bottleneck"]["queue"]["limit"] == told["values"][LIMIT]
    assert best.to_dict()["traffic"] == package.load(deep / "deep.toml").to_dict()["traffic"]
    assert {"report.html", "best.toml", "figures/history.png", "figures/slices.png", "tables/candidates.csv"} <= {
        str(path.relative_to(deep / "a")) for path in (deep / "a").rglob("*") if path.is_file()
    }
    assert len((deep / "a" / "tables" / "candidates.csv").read_text().splitlines()) == 11


@needs_optuna
def test_a_killed_search_goes_on_and_ends_as_one_that_was_not_whatever_the_number_of_jobs(deep: Path) -> None:
    whole = searched(deep, "whole", "--jobs", "2")
    words = ("search", "deep.toml", "--maximise", "utilisation", "--over", f"{LIMIT}=2p..64p", "--over", "traffic.ping.interval=90ms,100ms")  # fmt: skip
    killed = subprocess.Popen(
        command(*words, "--trials", "10", "--seeds", "2", "--out", "killed", "--jobs", "1"),
        cwd=deep, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    runs = deep / "killed" / "runs"
    end = time.monotonic() + 60
    while time.monotonic() < end and killed.poll() is None and len(list(runs.glob("[!.]*/run.json"))) < 5:
        time.sleep(0.005)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    there = len(list(runs.glob("[!.]*/run.json")))
    again = searched(deep, "killed", "--jobs", "1")
    assert again["runs_found"] >= there >= 5
    for name in ("values", "file", "best", "difference", "candidates", "stopped"):
        assert again[name] == whole[name]
    assert again["runs_made"] + again["runs_found"] == whole["runs_made"]
    assert searched(deep, "killed")["runs_made"] == 0
    left, right = ((deep / name / "tables" / "candidates.csv").read_text() for name in ("whole", "killed"))
    assert left == right


@needs_optuna
def test_a_metric_that_no_run_has_is_told(deep: Path) -> None:
    done = called("search", "deep.toml", "--minimise", "rtt_p95", "--over", f"{LIMIT}=2p..64p", "--trials", "2", cwd=deep)  # fmt: skip
    assert done.returncode == 2 and "metric must be one that every run has, got `rtt_p95`" in done.stderr, done.stderr


@needs_optuna
def test_results_of_run_are_not_taken_for_those_of_a_search(deep: Path) -> None:
    assert called("run", "deep.toml", "--seeds", "1", "--out", "mine", cwd=deep).returncode == 0
    done = called("search", "deep.toml", "--maximise", "goodput", "--over", f"{LIMIT}=2p..64p", "--out", "mine", cwd=deep)  # fmt: skip
    assert done.returncode == 2 and "results directory must be new or one of a search" in done.stderr


@needs_optuna
def test_an_attack_writes_the_smallest_network_and_a_file_that_runs(tmp_path: Path) -> None:
    words = ("attack", "bbr", "--beside", "cubic", "--over", "buffer=0.5bdp", "--over", "rate=5Mbit", "--conditions", "loss,jitter", "--duration", "6s")  # fmt: skip
    done = called(*words, "--trials", "8", "--seeds", "2", "--json", "--out", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["found"] and told["difference"]["mean"] > 20, told
    assert told["network"]["buffer"] == "0.5bdp" and told["network"]["queue"] == "drop_tail"
    assert "loss" not in told["network"]  # BBR needs none
    text = (tmp_path / "out" / "worst.toml").read_text()
    assert text.startswith("# starves of bbr: ") and "haltere attack bbr --beside cubic" in text
    again = called("run", "out/worst.toml", "--seeds", "3", "--json", "--out", "again", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert {entry["name"] for entry in tomllib.loads(text)["traffic"]} == {"attacked", "beside"}


def test_the_kernel_world_says_what_it_lacks() -> None:
    class Found:
        scene, values = SCENES["alone"], {"rate": "10Mbit", "rtt": "40ms", "buffer": "1bdp", "queue": "drop_tail", "flows": 1}  # fmt: skip

    assert kernel_refuses(Found) == ""  # type: ignore[arg-type]


def test_a_replay_is_named_in_a_world_that_takes_the_network_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from haltere.cli import main
    from haltere.search import attack

    ask = ["attack", "bbr", "--beside", "cubic", "--over", "buffer=0.5bdp", "--conditions", "none", "--trials", "2", "--seeds", "2", "--duration", "5s"]  # fmt: skip
    for refused in ("", "it lacks a condition"):
        monkeypatch.setattr(attack, "kernel_refuses", lambda _, refused=refused: refused)
        out = tmp_path / (refused[:2] or "ok")
        assert main([*ask, "--out", str(out)]) == 0
        told = capsys.readouterr().out
        if (out / "worst.toml").exists():
            for text in (told, (out / "worst.toml").read_text()):
                assert ("--world kernel" in text) == (not refused), text
            assert "Replay:" in told


# -- the documents --------------------------------------------------------------------------------------------------------


def test_the_page_has_every_harm_and_every_condition() -> None:
    page = (ROOT / "docs" / "search.md").read_text()
    for one in HARMS.values():
        assert f"| `{one.name}` | {one.about} |" in page
    for key, (text, about) in KEYS.items():
        assert f"| `{key}` | `{text}` | {about} |" in page
    assert {one.partition(".")[0] for one in KEYS} >= set(OPTIONAL)


@pytest.mark.parametrize("path", sorted((ROOT / "docs" / "attack").glob("*.toml")), ids=lambda path: path.stem)
def test_the_networks_that_attacks_found_are_experiments(path: Path) -> None:
    scenario = package.load(path)
    assert scenario.to_dict()["traffic"][0]["name"] == "attacked"
    # The reference runs in the same network.
    (setting,) = re.findall(r"--set '(.*)' --out", path.read_text())
    other = scenario.with_values(dict([package.api.parse_setting(setting)]))
    limits = [one.to_dict()["topology"]["dumbbell"]["bottleneck"]["queue"]["limit"] for one in (scenario, other)]
    assert limits[0] == limits[1] and other.to_dict() != scenario.to_dict()
    assert "# Found by:\n#\n#   haltere attack " in path.read_text() and scenario.seeds == 10


# -- mechanisms from outside the tree -------------------------------------------------------------------------------------

TIMID = '''
import haltere
from haltere import param

class Timid(haltere.CongestionControl):
    """A window that never grows beyond `segments`."""
    class Params:
        segments: int = param(4, min=1, max=1000, unit="segments", doc="The window.")
    def __init__(self):
        self.cwnd = self.params.segments * self.mss

class Fifo(haltere.Queue):
    """Holds 20 packets."""
    def __init__(self):
        self.packets = []
    def enqueue(self, now, packet):
        self.drop(packet) if len(self.packets) > 20 else self.packets.append(packet)
    def dequeue(self, now):
        return self.packets.pop(0) if self.packets else None
'''


@pytest.fixture
def own(deep: Path) -> Path:
    """The folder of an experiment with a Python file and two WebAssembly modules beside it."""
    (deep / "own.py").write_text(TIMID)
    for name in ("reno", "fifo"):
        shutil.copy(ROOT / "tests" / "wasm" / f"{name}_c.wasm", deep / f"{name}.wasm")
    return deep


#: An attack that takes little time.
QUICK = ("--conditions", "none", "--duration", "4s", "--seeds", "2")


@needs_optuna
@pytest.mark.parametrize("control", ["python:own:Timid", "wasm:reno.wasm"])
def test_an_attack_takes_a_control_from_outside_and_its_file_runs_elsewhere(own: Path, control: str) -> None:
    done = called("attack", control, "--over", "rate=20Mbit", *QUICK, "--trials", "3", "--json", "--out", "out", cwd=own)  # fmt: skip
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["found"] and told["candidates"] == 3 and told["failed"] == 0, told
    text = (own / "out" / "worst.toml").read_text()
    assert text.startswith(f"# low_utilisation of {label(control)}: ") and f"with {control}, and" in text
    elsewhere = own / "elsewhere"
    elsewhere.mkdir()
    again = haltere("run", "../out/worst.toml", "--seeds", "2", "--json", "--out", "again", cwd=elsewhere)
    assert again.returncode == 0, again.stderr


@needs_optuna
@pytest.mark.parametrize("queue", ["python:own:Fifo", "{ kind = 'wasm:fifo.wasm', limit = 20 }"])
def test_an_attack_takes_a_queue_from_outside(own: Path, queue: str) -> None:
    done = called("attack", queue, "--over", "buffer=2bdp", *QUICK, "--trials", "2", "--json", "--out", "out", cwd=own)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["candidates"] == 2 and told["failed"] == 0 and told["runs_made"] >= 8, told
    assert re.search("(?i)fifo", (own / "out" / "report.md").read_text().splitlines()[0])


@needs_optuna
@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("attack", "bbr", "--beside", "python:own:Fifo"), "--beside must be a congestion control, got `python:own:Fifo`, one of queues"),
        (("attack", "python:own:Timit"), "did you mean `Timid`?"),
        (("attack", "{ kind = 'python:own:Timid', segments = 0 }", "--trials", "2"), "segments must be at least 1, got 0"),
        (("search", "own.toml", "--maximise", "goodput", "--over", "traffic.0.congestion.gamma=1..2"), "key must be `beta`, got `gamma`"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_mechanism_from_outside_is_told(own: Path, words: tuple[str, ...], told: str) -> None:
    (own / "own.toml").write_text(DEEP.replace('["cubic", "reno"]', '{ kind = "wasm:reno.wasm" }'))
    refused = called(*words, "--out", "refused", cwd=own)
    assert refused.returncode == 2 and told in refused.stderr, refused.stderr


@needs_optuna
@pytest.mark.parametrize(
    ("control", "key", "over"), [("python:own:Timid", "segments", "2..64"), ("wasm:reno.wasm", "beta", "0.2..0.9")]
)
def test_a_search_tunes_the_parameters_of_a_control_from_outside(own: Path, control: str, key: str, over: str) -> None:
    (own / "own.toml").write_text(DEEP.replace('["cubic", "reno"]', f'{{ kind = "{control}" }}'))
    name = f"traffic.0.congestion.{key}"
    done = called("search", "own.toml", "--maximise", "goodput", "--over", f"{name}={over}", "--trials", "6", "--json", "--out", "tuned", cwd=own)  # fmt: skip
    assert done.returncode == 0, done.stderr
    best = json.loads(done.stdout)["values"][name]
    assert best > 4 or key == "beta"
    tuned = package.load(own / "tuned" / "best.toml").to_dict()["traffic"][0]["congestion"]
    assert (tuned["kind"], tuned[key]) == (control, best)
