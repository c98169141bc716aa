"""x.at[…].set(v), .add, .multiply, .max, .min: a new tensor that differs from x at some places.

Places known while compiling that lie beside each other are one dynamic_update_slice, others a scatter, which
drops what is out of range. Both have local forms where dimensions are split.
"""

from __future__ import annotations

from shardc.diagnostics import listed
from shardc.frontend.text.builtins.elementwise import no_order
from shardc.frontend.text.builtins.gathers import second
from shardc.frontend.text.builtins.indexing import Range, Subscript, basic, bounds, checked_position, filled
from shardc.frontend.text.builtins.places import Places, checked_value, columns, index, window, with_tensors
from shardc.frontend.text.builtins.reductions import combiner
from shardc.frontend.text.emitter import Emitter
from shardc.frontend.text.values import Operand, Tensor
from shardc.graph.attrs import ScatterDims
from shardc.graph.types import TensorType, is_complex, is_float
from shardc.ops import OpDef, hlo

UPDATES: dict[str, OpDef | None] = {
    "set": None,
    "add": hlo.add,
    "mul": hlo.multiply,
    "multiply": hlo.multiply,
    "max": hlo.maximum,
    "min": hlo.minimum,
}
"""What becomes of an element and what is written there: the latter, or an operation of both."""


def update(e: Emitter, x: Tensor, subscripts: tuple[Subscript, ...], how: str, value: Operand) -> Tensor:
    """x.at[subscripts].how(value)."""
    if how == "get":
        return index(e, x, subscripts)
    if how not in UPDATES:
        raise e.error(f"x.at[…] has no {how}", listed(how, (*UPDATES, "get"), "it has"))
    items = with_tensors(e, filled(e, x, subscripts))
    written = e.tensor(value)
    loses = not is_float(x.dtype) and is_float(written.dtype)
    if written.dtype != x.dtype and (loses or not (written.weak or isinstance(value, int))):
        hint = "real(v) is its real part" if is_complex(written.dtype) else f"astype(v, {x.dtype}) converts"
        raise e.error(f"a value {written.type} is written into {x.type}", hint)
    written = e.tensor(value, x.dtype)
    if how in ("max", "min") and is_complex(x.dtype):
        raise no_order(e, x)
    if all(
        _beside(e, x.shape[dim], item) for dim, item in enumerate(one for one in items if one is not None)
    ):
        return _slice(e, x, items, UPDATES[how], written)
    return _scatter(e, x, items, UPDATES[how], written)


def _beside(e: Emitter, size: int, item: Subscript) -> bool:
    """Whether a subscript is a number, or a slice of places beside each other."""
    return range(size)[bounds(e, item)].step == 1 if isinstance(item, Range) else isinstance(item, int)


def _slice(e: Emitter, x: Tensor, items: list[Subscript], op: OpDef | None, written: Tensor) -> Tensor:
    """One update of a box at a known place."""
    starts: list[int] = []
    sizes: list[int] = []
    for dim, item in enumerate(one for one in items if one is not None):
        if isinstance(item, int):
            place = checked_position(e, x, dim, item)
            chosen = range(place, place + 1)
        else:
            assert isinstance(item, Range)
            chosen = range(x.shape[dim])[bounds(e, item)]
        starts.append(chosen.start if chosen else 0)
        sizes.append(len(chosen))
    old = basic(e, x, items)
    new = checked_value(e, x, written, old.shape)
    if op is not None:
        new = e.op(op.name, old, new)
    if sizes == [*x.shape]:
        return e.reshape(new, x.shape)
    places = [e.splat(start, TensorType((), "i32")) for start in starts]
    block = e.reshape(new, tuple(sizes))
    return e.op(hlo.dynamic_update_slice.name, x, block, *places, weak=x.weak)


def _scatter(e: Emitter, x: Tensor, items: list[Subscript], op: OpDef | None, written: Tensor) -> Tensor:
    chosen = window(e, x, items)
    block = checked_value(e, x, written, chosen.shape)
    kept = [i for i in range(len(chosen.shape)) if i in chosen.order]
    block = e.reshape(block, tuple(chosen.shape[i] for i in kept))
    order = tuple(kept.index(i) for i in chosen.order)
    if order != tuple(range(len(order))):
        block = e.op(hlo.transpose.name, block, permutation=order)
    places = Places(chosen.dims, chosen.indices, 0)
    batch = len(places.shape)
    with e.group("scatter"):
        (result,) = e.ops(
            hlo.scatter.name,
            x,
            columns(e, places),
            block,
            regions=[second(x.dtype) if op is None else combiner(e, op.name, x.dtype)],
            weak=x.weak,
            scatter_dimension_numbers=ScatterDims(
                tuple(range(batch, block.rank)), chosen.dims, (), (), chosen.dims, batch
            ),
            indices_are_sorted=False,
            unique_indices=False,
        )
    return result
