"""Derivatives of products: each operand's cotangent is a product of the result's and the other operand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from msgspec import Struct

from shardc.graph.attrs import ConvDims, DotDims
from shardc.ops import hlo
from shardc.ops.definition import OpDef
from shardc.ops.derivative import Derivative, Missing, Step, bilinear
from shardc.ops.derivatives.terms import Term


def _dot(which: int) -> Callable[[Step, Term], Term]:
    """Contract the result's free dimensions of the other operand, and put the rest in order."""

    def pull(s: Step, ct: Term) -> Term:
        dims = cast(DotDims, s.op.attrs["dot_dimension_numbers"])
        batch, contracted = (
            (dims.lhs_batching, dims.rhs_batching),
            (dims.lhs_contracting, dims.rhs_contracting),
        )
        ranks = [s.op.operands[i].rank for i in (0, 1)]
        free = [[d for d in range(ranks[i]) if d not in (*batch[i], *contracted[i])] for i in (0, 1)]
        other = 1 - which
        start = len(batch[0]) + (len(free[0]) if which == 0 else 0)
        rest = tuple(range(start, start + len(free[other])))
        term = s.value(other).cast(ct.type.dtype)
        kept: dict[str, Any] = {k: v for k, v in s.op.attrs.items() if k in ("precision_config", "algorithm")}
        stacked = tuple(range(len(batch[0])))
        summed = sorted(range(len(contracted[other])), key=contracted[other].__getitem__)
        back = [contracted[which][i] for i in summed]
        if which == 0:
            numbers = DotDims(stacked, batch[other], rest, tuple(free[other]))
            product = ct.op(hlo.dot_general, term, dot_dimension_numbers=numbers, **kept)
            made = [*batch[which], *free[which], *back]
        else:
            numbers = DotDims(batch[other], stacked, tuple(free[other]), rest)
            product = term.op(hlo.dot_general, ct, dot_dimension_numbers=numbers, **kept)
            made = [*batch[which], *back, *free[which]]
        return product.transpose([made.index(d) for d in range(ranks[which])]).cast(
            s.op.operands[which].dtype
        )

    return pull


class _Window(Struct, frozen=True):
    """The spatial dimensions of a convolution, with their numbers."""

    image: tuple[int, ...]
    kernel: tuple[int, ...]
    result: tuple[int, ...]
    low: tuple[int, ...]
    strides: tuple[int, ...]


def _dilated(sizes: Sequence[int], by: Sequence[int]) -> list[int]:
    return [0 if n == 0 else 1 + (n - 1) * step for n, step in zip(sizes, by, strict=True)]


def spread_padding(
    shape: Sequence[int],
    window: Sequence[int],
    strides: Sequence[int],
    result: Sequence[int],
    low: Sequence[int],
    base_dilation: Sequence[int],
    window_dilation: Sequence[int],
) -> list[tuple[int, int]]:
    """How the cotangent of windows is padded, so that windows over it give that of what they lay on."""
    base, win, out = (
        _dilated(shape, base_dilation),
        _dilated(window, window_dilation),
        _dilated(result, strides),
    )
    before = [w - lo - 1 for w, lo in zip(win, low, strict=True)]
    after = [b + w - 1 - o - f for b, w, o, f in zip(base, win, out, before, strict=True)]
    return list(zip(before, after, strict=True))


def _conv_parts(s: Step) -> tuple[ConvDims, dict[str, Any], int]:
    attrs: dict[str, Any] = dict(s.op.attrs)
    if any(attrs.get("window_reversal") or ()) or attrs.get("batch_group_count", 1) != 1:
        raise Missing("a convolution of reversed windows, or of groups of the batch, has no derivative here")
    dims = cast(ConvDims, attrs["dimension_numbers"])
    ones = (1,) * len(dims.input_spatial)
    for name in ("window_strides", "lhs_dilation", "rhs_dilation"):
        attrs[name] = tuple(attrs.get(name) or ones)
    attrs["padding"] = tuple(attrs.get("padding") or ((0, 0),) * len(ones))
    attrs.pop("window_reversal", None)
    attrs.pop("batch_group_count", None)
    return dims, attrs, cast(int, attrs.pop("feature_group_count", 1))


