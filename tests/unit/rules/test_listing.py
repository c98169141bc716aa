"""docs/operations.md is what the table of rules says."""

from pathlib import Path

from shardc.rules.examples import EXAMPLES
from shardc.rules.listing import page
from shardc.rules.table import RULES

PAGE = Path(__file__).parents[3] / "docs" / "operations.md"


def test_the_page_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == page()


def test_every_operation_is_listed_once() -> None:
    for name in RULES:
        assert page().count(f"\n| `{name}` |") == 1


def test_examples_are_of_operations_with_rules() -> None:
    assert set(EXAMPLES) <= set(RULES)
