"""The reader of .shard programs: text -> syntax tree -> IR. The language is described in grammar/README.md."""

from shardc.frontend.text.parser import parse
from shardc.frontend.text.program import read

__all__ = ["parse", "read"]
