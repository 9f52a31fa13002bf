"""HTB and DRR with classes: the key `classes` of a scenario as a discipline of Haltere."""

from __future__ import annotations

import pytest

from haltere.validate.tc import queue_of_classes
from haltere.validate.tc_words import NotTranslated


def test_a_class_of_htb_may_borrow_up_to_its_ceiling() -> None:
    queue = queue_of_classes({"kind": "htb", "classes": [{"rate": 7}, {"rate": 2, "ceil": 4, "prio": 1}]}, 10)
    one, two = queue["classes"]
    assert (queue["kind"], queue["rate"]) == ("htb", "10Mbit")
    assert (one["rate"], one["ceil"], one["priority"], one["match"]) == ("7Mbit", "10Mbit", 0, {"dscp": [0, 1]})
    assert (two["rate"], two["ceil"], two["priority"], two["match"]) == ("2Mbit", "4Mbit", 1, {"dscp": [2]})


def test_a_class_of_drr_has_a_quantum_and_no_rate() -> None:
    queue = queue_of_classes({"kind": "drr", "classes": [{}, {"quantum": 4542}]}, 10)
    assert "rate" not in queue
    assert [one["quantum"] for one in queue["classes"]] == ["1514B", "4542B"]
    assert all("rate" not in one for one in queue["classes"])


def test_other_disciplines_are_refused() -> None:
    with pytest.raises(NotTranslated, match="kind must be `htb` or `drr`, got `hfsc`"):
        queue_of_classes({"kind": "hfsc", "classes": []}, 10)
