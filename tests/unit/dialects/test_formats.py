"""Formats of operations are read once an operation is parsed or printed."""

from __future__ import annotations

import subprocess
import sys
from io import StringIO

import pytest
from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.irdl import IRDLOperation, irdl_op_definition, prop_def
from xdsl.printer import Printer
from xdsl.utils.exceptions import ParseError

from shardc.dialects import formats
from shardc.dialects.derive import op_class
from shardc.ops import definitions


@pytest.mark.parametrize("name", [d.name for d in definitions() if d.syntax and d.syntax.format])
def test_every_format_can_be_read(name: str) -> None:
    definition = next(d for d in definitions() if d.name == name)
    assert definition.syntax and definition.syntax.format
    program = formats._program(op_class(definition), definition.syntax.format)
    assert program.stmts or definition.syntax.format == ""


def test_classes_with_the_same_members_have_one_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which is the one that each would have alone."""
    written = [(op_class(d), d.syntax.format) for d in definitions() if d.syntax and d.syntax.format]
    together = [formats._program(*each) for each in written]
    assert len({id(program) for program in together}) < len(written) - 40
    formats._program.cache_clear()
    for each, program in zip(written, together, strict=True):
        monkeypatch.setattr(formats, "_READ", {})
        assert formats._program(*each) == program


def test_a_format_is_read_late() -> None:
    @formats.written("$value `of` custom<NoSuchDirective>($value)")
    @irdl_op_definition
    class WrongOp(IRDLOperation):
        name = "test.wrong"
        value = prop_def(IntegerAttr)

    op = WrongOp(properties={"value": IntegerAttr(1, i64)})
    with pytest.raises(ParseError, match="NoSuchDirective"):
        Printer(StringIO()).print_op(op)


def test_a_program_of_the_language_needs_no_format() -> None:
    code = (
        "import sys, shardc\n"
        "shardc.compile('def main(x: f32[4]) -> f32[4]:\\n    return sin(x) + x\\n', prove=False)\n"
        "print([name for name in sys.modules if name.startswith('shardc') and 'syntax' in name.split('.')[-1]"
        " and 'dialects' in name])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_directives_are_defined_where_a_format_has_them() -> None:
    code = (
        "from shardc.dialects.directives import DIRECTIVES\n"
        "from shardc.frontend.mlir import read\n"
        "read('func.func @main(%x: tensor<8xf32>) -> tensor<4xf32> {\\n'\n"
        "     '  %0 = stablehlo.slice %x [0:4] : (tensor<8xf32>) -> tensor<4xf32>\\n'\n"
        "     '  return %0 : tensor<4xf32>\\n}')\n"
        "print(sorted(name for name, cls in DIRECTIVES.items() if 'parameters' in vars(cls)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "['SliceRanges']\n"
