"""What the attributes of sdy hold, as it is written: axis references, dimensions, meshes, shardings.

They hold names, not meshes, so `#sdy.sharding<@pod, [{"x":(1)2, ?}p1, {}], unreduced={"y"}>` can be read
before `@pod` is known. `shardings.py` turns them into `layout.Sharding` and back.
"""

from __future__ import annotations

from typing import TypeVar

from msgspec import Struct
from xdsl.parser import AttrParser
from xdsl.utils.mlir_lexer import MLIRLexer

from shardc.layout import KINDS

T = TypeVar("T")


class AxisRef(Struct, frozen=True):
    """`"x"`, or the part `"x":(pre)size` of it."""

    name: str
    pre: int = 1
    size: int | None = None

    def __str__(self) -> str:
        part = "" if self.size is None else f":({self.pre}){self.size}"
        return quoted(self.name) + part


class DimRef(Struct, frozen=True):
    """`{"x", "y", ?}p1`: one dimension's axes, whether it is open, its priority."""

    axes: tuple[AxisRef, ...] = ()
    open: bool = False
    priority: int | None = None

    def __str__(self) -> str:
        words = [*map(str, self.axes), *(["?"] if self.open else [])]
        return f"{{{', '.join(words)}}}" + ("" if self.priority is None else f"p{self.priority}")


class MeshRef(Struct, frozen=True):
    """`<["x"=4, "y"=2], device_ids=[…]>`: axes and, unless they count up, the device numbers."""

    axes: tuple[tuple[str, int], ...]
    device_ids: tuple[int, ...] | None = None

    def __str__(self) -> str:
        axes = ", ".join(f"{quoted(name)}={size}" for name, size in self.axes)
        ids = "" if self.device_ids is None else f", device_ids={list(self.device_ids)}"
        return f"<[{axes}]{ids}>"


class ShardingRef(Struct, frozen=True):
    """A tensor's sharding. `mesh` is a symbol's name or the mesh itself.

    `kind` is of what is unreduced, in the text of newer Shardys: `unreduced=max{"x"}`.
    """

    mesh: str | MeshRef
    dims: tuple[DimRef, ...]
    replicated: tuple[AxisRef, ...] = ()
    unreduced: tuple[AxisRef, ...] = ()
    kind: str = "sum"

    def __str__(self) -> str:
        mesh = f"mesh{self.mesh}" if isinstance(self.mesh, MeshRef) else f"@{symbol_text(self.mesh)}"
        parts = [mesh, f"[{', '.join(map(str, self.dims))}]"]
        parts += [f"replicated={axes_text(self.replicated)}"] if self.replicated else []
        kind = "" if self.kind == "sum" else self.kind
        parts += [f"unreduced={kind}{axes_text(self.unreduced)}"] if self.unreduced else []
        return f"<{', '.join(parts)}>"


AllToAll = tuple[tuple[AxisRef, ...], int, int]


def axes_text(axes: tuple[AxisRef, ...]) -> str:
    """`{"x", "y":(1)2}`."""
    return f"{{{', '.join(map(str, axes))}}}"


def symbol_text(name: str) -> str:
    """A symbol's name without the @, quoted if it has to be."""
    return name if MLIRLexer.bare_identifier_regex.fullmatch(name) else quoted(name)


def quoted(name: str) -> str:
    """A name as a string of MLIR: quotes, backslashes and what is not printable ASCII by their bytes."""
    if name.isidentifier() and name.isascii():
        return f'"{name}"'
    kept = (
        chr(byte) if 32 <= byte < 127 and byte not in b'"\\' else f"\\{byte:02X}" for byte in name.encode()
    )
    return f'"{"".join(kept)}"'


def shardings_text(shardings: tuple[ShardingRef, ...]) -> str:
    """`[<@mesh, [{"x"}]>, <@mesh, [{}]>]`."""
    return f"[{', '.join(map(str, shardings))}]"


# Reading


def parse_axis(parser: AttrParser) -> AxisRef:
    """Read `"x"` or `"x":(1)2`."""
    name = parser.parse_str_literal(" for a mesh axis")
    if parser.parse_optional_punctuation(":") is None:
        return AxisRef(name)
    parser.parse_punctuation("(")
    pre = parser.parse_integer()
    parser.parse_punctuation(")")
    return AxisRef(name, pre, parser.parse_integer())


def parse_axes(parser: AttrParser) -> tuple[AxisRef, ...]:
    """Read `{"x", "y"}`."""
    return tuple(parser.parse_comma_separated_list(parser.Delimiter.BRACES, lambda: parse_axis(parser)))


