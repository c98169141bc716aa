"""Numbers print as MLIR prints them, digit for digit."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from shardc.dialects.float_text import float_text

DTYPES = {"f32": np.float32, "f64": np.float64, "bf16": ml_dtypes.bfloat16, "f16": np.float16}


def test_examples() -> None:
    numbers = [1.0, 0.1, 3.14159265, 1.2345678e-7, 123456789.0, -0.0, float("inf")]
    assert [float_text(np.float32(x)) for x in numbers] == [
        "1.000000e+00",
        "1.000000e-01",
        "3.14159274",
        "1.23456786E-7",
        "0x4CEB79A3",
        "-0.000000e+00",
        "0x7F800000",
    ]


@pytest.mark.parametrize("name", DTYPES)
def test_as_jaxlib_prints(name: str) -> None:
    pytest.importorskip("jax")
    from jax._src.interpreters import mlir
    from jaxlib.mlir import ir

    random = np.random.default_rng(7)
    dtype = np.dtype(DTYPES[name])
    spread = random.standard_normal(100) * 10.0 ** random.integers(-5, 5, 100)
    bits = np.frombuffer(random.bytes(dtype.itemsize * 200), dtype)
    with mlir.make_ir_context(), ir.Location.unknown():
        for number in [*spread.astype(dtype), *bits]:
            attribute = ir.Attribute.parse(
                f"dense<0x{number.tobytes()[::-1].hex().upper()}> : tensor<{name}>"
            )
            assert f"dense<{float_text(number)}> : tensor<{name}>" == str(attribute)
