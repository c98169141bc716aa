"""The IR builder with what source programs need besides: names given afterwards, and composite groups."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager

from xdsl.dialects.builtin import ArrayAttr, StringAttr
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue

from shardc.diagnostics import Location
from shardc.dialects.build import IRBuilder
from shardc.dialects.locations import locate, location_of
from shardc.dialects.snapshot import ABOUT, DOC
from shardc.dialects.trees import INTERFACE, attr_of_interface
from shardc.dialects.types import attr_of_type
from shardc.graph.marks import GROUP, PARTIAL_KIND, PARTIAL_OVER
from shardc.graph.trees import Interface
from shardc.graph.types import TensorType
from shardc.layout import Mesh
from shardc.ops import Trait, has, is_tensor_op


class SourceBuilder(IRBuilder):
    """Builds the module of a .shard program."""

    _recorded: list[Operation] | None = None
    groups = 0
    """How many groups there are."""
    operations = 0
    """How many operations have been built for the function that is being built."""

    def insert(self, op: Operation, loc: Location | None = None) -> Operation:
        inserted = super().insert(op, loc)
        self.operations += 1
        if self._recorded is not None and op.parent_block() is self._group_block:
            self._recorded.append(op)
        return inserted

    @contextmanager
    def counted(self) -> Generator[None]:
        """What is built inside counts for itself."""
        old, self.operations = self.operations, 0
        try:
            yield
        finally:
            self.operations = old

    @contextmanager
    def group(self, label: str) -> Generator[None]:
        """Tag the operations built inside with shardc.group = "label/count". Groups don't nest."""
        self._recorded, self._group_block = [], self._block
        try:
            yield
            for op in self._recorded:
                op.attributes[GROUP] = StringAttr(f"{label}/{len(self._recorded)}")
        finally:
            self._recorded = None

    def group_like(self, label: str) -> str:
        """A label for a copy of a group: softmax#7/5 for softmax#3/5."""
        name, _, number = label.partition("#")
        self.groups += 1
        return f"{name}#{self.groups}/{number.partition('/')[2]}"

    @property
    def place(self) -> Block:
        """Where operations go."""
        return self._block

    @contextmanager
    def on_mesh(self, mesh: Mesh) -> Generator[None]:
        """Axes that operations inside name are those of this mesh."""
        old, self._manual_mesh = self._manual_mesh, mesh
        try:
            yield
        finally:
            self._manual_mesh = old

    @contextmanager
    def draft(self, types: Sequence[TensorType]) -> Generator[tuple[FuncOp, Sequence[SSAValue]]]:
        """A function of the module that the caller removes; what is built inside is its body."""
        with self._untagged(), self.func("draft", types, public=False) as args:
            parent = args[0].block.parent_op() if args else self._block.parent_op()
            assert isinstance(parent, FuncOp)
            yield parent, args

    @contextmanager
    def ungrouped(self) -> Generator[None]:
        """What is built inside belongs to no group from outside."""
        old, self._recorded = self._recorded, None
        try:
            yield
        finally:
            self._recorded = old

    @contextmanager
    def apart(self) -> Generator[None]:
        """What is built inside has no group, no tags and no mesh from outside."""
        old = self._recorded, self._manual_mesh
        self._recorded = self._manual_mesh = None
        try:
            with self._untagged():
                yield
        finally:
            self._recorded, self._manual_mesh = old

    def trial(self, types: Sequence[TensorType], build: Callable[..., Sequence[SSAValue]]) -> None:
        """Build a block that nothing keeps."""
        block = Block(arg_types=[attr_of_type(type) for type in types])
        with self.inside(block), self.counted():
            build(self, *block.args)
        for op in reversed(list(block.ops)):
            block.erase_op(op, safe_erase=False)

    def name(self, values: Sequence[SSAValue], names: Sequence[str]) -> None:
        """Give values the names they are assigned to, unless they have one already.

        Several results of one operation share a location, so they have their names as name hints only.
        """
        for value, name in zip(values, names, strict=True):
            if value.name_hint:
                continue
            if SSAValue.is_valid_name(name):
                value.name_hint = name
            if isinstance(value, BlockArgument):
                locate(value, location_of(value.location).named(name))
            elif isinstance(value, OpResult) and len(value.op.results) == 1:
                locate(value.op, location_of(value.op.location).named(name))

    def document_program(self, about: str | None) -> None:
        """Note on the module what its author says of it."""
        if about is not None:
            self.module.attributes[ABOUT] = StringAttr(about)

    def document(self, doc: str | None) -> None:
        """Note on the function that is being built what its author says of it."""
        function = self._block.parent_op()
        if doc is not None and function is not None:
            function.attributes[DOC] = StringAttr(doc)

    def note_interface(self, interface: Interface) -> None:
        """Note on the function that is being built which tuples and records it takes and gives."""
        function = self._block.parent_op()
        if function is not None and not interface.is_flat:
            function.attributes[INTERFACE] = attr_of_interface(interface)

    def place_return(self, result: SSAValue, loc: Location) -> None:
        """Say where the body that a value is the result of returns."""
        op = result.owner
        end = op.regions[0].block.last_op if isinstance(op, Operation) else None
        if end is not None:
            locate(end, loc)

    def declare_partial(self, value: SSAValue, over: Sequence[str], kind: str) -> bool:
        """Say that the local result of an operation is partial.

        False if the value has no operation to itself: a parameter, a loop's result, what has a name.
        """
        op = value.owner
        if not isinstance(op, Operation) or value.name_hint or has(op.name, Trait.REGION):
            return False
        if not is_tensor_op(op.name):
            return False
        op.attributes[PARTIAL_OVER] = ArrayAttr([StringAttr(name) for name in over])
        op.attributes[PARTIAL_KIND] = StringAttr(kind)
        return True

    def drop_marked(self, attribute: str) -> None:
        """Remove the operations with an attribute, which give their operands unchanged."""
        for op in [op for op in self.module.walk() if attribute in op.attributes]:
            for result, operand in zip(op.results, op.operands, strict=True):
                result.replace_all_uses_with(operand)
            op.detach()
            op.erase()

    def keep_reachable(self, entry: str, order: Sequence[str]) -> None:
        """Remove the functions that `entry` never calls, and put the others in this order."""
        functions = {op.sym_name.data: op for op in self.module.body.block.ops if isinstance(op, FuncOp)}
        wanted: set[str] = set()
        todo = [entry]
        while todo:
            name = todo.pop()
            if name in wanted:
                continue
            wanted.add(name)
            todo += [op.callee.string_value() for op in functions[name].walk() if isinstance(op, CallOp)]
        for name in order:
            functions[name].detach()
            if name in wanted:
                self.module.body.block.add_op(functions[name])
