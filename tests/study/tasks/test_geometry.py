"""The task geometry: its numbers are those of the measures, on the directions of the stored vectors."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from orthoglot.decomposers.base import unit
from orthoglot.embeddings.store import EmbeddingStore
from orthoglot.errors import DataError
from orthoglot.statistics.intervals import jackknife
from orthoglot.statistics.records import Record, read_records
from orthoglot.statistics.summary import summarise
from orthoglot.study.benchmarks.kinds.nway import NwaySet
from orthoglot.study.tasks.evaluate import evaluate
from orthoglot.study.tasks.evaluate import run as run_tasks
from orthoglot.study.tasks.kinds.geometry import (
    Geometry,
    blocks_of,
    canonical_form,
    diagonal_divergence,
    full_divergence,
    isotropy,
)
from orthoglot.study.tasks.projections import project_text, read_text_maps
from orthoglot.study.tasks.settings import EvaluationSettings

METRICS = {"kl-d", "kl-d:full", "kl-d:full/d", "ch-i", "ch-i:ratio", "pr", "pr:both-signs"}


class Vectors:
    """A store of {language: (n, D)} whose sentences are the numbers of their rows."""

    def __init__(self, vectors: dict[str, np.ndarray]) -> None:
        self.vectors = vectors
        count = len(next(iter(vectors.values())))
        self.text = NwaySet("wide", {code: [str(i) for i in range(count)] for code in vectors})

    def rows(self, sentences: list[str], language: str) -> tuple[str, list[int]]:
        return language, [int(sentence) for sentence in sentences]

    def take(self, rows: tuple[str, list[int]]) -> np.ndarray:
        return self.vectors[rows[0]][rows[1]]


def measured(store: Vectors, settings: EvaluationSettings, models: Any = None) -> list[Record]:
    task = Geometry("geometry", store.text, settings.long_tail, settings.seed)
    found = run_tasks([task], store, models or {0: None})  # type: ignore[arg-type]
    about: dict[str, Any] = {"encoder": "e", "method": "original", "made": {}}
    return summarise({}, found.facts, settings, **about, blocks=found.blocks)


def drawn(seed: int, sentences: int = 40) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(sentences, 6)).astype(np.float32)


def level(records: list[Record], subset: str, metric: str, seed: int | None = None) -> Record:
    (found,) = [r for r in records if (r.subset, r.metric, r.seed) == (subset, metric, seed)]
    return found


@pytest.fixture(scope="module")
def run(
    world: SimpleNamespace, settings: EvaluationSettings, tmp_path_factory: pytest.TempPathFactory
) -> SimpleNamespace:
    """The task alone, of a decomposer with two seeds and of the encoder's own vectors."""
    output = tmp_path_factory.mktemp("geometry")
    only = settings.model_copy(update={"tasks": ["geometry"]})
    decomposers = [world.decomposer("dream", seed) for seed in (1, 2)]
    found = {}
    for method, folders in (("dream", decomposers), ("original", [])):
        (output / method).mkdir()
        inputs = world.store, world.bitext, world.benchmarks, folders
        evaluate(only, *inputs, encoder="toy", identity="abc", method=method, output=output / method)
        found[method] = read_records(output / method / "records.jsonl")
    return SimpleNamespace(output=output, decomposers=decomposers, **found)


def test_every_view_seed_and_group_of_two_languages_or_more_has_every_metric(run: SimpleNamespace) -> None:
    found = {(r.task, r.dataset, r.subset, r.view, r.seed, r.metric) for r in run.dream}
    # The head is qaa alone.
    assert found == {
        ("geometry", "wide", group, view, seed, metric)
        for group in ("long-tail", "all")
        for view in ("meaning", "language")
        for seed in (1, 2, None)
        for metric in METRICS
    }
    assert len(run.dream) == len(found)
    assert {r.view for r in run.original} == {"sentence"}
    facts = level([r for r in run.dream if r.view == "meaning"], "long-tail", "ch-i").facts
    assert facts.items() >= {
        *(("languages", "qab,qac"), ("vectors", "length-1"), ("dropped", "0")),
        *(("seeds", "1,2"), ("interval", "jackknife"), ("blocks", "10"), ("confidence", "0.95")),
        *(("identity", "abc"),),
    }


