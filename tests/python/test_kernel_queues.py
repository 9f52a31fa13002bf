"""Linux's own queue disciplines in the kernel world, and ours beside them: the same packets at the same times."""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from typing import Any

import pytest

from conftest import haltere
from haltere import InputError, _core
from haltere.api import Scenario
from haltere.worlds import world
from haltere.worlds.kernel import guests as kernels
from haltere.worlds.kernel.guests import GuestKernel
from test_kernel import kernel  # noqa: F401

EXPERIMENT = """\
title = "A queue of the kernel"
duration = "{seconds}s"
warmup = "1s"
seeds = 1

[measure]
queues = "100ms"

[topology.dumbbell]
pairs = {pairs}
access = {{ rate = "100Mbit", delay = "1ms" }}
bottleneck = {{ rate = "10Mbit", delay = "8ms", queue = {{ kind = "kernel", tc = "{tc}"{beside} }} }}

[[traffic]]
kind = "bulk"
pairs = "all"
congestion = "cubic"
ecn = {ecn}
start = "{start}"
"""


def written(
    tc: str, beside: str = "", *, pairs: int = 4, seconds: int = 10, ecn: bool = False, start: str = "0s"
) -> str:
    extra = f", beside = {beside}" if beside else ""
    return EXPERIMENT.format(seconds=seconds, pairs=pairs, tc=tc, beside=extra, ecn=str(ecn).lower(), start=start)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "net.toml"
    path.write_text(written("fq_codel limit 1000"))
    return path


@pytest.mark.parametrize("name", ["sim", "wire"])
def test_other_worlds_refuse_it_by_name(name: str, file: Path) -> None:
    done = haltere("run", file.name, "--world", name, cwd=file.parent)
    assert done.returncode == 2 and not (file.parent / "results").exists(), done.stderr
    assert "must be one of Haltere's disciplines outside the kernel world, got `kernel`" in done.stderr, done.stderr
    assert "run it with `--world kernel`" in done.stderr


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize(
    ("tc", "told"),
    [
        ("hfsc default 1", "queue.tc must be one of `codel`, `fq_codel`"),
        ("codel limits 3", "queue.tc must be `codel` with words among `target`, `limit`"),
        ("pie target soon", "queue.tc must be written with a time, such as `5ms` after `target`"),
    ],
)
def test_words_that_tc_does_not_know_are_refused(tc: str, told: str, file: Path) -> None:
    file.write_text(written(tc))
    done = haltere("run", file.name, "--world", "kernel", cwd=file.parent)
    assert done.returncode == 2 and told in done.stderr, done.stderr
    assert not (file.parent / "results").exists()


def measured(text: str, file: Path, seed: int = 1, kernel: str = "") -> dict[str, Any]:  # noqa: F811
    """What passed the bottleneck, and the last sample of its queue."""
    import pyarrow

    file.write_text(text)
    run = world("kernel", kernel=kernel).run(Scenario.load(file)._core, seed, _core.Progress())
    tables = run.tables()
    (link,) = [one for one in pyarrow.table(tables["links"]).to_pylist() if one["link"] == "left>right"]
    series = [one for one in pyarrow.table(tables["queue_series"]).to_pylist() if one["link"] == "left>right"]
    told = json.loads(run.wire)
    assert told["router"]["unaccounted"] == 0
    return {**link, **series[-1], "digest": run.digest()}


@pytest.mark.parametrize(
    "tc", ["pfifo limit 50", "fq_codel limit 1000 ecn", "tbf rate 5mbit burst 10kb limit 50kb", "red limit 120kb min 15kb max 45kb avpkt 1500", "cake bandwidth 5mbit rtt 40ms flows", "htb rate 5mbit burst 15k; pfifo limit 50"]
)  # fmt: skip
def test_the_kernels_own_disciplines_carry_a_run(tc: str, file: Path, kernel: GuestKernel) -> None:  # noqa: F811
    one = measured(written(tc, ecn="ecn" in tc), file)
    most = 5e6 if "5mbit" in tc else 10e6
    assert one["sent_bytes"] * 8 / 10 == pytest.approx(most, rel=0.04)
    assert one["dropped_overlimit"] + one["dropped_congestion"] + one["marked"] > 0
    assert (one["marked"] > 0) == ("ecn" in tc)
    assert measured(written(tc, ecn="ecn" in tc), file)["digest"] == one["digest"]


