"""Command lines in the manner of Shardy's sdy_opt: `-sdy-basic-propagate -split-input-file`, passes as flags.

    shardc-opt FILE -sdy-aggressive-propagate='propagation-strategy=basic' -verify-diagnostics

is  shardc-opt FILE -p 'sdy-aggressive-propagate{propagation-strategy=basic}' --verify-diagnostics
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

_OPTION = re.compile(r"""([\w-]+)=("[^"]*"|'[^']*'|\S*)""")
_LONG = frozenset({"split-input-file", "verify-diagnostics", "allow-unregistered-dialect"})
_IGNORED = frozenset({"mlir-print-local-scope", "mlir-disable-threading"})


def translate(args: Sequence[str], passes: Collection[str]) -> tuple[list[str], bool]:
    """Arguments for argparse, and whether any was written in MLIR's manner.

    Passes that are flags, with one dash or two, follow those of -p in the order in which they stand.
    """
    kept: list[str] = []
    pipeline: list[str] = []
    for arg in args:
        name, _, options = arg.lstrip("-").partition("=")
        if arg.startswith("-") and name in passes:
            pipeline.append(f"{name}{{{_options(options)}}}" if options else name)
        elif arg.startswith("-") and not arg.startswith("--") and name in _LONG:
            kept.append(f"--{name}")
        elif not (arg.startswith("-") and name in _IGNORED):
            kept.append(arg)
    if not pipeline:
        return kept, False
    return [*kept, "-p", ",".join(pipeline)], True


def _options(text: str) -> str:
    """MLIR's `a=1 b=x` as xDSL writes it: a value that is neither a number nor a word is quoted."""
    return " ".join(f"{key}={_value(value.strip(chr(34) + chr(39)))}" for key, value in _OPTION.findall(text))


def _value(text: str) -> str:
    return text if re.fullmatch(r"\d+|true|false|[A-Za-z][\w-]*", text) else f'"{text}"'
