"""Element types: ONNX's numbers and shardc's names."""

from __future__ import annotations

from onnx import TensorProto

DTYPES: dict[int, str] = {
    TensorProto.FLOAT: "f32",
    TensorProto.UINT8: "u8",
    TensorProto.INT8: "i8",
    TensorProto.UINT16: "u16",
    TensorProto.INT16: "i16",
    TensorProto.INT32: "i32",
    TensorProto.INT64: "i64",
    TensorProto.BOOL: "bool",
    TensorProto.FLOAT16: "f16",
    TensorProto.DOUBLE: "f64",
    TensorProto.UINT32: "u32",
    TensorProto.UINT64: "u64",
    TensorProto.BFLOAT16: "bf16",
    TensorProto.COMPLEX64: "c64",
    TensorProto.COMPLEX128: "c128",
    TensorProto.FLOAT8E4M3FN: "f8e4m3fn",
    TensorProto.FLOAT8E4M3FNUZ: "f8e4m3fnuz",
    TensorProto.FLOAT8E5M2: "f8e5m2",
    TensorProto.FLOAT8E5M2FNUZ: "f8e5m2fnuz",
    TensorProto.FLOAT8E8M0: "f8e8m0fnu",
    TensorProto.INT4: "i4",
    TensorProto.UINT4: "u4",
}
"""TensorProto.DataType -> dtype. Strings, floats of fewer than 8 bits and integers of 2 have none."""

NUMBERS = {name: number for number, name in DTYPES.items()}


def dtype_name(number: int) -> str:
    """What ONNX calls an element type."""
    known = TensorProto.DataType.items()
    return next((name.lower() for name, value in known if value == number), f"element type {number}")
