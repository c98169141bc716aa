"""reshards-to-collectives: each reshard -> the cheapest sequence of collectives.

    %1 = sdy.reshard %0 <[{}, {"model"}]> : tensor<32x64xf32>      // %0 is [{}, {}] unreduced={model}

becomes

    %1 = sdy.reduce_scatter [{}, {"model"}] %0 out_sharding=<[{}, {"model"}]> : tensor<32x64xf32>

The sequence is planned by planning/reshard/; a reshard with `shardc.at_once = "all_to_all"` is that one.
Types stay global; each step states the sharding it leaves.
With `memory-limit` no step takes more bytes on a device, operand and result together; where nothing fits:

    prog.shard:3:10: error: changing a from [x] to [y] takes 24 bytes on a device, and 23 are allowed
    note: allow 24 (--memory-limit), or annotate what a is used for so that it stays split
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from xdsl.ir import Operation
from xdsl.rewriter import Rewriter

from shardc.analysis.manual import NO_AXES, AxisNames, manual_axes
from shardc.analysis.shardings import known_shardings
from shardc.analysis.text import name_of, title
from shardc.diagnostics import ShardcError
from shardc.dialects.build import IRBuilder
from shardc.dialects.shared_graph import SharedGraph
from shardc.graph import Graph, Node, walk
from shardc.graph.marks import AT_ONCE
from shardc.layout import Axis, LayoutError, Sharding, replicated
from shardc.layout.difference import gained, lost, pieces, split
from shardc.ops import Trait, names, sdy
from shardc.ops.change_origins import origin
from shardc.passes.graph_pass import GraphPass
from shardc.planning.reshard import ReshardStep, TooLittleMemory, least_memory, preferred_plan

_COLLECTIVES = {name.partition(".")[2]: name for name in names(Trait.GLOBAL_COLLECTIVE)}
"""What a step of a plan is called -> its operation."""


@dataclass(frozen=True)
class ReshardsToCollectives(GraphPass):
    """Plan and expand every sdy.reshard, with no more than `memory_limit` bytes on a device if given, or with
    the least memory (`lean`)."""

    name = "reshards-to-collectives"
    memory_limit: int | None = None
    lean: bool = False

    def rewrite(self, shared: SharedGraph) -> bool:
        snap = shared.snapshot()
        shardings, manual, builder = (
            known_shardings(snap.graph),
            manual_axes(snap.graph),
            IRBuilder(shared.module),
        )
        changed = False
        for function in snap.graph.functions.values():
            for node in walk(function.body):
                if node.name == sdy.reshard.name:
                    type = snap.graph.type(node.operands[0])
                    known = shardings.get(node.operands[0])
                    target = cast(Sharding, node.attrs["sharding"]).layout()
                    source = known.layout() if known else replicated(target.mesh, type.rank)
                    way = self._way(snap.graph, node, source, target, manual.get(node.operands[0], NO_AXES))
                    _expand(builder, node, snap.ops[node.id], way, source)
                    changed = True
        return changed

    def _way(
        self, graph: Graph, node: Node, source: Sharding, target: Sharding, own: AxisNames
    ) -> Sequence[ReshardStep]:
        """The collectives of a reshard."""
        type, limit = graph.type(node.operands[0]), self.memory_limit
        if self.lean:
            limit = least_memory(type, source, target, own)
        if limit is None and (step := _at_once(str(node.attrs.get(AT_ONCE)), source, target)):
            return (step,)
        try:
            return preferred_plan(type, source, target, own, limit).steps
        except TooLittleMemory:
            least = least_memory(type, source, target, own)
            raise self._error(node, _called(graph, node.operands[0]), source, least) from None

    def _error(self, node: Node, what: str, source: Sharding, least: int) -> ShardcError:
        target = cast(Sharding, node.attrs["sharding"]).layout()
        return ShardcError(
            f"changing {what} from {source} to {target} takes {least} bytes on a device, "
            f"and {self.memory_limit} are allowed",
            node.loc,
            f"allow {least} (--memory-limit), or annotate what {what} is used for so that it stays split",
        )


def _at_once(kind: str, source: Sharding, target: Sharding) -> ReshardStep | None:
    """The one collective of a kind that leads from one layout to another; None where none does, as in a
    program that was read with marks, and planned anew."""
    if kind not in _COLLECTIVES or source == target:
        return None
    step = ReshardStep(kind, target, 0)
    try:
        attrs = {**step.attributes(source), "out_sharding": target}
        start = origin(_COLLECTIVES[kind], attrs, source.kind)
    except (LayoutError, KeyError):
        return None
    if start is None or kind == "all_to_all":  # which do not say
        return step if _moved(source, target, kind) else None
    return step if start.layout() == source else None


def _moved(source: Sharding, target: Sharding, kind: str) -> bool:
    """Whether the same axes split other dimensions, or stand in another order, as one collective does it."""
    atoms = pieces(source.mesh, (*source.axes(), *target.axes()))

    def every(lists: Iterable[tuple[Axis, ...]]) -> set[Axis]:
        return {atom for axes in lists for atom in split(axes, atoms)}

    before, after = ([dim.axes for dim in layout.dims] for layout in (source, target))
    went, came = every(lost(source, target)), every(gained(source, target))
    at_once = kind != "all_to_all" or (went == came and bool(went))
    return at_once and every(before) == every(after) and source.unreduced == target.unreduced


def _called(graph: Graph, value: int) -> str:
    """What the source calls a value, else what made it."""
    if name := name_of(graph.values[value].loc):
        return name
    makers = (node for function in graph.functions.values() for node in walk(function.body))
    maker = next((node for node in makers if value in node.results), None)
    return f"the result of {title(maker)}" if maker else "a tensor"


def _expand(
    builder: IRBuilder, node: Node, op: Operation, way: Sequence[ReshardStep], source: Sharding
) -> None:
    """Put some steps in the place of a reshard, with its location and its notes."""
    made = op.operands[0]
    notes = {key: note for key, note in node.attrs.items() if key.startswith("shardc.") and key != AT_ONCE}
    builder.before(op)
    with builder.at(node.loc), builder.tagged(notes):
        for step in way:
            attrs: Mapping[str, Any] = step.attributes(source)
            made = builder.one(_COLLECTIVES[step.kind], made, out_sharding=step.result, **attrs)
            source = step.result
    Rewriter.replace_op(op, [], [made])
