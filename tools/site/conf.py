"""The site's settings for Sphinx: `make site`. The source is the whole repository, so that links between documents work as they are."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

project = "Haltere"
author = "The Haltere authors"
copyright = "the Haltere authors"
version = release = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.viewcode"]
root_doc = "docs/index"
include_patterns = [
    "*.md", "docs/*.md", "docs/*/*.md", "papers/*/README.md", "papers/*/*/README.md", "kernel/README.md", "bpf/README.md",
    "benches/README.md",
]  # fmt: skip
#: Folders with nothing for the site; they are not even listed.
exclude_patterns = ["docs/paper", "target", ".venv", "results", "crates", "python", "fuzz", "tests", "tools", "**/.*"]

myst_heading_anchors = 4
myst_enable_extensions = ["attrs_inline"]
autodoc_typehints = "description"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True}

html_theme = "furo"
html_title = f"Haltere {release}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": True, "top_of_page_buttons": []}
templates_path: list[str] = []

#: Pages that list a folder: the folder's other pages become their children in the navigation.
LISTS = {"docs/reference/README", "docs/decisions/README"}

#: The executed labs, if the build wrote them.
LABS = ROOT / "docs" / "labs"


def is_page(path: Path) -> bool:
    """Whether a file is a page of the site."""
    inside = path.resolve().relative_to(ROOT) if path.resolve().is_relative_to(ROOT) else None
    return inside is not None and any(
        inside.match(one) and len(inside.parts) == len(Path(one).parts) for one in include_patterns
    )


def with_children(app: Any, name: str, source: list[str]) -> None:
    """Adds the navigation of a folder to the page that lists it. A reference page is listed under its registry."""
    if name == "docs/course" and LABS.is_dir():
        pages = sorted(path.stem for path in LABS.glob("*.md"))
        for page in pages:
            source[0] = source[0].replace(f"| `{page}` |", f"| [{page}](labs/{page}.md) |")
        source[0] += "\n\n```{toctree}\n:hidden:\n\n" + "\n".join(f"labs/{page}" for page in pages) + "\n```\n"
    if name in LISTS:
        pages = sorted(path.stem for path in (ROOT / name).parent.glob("*.md") if path.stem != "README")
        named = [re.sub(r"^([a-z]+)-(\w+)$", r"\1: \2 <\g<0>>", page) for page in pages]
        source[0] += "\n\n```{toctree}\n:hidden:\n\n" + "\n".join(named) + "\n```\n"


def to_repository(app: Any, name: str, source: list[str]) -> None:
    """Links to what is no page (a folder, a program) become plain text: the site has documents only."""
    here = (ROOT / name).parent

    def kept(match: re.Match[str]) -> str:
        target = match[2].partition("#")[0]
        if not target or re.match(r"[a-z]+:", target):
            return match[0]
        path = here / target
        if path.is_file() and (is_page(path) if path.suffix == ".md" else path.suffix in {".png", ".svg", ".csv"}):
            return match[0]
        index = path / "README.md"
        if index.is_file() and is_page(index):
            return f"[{match[1]}]({target.rstrip('/')}/README.md)"
        return match[1] if match[1].startswith(("`", "!")) else f"`{match[1]}`"

    parts = re.split(r"(^```.*?^```$)", source[0], flags=re.MULTILINE | re.DOTALL)
    for i in range(0, len(parts), 2):
        parts[i] = re.sub(r"(?<!!)\[([^\]\[]+)\]\(([^)\s]+)\)", kept, parts[i])
    source[0] = "".join(parts)


def setup(app: Any) -> None:
    """Connects what changes the text of a page before it is read."""
    app.connect("source-read", to_repository)
    app.connect("source-read", with_children)
