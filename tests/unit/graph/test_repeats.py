"""Repeats in sequences: stretches that equal themselves a period later."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from shardc.graph.repeats import Repeat, repeats


def test_the_shortest_period_of_the_longest_stretch() -> None:
    assert repeats("axyzxyzxyb", least=2) == [Repeat(1, 3, 9)]
    assert repeats("abcabcabcabc", least=2) == [Repeat(0, 3, 12)]
    assert repeats("ababcababcababc", least=2) == [Repeat(0, 5, 15)]


def test_a_stretch_may_end_within_a_period() -> None:
    (found,) = repeats("abcdabcdab", least=2)
    assert (found, found.count, found.saved) == (Repeat(0, 4, 10), 2, 4)


def test_short_periods_are_left_out() -> None:
    assert repeats("aaaaaaabcbcbc", least=3) == [Repeat(0, 3, 7)]
    assert repeats("abcbcbc", least=4) == []
    assert repeats("", least=1) == repeats("a", least=1) == []


def test_several_stretches_come_in_order() -> None:
    assert repeats("abcdabcd" + "xyzxyzxyz", least=3) == [Repeat(0, 4, 8), Repeat(8, 3, 17)]


def test_those_that_together_save_most_are_taken() -> None:
    """Also where one stretch saves more than each of them, and where the two have an element in common."""
    text = ("aabcdefg" * 5 + "abcdefg") * 2
    (low, high) = repeats(text, least=4)
    assert (low, high) == (Repeat(0, 8, 41), Repeat(41, 8, 88))
    assert low.saved < Repeat(0, 47, 94).saved < low.saved + high.saved
    assert text[40:80] == text[48:88]  # so the second began before the first ends


@given(st.text("abc", max_size=40), st.integers(1, 5))
def test_what_is_found_repeats(text: str, least: int) -> None:
    found = repeats(text, least)
    for repeat in found:
        assert repeat.period >= least
        assert repeat.count >= 2
        stretch = text[repeat.start : repeat.stop]
        assert stretch[repeat.period :] == stretch[: -repeat.period]
    for one, other in pairwise(found):
        assert one.stop <= other.start
    starts = ((i, n) for n in range(least, 21) for i in range(len(text) - 2 * n + 1))
    assert bool(found) == any(text[i : i + n] == text[i + n : i + 2 * n] for i, n in starts)
