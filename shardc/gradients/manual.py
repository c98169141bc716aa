"""Per-device code, backwards: a second body, with the blocks of cotangents and of what the first one stored.

A cotangent lies as its value does: what is split is split, and what is the same on all devices has a partial
sum, whose reduction is left to the compiler. A stored block becomes a tensor whose first dimension is split
over the axes that it varies over.
"""

from __future__ import annotations

from typing import Any, cast

from msgspec.structs import replace

from shardc.gradients.backward import Backward
from shardc.gradients.cotangents import NONE, Pending, zeros
from shardc.gradients.forward import Forward, shardings
from shardc.gradients.program import Plan, Program
from shardc.gradients.recording import Recorder
from shardc.gradients.values import Values
from shardc.graph import Node, TensorType
from shardc.layout import Axis, Sharding, size_of
from shardc.layout.sharding import Dim
from shardc.ops import sdy, spmd
from shardc.ops.derivatives.terms import Term


def forward(run: Forward, node: Node, known: dict[int, Any]) -> bool:
    """The body, whose results include what the backward pass needs."""
    program, writer = run.program, run.writer
    if not any(r in program.active for r in node.results):
        return _plain(run, node, known)
    with program.inside(node):
        plan = plan_of(program, node)
        (body,) = node.regions
        whole = [_joined(program, node, v) for v in plan.saved[0]]

        def build(_: Any, *args: Any) -> list[Any]:
            run.name(body.args, args)
            inner = dict(zip(body.args, args, strict=True))
            results = run.region(body, inner)
            return [*results, *(_block(Term(writer, inner[v])).v for v in plan.saved[0])]

        with writer.on_mesh(_mesh(node)):
            made = run.emit(
                node,
                [known[v] for v in node.operands],
                [(program.graph.types(body.args), build)],
                known,
                [type for type, _ in whole],
                out_shardings=(*shardings(node, "out_shardings"), *(sharding for _, sharding in whole)),
            )
    known.update(zip(plan.stored[0], made, strict=True))
    return True


def _plain(run: Forward, node: Node, known: dict[int, Any]) -> bool:
    with run.program.inside(node), run.writer.on_mesh(_mesh(node)):
        run.node(node, known)
    return True


def plan_of(program: Program, node: Node) -> Plan:
    """What the backward body needs, and over which axes each argument's cotangent is a partial sum."""
    if node.id in program.plans:
        return program.plans[node.id]
    (body,) = node.regions
    recorder, needed = Recorder(program.graph), list[int]()

    def lacking(value: int) -> int:
        needed.append(value)
        return recorder.fresh(program.graph.type(value))

    values = Values(program, recorder, body, {}, lacking=lacking)
    back = _back(
        program, recorder, node, values, [recorder.fresh(program.graph.type(v)) for v in body.results]
    )
    given: dict[int, Pending] = {}
    for arg in body.args:
        if back.cotangents.has(arg):
            given[arg] = back.cotangents.take_common(arg)[1]
    passed = tuple(a for a in body.args if a in needed)
    saved = back.values.least([v for v in needed if v not in passed], passed)
    stored: list[int] = []
    for value in saved:
        stored.append(program.new_value(value, _joined(program, node, value)[0]))
        program.home[stored[-1]] = program.home[node.results[0]]
    plan = Plan((saved,), (tuple(stored),), passed, given)
    program.plans[node.id] = plan
    return plan


