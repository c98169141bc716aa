"""What the collectives of both targets share: the comment above them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from shardc.analysis.collectives import Pairs, axes_of, bytes_sent, pairs_of, title_of
from shardc.analysis.text import readable
from shardc.backend.python.expressions import Expr, raw
from shardc.backend.python.mesh_text import axis_names
from shardc.backend.python.printers import Printer
from shardc.backend.python.scope import Scope
from shardc.backend.python.terms import Term
from shardc.diagnostics import ShardcError
from shardc.graph import Node
from shardc.graph.marks import REASON, TOGETHER
from shardc.layout import size_of


def axis_name(scope: Scope, node: Node) -> Expr:
    """The axes of a node: "model", or ("data", "model")."""
    if scope.emission.mesh is None:
        raise ShardcError(f"{node.name} outside of a mesh", node.loc)
    return axis_names(scope.emission.mesh, axes_of(node))


MANY = 32
"""Pairs that are written one by one, where they are no shift."""


def permutation(pairs: Pairs, size: int) -> Expr:
    """[(0, 1), (1, 2)], or what many pairs of `size` positions are: a shift, or other places of digits.

    [(i, i // 128 + i % 128 * 128) for i in range(16384)]    # two axes of 128 change places
    """
    shift = (pairs[0][1] - pairs[0][0]) % size if pairs else 0
    if len(pairs) in (size, size - shift) and len(pairs) > 4 and _is_shift(pairs, shift, size):
        target = f"(i + {shift}) % {size}" if len(pairs) == size else f"i + {shift}"
        return raw(f"[(i, {target}) for i in range({len(pairs)})]")
    if len(pairs) == size > MANY and (places := _places(pairs)):
        target = " + ".join(_digit(*place, size) for place in reversed(places))
        return raw(f"[(i, {target}) for i in range({size})]")
    return raw("[" + ", ".join(f"({source}, {target})" for source, target in pairs) + "]")


def _places(pairs: Pairs) -> list[tuple[int, int, int]]:
    """If the pairs of all positions, in order, put digits of each position at other places: of each digit,
    the least significant first, its size, and its place value before and after. Else nothing."""
    sources, targets = np.array(pairs).T
    count, value, found = len(pairs), 1, list[tuple[int, int, int]]()
    while value < count:
        after, size = int(targets[value]), 2
        while value * size < count and targets[value * size] == size * after:
            size += 1
        while count % (value * size):
            size -= 1
        if size == 1:
            return []
        found.append((size, value, after))
        value *= size
    every = np.arange(count)
    moved = sum(every // before % size * after for size, before, after in found)
    return found if np.array_equal(sources, every) and np.array_equal(targets, moved) else []


def _digit(size: int, before: int, after: int, count: int) -> str:
    """A digit of i, below `count`, at another place."""
    text = f"i // {before}" if before > 1 else "i"
    text += f" % {size}" if before * size < count else ""
    return f"{text} * {after}" if after > 1 else text


def _is_shift(pairs: Pairs, shift: int, size: int) -> bool:
    """Whether these are the first positions, in order, with those that stand so much further on."""
    return all(pair == (i, (i + shift) % size) for i, pair in enumerate(pairs))


def in_mesh_order(scope: Scope, node: Node) -> tuple[list[str], Pairs]:
    """A permute's emitted axes and pairs, with positions counted in the order of the mesh, as JAX does."""
    mesh, axes, pairs = scope.emission.mesh, axes_of(node), pairs_of(node)
    if mesh is None:
        raise ShardcError(f"{node.name} outside of a mesh", node.loc)
    names = list(mesh.names(axes))
    sizes = {name: size for name, size in mesh.axes if name in names}
    if list(sizes) != names:
        grid = np.arange(size_of(axes)).reshape(list(sizes.values()))
        places = grid.transpose([list(sizes).index(name) for name in names]).ravel().tolist()
        pairs = tuple(sorted((places[source], places[target]) for source, target in pairs))
    return list(sizes), pairs


def comment(scope: Scope, *nodes: Node) -> str:
    """all-reduce over model, 6 KiB sent per device: partial sums of h @ w2.

    Of several that are sent as one, what all send and why the first two are there, or how many more.
    """
    mesh, (node, *others) = scope.emission.mesh, nodes
    names = ", ".join(mesh.names(axes_of(node))) if mesh else ""
    reason = node.attrs.get(REASON)
    amount = readable(sum(bytes_sent(scope.graph, each) for each in nodes))
    with_it = " with the one before" if TOGETHER in node.attrs else ""
    text = f"{title_of(node)} over {names}, {amount} sent per device{with_it}"
    if len(others) == 1:
        return f"{text}: {reason}; and {others[0].attrs[REASON]}"
    more = f"; and {len(others)} more" if others else ""
    return f"{text}: {reason}{more}" if reason else text


def collective(make: Callable[[Scope, Node], Expr]) -> Printer:
    """A printer of a collective: its own line, under a comment with its reason and its bytes."""

    def printer(scope: Scope, node: Node) -> Term:
        shape = scope.type(node.results[0]).shape
        return Term(make(scope, node), shape, own_line=True, comment=comment(scope, node))

    return printer
