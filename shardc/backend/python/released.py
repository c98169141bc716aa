"""Variables that end before their function does: `del w_1` where nothing reads a released copy any more.

A Python function holds what its variables hold until it returns. For copies that the pass regather makes
again, that would be in vain.
"""

from __future__ import annotations

from shardc.backend.python.names import Names
from shardc.backend.python.trace import Delete, Line
from shardc.backend.python.writer import Writer
from shardc.graph import Node
from shardc.graph.marks import RELEASE


class Released:
    """The variables of one scope that hold released values."""

    def __init__(self, writer: Writer, names: Names, lines: list[Line]) -> None:
        self.writer, self.names, self.lines = writer, names, lines
        self._variables: dict[str, None] = {}

    def assigned(self, variable: str, node: Node | None) -> None:
        """A variable has got a value, the result of a node if there is one."""
        if node is not None and RELEASE in node.attrs:
            self._variables[variable] = None
        else:
            self._variables.pop(variable, None)

    def delete(self) -> None:
        """Write `del` for what nothing reads any more."""
        ended = [variable for variable in self._variables if not self.names.is_read(variable)]
        for variable in ended:
            self.writer.line(f"del {variable}")
            self.lines.append(Delete(variable))
            del self._variables[variable]
