"""What is kept between two runs of the command never changes what comes out."""

from __future__ import annotations

import multiprocessing
import os
import time

import pytest

from shardc import cache
from shardc.cli import actions
from shardc.cli.shardc import main
from shardc.planning.program.remembered import known

PROGRAM = """mesh ring[r=4]

def main(x: f32[10@r, 3]) -> f32[3]:
    return sum(x, axis=0)
"""


@pytest.fixture(autouse=True)
def kept(tmp_path, monkeypatch):
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / "kept"))
    return tmp_path / "kept"


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "prog.shard"
    path.write_text(PROGRAM)
    return str(path)


def run(capsys, *words: str) -> tuple[str, str]:
    assert main(words) == 0
    out, err = capsys.readouterr()
    return out, err


@pytest.fixture
def compilations(monkeypatch):
    """The stages that were compiled, not found."""
    done, compiled = [], actions.compiled

    def counted(text, options, stage, proved):
        done.append(stage)
        return compiled(text, options, stage, proved)

    monkeypatch.setattr(actions, "compiled", counted)
    return done


def test_the_second_time_nothing_is_compiled(program, capsys, compilations):
    first, second = run(capsys, program), run(capsys, program)
    assert first == second == run(capsys, program, "--no-cache")
    assert not cache.ANEW.get()  # which is of the command, and not of the process
    assert "2 of 12 places are padding" in first[1]
    assert compilations == ["jax", "jax"]


def test_a_plan_is_looked_for_once(program, capsys, monkeypatch):
    searches, improve = [], known.improve

    def counted(problem, *start):
        searches.append(problem)
        improve(problem, *start)

    monkeypatch.setattr(known, "improve", counted)
    monkeypatch.setattr(known, "WORTH", 0)
    explained = run(capsys, program, "--explain")
    assert len(searches) == 1
    for words in ((), ("--target", "numpy"), ("--explain",)):
        found = run(capsys, program, *words)
    assert found == explained
    assert len(searches) == 1
    known.forget()
    assert run(capsys, program, "--explain", "--no-cache") == explained
    assert len(searches) == 2


@pytest.mark.parametrize(
    "words",
    [("--target", "numpy"), ("--emit", "local"), ("-D", "N=3"), ("--machine", "tpu-v5e")],
)
def test_other_options_are_another_entry(program, capsys, compilations, words, tmp_path):
    (tmp_path / "prog.shard").write_text(PROGRAM.replace("mesh", "size N = 2\n\nmesh", 1))
    run(capsys, program)
    run(capsys, program, *words)
    assert len(compilations) == 2


def test_a_text_that_changed_and_a_name_that_changed(program, capsys, compilations, tmp_path):
    run(capsys, program)
    (tmp_path / "prog.shard").write_text(PROGRAM + "\n# more\n")
    run(capsys, program)
    other = tmp_path / "other.shard"
    other.write_text(PROGRAM)
    assert "other.shard:3:17" in run(capsys, str(other))[1]
    assert len(compilations) == 3


def test_a_machine_file_that_changed(program, capsys, compilations, tmp_path):
    from importlib.resources import files

    machine = tmp_path / "mine.toml"
    text = (files("shardc.planning.machines") / "laptop.toml").read_text("utf-8")
    for comment in ("", "\n# measured again\n"):
        machine.write_text(text + comment)
        run(capsys, program, "--machine", str(machine))
    assert len(compilations) == 2


def test_a_python_file_that_changed(capsys, compilations, tmp_path):
    """Values have the names that the line of a location's file assigns."""
    python, program = tmp_path / "model.py", tmp_path / "prog.mlir"
    program.write_text(
        "func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {\n"
        f'  %0 = stablehlo.tanh %a : tensor<8xf32> loc("{python}":1:4)\n'
        "  %1 = stablehlo.add %0, %0 : tensor<8xf32>\n"
        "  %2 = stablehlo.multiply %1, %0 : tensor<8xf32>\n  return %2 : tensor<8xf32>\n}\n"
    )
    for name in ("h", "g"):
        python.write_text(f"{name} = tanh(a)\n")
        run(capsys, str(program))
    assert len(compilations) == 2


@pytest.mark.parametrize(
    "words",
    ['import "layers.shard"', 'from "layers.shard" import layer', '\ufeff\nimport "layers.shard"'],
)
def test_a_program_that_imports_another_is_compiled_anew(capsys, tmp_path, words):
    library, program = tmp_path / "layers.shard", tmp_path / "prog.shard"
    name = "layer" if words.startswith("from") else "layers.layer"
    program.write_text(f"{words}\n\ndef main(x: f32[8]) -> f32[8]:\n    return {name}(x)\n")
    texts = []
    for function in ("tanh", "exp"):
        library.write_text(f"def layer(x: f32[8]) -> f32[8]:\n    return {function}(x)\n")
        texts.append(run(capsys, str(program))[0])
    assert ["jnp.tanh(" in text for text in texts] == [True, False]


def test_an_entry_that_is_damaged_counts_as_none(program, capsys, kept):
    first = run(capsys, program)
    for path in kept.iterdir():
        path.write_bytes(path.read_bytes()[:-1])
    assert run(capsys, program) == first


def test_a_folder_that_cannot_be_written(program, capsys, tmp_path, monkeypatch):
    first = run(capsys, program)
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / "file" / "folder"))
    assert run(capsys, program) == first
    monkeypatch.setenv(cache.VARIABLE, "off")
    assert run(capsys, program) == first


def test_an_error_is_said_every_time(capsys, tmp_path):
    path = tmp_path / "wrong.shard"
    path.write_text(PROGRAM.replace("axis=0", "axis=5"))
    said = []
    for _ in range(2):
        assert main([str(path)]) == 1
        said.append(capsys.readouterr().err)
    assert said[0] == said[1] != ""


def test_the_folder_stays_small(kept, monkeypatch):
    monkeypatch.setattr(cache, "LIMIT", 8000)
    now = time.time() - 100
    for number in range(20):
        cache.put(bytes(900), str(number))
        path = cache.place(str(number))
        assert path is not None
        os.utime(path, (now + number, now + number))
        assert sum(path.stat().st_size for path in kept.iterdir()) <= 8000
    assert cache.get("19") == bytes(900)
    assert cache.get("0") is None


def _write(number: int) -> None:
    for _ in range(50):
        cache.put(bytes([number]) * 10_000, "shared")


def test_two_processes_at_once():
    """Whoever reads finds the bytes of one of them."""
    with multiprocessing.get_context("fork").Pool(2) as pool:
        writers = pool.map_async(_write, [1, 2])
        while not writers.ready():
            assert cache.get("shared") in (None, b"\1" * 10_000, b"\2" * 10_000)
    assert cache.get("shared") in (b"\1" * 10_000, b"\2" * 10_000)