SERVES = "import socket; line = socket.create_server(('', 80)).accept()[0]\\nwhile line.recv(65536): pass"
#: The type of service "low delay", which Linux puts into band 0 of `prio`, and best effort into band 1.
SENDS = "import socket, sys; line = socket.socket(); line.setsockopt(0, 1, 16); line.connect((sys.argv[1], 80))\\nwhile True: line.send(bytes(65536))"
URGENT = f"""
[[traffic]]
name = "urgent"
kind = "program"
pairs = [1]
server = ["/usr/bin/python3", "-c", "{SERVES}"]
client = ["/usr/bin/python3", "-c", "{SENDS}", "{{to}}"]
ready = {{ port = 80 }}
"""


@pytest.mark.skipif(not Path("/usr/bin/python3").exists(), reason="needs /usr/bin/python3")
@pytest.mark.usefixtures("kernel")
def test_prio_sends_the_more_urgent_flow_first(file: Path) -> None:
    import pyarrow

    file.write_text(written("prio", pairs=2) + URGENT)
    run = world("kernel").run(Scenario.load(file)._core, 1, _core.Progress())
    received = {one["flow"]: one["received_bytes"] for one in pyarrow.table(run.tables()["flows"]).to_pylist()}
    assert received.pop("urgent") > 5 * sum(received.values())


@pytest.fixture(scope="module")
def new_kernel(kernel: GuestKernel) -> str:  # noqa: F811
    """The hash of a kernel that has ``dualpi2`` and accurate ECN."""
    for one in kernels.built():
        # One that was built before may have the guest program of another build.
        if one.told.get("accurate_ecn") and one.told["guest"] == kernel.told["guest"]:
            return one.hash
    pytest.skip("needs a guest kernel from 7.0 on, built now: haltere kernel build 7.2")


def test_dualpi2_marks_and_counts_what_it_drops(new_kernel: str, file: Path) -> None:
    one = measured(written("dualpi2 limit 1000 target 15ms"), file, kernel=new_kernel)
    assert one["sent_bytes"] * 8 / 10 == pytest.approx(10e6, rel=0.04)
    assert one["dropped_overlimit"] + one["dropped_congestion"] > 20
    marked = measured(written("dualpi2 limit 1000 target 15ms", ecn=True), file, kernel=new_kernel)
    assert marked["marked"] > 20 and marked["digest"] != one["digest"]


def test_accurate_ecn_is_negotiated_where_the_kernel_has_it_and_refused_elsewhere(
    new_kernel: str,
    file: Path,
    kernel: GuestKernel,  # noqa: F811
) -> None:
    """One mark a round trip is all that RFC 3168 tells a sender. DCTCP on accurate ECN learns of each."""
    text = written("fq_codel limit 1000 ecn", ecn=True) + '\n[tcp]\naccurate_ecn = "option"\n'
    accurate = measured(text, file, kernel=new_kernel)
    assert accurate["marked"] > 20
    plain = measured(written("fq_codel limit 1000 ecn", ecn=True), file, kernel=new_kernel)
    assert accurate["digest"] != plain["digest"]
    file.write_text(text)
    if not kernel.told.get("accurate_ecn"):
        with pytest.raises(InputError, match="accurate_ecn must be one that this kernel has"):
            world("kernel", kernel=kernel.hash).check([Scenario.load(file)._core])


#: Target and interval as Linux has them: in units of 1024 ns.
UNITS = 'target = "4999168ns", interval = "99999744ns"'


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize(
    ("tc", "beside", "pairs"),
    [
        ("pfifo limit 50", '{ kind = "drop_tail", limit = "50p" }', 4),
        ("bfifo limit 60kb", '{ kind = "drop_tail", limit = "61440B" }', 4),
        ("codel", f'{{ kind = "codel", {UNITS} }}, beside_grain = "1024ns"', 4),
        ("codel ecn", f'{{ kind = "codel", ecn = true, {UNITS} }}, beside_grain = "1024ns"', 4),
        # Linux's hash has a key of its own: of eight flows two share a queue with one seed in forty.
        ("fq_codel limit 1000", '{ kind = "fq_codel", limit = "1000p" }', 4),
        ("pfifo_fast", '{ kind = "pfifo_fast", release_batch = 16 }', 4),
        ("sfq limit 60", '{ kind = "sfq", limit = "60p" }', 4),
        ("fq flow_limit 15", '{ kind = "fq", flow_limit = 15 }', 4),
        (
            "tbf rate 5mbit burst 10kb limit 50kb",
            '{ kind = "tbf", rate = "5Mbit", burst = "10240B", limit = "51200B" }',
            4,
        ),
    ],
)
def test_ours_gives_every_verdict_that_linux_gives(
    tc: str,
    beside: str,
    pairs: int,
    file: Path,
    kernel: GuestKernel,  # noqa: F811
) -> None:
    """Some 16,000 calls, each with the same packets dropped, the same packet sent, and the same mark."""
    if tc.startswith("fq ") and kernel.told.get("accurate_ecn"):
        pytest.skip("ours is fq before Linux 6.7, which gave it bands and a path around its flows")
    one = measured(written(tc, beside, pairs=pairs, ecn="ecn" in tc), file)
    assert one["verdicts"] > 16_000 and one["differ"] == 0
    assert one["beside_dropped"] + one["beside_marked"] > 50


