"""What formats may write as `custom<Name>(…)`: the directives of sdy_syntax and of StableHLO's two files."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType

from xdsl.irdl.declarative_assembly_format import CustomDirective

from shardc.dialects import sdy_syntax
from shardc.dialects.stablehlo import syntax, type_syntax


def _directives(*modules: ModuleType) -> Iterator[type[CustomDirective]]:
    """The directives that modules define."""
    for module in modules:
        for value in vars(module).values():
            if isinstance(value, type) and value.__module__ == module.__name__:
                yield value


DIRECTIVES = {cls.__name__: cls for cls in _directives(syntax, type_syntax, sdy_syntax)}
"""The directives by name."""
