"""What stands in the way of lowering a model, told all at once."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection, Iterable

from onnx import GraphProto, NodeProto, defs

from shardc.diagnostics import Location, ShardcError, did_you_mean
from shardc.frontend.onnx.errors import Dynamic
from shardc.frontend.onnx.inputs import single
from shardc.frontend.onnx.listing import Listing, safe
from shardc.frontend.onnx.schema import subgraphs
from shardc.frontend.onnx.values import Scope, Value


class UnsupportedModel(ShardcError):
    """Operators, or forms of them, that have no lowering: `counts` by name."""

    def __init__(self, file: str, counts: Counter[str]) -> None:
        listed = ", ".join(f"{name} ({count}x)" for name, count in sorted(counts.items()))
        known = {schema.name for schema in defs.get_all_schemas()}
        wrong = next((name for name in sorted(counts) if name.isidentifier() and name not in known), None)
        super().__init__(
            f"{file}: operators that are not supported: {listed}",
            hint=None if wrong is None else did_you_mean(wrong, sorted(known)),
        )
        self.counts = counts


class DynamicModel(ShardcError):
    """Shapes that depend on data. `inputs`: the inputs of the model that would have to be known."""

    def __init__(self, message: str, loc: Location, hint: str, inputs: list[str]) -> None:
        super().__init__(message, loc, hint)
        self.inputs = inputs


class Problems:
    """Collects; `check` reports."""

    def __init__(self, graph: GraphProto, known: Collection[str] = ()) -> None:
        """`known` are the inputs whose values are given while compiling."""
        self._inputs = {info.name: single(info) for info in graph.input if info.name not in known}
        self._sources: dict[str, list[str]] = {}
        self._turns: set[str] = set()
        self._index(graph)
        self._operators: Counter[str] = Counter()
        self._forms: Counter[str] = Counter()
        self._dynamic: list[tuple[NodeProto, Dynamic]] = []
        self._lost: list[str] = []

    def _index(self, graph: GraphProto) -> None:
        for node in graph.node:
            self.made(node)
            for body in subgraphs(node):
                self._turns.update(info.name for info in body.input)
                self._index(body)

    def made(self, node: NodeProto) -> None:
        """A node's outputs are made of its inputs."""
        self._sources.update({name: [source for source in node.input if source] for name in node.output})

    def passed(self, name: str, source: str) -> None:
        """A name inside a function's body stands for a value outside."""
        if name != source:
            self._sources.setdefault(name, [source])

    def operator(self, name: str) -> None:
        self._operators[name] += 1

    def operators(self, names: Iterable[str]) -> None:
        self._operators.update(names)

    def form(self, what: str) -> None:
        self._forms[what] += 1

    def dynamic(self, node: NodeProto, error: Dynamic) -> None:
        self._dynamic.append((node, error))

    def forget(self, mark: tuple[int, int, int]) -> list[tuple[NodeProto, Dynamic]]:
        """The shapes that depend on data since a mark, forgotten; none if there are other problems too."""
        operators, dynamic, lost = self.mark()
        if operators != mark[0] or dynamic == mark[1]:
            return []
        found = self._dynamic[mark[1] :]
        del self._dynamic[mark[1] :]
        del self._lost[mark[2] : lost]
        return found

    def remember(self, found: list[tuple[NodeProto, Dynamic]]) -> None:
        """What was forgotten is in the way after all."""
        self._dynamic += found

    def mark(self) -> tuple[int, int, int]:
        """How many problems there are by now."""
        return (self._operators + self._forms).total(), len(self._dynamic), len(self._lost)

    def lost(self, name: str) -> None:
        self._lost.append(name)

    def check(self, file: str, listing: Listing) -> None:
        """ShardcError if there is anything."""
        if self._operators or self._forms:
            raise UnsupportedModel(file, self._operators + self._forms)
        if self._dynamic:
            raise self._dynamic_error(file, listing)
        if self._lost:
            raise UnsupportedModel(file, Counter(f"output {name}" for name in self._lost))

    def _dynamic_error(self, file: str, listing: Listing) -> DynamicModel:
        lines: list[str] = []
        roots: list[str] = []
        for node, error in self._dynamic:
            chain, root = self._chain(error.name)
            roots += [root] if root else []
            outputs = ", ".join(map(safe, node.output))
            lines.append(f"{outputs} = {safe(node.op_type)}: {error.why} {chain}")
        first = listing.line(self._dynamic[0][0]) or 1
        names = list(dict.fromkeys(roots))
        return DynamicModel(
            "shapes that depend on data:\n    " + "\n    ".join(lines),
            Location(file, first, 1),
            self._hint(names),
            names,
        )

    def _hint(self, names: list[str]) -> str:
        """How to give values to inputs of the model."""
        if not names:
            return ""
        wanted = [f"-D {safe(name)}=…" for name in names if self._inputs[name]]
        arrays = ", ".join(f'"{safe(name)}": array' for name in names if not self._inputs[name])
        wanted += [f"values={{{arrays}}} of shardc.from_onnx"] if arrays else []
        return "what is given while compiling settles it: " + " ".join(wanted)

    def _chain(self, name: str) -> tuple[str, str | None]:
        """The shortest way from a value back to an input of the model, and that input.

        Where there is none, the way to an input of a body, such as the number of a turn.
        """
        queue, before, inner = deque([name]), {name: ""}, ""
        while queue:
            current = queue.popleft()
            if current in self._inputs:
                return self._way(current, before), current
            if not inner and current in self._turns:
                inner = current
            for source in self._sources.get(current, ()):
                if source not in before:
                    before[source] = current
                    queue.append(source)
        return self._way(inner or name, before), None

    @staticmethod
    def _way(last: str, before: dict[str, str]) -> str:
        steps = [last]
        while before[steps[-1]]:
            steps.append(before[steps[-1]])
        return " <- ".join(map(safe, reversed(steps)))


def misfit(node: NodeProto, scope: Scope, error: Exception) -> str:
    """What is said of a node whose types and attributes do not go together."""
    values = [scope.get(name) for name in node.input]
    types = [str(v.type) if isinstance(v, Value) else "nothing" for v in values]
    given = ", ".join(attribute.name for attribute in node.attribute) or "no attributes"
    return f"{node.op_type} of {', '.join(types) or 'nothing'} with {given}: they do not fit ({error})"
