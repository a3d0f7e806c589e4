"""Heads learn what can be learnt, stay at chance where nothing can, and records say what was done."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from toy_benchmarks import stage, write_answers, write_graded, write_labelled

from orthoglot.statistics.records import ALL, Record, read_records
from orthoglot.statistics.settings import ResamplingSettings
from orthoglot.statistics.summary import Key, read_scores
from orthoglot.study.finetuning.gather import gather
from orthoglot.study.finetuning.settings import Form, Stage
from orthoglot.study.finetuning.tune import TuningSettings, fine_tune

RESAMPLING = ResamplingSettings(resamples=200, confidence=0.95, seed=1)


def tuned(
    encoder: Path, place: Path, stages: list[Stage], tests: list[str], *folders: Path, seed: int = 42
) -> Path:
    """The output of a fine-tuning in `place`."""
    settings = TuningSettings(
        encoder="toy", seed=seed, stages=stages, tests=tests, precision="float32", threads=1
    )
    output = place / f"seed{seed}"
    output.mkdir(parents=True)
    named = {folder.name: folder for folder in folders}
    fine_tune(settings, encoder, named, device="cpu", checkpoint=place / "state", output=output)
    return output


def means(folder: Path) -> dict[tuple[str, str], float]:
    """The mean of the first column of the scores, by data set and subset."""
    return {
        (key.dataset, key.subset): float(np.nanmean(one.values))
        for key, one in read_scores(folder / "scores.npz").items()
    }


@pytest.mark.parametrize(("form", "texts"), [("texts", 1), ("pairs", 2), ("choices", 4)])
def test_labels_that_words_decide_are_learnt(form: Form, texts: int, encoder: Path, tmp_path: Path) -> None:
    folder = write_labelled(tmp_path / "sets" / "toys", texts)
    output = tuned(encoder, tmp_path, [stage("toys", form)], ["toys"], folder)
    found = means(output)
    assert set(found) == {("toys", "en->en"), ("toys", "en->de")}
    assert found["toys", "en->en"] > 0.93
    rows = [json.loads(line) for line in (output / "history.jsonl").read_text().splitlines()]
    assert max(row["valid.kept by"] for row in rows) > 0.93


def test_shuffled_labels_stay_at_chance(encoder: Path, tmp_path: Path) -> None:
    folder = write_labelled(tmp_path / "sets" / "shuffled", 2, shuffled=True)
    found = means(tuned(encoder, tmp_path, [stage("shuffled", "pairs", epochs=3)], ["shuffled"], folder))
    assert abs(found["shuffled", "en->en"] - 0.5) < 0.2
    assert abs(found["shuffled", "en->de"] - 0.5) < 0.2


@pytest.mark.parametrize(("scoring", "task", "measure", "form"), [
    ("number", "classification", "MAE", "texts"),
    ("several", "classification-logistic", "mRP", "documents"),
])  # fmt: skip
def test_numbers_and_several_labels_have_the_measure_of_the_frozen_task(
    scoring: str, task: str, measure: str, form: Form, encoder: Path, tmp_path: Path
) -> None:
    folder = write_labelled(tmp_path / "sets" / scoring, 1, scoring=scoring)
    output = tuned(encoder, tmp_path, [stage(scoring, form)], [scoring], folder)
    scores = read_scores(output / "scores.npz")
    assert {(key.task, key.measure) for key in scores} == {(task, measure)}
    value = float(scores[Key(task, scoring, "en->en", "sentence", 42, measure)].values.mean())
    assert value < 0.3 if scoring == "number" else value > 0.93


def test_cosines_follow_the_gold_scores(encoder: Path, tmp_path: Path) -> None:
    folders = (
        write_graded(tmp_path / "sets" / "train"),
        write_graded(tmp_path / "sets" / "valid", seed=2, count=60),
        write_graded(tmp_path / "sets" / "quality", kind="qe", seed=3, count=80),
    )
    stages = [stage("train", "similarity", "valid", epochs=4, learning_rate=1e-3)]
    output = tuned(encoder, tmp_path, stages, ["valid", "quality"], *folders)
    gather([output], RESAMPLING, "toy", "1", output)
    found = {(one.task, one.metric): one.value for one in records(output) if one.subset == "en-en"}
    assert found["sts", "spearman"] > 80
    assert found["qe", "pearson"] > 80


def test_answers_are_found_by_words_that_were_learnt(encoder: Path, tmp_path: Path) -> None:
    folders = (
        write_answers(tmp_path / "sets" / "train", 300),
        write_answers(tmp_path / "sets" / "valid", 40, seed=2),
        write_answers(tmp_path / "sets" / "pool", 60, seed=3, languages=("en", "de")),
    )
    stages = [stage("train", "answers", "valid", epochs=6, learning_rate=1e-3)]
    before = [stage("train", "answers", "valid", epochs=1, learning_rate=1e-12)]
    after, frozen = (
        means(tuned(encoder, tmp_path / name, some, ["pool"], *folders))
        for name, some in (("a", stages), ("b", before))
    )
    assert after["pool", "en"] > max(0.6, frozen["pool", "en"] + 0.1)


def test_a_later_stage_goes_on_with_the_network_of_the_first(encoder: Path, tmp_path: Path) -> None:
    folders = (
        write_labelled(tmp_path / "sets" / "nli", 2),
        write_graded(tmp_path / "sets" / "train"),
        write_graded(tmp_path / "sets" / "valid", seed=2, count=60),
    )
    one = stage("train", "similarity", "valid", epochs=1, learning_rate=1e-12)
    alone = tuned(encoder, tmp_path / "alone", [one], ["valid"], *folders)
    after = tuned(
        encoder, tmp_path / "after", [stage("nli", "inference", epochs=2), one], ["valid"], *folders
    )
    first, second = (read_scores(folder / "scores.npz") for folder in (alone, after))
    (key,) = first
    assert not np.allclose(first[key].values[:, 0], second[key].values[:, 0], atol=1e-3)
    facts = json.loads((after / "facts.json").read_text())
    assert facts[0][1]["trained_on"] == "nli+train"


def test_choices_go_on_with_the_head_of_choices(encoder: Path, tmp_path: Path) -> None:
    folder = write_labelled(tmp_path / "sets" / "toys", 4)
    still = stage("toys", "choices", epochs=1, learning_rate=1e-12)
    after = tuned(encoder, tmp_path / "after", [stage("toys", "choices"), still], ["toys"], folder)
    alone = tuned(encoder, tmp_path / "alone", [still], ["toys"], folder)
    assert means(after)["toys", "en->en"] > 0.93
    assert means(alone)["toys", "en->en"] < 0.75


def records(folder: Path) -> list[Record]:
    return read_records(folder / "records.jsonl")


def test_records_are_those_of_a_method_called_fine_tuned(encoder: Path, tmp_path: Path) -> None:
    folder = write_labelled(tmp_path / "sets" / "toys", 2)
    (folder / "source.txt").write_text("toys-source\n")
    made = [
        tuned(encoder, tmp_path, [stage("toys", "pairs", epochs=2)], ["toys"], folder, seed=seed)
        for seed in (1, 2)
    ]
    output = tmp_path / "records"
    output.mkdir()
    gather(made, RESAMPLING, "toy", "1", output)
    found = {(one.subset, one.seed): one for one in records(output)}
    assert set(found) == {(subset, seed) for subset in ("en->en", "en->de", ALL) for seed in (1, 2, None)}
    one = found["en->de", None]
    assert (one.task, one.dataset, one.method, one.view, one.metric) == (
        "classification",
        "toys",
        "fine-tuned",
        "sentence",
        "accuracy",
    )
    assert one.low is not None
    assert one.high is not None
    assert one.low <= one.value <= one.high
    assert one.value == pytest.approx((found["en->de", 1].value + found["en->de", 2].value) / 2, abs=1e-4)
    assert one.facts["architecture"] == "fine-tuned"
    assert one.facts["source"] == "toys-source"
    assert one.facts["checkpoint"] == "toy-checkpoint"
    assert one.facts["chance"] == "50.0"
    assert one.facts["seeds"] == "1,2"
