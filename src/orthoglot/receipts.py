"""`receipt.json`: says that a folder is the whole result of the job with this key."""

from __future__ import annotations

import json
from pathlib import Path

NAME = "receipt.json"


def write(folder: Path, key: str) -> None:
    """List every file of `folder` with its size under the job's key; call it last."""
    files = {
        str(path.relative_to(folder)): path.stat().st_size
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
    (folder / NAME).write_text(json.dumps({"key": key, "files": files}, indent=1), encoding="utf-8")


def read_key(folder: Path) -> str | None:
    """The key of the job whose whole result `folder` is; None if it is none's, or a listed file is not as written."""
    try:
        receipt = json.loads((folder / NAME).read_text(encoding="utf-8"))
        complete = all((folder / name).stat().st_size == size for name, size in receipt["files"].items())
        return str(receipt["key"]) if complete else None
    except (OSError, ValueError, KeyError, AttributeError):
        return None
