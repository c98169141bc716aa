"""The reader of .shard programs: text -> syntax tree -> IR. grammar/README.md describes the language."""

from shardc.frontend.text.parser import parse
from shardc.frontend.text.printer import print_ast
from shardc.frontend.text.program import read

__all__ = ["parse", "print_ast", "read"]
