"""Printed output in the documents is that of a new run, and the tables of a study are those of its stored output."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest

import pages


@pytest.mark.parametrize(
    "path", [path for path in pages.PAGES if pages.OUTPUT.search(path.read_text())], ids=lambda path: path.stem
)
def test_the_output_in_a_page_is_that_of_a_new_run(path: Path, tmp_path: Path) -> None:
    text = path.read_text()
    assert pages.with_outputs(text, tmp_path) == text, "run `make pages`"


@pytest.mark.parametrize(
    "path", [path for path in pages.PAGES if pages.TABLE.search(path.read_text())], ids=lambda path: path.parent.name
)
def test_the_tables_of_a_study_are_those_of_its_stored_output(path: Path) -> None:
    text = path.read_text()
    assert pages.with_tables(text, path.parent) == text, "run `make pages`"


#: The studies whose page is made from a stored run.
MADE = [study for study in pages.SAMPLE if (pages.ROOT / "papers" / study / pages.STORED).is_file()]


@pytest.mark.slow
@pytest.mark.parametrize("study", MADE)
def test_a_study_s_page_is_of_runs_that_this_build_still_makes(study: str) -> None:
    """Short runs of its experiment files have the digests that they had when its page was made."""
    stored = json.loads((pages.ROOT / "papers" / study / pages.STORED).read_text())
    assert stored["digests"] == pages.digests(study), f"run `python tools/pages.py --study {study}`"


@pytest.mark.parametrize("study", MADE)
def test_what_a_page_is_drawn_from_is_small_and_has_all_its_findings(study: str) -> None:
    path = pages.ROOT / "papers" / study / pages.STORED
    stored = json.loads(path.read_text())
    assert path.stat().st_size < 150_000 and stored["study"] == study and not stored["left_out"]
    page = (path.parent / "README.md").read_text()
    primary = [one for one in stored["findings"] if not one["reading"]]
    assert primary and all(f"| {one['text'].replace('|', chr(92) + '|')} |" in page for one in primary)


@pytest.mark.parametrize("study", [one for one in MADE if (pages.ROOT / "papers" / one / pages.WITH_LINUX).is_file()])
def test_the_column_with_linux_s_tcp_is_that_of_its_stored_runs(study: str) -> None:
    home = pages.ROOT / "papers" / study
    stored, told = (json.loads((home / name).read_text()) for name in (pages.STORED, pages.WITH_LINUX))
    for table in stored["tables"]:
        drawn = copy.deepcopy(table)
        pages.put_linux(drawn, told)
        assert drawn == table, table["name"]
    table = next(one for one in stored["tables"] if one["name"] == "findings")
    assert any(row[table["columns"].index("with Linux's TCP")] != "–" for row in table["rows"])
    for name, linux in told.get("tables", {}).items():
        table = next(one for one in stored["tables"] if one["name"] == name)
        printed = json.dumps(table, ensure_ascii=False)
        assert linux["rows"] and "Linux:" in printed and all(row[-1] in printed for row in linux["rows"]), name


def test_an_output_is_written_between_its_marks_and_keeps_the_lines_that_are_asked_for(tmp_path: Path) -> None:
    page = "# A\n\n<!-- output: haltere explain codel | ^codel -->\n```text\nold\n```\n\nB\n"
    text = pages.with_outputs(page, tmp_path)
    assert text.startswith("# A\n\n<!-- output: haltere explain codel | ^codel -->\n```text\ncodel")
    assert text.endswith("\n```\n\nB\n") and "old" not in text
    assert pages.with_outputs(text, tmp_path) == text


def test_a_command_that_fails_and_lines_that_are_missing_are_errors(tmp_path: Path) -> None:
    for command, error in (
        ("haltere explain nothing", "unknown|nothing"),
        ("haltere explain codel | xyzzy", "no line"),
    ):
        with pytest.raises(SystemExit, match=error):
            pages.with_outputs(f"<!-- output: {command} -->\n```text\n```\n", tmp_path)


def test_a_table_is_drawn_from_the_stored_output(tmp_path: Path) -> None:
    finding = {"text": "x | y", "paper": "1", "ours": "2 ± 1", "verdict": "held", "why": "so", "reading": ""}
    stored = {
        "findings": [finding, {**finding, "reading": "another"}],
        "tables": [{"name": "Medians", "columns": ["queue", "ms"], "rows": [["red", "1.0 ± 0.1"], ["pie", "–"]]}],
    }
    (tmp_path / "reproduced.json").write_text(json.dumps(stored))
    page = "<!-- table: {} of reproduced.json -->\nold\n<!-- table: end -->\n"
    assert "\n\n| queue | ms |\n|---|--:|\n| red | 1.0 ± 0.1 |\n| pie | – |\n\n<!--" in pages.with_tables(
        page.format("Medians"), tmp_path
    )
    assert "| x \\| y | 1 | 2 ± 1 | held | so |\n\n<!--" in pages.with_tables(page.format("findings"), tmp_path)
    with pytest.raises(SystemExit, match="one of Medians, got `Means`"):
        pages.with_tables(page.format("Means"), tmp_path)


def test_a_table_without_rows_has_nothing_of_linux(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    empty = {"name": "empty", "columns": ["a"], "rows": []}
    home = tmp_path / "papers" / "study"
    home.mkdir(parents=True)
    (home / pages.STORED).write_text(json.dumps({"tables": [empty]}))
    monkeypatch.setattr(pages, "ROOT", tmp_path)
    monkeypatch.setattr(pages, "run", lambda *_: {"findings": [], "tables": [empty]})
    monkeypatch.setattr(pages, "write", lambda *_: None)
    pages.with_linux("study", tmp_path / "out")
    assert json.loads((home / pages.WITH_LINUX).read_text())["tables"] == {}
