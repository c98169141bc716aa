"""What formats may write as `custom<Name>(…)`: the directives of sdy_syntax and of StableHLO's two files.

xDSL's definition of one is made where a format first has it: a program has few of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from types import ModuleType

from xdsl.irdl.declarative_assembly_format import CustomDirective, irdl_custom_directive

from shardc.dialects import sdy_syntax
from shardc.dialects.stablehlo import syntax, type_syntax


def _directives(*modules: ModuleType) -> Iterator[type[CustomDirective]]:
    """The directives that modules define."""
    for module in modules:
        for value in vars(module).values():
            if isinstance(value, type) and value.__module__ == module.__name__:
                yield value


@cache
def _defined(cls: type[CustomDirective]) -> type[CustomDirective]:
    return irdl_custom_directive(cls)


class _Directives(dict[str, type[CustomDirective]]):
    """Name -> the class, defined when it is looked up."""

    def __getitem__(self, name: str) -> type[CustomDirective]:
        return _defined(super().__getitem__(name))


DIRECTIVES = _Directives((cls.__name__, cls) for cls in _directives(syntax, type_syntax, sdy_syntax))
"""The directives by name."""
