"""Controls and confounds of quality estimation."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from orthoglot.decomposers.base import Decomposer
from orthoglot.embeddings.store import EmbeddingStore, digests_of
from orthoglot.statistics.records import Record, read_records
from orthoglot.statistics.settings import ResamplingSettings
from orthoglot.statistics.summary import Key, read_scores, summarise
from orthoglot.study.benchmarks.base import PairSet
from orthoglot.study.report.frame import frame
from orthoglot.study.report.task_tables import sections
from orthoglot.study.tasks.evaluate import evaluate, run
from orthoglot.study.tasks.graded_pairs import Grading
from orthoglot.study.tasks.kinds.qe import Checks, pooled
from orthoglot.study.tasks.registry import measures
from orthoglot.study.tasks.settings import EvaluationSettings

N = 60
OFFSETS = {"en": [0.0, 0.0, 4.0, 0.0], "de": [0.0, 0.0, 0.0, 4.0], "ro": [0.0, 0.0, -4.0, 0.0]}


def a_pair(source: str, target: str, level: float = 0.0) -> PairSet:
    """Sentences of 1 to N characters, translated at twice the length or more; gold falls with the number."""
    texts = [target[0] * (row + 1) for row in range(N)]
    return PairSet(
        "qe-set",
        source,
        target,
        texts,
        ["y" * (2 * row + 2 + row % 3) for row in range(N)],
        gold=[level - row / N for row in range(N)],
        items=texts,
    )


def a_store(*pairs: PairSet) -> EmbeddingStore:
    """Vectors that are their language's offset and a meaning, from which a translation is further the later its row."""
    rng = np.random.default_rng(0)
    digests, vectors = [], []
    for pair in pairs:
        meanings = rng.normal(size=(N, 2)) + 3
        noise = rng.normal(size=(N, 2)) * np.arange(N)[:, None] / N
        for number, (language, texts) in enumerate(pair.sides()):
            digests.append(digests_of(texts, language))
            rows = np.zeros((N, 4))
            rows[:, :2] = meanings + number * noise
            vectors.append(rows + OFFSETS[language])
    found, places = np.unique(np.concatenate(digests), return_index=True)
    meta = {"identity": "abc", "encoder": "toy"}
    return EmbeddingStore(np.concatenate(vectors).astype(np.float32), found, places, meta, Path("memory"))


MEANS = np.array([OFFSETS[code] for code in sorted(OFFSETS)], dtype=np.float32)
CENTERING = Decomposer("centering", "centering", "toy", "abc", sorted(OFFSETS), 4, {"means": MEANS}, {})


def records(settings: EvaluationSettings, decomposer: Decomposer | None, *pairs: PairSet) -> list[Record]:
    tasks = [task for pair in pairs for task in (Grading("qe", pair), Checks("qe", pair))]
    found = run(tasks, a_store(*pairs), {1: decomposer} if decomposer else {0: None})
    resampling = ResamplingSettings(**{k: getattr(settings, k) for k in ResamplingSettings.model_fields})
    names: dict[str, Any] = {"encoder": "toy", "method": "m", "made": {}}
    return summarise(found.scored, found.facts, resampling, **names, measures=measures(["qe"]))


def one(found: list[Record], metric: str, view: str = "meaning", subset: str = "all") -> Record:
    (record,) = [r for r in found if (r.metric, r.view, r.subset, r.seed) == (metric, view, subset, None)]
    return record


