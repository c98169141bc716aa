"""How many changes of annotations --cost tries."""

import shardc
from shardc.dialects.annotations import stated
from shardc.dialects.snapshot import snapshot
from shardc.frontend.read import read
from shardc.graph import Graph
from shardc.layout import Mesh
from shardc.options import Options
from shardc.planning.effort import Effort, counting, spend
from shardc.report.removal import Trial, with_removals
from shardc.report.tries import EACH, OPERATIONS, START, Tries

TEXT = """
mesh ring[r=4]

def main(x: f32[8@r, 8]) -> f32[8, 8]:
    return exp(x) + x
"""
SUM = """
mesh ring[r=4]

def main(x: f32[16, 32@r], w: f32[32@r, 8]) -> f32[16, 8]:
    return x @ w
"""
ALLOWED = 0.5


def graph() -> Graph:
    return snapshot(read(TEXT, Options(file="p.shard"))).graph


def done(tries: Tries, entries: int) -> int:
    """How many are tried, if each takes so many entries."""
    while tries.more():
        with tries.one():
            spend(entries)
    return tries.done


def test_as_many_as_asked_for_whatever_they_take() -> None:
    assert done(Tries.of(7, graph(), Effort()), 10**9) == 7
    assert done(Tries.of(0, graph(), Effort()), 0) == 0


def test_by_default_as_many_as_the_size_allows() -> None:
    operations = 3  # exp, add, return
    assert done(Tries.of(None, graph(), Effort()), 0) == OPERATIONS // operations


def test_what_is_hard_to_plan_is_tried_while_it_takes_half_a_compilation() -> None:
    compiled = Effort(4_000_000)
    found = done(Tries.of(None, graph(), compiled), 500_000)
    allowed = ALLOWED * (START + EACH * 3 + compiled.entries)
    assert (found - 1) * (500_000 + EACH * 3) < allowed <= found * (500_000 + EACH * 3)


def test_what_takes_more_than_is_left_is_given_up() -> None:
    tries = Tries.of(None, graph(), Effort())
    assert tries.left is not None
    ends: list[int] = []
    with tries.one():
        spend(tries.left)
        ends.append(1)
    assert ends == [1] and tries.left == -EACH * tries.operations
    tries = Tries.of(None, graph(), Effort())
    with tries.one():
        spend(1 + (tries.left or 0))
        ends.append(2)
    assert ends == [1] and not tries.more()


def test_where_a_try_is_given_up_nobody_says_that_nothing_helps() -> None:
    cost = shardc.cost(SUM, tries=0)
    (total,) = cost.collectives
    mesh = Mesh("ring", (("r", 4),))
    known = stated(read(SUM, Options(file="p.shard")))

    def price(trial: Trial) -> None:
        spend(1 + (tries.left or 0))

    tries = Tries.of(None, graph(), Effort())
    (open,) = with_removals(cost, mesh, known, price, tries).collectives
    assert total.removals is None and open.removals is None and tries.done == 1
    tries = Tries.of(None, graph(), Effort())
    (none,) = with_removals(cost, mesh, known, lambda trial: None, tries).collectives
    assert none.removals == ()


def test_effort_is_counted_by_all_who_count() -> None:
    with counting() as outer:
        spend(1)
        with counting() as inner:
            spend(2)
    spend(4)
    assert (outer.entries, inner.entries) == (3, 2)
