"""The experiments of `haltere new`: each runs, shortened, and what its comment says is so. The gallery is theirs."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT, haltere, listing
from haltere import Scenario, templates
from haltere.analysis import measures, metrics
from haltere.runs.records import swept
from haltere.runs.results import Results

EVERY = {one.name: one for one in templates.every()}
EXPERIMENTS = [name for name, one in EVERY.items() if one.path.suffix == ".toml"]


class Told:
    """Values of the points of a sweep, by the values of its axes."""

    def __init__(self, results: Results) -> None:
        self.results = results

    def __call__(self, metric: str, *values: str) -> float:
        """The mean of a metric over the runs of the points that have all these values."""
        found = [
            metrics.named(run, metric)
            for point, runs in measures.by_point(self.results)
            if set(values) <= set(map(swept, point.labels.values()))
            for run in runs
        ]
        assert found, values
        return sum(found) / len(found)


def _bbr_vs_cubic(told: Told) -> bool:
    small, deep = "0.25bdp", "8bdp"
    return (
        told("goodput_flow.bbr", small) > 3 * told("goodput_flow.cubic", small)
        and told("goodput_flow.cubic", deep) > told("goodput_flow.bbr", deep)
    )  # fmt: skip


def _rtt_fairness(told: Told) -> bool:
    reno, htcp = (told("share.far", "91ms", one) for one in ("reno", "htcp"))
    return 2 * reno < htcp < 0.3


def _ledbat(told: Told) -> bool:
    return told("share.background", "ledbat") < 0.1 < 0.25 < told("share.background", "cubic")


def _satellite(told: Told) -> bool:
    reno, cubic, hybla, bbr = (told("goodput", "0.1%", one) for one in ("reno", "cubic", "hybla", "bbr"))
    return reno < cubic < hybla and bbr > 2 * cubic


def _thousand_flows(told: Told) -> bool:
    return told("utilisation", "1000", "0.03bdp") > 0.97 and told("utilisation", "30", "0.03bdp") < told(
        "utilisation", "1000", "0.03bdp"
    )


def _bufferbloat(told: Told) -> bool:
    large, small = ("10Mbit", "100p"), ("10Mbit", "20p")
    return (
        told("page_load_p50", *large, "reno") > 1.8 * told("page_load_p50", *small, "reno")
        and told("page_load_p50", *large, "bbr") < told("page_load_p50", *large, "reno")
        and told("page_load_p50", *small, "bbr") > 3 * told("page_load_p50", *large, "reno")
    )


def _rrul(told: Told) -> bool:
    # With fair queues a probe waits for a few packets; with CAKE that of the background class waits longest.
    slow, quick = told("ping_p50", "drop_tail"), told("ping_p50", "fq_codel")
    return slow > 3 * quick and quick < 35 and told("ping_p95", "cake") > 2 * told("ping_p95", "fq_codel")


def _rrul_be(told: Told) -> bool:
    slow, codel = told("ping_p50", "drop_tail"), told("ping_p50", "codel")
    return slow > 2 * codel and all(told("ping_p50", one) < codel for one in ("fq_codel", "cake"))


def _tcp_nup(told: Told) -> bool:
    one, many = ("1", "32")
    return (
        told("ping_p95", "drop_tail", one) > 400
        and told("ping_p95", "codel", many) > 1.3 * told("ping_p95", "codel", one)
        and told("ping_p95", "fq_codel", many) < 1.2 * told("ping_p95", "fq_codel", one)
    )


def _rtt_fair(told: Told) -> bool:
    return told("jain.TCP download", "fq_codel") > 0.95 > 0.9 > told("jain.TCP download", "codel")


def _aqm_shootout(told: Told) -> bool:
    deep = told("ping_p95", "drop_tail")
    return all(
        told("ping_p95", one) < deep / 2 and told("goodput", one) > 45
        for one in ("red", "codel", "pie", "fq_codel", "sfq")
    )


def _ecn_aqm(told: Told) -> bool:
    return told("drops", "false") > 20 > 5 > told("drops", "true") and told("marks", "true") > 20 > told(
        "marks", "false"
    )


def _l4s(told: Told) -> bool:
    return (
        told("share.scalable", "threshold") < 0.1
        and 0.25 < told("share.classic", "dualpi2") < 0.75
        and told("goodput", "dualpi2") > 40
    )  # fmt: skip


def _rafle(told: Told) -> bool:
    return told("fct_p50", "rafle") < told("fct_p50", "drop_tail")


def _faster_behind_fair_queues(told: Told) -> bool:
    return told("fct_p50", "fq_codel") < told("fct_p50", "codel") < told("fct_p50", "drop_tail")


def _video(told: Told) -> bool:
    return (
        told("video_bitrate", "drop_tail", "4") < told("video_bitrate", "fq_codel", "4")
        and told("video_bitrate", "fq_codel", "1") > 2
    )


def _cellular(told: Told) -> bool:
    return (
        told("ping_p95", "copa") < told("ping_p95", "bbr") < told("ping_p95", "cubic")
        and told("utilisation", "cubic") > 0.98
        and told("self_inflicted", "copa") < told("self_inflicted", "cubic")
    )


def _access(told: Told) -> bool:
    # The modem's quarter of a megabyte is 130 ms of 16 Mbit/s, the base station's megabyte more than a second.
    return told("mos", "dsl-16/1") < 4.35 < told("mos", "cable-250/25") and told("mos", "lte-driving") < 3.5


def _outage(told: Told) -> bool:
    return 4 <= told("goodput") < 6.5


def _cell(told: Told) -> bool:
    return told("ping_p95", "codel") < told("ping_p95", "drop_tail") / 2


def _wifi_airtime(told: Told) -> bool:
    near, far = (told(f"goodput.{one}", "airtime") / told(f"goodput.{one}", "driver") for one in ("near", "far"))
    return near > 6 and 0.3 < far < 0.5


def _rate_change(told: Told) -> bool:
    return told("ping_p95", "codel", "cubic") < told("ping_p95", "drop_tail", "cubic") / 2


def _asymmetric(told: Told) -> bool:
    return min(told("goodput.download", one) for one in ("codel", "fq_codel")) > 1.5 * told(
        "goodput.download", "drop_tail"
    )


def _multipath(told: Told) -> bool:
    return min(told("goodput", one) for one in ("lowest_rtt", "round_robin")) > 1.3 * told("goodput", "redundant") > 26


def _incast(told: Told) -> bool:
    return told("fct_p99", "32", "200ms") > 200 > 50 > told("fct_p99", "32", "1ms") and told("fct_p99", "2") < 5


def _dctcp_fabric(told: Told) -> bool:
    return told("ping_p50", "dctcp") < told("ping_p50", "cubic") / 2 and told("goodput", "dctcp") > 0.9 * told(
        "goodput", "cubic"
    )


def _precision(told: Told) -> bool:
    indices = [point["traffic"]["bulk1"]["jain"] for point in told.results.summary()]
    narrow = [one["half"] <= 0.1 * one["mean"] for one in indices]
    return any(narrow) and all(done or one["n"] == 8 for one, done in zip(indices, narrow, strict=True))


_FEW_LIMITS = {"topology.dumbbell.pairs": [30, 1000], "topology.dumbbell.bottleneck.queue.limit": ["0.03bdp"]}
#: For each example what makes it shorter, and what its comment says.
CLAIMS: dict[str, tuple[dict[str, Any], Callable[[Told], bool]]] = {
    "bbr-vs-cubic": ({"duration": "20s", "warmup": "5s"}, _bbr_vs_cubic),
    "rtt-fairness": ({"duration": "20s", "warmup": "6s"}, _rtt_fairness),
    "ledbat": ({"duration": "40s"}, _ledbat),
    "satellite": ({"duration": "60s"}, _satellite),
    "thousand-flows": ({"duration": "3s", "warmup": "1500ms", "sweep": _FEW_LIMITS}, _thousand_flows),
    "bufferbloat": ({"duration": "60s"}, _bufferbloat),
    "rrul": ({"duration": "12s"}, _rrul),
    "rrul_be": ({"duration": "12s"}, _rrul_be),
    "tcp_nup": ({"duration": "15s", "warmup": "5s"}, _tcp_nup),
    "rtt_fair": ({"duration": "30s", "warmup": "10s"}, _rtt_fair),
    "aqm-shootout": ({"duration": "12s"}, _aqm_shootout),
    "ecn-aqm": ({"duration": "15s"}, _ecn_aqm),
    "l4s": ({"duration": "15s"}, _l4s),
    "rafle": ({"duration": "15s"}, _rafle),
    "web": ({"duration": "30s", "warmup": "5s"}, _faster_behind_fair_queues),
    "video": ({}, _video),
    "short-flows": ({"duration": "20s"}, _faster_behind_fair_queues),
    "access": ({"duration": "15s"}, _access),
    "cellular": ({"duration": "22s"}, _cellular),
    "outage": ({}, _outage),
    "cell": ({"duration": "12s", "warmup": "3s"}, _cell),
    "wifi-airtime": ({"duration": "6s", "warmup": "2s"}, _wifi_airtime),
    "rate-change": ({}, _rate_change),
    "asymmetric": ({"duration": "25s"}, _asymmetric),
    "multipath": ({"duration": "15s"}, _multipath),
    "incast": ({"duration": "2s"}, _incast),
    "dctcp-fabric": ({"duration": "200ms", "warmup": "50ms"}, _dctcp_fabric),
    "precision": (
        {"duration": "8s", "warmup": "2s", "seeds": 3, "precision.max_seeds": 8, "precision.within": "10%"},
        _precision,
    ),
}
#: One seed shows it for all but these. ``None``: as many as the experiment asks for.
SEEDS = {"precision": None, "asymmetric": 3, "rafle": 2, "rtt-fairness": 3}


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_what_an_example_says_is_so(name: str, tmp_path: Path) -> None:
    changes, holds = CLAIMS[name]
    scenario = Scenario.load(EVERY[name].path).with_values(changes)
    results = scenario.run(seeds=SEEDS.get(name, 1), out=tmp_path / "out")
    told = Told(results)
    assert told("goodput") > 0
    assert holds(told)


def test_the_sweep_with_dask_and_pandas_runs(tmp_path: Path) -> None:
    script = EVERY["sweep-dask"].text.replace('"8s"', '"3s"').replace('"count": 10', '"count": 2')
    (tmp_path / "sweep.py").write_text(script.replace("    main()", "    main(seeds=1)"))
    done = subprocess.run([sys.executable, "sweep.py"], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    header, _, *rows = done.stdout.splitlines()
    assert header.split()[-5:] == ["drop_tail", "codel", "pie", "fq_codel", "sfq"] and len(rows) == 2, done.stdout


# -- the files ------------------------------------------------------------------------------------------------------------


def test_every_file_is_listed_and_says_what_it_is() -> None:
    assert {one.path.name for one in EVERY.values()} == {
        path.name for path in templates.FOLDER.iterdir() if path.is_file()
    }
    assert (ROOT / "examples").resolve() == templates.FOLDER.resolve()
    assert set(CLAIMS) == set(EXPERIMENTS)
    for one in EVERY.values():
        assert one.title and len(one.about) > 80, one.name
        assert any(words[:2] == ["haltere", "plot"] for words in one.commands), one.name
        assert max(map(len, one.text.splitlines())) <= 130, one.name


def test_the_gallery_is_that_of_the_examples() -> None:
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        import gallery
    finally:
        sys.path.pop(0)
    assert (ROOT / "docs" / "gallery.md").read_text() == gallery.page(), "run `make gallery`"
    for name in EVERY:
        assert 1000 < (gallery.FIGURES / f"{name}.png").stat().st_size < 60_000, name


# -- the command ----------------------------------------------------------------------------------------------------------


def test_new_lists_the_templates_by_subject(tmp_path: Path) -> None:
    done = haltere("new", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for one in EVERY.values():
        assert f"  {one.name} " in done.stdout and one.title in done.stdout


def test_new_writes_a_file_whose_commands_name_it(tmp_path: Path) -> None:
    done = haltere("new", "rrul", "mine.toml", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "mine.toml").read_text()
    assert "haltere run mine.toml" in text and "results/mine" in text and "rrul.toml" not in text
    assert "  haltere run mine.toml" in done.stdout
    assert Scenario.load(tmp_path / "mine.toml").to_dict() == Scenario.load(EVERY["rrul"].path).to_dict()


def test_new_overwrites_nothing_and_proposes_the_nearest(tmp_path: Path) -> None:
    (tmp_path / "rrul.toml").write_text("mine")
    before = listing(tmp_path)
    wrong = {
        ("rrul",): "rrul.toml: file must be new, got an existing one; `haltere new NAME FILE` writes another",
        ("rrul", "no/x.toml"): "no/x.toml: file must be writable, got `No such file or directory`",
        (
            "bbr-vs-cubc",
        ): "template must be one that `haltere new` lists, got `bbr-vs-cubc`; did you mean `bbr-vs-cubic`?",
    }
    for words, message in wrong.items():
        done = haltere("new", *words, cwd=tmp_path)
        assert (done.returncode, done.stderr.strip()) == (2, f"haltere: {message}")
    assert listing(tmp_path) == before and (tmp_path / "rrul.toml").read_text() == "mine"
