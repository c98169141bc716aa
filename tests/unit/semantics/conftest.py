"""Programs that JAX lowers, as Graphs made from jaxlib's MLIR, and a comparison with what JAX computes."""

from __future__ import annotations

import re

import numpy as np
import pytest

from shardc.dialects.sdy_refs import AxisRef
from shardc.dialects.stablehlo.mesh_groups import MeshGroups
from shardc.graph import (
    ConvDims,
    Dense,
    DotDims,
    Function,
    GatherDims,
    Graph,
    Node,
    Region,
    ScatterDims,
    Value,
)
from shardc.graph.types import DTYPES, TensorType
from shardc.interpret.run import run
from shardc.layout import Dim, Mesh, Sharding
from shardc.ops import infer
from tests.tolerance import assert_near

_SPELLINGS = {mlir: name for name, (mlir, _) in DTYPES.items()}
_FIELDS = {
    "GatherDimensionNumbers": (GatherDims, {}),
    "ScatterDimensionNumbers": (
        ScatterDims,
        {"scatter_dims_to_operand_dims": "scattered_dims_to_operand_dims"},
    ),
    "DotDimensionNumbers": (
        DotDims,
        {
            "lhs_batching": "lhs_batching_dimensions",
            "rhs_batching": "rhs_batching_dimensions",
            "lhs_contracting": "lhs_contracting_dimensions",
            "rhs_contracting": "rhs_contracting_dimensions",
        },
    ),
    "ConvDimensionNumbers": (
        ConvDims,
        {
            "input_batch": "input_batch_dimension",
            "input_feature": "input_feature_dimension",
            "input_spatial": "input_spatial_dimensions",
            "kernel_input_feature": "kernel_input_feature_dimension",
            "kernel_output_feature": "kernel_output_feature_dimension",
            "kernel_spatial": "kernel_spatial_dimensions",
            "output_batch": "output_batch_dimension",
            "output_feature": "output_feature_dimension",
            "output_spatial": "output_spatial_dimensions",
        },
    ),
}


def cast(kind, attr):
    """The attribute as a `kind`, or None."""
    try:
        return kind(attr)
    except ValueError:
        return None


