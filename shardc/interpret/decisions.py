"""Decisions on floats that fall otherwise in f64: comparisons, roundings, orders, casts to integers,
and bits, which decide on the last place.

On one side of such a decision a right program may be as far from the true value as it likes, so what hangs on
it is not compared. Which do is found by running the single-device program again, on arguments that differ by
at most a unit in the last place, with the terms of sums in other orders (resummed.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
from msgspec import Struct

from shardc.graph import Graph, Node, Region, walk
from shardc.interpret.collectives import Blocks
from shardc.interpret.tolerance import UNIT
from shardc.interpret.wide import WIDER
from shardc.ops import hlo
from shardc.semantics.arrays import Array, is_whole
from shardc.semantics.reduction import dtype_name

SAMPLES = 8
"""Runs on arguments nearby. A decision closer than the roundings falls otherwise in about every other one."""

_STEPS = {
    hlo.floor.name,
    hlo.ceil.name,
    hlo.round_nearest_afz.name,
    hlo.round_nearest_even.name,
    hlo.sign.name,
    hlo.select_and_scatter.name,
}
"""Steps from floats to floats; any operation from floats to integers or truth values decides, too."""

_MANTISSA = 23
"""Bits of the mantissa of f32."""

_FLOATS = {*WIDER, "f64", "c128"}


class Decision(Struct, frozen=True):
    """An operation whose result is another in f64, in `count` of `total` elements."""

    node: Node
    count: int
    total: int

    def __str__(self) -> str:
        name = self.node.name.partition(".")[2]
        place = f"line {self.node.loc.line}: " if self.node.loc.file else ""
        what = "takes other bits" if self.node.name == hlo.bitcast_convert.name else "falls otherwise"
        return f"{place}{name} {what} in f64 in {self.count} of {self.total} elements"


class Decisions(Struct):
    """What each decision came to, at each visit, in one run; `record` is for the interpreter's trace."""

    graph: Graph
    values: dict[int, list[Blocks]] = {}
    nodes: dict[int, Node] = {}

    def record(self, node: Node, values: list[Blocks]) -> None:
        if not _decides(self.graph, node):
            return
        self.nodes[node.id] = node
        kept = [block for blocks in values for block in blocks if is_whole(block.dtype) or _steps(node)]
        self.values.setdefault(node.id, []).append(kept)

    def otherwise(self, other: Decisions) -> list[Decision]:
        """Those that fell otherwise in another run, in the order of the program."""
        found: list[Decision] = []
        for number, node in self.nodes.items():
            mine, theirs = self.values[number], other.values.get(number, [])
            pairs = [pair for a, b in zip(mine, theirs, strict=False) for pair in zip(a, b, strict=True)]
            count = sum(int((a != b).sum()) for a, b in pairs if a.shape == b.shape)
            count += abs(len(mine) - len(theirs))
            if count:
                found.append(Decision(node, count, max(1, sum(a.size for a, _ in pairs))))
        return found


def _decides(graph: Graph, node: Node) -> bool:
    if _steps(node):
        return True
    floats = any(type.dtype in _FLOATS for type in graph.types(node.operands))
    return (
        floats
        and not _is_control(node)
        and any(type.dtype not in _FLOATS for type in graph.types(node.results))
    )


def _steps(node: Node) -> bool:
    """A step, or what keeps fewer bits than f32 has: what keeps those of f32 is none on one device."""
    if node.name == hlo.reduce_precision.name:
        return int(cast(int, node.attrs["mantissa_bits"])) < _MANTISSA
    return node.name in _STEPS


def _is_control(node: Node) -> bool:
    return node.name in (hlo.while_.name, hlo.case.name, hlo.if_.name)


def nearby(arrays: Sequence[Array], seed: int) -> list[Array]:
    """The arguments, each element of which is moved by at most a unit in the last place."""
    rng = np.random.default_rng(seed)
    return [_moved(array, rng) for array in arrays]


def _moved(array: Array, rng: np.random.Generator) -> Array:
    unit = UNIT.get(dtype_name(array.dtype), 0.0) if not is_whole(array.dtype) else 0.0
    if unit == 0.0:
        return array
    wide = array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)
    return (wide * (1 + 2 * unit * rng.integers(-1, 2, array.shape))).astype(array.dtype)


def affected(graph: Graph, decisions: Sequence[Decision]) -> dict[int, list[Decision]]:
    """For every result of the entry, the decisions that it hangs on."""
    sources = {decision.node.id: decision for decision in decisions}
    reached = _reach(graph, graph.main.body, {}, sources)
    return {index: list(found.values()) for index, found in enumerate(reached)}


Found = dict[int, Decision]


def _reach(graph: Graph, region: Region, known: dict[int, Found], sources: Found) -> list[Found]:
    for node in region.nodes[:-1]:
        callee = graph.functions.get(str(node.attrs.get("callee", node.attrs.get("decomposition"))))
        inside = [*(inner for body in node.regions for inner in walk(body))]
        inside += list(walk(callee.body)) if callee is not None else []
        found: Found = {i.id: sources[i.id] for i in (node, *inside) if i.id in sources}
        for value in (*node.operands, *(value for inner in inside for value in inner.operands)):
            found |= known.get(value, {})
        if found:
            known.update(dict.fromkeys(node.results, found))
    return [known.get(value, {}) for value in region.results]
