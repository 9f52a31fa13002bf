"""The command at a terminal: what files may not do there, colours, interrupts, pipes that close, and completion."""

from __future__ import annotations

import os
import pty
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import SMALL, called, command, haltere
from haltere import terminal
from haltere.errors import near


def at_terminal(arguments: list[str], cwd: Path, **env: str) -> tuple[int, str]:
    """The exit status and what a terminal shows of both streams."""
    ours, theirs = pty.openpty()
    environment = {key: value for key, value in os.environ.items() if key != "NO_COLOR"}
    process = subprocess.Popen(
        command(*arguments), cwd=cwd, stdout=theirs, stderr=theirs, stdin=subprocess.DEVNULL,
        env={**environment, "TERM": "xterm", "COLUMNS": "100", **env},
    )  # fmt: skip
    os.close(theirs)
    shown = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        shown += part
    os.close(ours)
    return process.wait(60), shown.decode(errors="backslashreplace")


def test_escape_sequences_of_a_file_do_not_reach_the_terminal(tmp_path: Path) -> None:
    title = r"\u001b]0;owned\u0007\u009b2J"
    (tmp_path / "a.toml").write_text(SMALL.replace("Two flows over one bottleneck", title))
    status, shown = at_terminal(["run", "a.toml", "--seeds", "1"], tmp_path)
    assert status == 0, shown
    assert r"\x1b]0;owned\x07\x9b2J" in shown
    assert "\x1b]" not in shown and "\x07" not in shown and "\x9b" not in shown
    assert "\x1b[K" in shown, "the progress bar draws its line again"


def test_what_is_no_terminal_gets_the_text_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(SMALL.replace("Two flows over one bottleneck", r"\u001b[1mbold"))
    done = haltere("run", "a.toml", "--seeds", "1", cwd=tmp_path)
    assert "\x1b[1mbold" in done.stdout and r"\x1b" not in done.stdout


def test_an_error_has_a_colour_on_a_terminal_unless_nobody_wants_one(tmp_path: Path) -> None:
    assert at_terminal(["run", "none.toml"], tmp_path) == (
        2,
        "\x1b[31mhaltere:\x1b[0m none.toml: file must exist; `haltere run FILE` takes an experiment file\r\n",
    )
    for wish in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        assert "\x1b" not in at_terminal(["run", "none.toml"], tmp_path, **wish)[1]
    assert "\x1b" not in haltere("run", "none.toml", cwd=tmp_path).stderr


def test_a_colour_of_a_file_is_shown_and_not_used() -> None:
    class Screen:
        text = ""

        def write(self, text: str) -> None:
            self.text += text

    screen = Screen()
    terminal._Shown(screen).write("\x1b[31mred\x1b[0m\n")
    assert screen.text == "\\x1b[31mred\\x1b[0m\n"


#: `haltere` with a signal to itself as soon as the first module that takes its time is loaded.
EARLY = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "haltere.cli":
            os.kill(os.getpid(), signal.{signal})
sys.meta_path.insert(0, Finder())
sys.argv = ["haltere", "list"]
from haltere.__main__ import main
sys.exit(main())
"""


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_an_interrupt_while_modules_are_loaded_ends_with_130_and_one_line(name: str, tmp_path: Path) -> None:
    script = EARLY.format(signal=name)
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == "haltere: interrupted; nothing was begun\n"


def test_nothing_of_the_package_is_loaded_before_interrupts_are_heard() -> None:
    script = "import sys, haltere.__main__; print([name for name in sys.modules if name.startswith('haltere')])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert done.stdout == "['haltere', 'haltere.__main__']\n"


def test_a_reader_that_goes_away_ends_the_command_with_141_and_not_a_word(tmp_path: Path) -> None:
    script = f"set -o pipefail; {sys.executable} -m haltere schema | head -1; echo ${{PIPESTATUS[0]}}"
    for _ in range(3):  # the pipe may close in mid-write or between two
        done = subprocess.run(["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=60)
        assert (done.stdout, done.stderr) == ("{\n141\n", "")


def test_a_slip_of_two_letters_finds_the_likely_name(tmp_path: Path) -> None:
    assert near("congestoin", ["counting", "congestion", "conga"]) == ["congestion"]
    assert near("fq-codl", ["codel", "fq_codel"]) == ["fq_codel"]
    for arguments, name in (
        (("explain", "congestoin"), "congestion"),
        (("plto",), "plot"),
        (("new", "contro_l"), "control"),
        (("run", "a.toml", "--world", "kernle"), "kernel"),
        (("list", "quues"), "queues"),
    ):
        assert f"did you mean `{name}`?" in called(*arguments, cwd=tmp_path).stderr, arguments


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["repo"], {"report"}),
        (["run", "--wor"], {"--world"}),
        (["run", "--world", "k"], {"kernel"}),
        (["run", "a.toml", "--world", ""], {"sim", "wire", "kernel"}),
        (["kernel", "mat"], {"matrix"}),
        (["kernel", "build", "--jo"], {"--jobs"}),
        (["plot", "results", "--style", ""], {"paper", "slides"}),
    ],
)
def test_bash_completes_commands_options_and_their_values(words: list[str], wanted: set[str], tmp_path: Path) -> None:
    script = called("completion", "bash", cwd=tmp_path).stdout
    typed = " ".join(f"'{word}'" for word in ["haltere", *words])
    ask = f'{script}\nCOMP_WORDS=({typed}); COMP_CWORD={len(words)}; _haltere; printf "%s\\n" "${{COMPREPLY[@]}}"'
    done = subprocess.run(["bash", "-c", ask], capture_output=True, text=True, timeout=60)
    assert set(done.stdout.split()) == wanted, done.stderr


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_take_their_script(shell: str, tmp_path: Path) -> None:
    script = called("completion", shell, cwd=tmp_path).stdout
    assert "build" in script and "world" in script
    if shutil.which(shell):
        done = subprocess.run([shell, "-n", "-c", script], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr


def test_a_second_router_on_an_interface_is_refused() -> None:
    from haltere.commands import router
    from haltere.errors import InputError

    marks = router._taken("lo")
    with pytest.raises(InputError, match="`lo` must be without a router, got one that `haltere router` is at"):
        router._taken("lo")
    for one in marks:
        one.close()
    for one in router._taken("lo", "no-such-interface"):
        one.close()


def test_signal_numbers_are_those_of_other_tools() -> None:
    assert 128 + signal.SIGPIPE == 141 and 128 + signal.SIGINT == 130