class Importer:
    """Walks a module of jaxlib's MLIR bindings."""

    def __init__(self, module):
        from jaxlib.mlir import ir
        from jaxlib.mlir.dialects import sdy, stablehlo

        self.ir, self.sdy, self.stablehlo = ir, sdy, stablehlo
        self.graph = Graph()
        self.nodes = 0
        for op in module.operation.regions[0].blocks[0]:
            if op.operation.name == "sdy.mesh":
                self.mesh(op.operation)
        for op in module.operation.regions[0].blocks[0]:
            if op.operation.name == "func.func":
                self.function(op.operation)

    def mesh(self, op):
        attr = self.sdy.MeshAttr(op.attributes["mesh"])
        axes = tuple((axis.name, axis.size) for axis in (self.sdy.MeshAxisAttr(a) for a in attr.axes))
        name = self.ir.StringAttr(op.attributes["sym_name"]).value
        self.graph.meshes[name] = Mesh(name, axes, tuple(attr.device_ids) or None)

    def function(self, op):
        name = self.ir.StringAttr(op.attributes["sym_name"]).value
        body = self.region(op.regions[0], {})
        self.graph.functions[name] = Function(name, body, [None] * len(body.results), public=name == "main")

    def value(self, value):
        ranked = self.ir.RankedTensorType(value.type)
        type = TensorType(tuple(ranked.shape), _SPELLINGS[str(ranked.element_type)])
        self.graph.values.append(Value(len(self.graph.values), type))
        return len(self.graph.values) - 1

    def region(self, region, known):
        block = region.blocks[0]
        args = tuple(self.value(arg) for arg in block.arguments)
        known = {**known, **dict(zip(block.arguments, args, strict=True))}
        result = Region(args)
        for op in block:
            result.nodes.append(self.node(op.operation, known))
        return result

    def node(self, op, known):
        regions = tuple(self.region(region, known) for region in op.regions)
        operands = tuple(known[operand] for operand in op.operands)
        results = tuple(self.value(result) for result in op.results)
        known.update(zip(op.results, results, strict=True))
        attrs = {key: self.attr(op.attributes[key]) for key in op.attributes}
        node = Node(self.nodes, op.name, operands, results, attrs, regions)
        self.nodes += 1
        types = self.graph.types
        inferred = infer(
            op.name,
            types(operands),
            attrs,
            results=types(results),
            region_results=[types(region.results) for region in regions],
        )
        assert inferred == types(results)
        return node

    def attr(self, attr):
        ir = self.ir
        for kind, convert in (
            (ir.DenseI64ArrayAttr, tuple),
            (ir.DenseBoolArrayAttr, tuple),
            (ir.BoolAttr, lambda a: a.value),
            (ir.IntegerAttr, lambda a: a.value),
            (ir.FloatAttr, lambda a: a.value),
            (ir.StringAttr, lambda a: a.value),
            (ir.FlatSymbolRefAttr, lambda a: a.value),
            (ir.UnitAttr, lambda a: True),
            (ir.DenseElementsAttr, self.dense),
        ):
            if isinstance(attr, kind):
                return convert(attr)
        for name, (target, names) in _FIELDS.items():
            record = cast(getattr(self.stablehlo, name), attr)
            if record is not None:
                return self.record(record, target, names)
        shardings = cast(self.sdy.TensorShardingPerValueAttr, attr)
        if shardings is not None:
            return tuple(self.sharding(self.sdy.TensorShardingAttr(s)) for s in shardings.shardings)
        axes = cast(self.sdy.ManualAxesAttr, attr)
        if axes is not None:
            return tuple(axes)
        sharding = cast(self.sdy.TensorShardingAttr, attr)
        if sharding is not None:
            return self.sharding(sharding)
        text = str(attr)
        if text.startswith("#stablehlo.replica_group_mesh_axes"):  # as JAX prints them from 0.11 on
            (mesh,) = re.findall(r"mesh = @([^,]+),", text)
            return MeshGroups(mesh, tuple(map(AxisRef, re.findall(r'name = "(\w+)"', text)))).rows(
                self.graph.meshes
            )
        return text.split("<")[1].split(">")[0].split()[-1] if text.startswith("#stablehlo<") else text

    def record(self, source, target, names):
        fields = {}
        for field in target.__struct_fields__:
            value = getattr(source, names.get(field, field))
            fields[field] = value if isinstance(value, int) else tuple(value)
        return target(**fields)

    def sharding(self, attr):
        mesh = self.graph.meshes[self.ir.FlatSymbolRefAttr(attr.mesh_or_ref).value]
        dims = []
        for dim in attr.dimension_shardings:
            axes = self.sdy.DimensionShardingAttr(dim).axes
            dims.append(Dim(tuple(mesh.axis(self.sdy.AxisRefAttr(axis).name) for axis in axes)))
        return Sharding(mesh, tuple(dims))

    def dense(self, attr):
        type = self.ir.RankedTensorType(attr.type)
        dtype = DTYPES[_SPELLINGS[str(type.element_type)]][1]
        if attr.is_splat:
            data = np.asarray(self.attr(attr.get_splat_value())).astype(dtype)
        else:
            data = np.array(attr).astype(dtype)
        if str(type.element_type) == "i64" and len(type.shape) == 2:
            return tuple(map(tuple, np.broadcast_to(data, type.shape).tolist()))
        return Dense(data, tuple(type.shape))


def import_lowered(lowered) -> Graph:
    """The Graph of `jax.jit(f).lower(...)`."""
    return Importer(lowered.compiler_ir("stablehlo")).graph


@pytest.fixture
def check():
    """check(f, *arrays): our result of what JAX lowers f to is JAX's own, as sums of up to 256 terms are."""
    jax = pytest.importorskip("jax")

    def compare(function, *arrays):
        jitted = jax.jit(function)
        with jax.enable_x64(any(np.asarray(a).dtype.itemsize == 8 for a in arrays)):
            expected = jax.tree.leaves(jitted(*arrays))
            graph = import_lowered(jitted.lower(*arrays))
        actual = run(graph, [np.asarray(array) for array in arrays])
        assert len(actual) == len(expected)
        for ours, theirs in zip(actual, expected, strict=True):
            assert ours.dtype == np.asarray(theirs).dtype
            assert_near(ours, theirs, terms=256)
        return actual

    return compare
