"""Links that open an experiment on the page of `make web`, which runs it in the browser."""

from __future__ import annotations

import base64
import os
import zlib

from .. import data

#: Where the page is published; the environment variable of this name says it.
VARIABLE = "HALTERE_BROWSER"
#: Where `make web` writes the page.
FOLDER = data.root() / "target" / "web"


def fragment(text: str) -> str:
    """An experiment file as the page has it after the `#` of its address.

    >>> fragment('title = "x"')
    '#file=K8ksyUlVsFVQqlACAA'
    """
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = packer.compress(text.encode()) + packer.flush()
    return "#file=" + base64.urlsafe_b64encode(packed).rstrip(b"=").decode()


def address() -> str | None:
    """The address of the page: of the environment, or of the folder that `make web` wrote in this checkout; ``None`` if there is none."""
    page = FOLDER / "index.html"
    return os.environ.get(VARIABLE) or (page.as_uri() if page.is_file() else None)


def link(text: str) -> str | None:
    """The link that opens an experiment file; ``None`` if it is not known where the page is."""
    base = address()
    return None if base is None else base.partition("#")[0] + fragment(text)
