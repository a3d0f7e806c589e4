"""What ORACLE and SEED printed, and beside each number what a run measured, or why it could not.

The printed numbers are the rows of published/<paper>.csv, one a row, transcribed as printed; a note tells a known
doubt. Source: methods 8.1, 8.2, 10.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations
from pathlib import Path
from statistics import fmean
from typing import Any, Literal, NamedTuple, get_args

from orthoglot.errors import ConfigError
from orthoglot.evaluation.base import ALL
from orthoglot.evaluation.comparisons import ORIGINAL, RELEASED
from orthoglot.evaluation.measured import Measured, Name, Number

Paper = Literal["oracle", "seed"]
PUBLISHED = Path(__file__).parent / "published"


def _from_english(codes: str) -> tuple[str, ...]:
    return tuple(f"en-{code}" for code in codes.split())


def _pairs(codes: str) -> tuple[str, ...]:
    return tuple(map("-".join, combinations(codes.split(), 2)))


_TATOEBA_14 = "ar bg de el es fr hi ru sw th tr ur vi zh"
_CROSS = _from_english("ar de tr es fr it nl")
# What the papers average over: methods 3.6, 7.3, 7.7, 7.8, 7.10.
MEMBERS: Mapping[str, tuple[str, ...]] = {
    "opus-12": _from_english("ar ay de es fr gn it ja nl pt ro zh"),
    "tatoeba-14": _from_english(_TATOEBA_14),
    "tatoeba-36": _from_english(
        f"{_TATOEBA_14} af bn et eu fa fi he hu id it ja jv ka kk ko ml mr nl pt ta te tl"
    ),
    "tatoeba-10": _from_english("ar de es fr it ja nl pt ro zh"),
    "muse-8": _from_english("ar de es fr it nl pt ro"),
    "sts17": ("ar-ar", "en-en", "es-es", *_CROSS),
    "sts17-cross": _CROSS,
    "wmt20": ("en-de", "en-zh", "ro-en", "et-en", "ne-en", "si-en"),
}
_MANY = (
    "ar bg bn ca cs da de el eo es et eu fa fi fr gl he hr hu id it ja ko lt lv mk ml ms nl pl pt ro ru sk sl sq sr "
    "sv th tr uk vi zh"
)
_FEW = "af hi hy jv ka kk ku mn mr nb sw ta te tl ur"
# EMS's languages with more and with fewer than 300,000 training pairs, and its two groups of FLORES: methods 7.3, 7.4.
MEMBERS_OF_EMS: Mapping[str, tuple[str, ...]] = {
    "tatoeba-58": _from_english(f"{_MANY} {_FEW}"),
    "tatoeba-43": _from_english(_MANY),
    "tatoeba-15": _from_english(_FEW),
    "flores-182": _pairs("ar de es fr it ja ko nl pl pt ru th tr zh"),
    "flores-240": _pairs("af gu hi hy jv ka kk mr my nb sw ta te tl ur yo"),
    "mldoc": _from_english("de es fr it ja ru zh"),
    "training": (),
}
# The benchmarks of params.yaml that hold the papers' items. Any held-out split, Tatoeba set or code-switched set
# counts, language by language; other STS and QE data (the STS benchmark, track 4b) and other wide files do not.
_SAME_ITEMS = {
    "sts": ("sts17", "sts17-turkish"),
    "qe": ("wmt20", "mlqe", "mlqe-south-asia"),
    "nway": ("flores", "flores-muse", "flores-low-resource"),
}
# Our encoders by the paper's name, each a row of its own; the name says which vector or size it is. ORACLE states 768
# dimensions for InfoXLM, its code loads the large one (O8); its LASER is LASER1. MEAT and SEED take LaBSE's raw CLS,
# and SEED's code gives mE5 no prefix (S2).
CHECKPOINTS: Mapping[str, tuple[str, ...]] = {
    "laser": ("laser", "laser2"),
    "infoxlm": ("infoxlm-base", "infoxlm-large"),
    "labse": ("labse", "labse-cls"),
    "msimcse": ("msimcse",),
    "me5-base": ("me5-base", "me5-base-released"),
    "me5-large": ("me5-large", "me5-large-released"),
    "me5-large-instruct": ("me5-large-instruct", "me5-large-instruct-released"),
}
TITLES = {
    ("oracle", "8"): "Held-out retrieval",
    ("oracle", "3"): "Tatoeba, 14 and 36 languages",
    ("oracle", "4"): "Ablation on LaBSE",
    ("oracle", "9"): "Tatoeba, 10 training languages",
    ("oracle", "10"): "STS 2017",
    ("oracle", "11"): "Code-switched retrieval",
    ("seed", "1"): "Quality estimation, WMT20",
    ("seed", "3"): "LaBSE",
    ("seed", "4"): "STS 2017, cross-lingual",
    ("seed", "5"): "Ablation on mE5-large-instruct",
}
# The direction of a mean over all of a data set of this run.
WHOLE = "all"
NO_ENCODER = "no encoder"
NO_METHOD = "no method"
NO_DATA = "no data"
NO_LANGUAGE = "no language"
NO_RECORD = "no record"
REASONS = {
    NO_ENCODER: "its checkpoint is not in this run",
    NO_METHOD: "the method was not run on this encoder",
    NO_DATA: "the data set is not in this run, or held back by its owner",
    NO_LANGUAGE: "the data set is here, but not this language or track",
    NO_RECORD: "the run has this data set, but not this view or metric of it",
}


class Printed(NamedTuple):
    """One number of a paper.

    Attributes:
        paper: "oracle", "seed" or "ems".
        table: its number in the paper.
        encoder: the paper's; of EMS, which variant.
        method: our name of what the paper calls it; its reading may be the printed or the released one.
        view: "meaning", "language", or "sentence" for an undivided vector.
        task: as in a record.
        dataset: one of `MEMBERS`, of EMS one of `MEMBERS_OF_EMS`.
        subset: one of its members, or "all" for the mean.
        direction: "en->xx", "xx->en", "both" (mean of the two), "" where there is none, or "all" for a
            data set of this run as a whole.
        metric: as in a record.
        scale: "0..100", "-100..100", "-1..1" or "seconds".
        value: as printed, "" where the transcribed text lacks it.
        note: a known doubt.
    """

    paper: str
    table: str
    encoder: str
    method: str
    view: str
    task: str
    dataset: str
    subset: str
    direction: str
    metric: str
    scale: str
    value: str
    note: str

    @property
    def column(self) -> tuple[str, ...]:
        """What stands above it: all that is measured, whoever is measured."""
        return self.task, self.dataset, self.subset, self.direction, self.metric, self.scale

    @property
    def row(self) -> tuple[str, ...]:
        """What the numbers of its row share: all that is measured but the subset."""
        return self[:7] + self[8:11]

    @property
    def members(self) -> tuple[str, ...]:
        """What the number is the mean of."""
        groups = MEMBERS_OF_EMS if self.paper == "ems" else MEMBERS
        return groups[self.dataset] if self.subset == ALL else (self.subset,)

    @property
    def unit(self) -> float:
        """Its scale in that of a record."""
        return 100.0 if self.scale == "-1..1" else 1.0


class Match(NamedTuple):
    """What a run has for a printed number: its own number, the members and data sets of that; or why it has none."""

    number: Number | None = None
    over: tuple[str, ...] = ()
    dataset: str = ""
    reason: str = ""


@dataclass(frozen=True)
class Compared:
    """A cell of a paper's table and what the run says to it; numbers in the paper's scale.

    Attributes:
        paper: and table, encoder, method, view, task, dataset, subset, direction, metric, scale, note: of
            the printed number; a row that the paper does not have has our encoder and method there.
        published: the printed number, None where the paper prints none.
        like: the printed number over `over` alone, where the paper prints each of them.
        encoder_here: our encoder, "" where there is none.
        method_here: our method, in one of its readings.
        dataset_here: the run's data set, or several.
        measured: mean over seeds.
        low: lower end of its interval over sentences.
        high: upper end.
        averaged: the ends are means of the languages' ends, at least as wide as the interval of the mean.
        sd: standard deviation over seeds, None for one seed.
        seeds: how many.
        difference: measured minus `like` or `published`.
        over: members measured.
        missing: members that were not.
        reason: why nothing was measured, else "".
    """

    paper: str
    table: str
    encoder: str
    method: str
    view: str
    task: str
    dataset: str
    subset: str
    direction: str
    metric: str
    scale: str
    published: float | None
    encoder_here: str
    method_here: str
    dataset_here: str = ""
    measured: float | None = None
    low: float | None = None
    high: float | None = None
    averaged: bool = False
    sd: float | None = None
    seeds: int = 0
    like: float | None = None
    difference: float | None = None
    over: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    reason: str = ""
    note: str = ""

    @property
    def like_for_like(self) -> bool:
        """Whether `difference` compares the same languages."""
        return self.difference is not None and (not self.missing or self.like is not None)


def published(paper: str) -> tuple[Printed, ...]:
    """Every number of a paper's tables, in the order of the paper.

    Raises:
        ConfigError: not one of the papers.
    """
    if paper not in get_args(Paper):
        raise ConfigError(f"no paper called {paper}; there are {', '.join(get_args(Paper))}")
    return transcribed(paper)


@cache
def transcribed(paper: str) -> tuple[Printed, ...]:
    """Every number of published/<paper>.csv, in the order of the file."""
    with open(PUBLISHED / f"{paper}.csv", encoding="utf-8", newline="") as handle:
        return tuple(Printed(**row) for row in csv.DictReader(handle))


def table_names(paper: str) -> list[str]:
    """The numbers of a paper's tables, in the order of the file."""
    return list(dict.fromkeys(one.table for one in published(paper)))


