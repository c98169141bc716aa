"""The sdist and the wheel made of it are whole: installed into a fresh environment, shardc works."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from email import message_from_string
from importlib.metadata import version
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = ("shardc", "grammar", "dialects", "passes", "pyproject.toml", "README.md", "LICENSE")
BACKEND = "from setuptools import build_meta; print(build_meta.build_sdist('..'))"

pytestmark = pytest.mark.skipif(
    int(version("setuptools").partition(".")[0]) < 77, reason="setuptools is too old to build shardc"
)


def _run(*command: str | Path, folder: Path) -> str:
    """What a command prints, run without the paths that this process has."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel that is built from the sdist, which is built from a copy of the sources."""
    folder = tmp_path_factory.mktemp("distribution")
    copy = folder / "copy"
    for name in SOURCES:
        if (ROOT / name).is_dir():
            shutil.copytree(
                ROOT / name, copy / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__")
            )
        else:
            shutil.copy(ROOT / name, copy)
    sdist = _run(sys.executable, "-c", BACKEND, folder=copy).split()[-1]
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-index", "--no-deps", "--no-build-isolation"]
    _run(*pip, sdist, folder=folder)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def fresh(wheel: Path) -> Path:
    """The folder of commands of a new environment that has the wheel, and this one's packages behind it."""
    folder = wheel.parent / "fresh"
    venv.create(folder, symlinks=True)
    paths = sysconfig.get_paths(vars={"base": str(folder), "platbase": str(folder)})
    behind = [path for path in sys.path if path.endswith("site-packages")]
    Path(paths["purelib"], "behind.pth").write_text("\n".join(behind), encoding="utf-8")
    scripts = Path(paths["scripts"])
    pip = [sys.executable, "-m", "pip", "--python", scripts / "python", "install", "--quiet"]
    _run(*pip, "--no-index", "--no-deps", wheel, folder=wheel.parent)
    return scripts


def test_installed_commands_compile(fresh: Path, tmp_path: Path) -> None:
    """Grammar, dialects, passes and machines are there, and not those of the repository."""
    program = shutil.copy(ROOT / "examples/megatron_mlp/megatron_mlp.shard", tmp_path)
    where = _run(fresh / "python", "-c", "import shardc.passes as p; print(p.__file__)", folder=tmp_path)
    assert Path(where).is_relative_to(fresh.parent)
    emitted = _run(fresh / "shardc", program, "--target", "jax", folder=tmp_path)
    assert emitted == (ROOT / "tests/golden/kept/examples/megatron_mlp.jax.txt").read_text(encoding="utf-8")
    assert "sends 96 KiB" in _run(
        fresh / "shardc", program, "--cost", "--machine", "tpu-v5e", folder=tmp_path
    )
    ir = _run(fresh / "shardc", program, "--emit", "ir", folder=tmp_path)
    (tmp_path / "program.mlir").write_text(ir, encoding="utf-8")
    assert "sdy.mesh" in _run(fresh / "shardc-opt", "program.mlir", "-p", "propagate", folder=tmp_path)


def test_wheel_says_its_licence(wheel: Path) -> None:
    with ZipFile(wheel) as archive:
        folder = next(name for name in archive.namelist() if name.endswith("METADATA")).rpartition("/")[0]
        metadata = message_from_string(archive.read(f"{folder}/METADATA").decode())
        text = archive.read(f"{folder}/licenses/LICENSE").decode()
    assert metadata["License-Expression"] == "Apache-2.0 WITH LLVM-exception"
    assert text == (ROOT / "LICENSE").read_text(encoding="utf-8")


def test_wheel_is_all_of_shardc_and_nothing_else(wheel: Path) -> None:
    with ZipFile(wheel) as archive:
        names = {Path(name) for name in archive.namelist() if ".dist-info/" not in name}
    here = {path.relative_to(ROOT) for path in (ROOT / "shardc").rglob("*.py")}
    here |= {
        Path("shardc") / path.relative_to(ROOT)
        for top in ("grammar", "dialects", "passes")
        for path in (ROOT / top).rglob("*.py")
    }
    assert {name for name in names if name.suffix == ".py"} == here
