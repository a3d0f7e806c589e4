"""Questions against a pool of all languages."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from orthoglot.errors import DataError
from orthoglot.study.benchmarks.collect import collect
from orthoglot.study.benchmarks.collected import read_all
from orthoglot.study.benchmarks.kinds import local, nway, pool
from orthoglot.study.benchmarks.kinds.pool import PoolSet, PoolSettings
from orthoglot.study.tasks.kinds.lareqa import AnswerRetrieval, average_precision, ranks

QUESTIONS = "lang\tquestion_id\tanswer\tquestion\nde\tq1\t0-1\tWer?\nen\tq1\t0-1\tWho?\nfr\tq1\t0-1\tQui?\n"
CANDIDATES = "lang\tid\tsentence\nde\t0-0\tEins\nde\t0-1\tZwei\nen\t0-0\tOne\nen\t0-1\tTwo\nfr\t0-1\tDeux\n"


def made(folder: Path, questions: str = QUESTIONS, candidates: str = CANDIDATES) -> Path:
    (folder / "q.tsv").write_text(questions)
    (folder / "c.tsv").write_text(candidates)
    settings = PoolSettings(
        kind="pool",
        questions=f"{folder}/q.tsv",
        candidates=f"{folder}/c.tsv",
        languages=["de", "en"],
        licence="none",
    )
    output = folder / "lareqa"
    output.mkdir()
    collect(settings, None, output)
    return output


def test_questions_and_candidates_of_the_named_languages_are_kept(tmp_path: Path) -> None:
    output = made(tmp_path)
    (found,) = pool.read(output)
    assert found.questions == {"de": ["Wer?"], "en": ["Who?"]}
    assert found.numbers == {"de": ["q1"], "en": ["q1"]}
    assert found.answers == {"de": ["0-1"], "en": ["0-1"]}
    assert found.candidates == {"de": ["Eins", "Zwei"], "en": ["One", "Two"]}
    assert read_all(output) == [found]
    assert local.read(output) == nway.read(output) == []


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"questions": QUESTIONS.replace("0-1\tWer", "9-9\tWer")}, "'9-9'"),
        ({"questions": QUESTIONS.replace("question_id", "id")}, "no column question_id"),
        ({"candidates": CANDIDATES.replace("en\t", "es\t")}, "no sentence in en"),
    ],
)
def test_wrong_files_are_refused(changed: dict[str, str], message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=message):
        made(tmp_path, **changed)


def task(answers: int = 12) -> tuple[AnswerRetrieval, dict[str, np.ndarray]]:
    rng = np.random.default_rng(1)
    meaning = rng.normal(size=(answers, 10))
    ids = [f"a{i}" for i in range(answers)]
    numbers = {code: [f"q{i}" for i in range(answers)] for code in ("de", "en")}
    texts = {code: [f"{code} {one}" for one in ids] for code in numbers}
    pool = PoolSet("lareqa", texts, numbers, dict.fromkeys(numbers, ids), texts, dict.fromkeys(numbers, ids))
    vectors = {code: (meaning + 0.9 * rng.normal(size=meaning.shape)).astype(np.float32) for code in numbers}
    vectors["question"] = (meaning + 0.9 * rng.normal(size=meaning.shape)).astype(np.float32)
    return AnswerRetrieval("lareqa", pool, "de"), vectors


def test_golden_average_precision_of_every_question_is_scikit_learns() -> None:
    asked, vectors = task()
    found = asked.score(vectors).scores["de"]
    pool = np.concatenate([vectors["de"], vectors["en"]]).astype(np.float64)
    similarity = vectors["question"] @ (pool / np.linalg.norm(pool, axis=1, keepdims=True)).T
    for row, own in enumerate(similarity):
        relevant = np.arange(24) % 12 == row
        assert found[row, 1] == pytest.approx(average_precision_score(relevant, own))
        at = np.flatnonzero(relevant[np.argsort(-own)]) + 1
        assert found[row, 0] == pytest.approx(sum(i / r for i, r in enumerate(at, 1) if r <= 20) / 2)
    assert 0 < found[:, 0].mean() < 1


def test_a_question_or_answer_without_direction_is_left_out() -> None:
    asked, vectors = task()
    vectors["question"][2] = 0
    vectors["en"][5] = np.nan
    found = asked.score(vectors).scores["de"]
    assert np.flatnonzero(np.isnan(found).any(axis=1)).tolist() == [2, 5]


def by_list(relevant: np.ndarray, k: int) -> float:
    """The definition, candidate by candidate, best first."""
    total = found = 0.0
    for rank, hit in enumerate(relevant[:k].tolist(), 1):
        if hit:
            found += 1
            total += found / rank
    return total / min(k, relevant.sum())


def test_oracle_v4_by_hand() -> None:
    # tests/worked-examples.md#worked-evaluation-4
    assert average_precision(np.array([3, 1]), k=20) == pytest.approx(0.833333, abs=1e-6)
    for rank in (1, 2, 7, 20):
        assert average_precision(np.array([rank]), k=20) == pytest.approx(1 / rank)
    assert average_precision(np.array([21]), k=20) == 0


@pytest.mark.parametrize("seed", range(5))
def test_average_precision_is_the_definition_and_scikit_learns(seed: int) -> None:
    rng = np.random.default_rng(seed)
    similarity = rng.normal(size=60)
    relevant = rng.permutation(60)[: 3 + 6 * seed]
    hits = np.isin(np.argsort(-similarity), relevant)
    at = ranks(similarity, relevant)
    assert at.tolist() == (np.flatnonzero(hits) + 1).tolist()
    assert average_precision(at, 20) == pytest.approx(by_list(hits, 20))
    expected = average_precision_score(np.isin(np.arange(60), relevant), similarity)
    assert average_precision(at) == pytest.approx(expected)


def test_of_equal_cosines_half_count_as_better() -> None:
    similarity = np.array([0.5, 0.5 + 1e-8, 0.5, 0.5, 0.9, 0.1])
    assert ranks(similarity, np.array([0])).tolist() == [1 + 1 + 3 / 2]
    assert ranks(similarity, np.array([0, 1])).tolist() == [1 + 1 + 1, 2 + 1 + 1]
    assert ranks(np.ones(101), np.array([7])).tolist() == [51]


def test_without_a_relevant_candidate_it_is_undefined() -> None:
    with pytest.raises(ValueError, match="relevant"):
        average_precision(np.empty(0), k=2)
