"""The test cases of draft-ietf-ccwg-bbr-06, appendix A, for our BBRv3: each is a run of one flow.

    python tools/bbr_draft                                              all of them; the page is in results/bbr-draft
    python tools/bbr_draft --only A.10 --set probe_rtt_interval=2s      one, with a parameter

The draft's cases are about phases and variables of one flow. A run has no random draws but those of the sender, so one seed is enough. Three experiments
let something happen when the flow enters a phase; the plain one, which is run first, tells when that is.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from haltere.analysis.measures import Run
from haltere.api import Scenario, parse_setting
from haltere.characterize.files import replaced
from haltere.errors import InputError
from haltere.report.document import Bullets, Document, Heading, Table, Text
from haltere.studies import Options

from . import paths
from .cases import CASES, FILE, Case
from .trace import NotReached, Trace

_SEED = 1
_WORDS = {True: "held", False: "not held", None: "condition not reached"}
_CARE = (
    "The appendix expects what an implementation's variables show. They are sampled every 5 ms, an eighth of a round trip (A.1, A.3, A.4, A.5, A.8 and A.10: every ms): what lasts less is not seen.",
    "A.7 is about STARTUP here; PROBE_UP under the same conditions is the beginning of A.6.",
    "That state is saved upon loss (A.18, A.19) is seen by its being restored; tests of the control's own module see it itself.",
)


def tested(settings: Mapping[str, Any], options: Options, only: Sequence[str] = ()) -> Document:
    """Runs the cases (`only`: these, such as `A.3`) with `bbr3`, its parameters as in `settings`."""
    numbers = [case.number for case in CASES]
    for number in only:
        if number not in numbers:
            raise InputError(f"--only must be one of {', '.join(numbers)}, got `{number}`")
    chosen = [case for case in CASES if not only or case.number in only]
    traces = _traces({"kind": "bbr3", **settings}, {case.experiment for case in chosen}, options)
    done = [(case, _checks(case, traces[case.experiment])) for case in chosen]
    return _document(", ".join(["bbr3", *(f"{key}={value}" for key, value in settings.items())]), done)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", default=[], metavar="CASE")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--out", type=Path, default=Path("results/bbr-draft"))
    args = parser.parse_args()
    document = tested(dict(map(parse_setting, args.set)), Options(out=args.out), args.only)
    document.write(args.out)
    print(document.text())


def _traces(control: Mapping[str, Any], wanted: set[str], options: Options) -> dict[str, Trace]:
    known = {key: paths.experiment(**one) for key, one in FILE["experiments"].items()}
    first = {key: one for key, one in known.items() if key in wanted or (key == "plain" and not wanted <= set(known))}
    traces = _run(control, first, options, "first")
    if not wanted <= set(known):
        second = {key: one for key, one in paths.derived(traces["plain"]).items() if key in wanted}
        traces |= _run(control, second, options, "second")
    return traces


def _run(
    control: Mapping[str, Any], experiments: Mapping[str, dict[str, Any]], options: Options, stage: str
) -> dict[str, Trace]:
    scenarios = []
    for key, one in experiments.items():
        filled = replaced(one, "OWN", control) | {"title": f"draft-ietf-ccwg-bbr: {key}"}
        scenarios.append(Scenario.from_dict(filled, key))
    labels = [{"experiment": key} for key in experiments]
    title = "Test cases of draft-ietf-ccwg-bbr-06"
    results = options.run(scenarios, labels, seeds=[_SEED], title=title, part=stage)
    return {results.points[done.point].labels["experiment"]: Trace(Run(results, done)) for done in results.runs}


def _checks(case: Case, trace: Trace) -> list[tuple[str, bool | None, str]]:
    try:
        return case.check(trace)
    except NotReached as missing:
        return [("the run comes to the case's state", None, str(missing))]


def _document(name: str, done: Sequence[tuple[Case, Sequence[tuple[str, bool | None, str]]]]) -> Document:
    document = Document(f"{name} by the test cases of draft-ietf-ccwg-bbr-06, appendix A")
    rows = [
        [*((case.number, case.title) if i == 0 else ("", "")), expects, _WORDS[held], figures]
        for case, checks in done
        for i, (expects, held, figures) in enumerate(checks)
    ]
    counts = {word: sum(row[3] == word for row in rows) for word in _WORDS.values()}
    columns = ["case", "title", "expectation", "verdict", "figures"]
    document.add(
        Text(
            f"One flow over {paths.RATE_MBIT:g} Mbit/s with a round-trip time of {paths.RTT_MS:g} ms, if the case says nothing else. "
            f"Of {len(rows)} expectations {counts['held']} held and {counts['not held']} did not; in {counts['condition not reached']} the run did not come to the condition."
        ),
        Table("cases", "Expectations of the draft, in our words", columns, rows, left=5),
        Heading("To be careful about"),
        Bullets(_CARE, care=True),
    )
    return document
