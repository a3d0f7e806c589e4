"""Examples in text of what tasks score: a JSON file beside the records."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from orthoglot.errors import DataError
from orthoglot.receipts import holds

EXAMPLES = "examples.json"


class Shown(NamedTuple):
    """One example."""

    # as in a record
    task: str
    dataset: str
    subset: str
    view: str
    encoder: str = ""  # whose it is; in the file of one evaluation ""
    texts: Mapping[str, str] = {}  # {what it is: text}


def write_examples(path: Path, examples: Sequence[Shown]) -> None:
    """Write examples as a JSON array, one a line."""
    lines = ",\n".join(json.dumps(example._asdict(), ensure_ascii=False) for example in examples)
    path.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


def read_examples(path: Path) -> list[Shown]:
    """Read what `write_examples` wrote; none where there is no such file.

    Raises:
        DataError: something else, or not as the job of this folder wrote it.
    """
    if not holds(path):
        return []
    try:
        return [Shown(**example) for example in json.loads(path.read_text(encoding="utf-8"))]
    except (ValueError, TypeError) as error:
        raise DataError(f"{path}: not a file of examples ({error})") from error
