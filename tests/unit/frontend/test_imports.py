"""Programs of several files: what their names mean, and what is said of wrong ones, at which place."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import shardc
from shardc.diagnostics import ShardcError
from shardc.frontend.text import read

LAYERS = """\
size D = 4
const EPS = 0.5

record Pair:
    a: f32[D]
    b: f32[D]

def scale(x: f32[*B], k: float = EPS):
    return x * k

def total(pair: Pair):
    return sum(pair.a - pair.b)
"""


def _written(folder: Path, **files: str) -> str:
    for name, text in files.items():
        (folder / f"{name}.shard").write_text(text)
    return str(folder / "main.shard")


def _told(folder: Path, main: str, **files: str) -> str:
    path = _written(folder, main=main, **files)
    with pytest.raises(ShardcError) as caught:
        read(main, path)
    return str(caught.value).replace(f"{folder}/", "")


def _result(folder: Path, main: str, *args: object, **files: str) -> object:
    path = _written(folder, main=main, **files)
    names: dict[str, object] = {}
    exec(shardc.compile(main, file=path, target="numpy").source, names)
    return names["main"](*args)  # pyright: ignore[reportCallIssue, reportUnknownVariableType]


def test_defaults_and_sizes_are_of_the_file_that_declares_them(tmp_path: Path) -> None:
    main = 'import "layers.shard"\nconst EPS = 3\nsize D = 8\ndef main(x: f32[layers.D]):\n'
    x = np.arange(4, dtype=np.float32)
    result = _result(tmp_path, main + "    return layers.scale(x)\n", x, layers=LAYERS)
    np.testing.assert_array_equal(np.asarray(result), x / 2)


def test_records_of_one_name_in_two_files(tmp_path: Path) -> None:
    """b and a swapped: fields go by the record that is meant, not by its name."""
    main = (
        'import "layers.shard"\nrecord Pair:\n    b: f32[4]\n    a: f32[4]\n'
        "def main(x: f32[4], y: f32[4]):\n    own = Pair(x, y)\n"
        "    return layers.total(layers.Pair(a=x, b=y)) + sum(own.b)\n"
    )
    x, y = np.array([1, 2, 3, 4], np.float32), np.ones(4, np.float32)
    assert _result(tmp_path, main, x, y, layers=LAYERS) == 6 + 10
    wrong = main.replace("layers.Pair(a=x, b=y)", "own")
    assert _told(tmp_path, wrong, layers=LAYERS).startswith(
        "main.shard:7:25: error: argument pair of total is a Pair, and should be Pair"
    )


def test_a_file_is_read_once(tmp_path: Path) -> None:
    main = 'import "a.shard"\nimport "b.shard"\ndef main(x: f32[4]):\n    return a.f(b.f(x))\n'
    other = 'from "layers.shard" import scale\ndef f(x):\n    return scale(x)\n'
    path = _written(tmp_path, main=main, a=other, b=other, layers=LAYERS)
    text = str(read(main, path))
    assert text.count("func.func") == 4
    assert "@scale_1" not in text


def test_an_error_in_an_imported_file_names_it_and_the_call(tmp_path: Path) -> None:
    main = 'import "layers.shard"\ndef main(x: f32[4], y: f32[3]):\n    return layers.f(x, y)\n'
    told = _told(tmp_path, main, layers="def f(x, y):\n    return x + y\n")
    assert told == (
        "layers.shard:2:14: error: shapes (4,) and (3,) do not broadcast together\n"
        "        return x + y\n"
        "                 ^\n"
        "    note: in f(f32[4], f32[3]), called at main.shard:3:19"
    )


def test_a_syntax_error_in_an_imported_file(tmp_path: Path) -> None:
    main = 'import "layers.shard"\ndef main(x: f32[4]):\n    return x\n'
    told = _told(tmp_path, main, layers="size B = 2\ndef f(x)\n    return x\n")
    assert told.startswith('layers.shard:2:9: error: expected ":", found the end of the line\n    def f(x)\n')


def test_an_argument_of_a_wrong_type_stands_in_the_calling_file(tmp_path: Path) -> None:
    main = 'from "layers.shard" import total\ndef main(x: f32[4]):\n    return total(x)\n'
    assert _told(tmp_path, main, layers=LAYERS).startswith(
        "main.shard:3:18: error: argument pair of total is f32[4]"
    )


@pytest.mark.parametrize(
    ("main", "expected"),
    [
        (
            'import "leyers.shard"\n',
            "1:8: error: cannot read leyers.shard: no such file\n"
            '    import "leyers.shard"\n           ^\n    note: did you mean layers.shard?',
        ),
        ('import "/layers.shard"\n', '1:8: error: "/layers.shard" is no path from this file'),
        ("import layers\n", '1:8: error: expected a text in quotes, found "layers"'),
        ('from "layers.shard" import scole\n', "1:28: error: layers.shard has no scole"),
        ('import "layers.shard"\nsize layers = 2\n', "2:6: error: layers is the file layers.shard"),
        ('import "layers.shard"\nsize B = layers.E\n', "2:10: error: unknown size layers.E"),
        (
            'from "layers.shard" import scale\ndef scale(x):\n    return x\n',
            "2:5: error: scale is a function of this program",
        ),
        (
            'import "layers.shard"\ndef f(x: f32[4]):\n    return scale(x)\n',
            "3:12: error: unknown function scale\n        return scale(x)\n               ^\n"
            "    note: the file layers.shard has it: layers.scale",
        ),
        (
            'import "layers.shard"\ndef f(x: f32[4]):\n    return layers.scal(x)\n',
            "3:19: error: layers.shard has no scal",
        ),
        (
            'import "layers.shard"\ndef f(x: f32[4]):\n    return x + layers\n',
            "3:16: error: layers is the file layers.shard",
        ),
    ],
)
def test_wrong_imports(tmp_path: Path, main: str, expected: str) -> None:
    assert _told(tmp_path, main, layers=LAYERS).startswith(f"main.shard:{expected}")


def test_files_that_import_each_other(tmp_path: Path) -> None:
    main = 'import "a.shard"\ndef main(x: f32[4]):\n    return x\n'
    told = _told(tmp_path, main, a='import "b.shard"\n', b='import "a.shard"\n')
    assert told.startswith(
        "b.shard:1:8: error: files cannot import each other: a.shard -> b.shard -> a.shard"
    )


def test_meshes_are_those_of_the_whole_program(tmp_path: Path) -> None:
    library = "mesh pod[data=2]\ndef f(x: f32[4@data]) -> f32[4@data]:\n    return x * 2\n"
    main = 'import "lib.shard"\nmesh pod[data={}]\ndef main(x: f32[4@data]):\n    return lib.f(x)\n'
    _written(tmp_path, lib=library)
    assert str(read(main.format(2), str(tmp_path / "main.shard"))).count("sdy.mesh @") == 1
    told = _told(tmp_path, main.format(4))
    assert told.startswith("main.shard:2:6: error: mesh pod is declared twice, and differently")
