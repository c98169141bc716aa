"""Programs in f64: floats are f64, complex numbers c128, integers as they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

import numpy as np
from msgspec.structs import replace

from shardc.graph import Graph, Node, Op, Region, TensorType
from shardc.graph.types import DTYPES, FP8
from shardc.interpret.devices import Lockstep
from shardc.interpret.hooks import Hooks, Trace
from shardc.ops import hlo, meaning
from shardc.ops.definition import Meaning
from shardc.semantics.arrays import Array, Body

WIDER = {"f32": "f64", "bf16": "f64", "f16": "f64", **dict.fromkeys(FP8, "f64"), "c64": "c128"}
"""What dtypes become."""

_NARROW = "narrow types"
"""The attribute of these types; it is part of the operation, as notes of shardc (`shardc.`) are not."""


def widened(array: Array) -> Array:
    """The array in f64 or c128; integers and truth values as they are."""
    name = next((name for name in WIDER if DTYPES[name][1] == array.dtype), None)
    return array if name is None else array.astype(DTYPES[WIDER[name]][1])


def run_wide(
    graph: Graph,
    inputs: Sequence[Array],
    trace: Trace | None = None,
    meanings: Callable[[str], Meaning | None] = meaning,
) -> list[Array]:
    """The entry's results in f64; see `run`."""
    wide = wide_graph(graph)
    hooks = Hooks[Lockstep](check=False, trace=trace, meanings=lambda name: _wide(meanings(name)))
    machine = Lockstep(wide, hooks=hooks)
    return [result[0] for result in machine.run(wide.main.body, [[widened(array)] for array in inputs], {})]


def wide_graph(graph: Graph) -> Graph:
    """The program with the wider types; its operations are to mean what `run_wide` has them mean."""
    values = [replace(value, type=_wide_type(value.type)) for value in graph.values]
    functions = {
        name: replace(function, body=_region(graph, function.body))
        for name, function in graph.functions.items()
    }
    return Graph(graph.meshes, functions, values)


def _region(graph: Graph, region: Region) -> Region:
    return Region(region.args, [_node(graph, node) for node in region.nodes])


def _node(graph: Graph, node: Node) -> Node:
    """Operations on bits keep note of the types that they are about."""
    regions = tuple(_region(graph, region) for region in node.regions)
    if node.name != hlo.bitcast_convert.name:
        return replace(node, regions=regions)
    types = (graph.type(node.operands[0]), graph.type(node.results[0]))
    return replace(node, attrs={**node.attrs, _NARROW: types})


def _wide_type(type: TensorType) -> TensorType:
    return type.with_dtype(WIDER.get(type.dtype, type.dtype))


def _wide(computes: Meaning | None) -> Meaning | None:
    if computes is None:
        return None

    def wide(op: Op, arrays: Sequence[Array], *bodies: Body) -> list[Array]:
        types = cast("tuple[TensorType, TensorType] | None", op.attrs.get(_NARROW))
        if types is not None:
            op = replace(op, operands=types[:1], results=types[1:])
            arrays = [arrays[0].astype(types[0].numpy)]
        return [widened(np.asarray(array)) for array in computes(op, arrays, *bodies)]

    return wide
