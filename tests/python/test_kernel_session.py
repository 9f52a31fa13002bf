"""A person's programs in the kernel world: `haltere shell`, `exec` and `link` with `--world kernel`."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import subprocess
import termios
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from conftest import command
from test_kernel import guests, kernel, nobody_left  # noqa: F401

pytestmark = pytest.mark.usefixtures("kernel")

NET = """
duration = "1s"
[topology.dumbbell]
pairs = 1
access = { rate = "1Gbit", delay = "0s" }
bottleneck = { rate = "10Mbit", delay = "20ms" }
[[traffic]]
kind = "bulk"
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "experiment.toml"
    path.write_text(NET)
    return path


def run(*words: str | Path, typed: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(*map(str, words)), input=typed, capture_output=True, text=True, timeout=300)


def in_host(file: Path, script: str, *options: str, typed: str = "") -> subprocess.CompletedProcess[str]:
    return run("exec", file, "c1", "--world", "kernel", *options, "--", "/bin/sh", "-c", script, typed=typed)


def test_exec_gives_the_programs_output_and_status_and_the_same_bytes_again(file: Path) -> None:
    script = "date +%s.%N; head -c 8 /dev/urandom | od; getent hosts s1; exit 7"
    one, two = in_host(file, script), in_host(file, script)
    assert (one.returncode, one.stderr) == (7, "")
    assert re.search(r"^17\d{8}\.\d{9}$", one.stdout, re.M) and "10.72.0." in one.stdout
    assert two.stdout == one.stdout


def test_a_program_that_a_signal_ended_has_the_status_that_a_shell_gives_it(file: Path) -> None:
    assert in_host(file, "kill -9 $$").returncode == 128 + signal.SIGKILL


@pytest.mark.skipif(not Path("/usr/bin/python3").exists(), reason="needs /usr/bin/python3")
def test_servers_run_beside_the_command_and_the_network_is_the_experiments(tmp_path: Path, file: Path) -> None:
    server = tmp_path / "server.py"
    server.write_text("import socket; s = socket.create_server(('', 7)); s.accept()[0].sendall(bytes(1_000_000))")
    script = tmp_path / "client.py"
    script.write_text("""import socket, time
s, got, begun = socket.create_connection(("s1", 7)), 0, time.monotonic()
while piece := s.recv(65536): got += len(piece)
print(got, 8e-6 * got / (time.monotonic() - begun))
""")
    options = ("--world", "kernel", "--server", f"s1: /usr/bin/python3 {server}")
    done = run("exec", file, "c1", *options, "--", "/usr/bin/python3", script)
    assert done.returncode == 0, done.stderr
    got, mbps = map(float, done.stdout.split())
    assert got == 1_000_000 and 7.5 < mbps < 9.6


def delays(text: str) -> list[float]:
    """Round-trip times in ms, as `ping` prints them."""
    return [float(found) for found in re.findall(r"icmp_seq=\d+ .*time=([\d.]+) ms", text)]


@pytest.mark.skipif(not Path("/bin/ping").exists(), reason="needs ping")
def test_the_network_is_shown_and_changed_between_two_lines_of_a_shell(file: Path) -> None:
    lines = [
        "ping -c 2 s1",
        "haltere network topology.dumbbell.bottleneck.delay=50ms",
        "ping -c 2 s1",
        "haltere network topology.dumbbell.bottleneck.queue=fq_codel topology.dumbbell.bottleneck.rate=100kbit",
        "ping -c 1 -s 1000 s1",
        "haltere network topology.dumbbell.bottleneck.rate=slow",
        "haltere network",
        "exit 3",
    ]
    done = run("shell", file, "--world", "kernel", typed="\n".join(lines))
    assert done.returncode == 3
    first, again, later, still, slow = delays(done.stdout)
    assert first == pytest.approx(again, abs=0.1) and 40 < first < 41
    assert later == pytest.approx(still, abs=0.1) and 100 <= later < 101
    assert 100 + 2 * 80 < slow < 100 + 2 * 90  # of 1042 bytes, twice
    assert "rate must be a rate in bit/s such as `10Mbit`, got `slow`" in done.stderr
    # Packets that the bottleneck has sent: one each second of the first two pings.
    sent = re.findall(r"^left>right +[\d.]+ +\d+ +(\d+)", done.stdout, re.M)
    assert sent == ["2", "4", "5"]


@pytest.mark.skipif(not Path("/bin/ping").exists(), reason="needs ping")
def test_a_change_that_is_refused_is_forgotten(file: Path) -> None:
    place = "topology.dumbbell.bottleneck"
    lines = [
        f'haltere network {place}.queue={{kind="kernel",tc="codel"}}',
        "haltere network topology.dumbbell.pairs=2",
        f"haltere network {place}.delay=50ms",
        "ping -c 1 s1",
    ]
    done = run("shell", file, "--world", "kernel", typed="\n".join(lines))
    assert done.stderr == (
        "haltere: left>right: queue must stay if it is one of Linux's own\n"
        "haltere: the nodes and links must stay, only their parameters may change\n"
    )
    (delay,) = delays(done.stdout)
    assert 100 <= delay < 101


