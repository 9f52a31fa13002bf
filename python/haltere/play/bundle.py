"""Pages in one file: their modules as one script, with their styles, for what loads no other file: a folder on disk, a cell of a notebook."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..limits import PLAYGROUND
from . import courses, presets

HERE = Path(__file__).resolve().parent
PAGE = HERE / "page"
ASSETS = HERE.parent / "assets"

_IMPORT = re.compile(r'^import (?:\* as (?P<all>\w+)|\{(?P<names>[^}]+)\}) from "(?P<file>[^"]+)";\n', re.M)
_NAME = re.compile(r"^export (?:async )?(?:const|let|function|class) (\w+)", re.M)


def bundle(start: Path, instead: Mapping[Path, Path] | None = None) -> str:
    """One plain script of a module and those that it imports, as pages of files may load no modules.

    Each module becomes a function that gives what it exports. Only the forms of import and export that the page uses are known.
    ``instead``: modules that others take the place of.
    """
    other = instead or {}
    done: dict[Path, str] = {}

    def found(path: Path, one: re.Match[str]) -> Path:
        named = (path.parent / one["file"]).resolve()
        return other.get(named, named)

    def add(path: Path) -> None:
        if path in done:
            return
        done[path] = ""  # a circle would end here, and its names would be unknown when they are used
        text = path.read_text(encoding="utf-8")
        own = _NAME.findall(text)
        for one in _IMPORT.finditer(text):
            add(found(path, one))
        text = _IMPORT.sub(lambda one: _taken(one, found(path, one)), text)
        text = re.sub(r"^export (?=async |const |let |function |class )", "", text, flags=re.M)
        left = re.search(r"^(?:import|export)\b.*$", text, re.M)
        if left:
            raise SystemExit(f"{path}: import or export must be one that the bundler knows, got `{left[0]}`")
        del done[path]  # after those that it imports
        done[path] = f"const {variable(path)} = (() => {{\n{text}\nreturn {{ {', '.join(own)} }};\n}})();\n"

    add(start.resolve())
    return '"use strict";\n' + "".join(done.values())


def variable(path: Path) -> str:
    """The name of a module in the script."""
    return f"{path.parent.name}_{path.stem}".replace("-", "_")


def _taken(one: re.Match[str], path: Path) -> str:
    source = variable(path)
    if one["all"]:
        return f"const {one['all']} = {source};\n"
    names = ", ".join(name.strip().replace(" as ", ": ") for name in one["names"].split(","))
    return f"const {{ {names} }} = {source};\n"


def script(text: str, kind: str = "", name: str = "") -> str:
    """A script in the page. It ends at the first `</script`, wherever that is."""
    safe = text.replace("</script", r"<\/script").replace("<!--", r"<\!--")
    return "<script" + (f' type="{kind}"' if kind else "") + (f' id="{name}"' if name else "") + f">{safe}</script>"


def data(name: str, value: Any) -> str:
    """Values that a script of the page reads by that name."""
    return f'<script type="application/json" id="{name}">{json.dumps(value).replace("<", chr(92) + "u003c")}</script>'


def hello() -> dict[str, Any]:
    """What the playground needs to begin, beside the schema and the version."""
    return {"most": PLAYGROUND, "presets": presets.listed(), "courses": courses.listed()}


def read(path: Path) -> str:
    """The text of a file of a page."""
    return path.read_text(encoding="utf-8")


def styles() -> str:
    """What both pages look like."""
    return read(ASSETS / "uplot.min.css") + read(PAGE / "page.css")


def playground(talk: Path, about_link: str, before: Sequence[str] = ()) -> str:
    """The playground's page, with that module to talk by, and scripts that come first."""
    live = [*before, script(read(ASSETS / "uplot.min.js")), script(bundle(PAGE / "main.js", {PAGE / "talk.js": talk}))]
    page = re.sub(r"<link rel=\"stylesheet\"[^>]*>\n|<script src=[^>]*></script>\n", "", read(PAGE / "index.html"))
    page = re.sub(r"(?<=<p>)The link has the whole set-up.*?(?=</p>)", about_link, page)
    return page.replace("</head>", f"<style>{styles()}</style>\n</head>").replace(
        "</body>", "\n".join(live) + "\n</body>"
    )
