"""Replica groups as axes of a mesh, which is how JAX prints them from 0.11 on.

    #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "y">]>

on a mesh x=2, y=2 are the groups [[0, 1], [2, 3]]: members differ over the axes alone, and the last axis
counts fastest. Instead of its name the mesh itself may stand there,

    #stablehlo.mesh<axes=[<name = "x", size = 2>, <name = "y", size = 2>], device_ids=dense<[…]> : …>
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import numpy as np
from msgspec import Struct
from xdsl.dialects.builtin import SymbolRefAttr
from xdsl.ir import Attribute
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from shardc.dialects.data_attribute import ValueAttr, data_attribute
from shardc.dialects.dense import DenseAttr
from shardc.dialects.sdy_refs import AxisRef, MeshRef, quoted, symbol_text
from shardc.dialects.shardings import axis_of, mesh_of
from shardc.layout import Dim, LayoutError, Mesh, Sharding
from shardc.layout.groups import group_of, position_over
from shardc.layout.mesh import MAX_DEVICES


class MeshGroups(Struct, frozen=True):
    """The mesh's name or the mesh, and the axes over which a group's members differ, major to minor."""

    mesh: str | MeshRef
    axes: tuple[AxisRef, ...]

    def rows(self, meshes: Mapping[str, Mesh]) -> tuple[tuple[int, ...], ...]:
        """The device numbers of each group; LayoutError if no such mesh has such axes."""
        mesh = mesh_of(str(self.mesh), self.mesh) if isinstance(self.mesh, MeshRef) else meshes.get(self.mesh)
        if mesh is None:
            raise LayoutError(f"replica groups name mesh @{self.mesh}, which is not defined")
        axes = tuple(axis_of(ref, mesh) for ref in self.axes)
        Sharding(mesh, (Dim(axes),)).check()
        order = np.lexsort((position_over(mesh, axes), group_of(mesh, axes)))
        members = int(np.prod([axis.size for axis in axes], dtype=np.int64))
        found = mesh.devices.reshape(-1)[order].reshape(-1, members)
        return tuple(tuple(row) for row in found.tolist())


@data_attribute
class AxisRefAttr(ValueAttr[AxisRef]):
    """`#stablehlo.axis_ref<name = "x", sub_axis_info = (1)2>`."""

    name = "stablehlo.axis_ref"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> AxisRef:
        with parser.in_angle_brackets():
            parser.parse_keyword("name")
            parser.parse_punctuation("=")
            name = parser.parse_str_literal()
            if parser.parse_optional_punctuation(",") is None:
                return AxisRef(name)
            parser.parse_keyword("sub_axis_info")
            parser.parse_punctuation("=")
            with parser.in_parens():
                pre = parser.parse_integer()
            return AxisRef(name, pre, parser.parse_integer())

    def print_parameter(self, printer: Printer) -> None:
        ref = self.data
        part = "" if ref.size is None else f", sub_axis_info = ({ref.pre}){ref.size}"
        printer.print_string(f"<name = {quoted(ref.name)}{part}>")


@data_attribute
class MeshOfGroupsAttr(ValueAttr[MeshRef]):
    """`#stablehlo.mesh<axes=[<name = "x", size = 2>], device_ids=dense<[1, 0]> : tensor<2xi64>>`."""

    name = "stablehlo.mesh"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> MeshRef:
        with parser.in_angle_brackets():
            parser.parse_keyword("axes")
            parser.parse_punctuation("=")
            axes = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: _named_size(parser))
            if parser.parse_optional_punctuation(",") is None:
                return MeshRef(tuple(axes))
            parser.parse_keyword("device_ids")
            parser.parse_punctuation("=")
            ids = parser.parse_attribute()
            if not isinstance(ids, DenseAttr) or ids.data.value.data.dtype.kind not in "iu":
                parser.raise_error("the devices of a mesh are dense<[…]> : tensor<…xi64>")
            if prod(ids.data.value.shape) > MAX_DEVICES:
                parser.raise_error("a mesh has at most 2^20 devices")
        return MeshRef(tuple(axes), tuple(int(number) for number in ids.data.value.array().reshape(-1)))

    def print_parameter(self, printer: Printer) -> None:
        axes = ", ".join(f"<name = {quoted(name)}, size = {size}>" for name, size in self.data.axes)
        printer.print_string(f"<axes=[{axes}]")
        if self.data.device_ids is not None:
            ids = list(self.data.device_ids)
            printer.print_string(f", device_ids=dense<{ids}> : tensor<{len(ids)}xi64>")
        printer.print_string(">")


def _named_size(parser: AttrParser) -> tuple[str, int]:
    """Read `<name = "x", size = 2>`."""
    with parser.in_angle_brackets():
        parser.parse_keyword("name")
        parser.parse_punctuation("=")
        name = parser.parse_str_literal()
        parser.parse_punctuation(",")
        parser.parse_keyword("size")
        parser.parse_punctuation("=")
        return name, parser.parse_integer()


@data_attribute
class MeshGroupsAttr(ValueAttr[MeshGroups]):
    """`#stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = […]>`."""

    name = "stablehlo.replica_group_mesh_axes"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> MeshGroups:
        with parser.in_angle_brackets():
            parser.parse_keyword("mesh")
            parser.parse_punctuation("=")
            mesh = parser.parse_attribute()
            if not isinstance(mesh, (SymbolRefAttr, MeshOfGroupsAttr)):
                parser.raise_error("replica groups name a mesh of the module, as @mesh")
            parser.parse_punctuation(",")
            parser.parse_keyword("axes")
            parser.parse_punctuation("=")
            axes = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: _axis(parser))
        named = mesh.data if isinstance(mesh, MeshOfGroupsAttr) else mesh.string_value()
        return MeshGroups(named, tuple(axes))

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string("<mesh = ")
        if isinstance(self.data.mesh, MeshRef):
            printer.print_attribute(MeshOfGroupsAttr(self.data.mesh))
        else:
            printer.print_string(f"@{symbol_text(self.data.mesh)}")
        printer.print_string(", axes = [")
        printer.print_list(self.data.axes, lambda ref: printer.print_attribute(AxisRefAttr(ref)))
        printer.print_string("]>")


def _axis(parser: AttrParser) -> AxisRef:
    attr = parser.parse_attribute()
    if not isinstance(attr, AxisRefAttr):
        parser.raise_error("an axis of replica groups is #stablehlo.axis_ref<…>")
    return attr.data


ATTRIBUTES: list[type[Attribute]] = [AxisRefAttr, MeshOfGroupsAttr, MeshGroupsAttr]
