"""grad, value_and_grad, vjp and stop_gradient: derivatives of the functions of a program, and of lambdas.

The function is built for its arguments as a draft, which gradients/ reads as a graph and builds twice into
the program: forwards, and backwards.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from xdsl.ir import SSAValue

from shardc.frontend.text.drafts import program_of
from shardc.frontend.text.emitter import Emitter
from shardc.frontend.text.trees import as_tensors, leaves, rebuilt, tensors_of
from shardc.frontend.text.values import (
    FunctionName,
    Tensor,
    Value,
    describe,
    plural,
)
from shardc.gradients.marks import STOP
from shardc.graph.types import is_float, is_inexact
from shardc.ops import hlo

if TYPE_CHECKING:
    from shardc.gradients.differentiate import Pull

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
    argnums: int | tuple[int, ...] = 0,
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
    argnums: int | tuple[int, ...] = 0,
    has_aux: bool = False,
) -> FunctionName:
    """The function that computes `fun` and its gradient."""
    chosen = argnums if isinstance(argnums, tuple) else (argnums,)

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

    def over(captured: tuple[Value, ...]) -> FunctionName:
        def apply(*cotangents: Value) -> Value:
            if len(cotangents) != 1:
                hint = "of several results, their tuple: pull((a, b))"
                count = plural(len(cotangents), "argument")
                raise e.error(f"the vjp of {fun.name} takes one cotangent, and is given {count}", hint)
            (cotangent,) = cotangents
            given = _like(e, f"what {fun.name} returns", cotangent, made.value)
            return made.pull(given, None if e.builder.place is place else tensors_of(captured))

        return FunctionName(f"the vjp of {fun.name}", None, apply, captured, over)

    return made.value, over(made.residuals)


def jvp(e: Emitter, fun: FunctionName, primals: Value, tangents: Value) -> Value:
    """fun(*primals), and its derivative along the tangents, which have the types of the primals."""
    from shardc.gradients import differentiate

    if not isinstance(primals, tuple) or not isinstance(tangents, tuple) or len(primals) != len(tangents):
        hint = f"jvp({fun.name}, (x, y), (tx, ty))"
        raise e.error("jvp takes a tuple of arguments, and a tuple of as many tangents", hint)
    values = tuple(as_tensors(e, arg) for arg in primals)
    flat = [
        t for value, own in zip(values, tangents, strict=True) for t in _like(e, "the argument", own, value)
    ]
    given = {i: t.value for i, t in enumerate(flat) if _is_differentiable(t)}
    program, operands, value = program_of(e, fun, values, rematerialised=False)
    results, along = differentiate.jvp(program, e.builder, [t.value for t in operands], given)

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

    @property
    def residuals(self) -> tuple[Tensor, ...]:
        """What the way back reads of the function."""
        return tuple(Tensor(value, self.e.builder.type_of(value)) for value in self._pull.residuals)

    def pull(
        self, cotangents: Sequence[Tensor | None], residuals: Sequence[Tensor] | None = None
    ) -> tuple[Value, ...]:
        """With `residuals`, in another body, where these are the values of the function."""
        given = [None if ct is None else ct.value for ct in cotangents]
        found = iter(self._pull(given, None if residuals is None else [t.value for t in residuals]))
        return tuple(self._tree(one, found) for one in self._chosen)

    def _tree(self, argument: Value, found: object) -> Value:
        tensors = [self._tensor(tensor, next(found)) for tensor in tensors_of(argument)]  # pyright: ignore
        return rebuilt(argument, tensors)

    def _tensor(self, like: Tensor, value: SSAValue | None) -> Tensor:
        return self.e.splat(0, like.type) if value is None else Tensor(value, like.type)


def _pullback(e: Emitter, fun: FunctionName, args: Sequence[Value], chosen: Sequence[int]) -> _Made:
    """Build the function forwards; its value, and its way back to the chosen arguments."""
    from shardc.gradients import differentiate

    values = tuple(as_tensors(e, arg) for arg in args)
    for number in chosen:
        for leaf in leaves(values[number]):
            if isinstance(leaf, Tensor) and not _is_differentiable(leaf):
                raise e.error(
                    f"the gradient by argument {number} of {fun.name}, {leaf.type}",
                    "derivatives are by floats: argnums= chooses the arguments",
                )
    program, operands, value = program_of(e, fun, values, rematerialised=True)
    starts = [len(tensors_of(values[:i])) for i in range(len(values) + 1)]
    wanted = [at for i in chosen for at in range(starts[i], starts[i + 1])]
    results, pull = differentiate.vjp(program, e.builder, [t.value for t in operands], wanted)
    tensors = [Tensor(v, t.type) for v, t in zip(results, tensors_of(value), strict=True)]
    return _Made(e, rebuilt(value, tensors), [values[i] for i in chosen], pull)


def _is_differentiable(tensor: Tensor) -> bool:
    return is_inexact(tensor.dtype)


def _like(e: Emitter, what: str, cotangent: Value, value: Value) -> list[Tensor]:
    """The tensors of a cotangent or tangent, which have the types of the value's."""
    given, expected = tensors_of(as_tensors(e, cotangent)), tensors_of(value)
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
