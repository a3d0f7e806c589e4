"""The few numbers that answer what a run asks: retrieval by each view, and what dividing the vector changed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from itertools import product
from typing import Any, Literal, NamedTuple

import pandas as pd

from orthoglot.statistics.records import P_AT_1
from orthoglot.study.report.comparisons import ORIGINAL
from orthoglot.study.report.frame import comparisons, rows, where
from orthoglot.study.report.queries import PROBE, overall, significance, undivided_as_meaning
from orthoglot.study.tasks.registry import NWAY

Role = Literal["undivided", "ours", "published", "best"]
# The first of these that an encoder was scored on answers for it.
ANSWERS = ("tatoeba", "heldout", NWAY, "code-switched")
MOST = 12
UNDIVIDED, OURS, CLOSED_FORM = "undivided vector", "ours", "closed form"
OUR_ARCHITECTURES = frozenset({"plda"})
# How papers write their names, by module; a module of the user's own is written as it is named.
PAPERS = {name: name.upper() for name in ("dream", "meat", "oracle", "seed", "lancer")} | {
    "langsae": "LangSAE"
}
# What is added to the terms of a paper's method.
ADDED = frozenset({"oracle", "orthogonality", "lancer"})


class Score(NamedTuple):
    """A number with the ends of its interval; percent, or a difference of percents."""

    value: float
    low: float
    high: float


class Row(NamedTuple):
    """One method on one encoder."""

    encoder: str  # name
    method: str  # name
    family: str  # `UNDIVIDED`, `OURS`, `CLOSED_FORM`, or the papers or modules whose terms are trained, e.g. "MEAT"
    role: Role  # "published": as a paper describes it; "best": another that is the best of its family
    task: str  # the retrieval that was scored
    dataset: str  # its data set
    meaning: Score  # P@1 of the meaning view; of the undivided vector, its own
    language: Score | None  # P@1 of the language view, better the nearer to 0; None of the undivided vector
    change: Score | None  # `meaning` less the undivided vector's, paired by sentence; None without it
    tone: str  # style of the change: "good" or "bad" where p < 0.05 and all seeds agree in the sign, else ""
    # percent of sentences whose language a linear classifier reads from the meaning view (or the undivided vector),
    # better the nearer to chance; None without the task `language-probe`
    probe: Score | None = None
    training: str = ""  # maximum of epochs and learning rate, and its authors' rate if that differs


def headline(
    records: pd.DataFrame, most: int = MOST, authors: Mapping[frozenset[str], str] | None = None
) -> list[Row]:
    """Retrieval by the undivided vector, by ours, and by the published and the best method of each family.

    Every encoder has the same methods, in the same order. Best is the highest P@1 by meaning, rounded to 0.1, then the
    lowest by language, both on average over the encoders: a choice made on the scores that are shown.

    Args:
        records: A table as `orthoglot.study.report.frame.frame` makes it.
        most: How many methods at most. The first of these are taken: undivided, ours, the best of each family by rank,
            the other published ones by rank.
        authors: The learning rate of a method's authors by its terms, "NAME=WEIGHT".
    Returns:
        Rows by encoder, then method; none if no encoder was scored by retrieval.
    """
    scores = answers(records)
    if scores.empty:
        return []
    # A row of each method has the facts that are the same in all of them.
    facts = {row.method: row for row in rows(scores.drop_duplicates("method"))}
    families = {method: family(row.architecture, row.terms) for method, row in facts.items()}
    roles = dict(list(_roles(scores, facts, families).items())[:most])
    order = list(dict.fromkeys([UNDIVIDED, OURS, *families.values()]))
    methods = sorted(roles, key=lambda name: (order.index(families[name]), list(families).index(name)))
    changes = where(comparisons(records), baseline=ORIGINAL, compared=P_AT_1, view="meaning")
    changed = {(row.encoder, row.method, row.task, row.dataset): row for row in rows(changes)}
    scored = {(row.encoder, row.method, row.view): row for row in rows(scores)}
    probed = where(undivided_as_meaning(overall(records), records), task=PROBE, view="meaning")
    probes = {(row.encoder, row.method): row for row in rows(probed)}
    answer = []
    for encoder, method in product(scores["encoder"].unique(), methods):
        meaning = scored.get((encoder, method, "meaning"))
        if meaning is None:
            continue
        change = changed.get((encoder, method, meaning.task, meaning.dataset))
        answer.append(
            Row(
                encoder=encoder,
                method=method,
                family=families[method],
                role=roles[method],
                task=meaning.task,
                dataset=meaning.dataset,
                meaning=_score(meaning),
                language=_score(scored.get((encoder, method, "language"))),
                change=_score(change),
                tone="" if change is None else significance(change),
                probe=_score(probes.get((encoder, method))),
                training=_training(facts[method], authors or {}),
            )
        )
    return answer


def best_first(divided: Sequence[Row]) -> list[Row]:
    """The rows of one encoder's methods, those that are shown to gain first, then by P@1 of the meaning."""
    return sorted(divided, key=lambda row: (row.tone != "good", -row.meaning.value))


