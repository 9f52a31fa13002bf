"""`haltere course`: judges the answers of a lab, or prints the instructor's."""

from __future__ import annotations

import argparse
import tomllib
from pathlib import Path

from ..errors import InputError
from ._common import Commands


def add(to: Commands) -> None:
    """Adds to the command line."""
    to.add("course", _course, what=("check", "answers"), lab=Path)


def _course(args: argparse.Namespace) -> int:
    from .. import course
    from ..report.document import Document, Table

    lab = course.find(args.lab.resolve().name.partition("-")[2] or args.lab.name)
    given = _given(args.lab / "answers.toml") if args.what == "check" else {}
    answers = lab.answers(args.lab)
    if args.what == "answers":
        rows = [[one.question.id, one.text, one.question.why] for one in answers]
        print(Document(lab.title, [Table("answers", "", ["question", "answer", "why"], rows, left=3)]).text())
        return 0
    judged = [
        (one.question, given.get(one.question.id, ""), *one.judge(given.get(one.question.id, ""))) for one in answers
    ]
    rows = [[question.id, str(value), word] for question, value, _, word in judged]
    print(Document(lab.title, [Table("check", "", ["question", "your answer", "verdict"], rows, left=3)]).text())
    right = sum(is_right for _, _, is_right, _ in judged)
    print(f"\n{right} of {len(judged)} answers are right.")
    return 0 if right == len(judged) else 1


def _given(path: Path) -> dict[str, object]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError:
        raise InputError(f"{path}: file must exist; `haltere new course` writes it") from None
    except ValueError as error:
        raise InputError(f"{path}: file must be TOML, got `{error}`") from None
