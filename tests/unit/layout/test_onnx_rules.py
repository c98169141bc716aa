"""ONNX's sharding formalism: validity, inferred outputs, and what must be combined."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from shardc.layout import LayoutError
from shardc.layout.notations.onnx_placement import placement
from shardc.layout.notations.onnx_text import read_spec, write_spec
from shardc.layout.onnx_contract import Reduction, Tensor
from shardc.layout.onnx_rules import OPERATIONS, UNSUPPORTED, infer

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
    assert "axis 0 of input 0 is broadcast and must be whole" in reason(
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
    assert "axis 0 of input 1 is split" in reason("QLinearMatMul", *args)


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
    assert reason("Conv", tensor(None, 4)) == "the formalism does not cover Conv"
    assert reason("Softmax", tensor(None, 4)) == "there is no sharding rule for Softmax"


def test_structure_is_checked_first():
    with pytest.raises(LayoutError, match="input 1 of Add: device index 3 is out of range; there are 2"):
        infer(
            "Add", [tensor(ROWS_2, 4), tensor("{device=[0,3] sharded_dim=[{axis=0 num_shards=2}]}", 4)], {}, 2
        )
    assert "sizes" in reason("Add", tensor(None, 4), tensor(None, 5))
