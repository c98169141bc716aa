"""Shardy as an oracle: its rules for the operations of an MLIR module, beside ours.

jaxlib parses the module and runs `sdy-populate-op-sharding-rules` on it; the operations' attributes are read
from jaxlib's own and made into graph.Op, so nothing of our readers is involved.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from shardc.graph import ConvDims, DotDims, GatherDims, Op, ScatterDims, TensorType

_COMBINERS = {"add": "sum", "maximum": "max", "minimum": "min", "multiply": "prod", "and": "and", "or": "or"}
_DTYPES = {"i1": "bool", "complex<f32>": "c64", "complex<f64>": "c128"}


@pytest.fixture(scope="session")
def sdy_rules() -> Callable[[str], list[tuple[Op, str | None]]]:
    """A function from the text of a module to its operations, each with sdy's rule as text if it has one."""
    pytest.importorskip("jax")
    return lambda text: list(_rules(text))


def _rules(text: str) -> Iterator[tuple[Op, str | None]]:
    from jax._src.interpreters import mlir as jax_mlir
    from jaxlib.mlir import ir, passmanager

    with jax_mlir.make_ir_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        pipeline = "builtin.module(func.func(sdy-populate-op-sharding-rules))"
        passmanager.PassManager.parse(pipeline).run(module.operation)
        for function in module.body.operations:
            if function.operation.name == "func.func":
                yield from _of_block(function.regions[0].blocks[0])


def _of_block(block: Any) -> Iterator[tuple[Op, str | None]]:
    for view in block.operations:
        op = view.operation
        if "return" in op.name:
            continue
        if op.name == "stablehlo.constant":
            continue
        if op.name in ("stablehlo.while", "stablehlo.case", "sdy.manual_computation"):
            for region in op.regions:
                yield from _of_block(region.blocks[0])
            continue
        rule = None
        if "sdy.sharding_rule" in op.attributes:
            found = re.search(r"<(.*?)(, custom)?>$", str(op.attributes["sdy.sharding_rule"]))
            assert found is not None
            rule = found.group(1)
        yield _op(op), rule


def _op(op: Any) -> Op:
    """jaxlib's operation as a rule sees it."""
    attrs = {name: _value(name, op.attributes[name]) for name in op.attributes if "sdy." not in name}
    return Op(
        op.name,
        tuple(_type(v.type) for v in op.operands),
        tuple(_type(v.type) for v in op.results),
        attrs,
        _combiner(op),
    )


def _type(type: Any) -> TensorType:
    from jaxlib.mlir import ir

    if "tensor" not in str(type):
        return TensorType((), str(type))
    ranked = ir.RankedTensorType(type)
    dtype = str(ranked.element_type)
    return TensorType(tuple(ranked.shape), _DTYPES.get(dtype, dtype.replace("ui", "u")))


def _combiner(op: Any) -> str | None:
    if not len(op.regions):
        return None
    block = op.regions[-1].blocks[0]
    names = [inner.operation.name.split(".")[-1] for inner in block.operations]
    if names == ["return"]:
        return "set"
    return _COMBINERS.get(names[0]) if len(names) == 2 and len(block.arguments) == 2 else None


def _value(name: str, attr: Any) -> object:
    from jaxlib.mlir import ir

    text = str(attr)
    if name == "padding":
        return tuple(tuple(row) for row in _dense(attr))
    if name.endswith("dimension_numbers"):
        return _dimension_numbers(attr)
    if isinstance(attr, ir.DenseI64ArrayAttr):
        return tuple(attr)
    if isinstance(attr, ir.IntegerAttr):
        return attr.value
    if isinstance(attr, ir.StringAttr | ir.BoolAttr):
        return attr.value
    if isinstance(attr, ir.DictAttr):
        return tuple((each.name, _value(each.name, each.attr)) for each in attr)
    if found := re.fullmatch(r"#stablehlo<\w+\s(\w+)>", text):
        return found.group(1)
    return text


def _dense(attr: Any) -> list[list[int]]:
    from jaxlib.mlir import ir

    elements = ir.DenseIntElementsAttr(attr)
    flat = [elements[i] for i in range(len(elements))]
    return [flat[i : i + 2] for i in range(0, len(flat), 2)]


def _dimension_numbers(attr: Any) -> object:
    from jaxlib.mlir.dialects import stablehlo

    text = str(attr)
    if "stablehlo.dot<" in text:
        dims = stablehlo.DotDimensionNumbers(attr)
        return DotDims(
            tuple(dims.lhs_batching_dimensions),
            tuple(dims.rhs_batching_dimensions),
            tuple(dims.lhs_contracting_dimensions),
            tuple(dims.rhs_contracting_dimensions),
        )
    if "stablehlo.gather<" in text:
        dims = stablehlo.GatherDimensionNumbers(attr)
        return GatherDims(
            tuple(dims.offset_dims),
            tuple(dims.collapsed_slice_dims),
            tuple(dims.operand_batching_dims),
            tuple(dims.start_indices_batching_dims),
            tuple(dims.start_index_map),
            dims.index_vector_dim,
        )
    if "stablehlo.scatter<" in text:
        dims = stablehlo.ScatterDimensionNumbers(attr)
        return ScatterDims(
            tuple(dims.update_window_dims),
            tuple(dims.inserted_window_dims),
            tuple(dims.input_batching_dims),
            tuple(dims.scatter_indices_batching_dims),
            tuple(dims.scattered_dims_to_operand_dims),
            dims.index_vector_dim,
        )
    dims = stablehlo.ConvDimensionNumbers(attr)
    return ConvDims(
        dims.input_batch_dimension,
        dims.input_feature_dimension,
        tuple(dims.input_spatial_dimensions),
        dims.kernel_input_feature_dimension,
        dims.kernel_output_feature_dimension,
        tuple(dims.kernel_spatial_dimensions),
        dims.output_batch_dimension,
        dims.output_feature_dimension,
        tuple(dims.output_spatial_dimensions),
    )
