"""What is damaged, hostile or missing: no traceback, nothing believed that was not written, one line that says what is wrong."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import random
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import haltere as package
from conftest import SMALL, haltere
from haltere import Results, cli
from haltere.report.page import _json as page_json
from haltere.runs.query import columns, query
from haltere.runs.records import seals_of, with_checksum, without_checksum
from haltere.runs.store import Damaged


def flip(file: Path, at: int = 60) -> None:
    """One bit of a file changes."""
    data = file.read_bytes()
    file.write_bytes(bytes([*data[:at], data[at] ^ 4, *data[at + 1 :]]))


def of_run(results: Results, name: str, place: int = 0) -> Path:
    return results.directory / "runs" / results.runs[place].key / name


# -- every way to the data ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sql", ["SELECT count(*) FROM flows", "SELECT count(*) FROM FLOWS", "SHOW TABLES"])
def test_sql_does_not_believe_a_damaged_file(small: Path, sql: str) -> None:
    results = package.load(small).run(seeds=2, out=small.parent / "out")
    assert query(results, sql).num_rows > 0
    flip(of_run(results, "flows.parquet", 1))
    with pytest.raises(Damaged, match=r"flows\.parquet: its contents are not what was written; run the experiment"):
        query(results, sql)
    with pytest.raises(Damaged):
        columns(results)
    assert query(results, "SELECT count(*) FROM links").num_rows == 1, "a table that is sound is answered"


def test_hash_verify_and_results_check_find_each_damaged_file(small: Path) -> None:
    results = package.load(small).run(seeds=2, out=small.parent / "out")
    sound = haltere("results", "out", "--check", cwd=small.parent)
    assert sound.returncode == 0 and "2 runs, 12 files, all as they were written" in sound.stdout, sound.stdout
    plain, verified = (haltere("hash", "out", *more, cwd=small.parent) for more in ((), ("--verify",)))
    assert verified.returncode == 0 and verified.stdout == plain.stdout
    flip(of_run(results, "links.parquet"))
    of_run(results, "flows.parquet", 1).unlink()
    for arguments in (("hash", "out", "--verify"), ("results", "out", "--check")):
        done = haltere(*arguments, cwd=small.parent)
        assert done.returncode == 1 and done.stdout == "", done.stdout
        first, second = done.stderr.splitlines()
        assert (
            "links.parquet: its contents are not" in done.stderr and "flows.parquet: the file is missing" in done.stderr
        )
        assert "run the experiment again" in second and "Traceback" not in first


def test_a_seal_that_says_another_digest_than_the_manifest_is_found(small: Path) -> None:
    results = package.load(small).run(seeds=1, out=small.parent / "out")
    file = of_run(results, "run.json")
    seal = without_checksum(file.read_bytes())
    assert seal is not None
    file.write_bytes(with_checksum(json.dumps(seal).replace(results.runs[0].digest, "0" * 64)))
    assert results.check() == [
        f"{results.where}/runs/{results.runs[0].key}/run.json: digest and seed are not those in manifest.json"
    ]


def test_one_wrong_bit_anywhere_in_a_seal_is_found(small: Path) -> None:
    results = package.load(small).run(seeds=1, out=small.parent / "out")
    data, key = of_run(results, "run.json").read_bytes(), results.runs[0].key
    assert seals_of(data, key)
    for at in range(8 * len(data)):
        wrong = bytes([*data[: at // 8], data[at // 8] ^ (1 << at % 8), *data[at // 8 + 1 :]])
        assert not seals_of(wrong, key), wrong


# -- one changed value in what every summary believes ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an experiment of two disciplines and two seeds, with its results."""
    folder = tmp_path_factory.mktemp("swept")
    text = SMALL + '\n[sweep]\n"topology.dumbbell.bottleneck.queue" = ["drop_tail", "codel"]\n'
    (folder / "two.toml").write_text(text)
    package.load(folder / "two.toml").run(seeds=2, out=folder / "out").summary()
    return folder