def test_the_numbers_are_the_measures_of_the_stored_vectors(
    world: SimpleNamespace, run: SimpleNamespace
) -> None:
    store = EmbeddingStore.open(world.store, "abc")
    rows = {
        code: store.take(store.rows([f"wide {code} {i}" for i in range(35)], code))
        for code in ("qaa", "qab", "qac")
    }
    # The very same bits, as the sign of an eigenvector may turn on the last of them.
    stacked = np.stack([unit(one.astype(np.float64)) for one in rows.values()])
    expected = {
        "kl-d": diagonal_divergence(stacked),
        "kl-d:full": full_divergence(stacked),
        "kl-d:full/d": full_divergence(stacked) / 32,
        **canonical_form(stacked),
        **isotropy(stacked),
    }
    for metric, value in expected.items():
        assert level(run.original, "all", metric).value == pytest.approx(value, abs=1e-6)
        assert level(run.original, "all", metric).n == 35
    tail = level(run.original, "long-tail", "ch-i").value
    assert tail == pytest.approx(canonical_form(stacked[1:])["ch-i"], rel=1e-4)


def test_the_meaning_view_is_alike_in_all_languages_and_the_language_view_is_not(
    run: SimpleNamespace,
) -> None:
    found = [*run.dream, *run.original]
    by_view = {
        view: {m: level([r for r in found if r.view == view], "all", m).value for m in ("kl-d", "ch-i")}
        for view in ("meaning", "sentence", "language")
    }
    assert 5 * by_view["meaning"]["kl-d"] < min(by_view[view]["kl-d"] for view in ("sentence", "language"))
    assert by_view["meaning"]["ch-i"] > by_view["sentence"]["ch-i"] > by_view["language"]["ch-i"]


def test_the_interval_is_the_jackknife_written_out(settings: EvaluationSettings) -> None:
    store = Vectors({code: drawn(0) + 0.3 * drawn(seed) for seed, code in enumerate("abc", start=1)})
    found = level(measured(store, settings), "all", "kl-d")
    stacked = np.stack([rows / np.linalg.norm(rows, axis=1)[:, None] for rows in store.vectors.values()])
    blocks = blocks_of(40, settings.seed)
    assert np.bincount(blocks).tolist() == [4] * 10
    without = []
    for block in range(10):
        kept = [i for i in range(40) if blocks[i] != block]
        without.append(diagonal_divergence(stacked[:, kept]))
    mean = sum(without) / 10
    error = math.sqrt(9 / 10 * sum((value - mean) ** 2 for value in without))
    reach = stats.t(9).ppf(0.975) * error
    assert found.value == pytest.approx(diagonal_divergence(stacked), rel=1e-5)
    assert found.low == pytest.approx(found.value - reach, rel=1e-4)
    assert found.high == pytest.approx(found.value + reach, rel=1e-4)


def test_the_mean_over_seeds_has_the_jackknife_of_the_mean(settings: EvaluationSettings) -> None:
    """Two seeds whose meaning views keep other dimensions: their errors do not go together."""
    store = Vectors({code: drawn(0) + 0.3 * drawn(seed) for seed, code in enumerate("abc", start=1)})
    masks = {1: np.array([1, 1, 1, 0, 0, 0]), 2: np.array([0, 0, 0, 1, 1, 1])}
    models = {
        seed: SimpleNamespace(
            transform=lambda rows, *_, m=mask: SimpleNamespace(meaning=rows * m, language=rows)
        )
        for seed, mask in masks.items()
    }
    records = measured(store, settings, models)
    found = {
        seed: level([r for r in records if r.view == "meaning"], "all", "ch-i", seed) for seed in (1, 2, None)
    }
    blocks = blocks_of(40, settings.seed)
    values, without = [], []
    for mask in masks.values():
        kept = [rows * mask for rows in store.vectors.values()]
        stacked = np.stack([rows / np.linalg.norm(rows, axis=1)[:, None] for rows in kept])
        values.append(canonical_form(stacked)["ch-i"])
        without.append([canonical_form(stacked[:, blocks != block])["ch-i"] for block in range(10)])
    assert [found[1].value, found[2].value] == pytest.approx(values, rel=1e-5)
    assert found[None].value == pytest.approx(np.mean(values), rel=1e-5)
    ends = jackknife(float(np.mean(values)), np.mean(without, axis=0), 0.95)
    assert (found[None].low, found[None].high) == pytest.approx(ends, rel=1e-4)
    assert found[None].facts["seeds"] == "1,2"


def test_full_covariances_have_no_interval(run: SimpleNamespace) -> None:
    without = {r.metric for r in run.dream if r.low is None}
    assert without == {"kl-d:full", "kl-d:full/d"}
    assert not [r for r in run.dream if (r.low is None) != (r.high is None)]


