"""HTTP and the WebSocket, for this machine only.

Who may come in: whoever sends the token that `haltere play` printed, to an address that names this machine, from a page that this
server gave (or from no page). The host is looked at because a foreign page may point its own name at 127.0.0.1.
"""

from __future__ import annotations

import asyncio
import contextlib
import copy
import http
import json
import mimetypes
import secrets
import signal
import sys
from collections.abc import Callable, Sequence
from importlib.resources import files
from typing import Any
from urllib.parse import parse_qs, urlsplit

from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

from .. import _core, catalogue
from ..errors import InputError
from ..limits import MOST_BYTES, MOST_PAGES
from . import browser, bundle
from .protocol import Refused
from .session import Session

#: Nobody but this machine can reach it.
ADDRESS = "127.0.0.1"

#: Nothing from elsewhere, in nobody's frame, kept nowhere.
HEADERS = {
    "Content-Security-Policy": "default-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


class Playground:
    """The server: its address once it runs, and the pages that are open.

    ``allowed``: mechanisms from outside the tree that pages may name, such as `python:my_module:MyControl`.
    """

    def __init__(self, port: int = 0, log: Callable[[str], None] | None = None, allowed: Sequence[str] = ()) -> None:
        self._wanted, self.port, self._allowed = port, 0, tuple(allowed)
        self._schema = _with_allowed(catalogue.schema(), self._allowed)
        self.token = secrets.token_urlsafe(18)
        self._log = log or (lambda line: print(line, file=sys.stderr, flush=True))
        self.sessions: set[Session] = set()

    @property
    def url(self) -> str:
        """The address to open."""
        return f"http://{ADDRESS}:{self.port}/?token={self.token}"

    async def start(self) -> Server:
        """Listens. Raises :class:`OSError` if the port is taken."""
        server = await serve(
            self._talk, ADDRESS, self._wanted, process_request=self._answer,
            max_size=MOST_BYTES, compression=None, server_header=None, close_timeout=2,
        )  # fmt: skip
        self.port = server.sockets[0].getsockname()[1]
        return server

    async def forever(self, ready: Callable[[str], None]) -> None:
        """Listens until it is cancelled, interrupted or terminated; `ready` hears the address."""
        ended = asyncio.Event()
        for one in (signal.SIGINT, signal.SIGTERM):
            with contextlib.suppress(NotImplementedError, RuntimeError):  # no signals here, or not the main thread
                asyncio.get_running_loop().add_signal_handler(one, ended.set)
        async with await self.start():
            ready(self.url)
            await ended.wait()

    def _answer(self, connection: ServerConnection, request: Request) -> Response | None:
        """What is answered without a WebSocket, or `None` if one may open."""
        try:
            parts = urlsplit(request.path)
        except ValueError:  # such as `//[`
            return _text(http.HTTPStatus.BAD_REQUEST, "address must be / or /ws")
        if wrong := self._host(request.headers):
            return _text(http.HTTPStatus.FORBIDDEN, wrong)
        if parts.path.startswith(("/page/", "/assets/")):
            return _file(parts.path)
        if parts.path.startswith("/browser/"):
            return _browser(parts.path.removeprefix("/browser/"))
        if parts.path not in ("/", "/ws"):
            return _text(http.HTTPStatus.NOT_FOUND, f"address must be / or /ws, got {parts.path[:80]}")
        given = parse_qs(parts.query).get("token", [""])
        if len(given) != 1 or not secrets.compare_digest(given[0].encode(), self.token.encode()):
            # A browser that opens somebody's link comes without any.
            if given == [""] and parts.path == "/" and "text/html" in request.headers.get("Accept", ""):
                return _link()
            return _text(http.HTTPStatus.FORBIDDEN, "token must be the one in the address that `haltere play` printed")
        if parts.path == "/":
            return _file("/page/index.html")
        if wrong := self._origin(request.headers):
            return _text(http.HTTPStatus.FORBIDDEN, wrong)
        if len(self.sessions) >= MOST_PAGES:
            text = f"pages must be at most {MOST_PAGES} at a time; close one"
            return _text(http.HTTPStatus.SERVICE_UNAVAILABLE, text)
        return None

    def _names(self) -> tuple[str, ...]:
        return (f"{ADDRESS}:{self.port}", f"localhost:{self.port}")

    def _host(self, headers: Headers) -> str:
        hosts = headers.get_all("Host")
        if len(hosts) == 1 and hosts[0].lower() in self._names():
            return ""
        return f"host must be {self._names()[0]}, got {', '.join(hosts)[:80] or 'none'}"

    def _origin(self, headers: Headers) -> str:
        """A browser always says from which page a WebSocket comes; a program may leave it out."""
        origins = headers.get_all("Origin")
        if all(origin.lower() in {f"http://{name}" for name in self._names()} for origin in origins):
            return ""
        return f"origin must be the playground's own page, got {', '.join(origins)[:80]}"

    def _hello(self) -> dict[str, Any]:
        """What a page needs to begin: the schema, the limits, and what may be chosen."""
        return {"tell": "hello", "version": _core.version, "schema": self._schema, **bundle.hello()}

    async def _talk(self, connection: ServerConnection) -> None:
        """One page, from its coming to its going."""

        async def tell(what: dict[str, Any]) -> None:
            with contextlib.suppress(ConnectionClosed):
                await connection.send(json.dumps(what, separators=(",", ":"), allow_nan=False))

        session = Session(tell, self._allowed)
        self.sessions.add(session)
        try:
            await tell(self._hello())
            async for message in connection:
                try:
                    await session.take(message)
                except Refused as error:
                    await tell({"tell": "refused", "at": error.at, "text": error.text, "setup": error.setup})
        except ConnectionClosed:
            pass
        finally:
            self.sessions.discard(session)
            running = session.running
            await session.stop()
            if running:
                self._log(f"the page was closed: its run stopped at {session.setups[0].live.now_s:.2f} s")


#: The unions of the schema in which a page may choose a mechanism from outside the tree.
_UNIONS = {"congestion": "CongestionParams", "queues": "QueueParams"}


def _with_allowed(schema: dict[str, Any], allowed: Sequence[str]) -> dict[str, Any]:
    """The schema in which these mechanisms are among those to choose from."""
    schema = copy.deepcopy(schema)
    for kind in allowed:
        rule = "a congestion control or a queue discipline of your own, such as `python:my_module:MyControl`"
        if ":" not in kind:
            raise InputError(f"--allow must be {rule}, got `{kind}`")
        told = json.loads(_core.describe(kind))
        if told["kind"] not in _UNIONS:
            raise InputError(f"--allow must be {rule}, got `{kind}`, one of {told['kind']}")
        table = {**told["schema"], "required": ["kind", *told["schema"].get("required", ())]}
        table["properties"] = {"kind": {"const": kind, "type": "string"}, **table["properties"]}
        union = schema["$defs"][_UNIONS[told["kind"]]]
        next(one for one in union["anyOf"] if "oneOf" in one)["oneOf"].append(table)
    return schema


def _response(status: http.HTTPStatus, kind: str, body: bytes, **more: str) -> Response:
    headers = Headers(
        {**HEADERS, "Content-Type": kind, "Content-Length": str(len(body)), "Connection": "close", **more}
    )
    return Response(status.value, status.phrase, headers, body)


def _text(status: http.HTTPStatus, text: str) -> Response:
    return _response(status, "text/plain; charset=utf-8", f"{text}\n".encode())


#: The parts of the page that needs no server, with their kinds.
_BROWSER = {
    "play.html": "text/html; charset=utf-8",
    "index.html": "text/html; charset=utf-8",
    "haltere.wasm.gz": "application/gzip",
    "uplot.LICENSE": "text/plain",
}
#: Its scripts are in it, and it asks for nothing but its module.
_BROWSER_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline' 'wasm-unsafe-eval'; worker-src blob:; "
    "connect-src 'self'; img-src data: blob:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)


def _link() -> Response:
    """The page of a link, which runs the set-up in the browser if `make web` wrote the page for that."""
    body = files("haltere.play").joinpath("page", "link.html").read_bytes()
    if (browser.FOLDER / "play.html").is_file():
        here = b'<p>Or <a id="here" href="/browser/play.html">run it in this browser</a>, without a playground.</p>'
        body = body.replace(b"<!-- here -->", here)
    return _response(http.HTTPStatus.OK, "text/html; charset=utf-8", body)


def _browser(name: str) -> Response:
    path = browser.FOLDER / name
    if name not in _BROWSER or not path.is_file():
        return _text(http.HTTPStatus.NOT_FOUND, f"no such file: {name[:80]}")
    return _response(
        http.HTTPStatus.OK, _BROWSER[name], path.read_bytes(), **{"Content-Security-Policy": _BROWSER_POLICY}
    )


#: The page's modules, one an idea.
PARTS = (
    "charts.js", "choose.js", "courses.js", "data.js", "figures.js", "flows.js", "form.js", "history.js", "links.js",
    "presets.js", "save.js", "setup.js", "share.js", "span.js", "talk.js", "theme.js", "tiles.js",
)  # fmt: skip
#: What the page is made of; nothing else is read from the disk.
_FILES = {
    **{f"/page/{name}": ("haltere.play", f"page/{name}") for name in
       ("index.html", "link.html", "link.js", "page.css", "main.js", *PARTS)},
    **{f"/assets/{name}": ("haltere.assets", name) for name in ("uplot.min.js", "uplot.min.css")},
}  # fmt: skip


def _file(path: str) -> Response:
    if path not in _FILES:
        return _text(http.HTTPStatus.NOT_FOUND, f"no such file: {path[:80]}")
    package, name = _FILES[path]
    kind = {"js": "text/javascript"}.get(name.rsplit(".", 1)[-1]) or mimetypes.guess_type(name)[0] or "text/plain"
    body = files(package).joinpath(*name.split("/")).read_bytes()
    return _response(http.HTTPStatus.OK, f"{kind}; charset=utf-8", body)
