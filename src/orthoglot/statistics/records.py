"""The record: one measured number with its interval and the facts of how it was made, and records on disk."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from orthoglot.errors import DataError

View = Literal["sentence", "meaning", "language"]
VIEWS: tuple[View, ...] = ("meaning", "language", "sentence")
ALL = "all"
# Languages of which a preset has little text, and the others.
HEAD, LONG_TAIL = "head", "long-tail"
LEFT_OUT = -1


@dataclass(frozen=True)
class Record:
    """One measured number.

    Attributes:
        task: family, e.g. "heldout".
        dataset: folder name of a benchmark, or "test" for the held-out split.
        subset: a direction "query->candidate" or a language pair "en-de"; "all" is the unweighted mean over
            directions and pairs. Of the geometry a group of languages: "head", "long-tail" or "all".
        view: which vector was scored: "sentence" (the encoder's own), "meaning" or "language".
        encoder: name of the frozen encoder.
        method: name of the decomposition.
        seed: of the decomposer's training; None for the mean over seeds.
        metric: "accuracy" (0 to 100), "pearson" or "spearman" (correlation times 100, -100 to 100), one of
            `leakage` or `geometry_task`; "difference:<baseline>" of accuracies (-100 to 100), "p:<baseline>" (paired
            bootstrap, Holm-corrected) or "sign:<baseline>" (sign test, Holm-corrected), both 0 to 1; for correlations
            "difference-pearson:<baseline>" (-200 to 200), "p-pearson:<baseline>", and so on.
        value: the number; whether higher is better depends on task and view.
        low: lower end of the interval, None where there is none.
        high: upper end.
        n: scored items: queries of a direction; sentence pairs for "all" of a retrieval task; graded pairs.
        signature: "key:value|..." that pins how the number was made.
    """

    task: str
    dataset: str
    subset: str
    view: str
    encoder: str
    method: str
    seed: int | None
    metric: str
    value: float
    low: float | None
    high: float | None
    n: int
    signature: str


def sign(facts: Mapping[str, object]) -> str:
    """A signature: "key:value" joined by bars, in the order given."""
    return "|".join(f"{key}:{value}" for key, value in facts.items())


def unsign(signature: str) -> dict[str, str]:
    """The facts of a signature; the inverse of `sign` up to text."""
    return dict(part.split(":", 1) for part in signature.split("|") if part)


def write_records(path: Path, records: Iterable[Record]) -> None:
    """Write one JSON object per line, keys sorted."""
    lines = [json.dumps(asdict(record), sort_keys=True, ensure_ascii=False) for record in records]
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")


def read_records(path: Path) -> list[Record]:
    """Read what `write_records` wrote; a line that is no record is a DataError."""
    records = []
    # Not splitlines(): a name may hold a line separator of Unicode.
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n")[:-1], start=1):
        try:
            records.append(Record(**json.loads(line)))
        except (json.JSONDecodeError, TypeError) as error:
            raise DataError(f"{path}: line {number} is not a record ({error})") from error
    return records
