"""require-rules: the module, unchanged, or an error at the first operation without a rule.

    %y = stablehlo.custom_call @mine(%x) : (tensor<8x4xf32>) -> tensor<8x4xf32>     // %x is split over data

stops with

    prog.mlir:6:10: error: custom_call @mine has no rule, so it cannot run on blocks of its operands
        note: register one (shardc.ops.register_call), or gather the operands: --fallback replicate

With `fallback=replicate` the operation runs on whole operands on every device, and a warning gives the bytes.
What has an effect outside the program (a host callback, an infeed) is an error either way, and names all
operations of the program that are. Random bits are made whole on every device, so that the program has the
bits it had: a warning says what that costs.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import cast

from shardc.analysis.shardings import known_shardings
from shardc.diagnostics import ShardcError, warn
from shardc.dialects.shared_graph import SharedGraph
from shardc.graph import Graph, Node, Region, walk
from shardc.graph.types import DTYPES
from shardc.layout import Sharding, replicated
from shardc.ops import Trait, has, hlo, is_tensor_op, op_of
from shardc.ops.registry import rule_of
from shardc.passes.graph_pass import GraphPass
from shardc.planning.reshard import plan
from shardc.semantics.lapack import is_known

FALLBACKS = ("error", "replicate")
RANDOM = hlo.rng_bit_generator.name


@dataclass(frozen=True)
class RequireRules(GraphPass):
    """Stop at operations without a rule, or warn of them; `fallback` is error or replicate."""

    name = "require-rules"

    fallback: str = "error"

    def rewrite(self, shared: SharedGraph) -> bool:
        if self.fallback not in FALLBACKS:
            raise ShardcError(f"{self.fallback} is no fallback; they are {', '.join(FALLBACKS)}")
        graph = shared.snapshot().graph
        _check_operations(graph)
        _check_types(graph)
        if graph.meshes:
            for function in graph.functions.values():
                _Rules(graph, self.fallback).region(function.body)
        return False


def _check_types(graph: Graph) -> None:
    """Per-device code holds arrays of numbers."""
    for value in graph.values:
        if value.type.dtype not in DTYPES:
            raise ShardcError(
                f"a value is of type {value.type.dtype}, of which per-device code has none",
                value.loc,
                "tokens order effects, and what is compiled has no effects",
            )


@dataclass(frozen=True)
class _Problem:
    """Why an operation cannot be compiled, and what helps."""

    message: str
    hint: str | None = None


def _check_operations(graph: Graph) -> None:
    """ShardcError at the first operation that no device can run; it names the others, with their counts."""
    found = [
        (node, problem)
        for function in graph.functions.values()
        for node in walk(function.body)
        if (problem := _effect(node) or _memory(node)) is not None
    ]
    if not found:
        return
    node, problem = found[0]
    others = Counter(title(other) for other, _ in found[1:])
    counted = ", ".join(f"{name} ({count})" if count > 1 else name for name, count in others.items())
    also = f"this cannot be compiled either: {counted}" if others else ""
    raise ShardcError(problem.message, node.loc, "; ".join(filter(None, (problem.hint, also))) or None)


def _effect(node: Node) -> _Problem | None:
    """Nothing may happen outside the program: it would happen once per device, or in another order."""
    target = str(node.attrs.get("call_target_name", ""))
    if "callback" in target:
        return _Problem(
            f"a host callback (custom_call @{target}) cannot be compiled: the text does not hold the "
            "function that it calls",
            "leave jax.pure_callback, jax.debug.print and the like out of the function that is compiled",
        )
    is_rng = node.name == hlo.rng.name
    if has(node.name, Trait.EXTERNAL) or is_rng or node.attrs.get("has_side_effect"):
        return _Problem(
            f"{title(node)} has an effect outside the program, which every device would have",
            "use jax.random, whose bits follow from a key" if is_rng else None,
        )
    return None


def _memory(node: Node) -> _Problem | None:
    """Foreign code is given arrays row by row."""
    target = str(node.attrs.get("call_target_name", ""))
    if not target or is_known(target):
        return None
    layouts = [cast("tuple[int, ...]", layout) for key in _LAYOUTS for layout in _tuple(node.attrs.get(key))]
    if all(layout == tuple(reversed(range(len(layout)))) for layout in layouts):
        return None
    return _Problem(f"custom_call @{target} wants arrays that are not stored row by row, as shardc's are")


_LAYOUTS = ("operand_layouts", "result_layouts")


def _tuple(value: object) -> tuple[object, ...]:
    return cast("tuple[object, ...]", value) if isinstance(value, tuple) else ()


class _Rules:
    """Looks at the operations of one function; in per-device code, at how the other axes split blocks."""

    def __init__(self, graph: Graph, fallback: str) -> None:
        self.graph, self.fallback = graph, fallback
        self.layouts = known_shardings(graph)
        self.mesh = next(iter(graph.meshes.values()))

    def region(self, region: Region) -> None:
        """Check the nodes of a region and of those in it, but for bodies over scalars."""
        for node in region.nodes[:-1]:
            if node.name == RANDOM:
                self._random(node)
            if node.name.startswith("sdy.") or has(node.name, Trait.SAME_LAYOUT, Trait.SOURCE, Trait.REGION):
                for inner in node.regions:
                    self.region(inner)
            elif rule_of(op_of(self.graph, node)) is None:
                self._without_rule(node)

    def _layout(self, value: int) -> Sharding:
        known = self.layouts.get(value)
        return known.layout() if known else replicated(self.mesh, self.graph.type(value).rank)

    def _split(self, value: int) -> bool:
        return any(dim.axes for dim in self._layout(value).dims)

    def _without_rule(self, node: Node) -> None:
        split = [value for value in node.operands if self._split(value)]
        if not split and not any(map(self._split, node.results)):
            return  # whole everywhere already
        if self.fallback == "error":
            is_call = "call_target_name" in node.attrs
            name = "register_call" if is_call else "register"
            raise ShardcError(
                f"{title(node)} has no rule, so it cannot run on blocks of its operands",
                node.loc,
                f"register one (shardc.ops.{name}), or gather the operands: --fallback replicate",
            )
        moved = sum(self._gathered(value) for value in split)
        warn(
            f"{title(node)} has no rule: its operands are gathered, {moved} bytes per device, and every "
            "device computes all of it",
            node.loc,
            "a rule would keep it split: shardc.ops.register",
        )

    def _gathered(self, value: int) -> int:
        type, layout = self.graph.type(value), self._layout(value)
        return plan(type, layout, replicated(layout.mesh, type.rank)).cost.bytes

    def _random(self, node: Node) -> None:
        if self._split(node.results[1]):
            type = self.graph.type(node.results[1])
            warn(
                f"random bits are the same on any mesh: every device makes all {type.nbytes} bytes of them "
                "and keeps its block",
                node.loc,
                "jax.random's threefry keys make bits that can be split",
            )


def title(node: Node) -> str:
    """custom_call @mine"""
    target = node.attrs.get("call_target_name")
    name = node.name.partition(".")[2] if is_tensor_op(node.name) else node.name
    return f"{name} @{target}" if target else name
