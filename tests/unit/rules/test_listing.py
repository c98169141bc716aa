"""docs/operations.md is what the table of rules says."""

from pathlib import Path

from shardc.ops import definitions
from shardc.rules.listing import page

RULES = {definition.name for definition in definitions() if definition.rule is not None}
PAGE = Path(__file__).parents[3] / "docs" / "operations.md"


def test_the_page_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == page()


def test_every_operation_is_listed_once() -> None:
    for name in RULES:
        assert page().count(f"\n| `{name}` |") == 1
