"""Loops that count, backwards: the forward loop stacks what the backward one reads from the last turn on.

The backward loop carries: what is the same in all turns, the stacks, what the fixed values' cotangents have
come to, the counter, and the cotangents of the carried values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from shardc.analysis.loops import Counted, counted
from shardc.gradients.backward import Backward, Slice
from shardc.gradients.cotangents import shared, zeros
from shardc.gradients.forward import Forward
from shardc.gradients.program import Plan, Program
from shardc.gradients.recording import Recorder
from shardc.gradients.values import Values
from shardc.graph import Node, Region
from shardc.ops import hlo
from shardc.ops.derivatives.terms import Term


class _Loop(Struct, frozen=True):
    """A counted loop: its carried values by position."""

    node: Node
    count: Counted
    fixed: tuple[int, ...]
    moving: tuple[int, ...]
    """Those that change from turn to turn and have cotangents."""

    @property
    def body(self) -> Region:
        return self.node.regions[1]

    @property
    def counter(self) -> int:
        return self.body.args[self.count.index]


def _loop(program: Program, node: Node) -> _Loop | None:
    count = counted(node, program.constants)
    if count is None:
        return None
    body = node.regions[1]
    fixed = tuple(i for i, arg in enumerate(body.args) if body.results[i] == arg)
    moving = tuple(i for i, arg in enumerate(body.args) if i not in fixed and arg in program.active)
    return _Loop(node, count, fixed, moving)


def forward(run: Forward, node: Node, known: dict[int, Any]) -> bool:
    """A loop that stacks what its backward pass needs."""
    program, writer = run.program, run.writer
    loop = _loop(program, node)
    if loop is None or not any(r in program.active for r in node.results) or not loop.count.trips:
        return False
    plan = plan_of(program, loop)
    condition, body = node.regions
    saved, stacks = plan.saved[0], plan.stored[0]
    with writer.at(node.loc):
        empty = [zeros(writer, program, stack) for stack in stacks]
    operands = [*(known[v] for v in node.operands), *empty]
    types = [*program.graph.types(node.operands), *(program.graph.type(s) for s in stacks)]
    count = len(node.operands)

    def test(_: Any, *args: Any) -> list[Any]:
        return run.region(condition, dict(zip(condition.args, args, strict=False)))

    def turn(_: Any, *args: Any) -> list[Any]:
        inner = dict(zip(body.args, args, strict=False))
        run.name(body.args, args)
        name_stacks(program, writer, saved, args[count:])
        results = run.region(body, inner)
        place = _turn_number(loop, Term(writer, inner[loop.counter]))
        filled = [
            _write(Term(writer, stack), Term(writer, inner[value]), place).v
            for stack, value in zip(args[count:], saved, strict=True)
        ]
        return [*results, *filled]

    more = types[count:]
    made = run.emit(node, operands, [(types, test), (types, turn)], known, more)
    name_stacks(program, writer, saved, made)
    known.update(zip(stacks, made, strict=True))
    return True


def plan_of(program: Program, loop: _Loop) -> Plan:
    """What a loop's backward pass needs, by a rehearsal of one turn."""
    node, body = loop.node, loop.body
    if node.id in program.plans:
        return program.plans[node.id]
    recorder, needed = Recorder(program.graph), list[int]()

    def lacking(value: int) -> int:
        needed.append(value)
        return recorder.fresh(program.graph.type(value))

    back = _turn_back(program, recorder, loop, Values(
        program, recorder, body, {}, lacking=lacking, fixed=_fixed(loop)
    ))  # fmt: skip
    seeds = [recorder.fresh(program.graph.type(body.args[i])) for i in loop.moving]
    _seed(program, loop, back, seeds)
    back.region(body)
    fixed = [body.args[i] for i in loop.fixed]
    given: dict[int, Any] = {}
    for arg in fixed:
        if arg in program.active and (back.cotangents.has(arg) or arg in back.slices):
            given[arg] = _pending(back, arg)
    for i in loop.moving:
        back.cotangents.take(body.args[i])
    saved = back.values.least([v for v in needed if v not in fixed and v != loop.counter])
    stacks: list[int] = []
    for value in saved:
        type = program.graph.type(value)
        stacks.append(program.new_value(value, type.with_shape((loop.count.trips, *type.shape))))
        program.home[stacks[-1]] = program.home[node.results[0]]
        program.store_like(stacks[-1], [value])
    plan = Plan((saved,), (tuple(stacks),), tuple(v for v in fixed if v in needed), given)
    program.plans[node.id] = plan
    return plan


