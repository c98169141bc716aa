"""hoist-computations: what a loop computes alike in every turn -> computed once, before it.

    %0 = stablehlo.while(%h = %x) … do {
      %1 = stablehlo.reduce(%w init: %c) applies stablehlo.maximum across dimensions = [0, 1] …
      %2 = stablehlo.divide %h, …%1…
      stablehlo.return %2
    }

becomes

    %1 = stablehlo.reduce(%w init: %c) applies stablehlo.maximum across dimensions = [0, 1] …
    %0 = stablehlo.while(%h = %x) … do {
      %2 = stablehlo.divide %h, …%1…
      stablehlo.return %2
    }

A scale of weights that a function computes each time is such; along a split dimension it is a reduction over
devices in every turn. Moved is what takes more operations than its result has elements, with what that needs,
and what is computed from it, unless that only makes it larger. All else is as quickly computed again as read.
Per-device code stays as it was written.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from shardc.analysis.usage import has_effect
from shardc.dialects.sdy import ManualComputationOp
from shardc.dialects.shared_graph import SharedGraph
from shardc.dialects.snapshot import Snapshot
from shardc.dialects.stablehlo.control_flow import WhileOp
from shardc.graph import Graph, Node, walk
from shardc.graph.marks import CALL
from shardc.ops import Trait, find, has, hlo, op_of
from shardc.passes.graph_pass import GraphPass

_STAYS = (
    Trait.EFFECT,
    Trait.SHOWS,
    Trait.KEPT,
    Trait.EXTERNAL,
    Trait.COLLECTIVE,
    Trait.GLOBAL_COLLECTIVE,
    Trait.GROUPED,
    Trait.RANDOM,
    Trait.CALL,
)
"""What is done where the program says so, whether or not its operands change."""


class HoistComputations(GraphPass):
    """Take computations whose operands do not change out of loops, inner loops first."""

    name = "hoist-computations"

    def rewrite(self, shared: SharedGraph) -> bool:
        loops = [op for op in shared.ops() if type(op) is WhileOp and not _is_per_device(op)]
        if not loops:
            return False
        costly, movable = _kinds(shared.snapshot())
        return any([_hoist(loop, costly, movable) for loop in reversed(loops)])


def _is_per_device(op: Operation) -> bool:
    above = op.parent_op()
    return above is not None and (isinstance(above, ManualComputationOp) or _is_per_device(above))


def _kinds(snap: Snapshot) -> tuple[set[Operation], set[Operation]]:
    """The operations that take more than a step per element of their results, and those that may be moved."""
    nodes = [node for function in snap.graph.functions.values() for node in walk(function.body)]
    costly = {snap.ops[node.id] for node in nodes if _is_costly(snap.graph, node)}
    movable = {snap.ops[node.id] for node in nodes if _is_movable(node)}
    return costly, movable


def _is_costly(graph: Graph, node: Node) -> bool:
    definition = find(node.name)
    if definition is None or (node.regions and has(node.name, Trait.REGION)):
        return any(_is_costly(graph, inner) for region in node.regions for inner in region.nodes)
    return definition.work.operations(op_of(graph, node)) > sum(
        graph.type(result).size for result in node.results
    )


def _is_movable(node: Node) -> bool:
    names = {node.name, *(inner.name for region in node.regions for inner in walk(region))}
    stays = any(has(name, *_STAYS) or name == ManualComputationOp.name for name in names)
    barrier = node.name == hlo.optimization_barrier.name
    return bool(node.results) and not (stays or barrier or has_effect(node))


def _hoist(loop: WhileOp, costly: set[Operation], movable: set[Operation]) -> bool:
    """Whether anything was moved before the loop."""
    body = loop.body.block
    alike = _alike(body, movable)
    wanted = _wanted(alike, costly)
    moved = [op for op in alike if op in wanted]
    _keep_calls(body, moved)
    for op in moved:
        op.detach()
        Rewriter.insert_op(op, InsertPoint.before(loop))
    return bool(moved)


def _alike(body: Block, movable: set[Operation]) -> list[Operation]:
    """The operations of a loop's body that compute the same in every turn, in order."""
    changing: set[SSAValue] = set(body.args)
    found: list[Operation] = []
    for op in body.ops:
        if op in movable and not any(value in changing for value in _reads(op)):
            found.append(op)
        else:
            changing.update(op.results)
    return found


def _reads(op: Operation) -> Iterator[SSAValue]:
    """The values that an operation and those in its regions read."""
    for inner in op.walk():
        yield from inner.operands


def _wanted(alike: Sequence[Operation], costly: set[Operation]) -> set[Operation]:
    """What is worth moving: the costly, what follows from them and is no larger, and what all these need."""
    follows: set[Operation] = set()
    for op in alike:
        if op in costly or any(value.owner in follows for value in op.operands):
            follows.add(op)
    wanted: set[Operation] = set()
    needed: set[SSAValue] = set()
    for op in reversed(alike):
        grows = has(op.name, Trait.MOVES, Trait.SOURCE) and op not in costly
        if not needed.isdisjoint(op.results) or (op in follows and not grows):
            wanted.add(op)
            needed.update(_reads(op))
    return wanted


def _keep_calls(body: Block, moved: Sequence[Operation]) -> None:
    """Of the calls that moved operations come from, remember those that move whole."""
    gone = set(moved)
    staying = {path for op in body.walk() if op not in gone for path in _calls(op)}
    for op in moved:
        paths = _calls(op)
        whole = next((i for i, path in enumerate(paths) if path not in staying), None)
        if not paths or whole == 0:
            continue
        op.attributes.pop(CALL)
        if whole is not None:
            op.attributes[CALL] = StringAttr("/".join(paths[-1].split("/")[whole:]))


def _calls(op: Operation) -> list[str]:
    """The paths of the calls that an operation is in, outermost first."""
    path = op.attributes.get(CALL)
    steps = path.data.split("/") if isinstance(path, StringAttr) else []
    return ["/".join(steps[: i + 1]) for i in range(len(steps))]
