"""Tokenised pairs on disk: written once, empty sides left out, mapped, languages by row."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from orthoglot.encoders.token_lists import Ragged
from orthoglot.errors import DataError
from orthoglot.study.pretraining.tokenised import monolingual, read_bitext, write_bitext
from orthoglot.text import bitext as bitext_module
from orthoglot.text.bitext import SentencePair, write_pairs


def folder(place: Path, train: Sequence[tuple[str, str]]) -> Path:
    place.mkdir(parents=True)
    write_pairs(place / "train-00000.tsv.zst", [SentencePair(*pair) for pair in train])
    (place / "counts.json").write_text(json.dumps({"kept": {"train": len(train), "valid": 0}}))
    return place


def codes(sentences: Sequence[str], language: str) -> Ragged:
    """Letters as ids; a language is told by its own first id, "-" is no token."""
    first = {"en": 1, "de": 2, "fr": 3}[language]
    return Ragged.of([[first, *map(ord, text)] if text != "-" else [] for text in sentences])


@pytest.fixture
def folders(tmp_path: Path) -> list[Path]:
    german = [("a", "xy"), ("bc", "-"), ("d", "z")]
    return [folder(tmp_path / "en-de", german), folder(tmp_path / "en-fr", [("-", "u"), ("e", "vw")])]


@pytest.mark.parametrize("block", [1, 2, 50])
def test_rows_languages_and_places_of_what_is_kept(
    block: int,
    folders: list[Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(bitext_module, "BLOCK", block)
    with caplog.at_level("INFO"):
        write_bitext(folders, "train", codes, tmp_path / "store")
    data = read_bitext(folders, "train", tmp_path / "store")
    assert data.sizes == (2, 1)
    assert len(data) == 3
    assert data.kept.tolist() == [0, 2, 1]
    assert isinstance(data.source.ids, np.memmap)
    assert data.source.take(np.arange(3)).ids.tolist() == [1, ord("a"), 1, ord("d"), 1, ord("e")]
    assert data.target.take(np.array([2, 0])).ids.tolist() == [3, ord("v"), ord("w"), 2, ord("x"), ord("y")]
    # de en fr
    assert data.languages_of(np.array([2, 0, 1])).tolist() == [[1, 2], [1, 0], [1, 0]]
    assert "en-de: 1 without tokens left out of train" in caplog.text


def test_what_is_there_is_not_made_again(folders: list[Path], tmp_path: Path) -> None:
    write_bitext(folders, "train", codes, tmp_path / "store")

    def never(sentences: Sequence[str], language: str) -> Ragged:
        raise AssertionError("tokenised again")

    write_bitext(folders, "train", never, tmp_path / "store")


def test_an_interrupted_writing_leaves_nothing_to_be_taken_for_whole(
    folders: list[Path], tmp_path: Path
) -> None:
    def broken(sentences: Sequence[str], language: str) -> Ragged:
        if language == "fr":
            raise KeyboardInterrupt
        return codes(sentences, language)

    with pytest.raises(KeyboardInterrupt):
        write_bitext(folders, "train", broken, tmp_path / "store")
    assert list((tmp_path / "store").iterdir()) == []
    write_bitext(folders, "train", codes, tmp_path / "store")
    assert read_bitext(folders, "train", tmp_path / "store").sizes == (2, 1)


def test_no_pair_at_all_is_refused(folders: list[Path], tmp_path: Path) -> None:
    with pytest.raises(DataError, match="valid: no sentence in"):
        write_bitext(folders, "valid", codes, tmp_path / "store")
    assert list((tmp_path / "store").iterdir()) == []


def test_monolingual_text_is_distinct_by_language(tmp_path: Path) -> None:
    pairs = folder(tmp_path / "en-de", [("a", "x"), ("a", "y"), ("b", "x")])
    found = monolingual([pairs], "train")
    assert {language: list(text) for language, text in found.items()} == {"de": ["x", "y"], "en": ["a", "b"]}
