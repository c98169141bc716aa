"""What a sweep works on: places that hold a sharding, and links between them.

A *place* is a value, all targets of a data-flow edge together, or a result of a function that the outside
calls. A *link* is an operation with a factor rule, or an edge. A function called twice appears twice: each
call has places and links of its own, so the two bodies may be sharded differently.
"""

from __future__ import annotations

from functools import lru_cache

from msgspec import Struct

from shardc.graph import Node, TensorType
from shardc.layout import Sharding
from shardc.ops.rule import Factor, FactorRule
from shardc.propagation.dead import Dead
from shardc.propagation.direction import Direction
from shardc.propagation.manual import Border

Path = tuple[int, ...]
"""The calls that lead from a function to an instance of another: the ids of their nodes."""


class Link(Struct, eq=False):
    """One operation or edge: its rule, and the places of its operands and results.

    `kind` is the name that op priorities go by. `shared` says that an operand that is not a scalar has
    another use, `shared_until` that it has one until those links (which are dead) are removed. `fixed` is the
    direction of a propagation barrier, which no priority changes.
    """

    rule: FactorRule
    kind: str
    node: Node
    tensors: tuple[int, ...] = ()
    dead: bool = False
    shared: bool = False
    shared_until: tuple[int, ...] = ()
    border: Border | None = None
    fixed: Direction | None = None


class Instance(Struct, frozen=True):
    """One body of `function`, reached from function `root` by `path`: the place of each of its values."""

    root: str
    path: Path
    function: str
    places: dict[int, int]


class Flow(Struct):
    """Places 0 to n - 1 with the shardings they start with, and links in program order.

    `touches[p]` lists the links to visit again when place p changes, most urgent last. `peers[p]` are the
    other places in a sharding group with p. `results` has the places of each function's results; `returns`
    links those of the main function with the places of the values it returns.
    """

    start: list[Sharding | None]
    links: list[Link]
    touches: list[tuple[int, ...]]
    peers: dict[int, tuple[int, ...]]
    results: dict[str, list[int]]
    returns: list[Link]
    instances: list[Instance]
    dead: Dead


def identity_rule(type: TensorType, operands: int = 1) -> FactorRule:
    """One factor per dimension, in `operands` operands and one result."""
    return _identity_rule(type.shape, operands)


@lru_cache(maxsize=1 << 12)
def _identity_rule(shape: tuple[int, ...], operands: int) -> FactorRule:
    factors = tuple(Factor(size) for size in shape)
    dims = tuple((i,) for i in range(len(shape)))
    return FactorRule(factors, (dims,) * operands, (dims,))