def backward(run: Backward, node: Node) -> None:
    """The loop that takes cotangents from the last turn to the first."""
    program, writer = run.program, run.writer
    loop = _loop(program, node)
    if loop is None:
        raise program.error(
            "a loop that runs until a condition fails has no gradient",
            node,
            "a loop that counts has one: for i in range(N) carrying x:",
        )
    body, graph = loop.body, program.graph
    for i in loop.fixed:  # they leave as they came
        ct = run.cotangents.take(node.results[i])
        if ct is not None and node.operands[i] in program.active:
            run.cotangents.add(node.operands[i], ct)
    incoming = [run.cotangents.take(node.results[i]) for i in loop.moving]
    if not loop.count.trips:
        for i, ct in zip(loop.moving, incoming, strict=True):
            if ct is not None and node.operands[i] in program.active:
                run.cotangents.add(node.operands[i], ct, run.pending(node, node.operands[i]))
        return
    plan = plan_of(program, loop)
    given, passed = [*plan.given], [*plan.passed]
    position = {arg: i for i, arg in enumerate(body.args)}
    operands = [
        *(run.values[node.operands[position[arg]]] for arg in passed),
        *(run.values[stack] for stack in plan.stored[0]),
        *(zeros(writer, program, arg) for arg in given),
        Term(writer, None).filled(0, graph.type(loop.counter)).v,
        *(
            zeros(writer, program, body.args[i]) if ct is None else ct
            for i, ct in zip(loop.moving, incoming, strict=True)
        ),
    ]
    types = [writer.type_of(v) for v in operands]
    bounds = _bounds(len(passed), len(plan.stored[0]), len(given))

    def test(_: Any, *args: Any) -> list[Any]:
        return [Term(writer, args[bounds[2]]).compare("LT", loop.count.trips).v]

    def turn(_: Any, *args: Any) -> list[Any]:
        counter = Term(writer, args[bounds[2]])
        at = (loop.count.trips - 1) - counter
        known: dict[int, Any] = dict(zip(passed, args, strict=False))
        run_forward = Forward(program, writer, {})
        run_forward.name(passed, args)
        own = at + loop.count.start if loop.count.start else at
        known[loop.counter] = own.v
        saved = [
            (value, stack) for value, stack in zip(plan.saved[0], args[bounds[0] : bounds[1]], strict=True)
        ]
        for value, stack in saved:
            known[value] = _read(Term(writer, stack), at).v
        run_forward.name([v for v, _ in saved], [known[v] for v, _ in saved])
        values = Values(program, writer, body, known, fixed=_fixed(loop))
        back = _turn_back(program, writer, loop, values)
        _seed(program, loop, back, args[bounds[2] + 1 :])
        back.region(body)
        sums = [
            _added(back, loop, arg, total, plan.given[arg])
            for arg, total in zip(given, args[bounds[1] : bounds[2]], strict=True)
        ]
        after = [back.cotangents.take(body.args[i]) for i in loop.moving]
        carried = [
            zeros(writer, program, body.args[i]) if ct is None else ct
            for i, ct in zip(loop.moving, after, strict=True)
        ]
        return [*args[: bounds[1]], *sums, (counter + 1).v, *carried]

    results = writer.op(hlo.while_.name, *operands, results=types, regions=[(types, test), (types, turn)])
    for arg, total in zip(given, results[bounds[1] : bounds[2]], strict=True):
        operand = node.operands[position[arg]]
        if operand in program.active:
            run.cotangents.add(operand, total, plan.given[arg])
    for i, total in zip(loop.moving, results[bounds[2] + 1 :], strict=True):
        if node.operands[i] in program.active:
            held = program.over(body.args[i]) - program.over(node.operands[i])
            run.cotangents.add(node.operands[i], total, held)


