"""ONNX's sharding formalism: validity, inferred outputs, and what must be combined."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from shardc.layout import LayoutError
from shardc.layout.notations.onnx_placement import placement
from shardc.layout.notations.onnx_text import read_spec, write_spec
from shardc.layout.onnx import verdict_of
from shardc.layout.onnx.contract import Reduction, Tensor
from shardc.layout.onnx.operations import LISTED, OPERATIONS, UNSUPPORTED, infer

ROWS = "{device=[-1,-2] device_map={-1:[0,1], -2:[2,3]} sharded_dim=[{axis=0 num_shards=2}]}"
COLUMNS = "{device=[-1,-2] device_map={-1:[0,2], -2:[1,3]} sharded_dim=[{axis=1 num_shards=2}]}"
BOTH = "{device=[0,1,2,3] sharded_dim=[{axis=0 num_shards=2} {axis=1 num_shards=2}]}"
ROWS_2 = "{device=[0,1] sharded_dim=[{axis=0 num_shards=2}]}"
COLUMNS_2 = "{device=[0,1] sharded_dim=[{axis=1 num_shards=2}]}"


def tensor(spec: str | None, *shape: int) -> Tensor:
    return Tensor(shape, None if spec is None else read_spec(spec))


def output(op: str, *inputs: Tensor, **attributes: Any) -> str:
    found = infer(op, inputs, attributes).spec
    return "" if found is None else write_spec(found)


def normal(text: str) -> str:
    return write_spec(read_spec(text))


def reason(op: str, *inputs: Tensor, **attributes: Any) -> str:
    with pytest.raises(LayoutError) as error:
        infer(op, inputs, attributes)
    return str(error.value)


def test_two_broadcast_axes_compose():
    """The figure of the proposal: each output shard is where both input shards are."""
    assert output("Add", tensor(ROWS, 4, 1), tensor(COLUMNS, 1, 6)) == normal(BOTH)


def test_three_broadcast_axes_compose():
    specs = []
    for axis, stride in enumerate((4, 2, 1)):
        groups = [[d for d in range(8) if d // stride % 2 == half] for half in (0, 1)]
        specs.append(
            f"{{device=[-1,-2] device_map={{-1:{groups[0]}, -2:{groups[1]}}} "
            f"sharded_dim=[{{axis={axis} num_shards=2}}]}}"
        )
    shapes = [(2, 1, 1), (1, 2, 1), (1, 1, 2)]
    found = infer("Sum", [tensor(s, *shape) for s, shape in zip(specs, shapes, strict=True)]).spec
    assert found and found.device == tuple(range(8)) and [d.axis for d in found.sharded_dim] == [0, 1, 2]


def test_local_values_of_the_composition():
    a, b = np.arange(4)[:, None], 10 * np.arange(6)[None, :]
    inputs = [tensor(ROWS, 4, 1), tensor(COLUMNS, 1, 6)]
    found = infer("Add", inputs).spec
    assert found

    def local(spec: Any, array: np.ndarray, device: int) -> np.ndarray:
        (part,) = placement(spec, array.shape)[device]
        return array[np.ix_(*part.indices())]

    for device in range(4):
        ours = local(inputs[0].spec, a, device) + local(inputs[1].spec, b, device)
        assert np.array_equal(ours, local(found, a + b, device))


def test_no_device_in_common():
    other = "{device=[2,3] sharded_dim=[{axis=1 num_shards=2}]}"
    assert reason("Add", tensor(ROWS_2, 4, 1), tensor(other, 1, 4)) == (
        "Add: no device holds shard [0] of input 0 and shard [0] of input 1 together; "
        "the specifications cannot be composed"
    )


def test_the_same_axes_must_be_split_alike():
    assert reason("Add", tensor(ROWS_2, 32, 1024), tensor(COLUMNS_2, 32, 1024)) == (
        "Add: axis 0 of input 1 is whole, axis 0 of input 0 is in 2 shards; "
        "they run together and must be split alike"
    )
    factors = "{dim_value=2 num_shards=1} {dim_value=4 num_shards=2}"
    fused = f"{{device=[0,1] sharded_dim=[{{axis=0 simple_sharding=[{factors}]}}]}}"
    assert output("Mul", tensor(fused, 8), tensor(fused, 8)) == normal(fused)
    assert "in 1 shards of 2 x 2 shards of 4" in reason("Mul", tensor(fused, 8), tensor(ROWS_2, 8))


def test_a_broadcast_axis_is_whole():
    assert "input 0: axis 0 has 1 elements, too few for 2 shards" in reason(
        "Add", tensor(ROWS_2, 1, 4), tensor(None, 4, 4)
    )


def test_a_smaller_input_must_be_on_all_devices():
    bias = "{device=[-1] device_map={-1:[0,1,2,3]}}"
    assert output("Add", tensor(BOTH, 4, 4), tensor(bias, 1)) == normal(BOTH)
    vector = "{device=[-1,-2] device_map={-1:[0,2], -2:[1,3]} sharded_dim=[{axis=0 num_shards=2}]}"
    assert output("Add", tensor(BOTH, 4, 4), tensor(vector, 4)) == normal(BOTH)
    few = "{device=[-1,1] device_map={-1:[0,2]} sharded_dim=[{axis=0 num_shards=2}]}"
    assert "no device holds shard [1, 1] of input 0 and shard [1] of input 1" in reason(
        "Add", tensor(BOTH, 4, 4), tensor(few, 4)
    )
    copies = "{device=[-1,-2] device_map={-1:[0,1], -2:[2,3]} sharded_dim=[{axis=0 num_shards=2}]}"
    assert "device 1 holds shard [0] of input 0, but not shard [0] of input 1" in reason(
        "Add", tensor(copies, 4), tensor("{device=[0,2] sharded_dim=[{axis=0 num_shards=2}]}", 4)
    )


def test_unary():
    for spec in (ROWS, BOTH, None):
        assert output("Relu", tensor(spec, 4, 4)) == ("" if spec is None else normal(spec))
    assert output("Relu", tensor(ROWS.replace("{device", "{tensor_name='x' device"), 4, 4)) == normal(ROWS)
    assert output("Dropout", tensor(ROWS, 4, 4), tensor(None)) == normal(ROWS)


def test_without_any_specification():
    assert infer("Add", [tensor(None, 4), tensor(None, 4)]).spec is None


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({"axes": [1], "keepdims": 1}, ROWS),
        ({"axes": [0], "keepdims": 0}, COLUMNS.replace("axis=1", "axis=0")),
        ({}, "{device=[-1] device_map={-1:[0,1,2,3]}}"),
        ({"axes": [], "noop_with_empty_axes": 1}, BOTH),
        ({"axes": [-1]}, ROWS),
    ],
)
def test_reductions(attributes: dict[str, Any], expected: str):
    assert output("ReduceSum", tensor(BOTH, 4, 6), **attributes) == normal(expected)


def test_what_a_reduction_combines():
    found = infer("ReduceL2", [tensor(BOTH, 4, 6)], {"axes": [1]})
    assert found.reductions == (Reduction(0, ((0,), (1,))), Reduction(1, ((2,), (3,))))
    assert found.combine == "sum of the squares, then the root"
    assert infer("ReduceL2", [tensor(ROWS, 4, 6)], {"axes": [1]}).reductions == ()
    assert infer("ReduceL2", [tensor(ROWS, 4, 6)], {"axes": [1]}).combine == ""
    assert infer("ArgMax", [tensor(BOTH, 4, 6)], {"keepdims": 0}).combine.startswith("max of")


def test_matmul():
    assert output("MatMul", tensor(ROWS, 2, 3), tensor(COLUMNS, 3, 2)) == normal(BOTH)
    assert infer("MatMul", [tensor(ROWS, 2, 3), tensor(COLUMNS, 3, 2)]).reductions == ()
    summed = infer("MatMul", [tensor(COLUMNS_2, 4, 4), tensor(ROWS_2, 4, 4)])
    assert summed.spec and write_spec(summed.spec) == normal("{device=[-1] device_map={-1:[0,1]}}")
    assert summed.reductions == (Reduction(0, ((0,), (1,))),)
    assert "axis 0 of input 1 is whole, axis 1 of input 0 is in 2 shards" in reason(
        "MatMul", tensor(COLUMNS_2, 4, 4), tensor(None, 4, 4)
    )


def test_batched_matmul_and_vectors():
    batch = "{device=[0,1] sharded_dim=[{axis=0 num_shards=2}]}"
    assert output("MatMul", tensor(batch, 2, 3, 4), tensor(None, 4, 5)) == normal(batch)
    assert output("MatMul", tensor(None, 4), tensor(COLUMNS_2, 4, 6)) == normal(ROWS_2)
    assert output("MatMul", tensor(ROWS_2, 4, 6), tensor(None, 6)) == normal(ROWS_2)
    assert "a scalar" in reason("MatMul", tensor(None), tensor(None, 4))


def test_gemm():
    transposed = tensor(COLUMNS, 3, 2), tensor(ROWS, 2, 3)
    assert output("Gemm", *transposed, transA=1, transB=1) == normal(BOTH.replace("1,2", "2,1"))
    both = "{device=[0,1,2,3] sharded_dim=[{axis=0 num_shards=2} {axis=1 num_shards=2}]}"
    assert output("Gemm", tensor(ROWS, 2, 3), tensor(COLUMNS, 3, 2), tensor(both, 2, 2)) == normal(both)
    assert "must be split alike" in reason(
        "Gemm", tensor(ROWS, 2, 3), tensor(COLUMNS, 3, 2), tensor(ROWS, 2, 2)
    )
    summed = infer("Gemm", [tensor(COLUMNS_2, 4, 4), tensor(ROWS_2, 4, 4), tensor(None, 4)])
    assert len(summed.reductions) == 1 and "c is added once" in summed.combine


def test_quantised():
    scalar = tensor(None)
    args = [tensor(COLUMNS_2, 4, 4), scalar, scalar, tensor(ROWS_2, 4, 4), scalar, scalar, scalar, scalar]
    found = infer("QLinearMatMul", args)
    assert found.combine == "sum of the 32-bit products, then requantise" and found.reductions
    args[1] = tensor(ROWS_2, 4)
    assert "axis 0 of input 1 is in 2 shards, axis 0 of input 0 is whole" in reason("QLinearMatMul", *args)


def test_settings_of_a_quantised_product_are_split_like_its_rows_and_columns():
    scalar, columns, per_column = tensor(None), tensor(COLUMNS_2, 4, 6), tensor(ROWS_2, 6)
    args = [tensor(None, 2, 4), scalar, scalar, columns, per_column, per_column, scalar, scalar]
    assert output("QLinearMatMul", *args) == normal(COLUMNS_2)
    args[4] = tensor(None, 6)
    assert reason("QLinearMatMul", *args) == (
        "QLinearMatMul: axis 0 of input 4 is whole, axis 1 of input 3 is in 2 shards; "
        "they run together and must be split alike"
    )
    args[4] = tensor(None, 5)
    assert "axis 0 of input 4 has size 5, axis 1 of input 3 6" in reason("QLinearMatMul", *args)
    rows = [tensor(ROWS_2, 4, 4), tensor(None, 4, 4), tensor(ROWS_2, 4), scalar]
    assert output("MatMulInteger", *rows) == normal(ROWS_2)


def test_einsum():
    assert output("Einsum", tensor(ROWS, 2, 3), tensor(COLUMNS, 3, 2), equation="ij, jk -> ik") == normal(
        BOTH
    )
    assert output("Einsum", tensor(ROWS_2, 2, 3), equation="ij->ji") == normal(COLUMNS_2)
    assert output("Einsum", tensor(ROWS_2, 2, 3), tensor(None, 3), equation="ij,j") == normal(ROWS_2)
    assert "none of the simple ones" in reason("Einsum", tensor(None, 2, 2), equation="ii->i")
    assert "does not fit the ranks" in reason("Einsum", tensor(None, 2, 2), equation="i->i")


def test_constant_of_shape():
    copies = "{device=[-1] device_map={-1:[0,1]}}"
    assert output("ConstantOfShape", tensor(copies, 3)) == normal(copies)
    assert "every device needs it whole" in reason("ConstantOfShape", tensor(ROWS_2, 4))


def test_operations():
    assert {"Max", "Min", "Div", "Where"} <= set(OPERATIONS) and not UNSUPPORTED & set(OPERATIONS)
    assert reason("Conv", tensor(None, 4)) == "the document lists Conv as unsupported"
    assert reason("Softmax", tensor(None, 4)) == "the document does not mention Softmax"


def test_structure_is_checked_first():
    with pytest.raises(LayoutError, match="Add: input 1: device index 3 is out of range; there are 2"):
        infer(
            "Add", [tensor(ROWS_2, 4), tensor("{device=[0,3] sharded_dim=[{axis=0 num_shards=2}]}", 4)], {}, 2
        )
    assert "has size 5, axis 0 of input 0 4" in reason("Add", tensor(None, 4), tensor(None, 5))


def test_axes_as_an_input():
    """As in operator sets since 13 (ReduceSum) and 18 (the others); reducing everything would be wrong."""
    rows = Tensor((1,), None, (1,))
    assert output("ReduceSum", tensor(BOTH, 4, 6), rows) == normal(ROWS)
    assert output("ReduceMax", tensor(BOTH, 4, 6), rows, keepdims=0) == normal(ROWS)
    empty = Tensor((0,), None, ())
    assert output("ReduceSum", tensor(BOTH, 4, 6), empty) == normal("{device=[-1] device_map={-1:[0,1,2,3]}}")
    assert output("ReduceSum", tensor(BOTH, 4, 6), empty, noop_with_empty_axes=1) == normal(BOTH)
    assert "whose value is not known" in reason("ReduceSum", tensor(BOTH, 4, 6), tensor(None, 1))
    assert "given twice" in reason("ReduceSum", tensor(BOTH, 4, 6), rows, axes=[1])
    with pytest.raises(LayoutError, match="in operator set 13 axes are an attribute, not an input"):
        infer("ReduceMax", [tensor(BOTH, 4, 6), rows], {}, opset=13)
    with pytest.raises(LayoutError, match="attribute axes is an input since operator set 13; this is 13"):
        infer("ReduceSum", [tensor(BOTH, 4, 6)], {"axes": [1]}, opset=13)
    with pytest.raises(LayoutError, match="noop_with_empty_axes is new in operator set 18"):
        infer("ReduceMax", [tensor(BOTH, 4, 6)], {"noop_with_empty_axes": 1}, opset=17)


def test_attributes_are_those_of_the_operation():
    assert output("ReduceSum", tensor(ROWS, 4, 6), axes=[1], keep_dims=0) == normal(ROWS)
    found = infer("ReduceSum", [tensor(ROWS, 4, 6)], {"axes": [1], "keep_dims": 0})
    assert found.shape == (4,)
    assert reason("ReduceSum", tensor(ROWS, 4, 6), keepdim=0) == (
        "ReduceSum: there is no attribute keepdim: did you mean keepdims?"
    )
    assert reason("Add", tensor(ROWS, 4, 6), tensor(ROWS, 4, 6), axis=1) == (
        "Add: there is no attribute axis: Add has none"
    )
    assert "given twice, as 0 and as 1" in reason("ArgMax", tensor(ROWS, 4, 6), keep_dims=0, keepdims=1)
    with pytest.raises(LayoutError, match="before 7"):
        infer("Relu", [tensor(None, 4)], opset=6)
    assert "3 inputs are given, it has 2" in reason("Add", *[tensor(None, 4)] * 3)


def test_sizes_go_together():
    assert "axis 0 of input 1 has size 9, axis 1 of input 0 8" in reason(
        "MatMul", tensor(None, 4, 8), tensor(None, 9, 6)
    )
    fused = "{device=[0,1] sharded_dim=[{axis=0 simple_sharding=[{dim_value=2 num_shards=1} "
    fused += "{dim_value=4 num_shards=2}]}]}"
    assert "axis 0 has 6 elements, its factors [2, 4] are 8" in reason("Relu", tensor(fused, 6))
    ones = "{device=[-1] device_map={-1:[0,1]}}"
    assert output("Add", tensor(ones, 1), tensor(ones, 1)) == normal(ones)
    assert "does not broadcast to [2, 3]" in reason(
        "Gemm", tensor(None, 2, 4), tensor(None, 4, 3), tensor(None, 5, 2, 3)
    )


def test_symbolic_sizes_unify():
    rows = read_spec(ROWS_2)
    same = infer("Add", [Tensor(("N", 4), rows), Tensor(("N", 4), rows)])
    assert same.spec == rows and same.shape == ("N", 4)
    assert infer("Add", [Tensor(("N", 4), rows), Tensor((6, 4), rows)]).shape == (6, 4)
    assert infer("Add", [Tensor(("N", 4), rows), Tensor((1, 4))]).shape == ("N", 4)
    with pytest.raises(LayoutError, match="has size 6, axis 1 of input 0 N, which is 4; they run together"):
        infer("Add", [Tensor(("N", "N")), Tensor((4, 6))])


def test_the_distinguished_device():
    found = infer("ReduceSum", [tensor(ROWS_2, 4)], {"keepdims": 0})
    assert found.spec and found.spec.devices() == (0, 1)
    for device, expected in ((None, (0,)), (1, (1,))):
        spec = found.on_distinguished(device).spec
        assert spec and spec.devices() == expected
    with pytest.raises(LayoutError, match=r"device 2 takes no part in the reduction over devices \[0, 1\]"):
        found.on_distinguished(2)
    with pytest.raises(LayoutError, match="nothing is reduced"):
        infer("Relu", [tensor(ROWS_2, 4)]).on_distinguished()


def test_verdicts_and_the_documents_spellings():
    def verdict(op: str, *inputs: Tensor) -> str:
        with pytest.raises(LayoutError) as error:
            infer(op, inputs)
        return verdict_of(error.value)

    assert [verdict(op) for op in ("TfidVectorizer", "InstanceNorm", "Softmax")] == [
        "unsupported", "unsupported", "not covered by the document",
    ]  # fmt: skip
    assert verdict("Add", tensor(None, 4), tensor(None, 5)) == "invalid"
    assert infer("EinSum", [tensor(ROWS_2, 2, 3)], {"equation": "ij->ji"}).shape == (3, 2)
    assert LISTED < set(OPERATIONS) and "Div" not in LISTED