def printed_name(method: str) -> str:
    """What a paper calls a method: its released reading bears the same name as its printed one."""
    return method.replace(RELEASED, "")


def beside(paper: str, measured: Measured) -> list[Compared]:
    """Every printed number beside each of our encoders and methods that it speaks of.

    A method that was run in the printed and in the released reading gives two rows: the published rows of
    ORACLE most likely come from the released one (O1).
    """
    compared = []
    for one in published(paper):
        encoders = [name for name in CHECKPOINTS[one.encoder] if name in measured.encoders] or [""]
        for encoder in encoders:
            run = measured.methods_of(encoder) if encoder else measured.methods
            methods = [name for name in run if printed_name(name) == one.method] or [""]
            compared += [
                _compare(one, encoder, method, measured) for method in (methods if encoder else methods[:1])
            ]
    return compared


def beyond(paper: str, measured: Measured) -> list[Compared]:
    """The columns of a paper's tables for what it has no row for: our encoders, and further methods.

    Each row ends with the mean over the whole of each data set here. What was not measured is left out.
    """
    compared: list[Compared] = []
    for table in table_names(paper):
        rows = [one for one in published(paper) if one.table == table]
        columns = {one.column: one for one in rows}
        views = [view for view in ("meaning", "language") if any(one.view == view for one in rows)]
        known = {(name, one.method) for one in rows for name in CHECKPOINTS[one.encoder]}
        for encoder in measured.encoders:
            for method in measured.methods_of(encoder):
                if (encoder, printed_name(method)) in known:
                    continue
                for view in ["sentence"] if method == ORIGINAL else views:
                    mine = {"encoder": encoder, "method": method, "view": view, "value": "", "note": ""}
                    asked = [one._replace(**mine) for one in columns.values()]
                    compared += [_compare(one, encoder, method, measured) for one in asked]
                    compared += _whole(asked, encoder, method, measured)
    return [one for one in compared if one.measured is not None]


