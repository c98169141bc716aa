"""What operations give for numbers, where that is not rounded: -(0.25) is -0.25, jnp.log(1.0) is 0.0."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import partial
from typing import Any, Protocol, cast

import numpy as np

from shardc.graph import Dense, Graph, Node, is_float
from shardc.ops import chlo, hlo


class Known(Protocol):
    """What is known of the program: see folding._Folder."""

    graph: Graph
    made: dict[int, Node]
    varying: Mapping[int, frozenset[str]]

    def only(self, value: int, *names: str) -> Node | None: ...

    def shape(self, value: int) -> tuple[int, ...]: ...

    def splat(self, value: int) -> object: ...


def number(known: Known, node: Node) -> Node | None:
    """What an operation gives for numbers, where a real number would not be rounded."""
    result = node.results[0]
    type = known.graph.type(result)
    given = [known.splat(value) for value in node.operands]
    wide = type.dtype in ("f32", "f64") or (node.name == hlo.convert.name and is_float(type.dtype))
    if not wide or None in given or known.varying.get(result):
        return None
    numbers = [cast(np.generic, number).item() for number in given]
    if not all(isinstance(number, (int, float)) and np.isfinite(number) for number in numbers):
        return None
    with np.errstate(all="ignore"):
        found = type.numpy.type(_FLOATS[node.name](*numbers))
    if not np.isfinite(found) or Fraction(float(found)) != _exactly(node.name, numbers):
        return None
    attrs = {"value": Dense(np.array(found), type.shape)}
    return Node(node.id, hlo.constant.name, (), node.results, attrs, (), node.loc)


def form_of_number(known: Known, node: Node) -> Node | None:
    """A constant of one element, in another shape."""
    result = node.results[0]
    number = known.splat(node.operands[0])
    if number is None or known.varying.get(result):
        return None
    attrs = {"value": Dense(np.asarray(number), known.shape(result))}
    return Node(node.id, hlo.constant.name, (), node.results, attrs, (), node.loc)


def _exactly(name: str, numbers: list[Any]) -> Fraction | None:
    sides = [Fraction(number) for number in numbers]
    if name == hlo.divide.name and not sides[1]:
        return None
    if name in _AT:
        place, value = _AT[name]
        return value if sides == [place] else None
    if name == hlo.sqrt.name:
        root = Fraction(float(np.sqrt(numbers[0])))
        return root if root * root == sides[0] else None
    return cast(Fraction, _FLOATS[name](*sides))


def _quotient(x: Any, y: Any) -> Any:
    return x / y


_AT = {hlo.exponential.name: (Fraction(0), Fraction(1)), hlo.log.name: (Fraction(1), Fraction(0))}
"""Where what is hardly ever a rational number is one."""
_FLOATS: dict[str, Callable[..., object]] = {
    hlo.add.name: operator.add,
    hlo.convert.name: operator.pos,
    hlo.divide.name: _quotient,
    hlo.exponential.name: np.exp,
    hlo.log.name: np.log,
    hlo.multiply.name: operator.mul,
    hlo.negate.name: operator.neg,
    hlo.sqrt.name: np.sqrt,
    hlo.subtract.name: operator.sub,
    chlo.square.name: partial(pow, exp=2),
}
