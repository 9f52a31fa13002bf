"""What a release consists of: the files that the wheel takes from the repository, versions that agree, and a site that loads nothing from elsewhere."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

from conftest import ROOT, SMALL, haltere
from haltere import data
from haltere.worlds.kernel import build

DATA = ROOT / "python" / "haltere" / "data"


def tool(path: str) -> ModuleType:
    """A program of `tools` as a module."""
    spec = importlib.util.spec_from_file_location(Path(path).stem, ROOT / "tools" / path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_licences_of_dependencies_are_allowed() -> None:
    licences = tool("release/licences.py")
    assert list(licences.refused()) == []
    assert len(licences.crates()) > 100 and len(licences.packages()[0]) > 20, "they were looked at"
    known = {"MIT", "Zlib"}
    for expression, may in (("MIT OR GPL-3.0", True), ("(MIT OR X) AND Zlib", True), ("MIT/X", True), ("MIT AND X", False), ("none", False),
                            ("MIT WITH X-exception", False)):  # fmt: skip
        assert licences.allowed(expression, known) == may, expression


def in_wheel() -> set[Path]:
    """The files of the repository that `include` takes into the wheel."""
    patterns = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["maturin"]["include"]
    found: set[Path] = set()
    for pattern in patterns:
        if isinstance(pattern, dict):
            continue  # of the source distribution
        # A `**` follows no link, but what stands before it may be one.
        fixed, _, rest = pattern.partition("/**")
        paths = [*Path(ROOT, fixed).glob(f"**{rest}")] if rest else [*ROOT.glob(pattern)]
        files = {path.resolve() for path in paths if path.is_file()}
        assert files, f"pyproject.toml: include `{pattern}` must match a file"
        found |= files
    return {path.relative_to(ROOT) for path in found}


def needed(crate: str, known: set[str]) -> set[str]:
    """The crates of the repository that a crate needs to be compiled."""
    manifest = tomllib.loads((ROOT / "crates" / crate / "Cargo.toml").read_text())
    for name in manifest["dependencies"]:
        if name.startswith("haltere-") and name not in known:
            known |= needed(name, known | {name})
    return known


def test_every_entry_of_the_data_folder_leads_to_the_repository() -> None:
    links = {path.name: path.resolve() for path in DATA.iterdir() if path.is_symlink()}
    assert links and all(path == ROOT / name and path.exists() for name, path in links.items())
    assert data.CHECKOUT and data.root() == ROOT


def test_the_wheel_has_every_study_and_reference() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "packs", "papers", "validation", "kernel", "bpf"], cwd=ROOT, capture_output=True, text=True
    ).stdout.split()
    if not listed:
        pytest.skip("git lists no files: this is no checkout")
    assert {Path(one) for one in listed} <= in_wheel()


def test_the_wheel_has_the_sources_of_the_guest_program() -> None:
    door = tomllib.loads((ROOT / "kernel/door/Cargo.toml").read_text())["dependencies"]
    crates = needed("haltere-kernel", {"haltere-kernel"}) | {name for name in door if name.startswith("haltere-")}
    assert "haltere-lab" not in crates
    wanted = {path.relative_to(ROOT) for crate in crates for path in (ROOT / "crates" / crate / "src").rglob("*.rs")}
    wanted |= {Path("crates", crate, "Cargo.toml") for crate in crates} | {Path("Cargo.toml"), Path("Cargo.lock")}
    assert wanted <= in_wheel()


@pytest.mark.skipif(shutil.which("maturin", path=str(Path(sys.executable).parent)) is None, reason="maturin is missing")
def test_the_source_distribution_has_what_the_extension_includes(tmp_path: Path) -> None:
    maturin = Path(sys.executable).with_name("maturin")
    done = subprocess.run([maturin, "sdist", "--out", tmp_path], cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    with tarfile.open(next(tmp_path.glob("*.tar.gz"))) as archive:
        archive.extractall(tmp_path, filter="data")
    (tree,) = (path for path in tmp_path.iterdir() if path.is_dir())
    missing = [
        f"{source.relative_to(tree)}: {name}"
        for source in (tree / "crates").rglob("src/**/*.rs")
        for name in re.findall(r"include_(?:str|bytes)!\(\s*\"([^\"]+)\"", source.read_text())
        if not (source.parent / name).exists()
    ]
    assert not missing
    assert (tree / "python/haltere/data/papers/aqm-lab/expected.toml").is_file()


def test_a_missing_folder_is_named() -> None:
    with pytest.raises(FileNotFoundError, match="papers/nothing: folder must be"):
        data.folder("papers/nothing")


def test_an_installed_package_builds_kernels_from_a_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "package"
    for name in ("Cargo.toml", "Cargo.lock", "crates/one/src/lib.rs", "kernel/door/Cargo.toml", "bpf/loader.c"):
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text(name)
    monkeypatch.setattr(data, "CHECKOUT", False)
    monkeypatch.setattr(data, "root", lambda: package)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    copy = build._ours()
    assert copy.is_relative_to(tmp_path / "cache")
    before = (copy / "bpf/loader.c").stat().st_mtime_ns
    (package / "crates/one/src/lib.rs").rename(package / "crates/one/src/main.rs")
    (package / "Cargo.toml").write_text("newer")
    assert build._ours() == copy
    assert [path.name for path in (copy / "crates/one/src").iterdir()] == ["main.rs"]
    assert (copy / "Cargo.toml").read_text() == "newer"
    assert (copy / "bpf/loader.c").stat().st_mtime_ns == before, "cargo would compile it again"


#: Modules and functions of Python that another system lacks.
ELSEWHERE = """
import os, sys, sysconfig
sysconfig.get_config_vars()  # of this system
sys.platform = "other"
for name in ("fcntl", "resource", "pwd", "grp", "termios", "tty", "pty"):
    sys.modules[name] = None
