"""The table of operations as a page: python -m shardc.rules.listing > docs/operations.md

Every operation with a rule stands here, with the rule that it has for an example of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from shardc.ops import OpDef, definitions, rule_of
from shardc.ops.custom_calls import targets
from shardc.ops.rule import FactorRule
from shardc.ops.rule import name as letter

INTRODUCTION = """# Operations

Every operation that shardc can split, with its factor rule. `python -m shardc.rules.listing` prints this
page from the table of rules, and a test keeps it current.

A rule names the dimensions that belong together: `([i, k], [k, j])->([i, j]) reduction={k}` is a matrix
product, whose results are partial sums where k is split. A factor that is `blocked` does not spread.
"Whole" lists the factors that the operation itself, run on blocks, needs whole; [local
forms](local-forms.md) run some operations where those are split. "Partial results" says what may stay
partial on its way through: `sum {0, 1}` means that the operation is linear in operands 0 and 1 together,
`sum {0} {1}` in each of them alone; `max, min` that it keeps the order, `max <-> min` that it turns it
round.

Shardings propagate by these rules, but through `select_and_scatter` by [Shardy's](shardy.md). They are
those of examples; with other sizes and attributes they may be others. Loops, branches, calls, constants,
iota and barriers have none: their operands and results are laid out alike, or as their users want them.
"""


def page() -> str:
    """The whole page."""
    ruled = [definition for definition in definitions() if definition.rule is not None]
    tables = [
        f"## {title}\n\n{_table([d for d in ruled if d.name.startswith(prefix)])}"
        for title, prefix in (
            ("StableHLO", "stablehlo."),
            ("CHLO", "chlo."),
            ("sdy", "sdy."),
            ("shardc", "shardc."),
            ("Per-device code", "spmd."),
        )
    ]
    calls = ", ".join(f"`{target}`" for target in targets())
    custom = (
        "## Custom calls\n\nCustom calls have rules by target: LAPACK's (`lapack_spotrf_ffi` and so on), "
        "cuSOLVER's, cuBLAS's and hipSOLVER's, which work on one matrix of a stack after another, "
        "and in triangular solutions on blocks of columns; "
        f"{calls}.\n"
    )
    return "\n".join([INTRODUCTION, *tables, custom])


def _table(listed: Sequence[OpDef]) -> str:
    head = "| operation | rule | whole | partial results |\n| --- | --- | --- | --- |\n"
    return head + "".join(f"| {' | '.join(_row(definition))} |\n" for definition in listed)


def _row(definition: OpDef) -> Iterator[str]:
    assert definition.example is not None, definition.name
    rule = rule_of(definition.example)
    assert rule is not None, definition.name
    yield f"`{definition.name}`"
    yield f"`{_without_sizes(rule)}`"
    whole = [letter(i) for i, factor in enumerate(rule.factors) if not factor.is_plain and factor.size > 1]
    yield ", ".join(whole)
    yield "; ".join(_partials(rule))


def _without_sizes(rule: FactorRule) -> str:
    """The rule as sdy writes it, but for ` {i=8, j=4}`."""
    return re.sub(r" {[^{}]*}", "", str(rule), count=1)


def _partials(rule: FactorRule) -> Iterator[str]:
    if rule.reduction:
        yield f"makes {rule.reduction}"
    for kind, groups in (
        ("sum", rule.linear),
        ("max, min", rule.monotone),
        ("max <-> min", rule.antitone),
        ("max", rule.max_only),
        ("min", rule.min_only),
    ):
        if groups:
            yield f"{kind} {' '.join('{' + ', '.join(map(str, sorted(group))) + '}' for group in groups)}"


if __name__ == "__main__":
    print(page(), end="")
