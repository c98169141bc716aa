"""Collectives that matrix products can go on with: what is gathered only for products, products whose sum is

only scattered. Beside the products there may be other operations that run on blocks of the dimension.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from msgspec import Struct

from shardc.analysis.loops import Constants, counted
from shardc.analysis.text import title
from shardc.forms.plain import SIZED
from shardc.graph import Graph, Node, Region
from shardc.graph.marks import PARTIAL_OVER
from shardc.layout import Axis, size_of
from shardc.ops import Trait, has, hlo, is_tensor_op, op_of, spmd
from shardc.ops.registry import rule_of
from shardc.ops.rule import FactorRule, Kind
from shardc.planning.overlap.times import OverlapWork

DimOf = dict[int, int]
"""Values of which there are blocks -> the dimension that is cut into them."""


class Unsuitable(Exception):
    """Why a collective stays as it is."""


class BlockOp(Struct, frozen=True):
    """An operation on blocks: the dimension that is cut in each operand and in the result, None for none."""

    node: Node
    operands: tuple[int | None, ...]
    result: int | None

    @property
    def is_product(self) -> bool:
        return has(self.node.name, Trait.MATMUL)


class Candidate(Struct, frozen=True):
    """A collective that products can go on with, and all that is done on blocks then, in order.

    `terms` are operations beside the steps whose results are partial over the axes only because they are
    marked so: terms of a scattered sum that are cut into blocks. Where a stack is gathered of which a loop
    takes one layer after the other, `layer` takes it, and the layers can be gathered one by one.
    """

    node: Node
    steps: tuple[BlockOp, ...]
    terms: tuple[Node, ...] = ()
    layer: Node | None = None

    @property
    def is_gather(self) -> bool:
        return self.node.name == spmd.all_gather.name

    @property
    def axes(self) -> tuple[Axis, ...]:
        return axes_of(self.node)

    @property
    def dim(self) -> int:
        """The dimension that is gathered or scattered."""
        return cast(int, self.node.attrs["dim"])

    @property
    def products(self) -> tuple[BlockOp, ...]:
        return tuple(step for step in self.steps if step.is_product)


def axes_of(node: Node) -> tuple[Axis, ...]:
    """The axes of a collective."""
    return cast("tuple[Axis, ...]", node.attrs["axes"])


def work(graph: Graph, candidate: Candidate) -> OverlapWork:
    """What there is to do."""
    node, products = candidate.node, candidate.products
    small = graph.type(node.operands[0] if candidate.is_gather else node.results[0])
    block_bytes = small.nbytes // (small.shape[0] if candidate.layer else 1)
    flops = sum(2 * graph.type(p.node.results[0]).size * _contracted(graph, p.node) for p in products)
    operation = "all-gather" if candidate.is_gather else "reduce-scatter"
    return OverlapWork(operation, size_of(candidate.axes), block_bytes, flops, len(products))


def _contracted(graph: Graph, node: Node) -> int:
    size = 1
    for factor in _rule(graph, node).factors:
        size *= factor.size if factor.kind is Kind.REDUCTION else 1
    return size


class Finder(Struct, dict=True):
    """Looks at the collectives of per-device code.

    `differs` says whether a value differs between all devices along the axes, `is_partial` whether it is a
    partial result over some of them, as far as types say.
    """

    graph: Graph
    region: Region
    differs: Callable[[int, tuple[Axis, ...]], bool]
    is_partial: Callable[[int, tuple[Axis, ...]], bool]
    uses: dict[int, list[Node]] = {}
    producer: dict[int, Node] = {}
    home: dict[int, Region] = {}  # node -> where it stands
    around: dict[int, Node] = {}  # node -> the operation around it

    def __post_init__(self) -> None:
        self.constants = Constants(self.graph)
        self._index(self.region, None)

    def _index(self, region: Region, around: Node | None) -> None:
        for node in region.nodes:
            self.home[node.id] = region
            if around:
                self.around[node.id] = around
            self.producer.update(dict.fromkeys(node.results, node))
            for value in node.operands:
                self.uses.setdefault(value, []).append(node)
            for inner in node.regions:
                self._index(inner, node)

    def candidate(self, node: Node) -> Candidate:
        """What can be made of an all_gather or reduce_scatter; Unsuitable if nothing."""
        if size_of(axes_of(node)) < 2:
            raise Unsuitable("there is one device along it")
        gathers = node.name == spmd.all_gather.name
        layer = self._layer(node) if gathers else None
        steps = self._after(node, layer or node) if gathers else self._before(node)
        return Candidate(node, steps, self._terms(node, steps), layer)

    def _terms(self, node: Node, steps: tuple[BlockOp, ...]) -> tuple[Node, ...]:
        """Partial results that are cut. Where depends on the device, so they lose their mark, or stay."""
        inside = {value for step in steps for value in step.node.results}
        found: dict[int, Node] = {}
        for step in steps:
            for value, dim in zip(step.node.operands, step.operands, strict=True):
                if value in inside or dim is None or not self.is_partial(value, axes_of(node)):
                    continue
                made = self.producer.get(value)
                if made is None or self.uses[value] != [step.node] or not self._is_marked(made, node):
                    raise Unsuitable(f"{title(step.node)} takes a partial result")
                found[made.id] = made
        return tuple(found.values())

    def _is_marked(self, made: Node, node: Node) -> bool:
        """Whether a result is partial by its mark, and not because an operand is."""
        flows = any(self.is_partial(value, axes_of(node)) for value in made.operands)
        return PARTIAL_OVER in made.attrs and not flows

    # ---- all_gather, then products

    def _layer(self, gather: Node) -> Node | None:
        """What takes the layers of a gathered stack, all in the turns of one loop."""
        shape, users = self.graph.type(gather.results[0]).shape, self.uses.get(gather.results[0], [])
        loop = self.around.get(users[0].id) if len(users) == 1 else None
        if loop is None or loop.name != hlo.while_.name or self.home[loop.id] is not self.home[gather.id]:
            return None
        (user,), turns = users, counted(loop, self.constants)
        takes = user.name == hlo.dynamic_slice.name and user.attrs["slice_sizes"] == (1, *shape[1:])
        alone = self.home[user.id] is loop.regions[1] and gather.attrs["dim"] != 0
        return user if takes and alone and turns is not None and turns.trips == shape[0] else None

    def _after(self, gather: Node, source: Node) -> tuple[BlockOp, ...]:
        """Everything that uses `source`, the gather or what takes a layer of it, up to products."""
        dim_of: DimOf = {source.results[0]: cast(int, gather.attrs["dim"])}
        pending, steps = [source.results[0]], dict[int, BlockOp]()
        while pending:
            value = pending.pop()
            for node in self.uses.get(value, []):
                if node.id not in steps:
                    steps[node.id] = step = self._user(source, node, dim_of)
                    if not step.is_product:
                        dim_of[node.results[0]] = cast(int, step.result)
                        pending.append(node.results[0])
        for step in steps.values():
            self._check_user(gather, step, dim_of)
        if not any(step.is_product for step in steps.values()):
            raise Unsuitable("no product uses it")
        return tuple(steps[number] for number in sorted(steps))

    def _user(self, source: Node, node: Node, dim_of: DimOf) -> BlockOp:
        if self.home[node.id] is not self.home[source.id]:
            raise Unsuitable(f"{title(node)}, in a loop or branch, uses it")
        index, value = next((i, value) for i, value in enumerate(node.operands) if value in dim_of)
        step = self._step(node, lambda rule: rule.operands[index], dim_of[value])
        if step is None or (step.result is None and not step.is_product):
            raise Unsuitable(f"{title(node)} uses it, which is no matrix product")
        return step

    def _check_user(self, gather: Node, step: BlockOp, dim_of: DimOf) -> None:
        for value, dim in zip(step.node.operands, step.operands, strict=True):
            if value in dim_of and dim != dim_of[value]:
                raise Unsuitable(f"it is more than one operand of {title(step.node)}")
        if not step.is_product:
            return
        if step.result is None and _rule(self.graph, step.node).reduction != "sum":
            raise Unsuitable(f"the sums of {title(step.node)} cannot be added up in parts")
        if not self.differs(step.node.results[0], axes_of(gather)):
            over = ", ".join(dict.fromkeys(axis.name for axis in axes_of(gather)))
            raise Unsuitable(f"the result of {title(step.node)} must be the same along {over}")

    # ---- products, then reduce_scatter

    def _before(self, scatter: Node) -> tuple[BlockOp, ...]:
        """Everything that only the sum uses, from products on."""
        if scatter.attrs["kind"] != "sum":
            raise Unsuitable(f"it is by {scatter.attrs['kind']}, and a product is a sum")
        pending, steps = [(scatter.operands[0], cast(int, scatter.attrs["dim"]))], dict[int, BlockOp]()
        while pending:
            value, dim = pending.pop()
            step = self._maker(scatter, value, dim)
            if step is None:
                continue
            steps[step.node.id] = step
            if not step.is_product:
                pairs = zip(step.node.operands, step.operands, strict=True)
                pending += [(operand, cut) for operand, cut in pairs if cut is not None]
        if not any(step.is_product for step in steps.values()):
            made = self.producer.get(scatter.operands[0])
            what = "what is summed" if made is None else title(made)
            raise Unsuitable(f"{what} is no matrix product, or its result has other uses")
        return tuple(steps[number] for number in sorted(steps))

    def _maker(self, scatter: Node, value: int, dim: int) -> BlockOp | None:
        """What makes a value, if it can be made in blocks and nothing else uses it."""
        node = self.producer.get(value)
        if node is None or self.home[node.id] is not self.home[scatter.id] or len(self.uses[value]) > 1:
            return None
        return self._step(node, lambda rule: rule.results[0], dim)

    # ---- both

    def _step(
        self, node: Node, dims_of: Callable[[FactorRule], tuple[tuple[int, ...], ...]], dim: int
    ) -> BlockOp | None:
        """The operation on blocks of dimension `dim` of one of its tensors; None if it has no such form."""
        if node.name == spmd.vary.name or (node.name == spmd.all_slice.name and node.attrs["dim"] != dim):
            return BlockOp(node, (dim,), dim)
        if not _runs_on_blocks(node):
            return None
        rule = rule_of(op_of(self.graph, node))
        factors = dims_of(rule)[dim] if rule else ()
        if rule is None or len(factors) != 1 or not _is_whole(rule, factors[0], node):
            return None
        operands, results = (
            [_dim(dims, factors[0]) for dims in side] for side in (rule.operands, rule.results)
        )
        return BlockOp(node, tuple(operands), results[0])


def _runs_on_blocks(node: Node) -> bool:
    """Whether nothing but its operands' types says how large the operation is."""
    ours = is_tensor_op(node.name) and node.name != hlo.custom_call.name
    return ours and len(node.results) == 1 and not node.regions and node.name not in SIZED


def _is_whole(rule: FactorRule, factor: int, node: Node) -> bool:
    """Whether the factor is a dimension of its own wherever it occurs, and its blocks are independent."""
    alone = all(factors == (factor,) for dims in rule.tensors for factors in dims if factor in factors)
    passes = rule.factors[factor].kind is Kind.PASS or has(node.name, Trait.MATMUL)
    return alone and passes and rule.factors[factor].is_plain


def _rule(graph: Graph, node: Node) -> FactorRule:
    rule = rule_of(op_of(graph, node))
    assert rule is not None
    return rule


def _dim(dims: tuple[tuple[int, ...], ...], factor: int) -> int | None:
    """The dimension that is the factor."""
    return next((dim for dim, factors in enumerate(dims) if factors == (factor,)), None)
