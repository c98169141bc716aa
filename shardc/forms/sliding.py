"""Local forms of operations that slide a window: a block gets the elements around it that its windows reach.

A device with `block` windows, `stride` apart, needs (block - 1) * stride + reach elements, where reach is the
dilated window's length; its first window begins `block` * stride after that of the device before.
"""

from __future__ import annotations

from typing import Any, cast

from msgspec import Struct

from shardc.forms.exchange import DeviceLine, exchange
from shardc.forms.factors import NO_FACTORS, FactorSet, of_kind
from shardc.forms.pieces import ElementRun, Window
from shardc.forms.plain import SIZED, masked
from shardc.forms.reductions import running_factors
from shardc.forms.registry import form
from shardc.forms.site import Site
from shardc.graph import ConvDims, Op, TensorType
from shardc.ops import hlo
from shardc.ops.registry import rule_of
from shardc.ops.rule import FactorRule, Kind
from shardc.ops.rule_builder import ints, pairs


class WindowStretch(Struct, frozen=True):
    """The elements that each device needs of a dimension whose elements are `dilation` apart.

    Counted in steps of 1, device r needs `width` from r * pitch - low on; those from `end` on don't matter.
    """

    low: int
    pitch: int
    width: int
    end: int
    dilation: int

    def take(self, line: DeviceLine, value: Any, size: int) -> tuple[Any, tuple[int, int], int]:
        """The elements of a dimension of global size `size`, and the padding and dilation that are left.

        They are as far apart as they were where every device's stretch begins alike between two of them.
        """
        if self.pitch % self.dilation:
            window = Window(-self.low, self.pitch, self.width, self.end)
            return exchange(line, [value], [ElementRun(0, 0, 0, size, gap=self.dilation)], window), (0, 0), 1
        first = -(self.low // self.dilation)
        before = first * self.dilation + self.low
        count = -((before - self.width) // self.dilation)
        window = Window(first, self.pitch // self.dilation, count, -(-self.end // self.dilation))
        after = self.width - before - (count - 1) * self.dilation - 1
        return exchange(line, [value], [ElementRun(0, 0, 0, size)], window), (before, after), self.dilation


def sliding_dims(op: Op, rule: FactorRule) -> frozenset[int]:
    """The factors of dimensions along which windows may reach over borders."""
    return frozenset(f for d, moves in enumerate(moving_windows(op)) if moves for f in rule.operands[0][d])


def spatial_factors(op: Op, rule: FactorRule) -> frozenset[int]:
    """The factors of a convolution's windows, and of their lengths where they are not reversed."""
    reversal = any(cast("tuple[bool, ...]", op.attrs.get("window_reversal", ())))
    lengths = of_kind(rule, Kind.REDUCTION) if rule.reduction and not reversal else NO_FACTORS
    return of_kind(rule, Kind.PERMUTATION) | {i for i in lengths if not rule.factors[i].is_plain}


def sliding_factors(op: Op, rule: FactorRule) -> FactorSet:
    """The dimensions along which windows slide that are no running totals."""
    return sliding_dims(op, rule) - running_factors(op, rule)


@form(hlo.reduce_window, "moved", sliding_factors)
def reduce_window(site: Site) -> list[Any]:
    """reduce_window(x) -> reduce_window(the block and what its windows reach), without padding."""
    count, rank = len(site.op.results), site.op.operands[0].rank
    values, inits = list(site.operands[:count]), site.operands[count:]
    ones = (1,) * rank
    padding, dilations = list(pairs(site.op, "padding", rank)), list(ints(site.op, "base_dilations", ones))
    for dim, moves in enumerate(moving_windows(site.op)):
        axes = site.operand_shardings[0].dims[dim].axes
        if not moves or not axes:
            continue
        stride = ints(site.op, "window_strides", ones)[dim]
        window = ints(site.op, "window_dimensions", ones)[dim]
        reach = (window - 1) * ints(site.op, "window_dilations", ones)[dim] + 1
        windows = site.op.results[0], site.local_results[0]
        stretch = reached(*windows, dim, stride, reach, padding[dim][0], dilations[dim])
        size = site.op.operands[0].shape[dim]
        for index, value in enumerate(values):
            line = DeviceLine(site.builder, dim, axes, site.fill(count + index))
            values[index], padding[dim], dilations[dim] = stretch.take(line, value, size)
    return site.plain([*values, *inits], padding=tuple(padding), base_dilations=tuple(dilations))


@form(hlo.convolution, "moved", spatial_factors)
def convolution(site: Site) -> list[Any]:
    """conv(x, k) -> conv(the block of x and what its windows reach, k), without padding.

    Where the window itself is split, each device slides its part of it over what that reaches of x: a
    partial sum.
    """
    dims, op = cast(ConvDims, site.op.attrs["dimension_numbers"]), site.op
    rank = len(dims.input_spatial)
    ones = (1,) * rank
    value, kernel = masked(site)
    padding, dilations = list(pairs(op, "padding", rank)), list(ints(op, "lhs_dilation", ones))
    for i, (source, window, out) in enumerate(
        zip(dims.input_spatial, dims.kernel_spatial, dims.output_spatial, strict=True)
    ):
        axes = site.operand_shardings[0].dims[source].axes
        if not axes:
            continue
        stride, spread = ints(op, "window_strides", ones)[i], ints(op, "rhs_dilation", ones)[i]
        low, dilation = padding[i][0], dilations[i]
        if site.result_shardings[0].dims[out].axes:
            reach = (op.operands[1].shape[window] - 1) * spread + 1
            stretch = reached(site.op.results[0], site.local_results[0], out, stride, reach, low, dilation)
        else:
            part = site.builder.type_of(kernel).shape[window]
            reach = (op.results[0].shape[out] - 1) * stride + (part - 1) * spread + 1
            whole = part * spread * site.operand_shardings[0].dims[source].parts + reach - low
            stretch = WindowStretch(low, part * spread, reach, whole, dilation)
        line, size = DeviceLine(site.builder, source, axes), op.operands[0].shape[source]
        value, padding[i], dilations[i] = stretch.take(line, value, size)
    attrs: dict[str, Any] = {"padding": tuple(padding), "lhs_dilation": tuple(dilations)}
    return site.plain([value, kernel], **{**SIZED[op.name](site), **attrs})


def reached(
    whole: TensorType, block: TensorType, dim: int, stride: int, reach: int, low: int, dilation: int = 1
) -> WindowStretch:
    """What a device's block of windows along a dimension reaches; `whole` has an element for each window."""
    count, own = whole.shape[dim], block.shape[dim]
    return WindowStretch(
        low, own * stride, (own - 1) * stride + reach, (count - 1) * stride + reach - low, dilation
    )


def moving_windows(op: Op) -> list[bool]:
    """For each dimension whether windows may reach over borders; tiles do where blocks are uneven."""
    rule = rule_of(op)
    assert rule is not None
    return [any(rule.factors[f].kind is Kind.PERMUTATION for f in factors) for factors in rule.operands[0]]
