"""Shardings in the words of other systems, where an annotation stands: read by `layout.notations`.

    x: f32[2, 4] layout("axis_0", "axis_1")     MindSpore; also layout(("axis_0", "axis_1"))
    x: f32[2, 4] P("data", None)                JAX; also PartitionSpec
    x: f32[2, 4] (S(0), B)                      OneFlow: one component per axis of the mesh
    x: f32[2, 4] (Shard(0), Replicate())        PyTorch DTensor

The mesh is the program's. Nothing is evaluated: an annotation is written out as text, and read as such.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from shardc.frontend.text import syntax as s
from shardc.layout import LayoutError, Mesh, Sharding

_Reader = Callable[[str, Mesh, int], Sharding]


def read_notation(written: s.Expr, mesh: Mesh, rank: int) -> Sharding:
    """The sharding of a tensor of `rank` dimensions on `mesh` that an annotation means, or LayoutError."""
    word = _word(written)
    if word not in _READERS:
        known = 'layout("x", "None"), P("x", None), (S(0), B) or (Shard(0), Replicate())'
        raise LayoutError(f"{word or 'this'} is no sharding; write {known}")
    return _READERS[word](text_of(written), mesh, rank)


def named_axes(written: s.Expr) -> list[s.AxisRef]:
    """The axes that an annotation names, in its order; notations that count axes name none."""
    if _word(written) not in _NAMING:
        return []
    return [s.AxisRef(text.pos, text.value) for text in _strings(written) if text.value != "None"]


def text_of(expr: s.Expr) -> str:
    """An annotation as its notation writes it. LayoutError for what stands in none of them."""
    match expr:
        case s.Name():
            return expr.id
        case s.String():
            return f'"{expr.value}"'
        case s.Number():
            return str(expr.value)
        case s.Unary(op="-"):
            return f"-{text_of(expr.operand)}"
        case s.Attribute():
            return f"{text_of(expr.value)}.{expr.name}"
        case s.Sequence():
            return f"({', '.join(map(text_of, expr.items))}{',' if len(expr.items) == 1 else ''})"
        case s.Call():
            given = [text_of(arg) for arg in expr.args]
            given += [f"{keyword.name}={text_of(keyword.value)}" for keyword in expr.keywords]
            return f"{text_of(expr.function)}({', '.join(given)})"
        case _:
            raise LayoutError("an annotation consists of names, numbers, strings, calls and tuples")


# Each notation is imported where a program has it.


def _jax(text: str, mesh: Mesh, rank: int) -> Sharding:
    from shardc.layout.notations import jax

    return jax.read(text, mesh, rank)


def _sbp(text: str, mesh: Mesh, rank: int) -> Sharding:
    from shardc.layout.notations import sbp

    return sbp.read(text, mesh, rank)


def _dtensor(text: str, mesh: Mesh, rank: int) -> Sharding:
    from shardc.layout.notations import dtensor

    return dtensor.read(text, mesh, rank)


def _layout(text: str, mesh: Mesh, rank: int) -> Sharding:
    from shardc.layout.notations import mindspore
    from shardc.layout.notations.mindspore_layout import Layout

    names = tuple(name for name, _ in mesh.axes)
    entries = mindspore.read_entries(text, names, rank)
    found = Layout(tuple(size for _, size in mesh.axes), names)(*entries).sharding()
    mindspore.check_rank(found, rank)
    return Sharding(mesh, found.dims)


_READERS: dict[str, _Reader] = {
    "layout": _layout,
    **dict.fromkeys(("P", "PartitionSpec"), _jax),
    **dict.fromkeys(("S", "B", "split", "broadcast", "partial_sum", "partial_max", "partial_min"), _sbp),
    **dict.fromkeys(("Shard", "Replicate", "Partial", "_StridedShard"), _dtensor),
}
"""The word that a notation is known by -> its reader."""

_NAMING = ("layout", "P", "PartitionSpec")


def _word(expr: s.Expr) -> str:
    """The last name of a call, of a name, or of the first component of a tuple."""
    while True:
        match expr:
            case s.Sequence(items=(first, *_)):
                # OneFlow's partial sum is P, JAX's specification P(…): in a tuple it is OneFlow's.
                inner = _word(first)
                return "partial_sum" if inner == "P" else inner
            case s.Call():
                expr = expr.function
            case s.Attribute():
                return expr.name
            case s.Name():
                return expr.id
            case _:
                return ""


def _strings(expr: s.Expr) -> Iterator[s.String]:
    match expr:
        case s.String():
            yield expr
        case s.Sequence():
            for item in expr.items:
                yield from _strings(item)
        case s.Call():
            for item in (*expr.args, *(keyword.value for keyword in expr.keywords)):
                yield from _strings(item)
        case _:
            return