def _whole(asked: Sequence[Printed], encoder: str, method: str, measured: Measured) -> Iterator[Compared]:
    """The mean over all of each data set of the run in these tasks, whatever its languages."""
    for task, metric in dict.fromkeys((one.task, one.metric) for one in asked):
        one = next(one for one in asked if (one.task, one.metric) == (task, metric))
        for dataset in measured.datasets(task):
            found = measured.mean(Name(encoder, method, one.view, task, dataset, metric))
            if found is not None:
                whole = one._replace(dataset=dataset, subset=ALL, direction=WHOLE)
                blank = Compared(**_names(whole), published=None, encoder_here=encoder, method_here=method)
                yield _filled(replace(blank, dataset_here=dataset), whole, found, found.subsets)


def _compare(one: Printed, encoder: str, method: str, measured: Measured) -> Compared:
    blank = Compared(
        **_names(one),
        published=float(one.value) if one.value else None,
        encoder_here=encoder,
        method_here=method if encoder else "",
        missing=one.members,
    )
    if not encoder or not method:
        return replace(blank, reason=NO_METHOD if encoder else NO_ENCODER)
    found = match(one, encoder, method, measured)
    blank = replace(blank, dataset_here=found.dataset, reason=found.reason)
    return blank if found.number is None else _filled(blank, one, found.number, found.over)


