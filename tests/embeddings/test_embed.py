"""Embedding: each sentence once, resume with the same bytes, refusals before any work."""

from __future__ import annotations

import hashlib
import json
import shutil
import tracemalloc
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from orthoglot.embeddings import embed as module
from orthoglot.embeddings import shards
from orthoglot.embeddings.embed import bitext_texts, embed
from orthoglot.embeddings.settings import EmbeddingSettings
from orthoglot.embeddings.store import EmbeddingStore
from orthoglot.encoders.base import Done
from orthoglot.errors import ConfigError, DataError
from orthoglot.study.benchmarks.collected import benchmark_texts
from orthoglot.text.bitext import SentencePair, write_pairs
from orthoglot.text.prepared import read_split


class CountingEncoder:
    """A sentence's vector is made of its digest; counts what it is asked for and fails after some calls."""

    name = "toy"
    dim = 4

    def __init__(
        self,
        languages: Sequence[str] = (),
        calls: int = 1000,
        change: Callable[[np.ndarray], np.ndarray] = np.asarray,
    ) -> None:
        self.languages = tuple(languages)
        self.calls = calls
        self.change = change
        self.seen: Counter[tuple[str, str]] = Counter()

    def encode(
        self, texts: Sequence[str], language: str, batch_tokens: int, done: Done | None = None
    ) -> np.ndarray:
        if self.calls == 0:
            raise KeyboardInterrupt
        self.calls -= 1
        if done is not None:
            done(len(texts))
        self.seen.update((language, text) for text in texts)
        return self.change(np.stack([vector(language, text) for text in texts]))


def vector(language: str, sentence: str) -> np.ndarray:
    digest = hashlib.sha256(f"{language} {sentence}".encode()).digest()
    return np.frombuffer(digest[:4], dtype=np.uint8).astype(np.float32)


def prepared(root: Path, pair: str, splits: dict[str, list[SentencePair]]) -> Path:
    folder = root / "bitext" / pair
    folder.mkdir(parents=True)
    for split, pairs in splits.items():
        write_pairs(folder / f"{split}-00000.tsv.zst", pairs)
    sizes = {split: len(pairs) for split, pairs in splits.items()}
    (folder / "counts.json").write_text(json.dumps({"kept": sizes}))
    return folder


@pytest.fixture
def world(tmp_path: Path) -> tuple[list[Path], list[Path]]:
    """Two pairs that share pivot sentences, and a benchmark that shares one more."""
    first, second = (
        prepared(
            tmp_path,
            f"qaa-{code}",
            {
                split: [SentencePair(f"{split} {i % 7}", f"{code} {split} {i}") for i in range(n)]
                for split, n in (("train", 20), ("valid", 5), ("test", 5))
            },
        )
        for code in ("qab", "qac")
    )
    benchmark = tmp_path / "benchmark"
    benchmark.mkdir()
    lines = [SentencePair("foreign", "test 1"), SentencePair("foreign 2", "pivot only here")]
    write_pairs(benchmark / "qab-qaa.tsv.gz", lines)
    return [first, second], [benchmark]


@pytest.fixture
def encoder_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "encoder"
    folder.mkdir()
    (folder / "encoder.json").write_text(json.dumps({"kind": "toy", "pooling": "mean", "max_tokens": 64}))
    return folder


@pytest.fixture
def run(
    monkeypatch: pytest.MonkeyPatch,
    encoder_folder: Path,
    world: tuple[list[Path], list[Path]],
    tmp_path: Path,
) -> Callable[..., Path]:
    """Embed the world with an encoder, in shards of four, into a folder of this name."""
    monkeypatch.setattr(shards, "SENTENCES", 4)
    usual = {"batch_tokens": 64, "dtype": "float32", "train_pairs": 10, "precision": "float32"}

    def run(
        encoder: CountingEncoder,
        name: str,
        *,
        identity: str = "abc",
        code: str = "",
        earlier: Path | None = None,
        given: tuple[list[Path], list[Path]] = world,
        **settings: Any,
    ) -> Path:
        monkeypatch.setattr(module, "load_encoder", lambda *_: encoder)
        monkeypatch.setattr(module, "identity", lambda _: identity)
        output = tmp_path / name
        output.mkdir(exist_ok=True)
        asked = EmbeddingSettings.model_validate(usual | settings)
        bitext, benchmarks = given
        embed(
            encoder_folder,
            chain(bitext_texts(bitext, asked.train_pairs), benchmark_texts(benchmarks)),
            asked,
            device="cpu",
            checkpoint=tmp_path / "checkpoint",
            output=output,
            code=code,
            earlier=earlier,
        )
        return output

    return run