@pytest.fixture
def two(swept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Results:
    """A copy of these results, to be damaged; the working directory is the folder around them."""
    shutil.copytree(swept, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return Results(tmp_path / "out")


Called = Callable[..., tuple[int, str, str]]


@pytest.fixture
def called(capsys: pytest.CaptureFixture[str]) -> Called:
    """A command of the command line in this process: its status, its output and its errors."""

    def call(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        status = cli.main(list(arguments))
        return status, *capsys.readouterr()

    return call


AGAIN = ("run", "two.toml", "--seeds", "2", "--out", "out")


def with_other_number(text: str) -> str:
    """The first metric of the first run is ten times as large."""
    return re.sub(r'("goodput[^"]*":)([0-9.]+)', r"\g<1>9\2", text, count=1)


def lines(manifest: str, name: str) -> tuple[list[str], int]:
    """The lines of a manifest, and the place of the first element of that list."""
    every = manifest.split("\n")
    return every, every.index(f'"{name}": [') + 1


def exchanged(manifest: str, name: str) -> str:
    """Two elements of a list, each in the other's place."""
    every, at = lines(manifest, name)
    every[at], every[at + 1] = every[at + 1] + ("" if every[at + 1].endswith(",") else ","), every[at].rstrip(",")
    return "\n".join(every)


def doubled(manifest: str) -> str:
    """A run is listed twice."""
    every, at = lines(manifest, "runs")
    return "\n".join([*every[:at], every[at], *every[at:]])


def missing(manifest: str) -> str:
    """A run is left out."""
    every, at = lines(manifest, "runs")
    return "\n".join([*every[:at], *every[at + 1 :]])


WRONG_MANIFESTS: dict[str, Callable[[str], str]] = {
    "labels swapped": lambda text: (
        text.replace('queue": "drop_tail"}, "scenario"', 'queue": "x"}, "scenario"')
        .replace('queue": "codel"}, "scenario"', 'queue": "drop_tail"}, "scenario"')
        .replace('queue": "x"}, "scenario"', 'queue": "codel"}, "scenario"')
    ),
    "points exchanged": lambda text: exchanged(text, "points"),
    "runs exchanged": lambda text: text.replace('"point": 0', '"point": 7').replace('"point": 1', '"point": 0').replace('"point": 7', '"point": 1'),
    "a run twice": doubled,
    "a run left out": missing,
    "another rate": lambda text: re.sub(r'"rate": "\d+', '"rate": "77', text, count=1),
    "another warm-up": lambda text: re.sub(r'"warmup": "\d+', '"warmup": "0', text),
    "without its checksum": lambda text: "{" + text[80:],
}  # fmt: skip


@pytest.mark.parametrize("harm", WRONG_MANIFESTS)
def test_a_changed_manifest_is_noticed_by_every_command_and_run_repairs_it(
    two: Results, called: Called, harm: str
) -> None:
    digest, manifest = two.digest(), two.directory / "manifest.json"
    before = manifest.read_text()
    changed = WRONG_MANIFESTS[harm](before)
    assert changed != before
    manifest.write_text(changed)
    for arguments in (
        ("results", "out", "--check"), ("hash", "out", "--verify"), ("report", "out"), ("results", "out", "--query", "SELECT 1"),
        ("plot", "out"), ("compare", "out@queue=codel", "out@queue=drop_tail"), ("export", "out"),
    ):  # fmt: skip
        status, told, error = called(*arguments)
        assert status == 2 and told == "", (arguments, told)
        assert "manifest must be one that haltere wrote, got one whose contents are not" in error, error
    status, _, error = called(*AGAIN)
    assert status == 0 and "it is written again" in error, error
    assert Results("out").check() == [] and Results("out").digest() == digest


def test_a_changed_measure_is_noticed_and_measured_anew(two: Results, called: Called) -> None:
    measures = two.directory / "measures.json"
    good, summary = measures.read_text(), two.summary()
    wrongs = (with_other_number(good), good.replace(":0.", ":null,", 1), good[:-9], "", good.partition("version")[2])
    for wrong in wrongs:
        assert wrong != good
        measures.write_text(wrong)
        status, _, error = called("results", "out", "--check")
        assert status == 1 and "measures.json: its contents are not" in error, error
        _, _, error = called("compare", "out@queue=codel", "out@queue=drop_tail")
        assert "measures.json: its contents are not what was written; the runs are measured again" in error
        measures.write_text(wrong)
        assert Results("out").summary() == summary, wrong[:200]
        measures.write_text(wrong)
        assert called(*AGAIN)[0] == 0 and Results("out").check() == [] and Results("out").summary() == summary


@pytest.mark.parametrize("name", ["measures.json", "manifest.json", "run.json", "flows.parquet", "runs/KEY"])
def test_a_loop_of_symbolic_links_is_noticed_and_run_repairs_it(two: Results, called: Called, name: str) -> None:
    digest, run = two.digest(), two.directory / "runs" / two.runs[0].key
    place = run if name == "runs/KEY" else run / name if (run / name).exists() else two.directory / name
    if place.is_dir():
        shutil.rmtree(place)
    else:
        place.unlink()
    place.symlink_to(place.name)
    status, _, error = called("results", "out", "--check")
    assert status in (1, 2) and len(error.splitlines()) <= 2, error
    assert called(*AGAIN)[0] == 0
    assert Results("out").check() == [] and Results("out").digest() == digest


def test_runs_in_each_others_place_are_noticed(two: Results) -> None:
    runs, (one, other) = two.directory / "runs", (run.key for run in two.runs[:2])
    (runs / one).rename(runs / "aside")
    (runs / other).rename(runs / one)
    (runs / "aside").rename(runs / other)
    assert len(Results(two.directory).check()) == 2
    with pytest.raises(Damaged):
        Results(two.directory).table("flows")


# -- questions in SQL -------------------------------------------------------------------------------------------------------


def test_two_columns_of_one_name_are_two_values_in_every_form(two: Results, called: Called) -> None:
    sql = "SELECT * FROM flows f JOIN points p ON f.point = p.point"
    table = query(two, sql)
    assert len(set(table.column_names)) == len(table.column_names) and "point_2" in table.column_names
    _, rows, _ = called("results", "out", "--csv", "--query", sql)
    names, first = rows.splitlines()[:2]
    objects = json.loads(called("results", "out", "--json", "--query", sql)[1])
    assert len(names.split(",")) == len(first.split(",")) == len(objects[0]) == len(table.column_names)
    assert query(two, "SELECT 1 AS a, 2 AS a").to_pylist() == [{"a": 1, "a_2": 2}]
    assert called("results", "out", "--query", "SELECT 1 AS a, 2 AS a")[1] == "1 row\na  a_2\n-  ---\n1    2\n"


@pytest.mark.parametrize("name", ["q[12]", "q*", "q?", "[!x]", "it's"])
def test_a_directory_is_read_whatever_its_name(two: Results, called: Called, name: str) -> None:
    rows, folder = query(two, "SELECT count(*) AS n FROM flows").to_pylist(), two.directory.parent
    shutil.copytree(two.directory, folder / name)
    (folder / "q1" / "runs").mkdir(parents=True)
    assert query(Results(folder / name), "SELECT count(*) AS n FROM flows").to_pylist() == rows
    assert json.loads(called("results", name, "--json", "--query", "SELECT count(*) AS n FROM flows")[1]) == rows


@pytest.mark.parametrize(
    "sql",
    [
        "INSTALL httpfs", "LOAD httpfs", "COPY (SELECT 1) TO '{out}/x.csv'", "COPY (SELECT 1) TO '{flows}' (USE_TMP_FILE false)",
        "EXPLAIN ANALYZE COPY (SELECT 1) TO '{flows}' (USE_TMP_FILE false)", "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM '/etc/passwd'", "SELECT * FROM read_blob('{manifest}')", "SELECT * FROM glob('/etc/*')", "ATTACH '{out}/x.db'",
        "SET enable_external_access = true", "EXPORT DATABASE '{out}/x'", "SELECT 1; SELECT 2", "SELECT * FROM results", "",
        "SELECT * FROM read_csv('https://example.org/x.csv')", "CREATE TABLE x AS SELECT 1",
    ],
)  # fmt: skip
def test_a_question_reaches_nothing_outside_the_store(two: Results, called: Called, sql: str) -> None:
    flows, folder = of_run(two, "flows.parquet"), two.directory
    before = sorted(path for path in folder.rglob("*"))
    text = sql.format(out=folder, flows=flows, manifest=folder / "manifest.json")
    status, told, error = called("results", "out", "--query", f"{text} -- flows" if text else "")
    assert status == 2 and len(error.splitlines()) == 1 and told == "", told
    assert sorted(path for path in folder.rglob("*")) == before and two.check() == []


def test_a_store_of_an_earlier_version_is_refused_in_one_line(two: Results, called: Called) -> None:
    (two.directory / "manifest.json").write_text('{\n"format": 1,\n"title": "t"\n}\n')
    status, _, error = called("report", "out")
    assert status == 2 and len(error.splitlines()) == 1
    assert "got one of an earlier version; run the experiment again" in error


# -- damaged stores -------------------------------------------------------------------------------------------------------

WRONG_SEALS: dict[str, Callable[[str], str]] = {
    "a list": lambda seal: f"[{seal}]",
    "a number": lambda seal: "3",
    "no files": lambda seal: re.sub(r'"files": .*', '"files": {}}', seal, flags=re.DOTALL),
    "a file elsewhere": lambda seal: with_checksum(seal.replace("flows.parquet", "../../manifest.json")).decode(),
    "another seed": lambda seal: re.sub('"seed": .', '"seed": 7', seal),
}


@pytest.mark.parametrize("harm", [*WRONG_SEALS, "deep", "a folder in its place", "a file in the run's place"])
def test_a_malformed_seal_is_as_none_and_run_makes_the_run_anew_and_says_so(small: Path, harm: str) -> None:
    scenario, out = package.load(small), small.parent / "out"
    whole = scenario.run(seeds=2, out=out)
    seal = of_run(whole, "run.json")
    if harm in WRONG_SEALS:
        seal.write_text(WRONG_SEALS[harm](seal.read_text()))
    elif harm == "deep":
        seal.write_text("[" * 100_000)
    else:
        for file in seal.parent.iterdir():
            file.unlink()
        if harm == "a folder in its place":
            seal.mkdir()
        else:
            seal.parent.rmdir()
            seal.parent.write_text("no run")
    with pytest.raises(Damaged, match="is missing from the store, or its checksum file is malformed"):
        Results(out).table("flows")
    again = haltere("run", small.name, "--seeds", "2", "--out", "out", cwd=small.parent)
    assert again.returncode == 0, again.stderr
    assert "out: 1 damaged or incomplete runs are repeated" in again.stderr
    results = Results(out)
    assert results.check() == [] and results.digest() == whole.digest()


BUG = "import sys; from haltere import catalogue, cli\ndef broken(*_, **__): raise {what}\ncatalogue.explain = broken\nsys.exit(cli.main(sys.argv[1:]))"


@pytest.mark.parametrize("what", ["KeyError('x')", "RecursionError('deep')", "type('PanicException', (BaseException,), {})('x')"])  # fmt: skip
def test_a_bug_is_one_line_and_a_traceback_if_asked_for(tmp_path: Path, what: str) -> None:
    def explain(*before: str) -> subprocess.CompletedProcess[str]:
        code = [sys.executable, "-c", BUG.replace("{what}", what), *before, "explain", "codel"]
        return subprocess.run(code, cwd=tmp_path, capture_output=True, text=True, timeout=60)

    done = explain()
    assert done.returncode == 1 and len(done.stderr.splitlines()) == 1, done.stderr
    assert "this is a bug, please report" in done.stderr and "haltere --traceback" in done.stderr
    told = explain("--traceback")
    assert told.returncode == 1 and "Traceback" in told.stderr and "broken" in told.stderr


# -- reports --------------------------------------------------------------------------------------------------------------

HOSTILE = "<!-- <script>alert(1)</script> </style> =1+1"


def test_a_title_with_a_comment_or_a_script_in_it_leaves_the_charts_readable(small: Path) -> None:
    from haltere.report import overview

    results = package.load(small).with_values({"title": HOSTILE, "traffic[1].name": "<!--<script"}).run(seeds=1)
    overview.document(results, figures=True).write(results.directory)
    page = (results.directory / "report.html").read_text()
    specs = re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', page, re.DOTALL)
    assert specs and "<!--" not in page and "<script>alert" not in page
    for spec in specs:
        json.loads(spec)
    hostile = {"title": HOSTILE}
    assert json.loads(page_json(hostile)) == hostile and "<" not in page_json(hostile)


def test_the_policy_of_a_report_names_each_script_and_style_by_its_hash(small: Path) -> None:
    from haltere.report import overview

    results = package.load(small).run(seeds=1)
    page = overview.document(results, figures=True).html()
    policy = re.search('Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None and "unsafe" not in policy[1]
    inside = re.findall(r"<(?:style|script)>(.*?)</(?:style|script)>", page, re.DOTALL)
    assert len(inside) >= 3, "the style, that of the drawing, and the script"
    for text in inside:
        assert base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() in policy[1]
    assert not re.search(r"<[a-z][^>]* style=", re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL))


def test_cells_that_a_spreadsheet_would_compute_are_text_and_numbers_stay_numbers(small: Path) -> None:
    from haltere.runs.cells import csv

    rows = [["=1+1", "+a", "-x", "@b", "\tc", "a\rb", "-1.5", "+3e-2", -2, 0.5, None, 'q"', "a,b"]]
    assert csv(rows) == '\'=1+1,\'+a,\'-x,\'@b,\'\tc,"a\rb",-1.5,+3e-2,-2,0.5,,"q""","a,b"\n'
    package.load(small).with_values({"traffic[1].name": "=ping"}).run(seeds=1, out=small.parent / "out")
    sql = "SELECT DISTINCT '=' || flow AS f, -1.5 AS x FROM flows LIMIT 1"
    asked = haltere("results", "out", "--query", sql, "--csv", cwd=small.parent)
    assert asked.returncode == 0 and re.fullmatch(r"f,x\n'=\S+,-1\.5\n", asked.stdout), asked.stdout + asked.stderr


# -- two containers, one store --------------------------------------------------------------------------------------------

HOLDS = """
import sys
from pathlib import Path
from typing import Any
from haltere.runs.files import Held, scratch_name
held = Held(scratch_name(Path(sys.argv[1]) / "runs" / "0123"), folder=True)
(held.scratch / "flows.parquet").write_bytes(b"half")
print(held.scratch, flush=True)
sys.stdin.read()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs flock")
@pytest.mark.parametrize("apart", [False, True], ids=["here", "another process namespace"])
def test_the_draft_of_a_live_process_stays_even_if_its_number_is_unknown_here(small: Path, apart: bool) -> None:
    before = ["unshare", "--user", "--map-root-user", "--pid", "--fork"] if apart else []
    if apart and subprocess.run([*before, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no unprivileged process namespaces: `unshare -Urpf` is refused")
    out = small.parent / "out"
    writer = subprocess.Popen(
        [*before, sys.executable, "-c", HOLDS, str(out)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert writer.stdin is not None and writer.stdout is not None
    with writer:
        draft = Path(writer.stdout.readline().strip())
        assert draft.exists() and package.load(small).run(seeds=1, out=out).complete
        assert (draft / "flows.parquet").exists(), "its writer lives"
        writer.stdin.close()
        writer.wait(timeout=120)
    package.load(small).run(seeds=2, out=out)
    assert not draft.exists(), "its writer has ended"


# -- closed streams, other encodings, wrong places, limits ----------------------------------------------------------------


def shell(line: str, cwd: Path, **more: str) -> subprocess.CompletedProcess[bytes]:
    text = line.replace("haltere ", f"{sys.executable} -m haltere ", 1)
    return subprocess.run(
        ["bash", "-c", text], cwd=cwd, capture_output=True, timeout=120, check=False, env={**os.environ, **more}
    )


def typed(line: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """The same without what a shell does: the process need not load everything again."""
    return haltere(*shlex.split(line)[1:], cwd=cwd)


def one_line(done: subprocess.CompletedProcess[Any]) -> str:
    """What an error says: one line, no traceback, and not too long."""
    text: str = done.stderr if isinstance(done.stderr, str) else done.stderr.decode()
    lines = text.splitlines()
    assert len(lines) == 1 and lines[0].startswith("haltere: ") and len(lines[0]) < 1100, text[:3000]
    return lines[0]


def test_closed_streams_and_full_devices_are_told_in_one_line(tmp_path: Path) -> None:
    closed = shell("haltere list >&-", tmp_path)
    assert closed.returncode == 2 and "standard output must be open" in one_line(closed)
    assert shell("haltere list 2>&-", tmp_path).returncode == 0
    if Path("/dev/full").exists():
        full = shell("haltere list >/dev/full", tmp_path)
        assert full.returncode == 1 and "No space left" in one_line(full)


def test_any_character_is_written_in_ascii(small: Path) -> None:
    text = small.read_text().replace("Two flows", "Zwei Flüsse – ")
    small.write_text(text, encoding="utf-8")
    done = shell(f"haltere run {small.name} --seeds 1", small.parent, PYTHONIOENCODING="ascii")
    assert done.returncode == 0 and b"Fl\\xfcsse" in done.stdout, done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are bytes on Linux")
def test_names_and_settings_that_are_not_utf_8(small: Path) -> None:
    name = os.fsdecode(b"no-\xff-text.toml")
    (small.parent / name).write_text(small.read_text())
    assert shell("haltere run $'no-\\xff-text.toml' --seeds 1 --out out", small.parent).returncode == 0
    for line in ("run small.toml --set title=$'\\xff'", "explain $'\\xff'", "run $'gone-\\xff'"):
        done = shell(f"haltere {line}", small.parent)
        assert done.returncode == 2, (line, done.stderr)
        one_line(done)


@pytest.mark.parametrize(
    "place", ["file/below", "file", "/proc/haltere", "/dev/null", "runs-is-a-file", "manifest-is-a-folder", "n" * 300]
)
def test_a_wrong_output_place_is_wrong_input(small: Path, place: str) -> None:
    (small.parent / "file").write_text("")
    (small.parent / "runs-is-a-file").mkdir()
    (small.parent / "runs-is-a-file" / "manifest.json").write_text("{}")
    (small.parent / "runs-is-a-file" / "runs").write_text("")
    (small.parent / "manifest-is-a-folder" / "manifest.json").mkdir(parents=True)
    done = typed(f"haltere run {small.name} --seeds 1 --out {place}", small.parent)
    assert done.returncode == 2, done.stderr
    one_line(done)


def test_an_object_store_that_is_down_is_told_in_one_line(small: Path) -> None:
    pytest.importorskip("s3fs")
    names = {"AWS_ENDPOINT_URL": "http://127.0.0.1:9", "AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x"}
    more = {**names, "AWS_DEFAULT_REGION": "us-east-1", "AWS_MAX_ATTEMPTS": "1"}
    for line in (f"run {small.name} --seeds 1 --out s3://bucket/x", "hash s3://bucket/x"):
        done = shell(f"haltere {line}", small.parent, **more)
        assert done.returncode == 1 and "s3://bucket/x: the store must be reachable" in one_line(done)


def test_too_many_seeds_and_long_values_are_refused_at_once(small: Path) -> None:
    many = typed(f"haltere run {small.name} --seeds 1000000000", small.parent)
    assert many.returncode == 2 and "seeds must be at most 1000000, got 1000000000" in one_line(many)
    digits = typed(f"haltere run {small.name} --seeds {'9' * 5000}", small.parent)
    assert digits.returncode == 2 and len(one_line(digits)) < 1100
    long = typed(f"haltere run {small.name} --set {'x' * 5000}", small.parent)
    assert long.returncode == 2 and " ... " in one_line(long)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes that are files")
def test_an_experiment_file_is_a_regular_file_of_limited_size(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.toml")
    with open(tmp_path / "large.toml", "wb") as file:
        file.truncate(20 << 20)
    for name, rule in {
        "pipe.toml": "regular file",
        "/dev/zero": "regular file",
        "large.toml": "at most 16 MiB",
    }.items():
        done = typed(f"haltere run {name}", tmp_path)
        assert done.returncode == 2 and rule in one_line(done)


# -- special files, and Ctrl-C --------------------------------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes that are files")
@pytest.mark.parametrize("name", ["pipe", "/dev/zero", "."])
def test_a_capture_is_a_regular_file(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    for line in (f"classify {name}", f"correlate {name}"):
        done = typed(f"haltere {line}", tmp_path)
        told = one_line(done)
        assert done.returncode == 2 and "file must be readable, got a d" in told, told


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes that are files")
@pytest.mark.parametrize("name", ["pipe", "/dev/zero", "."])
def test_a_file_that_an_experiment_names_is_a_regular_file(small: Path, name: str) -> None:
    os.mkfifo(small.parent / "pipe")
    trace = small.read_text().replace('rate = "10Mbit"', f'trace = "{name}"')
    sizes = small.read_text().replace(
        'kind = "bulk"\npairs = "all"', f'kind = "poisson"\nload = 0.5\nsizes = {{ file = "{name}" }}'
    )
    for key, text in {"trace": trace, "sizes": sizes}.items():
        small.write_text(text)
        done = typed(f"haltere run {small.name}", small.parent)
        assert done.returncode == 2 and f"{key} must be a file of" in one_line(done), done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
def test_ctrl_c_is_heard_while_a_long_experiment_is_read(small: Path) -> None:
    link = '{ rate = "100Mbit", delay = "1ms" },\n' * 300_000
    (small.parent / "long.toml").write_text(
        f'duration = "1s"\n[topology.chain]\nlinks = [\n{link}]\n[[traffic]]\nkind = "bulk"\nfrom = "n1"\nto = "n300001"\n'
    )
    # A background process ignores Ctrl-C, and so do the tests that it starts.
    code = (
        "import signal, haltere; signal.signal(signal.SIGINT, signal.default_int_handler); load = haltere.load; "
        "print('here', flush=True); load('long.toml')"
    )
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    reader = subprocess.Popen(
        [sys.executable, "-c", code], cwd=small.parent, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert reader.stdout is not None and reader.stdout.readline() == "here\n"
    time.sleep(0.5)
    reader.send_signal(signal.SIGINT)
    told = reader.communicate(timeout=120)[1]
    assert "KeyboardInterrupt" in told, "the file was read to its end"
    spent = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    assert spent < 4, "far less processor time than it takes to read it"


def test_a_long_chain_is_read_in_time_that_grows_with_its_length(tmp_path: Path) -> None:
    def seconds(links: int) -> float:
        link = '{ rate = "100Mbit", delay = "1ms" },\n' * links
        ends = f'from = "n1"\nto = "n{links + 1}"'
        text = f'duration = "1s"\n[topology.chain]\nlinks = [\n{link}]\n[[traffic]]\nkind = "bulk"\n{ends}\n'
        (tmp_path / "chain.toml").write_text(text)
        began = time.process_time()
        package.load(tmp_path / "chain.toml")
        return time.process_time() - began

    # Eight times the links took 64 times as long. The processor's time, which other processes change little.
    assert seconds(64_000) < 25 * max(seconds(8_000), 0.02)


def test_a_manifest_of_random_bytes_is_told_in_one_short_line(small: Path) -> None:
    (small.parent / "out" / "runs").mkdir(parents=True)
    (small.parent / "out" / "manifest.json").write_bytes(random.Random(19).randbytes(5000))
    done = typed(f"haltere run {small.name} --seeds 1 --out out", small.parent)
    line = next(line for line in done.stderr.splitlines() if "manifest" in line)
    assert done.returncode == 0 and len(line) < 300 and line.endswith("; it is written again"), line
