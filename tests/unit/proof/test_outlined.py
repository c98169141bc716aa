"""A large program is not made a graph where what is seen of it says that it is too large to be proved."""

from __future__ import annotations

from pathlib import Path

import pytest

from shardc import compilation
from shardc.cli.shardc import main
from shardc.dialects.snapshot import snapshot
from shardc.frontend.text import read
from shardc.proof import default, outlined
from shardc.proof.effort import operations
from shardc.proof.report import brief
from tests.unit.rewrite.folding.programs import step

TEXT = step(12)


def test_it_says_what_the_graph_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outlined, "WORTH", 1)
    module = read(TEXT, "test.shard")
    whole, seen = snapshot(module).graph, outlined.outlined(module)
    assert seen is not None
    assert seen.operations == operations(whole) and seen.absolute == ("abs" in TEXT)
    assert seen.args == whole.types(whole.main.body.args)
    assert seen.results == whole.types(whole.main.body.results)
    most, few = default.by_command(2 * operations(whole)), 1 << 30
    found = seen.too_large(whole, few, default.by_command)
    assert found is not None and brief(found) == brief(default.proof_of(whole, whole, "", most, few))
    assert found.undrawn
    for unknown in (None, 0):
        assert seen.too_large(whole, unknown, default.by_command) is None
    other = snapshot(read("mesh m[x=2]\ndef main(x: f32[4]):\n    return x\n", "test.shard")).graph
    assert seen.too_large(other, few, default.by_command) is None


def test_what_proofs_write_otherwise_is_a_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outlined, "WORTH", 1)
    plain = "mesh m[x=2]\ndef main(x: f32[4]):\n    y = tanh(x)\n    return y\n"
    assert outlined.outlined(read(plain, "test.shard")) is not None
    assert outlined.outlined(read(plain.replace("return", "print(y)\n    return"), "test.shard")) is None


@pytest.mark.parametrize("limit", [default.LIMIT, 200_000], ids=["read again", "too large"])
def test_the_verdict_is_the_same(
    limit: int, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the program is read again, since it is to be proved."""
    told = compilation.by_pass
    monkeypatch.delenv("SHARDC_PROVE")
    monkeypatch.setattr(compilation, "by_pass", lambda asked: {**told(asked), "fold-layers": {"worth": 20}})
    monkeypatch.setattr(default, "LIMIT", limit)
    program, said = tmp_path / "prog.shard", list[str]()
    program.write_text(TEXT)
    for worth in (1, 10**9):
        monkeypatch.setattr(outlined, "WORTH", worth)
        monkeypatch.setenv("SHARDC_CACHE", str(tmp_path / f"cache{worth}"))
        assert main([str(program), "-o", str(tmp_path / "out.py")]) == 0
        said.append(capsys.readouterr().err)
    assert said[0] == said[1]
    assert said[0].startswith("proved" if limit > 200_000 else "not proved: its work is that of about")
