"""What must hold of a run: a comparison of two expressions over its metrics, such as ``took.main <= 5.5``.

An expression has numbers, names of metrics with their parts, ``+ - * /`` and parentheses. Its value is read off each run, so over the seeds
it has a mean with an interval.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..analysis import metrics
from ..analysis.measures import Run
from ..errors import InputError

_ARITHMETIC: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
#: Each comparison, and the sign with which `left - right` is too much.
_SIGNS: dict[type[ast.cmpop], int] = {ast.LtE: 1, ast.Lt: 1, ast.GtE: -1, ast.Gt: -1}


@dataclass(frozen=True)
class Condition:
    """A comparison. It is read by :meth:`of`."""

    text: str
    left: ast.expr
    right: ast.expr
    sign: int

    @classmethod
    def of(cls, text: str, where: str) -> Condition:
        """The condition in a text; refuses what is none."""
        try:
            tree = ast.parse(text, mode="eval").body
            if isinstance(tree, ast.Compare) and len(tree.ops) == 1 and type(tree.ops[0]) in _SIGNS:
                found = cls(text, tree.left, tree.comparators[0], _SIGNS[type(tree.ops[0])])
                if found.names():
                    return found
        except (SyntaxError, ValueError):
            pass
        raise InputError(f"{where}: must be a comparison of metrics such as `took.main <= 5.5`, got `{text}`") from None

    def names(self) -> list[str]:
        """The metrics in it."""
        return [*_names(self.left), *_names(self.right)]

    def unit(self, scenario: Mapping[str, Any]) -> str:
        """The unit of a side that is one metric alone."""
        return (
            metrics.metric(_dotted(self.left), scenario).unit if isinstance(self.left, ast.Attribute | ast.Name) else ""
        )

    def value(self, run: Run) -> float:
        """The left side."""
        return _value(self.left, run)

    def excess(self, run: Run) -> float:
        """By how much the run violates it; negative: by how much it does not."""
        return self.sign * (_value(self.left, run) - _value(self.right, run))


def _dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    if isinstance(node, ast.Name):
        return node.id
    raise ValueError("no name")


def _names(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.Attribute | ast.Name):
        yield _dotted(node)
    elif isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
        yield from (*_names(node.left), *_names(node.right))
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield from _names(node.operand)
    elif not (isinstance(node, ast.Constant) and type(node.value) in (int, float)):
        raise ValueError("no expression")


def _value(node: ast.expr, run: Run) -> float:
    if isinstance(node, ast.BinOp):
        right = _value(node.right, run)
        if isinstance(node.op, ast.Div) and right == 0:
            return float("nan")
        return _ARITHMETIC[type(node.op)](_value(node.left, run), right)
    if isinstance(node, ast.UnaryOp):
        return -_value(node.operand, run)
    return float(node.value) if isinstance(node, ast.Constant) else metrics.named(run, _dotted(node))  # type: ignore[arg-type]
