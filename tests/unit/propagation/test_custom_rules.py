"""Factor rules as text."""

from __future__ import annotations

import pytest

from shardc.graph import Op, TensorType
from shardc.propagation.custom import check_rule, parse_rule


@pytest.mark.parametrize(
    "text",
    [
        "([i, k], [k, j])->([i, j]) {i=8, j=16, k=4} reduction={k}",
        "([ij, k])->([i, j, k]) {i=2, j=4, k=3} need_replication={k} permutation={i} blocked_propagation={j}",
        "([])->([])",
    ],
)
def test_round_trip(text: str) -> None:
    assert str(parse_rule(text + ", custom")).removesuffix(" {}") == text


def test_many_factors() -> None:
    names = [*(chr(ord("i") + i) for i in range(18)), "z_1", "z_2"]
    rule = parse_rule(f"([{', '.join(names)}])->() {{{', '.join(f'{n}=2' for n in names)}}}")
    assert len(rule.factors) == 20 and rule.operands == (tuple((i,) for i in range(20)),)


NONSENSE = (
    "",
    "[i]->[i]",
    "([i])->([i]) {j=4}",
    "([i])->([i]) {i=4} what={i}",
    "([i])->([i]) {i=4} reduction={j}",
    "([i])->([i]) {i=4} blocked_propagation={z_3}",
    "([i])->([i]) {i=4} need_replication={i} permutation={i}",
    "([i])->([i]) {i=4} permutation={i, i}",
    "([i])->([i]) {i=4} permutation={i} permutation={i}",
    "([i])->([i]) {i=4, i=2}",
    "([i])->([i]) {i=4, j=2}",
    "([, i])->([i]) {i=4}",
    "([i])->([i]) {i=4}, customm",
    "([i]->([i]) {i=4}, custom",
)


@pytest.mark.parametrize("text", NONSENSE)
def test_nonsense(text: str) -> None:
    with pytest.raises(ValueError, match="is no sharding rule"):
        parse_rule(text)


def test_a_tensor_without_elements() -> None:
    """JAX says so of inverses of no matrices, which `associative_scan` comes to."""
    assert [factor.size for factor in parse_rule("([i, j])->([i, j]) {i=0, j=2}, custom").factors] == [0, 2]


def test_a_rule_must_fit_its_operation() -> None:
    op = Op("stablehlo.custom_call", (TensorType((8, 4), "f32"),), (TensorType((8,), "f32"),), {})
    check_rule(parse_rule("([i, j])->([i]) {i=8, j=4}"), op)
    with pytest.raises(ValueError, match=r"operands of rank \[1\]"):
        check_rule(parse_rule("([i])->([i]) {i=8}"), op)
