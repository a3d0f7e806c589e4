"""The task "geometry": how the vectors of one text in many languages lie, for groups of these languages.

Groups are the head, the long tail (`EvaluationSettings.long_tail`) and all languages of a text; one with fewer than
two languages has no record. Vectors have length 1. A sentence that has no direction in one language, or with one of
the seeds, is left out in all languages and with all seeds, so that every number of a view is of the same sentences.
Metrics are the measures of `geometry`, after a colon their other readings:

- `kl-d`: nats, at least 0, lower is better; `kl-d:full` and `kl-d:full/d` of full, shrunk covariances;
- `ch-i`: from 0 up, higher is better; `ch-i:ratio` without the factor of the sizes;
- `pr`: in (0, 1], higher is better; `pr:both-signs`.

Their intervals are delete-a-tenth jackknifes over sentences: drawing sentences again would make doubles of them, which
have no distance, and lift CH-I. With u_b the number without the b-th of B = 10 blocks, u its mean and t Student's with
B - 1 degrees, the interval of a number x is x -+ t sqrt((B - 1) / B sum_b (u_b - u)^2), cut where the metric ends.
Full covariances have none: what they say depends on the number of sentences. Source: methods 7.12; Efron and
Tibshirani 1993, chapter 11.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy import stats

from orthoglot.corpora.benchmarks import NwaySet
from orthoglot.decomposers.base import Decomposer
from orthoglot.embeddings.store import EmbeddingStore
from orthoglot.errors import DataError
from orthoglot.statistics.records import ALL, HEAD, LONG_TAIL, Record, View, sign
from orthoglot.statistics.settings import EvaluationSettings
from orthoglot.streams import derive
from orthoglot.tasks.base import unit, usable, view
from orthoglot.tasks.geometry_measures import canonical_form, diagonal_divergence, full_divergence, isotropy

NAME = "geometry"
GROUPS = (HEAD, LONG_TAIL, ALL)
BLOCKS = 10
# Sentences below which a block holds one or none.
FEWEST = 2 * BLOCKS
logger = logging.getLogger(__name__)


class Seen(NamedTuple):
    """One view of a text.

    Attributes:
        directions: {language: (n, D) of length 1} of each seed, float64; a single one where seeds make no difference.
        dropped: sentences left out of all of them.
    """

    directions: list[dict[str, np.ndarray]]
    dropped: int


def measure(
    texts: Sequence[NwaySet],
    store: EmbeddingStore,
    models: Mapping[int, Decomposer | None],
    settings: EvaluationSettings,
    *,
    encoder: str,
    method: str,
    made: Mapping[str, object],
) -> list[Record]:
    """Records of every text, view and group: of each seed, then of the mean over seeds.

    Raises:
        DataError: fewer than 20 sentences of a text have a direction in all languages.
    """
    records: list[Record] = []
    for text in texts:
        # The undivided vector is the same for every method, and told once: by the evaluation without one.
        views: tuple[View, ...] = ("meaning", "language") if all(models.values()) else ("sentence",)
        for name in views:
            seen = look(text, store, models, name)
            for group, languages in groups(text.sentences, settings.long_tail).items():
                about = NAME, text.name, group, name, encoder, method
                facts = {"languages": ",".join(languages), "vectors": "length-1", "dropped": seen.dropped}
                stacks = [np.stack([rows[code] for code in languages]) for rows in seen.directions]
                records += _records(about, stacks, list(models), settings, {**facts, **made})
    return records


def look(text: NwaySet, store: EmbeddingStore, models: Mapping[int, Decomposer | None], name: View) -> Seen:
    """The directions of one view of a text.

    Raises:
        DataError: as of `measure`.
    """
    stored = {code: store.take(store.rows(rows, code)) for code, rows in text.sentences.items()}
    # The frozen vector is the same for every seed.
    asked = [None] if name == "sentence" else list(models.values())
    found = [{code: view(rows, one, code, name) for code, rows in stored.items()} for one in asked]
    kept = np.all([usable(rows) for by_language in found for rows in by_language.values()], axis=0)
    if kept.sum() < FEWEST:
        raise DataError(
            f"geometry of {text.name}, {name} view: {kept.sum()} sentences have a direction in all languages; "
            f"it needs {FEWEST}, or leave the task out"
        )
    directions = [
        {code: unit(rows[kept].astype(np.float64)) for code, rows in by_language.items()}
        for by_language in found
    ]
    return Seen(directions, int((~kept).sum()))


def groups(languages: Sequence[str] | Mapping[str, object], long_tail: Sequence[str]) -> dict[str, list[str]]:
    """{group: its languages}, those with two or more; head and long tail where there are both."""
    tail = [code for code in languages if code in long_tail]
    head = [code for code in languages if code not in long_tail]
    found = {**({HEAD: head, LONG_TAIL: tail} if head and tail else {}), ALL: list(languages)}
    return {name: codes for name, codes in found.items() if len(codes) > 1}


def blocks_of(sentences: int, seed: int) -> np.ndarray:
    """(sentences,) the block of each, 0 to 9; as many of each as can be."""
    return np.random.default_rng(derive(seed, NAME, "blocks")).permutation(sentences) % BLOCKS


def cheap(vectors: np.ndarray) -> dict[str, float]:
    """The metrics that have an interval, of (L, n, D)."""
    form, even = canonical_form(vectors), isotropy(vectors)
    return {
        "kl-d": diagonal_divergence(vectors),
        "ch-i": form.standard,
        "ch-i:ratio": form.ratio,
        "pr": even.one_sign,
        "pr:both-signs": even.both_signs,
    }


def full(vectors: np.ndarray) -> dict[str, float]:
    """The metrics that have none, of (L, n, D)."""
    found = full_divergence(vectors)
    return {"kl-d:full": found, "kl-d:full/d": found / vectors.shape[-1]}


def jackknife(value: float, without: np.ndarray, confidence: float) -> tuple[float, float]:
    """The ends of a number's interval, from the numbers without each block (B,)."""
    count = len(without)
    error = math.sqrt((count - 1) / count * ((without - without.mean()) ** 2).sum())
    reach = float(stats.t.ppf((1 + confidence) / 2, count - 1)) * error
    return value - reach, value + reach


