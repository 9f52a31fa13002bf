"""What counts as a file with a checksum, and what is written of points and runs."""

from __future__ import annotations

import json
from typing import Any

from haltere.runs.records import Done, Failed, Point, seal_of, swept, with_checksum, without_checksum

DIGEST = "0123456789abcdef" * 4
FILE = {"bytes": 3, "sha256": DIGEST}
SEAL: dict[str, Any] = {
    "key": "k", "seed": 1, "digest": DIGEST, "wall_s": 0.5, "build": "b", "files": {"flows.parquet": FILE}, "note": 7,
}  # fmt: skip
RUN = {"key": "k", "point": 0, "seed": 1, "digest": DIGEST, "wall_s": 0.5}


def test_a_file_is_what_was_written_or_as_none() -> None:
    data = with_checksum(json.dumps(SEAL))
    assert without_checksum(data) == SEAL == seal_of(data, "k") and json.loads(data).keys() == {"sha256", *SEAL}
    assert seal_of(data, "l") is None and seal_of(None, "k") is None and seal_of(b"", "k") is None
    for other in (
        data[1:],
        data[:-1],
        data + b"\n",
        b" " + data,
        data.replace(b"0.5", b"0.6"),
        json.dumps(SEAL).encode(),
    ):
        assert seal_of(other, "k") is None, other
    # Whoever seals it anew names no file outside the run.
    for name in ("x", "A.parquet", ".x.qlog", "a/b.qlog", "a.parquet.b", "../../manifest.json"):
        assert seal_of(with_checksum(json.dumps(SEAL | {"files": {name: FILE}})), "k") is None, name
    for name in ("flow_series2.parquet", "Left-1.b_c.pcapng", "_x.qlog"):
        assert seal_of(with_checksum(json.dumps(SEAL | {"files": {name: FILE}})), "k") is not None, name


def test_a_run_is_the_same_from_its_checksum_file_and_from_the_manifest() -> None:
    done = Done.of_seal(SEAL, 1)
    assert done == Done("k", 1, 1, DIGEST, 0.5, {"note": 7})
    assert done.to_dict() == {**RUN, "point": 1, "note": 7} and Done.of_dict(done.to_dict()) == done
    assert Failed("k", 1, 2, "e").to_dict() == {"key": "k", "point": 1, "seed": 2, "error": "e"}


def test_the_name_of_a_point_has_kinds_and_values() -> None:
    labels = {"a.queue": {"kind": "red", "limit": "9p"}, "a.count": 4, "a.table": {"x": 1}, "a.rate": "1Mbit"}
    assert Point(0, labels, {}).name == "queue=red count=4 table=x=1 rate=1Mbit" and Point(0, {}, {}).name == "all"
    assert swept({"x": 1}) == '{"x": 1}'
