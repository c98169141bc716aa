"""All cases by name."""

from __future__ import annotations

from corpus import control_flow, elementwise, indexing, linear_algebra, movement, reductions, training
from corpus.case import Case

FAMILIES = (control_flow, elementwise, indexing, linear_algebra, movement, reductions, training)
CASES: dict[str, Case] = {name: case for family in FAMILIES for name, case in family.CASES.items()}
assert len(CASES) == sum(len(family.CASES) for family in FAMILIES), "two cases have one name"
