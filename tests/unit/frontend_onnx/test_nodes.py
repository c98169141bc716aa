"""The node tests of onnx, unsharded: right, or refused by name."""

from __future__ import annotations

from tests.onnx_nodes import PAGE, cases, outcomes, page


def test_enough_cases_are_right() -> None:
    """A wrong result or an exception that is no ShardcError fails in `outcomes`."""
    dense = [outcomes()[case.name] for case in cases() if case.dense]
    assert dense.count("right") >= 1760


def test_page_has_the_counts_of_today() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert page(text) == text
