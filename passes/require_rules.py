"""require-rules: the module, unchanged, or an error at the first operation without a rule.

    %y = stablehlo.custom_call @mine(%x) : (tensor<8x4xf32>) -> tensor<8x4xf32>     // %x is split over data

stops with

    prog.mlir:6:10: error: custom_call @mine has no rule, so it cannot run on blocks of its operands
        note: register one (shardc.ops.register_call), or gather the operands: --fallback replicate

With `fallback=replicate` the operation runs on whole operands on every device, and a warning gives the bytes.
Random bits are made whole on every device, so that the program has the bits it had: a warning says what that
costs.
"""

from __future__ import annotations

from dataclasses import dataclass

from shardc.analysis.shardings import known_shardings
from shardc.diagnostics import ShardcError, warn
from shardc.dialects.shared_graph import SharedGraph
from shardc.graph import Graph, Node, Region
from shardc.layout import Sharding, replicated
from shardc.ops import Trait, has, hlo, op_of
from shardc.ops.registry import rule_of
from shardc.passes.graph_pass import GraphPass
from shardc.passes.require_runnable import title
from shardc.planning.reshard import plan

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
        if graph.meshes:
            for function in graph.functions.values():
                _Rules(graph, self.fallback).region(function.body)
        return False


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
