"""Collectives that a matrix product can go on with: what is gathered only for products, products whose sum is

only scattered. Between the two may stand operations of one operand that keep the dimension as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import cast

from shardc.forms.plain import SIZED
from shardc.graph import Graph, Node, Region
from shardc.graph.text import title
from shardc.layout import Axis, size_of
from shardc.planning.figures import Work
from shardc.rules import FactorRule, Kind
from shardc.rules.table import rule_of

PRODUCTS = {"stablehlo.dot", "stablehlo.dot_general"}
Differs = Callable[[int, tuple[Axis, ...]], bool]
"""Whether a value differs between all devices along the axes, as far as its type says."""


class Unsuitable(Exception):
    """Why a collective stays as it is."""


@dataclass(frozen=True)
class Path:
    """From a gathered value to a product, or from a product to its scattered sum.

    `dims[i]` is the dimension of blocks in the operand of `nodes[i]`, and the last one that in the last
    result. `operands` are the block dimensions of the product's operands, None where one has none.
    """

    product: Node
    nodes: tuple[Node, ...]
    dims: tuple[int, ...]
    operands: tuple[int | None, int | None]
    result: int | None


@dataclass(frozen=True)
class Gather:
    """An all_gather whose result is used in products only; `sides[i]` is its operand of path i's product."""

    node: Node
    paths: tuple[Path, ...]
    sides: tuple[int, ...]


@dataclass(frozen=True)
class Scatter:
    """A reduce_scatter of a product that nothing else uses."""

    node: Node
    path: Path

    @property
    def paths(self) -> tuple[Path, ...]:
        return (self.path,)


Candidate = Gather | Scatter


def axes_of(node: Node) -> tuple[Axis, ...]:
    """The axes of a collective."""
    return cast("tuple[Axis, ...]", node.attrs["axes"])


def work(graph: Graph, candidate: Candidate) -> Work:
    """What there is to do."""
    node, size = candidate.node, size_of(axes_of(candidate.node))
    small = node.operands[0] if isinstance(candidate, Gather) else node.results[0]
    flops = 0
    for path in candidate.paths:
        op = graph.op(path.product)
        flops += 2 * op.results[0].size * _contracted(_rule(graph, path.product))
    return Work(size, graph.type(small).nbytes, flops, len(candidate.paths))


def _contracted(rule: FactorRule) -> int:
    size = 1
    for factor in rule.factors:
        size *= factor.size if factor.kind is Kind.REDUCTION else 1
    return size


