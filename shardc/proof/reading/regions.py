"""The bodies of reductions and sorts, from names and from functions of the text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from shardc.graph import TensorType, identity
from shardc.graph.builder import Body
from shardc.ops import OpDef, hlo
from shardc.proof.reading.recorded import Recorded, Recorder
from shardc.proof.values import Beyond

_KINDS: dict[str, OpDef] = {
    "sum": hlo.add, "max": hlo.maximum, "min": hlo.minimum, "prod": hlo.multiply, "and": hlo.and_,
    "or": hlo.or_, "xor": hlo.xor, "bitand": hlo.and_, "bitor": hlo.or_,
}  # fmt: skip


def applied(
    recorder: Recorder, types: Sequence[TensorType], function: Callable[..., Sequence[Recorded]]
) -> Body:
    """A region that does what a function of arrays without data does."""

    def body(_: object, *arguments: int) -> list[int]:
        results = function(*(Recorded(recorder, argument) for argument in arguments))
        return [result.value for result in results]

    return types, body


def combination(recorder: Recorder, kind: str, dtype: str) -> Body:
    """The region that combines two scalars by `kind`; `set` takes the second."""
    if kind != "set" and kind not in _KINDS:
        raise Beyond(f"a combination by {kind}")

    def combine(a: Recorded, b: Recorded) -> list[Recorded]:
        return [b if kind == "set" else recorder.one(_KINDS[kind], a, b)]

    return applied(recorder, [TensorType((), dtype)] * 2, combine)


def scalars(arrays: Sequence[Recorded], each: int = 1) -> list[TensorType]:
    """The types of a region's arguments: one scalar for each array, or two, one after the other."""
    return [array.type.with_shape(()) for array in arrays for _ in range(each)]


def less_than(recorder: Recorder, array: Recorded) -> Body:
    """NumPy's order: ascending, NaN last."""

    def less(a: Recorded, b: Recorded) -> list[Recorded]:
        return [recorder.one(hlo.compare, a, b, comparison_direction="LT")]

    return applied(recorder, scalars([array], 2), less)


def argument(recorder: Recorder, array: Recorded, axis: int, direction: str) -> Recorded:
    """np.argmax (GT) or np.argmin (LT): of equal elements the first."""
    counting = array.type.with_dtype("i64")
    places = recorder.one(hlo.iota, results=[counting], iota_dimension=axis)
    kind = "max" if direction == "GT" else "min"
    starts = [recorder.constant(identity(kind, array.type.dtype), array.type.dtype)]
    starts.append(recorder.constant(0, "i64"))
    return extreme(recorder, array, places, starts, axis, direction)[1]


def extreme(
    recorder: Recorder,
    array: Recorded,
    places: Recorded,
    starts: Sequence[Recorded],
    axis: int,
    direction: str,
) -> list[Recorded]:
    """The greatest (GT) or least (LT) along an axis, and its place: of equal elements the least."""

    def choose(a: Recorded, i: Recorded, b: Recorded, j: Recorded) -> list[Recorded]:
        def compared(left: Recorded, right: Recorded, how: str) -> Recorded:
            return recorder.one(hlo.compare, left, right, comparison_direction=how)

        first = compared(a, b, "EQ") & compared(i, j, "LT")
        taken = recorder.one(hlo.or_, compared(a, b, direction), first)
        return [recorder.one(hlo.select, taken, a, b), recorder.one(hlo.select, taken, i, j)]

    types: list[Any] = scalars([array, places]) * 2
    return recorder.op(
        hlo.reduce, array, places, *starts, regions=[applied(recorder, types, choose)], dimensions=(axis,)
    )
