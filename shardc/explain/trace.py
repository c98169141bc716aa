"""Every operation of the per-device program as it runs, up to the first that is wrong.

Says what each makes, with a summary of the blocks of the devices asked for. The blocks of all devices
together are compared with the value of the single-device program; the first operation where they are not
the same ends the run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp

from shardc.analysis.manual import NO_AXES, is_complete, manual_axes
from shardc.analysis.text import name_of, sharded_text
from shardc.diagnostics import ShardcError
from shardc.dialects.context import make_context
from shardc.dialects.snapshot import snapshot
from shardc.explain.shown import shower
from shardc.explain.trace_text import operation, sender, summary
from shardc.forms.localize import Localizer
from shardc.graph import Graph, Node, TensorType
from shardc.interpret.collectives import Blocks
from shardc.interpret.distance import TOLERANCE, distance
from shardc.interpret.manual import manual_part
from shardc.interpret.run import run
from shardc.interpret.tolerance import FACTOR
from shardc.interpret.wide import run_wide, widened
from shardc.layout import Mesh, Sharding
from shardc.layout.groups import position_over
from shardc.ops import hlo, sdy
from shardc.passes.localize import VALUES, Localize
from shardc.planning.meshes import mesh_of
from shardc.semantics.blocks import BlockError, assemble, cut

Array = NDArray[np.generic]
_SILENT = {hlo.constant.name, sdy.manual_computation.name, hlo.while_.name}


Say = Callable[[str], object]
"""Where the lines go, one by one, as the program runs."""


def trace(module: ModuleOp, arrays: Sequence[Array], devices: Sequence[int], say: Say) -> bool:
    """Localise a module at stage collectives and run it on these arguments; whether every operation is right.

    `devices` are the numbers of the devices whose blocks are shown. ShardcError if there is none of a number.
    """
    whole = snapshot(module).graph
    if not whole.meshes:
        raise ShardcError("--trace shows devices, and the program has no mesh")
    Localize(number_values=True).apply(make_context(), module)
    return trace_graphs(whole, snapshot(module).graph, arrays, devices, say)


def trace_graphs(
    whole: Graph, local: Graph, arrays: Sequence[Array], devices: Sequence[int], say: Say
) -> bool:
    """The same for the global program and its localised form, whose nodes carry localize.VALUES."""
    mesh = mesh_of(whole)
    for device in devices:
        if not 0 <= device < mesh.size:
            raise ShardcError(f"--trace {device}: the devices of {mesh} are 0 to {mesh.size - 1}")
    recorded = _Recorded(Localizer(whole, mesh))
    run(whole, arrays, trace=recorded.record)
    run_wide(whole, arrays, trace=recorded.measure)
    tracer = _Tracer(local, recorded, mesh, devices, say)
    try:
        run(local, arrays, check=False, trace=tracer.show, show=shower(local, say))
    except _Wrong as wrong:
        say(str(wrong))
        return False
    say(f"{tracer.count} operations, {tracer.compared} compared with the single-device program: all right")
    if tracer.own:
        say(
            f"{tracer.own} of these stand in per-device code, which is its own reference: a wrong collective "
            "there shows in the values above only"
        )
    return True


class _Wrong(Exception):
    """The devices disagree with the single-device program; the text says where and by how much."""


class _Recorded(Struct):
    """Every value of the global program, each time it was computed; per-device code has one per position.

    errors: how far each is from f64, as a part of its largest element.
    """

    localizer: Localizer
    values: dict[int, list[Blocks]] = {}
    errors: dict[int, list[float]] = {}

    def record(self, node: Node, values: list[Blocks]) -> None:
        for number, blocks in zip(node.results, values, strict=True):
            self.values.setdefault(number, []).append(blocks)

    def measure(self, node: Node, values: list[Blocks]) -> None:
        """Take note of the values in f64, after all were recorded."""
        for number, exact in zip(node.results, values, strict=True):
            errors = self.errors.setdefault(number, [])
            history = self.values.get(number, [])
            blocks = history[len(errors)] if len(errors) < len(history) else exact
            errors.append(max(distance(b, widened(a)) for a, b in zip(blocks, exact, strict=True)))

    def bound(self, number: int, visit: int) -> float:
        """How far the devices may be from it; infinite where a decision falls otherwise in f64."""
        errors = self.errors.get(number, [])
        own = errors[visit] if visit < len(errors) else 0.0
        return max(TOLERANCE.get(self.localizer.graph.type(number).dtype, 0), FACTOR * own)


class _Tracer:
    def __init__(
        self, graph: Graph, recorded: _Recorded, mesh: Mesh, devices: Sequence[int], say: Say
    ) -> None:
        self.graph, self.recorded, self.mesh, self.devices, self.say = graph, recorded, mesh, devices, say
        self.count = self.compared = self.own = 0
        self._visits: dict[int, int] = {}
        self._manual = manual_axes(recorded.localizer.graph)
        numbers = mesh.devices.reshape(-1).tolist()
        self._positions = [numbers.index(device) for device in devices]

    def show(self, node: Node, values: list[Blocks]) -> None:
        """Say what a node makes and check its results; _Wrong if they are not the blocks they should be."""
        if node.name in _SILENT or not values or any(len(blocks) != self.mesh.size for blocks in values):
            return
        self.count += 1
        nothing = (-1,) * len(values)
        numbers = cast("tuple[int, ...]", node.attrs.get(VALUES, nothing))
        for result, number, blocks in zip(node.results, numbers, values, strict=True):
            self.say(self._title(node, result, number))
            for device, position in zip(self.devices, self._positions, strict=True):
                line = f"    device {device}{sender(node, self.mesh, position)}: {summary(blocks[position])}"
                self.say(line)
            if number >= 0:
                self._check(node, number, blocks)

    def _title(self, node: Node, result: int, number: int) -> str:
        """line 8: h = maximum, f32[16, 64] of f32[32@data, 256@model]"""
        value, loc = self.graph.values[result], node.loc
        place = f"line {loc.line}: " if loc.file else ""
        called = name_of(value.loc)
        name = f"{called} = " if called else ""
        type = str(value.type)
        if number in self.recorded.values and not is_complete(self.mesh, self._manual.get(number, NO_AXES)):
            whole = self._type(number)
            type += f" of {sharded_text(whole, self.recorded.localizer.layout(number))}"
        return f"{place}{name}{operation(node, self.mesh)}, {type}"

    def _type(self, number: int) -> TensorType:
        return self.recorded.localizer.graph.type(number)

    def _check(self, node: Node, number: int, blocks: Blocks) -> None:
        """Compare with what the single-device program had at the same visit."""
        visit = self._visits.get(number, 0)
        self._visits[number] = visit + 1
        history = self.recorded.values.get(number, [])
        if visit >= len(history):
            return
        self.compared += 1
        self.own += bool(self._manual.get(number, NO_AXES))
        bound = self.recorded.bound(number, visit)
        apart = self._distances(number, history[visit], blocks, bound)
        wrong = {position: far for position, far in apart.items() if far > bound}
        if wrong:
            raise _Wrong(self._text(node, wrong))

    def _distances(self, number: int, expected: Blocks, blocks: Blocks, bound: float) -> dict[int, float]:
        """How far each position's block is from what it should be.

        Code that is written per device of some axes has a value for every position over them, which the
        devices along the other axes share.
        """
        manual = self._manual.get(number, NO_AXES)
        axes = tuple(self.mesh.axis(name) for name in self.mesh.sizes if name in manual)
        others = Mesh(self.mesh.name, tuple(axis for axis in self.mesh.axes if axis[0] not in manual))
        layout = manual_part(self.recorded.localizer.layout(number), others)
        at, apart = position_over(self.mesh, axes), dict[int, float]()
        for index, want in enumerate(expected):
            positions = np.flatnonzero(at == index).tolist()
            found = _apart(want, [blocks[position] for position in positions], layout, bound)
            apart.update({positions[i]: far for i, far in found.items()})
        return apart

    def _text(self, node: Node, wrong: dict[int, float]) -> str:
        numbers = self.mesh.devices.reshape(-1)
        names = ", ".join(str(number) for number in sorted(numbers[list(wrong)].tolist()))
        which = "all devices together" if len(wrong) == self.mesh.size else f"devices {names}"
        where = f"{node.loc}: " if node.loc.file else ""
        far = max(wrong.values())
        return (
            f"{where}here {which} DIFFER from the single-device program, "
            f"by {far:.1e} of the largest element: the operands were right"
        )


def _apart(want: Array, blocks: Blocks, layout: Sharding, bound: float) -> dict[int, float]:
    """How far each position's block is from its part of `want`; of a partial result, from the whole."""
    try:
        whole = assemble(blocks, layout, want.shape, check=not layout.unreduced)
        far = distance(want, whole)
    except BlockError:
        far = float("inf")
    if layout.unreduced:
        return dict.fromkeys(range(len(blocks)), far)
    if far <= bound:
        return {}
    inside = cut(np.ones(want.shape, np.bool_), layout)
    parts = zip(cut(want, layout), blocks, inside, strict=True)
    return {i: distance(part[mask], block[mask]) for i, (part, block, mask) in enumerate(parts)}
