"""An EMS that is trained by the clock: packed, trained and measured at tiny size on a CPU."""

from __future__ import annotations

import itertools
import json
import math
import random
import shutil
import time
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import quarter_hour
import torch
from cut_text import tokens_of
from quarter_hour import Measurement, Packing, Read, Trained, of_steps, of_width, pack, rates, train, unpack
from toy_training import SETTINGS, WORDS, write_folder

import plan
from orthoglot.embeddings.settings import EmbeddingSettings
from orthoglot.study.pretraining import trainer
from orthoglot.study.pretraining.inputs import Inputs, RunOptions
from orthoglot.study.pretraining.kinds.ems import EmsSettings
from orthoglot.study.pretraining.tokenised import SPLITS, read_bitext
from orthoglot.study.pretraining.trainings.ems import pretrain_ems
from orthoglot.study.tasks.settings import EvaluationSettings
from orthoglot.text.bitext import SentencePair, read_rows, write_pairs
from orthoglot.text.prepared import read_split
from orthoglot.training import checkpoint as checkpoints
from orthoglot.training import loop
from orthoglot.training.settings import MethodSettings

ROOT = Path(__file__).resolve().parents[2]
TOY = SETTINGS.model_copy(
    update={"precision": "bfloat16", "steps": 60, "validate_every": 20, "warmup_steps": 6}
)
MINUTES = 0.1
TEST_SETS = ("heldout", "nway", "tatoeba")


def sentences(count: int) -> list[tuple[str, ...]]:
    """English, German and French."""
    draw = random.Random(0)
    rows = {tuple(draw.sample(sorted(WORDS), draw.randint(2, 5))) for _ in range(count)}
    tables = ({word: word for word in WORDS}, WORDS, {word: f"{word[::-1]}e" for word in WORDS})
    return [tuple(" ".join(table[word] for word in row) for table in tables) for row in sorted(rows)]


def toy(
    place: Path,
    rows: list[tuple[str, ...]],
    languages: Sequence[str] = ("de", "fr"),
    encoder: EmsSettings = TOY,
) -> Packing:
    """A finished preparation of English with two languages, which are the columns of the rows."""
    # The last test pair is one of the training pairs.
    splits = {"train": rows[130:], "valid": rows[90:130], "test": [*rows[30:90], rows[-1]]}
    bitext = [
        write_folder(
            place / "bitext" / f"en-{language}",
            {name: [SentencePair(row[0], row[column]) for row in part] for name, part in splits.items()},
        )
        for column, language in enumerate(languages, start=1)
    ]
    for name, file, table in (
        ("nway", "nway.tsv.gz", [("en", *languages), *rows[:30]]),
        ("tatoeba", f"{languages[0]}-en.tsv.gz", [(row[1], row[0]) for row in rows[:30]]),
    ):
        (folder := place / "benchmarks" / name).mkdir(parents=True)
        write_pairs(folder / file, table)
    return Packing(
        name="toy",
        encoder=encoder,
        embedding=EmbeddingSettings(train_pairs=100),
        evaluation=EvaluationSettings(tasks=list(TEST_SETS), resamples=50),
        method=MethodSettings.model_validate({"architecture": "plda"}),
        bitext=bitext,
        benchmarks=sorted((place / "benchmarks").iterdir()),
        tokens=tokens_of(encoder, bitext, place),
    )


