"""The scores that sentence-transformers' evaluators give to the same files and vectors as our records.

scikit-learn, SciPy and faiss are compared with in the tests of what they measure, mteb in test_mteb_model.py.
"""

from __future__ import annotations

import gzip
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from sentence_transformers.sentence_transformer.evaluation import (
    EmbeddingSimilarityEvaluator,
    TranslationEvaluator,
)

from orthoglot.decomposers.base import load_decomposer
from orthoglot.embeddings.store import EmbeddingStore
from orthoglot.statistics.records import Record, read_records
from orthoglot.study.tasks.evaluate import evaluate
from orthoglot.study.tasks.settings import EvaluationSettings

VIEWS = ("sentence", "meaning", "language")


class Stored:
    """In place of a SentenceTransformer: vectors of one view by sentence."""

    similarity_fn_name = "cosine"
    model_card_data = SimpleNamespace(set_evaluation_metrics=lambda *_: None)

    def __init__(self, world: SimpleNamespace, view: str, sides: dict[str, list[str]]) -> None:
        self.vectors: dict[str, np.ndarray] = {}
        store = EmbeddingStore.open(world.store, "abc")
        decomposer = load_decomposer(world.decomposer("dream", 1))
        for language, sentences in sides.items():
            parts = decomposer.transform(store.take(store.rows(sentences, language)), language)
            self.vectors |= zip(sentences, getattr(parts, view), strict=True)

    def encode(self, sentences: list[str], convert_to_numpy: bool = True, **_: Any) -> Any:
        found = np.stack([self.vectors[sentence] for sentence in sentences])
        return found if convert_to_numpy else list(torch.from_numpy(found))


def columns(path: Path) -> list[list[str]]:
    """Of a file with tabs, without our reader."""
    lines = gzip.decompress(path.read_bytes()).decode().splitlines()
    return [list(column) for column in zip(*(line.split("\t") for line in lines), strict=True)]


@pytest.fixture(scope="module")
def records(
    world: SimpleNamespace, settings: EvaluationSettings, tmp_path_factory: pytest.TempPathFactory
) -> list[Record]:
    output = tmp_path_factory.mktemp("scores")
    chosen = settings.model_copy(update={"tasks": ["tatoeba", "sts"], "resamples": 20})
    folders = world.store, world.bitext, world.benchmarks, [world.decomposer("dream", 1)]
    evaluate(chosen, *folders, encoder="toy", identity="abc", method="dream", output=output)
    return [one for one in read_records(output / "records.jsonl") if one.seed == 1]


def scores(records: list[Record], **wanted: str) -> list[float]:
    """As shares, not in percent."""
    return [one.value / 100 for one in records if all(getattr(one, n) == to for n, to in wanted.items())]


@pytest.mark.parametrize("view", VIEWS)
def test_retrieval_is_that_of_the_translation_evaluator(
    view: str, world: SimpleNamespace, records: list[Record]
) -> None:
    source, target = columns(world.root / "benchmark/qab-qaa.tsv.gz")
    found = TranslationEvaluator(source, target)(Stored(world, view, {"qab": source, "qaa": target}))  # type: ignore[arg-type]
    for direction, name in (
        ("qab->qaa", "src2trg_accuracy"),
        ("qaa->qab", "trg2src_accuracy"),
        ("all", "mean_accuracy"),
    ):
        ours = scores(records, task="tatoeba", view=view, subset=direction)
        assert ours == [pytest.approx(found[name], abs=1e-6)]


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("pair", ["qaa-qab", "qaa-qac"])
def test_correlations_are_those_of_the_similarity_evaluator(
    view: str, pair: str, world: SimpleNamespace, records: list[Record]
) -> None:
    source, target, gold, _ = columns(world.root / f"graded/{pair}.sts.tsv.gz")
    model = Stored(world, view, dict(zip(pair.split("-"), (source, target), strict=True)))
    found = EmbeddingSimilarityEvaluator(source, target, list(map(float, gold)))(model)  # type: ignore[arg-type]
    for metric in ("pearson", "spearman"):
        ours = scores(records, task="sts", view=view, subset=pair, metric=metric)
        assert ours == [pytest.approx(found[f"{metric}_cosine"], abs=1e-6)]
