"""The tokens of a training: every part, whole, the same each time, from where an interruption left them."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from cut_text import tokens_of
from toy_training import SETTINGS, word_for_word, write_folder

from orthoglot.encoders.token_lists import Ragged
from orthoglot.encoders.tokenization import CheckpointTokenizer, open_tokenizer
from orthoglot.errors import ConfigError
from orthoglot.study.pretraining import tokenise as module
from orthoglot.study.pretraining.inputs import Inputs, RunOptions
from orthoglot.study.pretraining.settings import TokensSettings
from orthoglot.study.pretraining.tokenise import TOKENIZER, tokenise
from orthoglot.study.pretraining.tokenised import SPLITS, read_bitext, read_text
from orthoglot.study.pretraining.trainings.ems import pretrain_ems

TRAIN, VALID = word_for_word(200, 0), word_for_word(40, 1)


@pytest.fixture
def bitext(tmp_path: Path) -> list[Path]:
    return [write_folder(tmp_path / "en-de", {"train": TRAIN, "valid": VALID})]


def settings(text: str) -> TokensSettings:
    return SETTINGS.tokens.model_copy(update={"text": text})


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def made(chosen: TokensSettings, bitext: list[Path], place: Path, corpora: Sequence[Path] = ()) -> Path:
    output = place / "output"
    output.mkdir(parents=True)
    tokenise(chosen, bitext, corpora=corpora, checkpoint=place / "state", output=output)
    return output


def test_ids_are_those_of_the_tokenizer_beside_them(bitext: list[Path], tmp_path: Path) -> None:
    output = made(settings("both"), bitext, tmp_path)
    tokenizer = open_tokenizer(output / TOKENIZER, "new")
    for split, rows in zip(SPLITS, (TRAIN, VALID), strict=True):
        found = read_bitext(bitext, split, output)
        for side, ids in enumerate((found.source, found.target)):
            expected = tokenizer.encode([pair[side] for pair in rows], "", SETTINGS.tokens.max_tokens or 0)
            np.testing.assert_array_equal(ids.ids, expected.ids)
            np.testing.assert_array_equal(ids.offsets, expected.offsets)
    text = read_text(output)
    german, english = ({pair[side] for pair in TRAIN} for side in (1, 0))
    assert text.sizes == (len(german), len(english))


@pytest.mark.parametrize("cut", ["train", "valid", "text"])
def test_an_interrupted_call_goes_on_and_gives_the_same_bytes(
    cut: str, bitext: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = files(made(settings("both"), bitext, tmp_path / "whole"))
    assert {name.split("/")[0] for name in whole} == {TOKENIZER, "train", "valid", "text"}
    calls = {"train": 0, "valid": 2, "text": 4}  # two sides each come before
    encode, count = CheckpointTokenizer.encode, 0

    def stops(self: CheckpointTokenizer, *arguments: object) -> Ragged:
        nonlocal count
        count += 1
        if count > calls[cut] + 1:
            raise KeyboardInterrupt
        return encode(self, *arguments)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(CheckpointTokenizer, "encode", stops)
        with pytest.raises(KeyboardInterrupt):
            made(settings("both"), bitext, tmp_path / "cut")
    assert not list((tmp_path / "cut/output").iterdir())
    done = {path.name for path in (tmp_path / "cut/state").iterdir()}
    assert done == {TOKENIZER, *list(calls)[: list(calls).index(cut)]}

    def again(*_: object) -> None:
        raise AssertionError("learnt again")

    monkeypatch.setattr(module, "train_tokenizer", again)
    (tmp_path / "cut/output").rmdir()
    assert files(made(settings("both"), bitext, tmp_path / "cut")) == whole
    # Interrupted now, it has nothing to cut.
    shutil.rmtree(tmp_path / "cut/output")
    monkeypatch.setattr(CheckpointTokenizer, "encode", again)
    assert files(made(settings("both"), bitext, tmp_path / "cut")) == whole


def test_what_starts_from_an_encoder_is_cut_as_it_cuts(bitext: list[Path], tmp_path: Path) -> None:
    first = tokens_of(SETTINGS, bitext, tmp_path)
    start = tmp_path / "start"
    start.mkdir()
    untrained = SETTINGS.model_copy(update={"steps": 0})
    run = RunOptions("cpu", tmp_path / "state")
    pretrain_ems(untrained, "toy", Inputs(bitext, tokens=first), run, start)
    output = tmp_path / "on-top"
    output.mkdir()
    own = TokensSettings(tokenizer=None, max_tokens=None, text="none")
    tokenise(own, bitext, start=start, checkpoint=tmp_path / "more", output=output)
    assert files(output) == {
        name: some for name, some in files(first).items() if not name.startswith(TOKENIZER)
    }
    read = open_tokenizer(start, "toy").encode([pair.source for pair in TRAIN], "en", 100)
    np.testing.assert_array_equal(read_bitext(bitext, "train", output).source.ids, read.ids)


def test_text_corpora_that_are_not_there_are_refused(bitext: list[Path], tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"text\.text is corpora, and there is no corpus of text"):
        made(settings("corpora"), bitext, tmp_path)
    assert not (tmp_path / "state").exists()
