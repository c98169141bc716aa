"""One example of every operation that has a rule, for the page that lists them (rules/listing.py)."""

from __future__ import annotations

from typing import Any

from shardc.graph import ConvDims, DotDims, GatherDims, Op, ScatterDims, TensorType


def _f(*shape: int, dtype: str = "f32") -> TensorType:
    return TensorType(shape, dtype)


def _op(
    name: str, operands: list[TensorType], *results: TensorType, combiner: str | None = None, **attrs: object
) -> Op:
    return Op(name, tuple(operands), results, attrs, combiner)


_X, _I = _f(8, 4), _f(8, 4, dtype="i32")
_BINARY = (
    "stablehlo.add stablehlo.atan2 stablehlo.divide stablehlo.maximum stablehlo.minimum stablehlo.multiply "
    "stablehlo.power stablehlo.remainder stablehlo.subtract stablehlo.map chlo.next_after chlo.polygamma "
    "chlo.zeta"
).split()
_INTEGER = (
    "stablehlo.and stablehlo.or stablehlo.xor stablehlo.shift_left stablehlo.shift_right_arithmetic "
    "stablehlo.shift_right_logical chlo.mulhi"
).split()
_WINDOW: dict[str, Any] = {"window_dimensions": (1, 2), "window_strides": (1, 2)}
_TABLE_ROWS = GatherDims(
    offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0,), index_vector_dim=1
)
_SET_ROWS = ScatterDims(
    update_window_dims=(1,), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,), index_vector_dim=1
)
_IMAGES = ConvDims(0, 3, (1, 2), 2, 3, (0, 1), 0, 3, (1, 2))
_SCALAR = _f()
_PLACE = _f(dtype="i32")

