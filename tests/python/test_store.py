"""The store: whole runs or none, damage found, failures told, two processes at once, an object store."""

from __future__ import annotations

import json
import pickle
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import haltere as package
from conftest import ROOT, SMALL, command, haltere, listing
from haltere import _core
from haltere.runs.files import Held, scratch_name
from haltere.runs.store import Damaged, Store


def stamps(runs: Path) -> dict[str, int]:
    return {folder.name: (folder / "run.json").stat().st_mtime_ns for folder in runs.iterdir()}


@pytest.mark.parametrize("harm", ["truncate", "flip", "remove", "seal", "empty seal"])
def test_a_damaged_run_is_found_and_made_again_and_no_other(small: Path, harm: str) -> None:
    scenario, out = package.load(small), small.parent / "out"
    whole = scenario.run(out=out)
    before = stamps(out / "runs")
    victim = out / "runs" / whole.runs[1].key
    file = victim / "flow_series.parquet"
    data = file.read_bytes()
    if harm == "truncate":
        file.write_bytes(data[: len(data) // 2])
    elif harm == "flip":  # the length fits, one bit does not
        file.write_bytes(bytes([*data[:100], data[100] ^ 1, *data[101:]]))
    elif harm == "remove":
        file.unlink()
    elif harm == "seal":
        (victim / "run.json").unlink()
    else:
        (victim / "run.json").write_text("")
    again = scenario.run(out=out)
    after = stamps(out / "runs")
    assert [key for key in before if before[key] != after[key]] == [victim.name]
    assert again.digest() == whole.digest() and again.table("flow_series").equals(whole.table("flow_series"))


def test_a_reader_does_not_believe_a_damaged_file(small: Path) -> None:
    results = package.load(small).run(seeds=1, out=small.parent / "out")
    file = results.directory / "runs" / results.runs[0].key / "flows.parquet"
    data = file.read_bytes()
    file.write_bytes(bytes([*data[:60], data[60] ^ 4, *data[61:]]))
    with pytest.raises(Damaged, match="its contents are not what was written; run the experiment again"):
        package.Results(results.directory).table("flows")


def test_what_a_killed_process_left_is_removed_and_what_a_live_one_writes_is_not(small: Path) -> None:
    out = small.parent / "out"
    mine = scratch_name(out / "runs" / "0123")
    dead = mine.with_name(mine.name.replace("0123", "4567"))
    strange = mine.with_name(".strange.tmp")
    for folder in (dead, strange):
        folder.mkdir(parents=True)
    held = Held(mine, folder=True)
    package.load(small).run(seeds=1, out=out)
    assert mine.exists() and strange.exists() and not dead.exists()
    held.close()
    package.load(small).run(seeds=2, out=out)
    assert not mine.exists(), "its process no longer holds it"


def test_a_run_that_fails_is_told_and_the_others_are_kept(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = _core.run

    def run(scenario: _core.Scenario, seed: int, progress: _core.Progress) -> _core.Run:
        if seed == 2:
            raise package.HaltereError("a bug in haltere, please report it")
        return real(scenario, seed, progress)

    monkeypatch.setattr(_core, "run", run)
    scenario, out = package.load(small), small.parent / "out"
    with pytest.raises(package.RunsFailed, match=r"1 of 3 runs failed: all seed=2: a bug in haltere") as error:
        scenario.run(out=out)
    assert [done.seed for done in error.value.results.runs] == [1, 3]
    assert [one.seed for one in error.value.failed] == [2]
    told = json.loads((out / "manifest.json").read_text())
    assert not told["complete"] and told["failed"][0]["error"] == "a bug in haltere, please report it"
    assert "1 failed" in haltere("sweep", "status", str(out), cwd=small.parent).stdout
    monkeypatch.undo()
    before = stamps(out / "runs")
    results = scenario.run(out=out)
    assert results.complete and len(results.runs) == 3
    assert before.items() <= stamps(out / "runs").items()


def test_the_command_line_tells_of_failures_after_its_tables(small: Path) -> None:
    code = (
        "import sys; from haltere import _core, cli; real = _core.run\n"
        "def run(scenario, seed, progress):\n"
        "    if seed == 2: raise _core.HaltereError('no luck')\n"
        "    return real(scenario, seed, progress)\n"
        "_core.run = run\n"
        "sys.exit(cli.main(sys.argv[1:]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "run", small.name], cwd=small.parent, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 1
    assert "Traffic" in done.stdout and "(2 runs)" in done.stdout
    assert "1 of 3 runs failed: all seed=2: no luck" in done.stderr.splitlines()[-1]


def test_two_processes_on_one_store_do_not_harm_each_other(small: Path) -> None:
    reference = package.load(small).run(seeds=30, out=small.parent / "alone")
    arguments = ("run", small.name, "--seeds", "30", "--jobs", "1", "--out", "both")
    both = [
        subprocess.Popen(command(*arguments), cwd=small.parent, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(2)
    ]
    told = [process.communicate(timeout=120) for process in both]
    assert [process.returncode for process in both] == [0, 0], told
    out = small.parent / "both"
    results = package.Results(out)
    assert results.complete and results.digest() == reference.digest()
    store = Store(out)
    assert len(store.find((run.key for run in results.runs), verify=True)) == 30
    assert not [name for name in listing(out) if name.endswith(".tmp")]


def test_a_manifest_of_a_call_that_was_killed_tells_what_is_there(small: Path) -> None:
    out = small.parent / "out"
    whole = package.load(small).run(out=out)
    whole.store.write_manifest({**whole.manifest, "complete": False, "runs": []})
    results = package.Results(out)
    assert [run.key for run in results.runs] == [run.key for run in whole.runs]
    assert results.table("flows").equals(whole.table("flows"))


# -- an object store ------------------------------------------------------------------------------------------------------


@pytest.fixture
def bucket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A bucket on a server that speaks S3 over HTTP on this machine."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    # The variables of the AWS tools, so that other processes meet the same server.
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    import s3fs

    s3fs.S3FileSystem.clear_instance_cache()
    name = f"bucket-{abs(hash(tmp_path))}"  # the servers of one process share their buckets
    s3fs.S3FileSystem().mkdir(name)
    yield f"s3://{name}/deep/results"
    s3fs.S3FileSystem.clear_instance_cache()
    server.stop()


def test_an_s3_bucket_holds_results_like_a_directory(small: Path, bucket: str) -> None:
    first = haltere("run", small.name, "--out", bucket, cwd=small.parent)
    assert first.returncode == 0, first.stderr
    assert f"Results: {bucket} (3 runs)" in first.stdout
    more = haltere("run", small.name, "--out", bucket, "--seeds", "4", cwd=small.parent)
    assert "run (3 found): 1/1 runs" in more.stderr
    results = package.Results(bucket)
    local = package.load(small).run(seeds=4, out=small.parent / "local")
    assert results.digest() == local.digest() and results.table("flows").equals(local.table("flows"))
    rows = haltere(
        "results", bucket, "--query", "SELECT count(DISTINCT seed) AS n FROM flows", "--csv", cwd=small.parent
    )
    assert rows.stdout == "n\n4\n", rows.stderr
    assert listing(small.parent) & {"results", "s3:"} == set(), "nothing may be written here"
    report = haltere("report", bucket, cwd=small.parent)
    assert report.returncode == 0 and (small.parent / "results" / "results" / "report.html").exists(), report.stderr
    # All went well, so nothing is said of connections, not even as the processes end.
    told = first.stderr + more.stderr + rows.stderr + report.stderr
    assert not [word for word in ("rror", "xception", "nclosed", "onnect") if word in told], told


def test_damage_in_a_bucket_is_found_by_length_and_with_verify_by_checksum(small: Path, bucket: str) -> None:
    scenario = package.load(small)
    whole = scenario.run(out=bucket)
    fs = pickle.loads(pickle.dumps(whole.store)).filesystem
    shorter, flipped = (f"{bucket}/runs/{run.key}/links.parquet" for run in whole.runs[:2])
    data = fs.cat_file(shorter)
    fs.pipe_file(shorter, data[:-4])
    data = fs.cat_file(flipped)
    fs.pipe_file(flipped, bytes([*data[:50], data[50] ^ 1, *data[51:]]))
    scenario.run(out=bucket)
    assert len(Store(bucket).find((run.key for run in whole.runs), verify=True)) == 2
    with pytest.raises(Damaged, match="--verify"):
        package.Results(bucket).table("links")
    again = scenario.run(out=bucket, verify=True)
    assert again.table("links").equals(package.Results(bucket).table("links"))
    assert len(Store(bucket).find((run.key for run in whole.runs), verify=True)) == 3


def test_a_run_without_its_seal_is_no_run(small: Path, bucket: str) -> None:
    scenario = package.load(small)
    whole = scenario.run(out=bucket)
    # A process that was killed between its last table and the seal.
    whole.store.filesystem.rm_file(f"{bucket}/runs/{whole.runs[0].key}/run.json")
    assert len(Store(bucket).find(run.key for run in whole.runs)) == 2
    assert scenario.run(out=bucket).digest() == whole.digest()


def test_a_url_that_nobody_knows_and_a_missing_extra_are_told(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unknown = haltere("run", small.name, "--out", "nfs4://x/y", cwd=small.parent)
    assert unknown.returncode == 2 and "URL that fsspec knows" in unknown.stderr, unknown.stderr
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(package.InputError, match=r"type: pip install 'haltere\[s3\]'"):
        Store("s3://bucket/x")
    monkeypatch.setitem(sys.modules, "duckdb", None)
    results = package.Scenario.from_toml(SMALL).run(seeds=1)
    from haltere.runs.query import query

    with pytest.raises(package.InputError, match=r"type: pip install 'haltere\[sql\]'"):
        query(results, "SELECT 1")


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="needs a checkout of git")
def test_the_manifest_names_the_commit_of_the_source_tree(small: Path) -> None:
    results = package.load(small).run(seeds=1)
    assert re.fullmatch(r"[0-9a-f]{40}\+?", results.manifest["environment"]["git"])
