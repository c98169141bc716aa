"""Copies that several users share: cuts, against a flow for each user."""

from __future__ import annotations

import json
from functools import partial
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import astuple

from shardc.planning.machines import load
from shardc.planning.program import plan_program
from shardc.planning.program.integer.building import again
from shardc.planning.program.integer.cuts import Shared, SharedCopies
from shardc.planning.program.integer.highs import Limits, Rows, Solved, minimum
from shardc.planning.program.integer.solver import Row
from shardc.planning.program.problem.lacked import Lacked, as_lists, from_lists
from shardc.planning.program.remembered import known
from shardc.planning.program.search.exact import whole
from shardc.planning.solvers import Vector
from tests.unit.planning.test_known import propagated

SIZE = 4
ARCS = [*permutations(range(SIZE), 2)]
ONE = 0
"""A column that is 1."""

SHARING = """
mesh m[x=2, y=4]

def main(a: f32[64@x, 64], w: f32[64, 64@y], v: f32[64, 64]) -> (f32[64@x, 64], f32[64, 64@y], f32[64, 64@x]):
    h = tanh(a @ w)
    return h @ v, v @ h, exp(h)
"""

FEW = st.lists(st.sampled_from(range(SIZE)), min_size=1, max_size=3, unique=True)


class Tree:
    """A value that is given in one of some layouts, and that each user needs in one of some: columns of which
    one is 1, then those of copies."""

    def __init__(self, given: list[int], needs: list[list[int]]) -> None:
        self.rows, self.width, self.cuts = Rows(), 1, 0
        self.put([ONE], 1)
        ends = [{place: [self.column()] for place in each} for each in (given, *needs)]
        for each in ends:
            self.put([column for (column,) in each.values()], 1)
        sources, targets = np.array(ARCS).T
        self.shared = Shared(SIZE, self.width, sources, targets, ends[0], ends[1:])
        self.width += len(ARCS)

    def column(self) -> int:
        self.width += 1
        return self.width - 1

    def put(self, columns: list[int], sum: float) -> None:
        self.rows.add([([(column, 1.0) for column in columns], sum, sum)])

    def costs(self, arcs: list[int]) -> Vector:
        return np.array([0.0] * self.shared.first + [float(cost) for cost in arcs])

    def lacking(self, columns: Vector) -> list[Row]:
        found = SharedCopies([self.shared]).lacking(columns, {})
        for terms, low, _ in found:  # none that the solution keeps to
            assert sum(factor * columns[at] for at, factor in terms) < low
        self.rows.add(found)
        self.cuts += len(found)
        return found

    def with_flows(self) -> int:
        """Have a flow for each user; the number of columns."""
        count = len(ARCS)
        for need in self.shared.needs:
            first = self.width
            self.width += count
            for at in range(count):
                self.rows.add([([(first + at, 1.0), (self.shared.first + at, -1.0)], -np.inf, 0.0)])
            for place in range(SIZE):
                terms = [(first + at, 1.0) for at, (_, end) in enumerate(ARCS) if end == place]
                terms += [(first + at, -1.0) for at, (start, _) in enumerate(ARCS) if start == place]
                terms += [(column, 1.0) for column in self.shared.given.get(place, ())]
                terms += [(column, -1.0) for column in need.get(place, ())]
                self.rows.add([(terms, 0.0, 0.0)])
        return self.width


def solved(tree: Tree, costs: Vector, whole: bool = False) -> Solved:
    found = minimum(costs, tree.rows, [whole] * len(costs), lacking=tree.lacking)
    assert found is not None
    return found


def test_copies_that_are_made_of_each_other_lead_nowhere() -> None:
    """From 0 to 1 and 2: it is dear to leave 0, and nothing to go on."""
    tree = Tree([0], [[1], [2]])
    costs = tree.costs([0 if 0 not in arc else 9 for arc in ARCS])
    found = solved(tree, costs)
    assert tree.cuts > 0 and found.whole_bound == 9
    assert not SharedCopies([tree.shared]).lacking(found.columns, {})