def sentences(answer: Sequence[Row]) -> list[tuple[str, str]]:
    """What to remember of each encoder, as (encoder, the rest of the sentence)."""
    lines = []
    for encoder in dict.fromkeys(row.encoder for row in answer):
        of_encoder = [row for row in answer if row.encoder == encoder]
        whole = next((row for row in of_encoder if row.role == "undivided"), None)
        divided = [row for row in of_encoder if row.role != "undivided"]
        if not divided:
            continue
        best = best_first(divided)[0]
        by_language = "" if best.language is None else f", and {best.language.value:.1f} % by language"
        if whole is None or best.change is None:
            line = f"finds most with {best.method}: {best.meaning.value:.1f} % of translations by meaning{by_language}."
        elif best.tone == "good":
            line = (
                f"finds {best.meaning.value:.1f} % of translations by the meaning of {best.method}, "
                f"{whole.meaning.value:.1f} % by the undivided vector "
                f"({best.change.value:+.1f} [{best.change.low:+.1f}, {best.change.high:+.1f}]){by_language}."
            )
            if best.probe is not None and whole.probe is not None:
                line += (
                    f" From that meaning a linear classifier reads the language of {best.probe.value:.1f} % of "
                    f"sentences, from the undivided vector of {whole.probe.value:.1f} %."
                )
        else:
            line = (
                f"finds {whole.meaning.value:.1f} % of translations by the undivided vector; "
                "none of these methods is shown to find more."
            )
        lines.append((encoder, line))
    return lines


def answers(records: pd.DataFrame) -> pd.DataFrame:
    """P@1 over all subsets by encoder, method and view, of the retrieval that answers for the encoder.

    The undivided vector is its own meaning view; other methods' sentence view is left out.
    """
    values = undivided_as_meaning(where(overall(records), metric=P_AT_1), records)
    values = values[(values["view"] != "sentence") & values["task"].isin(ANSWERS)]
    chosen = []
    for _, scores in values.groupby("encoder", sort=False):
        task = next(name for name in ANSWERS if (scores["task"] == name).any())
        scores = where(scores, task=task)
        chosen.append(where(scores, dataset=scores["dataset"].iloc[0]))
    return pd.concat(chosen) if chosen else values


def family(architecture: str, terms: str) -> str:
    """The family of a method, from what its records state."""
    if architecture == ORIGINAL:
        return UNDIVIDED
    if architecture in OUR_ARCHITECTURES:
        return OURS
    papers = sorted({term.split(".")[0] for term in terms.split(",") if term})
    hosts = [paper for paper in papers if paper not in ADDED]
    return " + ".join(PAPERS.get(paper, paper) for paper in hosts or papers) or CLOSED_FORM


def _training(row: Any, authors: Mapping[frozenset[str], str]) -> str:
    training = getattr(row, "training", None)
    if not isinstance(training, str):  # a closed form, or records of an earlier version
        return ""
    rate = authors.get(frozenset(row.terms.split(",")))
    if rate is None or training.endswith(f" at {rate}"):
        return training
    return f"{training} (its authors: {rate})"


def _roles(scores: pd.DataFrame, facts: Mapping[str, Any], families: Mapping[str, str]) -> dict[str, Role]:
    """The roles of the methods to show; those to keep where there are too many come first."""
    means = scores.groupby(["method", "view"])["value"].mean()
    members: dict[str, list[str]] = defaultdict(list)
    for method, name in families.items():
        members[name].append(method)

    def ranked(methods: Collection[str]) -> list[str]:
        return sorted(
            (method for method in families if method in methods),
            key=lambda method: (-round(means[method, "meaning"], 1), means.get((method, "language"), 0.0)),
        )

    whole, ours = members.pop(UNDIVIDED, []), members.pop(OURS, [])
    best = [ranked(group)[0] for group in members.values()]
    published: list[str] = []
    for name, group in members.items():
        if name != CLOSED_FORM:
            published += [method for method in group if _is_published(facts[method])][:1]
    roles: dict[str, Role] = dict.fromkeys(whole, "undivided")
    roles |= dict.fromkeys(ranked(ours), "ours")
    roles |= dict.fromkeys(ranked(best), "best")
    roles |= dict.fromkeys(ranked(published), "published")
    return roles


def _is_published(facts: Any) -> bool:
    """Whether a method has the terms of one paper alone, on vectors that are not centred."""
    papers = {term.split(".")[0] for term in facts.terms.split(",")}
    return len(papers) == 1 and " " not in facts.architecture


def _score(row: Any) -> Any:
    return None if row is None else Score(row.value, row.low, row.high)
