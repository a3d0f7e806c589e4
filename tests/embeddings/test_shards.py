"""Shards of distinct sentences: each once, like lengths together, the same from any order."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orthoglot.embeddings import shards
from orthoglot.embeddings.shards import make_shards
from orthoglot.errors import ConfigError, DataError

IN_MEMORY = pytest.mark.parametrize("in_memory", [shards.IN_MEMORY, 1], ids=["memory", "disk"])
# Text comes from UTF-8 files, which hold no half of a surrogate pair.
TEXT = st.text(st.characters(codec="utf-8"), max_size=4)
PAIRS = st.lists(st.tuples(st.sampled_from(["de", "en"]), TEXT), max_size=40)


def plain(pairs: list[tuple[str, str]], size: int) -> list[tuple[str, list[str]]]:
    """The same in memory."""
    found = []
    for language in sorted({language for language, _ in pairs}):
        own = sorted({text for code, text in pairs if code == language}, key=lambda text: (-len(text), text))
        found += [(language, own[start : start + size]) for start in range(0, len(own), size)]
    return found


@IN_MEMORY
@settings(deadline=None, max_examples=50)
@given(PAIRS, st.integers(1, 5), st.randoms())
def test_shards_are_those_of_sets_in_memory_whatever_the_order(in_memory, pairs, size, random) -> None:  # type: ignore[no-untyped-def]
    shuffled = random.sample(pairs, len(pairs))
    with (
        tempfile.TemporaryDirectory() as folder,
        mock.patch.multiple(shards, SENTENCES=size, IN_MEMORY=in_memory),
    ):
        made = make_shards(iter(pairs), Path(folder) / "a")
        again = make_shards(iter(shuffled), Path(folder) / "b")
        assert [(shard.language, shard.sentences()) for shard in made] == plain(pairs, size)
        assert [shard.digest for shard in made] == [shard.digest for shard in again]
    assert [shard.number for shard in made] == list(range(len(made)))
    assert all(shard.count <= size for shard in made)


def test_a_digest_tells_language_and_sentences_apart(tmp_path: Path) -> None:
    worlds = [
        [("de", "a"), ("de", "b")],
        [("en", "a"), ("en", "b")],
        [("de", "a"), ("de", "c")],
        [("de", "ab")],
    ]
    digests = [make_shards(world, tmp_path / str(n))[0].digest for n, world in enumerate(worlds)]
    assert len(set(digests)) == len(worlds)


@IN_MEMORY
def test_lines_end_only_where_a_file_ends_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_memory: int
) -> None:
    monkeypatch.setattr(shards, "IN_MEMORY", in_memory)
    odd = ["a\u2028b", "a\rb", "a\0b", 'a"b', "", "a\0", "\ufeffa"]
    (shard,) = make_shards([("de", text) for text in odd], tmp_path / "it's [a] *")
    assert sorted(shard.sentences()) == sorted(odd)
    assert [path.name for path in (tmp_path / "it's [a] *").iterdir()] == ["000000.json"]


@IN_MEMORY
def test_length_is_in_characters_and_order_is_by_code_point(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_memory: int
) -> None:
    monkeypatch.setattr(shards, "IN_MEMORY", in_memory)
    # Two bytes or four, one code point or two, above the surrogates or below: case and accents mean nothing.
    ordered = ["e\u0301", "Zz", "a", "z", "é", "\ud7ff", "\ue000", "😀"]
    ordered.sort(key=lambda text: (-len(text), text))
    (shard,) = make_shards([("de", text) for text in reversed(ordered)], tmp_path / "text")
    assert shard.sentences() == ordered == ["Zz", "e\u0301", "a", "z", "é", "\ud7ff", "\ue000", "😀"]


def test_many_sentences_are_the_same_in_memory_and_on_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More than a block, a row group and a batch of results; several threads."""
    texts = [(f"l{number % 3}", f"{number * 7919 % 30_011:x}" * (number % 5)) for number in range(60_000)]
    in_memory = make_shards(texts, tmp_path / "memory")
    monkeypatch.setattr(shards, "IN_MEMORY", 25_000)
    on_disk = make_shards(texts, tmp_path / "disk")
    assert [shard.digest for shard in on_disk] == [shard.digest for shard in in_memory]
    assert sum(shard.count for shard in on_disk) == len(set(texts))


def test_an_error_in_the_text_is_the_one_that_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def texts() -> Iterator[tuple[str, str]]:
        yield from [("de", "a"), ("de", "b")]
        raise DataError("train-00000.tsv.zst: truncated")

    monkeypatch.setattr(shards, "IN_MEMORY", 1)
    with pytest.raises(DataError, match="truncated"):
        make_shards(texts(), tmp_path / "text")
    assert not [*(tmp_path / "text").iterdir()]


def test_only_text_that_does_not_fit_needs_duckdb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    assert len(make_shards([("de", "a")], tmp_path / "text")) == 1
    monkeypatch.setattr(shards, "IN_MEMORY", 1)
    with pytest.raises(ConfigError, match="pip install duckdb"):
        make_shards([("de", "a")], tmp_path / "text")
