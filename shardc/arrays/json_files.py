"""JSON objects that describe arrays: indices of checkpoints, metadata of chunked stores."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

from shardc.diagnostics import ShardcError


def read_object(path: Path, otherwise: str) -> dict[str, Any]:
    """The object in a file. ShardcError if there is none; `otherwise` says of other JSON what it is not."""
    try:
        said = json.loads(path.read_bytes())
    except OSError as error:
        raise ShardcError(f"cannot read {path}: {(error.strerror or 'failed').lower()}") from None
    except (ValueError, RecursionError):
        raise ShardcError(f"{path} is not JSON") from None
    if not isinstance(said, dict):
        raise ShardcError(f"{path} {otherwise}")
    return cast("dict[str, Any]", said)
