"""What is found between pairs of layouts is found once, and is the same as if it were not kept."""

import numpy as np
import pytest

from shardc.graph import TensorType
from shardc.layout import Mesh
from shardc.planning.reshard import pairs
from shardc.planning.reshard.distances import Distances, distances
from shardc.planning.reshard.runs import alone
from tests.unit.planning.test_distances import shardings

AXES = tuple((f"a{number}", 2) for number in range(5))
TYPE = TensorType((64, 96), "f32")


def some_layouts(count):
    """Layouts over the first two axes of five."""
    mesh = Mesh("m", AXES)
    return [each.__class__(mesh, each.dims, unreduced=each.unreduced) for each in shardings(AXES[:2], 2)][
        :count
    ]


@pytest.fixture
def asked(monkeypatch):
    """How many pairs were looked for, call by call."""
    counts, find = list[int](), Distances._by_parts

    def counted(table, sources, targets, rows, columns):
        counts.append(len(rows))
        return find(table, sources, targets, rows, columns)

    monkeypatch.setattr(Distances, "_by_parts", counted)
    return counts


def between(table, layouts):
    """From each of some layouts to each."""
    rows, columns = (each.ravel() for each in np.indices(2 * (len(layouts),)))
    return [each.reshape(2 * (len(layouts),)) for each in table.each(layouts, layouts, rows, columns)]


def anew():
    return Distances(alone(Mesh("m", AXES).several), 2)


def test_a_pair_is_looked_for_once(asked):
    every, table = some_layouts(12), anew()
    first, again = between(table, every[:8]), between(table, every[:8])
    assert (first[0] == again[0]).all() and (first[1] == again[1]).all()
    table.each(every[:10], every[:2], np.array([0, 9]), np.array([1, 1]))
    between(table, every)
    assert asked == [64, 1, 144 - 64 - 1]


def test_what_is_kept_is_what_is_found(asked):
    every, table = some_layouts(12), anew()
    for count in (3, 7, 12):
        between(table, every[:count])
    for mine, found in zip(between(table, every), between(anew(), every), strict=True):
        assert np.array_equal(mine, found)


def test_few_layouts_are_kept(asked, monkeypatch):
    monkeypatch.setattr(pairs, "MOST", 6)
    every, table = some_layouts(12), anew()
    expected = between(distances(alone(Mesh("m", AXES).several), 2), every)
    asked.clear()
    for some in (slice(4), slice(4), slice(3, 8), slice(4), slice(12), slice(12)):
        found = between(table, every[some])
        for mine, of in zip(found, expected, strict=True):
            assert np.array_equal(mine, of[some, some])
    assert asked == [16, 25, 16, 144, 144]