class Person:
    """At a terminal, which is not a pipe."""

    def __init__(self, *words: str | Path) -> None:
        ours, theirs = pty.openpty()
        # At Ctrl-C a terminal discards what nobody has read yet, also the answer to it if that is quick.
        settings = termios.tcgetattr(theirs)
        settings[3] |= termios.NOFLSH
        termios.tcsetattr(theirs, termios.TCSANOW, settings)
        self.line = ours
        self.program = subprocess.Popen(
            command(*map(str, words)), stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
            preexec_fn=lambda: os.close(os.open(os.ttyname(0), os.O_RDWR)),  # its terminal from then on
        )  # fmt: skip
        os.close(theirs)
        self.seen = ""

    def types(self, text: str) -> None:
        os.write(self.line, text.encode())

    def read(self) -> None:
        try:
            self.seen += os.read(self.line, 65536).decode()
        except OSError:  # nobody has its other end
            raise AssertionError(f"the program has ended after {self.seen!r}") from None

    def sees(self, pattern: str) -> re.Match[str]:
        """Reads until the new output has the pattern, and forgets what is up to there."""
        while (found := re.search(pattern, self.seen)) is None:
            self.read()
        self.seen = self.seen[found.end() :]
        return found

    def interrupts(self, pattern: str) -> None:
        """Presses Ctrl-C until the pattern is there: Python misses a signal that comes while a line is being edited."""
        patience = 0.0
        while not re.search(pattern, self.seen):
            if patience <= time.monotonic():
                self.types("\x03")
                patience = time.monotonic() + 1
            if select.select([self.line], [], [], 0.1)[0]:
                self.read()
        self.sees(pattern)

    def ends(self) -> int:
        return self.program.wait(300)


@pytest.fixture
def person(file: Path) -> Iterator[Person]:
    one = Person("shell", file, "c1", "--world", "kernel")
    yield one
    one.program.kill()
    one.program.wait()
    os.close(one.line)


PROMPT = r"\[(\d+\.\d{3}) s\] c1\$ "


def test_time_stands_still_at_the_prompt_and_goes_on_with_a_program(person: Person) -> None:
    person.sees(PROMPT)
    person.types("echo $((6 * 7))\n")
    person.sees("42\r\n")
    begun = float(person.sees(PROMPT)[1])
    person.types("sleep 1000\n")
    assert 1000 <= float(person.sees(PROMPT)[1]) - begun < 1001
    person.types("\x04")
    assert person.ends() == 0


def test_ctrl_c_interrupts_the_program_and_leaves_the_shell(person: Person) -> None:
    person.sees(PROMPT)
    person.types("echo be''gun; sleep 1000000000; echo st''ill\n")
    person.sees("begun\r\n")
    person.types("\x03")
    person.sees(PROMPT)
    person.types("half a line")
    person.sees("half a line")
    person.interrupts(PROMPT)
    person.types("exit 5\n")
    assert person.ends() == 5


def test_a_second_ctrl_c_ends_a_program_whose_loop_stops_the_clock(person: Person) -> None:
    person.sees(PROMPT)
    person.types("echo be''gun; while :; do :; done\n")
    person.sees("begun\r\n")
    person.interrupts("interrupted twice; the network has ended")
    assert person.ends() == 130


@pytest.mark.parametrize(
    ("options", "words", "rule"),
    [
        ((), ("true",), "host: must be one of `c1`, `s1`, got `nobody`"),
        (("--kernel", "5.4"), ("true",), "kernel must be one that is built"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(file: Path, options: Sequence[str], words: Sequence[str], rule: str) -> None:
    done = run("exec", file, "nobody", "--world", "kernel", *options, "--", *words)
    assert done.returncode == 2 and rule in done.stderr and done.stderr.count("\n") == 1


def test_a_program_or_a_server_that_cannot_run_is_said(file: Path) -> None:
    missing = run("exec", file, "c1", "--world", "kernel", "--", "no-such-program")
    assert missing.returncode == 2 and "`no-such-program` must be a program of this machine" in missing.stderr
    ended = in_host(file, "true", "--server", "s1: sh -c 'echo broken >&2; exit 4'")
    assert ended.returncode == 1 and "server `sh` in s1: ended with status 4: broken" in ended.stderr


def test_link_has_both_of_its_ends_in_the_guest() -> None:
    options = ("--rate", "10Mbit", "--delay", "25ms", "--world", "kernel")
    done = run("link", *options, "--", "/bin/sh", "-c", "getent hosts inside outside; cat /proc/net/dev")
    assert done.returncode == 0 and re.search(r"10\.72\.0\.1 +inside", done.stdout), done.stderr
