"""The table of rules, and what the rules say that Shardy's don't."""

import pytest

from shardc.graph import Op, TensorType
from shardc.ops import register, rule_of
from shardc.ops.elementwise.rules import opaque


def ruled(op):
    rule = rule_of(op)
    assert rule is not None
    return rule


def pointwise(name, dtype):
    type = TensorType((8,), dtype)
    return ruled(Op(f"stablehlo.{name}", (type, type), (type,), {}))


def groups(*sets):
    return tuple(frozenset(s) for s in sets)


def test_rules_are_remembered_by_what_the_operation_is():
    assert pointwise("add", "f32") is pointwise("add", "f32")
    assert pointwise("add", "f32") is not pointwise("add", "i32")


def test_unknown_operations_have_no_rule():
    assert rule_of(Op("stablehlo.while", (), (), {})) is None
    assert rule_of(Op("stablehlo.custom_call", (), (), {"call_target_name": "mine"})) is None


def test_other_dialects_bring_their_rules():
    op = Op("mine.op", (), (TensorType((4,), "f32"),), {})
    assert rule_of(op) is None
    register("mine.op", opaque)
    assert str(rule_of(op)) == "()->([i]) {i=4}"
    with pytest.raises(ValueError, match=r"mine\.op has a rule already"):
        register("mine.op", opaque)


def test_how_partials_flow_depends_on_the_dtype():
    assert pointwise("add", "f32").flows("max") == ((frozenset({0}), "max"), (frozenset({1}), "max"))
    assert pointwise("add", "i32").flows("max") == ()
    assert pointwise("add", "bool").flows("sum") == ()
    assert pointwise("subtract", "f32").flows("min") == ((frozenset({0}), "min"), (frozenset({1}), "max"))
    assert pointwise("multiply", "f32").linear == groups({0}, {1})
    assert pointwise("divide", "f32").linear == groups({0})
    assert pointwise("divide", "i32").linear == ()


def test_maxima_of_complex_numbers_are_no_partials():
    rule = pointwise("maximum", "c64")
    assert rule.monotone == rule.max_only == ()


@pytest.mark.parametrize(
    ("combiner", "dtype", "reduction"),
    [
        ("sum", "f32", "sum"),
        ("max", "f32", "max"),
        ("prod", "f32", None),
        (None, "f32", None),
        ("and", "bool", "min"),
        ("or", "bool", "max"),
        ("max", "c64", None),
    ],
)
def test_the_reduction_is_the_operations_own(combiner, dtype, reduction):
    operands = (TensorType((8, 4), dtype), TensorType((), dtype))
    op = Op("stablehlo.reduce", operands, (TensorType((8,), dtype),), {"dimensions": (1,)}, combiner)
    assert ruled(op).reduction == reduction
