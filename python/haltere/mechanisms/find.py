"""Finds the classes that experiments name, and makes mechanisms of them. The Rust side calls this; it calls nothing of Rust.

A source is ``Class`` (registered), ``module:Class`` or ``file.py:Class``. A file beside the experiment file comes before a module of the
same name elsewhere. Such a file is read again once it, or a file of its folder that it imports, has changed. A class that a run was
planned with stays in memory under its digest, so that a file that changes during a run changes nothing.
"""

from __future__ import annotations

import copy as _copy
import hashlib
import importlib
import importlib.util
import inspect
import json
import linecache
import marshal
import random
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from ..errors import nearest
from .base import Classifier, CongestionControl, Mechanism, Queue, Scheduler, Source
from .parameters import Refused, described, filled

#: The kinds: the class that mechanisms derive from, and its name in words.
KINDS: dict[str, tuple[type[Mechanism], str]] = {
    "congestion": (CongestionControl, "congestion control"),
    "queues": (Queue, "queue discipline"),
    "schedulers": (Scheduler, "path scheduler"),
    "classifiers": (Classifier, "flow classifier"),
    "sources": (Source, "traffic source"),
}
#: The events of a control in the order in which the Rust side has them.
CONTROL_EVENTS = (
    "on_ack", "on_loss", "on_rto", "on_segment_lost", "on_recovered", "on_established", "on_cached_ssthresh", "on_spurious", "on_restart",
    "on_coupling", "on_returned",
)  # fmt: skip
_PACKAGE = str(Path(__file__).resolve().parent.parent)

_lock = threading.RLock()
_registered: dict[str, type[Mechanism]] = {}
_files: dict[Path, _File] = {}
_modules: dict[str, str] = {}
#: Classes by (kind, source, folder, digest), and those with their parameters.
_versions: dict[tuple[str, str, str, str], type[Mechanism]] = {}
_prepared: dict[tuple[str, str, str, str, str], tuple[type[Mechanism], Any]] = {}


def register(cls: type[Mechanism], name: str | None = None) -> str:
    """Makes a class of this program or notebook known as ``python:NAME`` and returns that. Once more replaces it."""
    if not (isinstance(cls, type) and any(issubclass(cls, base) for base, _ in KINDS.values())):
        bases = " or ".join(f"`haltere.{base.__name__}`" for base, _ in KINDS.values())
        raise TypeError(f"register: class must be a subclass of {bases}, got {cls!r}")
    name = cls.__name__ if name is None else name
    if not name or ":" in name:
        raise ValueError(f"register: name must be a name without `:`, got `{name}`")
    described(cls)
    with _lock:
        _registered[name] = cls
    return f"python:{name}"


def registered_in(experiment: Any) -> set[str]:
    """The names of registered classes that an experiment, as JSON has it, needs: those of ``python:NAME``."""
    if isinstance(experiment, Mapping):
        kind = experiment.get("kind")
        own = {kind.removeprefix("python:")} if isinstance(kind, str) and kind.startswith("python:") else set()
        experiment = experiment.values()
    elif isinstance(experiment, list):
        own = set()
    else:
        return set()
    return {name for name in own if ":" not in name}.union(*map(registered_in, experiment))


def unregistered(names: list[str]) -> list[str]:
    """Those of the names that this process has not registered: a worker is asked this."""
    return [name for name in names if name not in _registered]


@dataclass
class _File:
    """A file that was read as a module of its own."""

    module: ModuleType
    digest: str
    stamps: dict[Path, tuple[int, int]]

    def is_current(self) -> bool:
        return all(_stamp(path) == stamp for path, stamp in self.stamps.items())


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


def about(kind: str, source: str, folder: str) -> str:
    """What a source is, as JSON."""
    with _lock:
        cls, digest = _find(kind, source, folder)
        _versions[kind, source, folder, digest] = cls
        doc = inspect.cleandoc(vars(cls).get("__doc__") or "").split("\n\n")[0]
        return json.dumps(
            {"name": cls.__name__, "summary": " ".join(doc.split()), "digest": digest, "parameters": described(cls)}
        )


def _find(kind: str, source: str, folder: str) -> tuple[type[Mechanism], str]:
    where, _, name = source.rpartition(":")
    if not where:
        return _of_registered(kind, source)
    module, digest, title = _module(where, folder)
    return _class_of(kind, module, name, title), digest