def test_no_rows_are_added_to_what_shows_enough() -> None:
    """It is dear to leave 0; with few rows two copies are made of each other."""
    cuts = dict[float, int]()
    for enough in (0, 2, np.inf):
        tree = Tree([0], [[1], [2]])
        costs = tree.costs([1 if 0 not in arc else 9 for arc in ARCS])
        found = minimum(costs, tree.rows, [True] * len(costs), Limits(enough), lacking=tree.lacking)
        assert found is not None and min(enough, 10) <= found.whole_bound <= 10
        cuts[enough] = tree.cuts
    assert cuts[0] == 0 < cuts[2] < cuts[np.inf]


@given(FEW, st.lists(FEW, min_size=1, max_size=3), st.lists(st.integers(0, 5), min_size=12, max_size=12))
def test_cuts_say_what_flows_say(given: list[int], needs: list[list[int]], arcs: list[int]) -> None:
    cut, flow = Tree(given, needs), Tree(given, needs)
    costs = cut.costs(arcs)
    more = np.concatenate([costs, np.zeros(flow.with_flows() - len(costs))])
    linear = minimum(more, flow.rows, [False] * len(more))
    assert linear is not None
    assert abs(solved(cut, costs).value - linear.value) < 1e-6
    integer = minimum(more, flow.rows, [True] * len(more))
    assert integer is not None
    assert solved(cut, costs, whole=True).whole_bound == integer.whole_bound


def test_a_network_that_is_built_again_has_the_cuts_that_were_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known, "_RECENT", {})
    net = whole(plan_program(propagated(SHARING), machine=load("h100-infiniband")).problem)
    assert net is not None and net.shared.values
    rows = len(net.rows.low)
    columns = np.zeros(len(net.integral))
    columns[[ends[0] for ends in net.shared.values[0].needs[0].values()]] = 1.0
    found = net.lacking(columns)
    assert found and not net.lacking(columns)
    more = again(net)
    assert (
        len(more.rows.low) == rows + len(found) == len(net.rows.low) and more.shared.cuts == net.shared.cuts
    )


def test_what_one_value_lacked_another_has_from_the_start() -> None:
    """Of two values in places of the same numbers the second one needs no rounds, but for other users."""
    lacked: Lacked = {}
    first, alike, unlike = Tree([0], [[1], [2]]), Tree([0], [[1], [2]]), Tree([0], [[1], [3]])
    costs = first.costs([0 if 0 not in arc else 9 for arc in ARCS])
    lacking = partial(SharedCopies([first.shared]).lacking, lacked=lacked)
    assert minimum(costs, first.rows, [False] * len(costs), lacking=lacking) is not None
    assert lacked == from_lists(json.loads(json.dumps(as_lists(lacked)))) != {}
    for tree, rounds in ((alike, 0), (unlike, 1)):
        known = SharedCopies([tree.shared])
        known.have(known.known(lacked), tree.rows)
        found = solved(tree, costs)
        assert found.whole_bound == 9 and (tree.cuts > 0) == (rounds > 0)


@given(FEW, st.lists(FEW, min_size=1, max_size=3), st.sets(st.sampled_from(range(SIZE)), min_size=1))
def test_rows_that_are_had_are_those_that_are_added(
    given: list[int], needs: list[list[int]], inside: set[int]
) -> None:
    had, added = Tree(given, needs), Tree(given, needs)
    cuts = [(frozenset(inside), user) for user in range(len(needs))]
    SharedCopies([had.shared]).have(((0, cut) for cut in cuts), had.rows)
    added.rows.add(added.shared.rows(cuts))
    for each, other in zip(
        astuple(had.rows.sums(had.width)), astuple(added.rows.sums(had.width)), strict=True
    ):
        assert np.array_equal(each, other)