def _records(
    about: tuple[str, str, str, str, str, str],
    stacks: Sequence[np.ndarray],
    seeds: Sequence[int],
    settings: EvaluationSettings,
    facts: Mapping[str, object],
) -> Iterator[Record]:
    """Records of (L, n, D) of each seed, or of a single one that stands for all."""
    sentences = stacks[0].shape[1]
    blocks = blocks_of(sentences, settings.seed)
    drawn: dict[str, object] = {"interval": "jackknife", "deleted": "sentences", "blocks": BLOCKS}
    drawn |= {"confidence": settings.confidence, "blocks_seed": settings.seed}
    found = [_measured(vectors, blocks) for vectors in stacks]
    found *= len(seeds) // len(found)
    for metric in found[0][0]:
        values = [whole[metric] for whole, _ in found]
        if not np.isfinite(values).all():
            logger.warning("%s: translations are one vector, so there is no %s", " ".join(about), metric)
            continue
        places: list[tuple[int | None, list[int]]] = [(seed, [place]) for place, seed in enumerate(seeds)]
        for seed, own in [*places, (None, list(range(len(seeds))))]:
            value = float(np.mean([values[place] for place in own]))
            low, high = None, None
            if metric in found[0][1]:
                without = np.mean([found[place][1][metric] for place in own], axis=0)
                ends = jackknife(value, without, settings.confidence)
                most = 1.0 if metric.startswith("pr") else math.inf
                low, high = (round(min(max(end, 0.0), most), 6) for end in ends)
            trained = {"seeds": ",".join(str(seeds[place]) for place in own)}
            how = {"interval": "none"} if low is None else drawn
            signature = sign({"metric": metric, **facts, **trained, **how})
            yield Record(*about, seed, metric, round(value, 6), low, high, sentences, signature)


def _measured(vectors: np.ndarray, blocks: np.ndarray) -> tuple[dict[str, float], dict[str, np.ndarray]]:
    """The metrics of (L, n, D), and of those with an interval what is found without each block (B,)."""
    parts = [cheap(vectors[:, blocks != block]) for block in range(BLOCKS)]
    without = {metric: np.array([part[metric] for part in parts]) for metric in parts[0]}
    return {**cheap(vectors), **full(vectors)}, without