def _of_registered(kind: str, name: str) -> tuple[type[Mechanism], str]:
    base, one = KINDS[kind]
    if name not in _registered:
        known = [key for key, cls in _registered.items() if issubclass(cls, base)]
        rule = f"a registered {one}, `python:module:Class` or `python:./file.py:Class`"
        hint = _near(name, known) or "register it by `haltere.register(MyClass)`, or name its file"
        raise Refused("kind", rule, f"`python:{name}`", hint)
    cls = _registered[name]
    return _checked(kind, cls), _digest_of_class(cls)


def _class_of(kind: str, module: ModuleType, name: str, title: str) -> type[Mechanism]:
    found = getattr(module, name, None)
    if not isinstance(found, type):
        base, one = KINDS[kind]
        known = [
            key
            for key, cls in vars(module).items()
            if isinstance(cls, type) and issubclass(cls, base) and cls is not base
        ]
        which = f": one of `{'`, `'.join(known)}`" if known else ", which has none"
        raise Refused("kind", f"a {one} of `{title}`{which}", f"`{name}`", _near(name, known))
    return _checked(kind, found)


def _checked(kind: str, cls: type) -> type[Mechanism]:
    base, one = KINDS[kind]
    if not issubclass(cls, base):
        other = next((words for parent, words in KINDS.values() if issubclass(cls, parent)), "another class")
        raise Refused(
            "kind",
            f"a {one}, a subclass of `haltere.{base.__name__}`",
            f"`{cls.__name__}`, a {other}".replace("a another", "another"),
        )
    return cls


def _near(name: str, known: list[str]) -> str:
    return nearest(name, known).removeprefix("; ")


def _module(where: str, folder: str) -> tuple[ModuleType, str, str]:
    """The module, its digest and its name for people."""
    path = Path(folder, where if where.endswith(".py") else f"{where.replace('.', '/')}.py")
    if path.is_file():
        file = _file(path.resolve())
        return file.module, file.digest, path.name
    if where.endswith(".py"):
        raise Refused(
            "kind", "a file that there is", f"`{where}`", f"its name counts from the folder `{folder or '.'}`"
        )
    try:
        module = importlib.import_module(where)
    except ModuleNotFoundError as error:
        if error.name != where.split(".")[0] and error.name != where:
            raise _unreadable(where, error) from error
        hint = "it is looked for beside the experiment file and as an installed module"
        raise Refused("kind", "a module that there is", f"`{where}`", hint) from None
    except Exception as error:
        raise _unreadable(where, error) from error
    if where not in _modules:
        _modules[where] = _digest_of(_parts(module))
    return module, _modules[where], where


def _unreadable(where: str, error: BaseException) -> Refused:
    return Refused("kind", f"a class of a module that can be imported, but `{where}` raises", told(error)[0])


def _file(path: Path) -> _File:
    """The module of that file, read anew if it has changed."""
    known = _files.get(path)
    if known is not None and known.is_current():
        return known
    if known is not None:  # what it imports of its folder is read anew, too
        for name in [name for name, one in sys.modules.items() if _path(one) in known.stamps]:
            del sys.modules[name]
    linecache.checkcache(str(path))
    name = f"_haltere_{path.stem}_{hashlib.sha256(str(path).encode()).hexdigest()[:8]}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    if str(path.parent) not in sys.path:  # it may import what lies beside it
        sys.path.append(str(path.parent))
    importlib.invalidate_caches()
    text = path.read_bytes()
    sys.modules[name] = module
    try:
        exec(compile(text, str(path), "exec"), vars(module))
    except Exception as error:
        del sys.modules[name]
        raise _unreadable(path.name, error) from error
    parts = _parts(module)
    stamps = {part: stamp for part in parts if (stamp := _stamp(part)) is not None}
    _files[path] = _File(module, _digest_of(parts), stamps)
    return _files[path]


def _path(module: Any) -> Path | None:
    file = getattr(module, "__file__", None)
    return Path(file).resolve() if isinstance(file, str) and file.endswith(".py") else None


def _parts(module: ModuleType) -> list[Path]:
    """The file of a module, and those files of its folder, and below, that it imports."""
    first = _path(module)
    if first is None:
        return []
    root, found, todo = first.parent, [first], [module]
    while todo:
        for value in list(vars(todo.pop()).values()):
            other = (
                value if isinstance(value, ModuleType) else sys.modules.get(getattr(value, "__module__", None) or "")
            )
            path = _path(other)
            if (
                other is not None
                and path is not None
                and path not in found
                and path.is_relative_to(root)
                and "site-packages" not in path.parts
            ):
                found.append(path)
                todo.append(other)
    return found


