"""What the collectives of both targets share: the comment above them."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from shardc.backend.body import Body
from shardc.backend.context import Printer
from shardc.backend.expressions import Expr
from shardc.backend.terms import Term
from shardc.backend.traffic import readable, sent
from shardc.graph import Node
from shardc.layout import Axis, size_of

_TITLES = {
    "spmd.all_reduce": "all-reduce",
    "spmd.all_gather": "all-gather",
    "spmd.reduce_scatter": "reduce-scatter",
    "spmd.all_to_all": "all-to-all",
    "spmd.collective_permute": "permute",
}


def axes_of(node: Node) -> tuple[Axis, ...]:
    """The axes a collective works over, major to minor."""
    return cast("tuple[Axis, ...]", node.attrs["axes"])


def comment(body: Body, node: Node) -> str:
    """all-reduce over model, 6 KiB sent per device: partial sums of h @ w2."""
    axes = axes_of(node)
    mesh = body.context.mesh
    names = ", ".join(mesh.names(axes)) if mesh else ""
    amount = sent(node.name, body.type(node.operands[0]).nbytes, size_of(axes))
    reason = node.attrs.get("shardc.reason")
    text = f"{_TITLES[node.name]} over {names}, {readable(amount)} sent per device"
    return f"{text}: {reason}" if reason else text


def collective(make: Callable[[Body, Node], Expr]) -> Printer:
    """A printer of a collective: its own line, under a comment with its reason and its bytes."""

    def printer(body: Body, node: Node) -> Term:
        shape = body.type(node.results[0]).shape
        return Term(make(body, node), shape, own_line=True, comment=comment(body, node))

    return printer
