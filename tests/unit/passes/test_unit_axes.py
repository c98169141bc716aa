"""Axes of one device change nothing but the mesh of a program, wherever they are named."""

from __future__ import annotations

import shardc

PROGRAM = """
mesh pod[{one}data=2, {two}model=4]

@shard_map
def normed(h: f32[32@{data}, 64@{model}]) -> f32[32@{data}, 64@{model}]:
    return h / sqrt(psum(sum(h * h, axis=1), {model}))[:, None]

def main(x: f32[32@{data}, 60], a: f32[60, 64@{model}], b: f32[64@{model}, 30]) -> f32[32@{data}, 30]:
    h = normed(tanh(x @ a))
    return softmax(h @ b)
"""


def _device_main(**names: str) -> str:
    """What is emitted of the program before `main`, which comes before the mesh."""
    return shardc.compile(PROGRAM.format(**names), target="numpy").source.partition("\ndef main(")[0]


def test_they_are_in_no_plan() -> None:
    plain = _device_main(one="", two="", data="data", model="model")
    named = {"data": "(one, data)", "model": "(model, two)"}
    assert _device_main(one="one=1, ", two="two=1, ", **named) == plain
