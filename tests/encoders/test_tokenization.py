"""The EMS chain from sentence to ids, and the ragged arrays that hold them."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lines import in_memory
from tokenizers import Tokenizer, models, processors
from transformers import PreTrainedTokenizerFast

from orthoglot.encoders import tokenization
from orthoglot.encoders.pretokenization import moses_words
from orthoglot.encoders.token_lists import Ragged
from orthoglot.encoders.tokenization import (
    MOSES_MODEL,
    CheckpointTokenizer,
    MosesTokenizer,
    TextTokenizer,
    open_tokenizer,
)
from orthoglot.errors import ConfigError, DataError
from orthoglot.study.pretraining.sentencepiece_training import PAD, UNKNOWN
from orthoglot.study.pretraining.settings import TokenizerSettings, Words
from orthoglot.study.pretraining.tokenizer_training import train_tokenizer

SETTINGS = TokenizerSettings(
    words="unicode", vocabulary=60, sentences=80, character_coverage=1.0, threads=1, seed=1
)
TEXT = {
    "en": [f"The cat, number {n}, sat on the mat." for n in range(50)],
    "de": [f"Die Katze Nummer {n} saß auf der Matte." for n in range(50)],
}
WAYS: tuple[Words, ...] = ("unicode", "moses")


def _settings(words: Words, **changed: Any) -> TokenizerSettings:
    return SETTINGS.model_copy(update={"words": words, **changed})


def _trained(folder: Path, words: Words, text: dict[str, list[str]], **changed: Any) -> TextTokenizer:
    folder.mkdir(parents=True)
    train_tokenizer(_settings(words, **changed), in_memory(text), 100, folder)
    return open_tokenizer(folder, "tiny")


@pytest.fixture(scope="module", params=WAYS)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tokenizer") / request.param
    _trained(folder, request.param, TEXT)
    return folder


@pytest.fixture(scope="module")
def tokenizer(folder: Path) -> TextTokenizer:
    return open_tokenizer(folder, "tiny")


def _files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_moses_lowers_and_splits_without_entities() -> None:
    assert moses_words(['Wow! "Tom & Jerry\'s"'], "en") == ['wow ! " tom & jerry \'s "']
    assert moses_words(["L'ÉTÉ, déjà?", "Non."], "fr") == ["l' été , déjà ?", "non ."]


def test_moses_leaves_languages_without_spaces_to_the_subword_model() -> None:
    assert moses_words(["今日は、ABC。"], "ja") == ["今日は、abc。"]


def test_a_token_is_counted_in_all_sentences_and_none_where_there_is_no_such_token() -> None:
    rows = Ragged.of([[1, 5], [], [1, 1]])
    assert [rows.count(token) for token in (1, 5, 2, None)] == [3, 1, 0, 0]


def test_reserved_ids_come_first_and_text_never_encodes_to_them(tokenizer: TextTokenizer) -> None:
    assert tokenizer.tokens()[:5] == ["<pad>", "<unk>", "<mask>", "<2en>", "<2de>"]
    assert (tokenizer.pad, tokenizer.unknown, tokenizer.mask) == (PAD, UNKNOWN, 2)
    assert (tokenizer.before, tokenizer.after) == ((), ())
    assert tokenizer.size == SETTINGS.vocabulary
    ids = tokenizer.encode(["<mask> <pad> <2en> cat"], "en", 100).ids
    assert ids.min() == UNKNOWN
    assert not {2, 3, 4} & set(ids.tolist())


def test_same_settings_give_the_same_bytes_and_saving_keeps_them(folder: Path, tmp_path: Path) -> None:
    words: Words = "moses" if (folder / MOSES_MODEL).exists() else "unicode"
    _trained(tmp_path / "again", words, TEXT)
    assert _files(tmp_path / "again") == _files(folder)
    (tmp_path / "saved").mkdir()
    open_tokenizer(folder, "tiny").save(tmp_path / "saved")
    model = MOSES_MODEL if words == "moses" else "tokenizer.json"
    assert (tmp_path / "saved" / model).read_bytes() == (folder / model).read_bytes()


def test_encode_truncates_at_the_limit(tokenizer: TextTokenizer, caplog: pytest.LogCaptureFixture) -> None:
    sentences = ["The CAT sat.", "Mat!"]
    whole = tokenizer.encode(sentences, "en", 100)
    rows = [whole.ids[a:b].tolist() for a, b in pairwise(whole.offsets)]
    with caplog.at_level("INFO"):
        tokens = tokenizer.encode(sentences, "en", 3)
    assert tokens.ids.dtype == np.int32
    assert [tokens.ids[a:b].tolist() for a, b in pairwise(tokens.offsets)] == [row[:3] for row in rows]
    assert f"{sum(len(row) > 3 for row in rows)} of 2 en sentences truncated at 3 tokens" in caplog.text


def test_the_language_decides_words_by_moses_and_nothing_else(tmp_path: Path) -> None:
    text = {"en": ["l'été of the cat", "l' été"] * 20}
    for words in WAYS:
        tokenizer = _trained(tmp_path / words, words, text, vocabulary=22)
        french, english = (tokenizer.encode(["l'été"], code, 100).ids.tolist() for code in ("fr", "en"))
        assert (french == english) == (words == "unicode")


@pytest.mark.parametrize(("words", "apart"), [("unicode", False), ("moses", True)])
def test_tokens_come_from_these_words(words: Words, apart: bool, tmp_path: Path) -> None:
    tokenizer = _trained(tmp_path / "t", words, {"en": ["Don't don't don't"] * 5}, vocabulary=13)
    assert any("▁'" in (token or "") for token in tokenizer.tokens()) is apart


def test_rare_characters_are_unknown_and_a_run_of_them_is_one(tmp_path: Path) -> None:
    text = {"en": ["the cat sat on the mat"] * 99 + ["жщ龘"]}
    tokenizer = _trained(tmp_path / "t", "unicode", text, vocabulary=22, character_coverage=0.99)
    (ids,) = tokenizer.encode(["the 龘龘龘 ж"], "en", 100).padded(np.array([0]), PAD)
    assert ids.tolist().count(UNKNOWN) == 2
    assert not any(one in (token or "") for token in tokenizer.tokens() for one in "жщ龘")


def test_blocks_keep_the_order_of_sentences(
    tokenizer: TextTokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    sentences = [f"The {'cat ' * (n % 4)}{n} sat." for n in range(10)]
    whole = tokenizer.encode(sentences, "en", 9)
    monkeypatch.setattr(tokenization, "BLOCK", 3)
    parts = tokenizer.encode(sentences, "en", 9)
    assert parts.ids.tolist() == whole.ids.tolist()
    assert parts.offsets.tolist() == whole.offsets.tolist()
    assert tokenizer.encode([], "en", 9).lengths.tolist() == []


def test_processes_change_nothing(
    tokenizer: TextTokenizer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(tokenization, "BLOCK", 3)
    sentences = [f"The {'cat ' * (n % 4)}{n} sat." for n in range(10)]
    alone = tokenizer.encode(sentences, "en", 5)
    with caplog.at_level("INFO"), tokenizer.in_processes(2):
        together = [tokenizer.encode(sentences, "en", 5) for _ in range(2)]
    for one in [*together, tokenizer.encode(sentences, "en", 5)]:
        assert one.ids.tolist() == alone.ids.tolist()
        assert one.offsets.tolist() == alone.offsets.tolist()
    assert len({record.message for record in caplog.records}) == 1
    assert "of 10 en sentences truncated at 5 tokens" in caplog.text


@pytest.mark.parametrize("words", WAYS)
def test_a_large_language_does_not_crowd_out_a_small_one(words: Words, tmp_path: Path) -> None:
    # 12 sentences in all, so the small language gives all its 4; its letter must be in the model.
    text = {"en": [f"abc {n}" for n in range(500)], "de": ["ж ж ж"] * 4}
    tokenizer = _trained(tmp_path / "t", words, text, sentences=12, vocabulary=20)
    assert any("ж" in (token or "") for token in tokenizer.tokens())


@pytest.mark.parametrize("words", WAYS)
def test_refusals(words: Words, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="vocabulary 50000"):
        train_tokenizer(_settings(words, vocabulary=50_000), in_memory(TEXT), 100, tmp_path)
    with pytest.raises(DataError, match="no sentence"):
        train_tokenizer(_settings(words), in_memory({"en": []}), 100, tmp_path)
    assert not list(tmp_path.iterdir())
    (tmp_path / MOSES_MODEL).write_bytes(b"no model")
    with pytest.raises(DataError, match=MOSES_MODEL):
        MosesTokenizer(tmp_path / MOSES_MODEL)


def test_segments_within_a_sentence_are_refused() -> None:
    built = Tokenizer(models.WordLevel({"<s>": 0, "a": 1}, unk_token="a"))
    built.post_processor = processors.TemplateProcessing(single="<s>:2 $A", special_tokens=[("<s>", 0)])
    names = ["input_ids", "token_type_ids"]
    whole = PreTrainedTokenizerFast(tokenizer_object=built, model_input_names=names)
    with pytest.raises(ConfigError, match="segments"):
        CheckpointTokenizer(whole)


@settings(deadline=None)
@given(st.lists(st.lists(st.integers(1, 9), max_size=4), min_size=1, max_size=6), st.randoms())
def test_ragged_keeps_rows(rows: list[list[int]], random: object) -> None:
    order = np.arange(len(rows))
    random.shuffle(order)  # type: ignore[attr-defined]
    ragged = Ragged.of(rows)
    assert ragged.lengths.tolist() == [len(row) for row in rows]
    padded = ragged.padded(order, 0)
    width = max(map(len, rows))
    assert padded.tolist() == [rows[i] + [0] * (width - len(rows[i])) for i in order]
    taken = ragged.take(order)
    assert taken.padded(np.arange(len(rows)), 0).tolist() == padded.tolist()
    around = ragged.surrounded([11, 12], [13])
    assert around.padded(np.arange(len(rows)), 0).tolist() == [
        [11, 12, *row, 13] + [0] * (width - len(row)) for row in rows
    ]
    joined = Ragged.join([ragged, taken])
    assert joined.lengths.tolist() == ragged.lengths.tolist() + taken.lengths.tolist()
    assert joined.padded(order + len(rows), 0).tolist() == taken.padded(order, 0).tolist()
