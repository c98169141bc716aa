"""What the commands share: reading a program in any language, and writing output whole or not at all."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from shardc.diagnostics import Location, ShardcError
from shardc.frontend.portable import is_portable, text_of
from shardc.options import Options, SourceOptions

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

_LANGUAGES = {".shard": "shard", ".mlir": "mlir", ".onnx": "onnx"}
"""How a file's name ends -> its language. Standard input has no name: there the text tells."""


def load(path: str, defines: Mapping[str, int] | None = None, entry: str | None = None) -> ModuleOp:
    """The module in a file, or on standard input for "-". ShardcError if there is none."""
    from shardc.frontend.read import read

    text = read_text(path)
    return read(text, replace(Options(**source_of(path)), defines=defines, entry=entry))


def source_of(path: str) -> SourceOptions:
    """What a path says of the text there: its language, and what errors call it."""
    if path == "-":
        return {"file": "<stdin>"}
    suffix = Path(path).suffix
    if Path(path).is_dir():
        raise ShardcError(f"cannot read {path}: is a directory")
    if suffix not in _LANGUAGES:
        if not Path(path).exists():
            raise ShardcError(f"cannot read {path}: no such file or directory")
        known = " and ".join(_LANGUAGES)
        raise ShardcError(f"{path}: no reader for files that end in '{suffix}'", hint=f"shardc reads {known}")
    return {"file": path, "language": _LANGUAGES[suffix]}


def read_text(path: str) -> str:
    """The text of a file or of standard input; of a portable artifact the text that it stands for.

    ShardcError if it can't be read or isn't UTF-8.
    """
    try:
        data = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    except OSError as error:
        raise ShardcError(f"cannot read {path}: {(error.strerror or 'failed').lower()}") from None
    file = "<stdin>" if path == "-" else path
    return text_of(data, file) if is_portable(data) else decoded(data, file)


def decoded(data: bytes, file: str) -> str:
    """Bytes of a file as text. ShardcError at the first byte that isn't UTF-8."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        start = data.rfind(b"\n", 0, error.start) + 1
        column = len(data[start : error.start].decode("utf-8")) + 1
        place = Location(file, line, column)
        raise ShardcError(
            f"this byte, 0x{data[error.start]:02x}, is not UTF-8", place, "save the file as UTF-8"
        ) from None


def write_text(path: str | None, text: str) -> None:
    """Write to a file, through a temporary one beside it, or to standard output for None or "-"."""
    if path is None or path == "-":
        sys.stdout.write(text)
        return
    write_bytes(path, lambda name: Path(name).write_text(text, encoding="utf-8"))


def write_bytes(path: str, write: Callable[[str], object]) -> None:
    """Let `write(name)` fill a temporary file that then takes the place of `path`, with its permissions."""
    target = Path(path).resolve() if os.path.islink(path) else Path(path)  # a link stays one
    try:
        if target.is_dir():
            raise IsADirectoryError(0, "is a directory")
        if not target.parent.is_dir():
            raise FileNotFoundError(0, f"there is no directory {target.parent}")
        if target.exists() and not target.is_file():
            write(path)
            return
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=target.suffix)
        os.close(handle)
        try:
            write(name)
            os.chmod(name, target.stat().st_mode & 0o7777 if target.exists() else 0o666 & ~_umask())
            os.replace(name, target)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise ShardcError(f"cannot write {path}: {(error.strerror or 'failed').lower()}") from None


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
