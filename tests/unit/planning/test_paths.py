"""Paths over collectives are looked for where somebody asks for them, and once."""

from __future__ import annotations

import numpy as np

from shardc.planning.reshard import ways as module
from shardc.planning.reshard.distances import all_ways


def searched(monkeypatch):
    """The starts of every search to come, and a graph that nobody has asked."""
    found, plain = [], module.shortest_paths

    def counted(size, edges, starts):
        found.append(starts.tolist())
        return plain(size, edges, starts)

    ways = all_ways.__wrapped__((2, 4), 2)
    ways.shared.between(*2 * (np.arange(len(ways.found)),))
    monkeypatch.setattr(module, "shortest_paths", counted)
    return found, ways


def test_ways_to_partial_results_are_looked_for_where_one_is_asked_for(monkeypatch):
    """To others it is as far whether results may be made partial or not."""
    found, ways = searched(monkeypatch)
    paths = ways.timed(np.where(ways.collectives.free, 0.0, 1.0))
    every, whole = np.arange(len(ways.found)), np.flatnonzero(~ways.partial)
    some, before = paths.between(every, whole), len(found)
    all_, after = paths.between(every, every), len(found)
    assert after == 2 * before > 0
    np.testing.assert_array_equal(all_[:, whole], some)
    rows, columns = (each.ravel() for each in np.indices(all_.shape))
    np.testing.assert_array_equal(paths.pairs(rows, columns), all_.ravel())
    assert len(found) == after


def test_what_it_takes_to_make_results_partial_changes_no_other_way(monkeypatch):
    found, ways = searched(monkeypatch)
    free, unreduces = ways.collectives.free, ways.collectives.unreduces
    whole, lengths = np.flatnonzero(~ways.partial), np.where(free, 0.0, 1.0)
    one = ways.timed(lengths).between(whole, whole)
    before = len(found)
    other = ways.timed(np.where(unreduces, 0.25, lengths))
    np.testing.assert_array_equal(other.between(whole, whole), one)
    assert len(found) == before > 0
    partial = np.flatnonzero(ways.partial)
    assert (other.between(whole, partial) >= ways.timed(lengths).between(whole, partial)).all()
    assert len(found) > before
