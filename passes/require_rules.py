"""require-rules: the module, unchanged, or an error at the first operation that nobody knows how to split.

    %y = stablehlo.custom_call @mine(%x) : (tensor<8x4xf32>) -> tensor<8x4xf32>     // %x is split over data

stops with

    prog.mlir:6:10: error: custom_call @mine has no rule, so it cannot run on blocks of its operands
        note: register one (shardc.rules.table.register_call), or gather the operands: --fallback replicate

With `fallback=replicate` the operation runs on whole operands on every device, and a warning gives the bytes.
What has an effect outside the program (a host callback, an infeed) is an error either way. Random bits are
made whole on every device, so that the program has the bits it had: a warning says what that costs.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from shardc.dialects.snapshot import snapshot
from shardc.explain.diagnostics import ShardcError, warn
from shardc.graph import REGION_OPS, Graph, Node, Region, walk
from shardc.graph.stated import stated
from shardc.graph.types import DTYPES
from shardc.layout import Sharding, replicated
from shardc.planning.problem import CREATION
from shardc.planning.reshard import plan
from shardc.planning.setup import ALIKE
from shardc.rules.table import rule_of

FALLBACKS = ("error", "replicate")
RANDOM = "stablehlo.rng_bit_generator"


@dataclass(frozen=True)
class RequireRules(ModulePass):
    """Stop at operations without a rule, or warn of them; `fallback` is error or replicate."""

    name = "require-rules"

    fallback: str = "error"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.fallback not in FALLBACKS:
            raise ShardcError(f"{self.fallback} is no fallback; they are {', '.join(FALLBACKS)}")
        graph = snapshot(op).graph
        for function in graph.functions.values():
            for node in walk(function.body):
                _check_effects(node)
        _check_types(graph)
        if graph.meshes:
            for function in graph.functions.values():
                _Rules(graph, self.fallback).region(function.body)


def _check_types(graph: Graph) -> None:
    """Per-device code holds arrays of numbers."""
    for value in graph.values:
        if value.type.dtype not in DTYPES:
            raise ShardcError(
                f"a value is of type {value.type.dtype}, of which per-device code has none",
                value.loc,
                "tokens order effects, and what is compiled has no effects",
            )


def _check_effects(node: Node) -> None:
    """Nothing may happen outside the program: it would happen once per device, or in another order."""
    target = str(node.attrs.get("call_target_name", ""))
    if "callback" in target:
        raise ShardcError(
            f"a host callback (custom_call @{target}) cannot be compiled: the text does not hold the "
            "function that it calls",
            node.loc,
            "leave jax.pure_callback, jax.debug.print and the like out of the function that is compiled",
        )
    if node.name in ORDERED or node.attrs.get("has_side_effect"):
        raise ShardcError(
            f"{title(node)} has an effect outside the program, which every device would have",
            node.loc,
            ORDERED.get(node.name),
        )


class _Rules:
    """Looks at the operations of one function; in per-device code, at how the other axes split blocks."""

    def __init__(self, graph: Graph, fallback: str) -> None:
        self.graph, self.fallback = graph, fallback
        self.layouts = stated(graph)
        self.mesh = next(iter(graph.meshes.values()))

    def region(self, region: Region) -> None:
        """Check the nodes of a region and of those in it, but for bodies over scalars."""
        for node in region.nodes[:-1]:
            if node.name == RANDOM:
                self._random(node)
            if node.name.startswith("sdy.") or node.name in ALIKE | CREATION | REGION_OPS:
                for inner in node.regions:
                    self.region(inner)
            elif rule_of(self.graph.op(node)) is None:
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
                f"register one (shardc.rules.table.{name}), or gather the operands: --fallback replicate",
            )
        moved = sum(self._gathered(value) for value in split)
        warn(
            f"{title(node)} has no rule: its operands are gathered, {moved} bytes per device, and every "
            "device computes all of it",
            node.loc,
            "a rule would keep it split: shardc.rules.table.register",
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
    name = node.name.partition(".")[2] if node.name.startswith(("stablehlo.", "chlo.")) else node.name
    return f"{name} @{target}" if target else name


ORDERED: dict[str, str | None] = {
    "stablehlo.infeed": None,
    "stablehlo.outfeed": None,
    "stablehlo.recv": None,
    "stablehlo.rng": "use jax.random, whose bits follow from a key",
    "stablehlo.send": None,
}
"""Operations whose effects are ordered -> what to use instead."""
