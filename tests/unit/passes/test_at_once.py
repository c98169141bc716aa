"""Reshards that are marked as one collective are it where it leads there, and else planned as others are."""

from __future__ import annotations

import random

import pytest

from shardc.analysis.phases import PLAIN
from shardc.graph import TensorType
from shardc.layout import Dim, Mesh, Sharding
from shardc.passes.reshards_to_collectives import _at_once
from shardc.planning.machines import load
from shardc.planning.program.costs.rates import Rates
from shardc.planning.reshard.distances import distances
from shardc.planning.reshard.runs import alone

MESH = Mesh("m", (("x", 2), ("y", 4), ("z", 2)))
X, Y, Z = MESH.several


def on(*dims: tuple, unreduced: tuple = ()) -> Sharding:
    return Sharding(MESH, tuple(map(Dim, dims)), unreduced=unreduced)


@pytest.mark.parametrize("machine", ["h100-infiniband", "tpu-v5e", "laptop"])
def test_every_collective_of_a_quickest_way_leads_there(machine: str):
    axes, type, draw = MESH.several, TensorType((64, 128), "f32"), random.Random(machine)
    rates, marked = Rates(load(machine), MESH).over_whole_axes(), 0
    every = [
        on(*(tuple(axes[a] for a in dim) for dim in at.dims), unreduced=tuple(axes[a] for a in at.partial))
        for at in distances(alone(axes), 2).ways.index
    ]
    for _ in range(150):
        source, target = draw.sample(every, 2)
        for before, after, way in rates.made(type, source, (target,), PLAIN):
            if way.at_once:
                step = _at_once(way.steps[0].kind, before.layout(), after.layout())
                assert step is not None and step.attributes(before) is not None
                marked += 1
    assert marked > 100


@pytest.mark.parametrize(
    ("kind", "source", "target"),
    [
        ("all_to_all", on((X, Y), ()), on((X, Y), ())),
        ("all_to_all", on((X,), (Y,)), on((Y,), (X,))),
        ("all_to_all", on((X,), ()), on((), (Y,))),
        ("all_gather", on((X,), ()), on((), (X,))),
        ("all_reduce", on((X,), (), unreduced=(Z,)), on((), (), unreduced=(Z,))),
        ("collective_permute", on((X,), ()), on((Y,), ())),
        ("collective_permute", on((X,), (), unreduced=(Z,)), on((), (X,))),
        ("no_collective", on((X,), ()), on((), ())),
    ],
    ids=str,
)
def test_what_does_not_lead_there_is_none(kind: str, source: Sharding, target: Sharding):
    assert _at_once(kind, source, target) is None
