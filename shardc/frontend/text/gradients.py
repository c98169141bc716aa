"""grad, value_and_grad, vjp and stop_gradient: derivatives of the functions of a program, and of lambdas.

The function is built for its arguments as a draft, which gradients/ reads as a graph and builds twice into
the program: forwards, and backwards.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.ir import SSAValue

from shardc.dialects.snapshot import OpenReader
from shardc.frontend.text.derivative_rules import CustomRule
from shardc.frontend.text.emitter import Emitter
from shardc.frontend.text.trees import leaves, rebuilt, tensors_of
from shardc.frontend.text.typed import annotated_leaves, filled
from shardc.frontend.text.values import (
    Dims,
    FunctionName,
    Number,
    RecordValue,
    Tensor,
    Value,
    describe,
    plural,
)
from shardc.gradients.differentiate import Pull
from shardc.gradients.differentiate import jvp as built_jvp
from shardc.gradients.differentiate import vjp as built_vjp
from shardc.gradients.program import STOP, Custom, Program
from shardc.graph import Graph, Region
from shardc.graph.types import TensorType, is_float, is_inexact
from shardc.ops import hlo

Build = Callable[..., Value]

DERIVATIVES = ("grad", "value_and_grad", "vjp", "jvp")
"""The functions here that need to know over what values vary."""


def stop_gradient(e: Emitter, x: Value) -> Value:
    """x, which derivatives take for a constant."""
    marked: dict[str, Any] = {STOP: True}
    tensors = [e.op(hlo.optimization_barrier.name, t, weak=t.weak, **marked) for t in tensors_of(x)]
    return rebuilt(x, tensors)


def grad(
    e: Emitter,
    fun: FunctionName,
    argnums: Dims = 0,
    has_aux: bool = False,
) -> FunctionName:
    """The function that computes the gradient of `fun`, which returns a scalar, by arguments `argnums`."""
    both = value_and_grad(e, fun, argnums, has_aux)

    def only(function: FunctionName) -> FunctionName:
        def apply(*args: Value) -> Value:
            found = function.apply(*args)
            assert isinstance(found, tuple)
            value, gradient = found
            return (gradient, value[1]) if has_aux and isinstance(value, tuple) else gradient

        def over(captured: tuple[Value, ...]) -> FunctionName:
            assert function.over is not None
            return only(function.over(captured))

        return FunctionName(f"the gradient of {fun.name}", None, apply, function.captured, over)

    return only(both)


def value_and_grad(
    e: Emitter,
    fun: FunctionName,
    argnums: Dims = 0,
    has_aux: bool = False,
) -> FunctionName:
    """The function that computes `fun` and its gradient."""
    chosen = (0,) if argnums is None else argnums if isinstance(argnums, tuple) else (argnums,)

    def apply(*args: Value) -> Value:
        numbers = [_argument(e, n, len(args)) for n in chosen]
        made = _pullback(e, fun, args, numbers)
        value = made.value
        if has_aux and not (isinstance(value, tuple) and len(value) == 2):
            raise e.error(f"with has_aux=True {fun.name} returns (value, more), not {describe(value)}")
        scalar = value[0] if has_aux and isinstance(value, tuple) else value
        if not (isinstance(scalar, Tensor) and is_float(scalar.dtype) and not scalar.rank):
            what = "several values" if isinstance(scalar, tuple) else describe(scalar)
            hint = "sum(…) or mean(…) makes one number; vjp takes cotangents of any result"
            raise e.error(f"the gradient of {fun.name}, which returns {what}, and not a float scalar", hint)
        one = e.splat(1.0, scalar.type)
        found = made.pull([one, *[None] * (len(tensors_of(value)) - 1)])
        return value, found[0] if not isinstance(argnums, tuple) else found

    return _derived(
        fun, f"the gradient of {fun.name}", apply, lambda f: value_and_grad(e, f, argnums, has_aux)
    )


def vjp(e: Emitter, fun: FunctionName, *primals: Value) -> Value:
    """fun(*primals), and the function that takes a cotangent of it to those of the primals, a tuple."""
    made = _pullback(e, fun, primals, range(len(primals)))
    place = e.builder.place

    def apply(cotangent: Value) -> Value:
        if e.builder.place is not place:
            raise e.error(f"the vjp of {fun.name} is called in another body than it was made in")
        given = _like(e, f"what {fun.name} returns", cotangent, made.value)
        return made.pull(given)

    return made.value, FunctionName(f"the vjp of {fun.name}", None, apply)


def jvp(e: Emitter, fun: FunctionName, primals: Value, tangents: Value) -> Value:
    """fun(*primals), and its derivative along the tangents, which have the types of the primals."""
    if not isinstance(primals, tuple) or not isinstance(tangents, tuple) or len(primals) != len(tangents):
        hint = f"jvp({fun.name}, (x, y), (tx, ty))"
        raise e.error("jvp takes a tuple of arguments, and a tuple of as many tangents", hint)
    values = tuple(_tensors(e, arg) for arg in primals)
    flat = [
        t for value, own in zip(values, tangents, strict=True) for t in _like(e, "the argument", own, value)
    ]
    given = {i: t.value for i, t in enumerate(flat) if _is_differentiable(t)}
    program, operands, value = _program(e, fun, values, rematerialised=False)
    results, along = built_jvp(program, e.builder, [t.value for t in operands], given)

    def as_value(found: Sequence[SSAValue]) -> Value:
        pairs = zip(found, tensors_of(value), strict=True)
        return rebuilt(value, [Tensor(v, t.type) for v, t in pairs])

    return as_value(results), as_value(along)


def _derived(
    fun: FunctionName, name: str, apply: Build, again: Callable[[FunctionName], FunctionName]
) -> FunctionName:
    """A function that captures what another one does."""

    def over(captured: tuple[Value, ...]) -> FunctionName:
        return again(fun.over(captured) if fun.over else fun)

    return FunctionName(name, None, apply, fun.captured, over)


class _Made:
    """A function's value, and what takes cotangents of its tensors to those of the chosen arguments."""

    def __init__(self, e: Emitter, value: Value, chosen: Sequence[Value], pull: Pull) -> None:
        self.e, self.value, self._chosen, self._pull = e, value, chosen, pull

    def pull(self, cotangents: Sequence[Tensor | None]) -> tuple[Value, ...]:
        found = iter(self._pull([None if ct is None else ct.value for ct in cotangents]))
        return tuple(self._tree(one, found) for one in self._chosen)

    def _tree(self, argument: Value, found: object) -> Value:
        tensors = [self._tensor(tensor, next(found)) for tensor in tensors_of(argument)]  # pyright: ignore
        return rebuilt(argument, tensors)

    def _tensor(self, like: Tensor, value: SSAValue | None) -> Tensor:
        return self.e.splat(0, like.type) if value is None else Tensor(value, like.type)


