"""jacfwd, jacrev and hessian: derivatives along all directions at once, by vmap."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from shardc.frontend.text.builtins.creation import eye
from shardc.frontend.text.drafts import items_of, program_of
from shardc.frontend.text.emitter import Emitter
from shardc.frontend.text.gradients import jvp, vjp
from shardc.frontend.text.mapping import vmap
from shardc.frontend.text.trees import as_tensors, rebuilt, tensors_of
from shardc.frontend.text.values import Dtype, FunctionName, Tensor, Value, describe, plural
from shardc.graph.types import TensorType, is_float


def jacrev(e: Emitter, fun: FunctionName, argnums: int = 0) -> FunctionName:
    """The function that computes the Jacobian of `fun` by an argument, a tensor, row by row: backwards."""

    def apply(*args: Value) -> Value:
        values, x = _argument(e, fun, args, argnums)
        _, _, value = program_of(e, fun, values, rematerialised=True)
        if not isinstance(value, Tensor):
            raise e.error(
                f"the Jacobian of {fun.name}, which returns {describe(value)}", "jacfwd takes tuples"
            )

        def row(held: Value, ct: Value) -> Value:
            function, *own = items_of(held)
            assert isinstance(function, FunctionName)
            pull = items_of(vjp(e, function, *own))[1]
            assert isinstance(pull, FunctionName)
            return items_of(pull.apply(ct))[argnums]

        rows = vmap(e, _holding(row, (fun, *values))).apply(_directions(e, value.type))
        assert isinstance(rows, Tensor)
        return e.reshape(rows, (*value.shape, *x.shape))

    return _derived(e, fun, argnums, apply, jacrev)


def jacfwd(e: Emitter, fun: FunctionName, argnums: int = 0) -> FunctionName:
    """The same column by column: forwards."""

    def apply(*args: Value) -> Value:
        values, x = _argument(e, fun, args, argnums)

        def column(held: Value, tangent: Value) -> Value:
            function, *own = items_of(held)
            assert isinstance(function, FunctionName)
            tangents = tuple(tangent if i == argnums else _zeros(e, one) for i, one in enumerate(own))
            return items_of(jvp(e, function, tuple(own), tangents))[1]

        columns = vmap(e, _holding(column, (fun, *values)), out_axes=-1).apply(_directions(e, x.type))
        parts = [e.reshape(t, (*t.shape[:-1], *x.shape)) for t in tensors_of(columns)]
        return rebuilt(columns, parts)

    return _derived(e, fun, argnums, apply, jacfwd)


def hessian(e: Emitter, fun: FunctionName, argnums: int = 0) -> FunctionName:
    """The function that computes the second derivatives of `fun` by an argument."""
    return jacfwd(e, jacrev(e, fun, argnums), argnums)


def _argument(
    e: Emitter, fun: FunctionName, args: Sequence[Value], number: int
) -> tuple[tuple[Value, ...], Tensor]:
    """The arguments as tensors, and the one that the derivative is by."""
    values = tuple(as_tensors(e, arg) for arg in args)
    if not 0 <= number < len(values):
        raise e.error(f"argnums {number} of {plural(len(values), 'argument')}")
    x = values[number]
    if not isinstance(x, Tensor) or not is_float(x.dtype):
        raise e.error(f"the Jacobian of {fun.name} by {describe(x)}", "it is by one tensor of floats")
    return values, x


def _zeros(e: Emitter, value: Value) -> Value:
    return rebuilt(value, [e.splat(0, tensor.type) for tensor in tensors_of(value)])


def _directions(e: Emitter, type: TensorType) -> Tensor:
    """One tensor of that type for each of its elements, which is 1 there and 0 elsewhere."""
    return e.reshape(eye(e, type.size, None, Dtype(type.dtype)), (type.size, *type.shape))


def _holding(function: Callable[[Value, Value], Value], held: tuple[Value, ...]) -> FunctionName:
    """A function of one argument that uses other values besides."""

    def over(captured: tuple[Value, ...]) -> FunctionName:
        def apply(x: Value) -> Value:
            return function(captured, x)

        return FunctionName("this derivative", None, apply, captured, over)

    return over(held)


def _derived(
    e: Emitter,
    fun: FunctionName,
    argnums: int,
    apply: Callable[..., Value],
    again: Callable[[Emitter, FunctionName, int], FunctionName],
) -> FunctionName:
    def over(captured: tuple[Value, ...]) -> FunctionName:
        return again(e, fun.over(captured) if fun.over else fun, argnums)

    return FunctionName(f"the Jacobian of {fun.name}", None, apply, fun.captured, over)
