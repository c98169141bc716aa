"""Why a tensor is split as it is: for every axis the annotation it came from and the way it took, and for
every axis that did not come, what stopped it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise

from msgspec import Struct

from shardc.analysis.text import name_of, operation
from shardc.diagnostics import source_line, visible
from shardc.explain.records import Explanation, Origin, OriginStep, Stopped, ValueReport
from shardc.graph import Graph, Location, Node, walk
from shardc.graph.types import TensorType
from shardc.layout import Axis, Mesh, Sharding, text_of
from shardc.ops import sdy
from shardc.ops.rule import name as factor_name
from shardc.propagation.edges import edges_of
from shardc.propagation.provenance import Hop, Provenance
from shardc.propagation.stops import Stop, Stops


class Explainer(Struct, dict=True):
    """Answers questions about one propagation of `graph`.

    `layouts` has the final layout of values, by id.
    """

    graph: Graph
    provenance: Provenance
    layouts: Mapping[int, Sharding] = {}

    def __post_init__(self) -> None:
        result = self.provenance.result
        self._stops = Stops(result)
        self._value_at: dict[int, int] = {}
        for body in result.bodies:
            for value, place in body.places.items():
                self._value_at.setdefault(place, value)
        self._places = {v: p for body in reversed(result.bodies) for v, p in body.places.items()}
        self._stated_of = {
            node.results[0]: node.operands[0]
            for function in self.graph.functions.values()
            for node in walk(function.body)
            if node.name == sdy.sharding_constraint.name
        }
        self._linked = {link.node.id for link in result.flow.links}
        self._silent = self._find_silent()

    def named(self, name: str) -> tuple[ValueReport, ...]:
        """The values of a name, or made in a line if `name` is a number."""
        wanted = name.lstrip("%")
        values = [v for v in self._places if self._called(v) == wanted]
        if not values and wanted.isdigit():
            values = [v for v in self._places if self.graph.values[v].loc.line == int(wanted)]
        return tuple(self.report(value) for value in sorted(values))

    def overview(self) -> Explanation:
        """What went wrong, or may have: conflicts, and tensors left whole."""
        conflicts: dict[tuple[object, ...], Stopped] = {}
        whole: list[ValueReport] = []
        for value, place in sorted(self._places.items()):
            if value >= len(self.graph.values):
                continue
            stops = self._stopped(value, place)
            for stop in stops:
                if stop.reason in ("conflict", "priority"):
                    key = (stop.where, stop.operation, frozenset({stop.axis, stop.by or ""}))
                    conflicts.setdefault(key, stop)
            found = self.provenance.result.found[place]
            if self.graph.type(value).rank and not (found and any(dim.axes for dim in found.dims)):
                whole.append(self.report(value))
        whole.sort(key=lambda report: -report.bytes)
        return Explanation((), tuple(conflicts.values()), tuple(whole))

    def report(self, value: int) -> ValueReport:
        """Everything about one value."""
        place = self._places[value]
        found = self.provenance.result.found[place]
        type = self.graph.type(value)
        origins = tuple(
            self._origin(place, dim, axis, found.mesh)
            for dim, held in enumerate(found.dims if found else ())
            for axis in held.axes
            if found
        )
        layout = self.layouts.get(value)
        return ValueReport(
            self._label(value),
            str(type),
            _where(self.graph.values[value].loc),
            type.nbytes,
            _sharding_text(found, type),
            None if layout is None else str(layout),
            origins,
            tuple(self._stopped(value, place)),
        )

    # Where axes came from

    def _origin(self, place: int, dim: int, axis: Axis, mesh: Mesh) -> Origin:
        hops = self.provenance.trail(place, dim, axis)
        steps = tuple(self._step(hop, following) for hop, following in pairwise(hops))
        last = hops[-1]
        priority = self._priority(last)
        return Origin(
            text_of(axis, mesh), dim, self._annotation(last.place), self._place_name(last.place), priority,
            steps[::-1],
        )  # fmt: skip

    def _step(self, hop: Hop, source: Hop) -> OriginStep:
        if hop.link is None:
            return OriginStep("sharding group", "", "", self._place_name(source.place))
        node = hop.link.node
        factor = factor_name(hop.factor)
        return OriginStep(operation(node), _where(node.loc), factor, self._place_name(source.place))

    def _priority(self, hop: Hop) -> int:
        start = self.provenance.result.flow.start[hop.place]
        return (start.dims[hop.dim].priority or 0) if start else 0

    def _annotation(self, place: int) -> str:
        """The position of what was stated about a place: on the value itself, or by a constraint on it."""
        value = self._value_at.get(place)
        if value is None:
            return self._border(place)
        start = self.provenance.result.flow.start[place]
        if value < len(self.graph.values) and self.graph.values[value].sharding is not None:
            return _where(self.graph.values[value].loc)
        for function in self.graph.functions.values():
            for node in walk(function.body):
                if node.name == sdy.sharding_constraint.name and value in (*node.operands, *node.results):
                    if start is None or value in node.results or node.attrs["sharding"] == start:
                        return _where(node.loc)
        return _where(self.graph.values[value].loc)

    def _border(self, place: int) -> str:
        for name, places in self.provenance.result.flow.results.items():
            if place in places:
                return _where(self.graph.functions[name].loc)
        return "?"

    # What did not come

    def _stopped(self, value: int, place: int) -> list[Stopped]:
        """What a constraint states holds for its operand, so what stopped there stopped here."""
        stops = list(self._stops.at(place))
        if value in self._stated_of:
            stops += self._stops.at(self._places[self._stated_of[value]])
        return [*self._by_links(stops), *self._by_silence(value)]

    def _by_links(self, stops: list[Stop]) -> Iterator[Stopped]:
        seen: set[tuple[object, ...]] = set()
        for stop in stops:
            mesh = self._mesh(stop)
            node = stop.link.node
            reason, text, by = self._explained(stop, mesh)
            key = (stop.dim, stop.axis, node.id, reason)
            if key not in seen:
                seen.add(key)
                yield Stopped(
                    text_of(stop.axis, mesh), stop.dim, operation(node), _where(node.loc),
                    self._place_name(stop.source), reason, text, by,
                )  # fmt: skip

    def _mesh(self, stop: Stop) -> Mesh:
        found = self.provenance.result.found
        return next(s.mesh for p in (stop.source, *stop.link.tensors) if (s := found[p]) is not None)

    def _explained(self, stop: Stop, mesh: Mesh) -> tuple[str, str, str | None]:
        """The reason, a sentence, and the annotation in the way."""
        if stop.reason == "conflict" and stop.other is not None:
            return self._conflict(stop, mesh)
        axis = text_of(stop.axis, mesh)
        if stop.culprit >= 0:
            culprit = self._place_name(stop.culprit)
            return stop.reason, f"{culprit}, another tensor of the operation, cannot take {axis}", None
        return stop.reason, _SENTENCES[stop.reason].format(axis=axis, dim=stop.dim, factor=_size(stop)), None

    def _conflict(self, stop: Stop, mesh: Mesh) -> tuple[str, str, str | None]:
        assert stop.other is not None
        winner = self._holder(stop)
        mine = self._origin(winner, stop.other_dim, stop.other, mesh) if winner is not None else None
        theirs = self._origin(stop.source, stop.source_dim, stop.axis, mesh)
        other = text_of(stop.other, mesh)
        by = None if mine is None else mine.annotation
        from_ = "" if mine is None else f", which {mine.annotated} says at {mine.annotation}"
        if stop.other_dim == stop.dim:
            text = f"dimension {stop.dim} is split by {other}{from_}"
        else:
            text = f"{other} splits dimension {stop.other_dim} already{from_}"
        if mine is not None and mine.priority < theirs.priority:
            return "priority", f"{text}, and p{mine.priority} comes before p{theirs.priority}", by
        return "conflict", text, by

    def _holder(self, stop: Stop) -> int | None:
        """A tensor of the operation that has the axis in the way: the place itself if it does."""
        found = self.provenance.result.found
        for place in (stop.place, *stop.link.tensors):
            sharding = found[place]
            if sharding is None or stop.other is None or stop.other_dim >= sharding.rank:
                continue
            if any(axis.overlaps(stop.other) for axis in sharding.dims[stop.other_dim].axes):
                return place
        return None

    def _find_silent(self) -> dict[int, list[Node]]:
        """By value, the operations that made or use it and have no rule."""
        silent: dict[int, list[Node]] = {}
        for function in self.graph.functions.values():
            for node in walk(function.body):
                known = node.id in self._linked or edges_of(node, self.graph) is not None
                if known or node.name.endswith(("return", "sharding_group")) or not node.operands:
                    continue
                for value in dict.fromkeys((*node.operands, *node.results)):
                    silent.setdefault(value, []).append(node)
        return silent

    def _by_silence(self, value: int) -> Iterator[Stopped]:
        for node in self._silent.get(value, ()):
            here = self.provenance.result.found[self._places[value]]
            for other in node.operands if value in node.results else node.results:
                sharding = self.provenance.result.found[self._places[other]]
                for dim in sharding.dims if sharding else ():
                    for axis in dim.axes[:1]:
                        if here is not None and any(axis.overlaps(a) for d in here.dims for a in d.axes):
                            continue
                        text = f"{operation(node)} has no sharding rule"
                        yield Stopped(
                            text_of(axis, sharding.mesh) if sharding else axis.name, -1, operation(node),
                            _where(node.loc), self._label(other), "no rule", text,
                        )  # fmt: skip

    # Names

    def _called(self, value: int) -> str | None:
        return _name(self.graph.values[value].loc) if value < len(self.graph.values) else None

    def _label(self, value: int) -> str:
        loc = self.graph.values[value].loc
        return _name(loc) or (f"line {loc.line}" if loc.line else f"value {value}")

    def _place_name(self, place: int) -> str:
        value = self._value_at.get(place)
        if value is not None and value < len(self.graph.values):
            return self._label(value)
        for name, places in self.provenance.result.flow.results.items():
            if place in places:
                return f"result {places.index(place)} of {name}"
        return "a constant"


_ASSIGNED = re.compile(r"\s*%([\w$.-]+)(?::\d+)? = ")

_SENTENCES = {
    "closed": "the annotation closes dimension {dim}",
    "replicated": "the annotation says that {axis} does not split this tensor",
    "partial": "the tensor is a partial result over {axis}",
    "divides": "{axis} does not divide a part of size {factor} of dimension {dim}",
    "barrier": "a propagation barrier",
    "blocked": "the operation needs dimension {dim} whole",
    "other": "another tensor of the operation cannot take {axis}",
}


def _name(loc: Location) -> str | None:
    """What the source calls a value; in MLIR text that may be a number."""
    if name := name_of(loc):
        return name
    found = _ASSIGNED.match(source_line(loc) or "")
    return found[1] if found else None


def _size(stop: Stop) -> int:
    return stop.link.rule.factors[stop.factor].size


def _where(loc: Location) -> str:
    return f"{visible(loc.file)}:{loc.line}" if loc.file else "?"


def _sharding_text(sharding: Sharding | None, type: TensorType) -> str:
    return f"[{', '.join(['-?'] * type.rank)}]" if sharding is None else str(sharding)
