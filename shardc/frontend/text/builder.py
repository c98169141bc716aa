"""The IR builder with what source programs need besides: names given afterwards, and composite groups."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation, OpResult, SSAValue

from shardc.dialects.build import IRBuilder
from shardc.dialects.locations import locate, location_of
from shardc.graph.types import Location


class SourceBuilder(IRBuilder):
    """Builds the module of a .shard program."""

    _recorded: list[Operation] | None = None

    def insert(self, op: Operation, loc: Location | None = None) -> Operation:
        inserted = super().insert(op, loc)
        if self._recorded is not None and op.parent_block() is self._group_block:
            self._recorded.append(op)
        return inserted

    @contextmanager
    def group(self, label: str) -> Generator[None]:
        """Tag the operations built inside with shardc.group = "label/count". Groups don't nest."""
        self._recorded, self._group_block = [], self._block
        try:
            yield
            for op in self._recorded:
                op.attributes["shardc.group"] = StringAttr(f"{label}/{len(self._recorded)}")
        finally:
            self._recorded = None

    def name(self, values: Sequence[SSAValue], names: Sequence[str]) -> None:
        """Give values of operations the names they are assigned to, unless they have one already.

        The location of an operation with several results lists their names: "values, indices".
        """
        for value, name in zip(values, names, strict=True):
            if not isinstance(value, OpResult) or value.name_hint:
                continue
            if SSAValue.is_valid_name(name):
                value.name_hint = name
            loc = location_of(value.op.location)
            text = f"{loc.name}, {name}" if loc.name else name
            locate(value.op, loc.named(text))
