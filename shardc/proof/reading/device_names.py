"""What stands for shardc.runtime while an emitted text is read: `comm`, and emulate."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from shardc.graph import TensorType
from shardc.layout import Axis, Mesh, Sharding
from shardc.ops import OpDef, sdy, spmd
from shardc.proof.reading.recorded import Recorded, Recorder, dim_of
from shardc.proof.reading.regions import applied
from shardc.proof.values import Refused
from shardc.runtime.emulate import specs_of
from shardc.runtime.mesh import Axes, Entry, names_of, sharding_of
from shardc.runtime.trees import leaves, like

Partials = Mapping[int, tuple[Axes, str]]


class Comm:
    """The collectives of one device."""

    def __init__(self, recorder: Recorder, mesh: Mesh) -> None:
        self.recorder, self.mesh = recorder, mesh

    def _axes(self, axes: Axes) -> tuple[Axis, ...]:
        return tuple(self.mesh.axis(name) for name in names_of(axes))

    def _op(self, definition: OpDef, axes: Axes, *operands: Recorded, **attrs: object) -> Recorded:
        return self.recorder.one(definition, *operands, axes=self._axes(axes), **attrs)

    def _counted(self, x: Recorded) -> Recorded:
        """Truth values are counted as i32."""
        return self.recorder.converted(x, "i32") if x.type.dtype == "bool" else x

    def axis_index(self, axes: Axes) -> Recorded:
        return self._op(spmd.axis_index, axes)

    def psum(self, x: Recorded, axes: Axes) -> Recorded:
        return self._op(spmd.all_reduce, axes, self._counted(x), kind="sum")

    def pmax(self, x: Recorded, axes: Axes) -> Recorded:
        return self._op(spmd.all_reduce, axes, x, kind="max")

    def pmin(self, x: Recorded, axes: Axes) -> Recorded:
        return self._op(spmd.all_reduce, axes, x, kind="min")

    def psum_scatter(self, x: Recorded, axes: Axes, scatter_dimension: int) -> Recorded:
        x = self._counted(x)
        return self._op(spmd.reduce_scatter, axes, x, dim=_dim(x, scatter_dimension), kind="sum")

    def all_gather(self, x: Recorded, axes: Axes, axis: int) -> Recorded:
        return self._op(spmd.all_gather, axes, x, dim=_dim(x, axis))

    def all_to_all(self, x: Recorded, axes: Axes, split_axis: int, concat_axis: int) -> Recorded:
        dims = {"split_dim": _dim(x, split_axis), "concat_dim": _dim(x, concat_axis)}
        return self._op(spmd.all_to_all, axes, x, **dims)

    def ppermute(self, x: Recorded, axes: Axes, perm: Sequence[tuple[int, int]]) -> Recorded:
        return self._op(spmd.collective_permute, axes, x, pairs=tuple(perm))

    def pbroadcast(self, x: Recorded, axes: Axes, source: int) -> Recorded:
        return self._op(spmd.collective_broadcast, axes, x, root=source)

    def block(self, x: Recorded, axes: Axes, axis: int) -> Recorded:
        return self._op(spmd.all_slice, axes, x, dim=_dim(x, axis))

    def partial(self, x: Recorded, axes: Axes, kind: str = "sum") -> Recorded:
        return self._op(spmd.to_partial, axes, x, kind=kind)


def _dim(array: Recorded, axis: int) -> int:
    return dim_of(axis, array.type.rank)


def emulation(recorder: Recorder, results: Sequence[TensorType]) -> Callable[..., Any]:
    """What stands for emulate: per-device code of the whole mesh, in the layouts that it is told.

    `results` are the global types that the program is to give. Raises Refused where blocks make others.
    """

    def emulate(
        device_main: Callable[..., Any],
        mesh: Mesh,
        in_specs: Sequence[Sequence[Entry]],
        out_specs: Sequence[Sequence[Entry]],
        *,
        partial_out: Partials | None = None,
        out_shapes: Mapping[int, Sequence[int]] | None = None,
    ) -> Callable[..., Any]:
        specs = specs_of(out_specs)
        if len(specs) != len(results):
            raise Refused(f"{len(specs)} specs of {len(results)} results")
        leaving = [
            _leaving(sharding_of(mesh, spec, type.rank), (partial_out or {}).get(number))
            for number, (spec, type) in enumerate(zip(specs, results, strict=True))
        ]

        def main(*arguments: Any) -> Any:
            made: list[Any] = []

            def device(*blocks: Recorded) -> list[Recorded]:
                made.append(device_main(Comm(recorder, mesh), *like(arguments, blocks)))
                found: list[Recorded] = leaves(made[-1])
                if len(found) != len(results):
                    raise Refused(f"{len(found)} blocks for {len(results)} results")
                for number, (block, sharding, type) in enumerate(zip(found, leaving, results, strict=True)):
                    _check(block.type, sharding, type, (out_shapes or {}).get(number))
                return found

            arrays, specs = leaves(arguments), specs_of(in_specs)
            recorder.builder.mesh(mesh)
            if len(specs) != len(arrays):
                raise Refused(f"{len(specs)} specs of {len(arrays)} arguments")
            entering = [
                sharding_of(mesh, spec, array.type.rank) for spec, array in zip(specs, arrays, strict=True)
            ]
            blocks = [
                array.type.with_shape(sharding.local_shape(array.shape))
                for array, sharding in zip(arrays, entering, strict=True)
            ]
            found = recorder.op(
                sdy.manual_computation,
                *arrays,
                results=list(results),
                regions=[applied(recorder, blocks, device)],
                in_shardings=tuple(entering),
                out_shardings=tuple(leaving),
                manual_axes=tuple(mesh.sizes),
            )
            return like(made[-1], found)

        return main

    return emulate


def _leaving(sharding: Sharding, partial: tuple[Axes, str] | None) -> Sharding:
    if partial is None:
        return sharding
    axes, kind = partial
    unreduced = tuple(sharding.mesh.axis(name) for name in names_of(axes))
    return replace(sharding, unreduced=unreduced, kind=kind).check()


def _check(block: TensorType, sharding: Sharding, type: TensorType, shape: Sequence[int] | None) -> None:
    """Blocks are joined to the type; where they are uneven the text says its shape."""
    if shape is None:
        shape = [size * dim.parts for size, dim in zip(block.shape, sharding.dims, strict=True)]
    if block.with_shape(tuple(shape)) != type or sharding.local_shape(type.shape) != block.shape:
        raise Refused(f"blocks {block} make no result {type}")
