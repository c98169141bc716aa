"""What is differentiated: one region with its calls inlined, what is known of its values, and plans.

A plan says, of an operation with regions, which values of its bodies the backward pass needs, so that the
forward pass stores them. It is found by a rehearsal: the backward pass of the body, recorded and forgotten.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, cast

from msgspec import Struct

from shardc.analysis.loops import Constants
from shardc.check.regions import VaryingBody
from shardc.check.state import SAME, AxisParts, State
from shardc.diagnostics import ShardcError
from shardc.gradients.inlining import Inliner
from shardc.gradients.marks import STOP
from shardc.graph import Graph, Node, Region, TensorType, Value
from shardc.layout import Axis, merge
from shardc.ops import find, func, hlo, sdy
from shardc.ops.derivative import Derivative
from shardc.ops.derivatives.elementwise import differentiable


class Custom(Struct, frozen=True):
    """A function whose derivative the program gives: (args) -> (results, residuals), and
    (residuals, cotangents) -> the cotangents of `args`, by their positions among the operands.
    """

    forward: Region
    backward: Region
    results: int
    args: tuple[int | None, ...]


class Plan(Struct, frozen=True):
    """`saved`: the values of each body that are stored, and `stored`, what holds them outside. `passed`: the
    arguments of the body that the backward pass takes again. `given`: the values whose cotangents the bodies
    add to, each with the axes over which these are still to be summed.
    """

    saved: tuple[tuple[int, ...], ...] = ()
    stored: tuple[tuple[int, ...], ...] = ()
    passed: tuple[int, ...] = ()
    given: Mapping[int, frozenset[Axis]] = {}


class Program:
    """One function of a graph, about to be differentiated.

    `customs` are rules of functions by symbol, `rematerialised` functions whose insides are computed again in
    the backward pass, `kept` those that no derivative goes through. In per-device code `states` are those of
    the arguments, and `manual` the names of the axes that it is written over.
    """

    def __init__(
        self,
        graph: Graph,
        region: Region,
        *,
        customs: Mapping[str, Custom] | None = None,
        rematerialised: frozenset[str] = frozenset(),
        states: Sequence[State] | None = None,
        manual: frozenset[str] = frozenset(),
        parts: AxisParts | None = None,
        inlined: bool = False,
        kept: frozenset[str] = frozenset(),
    ) -> None:
        self.graph, self.customs, self.rematerialised = graph, dict(customs or {}), rematerialised
        self.manual = manual
        self.kept = kept
        self.inliner = Inliner(graph, {*self.customs, *rematerialised, *kept})
        self.region = region if inlined else self.inliner.copy(region)
        self.constants = Constants(Graph())
        self.constants.collect(self.region)
        self.home: dict[int, int] = {}
        self._settle(self.region)
        self.plans: dict[int, Plan] = {}
        self.backward: Mapping[str, Any] = {}
        """How operations with regions, and calls, run backwards (differentiate.py)."""
        self.forward: Mapping[str, Any] = {}
        """How they run forwards, so that they can."""
        self.inner: dict[int, Program] = {}
        self.active: set[int] = set()
        self.body = VaryingBody(graph, self.region, parts, manual, list(states or ()))
        self.parts = parts
        """The parts of the axes in the per-device code that is being differentiated."""

    def _settle(self, region: Region) -> None:
        """Note in which region each value is made."""
        for value in region.args:
            self.home[value] = id(region)
        for node in region.nodes:
            for value in node.results:
                self.home[value] = id(region)
            for inner in node.regions:
                self._settle(inner)

    def new_value(self, like: int, type: TensorType) -> int:
        """A value beside another one, of another type."""
        number = len(self.graph.values)
        self.graph.values.append(Value(number, type, self.graph.values[like].loc))
        return number

    def region_of(self, node: Node) -> Program:
        """The function that a call that stayed a call is of, to be differentiated by itself."""
        if node.id not in self.inner:
            symbol = str(node.attrs["callee"])
            self.inner[node.id] = Program(
                self.graph,
                Inliner(self.graph, {*self.customs, *self.rematerialised, *self.kept}).function(symbol),
                customs=self.customs,
                rematerialised=self.rematerialised,
                states=[self.state(v) for v in node.operands],
                manual=self.manual,
                parts=self.parts,
                inlined=True,
                kept=self.kept,
            )
        return self.inner[node.id]

    # ---- per-device code

    def state(self, value: int) -> State:
        """Over what a value varies or is a partial sum; the same in code that is not per device."""
        return self.body.states.get(value, SAME)

    def over(self, value: int) -> frozenset[Axis]:
        """The axes over which devices hold different things."""
        state = self.state(value)
        return state.varies | state.partial

    def store_like(self, value: int, others: Sequence[int]) -> None:
        """A value that holds what others do, and so may differ where one of them does."""
        varies = frozenset[Axis]().union(*(self.over(other) for other in others))
        if varies:
            self.body.states[value] = State(varies)

    def axes(self, parts: frozenset[Axis]) -> tuple[Axis, ...]:
        """The axes made of these parts, in mesh order."""
        if not parts:
            return ()
        assert self.parts is not None
        return merge(sorted(parts, key=self.parts.mesh.order))

    def parts_of(self, axes: Sequence[Axis]) -> frozenset[Axis]:
        """The parts of axes."""
        return frozenset() if self.parts is None else self.parts.of(axes)

    @contextmanager
    def inside(self, node: Node) -> Generator[None]:
        """In the body of a sdy.manual_computation."""
        old = self.parts, self.manual
        self.parts = self.body.parts[node.id]
        self.manual |= set(cast("tuple[str, ...]", node.attrs["manual_axes"]))
        try:
            yield
        finally:
            self.parts, self.manual = old

    # ---- which values depend on the arguments

    def activate(self, values: Sequence[int]) -> None:
        """Find what depends smoothly on these values."""
        self.active |= set(values)
        self._region(self.region)

    def _region(self, region: Region) -> None:
        for node in region.nodes[:-1]:
            _ACTIVITY.get(node.name, Program._plain)(self, node)

    def _mark(self, values: Sequence[int]) -> None:
        self.active |= {v for v in values if differentiable(self.graph.type(v).dtype)}

    def _plain(self, node: Node) -> None:
        if STOP in node.attrs:
            return
        derivative = derivative_of(node)
        flows = None if derivative is None else derivative.flows
        operands = node.operands if flows is None else [node.operands[i] for i in flows]
        if any(v in self.active for v in operands):
            self._mark(node.results)

    def _loop(self, node: Node) -> None:
        _, body = node.regions
        self._mark([a for a, o in zip(body.args, node.operands, strict=True) if o in self.active])
        while True:
            self._region(body)
            after = [a for a, r in zip(body.args, body.results, strict=True) if r in self.active]
            if set(after) <= self.active:
                break
            self._mark(after)
        self._mark([r for r, a in zip(node.results, body.args, strict=True) if a in self.active])

    def _branches(self, node: Node) -> None:
        for region in node.regions:
            self._region(region)
            self._mark([r for r, v in zip(node.results, region.results, strict=True) if v in self.active])

    def _manual(self, node: Node) -> None:
        (body,) = node.regions
        self._mark([a for a, o in zip(body.args, node.operands, strict=True) if o in self.active])
        self._region(body)
        self._mark([r for r, v in zip(node.results, body.results, strict=True) if v in self.active])

    def error(self, message: str, node: Node, hint: str | None = None) -> ShardcError:
        """An error at an operation."""
        return ShardcError(message, node.loc, hint)


def derivative_of(node: Node) -> Derivative | None:
    """The derivative of an operation, on the operands that it has."""
    definition = find(node.name)
    derivative: Derivative | None = None if definition is None else definition.derivative
    if derivative is None or derivative.alike is None or len(set(node.operands)) > 1:
        return derivative
    return derivative.alike


_ACTIVITY: dict[str, Any] = {
    hlo.while_.name: Program._loop,  # pyright: ignore[reportPrivateUsage]
    hlo.case.name: Program._branches,  # pyright: ignore[reportPrivateUsage]
    hlo.if_.name: Program._branches,  # pyright: ignore[reportPrivateUsage]
    sdy.manual_computation.name: Program._manual,  # pyright: ignore[reportPrivateUsage]
    func.call.name: Program._plain,  # pyright: ignore[reportPrivateUsage]
}
