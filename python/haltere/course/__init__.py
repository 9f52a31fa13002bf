"""Six labs of 45 minutes: ``haltere new course`` writes them, ``haltere course check`` judges the answers, ``haltere course answers`` has the instructor's.

A lab is two files here: ``NAME.md``, its text, which is also its notebook, and ``NAME.toml``, its questions. Its experiment is a starter
of ``haltere new``. The right answers are measured by running that experiment, so they have intervals and are never written down.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from .. import templates
from ..errors import InputError, nearest

__all__ = ["LABS", "Answer", "Lab", "Question", "find", "write"]

HERE = Path(__file__).parent
#: The labs in the order of the course.
LABS = ("bufferbloat", "fairness", "aqm", "bbr", "l4s", "incast")
#: Seeds of each answer; the pages run as many.
SEEDS = 10
_CODE = re.compile(r"^```(python|sh)\n(.*?)^```\n", re.M | re.S)


@dataclass(frozen=True)
class Question:
    """A question: its answer is a number that runs tell, or one of the choices."""

    id: str
    text: str
    #: What is measured: a metric, or the quotient of a metric at two points (``of`` over ``to``).
    metric: str = ""
    of: str = ""
    to: str = ""
    unit: str = ""
    #: A number may differ by this much from the mean, beside its interval.
    within: float = 0.1
    choices: tuple[str, ...] = ()
    right: int = 0
    why: str = ""


@dataclass(frozen=True)
class Answer:
    """What the runs say: a number with its interval, or the right choice."""

    question: Question
    value: float | str
    half: float = 0.0

    @property
    def text(self) -> str:
        """As the instructor's page has it."""
        if isinstance(self.value, str):
            return self.value
        return f"{self.value:.3g} ± {self.half:.2g} {self.question.unit}".rstrip()

    def judge(self, given: Any) -> tuple[bool, str]:
        """Whether the student's answer is right, and a word on it."""
        if given in ("", None):
            return False, "not answered"
        if isinstance(self.value, str):
            return str(given).strip().lower() == self.value, "right" if str(
                given
            ).strip().lower() == self.value else "no"
        try:
            number = float(given)
        except (TypeError, ValueError):
            return False, "must be a number"
        is_near = abs(number - self.value) <= max(self.half, self.question.within * abs(self.value))
        return is_near, "right" if is_near else "too high" if number > self.value else "too low"


@dataclass(frozen=True)
class Lab:
    """One of the labs."""

    name: str

    @cached_property
    def _spec(self) -> dict[str, Any]:
        return tomllib.loads((HERE / f"{self.name}.toml").read_text(encoding="utf-8"))

    @property
    def text(self) -> str:
        """The lab's page."""
        return (HERE / f"{self.name}.md").read_text(encoding="utf-8")

    @property
    def title(self) -> str:
        """The heading of the page."""
        return self.text.partition("\n")[0].removeprefix("# ")

    @property
    def template(self) -> templates.Template:
        """Its experiment."""
        return templates.find(self._spec["experiment"])

    @cached_property
    def questions(self) -> list[Question]:
        """All questions, in order."""
        return [Question(**{**one, "choices": tuple(one.get("choices", ()))}) for one in self._spec["question"]]

    def blank(self) -> str:
        """The file that a student fills in."""
        place = LABS.index(self.name) + 1
        lines = [f"# Answers of the lab `{self.name}`. `haltere course check {place}-{self.name}` judges them.", ""]
        for one in self.questions:
            lines += [f"# {line}" for line in one.text.strip().splitlines()]
            lines += [f"#   {letter}: {choice}" for letter, choice in zip("abcdef", one.choices, strict=False)]
            lines += [f'{one.id} = ""' + (f"   # in {one.unit}" if one.unit else ""), ""]
        return "\n".join(lines)

    def notebook(self) -> str:
        """The page as a Jupyter notebook: its code blocks are cells."""
        cells: list[dict[str, Any]] = []

        def add(kind: str, source: str) -> None:
            if source.strip():
                extra: dict[str, Any] = {"outputs": [], "execution_count": None} if kind == "code" else {}
                number = f"{self.name}-{len(cells)}"
                cells.append({"cell_type": kind, "id": number, "metadata": {}, "source": source.strip(), **extra})

        end = 0
        for block in _CODE.finditer(self.text):
            add("markdown", self.text[end : block.start()])
            add("code", block[2] if block[1] == "python" else re.sub(r"^(?=haltere )", "!", block[2], flags=re.M))
            end = block.end()
        add("markdown", self.text[end:])
        kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
        return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": kernel, "cells": cells}, indent=1) + "\n"

    def answers(self, folder: Path, quiet: bool = False) -> list[Answer]:
        """The right answers, by running the experiment in that folder; finished runs are not repeated."""
        from ..analysis import metrics, stats
        from ..analysis.compare import Side
        from ..analysis.measures import Run
        from ..api import Scenario

        results = Scenario.load(folder / self.template.path.name).run(SEEDS, out=folder / "results", quiet=quiet)

        def values(metric: str, point: str) -> list[float]:
            side = Side.of(f"{results.where}@{point}" if point else results.where)
            wanted = {one.index for one in side.points}
            runs = [
                Run(side.results, run)
                for run in sorted(side.results.runs, key=lambda run: run.seed)
                if run.point in wanted
            ]
            return [metrics.named(run, metric) for run in runs]

        out = []
        for one in self.questions:
            if one.choices:
                out.append(Answer(one, "abcdef"[one.right]))
                continue
            some = values(one.metric, one.of)
            if one.to:
                some = [above / below for above, below in zip(some, values(one.metric, one.to), strict=True)]
            mean = stats.mean(some).scaled(1.0 if one.to else metrics.metric(one.metric).printed[0])
            out.append(Answer(one, mean.mean, 0.0 if mean.n < 2 else mean.half))
        return out


def find(name: str) -> Lab:
    """The lab of that name."""
    if name not in LABS:
        raise InputError(
            f"lab must be one of {', '.join(f'`{one}`' for one in LABS)}, got `{name}`{nearest(name, LABS)}"
        )
    return Lab(name)


def write(folder: Path) -> list[Path]:
    """Writes the course into a new folder."""
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        raise InputError(f"{folder}: folder must be a new one, got one that is there") from None
    except OSError as error:
        raise InputError(f"{folder}: folder must be writable, got `{error.strerror}`") from None
    paths = []
    for place, name in enumerate(LABS, 1):
        lab, inside = Lab(name), folder / f"{place}-{name}"
        inside.mkdir()
        files: Mapping[str, str] = {
            "README.md": lab.text,
            "lab.ipynb": lab.notebook(),
            "answers.toml": lab.blank(),
            lab.template.path.name: lab.template.text,
        }
        for file, text in files.items():
            (inside / file).write_text(text, encoding="utf-8")
            paths.append(inside / file)
    (folder / "README.md").write_text(_contents(), encoding="utf-8")
    return [folder / "README.md", *paths]


def _contents() -> str:
    labs = "\n".join(f"{place}. [{Lab(name).title}]({place}-{name}/README.md)" for place, name in enumerate(LABS, 1))
    return f"""# Six labs on how flows share a bottleneck

Each lab takes about 45 minutes: read its page, run its experiment, look, answer. `lab.ipynb` is the same page as a notebook.

{labs}

Fill in `answers.toml` of a lab, then let it be judged:

```sh
haltere course check 1-bufferbloat
```

Numbers are right within a tenth, or within the interval of the runs. The same seeds give the same numbers on every machine.
Instructors get the right answers, with intervals and reasons, from `haltere course answers 1-bufferbloat`.
"""
