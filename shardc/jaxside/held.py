"""Arrays on several devices that functions inside a traced function hold.

    jit[ {lambda w; y. y @ w} holding w ] x   ->   jit[ {lambda w, y. y @ w} ] w x

JAX makes arrays that a function captures constants of the outermost function, but those of an inner jax.jit
are constants of that: within loops, branches and functions with derivatives of their own too. Here each
operation on the way out takes them as operands, and the outermost function has them as constants.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct

from shardc.jaxside.held_operands import WAYS, Opened, with_first
from shardc.jaxside.placement import placed
from shardc.jaxside.untyped import jax, jax_core
from shardc.jaxside.warned import warn

LEFT = (
    "an array {type} on {count} devices is captured inside {name}, which shardc cannot give more operands: "
    "it is a constant of the program, whole on each device; give it to the function as an argument"
)


def lifted(closed: Any) -> Any:
    """A closed jaxpr that holds the arrays on several devices itself which functions in it held, each once.

    Warns of those inside operations that cannot take them.
    """
    return _Lifting().closed(closed)


class _Scope(Struct):
    """The arrays that a jaxpr has to be given, by identity, with its variables for them."""

    found: dict[int, tuple[Any, Any]] = {}

    def variable(self, array: Any, type: Any) -> Any:
        """The variable of an array, a new one where there is none."""
        return self.found.setdefault(id(array), (array, jax_core().Var(type)))[1]


class _Lifting(Struct):
    """Inner jaxprs that were opened, by identity: equal ones stay one function of the text."""

    opened: dict[int, tuple[Any, Opened]] = {}

    def closed(self, closed: Any) -> Any:
        consts, variables = list(closed.consts), list(closed.jaxpr.constvars)
        scope = _Scope({id(const): (const, var) for const, var in zip(consts, variables, strict=True)})
        known = len(scope.found)
        equations = self._equations(closed.jaxpr, scope)
        if all(one is other for one, other in zip(equations, closed.jaxpr.eqns, strict=True)):
            return closed
        new = list(scope.found.values())[known:]
        constvars = [*variables, *(var for _, var in new)]
        jaxpr = closed.jaxpr.replace(constvars=constvars, eqns=equations)
        return jax_core().ClosedJaxpr(jaxpr, [*consts, *(array for array, _ in new)])

    def _equations(self, jaxpr: Any, scope: _Scope) -> list[Any]:
        return [self._equation(equation, scope) for equation in jaxpr.eqns]

    def _equation(self, equation: Any, scope: _Scope) -> Any:
        """The same operation, whose inner jaxprs hold no array on several devices."""
        inner = {key: [self._open(each) for each in _jaxprs(v)] for key, v in equation.params.items()}
        inner = {key: each for key, each in inner.items() if each}
        if not any(opened.arrays for each in inner.values() for opened in each):
            return equation
        name = str(equation.primitive.name)
        way = WAYS.get(name)
        if way is None:
            _warn(name, (opened for each in inner.values() for opened in each))
            return equation
        is_mapped = name == "shard_map"  # whose variables are blocks

        def variables(opened: Opened) -> list[Any]:
            types = [jax.typeof(a) if is_mapped else v.aval for a, v in zip(*opened[1:], strict=True)]
            return [scope.variable(a, type) for a, type in zip(opened.arrays, types, strict=True)]

        return equation.replace(**way(equation, inner, variables))

    def _open(self, closed: Any) -> Opened:
        if id(closed) not in self.opened:
            self.opened[id(closed)] = closed, self._opened(closed)
        return self.opened[id(closed)][1]

    def _opened(self, closed: Any) -> Opened:
        jaxpr = getattr(closed, "jaxpr", closed)
        held = list(zip(getattr(closed, "consts", ()), jaxpr.constvars, strict=False))
        split = [(array, var) for array, var in held if placed(array) is not None]
        scope = _Scope({id(array): (array, var) for array, var in split})
        equations = self._equations(jaxpr, scope)
        if not scope.found:
            return Opened(closed, (), ())
        arrays, variables = zip(*scope.found.values(), strict=True)
        kept = [(array, var) for array, var in held if placed(array) is None]
        opened = with_first(jaxpr, variables, constvars=[var for _, var in kept], eqns=equations)
        if hasattr(closed, "consts"):
            opened = jax_core().ClosedJaxpr(opened, [array for array, _ in kept])
        return Opened(opened, arrays, variables)


def _jaxprs(value: Any) -> Iterator[Any]:
    """The jaxprs in a parameter of an operation."""
    for each in jax.tree.leaves(value):
        if hasattr(each, "eqns") or hasattr(each, "consts"):
            yield each


def _warn(name: str, inner: Iterable[Opened]) -> None:
    arrays = {id(array): array for opened in inner for array in opened.arrays}
    for array in arrays.values():
        said = LEFT.format(type=jax.typeof(array).str_short(), count=array.sharding.num_devices, name=name)
        warn(said)