for name in ("geteuid", "getuid", "uname", "sched_getaffinity", "killpg", "fork"):
    delattr(os, name)
from haltere.cli import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["--help"], 0, "compare-worlds"),
        (["list", "queues"], 0, "fq_codel"),
        (["run", "small.toml", "--seeds", "1", "--out", "results", "--jobs", "1"], 0, "goodput"),
        (["report", "results"], 0, "report.html"),
        (["kernel", "list"], 2, "kernel: system must be Linux, got other"),
        (["router", "--left", "a", "--right", "b"], 2, "router: system must be Linux, got other"),
        (["shell", "small.toml"], 2, "shell: system must be Linux, got other"),
    ],
)
def test_what_needs_linux_is_refused_in_one_line_elsewhere(
    tmp_path_factory: pytest.TempPathFactory, words: list[str], status: int, said: str
) -> None:
    folder = tmp_path_factory.getbasetemp() / "elsewhere"
    folder.mkdir(exist_ok=True)
    (folder / "small.toml").write_text(SMALL)
    done = subprocess.run([sys.executable, "-c", ELSEWHERE, *words], cwd=folder, capture_output=True, text=True)
    assert (done.returncode, done.stderr.count("\n") if status else 1) == (status, 1), done.stderr
    assert said in (done.stderr if status else done.stdout)