def _window(s: Step, dims: ConvDims, attrs: dict[str, Any]) -> _Window:
    image, kernel, result = s.op.operands[0].shape, s.op.operands[1].shape, s.op.results[0].shape
    return _Window(
        tuple(image[d] for d in dims.input_spatial),
        tuple(kernel[d] for d in dims.kernel_spatial),
        tuple(result[d] for d in dims.output_spatial),
        tuple(low for low, _ in attrs["padding"]),
        attrs["window_strides"],
    )


def _changed(attrs: dict[str, Any], **changes: object) -> dict[str, Any]:
    return {**attrs, **changes}


def _conv_image(s: Step, ct: Term) -> Term:
    dims, attrs, groups = _conv_parts(s)
    window = _window(s, dims, attrs)
    kernel = s.y
    if groups > 1:
        kernel = _regrouped(kernel, dims.kernel_output_feature, dims.kernel_input_feature, groups)
    padding = spread_padding(
        window.image, window.kernel, window.strides, window.result, window.low,
        attrs["lhs_dilation"], attrs["rhs_dilation"],
    )  # fmt: skip
    turned = ConvDims(
        dims.output_batch, dims.output_feature, dims.output_spatial,
        dims.kernel_output_feature, dims.kernel_input_feature, dims.kernel_spatial,
        dims.input_batch, dims.input_feature, dims.input_spatial,
    )  # fmt: skip
    return ct.op(
        hlo.convolution,
        kernel.op(hlo.reverse, dimensions=dims.kernel_spatial) if dims.kernel_spatial else kernel,
        **_changed(
            attrs,
            window_strides=attrs["lhs_dilation"],
            lhs_dilation=attrs["window_strides"],
            padding=tuple(padding),
            dimension_numbers=turned,
            feature_group_count=groups,
            batch_group_count=1,
        ),
    )


def _regrouped(kernel: Term, out: int, into: int, groups: int) -> Term:
    """The groups of the output features, taken over into the input features."""
    shape = kernel.shape
    split = [*shape[:out], groups, shape[out] // groups, *shape[out + 1 :]]
    rank = len(shape)
    target = into + (into > out)  # where the input features are now
    order = [d for d in range(rank + 1) if d != out]
    order.insert(order.index(target), out)
    merged = list(shape)
    merged[out], merged[into] = shape[out] // groups, shape[into] * groups
    return kernel.reshape(split).transpose(order).reshape(merged)


def _conv_kernel(s: Step, ct: Term) -> Term:
    dims, attrs, groups = _conv_parts(s)
    window = _window(s, dims, attrs)
    image, win, out = (
        _dilated(window.image, attrs["lhs_dilation"]),
        _dilated(window.kernel, attrs["rhs_dilation"]),
        _dilated(window.result, window.strides),
    )
    high = [o - i + w - low - 1 for o, i, w, low in zip(out, image, win, window.low, strict=True)]
    turned = ConvDims(
        dims.input_feature, dims.input_batch, dims.input_spatial,
        dims.output_batch, dims.output_feature, dims.output_spatial,
        dims.kernel_input_feature, dims.kernel_output_feature, dims.kernel_spatial,
    )  # fmt: skip
    return s.x.op(
        hlo.convolution,
        ct,
        **_changed(
            attrs,
            window_strides=attrs["rhs_dilation"],
            rhs_dilation=attrs["window_strides"],
            padding=tuple(zip(window.low, high, strict=True)),
            dimension_numbers=turned,
            feature_group_count=1,
            batch_group_count=groups,
        ),
    )


CONTRACTION: dict[OpDef, Derivative] = {
    hlo.dot_general: bilinear(_dot(0), _dot(1)),
    hlo.convolution: bilinear(_conv_image, _conv_kernel),
}
