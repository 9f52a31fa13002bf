"""The study `dctcp-hysteresis`: DCTCP with two marking thresholds and with marked copies returned to the sender.

Source: V. L. G. Silva, J. A. M. Nacif and M. A. M. Vieira, "Data Center TCP com Histerese em Switches P4". `papers/dctcp-hysteresis/README.md`
says what the paper leaves open and how it is read here. Here are the runs; what they show is in two modules beside this one.
"""

from __future__ import annotations

from ...report.document import Document, Text
from ...runs.results import Results
from ..base import Options, Outcome
from . import cases, paper

ID = "dctcp-hysteresis"
#: Seeds of the primary reading, of the others, and of --quick.
SEEDS, OTHER_SEEDS, QUICK_SEEDS = 100, 10, 5


def reproduce(options: Options) -> Outcome:
    """Runs the study and checks its findings."""
    left_out = "the scan of the rates and most other readings" if options.quick else ""
    left_out += "; all but 5 seeds" if options.quick and options.seeds is None else ""
    document = Document("dctcp-hysteresis: DCTCP with two thresholds and with returned packets")
    if left_out:
        document.add(Text(f"Left out by --quick: {left_out}."))
    return Outcome(ID, document, paper.show(_run(options), document), left_out)


def _run(options: Options) -> list[Results]:
    """The primary reading with all seeds, then the others and the scan of the rates with fewer."""
    seeds = options.seeds or (QUICK_SEEDS if options.quick else SEEDS)
    few = min(seeds, OTHER_SEEDS)
    groups = [("paper", list(cases.scenarios([cases.PRIMARY])), seeds)]
    if not options.linux:
        groups.append(("readings", list(cases.scenarios(cases.QUICK if options.quick else cases.READINGS)), few))
    if not (options.quick or options.linux):
        groups.append(("scan", list(cases.scenarios((*cases.SCAN, *cases.OTHERS), returned=False)), few))
    made = []
    for part, each, count in groups:
        scenarios, labels = zip(*each, strict=True)
        made.append(options.run(scenarios, labels, seeds=count, title="Cases A to E of the paper", part=part))
    return made
