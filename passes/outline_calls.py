"""outline-calls: operations that came from one call -> a function again, one for all calls that became alike.

    %0 = stablehlo.dot_general %x, %w1 {shardc.call = "layer#0"} …
    %1 = stablehlo.tanh %0 {shardc.call = "layer#0"} …
    %2 = stablehlo.dot_general %1, %w2 {shardc.call = "layer#1"} …
    %3 = stablehlo.tanh %2 {shardc.call = "layer#1"} …

becomes

    %1 = func.call @layer(%x, %w1) …
    %3 = func.call @layer(%1, %w2) …

Runs on per-device code. A call whose operations no longer stand together stays inline, and so do functions of
one operation, those whose results nobody uses, small ones of JAX's own, as `_where`, and calls more than a
hundred deep. Calls that were compiled differently get functions of their own: layer, layer_2, …. A function
that only calls another has that one's body, and JAX's numbers behind names (`tril_9` beside `tril`) go: equal
functions are one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import groupby

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Block, Operation

from shardc.dialects.nested import nested
from shardc.dialects.shared_graph import SharedGraph
from shardc.graph.marks import CALL
from shardc.ops import Trait, has, spmd
from shardc.passes.graph_pass import GraphPass
from shardc.rewrite.folding.numbers import lift_numbers
from shardc.rewrite.library import is_library
from shardc.rewrite.outline import Functions, manual_bodies, outputs

Calls = Mapping[str, AbstractSet[str]]

_FROM_JAX = "mhlo.num_partitions"
"""An attribute of modules that JAX lowered."""
DEEPEST = 100
"""Functions that are made inside each other; what is called from the innermost stands in it."""


class OutlineCalls(GraphPass):
    """Undo inline-calls where its traces are still whole."""

    name = "outline-calls"

    def rewrite(self, shared: SharedGraph) -> bool:
        lift_numbers(shared)
        marked = [(op, path) for op in nested([shared.module]) if (path := _path(op))]
        if not marked:
            return False
        if _FROM_JAX in shared.module.attributes:
            marked = _open_library(marked)
            shared.noted(CALL)
        functions, calls = Functions(shared), _calls(path for _, path in marked)
        for body in manual_bodies(shared.module) if marked else ():
            _outline(functions, body, 0, calls)
        for op in nested([shared.module]) if functions.made else [op for op, _ in marked]:
            op.attributes.pop(CALL, None)
        if not functions.made:
            shared.noted(CALL)
        return bool(functions.made)


def _outline(functions: Functions, block: Block, depth: int, calls: Calls) -> None:
    """Make functions of the calls at `depth` of the call paths in a block, outermost first.

    calls: the paths of all calls, by what they call.
    """
    if depth >= DEEPEST:
        return
    *steps, _ = block.ops
    for op in steps:
        if has(op.name, Trait.REGION):
            inner = max(depth, _calls_of(op))  # a loop and its body are of one call
            for region in op.regions:
                _outline(functions, region.block, inner, calls)
    runs = [(call, list(ops)) for call, ops in groupby(steps, lambda op: _call_at(op, depth))]
    here = Counter(call for call, _ in runs)
    for call, ops in runs:
        visible = [op for op in ops if op.name != spmd.as_partial.name]  # which prints nothing
        if call is not None and here[call] == 1 and len(visible) > 1 and outputs(ops):
            inner = _below_wrappers(ops, depth)
            name = _name(_call_at(visible[-1], inner) or call)
            if all(path.startswith(f"{call}/") for path in calls[name]):
                name = _name(call)
            functions.outline(
                name, ops, inner=lambda body, at=inner: _outline(functions, body, at + 1, calls)
            )


def _name(call: str) -> str:
    return call.rpartition("/")[2].partition("#")[0]


def _calls(paths: Iterable[str]) -> Calls:
    """The paths of all calls, by the names of what they call."""
    parts = [path.split("/") for path in dict.fromkeys(paths)]
    found: dict[str, set[str]] = {}
    for call in ("/".join(steps[: i + 1]) for steps in parts for i in range(len(steps))):
        found.setdefault(_name(call), set()).add(call)
    return found


def _below_wrappers(ops: list[Operation], depth: int) -> int:
    """The depth of the last of functions that only call another, of which the first is at `depth`."""
    while len({_call_at(op, depth + 1) for op in ops}) == 1:
        first = _call_at(ops[0], depth + 1)
        if first is None or first.count("/") != depth + 1:
            break
        depth += 1
    return depth


def _open_library(marked: Sequence[tuple[Operation, str]]) -> list[tuple[Operation, str]]:
    """Leave calls of JAX's own functions out of the call paths: the operations that are left in calls.

    What they call keeps a number of its own.
    """
    paths, left = [(op, path.split("/")) for op, path in marked], list[tuple[Operation, str]]()
    names = {step.partition("#")[0] for _, steps in paths for step in steps}
    sizes = Counter(tuple(steps[: i + 1]) for _, steps in paths for i in range(len(steps)))
    for op, steps in paths:
        kept: list[str] = []
        inside = ""
        for i, step in enumerate(steps):
            name, _, number = step.partition("#")
            if is_library(name, sizes[tuple(steps[: i + 1])]):
                inside += f"{name}#{number}."
            else:
                own = _without_number(name, names)
                inside += f"{name}." * (own != name)
                kept.append(f"{own}#{inside}{number}")
                inside = ""
        if kept:
            left.append((op, "/".join(kept)))
            op.attributes[CALL] = StringAttr(left[-1][1])
        else:
            op.attributes.pop(CALL)
    return left


def _without_number(name: str, names: Container[str]) -> str:
    """tril_9 -> tril, if that is a function too: then the number is JAX's."""
    base, _, number = name.rpartition("_")
    return base if number.isdecimal() and base in names else name


def _path(op: Operation) -> str:
    """The calls that an operation comes from, outermost first; empty if it comes from none."""
    path = op.attributes.get(CALL)
    return path.data if isinstance(path, StringAttr) else ""


def _calls_of(op: Operation) -> int:
    """How many calls an operation is inside of."""
    path = _path(op)
    return path.count("/") + 1 if path else 0


def _call_at(op: Operation, depth: int) -> str | None:
    """The path of the call at `depth` that an operation is inside of, if it is."""
    path = _path(op)
    steps = path.split("/", depth + 1) if path else []  # of a long path no more than that
    return "/".join(steps[: depth + 1]) if len(steps) > depth else None
