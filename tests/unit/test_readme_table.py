"""The table on the README's first screen says what stands in bench/results."""

from __future__ import annotations

import pytest

from bench import readme

SECTION = (
    "## {}\n\n{} of {} correct; {}{} with fewer bytes than the peer, {} with more. "
    "Run time over XLA's: median {} of\n\n"
)
MODELLED = (
    "7 plans of 3 programs on 8 processes of JAX.\n\n* Median error of the modelled time: 12%.\n"
    "* Pairs of plans, in the right order: 4 of 5 (80%).\n"
)
COMPILED = "shardc's CPU seconds over XLA's: median 0.99 of 9 programs; most 2.48, a.\n"


def test_the_table_is_current():
    assert readme.shown(readme.README.read_text(encoding="utf-8")) == readme.current(), (
        "python -m bench.readme --write"
    )


def test_what_is_worse_is_said():
    theory = "2 at theory (within 1 % plus 64 bytes); "
    results = "# Results\n\n" + "".join(
        SECTION.format(title, 2, 3, theory, 1, 1, 1.25) for title in readme._PROGRAMS
    )
    found = readme.table(results, COMPILED, MODELLED)
    assert "12% off the measured one, the median of 7 plans on 8 processes; of 5 pairs whose" in found
    assert "a fifth, 4 are in the right order" in found
    assert "6 of 9 are right,\n3 send fewer bytes and 3 more." in found
    assert "| 2 of 3 | 1, 1, 1 | 2 of 3 | 1.25 |" in found


def test_other_results_are_an_error():
    with pytest.raises(ValueError, match="the results are not in the form"):
        readme.table("# Results\n", COMPILED, MODELLED)
