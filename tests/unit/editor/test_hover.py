"""What an editor shows of records, and of the names of loops that are written out turn by turn."""

from __future__ import annotations

import re

import pytest

from shardc.editor.analysis import Analysis
from shardc.editor.completion import completions
from shardc.editor.hover import hover

TEXT = """mesh m[i=2]
record Layer:
    "A product."
    w: f32[8, 8]

def main(x: f32[4@i, 8], layers: (Layer, Layer), a: f32[8], b: f32[8]):
    for layer in layers:
        x = tanh(x @ layer.w)
    for n, (p, k) in enumerate([(a, 2), (b, 0.5)]):
        x = x + p * k * n
    pairs = [(1, a) for _ in range(20)]
    for i, j in zip(range(20), pairs):
        x = x + i * j[1]
    return x
"""


@pytest.mark.parametrize(
    ("line", "word", "shown"),
    [
        (7, "layer", "layer: a Layer"),
        (8, "layer", "layer: a Layer"),
        (9, "n", "n: 0, 1"),
        (9, "p", "p: f32[8]"),
        (10, "k", "k: 2, 0.5"),
        (12, "i", "i: 0, 1, 2, 3, 4, 5, 6, 7, … (20 values)"),
        (12, "j", "j: (1, f32[8])"),
    ],
)
def test_unrolled(line: int, word: str, shown: str):
    column = re.search(rf"\b{word}\b", TEXT.splitlines()[line - 1])
    assert column is not None
    found = hover(Analysis(TEXT, "a.shard", 1, {}), line, column.start() + 1)
    assert found is not None and found[0] == f"```shard\n{shown}\n```"


def test_a_record_is_shown_with_its_docstring():
    found = hover(Analysis(TEXT, "a.shard", 1, {}), 6, TEXT.splitlines()[5].index("Layer") + 1)
    assert found is not None and found[0].endswith("w: f32[8, 8]\n```\n\nA product.")
    words = {one.word: one.doc for one in completions(Analysis(TEXT, "a.shard", 1, {}), 7, 9)}
    assert words["Layer"] == "A product."
