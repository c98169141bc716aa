"""Which values of a function differ between the slices of its arguments, and so are stacks."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from shardc.graph import Node, Region, walk
from shardc.ops import hlo, sdy


class Stacks:
    """The values of a region that follow from some of its arguments, also through its loops and branches."""

    def __init__(self, region: Region, arguments: Sequence[int]) -> None:
        self._found: set[int] = set(arguments)
        self.makers = {v: node for node in walk(region) for v in node.results}
        """What makes each value."""
        self._region(region)

    def __contains__(self, value: int) -> bool:
        return value in self._found

    def _region(self, region: Region) -> None:
        for node in region.nodes[:-1]:
            _KINDS.get(node.name, Stacks._plain)(self, node)

    def _plain(self, node: Node) -> None:
        if any(v in self for v in node.operands):
            self._found |= set(node.results)

    def _branches(self, node: Node) -> None:
        """All results where the slices take branches of their own, else what some branch gives as a stack."""
        for region in node.regions:
            self._region(region)
            pairs = zip(node.results, region.results, strict=True)
            self._found |= {r for r, v in pairs if v in self or node.operands[0] in self}

    def _loop(self, node: Node) -> None:
        """What a turn makes a stack is one from the start; so is all where slices take turns of their own."""
        condition, body = node.regions
        carried = {i for i, v in enumerate(node.operands) if v in self}
        while True:
            for region in node.regions:
                self._found |= {region.args[i] for i in carried}
                self._region(region)
            after = {i for i, v in enumerate(body.results) if v in self}
            if condition.results[0] in self:
                after = set(range(len(body.args)))
            if after <= carried:
                break
            carried |= after
        self._found |= {node.results[i] for i in carried}

    def _manual(self, node: Node) -> None:
        (body,) = node.regions
        self._found |= {a for a, v in zip(body.args, node.operands, strict=True) if v in self}
        self._region(body)
        self._found |= {r for r, v in zip(node.results, body.results, strict=True) if v in self}


_KINDS: dict[str, Callable[[Stacks, Node], None]] = {
    hlo.case.name: Stacks._branches,  # pyright: ignore[reportPrivateUsage]
    hlo.if_.name: Stacks._branches,  # pyright: ignore[reportPrivateUsage]
    hlo.while_.name: Stacks._loop,  # pyright: ignore[reportPrivateUsage]
    sdy.manual_computation.name: Stacks._manual,  # pyright: ignore[reportPrivateUsage]
}
