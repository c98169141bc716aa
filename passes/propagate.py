"""propagate: a few shardings -> a sharding for every value that one can be found for.

    func.func @main(%x: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@pod, [{"data"}, {}]>},
                    %w: tensor<4x6xf32> {sdy.sharding = #sdy.sharding<@pod, [{?}, {"model"}]>}) -> … {
      %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : …
      %1 = stablehlo.tanh %0 : tensor<8x6xf32>
      return %1 : tensor<8x6xf32>
    }

becomes

    func.func @main(%x: … [{"data"}, {}], %w: … [{?}, {"model"}]) -> (… [{"data", ?}, {"model", ?}]) {
      %0 = stablehlo.dot_general … {sdy.sharding = …<[<@pod, [{"data", ?}, {"model", ?}]>]>} : …
      %1 = stablehlo.tanh %0 {sdy.sharding = …<[<@pod, [{"data", ?}, {"model", ?}]>]>} : …
      return %1 : …
    }

The algorithm is Shardy's (propagation/). Constants are copied, one for each use, so that each copy has the
sharding of its use. What a closed constraint says about a loop's value is read by the value's other users. A
function that is called in ways that shard it differently becomes several. Without a single annotation the
module stays as it is.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import Operation

from shardc.diagnostics import ShardcError, warn
from shardc.dialects.sdy import ManualComputationOp, NamedComputationOp, ReshardOp, ShardingConstraintOp
from shardc.dialects.sdy_attributes import ShardingRuleAttr
from shardc.dialects.sharding_writer import write_shardings
from shardc.dialects.shardings import attr_of, per_value
from shardc.dialects.shared_graph import SharedGraph
from shardc.dialects.snapshot import Snapshot
from shardc.graph import Graph, Node, walk
from shardc.layout import Sharding
from shardc.ops import op_of
from shardc.passes.graph_pass import GraphPass
from shardc.propagation import STRATEGIES, Options, Result, propagate
from shardc.propagation.custom import check_rule, parse_rule, unlike_dimensions
from shardc.propagation.edges import Edge, edges_of, outside
from shardc.propagation.editing import without_unit_axes
from shardc.rewrite.separate_calls import separate_calls
from shardc.rewrite.write_graph import write_graph_changes

RULE = "sdy.sharding_rule"


@dataclass(frozen=True)
class Propagate(GraphPass):
    """Propagate shardings through the whole program.

    `strategy` is basic, aggressive or basic-then-aggressive; the other options switch layers off, and
    `conservative` never splits an axis of the mesh, and lets nothing along windows, slices, padding and
    concatenations. `divisible` and `closed` do to the shardings found what
    Shardy's export does: see propagation/export.py. Without `merge_copies` every use keeps its own constant,
    without `moved_constants` only those that Shardy copies.
    """

    name = "propagate"

    strategy: str = "aggressive"
    op_priorities: bool = True
    user_priorities: bool = True
    conservative: bool = False
    divisible: bool = False
    closed: bool = False
    merge_copies: bool = True
    moved_constants: bool = True

    def rewrite(self, shared: SharedGraph) -> bool:
        options = Options(
            check_strategy(self.strategy),
            self.op_priorities,
            self.user_priorities,
            self.conservative,
            self.divisible,
            self.closed,
            self.merge_copies,
            self.moved_constants,
        )
        changed = False
        while True:
            snap = shared.snapshot()
            read_custom_rules(snap)
            if not _says_anything(snap.graph):
                return changed
            shared.drop()  # the rules that were read have changed the graph, and what follows the module
            result = propagate(snap.graph, options)
            if all(s is None for body in result.bodies for s in body.shardings.values()):
                return changed
            before = snap.graph
            write_graph_changes(snap, result.graph, result.copies)
            changed = True
            if not separate_calls(snap, result):
                break
        write_result(snap, before, result)
        return True


def check_strategy(name: str) -> str:
    """The name, if it is one of a strategy."""
    if name not in STRATEGIES:
        raise ShardcError(f"{name} is no strategy; they are {', '.join(STRATEGIES)}")
    return name


def read_custom_rules(snap: Snapshot) -> None:
    """Give operations that bring their own sharding rule that rule."""
    for function in snap.graph.functions.values():
        for node in walk(function.body):
            attr = snap.ops[node.id].attributes.get(RULE)
            if isinstance(attr, ShardingRuleAttr):
                try:
                    rule = parse_rule(attr.data)
                    check_rule(rule, op_of(snap.graph, node))
                except ValueError as error:
                    raise ShardcError(str(error), node.loc) from None
                for text in unlike_dimensions(rule, op_of(snap.graph, node)):
                    warn(text, node.loc, "the rule is taken as it is, as Shardy takes it")
                node.attrs = {**node.attrs, RULE: rule}


def write_result(snap: Snapshot, before: Graph, result: Result) -> None:
    """Write what was found: on results and arguments, or where an operation keeps it."""
    shardings: dict[int, Sharding | None] = {}
    for body in result.bodies:
        for value, sharding in body.shardings.items():
            if not _is_as_written(value, sharding, before):
                shardings[value] = sharding
    for function in result.graph.functions.values():
        for node in walk(function.body):
            _write_node(snap, node, shardings)
    results = {
        name: [
            old if old is not None and prepared == new else new
            for old, prepared, new in zip(
                before.functions[name].result_shardings,
                result.graph.functions[name].result_shardings,
                found,
                strict=True,
            )
        ]
        for name, found in result.results.items()
    }
    write_shardings(snap, {v: s for v, s in shardings.items() if s is not None}, results)


def _is_as_written(value: int, found: Sharding | None, before: Graph) -> bool:
    """Whether propagation adds nothing to a value's annotation (which may name axes of size 1)."""
    written = before.values[value].sharding if value < len(before.values) else None
    return written is not None and without_unit_axes(written) == found


def _write_node(snap: Snapshot, node: Node, shardings: dict[int, Sharding | None]) -> None:
    """Constraints, manual and named computations keep shardings in properties of their own."""
    op = snap.ops[node.id]
    if isinstance(op, ReshardOp):
        shardings.pop(node.results[0], None)
    elif isinstance(op, ShardingConstraintOp):
        found = shardings.pop(node.results[0], None)
        if found is not None and found != node.attrs["sharding"]:
            op.properties["sharding"] = attr_of(found)
    elif isinstance(op, (ManualComputationOp, NamedComputationOp)):
        edges = edges_of(node, snap.graph)
        assert edges is not None
        _write_side(op, "in_shardings", edges.arguments, snap.graph, shardings)
        _write_side(op, "out_shardings", edges.results, snap.graph, shardings)


def _write_side(
    op: Operation, name: str, side: tuple[Edge, ...], graph: Graph, shardings: dict[int, Sharding | None]
) -> None:
    """Write the shardings of all operands or all results of a computation with a body, if any changed."""
    found = [shardings.pop(edge.owner, edge.start) for edge in side]
    written = outside(side, found, graph)
    if written and any(sharding != edge.start for sharding, edge in zip(found, side, strict=True)):
        op.properties[name] = per_value(written)


def _says_anything(graph: Graph) -> bool:
    """Whether there is a mesh, also one of an operation's or a sharding's own, or a rule."""
    nodes = (node for function in graph.functions.values() for node in walk(function.body))
    return (
        bool(graph.meshes)
        or any(value.sharding is not None for value in graph.values)
        or any(sharding is not None for f in graph.functions.values() for sharding in f.result_shardings)
        or any(node.name.startswith("sdy.") or RULE in node.attrs for node in nodes)
    )
