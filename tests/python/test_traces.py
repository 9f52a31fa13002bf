"""Traces of links: formats, what one says, public ones from a server, and drawn ones."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest

from conftest import called
from haltere import _core
from haltere.errors import InputError
from haltere.traces import files, public
from haltere.traces.trace import Trace

# 12 Mbit/s for a second, nothing for half a second, 6 Mbit/s for half a second: in Mahimahi's format one time in ms for 1500 bytes.
STEPS = Trace(np.array([0.0, 1.0, 1.5]), 2.0, {"rate": np.array([12e6, 0.0, 6e6])})
TIMES = [*range(1, 1001), *range(1502, 2001, 2)]


def test_a_rate_becomes_opportunities_and_these_the_rate_again(tmp_path: Path) -> None:
    text = files.WRITERS["mahimahi"](STEPS)
    assert [int(line) for line in text.split()] == TIMES
    (tmp_path / "x.down").write_text(text)
    read = files.read(str(tmp_path / "x.down"))
    assert np.abs(read.rates()[1] - STEPS.rates()[1]).max() <= 120e3 + 1  # a packet in 100 ms
    assert np.allclose(read.outages(), [[1.0, 1.502]]) and np.array_equal(STEPS.outages(), [[1.0, 1.5]])


@pytest.mark.parametrize("kind", ["csv", "theaterq"])
def test_formats_of_rows_keep_what_a_trace_says(kind: str, tmp_path: Path) -> None:
    full = {
        "rate": STEPS.rate,
        "delay": np.array([0.02, 0.02, 0.06]),
        "loss": np.array([0.0, 1.0, 0.5]),
        "limit": np.array([9.0, 9.0, 5.0]),
    }
    (tmp_path / "x").write_text(files.WRITERS[kind](Trace(STEPS.at_s, 2.0, full)))
    read = files.read(str(tmp_path / "x"), kind)
    assert (read.end_s, read.at_s.tolist()) == (2.0, [0.0, 1.0, 1.5])
    assert all(np.allclose(read.columns[name], full[name], atol=1e-9) for name in full)
    # The laboratory reads the same file.
    trace = {"kind": kind, "file": str(tmp_path / "x"), "cont": "loop"}
    network = {"chain": {"links": [{"trace": trace}]}}
    scenario = _core.Scenario.from_json(
        f'{{"duration": "4s", "topology": {str(network).replace(chr(39), chr(34))}, "traffic": [{{"kind": "bulk", "from": "n1", "to": "n2"}}]}}',
        "x",
    )
    assert np.allclose(scenario.capacity("n1>n2", [0, 1, 1.5, 2, 3], 1), [12e6, 0, 3e6, 12e6])


def test_a_csv_may_have_units_and_a_median_is_over_time(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text(
        "time,rate,delay,loss\n0,10Mbit,20ms,0\n2500ms,0,30ms,5%\n3s,5Mbit,40ms,0\n3500ms,5Mbit,40ms,0\n"
    )
    read = files.read(str(tmp_path / "x.csv"))
    assert (read.at_s.tolist(), read.end_s, read.rate.tolist()) == ([0.0, 2.5, 3.0], 3.5, [10e6, 0.0, 5e6])
    assert read.columns["delay"].tolist() == [0.02, 0.03, 0.04] and read.columns["loss"].tolist() == [0.0, 0.05, 0.0]
    assert ("delay: least, median, greatest", "20, 20, 40 ms") in read.summary()


def test_a_log_of_leoem_has_delays_and_hand_overs(tmp_path: Path) -> None:
    rows = [
        "1$[-1, 5, 6, -2]$4$[0.001, 0.010, 0.002]$0.013",
        "2$[-1, 7, 6, -2]$4$[0.003, 0.010, 0.002]$0.015",
        "3$",
        "4$[-1, 7, 6, -2]$4$[0.003, 0.010, 0.002]$0.015",
    ]
    (tmp_path / "x.log").write_text("\n".join(rows) + "\n")
    read = files.read(str(tmp_path / "x.log"))
    # In second 2 the first satellite is another: three times 1 and 3 ms without the link. In second 3 there is no path.
    assert np.allclose(read.at_s, [0, 1, 1.012, 2, 3]) and read.end_s == 4
    assert read.rate.tolist() == [150e6, 0, 150e6, 0, 150e6]
    assert np.allclose(read.columns["delay"], [0.013, 0.015, 0.015, 0.015, 0.015])


def test_cellreplays_file_of_base_delays_is_read(tmp_path: Path) -> None:
    (tmp_path / "light").write_text("100 12 0 1 1 2\n600 30 0 4 9\n")
    read = files.read(str(tmp_path / "light"))
    assert (read.at_s.tolist(), read.end_s, read.columns["delay"].tolist()) == (
        [0.0, 0.5],
        pytest.approx(1.0),
        [0.012, 0.030],
    )
    with pytest.raises(InputError, match="rate must be in the trace, got none"):
        files.WRITERS["mahimahi"](read)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "at least one line"), ("3\n2\n", "times in ms in order"), ("3\nx9\n1 z\n", "must be a time in ms"), ("time,speed\n0,1\n", "columns `time`"),
        ("1,2,3,4,5,6\n", "KEEP,LATENCY"), ("1$[a]$1$[0.1]$0.1\n", "a path of LeoEM"), ("0 1 2\n", "at least two lines"),
    ],
)  # fmt: skip
def test_what_is_no_trace_is_refused(text: str, error: str, tmp_path: Path) -> None:
    (tmp_path / "x").write_text(text)
    with pytest.raises(InputError, match=error):
        files.read(str(tmp_path / "x"))


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """A server of the files in the folder `there`."""
    (tmp_path / "there").mkdir()

    class Quiet(SimpleHTTPRequestHandler):
        def __init__(self, *args: object) -> None:
            super().__init__(*args, directory=str(tmp_path / "there"))  # type: ignore[arg-type]

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Quiet) as httpd:
        threading.Thread(target=httpd.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{httpd.server_port}"
        httpd.shutdown()


def test_a_public_trace_is_fetched_and_checked(server: str, tmp_path: Path) -> None:
    text = "\n".join(map(str, TIMES)) + "\n"
    (tmp_path / "there" / "x.down").write_text(text)
    one = {
        "path": "x.down",
        "url": server + "/",
        "licence": "CC0-1.0",
        "format": "mahimahi",
        "about": "a test",
        "bytes": len(text),
    }
    with patch.object(
        public,
        "sources",
        lambda: {
            "x": one,
            "gone": {**one, "path": "gone"},
            "short": {**one, "bytes": 5},
            "other": {**one, "sha256": "00"},
        },
    ):
        done = called("trace", "fetch", "x", "--out", str(tmp_path / "x.down"), cwd=tmp_path)
        assert done.returncode == 0 and "CC0-1.0; SHA-256" in done.stdout and (tmp_path / "x.down").read_text() == text
        for name, error in (
            ("gone", "address must answer"),
            ("short", "file must have 5 bytes, got more"),
            ("other", "SHA-256 00, got"),
            ("y", "trace must be one of"),
            ("x", "file must be new"),
        ):
            done = called("trace", "fetch", name, "--out", str(tmp_path / "x.down"), "--mirror", server, cwd=tmp_path)
            assert done.returncode == 2 and error in done.stderr, done.stderr
    done = called("trace", "show", str(tmp_path / "x.down"), "--out", str(tmp_path / "x.png"), cwd=tmp_path)
    assert "mean rate" in done.stdout and "7.5 Mbit/s" in done.stdout and (tmp_path / "x.png").stat().st_size > 10_000


def test_every_public_trace_says_where_it_is_and_under_which_licence(tmp_path: Path) -> None:
    for name, one in public.sources().items():
        assert one["url"].startswith("https://") and one["licence"] in ("GPL-3.0-or-later", "MIT"), name
        assert one["format"] in files.READERS and one.get("bytes", 1) > 0
    listed = called("trace", "list", cwd=tmp_path).stdout
    assert "verizon-lte-down" in listed and "lte-driving" in listed


def test_a_drawn_trace_is_that_of_the_run(tmp_path: Path) -> None:
    drawn = public.drawn("lte-driving", 3, 60.0)
    assert drawn.instants_s is not None
    assert 1e6 < drawn.rates()[1].mean() < 11e6 and np.array_equal(
        drawn.instants_s, public.drawn("lte-driving", 3, 60.0).instants_s
    )
    done = called("trace", "convert", "lte-driving", "--seed", "3", "--out", str(tmp_path / "lte.trace"), cwd=tmp_path)
    assert done.returncode == 0 and np.allclose(files.read(str(tmp_path / "lte.trace")).instants_s, drawn.instants_s)
    # The laboratory reads the CSV of its mean rates too.
    done = called("trace", "convert", "lte-driving", "--seed", "3", "--out", str(tmp_path / "lte.csv"), cwd=tmp_path)
    assert done.returncode == 0
    values = f'{{"duration": "60s", "topology": {{"dumbbell": {{"pairs": 1, "access": {{}}, "bottleneck": {{"trace": "{tmp_path}/lte.csv"}}}}}}, "traffic": [{{"kind": "bulk"}}]}}'
    bits = _core.Scenario.from_json(values, "x").capacity("left>right", [0, 30, 59.998], 1)
    assert bits is not None and sum(bits) == pytest.approx(len(drawn.instants_s) * 12e3, rel=1e-3)
    assert "did you mean" in called("explain", "lte-drivin", cwd=tmp_path).stderr


def test_a_drawn_trace_of_satellites_has_the_delay_and_the_loss_of_hand_overs(tmp_path: Path) -> None:
    drawn = public.drawn("starlink", 1, 30.0)
    assert len(drawn.outages()) == 0  # 30 to 50 ms are too short to count
    # Hand-overs at 12 and 27 s: nothing leaves, then another rate, and 140 ms later no more loss.
    assert drawn.at_s[[0, 1, 3, 4, 6]].tolist() == pytest.approx([0, 12, 12.14, 27, 27.14]) and len(drawn.at_s) == 7
    assert drawn.rate[[1, 4]].tolist() == [0, 0] and np.flatnonzero(drawn.columns["loss"]).tolist() == [1, 2, 4, 5]
    delays = drawn.columns["delay"]
    assert len(set(delays)) == 3 and delays.min() >= 0.02 and delays.max() <= 0.03
    # The laboratory runs the file that is written of it as it runs the name.
    done = called("trace", "convert", "starlink", "--length", "30", "--out", str(tmp_path / "x.csv"), cwd=tmp_path)
    assert done.returncode == 0, done.stderr

    def capacity(link: str) -> list[float] | None:
        text = f'{{"duration": "30s", "topology": {{"dumbbell": {{"pairs": 1, "access": {{}}, "bottleneck": {link}}}}}, "traffic": [{{"kind": "bulk"}}]}}'
        return _core.Scenario.from_json(text, "x").capacity("left>right", [0, 12, 12.01, 12.05, 20, 27.02, 30], 1)

    file = f'{{"trace": {{"kind": "csv", "file": "{tmp_path}/x.csv"}}}}'
    assert capacity('{"path": "starlink"}') == pytest.approx(capacity(file))
