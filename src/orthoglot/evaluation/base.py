"""What every task shares: the task protocol, the record, the three views of a sentence vector.

Letters: N rows of a corpus, D embedding size, K languages.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

import numpy as np

from orthoglot.corpora.cleaning import normalised
from orthoglot.errors import DataError

if TYPE_CHECKING:
    from orthoglot.decomposers.base import Decomposer

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


class Result(NamedTuple):
    """What a task finds in one set of vectors.

    Attributes:
        scores: per item, by subset: hits, (N,) int8 of 1 hit, 0 miss, -1 left out; or (N, C) floats of which
            the task's measure makes statistics, NaN for left out.
        facts: what the signature says of this scoring alone, e.g. whether a classifier converged.
    """

    scores: dict[str, np.ndarray]
    facts: dict[str, object]


class Task(Protocol):
    """Scores arrays and nothing else: it cannot tell one encoder, method or view from another."""

    @property
    def name(self) -> str:
        """Family of the task."""
        ...

    @property
    def dataset(self) -> str:
        """Benchmark folder, or "test"."""
        ...

    @property
    def measure(self) -> str:
        """What is kept of each item: a key of `statistics.MEASURES`."""
        ...

    def sides(self) -> dict[str, tuple[Sequence[str], str]]:
        """{side: (sentences, language)}: the texts whose vectors `score` wants."""
        ...

    def keys(self) -> np.ndarray:
        """(N,) uint64: `keys_of` the pivot sentence of each item, in the order of the scores."""
        ...

    def score(self, vectors: Mapping[str, np.ndarray]) -> Result:
        """Scores of the items of {side: (N, D)}."""
        ...

    def facts(self, subset: str) -> dict[str, object]:
        """What the signature says of a subset, chance level (0 to 100) included."""
        ...


def view(
    vectors: np.ndarray, decomposer: Decomposer | None, language: str, name: View, partner: str | None = None
) -> np.ndarray:
    """One view of sentence vectors of one language.

    Args:
        vectors: (N, D) of the frozen encoder.
        decomposer: None gives the sentence view only.
        language: canonical code; closed-form decomposers need it.
        name: which view.
        partner: the other language of the pair, if it is about a pair.
    Returns:
        (N, D) float32.
    Raises:
        DataError: a meaning or language view without a decomposer.
    """
    if name == "sentence":
        return np.asarray(vectors, dtype=np.float32)
    if decomposer is None:
        raise DataError(f"the {name} view needs a decomposer, and this evaluation has none")
    parts = decomposer.transform(np.asarray(vectors, dtype=np.float32), language, partner)
    return np.asarray(parts.meaning if name == "meaning" else parts.language, dtype=np.float32)


def keys_of(sentences: Iterable[str]) -> np.ndarray:
    """(N,) uint64 hashes of what `normalised` keeps of each sentence: equal meanings, wherever they occur."""
    digests = [hashlib.blake2b(normalised(text).encode(), digest_size=8).digest() for text in sentences]
    return np.frombuffer(b"".join(digests), dtype="<u8")


def usable(vectors: np.ndarray) -> np.ndarray:
    """(N,) bool: rows that have a direction, i.e. are finite and not zero."""
    return np.isfinite(vectors).all(axis=1) & (vectors != 0).any(axis=1)


def unit(vectors: np.ndarray) -> np.ndarray:
    """Rows of (N, D) scaled to length 1; every row must be `usable`."""
    # Scaling by the largest entry first keeps the squares of huge and tiny rows inside float32.
    scaled = vectors / np.abs(vectors).max(axis=1, keepdims=True)
    return scaled / np.linalg.norm(scaled, axis=1, keepdims=True)


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
