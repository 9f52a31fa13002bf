"""Builds the site: `python tools/site/build.py FOLDER [--rust] [--labs FOLDER] [--browser PAGE]`. Every warning is an error, and no page may ask another server.

With ``--rust`` the documents of the crates are in the folder ``rust`` of the site. With ``--labs`` the course's labs are there with what their
notebooks show. With ``--browser`` the page that `make web` wrote is in the
folder ``browser``, and each example, its picture in the gallery and each whole experiment in a document opens it.
"""

from __future__ import annotations

import argparse
import html
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from haltere import templates
from haltere.play.browser import fragment

ROOT = Path(__file__).resolve().parents[2]

_FORWARD = """\
<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Haltere</title><meta http-equiv="refresh" content="0; url={to}"></head>
<body><p><a href="{to}">Haltere</a></p></body></html>
"""

#: What a browser loads with a page: scripts, images, frames and styles, but no links to follow.
_LOADED = re.compile(r"<(?:script|img|iframe|source|video|audio|embed)\b[^>]*\bsrc=\"((?:https?:)?//[^\"]+)\"")
_STYLES = re.compile(
    r"<link\b(?=[^>]*rel=\"(?:stylesheet|preload|preconnect|icon)\")[^>]*\bhref=\"((?:https?:)?//[^\"]+)\""
)
_IMPORTED = re.compile(r"(?:@import\s+|url\()[\"']?((?:https?:)?//[^\"')]+)")


def pages(to: Path) -> None:
    """The documents as pages."""
    doctrees = to.with_name(f"{to.name}-doctrees")
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "-q",
        "-W",
        "--keep-going",
        "-c",
        str(ROOT / "tools/site"),
        "-d",
        str(doctrees),
    ]
    if subprocess.run([*command, str(ROOT), str(to)]).returncode:
        raise SystemExit("the site must be built without a warning, got those above")
    (to / "index.html").write_text(_FORWARD.format(to="docs/index.html"))


def crates(to: Path) -> None:
    """The documents of the crates."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    # Links to private items become text, which is meant.
    flags = "-A rustdoc::private_intra_doc_links -A rustdoc::redundant_explicit_links"
    command = ["cargo", "doc", "--workspace", "--no-deps", "--lib", "--quiet"]
    subprocess.run(command, cwd=ROOT, env={**os.environ, "RUSTDOCFLAGS": flags}, check=True)
    shutil.copytree(target / "doc", to / "rust", dirs_exist_ok=True)
    (to / "rust" / "index.html").write_text(_FORWARD.format(to="haltere_queue/index.html"))
    linked(to / "docs" / "index.html")


def linked(page: Path) -> None:
    """Makes the name of the folder `rust` a link. In the Markdown it would lead nowhere."""
    text, found = re.subn(
        r"(<code[^>]*><span[^>]*>rust</span></code>)", r'<a href="../rust/index.html">\1</a>', page.read_text()
    )
    if found != 1:
        raise SystemExit(f"{page}: the folder `rust` must be named once, got {found}")
    page.write_text(text)


#: A code block of TOML as Sphinx writes it; the name of a file in the text; a picture of the gallery.
_BLOCK = re.compile(
    r'<div class="highlight-toml notranslate"><div class="highlight"><pre>(.*?)</pre></div>\s*</div>', re.DOTALL
)
_FILE = re.compile(r'<code class="[^"]*"><span class="pre">([\w-]+)\.toml</span></code>|(?<=<p>)([\w-]+)\.toml(?=</p>)')
#: What a page cannot run: mechanisms from outside, the kernel's own queues, files.
_ELSEWHERE = re.compile(r'"(?:python|wasm|rust):|kind = "kernel"|\bfile = ')
_PICTURE = re.compile(r'<img [^>]*src="[^"]*_images/([\w-]+)\.png"[^>]*/?>')


def with_runs(text: str, page: str, names: Collection[str]) -> str:
    """A page of the site with links that run its examples and experiments. `page`: the address of the page that runs them."""

    def opened(inside: str, fragment: str, more: str = "") -> str:
        return f'<a{more} href="{page}{fragment}">{inside}</a>'

    def named(match: re.Match[str]) -> str:
        name = next(filter(None, match.groups()))
        return match[0] if name not in names else f"{match[0]} · " + opened("run it in the browser", f"#example={name}")

    def shown(match: re.Match[str]) -> str:
        title = ' title="Run it in the browser"'
        return opened(match[0], f"#example={match[1]}", title) if match[1] in names else match[0]

    def written(match: re.Match[str]) -> str:
        file = html.unescape(re.sub(r"<[^>]+>", "", match[1]))
        whole = all(part in file for part in ("duration", "[topology.", "[[traffic]]")) and not _ELSEWHERE.search(file)
        return match[0] + f"<p>{opened('Run it in the browser', fragment(file))}</p>" if whole else match[0]

    return _BLOCK.sub(written, _PICTURE.sub(shown, _FILE.sub(named, text)))


def runs(to: Path, browser: Path) -> None:
    """The page that runs experiments, and the links to it."""
    shutil.copytree(browser, to / "browser", dirs_exist_ok=True)
    names = [one.name for one in templates.every() if one.path.suffix == ".toml"]
    for page in to.rglob("*.html"):
        if not page.is_relative_to(to / "browser") and not page.is_relative_to(to / "_modules"):
            up = "../" * (len(page.relative_to(to).parts) - 1)
            page.write_text(with_runs(page.read_text(), f"{up}browser/index.html", names))


def foreign(to: Path) -> Iterator[str]:
    """What a page or a style would load from another server."""
    for page in sorted(to.rglob("*.html")):
        text = page.read_text(errors="replace")
        yield from (f"{page.relative_to(to)}: {one}" for rule in (_LOADED, _STYLES) for one in rule.findall(text))
    for style in sorted(to.rglob("*.css")):
        yield from (f"{style.relative_to(to)}: {one}" for one in _IMPORTED.findall(style.read_text(errors="replace")))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Builds the site from the documents.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rust", action="store_true", help="with the documents of the crates (cargo doc)")
    parser.add_argument("--labs", type=Path, metavar="FOLDER", help="with the course's labs, executed in that folder")
    parser.add_argument("--browser", type=Path, metavar="PAGE", help="the folder that `make web` wrote")
    given = parser.parse_args(arguments)
    to = given.folder.resolve()
    shutil.rmtree(to, ignore_errors=True)
    if given.labs:
        import labs

        with labs.pages(ROOT / "docs", given.labs.resolve()):
            pages(to)
    else:
        pages(to)
    if given.browser:
        runs(to, given.browser)
    if given.rust:
        crates(to)
    if found := list(foreign(to)):
        print(*found, sep="\n")
        raise SystemExit("a page must load nothing from another server")
    print(to / "index.html")
    return 0


if __name__ == "__main__":
    sys.exit(main())
