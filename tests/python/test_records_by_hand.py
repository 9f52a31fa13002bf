"""What counts as a file with a checksum, and what is written of points and runs."""

from __future__ import annotations

import json
from typing import Any

from haltere.runs.records import (
    Done,
    Failed,
    Point,
    batch_name,
    is_alone,
    seals_of,
    swept,
    with_checksum,
    without_checksum,
)

DIGEST = "0123456789abcdef" * 4
FILE = {"bytes": 3, "sha256": DIGEST}
SEAL: dict[str, Any] = {
    "key": "k",
    "seed": 1,
    "digest": DIGEST,
    "wall_s": 0.5,
    "build": "b",
    "note": 7,
    "rows": {"flows": 2},
}
BATCH = {"runs": [SEAL], "files": {"flows.parquet": FILE}}
RUN = {"key": "k", "point": 0, "seed": 1, "digest": DIGEST, "wall_s": 0.5}


def test_a_file_is_what_was_written_or_as_none() -> None:
    data = with_checksum(json.dumps(BATCH))
    assert without_checksum(data) == BATCH and json.loads(data).keys() == {"sha256", *BATCH}
    assert seals_of(data, "k") == [SEAL | {"rows": {"flows": (0, 2)}, "batch": "k", "files": BATCH["files"]}]
    assert seals_of(data, "l") == seals_of(None, "k") == seals_of(b"", "k") == []
    for other in (
        data[1:],
        data[:-1],
        data + b"\n",
        b" " + data,
        data.replace(b"0.5", b"0.6"),
        json.dumps(BATCH).encode(),
    ):
        assert not seals_of(other, "k"), other
    # Whoever seals it anew names no file outside the run.
    for name in ("x", "A.parquet", ".x.qlog", "a/b.qlog", "a.parquet.b", "../../manifest.json"):
        assert not seals_of(with_checksum(json.dumps(BATCH | {"files": {name: FILE}})), "k"), name
    for name in ("flow_series2.parquet", "Left-1.b_c.pcapng", "_x.qlog"):
        assert seals_of(with_checksum(json.dumps(BATCH | {"files": {name: FILE}})), "k"), name


def test_the_runs_of_a_batch_are_known_by_its_name_and_have_their_rows() -> None:
    runs = [SEAL | {"key": key, "rows": {"flows": count}} for key, count in (("k", 2), ("l", 0), ("m", 3))]
    name, data = batch_name(["k", "l", "m"]), with_checksum(json.dumps(BATCH | {"runs": runs}))
    assert not is_alone(name) and is_alone(batch_name(["k"])) and batch_name(["l", "k", "m"]) != name
    assert [one["rows"]["flows"] for one in seals_of(data, name)] == [(0, 2), (2, 0), (2, 3)]
    assert seals_of(data, batch_name(["k", "l"])) == []


def test_a_run_is_the_same_from_its_checksum_file_and_from_the_manifest() -> None:
    done = Done.of_seal(SEAL, 1)
    assert done == Done("k", 1, 1, DIGEST, 0.5, {"note": 7})
    assert done.to_dict() == {**RUN, "point": 1, "note": 7} and Done.of_dict(done.to_dict()) == done
    assert Failed("k", 1, 2, "e").to_dict() == {"key": "k", "point": 1, "seed": 2, "error": "e"}


def test_the_name_of_a_point_has_kinds_and_values() -> None:
    labels = {"a.queue": {"kind": "red", "limit": "9p"}, "a.count": 4, "a.table": {"x": 1}, "a.rate": "1Mbit"}
    assert Point(0, labels, {}).name == "queue=red count=4 table=x=1 rate=1Mbit" and Point(0, {}, {}).name == "all"
    assert swept({"x": 1}) == '{"x": 1}'
