"""The code of dataclasses that commands keep: what a class does is the same with it, and only ours is run."""

import dataclasses
import os
from pathlib import Path
from typing import Any

import pytest

from shardc import cache
from shardc.cli import generated_code
from shardc.cli.generated_code import kept_code


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv(cache.VARIABLE, str(folder))
    return folder


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that are compiled."""
    texts = list[str]()

    def told(source: str, file: str, mode: str) -> object:
        texts.append(source)
        return compile(source, file, mode)

    monkeypatch.setattr(generated_code, "compile", told, raising=False)
    return texts


def point() -> type:
    fields = ["x", ("y", int, dataclasses.field(default=2))]
    return dataclasses.make_dataclass("Point", fields, frozen=True, order=True)


def test_a_class_is_the_same(compiled: list[str]):
    plain: Any = point()
    for _ in range(2):
        with kept_code():
            kept: Any = point()
        assert repr(kept(1)) == repr(plain(1)) == "Point(x=1, y=2)"
        assert kept(1) == kept(1) != kept(2) and kept(1) < kept(2) and hash(kept(1)) == hash(plain(1))
        with pytest.raises(dataclasses.FrozenInstanceError):
            kept(1).x = 3
        with pytest.raises(TypeError, match=r"__init__\(\) missing 1 required positional argument"):
            kept()
    assert "exec" not in vars(dataclasses)


def test_code_is_compiled_once(compiled: list[str]):
    for expected in (True, False):
        compiled.clear()
        with kept_code():
            point()
        assert bool(compiled) == expected


def test_what_is_damaged_counts_as_none(folder: Path, compiled: list[str]):
    with kept_code():
        point()
    (entry,) = folder.iterdir()
    entry.write_bytes(entry.read_bytes()[:-1])
    compiled.clear()
    with kept_code():
        made = point()
    assert made(1) == made(1) and compiled


def test_nothing_is_run_that_others_may_have_written(folder: Path, compiled: list[str]):
    with kept_code():
        point()
    os.chmod(folder, 0o777)
    with kept_code():
        assert "exec" not in vars(dataclasses)


def test_nothing_is_kept_without_a_cache(folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(cache.VARIABLE, "off")
    with kept_code():
        assert "exec" not in vars(dataclasses)
        point()
    assert not folder.exists()


def test_an_error_leaves_nothing_behind():
    with pytest.raises(KeyError), kept_code():
        raise KeyError
    assert "exec" not in vars(dataclasses)