def measure(file: Path, place: Path) -> dict[str, Any]:
    """All stages, after a trial of a few steps."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(quarter_hour, "PILOT", 20)
        patch.setattr(quarter_hour, "WARMUP", 10)
        Measurement(file, place, "cpu", MINUTES, None).measure()
    return json.loads((place / "result.json").read_text())


@pytest.fixture(scope="module")
def packing(tmp_path_factory: pytest.TempPathFactory) -> Packing:
    return toy(tmp_path_factory.mktemp("toy"), sentences(400))


@pytest.fixture(scope="module")
def file(packing: Packing, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("packed") / "toy.tar.xz"
    pack(packing, path)
    return path


@pytest.fixture(scope="module")
def measured(file: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    place = tmp_path_factory.mktemp("measured")
    return place, measure(file, place)


def test_a_file_holds_the_tokens_and_test_sets_of_a_preparation(
    packing: Packing, file: Path, tmp_path: Path
) -> None:
    unpack(file, tmp_path)
    bitext = sorted((tmp_path / "bitext").iterdir())
    for split in SPLITS:
        ours, theirs = (
            read_bitext(bitext, split, tmp_path / "tokens"),
            read_bitext(packing.bitext, split, packing.tokens),
        )
        assert ours.sizes == theirs.sizes
        for side, expected in zip(ours.sides, theirs.sides, strict=True):
            np.testing.assert_array_equal(side.ids, expected.ids)
            np.testing.assert_array_equal(side.offsets, expected.offsets)
    for folder, original in zip(bitext, packing.bitext, strict=True):
        assert read_split(folder, "valid") == read_split(original, "valid")
        assert read_split(folder, "train") == read_split(original, "train")[:100]
        # The last one was trained on.
        assert read_split(folder, "test") == read_split(original, "test")[:-1]
    for name in ("nway/nway.tsv.gz", "tatoeba/de-en.tsv.gz"):
        original = packing.benchmarks[0].parent / name
        assert list(read_rows(tmp_path / "benchmarks" / name)) == list(read_rows(original))


def test_ids_take_two_bytes_where_these_suffice(packing: Packing, tmp_path: Path) -> None:
    """65,535 is the largest; one more id, and they are kept as they are."""
    for largest, name in ((65_535, "source.uint16"), (65_536, "source.ids")):
        ids = np.array([0, largest], np.int32)
        tokens = tmp_path / f"{largest}"
        (tokens / "train").mkdir(parents=True)
        ids.tofile(tokens / "train/source.ids")
        pack(packing._replace(tokens=tokens), tmp_path / "packed")
        with quarter_hour.tarfile.open(tmp_path / "packed") as archive:
            assert f"tokens/train/{name}" in archive.getnames()
        unpack(tmp_path / "packed", tmp_path / f"unpacked-{largest}")
        back = np.fromfile(tmp_path / f"unpacked-{largest}/tokens/train/source.ids", np.int32)
        np.testing.assert_array_equal(back, ids)


def check(result: dict[str, Any]) -> None:
    """All numbers are finite, of their range, and fit together."""
    stages = result["stages"]
    assert set(stages) == {"packed", "trial", "training", "vectors", "plda", "scores-original", "scores-plda"}
    trial, training = stages["trial"], stages["training"]
    for stage in (trial, training):
        assert all(math.isfinite(value) and value > 0 for value in stage.values() if isinstance(value, float))
        assert stage["steps"] / stage["seconds"] == pytest.approx(stage["steps per second"])
        ratio = stage["computed tokens per second"] / stage["real tokens per second"]
        assert ratio == pytest.approx(stage["computed / real tokens"])
        assert ratio >= 1
    assert trial["planned steps"] == int(MINUTES * 60 * 0.9 * trial["steps per second"])
    settings = training["settings"]
    assert settings["steps"] == trial["planned steps"]
    assert training["ended by"] in ("steps", "clock")
    if training["ended by"] == "steps":
        assert training["steps"] == training["steps done"] == trial["planned steps"]
        epochs = math.ceil(settings["steps"] / settings["validate_every"])
        assert [row["epoch"] for row in training["loss curve"]] == list(range(epochs))
    for method, views in {"original": ["sentence"], "plda": ["sentence", "meaning", "language"]}.items():
        scores = stages[f"scores-{method}"]
        expected = {f"{task}, {view}" for task in TEST_SETS for view in views}
        assert {name for name in scores if name != "stage seconds"} == expected
        assert all(
            0 <= low <= value <= high <= 100 for value, low, high in (scores[name] for name in expected)
        )


def test_a_result_has_numbers_that_fit_together(measured: tuple[Path, dict[str, Any]]) -> None:
    _, result = measured
    check(result)
    assert result["environment"]["torch"] == torch.__version__
    assert result["stages"]["training"]["settings"]["seed"] == 1


def test_real_text_is_packed_trained_on_and_measured(shared_data: Path, tmp_path: Path) -> None:
    """English with Maori and Guarani."""
    place = shared_data.parent / "data_more/nllb_seed"
    if not place.exists():
        pytest.skip("NLLB-Seed (../shared/data_more) is not beside this checkout")
    files = [place / f"seed.{name}.tsv.gz" for name in ("eng_Latn", "mri_Latn", "gug_Latn")]
    columns = [[sentence for (sentence,) in islice(read_rows(file, 1), 500)] for file in files]
    rows = [row for row in zip(*columns, strict=True) if all(row)]
    network = TOY.network.model_copy(
        update={"tokenizer": TOY.network.tokenizer.model_copy(update={"vocabulary": 400})}
    )  # type: ignore[union-attr]
    packing = toy(tmp_path, rows, ("mi", "gn"), TOY.model_copy(update={"network": network}))
    pack(packing, tmp_path / "packed")
    check(measure(tmp_path / "packed", tmp_path / "measured"))


def test_a_second_call_repeats_no_stage(
    measured: tuple[Path, dict[str, Any]], file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, result = measured
    monkeypatch.setattr(quarter_hour, "train", None)
    monkeypatch.setattr(quarter_hour, "embed", None)
    (place / "result.json").unlink()
    # The last stage alone, which is made again of the others.
    shutil.rmtree(place / "scores-plda")
    again = measure(file, place)["stages"]
    for stages in (again, result["stages"]):
        stages["scores-plda"].pop("stage seconds", None)
    assert again == result["stages"]


def test_a_folder_of_another_choice_is_refused(measured: tuple[Path, dict[str, Any]], file: Path) -> None:
    with pytest.raises(SystemExit, match=r"is of .*'width': 32.*, not of .*'width': 64.*name another folder"):
        Measurement(file, measured[0], "cpu", MINUTES, 64).measure()


def test_it_trains_as_the_workflow_does(packing: Packing, tmp_path: Path) -> None:
    settings = SETTINGS.model_copy(update={"steps": 20, "validate_every": 10})
    inputs = Inputs(packing.bitext, tokens=packing.tokens)
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    for output in (ours, theirs):
        output.mkdir()
    trained = train(settings, "toy", inputs, RunOptions("cpu", tmp_path / "state-1"), ours, math.inf)
    pretrain_ems(settings, "toy", inputs, RunOptions("cpu", tmp_path / "state-2"), theirs)
    assert trained.ended == "steps"
    for name in ("model.safetensors", "history.jsonl", "encoder.json"):
        assert (ours / name).read_bytes() == (theirs / name).read_bytes()


def test_tokens_are_those_of_the_sentences_and_of_the_chunks(packing: Packing, tmp_path: Path) -> None:
    """A step over all pairs: all tokens, and padding up to the longest sentence. EMS adds none around it."""
    corpus = read_bitext(packing.bitext, "train", packing.tokens)
    changed = {"steps": 1, "validate_every": 1, "batch_size": len(corpus), "chunk_tokens": 100_000}
    (tmp_path / "encoder").mkdir()
    run = RunOptions("cpu", tmp_path / "state")
    inputs = Inputs(packing.bitext, tokens=packing.tokens)
    trained = train(SETTINGS.model_copy(update=changed), "toy", inputs, run, tmp_path / "encoder", math.inf)
    read, rows = trained.read, 2 * len(corpus)
    lengths = np.concatenate([side.lengths for side in corpus.sides])
    assert read.steps == 1
    assert read.real == lengths.sum()
    assert read.computed == rows * lengths.max() > read.real
    # 1 layer of width 32, 64 within; head of 32 + 8; V tokens; 16 numbers are compared.
    vocabulary = json.loads((tmp_path / "encoder/config.json").read_text())["vocab_size"]
    layer = lengths.sum() * (4 * 32 * 32 + 2 * 32 * 64) + 2 * 32 * (lengths**2).sum()
    heads = rows * (40 * 40 + 40 * vocabulary + 32 * 32 + 32 * 16)
    assert read.flop == 6 * (layer + heads + len(corpus) ** 2 * 16)


def test_rates_by_hand() -> None:
    speeds = rates(Read(steps=10, real=400, computed=1000, flop=3e12), 5.0, 2e12)
    assert speeds == {
        "steps": 10,
        "seconds": 5.0,
        "steps per second": 2.0,
        "real tokens per second": 80.0,
        "computed tokens per second": 200.0,
        "computed / real tokens": 2.5,
        "MFU, %": pytest.approx(30.0),
    }


def test_a_training_stops_by_the_clock_and_goes_on_after_a_kill(
    packing: Packing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inputs, run = Inputs(packing.bitext, tokens=packing.tokens), RunOptions("cpu", tmp_path / "state")
    monkeypatch.setattr(loop, "SECONDS_BETWEEN_SAVES", 0.0)
    monkeypatch.setattr(loop, "SAVE_SHARE", 0)
    # A second passes whenever the time is asked for.
    seconds = itertools.count()
    for clock in ("monotonic", "perf_counter"):
        monkeypatch.setattr(time, clock, lambda: float(next(seconds)))

    def part(number: int, limit: float = 100.0) -> Trained:
        (output := tmp_path / f"encoder-{number}").mkdir()
        return train(of_steps(TOY, 600), "toy", inputs, run, output, limit)

    def done() -> int:
        return int(checkpoints.load(run.checkpoint / loop.FILE)["progress"]["done"])

    first = part(1)
    assert first.ended == "clock"
    assert 5 < done() == first.read.steps < 50
    assert (tmp_path / "encoder-1/model.safetensors").exists()
    # What was done before is not repeated, and its time is not given again.
    second = part(2)
    assert second.ended == "clock"
    assert 0 < second.read.steps < first.read.steps / 2 + 1
    assert done() == second.done == first.read.steps + second.read.steps
    # The time is over: the weights are written as they are.
    third = part(3, limit=0.0)
    assert (third.ended, third.read.steps, third.done) == ("clock", 0, done())
    weights = [(tmp_path / f"encoder-{number}/model.safetensors").read_bytes() for number in (1, 2, 3)]
    assert weights[0] != weights[1] == weights[2]


def test_a_killed_stage_goes_on_where_it_was(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quarter_hour, "PILOT", 20)
    monkeypatch.setattr(quarter_hour, "WARMUP", 10)
    monkeypatch.setattr(loop, "SECONDS_BETWEEN_SAVES", 0.0)
    monkeypatch.setattr(loop, "SAVE_SHARE", 0)
    made = Measurement(file, tmp_path, "cpu", 1.0, None)
    made.stage("trial", made.try_out)
    facts = made.facts("trial") | {"planned steps": 30}
    (tmp_path / "trial" / quarter_hour.STAGE).write_text(json.dumps(facts))

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(trainer.Training, "save", killed)
        with pytest.raises(KeyboardInterrupt):
            made.stage("training", made.train)
    assert not (tmp_path / "training").exists()
    made.stage("training", made.train)
    training = made.facts("training")
    assert (training["steps done"], training["ended by"], len(training["loss curve"])) == (30, "steps", 3)
    assert "steps" not in training, "some were done again"


def test_another_width_keeps_the_heads_of_the_paper() -> None:
    wide = of_width(TOY, 256).network
    assert (wide.width, wide.heads, wide.feed_forward) == (256, 4, 1024)  # type: ignore[union-attr]
    assert of_width(TOY, 256).model_copy(update={"network": TOY.network}) == TOY


def test_other_steps_keep_the_shares_of_warmup_and_validation() -> None:
    longer = of_steps(TOY, 600)
    assert (longer.steps, longer.warmup_steps, longer.validate_every) == (600, 60, 200)


def test_what_the_workflow_must_have_prepared(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(
        SystemExit, match=r"is not prepared: run snakemake .* measurements/small-ems/gpu.yaml"
    ):
        quarter_hour.prepared_by_the_workflow()
    monkeypatch.setattr(plan.Plan, "done", lambda self, folder: True)
    packing = quarter_hour.prepared_by_the_workflow()
    assert len(packing.bitext) == 48
    assert [folder.name for folder in packing.benchmarks] == ["flores-ems-40", "tatoeba-ems-40"]
    assert packing.tokens.parent == Path("models/ems-40-gpu/tokens")
    network = packing.encoder.network
    assert (network.layers, network.width, network.tokenizer.vocabulary) == (6, 512, 32_000)  # type: ignore[union-attr]
    # `--width` makes the other sizes of the network as its settings do.
    assert of_width(packing.encoder, 512) == packing.encoder
