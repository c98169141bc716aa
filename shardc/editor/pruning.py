"""A syntax tree without a wrong part, and without what depends on it, so that the rest can be checked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import PurePath
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import replace

from shardc.editor.mending import HOLE, Hole
from shardc.frontend.text import syntax as s
from shardc.frontend.text.depth import statements
from shardc.frontend.text.syntax import Pos, Program

_DECLARED = ("meshes", "sizes", "functions", "constants", "records", "assertions", "imports", "logical")


def mentioned(node: object) -> set[str]:
    """The names that a part of the tree reads: of values, functions, sizes, records, axes, meshes, files."""
    found: set[str] = set()
    todo: list[object] = [node]
    while todo:
        one = todo.pop()
        match one:
            case s.Name():
                found.add(one.id)
            case s.AxisRef() | s.NamedType() | s.Decorator():
                found |= {one.name, one.name.partition(".")[0]}
            case s.On():
                found.add(one.mesh)
            case s.Type():
                found |= {one.dtype, one.dtype.partition(".")[0]}
            case _:
                pass
        if isinstance(one, tuple):
            todo += cast("tuple[object, ...]", one)
        elif isinstance(one, Struct):
            todo += [getattr(one, field) for field in one.__struct_fields__]
    return found


def given(statement: s.Statement) -> set[str]:
    """The names that a statement gives a value, also inside."""
    found: set[str] = set()
    todo: list[s.Statement] = [statement]
    while todo:
        one = todo.pop()
        if isinstance(one, s.Assign):
            found |= {target.name for target in one.targets}
        elif isinstance(one, s.For | s.While):
            found |= {target.name for target in one.carrying}
            found |= {target.name for target in one.collecting} if isinstance(one, s.For) else set()
        elif isinstance(one, s.Function):
            found.add(one.name)
            continue  # what it assigns is its own
        todo += statements(one)
    return found


class Pruning(Struct):
    """A program and what is cut out of it; `lost` are the names of the file whose meaning is not known."""

    program: Program
    lost: set[str] = set()

    def leave_holes(self, holes: Sequence[Hole]) -> None:
        """Take away what depends on statements that cannot be read."""
        for hole in holes:
            function = self.function_at(hole.line)
            if function is None or hole.line < function.pos.line:
                self.lost |= set(hole.names)
            else:
                self._prune(function, (), hole)
        self._settle()

    def cut(self, line: int) -> bool:
        """Take away the statement or declaration at a line; whether there is one."""
        declared = self._at(line)
        if declared is None:
            return False
        if isinstance(declared, s.Function) and line > declared.pos.line:
            culprit = _innermost(declared.body, line)
            if culprit is not None:
                self._prune(declared, (culprit,), None)
                self._settle()
                return True
        self._drop(declared)
        self._settle()
        return True

    def cut_import(self, index: int) -> None:
        """Take away an import whose file is wrong."""
        self._drop(self.program.imports[index])
        self._settle()

    def function_at(self, line: int) -> s.Function | None:
        """The function that a line is in."""
        found = self._at(line)
        return found if isinstance(found, s.Function) else None

    # ---- declarations

    def _at(self, line: int) -> Any:
        every = [(name, one) for name in _DECLARED for one in getattr(self.program, name)]
        before = [one for _, one in every if _first(one) <= line]
        return max(before, key=_first, default=None)

    def _drop(self, declared: object) -> None:
        for name in _DECLARED:
            kept = tuple(one for one in getattr(self.program, name) if one is not declared)
            self.program = replace(self.program, **{name: kept})
        self.lost |= set(names_of(declared))

    def _settle(self) -> None:
        """Drop what depends on lost names until nothing does."""
        size = -1
        while size != len(self.lost):
            size = len(self.lost)
            for name in _DECLARED:
                for declared in getattr(self.program, name):
                    if isinstance(declared, s.Function):
                        self._settle_function(declared)
                    elif mentioned(declared) & self.lost:
                        self._drop(declared)

    def _settle_function(self, function: s.Function) -> None:
        head = (function.parameters, function.results, function.decorator, function.rules)
        if mentioned(head) & self.lost:
            self._drop(function)
        elif mentioned(function.body) & self.lost:
            self._prune(function, (), None)

    # ---- statements

    def _prune(self, function: s.Function, wrong: Sequence[s.Statement], hole: Hole | None) -> None:
        body, complete = _pruned(function.body, wrong, set(self.lost), hole)
        results = function.results
        if not complete or not any(map(_returns, body)):
            results = None
            body = (*body, s.Return(function.pos, s.Number(function.pos, 0)))
            self.lost.add(function.name)
        new = replace(function, body=body, results=results)
        kept = tuple(new if one is function else one for one in self.program.functions)
        self.program = replace(self.program, functions=kept)


def _pruned(
    body: Sequence[s.Statement], wrong: Sequence[s.Statement], lost: set[str], hole: Hole | None
) -> tuple[tuple[s.Statement, ...], bool]:
    """The statements that depend on nothing lost, and whether all returns are among them."""
    kept: list[s.Statement] = []
    complete = True
    for statement in body:
        head = _head(statement)
        is_hole = isinstance(statement, s.Assign) and statement.targets[0].name == HOLE
        if is_hole and hole is not None and statement.pos.line == hole.line:
            lost |= set(hole.names)
            complete = complete and not hole.returns
        elif any(statement is one for one in wrong) or mentioned(head) & lost or _carries(statement) & lost:
            lost |= given(statement)
            complete = complete and not _returns(statement)
        elif isinstance(statement, s.Function):
            inner, whole = _pruned(statement.body, wrong, set(lost), hole)
            if whole and inner:
                kept.append(replace(statement, body=inner))
                lost.discard(statement.name)
            else:
                lost.add(statement.name)
        elif isinstance(statement, s.For | s.While):
            inner, _ = _pruned(statement.body, wrong, lost, hole)
            if _carries(statement) & lost or not inner:
                lost |= given(statement)
            else:
                kept.append(replace(statement, body=inner))
        elif isinstance(statement, s.If):
            parts = [(condition, *_pruned(part, wrong, lost, hole)) for condition, part in statement.branches]
            otherwise, done = _pruned(statement.otherwise, wrong, lost, hole)
            complete = complete and done and all(whole for _, _, whole in parts)
            branches = tuple((condition, part) for condition, part, _ in parts)
            kept.append(replace(statement, branches=branches, otherwise=otherwise))
        else:
            kept.append(statement)
            lost -= given(statement)
    return tuple(kept), complete


def _head(statement: s.Statement) -> object:
    """A statement without those inside it."""
    if isinstance(statement, s.For | s.While | s.Function):
        return replace(statement, body=())
    if isinstance(statement, s.If):
        return tuple(condition for condition, _ in statement.branches)
    return statement


def _carries(statement: s.Statement) -> set[str]:
    return given(replace(statement, body=())) if isinstance(statement, s.For | s.While) else set()


def _returns(statement: s.Statement) -> bool:
    if isinstance(statement, s.Function):
        return False
    return isinstance(statement, s.Return) or any(map(_returns, statements(statement)))


def _innermost(body: Sequence[s.Statement], line: int) -> s.Statement | None:
    """The last statement that begins at a line or before it."""
    before = [statement for statement in body if statement.pos.line <= line]
    if not before:
        return body[0] if body and isinstance(body[0], s.Return) else None
    last = max(before, key=lambda statement: statement.pos.line)
    return _innermost(statements(last), line) or last


def _first(declared: Any) -> int:
    """The line where a declaration begins; a function's decorator stands above it."""
    if isinstance(declared, s.Function):
        above = [one.pos.line for one in (declared.decorator, *declared.rules) if one is not None]
        return min([declared.pos.line, *above])
    return declared.pos.line


