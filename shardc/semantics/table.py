"""The table: what every operation without control flow or communication computes.

`SEMANTICS[name](op, arrays, *bodies)` gives the list of results. `bodies` are the operation's regions as
functions of whole arrays; they are not needed where `op.combiner` names what the region does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from shardc.graph.program import Op
from shardc.semantics import ops
from shardc.semantics.arrays import Array, Body
from shardc.semantics.lapack import lapack
from shardc.semantics.reduction import UFUNCS


class Meaning(Protocol):
    """What an operation computes."""

    def __call__(self, op: Op, arrays: Sequence[Array], *bodies: Body) -> list[Array]: ...


def _elementwise(function: Callable[..., Array], *keys: str) -> Meaning:
    """A function of the operands and the attributes `keys`; its result is cast, not reshaped."""

    def meaning(op: Op, arrays: Sequence[Array], *bodies: Body) -> list[Array]:
        attrs: dict[str, Any] = {key: op.attrs[key] for key in keys if key in op.attrs}
        return [np.asarray(function(*arrays, **attrs), op.results[0].numpy)]

    return meaning


def _many(function: Callable[..., list[Array]], *keys: str) -> Meaning:
    def meaning(op: Op, arrays: Sequence[Array], *bodies: Body) -> list[Array]:
        attrs: dict[str, Any] = {key: op.attrs[key] for key in keys if key in op.attrs}
        return function(*arrays, **attrs)

    return meaning


def _typed(function: Callable[..., Array], *keys: str, shape: bool = False, dtype: bool = False) -> Meaning:
    """The same for functions that are told the shape or dtype of their result."""

    def meaning(op: Op, arrays: Sequence[Array], *bodies: Body) -> list[Array]:
        attrs: dict[str, Any] = {key: op.attrs[key] for key in keys if key in op.attrs}
        if shape:
            attrs["shape"] = op.results[0].shape
        if dtype:
            attrs["dtype"] = op.results[0].numpy
        return [function(*arrays, **attrs)]

    return meaning


def _identity(op: Op, arrays: Sequence[Array], *bodies: Body) -> list[Array]:
    return list(arrays)


def _reduce(op: Op, arrays: Sequence[Array], *bodies: Body) -> list[Array]:
    count = len(arrays) // 2
    dimensions: Any = op.attrs["dimensions"]
    if op.combiner in UFUNCS:
        return [ops.reduce(arrays[0], arrays[1], dimensions=dimensions, kind=op.combiner)]
    return ops.reduce_with(arrays[:count], arrays[count:], bodies[0], dimensions=dimensions)


_WINDOW = ("window_dimensions", "window_strides", "base_dilations", "window_dilations", "padding")


def _reduce_window(op: Op, arrays: Sequence[Array], *bodies: Body) -> list[Array]:
    count = len(arrays) // 2
    geometry: dict[str, Any] = {key: op.attrs[key] for key in _WINDOW if key in op.attrs}
    if op.combiner in UFUNCS:
        return [ops.reduce_window(arrays[0], arrays[1], kind=op.combiner, **geometry)]
    return ops.reduce_window_with(arrays[:count], arrays[count:], bodies[0], **geometry)


def _select_and_scatter(op: Op, arrays: Sequence[Array], *bodies: Body) -> list[Array]:
    geometry: dict[str, Any] = {key: op.attrs[key] for key in _WINDOW if key in op.attrs}
    operand, source, init = arrays
    select, scatter = bodies
    return [ops.select_and_scatter(operand, source, init, select, scatter, **geometry)]


def _scatter(op: Op, arrays: Sequence[Array], *bodies: Body) -> list[Array]:
    count = len(arrays) // 2
    dims: Any = op.attrs["scatter_dimension_numbers"]
    operands, indices, updates = arrays[:count], arrays[count], arrays[count + 1 :]
    body = bodies[0] if bodies else None
    kind = op.combiner if op.combiner == "set" or op.combiner in UFUNCS else None
    return ops.scatter(operands, indices, updates, body, scatter_dimension_numbers=dims, kind=kind)


def _sort(op: Op, arrays: Sequence[Array], *bodies: Body) -> list[Array]:
    dimension: Any = op.attrs.get("dimension", arrays[0].ndim - 1)
    return ops.sort(*arrays, dimension=dimension, less_than=bodies[0] if bodies else None)


def _map(op: Op, arrays: Sequence[Array], *bodies: Body) -> list[Array]:
    return [np.broadcast_to(bodies[0](*arrays)[0], op.results[0].shape)]


def _complex(real: Array, imaginary: Array) -> Array:
    return real + 1j * imaginary


def _rng_bit_generator(op: Op, arrays: Sequence[Array], *bodies: Body) -> list[Array]:
    algorithm, bits = str(op.attrs["rng_algorithm"]), op.results[1]
    return ops.rng_bit_generator(arrays[0], rng_algorithm=algorithm, shape=bits.shape, dtype=bits.numpy)


def _custom_call(op: Op, arrays: Sequence[Array], *bodies: Body) -> list[Array]:
    options: Any = op.attrs.get("mhlo.backend_config") or ()
    return lapack(str(op.attrs["call_target_name"]), *arrays, **dict(options))


def _nothing(op: Op, arrays: Sequence[Array], *bodies: Body) -> list[Array]:
    return []


_NUMPY: dict[str, Callable[..., Array]] = {
    "stablehlo.add": np.add,
    "stablehlo.subtract": np.subtract,
    "stablehlo.multiply": np.multiply,
    "stablehlo.maximum": np.maximum,
    "stablehlo.minimum": np.minimum,
    "stablehlo.and": np.bitwise_and,
    "stablehlo.or": np.bitwise_or,
    "stablehlo.xor": np.bitwise_xor,
    "stablehlo.not": np.invert,
    "stablehlo.negate": np.negative,
    "stablehlo.exponential": np.exp,
    "stablehlo.log": np.log,
    "stablehlo.sine": np.sin,
    "stablehlo.cosine": np.cos,
    "stablehlo.tan": np.tan,
    "stablehlo.tanh": np.tanh,
    "stablehlo.sqrt": np.sqrt,
    "stablehlo.cbrt": np.cbrt,
    "stablehlo.ceil": np.ceil,
    "stablehlo.floor": np.floor,
    "stablehlo.round_nearest_even": np.rint,
    "stablehlo.is_finite": np.isfinite,
    "stablehlo.real": np.real,
    "stablehlo.imag": np.imag,
    "stablehlo.complex": _complex,
    "chlo.acos": np.arccos,
    "chlo.acosh": np.arccosh,
    "chlo.asin": np.arcsin,
    "chlo.asinh": np.arcsinh,
    "chlo.atan": np.arctan,
    "chlo.atanh": np.arctanh,
    "chlo.conj": np.conj,
    "chlo.cosh": np.cosh,
    "chlo.sinh": np.sinh,
    "chlo.tan": np.tan,
    "chlo.next_after": np.nextafter,
}

SEMANTICS: dict[str, Meaning] = {
    **{name: _elementwise(function) for name, function in _NUMPY.items()},
    "stablehlo.abs": _elementwise(ops.absolute),
    "stablehlo.atan2": _elementwise(ops.atan2),
    "stablehlo.clamp": _elementwise(ops.clamp),
    "stablehlo.compare": _elementwise(ops.compare, "comparison_direction", "compare_type"),
    "stablehlo.convert": _typed(ops.convert, dtype=True),
    "stablehlo.count_leading_zeros": _elementwise(ops.count_leading_zeros),
    "stablehlo.divide": _elementwise(ops.divide),
    "stablehlo.exponential_minus_one": _elementwise(ops.exponential_minus_one),
    "stablehlo.log_plus_one": _elementwise(ops.log_plus_one),
    "stablehlo.logistic": _elementwise(ops.logistic),
    "stablehlo.popcnt": _elementwise(ops.popcnt),
    "stablehlo.power": _elementwise(ops.power),
    "stablehlo.reduce_precision": _elementwise(ops.reduce_precision, "exponent_bits", "mantissa_bits"),
    "stablehlo.remainder": _elementwise(ops.remainder),
    "stablehlo.round_nearest_afz": _elementwise(ops.round_nearest_afz),
    "stablehlo.rsqrt": _elementwise(ops.rsqrt),
    "stablehlo.select": _elementwise(ops.select),
    "stablehlo.shift_left": _elementwise(ops.shift_left),
    "stablehlo.shift_right_arithmetic": _elementwise(ops.shift_right_arithmetic),
    "stablehlo.shift_right_logical": _elementwise(ops.shift_right_logical),
    "stablehlo.sign": _elementwise(ops.sign),
    "chlo.bessel_i1e": _elementwise(ops.bessel_i1e),
    "chlo.digamma": _elementwise(ops.digamma),
    "chlo.erf": _elementwise(ops.erf),
    "chlo.erf_inv": _elementwise(ops.erf_inv),
    "chlo.erfc": _elementwise(ops.erfc),
    "chlo.is_inf": _elementwise(ops.is_inf),
    "chlo.is_neg_inf": _elementwise(ops.is_neg_inf),
    "chlo.is_pos_inf": _elementwise(ops.is_pos_inf),
    "chlo.lgamma": _elementwise(ops.lgamma),
    "chlo.polygamma": _elementwise(ops.polygamma),
    "chlo.square": _elementwise(ops.square),
    "chlo.zeta": _elementwise(ops.zeta),
    "stablehlo.constant": _typed(ops.constant, "value"),
    "sdy.constant": _typed(ops.constant, "value"),
    "stablehlo.iota": _typed(ops.iota, "iota_dimension", shape=True, dtype=True),
    "stablehlo.broadcast_in_dim": _typed(ops.broadcast_in_dim, "broadcast_dimensions", shape=True),
    "stablehlo.reshape": _typed(ops.reshape, shape=True),
    "stablehlo.bitcast_convert": _typed(ops.bitcast_convert, shape=True, dtype=True),
    "stablehlo.transpose": _typed(ops.transpose, "permutation"),
    "stablehlo.reverse": _typed(ops.reverse, "dimensions"),
    "stablehlo.concatenate": _typed(ops.concatenate, "dimension"),
    "shardc.join": _typed(ops.join, "dimension", "start_indices", "limit_indices"),
    "stablehlo.slice": _typed(ops.slice_, "start_indices", "limit_indices", "strides"),
    "stablehlo.pad": _typed(ops.pad, "edge_padding_low", "edge_padding_high", "interior_padding"),
    "stablehlo.get_dimension_size": _typed(ops.get_dimension_size, "dimension"),
    "stablehlo.dot_general": _typed(ops.dot_general, "dot_dimension_numbers", dtype=True),
    "stablehlo.convolution": _typed(
        ops.convolution,
        "dimension_numbers",
        "window_strides",
        "padding",
        "lhs_dilation",
        "rhs_dilation",
        "window_reversal",
        "feature_group_count",
        "batch_group_count",
        dtype=True,
    ),
    "stablehlo.cholesky": _typed(ops.cholesky, "lower"),
    "stablehlo.triangular_solve": _typed(
        ops.triangular_solve, "left_side", "lower", "unit_diagonal", "transpose_a"
    ),
    "stablehlo.fft": _typed(ops.fft, "fft_type", "fft_length"),
    "stablehlo.batch_norm_inference": _typed(ops.batch_norm_inference, "epsilon", "feature_index"),
    "stablehlo.batch_norm_training": _many(ops.batch_norm_training, "epsilon", "feature_index"),
    "stablehlo.batch_norm_grad": _many(ops.batch_norm_grad, "epsilon", "feature_index"),
    "stablehlo.dynamic_slice": _typed(ops.dynamic_slice, "slice_sizes"),
    "stablehlo.dynamic_update_slice": _typed(ops.dynamic_update_slice),
    "stablehlo.gather": _typed(ops.gather, "dimension_numbers", "slice_sizes"),
    "stablehlo.scatter": _scatter,
    "stablehlo.reduce": _reduce,
    "stablehlo.reduce_window": _reduce_window,
    "stablehlo.select_and_scatter": _select_and_scatter,
    "stablehlo.sort": _sort,
    "stablehlo.map": _map,
    "stablehlo.rng_bit_generator": _rng_bit_generator,
    "chlo.top_k": _many(ops.top_k, "k"),
    "stablehlo.custom_call": _custom_call,
    "stablehlo.optimization_barrier": _identity,
    "sdy.sharding_constraint": _identity,
    "sdy.reshard": _identity,
    "sdy.propagation_barrier": _identity,
    "sdy.sharding_group": _nothing,
    "sdy.all_gather": _identity,
    "sdy.all_slice": _identity,
    "sdy.all_to_all": _identity,
    "sdy.collective_permute": _identity,
    "sdy.all_reduce": _identity,
    "sdy.reduce_scatter": _identity,
    "sdy.sharded_to_unreduced": _identity,
    "sdy.replicated_to_unreduced": _identity,
    "spmd.as_partial": _identity,
    "spmd.vary": _identity,
}
