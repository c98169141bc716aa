"""Plans that were found before, by this process or, from the user's cache folder, by earlier ones.

    improved(problem)    # as improve(problem), or what that found for the same program before

The key is the program as planning sees it (canonical.py), so a plan is found again after an edit that changes
no operation, shape or annotation: of a constant, a name, a comment. An entry is JSON: each distinct layout
and choice once, who has chosen which, and the exact prices that were found, from which lower bounds start;
and the effort of the search, which counts again, so that nothing depends on what is remembered.

A process keeps its last plans for itself: that which is chosen of several (report/combined.py) is asked for
again when the program is written, and others begin there.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable
from fractions import Fraction
from typing import Any, TypeVar, cast

from shardc import cache
from shardc.analysis.phases import Context, Phase
from shardc.forms.choice import Choice
from shardc.forms.cost import FormCollective
from shardc.graph import TensorType
from shardc.layout import Axis, Dim, Mesh, Sharding, shared
from shardc.planning.effort import Effort, counting, spend
from shardc.planning.program.costs.prices import Prices
from shardc.planning.program.problem.canonical import lines_of
from shardc.planning.program.problem.lacked import as_lists, from_lists
from shardc.planning.program.problem.problem import Problem
from shardc.planning.program.problem.variables import Proof
from shardc.planning.program.search.improve import improve

T = TypeVar("T", bound=Hashable)

_Priced = tuple[list[int], str, list[str], Phase, int, int, tuple[float, int]]
"""A tensor's shape and dtype, manual axes and phase, the numbers of two layouts, and what it takes between
them."""

WORTH = 50
"""Operations: fewer are planned about as quickly as a plan is looked up in the folder."""

MUCH = 20_000
"""Entries of integer programs, a fifth of a second: a process remembers what took more, however small; and
with latency all plans, since others begin at them."""

RECENT = 12
"""Plans that a process keeps: as many as are weighed for one program, and those where searches begin."""

_RECENT: dict[tuple[str, ...], bytes] = {}


def improved(problem: Problem, *said: str, begin: Callable[[Problem], None] | None = None) -> None:
    """Change the problem's choices for cheaper ones. said: what the search is told beside the problem. It
    begins at the plan that `begin` takes, if that is given.
    """
    worth = len(problem.variables) >= WORTH
    key = _key(problem, said)
    entry = _held(key, worth)
    if entry is None:
        with counting() as effort:
            if begin is not None:
                begin(problem)
            improve(problem)
        if not worth and effort.entries < MUCH and problem.rates.flat:
            return
        entry = _entry(problem, effort)
        if worth and not cache.ANEW.get():
            cache.put(entry, *key)
    else:
        _read(problem, json.loads(entry))
    _remember(entry, key)


def _key(problem: Problem, said: tuple[str, ...]) -> tuple[str, ...]:
    rates, lines = problem.rates, lines_of(problem.graph, problem.alike)
    return ("plan", *said, repr(rates.machine), repr(rates.combined), *lines)


def _held(key: tuple[str, ...], worth: bool = True) -> bytes | None:
    """The entry of a program, if the process or the folder has it."""
    entry = _RECENT.pop(key, None)
    return cache.get(*key) if entry is None and worth and not cache.ANEW.get() else entry


def _remember(entry: bytes, key: tuple[str, ...]) -> None:
    _RECENT[key] = entry
    if len(_RECENT) > RECENT:
        del _RECENT[next(iter(_RECENT))]


def forget() -> None:
    """Look for every plan anew, where what that takes is measured."""
    _RECENT.clear()


def _number(numbers: dict[T, int], thing: T) -> int:
    """The number of a thing, which is a new one where it has none."""
    return numbers.setdefault(thing, len(numbers))


def _entry(problem: Problem, effort: Effort) -> bytes:
    return json.dumps(_written(problem, effort), separators=(",", ":")).encode()


def _written(problem: Problem, effort: Effort) -> dict[str, Any]:
    """All that improve changes."""
    layouts: dict[Sharding, int] = {}
    choices: dict[Choice, int] = {}
    chosen = [_number(choices, variable.choice) for variable in problem.variables]
    arguments = [[v, _number(layouts, layout), trips] for v, (layout, trips) in problem.arguments.items()]
    prices = [[[*map(_axes, atoms)], _prices(known, layouts)] for atoms, known in problem.priced.items()]
    return {
        "chosen": chosen,
        "arguments": arguments,
        "choices": [_choice(choice, layouts) for choice in choices],
        "layouts": [_layout(layout) for layout in layouts],
        "prices": prices,
        "lacked": as_lists(problem.lacked),
        "free": sorted(problem.free),
        "refused": problem.refused,
        "modest": problem.modest,
        "proof": None if problem.proof is None else [problem.proof.ticks, problem.proof.method],
        "effort": effort.entries,
    }


def _read(problem: Problem, kept: dict[str, Any]) -> None:
    layouts = _layouts(kept, problem.mesh)
    choices = _choices(kept, layouts)
    for variable, number in zip(problem.variables, kept["chosen"], strict=True):
        if variable.choice != choices[number]:
            variable.choice = choices[number]
    problem.arguments = {value: (layouts[layout], trips) for value, layout, trips in kept["arguments"]}
    for atoms, prices in kept["prices"]:
        known = problem.prices(tuple(map(_as_axes, atoms)))
        for shape, dtype, manual, phase, source, target, price in cast("list[_Priced]", prices):
            type, context = TensorType(tuple(shape), dtype), Context(frozenset(manual), phase)
            known.take((type, layouts[source], layouts[target], context), (price[0], price[1]))
    problem.lacked = from_lists(kept["lacked"])
    problem.free = set(kept["free"])
    problem.refused = None if kept["refused"] is None else tuple(kept["refused"])
    problem.modest = None if kept["modest"] is None else tuple(kept["modest"])
    problem.proof = None if kept["proof"] is None else Proof(*kept["proof"])
    spend(kept["effort"])


def _layouts(kept: dict[str, Any], mesh: Mesh) -> list[Sharding]:
    return [shared(_sharding(mesh, *parts)) for parts in kept["layouts"]]


def _choices(kept: dict[str, Any], layouts: list[Sharding]) -> list[Choice]:
    return [_chosen(layouts, *parts) for parts in kept["choices"]]


def _choice(choice: Choice, layouts: dict[Sharding, int]) -> list[Any]:
    parts = Fraction(choice.parts)
    return [
        [_number(layouts, layout) for layout in choice.operands],
        [_number(layouts, layout) for layout in choice.results],
        choice.form,
        [parts.numerator, parts.denominator] if isinstance(choice.parts, Fraction) else choice.parts,
        [_exchange(each) for each in choice.exchanges],
    ]


def _chosen(
    layouts: list[Sharding],
    operands: list[int],
    results: list[int],
    form: str,
    parts: int | list[int],
    exchanges: list[list[Any]],
) -> Choice:
    divided = Fraction(*parts) if isinstance(parts, list) else parts
    needs, made = (tuple(layouts[number] for number in numbers) for numbers in (operands, results))
    return Choice(needs, made, form, divided, tuple(_exchanged(*each) for each in exchanges))


def _exchange(each: FormCollective) -> list[Any]:
    return [each.name, _axes(each.over), each.block.shape, each.block.dtype, each.dim, each.kind, each.pairs]


def _exchanged(
    name: str,
    over: list[Any],
    shape: list[int],
    dtype: str,
    dim: int | None,
    kind: str | None,
    pairs: list[list[int]],
) -> FormCollective:
    sent = tuple((source, target) for source, target in pairs)
    return FormCollective(name, _as_axes(over), TensorType(tuple(shape), dtype), dim, kind, sent)


def _prices(prices: Prices, layouts: dict[Sharding, int]) -> list[Any]:
    return [
        [*_context(type, context), _number(layouts, source), _number(layouts, target), price]
        for (type, source, target, context), price in prices.found()
    ]


def _context(type: TensorType, context: Context) -> list[Any]:
    return [type.shape, type.dtype, sorted(context.manual), context.phase]


def _axes(axes: tuple[Axis, ...]) -> list[Any]:
    return [[axis.name, axis.size, axis.pre] for axis in axes]


def _as_axes(parts: list[Any]) -> tuple[Axis, ...]:
    return tuple(Axis(*part) for part in parts)


def _layout(layout: Sharding) -> list[Any]:
    dims = [[_axes(dim.axes), dim.open, dim.priority] for dim in layout.dims]
    return [dims, _axes(layout.replicated), _axes(layout.unreduced), layout.kind]


def _sharding(
    mesh: Mesh, dims: list[Any], replicated: list[Any], unreduced: list[Any], kind: str
) -> Sharding:
    each = tuple(Dim(_as_axes(parts), is_open, priority) for parts, is_open, priority in dims)
    return Sharding(mesh, each, _as_axes(replicated), _as_axes(unreduced), kind)
