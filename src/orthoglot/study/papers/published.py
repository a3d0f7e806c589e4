"""The papers as data: the numbers that they print, their claims, and what in a run counts as what they measured.

published/<paper>.csv has the printed numbers, one a row, as printed; published/<paper>.toml the tables, the encoders or
variants, and the claims. datasets.toml and methods.toml say for all papers what their data sets and methods are.
Source: docs/papers.md#published-numbers, docs/papers.md#published-claims, docs/papers.md#published-doubts.
"""

from __future__ import annotations

import csv
import math
import tomllib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import combinations
from pathlib import Path
from statistics import fmean
from typing import Any, Literal, NamedTuple

from pydantic import TypeAdapter

from orthoglot.errors import ConfigError
from orthoglot.statistics.records import ALL, P_AT_1

PUBLISHED = Path(__file__).parent / "published"
CROSS_LINGUAL = "cross-lingual"
RETRIEVAL = ("tatoeba", "nway", "heldout")
# How long a training takes: its task, data set and metric.
TIME = "time"
TRAINING = "training"
SECONDS = "seconds per 1,000 steps"


class Variant(NamedTuple):
    """A variant of an encoder; `changes` are the settings that differ, None where it cannot be trained here."""

    label: str
    changes: Mapping[str, Any] | None = None


class Claim(NamedTuple):
    """A claim that a quantity lies in (above, below) wherever it is measured."""

    text: str  # the claim
    evidence: str  # where the paper shows it
    pairs: tuple[tuple[str, str], ...]  # (left, right) methods, or variants of an encoder
    further: tuple[tuple[str, str], ...] = ()  # pairs to show that the paper does not speak of
    encoders: tuple[str, ...] = ()  # the paper's names of those that it is about; empty for all
    # left - right, left / right, or |left| - |right|
    quantity: Literal["difference", "ratio", "magnitude"] = "difference"
    view: str = "sentence"  # which vectors are scored
    tasks: tuple[str, ...] = RETRIEVAL  # tested on all data sets of these, not only on the paper's
    metric: str = P_AT_1  # as in a record
    languages: str = ALL  # which subsets: "all", "cross-lingual" pairs, or directions of the "long-tail"
    strongest_rival: bool = False  # test only the pair with the highest right side
    above: float = -math.inf  # lower end of the region
    below: float = math.inf  # its upper end


class Coverage(NamedTuple):
    """A table of the languages that encoders were trained on: its number, all languages, and the unseen ones."""

    table: str
    languages: tuple[str, ...]
    unseen: Mapping[str, tuple[str, ...]]


class Paper(NamedTuple):
    """One paper."""

    name: str  # the stem of its files
    title: str  # with its year
    tables: Mapping[str, str]  # their numbers in the paper, and what they are about
    claims: tuple[Claim, ...] = ()  # about directions of effects
    encoders: Mapping[str, tuple[str, ...]] = {}  # checkpoints that count as each of its encoders
    variants: Mapping[str, Variant] = {}  # variants of the encoder that it trains; empty for decomposers
    base: str = ""  # the variant that the others are compared with
    hardware: str = ""  # what its printed times were measured on
    unmeasured: Mapping[str, str] = {}  # why no run has one of these encoders
    # the name in the target `<suite>-table` of a paper whose tables are of undivided vectors: below its encoders stands
    # every task of each encoder of a run, measured or not
    suite: str = ""
    panels: Mapping[str, tuple[str, str]] = {}  # {panel of its figure of gaps: (with, without)}
    coverage: Coverage | None = None  # its table of languages
    examples: Mapping[str, str] = {}  # tables of sentences, and the task that has such examples here
    maps: str = ""  # the number of its figure of maps of a text in many languages
    # headings of columns, by data set and direction or metric; by data set and "xx" what stands before a member
    headings: Mapping[str, str] = {}


class DataSet(NamedTuple):
    """What the numbers of a table are means over; see datasets.toml.

    Source: docs/papers.md#published-averages.
    """

    members: tuple[str, ...] = ()  # pairs of languages, or languages alone
    source: str = ""  # which public test set it is, "" for any
    stand_in: str = ""  # the source that is shown where this one is not in the run, e.g. of a dev set
    unmeasured: str = ""  # why no run measures it, else ""
    parts: tuple[str, ...] = ()  # the names of the data sets, of a mean over several
    candidates: Mapping[str, int] = {}  # sentences that a query is searched among, by member, if stated


class Definition(NamedTuple):
    """How a method is trained: architecture, partners, and its terms with their weights, as records state them."""

    architecture: str
    partners: str
    terms: str


