"""Files that are filled before they appear under their names."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from shardc.temporary import fresh


def test_each_is_new_and_its_users_alone(tmp_path: Path) -> None:
    names = set[str]()
    for _ in range(5):
        handle, name = fresh(tmp_path, ".out.", ".py")
        os.write(handle, b"x\r\n")
        os.close(handle)
        names.add(name)
    assert len(names) == 5
    for path in map(Path, names):
        assert path.parent == tmp_path and path.name.startswith(".out.") and path.suffix == ".py"
        assert path.read_bytes() == b"x\r\n"
        assert os.name == "nt" or path.stat().st_mode & 0o777 == 0o600


def test_one_that_is_there_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = iter([b"a", b"a", b"b"])
    monkeypatch.setattr(os, "urandom", lambda _: next(numbers))
    first, second = (fresh(tmp_path, ".")[1] for _ in range(2))
    assert [Path(name).name for name in (first, second)] == [".61", ".62"]
    with pytest.raises(OSError):
        fresh(tmp_path / "none", ".")
