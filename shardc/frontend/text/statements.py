"""The statements of a function's body: assignments, sharding constraints, branches, assertions, return."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from shardc.frontend.text import local_functions
from shardc.frontend.text import syntax as s
from shardc.frontend.text.annotations import Annotated
from shardc.frontend.text.choices import known
from shardc.frontend.text.fitting import Misfit, as_type, fit
from shardc.frontend.text.loops import loop
from shardc.frontend.text.open_loops import while_loop
from shardc.frontend.text.scope import DeviceScope, Scope
from shardc.frontend.text.shows import show
from shardc.frontend.text.trees import as_tensors, has_function, leaves, names_of, tensors_of
from shardc.frontend.text.turns import rows
from shardc.frontend.text.typed import Typed, resolved
from shardc.frontend.text.values import RecordValue, Tensor, Value, describe, plural
from shardc.layout import Sharding, text_of
from shardc.ops import sdy, spmd


def run(scope: Scope, function: s.Function) -> tuple[Value, s.Return]:
    """Build a function's body up to its return; the returned value, and the statement."""
    for i, statement in enumerate(function.body):
        returned = execute(scope, statement)
        if returned is None:
            continue
        if returned is statement and i + 1 < len(function.body):
            raise scope.e.error("statements after this return are never reached", pos=returned.pos)
        return scope.value(returned.value), returned
    raise scope.e.error(
        f"function {function.name} ends without a return",
        "its last statement is return …",
        function.body[-1].pos,
    )


def execute(scope: Scope, statement: s.Statement) -> s.Return | None:
    """Build one statement; the return that it comes to, if it does."""
    match statement:
        case s.Assign():
            assign(scope, statement)
        case s.For():
            loop(scope, statement, execute)
        case s.While():
            while_loop(scope, statement, execute)
        case s.If():
            return branch(scope, statement)
        case s.Assert():
            check(scope, statement)
        case s.Show():
            show(scope, statement)
        case s.Docstring():
            raise scope.e.error("a text stands at the beginning of a function only", pos=statement.pos)
        case s.Function():
            local_functions.define(scope, statement)
        case s.Return():
            return statement
    return None


def branch(scope: Scope, statement: s.If) -> s.Return | None:
    """The statements of the first branch whose condition holds, while compiling; the return among them."""
    for condition, body in (*statement.branches, (None, statement.otherwise)):
        if condition is None or known(scope, condition, "if"):
            for inner in body:
                returned = execute(scope, inner)
                if returned is not None:
                    return returned
            return None
    return None


def check(scope: Scope, statement: s.Assert) -> None:
    """assert: an error of the program if the condition does not hold."""
    if known(scope, statement.condition, "assert"):
        return
    message = None if statement.message is None else scope.value(statement.message)
    if message is not None and not isinstance(message, str):
        raise scope.e.error(f"the message of an assert is a text, not {describe(message)}", pos=statement.pos)
    raise scope.e.error(f"assertion failed: {message}" if message else "assertion failed", pos=statement.pos)


def assign(scope: Scope, statement: s.Assign) -> None:
    """name = …, a, b = …, name: type = …"""
    e, targets = scope.e, statement.targets
    for i, target in enumerate(targets):
        if target.name != "_" and any(target.name == other.name for other in targets[:i]):
            raise e.error(f"{target.name} is assigned twice here", pos=target.pos)
    value = scope.value(statement.value)
    values = [one for pattern in statement.patterns for one in _unpacked(scope, value, statement, pattern)]
    for target, one in zip(targets, values, strict=True):
        scope.assign(target.name, _bound(scope, target, one), target.pos)


def _unpacked(scope: Scope, value: Value, statement: s.Assign, pattern: s.Pattern) -> list[Value]:
    """The value of each target of a pattern, in their order."""
    if isinstance(pattern, int):
        return [value]
    rest = [i for i, one in enumerate(pattern) if isinstance(one, int) and statement.targets[one].rest]
    parts = _parts(scope, value, statement, len(pattern), bool(rest))
    if rest:
        first, last = rest[0], len(parts) - (len(pattern) - 1 - rest[0])
        parts = (*parts[:first], parts[first:last], *parts[last:])
    pairs = zip(parts, pattern, strict=True)
    return [one for part, inner in pairs for one in _unpacked(scope, part, statement, inner)]


def _parts(scope: Scope, value: Value, statement: s.Assign, names: int, rest: bool) -> tuple[Value, ...]:
    """The items of a value, one for each name; with a rest, at least as many as the other names."""
    pos = statement.value.pos
    if isinstance(value, RecordValue):
        value = tuple(item for _, item in value.fields)
    if isinstance(value, Tensor) and value.rank and (rest or value.shape[0] == names):
        value = rows(scope, value, pos)
    if not isinstance(value, tuple):
        raise scope.e.error(f"{plural(names, 'name')} for {describe(value)}", pos=pos)
    if len(value) < names - 1 if rest else len(value) != names:
        star = ", one of them with a star," if rest else ""
        raise scope.e.error(f"{plural(names, 'name')}{star} for {plural(len(value), 'value')}", pos=pos)
    return value


