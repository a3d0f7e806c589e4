"""Distinct sentences and drawn ones, found on disk, are those that sets and lists in memory give."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from lines import in_memory
from test_tokenised import folder

from orthoglot.languages import parse_pair
from orthoglot.random_streams import derive
from orthoglot.study.pretraining.distinct_sentences import DistinctText, Seen
from orthoglot.study.pretraining.settings import TokenizerSettings, Words
from orthoglot.study.pretraining.tokenised import languages_of, monolingual, text_of_bitext
from orthoglot.study.pretraining.tokenizer_training import _sample, train_tokenizer
from orthoglot.text import bitext as bitext_module
from orthoglot.text import hashes
from orthoglot.text.prepared import stream_split


@pytest.fixture(params=[1, 7, 1000])
def bitext(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Three folders whose sentences come again within and across them, read in blocks of various sizes."""
    monkeypatch.setattr(bitext_module, "BLOCK", request.param)
    draw = random.Random(1)

    def sentence(language: str) -> str:
        return f"{language} {draw.randint(0, 150)} " + ["ñ", "猫", "x"][draw.randint(0, 2)]

    return [
        folder(tmp_path / pair, [(sentence(pair[:2]), sentence(pair[3:])) for _ in range(count)])
        for pair, count in (("en-de", 300), ("en-fr", 200), ("fr-gn", 90))
    ]


def digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=8).digest()


def in_sets(bitext: Sequence[Path], apart: bool) -> Iterator[tuple[str, list[str]]]:
    """The text of all pairs, by sets and dictionaries in memory."""
    best: dict[bytes, tuple[bytes, str]] = {}
    for path in bitext:
        pivot = parse_pair(path.name)[0]
        for pair in stream_split(path, "train"):
            for place in ("", path.name):
                candidate = digest(f"{place}/{pivot}/{pair.source}"), place
                key = digest(f"{pivot}/{pair.source}")
                best[key] = max(best.get(key, candidate), candidate)
    for language in languages_of(bitext):
        found: dict[str, None] = {}
        for path in bitext:
            languages = parse_pair(path.name)
            if language in languages:
                side = languages.index(language)
                for pair in stream_split(path, "train"):
                    place = best[digest(f"{languages[0]}/{pair.source}")][1]
                    if not apart or place == (path.name if side else ""):
                        found[pair[side]] = None
        yield language, list(found)


@pytest.mark.parametrize("apart", [False, True])
def test_text_of_pairs_is_what_sets_in_memory_give(apart: bool, bitext: list[Path]) -> None:
    found = [(language, list(text)) for language, text in text_of_bitext(bitext, apart=apart)]
    assert found == list(in_sets(bitext, apart))
    assert all(text for _, text in found)


def test_apart_keeps_one_sentence_of_each_set_of_translations(bitext: list[Path]) -> None:
    both, apart = (dict(text_of_bitext(bitext, apart=way)) for way in (False, True))
    assert sum(len(list(text)) for text in apart.values()) < sum(len(list(text)) for text in both.values())


def test_rows_are_read_in_their_order(bitext: list[Path]) -> None:
    for language, expected in in_sets(bitext, apart=False):
        text = monolingual(bitext, "train")[language]
        assert (len(text), list(text)) == (len(expected), expected)
        for size in (0, 1, len(text)):
            rows = np.random.default_rng(size).permutation(len(text))[:size]
            assert list(text.at(rows)) == [expected[row] for row in rows]


def sampled(settings: TokenizerSettings, sentences: Mapping[str, Sequence[str]]) -> list[tuple[str, str]]:
    """The sample of a tokenizer, from lists in memory."""
    left, found = settings.sentences, []
    names = sorted(sentences, key=lambda name: (len(sentences[name]), name))
    for done, name in enumerate(names):
        share = min(left // (len(names) - done), len(sentences[name]))
        left -= share
        generator = np.random.default_rng(derive(settings.seed, "tokenizer", name))
        rows = generator.choice(len(sentences[name]), size=share, replace=False)
        found += [(name, sentences[name][row]) for row in rows]
    return found


@pytest.mark.parametrize(("words", "coverage"), [("moses", 1.0), ("unicode", 1.0), ("unicode", 0.9)])
def test_a_tokenizer_of_text_on_disk_is_that_of_text_in_memory(
    words: Words, coverage: float, bitext: list[Path], tmp_path: Path
) -> None:
    settings = TokenizerSettings(words=words, vocabulary=35, sentences=200, character_coverage=coverage)
    texts = dict(in_sets(bitext, apart=False))
    disk = monolingual(bitext, "train")
    assert list(_sample(settings, disk)) == sampled(settings, texts)
    made = []
    for place, text in (("disk", disk), ("memory", in_memory(texts))):
        (tmp_path / place).mkdir()
        train_tokenizer(settings, text, 50, tmp_path / place)
        made.append({path.name: path.read_bytes() for path in (tmp_path / place).iterdir()})
    assert made[0] == made[1]


def test_seen_digests_are_new_once_and_kept_in_few_arrays() -> None:
    generator, seen, known = np.random.default_rng(0), Seen(), set[int]()
    for _ in range(60):
        values = generator.integers(0, 3000, size=100).astype(np.uint64)
        firsts = [values.tolist().index(value) for value in set(values.tolist()) - known]
        assert np.flatnonzero(seen.new(values)).tolist() == sorted(firsts)
        known |= set(values.tolist())
    assert sum(map(len, seen._levels)) == len(known)
    assert len(seen._levels) <= 12


def test_digests_are_those_of_blake2b_and_text_may_be_empty() -> None:
    assert hashes.hashes(["a", "ñ"]).tolist() == [int.from_bytes(digest(text), "big") for text in ("a", "ñ")]
    empty = DistinctText(lambda: iter([[], []]))
    assert (len(empty), list(empty), list(empty.at(np.empty(0, int)))) == (0, [], [])