def _pullback(e: Emitter, fun: FunctionName, args: Sequence[Value], chosen: Sequence[int]) -> _Made:
    """Build the function forwards; its value, and its way back to the chosen arguments."""
    values = tuple(_tensors(e, arg) for arg in args)
    for number in chosen:
        for leaf in leaves(values[number]):
            if isinstance(leaf, Tensor) and not _is_differentiable(leaf):
                raise e.error(
                    f"the gradient by argument {number} of {fun.name}, {leaf.type}",
                    "derivatives are by floats: argnums= chooses the arguments",
                )
    program, operands, value = _program(e, fun, values, rematerialised=True)
    starts = [len(tensors_of(values[:i])) for i in range(len(values) + 1)]
    wanted = [at for i in chosen for at in range(starts[i], starts[i + 1])]
    results, pull = built_vjp(program, e.builder, [t.value for t in operands], wanted)
    tensors = [Tensor(v, t.type) for v, t in zip(results, tensors_of(value), strict=True)]
    return _Made(e, rebuilt(value, tensors), [values[i] for i in chosen], pull)


def _is_differentiable(tensor: Tensor) -> bool:
    return is_inexact(tensor.dtype)


def _program(
    e: Emitter, fun: FunctionName, values: tuple[Value, ...], *, rematerialised: bool
) -> tuple[Program, list[Tensor], Value]:
    """A function for these arguments as a program; its operands, and its value in the draft."""
    tree: tuple[Value, ...] = (values, fun)
    operands = tensors_of(tree)
    made: list[Value] = []

    def build(*tensors: Tensor) -> Value:
        arguments, function = _items(rebuilt(tree, tensors))
        assert isinstance(function, FunctionName)
        made.append(_tensors(e, function.apply(*_items(arguments))))
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
    types = [leaf.type for one in rule.parameters for leaf in annotated_leaves(one)]
    made: list[Value] = []

    def forward(*tensors: Tensor) -> Value:
        rest = iter(tensors)
        value = _tensors(e, rule.forward(*(filled(one, rest) for one in rule.parameters)))
        if not (isinstance(value, tuple) and len(value) == 2):
            raise e.error(f"the forward function of {rule.name} returns (value, residuals)")
        made.append(value)
        return value

    own, first = drafted(e, types, forward)
    value, residuals = _items(made[0])
    tree: tuple[Value, ...] = (residuals, value)
    positions: list[int | None] = []

    def backward(*tensors: Tensor) -> Value:
        saved, ct = _items(rebuilt(tree, tensors))
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
            own = [] if cotangent is None else tensors_of(_tensors(e, cotangent))
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


def _like(e: Emitter, what: str, cotangent: Value, value: Value) -> list[Tensor]:
    """The tensors of a cotangent or tangent, which have the types of the value's."""
    given, expected = tensors_of(_tensors(e, cotangent)), tensors_of(value)
    if [t.type for t in given] != [t.type for t in expected]:
        weak = len(given) == len(expected) and all(
            g.type == x.type or (g.weak and g.shape == x.shape) for g, x in zip(given, expected, strict=True)
        )
        if not weak:
            texts = ", ".join(str(t.type) for t in expected), ", ".join(str(t.type) for t in given)
            raise e.error(f"{what} is {texts[0]}, and its derivative is {texts[1] or describe(cotangent)}")
        given = [e.cast(g, x.dtype) for g, x in zip(given, expected, strict=True)]
    return given


def _argument(e: Emitter, number: int, count: int) -> int:
    if not -count <= number < count:
        raise e.error(f"argnums {number} of {plural(count, 'argument')}")
    return number % count


def _tensors(e: Emitter, value: Value) -> Value:
    """A value with its numbers as tensors."""
    if isinstance(value, tuple):
        return tuple(_tensors(e, item) for item in value)
    if isinstance(value, RecordValue):
        return RecordValue(value.name, tuple((name, _tensors(e, item)) for name, item in value.fields))
    return e.tensor(value) if isinstance(value, Number) else value


def _items(value: Value) -> tuple[Value, ...]:
    assert isinstance(value, tuple)
    return value