def _digest_of(parts: list[Path]) -> str:
    digest = hashlib.sha256()
    for path in sorted(parts, key=lambda path: path.name):
        text = path.read_bytes()
        digest.update(f"{path.name} {len(text)}\n".encode() + text)
    return digest.hexdigest()


def _digest_of_class(cls: type) -> str:
    """Of a registered class: the files of its program; in a notebook, which has none, the code of the class."""
    module = sys.modules.get(cls.__module__)
    codes = [one.__code__ for one in vars(cls).values() if inspect.isfunction(one)]
    if module is not None and (path := _path(module)) and all(Path(one.co_filename).resolve() == path for one in codes):
        return _digest_of(_parts(module))
    digest = hashlib.sha256()
    for one in cls.__mro__:
        if one.__module__ == cls.__module__:
            for piece in _pieces(one):
                digest.update(piece)
    return digest.hexdigest()


def _pieces(cls: type) -> Iterator[bytes]:
    """The code of a class without its file and its lines."""
    yield cls.__name__.encode()
    for name, value in sorted(vars(cls).items()):
        function = getattr(value, "__func__", value)
        if isinstance(code := getattr(function, "__code__", None), CodeType):
            yield name.encode() + _code(code) + repr(function.__defaults__).encode()
        elif isinstance(value, type):
            yield from _pieces(value)
        elif isinstance(value, bool | int | float | str | tuple) and not name.startswith("__"):
            yield f"{name}={value!r}".encode()
        elif name == "__dataclass_fields__":
            yield repr({key: (field.default, dict(field.metadata)) for key, field in value.items()}).encode()


def _code(code: CodeType) -> bytes:
    consts = [_code(one) if isinstance(one, CodeType) else marshal.dumps(one) for one in code.co_consts]
    return code.co_code + b"".join(consts) + " ".join((*code.co_names, *code.co_varnames)).encode()


def _instance(kind: str, source: str, folder: str, digest: str, parameters: str, prepare: Callable[[Any], None]) -> Any:
    """A mechanism of the class that has that digest. ``prepare`` sets what ``__init__`` may read."""
    with _lock:
        key = (kind, source, folder, digest, parameters)
        if key not in _prepared:
            if key[:4] not in _versions:
                cls, found = _find(kind, source, folder)
                if found != digest:
                    short = f"`python:{source}` as it was read, with the digest {digest[:12]}"
                    raise Refused("kind", short, found[:12], "read the experiment file again")
                _versions[key[:4]] = cls
            _prepared[key] = _versions[key[:4]], filled(_versions[key[:4]], json.loads(parameters))
        cls, params = _prepared[key]
    made: Any = cls.__new__(cls)
    made.params = params
    prepare(made)
    try:
        made.__init__()
    except Exception as error:
        raise Refused(
            "kind", f"a class whose `__init__` returns without an error, but `{cls.__name__}` raises", told(error)[0]
        ) from error
    return made


def make_control(
    source: str, folder: str, digest: str, parameters: str, mss: int, initial_window: int, seed: int
) -> tuple[Any, list[Any], str, bool, list[tuple[str, str]]]:
    """A congestion control: the object, its events, how it uses ECN, whether it owns recovery, and what it shows."""

    def prepare(made: CongestionControl) -> None:
        made.mss, made.initial_window, made.random = mss, initial_window, random.Random(seed)
        made.cwnd, made.ssthresh, made.pacing_rate = initial_window, None, None

    made = _instance("congestion", source, folder, digest, parameters, prepare)
    if made.ecn not in ("classic", "per_packet", "l4s"):
        raise Refused(f"`{type(made).__name__}.ecn`", "one of `classic`, `per_packet`, `l4s`", f"`{made.ecn}`")
    return made, _events(made), made.ecn, bool(made.owns_recovery), list(made.shows.items())


def _events(made: CongestionControl) -> list[Any]:
    """The events that the class has, bound; ``None`` for those that do nothing. What the base class does for an event is kept."""
    base = {name: getattr(CongestionControl, name) for name in CONTROL_EVENTS if name != "on_cached_ssthresh"}
    return [None if getattr(type(made), name) is base.get(name) else getattr(made, name) for name in CONTROL_EVENTS]


