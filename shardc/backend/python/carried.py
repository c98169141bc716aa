"""Text that programs carry: of a module of ours what stands below its MARK."""

from __future__ import annotations

import ast
import re
from functools import cache
from importlib import resources

_MARK = "MARK = "
_FUNCTION = re.compile(r"^def (\w+)", re.MULTILINE)


@cache
def below_mark(package: str, file: str) -> str:
    """The text of a file of a package, from the line after the one that begins with MARK."""
    text = resources.files(package).joinpath(file).read_text(encoding="utf-8")
    _, _, below = text.partition(_MARK)
    return below.partition("\n")[2].strip("\n") + "\n"


def defined(text: str) -> list[str]:
    """The functions and classes that a text defines."""
    return [node.name for node in ast.parse(text).body if isinstance(node, ast.FunctionDef | ast.ClassDef)]


def called(text: str, by: str) -> list[str]:
    """The functions of a text that another calls, or that these call; each stands above those it calls.

    The text is parsed only where the other calls one.
    """
    found: list[str] = []
    if not any(f"{function}(" in by for function in _FUNCTION.findall(text)):
        return found
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef) and any(f"{node.name}(" in other for other in (by, *found)):
            found.append(ast.get_source_segment(text, node) or "")
    return [function + "\n" for function in found]
