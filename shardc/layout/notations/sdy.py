"""The text of Shardy's sharding attribute.

    #sdy.sharding<@mesh, [{"x", "y":(1)2}, {"z", ?}p1], replicated={"w"}, unreduced={"v"}>
    #sdy.sharding<mesh<["x"=2, "y"=4], device_ids=[…]>, [{}, {"x"}]>

Every layout on a mesh can be written in it but partial max and min.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TypeVar

from shardc.layout.axes import Axis
from shardc.layout.mesh import LayoutError, Mesh
from shardc.layout.notations import limits
from shardc.layout.sharding import Dim, Sharding
from shardc.ops import sdy

T = TypeVar("T")

_TOKEN = re.compile(r'\s*(?P<token>"[^"]*"|@"[^"]*"|@[\w.$-]+|#?[A-Za-z_][\w.]*|-?\d+|[<>\[\]{}(),=:?])')


def read(text: str, mesh: Mesh | None = None, rank: int | None = None) -> Sharding:
    """The sharding that `text` means, on the mesh that it spells out or on `mesh`, to which `@name` refers.

    `#sdy.sharding` may be left out. LayoutError says what cannot be read, or cannot be on this mesh.
    """
    tokens = _Tokens(text)
    tokens.optional("#sdy.sharding")
    tokens.expect("<")
    named = _mesh(tokens, mesh)
    tokens.expect(",")
    dims = tokens.listed("[", "]", lambda: _dim(tokens, named))
    given: dict[str, tuple[Axis, ...]] = {}
    while tokens.optional(","):
        key = tokens.next()
        if key not in ("replicated", "unreduced") or key in given:
            raise tokens.error("replicated={…} or unreduced={…}, each once", key)
        tokens.expect("=")
        given[key] = tuple(tokens.listed("{", "}", lambda: _axis(tokens, named)))
    tokens.expect(">")
    tokens.end()
    if rank is not None and rank != len(dims):
        raise LayoutError(f"{text!r} has {len(dims)} dimensions, the tensor {rank}")
    return Sharding(named, tuple(dims), given.get("replicated", ()), given.get("unreduced", ())).check()


def write(sharding: Sharding, shape: Sequence[int] | None = None) -> str:
    """sdy text; it refers to the mesh by name, or spells out a mesh that has none.

    The shape doesn't matter: sdy has blocks of the ceiling size. LayoutError for a partial max or min.
    """
    limits.only_sums(sharding, "sdy")
    mesh = sharding.mesh
    dims = ", ".join(_dim_text(dim, mesh) for dim in sharding.dims)
    name = f"@{_symbol(mesh.name)}" if mesh.name else f"mesh{_axes_text(mesh)}"
    lists = [("replicated", sharding.replicated), ("unreduced", sharding.unreduced)]
    others = "".join(f", {key}={{{_names(axes, mesh)}}}" for key, axes in lists if axes)
    return f"#sdy.sharding<{name}, [{dims}]{others}>"


def read_mesh(text: str) -> Mesh:
    """The mesh of `sdy.mesh @mesh = <["x"=2], device_ids=[…]>`. LayoutError if it is none."""
    tokens = _Tokens(text)
    tokens.expect(sdy.mesh.name)
    name = tokens.next()
    if not name.startswith("@"):
        raise tokens.error("@ and a name", name)
    tokens.expect("=")
    mesh = _axes(tokens, name[1:].strip('"'))
    tokens.end()
    return mesh


def write_mesh(mesh: Mesh) -> str:
    """`sdy.mesh @mesh = <["x"=2, "y"=4]>`."""
    limits.counted_from_zero(mesh, "sdy")
    return f"sdy.mesh @{_symbol(mesh.name or 'mesh')} = {_axes_text(mesh)}"


class _Tokens:
    """The words and marks of a text, one after the other."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.found: list[str] = []
        self.at = 0
        place = 0
        while match := _TOKEN.match(text, place):
            self.found.append(match["token"])
            place = match.end()
        if text[place:].strip():
            raise LayoutError(f"cannot read {text[place:].strip()[:20]!r} in {text!r}")

    @property
    def current(self) -> str:
        return self.found[self.at] if self.at < len(self.found) else ""

    def next(self) -> str:
        token = self.current
        self.at += 1
        return token

    def optional(self, token: str) -> bool:
        if self.current != token:
            return False
        self.at += 1
        return True

    def expect(self, token: str) -> None:
        if not self.optional(token):
            raise self.error(repr(token), self.current)

    def end(self) -> None:
        if self.current:
            raise self.error("the end", self.current)

    def number(self) -> int:
        token = self.next()
        if not token.isdigit():
            raise self.error("a number", token)
        return int(token)

    def quoted(self) -> str:
        token = self.next()
        if not token.startswith('"'):
            raise self.error("a name in quotes", token)
        return token[1:-1]

    def listed(self, opening: str, closing: str, item: Callable[[], T]) -> list[T]:
        """Items between brackets, with commas."""
        self.expect(opening)
        items: list[T] = []
        while not self.optional(closing):
            if items:
                self.expect(",")
            items.append(item())
        return items

    def error(self, wanted: str, token: str) -> LayoutError:
        return LayoutError(f"expected {wanted}, found {token or 'the end'} in {self.text!r}")


