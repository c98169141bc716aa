"""Functions as programs for derivatives: built for their arguments as a draft, which a graph is read from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from shardc.dialects.snapshot import OpenReader
from shardc.frontend.text.derivative_rules import CustomRule
from shardc.frontend.text.emitter import Emitter
from shardc.frontend.text.trees import as_tensors, rebuilt, tensors_of
from shardc.frontend.text.typed import annotated_leaves, filled
from shardc.frontend.text.values import FunctionName, Tensor, Value, plural
from shardc.graph import Graph, Region
from shardc.graph.types import TensorType

if TYPE_CHECKING:
    from shardc.gradients.program import Custom, Program


def program_of(
    e: Emitter, fun: FunctionName, values: tuple[Value, ...], *, rematerialised: bool
) -> tuple[Program, list[Tensor], Value]:
    """A function for these arguments as a program; its operands, and its value in the draft."""
    from shardc.gradients.program import Program

    tree: tuple[Value, ...] = (values, fun)
    operands = tensors_of(tree)
    made: list[Value] = []

    def build(*tensors: Tensor) -> Value:
        arguments, function = items_of(rebuilt(tree, tensors))
        assert isinstance(function, FunctionName)
        made.append(as_tensors(e, function.apply(*items_of(arguments))))
        return made[0]

    graph, region = drafted(e, [t.type for t in operands], build, operands)
    found = e.devices.states([t.value for t in operands])
    program = Program(
        graph,
        region,
        customs=_customs(e, graph),
        rematerialised=frozenset(e.rules.rematerialised if rematerialised else ()),
        kept=frozenset(e.helpers.values()),
        states=None if found is None else found.states,
        parts=None if found is None else found.parts,
        manual=frozenset() if found is None else found.axes,
    )
    return program, operands, made[0]


def drafted(
    e: Emitter, types: Sequence[TensorType], build: Callable[..., Value], given: Sequence[Tensor] = ()
) -> tuple[Graph, Region]:
    """A function as a graph, with those that it calls; nothing of it stays in the module."""
    with e.drafting(), e.builder.draft(types) as (function, args):
        operands = [t.value for t in given] if given else None
        with e.devices.region(args, operands):
            value = build(*(Tensor(arg, type) for arg, type in zip(args, types, strict=True)))
        e.builder.ret([tensor.value for tensor in tensors_of(value)])
    try:
        reader = OpenReader(e.builder.module, e.devices.mesh)
        return reader.graph, reader.function(function).body
    finally:
        function.detach()
        function.erase()


def _customs(e: Emitter, graph: Graph) -> dict[str, Custom]:
    """The rules of the functions that a graph calls, each as two regions."""
    found: dict[str, Custom] = {}
    for symbol in [*graph.functions]:
        if symbol in e.rules.customs:
            found[symbol] = _custom(e, graph, e.rules.customs[symbol])
    return found


def _custom(e: Emitter, graph: Graph, rule: CustomRule) -> Custom:
    """The rule of one function: two drafts, copied into the graph."""
    from shardc.gradients.program import Custom

    types = [leaf.type for one in rule.parameters for leaf in annotated_leaves(one)]
    made: list[Value] = []

    def forward(*tensors: Tensor) -> Value:
        rest = iter(tensors)
        value = as_tensors(e, rule.forward(*(filled(one, rest) for one in rule.parameters)))
        if not (isinstance(value, tuple) and len(value) == 2):
            raise e.error(f"the forward function of {rule.name} returns (value, residuals)")
        made.append(value)
        return value

    own, first = drafted(e, types, forward)
    value, residuals = items_of(made[0])
    tree: tuple[Value, ...] = (residuals, value)
    positions: list[int | None] = []

    def backward(*tensors: Tensor) -> Value:
        saved, ct = items_of(rebuilt(tree, tensors))
        found = rule.backward(saved, ct)
        given = found if isinstance(found, tuple) else (found,)
        if len(given) != len(rule.parameters):
            raise e.error(
                f"the backward function of {rule.name} returns {plural(len(given), 'cotangent')},"
                f" and {rule.name} has {plural(len(rule.parameters), 'parameter')}"
            )
        used: list[Tensor] = []
        for parameter, cotangent in zip(rule.parameters, given, strict=True):
            expected = [leaf.type for leaf in annotated_leaves(parameter)]
            own = [] if cotangent is None else tensors_of(as_tensors(e, cotangent))
            if own and [t.type for t in own] != expected:
                texts = ", ".join(map(str, expected)), ", ".join(str(t.type) for t in own)
                raise e.error(f"{rule.name}: the cotangent of a parameter {texts[0]} is {texts[1]}")
            positions.extend(range(len(used), len(used) + len(own)) if own else [None] * len(expected))
            used += own
        return tuple(used)

    other, second = drafted(e, [t.type for t in tensors_of(tree)], backward)
    return Custom(
        _moved(graph, own, first), _moved(graph, other, second), len(tensors_of(value)), tuple(positions)
    )


def _moved(into: Graph, graph: Graph, region: Region) -> Region:
    """A region of one graph in another, which gets its values and the functions that it calls."""
    from shardc.gradients.inlining import Inliner

    return Inliner(graph, ()).copy_into(into, region)


def items_of(value: Value) -> tuple[Value, ...]:
    assert isinstance(value, tuple)
    return value
