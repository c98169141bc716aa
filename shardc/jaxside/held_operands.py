"""How operations with functions in them take more operands.

    while[cond {w, v. …} 1, body {v. …} 0] w x    with `u` for the body
    while[cond {w, v. …} 1, body {u, v. …} 1] w u x

Each operation lists its operands in its own order, and its parameters count or describe them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, NamedTuple

from shardc.jaxside.untyped import jax, jax_core


class Opened(NamedTuple):
    """A jaxpr that takes arrays as its first arguments; `variables` are what it calls them."""

    jaxpr: Any
    arrays: Sequence[Any]
    variables: Sequence[Any]


def with_first(jaxpr: Any, variables: Sequence[Any], **more: Any) -> Any:
    """An open jaxpr with more first arguments; `more` changes the rest of it."""
    info = jaxpr.debug_info
    if info.arg_names is not None:
        info = info._replace(arg_names=("",) * len(variables) + tuple(info.arg_names))
    invars = [*variables, *jaxpr.invars]
    return jaxpr.replace(**{"constvars": jaxpr.constvars, **more}, invars=invars, debug_info=info)


Variables = Callable[[Opened], list[Any]]
Way = Callable[[Any, Mapping[str, Sequence[Opened]], Variables], dict[str, Any]]
"""Of an operation, its inner jaxprs by parameter and the variables around: what is new in the operation."""


def _first(**more: Callable[[Any, int], Any]) -> Way:
    """Operands come first, as in the one inner jaxpr; `more` are parameters that count or list operands."""

    def way(equation: Any, inner: Mapping[str, Sequence[Opened]], variables: Variables) -> dict[str, Any]:
        ((key, (opened,)),) = inner.items()
        params, count = dict(equation.params), len(opened.arrays)
        params[key] = opened.jaxpr
        params |= {name: change(params[name], count) for name, change in more.items() if name in params}
        return {"params": params, "invars": [*variables(opened), *equation.invars]}

    return way


def _while(equation: Any, inner: Mapping[str, Sequence[Opened]], variables: Variables) -> dict[str, Any]:
    """The operands are those of the condition, those of the body, what is carried."""
    (condition,), (body,) = inner["cond_jaxpr"], inner["body_jaxpr"]
    params, before = dict(equation.params), equation.params["cond_nconsts"]
    params |= {"cond_jaxpr": condition.jaxpr, "cond_nconsts": before + len(condition.arrays)}
    params |= {"body_jaxpr": body.jaxpr, "body_nconsts": params["body_nconsts"] + len(body.arrays)}
    first, rest = equation.invars[:before], equation.invars[before:]
    return {"params": params, "invars": [*variables(condition), *first, *variables(body), *rest]}


def _branches(equation: Any, inner: Mapping[str, Sequence[Opened]], variables: Variables) -> dict[str, Any]:
    """All branches take what any of them needs, after the index."""
    branches = inner["branches"]
    every = {id(array): (array, var.aval) for each in branches for array, var in zip(*each[1:], strict=True)}
    index, *rest = equation.invars
    together = Opened(None, *zip(*((a, jax_core().Var(type)) for a, type in every.values()), strict=True))
    jaxprs = tuple(_with_all(branch, together) for branch in branches)
    params = equation.params | {"branches": jaxprs}
    return {"params": params, "invars": [index, *variables(together), *rest]}


def _with_all(branch: Opened, together: Opened) -> Any:
    """A branch that takes the arrays of all branches."""
    own = {id(array): var for array, var in zip(branch.arrays, branch.variables, strict=True)}
    first = [own.get(id(a), jax_core().Var(v.aval)) for a, v in zip(*together[1:], strict=True)]
    jaxpr = branch.jaxpr.jaxpr
    opened = with_first(jaxpr.replace(invars=jaxpr.invars[len(own) :]), first)
    return jax_core().ClosedJaxpr(opened, branch.jaxpr.consts)


def _solve(equation: Any, inner: Mapping[str, Sequence[Opened]], variables: Variables) -> dict[str, Any]:
    """The operands are those of each function in turn, of which some are None, and the right sides."""
    lengths, functions = equation.params["const_lengths"], equation.params["jaxprs"]
    opened, given = iter(inner["jaxprs"]), iter(equation.invars)
    counts, jaxprs, invars = list[int](), list[Any](), list[Any]()
    for length, function in zip(lengths, functions, strict=True):
        each = Opened(None, (), ()) if function is None else next(opened)
        invars += [*variables(each), *(next(given) for _ in range(length))]
        counts.append(length + len(each.arrays))
        jaxprs.append(each.jaxpr)
    params = equation.params | {"const_lengths": lengths._make(counts), "jaxprs": functions._make(jaxprs)}
    return {"params": params, "invars": [*invars, *given]}


def _unspecified(shardings: Any, count: int) -> Any:
    return (import_module("jax._src.sharding_impls").UNSPECIFIED,) * count + shardings


def _with_consts(groups: Any, count: int) -> Any:
    """JAX 0.12's (constants, carried, scanned) of a scan, with more constants."""
    trees = import_module("jax._src.flattree")
    consts, carried, scanned = groups.unpack()
    return trees.pack((trees.nones(count + len(consts)), carried, scanned))


def _counted(number: Any, count: int) -> Any:
    return number + count


WAYS: dict[str, Way] = {
    "jit": _first(
        in_shardings=_unspecified,
        in_layouts=lambda layouts, count: (None,) * count + layouts,
        donated_invars=lambda donated, count: (False,) * count + donated,
    ),
    "closed_call": _first(),
    "core_call": _first(),
    "remat2": _first(),
    "composite": _first(),
    "custom_jvp_call": _first(num_consts=_counted),
    "custom_vjp_call": _first(num_consts=_counted),
    "scan": _first(num_consts=_counted, ft_in=_with_consts),
    "shard_map": _first(in_specs=lambda specs, count: (jax.sharding.PartitionSpec(),) * count + specs),
    "while": _while,
    "cond": _branches,
    "custom_linear_solve": _solve,
}