def names_of(declared: object) -> Iterator[str]:
    """The names that a declaration gives a meaning."""
    match declared:
        case s.MeshDef():
            yield from (declared.name, *(name for name, _ in declared.axes))
        case s.Import() if declared.names:
            yield from (alias.name for _, alias in declared.names)
        case s.Import():
            yield declared.module.name if declared.module else PurePath(declared.path).stem
        case s.SizeDef() | s.ConstDef() | s.RecordDef() | s.Function() | s.LogicalDef():
            yield declared.name
        case _:
            return


def without_main(program: Program) -> bool:
    """Whether a file is a library, or not yet a program: none of its functions can be compiled by itself."""
    functions = program.functions
    if any(function.name == "main" for function in functions):
        return False
    last = functions[-1] if functions else None
    if last is None or (last.decorator and last.decorator.name == "per_device"):
        return True
    return any(p.type is None or _is_open(p.type) for p in last.parameters)


def _is_open(type: s.AnyType) -> bool:
    return isinstance(type, s.Type) and any(isinstance(dim, s.Rest) for dim in type.dims)


def with_main(program: Program) -> Program:
    """The same with a function to compile, so that the others are checked."""
    place = Pos(1, 1)
    made = s.Function(place, "main", None, (), None, (s.Return(place, s.Number(place, 0)),))
    return replace(program, functions=(*program.functions, made))
