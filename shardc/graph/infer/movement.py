"""Operations that make or rearrange data: constants, reshape, transpose, slice, pad, concatenate, …"""

from __future__ import annotations

from math import prod

from shardc.graph.attrs import Dense
from shardc.graph.infer.call import Call, Rule, Types
from shardc.graph.infer.elementwise import check_class
from shardc.graph.types import DTYPES, TensorType, is_complex


def _constant(call: Call) -> Types:
    call.arity(0)
    value = call.get("value", Dense)
    names = [name for name, (_, numpy) in DTYPES.items() if numpy == value.data.dtype]
    if not names:
        return (call.stated(),)
    return (TensorType(value.shape, names[0]),)


def _iota(call: Call) -> Types:
    call.arity(0)
    result = call.stated()
    call.dimension("iota_dimension", result.rank)
    check_class(call, result, "iufc")
    return (result,)


def _reshape(call: Call) -> Types:
    operand, result = call.one(), call.stated()
    if operand.size != result.size or operand.dtype != result.dtype:
        raise call.error(f"keeps elements and dtype, got {operand} to {result}")
    return (result,)


def _bitcast_convert(call: Call) -> Types:
    operand, result = call.one(), call.stated()
    if operand.dtype not in DTYPES or result.dtype not in DTYPES:
        return (result,)
    wide, narrow = operand.numpy.itemsize, result.numpy.itemsize
    if wide == narrow:
        expected = operand.shape
    elif wide > narrow:
        expected = (*operand.shape, wide // narrow)
    elif operand.shape and operand.shape[-1] == narrow // wide:
        expected = operand.shape[:-1]
    else:
        raise call.error(
            f"needs a last dimension of {narrow // wide} to widen to {result.dtype}, got {operand}"
        )
    if result.shape != expected:
        raise call.error(f"gives {TensorType(expected, result.dtype)}, not {result}")
    return (result,)


def _broadcast_in_dim(call: Call) -> Types:
    operand, result = call.one(), call.stated()
    dims = call.dimensions("broadcast_dimensions", result.rank)
    call.check_length("broadcast_dimensions", dims, operand.rank)
    if operand.dtype != result.dtype:
        raise call.error(f"keeps the dtype, got {operand} to {result}")
    for index, dim in enumerate(dims):
        if operand.shape[index] not in (1, result.shape[dim]):
            raise call.error(
                f"cannot put dimension {index} of {operand}, of size {operand.shape[index]}, "
                f"in dimension {dim} of {result}, of size {result.shape[dim]}"
            )
    return (result,)


def _transpose(call: Call) -> Types:
    operand = call.one()
    permutation = call.dimensions("permutation", operand.rank)
    call.check_length("permutation", permutation, operand.rank)
    return (operand.with_shape(tuple(operand.shape[dim] for dim in permutation)),)


def _reverse(call: Call) -> Types:
    operand = call.one()
    call.dimensions("dimensions", operand.rank)
    return (operand,)


def _concatenate(call: Call) -> Types:
    if not call.operands:
        raise call.error("needs at least one operand")
    first = call.operands[0]
    dim = call.dimension("dimension", first.rank)
    for other in call.operands[1:]:
        if other.dtype != first.dtype or other.rank != first.rank:
            raise call.error(f"needs equal dtypes and ranks, got {first} and {other}")
        for index in range(first.rank):
            if index != dim and other.shape[index] != first.shape[index]:
                raise call.error(
                    f"along dimension {dim} needs dimension {index} equal, got {first} and {other}"
                )
    size = sum(type.shape[dim] for type in call.operands)
    return (first.with_shape((*first.shape[:dim], size, *first.shape[dim + 1 :])),)


def _join(call: Call) -> Types:
    """Slices of the operands along a dimension, one after another."""
    starts, limits = call.integers("start_indices"), call.integers("limit_indices")
    first = call.operands[0] if call.operands else None
    if first is None or len(starts) != len(call.operands) or len(limits) != len(call.operands):
        raise call.error("needs operands, and a start and a limit for each")
    dim = call.dimension("dimension", first.rank)
    size = 0
    for start, limit, type in zip(starts, limits, call.operands, strict=True):
        rest = type.with_shape((*type.shape[:dim], first.shape[dim], *type.shape[dim + 1 :]))
        if rest != first or not 0 <= start <= limit <= type.shape[dim]:
            raise call.error(f"has {start}:{limit} of {type}, joined to {first} along dimension {dim}")
        size += limit - start
    return (first.with_shape((*first.shape[:dim], size, *first.shape[dim + 1 :])),)


def _slice(call: Call) -> Types:
    operand = call.one()
    starts, limits = call.integers("start_indices"), call.integers("limit_indices")
    strides = call.integers("strides", (1,) * operand.rank)
    for key, values in (("start_indices", starts), ("limit_indices", limits), ("strides", strides)):
        call.check_length(key, values, operand.rank)
    for dim, (start, limit, stride) in enumerate(zip(starts, limits, strides, strict=True)):
        if not 0 <= start <= limit <= operand.shape[dim]:
            raise call.error(f"has {start}:{limit} in dimension {dim} of {operand}")
        if stride < 1:
            raise call.error(f"has stride {stride} in dimension {dim}; strides are at least 1")
    shape = tuple(
        -(-(limit - start) // stride) for start, limit, stride in zip(starts, limits, strides, strict=True)
    )
    return (operand.with_shape(shape),)


def _pad(call: Call) -> Types:
    operand, value = call.arity(2)
    if value != operand.with_shape(()):
        raise call.error(f"needs a padding value {operand.with_shape(())}, got {value}")
    low, high = call.integers("edge_padding_low"), call.integers("edge_padding_high")
    interior = call.integers("interior_padding", (0,) * operand.rank)
    for key, values in (
        ("edge_padding_low", low),
        ("edge_padding_high", high),
        ("interior_padding", interior),
    ):
        call.check_length(key, values, operand.rank)
    shape: list[int] = []
    for dim, size in enumerate(operand.shape):
        if interior[dim] < 0:
            raise call.error(f"has interior_padding {interior[dim]} in dimension {dim}; it is at least 0")
        padded = low[dim] + size + max(size - 1, 0) * interior[dim] + high[dim]
        if padded < 0:
            raise call.error(f"leaves {padded} elements of dimension {dim} of {operand}")
        shape.append(padded)
    return (operand.with_shape(tuple(shape)),)


def _get_dimension_size(call: Call) -> Types:
    call.dimension("dimension", call.one().rank)
    return (TensorType((), "i32"),)


def _rng(call: Call) -> Types:
    low, high, shape = call.arity(3)
    if low != high or low.rank or shape.rank != 1:
        raise call.error(f"needs two scalars and a shape, got {low}, {high} and {shape}")
    result = call.stated()
    if result.dtype != low.dtype or result.rank != shape.shape[0]:
        raise call.error(f"of {low} with a shape of {shape.shape[0]} sizes cannot give {result}")
    return (result,)


def _rng_bit_generator(call: Call) -> Types:
    state = call.one()
    if call.given is None or len(call.given) != 2:
        raise call.error("cannot infer its result types: state both (results=)")
    return (state, call.given[1])


_COMPLEX = {"f32": "c64", "f64": "c128"}
_REAL = {"c64": "f32", "c128": "f64"}


def _fft(call: Call) -> Types:
    operand = call.one()
    kind, lengths = call.get("fft_type", str), call.integers("fft_length")
    if len(lengths) > operand.rank:
        raise call.error(f"has {len(lengths)} lengths for {operand}")
    kept, last = operand.shape[: operand.rank - len(lengths)], operand.shape[operand.rank - len(lengths) :]
    if kind in ("FFT", "IFFT"):
        expected, dtype, shape = lengths, operand.dtype if is_complex(operand.dtype) else None, lengths
    elif kind == "RFFT":
        expected, dtype, shape = lengths, _COMPLEX.get(operand.dtype), (*lengths[:-1], lengths[-1] // 2 + 1)
    elif kind == "IRFFT":
        expected, dtype, shape = (*lengths[:-1], lengths[-1] // 2 + 1), _REAL.get(operand.dtype), lengths
    else:
        raise call.error(f"has no type {kind}; it is FFT, IFFT, RFFT or IRFFT")
    if dtype is None or (prod(last) and last != expected):
        raise call.error(f"of type {kind} and length {list(lengths)} cannot take {operand}")
    return (TensorType((*kept, *shape), dtype),)


MOVEMENT: dict[str, Rule] = {
    "stablehlo.constant": _constant,
    "sdy.constant": _constant,
    "stablehlo.iota": _iota,
    "stablehlo.reshape": _reshape,
    "stablehlo.bitcast_convert": _bitcast_convert,
    "stablehlo.broadcast_in_dim": _broadcast_in_dim,
    "stablehlo.transpose": _transpose,
    "stablehlo.reverse": _reverse,
    "stablehlo.concatenate": _concatenate,
    "stablehlo.slice": _slice,
    "shardc.join": _join,
    "stablehlo.pad": _pad,
    "stablehlo.get_dimension_size": _get_dimension_size,
    "stablehlo.rng": _rng,
    "stablehlo.rng_bit_generator": _rng_bit_generator,
    "stablehlo.fft": _fft,
}
