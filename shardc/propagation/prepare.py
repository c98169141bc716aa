"""What is done to a program before propagation: constants split, constraints applied, groups united."""

from __future__ import annotations

from shardc.diagnostics import Diagnostic
from shardc.graph import Graph
from shardc.propagation.constants import split_constants
from shardc.propagation.constraints import apply_constraints
from shardc.propagation.editing import Editor, Uses
from shardc.propagation.groups import import_groups


def prepare(graph: Graph, moved_constants: bool = False) -> tuple[Editor, list[Diagnostic]]:
    """A prepared copy of a program with what was copied and added, and the contradictions found."""
    editor = Editor.of(graph)
    split_constants(editor, moved_constants)
    uses = Uses.of(editor.graph)
    apply_constraints(editor, uses)
    return editor, import_groups(editor, uses)
