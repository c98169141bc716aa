"""Runs a program once in exact arithmetic, on one device or on all devices in lockstep."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shardc.graph import Graph, Node, walk
from shardc.interpret.devices import Blocks, Lockstep, Trace
from shardc.ops import Trait, has
from shardc.proof import meanings_elementwise, meanings_structural, numbers
from shardc.proof.draws import Draw
from shardc.proof.table import meanings
from shardc.semantics.arrays import Array

TABLES = (meanings_elementwise, meanings_structural, numbers)
"""What must have been imported: the meanings, and exact elements as blocks' numbers."""


@dataclass(frozen=True, slots=True)
class Ran:
    """The results, and for every loop (by node) a bound on how often it ran."""

    results: list[Array]
    trips: dict[int, int]


def evaluate(graph: Graph, draw: Draw, inputs: Sequence[Array], trace: Trace | None = None) -> Ran:
    """Run the entry.

    Raises DrawAgain, Beyond; ShardcError, from BlockError, where devices that hold copies disagree.
    """
    counts: Counter[int] = Counter()
    draw.programs += 1

    def counted(node: Node, values: list[Blocks]) -> None:
        counts[node.id] += 1
        draw.settled(node)
        if trace is not None:
            trace(node, values)

    machine = Lockstep(graph, meanings=meanings(draw), trace=counted)
    with np.errstate(all="ignore"):
        results = machine.run(graph.main.body, [[array] for array in inputs], {})
    return Ran([blocks[0] for blocks in results], _trips(graph, counts))


def _trips(graph: Graph, counts: Counter[int]) -> dict[int, int]:
    nodes = (node for function in graph.functions.values() for node in walk(function.body))
    return {
        node.id: max(counts[inner.id] for inner in node.regions[1].nodes)
        for node in nodes
        if has(node.name, Trait.LOOP)
    }
