"""stage-collectives: a collective over devices on several links -> stages inside one and across, if quicker.

    %1 = "spmd.all_reduce"(%0) {axes = ["data"], kind = "sum", …}               // data=16 on 2 nodes of 8

becomes

    %2 = "spmd.reduce_scatter"(%0) {axes = ["data:(2)8"], dim = 0, kind = "sum", …}     // inside a node
    %3 = "spmd.all_reduce"(%2) {axes = ["data:(1)2"], kind = "sum", …}                  // an eighth across
    %1 = "spmd.all_gather"(%3) {axes = ["data:(2)8"], dim = 0, invariant = true, …}     // inside again

Where no dimension divides evenly, or a maximum is taken, it is reduced twice: inside, then across. So are
all-reduces that are sent in one go, where that is quicker than each alone. An
all-gather and a reduce-scatter go over one part of the group and then over the other; if blocks then stand in
another order, the device puts them right. All ways are compared by the machine's own model
(planning/machines/stages.py), stages of stages too. A group over several axes on one ring may go over one
axis after the other, in fewer steps. Runs on machines with several links, or a ring with latency, on
per-device code, on collectives that shardc made.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

from msgspec import Struct
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from shardc.analysis.collectives import axes_of
from shardc.dialects.build import IRBuilder
from shardc.dialects.shared_graph import SharedGraph
from shardc.dialects.snapshot import Snapshot
from shardc.graph import Node, Region, TensorType, walk
from shardc.graph.marks import REASON, TOGETHER
from shardc.layout import Axis, Sharding
from shardc.ops import Trait, has, hlo, spmd
from shardc.passes.graph_pass import GraphPass
from shardc.planning.machines import Machine, Stages, Wanted, joined, load, pieces, wanted_of

NAMES = frozenset(op.name for op in (spmd.all_reduce, spmd.all_gather, spmd.reduce_scatter))


@dataclass(frozen=True)
class StageCollectives(GraphPass):
    """Stages on a machine (a Machine or its name), where they are quicker."""

    name = "stage-collectives"
    machine: Machine | str = "balanced"

    def rewrite(self, shared: SharedGraph) -> bool:
        machine = load(self.machine) if isinstance(self.machine, str) else self.machine
        snap, builder = shared.snapshot(), IRBuilder(shared.module)
        changed = False
        for node, types in shared.per_device():
            stages = Stages(machine, types.parts.mesh, [*_named(node)])
            for group in _groups(node.regions[0]):
                changed |= _Group(snap, builder, stages, group).write()
        return changed


def _groups(body: Region) -> Iterator[list[Node]]:
    """The collectives of some code, those together that are sent in one go."""
    group: list[Node] = []
    for node in walk(body):
        if node.name in NAMES and REASON in node.attrs:
            if TOGETHER not in node.attrs:
                yield from [group] if group else []
                group = []
            group.append(node)
    yield from [group] if group else []


class _Group(Struct, frozen=True):
    """Collectives that are sent in one go, mostly one alone."""

    snap: Snapshot
    builder: IRBuilder
    stages: Stages
    nodes: list[Node]

    def write(self) -> bool:
        """Write the stages in their place; whether there are any.

        Several go on in one go if all stages are all-reduces; where others are quicker, each goes alone.
        """
        wanted = [wanted_of(self.snap.graph, node) for node in self.nodes]
        ops = [self.snap.ops[node.id] for node in self.nodes]
        if len(wanted) > 1:
            took, order = self.stages.sums(joined(wanted))
            if took <= sum(map(self.stages.seconds, wanted)):
                if len(order) > 1:
                    self._together(ops, order, took)
                return len(order) > 1
        changed = len(ops) > 1
        for node, each, op in zip(self.nodes, wanted, ops, strict=True):
            op.attributes.pop(TOGETHER, None)
            if self.stages.best(each)[1] is not None:
                self.builder.before(op)
                _replace(op, _Writer(self.builder, self.stages, node).write(op.operands[0], each))
                changed = True
        return changed

    def _together(self, ops: list[Operation], order: tuple[tuple[Axis, ...], ...], took: float) -> None:
        """Over the one axes after the others, all in one go each time."""
        self.builder.before(ops[0])
        values = [op.operands[0] for op in ops]
        for over in order:
            for number, node in enumerate(self.nodes):
                notes = {REASON: f"{node.attrs[REASON]}; in stages, {_text(took)} together"}
                more = {TOGETHER: "with the one before"} if number else {}
                attrs = {"axes": over, "kind": node.attrs["kind"]}
                with self.builder.at(node.loc), self.builder.tagged({**notes, **more}):
                    (values[number],) = self.builder.op(
                        node.name, values[number], results=None, regions=(), **attrs
                    )
        for op, value in zip(ops, values, strict=True):
            _replace(op, value)


def _replace(op: Operation, made: SSAValue) -> None:
    made.name_hint = op.results[0].name_hint
    Rewriter.replace_op(op, [], [made])


def _named(node: Node) -> Iterator[Axis]:
    """The axes, and parts of axes, that a manual computation and what is in it name."""
    for key in ("in_shardings", "out_shardings"):
        for sharding in cast("tuple[Sharding, ...]", node.attrs[key]):
            yield from sharding.axes()
            yield from sharding.unreduced
    for inner in walk(node.regions[0]):
        if has(inner.name, Trait.ALONG_AXES):
            yield from axes_of(inner)


class _Writer(Struct, frozen=True):
    """Writes the stages of one collective at the builder's place."""

    builder: IRBuilder
    stages: Stages
    node: Node

    def write(self, value: SSAValue, wanted: Wanted) -> SSAValue:
        took, staged = self.stages.best(wanted)
        if staged is None:
            return self._collective(value, wanted)
        reason = (
            f"{self.node.attrs[REASON]}; in stages, {_text(took)} for {_text(self.stages.at_once(wanted))}"
        )
        own = pieces(wanted.over, staged.order)
        with self.builder.at(self.node.loc), self.builder.tagged({REASON: reason}):
            if wanted.op is spmd.reduce_scatter:
                value = self._reordered(value, wanted, own, staged.order)
            for step in staged.steps:
                value = self.write(value, step)
            if wanted.op is spmd.all_gather:
                value = self._reordered(value, wanted, staged.order, own)
        return value

    def _collective(self, value: SSAValue, wanted: Wanted) -> SSAValue:
        attrs: dict[str, object] = {"axes": wanted.over}
        if wanted.dim is not None:
            attrs["dim"] = wanted.dim
        if wanted.op is spmd.all_gather:
            attrs["invariant"] = self.node.attrs.get("invariant", self.node.name == spmd.all_reduce.name)
        else:
            attrs["kind"] = wanted.kind
        (made,) = self.builder.op(wanted.op.name, value, results=None, regions=(), **attrs)
        return made

    def _reordered(
        self, value: SSAValue, wanted: Wanted, now: tuple[Axis, ...], then: tuple[Axis, ...]
    ) -> SSAValue:
        """Blocks along the dimension that stand in the order of some parts of axes, in that of others."""
        if now == then:
            return value
        assert wanted.dim is not None
        type, dim, count = self.builder.type_of(value), wanted.dim, len(now)
        before, after = type.shape[:dim], type.shape[dim + 1 :]
        block = type.shape[dim] // wanted.group
        parted = (*before, *(axis.size for axis in now), block, *after)
        order = [dim + now.index(axis) for axis in then]
        turned = (*range(dim), *order, *range(dim + count, len(parted)))
        parts = self.builder.one(hlo.reshape.name, value, result=TensorType(parted, type.dtype))
        parts = self.builder.one(hlo.transpose.name, parts, permutation=turned)
        return self.builder.one(hlo.reshape.name, parts, result=type)


def _text(seconds: float) -> str:
    return f"{seconds * 1e6:.3g} us"