SPECIAL: tuple[Op, ...] = (
    _op("chlo.top_k", [_X], _f(8, 2), _f(8, 2, dtype="i32"), k=2),
    _op("sdy.reshard", [_X], _X),
    _op("sdy.sharding_constraint", [_X], _X),
    _op("shardc.join", [_X, _X], _f(5, 4), dimension=0, start_indices=(7, 0), limit_indices=(8, 4)),
    _op("spmd.all_gather", [_X], _f(8, 16), dim=1),
    _op("spmd.all_reduce", [_X], _X, kind="sum"),
    _op("spmd.all_slice", [_X], _f(2, 4), dim=0),
    _op("spmd.all_to_all", [_X], _f(2, 16), split_dim=0, concat_dim=1),
    _op("spmd.as_partial", [_X], _X, kind="sum"),
    _op("spmd.axis_index", [], _PLACE),
    _op("spmd.reduce_scatter", [_X], _f(2, 4), dim=0, kind="sum"),
    _op("spmd.to_partial", [_X], _X, kind="sum"),
    _op("stablehlo.all_gather", [_X], _f(8, 16), all_gather_dim=1),
    _op("stablehlo.all_to_all", [_X], _f(2, 16), split_dimension=0, concat_dimension=1),
    _op("stablehlo.batch_norm_inference", [_X, *[_f(4)] * 4], _X, feature_index=1),
    _op("stablehlo.bitcast_convert", [_X], _I),
    _op("stablehlo.broadcast_in_dim", [_f(4)], _X, broadcast_dimensions=(1,)),
    _op("stablehlo.cholesky", [_f(8, 4, 4)], _f(8, 4, 4), lower=True),
    _op("stablehlo.clamp", [_SCALAR, _X, _SCALAR], _X),
    _op("stablehlo.compare", [_X, _X], _f(8, 4, dtype="bool"), comparison_direction="LT"),
    _op("stablehlo.complex", [_X, _X], _f(8, 4, dtype="c64")),
    _op("stablehlo.concatenate", [_X, _f(6, 4)], _f(14, 4), dimension=0),
    _op("stablehlo.convert", [_f(8, 4, dtype="bf16")], _X),
    _op(
        "stablehlo.convolution",
        [_f(8, 16, 16, 4), _f(3, 3, 4, 6)],
        _f(8, 16, 16, 6),
        dimension_numbers=_IMAGES,
        padding=((1, 1), (1, 1)),
        feature_group_count=1,
        batch_group_count=1,
    ),
    _op("stablehlo.custom_call", [_f(8, 4, 4)], _f(8, 4, 4), call_target_name="lapack_spotrf_ffi"),
    _op("stablehlo.dot", [_X, _f(4, 6)], _f(8, 6)),
    _op(
        "stablehlo.dot_general",
        [_f(2, 8, 4), _f(2, 4, 6)],
        _f(2, 8, 6),
        dot_dimension_numbers=DotDims((0,), (0,), (2,), (1,)),
    ),
    _op("stablehlo.dynamic_slice", [_X, _PLACE, _PLACE], _f(2, 4), slice_sizes=(2, 4)),
    _op("stablehlo.dynamic_update_slice", [_X, _f(2, 4), _PLACE, _PLACE], _X),
    _op("stablehlo.fft", [_f(8, 16, dtype="c64")], _f(8, 16, dtype="c64"), fft_type="FFT", fft_length=(16,)),
    _op(
        "stablehlo.gather",
        [_X, _f(6, 1, dtype="i32")],
        _f(6, 4),
        dimension_numbers=_TABLE_ROWS,
        slice_sizes=(1, 4),
    ),
    _op("stablehlo.imag", [_f(8, 4, dtype="c64")], _X),
    _op("stablehlo.is_finite", [_X], _f(8, 4, dtype="bool")),
    _op(
        "stablehlo.pad",
        [_X, _SCALAR],
        _f(9, 4),
        edge_padding_low=(1, 0),
        edge_padding_high=(0, 0),
        interior_padding=(0, 0),
    ),
    _op("stablehlo.real", [_f(8, 4, dtype="c64")], _X),
    _op("stablehlo.reduce", [_X, _SCALAR], _f(8), combiner="sum", dimensions=(1,)),
    _op("stablehlo.reduce_scatter", [_X], _f(2, 4), scatter_dimension=0),
    _op("stablehlo.reduce_window", [_X, _SCALAR], _f(8, 2), combiner="sum", **_WINDOW),
    _op("stablehlo.reshape", [_f(8, 4)], _f(2, 4, 4)),
    _op("stablehlo.reverse", [_X], _X, dimensions=(1,)),
    _op("stablehlo.rng_bit_generator", [_f(2, dtype="u32")], _f(2, dtype="u32"), _f(8, 4, dtype="u32")),
    _op(
        "stablehlo.scatter",
        [_X, _f(6, 1, dtype="i32"), _f(6, 4)],
        _X,
        combiner="sum",
        scatter_dimension_numbers=_SET_ROWS,
    ),
    _op("stablehlo.select", [_f(8, 4, dtype="bool"), _X, _X], _X),
    _op("stablehlo.select_and_scatter", [_X, _f(8, 2), _SCALAR], _X, **_WINDOW),
    _op("stablehlo.slice", [_X], _f(8, 2), start_indices=(0, 1), limit_indices=(8, 3), strides=(1, 1)),
    _op("stablehlo.sort", [_X], _X, dimension=1),
    _op("stablehlo.transpose", [_X], _f(4, 8), permutation=(1, 0)),
    _op("stablehlo.triangular_solve", [_f(2, 4, 4), _f(2, 4, 8)], _f(2, 4, 8), left_side=True, lower=True),
)

EXAMPLES: dict[str, Op] = {
    **{name: _op(name, [_X, _X], _X) for name in _BINARY},
    **{name: _op(name, [_I, _I], _I) for name in _INTEGER},
    **{op.name: op for op in SPECIAL},
}


def example(name: str) -> Op:
    """An example of an operation; for those not listed here, a function of one tensor."""
    return EXAMPLES.get(name) or _op(name, [_X], _X)
