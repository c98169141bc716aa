"""What a sharding constraint says about its operand.

A closed constraint, or the input sharding of a manual computation, is what its operand should look like too,
unless something else is stated about that. A loop's value is not annotated so, as that would bind the whole
loop: there the other uses read the constraint's result instead, and only partial sums are annotated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import cast

from msgspec.structs import replace

from shardc.graph import Node, Region
from shardc.layout import Sharding, unconstrained
from shardc.ops import sdy
from shardc.propagation.editing import Editor, Uses
from shardc.propagation.manual import complete

_CONSTRAINT = sdy.sharding_constraint.name
_MANUAL = sdy.manual_computation.name

BESIDE_EDGE = "shardc.beside_edge"
"""Marks a constraint that is visited right behind its operand's edge, before the operation's other edges."""


def apply_constraints(editor: Editor, uses: Uses) -> None:
    """Apply every constraint, inner bodies first."""
    for function in editor.graph.functions.values():
        for node in list(_inner_first(function.body)):
            if node.name == _CONSTRAINT:
                _apply_constraint(node, uses)
            elif node.name == _MANUAL:
                _apply_manual(node, editor, uses)


def _apply_constraint(node: Node, uses: Uses) -> None:
    tail = _tail(node, uses)
    if tail is not None:
        _read_tail(node, tail, uses)

    def moved() -> Node:
        uses.place_after(node, node.operands[0])
        return node

    _apply(node.operands[0], cast(Sharding, node.attrs["sharding"]), uses, moved)


def _apply_manual(node: Node, editor: Editor, uses: Uses) -> None:
    for operand, sharding in zip(node.operands, _inputs(node), strict=True):

        def added(operand: int = operand, sharding: Sharding = sharding) -> Node:
            made = editor.constraint(operand, sharding, node.loc)
            uses.place_after(made, operand)
            return made

        _apply(operand, sharding, uses, added)


def _apply(value: int, sharding: Sharding, uses: Uses, constraint: Callable[[], Node]) -> None:
    if (
        uses.sharding(value) is not None
        or any(dim.open for dim in sharding.dims)
        or any(other != sharding for other in _stated_by_uses(value, uses))
    ):
        return
    if value in uses.owner:
        made = constraint()
        made.attrs = {**made.attrs, BESIDE_EDGE: True}
        uses.redirect(value, made.results[0], lambda node: node is not made)
        if sharding.unreduced:
            partial = replace(unconstrained(sharding.mesh, sharding.rank), unreduced=sharding.unreduced)
            uses.annotate(value, replace(partial, kind=sharding.kind))
    else:
        uses.annotate(value, sharding)


def _stated_by_uses(value: int, uses: Uses) -> Iterator[Sharding]:
    """The shardings that constraints and manual computations want a value in."""
    for node, number in uses.of_value(value):
        if node.name == _CONSTRAINT:
            yield cast(Sharding, node.attrs["sharding"])
        elif node.name == _MANUAL:
            yield _inputs(node)[number]


def _inputs(node: Node) -> list[Sharding]:
    manual_axes = cast("tuple[str, ...]", node.attrs["manual_axes"])
    return [complete(s, manual_axes) for s in cast("tuple[Sharding, ...]", node.attrs["in_shardings"])]


def _tail(head: Node, uses: Uses) -> Node | None:
    """The last of a chain of constraints that begins with `head`; None if there is no chain.

    Each constraint but the last has no other use, and nothing else is stated about the chain's operand.
    """
    value = head.operands[0]
    maker = uses.made_by.get(value)
    if maker is not None and maker.name == _CONSTRAINT:
        return None
    if uses.sharding(value) is not None or _is_constrained(value, uses, but=head):
        return None
    tail = head
    while len(users := uses.of_value(tail.results[0])) == 1 and users[0][0].name == _CONSTRAINT:
        tail = users[0][0]
    return None if tail is head or _is_constrained(tail.results[0], uses) else tail


def _is_constrained(value: int, uses: Uses, but: Node | None = None) -> bool:
    return any(node is not but and node.name in (_CONSTRAINT, _MANUAL) for node, _ in uses.of_value(value))


def _read_tail(head: Node, tail: Node, uses: Uses) -> None:
    """Let what comes after a chain read its end instead of its beginning, but not what main returns."""
    region = uses.region[tail.id]
    later = {node.id for node in region.nodes[region.nodes.index(tail) + 1 :]}
    uses.redirect(
        head.operands[0],
        tail.results[0],
        lambda node: node is not head and node.id not in uses.exits and node.id in later,
    )


def _inner_first(region: Region) -> Iterator[Node]:
    for node in region.nodes:
        for inner in node.regions:
            yield from _inner_first(inner)
        yield node
