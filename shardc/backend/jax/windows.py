"""Convolution and windowed reductions in JAX."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from shardc.backend.jax.casts import cast_to
from shardc.backend.jax.composites import pulled
from shardc.backend.jax.target import JAX
from shardc.backend.python.expressions import Expr, call, integers, lambda_of, raw, tuple_of
from shardc.backend.python.literals import scalar
from shardc.backend.python.printers import Printed
from shardc.backend.python.reductions import is_neutral
from shardc.backend.python.regions import scalar_function
from shardc.backend.python.scope import Scope
from shardc.backend.python.shapes import axes, ints
from shardc.backend.python.terms import Several
from shardc.backend.python.windows import backward, cumulative, running
from shardc.diagnostics import ShardcError
from shardc.graph import ConvDims, Node, identity, is_float
from shardc.ops import combiner, hlo

_COMBINE = {
    "sum": "lax.add",
    "max": "lax.max",
    "min": "lax.min",
    "prod": "lax.mul",
    "and": "lax.bitwise_and",
    "or": "lax.bitwise_or",
}


def pairs(values: Sequence[tuple[int, int]]) -> Expr:
    """((0, 1), (2, 2))"""
    return tuple_of([integers(pair) for pair in values])


def unless_ones(node: Node, key: str) -> Expr | None:
    """The attribute, unless it is absent or says nothing."""
    values = node.attrs.get(key)
    return None if values is None or set(ints(node, key)) <= {1} else integers(ints(node, key))


def _padding(node: Node, rank: int) -> tuple[tuple[int, int], ...]:
    return cast("tuple[tuple[int, int], ...]", node.attrs.get("padding") or ((0, 0),) * rank)


@JAX.prints(hlo.convolution)
def convolution(scope: Scope, node: Node) -> Expr:
    dims = cast(ConvDims, node.attrs["dimension_numbers"])
    lhs, rhs = node.operands
    rank = len(dims.input_spatial)
    kernel = scope.expr(rhs)
    flips = cast("tuple[bool, ...]", node.attrs.get("window_reversal") or ())
    reversed_dims = [d for d, flip in zip(dims.kernel_spatial, flips, strict=False) if flip]
    if reversed_dims:
        kernel = call("jnp.flip", kernel, axis=axes(reversed_dims))
    operand, result = scope.type(lhs).dtype, scope.type(node.results[0]).dtype
    groups = {key: node.attrs.get(key, 1) for key in ("feature_group_count", "batch_group_count")}
    return call(
        "lax.conv_general_dilated",
        scope.expr(lhs),
        kernel,
        window_strides=unless_ones(node, "window_strides") or integers((1,) * rank),
        padding=pairs(_padding(node, rank)),
        lhs_dilation=unless_ones(node, "lhs_dilation"),
        rhs_dilation=unless_ones(node, "rhs_dilation"),
        dimension_numbers=raw(_layouts(dims)),
        preferred_element_type=scope.target.dtype(result) if operand != result else None,
        **{key: None if count == 1 else str(count) for key, count in groups.items()},
    )


def _layouts(dims: ConvDims) -> str:
    """("NHWC", "HWIO", "NHWC")"""
    letters = "HWD"[: len(dims.input_spatial)] if len(dims.input_spatial) <= 2 else "DHWUVXYZ"

    def layout(first: int, second: int, spatial: Sequence[int], names: str) -> str:
        placed = {first: names[0], second: names[1], **dict(zip(spatial, letters, strict=False))}
        return '"' + "".join(placed[d] for d in range(len(placed))) + '"'

    return "({}, {}, {})".format(
        layout(dims.input_batch, dims.input_feature, dims.input_spatial, "NC"),
        layout(dims.kernel_output_feature, dims.kernel_input_feature, dims.kernel_spatial, "OI"),
        layout(dims.output_batch, dims.output_feature, dims.output_spatial, "NC"),
    )


@JAX.prints(hlo.reduce_window)
def reduce_window(scope: Scope, node: Node) -> Printed:
    if len(node.results) > 1:
        return _several(scope, node)
    along = running(scope, node)
    if along is not None:
        dim, reverse = along
        return backward(scope, node, dim) if reverse else cumulative(scope, node, dim)
    value, start = node.operands
    kind = combiner(node.regions[0], scope.graph)
    combine = _COMBINE.get(kind or "") or scalar_function(scope, node, 0, "combine", ("a", "b"))
    first = scope.index(start) if kind in _COMBINE else scope.expr(start)
    if scope.term(start).weak and kind in _COMBINE and not _known_neutral(scope, kind or "", start):
        first = call(scope.target.dtype(scope.type(start).dtype), first)  # lax asks for one dtype
    return call("lax.reduce_window", scope.expr(value), first, combine, *_geometry(scope, node))


def _several(scope: Scope, node: Node) -> Several:
    """Windows of several arrays, combined together: derivatives of max pooling along a tangent are."""
    count = len(node.results)
    values = [scope.expr(value) for value in node.operands[:count]]
    starts = [scope.expr(value) for value in node.operands[count:]]
    combine = scalar_function(scope, node, 0, "combine", ("a", "b"))
    geometry = _geometry(scope, node)
    return Several(call("lax.reduce_window", tuple_of(values), tuple_of(starts), combine, *geometry))


def _known_neutral(scope: Scope, kind: str, start: int) -> bool:
    """Whether lax sees a plain sum, maximum or minimum, where it takes a number without asking its dtype."""
    dtype = scope.type(start).dtype
    known = kind == "sum" or dtype == "bool" or (kind in ("max", "min") and is_float(dtype))
    return known and is_neutral(scope, kind, start)


def _geometry(scope: Scope, node: Node) -> list[Expr]:
    """Dimensions, strides, padding and, unless they are 1, both dilations: lax.reduce_window's order."""
    rank = scope.type(node.operands[0]).rank
    ones = integers((1,) * rank)
    padding = _padding(node, rank)
    items = [
        integers(ints(node, "window_dimensions")),
        unless_ones(node, "window_strides") or ones,
        raw('"VALID"') if {*padding} == {(0, 0)} else pairs(padding),
    ]
    dilations = [unless_ones(node, key) for key in ("base_dilations", "window_dilations")]
    return items + ([dilation or ones for dilation in dilations] if any(dilations) else [])


@JAX.prints(hlo.select_and_scatter)
def select_and_scatter(scope: Scope, node: Node) -> Expr:
    """The gradient of a max-pooling, which is where it comes from; JAX offers it in no other way."""
    value, source, start = node.operands
    select = node.regions[0].nodes[0]
    direction = select.attrs.get("comparison_direction")
    scatters = combiner(node.regions[1], scope.graph) == "sum"
    if len(node.regions[0].nodes) != 2 or direction not in ("GE", "LE") or not scatters:
        raise ShardcError("JAX can only select the largest or smallest of a window and add", node.loc)
    if scope.term(start).literal not in ("0", "0.0"):
        raise ShardcError("JAX can only scatter into zeros here", node.loc)
    kind, dtype = "max" if direction == "GE" else "min", scope.type(value).dtype
    first = scalar(identity(kind, dtype), dtype, scope.target)
    varies = scope.emission.varying.get(node.results[0], frozenset[str]())
    pool = call("lax.reduce_window", "x", first, f"lax.{kind}", *_geometry(scope, node))
    operand, slopes = (cast_to(scope, scope.expr(each), varies, each) for each in (value, source))
    return pulled(lambda_of("x", pool), operand, slopes)
