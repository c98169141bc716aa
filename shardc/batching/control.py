"""Loops, choices, per-device code and calls for all slices at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from shardc.batching.run import Calls, Run, Scope
from shardc.batching.stacks import Stacks
from shardc.gradients.forward import shardings
from shardc.gradients.recording import Writer
from shardc.graph import Graph, Node, Region
from shardc.layout import Sharding
from shardc.layout.sharding import Dim
from shardc.ops import func, hlo, sdy
from shardc.ops.derivatives.terms import Term


def mapped(
    graph: Graph,
    region: Region,
    stacked: Sequence[bool],
    size: int,
    writer: Writer[Any],
    args: Sequence[Any],
    *,
    calls: Calls,
    group: Callable[[str], AbstractContextManager[None]],
) -> tuple[list[Any], list[bool]]:
    """Build a function for `size` slices of those arguments that are `stacked`; its results, and which
    of them are stacks. Raises ShardcError at an operation that has no rule.
    """
    stacks = Stacks(region, [a for a, is_stack in zip(region.args, stacked, strict=True) if is_stack])
    run = Run(graph, stacks, size, writer, special=_SPECIAL, calls=calls, group=group)
    scope = Scope().inner(region.args, args)
    run.region(region, scope)
    return [run.value(v, scope) for v in region.results], [v in stacks for v in region.results]


def _loop(run: Run, node: Node, scope: Scope) -> None:
    """Until no slice goes on; a slice that has ended keeps its values."""
    condition, body = node.regions
    stacks = [arg in run.stacks for arg in body.args]
    own = condition.results[0] in run.stacks

    def goes_on(args: Sequence[Any]) -> Any:
        inner = scope.inner(condition.args, args)
        run.region(condition, inner)
        return run.value(condition.results[0], inner)

    def test(_: Any, *args: Any) -> list[Any]:
        run.name(condition.args, args)
        again = goes_on(args)
        return [_any(Term(run.writer, again)).v if own else again]

    types, plain = run.body(body, scope, stacks)

    def turn(builder: Any, *args: Any) -> list[Any]:
        results = plain(builder, *args)
        if not own:
            return results
        again = Term(run.writer, goes_on(args))
        pairs = zip(results, args, strict=True)
        return [_chosen(again, Term(run.writer, new), Term(run.writer, old)).v for new, old in pairs]

    operands = [run.given(v, stack, scope) for v, stack in zip(node.operands, stacks, strict=True)]
    run.build(node, operands, [(types, test), (types, turn)], types, scope)


def _any(truths: Term) -> Term:
    return truths.reduced(hlo.or_, 0, (0,))


def _chosen(truths: Term, one: Term, other: Term) -> Term:
    """For each slice one or the other."""
    if one.shape != truths.shape:
        truths = truths.broadcast(one.shape, (0,))
    return one.where(truths, other)


def _branches(run: Run, node: Node, scope: Scope) -> None:
    """Where slices take branches of their own, all are built, and each slice chooses."""
    (which,) = node.operands
    stacks = [r in run.stacks for r in node.results]
    if which not in run.stacks:
        regions = [run.body(region, scope, stacks) for region in node.regions]
        run.build(node, [run.value(which, scope)], regions, [run.type(r) for r in node.results], scope)
        return
    choice = Term(run.writer, run.value(which, scope))
    made: list[list[Term]] = []
    for region in node.regions:
        inner = scope.inner()
        run.region(region, inner)
        made.append([Term(run.writer, run.full(v, inner)) for v in region.results])
    if node.name == hlo.if_.name:
        truths = [choice]
    else:
        truths = [choice.compare("EQ", number) for number in range(len(made) - 1)]
    results = made[-1]
    for truth, branch in reversed([*zip(truths, made, strict=False)]):
        results = [_chosen(truth, one, other) for one, other in zip(branch, results, strict=True)]
    run.know(node.results, [term.v for term in results], scope)


def _manual(run: Run, node: Node, scope: Scope) -> None:
    """Per-device code on stacks of blocks: the dimension of the slices is not split over its axes."""
    (body,) = node.regions
    ins, outs = shardings(node, "in_shardings"), shardings(node, "out_shardings")
    mesh = (*ins, *outs)[0].mesh
    manual: Any = node.attrs["manual_axes"]
    rest = len(manual) < len(mesh.axes)

    def stacked(values: Sequence[int], given: Sequence[Sharding]) -> tuple[Sharding, ...]:
        pairs = zip(values, given, strict=True)
        return tuple(_in_front(one, rest) if value in run.stacks else one for value, one in pairs)

    with run.writer.on_mesh(mesh):
        made = run.writer.op(
            node.name,
            *(run.value(v, scope) for v in node.operands),
            results=[run.type(r) for r in node.results],
            regions=[run.body(body, scope)],
            in_shardings=stacked(node.operands, ins),
            out_shardings=stacked(node.results, outs),
            manual_axes=manual,
        )
    run.know(node.results, made, scope)


def _in_front(sharding: Sharding, open: bool) -> Sharding:
    dims = (Dim(open=open), *sharding.dims)
    return Sharding(sharding.mesh, dims, sharding.replicated, sharding.unreduced, sharding.kind)


def _call(run: Run, node: Node, scope: Scope) -> None:
    """A call that stays one: of the function for stacks, if some slice changes it."""
    stacks = [v in run.stacks for v in node.operands]
    operands = [run.value(v, scope) for v in node.operands]
    if any(stacks):
        run.know(node.results, run.calls(node, operands, stacks), scope)
    else:
        run.build(node, operands, (), run.graph.types(node.results), scope)


_SPECIAL: Mapping[str, Callable[[Run, Node, Scope], None]] = {
    func.call.name: _call,
    hlo.case.name: _branches,
    hlo.if_.name: _branches,
    hlo.while_.name: _loop,
    sdy.manual_computation.name: _manual,
}
