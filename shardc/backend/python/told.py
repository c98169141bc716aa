"""What docstrings say of the trees that a function takes and gives.

params["up"]: f32[8, 64]
params["down"]: f32[64, 8]
momentum: as params
returns as params, (f32[], Layer(up: f32[8, 64], down: f32[64, 8]), Layer)
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from shardc.backend.python.names import quoted
from shardc.backend.python.records import parts
from shardc.graph.trees import Branch, Interface, Tree, leaf_count

_MANY = 4
"""A tree of so many tensors is not said twice."""

_Known = dict[tuple[Branch, tuple[str, ...]], str]
"""Of a tree of an argument, and what was said of its tensors: what stands for it."""


def told(
    interface: Interface, arguments: Sequence[tuple[str, str]], results: Sequence[str], width: int
) -> list[str]:
    """Lines: one for each argument, with its name, and for the results."""
    known, given = _Known(), iter(arguments)
    lines = [
        line
        for param, tree in interface.parameters
        for line in _argument(tree, param, [next(given) for _ in range(leaf_count(tree))], known)
    ]
    text = _Results(known).told(interface.results, list(results))[1]
    tree = interface.results
    returns = text[1:-1] if tree is not None and tree.is_tuple else text
    return [*lines, *textwrap.wrap(f"returns {returns}", width, subsequent_indent="    ")]


def _argument(tree: Tree, place: str, leaves: Sequence[tuple[str, str]], known: _Known) -> Iterator[str]:
    if tree is None:
        ((label, text),) = leaves
        yield f"{label}: {text}"
        return
    key = tree, tuple([text for _, text in leaves])
    if len(leaves) >= _MANY:
        if key in known:
            yield f"{place}: as {known[key]}"
            return
        known[key] = place
    start = 0
    for inner, item in parts(tree, place):
        stop = start + leaf_count(item)
        yield from _argument(item, inner, leaves[start:stop], known)
        start = stop


class _Results:
    """f32[], Layer(up: f32[8, 64], down: f32[64, 8]), Layer, as params"""

    def __init__(self, known: _Known) -> None:
        self._known, self._said = known, set[str]()

    def told(self, tree: Tree, leaves: Sequence[str]) -> tuple[str, str]:
        """The text in full, and without what was said before."""
        if tree is None:
            return leaves[0], leaves[0]
        items, start = list[tuple[str, str]](), 0
        for item in tree.items:
            stop = start + leaf_count(item)
            items.append(self.told(item, leaves[start:stop]))
            start = stop
        keys = map(quoted, tree.fields) if tree.is_dict else tree.fields
        heads = [f"{key}: " for key in keys] or [""] * len(items)
        first, last = "{}" if tree.is_dict else (f"{tree.record}(", ",)" if _is_single(tree) else ")")
        long, short = (
            f"{first}{', '.join(map(''.join, zip(heads, texts, strict=True)))}{last}"
            for texts in ([full for full, _ in items], [brief for _, brief in items])
        )
        if (tree, tuple(leaves)) in self._known:
            return long, f"as {self._known[tree, tuple(leaves)]}"
        if tree.record and long in self._said:
            return long, tree.record
        self._said.add(long)
        return long, short


def _is_single(branch: Branch) -> bool:
    return branch.is_tuple and len(branch.items) == 1
