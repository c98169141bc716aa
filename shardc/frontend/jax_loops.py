"""What a user's Python calls the values that a loop carries, said in the text of the module.

def cell(carry, x):                 # line 11 of model.py
    h, c = carry
    …
(h, c), hs = lax.scan(cell, …)      # line 15

->  func.func public @main(…) attributes {shardc.loops =
        [["model.py", 15, 14, ["h", "h", 8, 4], ["c", "c", 8, 4], ["hs", "hs", 9, 8, 4]]]}

A loop is known by its place and the shapes of what it carries last; each entry has the name inside the loop
and the name after it, which are empty where Python has none. Names inside are those that the body unpacks
its parameters to, else its parameters' with the path in their trees; names after it are those that are
assigned.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any

from shardc.frontend.jax_equations import equations
from shardc.frontend.python_unpacking import assigned_from, unpacked_in

LOOPS = "shardc.loops"
"""The attribute's name, on the entry of a module."""

_STACKED = "ys"
"""JAX's own word for what a scan stacks."""

Carry = tuple[str, str, tuple[int, ...]]
"""The name inside, the name after, and the shape."""


def say_loops(module: Any, traced: Any) -> None:
    """Say it on the entry of a module of jaxlib's, which JAX lowered a jax.stages.Traced to, in place."""
    found = [[*place, *map(_entry, carries)] for place, carries in _loops(traced.jaxpr.jaxpr)]
    named = [loop for i, loop in enumerate(found) if _has_names(loop) and loop not in found[:i]]
    if not named:
        return
    ir: Any = import_module("jaxlib.mlir.ir")
    entry = next(op for op in module.body.operations if op.attributes["sym_name"].value == "main")
    with module.context:
        wide = ir.IntegerType.get_signless(64)

        def attribute(value: Any) -> Any:
            if isinstance(value, str):
                return ir.StringAttr.get(value)
            if isinstance(value, int):
                return ir.IntegerAttr.get(wide, value)
            return ir.ArrayAttr.get([attribute(item) for item in value])

        entry.attributes[LOOPS] = attribute(named)


def _entry(carry: Carry) -> list[str | int]:
    inside, after, shape = carry
    return [inside, after, *shape]


def _has_names(loop: list[Any]) -> bool:
    return any(inside or after for inside, after, *_ in loop[3:])


def _loops(jaxpr: Any) -> Iterator[tuple[tuple[str, int, int], Sequence[Carry]]]:
    """The loops of a traced function, by their places in Python, and what each carries last."""
    frame_of: Any = import_module("jax._src.source_info_util").user_frame
    for equation in equations(jaxpr):
        carries = _CARRIES.get(str(equation.primitive.name))
        frame = frame_of(equation.source_info.traceback) if carries else None
        if carries is not None and frame is not None:
            place = frame.file_name, frame.start_line, frame.start_column + 1
            yield place, carries(equation, assigned_from(frame.file_name, (place[1], frame.start_column)))


def _of_scan(equation: Any, after: Mapping[str, str]) -> list[Carry]:
    """The values carried, then the stacked results."""
    body = equation.params["jaxpr"].jaxpr
    first, count = _counts(equation.params)
    inside = _inside(body, range(first, first + count))
    results = _paths(body.debug_info.result_paths, len(body.outvars))
    if body.debug_info.traced_for == "fori_loop":  # which carries the number of the turn first
        results = [path.replace("result[0][1]", "result", 1) for path in results]
    names = [_renamed(path, after) for path in results]
    stacked = [
        name or _word(path.replace("result[1]", _STACKED, 1))
        for name, path in zip(names[count:], results[count:], strict=True)
    ]
    return [
        (inner, name, _shape(variable))
        for inner, name, variable in zip([*inside, *stacked], names, equation.outvars, strict=True)
    ]


def _counts(params: Any) -> tuple[int, int]:
    """How many constants and how many carried values a scan takes; JAX 0.12 says it by trees of these."""
    if "num_carry" in params:
        return params["num_consts"], params["num_carry"]
    constants, carried, _ = params["ft_in"].unpack()
    return len(constants), len(carried)


def _of_while(equation: Any, after: Mapping[str, str]) -> list[Carry]:
    body, first = equation.params["body_jaxpr"].jaxpr, equation.params["body_nconsts"]
    inside = _inside(body, range(first, len(body.invars)))
    names = [_renamed(path, after) for path in _paths(body.debug_info.result_paths, len(body.outvars))]
    return [
        (inner, name, _shape(variable))
        for inner, name, variable in zip(inside, names, equation.outvars, strict=True)
    ]


_CARRIES = {"scan": _of_scan, "while": _of_while}
"""JAX's name of a loop -> what it carries last in the while that JAX lowers it to."""


def _inside(body: Any, which: range) -> list[str]:
    """The names of parameters in the function that is the body."""
    info = body.debug_info
    known = unpacked_in(info.func_filename or "", info.func_lineno or 0, info.func_name)
    paths = _paths(info.arg_names, len(body.invars))
    return [_renamed(paths[i], known) or _word(paths[i]) for i in which]


def _paths(paths: Any, count: int) -> Sequence[str]:
    """JAX's paths of parameters or results; empty ones where it lost them."""
    known: list[Any] = [] if paths is None or callable(paths) else list(paths)
    return [str(path or "") for path in known] if len(known) == count else [""] * count


def _renamed(path: str, names: Mapping[str, str]) -> str:
    """A path that begins as one with a name does: carry[1].mu with carry[1] = opt is opt_mu."""
    begins = [start for start in names if path == start or path.startswith((f"{start}[", f"{start}."))]
    longest = max(begins, key=len, default=None)
    return "" if longest is None else _word(names[longest] + path[len(longest) :])


def _word(path: str) -> str:
    """A path as one word: carry[1].mu -> carry1_mu."""
    return "_".join(re.findall(r"[A-Za-z0-9_]+", re.sub(r"\[(\d+)\]", r"\1", path)))


def _shape(variable: Any) -> tuple[int, ...]:
    """Of the array in StableHLO: that of its data where it holds typed keys."""
    physical: Any = import_module("jax._src.core").physical_aval
    return tuple(physical(variable.aval).shape)
