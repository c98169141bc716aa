"""Over which mesh axes each value may differ between devices, as JAX's check_vma infers it.

An operation's result varies over what its operands vary over, together; collectives say otherwise. Carried
values of a loop vary over whatever they do on any trip, parameters of a function over whatever they do in
any call: there JAX wants `lax.pcast`, and this says for which axes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from shardc.analysis.collectives import axes_of, is_per_device
from shardc.analysis.emitted_mesh import EmittedMesh, splitting
from shardc.analysis.per_device import PerDeviceProgram
from shardc.backend.python import idiom
from shardc.graph import Graph, Node, Region
from shardc.layout import Sharding
from shardc.ops import func, hlo, spmd

Axes = frozenset[str]
_NONE: Axes = frozenset()


def varying(program: PerDeviceProgram) -> dict[int, Axes]:
    """The axes of the emitted mesh that each value of the per-device program varies over, by value id."""
    if program.mesh is None:
        return {}
    inference = _Inference(program.graph, program.mesh)
    entering = [_of(param.sharding, program.mesh) for param in program.params]
    before = -1
    while inference.size != before:
        before = inference.size
        inference.called.clear()
        inference.region(program.body, entering)
    return inference.found


def _of(sharding: Sharding | None, mesh: EmittedMesh) -> Axes:
    if sharding is None:
        return _NONE
    return frozenset(name for dim in sharding.dims for name in mesh.names(splitting(dim)))


class _Inference:
    """Sets only grow, so going over everything again ends."""

    def __init__(self, graph: Graph, mesh: EmittedMesh) -> None:
        self.graph, self.mesh = graph, mesh
        self.found: dict[int, Axes] = {}
        self.called: dict[str, list[Axes]] = {}
        """What the arguments of functions were when their bodies were last gone over."""

    @property
    def size(self) -> int:
        return sum(len(axes) for axes in self.found.values())

    def region(self, region: Region, args: Sequence[Axes]) -> list[Axes]:
        for value, axes in zip(region.args, args, strict=True):
            self.found[value] = self.found.get(value, _NONE) | axes
        for node in region.nodes[:-1]:
            for value, axes in zip(node.results, self.node(node), strict=True):
                self.found[value] = axes
        return self.of(region.results)

    def of(self, values: Sequence[int]) -> list[Axes]:
        return [self.found.get(value, _NONE) for value in values]

    def node(self, node: Node) -> list[Axes]:
        special = _SPECIAL.get(node.name)
        if special is not None:
            return special(self, node)
        together = _NONE.union(*self.of(node.operands))
        if is_per_device(node):
            together = self.collective(node, together)
        return [together] * len(node.results)

    def collective(self, node: Node, operand: Axes) -> Axes:
        axes = frozenset(self.mesh.names(axes_of(node)))
        return operand - axes if _makes_equal(node) else operand | axes

    def loop(self, node: Node) -> list[Axes]:
        cond, body = node.regions
        carried = self.of(node.operands)
        while True:
            self.region(cond, carried)
            after = [a | b for a, b in zip(carried, self.region(body, carried), strict=True)]
            if after == carried:
                return carried
            carried = after

    def branches(self, node: Node) -> list[Axes]:
        (choice,) = self.of(node.operands)
        results = [self.region(region, []) for region in node.regions]
        return [choice.union(*axes) for axes in zip(*results, strict=True)]

    def each(self, node: Node) -> list[Axes]:
        """barriers.py makes one of each kind."""
        return self.of(node.operands)

    def drawn(self, node: Node) -> list[Axes]:
        """A device draws its own block."""
        split = cast("tuple[tuple[str, ...], ...]", node.attrs.get("split", ()))
        return [_NONE.union(*self.of(node.operands), *split)]

    def call(self, node: Node) -> list[Axes]:
        name = str(node.attrs["callee"])
        body, args = self.graph.functions[name].body, self.of(node.operands)
        if name in self.called and self.called[name] == [
            known | axes for known, axes in zip(self.of(body.args), args, strict=True)
        ]:
            return self.of(body.results)
        results = self.region(body, args)
        self.called[name] = self.of(body.args)
        return results


def _makes_equal(node: Node) -> bool:
    """Whether all devices of the group get the same."""
    if node.name == spmd.all_gather.name:
        return bool(node.attrs.get("invariant"))
    return node.name in (spmd.all_reduce.name, spmd.assume_equal.name, spmd.collective_broadcast.name)


_SPECIAL: dict[str, Callable[[_Inference, Node], list[Axes]]] = {
    hlo.while_.name: _Inference.loop,
    hlo.case.name: _Inference.branches,
    hlo.if_.name: _Inference.branches,
    hlo.optimization_barrier.name: _Inference.each,
    func.call.name: _Inference.call,
    idiom.drawn.name: _Inference.drawn,
}
