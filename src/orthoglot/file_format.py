"""The version of the format of a model folder: encoder.json, decomposer.json, and the weights beside them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from orthoglot import __version__
from orthoglot.errors import DataError

# What this version reads. A file that states none has 1; a version that changes what a file means will state 2.
FORMAT = 1


def check_format(path: Path, stated: Mapping[str, Any]) -> None:
    """Refuse a file that a later version wrote in another format.

    Raises:
        DataError: it is of another one.
    """
    version = stated.get("format", 1)
    if version != FORMAT:
        raise DataError(
            f"{path}: has format {version!r:.20}, but orthoglot {__version__} reads format {FORMAT}; "
            "use the version that wrote it, or a later one"
        )
