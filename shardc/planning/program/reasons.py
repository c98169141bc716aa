"""Why a reshard exists, in one line, and what it costs where no local form avoids it."""

from __future__ import annotations

from collections.abc import Iterator

from shardc.analysis.text import operation, title
from shardc.diagnostics import warn
from shardc.forms.table import forms_of
from shardc.graph import Location
from shardc.layout import Axis, Mesh, Sharding, size_of, text_of
from shardc.ops.rule import FactorRule, Kind
from shardc.planning.program.problem.problem import Problem
from shardc.planning.program.problem.variables import Variable
from shardc.planning.reshard import preferred_plan
from shardc.rules.assign import project


def reason(problem: Problem, value: int, source: Sharding, target: Sharding) -> str:
    """What makes a copy of `value` in another layout necessary."""
    ended = [axis for axis in source.unreduced if not any(axis.overlaps(o) for o in target.unreduced)]
    what = named(problem, value)
    users = [v for v, i in problem.consumers.get(value, []) if v.choice.operands[i] == target]
    by = f" by {title(users[0].node)}" if users else ""
    if ended and [d.axes for d in source.dims] == [d.axes for d in target.dims]:
        return f"{what} is a partial {source.kind} over {axes_text(ended, source.mesh)}, needed whole{by}"
    return f"{what} is {source}, needed as {target}{by}"


def named(problem: Problem, value: int) -> str:
    """What the source calls a value, else what made it."""
    loc = problem.graph.values[value].loc
    if loc.name and loc.name.isidentifier():
        return loc.name
    producer = problem.producer.get(value)
    return f"the result of {title(producer[0].node)}" if producer else "an argument"


def axes_text(axes: list[Axis], mesh: Mesh) -> str:
    return ", ".join(text_of(axis, mesh) for axis in axes)


def warn_of_padding(problem: Problem) -> None:
    """Warn of every way in which blocks are uneven that no annotation of a .shard program states, once of one
    place.

    The reader of .shard programs has warned of those that are stated.
    """
    told = {place for place, loc in _uneven(problem, stated=True) if (loc.file or "").endswith(".shard")}
    found: dict[Location, list[tuple[int, tuple[Axis, ...]]]] = {}
    for (size, axes), loc in _uneven(problem, stated=False):
        if (size, axes) not in told:
            told.add((size, axes))
            found.setdefault(loc.named(None), []).append((size, axes))
    for loc, ((size, axes), *others) in found.items():
        parts, names = size_of(axes), axes_text(list(axes), problem.mesh)
        block = -(-size // parts)
        places = block * parts
        sizes = ", ".join(map(str, dict.fromkeys(other for other, _ in others if other != size)))
        more = f"; sizes {sizes} there have padding, too" if sizes else ""
        warn(
            f"{names} ({parts} devices) does not divide a dimension of size {size}: "
            f"blocks have size {block}, and {places - size} of {places} places are padding{more}",
            loc,
        )


def _uneven(problem: Problem, stated: bool) -> Iterator[tuple[tuple[int, tuple[Axis, ...]], Location]]:
    """(size, axes) of uneven dimensions: of what is stated (arguments, constraints), or of everything."""
    for value in problem.values:
        fixed = value in problem.arguments or problem.producer[value][0].fixed
        if stated and not fixed:
            continue
        type, layout = problem.graph.type(value), problem.given(value)
        for dim in layout.uneven(type.shape):
            yield (type.shape[dim], layout.dims[dim].axes), problem.graph.values[value].loc


def warn_of_lost_splits(problem: Problem) -> None:
    """Warn of every operand that is gathered because its operation cannot run on blocks of it."""
    for variable in problem.variables:
        if variable.fixed:
            continue
        for index, value in enumerate(variable.node.operands):
            _lost_split(problem, variable, index, value)


def _lost_split(problem: Problem, variable: Variable, index: int, value: int) -> None:
    given, needed = problem.given(value), variable.choice.operands[index]
    if given == needed:
        return
    dims = [
        d
        for d, (had, has) in enumerate(zip(given.dims, needed.dims, strict=True))
        if len(has.axes) < len(had.axes) and not _free(variable, index, d, given)
    ]
    type = problem.graph.type(value)
    way = preferred_plan(type, given, needed, problem.context(value).manual)
    if not dims or not way.cost.bytes or all(step.kind != "all_gather" for step in way.steps):
        return
    axes = axes_text([axis for d in dims for axis in given.dims[d].axes], problem.mesh)
    numbers = " and ".join(map(str, dims))
    warn(
        f"{operation(variable.node)} cannot run on blocks of dimension {numbers} of {named(problem, value)}, "
        f"which {axes} {'split' if ',' in axes else 'splits'}: "
        f"it is gathered, {way.cost.bytes} bytes per device",
        variable.node.loc,
        f"leave dimension {numbers} whole, or split another one",
    )


def _free(variable: Variable, operand: int, dim: int, given: Sharding) -> bool:
    """Whether the operation could have kept the split of this dimension, in some form."""
    rule, op = variable.rule, variable.op
    if rule is None:
        return False
    projection = project(rule.operands[operand], given, rule)
    factors = [f for f in rule.operands[operand][dim] if projection.axes.get(f)]
    special = {f for form in forms_of(op.name) for f in form.splits(op, rule)}
    return not projection.overflow and all(f in special or _is_local(rule, f) for f in factors)


def _is_local(rule: FactorRule, factor: int) -> bool:
    """Whether the plain operation runs on blocks of a factor."""
    kind = rule.factors[factor].kind
    return rule.factors[factor].is_plain and (kind is not Kind.REDUCTION or rule.reduction is not None)
