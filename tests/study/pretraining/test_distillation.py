"""Distillation: a student comes to give both sides the teacher's vector of the source."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from checkpoints import xlmr
from cut_text import tokens_of
from kills import kill_at_saves
from test_networks import encoder_folder
from torch import nn
from toy_training import SETTINGS, word_for_word, write_folder

from orthoglot.encoders.folder import load_encoder
from orthoglot.errors import ConfigError
from orthoglot.study.pretraining.collate import Chunk, TokenBatch
from orthoglot.study.pretraining.inputs import Inputs, RunOptions
from orthoglot.study.pretraining.kinds.distillation import DistillationSettings
from orthoglot.study.pretraining.trainings import distillation as module
from orthoglot.study.pretraining.trainings.distillation import DistillationBatch, DistillationModel, distill
from orthoglot.text import bitext as bitext_module
from orthoglot.text.bitext import SentencePair

SHARED = set(DistillationSettings.model_fields) - {"kind", "teacher"}
RECIPE = DistillationSettings.model_validate(
    SETTINGS.model_dump(include=SHARED)
    | {"kind": "distillation", "teacher": "toy", "steps": 200, "validate_every": 50}
)


def run(bitext: list[Path], teacher: Path, place: Path, **changed: Any) -> Path:
    output = place / "student"
    output.mkdir(parents=True)
    settings = RECIPE.model_copy(update=changed)
    tokens = tokens_of(settings, bitext, place)
    inputs = Inputs(bitext, tokens=tokens, encoders={"teacher": teacher})
    distill(settings, "student", inputs, RunOptions("cpu", place / "state"), output)
    return output


def test_the_loss_by_hand() -> None:
    vectors = torch.tensor([[1.0, 2.0], [0.0, 1.0], [3.0, 0.0], [1.0, 1.0]])
    taught = torch.tensor([[1.0, 0.0], [2.0, 1.0]])

    class Lookup(nn.Module):
        def forward(self, ids: torch.Tensor, padded: bool) -> torch.Tensor:
            return vectors[ids[:, 0]]

    chunk = Chunk(torch.arange(4)[:, None], False)
    values = DistillationModel(Lookup(), "float32")(
        DistillationBatch(TokenBatch((chunk,), torch.arange(4)), taught)
    )
    assert values["source"].item() == (4 + 4) / 4
    assert values["target"].item() == (4 + 1) / 4
    assert values["total"].item() == 13 / 4


def test_both_sides_come_near_the_teachers_vector_of_the_source(
    bitext: list[Path], trained_ems: Path, tmp_path: Path
) -> None:
    output = run(bitext, trained_ems, tmp_path)
    history = [json.loads(line) for line in (output / "history.jsonl").read_text().splitlines()]
    assert history[-1]["valid.retrieval"] > 60
    pairs = word_for_word(60, 2)
    master, student = load_encoder(trained_ems, "cpu"), load_encoder(output, "cpu")
    taught = master.encode([pair.source for pair in pairs], "en", 1000)
    spread = ((taught - taught.mean(0)) ** 2).mean()
    for side, language in enumerate(("en", "de")):
        found = student.encode([pair[side] for pair in pairs], language, 1000)
        assert ((found - taught) ** 2).mean() < 0.5 * spread
    assert student.name == "student"


class Asked:
    """A teacher that remembers what it was asked."""

    def __init__(self, teacher: Any) -> None:
        self.teacher, self.dim, self.name, self.languages = (
            teacher,
            teacher.dim,
            teacher.name,
            teacher.languages,
        )
        self.sentences: list[str] = []

    def encode(self, sentences: Sequence[str], language: str, batch_tokens: int) -> np.ndarray:
        self.sentences += sentences
        return self.teacher.encode(sentences, language, batch_tokens)


def test_the_teacher_is_read_once_and_a_killed_training_goes_on_to_the_same_bytes(
    bitext: list[Path], trained_ems: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = Asked(load_encoder(trained_ems, "cpu"))
    monkeypatch.setattr(module, "load_encoder", lambda *_: asked)
    monkeypatch.setattr(bitext_module, "BLOCK", 150)
    whole = run(bitext, trained_ems, tmp_path / "whole", steps=40, validate_every=20)
    sources = [pair.source for pair in word_for_word(400, 0)]
    assert asked.sentences == sources + [pair.source for pair in word_for_word(60, 1)]
    taught = np.load(tmp_path / "whole/state/teacher-train.npy")
    np.testing.assert_allclose(taught, asked.teacher.encode(sources, "en", 1000), atol=1e-5)
    kill_at_saves(monkeypatch, 27)
    with pytest.raises(KeyboardInterrupt):
        run(bitext, trained_ems, tmp_path / "cut", steps=40, validate_every=20)
    asked.sentences.clear()
    (tmp_path / "cut/student").rmdir()
    resumed = run(bitext, trained_ems, tmp_path / "cut", steps=40, validate_every=20)
    assert asked.sentences == []
    names = sorted(path.name for path in whole.iterdir())
    assert [name for name in names if (resumed / name).read_bytes() != (whole / name).read_bytes()] == []


def test_vectors_stay_with_their_pairs_where_pairs_are_left_out(
    bitext: list[Path], trained_ems: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pairs without tokens are dropped from two folders; every other row is still taught its own source."""
    monkeypatch.setattr(bitext_module, "BLOCK", 2)
    nothing = SentencePair("\u200d", "rot")
    rows = word_for_word(12, 3)
    more = write_folder(
        tmp_path / "text/en-de", {"train": [rows[0], nothing, *rows[1:4], nothing], "valid": rows[4:6]}
    )
    other = write_folder(
        tmp_path / "text/en-fr", {"train": [nothing, *rows[6:9]], "valid": [nothing, rows[9]]}
    )
    run([more, other], trained_ems, tmp_path / "run", steps=1, validate_every=1)
    expected = [pair.source for pair in [*rows[:4], *rows[6:9]]]
    taught = np.load(tmp_path / "run/state/teacher-train.npy")
    np.testing.assert_allclose(
        taught, load_encoder(trained_ems, "cpu").encode(expected, "en", 1000), atol=1e-5
    )


def test_a_teacher_that_does_not_cover_the_first_side_is_refused_at_once(
    bitext: list[Path], trained_ems: Path, tmp_path: Path
) -> None:
    text = write_folder(tmp_path / "text/ja-de", {"train": word_for_word(8, 0), "valid": word_for_word(4, 1)})
    with pytest.raises(ConfigError, match="toy: does not cover language 'ja'"):
        run([text], trained_ems, tmp_path / "run")
    assert not (tmp_path / "run/state").exists()


def test_a_teacher_of_another_size_is_refused(bitext: list[Path], tmp_path: Path) -> None:
    teacher = encoder_folder(tmp_path / "encoder", xlmr(tmp_path / "checkpoint"), "mean")
    with pytest.raises(ConfigError, match="student: has vectors of 32 numbers, its teacher small of 8"):
        run(bitext, teacher, tmp_path / "run")