@dataclass
class Finder:
    """Looks at the collectives of per-device code."""

    graph: Graph
    region: Region
    differs: Differs
    uses: dict[int, list[tuple[Node, int]]] = field(default_factory=dict[int, list[tuple[Node, int]]])
    producer: dict[int, Node] = field(default_factory=dict[int, Node])
    home: dict[int, int] = field(default_factory=dict[int, int])  # node -> the region it stands in

    def __post_init__(self) -> None:
        self._index(self.region)

    def _index(self, region: Region) -> None:
        for node in region.nodes:
            self.home[node.id] = id(region)
            self.producer.update(dict.fromkeys(node.results, node))
            for index, value in enumerate(node.operands):
                self.uses.setdefault(value, []).append((node, index))
            for inner in node.regions:
                self._index(inner)

    def candidate(self, node: Node) -> Candidate:
        """What can be made of an all_gather or reduce_scatter; Unsuitable if nothing."""
        if size_of(axes_of(node)) < 2:
            raise Unsuitable("there is one device along it")
        return self.gather(node) if node.name == "spmd.all_gather" else self.scatter(node)

    def gather(self, node: Node) -> Gather:
        """All uses of the result lead to products in the same region."""
        found = list(self._products(node, node.results[0], (), (cast(int, node.attrs["dim"]),)))
        if not found:
            raise Unsuitable("nothing uses it")
        products = [path.product for path, _ in found]
        for product in products:
            if products.count(product) > 1:
                raise Unsuitable(f"it is both operands of {title(product)}")
            if not self.differs(product.results[0], axes_of(node)):
                over = ", ".join(dict.fromkeys(axis.name for axis in axes_of(node)))
                raise Unsuitable(f"the result of {title(product)} must be the same along {over}")
        return Gather(node, tuple(path for path, _ in found), tuple(side for _, side in found))

    def _products(
        self, start: Node, value: int, nodes: tuple[Node, ...], dims: tuple[int, ...]
    ) -> Iterator[tuple[Path, int]]:
        """The products that a value reaches, and as which operand."""
        for node, operand in self.uses.get(value, []):
            if self.home[node.id] != self.home[start.id]:
                raise Unsuitable(f"{title(node)}, in a loop or branch, uses it")
            if node.name in PRODUCTS:
                yield self._product(node, operand, nodes, dims), operand
                continue
            if not node.results or node.regions:
                raise Unsuitable(f"{title(node)} uses it")
            after = self._through(node, dims[-1])
            yield from self._products(start, node.results[0], (*nodes, node), (*dims, after))

    def _product(self, node: Node, operand: int, nodes: tuple[Node, ...], dims: tuple[int, ...]) -> Path:
        rule = _rule(self.graph, node)
        (factor,) = rule.operands[operand][dims[-1]]
        operands = tuple(_dim(dims_of, factor) for dims_of in rule.operands)
        result = _dim(rule.results[0], factor)
        if result is None and rule.reduction != "sum":
            raise Unsuitable(f"the sums of {title(node)} cannot be added up in parts")
        return Path(node, nodes, dims, cast("tuple[int | None, int | None]", operands), result)

    def _through(self, node: Node, dim: int) -> int:
        """The dimension of the result that is dimension `dim` of the one operand."""
        rule = self._simple(node, dim)
        if rule is None:
            return dim
        factors = rule.operands[0][dim]
        after = _dim(rule.results[0], factors[0]) if len(factors) == 1 else None
        if after is None or not _passes(rule, factors[0]):
            raise Unsuitable(f"{title(node)} mixes dimension {dim} with others")
        return after

    def scatter(self, node: Node) -> Scatter:
        """The operand is a product, and nothing else uses it."""
        if node.attrs["kind"] != "sum":
            raise Unsuitable(f"it is by {node.attrs['kind']}, and a product is a sum")
        value, dims, nodes = node.operands[0], [cast(int, node.attrs["dim"])], list[Node]()
        while True:
            made = self.producer.get(value)
            if made is None or self.home[made.id] != self.home[node.id]:
                raise Unsuitable("what is summed is not a product made beside it")
            if len(self.uses[value]) > 1:
                raise Unsuitable(f"the result of {title(made)} has other uses")
            if made.name in PRODUCTS:
                break
            dims.insert(0, self._back(made, dims[0]))
            nodes.insert(0, made)
            value = made.operands[0]
        rule = _rule(self.graph, made)
        (factor,) = rule.results[0][dims[0]]
        operands = cast("tuple[int | None, int | None]", tuple(_dim(d, factor) for d in rule.operands))
        return Scatter(node, Path(made, tuple(nodes), tuple(dims), operands, dims[0]))

    def _back(self, node: Node, dim: int) -> int:
        """The dimension of the operand that is dimension `dim` of the result."""
        rule = self._simple(node, dim)
        if rule is None:
            return dim
        factors = rule.results[0][dim]
        before = _dim(rule.operands[0], factors[0]) if len(factors) == 1 else None
        if before is None or not _passes(rule, factors[0]):
            raise Unsuitable(f"{title(node)} mixes dimension {dim} with others")
        return before

    def _simple(self, node: Node, dim: int) -> FactorRule | None:
        """The rule of an operation that runs on blocks of its one operand as it is; None if it keeps all

        dimensions where they are.
        """
        if node.name == "spmd.vary" or (node.name == "spmd.all_slice" and node.attrs["dim"] != dim):
            return None
        rule = rule_of(self.graph.op(node)) if node.name.startswith(("stablehlo.", "chlo.")) else None
        alone = len(node.operands) == len(node.results) == 1 and not node.regions
        if rule is None or not alone or node.name in SIZED or node.name == "stablehlo.custom_call":
            raise Unsuitable(f"{title(node)} is no matrix product")
        return rule


def _rule(graph: Graph, node: Node) -> FactorRule:
    rule = rule_of(graph.op(node))
    assert rule is not None
    return rule


def _dim(dims: tuple[tuple[int, ...], ...], factor: int) -> int | None:
    """The dimension that is the factor, alone."""
    return next((dim for dim, factors in enumerate(dims) if factors == (factor,)), None)


def _passes(rule: FactorRule, factor: int) -> bool:
    return rule.factors[factor].kind is Kind.PASS and rule.factors[factor].is_plain
