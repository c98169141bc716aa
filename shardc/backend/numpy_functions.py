"""Operations as calls of shardc.semantics.ops: operands first, attributes as keywords."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import cast

from shardc.backend.body import Body
from shardc.backend.context import Printed, Printer
from shardc.backend.expressions import Expr, call, integers, list_of, raw, tuple_of
from shardc.backend.names import quoted
from shardc.backend.ops_elementwise import strict
from shardc.backend.regions import scalar_function
from shardc.backend.terms import Several
from shardc.graph import Node, combiner

_KINDS = {"sum", "max", "min", "prod", "and", "or", "xor", "bitand", "bitor"}
_WINDOW = ("window_dimensions", "window_strides", "base_dilations", "window_dilations", "padding")


def attribute_text(value: object) -> Expr:
    """An attribute as Python: numbers, texts, tuples of them, and the records of shardc.graph."""
    if is_dataclass(value):
        given = {f.name: getattr(value, f.name) for f in fields(value)}
        return call(type(value).__name__, **{k: attribute_text(v) for k, v in given.items() if v != ()})
    if isinstance(value, tuple):
        items = cast("tuple[object, ...]", value)
        numbers = [item for item in items if type(item) is int]
        if len(numbers) == len(items):
            return integers(numbers)
        return tuple_of([attribute_text(item) for item in items])
    return raw(quoted(value)) if isinstance(value, str) else raw(repr(value))


def keywords(node: Node, *keys: str) -> dict[str, Expr]:
    """Those of the attributes that are there."""
    return {key: attribute_text(node.attrs[key]) for key in keys if node.attrs.get(key) is not None}


def dtype_text(body: Body, node: Node) -> Expr:
    """np.dtype(np.int32)"""
    return call("np.dtype", body.target.dtype(body.type(node.results[0]).dtype))


def plain(name: str, *keys: str, shape: bool = False, dtype: bool = False) -> Printer:
    """ops.name(*operands, keys…), told the shape or dtype of its result if it must be."""

    def printer(body: Body, node: Node) -> Printed:
        given = keywords(node, *keys)
        if shape:
            given["shape"] = integers(body.type(node.results[0]).shape)
        if dtype:
            given["dtype"] = dtype_text(body, node)
        expr = call(f"ops.{name}", *(body.expr(value) for value in node.operands), **given)
        return expr if len(node.results) == 1 else Several(expr)

    return printer


def many(name: str, *keys: str) -> Printer:
    """The same for functions that give a list."""

    def printer(body: Body, node: Node) -> Printed:
        arrays = (body.expr(value) for value in node.operands)
        return Several(call(f"ops.{name}", *arrays, **keywords(node, *keys)))

    return printer


def _kind(body: Body, node: Node) -> str | None:
    kind = combiner(node.regions[0], body.graph)
    return kind if kind in _KINDS else None


def _by_region(name: str, *keys: str) -> Printer:
    """A reduction by a named combination, or by a function of (accumulated…, elements…) that gives a list."""

    def printer(body: Body, node: Node) -> Printed:
        given = keywords(node, *keys)
        kind = _kind(body, node)
        arrays = [body.expr(value) for value in node.operands]
        if kind is not None:
            return call(f"ops.{name}", *arrays, kind=f'"{kind}"', **given)
        count = len(node.results)
        combine = scalar_function(body, node, 0, "combine", ("a", "b"), as_list=True)
        values, starts = list_of(arrays[:count]), list_of(arrays[count:])
        return Several(call(f"ops.{name}_with", values, starts, combine, **given))

    return printer


def scatter(body: Body, node: Node) -> Printed:
    count = len(node.results)
    given = keywords(node, "scatter_dimension_numbers")
    kind = combiner(node.regions[0], body.graph)
    arrays = [body.expr(value) for value in node.operands]
    operands, updates = list_of(arrays[:count]), list_of(arrays[count + 1 :])
    if count == 1 and (kind == "set" or kind in _KINDS):
        return Several(call("ops.scatter", operands, arrays[1], updates, kind=f'"{kind}"', **given))
    combine = scalar_function(body, node, 0, "combine", ("a", "b"), as_list=True)
    return Several(call("ops.scatter", operands, arrays[count], updates, combine, **given))


def select_and_scatter(body: Body, node: Node) -> Printed:
    arrays = [body.expr(value) for value in node.operands]
    functions = [
        scalar_function(body, node, number, wish, ("a", "b"), as_list=True)
        for number, wish in enumerate(("choose", "combine"))
    ]
    geometry = keywords(node, "window_dimensions", "window_strides", "padding")
    return call("ops.select_and_scatter", *arrays, *functions, **geometry)


def sort(body: Body, node: Node) -> Printed:
    arrays = [body.expr(value) for value in node.operands]
    dimension = str(node.attrs.get("dimension", body.type(node.operands[0]).rank - 1))
    pairs = [f"x{i}" for i in range(len(node.regions[0].args))]
    less = scalar_function(body, node, 0, "less_than", pairs, as_list=True)
    return Several(call("ops.sort", *arrays, dimension=dimension, less_than=less))


def rng_bit_generator(body: Body, node: Node) -> Printed:
    """The next state, and random bits."""
    type = body.type(node.results[1])
    dtype = call("np.dtype", body.target.dtype(type.dtype))
    given = keywords(node, "rng_algorithm")
    state = body.expr(node.operands[0])
    return Several(call("ops.rng_bit_generator", state, shape=integers(type.shape), dtype=dtype, **given))


def map_(body: Body, node: Node) -> Printed:
    params = [f"x{i}" for i in range(len(node.operands))]
    function = scalar_function(body, node, 0, "apply", params)
    return call(function, *(body.expr(value) for value in node.operands))


def dynamic_update_slice(body: Body, node: Node) -> Printed:
    """What is overwritten has a line of its own, zeros too."""
    body.variable(node.operands[0])
    return plain("dynamic_update_slice")(body, node)


def identity(body: Body, node: Node) -> Printed:
    if len(node.operands) == 1:
        return body.term(node.operands[0])
    return Several(tuple_of([body.expr(value) for value in node.operands]))


_ELEMENTWISE = {
    "stablehlo.abs": "absolute",
    "stablehlo.count_leading_zeros": "count_leading_zeros",
    "stablehlo.divide": "divide",
    "stablehlo.logistic": "logistic",
    "stablehlo.popcnt": "popcnt",
    "stablehlo.power": "power",
    "stablehlo.remainder": "remainder",
    "stablehlo.round_nearest_afz": "round_nearest_afz",
    "stablehlo.rsqrt": "rsqrt",
    "stablehlo.shift_left": "shift_left",
    "stablehlo.shift_right_arithmetic": "shift_right_arithmetic",
    "stablehlo.shift_right_logical": "shift_right_logical",
    "stablehlo.sign": "sign",
    "chlo.bessel_i1e": "bessel_i1e",
    "chlo.digamma": "digamma",
    "chlo.erf": "erf",
    "chlo.erf_inv": "erf_inv",
    "chlo.erfc": "erfc",
    "chlo.is_inf": "is_inf",
    "chlo.is_neg_inf": "is_neg_inf",
    "chlo.is_pos_inf": "is_pos_inf",
    "chlo.lgamma": "lgamma",
    "chlo.polygamma": "polygamma",
    "chlo.zeta": "zeta",
}

FUNCTIONS: dict[str, Printer] = {
    **{name: strict(f"ops.{text}") for name, text in _ELEMENTWISE.items()},
    "stablehlo.convert": plain("convert", dtype=True),
    "stablehlo.bitcast_convert": plain("bitcast_convert", shape=True, dtype=True),
    "stablehlo.pad": plain("pad", "edge_padding_low", "edge_padding_high", "interior_padding"),
    "stablehlo.get_dimension_size": plain("get_dimension_size", "dimension"),
    "stablehlo.reduce_precision": plain("reduce_precision", "exponent_bits", "mantissa_bits"),
    "stablehlo.convolution": plain(
        "convolution",
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
    "stablehlo.cholesky": plain("cholesky", "lower"),
    "stablehlo.triangular_solve": plain(
        "triangular_solve", "left_side", "lower", "unit_diagonal", "transpose_a"
    ),
    "stablehlo.fft": plain("fft", "fft_type", "fft_length"),
    "stablehlo.batch_norm_inference": plain("batch_norm_inference", "epsilon", "feature_index"),
    "stablehlo.batch_norm_training": many("batch_norm_training", "epsilon", "feature_index"),
    "stablehlo.batch_norm_grad": many("batch_norm_grad", "epsilon", "feature_index"),
    "stablehlo.dynamic_slice": plain("dynamic_slice", "slice_sizes"),
    "stablehlo.dynamic_update_slice": dynamic_update_slice,
    "stablehlo.gather": plain("gather", "dimension_numbers", "slice_sizes"),
    "stablehlo.scatter": scatter,
    "stablehlo.reduce": _by_region("reduce", "dimensions"),
    "stablehlo.reduce_window": _by_region("reduce_window", *_WINDOW),
    "stablehlo.select_and_scatter": select_and_scatter,
    "stablehlo.sort": sort,
    "stablehlo.rng_bit_generator": rng_bit_generator,
    "stablehlo.map": map_,
    "chlo.top_k": many("top_k", "k"),
    "stablehlo.optimization_barrier": identity,
}
