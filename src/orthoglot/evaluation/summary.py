"""From per-item hits to records: means over directions, language pairs and seeds, each with an interval."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from orthoglot.evaluation.base import ALL, LEFT_OUT, Record, sign
from orthoglot.evaluation.resampling import Scores, intervals, pool
from orthoglot.evaluation.settings import EvaluationSettings
from orthoglot.streams import derive


class Key(NamedTuple):
    """What an array of hits belongs to."""

    task: str
    dataset: str
    subset: str
    view: str
    seed: int

    @property
    def pair(self) -> str:
        """The language pair, whichever the direction: the two directions share their sentences."""
        return "-".join(sorted(self.subset.split("->")))


Hits = dict[Key, Scores]


def summarise(
    hits: Hits,
    facts: Mapping[Key, Mapping[str, object]],
    settings: EvaluationSettings,
    *,
    encoder: str,
    method: str,
    made: Mapping[str, object],
) -> list[Record]:
    """Records of each subset and of their mean, for each seed and for the mean over seeds.

    Args:
        hits: all of one encoder and method.
        facts: what the tasks say of each.
        settings: resampling.
        encoder: name.
        method: name.
        made: ends the signature, e.g. the encoder's identity.
    """
    groups: dict[tuple[str, str, str], dict[tuple[str, int | None], list[Key]]] = {}
    for key in hits:
        for subset in dict.fromkeys((key.subset, ALL)):
            group = groups.setdefault((key.task, key.dataset, subset), {})
            for seed in (key.seed, None):
                group.setdefault((key.view, seed), []).append(key)
    how = {
        "interval": "bootstrap-percentile",
        "resampled": "pivot-sentences",
        "resamples": settings.resamples,
        "confidence": settings.confidence,
        "resampling_seed": settings.seed,
    }
    records = []
    for (task, dataset, subset), group in groups.items():
        found = intervals(
            [
                strata({key: hits[key] for key in keys}, f"{encoder} {method} {task} {name} ")
                for (name, _), keys in group.items()
            ],
            resamples=settings.resamples,
            confidence=settings.confidence,
            generator=np.random.default_rng(derive(settings.seed, task, dataset, subset)),
        )
        for ((name, seed), keys), one in zip(group.items(), found, strict=True):
            about = combine([facts[key] for key in keys])
            left_out = sum(int((hits[key].values == LEFT_OUT).sum()) for key in keys)
            seeds = sorted({key.seed for key in keys})
            counted = {"left_out": left_out, "seeds": ",".join(map(str, seeds)), "units": one.units}
            value, low, high = (round(100 * number, 6) for number in one[:3])
            records.append(
                Record(
                    task=task,
                    dataset=dataset,
                    subset=subset,
                    view=name,
                    encoder=encoder,
                    method=method,
                    seed=seed,
                    metric="accuracy",
                    value=value,
                    low=low,
                    high=high,
                    n=one.n,
                    signature=sign({"metric": "accuracy", **about, **counted, **how, **made}),
                )
            )
    return records


def strata(hits: Hits, label: str = "") -> dict[str, Scores]:
    """{pair: scores}: hits of both directions and all seeds of a language pair pooled by sentence pair.

    Sentence pairs, not queries, are the items of a mean: the two directions of a pair share their sentences.
    """
    by_pair: dict[str, list[Scores]] = defaultdict(list)
    for key, found in hits.items():
        by_pair[label + key.pair].append(found)
    return {pair: pool(found) for pair, found in by_pair.items()}


def combine(facts: Sequence[Mapping[str, object]]) -> dict[str, object]:
    """Facts of several subsets as one: shared ones as they are, chance as its mean, the rest as a range."""
    combined: dict[str, object] = {}
    for key in facts[0]:
        values = [fact[key] for fact in facts]
        numbers = [value for value in values if isinstance(value, int | float)]
        if len(set(values)) == 1:
            combined[key] = values[0]
        elif key == "chance":
            combined[key] = round(float(np.mean(numbers)), 6)
        elif numbers:
            combined[key] = f"{min(numbers)}-{max(numbers)}"
        else:
            combined[key] = f"{len(set(values))}-in-all"
    return combined


def write_hits(path: Path, hits: Hits) -> None:
    """Write hits under "task|dataset|subset|view|seed", keys of pivot sentences under "task|dataset|pair"."""
    arrays = {"|".join(map(str, key)): found.values for key, found in hits.items()}
    arrays |= {"|".join((key.task, key.dataset, key.pair)): found.keys for key, found in hits.items()}
    np.savez_compressed(path, allow_pickle=False, **arrays)


def read_hits(path: Path) -> Hits:
    """Read the hits that `write_hits` wrote."""
    with np.load(path, allow_pickle=False) as stored:
        arrays = {tuple(name.split("|")): stored[name] for name in stored.files}
    found = {}
    for name, values in arrays.items():
        if len(name) == len(Key._fields):
            task, dataset, subset, view, seed = name
            key = Key(task, dataset, subset, view, int(seed))
            found[key] = Scores(values, arrays[key.task, key.dataset, key.pair])
    return found
