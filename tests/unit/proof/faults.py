"""A fault that is planted in programs: all-reduces that should sum take the maximum."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest
from msgspec.structs import replace

from shardc import compilation
from shardc.graph import Graph, Region
from shardc.ops import spmd


def plant(monkeypatch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Programs that a module compiles, by its name for `lower`, have the fault."""
    lower = compilation.lower

    def faulty(*arguments: Any, **named: Any) -> Graph:
        graph = lower(*arguments, **named)
        take_maximum(graph)
        return graph

    monkeypatch.setattr(module, "lower", faulty)


def take_maximum(graph: Graph) -> None:
    """The fault in all functions of a program."""
    for function in graph.functions.values():
        _take_maximum(function.body)


def _take_maximum(region: Region) -> None:
    for place, node in enumerate(region.nodes):
        for inner in node.regions:
            _take_maximum(inner)
        if node.name == spmd.all_reduce.name:
            region.nodes[place] = replace(node, attrs={**node.attrs, "kind": "max"})