def _mesh(tokens: _Tokens, mesh: Mesh | None) -> Mesh:
    if tokens.optional("mesh"):
        return _axes(tokens, "")
    token = tokens.next()
    if not token.startswith("@"):
        raise tokens.error("@ and the name of a mesh", token)
    name = token[1:].strip('"')
    if mesh is None:
        raise LayoutError(f'give mesh @{name}, or spell it out: #sdy.sharding<mesh<["x"=4]>, [{{"x"}}]>')
    if mesh.name != name:
        raise LayoutError(f"there is no mesh @{name}; the one given is @{mesh.name}")
    return mesh


def _axes(tokens: _Tokens, name: str) -> Mesh:
    """`<["x"=2], device_ids=[1, 0]>`."""

    def axis() -> tuple[str, int]:
        axis_name = tokens.quoted()
        tokens.expect("=")
        return axis_name, tokens.number()

    tokens.expect("<")
    axes = tokens.listed("[", "]", axis)
    ids = None
    if tokens.optional(","):
        tokens.expect("device_ids")
        tokens.expect("=")
        ids = tuple(tokens.listed("[", "]", tokens.number))
    tokens.expect(">")
    return Mesh(name, tuple(axes), ids)


def _dim(tokens: _Tokens, mesh: Mesh) -> Dim:
    """`{"x", "y":(1)2, ?}p1`."""
    entries = tokens.listed("{", "}", lambda: None if tokens.optional("?") else _axis(tokens, mesh))
    axes = tuple(axis for axis in entries if axis is not None)
    if None in entries[:-1]:
        raise tokens.error("? at the end of a dimension", "?")
    priority = None
    if re.fullmatch(r"p\d+", tokens.current):
        priority = int(tokens.next()[1:])
    return Dim(axes, None in entries, priority)


def _axis(tokens: _Tokens, mesh: Mesh) -> Axis:
    """`"x"` or `"x":(1)2`."""
    axis = mesh.axis(tokens.quoted())
    if not tokens.optional(":"):
        return axis
    tokens.expect("(")
    pre = tokens.number()
    tokens.expect(")")
    return Axis(axis.name, tokens.number(), pre)


def _dim_text(dim: Dim, mesh: Mesh) -> str:
    names = _names(dim.axes, mesh)
    more = (", ?" if names else "?") if dim.open else ""
    return f"{{{names}{more}}}" + ("" if dim.priority is None else f"p{dim.priority}")


def _names(axes: Sequence[Axis], mesh: Mesh) -> str:
    return ", ".join(
        f'"{axis.name}"' + ("" if mesh.is_full(axis) else f":({axis.pre}){axis.size}") for axis in axes
    )


def _axes_text(mesh: Mesh) -> str:
    axes = ", ".join(f'"{name}"={size}' for name, size in mesh.axes)
    ids = "" if mesh.device_ids is None else f", device_ids={list(mesh.device_ids)}"
    return f"<[{axes}]{ids}>"


def _symbol(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z_][\w.$]*", name) else f'"{name}"'
