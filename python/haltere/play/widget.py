"""The playground in a notebook: its page in a frame of the cell, its session in the kernel."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import anywidget
import traitlets

from .. import _core, catalogue
from ..api import Scenario
from . import bundle, protocol
from .session import Session

_SHARED = "The link has the whole set-up. It opens with <code>haltere play 'LINK'</code>, or below."

#: The cell: a frame, and what passes between it and the kernel.
_CELL = """
export default {
  render({ model, el }) {
    const frame = document.createElement("iframe"), page = URL.createObjectURL(new Blob([model.get("page")], { type: "text/html" }));
    const ask = ({ source, data }) => { if (source === frame.contentWindow) model.send(data); };
    const tell = (message) => frame.contentWindow?.postMessage(message, "*");
    Object.assign(frame, { src: page, title: "Haltere playground", style: `width: 100%; height: ${model.get("height")}px; border: 0` });
    window.addEventListener("message", ask);
    model.on("msg:custom", tell);
    el.append(frame);
    return () => {
      window.removeEventListener("message", ask);
      model.off("msg:custom", tell);
      URL.revokeObjectURL(page);
    };
  },
};
"""


def by_pair(experiment: dict[str, Any]) -> dict[str, Any]:
    """The experiment as the page edits it: each entry with a pair and a control of its own. The page refuses what has no such form."""
    out: list[dict[str, Any]] = []
    for entry in experiment["traffic"]:
        named, controls = entry.get("pairs", "all"), entry.get("congestion")
        pairs = range(1, experiment["topology"].get("dumbbell", {}).get("pairs", 1) + 1) if named == "all" else named
        for place, pair in enumerate(pairs[:1] if entry["kind"] == "ping" else pairs):
            own = {**entry, "pairs": [pair]}
            if isinstance(controls, list):
                own["congestion"] = controls[place % len(controls)]
            if len(pairs) > 1:
                own.pop("name", None)
            out.append(own)
    return {**experiment, "traffic": out}


class Playground(anywidget.AnyWidget):
    """The playground with one set-up or two. They are run, and changed while they run, in the cell; :attr:`experiments` follow."""

    _esm = _CELL
    page = traitlets.Unicode().tag(sync=True)
    height = traitlets.Int(720).tag(sync=True)

    def __init__(self, experiments: Sequence[dict[str, Any]], **traits: Any) -> None:
        super().__init__(page=bundle.playground(bundle.HERE / "web" / "frame.js", _SHARED), **traits)
        #: What the page shows, as it was changed last.
        self.experiments = [protocol.opened(by_pair(one)) for one in experiments]
        self._session, self._order = Session(self._tell), asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()
        self.on_msg(self._heard)

    @property
    def scenarios(self) -> list[Scenario]:
        """The experiments that the page shows now. Raises :class:`haltere.InputError` if a field holds what cannot be run."""
        return [Scenario.from_dict(one) for one in self.experiments]

    def _heard(self, _: Any, message: dict[str, Any], __: Any) -> None:
        task = asyncio.get_running_loop().create_task(self._take(message))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _take(self, message: dict[str, Any]) -> None:
        async with self._order:
            if message == {"do": "hello"}:
                return await self._tell(self._hello())
            self._follow(message)
            try:
                await self._session.take(json.dumps(message))
            except protocol.Refused as error:
                await self._tell({"tell": "refused", "at": error.at, "text": error.text, "setup": error.setup})

    def _hello(self) -> dict[str, Any]:
        begin = bundle.hello()
        if self.experiments:
            own = {"name": "", "title": "The cell's own", "about": "", "setups": self.experiments, "course": ""}
            begin["presets"].insert(0, own)
        return {"tell": "hello", "version": _core.version, "schema": catalogue.schema(), **begin}

    async def _tell(self, message: dict[str, Any]) -> None:
        self._follow(message)
        self.send(message)

    def _follow(self, message: dict[str, Any]) -> None:
        """Keeps the experiments that a message says are now on the page."""
        if message.get("do") == "start":
            self.experiments = message["setups"]
        elif isinstance(setup := message.get("setup"), int) and "experiment" in message:
            self.experiments = [*self.experiments[:setup], message["experiment"], *self.experiments[setup + 1 :]]