def test_each_distinct_sentence_is_encoded_once_and_found_with_its_own_vector(
    run: Callable[..., Path],
) -> None:
    encoder = CountingEncoder()
    store = EmbeddingStore.open(run(encoder, "out"), "abc")
    assert set(encoder.seen.values()) == {1}
    # qaa: 7 train + 5 valid + 5 test + 1 benchmark; qab: 10 + 5 + 5 + 2; qac: 10 + 5 + 5
    assert store.meta["sentences"] == {"qaa": 18, "qab": 22, "qac": 20}
    assert store.meta["n"] == len(store.vectors) == sum(encoder.seen.values()) == 60
    assert (store.meta["encoder"], store.meta["pooling"], store.meta["max_tokens"]) == ("toy", "mean", 64)
    assert (store.meta["normalised"], store.meta["dtype"]) == (False, "float32")
    for language, sentence in encoder.seen:
        row = store.rows([sentence], language)[0]
        assert np.array_equal(store.vectors[row], vector(language, sentence))


def test_training_pairs_beyond_the_limit_have_no_vector(
    run: Callable[..., Path], world: tuple[list[Path], list[Path]]
) -> None:
    store = EmbeddingStore.open(run(CountingEncoder(), "out", train_pairs=3), "abc")
    texts = [pair.target for pair in read_split(world[0][0], "train")]
    assert len(store.rows(texts[:3], "qab")) == 3
    with pytest.raises(DataError, match=texts[3]):
        store.rows(texts[3:4], "qab")


def test_interrupted_run_goes_on_and_gives_the_same_bytes(run: Callable[..., Path], tmp_path: Path) -> None:
    first = CountingEncoder(calls=5)
    with pytest.raises(KeyboardInterrupt):
        run(first, "cut")
    # a kill in the middle of writing leaves a partial file, which is no shard
    (tmp_path / "checkpoint" / "000005.4711").write_bytes(b"half")
    second = CountingEncoder()
    resumed = run(second, "resumed")
    assert sum(first.seen.values()) == 20  # five shards of four
    assert not set(first.seen) & set(second.seen)
    shutil.rmtree(tmp_path / "checkpoint")
    whole = run(CountingEncoder(), "out")
    names = sorted(path.name for path in whole.iterdir())
    assert names == sorted(path.name for path in resumed.iterdir())
    for name in names:
        assert (whole / name).read_bytes() == (resumed / name).read_bytes()


def test_a_language_that_the_encoder_lacks_is_refused_before_any_work(run: Callable[..., Path]) -> None:
    encoder = CountingEncoder(languages=["qaa", "qab"])
    with pytest.raises(ConfigError, match="does not cover qac of the data; it covers qaa, qab"):
        run(encoder, "out")
    assert not encoder.seen


def test_vectors_that_are_not_finite_are_refused(run: Callable[..., Path]) -> None:
    def broken(vectors: np.ndarray) -> np.ndarray:
        vectors[-1, 0] = np.nan
        return vectors

    with pytest.raises(DataError, match=r"vector of qaa '.*' is not finite"):
        run(CountingEncoder(change=broken), "out")


