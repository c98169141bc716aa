"""Every example, compiled by the command, run on eight devices, equal to the single-device program."""

from __future__ import annotations

import ast
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from shardc.cli.driver import load
from shardc.cli.shardc import main as shardc
from shardc.dialects.snapshot import snapshot
from shardc.graph import TensorType
from shardc.graph.trees import arguments_of
from shardc.interpret.arguments import random_inputs, saved_as
from shardc.runtime.trees import leaves
from tests.sampling import chosen
from tests.tolerance import assert_right
from tests.xla_flags import QUICK

EXAMPLES = Path(__file__).parents[2] / "examples"
PROGRAMS = sorted(EXAMPLES.glob("*/*.shard"))

RUN_ALL = """
import importlib.util, pickle, sys
import jax
import numpy as np
jax.config.update("jax_num_cpu_devices", 8)
for name in sys.argv[1:]:
    spec = importlib.util.spec_from_file_location(name, name + ".py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with open(name + ".in", "rb") as file:
        results = jax.tree.leaves(module.main(*pickle.load(file)))
    np.savez(name + "_out.npz", *map(np.asarray, results))
"""

COMPILE_ALL = """
import sys
from pathlib import Path
from shardc.cli.shardc import main
for name in sys.argv[2:]:
    assert main([name, "-o", f"{sys.argv[1]}/{Path(name).stem}.py"]) == 0
"""


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """A folder with the JAX output of the examples that are asked for, their inputs, and what they computed
    in another process."""
    pytest.importorskip("jax")
    folder = tmp_path_factory.mktemp("compiled")
    paths = [case["path"] for case in chosen(request, "test_jax_output")]
    for path in paths:
        assert shardc([str(path), "-o", str(folder / f"{path.stem}.py")]) == 0
        (folder / f"{path.stem}.in").write_bytes(pickle.dumps(_arguments(path)))
    names = [path.stem for path in paths]
    environment = {"JAX_PLATFORMS": "cpu", "PATH": "", "HOME": str(folder), "XLA_FLAGS": QUICK}
    done = subprocess.run(
        [sys.executable, "-c", RUN_ALL, *names], cwd=folder, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.sampled(3)
@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_jax_output(path: Path, compiled: Path) -> None:
    with np.load(compiled / f"{path.stem}_out.npz") as archive:
        types = _result_types(path)
        got = [saved_as(archive[key], type) for key, type in zip(archive.files, types, strict=True)]
    _compare(path, got)
    imported = _imports((compiled / f"{path.stem}.py").read_text())
    assert imported <= {"jax", "numpy", "functools", "os", "sys", "math", "typing"}, imported


@pytest.mark.sampled(3)
@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_numpy_output(path: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.py"
    assert shardc([str(path), "--target", "numpy", "-o", str(output)]) == 0
    namespace: dict[str, object] = {"__name__": "compiled"}
    exec(compile(output.read_text(), str(output), "exec"), namespace)
    results = namespace["main"](*_arguments(path))  # pyright: ignore
    _compare(path, leaves(results))
    assert _imports(output.read_text()) <= {"numpy", "shardc", "ml_dtypes", "functools", "math", "typing"}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_run(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert shardc([str(path), "--run"]) == 0
    assert "DIFFERS" not in capsys.readouterr().out


@pytest.fixture(scope="module")
def hashed_otherwise(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> list[Path]:
    """Folders with the output of the examples that are asked for, made by two processes, the second in the
    opposite order."""
    paths = [str(case["path"]) for case in chosen(request, "test_same_bytes_every_time")]
    folders = [tmp_path_factory.mktemp(seed) for seed in "01"]
    for seed, folder in enumerate(folders):
        command = [sys.executable, "-c", COMPILE_ALL, str(folder), *paths[:: -1 if seed else 1]]
        environment = {"PYTHONHASHSEED": str(seed), "SHARDC_CACHE": "off"}
        subprocess.run(command, cwd=EXAMPLES.parent, env=environment, capture_output=True, check=True)
    return folders


@pytest.mark.sampled(3)
@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_same_bytes_every_time(path: Path, hashed_otherwise: list[Path]) -> None:
    one, other = [(folder / f"{path.stem}.py").read_text() for folder in hashed_otherwise]
    assert one == other


def test_every_example_has_a_line_about_it() -> None:
    for path in PROGRAMS:
        assert (path.parent / "README.md").read_text().strip()


def _inputs(path: Path) -> list[np.ndarray]:
    graph = snapshot(load(str(path), {}, None)).graph
    return random_inputs(graph.types(graph.main.body.args))


def _arguments(path: Path) -> list[object]:
    """The same as main takes them."""
    return list(arguments_of(snapshot(load(str(path), {}, None)).graph.main.interface, _inputs(path)))


def _result_types(path: Path) -> tuple[TensorType, ...]:
    graph = snapshot(load(str(path), {}, None)).graph
    return graph.types(graph.main.body.results)


def _compare(path: Path, got: list[np.ndarray]) -> None:
    graph = snapshot(load(str(path), {}, None)).graph
    assert_right(graph, graph, _inputs(path), got, path.stem)


def _imports(text: str) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add((node.module or "").split(".")[0])
    return names
