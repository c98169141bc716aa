"""Dtypes of ml_dtypes have names, digits and ends without it, and it is imported where they are used."""

from __future__ import annotations

import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest

from shardc.graph.types import DTYPES, FOUR_BITS, FP8, NUMPY, is_builtin, name_of
from shardc.interpret.tolerance import UNIT
from shardc.layout.limits import finfo, iinfo
from shardc.semantics.arrays import has_four_bits

PROGRAM = """mesh pod[data=2]

def main(x: f32[8@data, 4], w: {0}[4, 4]) -> f32[4, 4]:
    return x.T @ x + tanh(w.astype(f32))
"""
COMPILED = """import sys
import shardc

for dtype in ("f32", "bf16"):
    made = shardc.compile(sys.argv[1].replace("{0}", dtype)).source
    print("ml_dtypes" in sys.modules)
"""


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_dtype_has_its_name(dtype: str) -> None:
    assert dtype in DTYPES
    assert name_of(DTYPES[dtype][1]) == dtype
    assert is_builtin(dtype) == (DTYPES[dtype][1].isbuiltin == 1)
    assert has_four_bits(DTYPES[dtype][1]) == (dtype in FOUR_BITS)


def test_other_dtypes_have_none() -> None:
    for other in (np.dtype("S4"), np.dtype([("a", np.int8)]), np.dtype(object), np.dtype(">f4")):
        assert name_of(other) is None


def test_roundoffs_of_8_bits_are_those_of_their_names() -> None:
    assert {dtype: UNIT[dtype] for dtype in FP8} == {
        dtype: float(ml_dtypes.finfo(NUMPY[dtype]).eps) / 2 for dtype in FP8
    }


def test_limits() -> None:
    assert finfo(np.dtype(np.float32)).eps == np.finfo(np.float32).eps
    assert float(finfo(np.dtype(ml_dtypes.bfloat16)).max) == float(ml_dtypes.finfo("bfloat16").max)
    assert iinfo(np.dtype(ml_dtypes.int4)).max == 7
    assert iinfo(np.dtype(np.uint8)).bits == 8


def test_it_is_imported_for_its_dtypes_alone() -> None:
    done = subprocess.run(
        [sys.executable, "-c", COMPILED, PROGRAM], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["False", "True"]
