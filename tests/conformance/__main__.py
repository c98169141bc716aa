"""`python -m tests.conformance FILE…` runs the cases of JSON files and prints how many shardc agrees with.

A case is {"kind", "case", "input", "expected"}. Every kind but `note` has a function in `cases.KINDS`, which
gives shardc's answer in the form of what is expected. Exit code 1 if some case fails.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from tests.conformance.cases import problems_of, read_cases


def main(files: Sequence[str]) -> int:
    """Run the files; the exit code."""
    if not files:
        print("usage: python -m tests.conformance FILE…", file=sys.stderr)
        return 2
    passed = total = 0
    for file in files:
        for number, case in enumerate(read_cases(Path(file))):
            if case["kind"] == "note":
                continue
            total += 1
            problems = problems_of(case)
            passed += not problems
            for problem in problems:
                print(f"FAILED {number} {case['kind']}: {case['case']}\n    {problem}")
    print(f"{passed} of {total}")
    return 0 if passed == total else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