@pytest.mark.parametrize(
    "harm",
    [
        lambda content: content[:-1],
        lambda content: content[:5] + bytes([content[5] ^ 1]) + content[6:],
        lambda content: b"",
    ],
    ids=["cut short", "one bit turned", "empty"],
)
def test_a_damaged_shard_is_made_again(
    run: Callable[..., Path], tmp_path: Path, harm: Callable[[bytes], bytes]
) -> None:
    whole = run(CountingEncoder(), "a")
    damaged = tmp_path / "checkpoint" / "000002.shard"
    damaged.write_bytes(harm(damaged.read_bytes()))
    again = CountingEncoder()
    repaired = run(again, "b")
    assert sum(again.seen.values()) == 4
    assert (whole / "vectors.npy").read_bytes() == (repaired / "vectors.npy").read_bytes()


@pytest.mark.parametrize(
    "change",
    [{"dtype": "float16"}, {"batch_tokens": 65}, {"identity": "other"}, {"precision": "bfloat16"}],
)
def test_shards_made_in_another_way_are_not_taken(run: Callable[..., Path], change: dict[str, Any]) -> None:
    run(CountingEncoder(), "a")
    same, other = CountingEncoder(), CountingEncoder()
    run(same, "b")
    run(other, "c", **change)
    assert sum(same.seen.values()) == 0
    assert sum(other.seen.values()) == 60


def test_only_shards_whose_text_changed_are_made_again(
    run: Callable[..., Path], world: tuple[list[Path], list[Path]]
) -> None:
    run(CountingEncoder(), "a")
    write_pairs(
        world[1][0] / "qab-qaa.tsv.gz", [SentencePair("foreign", "test 1"), SentencePair("x", "test 2")]
    )
    encoder = CountingEncoder()
    store = EmbeddingStore.open(run(encoder, "b"), "abc")
    assert 0 < len(encoder.seen) < 60
    texts = [text for code, text in encoder.seen if code == "qab"]
    assert np.array_equal(
        store.take(store.rows(texts, "qab")), np.stack([vector("qab", text) for text in texts])
    )


def test_vectors_of_an_earlier_store_are_copied_and_only_new_sentences_are_encoded(
    run: Callable[..., Path], tmp_path: Path
) -> None:
    before = run(CountingEncoder(), "a", train_pairs=4)
    shutil.rmtree(tmp_path / "checkpoint")
    encoder = CountingEncoder()
    after = run(encoder, "b", train_pairs=9, earlier=before)
    # Pairs 5 to 9: three more pivot sentences (they repeat after the seventh), and five more in each language.
    assert sum(encoder.seen.values()) == 3 + 5 + 5
    shutil.rmtree(tmp_path / "checkpoint")
    fresh = run(CountingEncoder(), "c", train_pairs=9)
    for name in sorted(path.name for path in fresh.iterdir()):
        assert (fresh / name).read_bytes() == (after / name).read_bytes(), name


