"""Names of the user's Python for what loops carry, from the attribute shardc.loops (jax_loops.py)."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue

from shardc.dialects.nested import nested
from shardc.dialects.types import type_of
from shardc.frontend.jax_loops import LOOPS, Carry
from shardc.frontend.python_names import frames
from shardc.ops import hlo

_Place = tuple[str, int, int, bool]


def name_carried(module: ModuleOp, backward: Container[Operation] = ()) -> None:
    """Give what loops carry the names that are stated, in place; the attribute goes.

    `backward` are the operations of the backward pass.
    """
    known: dict[_Place, list[Sequence[Carry]]] = {}
    for function in module.body.block.ops:
        if isinstance(function, FuncOp):
            for place, carries in _stated(function.attributes.pop(LOOPS, None)):
                known.setdefault(place, []).append(carries)
    if not known:
        return
    for op in nested([module]):
        if op.name == hlo.while_.name:
            place = frames(op.location)[0]
            found = known.get((place.file or "", place.line, place.col, op in backward), ())
            fitting = next((carries for carries in found if _fits(op, carries)), None)
            if fitting is not None:
                _name(op, fitting)


def _stated(attr: Attribute | None) -> Iterator[tuple[_Place, Sequence[Carry]]]:
    """Places and what loops there carry. An attribute of another form says nothing."""
    for loop in cast("ArrayAttr[Attribute]", attr).data if isinstance(attr, ArrayAttr) else ():
        match loop:
            case ArrayAttr(
                data=(
                    StringAttr(data=file),
                    IntegerAttr() as line,
                    IntegerAttr() as col,
                    IntegerAttr() as backward,
                    *rest,
                )
            ):
                carries = [_carry(item) for item in rest]
                found = [carry for carry in carries if carry is not None]
                if len(found) == len(carries):
                    yield (file, line.value.data, col.value.data, bool(backward.value.data)), found
            case _:
                pass


def _carry(attr: Attribute) -> Carry | None:
    match attr:
        case ArrayAttr(data=(StringAttr(data=inside), StringAttr(data=after), *sizes)):
            shape = [size.value.data for size in sizes if isinstance(size, IntegerAttr)]
            return (inside, after, tuple(shape)) if len(shape) == len(sizes) else None
        case _:
            return None


def _fits(op: Operation, carries: Sequence[Carry]) -> bool:
    """Whether what the loop carries last has these shapes."""
    last = op.results[-len(carries) :] if carries else ()
    return [type_of(result.type).shape for result in last] == [shape for _, _, shape in carries]


def _name(op: Operation, carries: Sequence[Carry]) -> None:
    count = len(carries)
    for region in op.regions:
        _hint(region.block.args[-count:], [inside for inside, _, _ in carries])
    _hint(op.results[-count:], [after for _, after, _ in carries])


def _hint(values: Sequence[SSAValue], names: Sequence[str]) -> None:
    for value, name in zip(values, names, strict=True):
        if SSAValue.is_valid_name(name) and name:
            value.name_hint = name
