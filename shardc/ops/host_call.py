"""What a call of a function on the host says: the JSON text in its `backend_config`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

from msgspec import Struct

KINDS = ("pure_callback", "io_callback", "debug.callback", "debug.print")


class HostCall(Struct, frozen=True):
    """`kind` is JAX's word, `name` that of the function in the program, `manual` the axes over which the code
    around is per-device. `format` and `keywords` are debug.print's.
    """

    kind: str
    name: str
    manual: tuple[str, ...] = ()
    format: str = ""
    keywords: tuple[str, ...] = ()
    vmap_method: str | None = None

    @classmethod
    def of(cls, attrs: Mapping[str, object]) -> HostCall:
        """Read from a custom call's attributes. ValueError if they do not say it."""
        wrong = "a call of the host says nothing of its function in backend_config, as JSON"
        try:
            told: Any = json.loads(str(attrs.get("backend_config", "")))
        except ValueError:
            raise ValueError(wrong) from None
        if not isinstance(told, dict):
            raise ValueError(wrong)
        fields = cast("dict[str, Any]", told)
        texts = {key: fields.get(key) for key in ("kind", "name", "format", "vmap_method")}
        texts["format"] = texts["format"] or ""
        lists = {key: tuple(fields.get(key) or ()) for key in ("manual", "keywords")}
        known = {"kind", "name", "format"}
        strings = [texts[key] for key in known] + [v for list_ in lists.values() for v in list_]
        optional = [value for key, value in texts.items() if key not in known and value is not None]
        names = [texts["name"], *lists["keywords"]]
        if not all(isinstance(value, str) for value in (*strings, *optional)) or texts["kind"] not in KINDS:
            raise ValueError(wrong)
        if not all(str(name).isidentifier() for name in names):
            raise ValueError("a call of the host names its function, and keywords, with identifiers")
        return cls(**cast("Any", {**texts, **lists}))
