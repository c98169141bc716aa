#!/usr/bin/env python3
"""What the proof (docs/proof.md) finds and what it takes: every program proved, and every mutant of it.

  proving.py                 every program: examples, programs.py, more_programs.py, tests/e2e/programs
  proving.py NAME ...        only these
  proving.py --plain         the programs only, no mutants

A mutant (mutants.py) is `found` where the proof says that it differs, `equivalent` where it is proved and
random inputs agree, MISSED where it is proved and they do not, `open` where nothing is proved. Two figures
must be 0: programs as they were compiled that are said to differ, and mutants missed.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from mutants import mutants
from mutation import SEEDS, _Reference, compiled, programs

from shardc.diagnostics import ShardcError, collecting
from shardc.graph import Graph
from shardc.proof.prove import Verdict, prove

FOUND, EQUIVALENT, MISSED, OPEN = "found", "equivalent", "MISSED", "open"


def verdict(whole: Graph, local: Graph, reference: _Reference) -> str:
    """What the proof says of a mutant."""
    try:
        with collecting():
            proof = prove(whole, local)
    except ShardcError:
        return FOUND
    if proof.verdict is not Verdict.PROVED:
        return FOUND if proof.verdict is Verdict.DIFFERS else OPEN
    return MISSED if any(map(reference.differs, (0, *SEEDS))) else EQUIVALENT


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*")
    parser.add_argument("--plain", action="store_true")
    options = parser.parse_args()
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    os.environ.setdefault("JAX_NUM_CPU_DEVICES", "16")
    chosen, total = programs(), Counter[str]()
    for name in options.names or list(chosen):
        start = time.process_time()
        whole, local = compiled(chosen[name]())
        compiling = time.process_time() - start
        proof = prove(whole, local)
        taken = time.process_time() - start - compiling
        total[proof.verdict.value] += 1
        counts, reference = Counter[str](), _Reference(whole, local)
        for mutant in [] if options.plain else mutants(local):
            with mutant.applied():
                said = verdict(whole, local, reference)
            counts[said] += 1
            if said in (MISSED, OPEN):
                print(f"    {said}: {mutant}")
        total.update(counts)
        found = ", ".join(f"{number} {what}" for what, number in sorted(counts.items()))
        print(f"{name:26s} {proof.verdict.value:10s} {proof.reason}", end="")
        print(f" compiled in {compiling:.1f} s, proved in {taken:.1f} s; {found}", flush=True)
    print(", ".join(f"{number} {what}" for what, number in sorted(total.items())))
    return int(total[Verdict.DIFFERS.value] > 0 or total[MISSED] > 0)


if __name__ == "__main__":
    sys.exit(main())