@pytest.mark.usefixtures("kernel")
def test_codel_differs_from_linux_by_its_clock_alone(file: Path) -> None:
    """Linux counts in units of 1024 ns and cuts off the rest at each step; ours counts in ns. A drop is then one packet earlier or later."""
    ns = measured(written("codel", '{ kind = "codel" }', pairs=8, seconds=20), file)
    units = measured(
        written("codel", f'{{ kind = "codel", {UNITS} }}, beside_grain = "1024ns"', pairs=8, seconds=20), file
    )
    assert 0 < units["differ"] <= ns["differ"] < 1e-3 * ns["verdicts"]
    assert ns["dropped"] == ns["beside_dropped"]


#: A kernel of 250 Hz: PIE's updates are 20 ms apart. The first is half a second after the queue was made, and no flow starts before it.
TICKS = 'tupdate = "20ms", first_update = "500ms"'
RED = 'limit = "122880B", min = "15360B", max = "46080B", avpkt = "1500B", burst = 20, probability = 0.1'
SEEDS, MORE = range(1, 25), range(25, 49)


def interval(values: list[float]) -> tuple[float, float]:
    """Mean, and half of its 99 % interval (Student's t for 24 or 48 values)."""
    return statistics.fmean(values), {24: 2.807, 48: 2.685}[len(values)] * statistics.stdev(values) / len(values) ** 0.5


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize(
    ("tc", "ours"),
    [
        ("pie limit 1000", f'kind = "pie", limit = "1000p", {TICKS}'),
        ("fq_pie limit 1000", f'kind = "fq_pie", limit = "1000p", {TICKS}'),
        ("red limit 120kb min 15kb max 45kb avpkt 1500 burst 20 probability 0.1", f'kind = "red", {RED}'),
        ("choke limit 100 min 10 max 30 burst 20", 'kind = "choke", limit = "100p", min = "10p", max = "30p", burst = 20'),
        ("sfb limit 100", 'kind = "sfb", limit = "100p"'),
    ],
)  # fmt: skip
def test_disciplines_that_draw_drop_as_many_packets_as_linux(tc: str, ours: str, file: Path) -> None:
    """Each has its own random numbers, so packets differ one by one; their numbers do not, beyond what chance makes of 24 seeds.

    In one run of each seed Linux's discipline carries the packets and ours is beside it, in another ours carries them. A systematic
    difference moves the mean of the differences out of its interval. Chance alone does so for one kernel in a hundred. The interval must be
    narrow enough to show a difference of a fifth. If it is not with 24 seeds, the test cannot tell anything yet, and 24 more are run:
    the drops of `sfb` spread more than those of others. Width decides that, and never the difference.
    """
    alone = written(tc, start="1s").replace(f'kind = "kernel", tc = "{tc}"', ours)
    linux: list[dict[str, Any]] = []
    own: list[dict[str, Any]] = []
    for seeds in (SEEDS, MORE):
        linux += [measured(written(tc, f"{{ {ours} }}", start="1s"), file, seed) for seed in seeds]
        own += [measured(alone, file, seed) for seed in seeds]
        usual = statistics.fmean(lost(one) for one in linux)
        mean, half = interval([lost(one) - lost(other) for one, other in zip(own, linux, strict=True)])
        if half < 0.2 * usual:
            break
    assert usual > 50 and abs(mean) <= half < 0.2 * usual, f"{mean:+.1f} of {usual:.1f}, interval {half:.1f}"
    # The same packets at the same times: much less is left to chance.
    mean, half = interval([one["beside_dropped"] / lost(one) for one in linux])
    assert abs(mean - 1) <= half < 0.15, f"{mean:.3f}, interval {half:.3f}"


def lost(one: dict[str, Any]) -> int:
    """Packets that the bottleneck's queue dropped."""
    return int(one["dropped_overlimit"] + one["dropped_congestion"])
