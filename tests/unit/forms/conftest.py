"""Runs every form of an operation under every assignment on emulated devices, with NaN in the padding."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest

from shardc.forms.choice import Choice, ways_of
from shardc.forms.localize import replay
from shardc.forms.site import Site
from shardc.forms.table import form_named, forms_of
from shardc.graph import Graph
from shardc.interpret.collectives import Place
from shardc.interpret.run import run
from shardc.layout import Axis, Mesh, Sharding
from shardc.ops import combiners, op_of, rule_of
from shardc.semantics.blocks import assemble, cut
from tests.builders import BlocksBuilder
from tests.tolerance import assert_near

Check = Callable[[Graph, Sequence[Any], Mesh], list[Choice]]


@pytest.fixture
def check_forms() -> Check:
    """Checks all forms of the only operation of a program; the choices that ran, plain ones left out."""
    return _check


def _check(graph: Graph, arrays: Sequence[Any], mesh: Mesh) -> list[Choice]:
    (node, _) = graph.main.body.nodes
    op, seen = op_of(graph, node), list[Choice]()
    want = run(graph, arrays)
    for choice in _choices(graph, mesh):
        place = Place(mesh, tuple(range(mesh.size)))
        builder = BlocksBuilder(place)
        blocks = [_poisoned(a, s) for a, s in zip(arrays, choice.operands, strict=True)]
        order = [graph.main.body.args.index(v) for v in node.operands]
        regions = tuple(replay(graph, region) for region in node.regions)
        kinds = combiners(node.regions[0], graph) if node.regions else ()
        given = tuple(blocks[i] for i in order)
        site = Site(builder, op, choice.operands, choice.results, given, regions, kinds)
        have = form_named(op.name, choice.form).build(site)
        for array, result, sharding in zip(want, have, choice.results, strict=True):
            whole = assemble(_spread(result, mesh), sharding, array.shape)
            assert_near(whole, array, terms=64, text=str(choice))
        seen.append(choice)
    return seen


def _choices(graph: Graph, mesh: Mesh) -> Iterator[Choice]:
    """Every choice that a form other than the plain one has for one axis per factor."""
    (node, _) = graph.main.body.nodes
    op = op_of(graph, node)
    rule = rule_of(op)
    assert rule is not None
    options: list[tuple[Axis, ...]] = [
        (),
        *((mesh.axis(name),) for name in mesh.sizes),
        tuple(map(mesh.axis, mesh.sizes)),
    ]
    found: dict[Choice, None] = {}
    for assignment in product(options, repeat=len(rule.factors)):
        for form in forms_of(op.name):
            choice = ways_of(op, rule, mesh).choose(assignment, special=form.name)
            if choice is not None and choice.form != "plain":
                found[choice] = None
    yield from found


def _poisoned(array: Any, sharding: Sharding) -> list[Any]:
    """The blocks of an array, with rubbish in their padding."""
    inside = cut(np.ones(array.shape, bool), Sharding(sharding.mesh, sharding.dims))
    rubbish = np.nan if array.dtype.kind == "f" else 77
    return [
        np.where(true, block, np.asarray(rubbish, array.dtype))
        for block, true in zip(
            _spread(cut(array, sharding), sharding.mesh), _spread(inside, sharding.mesh), strict=True
        )
    ]


def _spread(blocks: list[Any], mesh: Mesh) -> list[Any]:
    """One block per device, also where all share one."""
    return blocks * mesh.size if len(blocks) == 1 else blocks
