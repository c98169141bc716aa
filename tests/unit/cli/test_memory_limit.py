"""--memory-limit: how layouts change with less memory, and where they cannot."""

from __future__ import annotations

import pytest

import shardc
from shardc.cli.shardc import main
from shardc.diagnostics import ShardcError

PROGRAM = """mesh pod[x=2, y=2]

def main(a: f32[8@x]) -> f32[8@y]:
    return a
"""


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "prog.shard"
    path.write_text(PROGRAM)
    return str(path)


def emitted(capsys, *arguments):
    assert main([*arguments]) == 0
    return capsys.readouterr().out


def test_less_memory_takes_more_steps(program, capsys):
    """A gather and a slice need 48 bytes at once; three steps of as many bytes do with 24."""
    assert "ppermute" not in emitted(capsys, program)
    assert "ppermute" not in emitted(capsys, program, "--memory-limit", "48")
    assert "ppermute" in emitted(capsys, program, "--memory-limit", "47")
    assert "equal" in emitted(capsys, program, "--memory-limit", "24", "--run")


def test_what_does_not_fit_is_an_error(program, capsys):
    assert main([program, "--memory-limit", "23"]) == 1
    assert capsys.readouterr().err == (
        f"{program}:3:10: error: changing a from [x] to [y] takes 24 bytes on a device, and 23 are allowed\n"
        "    def main(a: f32[8@x]) -> f32[8@y]:\n"
        "             ^\n"
        "    note: allow 24 (--memory-limit), or annotate what a is used for so that it stays split\n"
    )


def test_from_python():
    assert "ppermute" in shardc.compile(PROGRAM, memory_limit=24).source
    with pytest.raises(ShardcError, match="takes 24 bytes on a device, and 8 are allowed"):
        shardc.compile(PROGRAM, memory_limit=8)
    with pytest.raises(ShardcError, match="takes 24 bytes"):
        shardc.cost(PROGRAM, memory_limit=8)


UNNAMED = "mesh m[x=4]\ndef main(a: f32[8, 8@x], b: f32[8@x, 8]):\n    return a @ b\n"


def test_a_value_without_a_name_is_what_made_it():
    with pytest.raises(ShardcError, match="changing the result of dot_general in line 3 from"):
        shardc.compile(UNNAMED, memory_limit=8)
