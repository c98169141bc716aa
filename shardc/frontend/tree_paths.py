"""Names after paths in trees, which are JAX's: `params['deep']['w']`, `opt[0].mu`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence


def last_words(paths: Sequence[str]) -> dict[str, str]:
    """Path in a tree -> its shortest end that no other path of the tree has, as one word.

    params['w1'], params['deep']['w'], params['b'][0] -> w1, w, b_0
    """
    parts = {path: tuple(re.findall(r"[A-Za-z0-9_]+", path)) for path in paths}
    ends = Counter((p[0], p[i:]) for p in set(parts.values()) if p for i in range(len(p)))
    found: dict[str, str] = {}
    for path, p in parts.items():
        starts = [i for i in reversed(range(len(p))) if ends[p[0], p[i:]] == 1 and not p[i][0].isdigit()]
        if starts:
            found[path] = "_".join(p[starts[0] :])
    return found
