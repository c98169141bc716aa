"""README.md, docs/ and the pages of examples/ are true: programs compile, commands print what stands below.

A `shard` or `mlir` block is a program that compiles; the commands of `console` blocks after it find it as
prog.shard or prog.mlir, and under the name that it begins with (# layers.shard). `shard error` is a wrong
one. A `python` block is the `device_main` of the last program, or runs by itself. Blocks that begin with
`>>>` are one doctest. The sections of passes.md are the docstrings of passes/.

`python tests/unit/test_docs.py` writes what the commands print now into the pages.
"""

from __future__ import annotations

import ast
import contextlib
import doctest
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from shardc.cli.layout import main as shardc_layout
from shardc.cli.opt import main as shardc_opt
from shardc.cli.shardc import main as shardc
from shardc.passes.pipeline import PASSES

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs/from").glob("*.md")),
]
FOR_CONTRIBUTORS = [ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
EXAMPLES = sorted((ROOT / "examples").glob("*/README.md"))
FENCE = re.compile(r"^```([a-z]+(?: error)?)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
STALE = "if the new output is right, `python tests/unit/test_docs.py` writes it into the page"
ROUNDING = re.compile(r"(?<=, )(equal$|(equal, )?off by \S+ of the largest element, one device by \S+$)")
COMMANDS: dict[str, Callable[[list[str]], int]] = {
    "shardc": shardc,
    "shardc-layout": shardc_layout,
    "shardc-opt": shardc_opt,
}


def _page(path: Path) -> object:
    """Of library-layer tests/unit/jaxside/test_library_layer.py runs what this would."""
    return pytest.param(path, id=path.stem, marks=[pytest.mark.slow] * (path.stem == "library-layer"))


@pytest.fixture(autouse=True)
def as_for_a_user(monkeypatch: pytest.MonkeyPatch) -> None:
    """The other tests prove nothing that they do not ask for."""
    monkeypatch.delenv("SHARDC_PROVE", raising=False)


@pytest.mark.parametrize("path", [*map(_page, PAGES)])
def test_page(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert render(text) == text, STALE


@pytest.mark.parametrize("path", [*PAGES, *FOR_CONTRIBUTORS], ids=lambda path: path.stem)
def test_links(path: Path) -> None:
    """Files that a page points to are there."""
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8")):
        assert (path.parent / target).exists(), f"{path.name} points to {target}"


def test_files_that_contributors_read_of_are_there() -> None:
    text = FOR_CONTRIBUTORS[0].read_text(encoding="utf-8")
    named = re.findall(r"`((?:bench|docs|passes|shardc|tests)/[\w/.]*\w/?)`", text)
    assert len(named) > 10 and [path for path in named if not (ROOT / path).exists()] == []


def test_the_readme_opens_with_an_example() -> None:
    blocks = FENCE.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    assert [kind for kind, _ in blocks[:2]] == ["shard", "python"]
    assert blocks[0][1] == (ROOT / "examples/megatron_mlp/megatron_mlp.shard").read_text(encoding="utf-8")


def test_every_page_is_in_the_readme() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    pages = [str(path.relative_to(ROOT)) for path in PAGES[1:]]
    assert [page for page in pages if page not in readme] == []


def test_every_pass_is_in_passes_md() -> None:
    headings = re.findall(
        r"^## ([a-z-]+)$", (ROOT / "docs/passes.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert sorted(headings) == sorted(PASSES)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.parent.name)
def test_example(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert render(text, *_programs(path.parent)) == text, STALE


def _programs(folder: Path) -> list[Path]:
    """What the commands of an example's page read: its programs, and the functions they are compared with."""
    return [*folder.glob("*.shard"), *folder.glob("reference.py")]


def render(text: str, *programs: Path) -> str:
    """A page with everything in it that can be run as it is now, in a folder that has `programs`."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for program in programs:
            shutil.copy(program, folder)
        _doctest("\n".join(body for _, body in FENCE.findall(text) if body.startswith(">>> ")))
        text = FENCE.sub(lambda match: f"```{match[1]}\n{BLOCKS.get(match[1], _as_it_is)(match[2])}```", text)
    return re.sub(r"^## ([a-z-]+)\n.*?(?=^## |\Z)", _section, text, flags=re.MULTILINE | re.DOTALL)


def _section(match: re.Match[str]) -> str:
    if match[1] not in PASSES:
        return match[0]
    doc = sys.modules[PASSES[match[1]]().__module__].__doc__ or ""
    return f"## {match[1]}\n\n{doc.removeprefix(match[1] + ': ').strip()}\n\n"


def _program(name: str, code: int) -> Callable[[str], str]:
    def block(body: str) -> str:
        titled = re.match(r"# (\w+\.shard)\n", body)
        for file in (name, titled[1]) if titled else (name,):
            Path(file).write_text(body, encoding="utf-8")
        assert _run(["shardc", name, "--check"])[1] == code, f"exit code of\n{body}"
        return body

    return block


def _console(body: str) -> str:
    """The commands with what they print. Rounding errors differ between machines: the old ones stay."""
    old = {ROUNDING.sub("", line): line for line in body.splitlines()}
    commands = [line for line in body.splitlines() if line.startswith("$ ")]
    new = "".join(f"{line}\n{_output(line[2:])}" for line in commands)
    return "".join(f"{old.get(ROUNDING.sub('', line), line)}\n" for line in new.splitlines())


def _output(line: str) -> str:
    """What a command prints, through the filter behind it if there is one; blank lines at the ends go."""
    command, _, filters = line.partition(" | ")
    text, _ = _run(shlex.split(command))
    if filters:
        text = subprocess.run(["sh", "-c", filters], input=text, capture_output=True, text=True).stdout
    return text.strip("\n") + "\n" if text.strip() else ""


def _run(words: list[str]) -> tuple[str, int]:
    """Standard output, then standard error, and the exit code."""
    if words[0] == "cat":
        return Path(words[1]).read_text(encoding="utf-8"), 0
    if words[0] == "python":
        done = subprocess.run([sys.executable, *words[1:]], env=_clean(), capture_output=True, text=True)
        return done.stdout + done.stderr, done.returncode
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = COMMANDS[words[0]](words[1:])
    return out.getvalue() + err.getvalue(), code


def _clean() -> dict[str, str]:
    return {**{k: v for k, v in os.environ.items() if k != "JAX_NUM_CPU_DEVICES"}, "JAX_PLATFORMS": "cpu"}


def _python(body: str) -> str:
    if body.startswith(">>> "):
        return body
    if body.strip() and not body.startswith("def device_main"):
        done = subprocess.run([sys.executable, "-c", body], env=_clean(), capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return body
    tree = ast.parse(text := _run(["shardc", "prog.shard", "--emit", "jax"])[0])
    function = next(f for f in tree.body if isinstance(f, ast.FunctionDef) and f.name == "device_main")
    return "\n".join(text.splitlines()[function.lineno - 1 : function.end_lineno]) + "\n"


def _doctest(body: str) -> None:
    test = doctest.DocTestParser().get_doctest(body, {}, "the page", None, 0)
    said = io.StringIO()
    assert not doctest.DocTestRunner(verbose=False).run(test, out=said.write).failed, said.getvalue()


def _as_it_is(body: str) -> str:
    return body


BLOCKS: dict[str, Callable[[str], str]] = {
    "console": _console,
    "mlir": _program("prog.mlir", 0),
    "python": _python,
    "shard": _program("prog.shard", 0),
    "shard error": _program("prog.shard", 1),
}


if __name__ == "__main__":
    for page in [ROOT / name for name in sys.argv[1:]] or [*PAGES, *EXAMPLES]:
        page.write_text(render(page.read_text(encoding="utf-8"), *_programs(page.parent)), encoding="utf-8")