@pytest.mark.parametrize(
    "change",
    [
        {"identity": "other"},
        {"code": "other"},
        {"batch_tokens": 65},
        {"dtype": "float16"},
        {"precision": "bfloat16"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_vectors_of_a_store_that_was_made_in_another_way_are_not_copied(
    run: Callable[..., Path], tmp_path: Path, change: dict[str, Any]
) -> None:
    before = run(CountingEncoder(), "a", **change)
    shutil.rmtree(tmp_path / "checkpoint")
    encoder = CountingEncoder()
    run(encoder, "b", earlier=before)
    assert sum(encoder.seen.values()) == 60


def test_a_damaged_or_absent_earlier_store_is_as_none(run: Callable[..., Path], tmp_path: Path) -> None:
    before = run(CountingEncoder(), "a")
    (before / "digests.npy").write_bytes(b"damaged")
    for place in (before, tmp_path / "nowhere"):
        shutil.rmtree(tmp_path / "checkpoint", ignore_errors=True)
        encoder = CountingEncoder()
        run(encoder, f"b-{place.name}", earlier=place)
        assert sum(encoder.seen.values()) == 60


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, list[int]]]:
    """The total of each meter, and what was added to it."""
    found: list[tuple[int, list[int]]] = []

    class Shown:
        def __init__(self, *, total: int, label: str, unit: str) -> None:
            assert (label, unit) == ("embed", "bytes")
            found.append((total, []))

        def __enter__(self) -> Shown:
            return self

        def __exit__(self, *_: object) -> None: ...

        def add(self, count: int) -> None:
            found[-1][1].append(count)

    monkeypatch.setattr(module, "Meter", Shown)
    return found


def test_progress_counts_the_text_that_is_left(
    run: Callable[..., Path], tmp_path: Path, shown: list[tuple[int, list[int]]]
) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(CountingEncoder(calls=5), "cut")
    before = run(CountingEncoder(), "a")
    text = sum(path.stat().st_size for path in (tmp_path / "checkpoint/text").iterdir())
    shutil.rmtree(tmp_path / "checkpoint")
    run(CountingEncoder(), "b", earlier=before)
    (first, some), (second, rest), last = shown
    assert (first, last) == (text, (0, []))
    assert sum(some) + second == first
    assert sum(rest) == second < first


def test_progress_is_in_bytes_of_text_as_the_longest_sentences_come_first(
    run: Callable[..., Path], tmp_path: Path, shown: list[tuple[int, list[int]]]
) -> None:
    long = [SentencePair(f"{'long ' * 100}{i}", f"{'lang ' * 100}{i}") for i in range(4)]
    short = [SentencePair(f"short {i}", f"kurz {i}") for i in range(40)]
    pair = prepared(tmp_path, "qaa-qad", {"train": long, "valid": short, "test": short[:1]})
    run(CountingEncoder(), "out", given=([pair], []))
    ((total, counts),) = shown
    # Two of 22 shards have most of the work.
    assert len(counts) == 22
    assert 0.8 < sum(counts[:2]) / total < 0.95


def test_float16_is_stored_as_such_and_read_as_float32(run: Callable[..., Path]) -> None:
    encoder = CountingEncoder(change=lambda vectors: vectors / np.float32(3))
    folder = run(encoder, "out", dtype="float16")
    store = EmbeddingStore.open(folder, "abc")
    assert (store.vectors.dtype, store.meta["dtype"]) == (np.float16, "float16")
    for language, sentence in encoder.seen:
        taken = store.take(store.rows([sentence], language))[0]
        assert taken.dtype == np.float32
        assert np.array_equal(taken, (vector(language, sentence) / np.float32(3)).astype(np.float16))


@pytest.mark.parametrize(("factor", "shown"), [(1e4, "e+06"), (1e-12, "e-10")])
def test_vectors_that_float16_does_not_hold_are_refused(
    run: Callable[..., Path], factor: float, shown: str
) -> None:
    extreme = CountingEncoder(change=lambda vectors: vectors * np.float32(factor))

    with pytest.raises(
        DataError, match=r"float16 does not hold the vector of qa. '.*', whose largest"
    ) as error:
        run(extreme, "out", dtype="float16")
    assert shown in str(error.value)
    run(extreme, "out")


def test_memory_holds_a_shard_of_vectors_however_many_there_are(
    run: Callable[..., Path], tmp_path: Path
) -> None:
    class Wide(CountingEncoder):
        dim = 2000

        def encode(
            self, texts: Sequence[str], language: str, batch_tokens: int, done: Done | None = None
        ) -> np.ndarray:
            return np.ones((len(texts), self.dim), dtype=np.float32)

    def peak(n: int) -> int:
        pairs = [SentencePair(f"pivot {i}", f"other {i}") for i in range(n)]
        folder = prepared(
            tmp_path / f"{n}-bitext", "qaa-qab", {"train": pairs, "valid": pairs[:1], "test": pairs[:1]}
        )
        tracemalloc.start()
        run(Wide(), f"{n}", given=([folder], []), train_pairs=n)
        size = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return size

    # 8 kB a vector: all those of the larger run would be 8 MB, those of a shard are 32 kB.
    assert peak(500) < peak(50) + 1e6