class Printed(NamedTuple):
    """One number of a paper."""

    paper: str  # its name
    table: str  # its number in the paper
    encoder: str  # the paper's; in an ablation, which variant
    method: str  # one of `METHODS`, "fine-tuned" on the task, or "prompted" for a model that answers prompts
    view: str  # "meaning", "language", or "sentence" for an undivided vector
    task: str  # as in a record
    dataset: str  # one of `DATA_SETS`, or one of which no run has a part
    subset: str  # one of its members, or "all" for the mean
    # "en->xx", "xx->en", "both" (their mean), "all->xx" (learnt in all languages at once), "" for none, or "all" for a
    # data set of a run as a whole
    direction: str
    metric: str  # as in a record
    scale: str  # "0..100", "-100..100", "-1..1", "0..1", "0..400", "nats" or "seconds"
    value: str  # as printed, "" where the text lacks it
    note: str  # a known doubt

    @property
    def number(self) -> float | None:
        """The printed number."""
        return float(self.value) if self.value else None

    @property
    def column(self) -> tuple[str, ...]:
        """Everything that is measured, whichever encoder and method it is measured on."""
        return self.task, self.dataset, self.subset, self.direction, self.metric, self.scale

    @property
    def row(self) -> tuple[str, ...]:
        """What the numbers of one row share: everything but the subset."""
        return self[:7] + self[8:11]

    @property
    def members(self) -> tuple[str, ...]:
        """What the number is the mean of."""
        return self.data.members if self.subset == ALL else (self.subset,)

    @property
    def data(self) -> DataSet:
        """Its data set; an empty one where no run has a part of it."""
        return DATA_SETS.get(self.dataset, DataSet())

    @property
    def unmeasured(self) -> str:
        """Why no run has a number for it, "" where one may have."""
        return self.data.unmeasured or PAPERS[self.paper].unmeasured.get(self.encoder, "")

    @property
    def unit(self) -> float:
        """The factor from its scale to that of a record."""
        return 100.0 if self.scale == "-1..1" else 1.0


def load_paper(name: str, known: Sequence[str] = ()) -> Paper:
    """One paper; `known` limits the names that are allowed.

    Raises:
        ConfigError: no such paper.
    """
    if name not in (known or PAPERS):
        raise ConfigError(f"no paper called {name}; there are {', '.join(known or PAPERS)}")
    return PAPERS[name]


@cache
def printed_numbers(paper: str) -> tuple[Printed, ...]:
    """Every number of published/<paper>.csv, in the order of the file."""
    with open(PUBLISHED / f"{paper}.csv", encoding="utf-8", newline="") as handle:
        return tuple(Printed(**row) for row in csv.DictReader(handle))


def printed_mean(printed: Printed, members: Sequence[str]) -> float | None:
    """The mean over some members of a row; None unless the paper prints each of them."""
    cells = _rows(printed.paper).get(printed.row, {})
    return fmean(cells[member] for member in members) if set(members) <= set(cells) else None


@cache
def _rows(paper: str) -> dict[tuple[str, ...], dict[str, float]]:
    rows: dict[tuple[str, ...], dict[str, float]] = defaultdict(dict)
    for printed in printed_numbers(paper):
        if printed.value:
            rows[printed.row][printed.subset] = float(printed.value)
    return rows


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads((PUBLISHED / f"{name}.toml").read_text(encoding="utf-8"))


def _data_sets() -> dict[str, DataSet]:
    content = _read("datasets")
    lists = content.pop("candidates")
    data_sets: dict[str, DataSet] = {}
    for name, table in content.items():
        members = [f"en-{code}" for code in table.get("english", "").split()]
        members += ["-".join(pair) for pair in combinations(table.get("among", "").split(), 2)]
        members += [*table.get("pairs", "").split(), *table.get("languages", "").split()]
        parts = tuple(table.get("parts", "").split())
        members += [f"{part} {member}" for part in parts for member in data_sets[part].members]
        stated = table.get("candidates")
        sizes = {} if stated is None else dict.fromkeys(members, stated)
        if isinstance(stated, str):
            fewer = (entry.split() for entry in lists[stated].split(","))
            sizes = dict.fromkeys(members, 1000) | {f"en-{code}": int(size) for code, size in fewer}
        about = {key: table.get(key, "") for key in ("source", "stand_in", "unmeasured")}
        data_sets[name] = DataSet(tuple(members), **about, parts=parts, candidates=sizes)
    return data_sets


def _methods() -> dict[str, tuple[Definition, ...]]:
    content = _read("methods")
    groups: dict[str, list[str]] = content.pop("groups")

    def definition(architecture: str, partners: str = "none", terms: Sequence[str] = ()) -> Definition:
        expanded = sorted(term for name in terms for term in groups.get(name, [name]))
        return Definition(architecture, partners, ",".join(f"{term}=1" for term in expanded))

    return {name: tuple(definition(**reading) for reading in readings) for name, readings in content.items()}


PAPERS: Mapping[str, Paper] = {
    path.stem: TypeAdapter(Paper).validate_python({"name": path.stem, **_read(path.stem)})
    for path in sorted(PUBLISHED.glob("*.csv"))
}
# The papers on decomposers of frozen encoders, suites of tasks, and papers that train an encoder and its variants.
DECOMPOSER_PAPERS = tuple(name for name, paper in PAPERS.items() if not (paper.variants or paper.suite))
SUITES = tuple(name for name, paper in PAPERS.items() if paper.suite)
ENCODER_PAPERS = tuple(name for name, paper in PAPERS.items() if paper.variants)
DATA_SETS: Mapping[str, DataSet] = _data_sets()
# What the papers call a method: its printed reading, then that of the authors' code where it differs.
METHODS: Mapping[str, tuple[Definition, ...]] = _methods()
