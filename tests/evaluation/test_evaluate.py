from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from orthoglot.corpora.bitext import SentencePair, write_pairs
from orthoglot.errors import ConfigError, DataError
from orthoglot.evaluation.base import Record, keys_of, read_records, unsign
from orthoglot.evaluation.evaluate import evaluate
from orthoglot.evaluation.maps import read_map
from orthoglot.evaluation.settings import EvaluationSettings
from orthoglot.evaluation.summary import Key, read_hits


def run(
    world: SimpleNamespace, settings: EvaluationSettings, output: Path, decomposers: list[Path], method: str
) -> list[Record]:
    output.mkdir()
    folders = world.store, world.bitext, world.benchmarks, decomposers
    evaluate(settings, *folders, encoder="toy", identity="abc", method=method, output=output)
    return read_records(output / "records.jsonl")


def value(records: list[Record], **wanted: object) -> float:
    found = [r for r in records if all(getattr(r, name) == to for name, to in wanted.items())]
    assert len(found) == 1
    return found[0].value


def test_meaning_rises_language_falls_and_the_probe_says_the_opposite(
    world: SimpleNamespace, settings: EvaluationSettings, tmp_path: Path
) -> None:
    decomposers = [world.decomposer("dream", seed) for seed in (1, 2)]
    records = run(world, settings, tmp_path / "out", decomposers, "dream")
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


def test_one_record_per_direction_view_and_seed_and_the_means_over_both(
    world: SimpleNamespace, settings: EvaluationSettings, tmp_path: Path
) -> None:
    records = run(world, settings, tmp_path / "out", [world.decomposer("dream", s) for s in (1, 2)], "dream")
    heldout = [r for r in records if r.task == "heldout" and r.view == "meaning"]
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


def test_hits_are_in_the_order_of_the_test_file(
    world: SimpleNamespace, settings: EvaluationSettings, tmp_path: Path
) -> None:
    records = run(world, settings, tmp_path / "out", [], "original")
    found = read_hits(tmp_path / "out" / "hits.npz")
    hits = found[Key("heldout", "test", "qaa->qab", "sentence", 0)]
    assert hits.values.shape == (50,)
    back = found[Key("heldout", "test", "qab->qaa", "sentence", 0)]
    assert (hits.keys == back.keys).all()
    assert (hits.keys == keys_of(f"qaa qaa-qab test {i}" for i in range(50))).all()
    direction = {"task": "heldout", "subset": "qaa->qab", "view": "sentence"}
    assert value(records, seed=0, **direction) == pytest.approx(100 * hits.values.mean())
    assert {r.view for r in records} == {"sentence"}


def test_a_signature_says_how_the_number_was_made(
    world: SimpleNamespace, settings: EvaluationSettings, tmp_path: Path
) -> None:
    records = run(world, settings, tmp_path / "out", [], "original")
    facts = unsign(next(r for r in records if r.subset == "qaa->qab").signature)
    assert {
        "metric": "accuracy",
        "candidates": "50",
        "ties": "lowest-index",
        "seen_dropped": "0",
    }.items() <= (facts.items())
    assert (facts["resamples"], facts["confidence"], facts["encoder"]) == ("500", "0.95", "abc")
    probe = unsign(next(r for r in records if r.task == "language-probe").signature)
    assert float(probe["chance"]) == pytest.approx(100 / 3, abs=1e-5)
    assert (probe["C"], probe["max_iter"], probe["converged"]) == ("1.0", "500", "1")


def test_what_another_pair_trains_on_is_neither_a_query_nor_a_candidate(
    world: SimpleNamespace, settings: EvaluationSettings, tmp_path: Path
) -> None:
    copies = [Path(shutil.copytree(folder, tmp_path / folder.name)) for folder in world.bitext]
    write_pairs(copies[1] / "train.tsv.gz", [SentencePair("QAA, qaa-qab: test 7!", "new")])
    changed = SimpleNamespace(**vars(world) | {"bitext": copies})
    records = run(changed, settings, tmp_path / "out", [], "original")
    facts = {r.subset: unsign(r.signature) for r in records if r.task == "heldout"}
    assert (facts["qaa->qab"]["candidates"], facts["qaa->qab"]["seen_dropped"]) == ("49", "1")
    assert (facts["qaa->qac"]["candidates"], facts["qaa->qac"]["seen_dropped"]) == ("50", "0")
    assert (facts["all"]["seen_dropped"], facts["all"]["units"]) == ("0-1", "99")


def test_same_settings_same_bytes(
    world: SimpleNamespace, settings: EvaluationSettings, tmp_path: Path
) -> None:
    for name in ("one", "two"):
        run(world, settings, tmp_path / name, [world.decomposer("dream", 1)], "dream")
    for file in ("records.jsonl", "hits.npz", "map.npz"):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()


def test_the_map_shows_equally_many_of_every_group(
    world: SimpleNamespace, settings: EvaluationSettings, tmp_path: Path
) -> None:
    run(world, settings, tmp_path / "out", [world.decomposer("dream", 1)], "dream")
    drawn = read_map(tmp_path / "out" / "map.npz")
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
