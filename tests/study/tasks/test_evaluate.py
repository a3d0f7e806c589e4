from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from orthoglot.decomposers.base import Decomposer, load_decomposer
from orthoglot.embeddings.store import EmbeddingStore
from orthoglot.errors import ConfigError, DataError
from orthoglot.search import neighbours
from orthoglot.statistics.records import TRANSFER, Record, read_records
from orthoglot.statistics.summary import Key, read_scores
from orthoglot.study.report.comparisons import compare_methods
from orthoglot.study.tasks.evaluate import evaluate
from orthoglot.study.tasks.examples import read_examples
from orthoglot.study.tasks.kinds import classification, paracrawl
from orthoglot.study.tasks.projections import project_pair, read_map
from orthoglot.study.tasks.settings import EvaluationSettings
from orthoglot.text.bitext import SentencePair, read_rows, write_pairs
from orthoglot.text.keys import keys_of


def run(
    world: SimpleNamespace, settings: EvaluationSettings, output: Path, decomposers: list[Path], method: str
) -> list[Record]:
    output.mkdir()
    folders = world.store, world.bitext, world.benchmarks, decomposers
    evaluate(settings, *folders, encoder="toy", identity="abc", method=method, output=output)
    return read_records(output / "records.jsonl")


@pytest.fixture(scope="module")
def made(
    world: SimpleNamespace, settings: EvaluationSettings, tmp_path_factory: pytest.TempPathFactory
) -> SimpleNamespace:
    """Records of a decomposer with two seeds, and of the encoder's own vectors."""
    root = tmp_path_factory.mktemp("evaluations")
    decomposers = [world.decomposer("dream", seed) for seed in (1, 2)]
    return SimpleNamespace(
        root=root,
        dream=run(world, settings, root / "dream", decomposers, "dream"),
        original=run(world, settings, root / "original", [], "original"),
    )


def value(records: list[Record], **wanted: object) -> float:
    found = [r for r in records if all(getattr(r, name) == to for name, to in wanted.items())]
    assert len(found) == 1
    return found[0].value


def test_meaning_rises_language_falls_and_the_probe_says_the_opposite(made: SimpleNamespace) -> None:
    records = made.dream
    overall = {"subset": "all", "seed": None}
    for task in ("heldout", "tatoeba"):
        meaning, language, sentence = (
            value(records, task=task, view=view, **overall) for view in ("meaning", "language", "sentence")
        )
        assert meaning > 95
        assert sentence < meaning - 10
        assert language < 15
    assert value(records, task="language-probe", view="language", **overall) > 95
    # 60 items at p = 1/3: sd 6 points.
    assert value(records, task="language-probe", view="meaning", **overall) < 60