def test_a_copy_passes_for_a_translation_unless_the_method_takes_its_language_off(
    settings: EvaluationSettings,
) -> None:
    pair = a_pair("en", "de")
    assert one(records(settings, None, pair), "untranslated:above", "sentence").value == 100
    found = records(settings, CENTERING, pair)
    # Taken for German, the English source keeps its own offset and loses the German one.
    source = a_store(pair).take(a_store(pair).rows(pair.source_sentences, "en")).astype(float)
    target = a_store(pair).take(a_store(pair).rows(pair.target_sentences, "de")).astype(float)
    ours, real, copied = source - OFFSETS["en"], target - OFFSETS["de"], source - OFFSETS["de"]

    def cosine(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return (x * y).sum(axis=1) / np.linalg.norm(x, axis=1) / np.linalg.norm(y, axis=1)

    expected = 100 * np.mean(cosine(ours, copied) > cosine(ours, real))
    assert expected < 20
    above = one(found, "untranslated:above")
    assert above.value == pytest.approx(expected, abs=1e-4)
    assert above.low is not None
    assert above.high is not None
    assert above.low <= above.value <= above.high
    assert above.facts["length"] == "characters"


def test_as_high_a_cosine_counts_half_and_no_direction_not_at_all() -> None:
    vectors = np.array([[1, 0], [1, 1], [0, 0]], dtype=np.float32)
    pair = PairSet(
        "b", "en", "de", ["a", "bb", ""], ["cc", "b", "c"], gold=[1.0, 2.0, 3.0], items=["1", "2", "3"]
    )
    sides = {"source": vectors, "target": vectors, "untranslated": vectors}
    ((_, found),) = Checks("qe", pair).score(sides).scores.items()
    np.testing.assert_allclose(found[:2, 2:], [[0.5, 1, np.log(2)], [0.5, 2, -np.log(2)]])
    assert np.isnan(found[2, 2])


def test_length_is_found_and_removed(settings: EvaluationSettings) -> None:
    pair = a_pair("en", "de")
    found = records(settings, CENTERING, pair)
    ratio = [
        np.log(len(t) / len(s)) for s, t in zip(pair.source_sentences, pair.target_sentences, strict=True)
    ]
    assert one(found, "length:gold").value == pytest.approx(-100, abs=1e-3)
    assert one(found, "length-ratio:gold").value == pytest.approx(
        100 * stats.pearsonr(pair.gold, ratio)[0], abs=1e-3
    )
    assert one(found, "pearson").value > 30
    assert one(found, "length:prediction").value == pytest.approx(-one(found, "pearson").value, abs=1e-3)
    # Gold is a function of length here: nothing is left to correlate.
    assert not [r for r in found if r.metric == "pearson:length-removed"]


def test_pooled_items_are_taken_with_and_without_their_pairs_means(settings: EvaluationSettings) -> None:
    good, bad = a_pair("en", "de", level=0.0), a_pair("en", "ro", level=-50.0)
    found = records(settings, CENTERING, good, bad)
    whole = {
        metric: one(found, metric).value for metric in ("pooled:pearson", "pooled:within", "pooled:between")
    }
    assert {r.subset for r in found if r.metric.startswith("pooled")} == {"all"}
    assert one(found, "pooled:within").n == 2 * N
    scores = run([Grading("qe", p) for p in (good, bad)], a_store(good, bad), {1: CENTERING}).scored
    values = [scores[Key("qe", "qe-set", p.pair, "meaning", 1, "correlation")].values for p in (good, bad)]
    x, y = np.concatenate(values).T
    a, b = np.concatenate([v - v.mean(axis=0) for v in values]).T
    assert whole["pooled:pearson"] == pytest.approx(100 * stats.pearsonr(x, y)[0], abs=1e-3)
    assert whole["pooled:within"] == pytest.approx(100 * stats.pearsonr(a, b)[0], abs=1e-3)
    share = 1 - (a * b).mean() / np.cov(x, y, bias=True)[0, 1]
    assert whole["pooled:between"] == pytest.approx(100 * share, abs=1e-3)
    assert whole["pooled:within"] > 20


def test_one_pair_is_not_pooled(settings: EvaluationSettings) -> None:
    found = records(settings, CENTERING, a_pair("en", "de"))
    assert not [r for r in found if r.metric.startswith("pooled")]
    assert list(pooled({})) == []


def test_checks_are_reported_and_kept_from_the_comparison_of_methods(
    world: SimpleNamespace, settings: EvaluationSettings, tmp_path: Path
) -> None:
    (tmp_path / "scored").mkdir()
    for path in (next(one for one in world.benchmarks if one.name == "graded")).glob("*.sts.tsv.gz"):
        shutil.copy(path, tmp_path / "scored" / path.name.replace("sts", "qe"))
    (tmp_path / "out").mkdir()
    inputs = world.store, world.bitext, [tmp_path / "scored"], [world.decomposer("dream", 1)]
    only = settings.model_copy(update={"tasks": ["qe"], "resamples": 100})
    evaluate(only, *inputs, encoder="toy", identity="abc", method="dream", output=tmp_path / "out")
    assert {key.measure for key in read_scores(tmp_path / "out" / "scores.npz")} == {"correlation"}
    table = frame(read_records(tmp_path / "out" / "records.jsonl"))
    assert {"pearson", "untranslated:above", "pooled:within"} <= set(table["metric"])
    found = [one for one in sections(table) if "Controls and confounds" in one.details]
    assert [(one.task, one.dataset, one.metric) for one in found] == [("qe", "scored", "spearman")]
