"""The node tests of onnx, unsharded: right, or refused by name."""

from __future__ import annotations

import pytest

from tests.onnx_nodes import PAGE, Case, cases, outcome_of, outcomes, page


def test_a_case_of_each_operator() -> None:
    """A wrong result or an exception that is no ShardcError fails in `outcome_of`."""
    first: dict[str, Case] = {}
    for case in cases():
        if case.dense:
            first.setdefault(case.operator, case)
    found = [outcome_of(case) for case in first.values()]
    assert found.count("right") >= 185


@pytest.mark.slow
def test_enough_cases_are_right() -> None:
    dense = [outcomes()[case.name] for case in cases() if case.dense]
    assert dense.count("right") >= 1726


@pytest.mark.slow
def test_page_has_the_counts_of_today() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert page(text) == text
