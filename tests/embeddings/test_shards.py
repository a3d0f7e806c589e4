"""Shards of distinct sentences: each once, like lengths together, the same from any order."""

from __future__ import annotations

import tempfile
from pathlib import Path
from unittest import mock

from hypothesis import given, settings
from hypothesis import strategies as st

from orthoglot.embeddings import shards
from orthoglot.embeddings.shards import make_shards

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


@settings(deadline=None, max_examples=50)
@given(PAIRS, st.integers(1, 5), st.randoms())
def test_shards_are_those_of_sets_in_memory_whatever_the_order(pairs, size, random) -> None:  # type: ignore[no-untyped-def]
    shuffled = random.sample(pairs, len(pairs))
    with tempfile.TemporaryDirectory() as folder, mock.patch.object(shards, "SENTENCES", size):
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


def test_lines_end_only_where_a_file_ends_them(tmp_path: Path) -> None:
    odd = ["a\u2028b", "a\rb", "a\0b", 'a"b']
    (shard,) = make_shards([("de", text) for text in odd], tmp_path / "text")
    assert sorted(shard.sentences()) == sorted(odd)
    assert [path.name for path in (tmp_path / "text").iterdir()] == ["000000.json"]
