"""Results: what is in a results directory or at a URL, read when asked for.

Reports read results, so results import no report. ``Results.shows`` holds what draws figures and pages for notebooks; ``haltere.api`` sets it.

manifest.json            versions, seeds, every scenario in full, every run with its digest
measures.json            what was measured of the runs
runs/                    the tables of every run: see `store.py`
figures/, report.html    what `haltere plot` and `haltere report` add
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from ..analysis.facts import Facts
from ..analysis.summary import summary
from ..errors import HaltereError, InputError
from . import labels
from .records import Done, Failed, Point, Seal, points_of
from .store import AGAIN, Damaged, Store, need, tables_of

if TYPE_CHECKING:
    import pandas
    import pyarrow as pa

__all__ = ["Drawn", "Point", "Results", "RunsFailed"]

_OTHER_RUN = "run.json: digest and seed are not those in manifest.json"


class Shows(Protocol):
    """Draws results for a notebook."""

    def plot(self, results: Results, ask: Mapping[str, Any], stem: Path) -> Drawn:
        """A figure over the axes of the sweep."""

    def html(self, results: Results) -> str:
        """The tables of the report."""


class Results:
    """The results in a directory or at a URL. Only the manifest is read at once; tables are read when asked for."""

    shows: ClassVar[Shows]

    def __init__(self, directory: str | Path) -> None:
        store = Store(directory)
        self._open(store, store.manifest())

    @classmethod
    def of(cls, store: Store, manifest: dict[str, Any]) -> Results:
        """The results in this store that this manifest names."""
        self = cls.__new__(cls)
        self._open(store, manifest)
        return self

    def _open(self, store: Store, manifest: dict[str, Any]) -> None:
        self.store, self.manifest = store, manifest
        #: Where figures and reports go.
        self.directory = store.folder
        self._seals: dict[str, Seal] = {}
        self._keep: object = None
        many = ((one["labels"], one["scenario"]) for one in manifest["points"])
        self.points = points_of(many, manifest.get("scenarios", ()))
        self.runs = [Done.of_dict(one) for one in manifest["runs"]]
        self.failed = [Failed(**one) for one in manifest.get("failed", ())]
        planned = [(str(key), int(point), int(seed)) for key, point, seed in manifest.get("planned", ())]
        if not manifest["complete"] and planned:
            # Its writer is at work, or was killed: what is there counts.
            self._seals = store.find((key for key, _, _ in planned), verify=False)
            self.runs = [Done.of_seal(self._seals[key], point) for key, point, _ in planned if key in self._seals]
            self.runs.sort(key=lambda run: (run.point, run.seed))

    @cached_property
    def facts(self) -> Facts:
        """What was read off the runs before: see :mod:`haltere.analysis.facts`."""
        facts = Facts(self.directory if self.store.local else None)
        if facts.damaged:
            print(f"haltere: {facts.damaged}; the runs are measured again", file=sys.stderr)
        return facts

    @property
    def where(self) -> str:
        """The directory or the URL."""
        return self.store.where

    @property
    def title(self) -> str:
        """What the experiment is about."""
        return str(self.manifest["title"])

    @property
    def seeds(self) -> list[int]:
        """The seeds."""
        return list(self.manifest["seeds"])

    @property
    def complete(self) -> bool:
        """Every run is done."""
        return bool(self.manifest["complete"])

    def table(
        self, name: str, *, points: Iterable[int] | None = None, columns: Iterable[str] | None = None
    ) -> pa.Table:
        """The table of that name over all runs, with the columns ``point`` (int32) and ``seed`` (uint64) in front.

        ``points``: only these; ``columns``: only these, which saves time. A column that some runs lack (inner variables of another
        discipline) is null there.
        """
        import pyarrow as pa

        wanted = None if points is None else set(points)
        some = None if columns is None else list(columns)
        parts = []
        for run in self.runs:
            if wanted is not None and run.point not in wanted:
                continue
            part = self.run_table(name, run, some)
            front = {"point": pa.repeat(pa.scalar(run.point, pa.int32()), len(part))}
            front["seed"] = pa.repeat(pa.scalar(run.seed, pa.uint64()), len(part))
            for place, (key, column) in enumerate(front.items()):
                part = part.add_column(place, key, column)
            parts.append(part)
        if not parts:
            raise InputError(f"{self.where}: runs must be at least 1, got none for table `{name}`")
        return pa.concat_tables(parts, promote_options="default").unify_dictionaries()

    def run_table(self, name: str, run: Done, columns: list[str] | None = None) -> pa.Table:
        """The table of that name of one run."""
        if not self.store.local:
            place = next((i for i, one in enumerate(self.runs) if one.key == run.key), 0)
            self.store.read_ahead(map(self.seal, self.runs[place : place + 64]), name)
        return self.store.table(self.seal(run), name, columns)

    def seal(self, run: Done) -> Seal:
        """What the store says of a run; of all runs at once, since most callers read several."""
        if run.key not in self._seals:
            self._seals.update(self.store.seals(one.key for one in self.runs))
        if run.key not in self._seals:
            raise Damaged(
                f"{self.where}: run {run.key} is missing from the store, or its checksum file is malformed; {AGAIN}"
            )
        seal = self._seals[run.key]
        if (seal["digest"], seal["seed"]) != (run.digest, run.seed):
            raise Damaged(f"{self.store.file(seal, _OTHER_RUN)}; {AGAIN}")
        return seal

    def check(self) -> list[str]:
        """Compares every file of every run with its checksum file, every checksum file with the manifest, and what was measured with its
        checksum. One sentence for each that differs.
        """
        seals = self.store.seals(run.key for run in self.runs)
        wrong = []
        for run in self.runs:
            seal = seals.get(run.key)
            if seal is None:
                wrong.append(f"{self.where}/runs/{run.key}: the run is missing, or its checksum file is malformed")
            elif (seal["digest"], seal["seed"]) != (run.digest, run.seed):
                wrong.append(self.store.file(seal, _OTHER_RUN))
        measured = Facts(self.directory if self.store.local else None)
        return [*([measured.damaged] if measured.damaged else []), *wrong, *self.store.check(seals.values())]

    def tables(self) -> list[str]:
        """The names that :meth:`pandas` takes: the tables of the runs, and ``points`` and ``runs``."""
        return [*tables_of(map(self.seal, self.runs)), "points", "runs"]

    def stored_bytes(self, name: str) -> int:
        """How many bytes a table of the runs takes in the store; 0 for `points` and `runs`."""
        return sum(files.get(f"{name}.parquet", {"bytes": 0})["bytes"] for files in self.batches().values())

    def batches(self) -> dict[str, dict[str, Any]]:
        """The batches of the store that hold the runs, each with its files: ``bytes`` and ``sha256`` by name."""
        return {seal["batch"]: seal["files"] for seal in map(self.seal, self.runs)}

    def files(self) -> list[dict[str, Any]]:
        """Captures and qlog files: ``point``, ``seed``, ``name``, ``bytes`` and ``path`` (a path or URL) of each."""
        return [
            {
                "point": run.point,
                "seed": run.seed,
                "name": name,
                "bytes": one["bytes"],
                "path": self.store.file(self.seal(run), name),
            }
            for run in self.runs
            for name, one in self.seal(run)["files"].items()
            if not name.endswith(".parquet")
        ]

    def points_table(self) -> pa.Table:
        """One row a point: ``point``, ``name``, and what was swept, each axis under its last word (or more, if two end alike)."""
        return labels.points_table(self.points)

    def runs_table(self) -> pa.Table:
        """One row a run: ``key``, ``point``, ``seed``, ``digest``, ``wall_s``."""
        return labels.runs_table(self.runs)

    def labelled(self, name: str, **options: Any) -> pa.Table:
        """:meth:`table` with what was swept in columns of their own, behind ``point`` and ``seed``."""
        points = self.points_table()
        return points if name == "points" else labels.with_labels(self._any(name, **options), points)

    def _any(self, name: str, **options: Any) -> pa.Table:
        own = {"points": self.points_table, "runs": self.runs_table}.get(name)
        return own() if own is not None else self.table(name, **options)

    def pandas(self, name: str, *, labels: bool = False, **options: Any) -> pandas.DataFrame:
        """:meth:`table` as a pandas data frame (``pip install 'haltere[pandas]'``); ``name`` may also be ``points`` or ``runs``.

        ``labels``: with what was swept, a column an axis.
        """
        table = self.labelled(name, **options) if labels else self._any(name, **options)
        need("pandas", "pandas", "results.pandas")
        frame: pandas.DataFrame = table.to_pandas()
        return frame

    def write_table(self, name: str, path: Path) -> None:
        """Writes a table with its labels to a file: ``.csv``, ``.parquet`` or ``.json``."""
        labels.write(self.labelled(name), path)

    def plot(
        self,
        y: str,
        x: str | None = None,
        by: str | None = None,
        facet: str | None = None,
        *,
        kind: Any = None,
        log_x: bool = False,
        log_y: bool = False,
        out: str | Path | None = None,
    ) -> Drawn:
        """A figure over the axes of the sweep, as `haltere plot` draws it. A notebook shows it.

        ``y``: a metric, ``pings``, ``fct``, ``slowdown``, ``flow`` or ``TABLE.COLUMN``; ``kind``: line, bar, heat, cdf, box or size.
        """
        name = "-".join(part for part in (kind or "", y, x or "", by or "", facet or "") if part).replace(".", "-")
        stem = Path(out) if out is not None else self.directory / "figures" / name
        ask = {"y": y, "x": x, "by": by, "facet": facet, "kind": kind, "log_x": log_x, "log_y": log_y}
        return self.shows.plot(self, ask, stem)

    def summary(self) -> list[dict[str, Any]]:
        """The means of each point of the sweep: see :func:`haltere.analysis.summary.summary`."""
        return summary(self)

    def digest(self) -> str:
        """The SHA-256 over all runs: equal experiments on equal versions give equal digests, on however many threads."""
        whole = hashlib.sha256()
        for run in sorted(self.runs, key=lambda one: (one.point, one.seed)):
            labels = json.dumps(dict(self.points[run.point].labels), sort_keys=True)
            whole.update(f"{labels} {run.seed} {run.digest}\n".encode())
        return whole.hexdigest()

    def _repr_html_(self) -> str:
        """What a notebook shows: what was run, and the tables of the report."""
        return self.shows.html(self)

    def __repr__(self) -> str:
        return f"<haltere.Results {self.where!r}: {len(self.points)} points, {len(self.runs)} runs>"


class Drawn:
    """A figure: its caption and its files. A notebook shows it."""

    def __init__(self, caption: str, paths: list[Path]) -> None:
        self.caption, self.paths = caption, paths

    def _repr_png_(self) -> bytes:
        return next(path for path in self.paths if path.suffix == ".png").read_bytes()

    def __repr__(self) -> str:
        return f"<haltere figure {str(self.paths[0])!r}: {self.caption}>"


class RunsFailed(HaltereError):
    """Some runs came to no end. ``results`` holds the others, ``failed`` says which and why."""

    def __init__(self, results: Results, failed: list[Failed], planned: int) -> None:
        self.results, self.failed = results, failed
        each = [f"{results.points[one.point].name} seed={one.seed}: {one.error}" for one in failed[:3]]
        if len(failed) > len(each):
            each.append(f"and {len(failed) - len(each)} more in manifest.json")
        super().__init__(
            f"{results.where}: {len(failed)} of {planned} runs failed: {'; '.join(each)}. "
            "The others are kept; the same command tries these again"
        )
