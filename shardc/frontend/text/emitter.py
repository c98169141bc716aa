"""The builder as built-in functions see it: Tensors in and out, constants, casts, broadcasts, errors.

Shapes follow NumPy's broadcasting, dtypes promotion.py. Constants stay splats of the shape they are used in,
so nothing is ever allocated, whatever the sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import isinf, isnan
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from shardc.frontend.text.builder import SourceBuilder
from shardc.frontend.text.derivative_rules import DerivativeRules
from shardc.frontend.text.device_code import DeviceCode
from shardc.frontend.text.placing import Placing
from shardc.frontend.text.promotion import NoPromotion, promote
from shardc.frontend.text.values import Number, Operand, Tensor, shape_text
from shardc.graph.attrs import Dense
from shardc.graph.types import FOUR_BITS, TensorType, is_complex, is_float, is_inexact, is_integer
from shardc.layout import Mesh
from shardc.ops import ShapeError, hlo
from shardc.passes.inline_calls import MOST
from shardc.semantics.arrays import integer_ends

MAX_ELEMENTS = 2**48
"""The largest tensor, in elements: 1 PiB of f32. What is larger is taken for a slip."""

BuildBody = Callable[..., Sequence[Tensor]]

NewRegion = tuple[Sequence[TensorType], BuildBody]
"""The types of a region's arguments, and what builds its body from them."""


