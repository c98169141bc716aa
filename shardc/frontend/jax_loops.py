"""What a user's Python calls the values that a loop carries, said in the text of the module.

def cell(carry, x):                 # line 11 of model.py
    h, c = carry
    …
(h, c), hs = lax.scan(cell, …)      # line 15

->  func.func public @main(…) attributes {shardc.loops =
        [["model.py", 15, 14, 0, ["h", "h", 8, 4], ["c", "c", 8, 4], ["hs", "hs", 9, 8, 4]]]}

A loop is known by its place, by whether it is of the backward pass, and by the shapes of what it carries
last; each entry has the name inside the loop and the name after it, which are empty where Python has none.
Names inside are those that the body unpacks its parameters to, else its parameters' with the path in their
trees; names after it are those that are assigned. Where a function is differentiated JAX forgets the paths;
of a carry that is not unpacked further they are known all the same. The backward pass carries derivatives of
what the forward pass takes, with `d_` before its name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any

from shardc.frontend.backward import is_backward
from shardc.frontend.python_unpacking import assigned_from, turn_parameters, unpacked_in
from shardc.frontend.tree_paths import last_words

LOOPS = "shardc.loops"
"""The attribute's name, on the entry of a module."""

_STACKED = "ys"
"""JAX's own word for what a scan stacks."""

Carry = tuple[str, str, tuple[int, ...]]
"""The name inside, the name after, and the shape."""

Taken = tuple[str, tuple[int, ...]]
"""The name and the shape of something that has a derivative."""

_FLOATS = ("float", "bfloat", "complex")


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
    return any(inside or after for inside, after, *_ in loop[4:])


def _loops(
    jaxpr: Any, backward: bool = False, around: Any = None
) -> Iterator[tuple[tuple[str, int, int, int], Sequence[Carry]]]:
    """The loops of a traced function, by their places in Python, and what each carries last.

    JAX places a loop without a place of its own, as that of its solvers, where what is `around` it is.
    """
    frame_of: Any = import_module("jax._src.source_info_util").user_frame
    leaves: Any = import_module("jax").tree.leaves
    inner = getattr(jaxpr, "jaxpr", jaxpr)
    taken: dict[tuple[str, int, int], tuple[list[Taken], list[Taken]]] = {}
    for equation in inner.eqns:
        own = is_backward(f"{equation.source_info.name_stack}/", backward)
        carries = _CARRIES.get(str(equation.primitive.name))
        within = [
            v for v in leaves(list(equation.params.values())) if hasattr(v, "eqns") or hasattr(v, "jaxpr")
        ]
        frame = (frame_of(equation.source_info.traceback) or around) if carries or within else None
        if carries is not None and frame is not None:
            place = frame.file_name, frame.start_line, frame.start_column + 1
            if own and place in taken:
                yield (*place, 1), _derivatives(equation, *taken[place])
            elif not own:
                found = carries(equation, assigned_from(frame.file_name, (place[1], frame.start_column)))
                taken[place] = _taken(inner, equation, found), _sources(inner, equation, found)
                yield (*place, 0), found
        for value in within:
            yield from _loops(value, own, frame)


def _taken(jaxpr: Any, equation: Any, carries: Sequence[Carry]) -> list[Taken]:
    """What a scan takes, in order: constants and stacks, called as the arguments that they are; carries."""
    if equation.primitive.name != "scan":
        return []
    first, count = _counts(equation.params)
    arguments = {id(v): name for v, name in _arguments(jaxpr)}
    made = {id(e.outvars[0]): e.invars[0] for e in jaxpr.eqns if e.primitive.name == "convert_element_type"}
    names = [arguments.get(id(made.get(id(v), v)), "") for v in equation.invars]
    names[first : first + count] = [inside or after for inside, after, _ in carries[:count]]
    taken = zip(names, equation.invars, strict=True)
    return [(name, _shape(v)) for name, v in taken if str(v.aval.dtype).startswith(_FLOATS)]


