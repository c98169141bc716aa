"""Whether a difference comes from constants that are rounded.

    whole: x * 2.0          text: x * (1.0 - -0.9995)          of f16, in which both are 2

Constants are rounded where a compiler computes them, and where a program does. So numbers that only one of
two programs has, and that no argument goes into, may be some units of their dtype's last place off: both
programs are run again with each moved by one. What that changes in a result, times `UNITS`, is no difference
that counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
from msgspec import Struct, field

from shardc.graph import Graph, Node, walk
from shardc.graph.types import DTYPES, is_float
from shardc.interpret.collectives import Blocks
from shardc.layout.limits import finfo
from shardc.ops import Trait, has
from shardc.proof.field import distinct
from shardc.proof.values import Floats, parts
from shardc.semantics.arrays import Array, quiet

UNITS = 4
"""By so many units in the last place a constant that is rounded may be off."""

_NUMBER = np.dtype([("residue", np.uint64), ("unit", np.float64), ("shadow", np.float64)])


def unit(dtype: str) -> float:
    """The part of a number that a unit in the last place is, of f32 or of a narrower dtype."""
    own = float(finfo(DTYPES[dtype][1]).eps) if is_float(dtype) else 0.0
    return max(own, float(np.finfo(np.float32).eps))


class Constants(Struct, dict=True):
    """The numbers of one run of a program that no argument goes into, with the units of their dtypes."""

    graph: Graph
    found: list[Array] = field(default_factory=lambda: [np.empty(0, _NUMBER)])

    @cached_property
    def varying(self) -> set[int]:
        return varying(self.graph)

    def note(self, node: Node, values: Sequence[Blocks]) -> None:
        """Those among the results of an operation."""
        for value, blocks in zip(node.results, values, strict=True):
            for block in {id(block): block for block in blocks}.values() if value not in self.varying else ():
                for part in parts(block):
                    residues, first = np.unique(part["residue"], return_index=True)
                    numbers = np.empty(residues.shape, _NUMBER)
                    numbers["residue"], numbers["shadow"] = residues, part["shadow"].reshape(-1)[first]
                    numbers["unit"] = unit(self.graph.type(value).dtype)
                    self.found.append(numbers)

    def beside(self, other: Constants) -> Array:
        """What these have and others have not, in order; of a number in several dtypes the greatest unit."""
        mine, others = map(np.concatenate, (self.found, other.found))
        mine = mine[np.lexsort((-mine["unit"], mine["residue"]))]
        mine = mine[np.unique(mine["residue"], return_index=True)[1]]
        return mine[~np.isin(mine["residue"], distinct(others["residue"]))]


class Moved(Struct, frozen=True):
    """Numbers in the order of their residues, whose shadows are moved by a unit."""

    numbers: Array

    def __call__(self, array: Array) -> Array:
        """The array, or a copy in which its numbers are moved; not what has moved with its operands."""
        at = np.searchsorted(self.numbers["residue"], array["residue"])
        own = self.numbers[np.minimum(at, self.numbers.size - 1)]
        here = (own["residue"] == array["residue"]) & (own["shadow"] == array["shadow"])
        if not here.any():
            return array
        result = np.array(array)
        for which in ("shadow", "other"):
            result[which] *= np.where(here, 1 + own["unit"], 1.0)
        return result


def moved(one: Constants, other: Constants) -> Moved | None:
    """The numbers that only one of two programs has; None where there are none."""
    numbers = np.concatenate([one.beside(other), other.beside(one)])
    return Moved(numbers[np.argsort(numbers["residue"])]) if numbers.size else None


@quiet
def spread(before: Array, after: Array) -> Floats:
    """How much the real values of a result may be off."""
    pairs = zip(parts(before), parts(after), strict=True)
    apart = [np.abs(a["shadow"] - b["shadow"]) for a, b in pairs] or [np.zeros(before.shape)]
    return UNITS * np.maximum.reduce([np.where(np.isfinite(each), each, 0.0) for each in apart])


def varying(graph: Graph) -> set[int]:
    """The values of a program that an argument goes into."""
    found = set(graph.main.body.args)
    before = -1
    while before < len(found):  # functions and loops may be reached before what is given to them varies
        before = len(found)
        for function in graph.functions.values():
            for node in walk(function.body):
                found.update(_more(graph, node, found))
    return found


def _more(graph: Graph, node: Node, found: set[int]) -> Iterator[int]:
    """What varies since operands of an operation do, or what its regions or callees give."""
    called = graph.functions.get(str(node.attrs.get("callee", "")))
    regions = [called.body] if called else node.regions if has(node.name, Trait.REGION) else []
    for region in regions:
        if len(region.args) == len(node.operands):
            yield from _where(node.operands, region.args, found)
            yield from _where(node.results, region.args, found) if has(node.name, Trait.LOOP) else ()
        if len(region.results) == len(node.results):
            yield from _where(region.results, node.results, found)

    if not regions or (node.operands and not any(region.args for region in regions)):
        yield from node.results if not found.isdisjoint(node.operands) else ()


def _where(those: Sequence[int], others: Sequence[int], found: set[int]) -> Iterator[int]:
    return (other for one, other in zip(those, others, strict=True) if one in found)
