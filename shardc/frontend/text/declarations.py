"""What a program declares before its functions: sizes, constants, assertions on them, meshes, records."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from shardc.diagnostics import Location, ShardcError, listed
from shardc.frontend.text import syntax as s
from shardc.frontend.text.annotations import Types
from shardc.frontend.text.depth import children
from shardc.frontend.text.imports import Shared
from shardc.frontend.text.promotion import SPELLED
from shardc.frontend.text.scope import Scope
from shardc.frontend.text.statements import check
from shardc.frontend.text.syntax import Pos
from shardc.frontend.text.values import Value, describe
from shardc.layout import Mesh
from shardc.layout.mesh import MAX_DEVICES, LayoutError

if TYPE_CHECKING:
    from shardc.frontend.text.program import ProgramReader


class Declarations:
    """The declarations of one program: `known` are its sizes and constants by name."""

    def __init__(self, program: s.Program, shared: Shared) -> None:
        self.program, self.shared, self.e = program, shared, shared.e
        self.sizes: dict[str, int] = {}
        self.known: dict[str, Value] = {}
        self.records: dict[str, s.RecordDef] = {}
        self.functions: dict[str, s.Function] = {}
        self.owners: dict[str, ProgramReader] = {}
        """Whose the functions are that other files declare."""
        self.modules: dict[str, str] = {}
        """What stands in front of a dot -> the file that is imported under this name."""
        self.types = Types(self.e, shared.meshes, self.sizes)

    def declare(self, defines: Mapping[str, int], scope: Callable[[], Scope]) -> None:
        """All but imports and meshes; `scope` makes one without names, for the values of constants."""
        self._check_defines(defines)
        every = sorted((*self.program.sizes, *self.program.constants), key=lambda one: one.pos)
        for number, declared in enumerate(every):
            self.check_free(declared.name, declared.pos)
            self._check_above(declared, every[number:])
            if isinstance(declared, s.SizeDef):
                self._size(declared, defines)
            else:
                self._constant(declared, scope())
        for assertion in self.program.assertions:
            self._check_known(assertion.condition)
            check(scope(), assertion)
        self._declare_records()

    def check_free(self, name: str, pos: Pos) -> None:
        """An error if a name of a value, size or function means something else in the whole program."""
        if name in ("True", "False", "None"):
            raise self.e.error(f"{name} cannot be given a value", pos=pos)
        if name in self.sizes:
            raise self.e.error(f"{name} is a size of this program", "choose another name", pos)
        if name in self.known:
            raise self.e.error(f"{name} is a constant of this program", "choose another name", pos)
        if name in self.functions:
            raise self.e.error(f"{name} is a function of this program", "choose another name", pos)
        if name in self.records:
            raise self.e.error(f"{name} is a record of this program", "choose another name", pos)
        if name in self.modules:
            raise self.e.error(f"{name} is the file {self.modules[name]}", "choose another name", pos)

    def _check_defines(self, defines: Mapping[str, int]) -> None:
        names = tuple(size.name for size in self.program.sizes)
        for name, value in defines.items():
            if name not in names:
                hint = listed(name, names, "the sizes are")
                raise ShardcError(f"-D {name}={value}: the program has no size {name}", Location(), hint)
            if value < 0:
                raise ShardcError(f"-D {name}={value}: a size is at least 0")

    def _size(self, size: s.SizeDef, defines: Mapping[str, int]) -> None:
        value = self.types.size(size.value)
        self.known[size.name] = self.sizes[size.name] = defines.get(size.name, value)

    def _constant(self, constant: s.ConstDef, scope: Scope) -> None:
        self._check_known(constant.value)
        value = scope.value(constant.value)
        self.known[constant.name] = value
        if isinstance(value, int) and not isinstance(value, bool):
            self.types.constants[constant.name] = value
        else:
            self.types.no_sizes[constant.name] = describe(value)

    def _check_above(self, declared: s.SizeDef | s.ConstDef, below: Sequence[s.SizeDef | s.ConstDef]) -> None:
        """An error if a value uses its own name, or one that is declared further down."""
        parts = list(_parts(declared.value))
        own = {target.name for one in parts if isinstance(one, s.Comprehension) for target in one.targets}
        places = {one.name: one.pos for one in reversed(below) if one.name not in own}
        for node in parts:
            if isinstance(node, s.Name) and node.id in places:
                where = self.e.place(places[node.id])
                hint = f"{node.id} is declared at {where}: a value uses what is declared above it"
                raise self.e.error(f"{node.id} has no value yet", hint, node.pos)

    def _check_known(self, expr: s.Expr) -> None:
        """Nothing is built here: no calls."""
        for node in _parts(expr):
            if isinstance(node, s.Call):
                hint = "operators and numbers make a constant; functions compute tensors"
                raise self.e.error("a constant has no calls", hint, node.pos)

    def _declare_records(self) -> None:
        for record in self.program.records:
            self.check_free(record.name, record.pos)
            if record.name in SPELLED:
                raise self.e.error(f"{record.name} is a dtype", "choose another name", record.pos)
            names = [field.name for field in record.fields]
            for i, field in enumerate(record.fields):
                if field.name in names[:i]:
                    raise self.e.error(f"{record.name} has two fields {field.name}", pos=field.pos)
            self.records[record.name] = replace(record, name=self._class(record))

    def _class(self, record: s.RecordDef) -> str:
        """What the record is called in the compiled program: those of its own file keep their names."""
        own = record_names(self.program) if self.program.file == self.e.file else set[str]()
        taken, unique, number = {*(self.shared.reserved - own), *self.shared.classes}, record.name, 0
        while unique in taken:
            number += 1
            unique = f"{record.name}_{number}"
        self.shared.classes[unique] = record.doc
        return unique

    def declare_meshes(self) -> None:
        """The meshes, which all files of a program have in common."""
        own: set[str] = set()
        for mesh in self.program.meshes:
            if mesh.name in own:
                raise self.e.error(f"mesh {mesh.name} is declared twice", pos=mesh.pos)
            own.add(mesh.name)
            if not mesh.axes:
                raise self.e.error(f"mesh {mesh.name} has no axes", pos=mesh.pos)
            axes = tuple((name, self.types.size(size)) for name, size in mesh.axes)
            try:
                other = self.shared.meshes.get(mesh.name)
                symbol = self._mesh_symbol(mesh.name) if other is None else other.name
                declared = Mesh(symbol, axes, processes=mesh.processes or 1)
                if declared.size > MAX_DEVICES:
                    raise LayoutError(f"mesh {mesh.name} has more than 2^20 devices")
                declared = Mesh(symbol, axes, mesh.devices, 1 if mesh.processes is None else mesh.processes)
            except (LayoutError, ArithmeticError) as error:
                raise self.e.error(str(error), pos=mesh.pos) from None
            if other is not None and other != declared:
                hint = "all files of a program have their meshes in common"
                raise self.e.error(f"mesh {mesh.name} is declared twice, and differently", hint, mesh.pos)
            if other is None:
                self.shared.meshes[mesh.name] = declared
                with self.e.at(mesh.pos):
                    self.shared.builder.mesh(declared)

    def _mesh_symbol(self, name: str) -> str:
        """What the module calls a mesh: there, unlike here, meshes and functions share one name space."""
        taken = {*self.shared.reserved, *(mesh.name for mesh in self.shared.meshes.values())}
        while name in taken:
            name += "_mesh"
        return name


def _parts(expr: s.Expr) -> Iterator[s.Expr | s.Slice]:
    """An expression and all inside it."""
    todo: list[s.Expr | s.Slice] = [expr]
    while todo:
        node = todo.pop()
        yield node
        todo += children(node)


def record_names(program: s.Program) -> set[str]:
    """The names of the records that a file declares."""
    return {record.name for record in program.records}
