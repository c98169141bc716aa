"""What a program states about shardings: of arguments and results of main, and in constraints."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from xdsl.dialects.builtin import ModuleOp

from shardc.dialects.sharding_writer import write_shardings
from shardc.dialects.shardings import attr_of
from shardc.dialects.snapshot import Snapshot, snapshot
from shardc.graph import Location, Node, TensorType, walk
from shardc.layout import Sharding
from shardc.ops import sdy

CONSTRAINT = sdy.sharding_constraint.name


class Annotation(Struct, frozen=True):
    """`kind` is argument, result or constraint, `number` counts those of a kind; `name` is the source's.

    `sharding` is None where the compiler chooses. `line` is where it matters first: the first use of an
    argument, the operation that makes a result, the constraint itself.
    """

    kind: str
    number: int
    name: str
    type: TensorType
    sharding: Sharding | None
    line: int

    @property
    def title(self) -> str:
        """argument w2, result 0, constraint in line 7"""
        if self.kind == "constraint":
            return f"constraint in line {self.line}"
        return f"{self.kind} {self.name or self.number}"


def stated(module: ModuleOp) -> tuple[Annotation, ...]:
    """Those of main and of what is inlined into it, in order."""
    snap = snapshot(module)
    graph, main = snap.graph, snap.graph.main
    found: list[Annotation] = []
    for number, value in enumerate(main.body.args):
        user = next((node for node in walk(main.body) if value in node.operands), None)
        line = user.loc.line if user else 0
        known = graph.values[value]
        found.append(Annotation("argument", number, known.loc.name or "", known.type, known.sharding, line))
    for number, (value, sharding) in enumerate(zip(main.body.results, main.result_shardings, strict=True)):
        loc: Location = graph.values[value].loc
        found.append(Annotation("result", number, "", graph.type(value), sharding, loc.line))
    for number, node in enumerate(_constraints(snap)):
        sharding = node.attrs["sharding"]
        assert isinstance(sharding, Sharding)
        found.append(
            Annotation("constraint", number, "", graph.type(node.results[0]), sharding, node.loc.line)
        )
    return tuple(found)


def annotated(module: ModuleOp, annotation: Annotation, sharding: Sharding) -> ModuleOp:
    """A copy of a module in which one annotation is another."""
    copy = module.clone()
    snap = snapshot(copy)
    main = snap.graph.main
    if annotation.kind == "constraint":
        node = _constraints(snap)[annotation.number]
        snap.ops[node.id].properties["sharding"] = attr_of(sharding)
    elif annotation.kind == "argument":
        write_shardings(snap, {main.body.args[annotation.number]: sharding})
    else:
        results: list[Sharding | None] = list(main.result_shardings)
        results[annotation.number] = sharding
        write_shardings(snap, {}, {main.name: results})
    return copy


def _constraints(snap: Snapshot) -> Sequence[Node]:
    return [
        node
        for function in snap.graph.functions.values()
        for node in walk(function.body)
        if node.name == CONSTRAINT
    ]
