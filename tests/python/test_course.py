"""The course: its labs can be run as written, their answers are measured, and a check judges what a student wrote."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest

from conftest import haltere
from haltere import course, templates


def command(*words: str | Path, folder: Path, status: int = 0) -> str:
    done = haltere(*words, cwd=folder, timeout=600)
    assert done.returncode == status, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("course")
    command("new", "course", folder=where)
    return where / "course"


def test_each_lab_has_its_page_its_notebook_its_experiment_and_a_blank_for_answers(folder: Path) -> None:
    for place, name in enumerate(course.LABS, 1):
        inside, lab = folder / f"{place}-{name}", course.find(name)
        assert {"README.md", "lab.ipynb", "answers.toml", lab.template.path.name} == {
            one.name for one in inside.iterdir()
        }
        blank = tomllib.loads((inside / "answers.toml").read_text())
        assert list(blank) == [one.id for one in lab.questions] and set(blank.values()) == {""}
        notebook = json.loads((inside / "lab.ipynb").read_text())
        code = [one for one in notebook["cells"] if one["cell_type"] == "code"]
        assert len(code) >= 3 and notebook["nbformat"] == 4
        assert any(one["source"].startswith("!haltere run ") for one in code)


def test_a_lab_names_only_metrics_and_experiments_that_there_are() -> None:
    for name in course.LABS:
        lab = course.find(name)
        assert lab.template in templates.every()
        for one in lab.questions:
            assert one.text and one.why and (0 <= one.right < len(one.choices) if one.choices else one.metric)
        assert re.findall(r"^haltere run (\S+)", lab.text, re.M)[0] == lab.template.path.name


def test_answers_are_measured_and_a_student_is_judged_by_them(folder: Path) -> None:
    inside = folder / "6-incast"
    printed = command("course", "answers", inside, folder=folder)
    answers = {line.split()[0]: line.split()[1] for line in printed.splitlines() if re.match(r"q\d ", line)}
    assert float(answers["q2"]) > 200 > 50 > float(answers["q3"])
    given = {**answers, "q1": "100", "q5": "a"}
    lines = [f'{key} = "{value}"' for key, value in given.items()]
    (inside / "answers.toml").write_text("\n".join(lines))
    judged = command("course", "check", inside, folder=folder, status=1)
    assert re.search(r"^q1 +100 +too high$", judged, re.M) and re.search(r"^q5 +a +no$", judged, re.M)
    assert "3 of 5 answers are right." in judged
    (inside / "answers.toml").write_text("\n".join(f'{key} = "{value}"' for key, value in answers.items()))
    assert "5 of 5" in command("course", "check", inside, folder=folder)


@pytest.mark.slow
@pytest.mark.parametrize("place", range(1, len(course.LABS) + 1))
def test_every_lab_has_answers_with_intervals(folder: Path, place: int) -> None:
    printed = command("course", "answers", folder / f"{place}-{course.LABS[place - 1]}", folder=folder)
    assert sum(bool(re.match(r"q\d ", line)) for line in printed.splitlines()) == 5
    assert "nan" not in printed


def test_what_is_no_lab_and_a_folder_that_is_there_are_refused(folder: Path) -> None:
    def error(*words: str | Path) -> str:
        done = haltere(*words, cwd=folder)
        assert done.returncode == 2
        return done.stderr

    assert "lab must be one of `bufferbloat`" in error("course", "check", folder)
    assert "folder must be a new one" in error("new", "course", folder)
    (folder / "1-bufferbloat" / "answers.toml").write_text("q1 = ")
    assert "file must be TOML" in error("course", "check", folder / "1-bufferbloat")
