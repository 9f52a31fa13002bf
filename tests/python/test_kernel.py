"""The kernel world. Its runs need a kernel, which takes minutes to build: they skip without ``HALTERE_TEST_KERNEL``.

``HALTERE_TEST_KERNEL=6.1`` builds that kernel, or what of it has changed, and runs them.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from conftest import ROOT, UPLOADS, command, haltere
from haltere import InputError, _core
from haltere.api import Scenario
from haltere.worlds import world
from haltere.worlds.kernel import build as building
from haltere.worlds.kernel import guests as kernels

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="a guest kernel needs Linux")

EXPERIMENT = """\
title = "Four controls, a ping and datagrams"
duration = "3s"
warmup = "1s"
seeds = 2

[topology.dumbbell]
pairs = 4
access = { rate = "100Mbit", delay = "1ms" }
bottleneck = { rate = "10Mbit", delay = "8ms", queue = { kind = "fq_codel" } }

[[traffic]]
kind = "bulk"
pairs = "all"
congestion = ["cubic", "reno", "bbr", "vegas"]

[[traffic]]
name = "ping"
kind = "ping"
pairs = [1]
interval = "50ms"

[[traffic]]
kind = "cbr"
pairs = [2]
rate = "500kbit"
"""


@pytest.fixture(scope="module")
def kernel() -> kernels.GuestKernel:
    """The kernel of ``HALTERE_TEST_KERNEL``, built now: one that was built before may have the guest program of another build."""
    wanted = os.environ.get("HALTERE_TEST_KERNEL", "")
    if not wanted:
        pytest.skip(f"needs a guest kernel ({kernels.COST}): HALTERE_TEST_KERNEL=6.1")
    return building.build(wanted)


@pytest.fixture(scope="module")
def prebuilt() -> Path:
    """Debian's package ``user-mode-linux``. It has no virtual time, but what starts and confines a guest is the same."""
    found = shutil.which("linux.uml")
    if found is None:
        pytest.skip("needs Debian's package user-mode-linux")
    if "amx_tile" in Path("/proc/cpuinfo").read_text():
        pytest.skip("User-Mode Linux 6.1 as it is has no room for the registers of this processor")
    return Path(found)


@pytest.fixture(params=["kernel", "prebuilt"])
def vmlinux(request: pytest.FixtureRequest) -> Path:
    """A kernel of ours, and one that nobody has to build."""
    found = request.getfixturevalue(request.param)
    return Path(getattr(found, "vmlinux", found))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "net.toml"
    path.write_text(EXPERIMENT)
    return path


def guests() -> list[str]:
    """The processes of this test's guests that run. Others on this machine have their folders elsewhere."""
    found = []
    for name in Path("/proc").iterdir():
        if name.name.isdigit():
            try:
                found.append((name / "cwd").readlink())
            except OSError:
                continue
    here = Path(os.environ["TMPDIR"]).resolve()
    return [one.name for one in found if one.parent == here and one.name.startswith("haltere-guest-")]


@pytest.fixture
def nobody_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "guests").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "guests"))
    yield
    deadline = time.monotonic() + 5
    while guests() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not guests(), "a guest outlived its command"


def test_without_a_kernel_a_run_says_how_to_get_one(
    file: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "empty"))
    done = haltere("run", file.name, "--world", "kernel", cwd=file.parent)
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert "run `haltere kernel build` (once, about 5 minutes" in done.stderr
    assert not (file.parent / "results").exists()
    listed = haltere("kernel", "list", cwd=file.parent)
    assert listed.returncode == 0 and listed.stdout.startswith("none; ")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["7.0"], "version must be one of 6.1, 6.12, 7.2, got `7.0`"),
        (["--patch", "none.patch"], "--patch must be a file, got `none.patch`"),
        (["--source", "."], "--source must be a tree of Linux"),
        (["--add", "foo.c"], "--add must be a file named tcp_NAME.c"),
    ],
)
def test_what_cannot_be_built_is_refused(arguments: list[str], told: str, tmp_path: Path) -> None:
    done = haltere("kernel", "build", *arguments, cwd=tmp_path)
    assert done.returncode == 2 and told in done.stderr, done.stderr


def test_missing_programs_are_named_with_their_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        building.shutil, "which", lambda name: None if name in ("flex", "bison") else f"/usr/bin/{name}"
    )
    with pytest.raises(InputError, match="missing: flex, bison; on Debian: apt-get install bison flex"):
        building.build()


