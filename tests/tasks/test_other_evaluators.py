"""The evaluators of sentence-transformers give our figures on the same model and sentences.

scikit-learn's, SciPy's and faiss's are in the tests of each task, mteb's in tests/apply/test_mteb_encoder.py.
"""

from __future__ import annotations

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer
from sentence_transformers.models import Pooling, Transformer
from sentence_transformers.sentence_transformer.evaluation import (
    EmbeddingSimilarityEvaluator,
    InformationRetrievalEvaluator,
    TranslationEvaluator,
)
from small_checkpoint import make_pairs, write_checkpoint

from orthoglot.corpora.benchmarks import PairSet
from orthoglot.statistics.resampling import Column, Scores, resample
from orthoglot.statistics.weighted import Spearman, pearson
from orthoglot.tasks.graded_pairs import Grading
from orthoglot.tasks.ranking import average_precision, ranks
from orthoglot.tasks.retrieval import Retrieval

A, B = (list(side) for side in zip(*make_pairs(24, seed=2), strict=True))
Vectors = dict[str, np.ndarray]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> SentenceTransformer:
    folder = write_checkpoint(tmp_path_factory.mktemp("checkpoint"), offset=0.6)
    transformer = Transformer(str(folder), max_seq_length=22)
    return SentenceTransformer(modules=[transformer, Pooling(transformer.get_embedding_dimension(), "mean")])


@pytest.fixture(scope="module")
def vectors(model: SentenceTransformer) -> Vectors:
    return {"source": model.encode(A), "target": model.encode(B)}


def test_p_at_1_is_translation_accuracy(model: SentenceTransformer, vectors: Vectors) -> None:
    theirs = TranslationEvaluator(A, B, write_csv=False)(model)
    ours = Retrieval("tatoeba", PairSet("b", "en", "gn", A, B)).score(vectors).scores
    assert 0 < ours["en->gn"].mean() < 1
    assert ours["en->gn"].mean() == pytest.approx(theirs["src2trg_accuracy"], abs=1e-6)
    assert ours["gn->en"].mean() == pytest.approx(theirs["trg2src_accuracy"], abs=1e-6)


def test_correlations_are_those_of_embedding_similarity(model: SentenceTransformer, vectors: Vectors) -> None:
    x, y = (side / np.linalg.norm(side, axis=1, keepdims=True) for side in vectors.values())
    cosines = (x * y).sum(axis=1)
    noise = np.random.default_rng(0).normal(size=len(A))
    gold = np.round(cosines / cosines.std() + noise).tolist()
    theirs = EmbeddingSimilarityEvaluator(A, B, gold, write_csv=False)(model)
    task = Grading("sts", PairSet("b", "en", "gn", A, B, gold=gold, items=A))
    scores = Scores(task.score(vectors).scores["en-gn"], task.keys())
    columns = [Column("a", scores, statistic) for statistic in (pearson(), Spearman())]
    values = resample(columns, resamples=2, generator=np.random.default_rng(0)).values
    assert 0.05 < theirs["spearman_cosine"] < 0.95
    assert values.tolist() == pytest.approx([theirs["pearson_cosine"], theirs["spearman_cosine"]], abs=1e-6)


def test_mean_average_precision_is_that_of_information_retrieval(
    model: SentenceTransformer, vectors: Vectors
) -> None:
    answers = {str(i): {str(i), str((i + 7) % len(B))} for i in range(len(A))}
    theirs = InformationRetrievalEvaluator(
        dict(zip(answers, A, strict=True)),
        dict(zip(answers, B, strict=True)),
        answers,
        map_at_k=[20],
        write_csv=False,
    )(model)
    x, y = (side / np.linalg.norm(side, axis=1, keepdims=True) for side in vectors.values())
    # Cosines closer than 1e-6 count as equal here, and there by their last digit.
    assert np.diff(np.sort(x @ y.T, axis=1), axis=1).min() > 2e-6
    ours = [
        average_precision(ranks(x[i] @ y.T, np.array([int(one) for one in answers[str(i)]])), 20)
        for i in range(len(A))
    ]
    assert 0 < np.mean(ours) < 1
    assert np.mean(ours) == pytest.approx(theirs["cosine_map@20"], abs=1e-6)
