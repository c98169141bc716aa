"""Complex numbers of infinite parts in emitted NumPy: 1j times an infinity has a NaN."""

from __future__ import annotations

import numpy as np

import shardc
from shardc.semantics import ops

PROGRAM = """mesh m[x=2]
def main(a: f32[4@x], b: f32[4@x]) -> c64[4@x]:
    return complex(a, b)
"""


def test_infinite_parts() -> None:
    a, b = np.array([[1, 2, -np.inf, 0], [np.inf, -np.inf, np.inf, -0.0]], np.float32)
    made = shardc.compile(PROGRAM, target="numpy").main(a, b)
    np.testing.assert_array_equal(made.real, a)
    np.testing.assert_array_equal(made.imag, b)


def test_a_part_that_is_one_number() -> None:
    text = PROGRAM.replace("complex(a, b)", "complex(0.0 * a[0] + 2, b) + complex(a, 3.0)")
    a, b = np.array([[1, 2, 3, 4], [5, 6, 7, 8]], np.float32)
    compiled = shardc.compile(text, target="numpy")
    np.testing.assert_array_equal(compiled.main(a, b), a + 2 + (b + 3) * 1j)
    two = np.array(2, np.float32)
    for parts in ((two, b), (b, two)):
        np.testing.assert_array_equal(ops.complex_(*parts), parts[0] + parts[1] * 1j)


def test_devices_of_mpi_have_the_same_function() -> None:
    source = shardc.compile(PROGRAM, target="mpi").source
    assert "def complex_(" in source and "ops.complex_(a, b)" in source
