"""The user's line that called shardc, for what JAX places in shardc's own files.

    inverse = shardc.jit(jnp.linalg.inv)
    y = inverse(x)      # train.py:12

No line of `inv` is the user's, and JAX cuts stacks where it begins to trace: the innermost line that it knows
is one of shardc/jaxside/jit.py.

    #loc6 = loc("…/shardc/jaxside/jit.py":198:22)
    ->  #loc6 = loc(callsite("…/shardc/jaxside/jit.py":198:22 at "train.py":12:4))

Of a call site in shardc's own files messages name the caller.
"""

from __future__ import annotations

import contextlib
import os
import re
from inspect import currentframe
from types import FrameType

from shardc.diagnostics import OWN_FILES, Location, is_own
from shardc.jaxside.untyped import jax

_JAX = os.path.join(os.path.dirname(os.path.abspath(jax.__file__)), "")
_OWN_PLACE = re.compile(
    rf'^(#loc\d* = loc\()("{re.escape(OWN_FILES)}[^"\n]*":\d+:\d+(?: to [\d:]+)?)\)$', re.M
)


def user_frame() -> tuple[FrameType, int]:
    """The innermost frame that is neither shardc's nor JAX's, and its number, where the caller's own is 1.

    The outermost one where all are theirs.
    """
    frame, depth = currentframe(), 0
    assert frame is not None
    while frame.f_back is not None and is_between(frame.f_code.co_filename):
        frame, depth = frame.f_back, depth + 1
    return frame, depth


def with_caller(text: str) -> str:
    """The text of a module, in which places in shardc's files are called from the user's line."""
    if OWN_FILES not in text:
        return text
    place = user_place()
    file = (place.file or "").replace("\\", "\\5C").replace('"', "\\22")
    at = f'"{file}":{place.line}:{place.col - 1}'
    return _OWN_PLACE.sub(lambda found: f"{found[1]}callsite({found[2]} at {at}))", text)


def user_place() -> Location:
    """The place in the user's code that called JAX or shardc."""
    frame, _ = user_frame()
    _, _, column, _ = list(frame.f_code.co_positions())[frame.f_lasti // 2]
    return Location(frame.f_code.co_filename, frame.f_lineno, (column or 0) + 1)


def is_between(file: str) -> bool:
    """Whether a file is one of JAX's or shardc's own."""
    return is_own(file) or file.startswith(_JAX) or file == contextlib.__file__
