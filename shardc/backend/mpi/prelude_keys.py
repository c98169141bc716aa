"""What `main` and `main_local` of an emitted MPI program that takes dicts ask before they read them.

The text below MARK is written into such programs, below that of prelude_main.
"""

# pyright: basic, reportUndefinedVariable=false

import ast
import re

from shardc.backend.mpi.prelude_main import PARAMS, communicator

MARK = "what follows is written into programs"


def check_keys(*arguments):
    """An error on every process unless each gives dicts with the keys in PARAMS, all the way down."""
    world, expected = communicator().world, {}
    for path in PARAMS:
        part = expected
        for step in re.findall(r'\["(?:[^"\\]|\\.)*"\]|\.?\w+', path):
            part = part.setdefault(step, {})
    pairs = zip(expected.items(), arguments, strict=True)
    found = [text for (name, parts), given in pairs for text in wrong_keys(name, parts, given)]
    wrong = [
        f"process {rank} gives {text}" for rank, own in enumerate(world.allgather(found)) for text in own
    ]
    if wrong:
        raise ValueError("; ".join(wrong))


def wrong_keys(name, parts, given):
    """What is given in the place of dicts with these keys, tuples and records with these items, in words."""
    if parts and next(iter(parts)).startswith("["):
        keys = [ast.literal_eval(step[1:-1]) for step in parts]
        if not isinstance(given, dict) or sorted(given) != sorted(keys):
            what = f"the keys {sorted(given)}" if isinstance(given, dict) else f"a {type(given).__name__}"
            return [f"{what} in {name}, and {sorted(keys)} are expected"]
        items = [given[key] for key in keys]
    elif parts and (not isinstance(given, (tuple, list)) or len(given) != len(parts)):
        what = f"{len(given)} items" if isinstance(given, (tuple, list)) else f"a {type(given).__name__}"
        return [f"{what} in {name}, and {len(parts)} are expected"]
    else:
        items = given if parts else ()
    pairs = zip(parts.items(), items, strict=True)
    return [text for (step, inner), item in pairs for text in wrong_keys(name + step, inner, item)]
