"""Functions that call each other in a long chain: as many as Python can nest are functions again."""

import numpy as np

import shardc
from shardc.passes.outline_calls import DEEPEST
from tests.tolerance import assert_near

COUNT = 600


def test_a_chain_of_functions():
    lines = ["mesh pod[data=2]", "", "def f0(x: f32[4@data]) -> f32[4@data]:", "    return tanh(x)"]
    for number in range(1, COUNT):
        lines += [f"def f{number}(x: f32[4@data]) -> f32[4@data]:", f"    return f{number - 1}(x) + 1.0"]
    lines += ["def main(x: f32[4@data]) -> f32[4@data]:", f"    return f{COUNT - 1}(x)", ""]
    program = shardc.compile("\n".join(lines), target="numpy")
    assert program.source.count("\ndef f") == DEEPEST
    x = np.linspace(-1, 1, 4, dtype=np.float32)
    assert_near(program.main(x), np.tanh(x) + COUNT - 1, terms=COUNT)
