"""outline-repeats: operations that repeat, layer by layer -> a function and a call of it for each layer.

    %1 = stablehlo.dot_general %x, %w1 …
    %2 = stablehlo.tanh %1 …
    %3 = stablehlo.dot_general %2, %w2 …
    %4 = stablehlo.tanh %3 …

becomes

    %2 = func.call @layer(%x, %w1) …
    %4 = func.call @layer(%2, %w2) …

Runs on per-device code. Of JAX's output, which has every layer of a model and of its gradient written out,
as many lines are left as one layer has. Layers of fewer operations than `least` stay as they are, and so does
what is many small things beside each other, such as an optimizer's for all weights of a layer: its calls
would take and give more than it says.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from xdsl.dialects.func import CallOp
from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue

from shardc.dialects.nested import nested, ops_of
from shardc.dialects.shared_graph import SharedGraph
from shardc.graph.repeats import Repeat, repeats
from shardc.ops import hlo
from shardc.passes.graph_pass import GraphPass
from shardc.rewrite.alike import Alike
from shardc.rewrite.common_names import common_name, name_of, share_names
from shardc.rewrite.constants import value_of
from shardc.rewrite.folding.numbers import is_number, lift_numbers
from shardc.rewrite.folding.places import places_of
from shardc.rewrite.outline import Functions, Names, inputs, manual_bodies, outputs

LEAST = 24
NAME = "layer"
_CONSTANT = hlo.constant.name
_Key = tuple[Hashable, ...]
_Segment = list[Operation]


@dataclass(frozen=True)
class OutlineRepeats(GraphPass):
    """Write what repeats once."""

    name = "outline-repeats"
    least: int = LEAST

    def rewrite(self, shared: SharedGraph) -> bool:
        lift_numbers(shared)
        functions = Functions(shared)
        for body in manual_bodies(shared.module):
            outline(functions, body, self.least)
        return bool(functions.made)


def outline(functions: Functions, block: Block, least: int = LEAST, calls: bool = True) -> None:
    """Make functions of what repeats in a block; without `calls`, of what has none.

    Of layers that fold-layers has left, no two whole ones go into one function.
    """
    *every, _ = block.ops
    steps = [op for op in every if op.name != _CONSTANT]
    kinds: list[Hashable] = [_kind(op, functions.alike) for op in steps]
    if not calls:
        kinds = [op if isinstance(op, CallOp) else kind for op, kind in zip(steps, kinds, strict=True)]
    for repeat in repeats(kinds, least):
        alike: defaultdict[_Key, list[_Segment]] = defaultdict(list)
        for flow, segment in _large(_of_a_layer(_segments(steps, repeat)), least):
            made = (result for step in segment for result in step.results)
            alike[(flow, functions.varies(made))].append(segment)
        for segments in alike.values():
            if len(segments) > 1:
                _make(functions, segments)


def _large(segments: Sequence[_Segment], least: int) -> Iterator[tuple[_Key, _Segment]]:
    """The segments that flow as others do, with how that is, if so many operations of them hang together."""
    flows = [_flow(segment) for segment in segments]
    first: dict[_Key, _Segment] = {}
    for flow, segment in zip(flows, segments, strict=True):
        first.setdefault(flow, segment)
    count = Counter(flows)
    large = {flow for flow, one in first.items() if count[flow] > 1 and _largest_part(one) >= least}
    return ((flow, segment) for flow, segment in zip(flows, segments, strict=True) if flow in large)


def _of_a_layer(segments: Sequence[_Segment]) -> Sequence[_Segment]:
    """Those that have every slot once, or that are of a layer each, though they begin within its slots. Where
    others are of two whole layers none of a layer and of what is beside all: once the missing layers are
    back, that may be of two as well."""
    places = [{place for op in segment for place in places_of(op)} for segment in segments]
    further = [
        any({(slot, layer + by) for slot, layer in one} == other for by in (-1, 1))
        for one, other in pairwise(places)
    ]
    beside = zip([False, *further], [*further, False], strict=True)
    once = (len({slot for slot, _ in own}) == len(own) for own in places)
    fits = [one or any(two) for one, two in zip(once, beside, strict=True)]
    fitting = [segment for segment, fit in zip(segments, fits, strict=True) if fit]
    return fitting if all(fits) else [each for each in fitting if all(map(places_of, each))]


def _largest_part(segment: _Segment) -> int:
    """The most operations that hang together by what they give each other."""
    parts: dict[Operation, list[Operation]] = {}
    for op in segment:
        part = [op]
        for value in dict.fromkeys(value for each in nested([op]) for value in each.operands):
            giver = parts.get(value.owner) if isinstance(value.owner, Operation) else None
            if giver is not None and giver is not part:
                giver, part = sorted((giver, part), key=len, reverse=True)
                giver += part
                parts.update((each, giver) for each in part)
                part = giver
        parts[op] = part
    return max(map(len, parts.values()))


def _make(functions: Functions, segments: Sequence[_Segment]) -> None:
    """One function for segments that are alike; it returns what is used after any of them.

    Constants go into it, though others may use them too.
    """
    used = {place for segment in segments for place in map(_places(segment).__getitem__, outputs(segment))}
    wholes = [_with_constants(segment) for segment in segments]
    order = _order(inputs(wholes[0]))
    names = _names(segments, wholes, sorted(used), order)
    share_names(segments)
    for segment, ops, named in zip(segments, wholes, names, strict=True):
        taken = inputs(ops)
        results = _results(segment, sorted(used))
        functions.outline(NAME, ops, [taken[i] for i in order], results, replaced=segment, names=named)


def _names(
    segments: Sequence[_Segment],
    wholes: Sequence[_Segment],
    used: Sequence[tuple[int, int]],
    order: Sequence[int],
) -> list[Names]:
    """What each layer's call names: for parameters what the layers have in common, for results its own."""
    taken = [[name_of(value) for value in inputs(whole)] for whole in wholes]
    params = [common_name([row[index] for row in taken]) for index in order]
    return [Names(params, [name_of(value) for value in _results(segment, used)]) for segment in segments]


