"""What docstrings say of trees."""

from __future__ import annotations

from shardc.backend.python.told import told
from shardc.graph.trees import Branch, Interface

PARAMS = Branch((None,) * 4, "", ("a", "b", "c", "d"))
PAIR = Branch((None, None))
TYPES = ["f32[8] of f32[16@x]", "f32[2]", "f32[3]", "f32[4]"]
OTHERS = ["f32[16]", *TYPES[1:]]


def lines(results: Branch, given: list[str], moments: list[str]) -> list[str]:
    interface = Interface((("p", PARAMS), ("m", Branch((None, PARAMS))), ("x", None)), results)
    labels = [f"label{i}" for i in range(10)]
    return told(interface, [*zip(labels, [*TYPES, "i32[]", *moments, "f32[]"], strict=True)], given, 80)


def test_what_an_earlier_argument_has_is_said_once():
    assert lines(Branch((PARAMS, None)), [*TYPES, "f32[]"], TYPES) == [
        "label0: f32[8] of f32[16@x]",
        "label1: f32[2]",
        "label2: f32[3]",
        "label3: f32[4]",
        "label4: i32[]",
        "m[1]: as p",
        "label9: f32[]",
        "returns as p, f32[]",
    ]


def test_another_layout_and_what_is_small_are_said_in_full():
    assert lines(PAIR, ["f32[2]", "f32[3]"], OTHERS)[5:] == [
        "label5: f32[16]",
        "label6: f32[2]",
        "label7: f32[3]",
        "label8: f32[4]",
        "label9: f32[]",
        "returns f32[2], f32[3]",
    ]
    (*_, returns) = lines(Branch((PARAMS, PAIR)), [*OTHERS, "f32[2]", "f32[3]"], TYPES)
    assert returns == 'returns {"a": f32[16], "b": f32[2], "c": f32[3], "d": f32[4]}, (f32[2], f32[3])'