def _bound(scope: Scope, target: s.Target, value: Value) -> Value:
    """The value under its new name, constrained if the target has a type."""
    if target.type is not None:
        typed = resolved(scope.program.types, scope.program.records, target.type, "warned")
        if isinstance(typed, Annotated):
            return constrain(scope, target, typed, value)
        return fit(scope, typed, value, target.name, target.pos)
    for tensor, name in zip(tensors_of(value), names_of(value, target.name), strict=True):
        scope.e.builder.name([tensor.value], [name])
    return value


def constrain(scope: Scope, target: s.Target, annotated: Annotated, value: Value) -> Tensor:
    """name: type = value. The type is checked; what it says of sharding becomes a constraint."""
    tensor = as_type(scope, value, annotated.type, target.name, target.pos)
    sharding = annotated.sharding
    if sharding is None:
        scope.e.builder.name([tensor.value], [target.name])
        return tensor
    if scope.manual is not None and not _is_open(scope.manual, sharding):
        return _declared_partial(scope, target, annotated, tensor, sharding)
    scope.program.shared.named.update(axis.name for axis in sharding.axes())
    with scope.e.at(target.pos):
        result = scope.e.op(sdy.sharding_constraint.name, tensor, sharding=sharding)
        scope.e.builder.name([result.value], [target.name])
        return replace(result, sharding=sharding)


def _is_open(manual: DeviceScope, sharding: Sharding) -> bool:
    """Whether a sharding in per-device code is over axes that this code leaves to the compiler."""
    mesh, axes = manual
    rest = [name for name, size in mesh.axes if size > 1 and name not in axes]
    return bool(rest) and sharding.mesh == mesh and not any(axis.name in axes for axis in sharding.axes())


def _over(manual: DeviceScope, sharding: Sharding) -> str:
    """Along which axes, where the code leaves others to the compiler."""
    mesh, axes = manual
    named = [name for name in axes if any(axis.name == name for axis in sharding.axes())]
    return f" over {', '.join(named)}" if len(axes) < len(mesh.axes) else ""


def _declared_partial(
    scope: Scope, target: s.Target, annotated: Annotated, tensor: Tensor, sharding: Sharding
) -> Tensor:
    """h: f32[8] partial(sum: i) = …: what the devices of i hold are the terms of a sum."""
    assert scope.manual is not None
    split = any(dim.axes or dim.priority for dim in sharding.dims)
    if split or sharding.replicated or not sharding.unreduced:
        raise scope.e.error(
            "a block of per-device code cannot be sharded further" + _over(scope.manual, sharding),
            "write the type of the block without axes, or with partial(sum: i)",
            annotated.pos,
        )
    mesh, manual = scope.manual
    foreign = [axis.name for axis in sharding.unreduced if sharding.mesh != mesh or axis.name not in manual]
    if foreign:
        raise scope.e.error(f"axis {foreign[0]} is not manual in this function", pos=annotated.pos)
    over = tuple(text_of(axis, mesh) for axis in sharding.unreduced)
    if not scope.e.builder.declare_partial(tensor.value, over, sharding.kind):
        with scope.e.at(target.pos):
            axes, kind = sharding.unreduced, sharding.kind
            tensor = scope.e.op(spmd.as_partial.name, tensor, result=tensor.type, axes=axes, kind=kind)
    scope.e.builder.name([tensor.value], [target.name])
    return tensor


def results_of(
    scope: Scope,
    function: s.Function,
    value: Value,
    statement: s.Return,
    types: Sequence[Typed] | None,
    why: Sequence[Misfit] = (),
) -> list[Value]:
    """The returned values, as the function's result types want them, where it has any; `why` they do."""
    items = value if isinstance(value, tuple) else (value,)
    written = statement.value.items if isinstance(statement.value, s.Sequence) else ()
    exprs = written if len(written) == len(items) else [statement.value] * len(items)  # *a is several
    if types is not None and len(items) != len(types):
        raise scope.e.error(
            f"{function.name} returns {plural(len(items), 'value')}, and its type has {len(types)}",
            pos=statement.pos,
        )
    reasons = iter(why) if why else None
    results: list[Value] = []
    for i, (item, expr) in enumerate(zip(items, exprs, strict=True)):
        if types is not None:
            what = "the result" if len(types) == 1 else f"result {i}"
            results.append(fit(scope, types[i], item, f"{what} of {function.name}", expr.pos, reasons))
        else:
            none = item is None and len(items) > 1  # no cotangent, in a function that a derivative calls
            results.append(None if none else _returned(scope, function, item, expr.pos))
    if not any(tensors_of(result) for result in results):
        raise scope.e.error(f"{function.name} returns nothing", pos=statement.pos)
    return results


def _returned(scope: Scope, function: s.Function, value: Value, pos: s.Pos) -> Value:
    """A returned value with its numbers as tensors."""
    with scope.e.at(pos):
        made = as_tensors(scope.e, value)
        others = [leaf for leaf in leaves(made) if not isinstance(leaf, Tensor)]
        if others or has_function(made):
            raise scope.e.error(f"{function.name} returns {describe([*others, made][0])}")
        return made
