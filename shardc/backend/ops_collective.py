"""What the collectives of both targets share: the comment above them."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from shardc.backend.body import Body
from shardc.backend.context import Printer
from shardc.backend.expressions import Expr, raw
from shardc.backend.terms import Term
from shardc.backend.traffic import readable
from shardc.explain.diagnostics import ShardcError
from shardc.forms.traffic import sent
from shardc.graph import Node
from shardc.layout import Axis, size_of

TITLES = {
    "spmd.all_reduce": "all-reduce",
    "spmd.all_gather": "all-gather",
    "spmd.reduce_scatter": "reduce-scatter",
    "spmd.all_to_all": "all-to-all",
    "spmd.collective_permute": "permute",
}


Pairs = tuple[tuple[int, int], ...]


def axes_of(node: Node) -> tuple[Axis, ...]:
    """The axes a collective works over, major to minor."""
    return cast("tuple[Axis, ...]", node.attrs["axes"])


def axis_name(body: Body, node: Node) -> Expr:
    """The axes of a node: "model", or ("data", "model")."""
    if body.context.mesh is None:
        raise ShardcError(f"{node.name} outside of a mesh", node.loc)
    return body.context.mesh.text(axes_of(node))


def pairs_of(node: Node) -> Pairs:
    """Which position sends to which; positions are row-major over the axes."""
    return cast(Pairs, node.attrs["pairs"])


def permutation(pairs: Pairs, size: int) -> Expr:
    """[(0, 1), (1, 2)], or the shift that many pairs of `size` positions are."""
    shift = (pairs[0][1] - pairs[0][0]) % size if pairs else 0
    if len(pairs) == size > 4 and list(pairs) == [(i, (i + shift) % size) for i in range(size)]:
        return raw(f"[(i, (i + {shift}) % {size}) for i in range({size})]")
    if 4 < len(pairs) == size - shift and list(pairs) == [(i, i + shift) for i in range(size - shift)]:
        return raw(f"[(i, i + {shift}) for i in range({size - shift})]")
    return raw("[" + ", ".join(f"({source}, {target})" for source, target in pairs) + "]")


def comment(body: Body, node: Node) -> str:
    """all-reduce over model, 6 KiB sent per device: partial sums of h @ w2."""
    axes = axes_of(node)
    mesh = body.context.mesh
    names = ", ".join(mesh.names(axes)) if mesh else ""
    amount = sent(node.name, body.type(node.operands[0]).nbytes, size_of(axes))
    reason = node.attrs.get("shardc.reason")
    text = f"{TITLES[node.name]} over {names}, {readable(amount)} sent per device"
    return f"{text}: {reason}" if reason else text


def collective(make: Callable[[Body, Node], Expr]) -> Printer:
    """A printer of a collective: its own line, under a comment with its reason and its bytes."""

    def printer(body: Body, node: Node) -> Term:
        shape = body.type(node.results[0]).shape
        return Term(make(body, node), shape, own_line=True, comment=comment(body, node))

    return printer
