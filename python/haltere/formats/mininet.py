"""Python scripts of Mininet that build a network of TCLinks. The script is read, never run.

Assignments of constants, ``dict(...)``, loops over ``range`` or a list of constants, ``'h%d' % i``, f-strings and functions with
default arguments are followed. Anything else that names a host or a link is listed as left out.

Source: Mininet's documented API (``addHost``, ``addSwitch``, ``addLink``, and TCLink's ``bw`` in Mbit/s, ``delay``, ``loss`` in per
cent, ``jitter``, ``max_queue_size`` in packets).
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from ..errors import InputError
from .found import Found, text_of

_LINK = {"bw", "delay", "loss", "jitter", "max_queue_size", "enable_ecn", "enable_red"}
#: Arguments of links that change nothing here.
_NO_EFFECT = {
    "cls",
    "port1",
    "port2",
    "intfName1",
    "intfName2",
    "addr1",
    "addr2",
    "use_htb",
    "use_hfsc",
    "use_tbf",
    "speedup",
}
_MOST_ROUNDS = 10_000


class _Unknown(Exception):
    """An expression that is not followed."""


def read(words: Sequence[str]) -> Found:
    """The experiment of a script."""
    [path] = words
    try:
        tree = ast.parse(text_of(path))
    except SyntaxError as error:
        raise InputError(f"{path}: line {error.lineno}: must be Python, got `{error.msg}`") from None
    script = _Script(tree)
    script.statements(tree.body, {})
    if not script.links:
        raise InputError(
            f"{path}: must have links (`addLink`), got none that can be read; {'; '.join(script.left_out) or 'no calls'}"
        )
    hosts = list(dict.fromkeys(script.hosts))
    pairs = script.iperf or ([(hosts[0], hosts[-1])] if len(hosts) > 1 else [])
    if not script.iperf and pairs:
        script.left_out.append(
            f"traffic: the script starts none that is read; one flow runs from `{pairs[0][0]}` to `{pairs[0][1]}`"
        )
    nodes = list(
        dict.fromkeys([*hosts, *script.switches, *(end for link in script.links for end in (link["from"], link["to"]))])
    )
    return Found(
        {
            "title": f"From Mininet's {path}",
            "duration": "30s",
            "topology": {"graph": {"nodes": nodes, "links": script.links}},
            "traffic": [{"kind": "bulk", "from": one, "to": other} for one, other in pairs],
        },
        list(dict.fromkeys(script.left_out)),
    )


class _Script:
    """What a script builds."""

    def __init__(self, tree: ast.Module) -> None:
        classes = {one.name for one in ast.walk(tree) if isinstance(one, ast.ClassDef)}
        #: How the script makes each of its classes: the call whose arguments `build` or `__init__` gets.
        self.made = {
            one.func.id: one
            for one in ast.walk(tree)
            if isinstance(one, ast.Call) and isinstance(one.func, ast.Name) and one.func.id in classes
        }
        self.hosts: list[str] = []
        self.switches: list[str] = []
        self.links: list[dict[str, Any]] = []
        self.iperf: list[tuple[str, str]] = []
        self.left_out: list[str] = []
        self.rounds = 0

    def statements(self, body: Sequence[ast.stmt], names: dict[str, Any]) -> None:
        for one in body:
            self.statement(one, names)

    def statement(self, one: ast.stmt, names: dict[str, Any]) -> None:
        match one:
            case ast.ClassDef():
                for inner in one.body:
                    if isinstance(inner, ast.FunctionDef):
                        self._function(inner, names, self.made.get(one.name))
            case ast.FunctionDef():
                self._function(one, names, None)
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                names.update(self._bound(name, value, names))
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=value):
                held = self._bound("", value, names).get("")
                if isinstance(held, list) and len(held) == len(targets):
                    names.update(
                        {to.id: one for to, one in zip(targets, held, strict=True) if isinstance(to, ast.Name)}
                    )
            case ast.For(target=ast.Name(id=name), iter=over, body=body):
                self._loop(name, over, body, names, one.lineno)
            case ast.Expr(value=value):
                self._bound("", value, names)
            case ast.If() | ast.With() | ast.Try() | ast.While():
                inside = [*one.body, *getattr(one, "orelse", [])]
                if isinstance(one, ast.If | ast.While) and any(_builds(part) for part in inside):
                    self.left_out.append(f"line {one.lineno}: a condition, of which all branches count")
                self.statements(inside, names)

    def _function(self, one: ast.FunctionDef, names: dict[str, Any], made: ast.Call | None) -> None:
        """Follows a function with its defaults, or with what its class is made with."""
        own, arguments = dict(names), one.args.args
        for argument, default in zip(
            arguments[len(arguments) - len(one.args.defaults) :], one.args.defaults, strict=True
        ):
            own |= self._bound(argument.arg, default, names)
        if made is not None:
            given = [(argument.arg, value) for argument, value in zip(arguments[1:], made.args, strict=False)]
            given += [
                (one.arg, one.value) for one in made.keywords if one.arg in {argument.arg for argument in arguments}
            ]
            for name, value in given:
                own |= self._bound(name, value, names)
        self.statements(one.body, own)

    def _loop(self, name: str, over: ast.expr, body: Sequence[ast.stmt], names: dict[str, Any], line: int) -> None:
        try:
            values = self.value(over, names)
        except _Unknown:
            if any(map(_builds, body)):
                self.left_out.append(f"line {line}: a loop over `{ast.unparse(over)}`")
            return
        for value in values:
            self.rounds += 1
            if self.rounds > _MOST_ROUNDS:
                raise InputError(f"mininet: loops must have at most {_MOST_ROUNDS} rounds together")
            names[name] = value
            self.statements(body, names)

    def _bound(self, name: str, value: ast.expr, names: dict[str, Any]) -> dict[str, Any]:
        try:
            return {name: self.value(value, names)}
        except _Unknown:
            if _builds(value):
                self.left_out.append(f"line {value.lineno}: `{ast.unparse(value)}`")
            names.pop(name, None)
            return {}

    def value(self, node: ast.expr, names: dict[str, Any]) -> Any:
        """The value of an expression of constants."""
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Name(id=name) if name in names:
                return names[name]
            case ast.List(elts=elements) | ast.Tuple(elts=elements):
                return [self.value(one, names) for one in elements]
            case ast.Dict(keys=keys, values=values):
                return {
                    self.value(key, names): self.value(value, names)
                    for key, value in zip(keys, values, strict=True)
                    if key
                }
            case ast.JoinedStr(values=parts):
                return "".join(
                    str(self.value(part.value if isinstance(part, ast.FormattedValue) else part, names))
                    for part in parts
                )
            case ast.BinOp(left=left, op=op, right=right):
                return self._binary(op, self.value(left, names), self.value(right, names))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self.value(operand, names)
            case ast.Subscript(value=held, slice=index):
                return self._at(self.value(held, names), self.value(index, names))
            case ast.Call():
                return self._call(node, names)
        raise _Unknown

    @staticmethod
    def _at(held: Any, index: Any) -> Any:
        try:
            return held[index]
        except (TypeError, LookupError):
            raise _Unknown from None

    @staticmethod
    def _binary(op: ast.operator, left: Any, right: Any) -> Any:
        try:
            match op:
                case ast.Add():
                    return left + right
                case ast.Sub():
                    return left - right
                case ast.Mult() if not isinstance(left, str | list) and not isinstance(right, str | list):
                    return left * right
                case ast.Div():
                    return left / right
                case ast.FloorDiv():
                    return left // right
                case ast.Mod():
                    return left % (tuple(right) if isinstance(right, list) else right)
        except (TypeError, ValueError, ArithmeticError):
            pass
        raise _Unknown

    def _call(self, node: ast.Call, names: dict[str, Any]) -> Any:
        if isinstance(node.func, ast.Name):
            arguments = [self.value(one, names) for one in node.args]
            match node.func.id, arguments:
                case "dict", []:
                    return self._keywords(node, names, set())
                case "range", [_, *_] if all(isinstance(one, int) for one in arguments) and len(arguments) < 4:
                    return range(*arguments)
                case ("str" | "int" | "float") as kind, [one]:
                    return {"str": str, "int": int, "float": float}[kind](one)
            raise _Unknown
        if not isinstance(node.func, ast.Attribute):
            raise _Unknown
        match node.func.attr, node.args:
            case "addHost", [name, *_]:
                self.hosts.append(str(self.value(name, names)))
                return self.hosts[-1]
            case "addSwitch", [name, *_]:
                self.switches.append(str(self.value(name, names)))
                return self.switches[-1]
            case "addLink", [one, other, *_]:
                return self._link(node, self.value(one, names), self.value(other, names), names)
            case (("get" | "getNodeByName"), [_, *_]):
                held = [str(self.value(one, names)) for one in node.args]
                return held[0] if len(held) == 1 else held
            case "iperf", [ends, *_]:
                one, other = self.value(ends, names)
                self.iperf.append((str(one), str(other)))
                return None
        raise _Unknown

    def _keywords(self, node: ast.Call, names: dict[str, Any], skip: set[str]) -> dict[str, Any]:
        given: dict[str, Any] = {}
        for one in node.keywords:
            if one.arg is None:
                given |= self.value(one.value, names)
            elif one.arg not in skip:
                given[one.arg] = self.value(one.value, names)
        return given

    def _link(self, node: ast.Call, one: Any, other: Any, names: dict[str, Any]) -> None:
        given = self._keywords(node, names, _NO_EFFECT)
        link: dict[str, Any] = {"from": str(one), "to": str(other)}
        if given.get("bw") is not None:
            link["rate"] = f"{given['bw']:g}Mbit"
        if given.get("delay") is not None:
            link["delay"] = _time(given["delay"])
        if given.get("jitter") is not None:
            link["jitter"] = _time(given["jitter"])
        if given.get("loss"):
            link["loss"] = f"{given['loss']:g}%"
        if given.get("max_queue_size") is not None:
            link["queue"] = {"kind": "drop_tail", "limit": f"{given['max_queue_size']}p"}
        red = [key for key in ("enable_red", "enable_ecn") if given.get(key)]
        ignored = [*red, *sorted(given.keys() - _LINK - _NO_EFFECT)]
        self.left_out += [f"line {node.lineno}: `{key}`" for key in ignored]
        self.links.append(link)


def _time(value: Any) -> str:
    # Mininet gives a number to tc, which reads microseconds.
    return f"{value:g}us" if isinstance(value, int | float) else str(value)


def _builds(node: ast.AST) -> bool:
    """True if something in it adds a host, a switch or a link."""
    return any(
        isinstance(one, ast.Attribute) and one.attr in ("addHost", "addSwitch", "addLink", "iperf")
        for one in ast.walk(node)
    )
