"""Cells of tables as files: rounded, as CSV and as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from orthoglot.atomic import replacing


def plain(values: Mapping[str, Any]) -> dict[str, Any]:
    """Numbers rounded for a file; JSON has no infinity, which a ratio to nothing has."""
    return {name: _rounded(value) for name, value in values.items()}


def _rounded(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_rounded(item) for item in value]
    if isinstance(value, float):
        return round(value, 6) if math.isfinite(value) else str(value)
    return value


def csv_text(cells: Sequence[Mapping[str, Any]]) -> str:
    """One row a cell; several values of one field are joined by blanks."""
    flat = [
        {name: " ".join(value) if isinstance(value, list) else value for name, value in cell.items()}
        for cell in cells
    ]
    return pd.DataFrame(flat).to_csv(index=False, lineterminator="\n")


def json_text(value: Any) -> str:
    """Readable JSON, refused if a number is not finite."""
    return json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def save(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    with replacing(path) as partial:
        partial.write_text(text, encoding="utf-8")
