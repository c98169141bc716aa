"""A function of a node's region stands in the program once, however often the node was printed."""

from __future__ import annotations

import pytest

import shardc

PROGRAM = """mesh pod[data=4, model=2]

def main(x: f32[8@data, 6@model], y: f32[8@data, 6@model]):
    z = exp(x) * y
    return argmax(z, axis=1)
"""


@pytest.mark.parametrize("target", ["jax", "numpy"])
def test_a_node_that_is_printed_with_shorter_operands_has_one_function(target: str) -> None:
    source = shardc.compile(PROGRAM, target=target).source
    device = source.partition("def device_main")[2].partition("def main")[0]
    names = [line.split("(")[0].split()[1] for line in device.splitlines() if line.strip().startswith("def ")]
    assert all(device.count(name) > 1 for name in names)
