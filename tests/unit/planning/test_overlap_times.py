"""What the estimate for --overlap auto says."""

from __future__ import annotations

import pytest

from shardc.planning.overlap.times import OverlapWork, RingMachine

MACHINE = RingMachine(latency=1, bandwidth=10, flops=100, launch=0.5)


def test_apart() -> None:
    """Four devices: blocks of 50 bytes go two steps each way around, and then 800 operations."""
    assert OverlapWork("all-gather", 4, 50, 800).apart(MACHINE) == 2 * (1 + 5) + 8


def test_together() -> None:
    """A send of 6 s; a turn of two products of 2.5 s each beside sends of 6; then two products."""
    assert OverlapWork("all-gather", 4, 50, 800).together(MACHINE) == 6 + 6 + 2 * 2.5


def test_together_of_an_odd_ring() -> None:
    """Of three devices two have sent their block before the last product."""
    assert OverlapWork("all-gather", 3, 50, 900).together(MACHINE) == 6 + 2 * 3.5 + 3.5


def test_each_product_is_started_for_itself() -> None:
    one, three = (OverlapWork("all-gather", 4, 50, 800, products).together(MACHINE) for products in (1, 3))
    assert three - one == pytest.approx(2 * 1.0 + 1.0)


def test_bytes() -> None:
    assert OverlapWork("all-gather", 4, 50, 800).bytes == 150