def test_languages_alike_do_not_diverge_and_a_group_with_one_apart_does(
    settings: EvaluationSettings, caplog: pytest.LogCaptureFixture
) -> None:
    same = drawn(0)
    tail = settings.model_copy(update={"long_tail": ["x", "y", "z"]})
    store = Vectors({"a": same, "b": same, "x": same + np.float32(2), "y": same})
    records = measured(store, tail)
    assert level(records, "head", "kl-d").value == pytest.approx(0, abs=1e-6)
    assert level(records, "long-tail", "kl-d").value > 0.1
    # Of six pairs three are apart, of the long tail's one one.
    ratio = level(records, "all", "kl-d").value / level(records, "long-tail", "kl-d").value
    assert ratio == pytest.approx(3 / 6, rel=1e-3)
    # Where translations are one vector, nothing is within a cluster, and the index is infinite.
    assert not [r for r in records if r.subset == "head" and r.metric.startswith("ch-i")]
    assert "geometry wide head sentence e original: translations are one vector" in caplog.text


def test_a_sentence_without_direction_in_one_language_is_left_out_of_all(
    settings: EvaluationSettings,
) -> None:
    clean = {code: drawn(0) + 0.3 * drawn(seed) for seed, code in enumerate("abc", start=1)}
    broken = {code: rows.copy() for code, rows in clean.items()}
    broken["a"][3], broken["b"][7, 2] = 0, np.nan
    kept = [i for i in range(40) if i not in (3, 7)]
    found = measured(Vectors(broken), settings)
    expected = measured(Vectors({code: rows[kept] for code, rows in clean.items()}), settings)
    assert [(r.subset, r.metric, r.value, r.low) for r in found] == [
        (r.subset, r.metric, r.value, r.low) for r in expected
    ]
    assert {r.n for r in found} == {38}
    assert {r.facts["dropped"] for r in found} == {"2"}


def test_too_few_sentences_are_refused(settings: EvaluationSettings) -> None:
    assert measured(Vectors({"a": drawn(0, 20), "b": drawn(1, 20)}), settings)
    with pytest.raises(DataError, match="geometry of wide, sentence view: 19 sentences"):
        measured(Vectors({"a": drawn(0, 19), "b": drawn(1, 19)}), settings)


def test_maps_hold_the_same_sentences_of_each_language_and_come_out_the_same(run: SimpleNamespace) -> None:
    (name, found), *others = read_text_maps(run.output / "dream" / "text-maps.npz").items()
    assert (name, others) == ("wide", [])
    assert dict(zip(*np.unique(found.languages, return_counts=True), strict=True)) == {
        "qaa": 35,
        "qab": 35,
        "qac": 35,
    }
    many = {f"l{i:02}": drawn(i, 60) / 9 for i in range(25)}
    one, two = project_text(many, 3), project_text(many, 3)
    assert len(set(one.languages)) == 20
    assert len(one.tsne) == len(one.pca) == 400
    np.testing.assert_array_equal(one.tsne, two.tsne)
    assert set(project_text(many, 4).languages) != set(one.languages)


def test_t_sne_keeps_neighbours(settings: EvaluationSettings) -> None:
    """Two bundles of directions stay two bundles, and their lengths make no difference to where they are."""
    draw = np.random.default_rng(0)
    centres = np.repeat(np.eye(8)[:2], 30, axis=0)
    rows = centres + 0.05 * draw.normal(size=centres.shape)
    points = project_text({"a": rows, "b": rows + 0.01}, 1).tsne
    side = np.tile(np.repeat([0, 1], 30), 2)
    apart = np.linalg.norm(points[side == 0].mean(axis=0) - points[side == 1].mean(axis=0))
    assert apart > 3 * points[side == 0].std()
    assert np.isfinite(project_text({"a": np.ones((20, 4)), "b": np.ones((20, 4))}, 1).tsne).all()


def test_an_interval_stays_where_its_metric_can_be(settings: EvaluationSettings) -> None:
    """One sentence that is elsewhere in one language decides all: the interval would reach below 0 and beyond 1."""
    vectors = {code: drawn(0, 20) + 0.01 * drawn(seed, 20) for seed, code in enumerate("abc", start=1)}
    vectors["c"][3] *= -1
    records = [one for one in measured(Vectors(vectors), settings) if one.low is not None]
    assert all(0 <= one.low <= one.value <= one.high for one in records)
    assert any(one.low == 0 for one in records)
    assert all(one.high <= 1 for one in records if one.metric.startswith("pr"))
