"""`haltere classify` and `haltere correlate` from a shell, on captures whose truth is known."""

from __future__ import annotations

import json
import math
import random
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import called
from synthetic import ACK, SIZE, SYN, copies, packet, traffic, write


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return called(*arguments, cwd=folder)


def two_flows() -> Iterator[bytes]:
    """One flow of 5 data packets and one of 100, which come in turn; the long one alone at the end."""
    yield packet(0.0, (1, 9, 1000, 80), 0, 0, flags=SYN)
    yield packet(0.0, (2, 9, 1000, 80), 0, 0, flags=SYN)
    for i in range(100):
        if i < 5:
            yield packet(0.1 * i, (1, 9, 1000, 80), 1 + 1000 * i, 1000)
        yield packet(0.1 * i + 0.01, (2, 9, 1000, 80), 1 + 1000 * i, 1000)


def test_classify_tells_the_rates_of_a_known_capture(tmp_path: Path) -> None:
    write(tmp_path / "two.pcap", two_flows())
    words = ("--classifier", "rafle,run2c,las,ideal", "--n", "1,40", "--draws", "50", "--json")
    done = run(tmp_path, "classify", "two.pcap", *words)
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "results").exists(), "--json writes nothing"
    report = json.loads(done.stdout)
    assert (report["packets"], report["flows"], report["packets_of"], report["marked"]) == (107, [1, 1], [6, 101], 0)
    one, forty, run2c, las, ideal = ((score["short"]["part"], score["long"]["part"]) for score in report["scores"])
    # N = 1: long is what follows a packet of its own flow; of the long flow the 95 after the last packet of the short one but its first.
    assert one == (1.0, pytest.approx(95 / 101))
    # N = 40: the memory holds 39 or 40 of the last 40 packets of the long flow at the end, so most of them are called long.
    assert forty[0] > 0.9 and 0.6 < forty[1] < 0.85
    assert run2c == (1.0, pytest.approx(84 / 101)), "100 data packets less the 16 that begin below 16 kB"
    assert las[0] == 1.0 and las[1] == pytest.approx(
        (101 - math.ceil((16_000 - 54) / (1000 + SIZE + 14)) - 1) / 101, abs=0.011
    )
    assert ideal == (1.0, 0.0), "nothing is marked: all is short"
    assert report["recommended"]["n"] == 1


def test_classify_writes_table_figure_and_advice(tmp_path: Path) -> None:
    write(tmp_path / "mix.pcap", traffic(20_000))
    done = run(tmp_path, "classify", "mix.pcap", "--n", "10,40", "--draws", "3")
    assert done.returncode == 0, done.stderr
    assert "Recommended memory: N = " in done.stdout and "packets/s" in done.stdout
    out = tmp_path / "results" / "classify-mix"
    made = {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()}
    assert {"report.html", "tables/hit-rates.csv", "figures/hit-rates.png", "figures/hit-rates.pdf"} <= made
    words = ("classify", "mix.pcap", "--n", "10,40", "--draws", "3", "--json")
    first, second = (json.loads(run(tmp_path, *words).stdout)["scores"] for _ in range(2))
    assert first == second


def test_copies_of_traffic_are_new_flows_of_the_same_lengths(tmp_path: Path) -> None:
    write(tmp_path / "one.pcap", traffic(2_000))
    write(tmp_path / "three.pcap", copies(traffic(2_000), 3))
    one, three = (
        json.loads(run(tmp_path, "classify", name, "--classifier", "ideal", "--json").stdout)
        for name in ("one.pcap", "three.pcap")
    )
    for what in ("flows", "packets_of"):
        assert three[what] == [3 * each for each in one[what]] and min(one[what]) > 0, what


@pytest.mark.parametrize("name", ["classify", "correlate"])
def test_a_broken_capture_is_refused_with_the_packet_s_number(tmp_path: Path, name: str) -> None:
    write(tmp_path / "whole.pcap", two_flows())
    whole = (tmp_path / "whole.pcap").read_bytes()
    (tmp_path / "cut.pcap").write_bytes(whole[: 24 + 30 * (SIZE + 16) + 20])
    (tmp_path / "text.pcap").write_text("no capture")
    for file, text in (
        (
            "cut.pcap",
            f"cut.pcap: packet 31 must be whole, got 4 of its {SIZE} bytes; the file is truncated or corrupt there",
        ),
        ("text.pcap", "text.pcap: file must be a pcap or pcapng capture"),
        ("none.pcap", "none.pcap: no such file"),
    ):
        done = run(tmp_path, name, file, "--out", "out")
        assert done.returncode == 2, done.stderr
        assert text in done.stderr.splitlines()[-1] and not done.stdout
    assert not (tmp_path / "out").exists() and not (tmp_path / "results").exists()


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--short", "0B"], "short must be above 0"),
        (["--n", "0"], "must be a whole number"),
        (["--n", "2000000"], "n must be from 1 to 1048576"),
        (["--classifier", "raffle"], "classifier must be one of"),
    ],
)
def test_wrong_options_are_refused(tmp_path: Path, arguments: list[str], text: str) -> None:
    write(tmp_path / "two.pcap", two_flows())
    done = run(tmp_path, "classify", "two.pcap", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert text in done.stderr


def delays(flows: int, seconds: float, step: float = 0.02) -> Iterator[bytes]:
    """Round trips over two queues that fill and empty each on its own; even flows over the one, odd over the other."""
    chance = random.Random(4)
    queues = [0.0, 0.0]
    out: list[tuple[float, bytes]] = []
    for tick in range(int(seconds / step)):
        at = tick * step
        queues = [min(max(q + chance.gauss(0, 0.004), 0.0), 0.08) for q in queues]
        for i in range(flows):
            there, back = (10 + i, 99, 5000, 80), (99, 10 + i, 80, 5000)
            sent = at + 0.001 * i
            out.append((sent, packet(sent, there, 1 + 1000 * tick, 1000, stamps=(round(sent * 1000), 0))))
            heard = sent + 0.02 + 0.01 * i + queues[i % 2]
            stamps = (round(heard * 1000), round(sent * 1000))
            out.append((heard, packet(heard, back, 1, 0, ack=1001 + 1000 * tick, flags=ACK, stamps=stamps)))
    out.sort(key=lambda one: one[0])
    yield from (record for _, record in out)


def test_correlate_finds_who_shares_a_queue(tmp_path: Path) -> None:
    write(tmp_path / "four.pcap", delays(4, 40.0))
    done = run(tmp_path, "correlate", "four.pcap", "--method", "red_cpi,mscm")
    assert done.returncode == 0, done.stderr
    for method in ("red_cpi", "mscm"):
        assert f"{method}: flows 1, 3 share a bottleneck; flows 2, 4 share a bottleneck." in done.stdout
    out = tmp_path / "results" / "correlate-four"
    assert (out / "figures" / "correlation.png").is_file() and (out / "figures" / "correlation.pdf").is_file()
    report = json.loads(run(tmp_path, "correlate", "four.pcap", "--json").stdout)
    assert report["methods"] == ["red_cpi", "mscm", "sbd"]
    assert report["groups"][0] == report["groups"][1] == [[0, 2], [1, 3]]
    assert {flow["source"] for flow in report["flows"]} == {"round_trip"}
    assert report["flows"][0]["name"] == "0.0.0.10:5000 > 0.0.0.99:80"


def test_correlate_needs_two_flows(tmp_path: Path) -> None:
    write(tmp_path / "one.pcap", delays(1, 10.0))
    done = run(tmp_path, "correlate", "one.pcap")
    assert done.returncode == 2 and "at least 2 TCP flows" in done.stderr
