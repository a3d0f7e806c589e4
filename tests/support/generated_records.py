"""Records of an invented run, with every task, view, reading and metric that the paper tables read."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from statistics import fmean

from orthoglot.statistics.records import ALL, Record, limits, stated

SEEDS = (1, 2, 3)
METHODS = (
    "original",
    "centering",
    "dream",
    "dream+oracle",
    "dream+oracle-released",
    "meat",
    "meat+oracle",
    "seed",
)
CHECKPOINTS = {
    "laser2": "laser2",
    "infoxlm-base": "infoxlm-base",
    "infoxlm-large": "infoxlm-large",
    "labse": "LaBSE",
    "labse-cls": "LaBSE",
    "me5-base": "multilingual-e5-base",
    "me5-base-released": "multilingual-e5-base",
    "me5-large": "multilingual-e5-large",
    "me5-large-instruct": "multilingual-e5-large-instruct",
}
SOURCES = {
    "tatoeba": "tatoeba",
    "sts17": "sts-2017",
    "sts17-turkish": "sts-2017",
    "mlqe": "wmt20-qe",
    "flores": "flores-200",
}
DREAM = "dream.identification=1,dream.language=1,dream.meaning=1,dream.reconstruction=1"
MEAT = "meat.adversarial=1,meat.cross_reconstruction=1,meat.language=1,meat.reconstruction=1"
IC, IS = "oracle.intra_class=1", "oracle.inter_class=1"
SEED = "seed.language=1,seed.language_swap=1,seed.meaning=1,seed.meaning_swap=1,seed.separation=1"
# Architecture, partners and terms of the methods of these records, by name.
DEFINITIONS = {
    "original": ("original", "none", ""),
    "centering": ("centering", "none", ""),
    "dream": ("two_head", "dream", DREAM),
    "dream-released": ("two_head", "half_batch", DREAM),
    "dream+oracle": ("two_head", "dream", f"{DREAM},{IS},{IC}"),
    "dream+oracle-released": (
        "two_head",
        "half_batch",
        f"{DREAM},oracle.inter_class_released=1,oracle.intra_class_released=1",
    ),
    "oracle": ("two_head", "none", f"{IS},{IC}"),
    "oracle-released": (
        "two_head",
        "none",
        "oracle.alignment=1,oracle.inter_class_old=1,oracle.intra_class_released=1",
    ),
    "meat": ("two_head", "none", MEAT),
    "meat+oracle": ("two_head", "none", f"{MEAT},{IS},{IC}"),
    "meat+oracle-without-ic": ("two_head", "none", f"{MEAT},{IS}"),
    "meat+oracle-without-is": ("two_head", "none", f"{MEAT},{IC}"),
    "seed": ("residual", "same_language", SEED),
    "seed+oracle": ("residual", "same_language", f"{IS},{IC},{SEED}"),
    "seed-without-meaning": ("residual", "same_language", SEED.replace("seed.meaning=1,", "")),
    "seed-without-language": ("residual", "same_language", SEED.replace("seed.language=1,", "")),
    "seed-without-consistency": ("residual", "same_language", "seed.language=1,seed.meaning=1"),
}
# Task, data set, subsets, metrics: what the evaluation writes for a preset of real text.
DATA: tuple[tuple[str, str, tuple[str, ...], tuple[str, ...]], ...] = (
    ("heldout", "test", ("en->ar", "ar->en", "en->de", "de->en", "es->gn", "gn->es"), ("P@1",)),
    ("tatoeba", "tatoeba", ("en->de", "de->en", "en->fr", "fr->en", "en->cs", "cs->en"), ("P@1",)),
    ("sts", "sts17", ("ar-ar", "ar-en", "en-de"), ("pearson", "spearman")),
    ("sts", "sts17-turkish", ("en-tr",), ("pearson", "spearman")),
    ("sts", "stsb", ("en-de", "en-it", "de-zh"), ("pearson", "spearman")),
    ("qe", "mlqe", ("en-de", "ro-en"), ("pearson", "spearman")),
    ("code-switched", "code-switched", ("de->en", "en->de", "fr->en", "en->fr"), ("P@1",)),
)


def record(
    encoder: str,
    method: str,
    view: str,
    task: str,
    dataset: str,
    subset: str,
    metric: str,
    value: float,
    *,
    seed: int | None = None,
    width: float | None = 1.0,
    chance: float = 0.1,
    candidates: int = 1000,
) -> Record:
    """One record, its interval `width` to each side, within what the metric can be."""
    least, most = limits(metric)
    low, high = (None, None) if width is None else (max(value - width, least), min(value + width, most))
    about = task, dataset, subset, view, encoder, method
    architecture, partners, terms = DEFINITIONS.get(method, ("unknown", "none", ""))
    facts: dict[str, object] = {"chance": chance, "source": SOURCES.get(dataset, "")}
    facts |= {} if task in ("sts", "qe") else {"candidates": candidates}
    facts |= {"checkpoint": CHECKPOINTS.get(encoder, ""), "architecture": architecture}
    facts |= {"partners": partners, "terms": terms}
    return Record(*about, seed, metric, value, low, high, 100, stated(facts))


def over_seeds(
    *about: str, values: Sequence[float], seeds: Sequence[int] = SEEDS, width: float | None = 1.0
) -> list[Record]:
    """The records of each seed and of their mean; `about` is encoder to metric."""
    encoder, method, view, task, dataset, subset, metric = about
    names = encoder, method, view, task, dataset, subset, metric
    found = [
        record(*names, value, seed=seed, width=width)
        for seed, value in zip(seeds[: len(values)], values, strict=True)
    ]
    return [record(*names, fmean(values), width=width), *found]


def invented(*names: object) -> float:
    """A number between 0 and 90 that is always the same for the same names."""
    return zlib.crc32(" ".join(map(str, names)).encode()) % 9000 / 100


def a_run(encoders: Sequence[str], methods: Sequence[str] = METHODS) -> list[Record]:
    """Records of encoders x methods x tasks, differences to the original included."""
    return list(_a_run(encoders, methods))


def _a_run(encoders: Sequence[str], methods: Sequence[str]) -> Iterator[Record]:
    for encoder in encoders:
        for method in methods:
            seeds = SEEDS if method not in ("original", "centering") else (0,)
            for view in ["sentence"] if method == "original" else ["meaning", "language", "sentence"]:
                for task, dataset, subsets, metrics in DATA:
                    for metric in metrics:
                        about = encoder, method, view, task, dataset
                        values = {
                            subset: [invented(*about, subset, metric, seed) for seed in seeds]
                            for subset in subsets
                        }
                        for subset in subsets:
                            yield from over_seeds(*about, subset, metric, values=values[subset], seeds=seeds)
                        means = [fmean(one[place] for one in values.values()) for place in range(len(seeds))]
                        yield from over_seeds(*about, ALL, metric, values=means, seeds=seeds, width=0.5)
                        kind = f"difference-{metric}"
                        if method != "original" and view == "meaning":
                            yield record(*about, ALL, f"{kind}:original", 1.0)
                            yield record(*about, ALL, f"p{kind.removeprefix('difference')}:original", 0.5)
        yield record(encoder, methods[0], "sentence", "leakage", "test", ALL, "norm:meaning", 0.5)
