"""What counts as a checksum file and as a manifest: each rule with the values on both sides of it."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from haltere.runs.records import Done, Failed, Point, seal_of, sealed, swept, wrong_in_manifest

DIGEST = "0123456789abcdef" * 4
FILE = {"bytes": 3, "sha256": DIGEST}
SEAL: dict[str, Any] = {
    "key": "k", "seed": 1, "digest": DIGEST, "wall_s": 0.5, "build": "b", "files": {"flows.parquet": FILE}, "note": 7,
}  # fmt: skip
RUN = {"key": "k", "point": 0, "seed": 1, "digest": DIGEST, "wall_s": 0.5}
MANIFEST: dict[str, Any] = {
    "title": "t",
    "complete": True,
    "seeds": [1, 2],
    "scenarios": [{}],
    "points": [{"labels": {}, "scenario": {}}, {"labels": {}, "scenario": {}}],
    "runs": [RUN, {**RUN, "point": 1}],
    "planned": [["k", 0, 1], ["l", 1, 2]],
    "failed": [{"key": "k", "point": 1, "seed": 0, "error": "e"}],
    "precision": [{"point": 1, "seeds": 3, "widths": {}, "reached": False}],
    "environment": {"haltere": "1", "build": "b", "git": "", "python": "3", "platform": "p", "more": 1},
}


def read(**changes: Any) -> dict[str, Any] | None:
    """The checksum file with these changes, as the store reads it."""
    return seal_of(json.dumps(SEAL | changes).encode(), "k")


@pytest.mark.parametrize(
    "changes",
    [
        {}, {"seed": 0}, {"seed": 2**64 - 1}, {"wall_s": 0}, {"wall_s": 7}, {"other": [1]},
        {"files": {"flow_series2.parquet": FILE}}, {"files": {"Left-1.b_c.pcapng": {**FILE, "bytes": 0}, "_x.qlog": FILE}},
    ],
)  # fmt: skip
def test_a_checksum_file_of_this_form_is_read(changes: dict[str, Any]) -> None:
    assert read(**changes) == SEAL | changes
    assert seal_of(json.dumps(sealed(SEAL | changes)).encode(), "k") == sealed(SEAL | changes)


@pytest.mark.parametrize(
    "changes",
    [
        {"key": "l"}, {"key": 1}, {"seed": -1}, {"seed": 2**64}, {"seed": True}, {"seed": 1.0}, {"wall_s": -0.1},
        {"wall_s": math.nan}, {"wall_s": math.inf}, {"wall_s": True}, {"wall_s": "1"}, {"digest": DIGEST[1:]},
        {"digest": DIGEST + "0"}, {"digest": DIGEST.upper()}, {"digest": None}, {"files": {}}, {"files": [FILE]},
        {"files": {"x": FILE}}, {"files": {"A.parquet": FILE}}, {"files": {".x.qlog": FILE}}, {"files": {"a/b.qlog": FILE}},
        {"files": {"a.parquet.b": FILE}}, {"files": {"a.qlog": 3}}, {"files": {"a.qlog": {**FILE, "bytes": -1}}},
        {"files": {"a.qlog": {"bytes": 3}}}, {"files": {"flows.parquet": FILE, "a.qlog": {"sha256": DIGEST}}}, {"sha256": DIGEST},
    ],
)  # fmt: skip
def test_a_checksum_file_of_another_form_is_as_none(changes: dict[str, Any]) -> None:
    assert read(**changes) is None


def test_a_checksum_file_that_is_not_there_or_no_table_is_as_none() -> None:
    assert seal_of(None, "k") is None and seal_of(b"{", "k") is None and seal_of(b"[]", "k") is None


def test_a_manifest_may_lack_what_an_earlier_call_did_not_need() -> None:
    assert wrong_in_manifest(MANIFEST) == ""
    needed = ["title", "complete", "seeds", "scenarios", "points", "runs", "environment"]
    assert wrong_in_manifest({name: MANIFEST[name] for name in needed}) == ""
    for name in needed:
        assert wrong_in_manifest({key: value for key, value in MANIFEST.items() if key != name}) == f"`{name}`"


@pytest.mark.parametrize(
    ("name", "place", "values"),
    [
        ("seeds", 1, [-1, 2**64, True, "1"]),
        ("scenarios", 0, [[]]),
        ("points", 1, [1, {"labels": {}}, {"labels": [], "scenario": {}}, {"labels": {}, "scenario": 1}]),
        ("runs", 1, [3, {**RUN, "key": 1}, {**RUN, "point": 2}, {**RUN, "point": -1}, {**RUN, "seed": -1}, {**RUN, "wall_s": -1}]),
        ("planned", 1, [3, ["k", 0], ["k", 0, 1, 2], [1, 0, 1], ["k", 2, 1], ["k", 0, -1]]),
        ("failed", 0, [3, {**MANIFEST["failed"][0], "more": 1}, {"key": "k", "point": 0, "seed": 1}]),
        ("failed", 0, [{**MANIFEST["failed"][0], name: value} for name, value in (("key", 1), ("point", 2), ("seed", -1), ("error", 1))]),
        ("precision", 0, [3, *({**MANIFEST["precision"][0], name: value} for name, value in (("point", 2), ("seeds", -1), ("widths", []), ("reached", 1)))]),
    ],
)  # fmt: skip
def test_the_element_that_is_malformed_is_named(name: str, place: int, values: list[Any]) -> None:
    for value in values:
        wrong = [*MANIFEST[name][:place], value, *MANIFEST[name][place + 1 :]]
        assert wrong_in_manifest(MANIFEST | {name: wrong}) == f"`{name}[{place}]`", value


@pytest.mark.parametrize("name", ["planned", "failed", "precision"])
def test_what_a_manifest_may_lack_is_a_list_if_it_is_there(name: str) -> None:
    assert wrong_in_manifest(MANIFEST | {name: {}}) == f"`{name}`"


@pytest.mark.parametrize("name", ["haltere", "build", "git", "python", "platform"])
def test_the_environment_has_each_version(name: str) -> None:
    all_five = {key: value for key, value in MANIFEST["environment"].items() if key != "more"}
    assert wrong_in_manifest(MANIFEST | {"environment": all_five}) == ""
    some = {key: value for key, value in MANIFEST["environment"].items() if key != name}
    assert wrong_in_manifest(MANIFEST | {"environment": some}) == "`environment`"


def test_a_run_is_the_same_from_its_checksum_file_and_from_the_manifest() -> None:
    done = Done.of_seal(sealed(SEAL), 1)
    assert done == Done("k", 1, 1, DIGEST, 0.5, {"note": 7})
    assert done.to_dict() == {**RUN, "point": 1, "note": 7} and Done.of_dict(done.to_dict()) == done
    assert Failed("k", 1, 2, "e").to_dict() == {"key": "k", "point": 1, "seed": 2, "error": "e"}


def test_the_name_of_a_point_has_kinds_and_values() -> None:
    labels = {"a.queue": {"kind": "red", "limit": "9p"}, "a.count": 4, "a.table": {"x": 1}, "a.rate": "1Mbit"}
    assert Point(0, labels, {}).name == 'queue=red count=4 table={"x": 1} rate=1Mbit' and Point(0, {}, {}).name == "all"
    assert swept({"x": 1}) == '{"x": 1}'
