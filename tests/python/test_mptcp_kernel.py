"""RED as a scheduler of Linux's MPTCP (kernel/examples/mptcp_red.[ch]): its computation is the simulator's, value by value and packet by packet."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import haltere
from haltere import InputError, load
from haltere.runs.results import Results
from haltere.studies.mptcp_red import linux
from haltere.studies.mptcp_red.sides import column, main_rows
from haltere.worlds.kernel import build as building

ROOT = Path(__file__).resolve().parents[2]
WINDOW, PATHS = 50, 8
#: The file without the kernel: its types, and functions that a library can give.
LIBRARY = """
#include <stdint.h>
typedef uint32_t u32; typedef int64_t s64;
#define red_div(a, b) ((a) / (b))
#include "mptcp_red.h"
int coefficient(const u32 *a, const u32 *b)
{
    struct red_path x = {0}, y = {0};
    for (int i = 0; i < RED_WINDOW; i++) { red_sample(&x, a[i]); red_sample(&y, b[i]); }
    return red_coefficient(&x, &y);
}
u32 chain(int of[RED_PATHS][RED_PATHS], u32 usable, int phi) { return red_chain(of, usable, phi); }
"""
_loaded: dict[str, Any] = {}


@pytest.fixture(scope="module", autouse=True)
def library(tmp_path_factory: pytest.TempPathFactory) -> Any:
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not there")
    folder = tmp_path_factory.mktemp("red")
    (folder / "red.c").write_text(LIBRARY)
    include = ROOT / "kernel" / "examples"
    told = ["gcc", "-Wall", "-Werror", "-shared", "-fPIC", f"-I{include}", "red.c", "-o", "red.so"]
    subprocess.run(told, cwd=folder, check=True)
    _loaded["red"] = ctypes.CDLL(str(folder / "red.so"))
    return _loaded["red"]


def coefficient(a: Sequence[int], b: Sequence[int]) -> int:
    of = ctypes.c_uint32 * WINDOW
    return int(_loaded["red"].coefficient(of(*a), of(*b)))


def run(out: Path, scheduler: Any, **correlator: Any) -> Results:
    values = {"duration": "20s", "warmup": "1s", "measure.flows": "10ms", "sweep": {}}
    values |= {"traffic[1].multipath.scheduler": scheduler}
    values |= {"traffic[1].multipath.correlators": [{"kind": "red_cpi", **correlator}]}
    return load(ROOT / "papers" / "mptcp-red" / "main.toml").with_values(values).run(seeds=1, out=out, quiet=True)


def test_a_coefficient_is_the_simulator_s(tmp_path: Path) -> None:
    """The simulator's windows of a run, from its series of smoothed round-trip times, and each coefficient that it computed of them."""
    results = run(tmp_path, "redundant", sampling="step", step="10ms", resolution="1us", interval="500ms")
    table = results.run_table("paths", results.runs[0]).to_pydict()
    rows = zip(table["at_ns"], table["flow"], table["path"], table["srtt_ns"], strict=True)
    series: dict[int, dict[int, int]] = {}
    for at, flow, path, srtt in rows:
        if flow == "main":
            series.setdefault(path, {})[at // 10_000_000] = srtt // 1000
    told = results.run_table("coefficients", results.runs[0]).to_pylist()
    compared = 0
    for one in told:
        if one["flow"] != "main" or one["coefficient"] is None:
            continue
        # The simulator takes the sample of a step with the first acknowledgement after it.
        ours = set()
        for last in (one["at_ns"] // 10_000_000, one["at_ns"] // 10_000_000 - 1):
            steps = range(last - WINDOW + 1, last + 1)
            ours.add(coefficient(*([series[one[key]].get(step, 0) for step in steps] for key in ("path_a", "path_b"))))
        assert round(1000 * one["coefficient"]) in ours, one
        compared += 1
    assert compared > 60


class Chain(haltere.Scheduler):
    """`red` with the kernel's chain."""

    replicates = True

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.of = ((ctypes.c_int * PATHS) * PATHS)(*[(2000,) * PATHS] * PATHS)

    def on_relations(self, relations: Any) -> None:
        for a in range(3):
            for b in range(3):
                if a != b and relations.known(a, b):
                    self.of[a][b] = round(1000 * relations.coefficient(a, b))

    def pick(self, now: Any, paths: Any, seg: Any) -> Any:
        usable = sum(1 << path.path for path in paths if path.usable)
        chosen = _loaded["red"].chain(self.of, usable, 800)
        return [path for path in paths if chosen >> path.path & 1]


def test_the_paths_that_carry_are_the_simulator_s_packet_by_packet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    each = [run(tmp_path / str(i), one) for i, one in enumerate(("red", f"python:{Path(__file__).stem}:Chain"))]
    tables = [results.run_table("paths", results.runs[0]) for results in each]
    assert tables[0].equals(tables[1])
    replicas = [row["replicas"] for row in tables[0].to_pylist() if row["flow"] == "main"][-3:]
    assert replicas[0] > 0 and len(set(replicas)) > 1, "some paths carried replicas, and not all alike"


def test_the_file_s_own_examples() -> None:
    rising = list(range(1, WINDOW + 1))
    assert coefficient(rising, [value**2 for value in rising]) == 1000
    assert coefficient(rising, rising[::-1]) == -1000
    assert (coefficient([7] * WINDOW, [9] * WINDOW), coefficient([7] * WINDOW, rising)) == (1000, 0)
    of = ((ctypes.c_int * PATHS) * PATHS)(*[(2000,) * PATHS] * PATHS)
    assert _loaded["red"].chain(of, 0b111, 800) == 0b001, "only the first path before a coefficient is known"
    for a, b, c in ((0, 1, 100), (0, 2, -50), (1, 2, 900)):
        of[a][b] = of[b][a] = c
    assert _loaded["red"].chain(of, 0b111, 800) == 0b101, "2 is the least correlated with 0, and 1 correlates with 2"
    assert np.array(of).max() == 2000


def test_a_scheduler_and_its_header_can_be_added_to_a_kernel(tmp_path: Path) -> None:
    examples = ROOT / "kernel" / "examples"
    building._check("6.12", None, [examples / linux.PATCH], [examples / "mptcp_red.h", examples / "mptcp_red.c"])
    (tmp_path / "mptcp_Red.c").touch()
    with pytest.raises(InputError, match=r"or mptcp_NAME\.c \(a scheduler\), or its header, got"):
        building._check("6.12", None, [], [tmp_path / "mptcp_Red.c"])


def test_figure_5_for_linux_keeps_all_but_the_scheduler_and_what_competes() -> None:
    ours = load(ROOT / "papers" / "mptcp-red" / "main.toml")
    values, theirs = ours.to_dict(), linux.experiment(ours).to_dict()
    assert all(values[key] == theirs[key] for key in ("topology", "duration", "warmup", "measure"))
    main, other = values["traffic"][1], theirs["traffic"][2]
    assert {**main, "multipath": 0} == {**other, "multipath": 0}
    ends = [(path["from"], path["to"]) for path in values["traffic"][0]["paths"]]
    assert [(one["from"], one["to"]) for one in theirs["traffic"][:2]] == ends


@pytest.mark.slow
@pytest.mark.parametrize("scheduler", linux.FILES)
def test_in_the_kernel_every_subflow_that_is_chosen_carries_the_same(tmp_path: Path, scheduler: str) -> None:
    """Redundant: all three. RED: path A alone until the first coefficients, after two seconds of the connection."""
    try:
        world = linux._kernel(scheduler)
    except InputError:
        pytest.skip(f"needs a kernel with {linux.FILES[scheduler]}")
    scenario = linux.experiment(load(ROOT / "papers" / "mptcp-red" / "main.toml"))
    scenario = scenario.with_values({"duration": "12s", "warmup": "1s"})
    results = scenario.run(seeds=1, out=tmp_path, quiet=True, world=world)
    paths = main_rows(results.run_table("paths", results.runs[0]))
    at, path, given = (column(paths, name) for name in ("at_ns", "path", "given_bytes"))
    of = [given[path == number] for number in range(3)]
    assert of[0][-1] > 4e6, "the stream of 4 Mbit/s arrives"
    early = at[path == 1] < at[path == 0][of[0] > 0][0] + 1.8e9
    if scheduler == "redundant":
        assert all(one[early].max() > 100_000 and one[-1] > 0.1 * of[0][-1] for one in of[1:])
    else:
        assert of[1][early].max() < 20_000 < of[1][-1] and of[2][-1] < of[0][-1]