def _sources(jaxpr: Any, equation: Any, carries: Sequence[Carry]) -> list[Taken]:
    """The arguments that a scan takes parts or other forms of, and what it carries: its body may have had
    these before JAX moved what is the same in all turns out of it.
    """
    arguments = {id(v): (name, _shape(v)) for v, name in _arguments(jaxpr)}
    made = {id(v): e for e in jaxpr.eqns for v in e.outvars if str(e.primitive.name) in _FORMS}
    found: dict[int, Taken] = {}
    for v in equation.invars if equation.primitive.name == "scan" else ():
        while id(v) in made:
            v = made[id(v)].invars[0]
        if id(v) in arguments:
            found[id(v)] = arguments[id(v)]
    return [*found.values(), *((inside or after, shape) for inside, after, shape in carries)]


def _arguments(jaxpr: Any) -> list[tuple[Any, str]]:
    """The arguments of a function with names: the ends of their paths that no others have."""
    paths = _paths(jaxpr.debug_info.arg_names, len(jaxpr.invars))
    words = last_words(paths)
    return [(v, words.get(path, "")) for v, path in zip(jaxpr.invars, paths, strict=True)]


_FORMS = frozenset(
    ("broadcast_in_dim", "convert_element_type", "reshape", "slice", "split", "squeeze", "transpose")
)
"""JAX's operations that give elements of their first operand."""


def _derivatives(equation: Any, taken: Sequence[Taken], sources: Sequence[Taken]) -> list[Carry]:
    """What the scan of a backward pass carries last: derivatives of what the forward one takes, in order, or
    of what that is made of, by their shapes.

    Not of all: where their shapes leave open of which, there are no names.
    """
    shapes = [_shape(variable) for variable in equation.outvars]
    first = _places(shapes, [shape for _, shape in taken])
    last = _places(shapes[::-1], [shape for _, shape in reversed(taken)])
    known = bool(first) and first == [len(taken) - 1 - i for i in reversed(last)]
    words = [taken[i][0] if known else "" for i in first] or [""] * len(shapes)
    for i, shape in enumerate(shapes):
        fitting = [name for name, size in sources if size == shape]
        if len(fitting) == shapes.count(shape) == 1:
            words[i] = words[i] or fitting[0]
    names = [f"d_{word}" if word else "" for word in words]
    return [(name, name, shape) for name, shape in zip(names, shapes, strict=True)]


def _places(shapes: Sequence[tuple[int, ...]], among: Sequence[tuple[int, ...]]) -> list[int]:
    """Where these shapes stand in order among others, as early as possible; empty if they don't."""
    found: list[int] = []
    for shape in shapes:
        start = found[-1] + 1 if found else 0
        place = next((i for i in range(start, len(among)) if among[i] == shape), None)
        if place is None:
            return []
        found.append(place)
    return found


def _of_scan(equation: Any, after: Mapping[str, str]) -> list[Carry]:
    """The values carried, then the stacked results."""
    body = equation.params["jaxpr"].jaxpr
    first, count = _counts(equation.params)
    inside = _inside(body, range(first, first + count))
    if body.debug_info.result_paths is None:
        return _of_differentiated(equation, after, count)
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


def _of_differentiated(equation: Any, after: Mapping[str, str], count: int) -> list[Carry]:
    """The same of a scan whose paths JAX has forgotten: `count` values carried, and stacks without names."""
    info = equation.params["jaxpr"].jaxpr.debug_info
    where = info.func_filename or "", info.func_lineno or 0, info.func_name
    turns = int(info.traced_for == "fori_loop")  # which carries the number of the turn first
    parameters = [*turn_parameters(*where), "", ""]
    carry = parameters[turns]
    parts = {path: name for path, name in unpacked_in(*where).items() if path.startswith(f"{carry}[")}
    if count - turns == 1 != len(parts):
        parts = {carry: carry}
    begin = "result" if turns else "result[0]"
    pairs = [(name, _renamed(begin + path[len(carry) :], after)) for path, name in parts.items()]
    if not carry or len(pairs) != count - turns:
        pairs = [("", "")] * (count - turns)
    pairs = [(parameters[0], "")] * turns + pairs
    pairs += [("", "")] * (len(equation.outvars) - count)
    return [(*pair, _shape(variable)) for pair, variable in zip(pairs, equation.outvars, strict=True)]


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
