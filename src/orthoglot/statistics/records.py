"""The record: one measured number with its interval and the facts of how it was made, and records on disk."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from numbers import Integral, Real
from operator import attrgetter
from pathlib import Path
from types import NoneType
from typing import Any, Literal, NamedTuple

from orthoglot import receipts
from orthoglot.errors import DataError

View = Literal["sentence", "meaning", "language"]
VIEWS: tuple[View, ...] = ("meaning", "language", "sentence")
ALL = "all"
# Languages of which a preset has much text, and those of which it has little.
HEAD, LONG_TAIL = "head", "long-tail"
GROUPS = (HEAD, LONG_TAIL, ALL)
LEFT_OUT = -1
# Retrieval of the first neighbour, the language probe and classification: shares of hits, 0 to 100.
P_AT_1, ACCURACY = "P@1", "accuracy"
PROPORTIONS = (P_AT_1, ACCURACY)
# Classification with labels that are numbers (times 100; lower is better), and with several labels a text (0 to 100).
MAE, MRP = "MAE", "mRP"
# Mining, and ranked lists with several relevant candidates: 0 to 100, and more is better for the meaning.
F1, MAP = "F1", "mAP@20"
# Neighbours in the query's own language, 0 to 100: little of the meaning, much of the language.
SAME_LANGUAGE = "same-language"
NUMBER = (-math.inf, math.inf)
PERCENT, CORRELATION, NOT_NEGATIVE = (0.0, 100.0), (-100.0, 100.0), (0.0, math.inf)
# A share of variance that is explained may be worse than nothing, at least the lower end of its interval.
EXPLAINED = (-math.inf, 100.0)
# The lowest and the highest value of each metric, by its name or that up to a colon; other metrics may be any number.
BOUNDS = {
    **dict.fromkeys((P_AT_1, ACCURACY, MRP, F1, MAP, "mAP", SAME_LANGUAGE, "precision", "recall"), PERCENT),
    **dict.fromkeys(("R-precision", "reciprocal-rank", "coverage", "untranslated"), PERCENT),
    **dict.fromkeys(("pearson", "spearman", "pooled", "length", "length-ratio"), CORRELATION),
    **dict.fromkeys((MAE, "norm", "kl-d", "ch-i"), NOT_NEGATIVE),
    **dict.fromkeys(("language_share", "r2"), EXPLAINED),
    "cosine": CORRELATION,
    "translation-cosine": CORRELATION,
    "pr": (0.0, 1.0),
    "pooled:between": NUMBER,
}
# Values are rounded, and sums of float32 are off by as much.
ROUNDING = 1e-4
# These fields and the seed say what a number is of.
NAMES = ("task", "dataset", "subset", "view", "encoder", "method", "metric")
# What the annotation of a field stands for.
TYPES = {
    "str": str,
    "View": str,
    "int": Integral,
    "int | None": Integral | NoneType,
    "float": Real,
    "float | None": Real | NoneType,
    "Mapping[str, str]": Mapping,
}
# Facts that are numbers.
NUMBERS = frozenset({"chance", "confidence"})
# Tasks of which "a->b" and "b->a" are on different texts: trained in a, tested in b.
TRANSFER = ("classification", "classification-logistic")
# The metric of a paired comparison, see `Comparison`.
COMPARISON = r"(?P<kind>difference|p|sign)-(?P<compared>[^:]+):(?P<baseline>.+)"


@dataclass(frozen=True)
class Record:
    """One measured number."""

    task: str  # a name of `orthoglot.study.tasks.registry`
    dataset: str  # folder name of a benchmark, or "test" for the held-out split
    # a direction "query->candidate", a language pair "en-de", or "all", the unweighted mean over them; for the geometry
    # a group of languages: "head", "long-tail" or "all"
    subset: str
    view: str  # which vector was scored: "sentence" (the encoder's own), "meaning" or "language"
    encoder: str  # name of the frozen encoder
    method: str  # name of the decomposition
    seed: int | None  # seed of the decomposer's training; None for the mean over seeds
    # e.g. "P@1" (0 to 100) or "spearman" (correlation times 100), see `BOUNDS` and the study's tasks; or a comparison
    # with another method (`Comparison`), e.g. "difference-P@1:dream". An undefined correlation has no record.
    metric: str
    value: float  # the number; `orthoglot.study.tasks.registry` says which values are better
    low: float | None  # lower end of the interval, None where there is none
    high: float | None  # upper end
    n: int  # scored items: queries of a direction; sentence pairs for "all" of a retrieval task; graded pairs
    facts: Mapping[str, str]  # how the number was made: candidates, interval, "identity" of the encoder, ...

    def __post_init__(self) -> None:
        """Refuse what no task can have measured.

        Raises:
            DataError: a field of another type, a number that is not finite, or one that the metric cannot have.
        """
        for field in fields(self):
            given = getattr(self, field.name)
            if not isinstance(given, TYPES[str(field.type)]) or isinstance(given, bool):
                raise DataError(f"no record: its {field.name} is {given!r}")
        if self.view not in VIEWS:
            raise DataError(f"no record: its view is {self.view!r}")
        if self.n < 0:
            raise DataError(f"no record: its n is {self.n}")
        for name, fact in self.facts.items():
            if (
                name in (*FIELDS, *COMPUTED)
                or not isinstance(fact, str)
                or (name in NUMBERS and not _is_number(fact))
            ):
                raise DataError(f"no record: its {name!r:.100} is {fact!r:.100}")
        about = f"{self.task}/{self.dataset}, {self.metric}"
        least, most = limits(self.metric)
        for number in (self.value, self.low, self.high):
            if number is not None and not (
                math.isfinite(number) and least - ROUNDING <= number <= most + ROUNDING
            ):
                raise DataError(f"{about}: {number} is not from {least:g} to {most:g}")
        if self.low is not None and self.high is not None and self.low > self.high:
            raise DataError(f"{about}: the interval from {self.low} to {self.high} is empty")

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Record:
        """The record of a row of a table or of a line. Its other columns that have a value are the facts."""
        if missing := [name for name in FIELDS if name not in row]:
            raise DataError(f"it lacks {', '.join(missing)}")
        named = {name: value for name, value in row.items() if name in FIELDS}
        facts = {name: value for name, value in row.items() if name not in FIELDS and value is not None}
        if "signature" in facts:  # until November 2026 all facts were one text, "name:fact|..."
            signature = [part.split(":", 1) for part in facts["signature"].split("|") if part]
            facts = {"identity" if name == "encoder" else name: fact for name, fact in signature}
            facts.pop("metric", None)
        return cls(**named, facts=facts)

    def row(self) -> dict[str, Any]:
        """Fields and facts side by side, for a table or a line; the inverse of `of`."""
        return {**{name: getattr(self, name) for name in FIELDS}, **self.facts}


FIELDS = tuple(field.name for field in fields(Record) if field.name != "facts")
# Columns that tables of records get besides fields and facts.
COMPUTED = ("kind", "compared", "p", "sign", "sign_p", "reach", "agreed", "lowest", "highest")


class Comparison(NamedTuple):
    """The metric of a paired comparison, "kind-compared:baseline"."""

    # "difference", in the unit of the compared metric; or the p of the paired bootstrap ("p") or of the sign test
    # ("sign"), both in 0 to 1 and corrected by Holm
    kind: str
    compared: str  # the metric that was compared; "abs-pearson" stands for |ours| - |theirs|
    baseline: str  # the other method

    def __str__(self) -> str:
        return f"{self.kind}-{self.compared}:{self.baseline}"

    @classmethod
    def parse(cls, metric: str) -> Comparison | None:
        """The comparison that a metric names, None for another metric."""
        match = re.fullmatch(COMPARISON, metric)
        return cls(*match.groups()) if match else None


def limits(metric: str) -> tuple[float, float]:
    """The lowest and the highest value of a metric, or of a comparison by it."""
    comparison = Comparison.parse(metric)
    if comparison is None:
        return BOUNDS.get(metric, BOUNDS.get(metric.partition(":")[0], NUMBER))
    if comparison.kind != "difference":
        return 0.0, 1.0
    least, most = limits(comparison.compared.removeprefix("abs-"))
    return least - most, most - least


def stated(*facts: Mapping[str, object]) -> dict[str, str]:
    """The facts of several mappings as text; a later mapping replaces what an earlier one states."""
    return {name: str(fact) for mapping in facts for name, fact in mapping.items()}


def write_records(path: Path, records: Iterable[Record]) -> None:
    """Write one JSON object per line, keys sorted."""
    lines = [json.dumps(record.row(), sort_keys=True, ensure_ascii=False) for record in records]
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")


def read_records(path: Path) -> list[Record]:
    """Read what `write_records` wrote, or a report's records.parquet.

    Every command that shows results reads them here. A folder's records are in records.jsonl.

    Raises:
        DataError: not as the job of this folder wrote it, cut, empty, anything but records, or two of one number.
        OSError: absent.
    """
    if path.is_dir() and path.name != "records.jsonl":
        path = path / "records.jsonl"
    receipts.check_whole(path)
    try:
        read = _of_parquet if path.suffix == ".parquet" else _of_lines
        records = read(path)
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: is not UTF-8 ({error.reason})") from error
    seen = set()
    for record in records:
        # Two encoders may have one name.
        about = (*attrgetter(*NAMES)(record), record.seed, record.facts.get("identity"))
        if about in seen:
            raise DataError(f"{path}: two records of {' '.join(map(str, about[:-1]))}")
        seen.add(about)
    return records


def _of_parquet(path: Path) -> list[Record]:
    from pyarrow import parquet

    try:
        rows = parquet.read_table(path).to_pylist()
        if not rows:
            raise DataError("it is empty")
        # Absent numbers are null or NaN there, and None in a record.
        return [
            Record.of({name: None if value != value else value for name, value in row.items()})
            for row in rows
        ]
    except Exception as error:  # pyarrow raises errors of many types about a damaged file
        raise DataError(f"{path}: holds no records ({error})") from error


def _of_lines(path: Path) -> list[Record]:
    text = path.read_text(encoding="utf-8")
    if not text.endswith("\n"):
        raise DataError(
            f"{path}: {'its last line is cut' if text else 'is empty, there is no record to read'}"
        )
    records = []
    # Not splitlines(): a name may hold a line separator of Unicode.
    for number, line in enumerate(text.split("\n")[:-1], start=1):
        try:
            records.append(Record.of(json.loads(line)))
        except (ValueError, TypeError, AttributeError, RecursionError) as error:
            raise DataError(f"{path}: line {number} is not a record ({error})") from error
    return records


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
