"""The EMS chain from sentence to ids, and the ragged arrays that hold them."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import sentencepiece
from hypothesis import given, settings
from hypothesis import strategies as st

from orthoglot.encoders import tokenization
from orthoglot.encoders.settings import TokenizerSettings, Words
from orthoglot.encoders.tokenization import (
    PAD,
    UNKNOWN,
    Ragged,
    Tokenizer,
    language_symbol,
    pretokenize,
    train_tokenizer,
)
from orthoglot.errors import ConfigError, DataError

SETTINGS = TokenizerSettings(
    words="unicode", vocabulary=60, sentences=80, character_coverage=1.0, threads=1, seed=1
)
TEXT = {
    "en": [f"The cat, number {n}, sat on the mat." for n in range(50)],
    "de": [f"Die Katze Nummer {n} saß auf der Matte." for n in range(50)],
}


@pytest.fixture(scope="module", params=["unicode", "moses"])
def tokenizer(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    path = tmp_path_factory.mktemp("tokenizer") / "tokenizer.model"
    train_tokenizer(_settings(request.param), TEXT, path)
    return Tokenizer(path, request.param)


def _settings(words: Words) -> TokenizerSettings:
    return SETTINGS.model_copy(update={"words": words})


def test_moses_lowers_and_splits_without_entities() -> None:
    assert pretokenize('Wow! "Tom & Jerry\'s"', "en", "moses") == 'wow ! " tom & jerry \'s "'
    assert pretokenize("L'ÉTÉ, déjà?", "fr", "moses") == "l' été , déjà ?"


def test_moses_leaves_languages_without_spaces_to_sentencepiece() -> None:
    assert pretokenize("今日は、ABC。", "ja", "moses") == "今日は、abc。"


def test_unicode_words_are_the_same_in_every_language() -> None:
    sentence = "L'ÉTÉ, déjà? 今日は、ABC。"
    assert pretokenize(sentence, "fr", "unicode") == "l'été , déjà ? 今日は 、 abc 。"
    assert pretokenize(sentence, "ja", "unicode") == pretokenize(sentence, "", "unicode")


def test_only_unicode_is_a_chain_of_the_tokenizers_library(tokenizer: Tokenizer) -> None:
    if tokenizer.words == "unicode":
        assert tokenizer.chain.get_vocab_size() == SETTINGS.vocabulary
    else:
        with pytest.raises(ConfigError, match="words: moses: its rules depend on the language"):
            _ = tokenizer.chain


def test_a_piece_is_counted_in_all_sentences_and_none_where_there_is_no_such_piece() -> None:
    rows = Ragged.of([[1, 5], [], [1, 1]])
    assert [rows.count(piece) for piece in (1, 5, 2, None)] == [3, 1, 0, 0]


def test_reserved_ids_come_first_and_text_never_encodes_to_them(tokenizer: Tokenizer) -> None:
    pieces = tokenizer._pieces
    assert [pieces.id_to_piece(i) for i in range(5)] == ["<pad>", "<unk>", "<mask>", "<2en>", "<2de>"]
    assert (PAD, UNKNOWN) == (0, 1)
    assert pieces.bos_id() == pieces.eos_id() == -1
    assert tokenizer.size == SETTINGS.vocabulary
    ids = tokenizer.encode(["<mask> <pad> <2en> cat"], "en", 100).ids
    assert ids.min() == UNKNOWN
    assert not {2, 3, 4} & set(ids.tolist())


def test_same_settings_give_the_same_bytes(tmp_path: Path, tokenizer: Tokenizer) -> None:
    train_tokenizer(_settings(tokenizer.words), TEXT, tmp_path / "again.model")
    assert (tmp_path / "again.model").read_bytes() == tokenizer._pieces.serialized_model_proto()


def test_encode_is_the_chain_cut_at_the_limit(tokenizer: Tokenizer, caplog: pytest.LogCaptureFixture) -> None:
    sentences = ["The CAT sat.", "Mat!"]
    whole = [tokenizer._pieces.encode(pretokenize(s, "en", tokenizer.words)) for s in sentences]
    with caplog.at_level("INFO"):
        tokens = tokenizer.encode(sentences, "en", 3)
    assert tokens.ids.dtype == np.int32
    assert [tokens.ids[a:b].tolist() for a, b in pairwise(tokens.offsets)] == [row[:3] for row in whole]
    assert f"{sum(len(row) > 3 for row in whole)} of 2 en sentences cut at 3 tokens" in caplog.text


@pytest.mark.parametrize(
    ("words", "size", "apart", "normalised"), [("unicode", 13, False, "▁ＡＢ"), ("moses", 14, True, "▁AB")]
)
def test_pieces_are_learnt_from_these_words_and_normalised_once(
    words: Words, size: int, apart: bool, normalised: str, tmp_path: Path
) -> None:
    settings = _settings(words).model_copy(update={"vocabulary": size})
    train_tokenizer(settings, {"en": ["Don't don't don't"] * 5}, tmp_path / "t.model")
    model = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "t.model"))
    assert ("▁'" in {model.id_to_piece(number) for number in range(size)}) is apart
    assert model.normalize("ＡＢ") == normalised


def test_blocks_keep_the_order_of_sentences(tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    sentences = [f"The {'cat ' * (n % 4)}{n} sat." for n in range(10)]
    whole = tokenizer.encode(sentences, "en", 9)
    monkeypatch.setattr(tokenization, "BLOCK", 3)
    parts = tokenizer.encode(sentences, "en", 9)
    assert parts.ids.tolist() == whole.ids.tolist()
    assert parts.offsets.tolist() == whole.offsets.tolist()
    assert tokenizer.encode([], "en", 9).lengths.tolist() == []


def test_a_large_language_does_not_crowd_out_a_small_one(tmp_path: Path) -> None:
    # 12 sentences in all, so the small language gives all its 4; its letter must be in the model.
    text = {"en": [f"abc {n}" for n in range(500)], "de": ["ж ж ж"] * 4}
    small = SETTINGS.model_copy(update={"sentences": 12, "vocabulary": 22})
    train_tokenizer(small, text, tmp_path / "t.model")
    model = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "t.model"))
    assert any("ж" in model.id_to_piece(i) for i in range(model.get_piece_size()))


def test_refusals(tmp_path: Path) -> None:
    huge = SETTINGS.model_copy(update={"vocabulary": 50_000})
    with pytest.raises(ConfigError, match="vocabulary 50000"):
        train_tokenizer(huge, TEXT, tmp_path / "t.model")
    assert not list(tmp_path.iterdir())
    with pytest.raises(DataError, match="no sentence"):
        train_tokenizer(SETTINGS, {"en": []}, tmp_path / "t.model")
    (tmp_path / "bad.model").write_bytes(b"no model")
    with pytest.raises(DataError, match=r"bad\.model"):
        Tokenizer(tmp_path / "bad.model", "unicode")
    with pytest.raises(DataError, match="unknown words 'mosses'; known: moses, unicode"):
        Tokenizer(tmp_path / "bad.model", "mosses")  # type: ignore[arg-type]


def test_language_symbol() -> None:
    assert language_symbol("gn") == "<2gn>"


@settings(deadline=None)
@given(st.lists(st.lists(st.integers(1, 9), max_size=4), min_size=1, max_size=6), st.randoms())
def test_ragged_keeps_rows(rows: list[list[int]], random: object) -> None:
    order = np.arange(len(rows))
    random.shuffle(order)  # type: ignore[attr-defined]
    ragged = Ragged.of(rows)
    assert ragged.lengths.tolist() == [len(row) for row in rows]
    padded = ragged.padded(order, pad=0)
    width = max(map(len, rows))
    assert padded.tolist() == [rows[i] + [0] * (width - len(rows[i])) for i in order]
    taken = ragged.take(order)
    assert taken.padded(np.arange(len(rows))).tolist() == padded.tolist()
    joined = Ragged.join([ragged, taken])
    assert joined.lengths.tolist() == ragged.lengths.tolist() + taken.lengths.tolist()
    assert joined.padded(order + len(rows)).tolist() == taken.padded(order).tolist()
