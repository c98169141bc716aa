"""Compares what is emitted now with the kept texts: `python -m tests.golden [--write] [NAME…]`."""

from __future__ import annotations

import argparse
import difflib
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("JAX_NUM_CPU_DEVICES", "8")

from tests.golden.programs import every
from tests.golden.texts import emitted, path


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--write", action="store_true", help="keep what is emitted now")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    options = parser.parse_args()
    names, changed = options.names or list(every()), 0
    with ProcessPoolExecutor(options.processes) as pool:
        for name, found in zip(names, pool.map(emitted, names), strict=True):
            for target, text in found.items():
                changed += _report(path(name, target), text, options.write)
    print(f"{len(names)} programs, {changed} texts differ")
    return 0 if options.write or not changed else 1


def _report(file: Path, text: str, write: bool) -> bool:
    before = file.read_text("utf-8") if file.exists() else ""
    if before == text:
        return False
    if write:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
        return True
    lines = before.splitlines(keepends=True), text.splitlines(keepends=True)
    sys.stdout.writelines(difflib.unified_diff(*lines, str(file), "now", n=1))
    return True


if __name__ == "__main__":
    sys.exit(main())
