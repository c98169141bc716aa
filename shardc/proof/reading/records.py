"""The records of an emitted text: classes that name the items of tuples, and do nothing else."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any, NamedTuple

from shardc.proof.values import Beyond

IMPORT = "from typing import NamedTuple"

_record: Any = NamedTuple  # its names are those of a text


def is_record(node: ast.stmt) -> bool:
    """class Layer(NamedTuple): and below it a docstring, and fields of any types; nothing else is in it."""
    if not isinstance(node, ast.ClassDef) or node.decorator_list or node.keywords:
        return False
    if [ast.unparse(base) for base in node.bases] != ["NamedTuple"]:
        return False
    said = ast.get_docstring(node, clean=False) is not None
    return all(
        isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and field.value is None
        for field in node.body[said:]
    )


def records_of(body: Iterable[ast.stmt]) -> dict[str, Any]:
    """The classes that such statements define. Types of fields are not evaluated."""
    found: dict[str, Any] = {}
    for node in body:
        if isinstance(node, ast.ClassDef) and is_record(node):
            fields = [ast.unparse(field.target) for field in node.body if isinstance(field, ast.AnnAssign)]
            try:
                found[node.name] = _record(node.name, [(field, object) for field in fields])
            except ValueError as error:
                raise Beyond(f"the record {node.name} ({error}) in an emitted text") from error
    return found
