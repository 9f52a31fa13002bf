"""How `haltere validate` reads the text of `tc` for fair queues, CHOKe, SFB, CAKE and TBF, and the sets H and I."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from haltere.validate.load import Case
from haltere.validate.scenario import normal
from haltere.validate.tc import parse_qdisc
from haltere.validate.tc_words import NotTranslated
from haltere.validate.translate import translate

RECIPE = Path(__file__).parents[2] / "validation" / "sets.py"


@pytest.mark.parametrize(
    ("text", "params"),
    [
        ("fq_pie ecn alpha 4 tupdate 30ms ecn_prob 5", {"kind": "fq_pie", "tupdate": "36ms", "first_update": "500ms", "alpha": 0.25, "ecn_threshold": 0.05, "ecn": True}),
        ("sfq limit 100 divisor 512 headdrop", {"kind": "sfq", "limit": "100p", "flows": 512, "head_drop": True}),
        ("choke limit 200 min 20 max 60 bandwidth 10mbit ecn",
         {"kind": "choke", "limit": "200p", "min": "20p", "max": "60p", "bandwidth": "10000000bit", "ecn": True}),
        ("sfb rehash 500 db 100 increment 0.002", {"kind": "sfb", "limit": "1000p", "ecn": True, "rehash": "500ms", "warmup": "100ms", "increment": 131 / 65535}),
        ("tbf rate 10mbit burst 5kb latency 50ms peakrate 20mbit minburst 2000",
         {"kind": "tbf", "rate": "10000000bit", "burst": "5120B", "latency": "50ms", "peakrate": "20000000bit", "mtu": "2000B"}),
        ("fq orphan_mask 255 quantum 3028 maxrate 1mbit", {"kind": "fq", "flows": 256, "quantum": "3028B", "maxrate": "1000000bit"}),
        # An overhead begins with the network layer's length, so the Ethernet header goes.
        ("cake bandwidth 10mbit besteffort dual-srchost overhead 44 atm ack-filter",
         {"kind": "cake", "bandwidth": "10000000bit", "diffserv": "besteffort", "isolation": "dual-srchost", "overhead": 30, "framing": "atm",
          "ack_filter": "on"}),
        ("cake unlimited ingress", {"kind": "cake"}),
        ("sfq limit 50 perturb 10", {"kind": "sfq", "limit": "50p"}),
    ],
)  # fmt: skip
def test_text_of_tc(text: str, params: dict[str, Any]) -> None:
    assert parse_qdisc(text).as_dict() == params


@pytest.mark.parametrize("text", ["sfq redflowlimit 10", "cake autorate-ingress", "hhf limit 10"])
def test_what_is_not_known_is_refused_by_name(text: str) -> None:
    with pytest.raises(NotTranslated, match=text.split()[0 if text.startswith("hhf") else 1]):
        parse_qdisc(text)


def recipe() -> list[dict[str, Any]]:
    made = subprocess.run([sys.executable, RECIPE], capture_output=True, text=True, check=True)
    return list(json.loads(made.stdout))


def test_the_recipe_makes_what_is_stored() -> None:
    every = {scenario["name"]: normal(scenario) for scenario in recipe()}
    stored = [path for of in "HI" for path in (RECIPE.parent / "linux" / of).glob("*.json")]
    assert stored
    for path in stored:
        assert normal(json.loads(path.read_text())["scenario"]) == every[path.stem], path


def test_a_discipline_that_shapes_is_alone_on_a_fast_link() -> None:
    (scenario,) = [one for one in recipe() if one["name"] == "H_tbf_tail_r1"]
    links = translate(Case("x", "H", normal(scenario)), 1)["topology"]["graph"]["links"]
    found = [way.get("queue") or {} for link in links for way in (link, link["reverse"])]
    (queue,) = [queue for queue in found if queue.get("kind") == "tbf"]
    assert queue == {"kind": "tbf", "rate": "10000000bit", "burst": "15000B", "limit": "60000B"}
