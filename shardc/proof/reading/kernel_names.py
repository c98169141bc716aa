"""What stands for `ops` (shardc.semantics.ops) while an emitted text is read.

A function of `ops` is the operation that it is the kernel of, or that has its name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

from shardc.graph.types import TensorType
from shardc.ops import OpDef, Trait, definitions, hlo
from shardc.ops.meanings import KernelMeaning
from shardc.proof.reading.numpy_names import Kind
from shardc.proof.reading.recorded import Recorded, Recorder, short
from shardc.proof.reading.regions import applied, combination, extreme, scalars
from shardc.proof.values import Beyond
from shardc.semantics.lapack import is_known, result_types

Combine = Callable[..., Sequence[Recorded]]


class KernelNames:
    """`ops`. A name that is not here raises Beyond."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name in _kernels():
            return partial(self._kernel, *_kernels()[name])
        if name in _elementwise():
            return partial(self._one, _elementwise()[name])
        raise Beyond(f"the function ops.{name} in an emitted text")

    def _one(self, definition: OpDef, *arrays: Any, dtype: Kind | None = None, **attrs: Any) -> Recorded:
        """An elementwise operation; a number beside an array is of its dtype."""
        _check(dtype)
        found = [array.type.dtype for array in arrays if isinstance(array, Recorded)]
        operands = self.recorder.broadcast(*(self.recorder.lifted(array, found[0]) for array in arrays))
        types = {} if dtype is None else {"results": [operands[0].type.with_dtype(dtype.name)]}
        return self.recorder.one(definition, *operands, **types, **attrs)

    def _kernel(self, definition: OpDef, kernel: KernelMeaning, *arrays: Any, **given: Any) -> Any:
        dtype, shape = _check(given.pop("dtype", None)), given.pop("shape", None)
        floats = [array.type.dtype for array in arrays if isinstance(array, Recorded)]
        operands = [self.recorder.lifted(array, floats[0]) for array in arrays]
        types: dict[str, Any] = {}
        if shape is not None:
            types["results"] = [operands[0].type.with_shape(shape)]
        if dtype is not None and shape is not None:
            types["results"] = [types["results"][0].with_dtype(dtype.name)]
        results = self.recorder.op(definition, *operands, **types, **given)
        if kernel.several:
            return results
        return results[0] if dtype is None else self.recorder.converted(results[0], dtype.name)

    def dynamic_slice(self, array: Recorded, *starts: Any, slice_sizes: Sequence[int]) -> Recorded:
        return self.recorder.one(hlo.dynamic_slice, array, *self._starts(starts), slice_sizes=slice_sizes)

    def dynamic_update_slice(self, array: Recorded, update: Recorded, *starts: Any) -> Recorded:
        return self.recorder.one(hlo.dynamic_update_slice, array, update, *self._starts(starts))

    def _starts(self, starts: Sequence[Any]) -> list[Recorded]:
        """Numbers beside others are integers of the same type."""
        found = [start.type.dtype for start in starts if isinstance(start, Recorded)]
        return [self.recorder.lifted(start, found[0] if found else "i32") for start in starts]

    def reduce(self, array: Recorded, start: Any, kind: str, **given: Any) -> Recorded:
        return self._by_kind(hlo.reduce, array, start, kind, given)

    def reduce_window(self, array: Recorded, start: Any, kind: str, **given: Any) -> Recorded:
        return self._by_kind(hlo.reduce_window, array, start, kind, given)

    def _by_kind(self, definition: OpDef, array: Recorded, start: Any, kind: str, given: Any) -> Recorded:
        region = combination(self.recorder, kind, array.type.dtype)
        initial = self.recorder.lifted(start, array.type.dtype)
        return self.recorder.one(definition, array, initial, regions=[region], **given)

    def reduce_with(self, arrays: Any, starts: Any, combine: Combine, **given: Any) -> list[Recorded]:
        return self._by_function(hlo.reduce, arrays, starts, combine, given)

    def reduce_window_with(self, arrays: Any, starts: Any, combine: Combine, **given: Any) -> list[Recorded]:
        return self._by_function(hlo.reduce_window, arrays, starts, combine, given)

    def rng_bit_generator(
        self, state: Recorded, *, shape: tuple[int, ...], dtype: Kind, rng_algorithm: str
    ) -> list[Recorded]:
        types = [state.type, TensorType(shape, _check(dtype).name)]
        return self.recorder.op(hlo.rng_bit_generator, state, results=types, rng_algorithm=rng_algorithm)

    def lapack(self, target: str, *arrays: Recorded, **options: int) -> list[Recorded]:
        """A custom call with the routine's options."""
        if not is_known(target, options):
            raise Beyond(f"the routine {target} in an emitted text")
        operands = [(array.shape, array.type.numpy) for array in arrays]
        types = [TensorType(shape, short(dtype)) for shape, dtype in result_types(target, operands, options)]
        told = {"call_target_name": target, "mhlo.backend_config": tuple(options.items())}
        return self.recorder.op(hlo.custom_call, *arrays, results=types, **told)

    def _by_function(self, definition: OpDef, arrays: Any, starts: Any, combine: Combine, given: Any) -> Any:
        initial = [self.recorder.lifted(s, a.type.dtype) for a, s in zip(arrays, starts, strict=True)]
        region = applied(self.recorder, scalars(arrays) * 2, combine)
        return self.recorder.op(definition, *arrays, *initial, regions=[region], **given)

    def greatest(self, *arrays: Any, axis: int) -> list[Recorded]:
        return self._extreme(arrays, axis, "GT")

    def least(self, *arrays: Any, axis: int) -> list[Recorded]:
        return self._extreme(arrays, axis, "LT")

    def _extreme(self, arrays: Sequence[Any], axis: int, direction: str) -> list[Recorded]:
        """Of values and their places, beside a first value and its place."""
        values, places, start, place = arrays
        starts = [
            self.recorder.lifted(start, values.type.dtype),
            self.recorder.lifted(place, places.type.dtype),
        ]
        return extreme(self.recorder, values, places, starts, axis, direction)

    def scatter(
        self, arrays: Any, places: Recorded, updates: Any, combine: Combine | None = None, *,
        scatter_dimension_numbers: object, kind: str | None = None,
    ) -> list[Recorded]:  # fmt: skip
        if kind is not None:
            region = combination(self.recorder, kind, arrays[0].type.dtype)
        else:
            assert combine is not None
            region = applied(self.recorder, scalars(arrays) * 2, combine)
        dims = scatter_dimension_numbers
        return self.recorder.op(
            hlo.scatter, *arrays, places, *updates, regions=[region], scatter_dimension_numbers=dims
        )

    def select_and_scatter(
        self, array: Recorded, source: Recorded, start: Any, choose: Combine, combine: Combine, **given: Any
    ) -> Recorded:
        regions = [applied(self.recorder, scalars([array]) * 2, body) for body in (choose, combine)]
        initial = self.recorder.lifted(start, array.type.dtype)
        return self.recorder.one(hlo.select_and_scatter, array, source, initial, regions=regions, **given)

    def sort(self, *arrays: Recorded, dimension: int, less_than: Combine) -> list[Recorded]:
        region = applied(self.recorder, scalars(arrays, 2), less_than)
        return self.recorder.op(hlo.sort, *arrays, regions=[region], dimension=dimension)


def _check(dtype: Any) -> Any:
    """What np.dtype gives, or None."""
    if dtype is not None and not isinstance(dtype, Kind):
        raise Beyond("classes of numbers where a function of ops takes a dtype")
    return dtype


@cache
def _kernels() -> dict[str, tuple[OpDef, KernelMeaning]]:
    found = ((definition, definition.meaning) for definition in definitions())
    return {m.function.__name__: (d, m) for d, m in found if isinstance(m, KernelMeaning)}


@cache
def _elementwise() -> dict[str, OpDef]:
    named = {d.short: d for d in definitions() if d.has(Trait.ELEMENTWISE) and d.meaning is not None}
    return {**named, "absolute": hlo.abs_, "complex_": hlo.complex_}
