"""What NumPy writes over while it has no name is not given one: its text goes on over several lines."""

import re
import tracemalloc
from typing import Any

import numpy as np
import pytest

import shardc
from shardc.options import Options

JOINS = """
mesh ring[d=2]

def main(x: f32[{rows}@d, 128], y: f32[{rows}@d, 128], z: f32[{rows}@d, 128]) -> f32[{rows}@d, 128]:
    return (
        x + y + concatenate((x[:, 9:], y[:, :9]), axis=1) + concatenate((y[:, 6:], x[:, :6]), axis=1)
    ) / z
"""
AT_ONCE = """\
    return (
        x
        + y
        + np.concatenate([x[:, 9:], y[:, :9]], axis=1)
        + np.concatenate([y[:, 6:], x[:, :6]], axis=1)
    ) / z
"""


def body(program: str, rows: int, target: str) -> str:
    """What a device runs, on blocks of half of the rows."""
    source = shardc.compile(program.format(rows=rows), Options(target=target)).source
    found = re.search(r'^def device_main.*?""".*?"""\n(.*?\n)\n\n', source, re.DOTALL | re.MULTILINE)
    assert found is not None
    return found[1]


@pytest.mark.parametrize("target", ["numpy", "mpi"])
def test_a_large_temporary_has_no_name(target: str):
    assert body(JOINS, 1024, target) == AT_ONCE


@pytest.mark.parametrize(("rows", "target"), [(1022, "numpy"), (1022, "mpi"), (1024, "jax")])
def test_what_is_not_written_over_has_a_name(rows: int, target: str):
    """Less than 256 KiB, or in JAX."""
    first, last = body(JOINS, rows, target).splitlines()
    assert first.startswith("    t = x + y + ") and last.startswith("    return (t + ")


ATTENDED = """
mesh ring[d=2]

def main(
    x: f32[{rows}@d, 64],
    w: f32[64, 8192],
    first_factor_of_two: f32[8192, 64],
    second_factor_of_two: f32[8192, 64],
) -> f32[{rows}@d, 64]:
    return (softmax(x @ w) @ first_factor_of_two + softmax(x @ (w + w)) @ second_factor_of_two) - x
"""


def test_no_variable_is_held_longer_for_it():
    """The first product is named before the second shares are made: those of the first are larger than it."""
    lines = body(ATTENDED, 2048, "numpy").splitlines()
    first = next(n for n, line in enumerate(lines) if line.endswith("@ first_factor_of_two"))
    assert lines[first].startswith("    product = ") and any("np.exp(" in line for line in lines[first:])


def test_the_sum_takes_the_memory_of_a_temporary():
    """As the text has it NumPy holds two arrays at once: the sum, and what is added to it."""
    block, scope = np.ones((512, 128), np.float32), dict[str, Any]({"np": np})
    exec(f"def f(x, y, z):\n{AT_ONCE}", scope)
    tracemalloc.start()
    try:
        scope["f"](block, block, block)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2.1 * block.nbytes