def _bounds(passed: int, stacks: int, given: int) -> tuple[int, int, int]:
    """Where the stacks, the totals and the counter begin."""
    return passed, passed + stacks, passed + stacks + given


def _turn_number(loop: _Loop, counter: Term) -> Term:
    """0 in the first turn."""
    return counter - loop.count.start if loop.count.start else counter


def _fixed(loop: _Loop) -> frozenset[int]:
    return frozenset((*(loop.body.args[i] for i in loop.fixed), loop.counter))


def _turn_back(program: Program, writer: Any, loop: _Loop, values: Values) -> Backward:
    stacks = frozenset(loop.body.args[i] for i in loop.fixed)
    return Backward(program, writer, values, program.backward, stacks=stacks)


def _seed(program: Program, loop: _Loop, back: Backward, cotangents: Sequence[Any]) -> None:
    results = [loop.body.results[i] for i in loop.moving]
    back.seed(results, cotangents, [program.over(loop.body.args[i]) for i in loop.moving])


def _pending(back: Backward, arg: int) -> Any:
    """The axes over which what a turn adds to a fixed value's cotangent is still to be summed."""
    terms = [pending for _, pending in back.cotangents.terms(arg)]
    terms += [one.pending for one in back.slices.get(arg, [])]
    return shared(terms)


def _added(back: Backward, loop: _Loop, arg: int, total: Any, pending: Any) -> Any:
    """What the cotangent of a fixed value has come to after this turn."""
    writer = back.writer
    whole = back.cotangents.take_up_to(arg, pending)
    layers = back.slices.get(arg, [])
    if whole is not None:
        total = writer.one(hlo.add.name, total, whole)
    only = len(layers) == 1 and whole is None and _each_once(back, loop, layers[0])
    for layer in layers:
        term = back.cotangents.reduced(layer.term, layer.pending - pending)
        stack = Term(writer, total)
        if not only:
            sizes = layer.node.attrs["slice_sizes"]
            places = [Term(writer, p) for p in layer.places]
            old = stack.op(hlo.dynamic_slice, *places, slice_sizes=sizes)
            term = writer.one(hlo.add.name, old.v, term)
        total = writer.one(hlo.dynamic_update_slice.name, total, term, *layer.places)
    return total


def _each_once(back: Backward, loop: _Loop, layer: Slice) -> bool:
    """Whether each turn reads another layer."""
    node, program = layer.node, back.program
    sizes: Any = node.attrs["slice_sizes"]
    moving = [d for d, v in enumerate(node.operands[1:]) if v not in program.constants.values]
    if len(moving) != 1 or sizes[moving[0]] != 1:
        return False
    place = node.operands[1 + moving[0]]
    if place == loop.counter:
        return program.graph.type(node.operands[0]).shape[moving[0]] >= loop.count.stop
    maker = next((n for n in loop.body.nodes if place in n.results), None)
    if maker is None or maker.name != hlo.subtract.name or maker.operands[1] != loop.counter:
        return False
    last = program.constants.values.get(maker.operands[0], -1)
    return last < program.graph.type(node.operands[0]).shape[moving[0]] and last - loop.count.stop >= -1


def name_stacks(program: Program, writer: Any, saved: Sequence[int], stacks: Sequence[Any]) -> None:
    """What h is in all turns is called saved_h."""
    for value, stack in zip(saved, stacks, strict=True):
        name = program.graph.values[value].loc.name
        if name:
            writer.name([stack], [f"saved_{name}"])


def _write(stack: Term, layer: Term, at: Term) -> Term:
    """A stack with a layer written into it."""
    zero = [at.filled(0) for _ in layer.shape]
    return stack.op(hlo.dynamic_update_slice, layer.reshape((1, *layer.shape)), at, *zero)


def _read(stack: Term, at: Term) -> Term:
    """The layer of a stack."""
    shape = stack.shape[1:]
    zero = [at.filled(0) for _ in shape]
    return stack.op(hlo.dynamic_slice, at, *zero, slice_sizes=(1, *shape)).reshape(shape)
