"""Constants: bits are kept, splats stay splats, wrong text is an error."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.builtin import ComplexType, Float32Type, IntegerType, Signedness, TensorType, f64

from shardc.dialects.dense import DenseAttr, dense_attr, float_text, parse_literal, text_of
from shardc.dialects.snapshot import snapshot
from shardc.dialects.text import print_module
from shardc.dialects.types import ELEMENTS
from shardc.frontend.mlir import read
from shardc.graph import Dense

f32 = Float32Type()


def value(body, element, *shape):
    return parse_literal(body, TensorType(element, shape)).data.value


@pytest.mark.parametrize(
    ("body", "dtype", "expected"),
    [
        ("0xFF800000", "f32", -np.inf),
        ("0x7F800000", "f32", np.inf),
        ("0xFFF0000000000000", "f64", -np.inf),
        ("0xFF80", "bf16", -np.inf),
        ("0xFC00", "f16", -np.inf),
        ("0x3F800000", "f32", 1.0),
        ("-1.500000e+00", "f32", -1.5),
        ("0x10", "i32", 16),
        ("-128", "i8", -128),
        ("true", "bool", True),
        ("(1.0,0xFF800000)", "c64", complex(1, -np.inf)),
    ],
)
def test_scalars(body, dtype, expected):
    assert value(body, ELEMENTS[dtype]).data == expected


def test_nan_keeps_its_bits():
    dense = value("0x7FC00001", f32)
    assert dense.data.view(np.uint32) == 0x7FC00001
    assert text_of(dense) == "0x7FC00001"


def test_infinity_from_jax_is_not_read_as_a_number():
    module = read("""
func.func @main() -> tensor<f32> {
  %0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
  return %0 : tensor<f32>
}""")
    (node, _) = snapshot(module).graph.main.body.nodes
    assert node.attrs["value"] == Dense(np.array(-np.inf, np.float32), ())
    assert "dense<0xFF800000>" in print_module(module)


def test_a_huge_splat_stays_one_element():
    dense = value("1.0", f32, 10**9, 10**9)
    assert dense.is_splat and dense.shape == (10**9, 10**9)
    assert text_of(dense) == "1.000000e+00"


def test_a_splat_in_hexadecimal():
    dense = value('"0x000080BF"', f32, 4096, 4096)
    assert dense.is_splat and dense.data == -1


def test_one_element_counts_as_a_splat():
    assert value("[7]", ELEMENTS["i32"], 1) == value("7", ELEMENTS["i32"], 1)


def test_lists_and_bytes_are_the_same_value():
    numbers = value("[[1, 2], [3, 4]]", ELEMENTS["i16"], 2, 2)
    assert numbers == value('"0x0100020003000400"', ELEMENTS["i16"], 2, 2)
    assert numbers.array().tolist() == [[1, 2], [3, 4]]


def test_truth_values_have_a_byte_each():
    assert value('"0x000100"', ELEMENTS["bool"], 3).array().tolist() == [False, True, False]


def test_empty():
    assert value("", f32, 0, 4).array().shape == (0, 4)


@pytest.mark.parametrize(
    ("body", "dtype", "shape", "message"),
    [
        ("[1, 2]", "i32", (3,), "nesting"),
        ("[[1, 2]]", "i32", (2,), "nesting"),
        ("[1, 2] 3", "i32", (2,), "after the last element"),
        ("", "f32", (2,), "asks for 2 elements, but there are 0"),
        ("300", "i8", (), "does not fit int8"),
        ("-1", "u8", (), "does not fit uint8"),
        ("1.5", "i32", (), "1.5 is no integer"),
        ("x", "f32", (), "x is no number"),
        ("0x1FF800000", "f32", (), "width"),
        ("2", "bool", (), "write true or false"),
        ("1.0", "c64", (), "(real,imaginary)"),
        ('"0x00"', "i32", (2,), "asks for 2 elements"),
        ('"zz"', "i32", (2,), "hexadecimal"),
    ],
)
def test_what_does_not_fit(body, dtype, shape, message):
    with pytest.raises(ValueError, match=message.replace("(", r"\(").replace(")", r"\)")):
        value(body, ELEMENTS[dtype], *shape)


@given(st.floats(width=32), st.sampled_from([np.float32, np.float64, np.float16, ml_dtypes.bfloat16]))
def test_floats_are_written_exactly(number, dtype):
    with np.errstate(over="ignore"):
        x = np.array(number).astype(dtype)[()]
    element = {"float32": f32, "float64": f64}.get(x.dtype.name) or ELEMENTS[
        {"float16": "f16", "bfloat16": "bf16"}[x.dtype.name]
    ]
    assert value(float_text(x), element).data.tobytes() == x.tobytes()


@pytest.mark.parametrize("count", [5, 100])
@pytest.mark.parametrize(
    "element",
    [f32, ComplexType(f32), IntegerType(8), IntegerType(64, Signedness.UNSIGNED), IntegerType(1)],
    ids=str,
)
def test_arrays_are_written_exactly(element, count):
    from shardc.dialects.types import numpy_of

    data = np.arange(count).astype(numpy_of(element))
    dense = Dense(data, (count,))
    attr = dense_attr(dense, TensorType(element, (count,)))
    assert isinstance(attr, DenseAttr)
    assert value(text_of(dense), element, count) == dense
