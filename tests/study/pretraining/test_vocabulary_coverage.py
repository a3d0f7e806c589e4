"""Pieces that a tokenizer does not know: a warning for each language, and ids as they were."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from checkpoints import xlmr
from test_networks import STARTED, encoder_folder
from toy_training import SETTINGS as EMS
from toy_training import word_for_word, write_folder

from orthoglot.encoders.token_lists import Ragged
from orthoglot.study.pretraining.settings import TokensSettings
from orthoglot.study.pretraining.tokenise import CountingTokenizer, tokenise
from orthoglot.text.bitext import SentencePair

KNOWN, CYRILLIC = "the cat sat on a mat", "кот сидел на mat"


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]


def letters(sentences: Sequence[str], language: str, max_tokens: int) -> Ragged:
    assert max_tokens == 9
    return Ragged.of([[int(letter) for letter in one] for one in sentences])


def counting(unknown: int | None) -> CountingTokenizer:
    tokenizer: Any = SimpleNamespace(unknown=unknown, encode=letters)
    return CountingTokenizer(tokenizer, 9, "it")


def test_more_than_a_tenth_is_told_by_language(caplog: pytest.LogCaptureFixture) -> None:
    unknown = counting(3)
    rows = unknown(["355", "5555555", ""], "gn")
    assert rows.ids.tolist() == letters(["355", "5555555"], "gn", 9).ids.tolist()
    unknown.warn()
    assert warnings(caplog) == []  # one of ten is no more than a tenth
    # Blocks count together; what was told before does not thin out what is read now.
    unknown(["33333355"], "ru")
    unknown(["5555"], "ru")
    unknown(["5"], "gn")
    unknown.warn()
    unknown(["3"], "ru")
    unknown.warn()
    assert warnings(caplog) == [
        "50.0% of 12 tokens of ru are unknown to it, which reads all of them as one; start from an encoder that knows "
        "them (see `orthoglot study show language ru --text FILE`), raise character_coverage of a new tokenizer, or "
        "leave ru out"
    ]


def test_a_tokenizer_without_an_unknown_piece_has_nothing_to_tell(caplog: pytest.LogCaptureFixture) -> None:
    unknown = counting(None)
    unknown(["00"], "gn")
    unknown([""], "ru")
    unknown.warn()
    assert warnings(caplog) == []


@pytest.mark.parametrize("start", [False, True], ids=["new", "start"])
def test_tokens_of_what_is_not_known_are_told(
    start: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Words that the start encoder has not, or letters too rare for a new tokenizer to learn."""
    strange = [SentencePair(KNOWN, f"{CYRILLIC} {word}") for word in KNOWN.split()]
    common = word_for_word(300, 0)
    folder, settings = None, STARTED
    if start:
        folder = encoder_folder(tmp_path / "encoder", xlmr(tmp_path / "checkpoint"), "mean")
    else:
        tokenizer = EMS.tokens.tokenizer
        assert tokenizer is not None
        rare = tokenizer.model_copy(update={"character_coverage": 0.98})
        settings = TokensSettings(tokenizer=rare, max_tokens=EMS.tokens.max_tokens, text="none")
    bitext = [
        write_folder(tmp_path / "en-de", {"train": common, "valid": common[:5]}),
        write_folder(tmp_path / "en-ru", {"train": strange, "valid": strange}),
    ]
    output = tmp_path / "output"
    output.mkdir()
    tokenise(settings, bitext, start=folder, checkpoint=tmp_path / "state", output=output)
    (told,) = [one for one in warnings(caplog) if " of ru " in one]
    name = "the tokenizer of encoder" if start else "the new tokenizer"
    assert f"tokens of ru are unknown to {name}, which" in told
    assert told.startswith("60.0% of 30 tokens") or not start
