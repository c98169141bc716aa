"""The command without an action: a program in, the compiled program or a stage of it out.

A program whose work is small is proved (shardc/proof/default.py), and standard error says so.

What a text was compiled to is kept in the user's cache folder, under all that it depends on (outcome.py).
Warnings are kept with it, and said again.
"""

from __future__ import annotations

import argparse
import json
import os
import sys

from shardc import cache, outcome
from shardc.cli import driver
from shardc.diagnostics import Location, collecting, pass_on, register_source, warn
from shardc.options import Options
from shardc.proof import VARIABLE


def compile(given: argparse.Namespace, options: Options) -> int:
    """Write the compiled program, or the stage that --emit names."""
    stage = given.emit or options.target
    proved = given.emit is None and not given.no_prove and os.environ.get(VARIABLE) != "off"
    if options.language == "onnx" or stage == "ast":
        from shardc.cli import actions

        return actions.compile(given, options, stage, proved)
    text = driver.read_text(given.program)
    key = None if given.no_cache else outcome.key(text, options, stage, f"proved={proved}")
    made, verdict = (_known(text, options, key) if key else None) or _made(text, options, stage, key, proved)
    driver.write_text(given.output, made)
    if verdict:
        print(verdict, file=sys.stderr)
    return 0


def _made(
    text: str, options: Options, stage: str, key: tuple[str, ...] | None, proved: bool
) -> tuple[str, str | None]:
    """Compile, prove, and keep what came out under the key: the text, and the verdict."""
    from shardc.cli.actions import compiled

    with collecting() as warnings:
        made, verdict = compiled(text, options, stage, proved)
    pass_on(warnings)
    if key:
        said = [[w.message, w.loc.file, w.loc.line, w.loc.col, w.loc.name, w.hint] for w in warnings]
        cache.put(json.dumps({"made": made, "verdict": verdict, "said": said}).encode(), *key)
    return made, verdict


def _known(text: str, options: Options, key: tuple[str, ...]) -> tuple[str, str | None] | None:
    """What is kept under a key; its warnings are said."""
    data = cache.get(*key)
    if data is None:
        return None
    kept = json.loads(data)
    register_source(options.file, text)
    for message, file, line, column, name, hint in kept["said"]:
        warn(message, Location(file, line, column, name), hint)
    return kept["made"], kept["verdict"]