def parse_axis_lists(parser: AttrParser) -> tuple[tuple[AxisRef, ...], ...]:
    """Read `[{"x"}, {}]`."""
    return tuple(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: parse_axes(parser)))


def parse_dim(parser: AttrParser) -> DimRef:
    """Read `{"x", ?}p1`."""
    words = parser.parse_comma_separated_list(parser.Delimiter.BRACES, lambda: _axis_or_open(parser))
    if None in words[:-1]:
        parser.raise_error("? stands at the end of a dimension's axes")
    return DimRef(
        tuple(axis for axis in words if axis is not None), words[-1:] == [None], _parse_priority(parser)
    )


def _axis_or_open(parser: AttrParser) -> AxisRef | None:
    return None if parser.parse_optional_punctuation("?") else parse_axis(parser)


def _parse_priority(parser: AttrParser) -> int | None:
    word = parser.parse_optional_identifier()
    if word is None:
        return None
    if word[0] != "p" or not word[1:].isdigit():
        parser.raise_error(f"{word} is no priority; priorities are p0, p1, …")
    return int(word[1:])


def parse_mesh(parser: AttrParser) -> MeshRef:
    """Read `<["x"=4], device_ids=[1, 0]>`, perhaps with `#sdy.mesh` before it."""
    if parser.lexer.input.at(parser.pos) == "#":
        return _parse_long(parser, MeshRef, "mesh")
    with parser.in_angle_brackets():
        axes = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: _parse_mesh_axis(parser))
        ids = None
        if parser.parse_optional_punctuation(",") is not None:
            parser.parse_keyword("device_ids")
            parser.parse_punctuation("=")
            ids = tuple(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer))
    return MeshRef(tuple(axes), ids)


def _parse_mesh_axis(parser: AttrParser) -> tuple[str, int]:
    name = parser.parse_str_literal(" for a mesh axis")
    parser.parse_punctuation("=")
    return name, parser.parse_integer()


def parse_sharding(parser: AttrParser) -> ShardingRef:
    """Read `<@mesh, [{"x"}, {?}], replicated={"y"}, unreduced={"z"}>`."""
    with parser.in_angle_brackets():
        symbol = parser.parse_optional_symbol_name()
        if symbol is None:
            parser.parse_keyword("mesh")
        mesh = parse_mesh(parser) if symbol is None else symbol.data
        parser.parse_punctuation(",")
        dims = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: parse_dim(parser))
        axes: dict[str, tuple[AxisRef, ...]] = {}
        kind = "sum"
        while parser.parse_optional_punctuation(","):
            key = parser.parse_identifier()
            if key not in ("replicated", "unreduced"):
                parser.raise_error(
                    f"a sharding has no {key}; after the dimensions stand replicated, unreduced"
                )
            if key in axes:
                parser.raise_error(f"{key} stands twice in a sharding")
            parser.parse_punctuation("=")
            if key == "unreduced":
                kind = parse_kind(parser)
            axes[key] = parse_axes(parser)
    return ShardingRef(mesh, tuple(dims), axes.get("replicated", ()), axes.get("unreduced", ()), kind)


def parse_kind(parser: AttrParser) -> str:
    """Read `max` or `min`; sum is also what nothing says."""
    kind = parser.parse_optional_identifier() or "sum"
    if kind not in KINDS:
        parser.raise_error(f"{kind} is no kind of reduction; it is one of {', '.join(KINDS)}")
    return kind


def parse_shardings(parser: AttrParser) -> tuple[ShardingRef, ...]:
    """Read `[<@mesh, [{"x"}]>, <@mesh, [{}]>]`, each perhaps with `#sdy.sharding` before it."""
    return tuple(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: _parse_one(parser)))


def _parse_one(parser: AttrParser) -> ShardingRef:
    if parser.lexer.input.at(parser.pos) != "#":
        return parse_sharding(parser)
    return _parse_long(parser, ShardingRef, "sharding")


def _parse_long(parser: AttrParser, kind: type[T], what: str) -> T:
    """Read an attribute with its name, which must hold that kind."""
    attribute = parser.parse_attribute()
    held = getattr(attribute, "data", None)
    if isinstance(held, kind):
        return held
    parser.raise_error(f"{attribute} is no {what}")


def parse_all_to_all(parser: AttrParser) -> AllToAll:
    """Read `{"x"}: 0->1`."""
    axes = parse_axes(parser)
    parser.parse_punctuation(":")
    source = parser.parse_integer()
    parser.parse_punctuation("->")
    return axes, source, parser.parse_integer()