def match(one: Printed, encoder: str, method: str, measured: Measured) -> Match:
    """What one of our encoders and methods has for a printed number."""
    if not _datasets(one.task, measured):
        return Match(reason=NO_DATA)
    parts = _parts(one, measured)
    if not parts:
        return Match(reason=NO_LANGUAGE)
    places = [place for some in parts.values() for place in some]
    about = encoder, method, one.view, one.task
    found = measured.over([(Name(*about, dataset, one.metric), subset) for dataset, subset in places])
    datasets = " + ".join(dict.fromkeys(dataset for dataset, _ in places))
    return Match(found, tuple(parts), datasets) if found else Match(dataset=datasets, reason=NO_RECORD)


def _names(one: Printed) -> dict[str, Any]:
    return {field: getattr(one, field) for field in Printed._fields if field != "value"}


def _filled(blank: Compared, one: Printed, found: Number, over: tuple[str, ...]) -> Compared:
    missing = tuple(member for member in blank.missing if member not in over)
    like = _over(one, over) if missing and blank.published is not None else None
    against = like if like is not None else blank.published
    measured = found.value / one.unit
    return replace(
        blank,
        measured=measured,
        low=None if found.low is None else found.low / one.unit,
        high=None if found.high is None else found.high / one.unit,
        averaged=found.averaged,
        sd=None if found.sd is None else found.sd / one.unit,
        seeds=len(found.by_seed),
        like=like,
        difference=None if against is None else measured - against,
        over=over,
        missing=missing,
    )


def _over(one: Printed, members: Sequence[str]) -> float | None:
    """The mean over some members of a row, None unless the paper prints each of them."""
    cells = _rows(one.paper)[one.row]
    return fmean(cells[member] for member in members) if set(members) <= set(cells) else None


@cache
def _rows(paper: str) -> dict[tuple[str, ...], dict[str, float]]:
    """Every row of a paper's tables: its numbers by subset."""
    rows: dict[tuple[str, ...], dict[str, float]] = defaultdict(dict)
    for one in published(paper):
        if one.value:
            rows[one.row][one.subset] = float(one.value)
    return rows


def _parts(one: Printed, measured: Measured) -> dict[str, list[tuple[str, str]]]:
    """{member: its (data set, subset)} for what the run has; the data set with most members comes first."""
    served: list[dict[str, list[tuple[str, str]]]] = []
    for dataset in _datasets(one.task, measured):
        have = set(measured.subsets(one.task, dataset))
        wanted = {member: list(_subsets(one, member, have)) for member in one.members}
        served.append(
            {
                name: [(dataset, subset) for subset in some]
                for name, some in wanted.items()
                if set(some) <= have
            }
        )
    served.sort(key=len, reverse=True)
    places = {member: next((some[member] for some in served if member in some), []) for member in one.members}
    return {member: parts for member, parts in places.items() if parts}


def _datasets(task: str, measured: Measured) -> list[str]:
    return [name for name in measured.datasets(task) if name in _SAME_ITEMS.get(task, (name,))]


def _subsets(one: Printed, member: str, have: set[str]) -> Iterator[str]:
    pivot, foreign = member.split("-")
    if one.direction in ("en->xx", "both"):
        yield f"{pivot}->{foreign}"
    if one.direction in ("xx->en", "both"):
        yield f"{foreign}->{pivot}"
    if not one.direction:
        turned = f"{foreign}-{pivot}"
        # The cosine of two sentences has no direction; a translation's quality has.
        yield turned if one.task == "sts" and turned in have else member
