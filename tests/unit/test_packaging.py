"""What pyproject.toml says is what is in the repository, and what is installed holds together."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import entry_points
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
TOP = ("grammar", "dialects", "passes")
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
SETUPTOOLS: dict[str, Any] = PROJECT["tool"]["setuptools"]


def _packages() -> Iterator[str]:
    for top in ("shardc", *TOP):
        for init in (ROOT / top).rglob("__init__.py"):
            name = ".".join(init.parent.relative_to(ROOT).parts)
            yield name if top == "shardc" else f"shardc.{name}"


def test_packages_are_those_of_the_tree() -> None:
    """`packages` is written by hand; rglob does not follow the links from shardc/ to the top folders."""
    assert sorted(SETUPTOOLS["packages"]) == sorted(set(_packages()))


def test_every_folder_of_modules_is_a_package() -> None:
    folders = {path.parent for top in ("shardc", *TOP) for path in (ROOT / top).rglob("*.py")}
    assert [str(folder) for folder in sorted(folders) if not (folder / "__init__.py").exists()] == []


def test_top_folders_are_where_package_dir_says() -> None:
    folders: dict[str, str] = SETUPTOOLS["package-dir"]
    for name in SETUPTOOLS["packages"]:
        top = name.split(".")[1:2]
        if top and top[0] in TOP:
            assert folders[name] == name.removeprefix("shardc.").replace(".", "/")
        else:
            assert name == "shardc" or name not in folders


@pytest.mark.parametrize("name", TOP)
def test_links_lead_to_the_top_folders(name: str) -> None:
    link = ROOT / "shardc" / name
    assert link.is_symlink() and str(link.readlink()) == f"../{name}"


@pytest.mark.parametrize("name", TOP)
def test_top_folders_do_not_leak(name: str) -> None:
    """An installed shardc adds no `dialects` to anyone's path."""
    code = f"import shardc.{name}; import {name}"
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, cwd="/")
    assert f"No module named '{name}'" in done.stderr


def test_package_data_is_there() -> None:
    assert (files("shardc.grammar") / "shard.lark").is_file()
    assert (files("shardc") / "py.typed").is_file()
    data: dict[str, list[str]] = SETUPTOOLS["package-data"]
    for name, patterns in data.items():
        folder = ROOT / SETUPTOOLS["package-dir"].get(name, name.replace(".", "/"))
        assert all(list(folder.glob(pattern)) for pattern in patterns)


def test_data_files_are_declared() -> None:
    """Whatever is no Python in a package is package data, or documentation."""
    data: dict[str, list[str]] = SETUPTOOLS["package-data"]
    for name in SETUPTOOLS["packages"]:
        folder = ROOT / name.replace(".", "/")
        others = {path for path in folder.iterdir() if path.is_file() and path.suffix not in (".py", ".md")}
        declared = {path for pattern in data.get(name, []) for path in folder.glob(pattern)}
        assert others == declared, name


def test_import_is_lazy() -> None:
    """`import shardc` loads nothing heavy; the core, the runtime and `shardc --help` neither xDSL nor JAX."""
    assert not _loaded("import shardc") & {"numpy", "xdsl", "jax", "lark", "scipy"}
    core = "import shardc.layout, shardc.graph, shardc.planning.reshard, shardc.propagation, shardc.runtime"
    assert not _loaded(core) & {"xdsl", "jax", "lark"}
    assert not _loaded("import shardc.cli.shardc") & {"xdsl", "jax", "lark"}


def test_jit_takes_of_jax_what_it_needs() -> None:
    """`jax.extend` brings the kernel languages with it."""
    pytest.importorskip("jax")
    assert "jax.extend" not in _loaded("import shardc; shardc.jit", whole=True)


def _loaded(code: str, whole: bool = False) -> set[str]:
    """The modules that are loaded then: their first words, or their whole names."""
    names = "sys.modules" if whole else "{name.partition('.')[0] for name in sys.modules}"
    report = f"; import sys; print(*{names})"
    done = subprocess.run([sys.executable, "-c", code + report], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_commands() -> None:
    scripts: dict[str, str] = PROJECT["project"]["scripts"]
    installed = {e.name: e for e in entry_points(group="console_scripts") if e.name in scripts}
    assert sorted(scripts) == ["shardc", "shardc-check", "shardc-layout", "shardc-opt"] == sorted(installed)
    for entry in installed.values():
        assert callable(entry.load())


def test_requirements_are_what_is_imported() -> None:
    required = {_name(text) for text in PROJECT["project"]["dependencies"]}
    optional = PROJECT["project"]["optional-dependencies"]
    extra = {
        _name(text) for name in ("jax", "lsp", "mpi", "notebook", "onnx", "arrays") for text in optional[name]
    }
    imported = {
        name for top in ("shardc", *TOP) for path in (ROOT / top).rglob("*.py") for name in _imports(path)
    }
    assert imported - extra - set(sys.stdlib_module_names) - {"shardc"} == required


def _name(requirement: str) -> str:
    match = re.match(r"[\w-]+", requirement)
    assert match, requirement
    return {"ipython": "IPython"}.get(match[0], match[0].replace("-", "_"))


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield (node.module or "").partition(".")[0]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Deferred":
            yield str(ast.literal_eval(node.args[0])).partition(".")[0]


def test_version_is_said_once() -> None:
    from shardc import __version__

    assert PROJECT["project"]["version"] == __version__


def test_only_development_is_pinned() -> None:
    """Users may have newer packages; what tests compare with exactly is pinned exactly, for development.

    No requirement names a place to get it from.
    """
    optional: dict[str, list[str]] = PROJECT["project"]["optional-dependencies"]
    own, *pinned = optional["dev"]
    assert own.startswith("shardc[")
    assert [text for text in pinned if not re.fullmatch(r"[\w-]+(\[\w+\])?==[\d.]+", text)] == []
    free = [*optional["jax"], *optional["demo"]]
    assert [text for text in free if not re.fullmatch(r"[\w-]+>=[\d.]+", text)] == []
    versions = {_name(text): text.partition("==")[2] for text in pinned}
    assert versions["jax"] == versions["jaxlib"]


@pytest.mark.parametrize("file", ["pyproject.toml", "Makefile", ".ci/run", ".pre-commit-config.yaml"])
def test_no_registry_is_named(file: str) -> None:
    assert not re.search(r"https?://|index-url|find-links", (ROOT / file).read_text(encoding="utf-8"))
