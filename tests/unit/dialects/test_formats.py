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


LANGUAGE = """import sys, shardc
shardc.compile('def main(x: f32[4]) -> f32[4]:\\n    return sin(x) + x\\n', prove=False)
names = [name.split('.') for name in sys.modules if name.startswith('shardc') and 'dialects' in name]
print([name for name in names if 'syntax' in name[-1]])
"""
SLICE = """from shardc.dialects.directives import DIRECTIVES
from shardc.frontend.mlir import read
read('func.func @main(%x: tensor<8xf32>) -> tensor<4xf32> {\\n'
     '  %0 = stablehlo.slice %x [0:4] : (tensor<8xf32>) -> tensor<4xf32>\\n'
     '  return %0 : tensor<4xf32>\\n}')
print(sorted(name for name, cls in DIRECTIVES.items() if 'parameters' in vars(cls)))
"""


@pytest.mark.parametrize(
    ("code", "printed"),
    [
        pytest.param(LANGUAGE, "[]", id="a program of the language needs no format"),
        pytest.param(SLICE, "['SliceRanges']", id="directives are defined where a format has them"),
    ],
)
def test_what_is_read_in_a_process(code: str, printed: str) -> None:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == f"{printed}\n"
