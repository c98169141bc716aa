"""The most that a device holds while it runs a written NumPy program.

One device runs one operation after another: it holds the blocks of the arguments, variables until they get
another value or their function returns, and temporaries of expressions until they are used.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import prod

from shardc.analysis.per_device import Held, Peak
from shardc.backend.numpy.allocation import products, rules
from shardc.backend.numpy.allocation.calls import Allocation, Evaluation, allocation_of, broadcasts
from shardc.backend.numpy.allocation.storage import Buffer, View, fresh
from shardc.backend.python.trace import (
    Assign,
    Bind,
    Choice,
    Delete,
    FunctionTrace,
    Line,
    Loop,
    Printed,
    Return,
    Same,
    Trace,
)
from shardc.graph import UNKNOWN, Graph, Location, Node
from shardc.ops import func, hlo

RULES = (products, rules)
"""The modules that attach what operations allocate."""


def peak(graph: Graph, trace: Trace, alive: bool = False) -> Peak:
    """The peak of a program, from what its lines compute and hold; with `alive`, what is held there."""
    run = _Simulation(graph, trace)
    run.main(trace.functions[None])
    if not alive:
        return Peak(run.peak, run.peak_loc)
    again = _Simulation(graph, trace, run.peak)
    again.main(trace.functions[None])
    return Peak(run.peak, run.peak_loc, again.alive)


class _Frame:
    """The variables of a function that is running, and which value is in which."""

    def __init__(self) -> None:
        self.variables: dict[str, View] = {}
        self.held: dict[int, str] = {}
        self.same: dict[int, int] = {}


class _Simulation:
    """One run, without elements. Every view that is handed around is held once by who has it."""

    def __init__(self, graph: Graph, trace: Trace, known: int | None = None) -> None:
        self.graph, self.trace, self.known = graph, trace, known
        self.live = self.peak = 0
        self.peak_loc: Location = UNKNOWN
        self.frames: list[_Frame] = []
        self.alive: tuple[Held, ...] = ()

    def main(self, function: FunctionTrace) -> None:
        """The device's main. What it is given, its caller holds too."""
        blocks: list[View] = []
        for value in function.params:
            type = self.graph.type(value)
            blocks.append(self.hold(fresh(Buffer(type.nbytes), type.shape)))
        self.function(function, [self.hold(block) for block in blocks])

    # Memory

    def hold(self, view: View) -> View:
        if view.buffer is not None:
            if not view.buffer.holders:
                self.live += view.buffer.nbytes
            view.buffer.holders += 1
        return view

    def drop(self, view: View) -> None:
        if view.buffer is not None:
            view.buffer.holders -= 1
            if not view.buffer.holders:
                self.live -= view.buffer.nbytes

    def reached(self, loc: Location, meanwhile: int = 0) -> None:
        if self.live + meanwhile > self.peak:
            self.peak, self.peak_loc = self.live + meanwhile, loc
            if self.peak == self.known:
                self.alive = self._alive()

    def _alive(self) -> tuple[Held, ...]:
        """What variables hold now, the largest first; what two hold, once."""
        found: dict[int, Held] = {}
        for frame in self.frames:
            values = {variable: value for value, variable in frame.held.items()}
            for variable, view in frame.variables.items():
                if view.buffer is not None and variable in values:
                    held = Held(variable, self.graph.type(values[variable]), view.buffer.nbytes)
                    found.setdefault(id(view.buffer), held)
        return tuple(sorted(found.values(), key=lambda held: -held.nbytes))

    # Lines

    def function(self, function: FunctionTrace, arguments: list[View]) -> list[View]:
        """Run a function; it takes over the arguments and hands over its results."""
        frame = _Frame()
        self.frames.append(frame)
        for line, view in zip(function.lines, arguments, strict=False):
            assert isinstance(line, Bind)
            frame.variables[line.variable] = view
            frame.held[line.value] = line.variable
        self.reached(UNKNOWN)
        results = self.lines(frame, function.lines[len(arguments) :])
        for view in frame.variables.values():
            self.drop(view)
        self.frames.pop()
        return results

    def lines(self, frame: _Frame, lines: Iterable[Line]) -> list[View]:
        for line in lines:
            match line:
                case Assign():
                    self.assign(frame, line)
                case Bind():
                    frame.held[line.value] = line.variable
                case Delete():
                    self.drop(frame.variables.pop(line.variable))
                case Same():
                    frame.same[line.value] = line.source
                case Loop():
                    self.loop(frame, line)
                case Choice():
                    self.choice(frame, line)
                case Return():
                    if line.node is not None:
                        return self.several(frame, line.node)
                    return [self.whole(frame, value) for value in line.values]
        return []

    def assign(self, frame: _Frame, line: Assign) -> None:
        if line.node is not None:
            views = self.several(frame, line.node)
        else:
            texts = zip(line.values, line.shapes, strict=True)
            views = [self.shaped(frame, value, shape) for value, shape in texts]
        for variable, view in zip(line.variables, views, strict=True):
            before = frame.variables.get(variable)
            frame.variables[variable] = view
            if before is not None:
                self.drop(before)

    def loop(self, frame: _Frame, line: Loop) -> None:
        """Two rounds show everything: in the second, variables still hold what the first left in them."""
        for _ in range(2 if line.trips is None else min(line.trips, 2)):
            for value in _bound(line.lines):
                frame.held.pop(value, None)
            self.lines(frame, line.lines)

    def choice(self, frame: _Frame, line: Choice) -> None:
        """Each branch from the same start; what the largest leaves behind is what goes on."""
        start = dict(frame.variables)
        ends: list[dict[str, View]] = []
        for branch in line.branches:
            frame.variables = {name: self.hold(view) for name, view in start.items()}
            self.lines(frame, branch)
            ends.append(frame.variables)
        frame.variables = max(ends, key=_held)
        for end in (start, *(end for end in ends if end is not frame.variables)):
            for view in end.values():
                self.drop(view)

    # Expressions

    def whole(self, frame: _Frame, value: int) -> View:
        """What is written for a value where it must have its own shape."""
        return self.shaped(frame, value, self.graph.type(value).shape)

    def shaped(self, frame: _Frame, value: int, shape: tuple[int, ...]) -> View:
        """The text in a shape: a number becomes an array of it, an array a broadcast one."""
        view = self.evaluate(frame, value)
        if view.shape == shape:
            return view
        if view.buffer is not None:
            return view.repeated(shape)
        return self.hold(fresh(Buffer(prod(shape) * self.graph.type(value).numpy.itemsize), shape))

    def evaluate(self, frame: _Frame, value: int) -> View:
        """What a value's text gives, held once for the caller."""
        while value in frame.same and value not in frame.held:
            value = frame.same[value]
        if value in frame.held:
            return self.hold(frame.variables[frame.held[value]])
        printed = self.trace.printed.get(value)
        if printed is None or printed.term.weak or _is_literal(printed):
            return fresh(None, () if printed is None else printed.term.shape)
        if printed.same is not None and printed.term.shape == self._shape(printed.same):
            return self.evaluate(frame, printed.same)
        if printed.node.name == func.call.name:
            return self.several(frame, printed.node)[0]
        return self.compute(frame, printed)

    def _shape(self, value: int) -> tuple[int, ...]:
        printed = self.trace.printed.get(value)
        return printed.term.shape if printed else self.graph.type(value).shape

    def compute(self, frame: _Frame, printed: Printed) -> View:
        """One operation, its operands first."""
        node = printed.node
        take = self.evaluate if broadcasts(node.name) else self.whole
        operands = tuple(take(frame, value) for value in node.operands)
        temporary = tuple(view.buffer is not None and view.buffer.holders == 1 for view in operands)
        evaluation = Evaluation(self.graph, node, printed.term.shape, operands, temporary)
        outcome = allocation_of(node.name)(evaluation)
        return self.done(node, operands, outcome)

    def several(self, frame: _Frame, node: Node) -> list[View]:
        """A call that gives all results of a node."""
        operands = tuple(self.whole(frame, value) for value in node.operands)
        if node.name == func.call.name:
            callee = self.trace.functions[str(node.attrs["callee"])]
            return self.function(callee, list(operands))
        results: list[View] = []
        for value in node.results:
            type = self.graph.type(value)
            rule = allocation_of(node.name)
            outcome = rule(Evaluation(self.graph, node, type.shape, operands, (False,) * len(operands)))
            results.append(self.hold(fresh(Buffer(type.nbytes), type.shape)))
            self.reached(node.loc, outcome.meanwhile)
        for view in operands:
            self.drop(view)
        return results

    def done(self, node: Node, operands: tuple[View, ...], outcome: Allocation) -> View:
        view = self.hold(outcome.view)
        self.reached(node.loc, outcome.meanwhile)
        for operand in operands:
            self.drop(operand)
        return view


def _is_literal(printed: Printed) -> bool:
    return printed.node.name == hlo.constant.name and printed.term.free


def _held(variables: dict[str, View]) -> int:
    buffers = {id(v.buffer): v.buffer.nbytes for v in variables.values() if v.buffer is not None}
    return sum(buffers.values())


def _bound(lines: Iterable[Line]) -> Iterator[int]:
    """The values that get variables in these lines, and in the branches and loops among them."""
    for line in lines:
        match line:
            case Bind():
                yield line.value
            case Loop():
                yield from _bound(line.lines)
            case Choice():
                for branch in line.branches:
                    yield from _bound(branch)
            case _:
                pass
