"""The plain form: the operation itself on blocks.

Right wherever the assignment is legal (rules/legal.py). Two things may still differ from the global
operation: attributes that hold sizes, and padding that must not be seen by a reduction.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from typing import Any, cast

from shardc.analysis.text import sharded_text
from shardc.forms.registry import plain_form
from shardc.forms.site import Site, mask, scalar
from shardc.graph import ConvDims, identity
from shardc.graph.program import Attrs
from shardc.ops import hlo, spmd
from shardc.ops.registry import rule_of
from shardc.ops.rule import Kind

Ints = tuple[int, ...]


def plain(site: Site) -> list[Any]:
    """The operation with local sizes in its attributes and its padding masked."""
    adapt = SIZED.get(site.op.name)
    attrs = adapt(site) if adapt else {}
    return site.plain(masked(site), **attrs)


def masked(site: Site) -> list[Any]:
    """The operands, with the identity of the reduction in the padding of reduced dimensions."""
    operands = list(site.operands)
    rule = rule_of(site.op)
    if rule is None or rule.reduction is None:
        return operands
    for index, dims in enumerate(rule.operands):
        type, sharding = site.op.operands[index], site.operand_shardings[index]
        for dim in sharding.uneven(type.shape):
            if any(rule.factors[f].kind is Kind.REDUCTION for f in dims[dim]):
                fill = scalar(site.builder, identity(rule.reduction, type.dtype), type.with_shape(()))
                axes, size = sharding.dims[dim].axes, type.shape[dim]
                operands[index] = mask(site.builder, operands[index], dim, axes, size, fill)
    return operands


def _slice(site: Site) -> dict[str, Any]:
    """A dimension that is split is kept whole, so its limit is the block's size."""
    limits = cast(Ints, site.op.attrs["limit_indices"])
    split = [bool(dim.axes) for dim in site.operand_shardings[0].dims]
    local = site.operand_type(0).shape
    return {"limit_indices": tuple(n if s else old for n, s, old in zip(local, split, limits, strict=True))}


def _slice_sizes(site: Site) -> dict[str, Any]:
    """Dimensions taken whole are taken whole from the block."""
    sizes = cast(Ints, site.op.attrs["slice_sizes"])
    whole, local = site.op.operands[0].shape, site.operand_type(0).shape
    return {"slice_sizes": tuple(n if s == g else s for s, g, n in zip(sizes, whole, local, strict=True))}


def _convolution(site: Site) -> dict[str, Any]:
    """A device with a part of the groups runs that many groups; one with a part of a group runs one."""
    dims = cast(ConvDims, site.op.attrs["dimension_numbers"])
    features = _parts(site, 0, dims.input_feature), _parts(site, 1, dims.kernel_output_feature)
    groups = cast(int, site.op.attrs["feature_group_count"])
    batches = cast(int, site.op.attrs["batch_group_count"])
    if groups > 1 and features[0] > 1:
        return {"feature_group_count": ceil(groups / features[0])}
    parts = _parts(site, 0, dims.input_batch)
    if batches > 1 and parts > 1:
        return {"batch_group_count": ceil(batches / parts)}
    return {}


@plain_form(hlo.custom_call)
def custom_call(site: Site) -> list[Any]:
    """The call on blocks."""
    kept = call_attrs(site.op.attrs)
    return site.builder.op(site.op.name, *site.operands, results=site.local_results, regions=(), **kept)


@plain_form(spmd.print_)
def print_(site: Site) -> list[Any]:
    """The block, and of which tensor it is one."""
    type, layout = site.op.operands[0], site.operand_shardings[0]
    whole = {} if type == site.operand_type(0) else {"whole": sharded_text(type, layout)}
    return site.plain(**whole)


def call_attrs(attrs: Attrs) -> Attrs:
    """A custom call's attributes without what is said about the memory of arrays: layouts, aliases."""
    return {key: value for key, value in attrs.items() if key in _CALL_ATTRS}


_CALL_ATTRS = ("call_target_name", "has_side_effect", "backend_config", "api_version", "mhlo.backend_config")


def _parts(site: Site, operand: int, dim: int) -> int:
    return site.operand_shardings[operand].dims[dim].parts


SIZED: dict[str, Callable[[Site], dict[str, Any]]] = {
    hlo.slice_.name: _slice,
    hlo.dynamic_slice.name: _slice_sizes,
    hlo.gather.name: _slice_sizes,
    hlo.convolution.name: _convolution,
}
