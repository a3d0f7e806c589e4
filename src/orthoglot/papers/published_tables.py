"""The numbers of the papers' tables as data: what was printed, of whom and on what.

They are the rows of published/<paper>.csv, one a row, transcribed as printed; a note tells a known doubt. Source:
methods 8, 10.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import combinations
from pathlib import Path
from statistics import fmean
from typing import Literal, NamedTuple, get_args

from orthoglot.errors import ConfigError
from orthoglot.statistics.comparisons import RELEASED
from orthoglot.statistics.records import ALL

Paper = Literal["oracle", "seed"]
PUBLISHED = Path(__file__).parent / "published"


def _from_english(codes: str) -> tuple[str, ...]:
    return tuple(f"en-{code}" for code in codes.split())


def _pairs(codes: str) -> tuple[str, ...]:
    return tuple(map("-".join, combinations(codes.split(), 2)))


_TATOEBA_14 = "ar bg de el es fr hi ru sw th tr ur vi zh"
_CROSS = _from_english("ar de tr es fr it nl")
_XTREME_36 = f"{_TATOEBA_14} af bn et eu fa fi he hu id it ja jv ka kk ko ml mr nl pt ta te tl"
# The other languages of Tatoeba's 112, Emma-X's long tail.
_OTHER_76 = (
    "am ang arq arz ast awa az be ber br bs ca cbk ceb ch cs csb cy da dsb dtp eo fo fy ga gd gl gsw hr hsb hy ia "
    "ie io is kab km ku kw kzj la lfn lt lv max mhr mk mn ms nb nds nn nov oc orv pam pl pms ro sk sl sq sr sv "
    "swg tk tt tzl ug uk uz war wuu xh yi yue"
)
# EMS's languages with more and with fewer than 300,000 training pairs.
_MANY = (
    "ar bg bn ca cs da de el eo es et eu fa fi fr gl he hr hu id it ja ko lt lv mk ml ms nl pl pt ro ru sk sl sq sr "
    "sv th tr uk vi zh"
)
_FEW = "af hi hy jv ka kk ku mn mr nb sw ta te tl ur"
# Columns of which no run here has a part: what Emma-X fine-tunes on, EMS's seconds.
_NOWHERE_HERE = "xnli americasnli multists wmt21 lareqa mewsli-x xcopa multieurlex multiarc paws-x training"
# What the papers average over: methods 3.6, 7.3 to 7.11.
MEMBERS: Mapping[str, tuple[str, ...]] = {
    "opus-12": _from_english("ar ay de es fr gn it ja nl pt ro zh"),
    "tatoeba-14": _from_english(_TATOEBA_14),
    "tatoeba-36": _from_english(_XTREME_36),
    "tatoeba-10": _from_english("ar de es fr it ja nl pt ro zh"),
    "muse-8": _from_english("ar de es fr it nl pt ro"),
    "sts17": ("ar-ar", "en-en", "es-es", *_CROSS),
    "sts17-cross": _CROSS,
    "wmt20": ("en-de", "en-zh", "ro-en", "et-en", "ne-en", "si-en"),
    "tatoeba-58": _from_english(f"{_MANY} {_FEW}"),
    "tatoeba-43": _from_english(_MANY),
    "tatoeba-15": _from_english(_FEW),
    "flores-182": _pairs("ar de es fr it ja ko nl pl pt ru th tr zh"),
    "flores-240": _pairs("af gu hi hy jv ka kk mr my nb sw ta te tl ur yo"),
    "mldoc": _from_english("de es fr it ja ru zh"),
    "tatoeba-112": _from_english(f"{_XTREME_36} {_OTHER_76}"),
    "bucc": _from_english("de fr ru zh"),
    **dict.fromkeys(_NOWHERE_HERE.split(), ()),
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


class Printed(NamedTuple):
    """One number of a paper.

    Attributes:
        paper: one of `Paper`, or of those that `ablation_papers` describes.
        table: its number in the paper.
        encoder: the paper's; in an ablation, which variant.
        method: our name of what the paper calls it; its reading may be the printed or the released one; "fine-tuned"
            for an encoder that the paper goes on training on the task.
        view: "meaning", "language", or "sentence" for an undivided vector.
        task: as in a record.
        dataset: one of `MEMBERS`.
        subset: one of its members, or "all" for the mean.
        direction: "en->xx", "xx->en", "both" (mean of the two), "" where there is none, or "all" for a
            data set of this run as a whole.
        metric: as in a record.
        scale: "0..100", "-100..100", "-1..1", "0..400" or "seconds".
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
        return MEMBERS[self.dataset] if self.subset == ALL else (self.subset,)

    @property
    def unit(self) -> float:
        """Its scale in that of a record."""
        return 100.0 if self.scale == "-1..1" else 1.0


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


def printed_over(one: Printed, members: Sequence[str]) -> float | None:
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
