"""Runs of nodes that a person writes as one expression, made one node before printing.

    reduce; broadcast_in_dim            ->  idiom.keepdims    jnp.max(x, axis=1, keepdims=True)
    reduce of (x, iota) by comparison   ->  idiom.argmax      jnp.argmax(x, axis=1) (extremes.py)
    gather at indices from the end      ->  idiom.elements    table[ids]
    reshape; gather of whole slices     ->  idiom.take        jnp.take(table, ids, axis=0, mode="clip")
    gather at one place                 ->  dynamic_slice     x[:, i:i + 1]
    select(i < 0, i + n, i); dynamic_slice  ->  idiom.sliced  lax.dynamic_slice_in_dim(x, i, 4)
    dynamic_slice; reshape              ->  idiom.layer       ws[i], x[:, i]
    reshape; dynamic_update_slice       ->  idiom.put_layer   ys.at[i].set(y)
    dot_general; transpose              ->  idiom.einsum      jnp.einsum("bqhd,bkhd->bhqk", q, k) (turned.py)
    reshape; broadcast_in_dim           ->  broadcast_in_dim  x + bias, not x + bias[None, None]
    maximum(-inf, x)                    ->  idiom.same        x
    remainder of what is not negative   ->  idiom.modulo      (i + 1) % 4
    remainder with its sign mended      ->  idiom.modulo      (i - 1) % 4, .remainder in the language
    quotient with its rounding mended   ->  idiom.floor_divide    i // 2, .floored in the language
    select(i < 0, i + n, i), i >= 0     ->  idiom.same        i
    clamp(0, i, n - 1), 0 <= i < n      ->  idiom.same        i
    sort of (x, iota)                   ->  idiom.argsort     jnp.argsort(x, axis=1) (library_order.py)
    convert from bool; case of two      ->  stablehlo.if      lax.cond(p, if_true, if_false)

The last node of a run is replaced; the others are then used by nobody and are not printed.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from typing import cast

from msgspec.structs import replace

from shardc.analysis.loops import Constants, counted
from shardc.analysis.sizes import has_absolute
from shardc.analysis.usage import usage
from shardc.backend.python import idiom
from shardc.backend.python.extremes import argmax, greatest, place
from shardc.backend.python.gathers import at_one_place, put_without_ones, take, without_ones
from shardc.backend.python.grouping import grouped
from shardc.backend.python.identities import IDENTITIES, SIGNLESS, SIGNS
from shardc.backend.python.in_range import counted_from_the_start, greater, inside, lesser, places, within
from shardc.backend.python.library_elements import rows_from_the_end
from shardc.backend.python.library_idioms import LAST, MATCHERS
from shardc.backend.python.library_order import argsort
from shardc.backend.python.library_run import Other, Run, matching
from shardc.backend.python.modulo import by_positive, mended, modulo
from shardc.backend.python.moves import together
from shardc.backend.python.names import source_name
from shardc.backend.python.ranges import Range, splat
from shardc.backend.python.stacks import item, layer, put_layer
from shardc.backend.python.starts import counted_from_the_end
from shardc.backend.python.turned import of_transposed, transposed
from shardc.graph import Graph, Node, Region, identity, walk
from shardc.ops import Trait, combiner, has, hlo

_REDUCTIONS = {"sum", "max", "min", "prod", "and", "or"}


def fold(
    graph: Graph,
    region: Region,
    constants: Constants,
    known: Container[str],
    varying: Mapping[int, frozenset[str]] | None = None,
) -> Region:
    """The region with its idioms folded, and those of the regions in it; the given one stays as it is.

    `known` are the nodes that can be printed: a composite that is not among them stays as it is. `varying`
    are the mesh axes over which values differ; without it the text is to be compiled to the same program
    again, and what gives what it is given stays.
    """
    if varying is not None and has_absolute(region):
        signless = _Folder(graph, constants, usage(region).count, known, varying, (), (SIGNLESS,))
        region = signless.region(region, {})
    alone: set[int] = set()
    while True:
        folder = _Folder(graph, constants, usage(region).count, known, varying, alone)
        folded = folder.region(region, {})
        if not folder.pulled:
            break
        again = _Folder(graph, constants, usage(folded).count, known, varying, alone)
        folded = again.region(folded, {})
        lonely = {node.id for node in folder.pulled if not again.has_forward(node)}
        if not lonely:
            break
        alone |= lonely
    names = {node.name for node in walk(folded)}
    last = [table for table in (LAST, SIGNS) if not names.isdisjoint(table)]
    if varying is None or hlo.negate.name not in names:
        last = [table for table in last if table is not SIGNS]
    if not last:
        return folded
    return _Folder(graph, constants, usage(folded).count, known, varying, alone, last).region(folded, {})


class _Folder:
    def __init__(
        self,
        graph: Graph,
        constants: Constants,
        count: Mapping[int, int],
        known: Container[str],
        varying: Mapping[int, frozenset[str]] | None,
        alone: Container[int],
        tables: Sequence[_Table] | None = None,
    ) -> None:
        self.graph, self.constants, self.count, self.known = graph, constants, count, known
        self.varying = varying or {}
        self.tables = tables or (_TABLES if varying is None else (IDENTITIES, *_TABLES, _SHORTER))
        self.alone = alone
        """Nodes that are no derivatives of a function, as the forward pass does not have it."""
        self.pulled: list[Node] = []
        self.made: dict[int, Node] = {}
        self.counters: dict[int, Range] = {}
        self.compared: set[int] = set()
        self.attempts: dict[str, list[Callable[[_Folder, Node], Node | None]]] = {}

    def region(self, region: Region, counters: Mapping[int, Range]) -> Region:
        """`counters` are arguments that count, with the range they take."""
        self.counters.update(counters)
        tests = [node for node in region.nodes if node.name == hlo.compare.name]
        self.compared.update(value for test in tests for value in test.operands)
        nodes: list[Node] = []
        for node in grouped(self.graph, region.nodes, self.count, self.known):
            folded = self.node(node)
            self.made.update(dict.fromkeys(folded.results, folded))
            self.counters.update(places(self, folded))
            nodes.append(folded)
        return Region(region.args, nodes)

    def node(self, node: Node) -> Node:
        if has(node.name, Trait.REGION):
            regions = tuple(self.region(r, self.counting(node)) for r in node.regions)
            return _two_way(self, replace(node, regions=regions))
        if node.name not in self.attempts:
            self.attempts[node.name] = [each for table in self.tables for each in table.get(node.name, ())]
        for attempt in self.attempts[node.name]:
            folded = attempt(self, node)
            if folded is not None and folded.name in self.known:
                if folded.name != idiom.pulled_back.name:
                    return folded
                if node.id not in self.alone:
                    self.pulled.append(folded)
                    return folded
        return node

    def has_forward(self, pulled: Node) -> bool:
        """Whether the function of which a node is the derivative is a node now."""
        name, of = pulled.attrs["function"], pulled.operands[0]
        return any(node.name == name and node.operands[0] == of for node in self.made.values())

    def counting(self, node: Node) -> dict[int, Range]:
        found = counted(node, self.constants) if node.name == hlo.while_.name else None
        if found is None:
            return {}
        return {node.regions[1].args[found.index]: (found.start, found.stop)}

    def only(self, value: int, *names: str) -> Node | None:
        """The node that makes a value, if it is one of these, nobody else uses it, and it has no name."""
        made = self.made.get(value)
        if made is not None and made.name == idiom.same.name and self.count.get(value) == 1:
            return self.only(made.operands[0], *names)
        if made is None or made.name not in names or self.count.get(value) != 1:
            return None
        return made if source_name(self.graph.values[value].loc) is None else None

    def shape(self, value: int) -> tuple[int, ...]:
        return self.graph.type(value).shape

    def splat(self, value: int) -> object:
        """The element of a constant that has one, through broadcasts."""
        return splat(value, self.made)


def _two_way(folder: _Folder, node: Node) -> Node:
    """A case of two branches by a converted bool, as JAX lowers cond, is an if."""
    made = folder.made.get(node.operands[0]) if node.name == hlo.case.name else None
    if made is None or made.name != hlo.convert.name or len(node.regions) != 2:
        return node
    if folder.graph.type(made.operands[0]).dtype != "bool":
        return node
    return replace(node, name=hlo.if_.name, operands=made.operands, regions=node.regions[::-1])


def _keepdims(folder: _Folder, node: Node) -> Node | None:
    made = folder.only(node.operands[0], hlo.reduce.name)
    if made is None or len(made.results) != 1:
        return None
    if combiner(made.regions[0], folder.graph) not in _REDUCTIONS:
        return None
    before, after = folder.shape(made.operands[0]), folder.shape(node.results[0])
    dims = cast("tuple[int, ...]", made.attrs["dimensions"])
    kept = tuple(d for d in range(len(before)) if d not in dims)
    if node.name == hlo.reshape.name:
        fits = after == tuple(1 if d in dims else size for d, size in enumerate(before))
    else:
        fits = len(before) == len(after) and node.attrs["broadcast_dimensions"] == kept
    return replace(made, name=idiom.keepdims.name, results=node.results, loc=node.loc) if fits else None


def _spread(folder: _Folder, node: Node) -> Node | None:
    """New dimensions of size 1 are those that a broadcast makes."""
    made = folder.only(node.operands[0], hlo.reshape.name)
    if made is None:
        return None
    before, after = folder.shape(made.operands[0]), folder.shape(node.operands[0])
    if 1 in before or before != tuple(size for size in after if size != 1):
        return None
    dims = cast("tuple[int, ...]", node.attrs["broadcast_dimensions"])
    kept = tuple(dim for dim, size in zip(dims, after, strict=True) if size != 1)
    return replace(node, operands=made.operands, attrs={**node.attrs, "broadcast_dimensions": kept})


def _spread_twice(folder: _Folder, node: Node) -> Node | None:
    """x[:, None][:, :, None] is x[:, None, None]."""
    made = folder.only(node.operands[0], hlo.broadcast_in_dim.name)
    if made is None:
        return None
    before, dims = (cast("tuple[int, ...]", each.attrs["broadcast_dimensions"]) for each in (made, node))
    attrs = {**node.attrs, "broadcast_dimensions": tuple(dims[dim] for dim in before)}
    return replace(node, operands=made.operands, attrs=attrs)


def _argmax(folder: _Folder, node: Node) -> Node | None:
    for attempt in (argmax, place):
        try:
            return attempt(Run(folder), node)
        except Other:
            pass
    return None


def _argsort(folder: _Folder, node: Node) -> Node | None:
    try:
        return argsort(Run(folder), node)
    except Other:
        return None


def _take_of_ones(folder: _Folder, node: Node) -> Node | None:
    """table[:, None][ids][:, 0] is table[ids]."""
    made = without_ones(folder, node)
    if made is None:
        return None
    found = (attempt(folder, made) for attempt in (take, *MATCHERS[hlo.gather.name]))
    return next((one for one in found if one is not None and one.name in folder.known), made)


def _put_of_ones(folder: _Folder, node: Node) -> Node | None:
    """table.at[ids].add(rows) of rows with a dimension of size 1 for the index is that of the rows."""
    made = put_without_ones(folder, node)
    if made is None:
        return None
    found = (attempt(folder, made) for attempt in MATCHERS[hlo.scatter.name])
    return next((one for one in found if one is not None and one.name in folder.known), made)


def _at_one_place(folder: _Folder, node: Node) -> Node | None:
    made = at_one_place(folder, node)
    read = None if made is None else counted_from_the_end(folder, made)
    return read if read is not None and read.name in folder.known else made


def _neutral(kind: str) -> Callable[[_Folder, Node], Node | None]:
    """maximum(-inf, x) is x; JAX puts it into every softmax."""

    def attempt(folder: _Folder, node: Node) -> Node | None:
        dtype = folder.graph.type(node.results[0]).dtype
        for first, second in (node.operands, node.operands[::-1]):
            if dtype != "bool" and folder.splat(first) == identity(kind, dtype):
                return replace(node, name=idiom.same.name, operands=(second,))
        return None

    return attempt


_FOLDS: dict[str, tuple[Callable[[_Folder, Node], Node | None], ...]] = {
    hlo.broadcast_in_dim.name: (_keepdims, _spread, _spread_twice),
    hlo.reshape.name: (_keepdims, layer, item, _take_of_ones),
    hlo.reduce.name: (_argmax, matching(greatest)),
    hlo.remainder.name: (modulo,),
    hlo.select.name: (by_positive, mended, counted_from_the_start),
    hlo.gather.name: (matching(rows_from_the_end), take, _at_one_place),
    hlo.clamp.name: (within,),
    hlo.dynamic_slice.name: (counted_from_the_end,),
    hlo.dynamic_update_slice.name: (put_layer, counted_from_the_end),
    hlo.maximum.name: (_neutral("max"), greater),
    hlo.minimum.name: (_neutral("min"), lesser),
    hlo.sort.name: (_argsort,),
}

_Table = Mapping[str, tuple[Callable[[_Folder, Node], Node | None], ...]]
_TABLES: tuple[_Table, ...] = (_FOLDS, MATCHERS)
_SHORTER: _Table = {
    hlo.dot_general.name: (of_transposed,),
    hlo.reshape.name: (together,),
    hlo.scatter.name: (_put_of_ones,),
    hlo.select.name: (inside,),
    hlo.transpose.name: (transposed, together),
}
"""What becomes another program of the same results, such as one move of two."""