def make_queue(
    source: str, folder: str, digest: str, parameters: str, rate: int | None, rtt: int | None, full_packet: int
) -> tuple[Any, Any, Any, Any, list[Any], bool, bool, list[tuple[str, str]]]:
    """A queue discipline: the object, ``enqueue``, ``dequeue``, ``on_timer`` or ``None``, its verdicts, its two properties, and what it shows."""

    def prepare(made: Queue) -> None:
        made.rate, made.rtt, made.full_packet = rate, rtt, full_packet
        made.timer, made.ready_at, made._verdicts = None, None, []
        made.random = random.Random(0)  # seeded by the first packet

    made = _instance("queues", source, folder, digest, parameters, prepare)
    return _queue(made)


def _queue(made: Queue) -> tuple[Any, Any, Any, Any, list[Any], bool, bool, list[tuple[str, str]]]:
    on_timer = _own(made, Queue, "on_timer")
    if on_timer is not None and made.timer is None:
        raise Refused(f"`{type(made).__name__}.timer`", "set by `__init__`, as the class has an `on_timer`", "`None`")
    shows = list(made.shows.items())
    return made, made.enqueue, made.dequeue, on_timer, made._verdicts, made.withholds, made.keeps_flow_order, shows


def make_scheduler(
    source: str, folder: str, digest: str, parameters: str, seed: int
) -> tuple[Any, Any, Any, bool, bool]:
    """A path scheduler: the object, ``pick``, ``on_relations`` or ``None``, and its two properties."""

    def prepare(made: Scheduler) -> None:
        made.random = random.Random(seed)

    return _scheduler(_instance("schedulers", source, folder, digest, parameters, prepare))


def _scheduler(made: Scheduler) -> tuple[Any, Any, Any, bool, bool]:
    return made, made.pick, _own(made, Scheduler, "on_relations"), bool(made.replicates), bool(made.queues_ahead)


def make_classifier(
    source: str, folder: str, digest: str, parameters: str, rate: int | None, rtt: int | None, full_packet: int
) -> tuple[Any, Any, bool, bool, list[tuple[str, str]]]:
    """A flow classifier: the object, ``classify``, its two properties, and what it shows."""

    def prepare(made: Classifier) -> None:
        made.rate, made.rtt, made.full_packet = rate, rtt, full_packet
        if made.is_random:
            made.random = random.Random(0)  # seeded by the first packet

    return _classifier(_instance("classifiers", source, folder, digest, parameters, prepare))


def _classifier(made: Classifier) -> tuple[Any, Any, bool, bool, list[tuple[str, str]]]:
    return made, made.classify, bool(made.is_constant_per_flow), bool(made.is_random), list(made.shows.items())


def make_source(
    source: str, folder: str, digest: str, parameters: str, seed: int
) -> tuple[Any, Any, Any, Any, int | None]:
    """A traffic source: the object, ``step``, ``on_client`` and ``on_server`` or ``None``, and its limit."""

    def prepare(made: Source) -> None:
        made.random = random.Random(seed)
        made.writable = made.unacknowledged = made._written = 0
        made._closed = False

    made = _instance("sources", source, folder, digest, parameters, prepare)
    limit = made.limit
    if limit is not None and not (isinstance(limit, int) and limit > 0):
        raise Refused(f"`{type(made).__name__}.limit`", "a whole number of bytes above 0, or `None`", f"`{limit}`")
    return made, made.step, _own(made, Source, "on_client"), _own(made, Source, "on_server"), limit


def _own(made: Mechanism, base: type[Mechanism], event: str) -> Any:
    """The event of that name, bound; ``None`` if the class takes no notice of it."""
    return None if getattr(type(made), event) is getattr(base, event) else getattr(made, event)


def copy(made: Any) -> Any:
    """A copy of a mechanism with the same state: what the maker gave of it."""
    other = _copy.deepcopy(made)
    if isinstance(other, Queue):
        return _queue(other)
    if isinstance(other, Scheduler):
        return _scheduler(other)
    return _classifier(other) if isinstance(other, Classifier) else (other, _events(other))


def told(error: BaseException) -> tuple[str, str]:
    """An error of a mechanism: what it is and the line of the user's code, and the whole traceback."""
    details = "".join(traceback.format_exception(error))
    what = f"{type(error).__name__}: {' '.join(str(error).split())}" if str(error) else type(error).__name__
    if isinstance(error, SyntaxError) and error.filename:
        return f"{type(error).__name__}: {error.msg} at {error.filename}:{error.lineno}", details
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith((_PACKAGE, "<frozen"))
    ]
    return (f"{what} at {frames[-1].filename}:{frames[-1].lineno}" if frames else what), details