def backward(run: Backward, node: Node) -> None:
    """The second body."""
    program, writer = run.program, run.writer
    cts = [run.cotangents.take(r) for r in node.results]
    with program.inside(node):
        plan = plan_of(program, node)
        (body,) = node.regions
        position = {arg: i for i, arg in enumerate(body.args)}
        ins, outs = shardings(node, "in_shardings"), shardings(node, "out_shardings")
        used = [i for i, r in enumerate(node.results) if r in program.active]
        given = [arg for arg in plan.given if node.operands[position[arg]] in program.active]
        operands = [
            *(run.values[node.operands[position[arg]]] for arg in plan.passed),
            *(run.values[v] for v in plan.stored[0]),
            *(zeros(writer, program, node.results[i]) if (ct := cts[i]) is None else ct for i in used),
        ]
        saved = [_joined(program, node, v) for v in plan.saved[0]]
        graph = program.graph
        types = [
            *graph.types(plan.passed),
            *(_block_type(graph.type(v)) for v in plan.saved[0]),
            *graph.types(tuple(body.results[i] for i in used)),
        ]
        passed, stores = len(plan.passed), len(plan.saved[0])

        def build(_: Any, *args: Any) -> list[Any]:
            name = Forward(program, writer, {}).name
            known: dict[int, Any] = dict(zip(plan.passed, args, strict=False))
            for value, block in zip(plan.saved[0], args[passed : passed + stores], strict=True):
                known[value] = Term(writer, block).reshape(graph.type(value).shape).v
            name(plan.passed, args)
            name(plan.saved[0], [known[v] for v in plan.saved[0]])
            seeds: list[Any] = [None] * len(body.results)
            for i, ct in zip(used, args[passed + stores :], strict=True):
                seeds[i] = ct
            back = _back(program, writer, node, Values(program, writer, body, known), seeds)
            return [_leaving(program, back, arg, plan.given[arg]) for arg in given]

        out = [
            replace(ins[position[arg]], unreduced=program.axes(plan.given[arg]), kind="sum") for arg in given
        ]
        if not given:
            return
        with writer.on_mesh(_mesh(node)):
            results = writer.op(
                sdy.manual_computation.name,
                *operands,
                results=[graph.type(node.operands[position[arg]]) for arg in given],
                regions=[(types, build)],
                in_shardings=(
                    *(ins[position[arg]] for arg in plan.passed),
                    *(sharding for _, sharding in saved),
                    *(replace(outs[i], unreduced=()) for i in used),
                ),
                out_shardings=tuple(out),
                manual_axes=node.attrs["manual_axes"],
            )
    for arg, ct in zip(given, results, strict=True):
        run.cotangents.add(node.operands[position[arg]], ct)


def _back(program: Program, writer: Any, node: Node, values: Values, seeds: list[Any]) -> Backward:
    (body,) = node.regions
    back = Backward(program, writer, values, program.backward)
    manual = cast("tuple[str, ...]", node.attrs["manual_axes"])
    over = [
        program.parts_of([a for dim in sharding.dims for a in dim.axes if a.name in manual])
        | program.state(result).varies
        for sharding, result in zip(shardings(node, "out_shardings"), node.results, strict=True)
    ]
    back.seed(body.results, seeds, over)
    back.region(body)
    return back


def _leaving(program: Program, back: Backward, arg: int, pending: Pending) -> Any:
    """A cotangent as it leaves: a partial sum is declared to be one."""
    ct = back.cotangents.take_up_to(arg, pending)
    if ct is None:
        ct = zeros(back.writer, program, arg)
    if pending == NONE:
        return ct
    return back.writer.one(spmd.as_partial.name, ct, axes=program.axes(pending), kind="sum")


def _block(term: Term) -> Term:
    """A block with a dimension that can be split."""
    return term.reshape(_block_type(term.type).shape)


def _block_type(type: TensorType) -> TensorType:
    return type if type.shape else type.with_shape((1,))


def _joined(program: Program, node: Node, value: int) -> tuple[TensorType, Sharding]:
    """The tensor that the blocks of a stored value make up, and how it is split."""
    block = _block_type(program.graph.type(value))
    axes: tuple[Axis, ...] = program.axes(_manual(program, node, program.over(value)))
    mesh = _mesh(node)
    rest = len(cast("tuple[str, ...]", node.attrs["manual_axes"])) < len(mesh.axes)
    shape = (block.shape[0] * size_of(axes), *block.shape[1:])
    dims = [Dim(axes if d == 0 else (), open=rest) for d in range(block.rank)]
    return block.with_shape(shape), Sharding(mesh, tuple(dims))


def _manual(program: Program, node: Node, parts: frozenset[Axis]) -> frozenset[Axis]:
    """Those of the axes that this code is written over."""
    names = cast("tuple[str, ...]", node.attrs["manual_axes"])
    return frozenset(part for part in parts if part.name in names)


def _mesh(node: Node) -> Any:
    both = [*shardings(node, "in_shardings"), *shardings(node, "out_shardings")]
    return both[0].mesh