def test_validate_takes_the_references_of_the_package(tmp_path: Path) -> None:
    done = haltere("validate", "--only", "^A_codel_F2$", "--seeds", "1", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "goodput" in done.stdout


@pytest.mark.slow
def test_a_lab_is_executed_for_the_site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("nbclient", "ipykernel"):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is missing: pip install 'haltere[site]'")
    labs = tool("site/labs.py")
    text = (
        "# A lab\n\n```sh\nhaltere list queues\n```\n\n```python\nimport haltere\nhaltere.Scenario.load('small.toml')\n```\n"
        "\nThe end.\n"
    )
    lab = labs.course.find("bufferbloat")
    monkeypatch.setattr(type(lab), "text", text)
    monkeypatch.setattr(labs.course, "LABS", ("bufferbloat",))
    docs, work = tmp_path / "docs", tmp_path / "work"
    (work / "1-bufferbloat").mkdir(parents=True)
    (work / "1-bufferbloat" / "small.toml").write_text(SMALL)
    docs.mkdir()
    with labs.pages(docs, work):
        page = (docs / "labs" / "1-bufferbloat.md").read_text()
    assert page.startswith("# A lab") and page.rstrip().endswith("The end.") and not (docs / "labs").exists()
    assert "```sh\nhaltere list queues\n```" in page and "fq_codel" in page.partition("```text\n")[2]
    assert "```{raw} html" in page and "<svg" in page and "\x1b" not in page


def test_every_file_names_the_same_version() -> None:
    assert not tool("release/versions.py").faults(ROOT, release=False)


CITATION = "version: 1.2.0\ndate-released: 2026-11-23\n"
CHANGELOG = "## [Unreleased]\n\n## [1.2.0] - 2026-11-23\n\n- A change.\n"


@pytest.mark.parametrize(
    ("citation", "changelog", "release", "fault"),
    [
        (CITATION, CHANGELOG, True, None),
        (CITATION.replace("1.2.0", "1.1.0"), CHANGELOG, False, "CITATION.cff: version must be 1.2.0"),
        (CITATION.replace("-23", "-22"), CHANGELOG, False, "date-released must be 2026-11-23"),
        (CITATION, CHANGELOG.replace("1.2.0", "1.1.0"), False, "CHANGELOG.md: version must be 1.2.0"),
        (CITATION, CHANGELOG.replace(" - 2026-11-23", ""), False, "must have a date"),
        (
            CITATION,
            CHANGELOG.replace("[Unreleased]\n", "[Unreleased]\n\n- More.\n"),
            True,
            "[Unreleased] must be empty",
        ),
        (CITATION, CHANGELOG.replace("## [Unreleased]\n", ""), False, "must have a section [Unreleased]"),
    ],
)
def test_versions_that_differ_are_named(
    tmp_path: Path, citation: str, changelog: str, release: bool, fault: str | None
) -> None:
    (tmp_path / "kernel/door").mkdir(parents=True)
    (tmp_path / "Cargo.toml").write_text('[workspace.package]\nversion = "1.2.0"\n')
    (tmp_path / "kernel/door/Cargo.toml").write_text('[package]\nversion = "1.2.0"\n')
    (tmp_path / "pyproject.toml").write_text('[project]\ndynamic = ["version"]\n')
    (tmp_path / "CITATION.cff").write_text(citation)
    (tmp_path / "CHANGELOG.md").write_text(changelog)
    found = tool("release/versions.py").faults(tmp_path, release=release)
    assert (fault in found[0] if found else False) if fault else not found, found


def test_the_paper_cites_what_its_bibliography_has() -> None:
    paper = (ROOT / "docs/paper/paper.md").read_text()
    entries = set(re.findall(r"^@\w+\{(\w+),", (ROOT / "docs/paper/paper.bib").read_text(), re.M))
    assert set(re.findall(r"\[@(\w+)\]", paper)) == entries


@pytest.mark.slow
def test_the_site_is_built_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    for name in ("sphinx", "furo", "myst_parser"):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is missing: pip install 'haltere[site]'")
    done = subprocess.run(
        [sys.executable, ROOT / "tools/site/build.py", tmp_path / "site"], capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stdout + done.stderr
    pages = {str(path.relative_to(tmp_path / "site")) for path in (tmp_path / "site").rglob("*.html")}
    assert {
        "index.html",
        "docs/index.html",
        "docs/tutorial.html",
        "docs/python-api.html",
        "papers/rafle/README.html",
    } <= pages
    assert "Student-t interval" in (tmp_path / "site/docs/python-api.html").read_text()


def test_what_a_page_would_load_from_elsewhere_is_found(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(
        '<a href="https://example.org">a link</a><script src="https://cdn.example.org/a.js"></script>'
        '<link rel="stylesheet" href="//fonts.example.org/b.css"/>'
    )
    (tmp_path / "style.css").write_text('@import url("https://fonts.example.org/c.css");')
    found = "\n".join(tool("site/build.py").foreign(tmp_path))
    assert [name in found for name in ("a.js", "b.css", "c.css", "a link")] == [True, True, True, False]