def test_an_evaluation_on_a_cpu_loads_no_torch_and_is_that_of_torchs_products(
    world: SimpleNamespace, settings: EvaluationSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = settings.model_copy(update={"tasks": ["heldout", "tatoeba", "mixed-pool", "sts", "geometry"]})
    (tmp_path / "settings.json").write_text(few.model_dump_json())
    (tmp_path / "without").mkdir()
    folders = [world.store, world.bitext, world.benchmarks, [world.decomposer("dream", 1)]]
    code = (
        "import sys\nfrom pathlib import Path, PosixPath\n"
        "import orthoglot.study.jobs.evaluate\n"
        "from orthoglot.study.tasks.evaluate import evaluate\n"
        "from orthoglot.study.tasks.settings import EvaluationSettings\n"
        "settings = EvaluationSettings.model_validate_json(Path('settings.json').read_bytes())\n"
        f"evaluate(settings, *{folders}, encoder='toy', identity='abc', method='dream', output=Path('without'))\n"
        "assert 'torch' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)
    monkeypatch.setattr(neighbours, "FEW", 0)
    run(world, few, tmp_path / "with", folders[-1], "dream")
    names = [path.name for path in sorted((tmp_path / "with").iterdir())]
    assert "records.jsonl" in names
    for name in names:
        assert (tmp_path / "without" / name).read_bytes() == (tmp_path / "with" / name).read_bytes(), name


def test_one_record_per_direction_view_and_seed_and_the_means_over_both(made: SimpleNamespace) -> None:
    heldout = [r for r in made.dream if r.task == "heldout" and r.view == "meaning"]
    directions = ["qaa->qab", "qab->qaa", "qaa->qac", "qac->qaa"]
    assert {(r.subset, r.seed) for r in heldout} == {
        (d, s) for d in [*directions, "all"] for s in (1, 2, None)
    }
    assert len(heldout) == 15
    by_seed = [value(heldout, subset="all", seed=seed) for seed in (1, 2)]
    assert value(heldout, subset="all", seed=None) == pytest.approx(np.mean(by_seed), abs=1e-5)
    by_direction = [value(heldout, subset=direction, seed=1) for direction in directions]
    assert by_seed[0] == pytest.approx(np.mean(by_direction), abs=1e-5)
    # A mean resamples sentence pairs (2 x 50), a direction its queries.
    assert {r.n for r in heldout if r.subset == "all"} == {100}
    assert {r.n for r in heldout if r.subset != "all"} == {50}


def test_hits_are_in_the_order_of_the_test_file(made: SimpleNamespace) -> None:
    records = made.original
    found = read_scores(made.root / "original" / "scores.npz")
    hits = found[Key("heldout", "test", "qaa->qab", "sentence", 0)]
    assert hits.values.shape == (50,)
    back = found[Key("heldout", "test", "qab->qaa", "sentence", 0)]
    assert (hits.keys == back.keys).all()
    assert (hits.keys == keys_of(f"qaa qaa-qab test {i}" for i in range(50))).all()
    direction = {"task": "heldout", "subset": "qaa->qab", "view": "sentence"}
    assert value(records, seed=0, **direction) == pytest.approx(100 * hits.values.mean())
    assert {r.view for r in records} == {"sentence"}


def test_the_facts_say_how_the_number_was_made(made: SimpleNamespace) -> None:
    records = made.original
    facts = next(r for r in records if r.subset == "qaa->qab").facts
    assert {
        "candidates": "50",
        "ties": "lowest-index",
        "seen_dropped": "0",
    }.items() <= (facts.items())
    assert (facts["interval"], facts["confidence"], facts["identity"]) == ("wilson", "0.95", "abc")
    graded = next(r for r in records if r.metric == "pearson").facts
    assert (graded["interval"], graded["resamples"]) == ("bootstrap-percentile", "500")
    probe = next(r for r in records if r.task == "language-probe").facts
    assert float(probe["chance"]) == pytest.approx(100 / 3, abs=1e-5)
    assert (probe["C"], probe["max_iter"], probe["converged"]) == ("1.0", "500", "1")


@pytest.mark.parametrize(
    ("details", "expected"),
    [
        ({}, "two_head"),
        ({"centre": "none", "stopping": "total"}, "two_head"),
        ({"centre": "overall"}, "two_head of vectors with centre overall"),
        ({"stopping": "retrieval"}, "two_head stopped by retrieval"),
    ],
)
def test_a_record_says_how_a_method_departs_from_the_papers(
    world: SimpleNamespace,
    settings: EvaluationSettings,
    tmp_path: Path,
    details: dict[str, Any],
    expected: str,
) -> None:
    folder = world.decomposer("meat-departing", 1)
    own = {"terms": {"meat.language": 1.0}, **details}
    replace(load_decomposer(folder), details=own).save(folder)
    only = settings.model_copy(update={"tasks": ["heldout"]})
    records = run(world, only, tmp_path / "out", [folder], "meat")
    assert records[0].facts["architecture"] == expected


def test_a_record_says_which_code_text_and_training_its_method_comes_from(
    world: SimpleNamespace, settings: EvaluationSettings, tmp_path: Path
) -> None:
    folder, settings = world.decomposer("dream", 9), settings.model_copy(update={"tasks": ["heldout"]})
    details = {"code": "c0de", "text": "7e87", "learning_rate": 1e-3, "max_epochs": 40}
    replace(load_decomposer(folder), details=details).save(folder)
    found = [one.facts for one in run(world, settings, tmp_path / "out", [folder], "meat")]
    assert {facts["training"] for facts in found} == {"40 epochs at 0.001"}
    assert {(facts["trained_code"], facts["trained_text"]) for facts in found} == {("c0de", "7e87")}
    undivided = run(world, settings, tmp_path / "original", [], "original")
    assert {"trained_text", "training"}.isdisjoint(undivided[0].facts)


def test_what_another_pair_trains_on_is_neither_a_query_nor_a_candidate(
    world: SimpleNamespace, settings: EvaluationSettings, tmp_path: Path
) -> None:
    copies = [Path(shutil.copytree(folder, tmp_path / folder.name)) for folder in world.bitext]
    write_pairs(copies[1] / "train-00000.tsv.zst", [SentencePair("QAA, qaa-qab: test 7!", "new")])
    changed = SimpleNamespace(**vars(world) | {"bitext": copies})
    records = run(changed, settings, tmp_path / "out", [], "original")
    facts = {r.subset: r.facts for r in records if r.task == "heldout"}
    assert (facts["qaa->qab"]["candidates"], facts["qaa->qab"]["seen_dropped"]) == ("49", "1")
    assert (facts["qaa->qac"]["candidates"], facts["qaa->qac"]["seen_dropped"]) == ("50", "0")
    assert (facts["all"]["seen_dropped"], facts["all"]["units"]) == ("0-1", "99")


def test_same_settings_same_bytes(
    made: SimpleNamespace, world: SimpleNamespace, settings: EvaluationSettings, tmp_path: Path
) -> None:
    run(world, settings, tmp_path / "again", [world.decomposer("dream", seed) for seed in (1, 2)], "dream")
    for file in ("records.jsonl", "scores.npz", "map.npz", "text-maps.npz", "pair-map.npz", "examples.json"):
        assert (tmp_path / "again" / file).read_bytes() == (made.root / "dream" / file).read_bytes()


def test_the_map_shows_equally_many_of_every_group(made: SimpleNamespace) -> None:
    drawn = read_map(made.root / "dream" / "map.npz")
    groups, counts = np.unique(np.stack([drawn.languages, drawn.parts]), axis=1, return_counts=True)
    found = {tuple(group): int(n) for group, n in zip(groups.T.tolist(), counts, strict=True)}
    # 20 of each language pair; qaa stands in two.
    each = {("qaa", part): 40 for part in ("meaning", "language")}
    each |= {(code, part): 20 for code in ("qab", "qac") for part in ("meaning", "language")}
    assert found == each
    assert np.isfinite(drawn.points).all()


def test_a_decomposer_of_another_encoder_is_refused_with_both_identities(
    world: SimpleNamespace, settings: EvaluationSettings, tmp_path: Path
) -> None:
    other = world.decomposer("dream", 1, identity="xyz")
    with pytest.raises(DataError, match=r"xyz.*abc"):
        run(world, settings, tmp_path / "out", [other], "dream")
    with pytest.raises(ConfigError, match="seed<k>"):
        run(world, settings, tmp_path / "out2", [other.parent], "dream")


def test_tasks_without_data_are_an_error(
    world: SimpleNamespace, settings: EvaluationSettings, tmp_path: Path
) -> None:
    only = settings.model_copy(update={"tasks": ["tatoeba"]})
    with pytest.raises(DataError, match="tatoeba"):
        evaluate(
            only,
            world.store,
            world.bitext,
            [],
            [],
            encoder="toy",
            identity="abc",
            method="original",
            output=tmp_path,
        )


def test_graded_pairs_are_scored_by_correlation_per_pair_and_in_the_mean(made: SimpleNamespace) -> None:
    graded = [r for r in made.dream if r.task == "sts"]
    assert {(r.dataset, r.metric, r.subset) for r in graded} == {
        ("graded", metric, subset)
        for metric in ("pearson", "spearman")
        for subset in ("qaa-qab", "qaa-qac", "all")
    }
    assert len(graded) == 2 * 3 * 3 * 3  # metrics, subsets, views, seeds and their mean
    overall = {"subset": "all", "seed": None}
    for metric in ("pearson", "spearman"):
        meaning, language, sentence = (
            value(graded, metric=metric, view=view, **overall) for view in ("meaning", "language", "sentence")
        )
        assert meaning > 80 > sentence > language
        # The correlations of each pair are those of another library in test_same_scores.py.
        by_pair = [
            value(graded, metric=metric, view="meaning", subset=pair, seed=1)
            for pair in ("qaa-qab", "qaa-qac")
        ]
        mean = value(graded, metric=metric, view="meaning", subset="all", seed=1)
        assert mean == pytest.approx(np.mean(by_pair), abs=1e-5)
    one = next(r for r in graded if r.subset == "all" and r.seed is None and r.view == "meaning")
    assert one.low is not None
    assert one.high is not None
    assert one.low < one.value < one.high
    assert one.n == 120
    facts = one.facts
    assert (facts["units"], facts["undefined"], facts["left_out"]) == ("120", "0", "0")


def test_a_constant_prediction_is_counted_and_has_no_record(
    world: SimpleNamespace, settings: EvaluationSettings, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "seed1"
    folder.mkdir()
    means = np.eye(3, 32, dtype=np.float32)
    Decomposer("centering", "centering", "toy", "abc", ["qaa", "qab", "qac"], 32, {"means": means}, {}).save(
        folder
    )
    only = settings.model_copy(update={"tasks": ["sts"]})
    records = run(world, only, tmp_path / "out", [folder], "centering")
    assert {(r.view, r.metric) for r in records} == {
        (view, metric) for view in ("meaning", "sentence") for metric in ("pearson", "spearman")
    }
    assert all(np.isfinite(r.value) for r in records)
    for part in ("sts graded, language", "pearson", "qaa-qab", "qaa-qac"):
        assert part in caplog.text


def test_a_pivot_is_centred_by_the_pair_that_is_compared(
    world: SimpleNamespace, settings: EvaluationSettings, tmp_path: Path
) -> None:
    folder = tmp_path / "seed1"
    folder.mkdir()
    languages = ["qaa", "qab", "qac"]
    means = np.random.default_rng(1).standard_normal((3, 3, 32)).astype(np.float32)
    means[0, 1] = 0.0  # of qaa beside qab
    about = "pair_centering", "centering-per-pair", "toy", "abc", languages, 32
    Decomposer(*about, {"means": means}, {}).save(folder)
    only = settings.model_copy(update={"tasks": ["leakage"]})
    found = run(world, only, tmp_path / "out", [folder], "centering-per-pair")
    lengths = {r.subset: r.value for r in found if r.metric == "norm:language" and r.seed is not None}
    # The language vector is the mean: qaa has none beside qab, but one beside qac.
    size = np.linalg.norm(means, axis=2)
    assert lengths["qaa-qab"] / lengths["qaa-qac"] == pytest.approx(
        size[1, 0] / (size[0, 2] + size[2, 0]), rel=0.15
    )
    only = settings.model_copy(update={"tasks": ["tatoeba"]})  # of qab, where the query has no direction
    with pytest.raises(DataError, match="qaa-qab"):
        run(world, only, tmp_path / "tatoeba", [folder], "centering-per-pair")


def test_mixed_sentences_query_the_pivot_and_not_the_other_way_round(made: SimpleNamespace) -> None:
    found = [r for r in made.original if r.task == "code-switched"]
    assert {(r.dataset, r.subset, r.metric) for r in found} == {
        ("mixed", subset, "P@1") for subset in ("qac->qaa", "all")
    }
    assert float(found[0].facts["chance"]) == pytest.approx(100 / 30, abs=1e-5)


def test_leaks_are_recorded_for_every_pair_and_seed(
    made: SimpleNamespace, world: SimpleNamespace, settings: EvaluationSettings, tmp_path: Path
) -> None:
    clean = made.dream
    leaking = run(world, settings, tmp_path / "b", [world.decomposer("leaking", 1, leak=1.0)], "leaking")
    found = [r for r in clean if r.task == "leakage"]
    metrics = {
        *(("cosine", "language"), ("cosine:spread", "language")),
        *(("norm:meaning", "meaning"), ("norm:language", "language")),
        *(("language_share", view) for view in ("meaning", "language", "sentence")),
        *(("r2:meaning", "language"), ("r2:sentence", "language")),
    }
    assert {(r.metric, r.view, r.subset, r.seed) for r in found} == {
        (*metric, subset, seed)
        for metric in metrics
        for subset in ("qaa-qab", "qaa-qac", "all")
        for seed in (1, 2, None)
    }
    overall = {"task": "leakage", "subset": "all", "seed": None}
    for metric in ("r2:meaning", "r2:sentence"):
        assert value(leaking, metric=metric, **overall) > value(clean, metric=metric, **overall) + 25
    share = [value(clean, metric="language_share", view=v, **overall) for v in ("meaning", "language")]
    assert share[0] < 5 < 60 < share[1]
    for record in found:
        assert record.low is not None
        assert record.high is not None
        assert record.low <= record.value <= record.high or record.metric == "cosine:spread"
    assert {r.metric for r in made.original if r.task == "leakage"} == {"language_share"}


def test_translations_have_a_mean_cosine_by_pair_in_every_view(
    world: SimpleNamespace, settings: EvaluationSettings, tmp_path: Path
) -> None:
    only = settings.model_copy(update={"tasks": ["translation-cosine"]})
    records = run(world, only, tmp_path / "out", [world.decomposer("dream", 1)], "dream")
    assert {(r.task, r.dataset, r.metric) for r in records} == {
        ("translation-cosine", "test", "translation-cosine")
    }
    found = {(r.subset, r.view): r.value for r in records if r.seed is None}
    assert {subset for subset, _ in found} == {"qaa-qab", "qaa-qac", "all"}
    meaning, language, sentence = (found["all", view] for view in ("meaning", "language", "sentence"))
    assert meaning > sentence > language
    assert sentence == pytest.approx(np.mean([found[pair, "sentence"] for pair in ("qaa-qab", "qaa-qac")]))


def test_a_task_without_a_benchmark_is_told(
    world: SimpleNamespace, settings: EvaluationSettings, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    fewer = SimpleNamespace(**vars(world) | {"benchmarks": world.benchmarks[:1]})
    records = run(fewer, settings, tmp_path / "out", [], "original")
    assert "the task sts" in caplog.text
    assert {r.task for r in records} == {"heldout", "tatoeba", "mining", "language-probe", "leakage"}


def test_every_two_languages_of_one_text_find_each_other_in_both_directions(
    world: SimpleNamespace, settings: EvaluationSettings, tmp_path: Path
) -> None:
    only = settings.model_copy(update={"tasks": ["nway"]})
    records = run(world, only, tmp_path / "out", [], "original")
    assert {(r.task, r.dataset, r.view, r.metric) for r in records} == {("nway", "wide", "sentence", "P@1")}
    directions = ["qaa->qab", "qab->qaa", "qaa->qac", "qac->qaa", "qab->qac", "qac->qab"]
    found = {r.subset: r for r in records if r.seed is None}
    assert sorted(found) == sorted([*directions, "all"])
    index = EmbeddingStore.open(world.store, "abc")
    vectors = {
        language: index.take(index.rows([f"wide {language} {i}" for i in range(35)], language))
        for language in ("qaa", "qab", "qac")
    }
    unit = {language: rows / np.linalg.norm(rows, axis=1)[:, None] for language, rows in vectors.items()}
    for direction in directions:
        query, candidate = direction.split("->")
        hits = (unit[query] @ unit[candidate].T).argmax(axis=1) == np.arange(35)
        assert found[direction].value == pytest.approx(100 * hits.mean())
        assert 10 < found[direction].value < 95
    assert found["all"].value == pytest.approx(np.mean([found[d].value for d in directions]))
    # Items are lines, whatever the languages: 105 pairs of sentences, 35 to draw from.
    assert found["all"].n == 3 * 35
    assert found["all"].facts["units"] == "35"
    scores = read_scores(tmp_path / "out" / "scores.npz")
    assert len({one.keys.tobytes() for one in scores.values()}) == 1


def test_mining_and_pools_have_records_that_tell_the_views_apart(
    world: SimpleNamespace, settings: EvaluationSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks = ["mining", "paracrawl", "mixed-pool", "lareqa"]
    monkeypatch.setattr(paracrawl, "QUERIES", 30)
    chosen = settings.model_copy(update={"tasks": tasks})
    decomposers = [world.decomposer("dream", seed) for seed in (1, 2)]
    records = run(world, chosen, tmp_path / "out", decomposers, "dream")
    overall = {"subset": "all", "seed": None}
    for task, metric in (("mining", "F1"), ("paracrawl", "P@1"), ("lareqa", "mAP@20")):
        datasets = {record.dataset for record in records if record.task == task}
        for dataset in datasets:
            meaning, language, sentence = (
                value(records, task=task, dataset=dataset, metric=metric, view=view, **overall)
                for view in ("meaning", "language", "sentence")
            )
            assert meaning > sentence > language, (task, dataset)
    same = {
        view: value(records, task="mixed-pool", metric="same-language", view=view, **overall)
        for view in ("meaning", "language")
    }
    assert same["meaning"] < 60 < same["language"]
    metrics = {task: {record.metric for record in records if record.task == task} for task in tasks}
    assert metrics["mining"] == {"F1", "precision", "recall", "F1:best"}
    assert metrics["mixed-pool"] == {"same-language", "coverage", "reciprocal-rank", "R-precision", "hubness"}
    assert metrics["lareqa"] == {"mAP@20", "mAP"}
    mined = next(one for one in records if one.task == "mining" and one.subset == "qaa-qab" and one.seed == 1)
    facts = mined.facts
    assert (facts["search"], facts["threshold_from"], facts["gold"]) == ("exact", "other-half", "17")
    assert mined.low is not None
    assert mined.low <= mined.value <= (mined.high or 0)
    # Questions of one language, whose ids are those of the other languages.
    assert {one.subset for one in records if one.task == "lareqa"} == {"qaa", "qab", "qac", "all"}
    assert {one.n for one in records if one.task == "lareqa" and one.subset == "all"} == {72}


def test_both_directions_of_a_classification_have_texts_of_their_own(
    world: SimpleNamespace, settings: EvaluationSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, *rows = read_rows(world.root / "wide" / "nway.tsv.gz")
    ends = {"qaa": (20, 25, 35), "qab": (20, 25, 33)}
    labelled = [
        (code, part, str(row), "ab"[row % 2], rows[row][number])
        for number, (code, (train, valid, test)) in enumerate(ends.items())
        for part, span in (("train", (0, train)), ("valid", (train, valid)), ("test", (valid, test)))
        for row in range(*span)
    ]
    folder = tmp_path / "labelled"
    folder.mkdir()
    write_pairs(folder / "labelled.tsv.gz", labelled)
    directions = [[["qaa"], "qab"], [["qab"], "qaa"]]
    (folder / "labelled.json").write_text(json.dumps({"directions": directions, "scoring": "label"}))
    monkeypatch.setattr(classification, "RUNS", 2)
    small = {"classifier_epochs": 2, "tasks": list(TRANSFER), "resamples": 50}
    chosen = settings.model_copy(update=small)
    scored = {}
    for method, decomposers in (("original", []), ("dream", [world.decomposer("dream", s) for s in (1, 2)])):
        output = tmp_path / method
        output.mkdir()
        folders = world.store, world.bitext, [folder], decomposers
        evaluate(chosen, *folders, encoder="toy", identity="abc", method=method, output=output)
        scored["toy", method] = read_scores(output / "scores.npz")
    records = read_records(tmp_path / "dream" / "records.jsonl")
    for task in TRANSFER:
        sizes = {r.subset: r.n for r in records if r.task == task and r.view == "meaning" and r.seed is None}
        assert sizes == {"qaa->qab": 8, "qab->qaa": 10, "all": 18}
        own = {r.subset: r.value for r in records if r.task == task and r.view == "meaning" and r.seed == 1}
        assert own["all"] == pytest.approx((own["qaa->qab"] + own["qab->qaa"]) / 2, abs=1e-5)
    found = compare_methods(scored, chosen, {}, hosts={})
    assert {r.task for r in found if r.metric == "difference-accuracy:original"} == set(TRANSFER)


def test_examples_are_some_of_the_sentences_that_were_scored(
    made: SimpleNamespace, world: SimpleNamespace
) -> None:
    found = [
        one for one in read_examples(made.root / "dream" / "examples.json") if one.task == "code-switched"
    ]
    assert [one.view for one in found] == ["meaning"] * 3
    rows = read_rows(world.root / "mixed" / "qac-qaa.code-switched.tsv.gz", 3)
    scored = {original: (mixed, translation) for mixed, translation, original in rows}
    for one in found:
        assert (one.dataset, one.subset) == ("mixed", "qac->qaa")
        mixed, translation = scored[one.texts["Sentence"]]
        assert one.texts["Code-switched"].replace("*", "") == mixed
        assert one.texts["Translation"] == translation
    # Drawn, so not the first ones; and drawn alike for every method.
    assert len({one.texts["Sentence"] for one in found}) == 3
    assert {one.texts["Sentence"] for one in found} != {f"original {n}" for n in range(3)}
    others = read_examples(made.root / "original" / "examples.json")
    assert [one.texts for one in others if one.task == "code-switched"] == [one.texts for one in found]
    assert {one.view for one in others} == {"sentence"}


def test_a_file_of_examples_that_is_none_is_named(tmp_path: Path) -> None:
    assert read_examples(tmp_path / "examples.json") == []
    for text in ("[", '[{"tasks": 1}]', "[1]", "3"):
        (tmp_path / "examples.json").write_text(text)
        with pytest.raises(DataError, match=r"examples\.json: not a file of examples"):
            read_examples(tmp_path / "examples.json")


def test_the_map_of_a_pair_has_both_parts_of_both_sides(made: SimpleNamespace) -> None:
    drawn = read_map(made.root / "dream" / "pair-map.npz")
    groups, counts = np.unique(np.stack([drawn.languages, drawn.parts]), axis=1, return_counts=True)
    # Of two pairs with as many sentences the last by name.
    assert groups.T.tolist() == [[code, part] for code in ("qaa", "qac") for part in ("language", "meaning")]
    assert counts.tolist() == [20] * 4
    whole = read_map(made.root / "original" / "pair-map.npz")
    assert set(whole.parts) == {"sentence"}
    # A meaning is nearest to its translation's; around a language part most of five are of its language. Which of five
    # is nearest depends on the processor, as t-SNE carries rounding on.
    nearest = np.linalg.norm(drawn.points[:, None] - drawn.points, axis=2) + np.diag(
        [np.inf] * len(drawn.points)
    )
    place = {
        group: np.flatnonzero(drawn.languages + drawn.parts == "".join(group))
        for group in map(tuple, groups.T)
    }
    meanings = place["qaa", "meaning"], place["qac", "meaning"]
    assert np.mean(nearest[meanings[0]].argmin(axis=1) == meanings[1]) > 0.7
    for code in ("qaa", "qac"):
        own = place[code, "language"]
        assert (np.isin(nearest[own].argsort(axis=1)[:, :5], own).mean(axis=1) > 0.5).all()


def test_the_map_of_a_pair_is_the_same_on_any_number_of_threads() -> None:
    rows = np.random.default_rng(1).normal(size=(4, 60, 12))
    groups = {(code, part): rows[n] for n, (code, part) in enumerate(product("ab", ("meaning", "language")))}
    drawn = []
    for threads in (1, 3):
        with threadpool_limits(threads):
            drawn.append(project_pair(groups))
    assert np.array_equal(drawn[0].points, drawn[1].points)
    assert project_pair({("a", "sentence"): rows[0, :19], ("b", "sentence"): rows[1, :20]}) is None
    same = project_pair({("a", "sentence"): np.ones((30, 4)), ("b", "sentence"): np.ones((30, 4))})
    assert same is not None
    assert np.isfinite(same.points).all()
