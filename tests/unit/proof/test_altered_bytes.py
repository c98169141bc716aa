"""A certificate with one byte altered, or of programs with one byte altered, is refused."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from random import Random

import pytest

from shardc.backend.numpy import emit
from shardc.diagnostics import ShardcError
from shardc.dialects.context import make_context
from shardc.dialects.snapshot import snapshot
from shardc.dialects.text import print_module
from shardc.frontend.text import read
from shardc.passes.pipeline import run_to
from shardc.proof.certificate import LOCAL, certificate
from shardc.proof.check import Refused, check, main
from shardc.proof.prove import prove
from shardc.proof.reading.text import prove_text

PROGRAM = """mesh m[x=2]
def main(a: f32[4@x, 4], b: f32[4, 4@x]) -> f32[4]:
    for i in range(2) carrying a:
        a = tanh(a @ b)
    return max(a, 1)
"""


@cache
def texts(emitted: bool = False) -> list[str]:
    """Both programs, the second as it is emitted or the local one, and the certificate."""
    module = read(PROGRAM, "test.shard", {}, None)
    first, whole = print_module(module), snapshot(module.clone()).graph
    run_to(make_context(), module, "local")
    second, local = print_module(module), snapshot(module).graph
    if not emitted:
        return [first, second, certificate((prove(whole, local), (first, second), LOCAL))]
    text = emit(local)
    return [first, text, certificate((prove_text(whole, text, "numpy"), (first, text), "numpy"))]


def altered(text: str, random: Random) -> str:
    """Another byte for one, one less or one more."""
    place, byte = random.randrange(len(text)), chr(random.randrange(32, 127))
    kind = random.randrange(3)
    return text[:place] + (byte if kind else "") + text[place + (kind < 2) :]


@pytest.mark.parametrize(
    ("which", "count"), [(2, 40), (0, 15), (1, 15), pytest.param(2, 600, marks=pytest.mark.slow)]
)
def test_one_byte(which: int, count: int) -> None:
    random = Random(count)
    check(*texts())
    for _ in range(count):
        given = [*texts()]
        given[which] = altered(given[which], random)
        if given[which] != texts()[which]:
            with pytest.raises((Refused, ShardcError)):
                check(*given)


ANY = [(b"\n", b"\r"), (b"\n", b"\r\n"), (b" ", b"\0"), (b"e", b"\xff")]
OF_PYTHON = [(b"(", b"["), (b"\n    ", b"\n   ")]


@pytest.mark.parametrize(
    ("which", "old", "new"),
    [*((which, *pair) for which in range(3) for pair in ANY), *((1, *pair) for pair in OF_PYTHON)],
)
def test_one_byte_of_a_file(
    which: int, old: bytes, new: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ends of lines, bytes that are no text, and Python that is none."""
    files = [tmp_path / name for name in ("whole.mlir", "prog.py", "proof.json")]
    for file, text in zip(files, texts(emitted=True), strict=True):
        file.write_bytes(text.encode())
    given = files[which].read_bytes()
    place = given.index(old, len(given) // 4)
    files[which].write_bytes(given[:place] + new + given[place + len(old) :])
    assert main(list(map(str, files))) == 1
    assert capsys.readouterr().err


def test_files_that_are_not_altered(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("whole.mlir", "prog.py", "proof.json")]
    for file, text in zip(files, texts(emitted=True), strict=True):
        file.write_bytes(text.encode())
    assert main(list(map(str, files))) == 0
