"""The checks of the documents: words to avoid, links."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT

LINT = ROOT / "tools" / "lint"
sys.path.insert(0, str(LINT))

import links  # noqa: E402
import words  # noqa: E402


def found(text: str, name: str = "page.md") -> list[str]:
    """What the words to avoid find in a text of that file name."""
    path = Path(name)
    lines = {".md": words.markdown_lines, ".rs": words.rust_lines, ".py": words.python_lines}[path.suffix](text)
    return [hit[0] for _, line in lines for rule in words.rules() for hit in rule.pattern.finditer(line)]


def test_the_documents_avoid_the_words_of_the_list() -> None:
    done = subprocess.run([sys.executable, LINT / "words.py"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout


def test_the_code_that_was_read_avoids_the_words_of_the_list() -> None:
    done = subprocess.run([sys.executable, LINT / "words.py", "--code"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout


def test_every_path_that_is_not_yet_read_exists() -> None:
    assert [path for path in words.UNREAD if not (ROOT / path).exists()] == []


def test_every_link_of_the_documents_leads_somewhere() -> None:
    assert not links.broken(ROOT)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("A nursery of flows.", "nursery"),
        ("40 packets were under way.", "under way"),
        ("Segments that it held lost.", "held lost"),
        ("It must be more than nothing.", "more than nothing"),
        ("It holds the simulator against Linux.", "holds the simulator against"),
        ("It holds each figure up to Linux.", "holds each figure up to"),
        ("What stands there is a backlog.", "stands"),
        ("It stops. Where the rate is 0, it fails.", "Where"),
        ("Run with --anyway then.", "anyway"),
        ("Births draws them.", "Births"),
    ],
)
def test_a_word_of_the_list_is_found(text: str, word: str) -> None:
    assert found(text) == [word]


@pytest.mark.parametrize(
    "text",
    [
        "The sender is reborn, and the bellows and underway are words of their own.",
        "See [decision](0072-flows-that-were-born.md).",
        "Where to go: the place where the file is.",
        "Two flows arrive. Both are marked lost.",
        "A standing queue has a standing delay; a name stands for a table; a stand-in for BMv2.",
        "One frame may hold up to 64 kB, and a receiver holds acknowledgements for up to four packets.",
    ],
)
def test_other_words_and_the_targets_of_links_are_not_found(text: str) -> None:
    assert found(text) == []


def test_a_rule_with_a_capital_letter_is_case_sensitive() -> None:
    rule = words.Rule.parse("Quiet => lazy sender", "words.txt:1")
    assert rule.pattern.search("a Quiet stands") and not rule.pattern.search("a quiet machine")
    assert words.Rule.parse(r"\Bells => x", "words.txt:1").pattern.flags & words.re.IGNORECASE


@pytest.mark.parametrize("line", ["nursery", "nursery => ", " => arrivals", "nurs(ery => arrivals"])
def test_a_rule_that_is_none_is_refused_with_its_place(line: str) -> None:
    with pytest.raises(ValueError, match=r"words\.txt:7: a rule must be"):
        words.Rule.parse(line, "words.txt:7")


def test_of_rust_only_doc_comments_are_read() -> None:
    text = '//! A nursery.\n/// It bears flows.\n// a bell\nlet hands = "born";\n//// a house\n'
    assert found(text, "a.rs") == ["nursery", "bears flows"]


def test_of_python_docstrings_and_texts_are_read() -> None:
    text = '"""A nursery."""\n\n# a bell\nhands = "born"\nprint(f"it {hands} has no chance at all")\n'
    assert found(text, "a.py") == ["nursery", "chance"]


def test_the_changelog_may_quote_old_names(tmp_path: Path) -> None:
    for name in ("CHANGELOG.md", "README.md"):
        (tmp_path / name).write_text("`--anyway` is now `--ignore-calibration`.\n")
    hits = words.check(tmp_path, False, words.rules())
    assert [str(hit) for hit in hits] == ["README.md:1: `anyway`: write --ignore-calibration"]


def test_documents_fail_without_code_and_code_with_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "crates").mkdir()
    (tmp_path / "crates" / "a.rs").write_text("//! It is told.\n")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "glossary.md").write_text("nursery\n")
    assert words.main(["--root", str(tmp_path)]) == 0
    assert words.main(["--root", str(tmp_path), "--code"]) == 1
    shown = capsys.readouterr()
    assert shown.out.startswith("crates/a.rs:1: `told`: write reported") and shown.err.startswith("1 words to replace")


def test_paths_that_are_not_yet_read_are_checked_with_all(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(words, "UNREAD", ("crates/a/src", "CONTRIBUTING.md"))
    for name in ("crates/a/src/tcp/b.rs", "crates/a/srcs/c.rs", "CONTRIBUTING.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("/// It is told.\n")
    assert words.main(["--root", str(tmp_path), "--code"]) == 1
    shown = capsys.readouterr()
    assert shown.out.startswith("crates/a/srcs/c.rs:1: ") and shown.err.startswith("1 words")
    assert words.main(["--root", str(tmp_path), "--code", "--all"]) == 1
    assert capsys.readouterr().err.startswith("3 words")


def test_a_heading_has_the_anchor_that_github_gives_it() -> None:
    assert links.slug("Does RAFLE work, and with *which* memory?") == "does-rafle-work-and-with-which-memory"
    assert links.slug("`make lint` of [docs](docs/a.md)") == "make-lint-of-docs"


def test_links_to_missing_files_and_headings_are_found(tmp_path: Path) -> None:
    (tmp_path / "b.md").write_text("# One\n# One\n```\n# Not a heading\n```\n")
    good = '[a](b.md) [b](b.md#one-1) ![c](<b.md> "title") [d](#top) [e](https://example.org/x#y) `[f](none.md)`\n'
    (tmp_path / "a.md").write_text(f"# Top\n{good}```\n[g](none.md)\n```\n")
    assert links.broken(tmp_path) == []
    (tmp_path / "a.md").write_text("[a](none.md)\n\n[b](b.md#not-a-heading) [c](#top)\n[d]: gone.md\n")
    assert links.broken(tmp_path) == [
        "a.md:1: link `none.md` must name an existing file",
        "a.md:3: link `b.md#not-a-heading` must name a heading of b.md",
        "a.md:3: link `#top` must name a heading of a.md",
        "a.md:4: link `gone.md` must name an existing file",
    ]
