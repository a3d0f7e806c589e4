"""Pieces that a tokenizer does not know: a warning once a language, and ids as they were."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
from test_pretrain import SETTINGS as EMS
from test_pretrain import word_for_word, write_folder
from test_students import SETTINGS, encoder_folder

from checkpoints import xlmr
from orthoglot.corpora.bitext import SentencePair
from orthoglot.encoders.settings import EmsSettings
from orthoglot.encoders.tokenization import Ragged
from orthoglot.training.pretrain import pretrain_ems
from orthoglot.training.recipe import Place
from orthoglot.training.students import EmsStudent, TrainedStudent
from orthoglot.training.unknown import UnknownPieces

KNOWN, CYRILLIC = "the cat sat on a mat", "кот сидел на mat"


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]


def test_more_than_a_tenth_is_told_once_a_language(caplog: pytest.LogCaptureFixture) -> None:
    unknown = UnknownPieces(3)
    rows = Ragged.of([[3, 5, 5], [5] * 7, []])
    assert unknown.counted(rows, "gn") is rows
    unknown.tell("small")
    assert warnings(caplog) == []  # one of ten is no more than a tenth
    # Blocks count together; what was told before does not thin out what is read now.
    unknown.counted(Ragged.of([[3] * 6, [5] * 2]), "ru")
    unknown.counted(Ragged.of([[5] * 4]), "ru")
    unknown.counted(Ragged.of([[3, 5]]), "gn")
    unknown.tell("small")
    wording = (
        "small: 50.0% of {1} pieces of {0} are unknown to its tokenizer, which reads all of them as one; start from an "
        "encoder that knows them (`orthoglot langs {0} --text FILE` tells), raise character_coverage of a new "
        "tokenizer, or leave {0} out"
    )
    assert warnings(caplog) == [wording.format("gn", 2), wording.format("ru", 12)]
    unknown.counted(Ragged.of([[3]]), "ru")
    unknown.tell("small")
    assert len(warnings(caplog)) == 2


def test_a_tokenizer_without_an_unknown_piece_has_nothing_to_tell(caplog: pytest.LogCaptureFixture) -> None:
    unknown = UnknownPieces(None)
    unknown.counted(Ragged.of([[0, 0]]), "gn")
    unknown.counted(Ragged.of([[]]), "ru")
    unknown.tell("small")
    assert warnings(caplog) == []


def test_both_kinds_of_student_know_their_unknown_piece(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    bitext = write_folder(tmp_path / "en-de", {"train": word_for_word(100, 0), "valid": []})
    students: list[Any] = [
        TrainedStudent(encoder_folder(tmp_path / "encoder", xlmr(tmp_path / "checkpoint"), "mean")),
        EmsStudent.new(EMS.network, [bitext], tmp_path / "store"),  # type: ignore[arg-type]
    ]
    for student, language in zip(students, ("en", "de"), strict=True):
        text = [KNOWN] if language == "en" else [pair.target for pair in word_for_word(5, 1)]
        student.tokenise(text, language)
        student.tokenise([CYRILLIC], "ru")
        student.unknown.tell("it")
    assert [told.split(" are")[0].split(" of ")[-1] for told in warnings(caplog)] == ["ru", "ru"]


def test_training_on_top_of_an_encoder_tells_what_it_does_not_know(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = encoder_folder(tmp_path / "encoder", xlmr(tmp_path / "checkpoint"), "mean")
    rows = [SentencePair(KNOWN, f"{CYRILLIC} {word}") for word in KNOWN.split()]
    bitext = write_folder(tmp_path / "en-ru", {"train": rows, "valid": rows})
    settings = EmsSettings.model_validate(SETTINGS | {"steps": 1, "validate_every": 1, "batch_size": 4})
    output = tmp_path / "output"
    output.mkdir()
    place = Place("cpu", tmp_path / "state")
    pretrain_ems(settings, "more", [bitext], place=place, start=folder, output=output)
    # In every sentence of ru three words of five.
    (told,) = warnings(caplog)
    assert told.startswith("more: 60.0% of 60 pieces of ru are unknown")
