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
from collections.abc import Iterator, Mapping, Sequence
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
#: Methods that are called even if the class leaves them as they are.
_ALWAYS = frozenset({"enqueue", "dequeue", "pick", "classify", "step", "on_cached_ssthresh"})
_PACKAGE = str(Path(__file__).resolve().parent.parent)

_lock = threading.RLock()
_registered: dict[str, type[Mechanism]] = {}
_files: dict[Path, _File] = {}
_modules: dict[str, str] = {}
#: Classes by (kind, source, folder, digest), and those with their parameters.
_versions: dict[tuple[str, str, str, str], type[Mechanism]] = {}
_prepared: dict[tuple[str, str, str, str, str], tuple[type[Mechanism], Any]] = {}


def register(cls: type[Mechanism], name: str | None = None) -> str:
    """Makes a class of this program or notebook known as ``python:NAME`` and returns that. A second call replaces it."""
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
        raise Refused("kind", "a file that exists", f"`{where}`", f"its name counts from the folder `{folder or '.'}`")
    try:
        module = importlib.import_module(where)
    except ModuleNotFoundError as error:
        if error.name != where.split(".")[0] and error.name != where:
            raise _unreadable(where, error) from error
        hint = "it is looked for beside the experiment file and as an installed module"
        raise Refused("kind", "a module that exists", f"`{where}`", hint) from None
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


def make(
    kind: str, source: str, folder: str, digest: str, parameters: str, methods: Sequence[str], context: dict[str, Any]
) -> tuple[Any, list[Any], list[tuple[str, str]]]:
    """A mechanism of the class that has that digest: the object, its methods, and what it shows.

    ``context`` is what ``__init__`` may read, with the seed of the random numbers.
    """
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
    seed = context.pop("seed")
    if not isinstance(made, Classifier) or made.is_random:
        made.random = random.Random(seed)
    for name, value in context.items():
        setattr(made, name, value)
    if isinstance(made, Queue):
        made._verdicts = []
    try:
        made.__init__()
    except Exception as error:
        raise Refused(
            "kind", f"a class whose `__init__` returns without an error, but `{cls.__name__}` raises", told(error)[0]
        ) from error
    _check(made)
    return made, _bound(made, methods), list(made.shows.items())


def _check(made: Any) -> None:
    """Refuses what ``__init__`` or the class may not leave so."""
    name = type(made).__name__
    if isinstance(made, CongestionControl) and made.ecn not in ("classic", "per_packet", "l4s"):
        raise Refused(f"`{name}.ecn`", "one of `classic`, `per_packet`, `l4s`", f"`{made.ecn}`")
    if isinstance(made, Queue) and type(made).on_timer is not Queue.on_timer and made.timer is None:
        raise Refused(f"`{name}.timer`", "set by `__init__`, as the class has an `on_timer`", "`None`")
    limit = made.limit if isinstance(made, Source) else None
    if limit is not None and not (isinstance(limit, int) and limit > 0):
        raise Refused(f"`{name}.limit`", "a whole number of bytes above 0, or `None`", f"`{limit}`")


def _bound(made: Any, methods: Sequence[str]) -> list[Any]:
    """The methods, bound; ``None`` for those that the class leaves as they are and that do nothing."""
    base = next(base for base, _ in KINDS.values() if isinstance(made, base))
    own = (name in _ALWAYS or getattr(type(made), name) is not getattr(base, name) for name in methods)
    return [getattr(made, name) if is_own else None for name, is_own in zip(methods, own, strict=True)]


def copy(made: Any, methods: Sequence[str]) -> tuple[Any, list[Any]]:
    """A copy of a mechanism with the same state, and its methods."""
    other = _copy.deepcopy(made)
    return other, _bound(other, methods)


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
