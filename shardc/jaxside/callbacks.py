"""Callbacks in a JAX function: what its text says of them, and the Python functions that they call.

    jax.debug.callback(log, x)   ->   custom_call @shardc_host(%x) with its kind and name as JSON

JAX's own text has the number of a function in this process only. Here the function is known: it is lowered
to a call by name, and who runs the program looks the name up.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from importlib import import_module
from typing import Any

from msgspec import Struct

from shardc.backend.python.names import identifier
from shardc.diagnostics import UNKNOWN, Location, ShardcError, is_own
from shardc.frontend.jax_equations import equations
from shardc.jaxside.partitioned import inlined
from shardc.jaxside.sparse import spelled_out
from shardc.jaxside.untyped import jax

Function = Callable[..., Any]


class HostFunctions(Struct):
    """The functions on the host that a program calls, by the names that its text has for them."""

    functions: dict[str, Function] = {}

    def lowering(self) -> Any:
        """The parameters of a lowering that collects callbacks here, those inside a library's operations too,
        and in which functions that say how they are partitioned are what they compute, as are products of
        sparse matrices.

        The lowering raises ShardcError at a callback that cannot be compiled.
        """
        rules = tuple((primitive, self._rule(primitive, said)) for primitive, said in _primitives())
        own = (*rules, *inlined(), *spelled_out())
        return _module("interpreters.mlir").LoweringParameters(override_lowering_rules=own)

    def _rule(self, primitive: Any, said: Callable[..., _Said]) -> Any:
        def rule(context: Any, *operands: Any, **params: Any) -> Any:
            # brings all operations, which functions without callbacks need not
            from shardc.ops.custom_calls import HOST_CALL

            _check(str(primitive), params, context.traceback)
            found = said(**params)
            told: dict[str, Any] = {**found.told, "name": self._name(found), "manual": _manual_axes(context)}
            text = json.dumps(told, sort_keys=True)
            lower = jax.ffi.ffi_lowering(HOST_CALL, has_side_effect=True, backend_config=text, api_version=1)
            done: Any = lower(context, *operands)
            return done

        return rule

    def _name(self, found: _Said) -> str:
        wish = identifier(found.name) or "function"
        if found.function is None:
            return wish
        name, count = wish, 1
        while name in self.functions:
            count += 1
            name = f"{wish}_{count}"
        self.functions[name] = found.function
        return name


class _Said(Struct, frozen=True):
    """What an operation of JAX's says: its function of flat arrays, if the program must be given one, a name
    for it, and what the text tells.
    """

    function: Function | None
    name: str
    told: dict[str, Any]


def _manual_axes(context: Any) -> list[str]:
    """The axes over which the code around an operation is per-device."""
    return sorted(getattr(context.module_context.axis_context, "manual_axes", ()))


def _pure(*, callback: Any, vmap_method: Any = None, **_: Any) -> _Said:
    told = {"kind": "pure_callback", "vmap_method": vmap_method}
    return _Said(_unwrapped(callback), _name_of(callback), told)


def _io(*, callback: Any, **_: Any) -> _Said:
    return _Said(_unwrapped(callback), _name_of(callback), {"kind": "io_callback"})


def _debug(*, callback: Any, **_: Any) -> _Said:
    return _Said(callback, _name_of(callback), {"kind": "debug.callback"})


def _print(**params: Any) -> _Said:
    """jax.debug.print itself where each argument is one array, else a function that prints."""
    tree = params["in_tree"]
    args, kwargs = jax.tree.unflatten(tree, range(tree.num_leaves))
    plain = not params["static_args"] and not params["logging_record"]
    if plain and list(args) == list(range(len(args))) and all(isinstance(v, int) for v in kwargs.values()):
        told = {"kind": "debug.print", "format": params["fmt"], "keywords": list(kwargs)}
        return _Said(None, "print", told)
    return _Said(partial(_printed, params), "printed", {"kind": "debug.callback"})


def _printed(params: dict[str, Any], *leaves: Any) -> None:
    _module("debugging").debug_print_p.impl(*leaves, **params)


def _unwrapped(callback: Any) -> Function:
    """A function of arrays that gives one array where JAX's gives a list of one."""

    def call(*arrays: Any) -> Any:
        results = jax.tree.leaves(callback(*arrays))
        return results[0] if len(results) == 1 else results

    return call


def _name_of(callback: Any) -> str:
    """The name of the user's function, which JAX has wrapped."""
    inner = getattr(callback, "callback_func", None)
    code, cells = getattr(callback, "__code__", None), getattr(callback, "__closure__", None)
    if inner is None and code is not None and cells:
        inner = dict(zip(code.co_freevars, (cell.cell_contents for cell in cells), strict=True)).get(
            "callback"
        )
    name = str(getattr(inner, "__name__", "function"))
    return "function" if name == "<lambda>" else name


def _module(name: str) -> Any:
    return import_module(f"jax._src.{name}")


def _primitives() -> Iterator[tuple[Any, Callable[..., _Said]]]:
    """JAX's operations that call the host, with what says what they do; a JAX may lack some."""
    for module, name, said in _CALLS:
        primitive = getattr(_module(module), name, None)
        if primitive is not None:
            yield primitive, said


_CALLS: tuple[tuple[str, str, Callable[..., _Said]], ...] = (
    ("callback", "pure_callback_p", _pure),
    ("callback", "io_callback_p", _io),
    ("debugging", "debug_callback_p", _debug),
    ("debugging", "debug_print_p", _print),
)


def check(jaxpr: Any) -> None:
    """ShardcError at a callback of a traced function that cannot be compiled; JAX does not lower them all."""
    known = {str(primitive) for primitive, _ in _primitives()}
    for equation in equations(jaxpr):
        if str(equation.primitive) in known:
            _check(str(equation.primitive), equation.params, equation.source_info.traceback)


def _check(primitive: str, params: Mapping[str, Any], traceback: Any) -> None:
    """ShardcError at a callback that cannot be compiled."""
    for refused in filter(None, (says(params) for says in _REFUSED)):
        name = primitive.replace("debug_", "jax.debug.")
        raise ShardcError(f"{name} {refused} cannot be compiled", _place(traceback), _HINT)


_REFUSED: tuple[Callable[[Mapping[str, Any]], str | None], ...] = (
    lambda params: "on a device of its own (sharding=…)" if params.get("sharding") is not None else None,
    lambda params: "on blocks (partitioned=True)" if params.get("partitioned") else None,
    lambda params: (
        "in order (ordered=True)" if params.get("ordered") or "Ordered" in str(params.get("effect")) else None
    ),
)
_HINT = (
    "one device calls, in no order with other calls; pure functions, and code under shard_map, each device"
)


def _place(traceback: Any) -> Location:
    frames = _module("source_info_util").user_frames(traceback)
    frame = next((frame for frame in frames if not is_own(frame.file_name)), None)
    return UNKNOWN if frame is None else Location(frame.file_name, frame.start_line, frame.start_column + 1)