def test_a_kernel_is_found_by_release_or_hash(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for hash, release, when in (("aa" * 8, "6.1.192-haltere", "1"), ("bb" * 8, "6.12.117-haltere", "2")):
        folder = kernels.cache() / hash
        folder.mkdir(parents=True)
        (folder / "kernel.json").write_text(json.dumps({"release": release, "hash": hash, "built": when}))
    found = [kernels.find(which).release for which in ("", "6.", "6.12", "6.1", "6.1.", "6.1.192", "aa")]
    assert found == 3 * ["6.12.117-haltere"] + 4 * ["6.1.192-haltere"]
    with pytest.raises(
        InputError,
        match=r"kernel must be one that is built \(6.12.117-haltere \(b+\), .*got `5.10`; run `haltere kernel build 5.10`",
    ):
        kernels.find("5.10")


@pytest.mark.usefixtures("kernel", "nobody_left")
def test_two_guests_at_once_and_one_alone_give_the_same_bytes(file: Path, tmp_path: Path) -> None:
    core = Scenario.load(file)._core

    def run(name: str, seed: int) -> tuple[str, bytes]:
        digest = world("kernel", pcap=str(tmp_path / name)).run(core, seed, _core.Progress()).digest()
        (packets,) = (tmp_path / name).glob(f"*-seed{seed}.pcap")
        return digest, packets.read_bytes()

    alone = run("alone", 1)
    # Three guests at once on any machine: the clock of none sees the others.
    with ThreadPoolExecutor(3) as pool:
        one, other, again = pool.map(run, ("one", "other", "again"), (1, 2, 1))
    assert alone == one == again
    # Magic number of pcap with nanoseconds; some 3,000 packets, each as it leaves a host and as it reaches one.
    assert alone[1][:4] == bytes.fromhex("4d3cb2a1") and len(alone[1]) > 5000 * (16 + 66)
    assert other[0] != alone[0] and other[1] != alone[1]


@pytest.mark.usefixtures("nobody_left")
def test_a_run_fills_the_same_tables_and_is_never_late(file: Path, kernel: kernels.GuestKernel) -> None:
    done = haltere("run", file.name, "--world", "kernel", "--jobs", "2", cwd=file.parent)
    assert done.returncode == 0, done.stderr
    folder = file.parent / "results" / "net-kernel"
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["world"] == "kernel" and manifest["complete"]
    for run in manifest["runs"]:
        told = run["kernel"]
        assert (told["hash"], told["fabric"], told["router"]["unaccounted"]) == (kernel.hash, "kernel", 0)
        assert told["release"] == kernel.release and told["late_us"]["max"] < 5
    # What is there is not run again.
    again = haltere("run", file.name, "--world", "kernel", cwd=file.parent)
    assert again.returncode == 0 and json.loads((folder / "manifest.json").read_text())["runs"] == manifest["runs"]
    hashes = haltere("hash", folder, cwd=file.parent).stdout
    assert all(run["digest"] in hashes for run in manifest["runs"])


@pytest.mark.usefixtures("kernel")
def test_both_routers_carry_what_the_link_can(file: Path) -> None:
    """The same plan, the links in the kernel and in user space: the same sums, though not the same packets."""
    core = Scenario.load(file)._core
    sums = {}
    for router in ("kernel", "user"):
        import pyarrow

        run = world("kernel", router=router).run(core, 3, _core.Progress())
        links = pyarrow.table(run.tables()["links"]).to_pylist()
        (bottleneck,) = [one for one in links if one["link"] == "left>right"]
        sums[router] = bottleneck["sent_bytes_after_warmup"] * 8e-6 / 2
    assert sums["kernel"] == pytest.approx(10, abs=0.05) and sums["user"] == pytest.approx(10, abs=0.05)


@pytest.mark.usefixtures("kernel")
def test_what_linux_lacks_is_refused_with_the_line_in_the_file(file: Path) -> None:
    done = haltere("run", file.name, "--world", "kernel", "--set", "traffic.0.congestion=bbr3", cwd=file.parent)
    assert done.returncode == 2 and "congestion must be one that this kernel has" in done.stderr, done.stderr
    assert not (file.parent / "results").exists()


@pytest.mark.usefixtures("kernel", "nobody_left")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_nothing_outlives_the_command(file: Path, how: signal.Signals) -> None:
    arguments = command("run", file.name, "--world", "kernel", "--set", "duration=600s", "--seeds", "1")
    running = subprocess.Popen(arguments, cwd=file.parent, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not guests() and time.monotonic() < deadline:
        time.sleep(0.1)
    time.sleep(1)
    assert guests(), "it has started"
    running.send_signal(how)
    running.communicate(timeout=60)
    assert running.returncode in (130, -how)


@pytest.mark.usefixtures("nobody_left")
def test_a_kernel_that_stops_is_told_from_its_console(file: Path, vmlinux: Path, tmp_path: Path) -> None:
    program = tmp_path / "no-init"
    program.write_text("not a program")
    program.chmod(0o755)
    with pytest.raises(_core.HaltereError, match=r"the guest kernel stopped: .*Kernel panic"):
        _core.kernel_run(Scenario.load(file)._core, 1, str(vmlinux), str(program))


SPINS = "int main(void) { for (;;) {} }"
EATS = """
#include <stdlib.h>
#include <string.h>
int main(void) { for (;;) memset(malloc(1 << 20), 1, 1 << 20); }
"""


@pytest.mark.usefixtures("nobody_left")
@pytest.mark.parametrize(
    ("program", "patience", "told"),
    [
        (
            SPINS,
            3,
            r"the guest kernel used \d+ s of processor time while its clock stood still at 0.000 s; a program in it waits",
        ),
        (EATS, 100, r"the guest kernel ran out of its 768M of memory: .*"),
    ],
)
def test_a_guest_that_hangs_or_eats_its_memory_is_ended_and_told(
    program: str,
    patience: int,
    told: str,
    file: Path,
    vmlinux: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "init.c").write_text(program)
    made = subprocess.run(["gcc", "-static", "-O1", "-o", "init", "init.c"], cwd=tmp_path, capture_output=True)
    if made.returncode:
        pytest.skip("needs gcc and a static libc")
    monkeypatch.setenv("HALTERE_KERNEL_PATIENCE", str(patience))
    with pytest.raises(_core.HaltereError, match=told):
        _core.kernel_run(Scenario.load(file)._core, 1, str(vmlinux), str(tmp_path / "init"))


@pytest.mark.usefixtures("nobody_left")
def test_a_program_that_spins_in_the_middle_of_a_run_is_ended_with_it(
    kernel: kernels.GuestKernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server of the uploads is a process of its own, and from Linux 6.12 on a session of its own."""
    (tmp_path / "up.toml").write_text(UPLOADS)
    monkeypatch.setenv("HALTERE_KERNEL_PATIENCE", "3")
    server = ["/bin/sh", "-c", "echo ready; sleep 1; while :; do :; done"]
    with pytest.raises(
        _core.HaltereError, match=r"while its clock stood still at [01]\.\d{3} s; a program in it waits"
    ):
        core, options = (
            Scenario.load(tmp_path / "up.toml")._core,
            json.dumps({"ftp_server": server, "host_files": ["/bin", "/usr"]}),
        )
        _core.kernel_run(core, 1, str(kernel.vmlinux), str(kernel.guest), options)


@pytest.mark.usefixtures("kernel")
def test_buffers_of_several_segments_pass_both_routers(file: Path) -> None:
    import pyarrow

    core = Scenario.load(file)._core
    for router in ("kernel", "user"):
        run = world("kernel", router=router, gso=True).run(core, 1, _core.Progress())
        links = pyarrow.table(run.tables()["links"]).to_pylist()
        (bottleneck,) = [one for one in links if one["link"] == "left>right"]
        assert bottleneck["sent_bytes_after_warmup"] * 8e-6 / 2 == pytest.approx(10, abs=0.2), router
        assert bottleneck["sent_bytes"] / bottleneck["sent"] > 1700, router


@pytest.mark.usefixtures("nobody_left")
def test_a_run_survives_memory_that_the_kernel_refuses(file: Path, kernel: kernels.GuestKernel) -> None:
    core = Scenario.load(file)._core
    told = []
    for every in (0, 2):
        options = json.dumps({"refuse_every": every})
        run = _core.kernel_run(core, 1, str(kernel.vmlinux), str(kernel.guest), options)
        told.append(json.loads(run.wire)["router"])
    assert told[0]["refused"] == 0 and told[1]["refused"] > 20
    assert (told[1]["unaccounted"], told[1]["unroutable"]) == (0, 0)
    assert told[1]["departed"] == pytest.approx(told[0]["departed"], rel=0.02)


def test_long_runs_are_announced_with_their_processor_time(tmp_path: Path) -> None:
    path = tmp_path / "long.toml"
    path.write_text(EXPERIMENT.replace('"3s"', '"7200s"').replace('"10Mbit"', '"100Mbit"'))
    core = Scenario.load(path)._core
    one, many = world("kernel").forecast([core]), world("kernel").forecast([core] * 6)
    assert one.startswith("one run in the kernel world: about ") and one.endswith(" minutes of processor time")
    assert many.startswith("6 runs") and "hours" in many
    assert world("kernel").forecast([Scenario.load(path).with_values({"duration": "3s"})._core]) == ""


def test_a_kernel_beside_the_simulator(file: Path, kernel: kernels.GuestKernel) -> None:
    arguments = ("kernel", "matrix", file.name, "--kernels", kernel.hash, "--seeds", "2")
    done = haltere(*arguments, "--json", cwd=file.parent)
    assert done.returncode == 0, done.stderr
    ((name, rows),) = json.loads(done.stdout)["kernels"].items()
    assert name.startswith(kernel.release)
    told = {row["metric"]: row for row in rows}
    assert told["left>right: utilisation"]["value"] > 0.9 * told["left>right: utilisation"]["baseline"]
    # The runs are there: this takes no time.
    text = haltere(*arguments, cwd=file.parent).stdout
    assert "simulator" in text and name in text


def test_uploads_have_their_server_from_the_host(tmp_path: Path, kernel: kernels.GuestKernel) -> None:
    pytest.importorskip("pyftpdlib", reason="uploads need pyftpdlib")
    if Path(sys.prefix).is_relative_to("/tmp"):
        pytest.skip("a guest has a /tmp of its own, without this Python")
    (tmp_path / "up.toml").write_text(UPLOADS)
    runs = [haltere("run", "up.toml", "--world", "kernel", "--out", out, cwd=tmp_path) for out in ("one", "two")]
    assert [run.returncode for run in runs] == [0, 0], runs[0].stderr
    digests = [
        json.loads((tmp_path / out / "manifest.json").read_text())["runs"][0]["digest"] for out in ("one", "two")
    ]
    assert digests[0] == digests[1]


def test_multipath_and_hysteresis_with_returned_packets_run(tmp_path: Path, kernel: kernels.GuestKernel) -> None:
    import pyarrow

    scenario = Scenario.load(ROOT / "papers" / "mptcp-red" / "wire.toml").with_values(
        {"duration": "6s", "warmup": "2s"}
    )
    tables = world("kernel").run(scenario._core, 1, _core.Progress()).tables()
    paths = pyarrow.table(tables["paths"]).to_pylist()
    assert {row["path"] for row in paths} == {0, 1}
    returned = Scenario.load(ROOT / "papers" / "dctcp-hysteresis" / "wire.toml").with_values(
        {"duration": "9s", "warmup": "6s"}
    )
    links = pyarrow.table(
        world("kernel").run(returned.points()[0][1], 1, _core.Progress()).tables()["links"]
    ).to_pylist()
    assert sum(link["marked"] for link in links) > 0


def test_the_guest_program_boots_on_a_kernel_that_debian_built(prebuilt: Path) -> None:
    about = json.loads(_core.kernel_about(str(prebuilt), str(building.guest_program())))
    assert about["release"].startswith("6.1.") and "cubic" in about["controls"]
    assert not about["fabric"] and not about["accurate_ecn"]


@pytest.mark.parametrize(
    ("series", "names"),
    [("6.1", "01 02 03 04 05 06 07"), ("6.12", "01 02 03 04 06 07"), ("6.16", "02 03 06 07"), ("7.2", "02 03 06 07")],
)
def test_each_patch_is_for_the_versions_in_its_name(series: str, names: str) -> None:
    assert [one.name[:2] for one in building._patches(ROOT, series)] == names.split()


def test_a_users_patch_changes_the_tree_and_one_that_does_not_fit_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(building, "_patches", lambda *_: [])
    source = tmp_path / "linux"
    (source / "arch/um").mkdir(parents=True)
    (source / "Makefile").write_text("VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 1\n")
    (source / "cubic.c").write_text("beta = 717;\n")
    patch = tmp_path / "mine.patch"
    patch.write_text("--- a/cubic.c\n+++ b/cubic.c\n@@ -1 +1 @@\n-beta = 717;\n+beta = 819;\n")
    origin = building._Origin("", source, tmp_path)
    assert origin.series == "6.12"
    tree = building._tree(origin, ROOT, [patch], lambda _: None)
    assert (tree / "cubic.c").read_text() == "beta = 819;\n"
    with pytest.raises(InputError, match=r"mine.patch must fit Linux 6.12.1, got "):
        building._tree(origin, ROOT, [patch, patch], lambda _: None)


#: A guest program that looks at the host's files through the kernel's own file system of the host, and answers with what
#: it could open.
LOOKS = """
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <unistd.h>

static void try(FILE *out, const char *name, const char *path, int how)
{
	int fd = open(path, how, 0600);

	fprintf(out, "\\"%s %s\\",", name, fd < 0 ? strerror(errno) : "opened");
}

int main(void)
{
	FILE *out = fopen("/out/answer.json", "w");
	const char *up = "../../../../../../../../../../../../../../../..";

	fprintf(out, "{\\"Kernel\\":{\\"release\\":\\"%s\\",\\"fabric\\":false,\\"accurate_ecn\\":false,\\"controls\\":[",
		mount("host", "/host", "hostfs", 0, up) ? "not mounted" : "mounted");
	try(out, "request", "/request.json", O_RDONLY);
	try(out, "own", "/out/own", O_CREAT | O_WRONLY);
	try(out, "beside", "/beside", O_CREAT | O_WRONLY);
	try(out, "program", "/init", O_RDWR);
	try(out, "library", "/host/lib64", O_RDONLY);
	try(out, "secret", "/host{folder}/secret", O_RDONLY);
	try(out, "change", "/host{folder}/secret", O_WRONLY);
	try(out, "made", "/host{folder}/made", O_CREAT | O_WRONLY);
	try(out, "folder", "/host{folder}", O_RDONLY);
	fprintf(out, "\\"end\\"]}}");
	fclose(out);
	sync();
	reboot(RB_POWER_OFF);
}
"""


@pytest.mark.usefixtures("nobody_left")
def test_a_guest_reaches_its_folder_and_no_other_file_of_the_host(vmlinux: Path, tmp_path: Path) -> None:
    if not _core.kernel_confined():
        pytest.skip("needs Landlock")
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "looks.c").write_text(LOOKS.replace("{folder}", str(tmp_path)))
    made = subprocess.run(["gcc", "-static", "-O1", "-o", "looks", "looks.c"], cwd=tmp_path, capture_output=True)
    if made.returncode:
        pytest.skip("needs gcc and a static libc")
    told = json.loads(_core.kernel_about(str(vmlinux), str(tmp_path / "looks")))
    assert told["release"] == "mounted"
    denied = "Permission denied"
    assert told["controls"] == [
        "request opened", "own opened", f"beside {denied}", "program Text file busy", "library opened", f"secret {denied}",
        f"change {denied}", f"made {denied}", f"folder {denied}", "end",
    ]  # fmt: skip
    assert not (tmp_path / "made").exists() and (tmp_path / "secret").read_text() == "secret"


#: A control whose name says what the code in the kernel could do on the host: `o` make a file in its own folder, `r` read
#: the secret, `w` write a file beside it, `c` change the secret, `d` list the folder by opening it.
SPY = """
#include <linux/module.h>
#include <net/tcp.h>
#include <os.h>

static bool opens(const char *path, struct openflags flags)
{{
	int fd = os_open_file((char *)path, flags, 0600);

	if (fd >= 0)
		os_close_file(fd);
	return fd >= 0;
}}

static struct tcp_congestion_ops spy = {{
	.name = "spy_",
	.owner = THIS_MODULE,
	.ssthresh = tcp_reno_ssthresh,
	.cong_avoid = tcp_reno_cong_avoid,
	.undo_cwnd = tcp_reno_undo_cwnd,
}};

static int __init spy_register(void)
{{
	if (opens("work/own", of_create(of_write(OPENFLAGS()))))
		strcat(spy.name, "o");
	if (opens("{folder}/secret", of_read(OPENFLAGS())))
		strcat(spy.name, "r");
	if (opens("{folder}/made", of_create(of_write(OPENFLAGS()))))
		strcat(spy.name, "w");
	if (opens("{folder}/secret", of_write(OPENFLAGS())))
		strcat(spy.name, "c");
	if (opens("{folder}", of_read(OPENFLAGS())))
		strcat(spy.name, "d");
	return tcp_register_congestion_control(&spy);
}}
module_init(spy_register);
MODULE_LICENSE("GPL");
"""


@pytest.mark.slow
@pytest.mark.usefixtures("kernel")
def test_code_that_was_compiled_in_reaches_no_file_of_the_host(tmp_path: Path) -> None:
    if not _core.kernel_confined():
        pytest.skip("needs Landlock")
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "tcp_spy.c").write_text(SPY.format(folder=tmp_path))
    built = building.build("6.1", add=[tmp_path / "tcp_spy.c"])
    try:
        assert [one for one in built.controls if one.startswith("spy_")] == ["spy_o"]
        assert not (tmp_path / "made").exists() and (tmp_path / "secret").read_text() == "secret"
    finally:
        shutil.rmtree(built.folder)