def _results(segment: _Segment, used: Sequence[tuple[int, int]]) -> list[OpResult]:
    return [segment[step].results[index] for step, index in used]


def _order(values: Sequence[SSAValue]) -> list[int]:
    """The order of parameters: what one operation gives comes together, in its order."""
    first: dict[Operation | Block, int] = {}
    for number, value in enumerate(values):
        first.setdefault(value.owner, number)

    def key(number: int) -> tuple[int, int]:
        value = values[number]
        return (first[value.owner], value.index) if isinstance(value, OpResult) else (number, 0)

    return sorted(range(len(values)), key=key)


def _segments(steps: Sequence[Operation], repeat: Repeat) -> list[_Segment]:
    """The periods of a repeat, cut where the fewest values pass from one to the next."""
    period, stretch = repeat.period, steps[repeat.start : repeat.stop]
    passing = _passing(stretch)
    spare = len(stretch) - repeat.count * period
    shift = min(range(spare + 1), key=lambda i: (sum(passing[i + period : -1 : period]), i))
    starts = range(shift, shift + repeat.count * period, period)
    return [list(stretch[start : start + period]) for start in starts]


def _passing(stretch: Sequence[Operation]) -> list[int]:
    """How many values made in the stretch before each place are used in it at or after the place."""
    place = {op: index for index, op in enumerate(stretch)}
    change = [0] * (len(stretch) + 2)
    for index, op in enumerate(stretch):
        users = [place[user] for r in op.results for use in r.uses if (user := _step(use.operation, place))]
        if users:
            change[index + 1] += 1
            change[max(users) + 1] -= 1
    return list(accumulate(change))


def _step(op: Operation, place: dict[Operation, int]) -> Operation | None:
    """The operation of the stretch that an operation is, or stands in."""
    current: Operation | None = op
    while current is not None and current not in place:
        current = current.parent_op()
    return current


def _kind(op: Operation, alike: Alike) -> _Key:
    """What two operations have in common that do the same to tensors of the same types."""
    number = alike.number
    used = [number(v.type) for v in op._operands]  # pyright: ignore[reportPrivateUsage]  (op.operands makes an object each time)
    made = [number(result.type) for result in op.results]
    own = [(key, number(attr)) for key, attr in op.attributes.items() if not key.startswith("shardc.")]
    held = [(key, number(attr)) for key, attr in op.properties.items()]
    inside = [_kind(inner, alike) for inner in nested([op])[1:]] if op.regions else ()
    return (op.name, frozenset(own), frozenset(held), (*used,), (*made,), *inside)


def _flow(segment: _Segment) -> _Key:
    """Which operand is which: a place in the segment, a constant, or the n-th value from outside."""
    places: dict[SSAValue, object] = {}
    for value, (step, index) in _places(segment).items():
        places[value] = (step, index)
    taken = inputs(segment)
    constants = {value: _constant(value) for value in taken}
    for number, value in enumerate(value for value in taken if constants[value] is None):
        places[value] = number
    places |= {value: held for value, held in constants.items() if held is not None}
    return tuple([places.get(value) for op in nested(segment) for value in op.operands])


def _places(segment: _Segment) -> dict[SSAValue, tuple[int, int]]:
    return {value: (step, i) for step, op in enumerate(segment) for i, value in enumerate(op.results)}


def _constant(value: SSAValue) -> Attribute | None:
    """What a constant holds; None for a value that is none, or of which each layer has its own."""
    op = value.owner
    if not isinstance(op, Operation) or op.name != _CONSTANT or is_number(op):
        return None
    return value_of(op)


def share_constants(block: Block) -> None:
    """Let a block have each constant once: layers that share one are then as those that have their own."""
    first = dict[Attribute, OpResult]()
    for op in ops_of(block):
        if op.name == _CONSTANT:
            known = first.setdefault(value_of(op), op.results[0])
            if known is not op.results[0]:
                op.results[0].replace_all_uses_with(known)
                op.detach()
                op.erase()


def _constants(step: Operation) -> list[Operation]:
    """The constants that a step uses and that stand beside it."""
    owners = dict.fromkeys([v.owner for op in nested([step]) for v in op.operands])
    parent = step.parent
    beside = (owner for owner in owners if isinstance(owner, Operation) and owner.parent is parent)
    return [op for op in beside if op.name == _CONSTANT and not is_number(op)]


def _with_constants(segment: _Segment) -> _Segment:
    """The segment with the constants that its steps use, which stand in it."""
    return list(dict.fromkeys(op for step in segment for op in (*_constants(step), step)))
