"""Programs with a collective beside a matrix product, and what overlapping makes of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from shardc.analysis.loops import Constants, counted
from shardc.dialects.context import make_context
from shardc.dialects.snapshot import snapshot
from shardc.frontend.text import read
from shardc.graph import Graph, Region
from shardc.interpret.run import run
from shardc.layout import Axis, size_of
from shardc.ops import Trait, names, sent
from shardc.passes.pipeline import run_to

Traffic = Counter[str]
"""Bytes sent by a device, by collective."""


@dataclass(frozen=True)
class Product:
    """bmk,bkn->bmn over a mesh, with letter `letter` of operand `side` gathered, or of the result scattered.

    `sizes` are those of b, m, k and n; `axes` is what the letter is split over, as the language writes it.
    """

    mesh: str
    axes: str
    side: str
    letter: str
    sizes: tuple[int, int, int, int]
    dtype: str = "f32"

    @property
    def text(self) -> str:
        if self.side == "result":
            lhs, rhs, result = self._type("bmk", "k"), self._type("bkn", "k"), self._type("bmn", self.letter)
            dim = "bmn".index(self.letter)
            body = f"""    part = einsum("bmk,bkn->bmn", lhs, rhs)
    return psum_scatter(part, {self.axes}, scatter_dimension={dim}, tiled=True)"""
        else:
            other = "n" if self.side == "lhs" else "m"
            lhs = self._type("bmk", self.letter if self.side == "lhs" else other)
            rhs = self._type("bkn", self.letter if self.side == "rhs" else other)
            result = self._type("bmn", other)
            dim = ("bmk" if self.side == "lhs" else "bkn").index(self.letter)
            gather = f"all_gather({self.side}, {self.axes}, axis={dim}, tiled=True, to='invarying')"
            operands = f"{gather}, rhs" if self.side == "lhs" else f"lhs, {gather}"
            body = f"""    return einsum("bmk,bkn->bmn", {operands})"""
        return f"""mesh {self.mesh}
@shard_map
def main(lhs: {lhs}, rhs: {rhs}) -> {result}:
{body}
"""

    def _type(self, letters: str, split: str) -> str:
        sizes = dict(zip("bmkn", self.sizes, strict=True))
        dims = [f"{sizes[x]}@{self.axes}" if x == split else str(sizes[x]) for x in letters]
        return f"{self.dtype}[{', '.join(dims)}]"


def local(text: str, **options: object) -> Graph:
    """The per-device program; `options` are those of the pass overlap, which doesn't run without any."""
    module = read(text, "p.shard", {}, None)
    passes = {"overlap": cast("dict[str, str]", options)} if options else {}
    run_to(make_context(), module, "local", options=passes)
    return snapshot(module).graph


def whole_numbers(graph: Graph) -> list[Any]:
    """Arguments of small integers, whose products and sums are exact."""
    rng = np.random.default_rng(0)
    return [rng.integers(-4, 5, t.shape).astype(t.numpy) for t in graph.types(graph.main.body.args)]


def same_results(text: str, **options: object) -> tuple[Graph, Graph]:
    """The per-device programs without and with overlap, after a look at whether they compute the same."""
    plain, overlapped = local(text), local(text, **(options or {"when": "on"}))
    arrays = whole_numbers(plain)
    for want, have in zip(run(plain, arrays), run(overlapped, arrays), strict=True):
        np.testing.assert_array_equal(want, have)
    return plain, overlapped


def traffic(graph: Graph) -> Traffic:
    """What a device sends, in all turns of all loops."""
    total: Traffic = Counter()
    _count(graph, graph.main.body, Constants(graph), 1, total)
    return total


def _count(graph: Graph, region: Region, constants: Constants, times: int, total: Traffic) -> None:
    for node in region.nodes:
        loop = counted(node, constants) if node.name == "stablehlo.while" else None
        if node.name in names(Trait.COLLECTIVE):
            axes = cast("Sequence[Axis]", node.attrs["axes"])
            amount = sent(node.name, graph.type(node.operands[0]).nbytes, size_of(axes))
            total[node.name.removeprefix("spmd.")] += times * amount
        if node.name == "func.call":
            _count(graph, graph.functions[str(node.attrs["callee"])].body, constants, times, total)
        for inner in node.regions:
            _count(graph, inner, constants, times * (loop.trips if loop else 1), total)