class Emitter(Placing):
    """Emits operations at the current place of the source."""

    def __init__(self, builder: SourceBuilder, file: str) -> None:
        super().__init__(builder, file)
        self.devices = DeviceCode(builder)
        self.meshes: Mapping[str, Mesh] = {}
        self.rules = DerivativeRules()
        self.helpers: dict[tuple[str, *tuple[TensorType, ...]], str] = {}
        self.reserved: frozenset[str] = frozenset()
        """Names that functions of the module cannot have: those that the program gives."""

    # ---- operations

    def ops(
        self,
        name: str,
        *operands: Tensor,
        results: Sequence[TensorType] | None = None,
        regions: Sequence[NewRegion] = (),
        weak: bool | None = None,
        **attrs: object,
    ) -> list[Tensor]:
        """Build an operation. Its results are weak if all operands are, or as `weak` says; no bool is."""
        for type in results or ():
            self.check_size(type)
        if self.builder.operations > MOST:
            hint = "a loop over stacked layers stays a loop"
            raise self.error(f"a function has more than {MOST} operations", hint)
        bodies = [(types, self._body(types, body, operands)) for types, body in regions]
        if weak is None:
            weak = bool(operands) and all(operand.weak for operand in operands)
        try:
            values = self.builder.op(
                name, *(operand.value for operand in operands), results=results, regions=bodies, **attrs
            )
        except ShapeError as error:
            raise self.error(str(error)) from None
        types = map(self.builder.type_of, values)
        tensors = [Tensor(v, t, weak and t.dtype != "bool") for v, t in zip(values, types, strict=True)]
        for tensor in tensors:
            self.check_size(tensor.type)
        return tensors

    def op(
        self,
        name: str,
        *operands: Tensor,
        result: TensorType | None = None,
        weak: bool | None = None,
        **attrs: object,
    ) -> Tensor:
        """Build an operation with one result and no regions."""
        results = None if result is None else [result]
        (tensor,) = self.ops(name, *operands, results=results, regions=(), weak=weak, **attrs)
        return tensor

    def _body(
        self, types: Sequence[TensorType], body: BuildBody, operands: Sequence[Tensor] = ()
    ) -> Callable[..., list[SSAValue]]:
        def build(_: SourceBuilder, *args: SSAValue) -> list[SSAValue]:
            tensors = [Tensor(arg, type) for arg, type in zip(args, types, strict=True)]
            given = [operand.value for operand in operands] if len(operands) == len(args) else None
            with self.devices.region(args, given):
                results = [tensor.value for tensor in body(*tensors)]
                self.devices.check_turn(self.loc, results)
            return results

        return build

    def helper(self, name: str, types: Sequence[TensorType], build: Callable[..., Sequence[Tensor]]) -> str:
        """The symbol of a function of the module that the language brings, built once for these types."""
        made = (name, *types)
        if made not in self.helpers:
            symbol = (
                name if not any(known[0] == name for known in self.helpers) else f"{name}_{len(self.helpers)}"
            )
            while symbol in self.reserved:
                symbol += "_"
            self.helpers[made] = symbol
            with self.apart(), self.builder.func(symbol, types, public=False) as args:
                tensors = [Tensor(arg, type) for arg, type in zip(args, types, strict=True)]
                self.builder.ret([tensor.value for tensor in build(*tensors)])
        return self.helpers[made]

    def trial(self, types: Sequence[TensorType], body: BuildBody) -> None:
        """Build a body with arguments of these types for what its values are, and forget it."""
        groups = self.builder.groups
        self.builder.trial(types, self._body(types, body))
        self.builder.groups = groups

    def check_size(self, type: TensorType) -> None:
        """An error for a tensor too large to be meant."""
        if type.size > MAX_ELEMENTS:
            raise self.error(f"{type} has more than 2^48 elements")

    # ---- constants and casts

    def splat(self, value: Number, type: TensorType, weak: bool = False) -> Tensor:
        """A constant of one repeated value; an error if the dtype cannot hold it."""
        self.check_size(type)
        data = np.array(self._fit(value, type.dtype), dtype=type.numpy)
        return self.op(hlo.constant.name, value=Dense(data, type.shape), result=type, weak=weak)

    def constant(self, values: Sequence[Number], type: TensorType) -> Tensor:
        """A constant from its elements in row-major order; an error if the dtype cannot hold one."""
        data = np.array([self._fit(value, type.dtype) for value in values], dtype=type.numpy)
        dense = Dense(data.reshape(type.shape), type.shape)
        return self.op(hlo.constant.name, value=dense, result=type, weak=False)

    def _fit(self, value: Number, dtype: str) -> Any:
        """A number in a dtype, of NumPy's type where that rounds; an error if it cannot hold it."""
        if is_complex(dtype):
            return self._rounded(complex(value), dtype)
        if isinstance(value, complex):
            raise self.error(f"{value} is no value of {dtype}")
        if is_integer(dtype):
            if isinstance(value, float) and (isnan(value) or isinf(value)):
                raise self.error(f"{value} is no value of {dtype}")
            least, most = integer_ends(TensorType((), dtype).numpy)
            if not least <= value <= most:
                raise self.error(f"{value} does not fit into {dtype}")
            return int(value)
        if is_float(dtype):
            if isinstance(value, int) and abs(value) > 2**1023:
                raise self.error(f"this number does not fit into {dtype}")
            return self._rounded(float(value), dtype)
        return bool(value)

    def _rounded(self, value: complex, dtype: str) -> Any:
        with np.errstate(over="ignore"):
            rounded = np.array(value, dtype=TensorType((), dtype).numpy)
        if _special(rounded.astype(np.complex128)) != _special(value):
            raise self.error(f"{value} does not fit into {dtype}")
        return rounded

    def tensor(self, operand: Operand, dtype: str | None = None) -> Tensor:
        """A tensor as it is; a Python number as a weak scalar, or as one of `dtype`."""
        if isinstance(operand, Tensor):
            return operand if dtype is None else self.cast(operand, dtype)
        own, weak = dtype_of(operand)
        return self.splat(operand, TensorType((), dtype or own), weak and dtype is None)

    def cast(self, tensor: Tensor, dtype: str, weak: bool = False) -> Tensor:
        """The tensor in another dtype; nothing is emitted if it has it."""
        if tensor.dtype == dtype:
            return Tensor(tensor.value, tensor.type, weak, tensor.sharding)
        if is_complex(tensor.dtype) and not is_complex(dtype):
            raise self.error(f"{tensor.type} is complex, and {dtype} is not", "real(x) is its real part")
        return self.op(hlo.convert.name, tensor, result=tensor.type.with_dtype(dtype), weak=weak)

    def inexact(self, operand: Operand) -> Tensor:
        """As a float or a complex number: integers and bools become f32."""
        dtype, weak = dtype_of(operand)
        if is_inexact(dtype):
            return self.tensor(operand)
        if isinstance(operand, Tensor):
            return self.cast(operand, "f32", weak)
        return self.splat(operand, TensorType((), "f32"), weak)

    # ---- shapes

    def reshape(self, tensor: Tensor, shape: tuple[int, ...]) -> Tensor:
        """Another shape with as many elements; nothing is emitted if it has it."""
        if tensor.shape == shape:
            return tensor
        return self.op(hlo.reshape.name, tensor, result=tensor.type.with_shape(shape))

    def broadcast_in_dim(self, tensor: Tensor, shape: tuple[int, ...], dims: Sequence[int]) -> Tensor:
        """Dimension i of the tensor becomes dimension dims[i] of the result."""
        return self.op(
            hlo.broadcast_in_dim.name,
            tensor,
            result=tensor.type.with_shape(shape),
            broadcast_dimensions=tuple(dims),
        )

    def broadcast_to(self, tensor: Tensor, shape: tuple[int, ...]) -> Tensor:
        """NumPy's broadcast_to; an error where a size is neither 1 nor the new one."""
        if tensor.shape == shape:
            return tensor
        offset = len(shape) - tensor.rank
        if offset < 0 or any(
            size not in (1, new) for size, new in zip(tensor.shape, shape[offset:], strict=True)
        ):
            raise self.error(f"shape {shape_text(tensor.shape)} does not broadcast to {shape_text(shape)}")
        return self.broadcast_in_dim(tensor, shape, range(offset, len(shape)))

    def broadcast_shape(self, *shapes: tuple[int, ...]) -> tuple[int, ...]:
        """The common shape by NumPy's rule: aligned at the end, 1 stretches."""
        rank = max(map(len, shapes))
        padded = [(1,) * (rank - len(shape)) + shape for shape in shapes]
        result: list[int] = []
        for sizes in zip(*padded, strict=True):
            distinct = {size for size in sizes if size != 1}
            if len(distinct) > 1:
                texts = " and ".join(shape_text(shape) for shape in shapes if shape)
                raise self.error(f"shapes {texts} do not broadcast together")
            result.append(distinct.pop() if distinct else 1)
        return tuple(result)

    def common(self, *operands: Operand) -> tuple[str, bool]:
        """The dtype that operands are computed in, and whether it is weak; an error if there is none."""
        try:
            return promote(tuple(map(dtype_of, operands)))
        except NoPromotion as error:
            few = any(dtype_of(operand)[0] in FOUR_BITS for operand in operands)
            kinds, wider = ("integers of 4 bits", "i8") if few else ("floats of 8 bits", "f32")
            hint = f"{kinds} are converted only where the program says so: astype(x, {wider})"
            raise self.error(str(error), hint) from None

    def together(self, *operands: Operand, dtype: str | None = None) -> list[Tensor]:
        """All operands in their common dtype (or `dtype`) and shape. Numbers become splats of that shape."""
        common, weak = self.common(*operands)
        if dtype is not None:
            common, weak = dtype, False
        shape = self.broadcast_shape(
            *(operand.shape if isinstance(operand, Tensor) else () for operand in operands)
        )
        tensors: list[Tensor] = []
        for operand in operands:
            if isinstance(operand, Tensor):
                tensors.append(self.broadcast_to(self.cast(operand, common, operand.weak and weak), shape))
            else:
                tensors.append(self.splat(operand, TensorType(shape, common), weak))
        return tensors


def _special(value: Any) -> tuple[bool, bool]:
    """Whether a number is infinite, and whether it is none."""
    return bool(np.isinf(value)), bool(np.isnan(value))


def dtype_of(operand: Operand) -> tuple[str, bool]:
    """(dtype, weak) of an operand; Python numbers are weak i32, f32 and c64."""
    if isinstance(operand, Tensor):
        return operand.dtype, operand.weak
    if isinstance(operand, bool):
        return "bool", False
    if isinstance(operand, complex):
        return "c64", True
    return ("i32", True) if isinstance(operand, int) else ("f32", True)
