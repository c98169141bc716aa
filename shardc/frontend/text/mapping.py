"""vmap: a function of slices as a function of stacks, as in JAX.

The function is built for one slice as a draft, which batching/ reads as a graph and builds for all slices.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from xdsl.ir import SSAValue

from shardc.frontend.text.annotations import Annotated
from shardc.frontend.text.builtins.reductions import axis_of
from shardc.frontend.text.builtins.shapes import transpose
from shardc.frontend.text.derivative_rules import CustomRule
from shardc.frontend.text.drafts import items_of, program_of
from shardc.frontend.text.emitter import Emitter
from shardc.frontend.text.places import Pos
from shardc.frontend.text.trees import as_tensors, has_function, leaves, rebuilt, tensors_of
from shardc.frontend.text.typed import annotated_leaves, filled, written_as
from shardc.frontend.text.values import FunctionName, RecordValue, Tensor, Value, describe, plural
from shardc.graph import Node, TensorType
from shardc.ops import func

if TYPE_CHECKING:
    from shardc.gradients.program import Program


def vmap(
    e: Emitter,
    fun: FunctionName,
    in_axes: Value = 0,
    out_axes: Value = 0,
    axis_size: int | None = None,
) -> FunctionName:
    """The function that computes `fun` for each slice of its arguments, along dimensions `in_axes`; None is
    an argument that all slices share. The slices of results are stacked along `out_axes`.
    """

    def apply(*args: Value) -> Value:
        return _applied(e, fun, args, in_axes, out_axes, axis_size)

    def over(captured: tuple[Value, ...]) -> FunctionName:
        return vmap(e, fun.over(captured) if fun.over else fun, in_axes, out_axes, axis_size)

    return FunctionName(f"the vmap of {fun.name}", None, apply, fun.captured, over)


def _applied(
    e: Emitter,
    fun: FunctionName,
    args: Sequence[Value],
    in_axes: Value,
    out_axes: Value,
    axis_size: int | None,
) -> Value:
    values = tuple(as_tensors(e, arg) for arg in args)
    if isinstance(in_axes, tuple) and len(in_axes) != len(values):
        count = plural(len(in_axes), "axis") if len(in_axes) == 1 else f"{len(in_axes)} axes"
        raise e.error(f"vmap: in_axes has {count} for {plural(len(values), 'argument')}")
    axes = [*_axes(e, "in_axes", in_axes, values)]
    tensors = tensors_of(values)
    stacked = [_in_front(e, fun, t, axis) for t, axis in zip(tensors, axes, strict=True)]
    size = _size(e, fun, stacked, axes, axis_size)
    slices = [
        t if axis is None else Tensor(t.value, t.type.with_shape(t.shape[1:]), t.weak)
        for t, axis in zip(stacked, axes, strict=True)
    ]
    program, operands, value = program_of(e, fun, items_of(rebuilt(values, slices)), rematerialised=True)
    if has_function(value):
        raise e.error(f"vmap: {fun.name} returns a function", "only tensors are stacked")
    which = [axis is not None for axis in axes]
    which += [False] * (len(operands) - len(which))
    results, own = _built(e, program, which, size, [t.value for t in operands])
    given = zip(results, own, tensors_of(value), _axes(e, "out_axes", out_axes, value), strict=True)
    return rebuilt(value, [_out(e, fun, size, *one) for one in given])


def _built(
    e: Emitter, program: Program, stacks: Sequence[bool], size: int, args: Sequence[SSAValue]
) -> tuple[list[SSAValue], list[bool]]:
    from shardc.batching.control import mapped

    calls = _Calls(e, program, size)
    return mapped(
        program.graph, program.region, stacks, size, e.builder, args, calls=calls.build, group=e.group
    )


def _axes(e: Emitter, name: str, axes: Value, value: Value) -> Iterator[int | None]:
    """The dimension of each tensor of a value; one entry may stand for all of a tuple or record."""
    if axes is None or (isinstance(axes, int) and not isinstance(axes, bool)):
        yield from (axes for leaf in leaves(value) if isinstance(leaf, Tensor))
        return
    inner = _items(value)
    given = _items(axes)
    if given is None:
        raise e.error(f"vmap: {name} is a number, None, or a tuple of them, not {describe(axes)}")
    if inner is None or len(inner) != len(given):
        raise e.error(f"vmap: {name} has {plural(len(given), 'part')} for {describe(value)}")
    for axis, item in zip(given, inner, strict=True):
        yield from _axes(e, name, axis, item)


def _items(value: Value) -> Sequence[Value] | None:
    if isinstance(value, RecordValue):
        return [item for _, item in value.fields]
    return value if isinstance(value, tuple) else None


def _in_front(e: Emitter, fun: FunctionName, tensor: Tensor, axis: int | None) -> Tensor:
    """The tensor with the dimension of the slices first."""
    if axis is None:
        return tensor
    if not -tensor.rank <= axis < tensor.rank:
        hint = "in_axes=None is an argument that all slices share"
        raise e.error(f"vmap of {fun.name} over dimension {axis} of {tensor.type}", hint)
    dim = axis % tensor.rank
    return transpose(e, tensor, (dim, *(d for d in range(tensor.rank) if d != dim)))


def _size(
    e: Emitter,
    fun: FunctionName,
    stacked: Sequence[Tensor],
    axes: Sequence[int | None],
    axis_size: int | None,
) -> int:
    """The number of slices, on which all agree."""
    sizes = {t.shape[0] for t, axis in zip(stacked, axes, strict=True) if axis is not None}
    sizes |= {axis_size} if axis_size is not None else set()
    if not sizes:
        hint = "in_axes says which dimension of each argument, axis_size how many slices"
        raise e.error(f"vmap of {fun.name} maps no argument", hint)
    if len(sizes) > 1:
        texts = " and ".join(map(str, sorted(sizes)))
        raise e.error(f"vmap of {fun.name} over dimensions of different sizes, {texts}")
    return sizes.pop()


def _out(
    e: Emitter, fun: FunctionName, size: int, value: SSAValue, own: bool, like: Tensor, axis: int | None
) -> Tensor:
    """A result with its slices along a dimension; one that all slices share is repeated."""
    if axis is None:
        if own:
            raise e.error(
                f"vmap: out_axes is None for a result of {fun.name} that differs between the slices",
                f"{like.type} for each of {size} slices",
            )
        return Tensor(value, like.type, like.weak)
    dim = axis_of(e, axis, like.rank + 1)
    rest = [d for d in range(like.rank + 1) if d != dim]
    if own:
        type = like.type.with_shape((size, *like.shape))
        order = [rest.index(d) + 1 if d != dim else 0 for d in range(like.rank + 1)]
        return transpose(e, Tensor(value, type, like.weak), tuple(order))
    shape = [*like.shape]
    shape.insert(dim, size)
    return e.broadcast_in_dim(Tensor(value, like.type, like.weak), tuple(shape), rest)


class _Calls:
    """Calls that stay calls: of what the language brings, @remat and @custom_vjp functions."""

    def __init__(self, e: Emitter, program: Program, size: int) -> None:
        self.e, self.program, self.size = e, program, size

    def build(self, node: Node, operands: Sequence[SSAValue], stacks: Sequence[bool]) -> list[SSAValue]:
        """A call of the function for stacks, which is built once for each form."""
        e, symbol = self.e, str(node.attrs["callee"])
        slices = self.program.graph.types(node.operands)
        tensors = [Tensor(v, e.builder.type_of(v)) for v in operands]
        if symbol in e.rules.customs:
            pairs = zip(tensors, stacks, slices, strict=True)
            tensors = [t if stack else self._repeated(t, type) for t, stack, type in pairs]
            stacks = [True] * len(tensors)
        types = [t.type for t in tensors]
        made = e.helper(f"{symbol}_each", types, lambda *args: self._function(symbol, stacks, args))
        if symbol in e.rules.rematerialised:
            e.rules.rematerialised.add(made)
        if symbol in e.rules.customs and made not in e.rules.customs:
            e.rules.customs[made] = self._rule(e.rules.customs[symbol], types)
        results = [self._stacked(type) for type in self.program.graph.types(node.results)]
        return [t.value for t in e.ops(func.call.name, *tensors, results=results, weak=False, callee=made)]

    def _stacked(self, type: TensorType) -> TensorType:
        return type.with_shape((self.size, *type.shape))

    def _repeated(self, tensor: Tensor, type: TensorType) -> Tensor:
        shape = self._stacked(type).shape
        return self.e.broadcast_in_dim(tensor, shape, range(1, len(shape)))

    def _function(self, symbol: str, stacks: Sequence[bool], args: Sequence[Tensor]) -> list[Tensor]:
        from shardc.batching.control import mapped
        from shardc.gradients.inlining import Inliner

        program = self.program
        region = Inliner(program.graph, program.inliner.kept).function(symbol)
        results, own = mapped(
            program.graph,
            region,
            stacks,
            self.size,
            self.e.builder,
            [t.value for t in args],
            calls=self.build,
            group=self.e.group,
        )
        types = program.graph.types(region.results)
        made = [Tensor(v, self.e.builder.type_of(v)) for v in results]
        pairs = zip(made, own, types, strict=True)
        return [t if is_stack else self._repeated(t, type) for t, is_stack, type in pairs]

    def _rule(self, rule: CustomRule, types: Sequence[TensorType]) -> CustomRule:
        """The derivative of the function for stacks: that of each slice."""
        e, pos = self.e, Pos(self.e.loc.line, self.e.loc.col, self.e.loc.file)
        parameters = tuple(Annotated(type, None, written_as(type, pos)) for type in types)

        def one(*tensors: Value) -> Value:
            rest = iter(tensors_of(tensors))
            return rule.forward(*(filled(parameter, rest) for parameter in rule.parameters))

        def back(saved: Value, ct: Value) -> Value:
            found = rule.backward(saved, ct)
            given = found if isinstance(found, tuple) else (found,)
            flat: list[Value] = []
            for parameter, cotangent in zip(rule.parameters, given, strict=True):
                count = len([*annotated_leaves(parameter)])
                flat += [None] * count if cotangent is None else tensors_of(as_tensors(e, cotangent))
            return tuple(flat)

        return CustomRule(
            rule.name,
            parameters,
            vmap(e, FunctionName(rule.name, None, one)).apply,
            vmap(e, FunctionName(rule.name, None, back)).apply,
        )
