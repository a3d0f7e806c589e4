"""Embedding: each sentence once, resume with the same bytes, refusals before any work."""

from __future__ import annotations

import hashlib
import json
import shutil
import tracemalloc
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

from orthoglot.corpora.prepare import read_split
from orthoglot.embeddings import embed as module
from orthoglot.embeddings import shards
from orthoglot.embeddings.embed import embed
from orthoglot.embeddings.settings import EmbeddingSettings
from orthoglot.embeddings.store import EmbeddingStore
from orthoglot.encoders.base import Done
from orthoglot.errors import ConfigError, DataError
from orthoglot.text.bitext import SentencePair, write_pairs


class CountingEncoder:
    """A sentence's vector is made of its digest; counts what it is asked for and fails after some calls."""

    name = "toy"
    dim = 4

    def __init__(self, languages: Sequence[str] = (), calls: int = 1000) -> None:
        self.languages = tuple(languages)
        self.calls = calls
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
        return np.stack([vector(language, text) for text in texts])


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


def run(
    monkeypatch: pytest.MonkeyPatch,
    encoder: CountingEncoder,
    folder: Path,
    world: tuple[list[Path], list[Path]],
    output: Path,
    *,
    train_pairs: int = 10,
    identity: str = "abc",
    dtype: Literal["float32", "float16"] = "float32",
    batch_tokens: int = 64,
    precision: Literal["float32", "bfloat16"] = "float32",
    **more: Any,
) -> Path:
    monkeypatch.setattr(module, "load_encoder", lambda *_: encoder)
    monkeypatch.setattr(module, "identity", lambda _: identity)
    monkeypatch.setattr(shards, "SENTENCES", 4)
    output.mkdir(exist_ok=True)
    settings = EmbeddingSettings(
        batch_tokens=batch_tokens, dtype=dtype, train_pairs=train_pairs, precision=precision
    )
    checkpoint = folder.parent / "checkpoint"
    embed(folder, *world, settings, device="cpu", checkpoint=checkpoint, output=output, **more)
    return output


def test_each_distinct_sentence_is_encoded_once_and_found_with_its_own_vector(
    monkeypatch: pytest.MonkeyPatch,
    encoder_folder: Path,
    world: tuple[list[Path], list[Path]],
    tmp_path: Path,
) -> None:
    encoder = CountingEncoder()
    store = EmbeddingStore.open(run(monkeypatch, encoder, encoder_folder, world, tmp_path / "out"), "abc")
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
    monkeypatch: pytest.MonkeyPatch,
    encoder_folder: Path,
    world: tuple[list[Path], list[Path]],
    tmp_path: Path,
) -> None:
    store = EmbeddingStore.open(
        run(monkeypatch, CountingEncoder(), encoder_folder, world, tmp_path / "out", train_pairs=3), "abc"
    )
    texts = [pair.target for pair in read_split(world[0][0], "train")]
    assert len(store.rows(texts[:3], "qab")) == 3
    with pytest.raises(DataError, match=texts[3]):
        store.rows(texts[3:4], "qab")


def test_interrupted_run_goes_on_and_gives_the_same_bytes(
    monkeypatch: pytest.MonkeyPatch,
    encoder_folder: Path,
    world: tuple[list[Path], list[Path]],
    tmp_path: Path,
) -> None:
    first = CountingEncoder(calls=5)
    with pytest.raises(KeyboardInterrupt):
        run(monkeypatch, first, encoder_folder, world, tmp_path / "cut")
    # a kill in the middle of writing leaves a partial file, which is no shard
    (tmp_path / "checkpoint" / "000005.4711").write_bytes(b"half")
    second = CountingEncoder()
    resumed = run(monkeypatch, second, encoder_folder, world, tmp_path / "resumed")
    assert sum(first.seen.values()) == 20  # five shards of four
    assert not set(first.seen) & set(second.seen)
    whole_world = tmp_path / "elsewhere"
    whole_world.mkdir()
    moved = encoder_folder.rename(whole_world / "encoder")
    whole = run(monkeypatch, CountingEncoder(), moved, world, whole_world / "out")
    names = sorted(path.name for path in whole.iterdir())
    assert names == sorted(path.name for path in resumed.iterdir())
    for name in names:
        assert (whole / name).read_bytes() == (resumed / name).read_bytes()


def test_shards_of_another_encoder_are_not_taken(
    monkeypatch: pytest.MonkeyPatch,
    encoder_folder: Path,
    world: tuple[list[Path], list[Path]],
    tmp_path: Path,
) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(monkeypatch, CountingEncoder(calls=3), encoder_folder, world, tmp_path / "a", identity="old")
    encoder = CountingEncoder()
    run(monkeypatch, encoder, encoder_folder, world, tmp_path / "b", identity="new")
    assert sum(encoder.seen.values()) == 60


def test_a_language_that_the_encoder_lacks_is_refused_before_any_work(
    monkeypatch: pytest.MonkeyPatch,
    encoder_folder: Path,
    world: tuple[list[Path], list[Path]],
    tmp_path: Path,
) -> None:
    encoder = CountingEncoder(languages=["qaa", "qab"])
    with pytest.raises(ConfigError, match="does not cover qac of the data; it covers qaa, qab"):
        run(monkeypatch, encoder, encoder_folder, world, tmp_path / "out")
    assert not encoder.seen


def test_vectors_that_are_not_finite_are_refused(
    monkeypatch: pytest.MonkeyPatch,
    encoder_folder: Path,
    world: tuple[list[Path], list[Path]],
    tmp_path: Path,
) -> None:
    class Broken(CountingEncoder):
        def encode(
            self, texts: Sequence[str], language: str, batch_tokens: int, done: Done | None = None
        ) -> np.ndarray:
            vectors = super().encode(texts, language, batch_tokens)
            vectors[-1, 0] = np.nan
            return vectors

    with pytest.raises(DataError, match=r"vector of qaa '.*' is not finite"):
        run(monkeypatch, Broken(), encoder_folder, world, tmp_path / "out")


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
    monkeypatch: pytest.MonkeyPatch,
    encoder_folder: Path,
    world: tuple[list[Path], list[Path]],
    tmp_path: Path,
    harm: Callable[[bytes], bytes],
) -> None:
    whole = run(monkeypatch, CountingEncoder(), encoder_folder, world, tmp_path / "a")
    damaged = tmp_path / "checkpoint" / "000002.shard"
    damaged.write_bytes(harm(damaged.read_bytes()))
    again = CountingEncoder()
    mended = run(monkeypatch, again, encoder_folder, world, tmp_path / "b")
    assert sum(again.seen.values()) == 4
    assert (whole / "vectors.npy").read_bytes() == (mended / "vectors.npy").read_bytes()


@pytest.mark.parametrize(
    "change",
    [{"dtype": "float16"}, {"batch_tokens": 65}, {"identity": "other"}, {"precision": "bfloat16"}],
)
def test_shards_made_in_another_way_are_not_taken(
    monkeypatch: pytest.MonkeyPatch,
    encoder_folder: Path,
    world: tuple[list[Path], list[Path]],
    tmp_path: Path,
    change: dict[str, Any],
) -> None:
    run(monkeypatch, CountingEncoder(), encoder_folder, world, tmp_path / "a")
    same, other = CountingEncoder(), CountingEncoder()
    run(monkeypatch, same, encoder_folder, world, tmp_path / "b")
    run(monkeypatch, other, encoder_folder, world, tmp_path / "c", **change)
    assert sum(same.seen.values()) == 0
    assert sum(other.seen.values()) == 60


def test_only_shards_whose_text_changed_are_made_again(
    monkeypatch: pytest.MonkeyPatch,
    encoder_folder: Path,
    world: tuple[list[Path], list[Path]],
    tmp_path: Path,
) -> None:
    run(monkeypatch, CountingEncoder(), encoder_folder, world, tmp_path / "a")
    write_pairs(
        world[1][0] / "qab-qaa.tsv.gz", [SentencePair("foreign", "test 1"), SentencePair("x", "test 2")]
    )
    encoder = CountingEncoder()
    store = EmbeddingStore.open(run(monkeypatch, encoder, encoder_folder, world, tmp_path / "b"), "abc")
    assert 0 < len(encoder.seen) < 60
    texts = [text for code, text in encoder.seen if code == "qab"]
    assert np.array_equal(
        store.take(store.rows(texts, "qab")), np.stack([vector("qab", text) for text in texts])
    )


def test_vectors_of_an_earlier_store_are_copied_and_only_new_sentences_are_encoded(
    monkeypatch: pytest.MonkeyPatch,
    encoder_folder: Path,
    world: tuple[list[Path], list[Path]],
    tmp_path: Path,
) -> None:
    before = run(monkeypatch, CountingEncoder(), encoder_folder, world, tmp_path / "a", train_pairs=4)
    shutil.rmtree(tmp_path / "checkpoint")
    encoder = CountingEncoder()
    after = run(monkeypatch, encoder, encoder_folder, world, tmp_path / "b", train_pairs=9, earlier=before)
    # Pairs 5 to 9: three more pivot sentences (they repeat after the seventh), and five more in each language.
    assert sum(encoder.seen.values()) == 3 + 5 + 5
    shutil.rmtree(tmp_path / "checkpoint")
    fresh = run(monkeypatch, CountingEncoder(), encoder_folder, world, tmp_path / "c", train_pairs=9)
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
    monkeypatch: pytest.MonkeyPatch,
    encoder_folder: Path,
    world: tuple[list[Path], list[Path]],
    tmp_path: Path,
    change: dict[str, Any],
) -> None:
    before = run(monkeypatch, CountingEncoder(), encoder_folder, world, tmp_path / "a", **change)
    shutil.rmtree(tmp_path / "checkpoint")
    encoder = CountingEncoder()
    run(monkeypatch, encoder, encoder_folder, world, tmp_path / "b", earlier=before)
    assert sum(encoder.seen.values()) == 60


def test_a_damaged_or_absent_earlier_store_is_as_none(
    monkeypatch: pytest.MonkeyPatch,
    encoder_folder: Path,
    world: tuple[list[Path], list[Path]],
    tmp_path: Path,
) -> None:
    before = run(monkeypatch, CountingEncoder(), encoder_folder, world, tmp_path / "a")
    (before / "digests.npy").write_bytes(b"damaged")
    for place in (before, tmp_path / "nowhere"):
        shutil.rmtree(tmp_path / "checkpoint", ignore_errors=True)
        encoder = CountingEncoder()
        run(monkeypatch, encoder, encoder_folder, world, tmp_path / f"b-{place.name}", earlier=place)
        assert sum(encoder.seen.values()) == 60


def test_progress_counts_the_sentences_that_are_left(
    monkeypatch: pytest.MonkeyPatch,
    encoder_folder: Path,
    world: tuple[list[Path], list[Path]],
    tmp_path: Path,
) -> None:
    shown: list[tuple[int, list[int]]] = []

    class Shown:
        def __init__(self, *, total: int, label: str, unit: str) -> None:
            assert (label, unit) == ("embed", "sentences")
            shown.append((total, []))

        def __enter__(self) -> Shown:
            return self

        def __exit__(self, *_: object) -> None: ...

        def add(self, count: int) -> None:
            shown[-1][1].append(count)

    monkeypatch.setattr(module, "Meter", Shown)
    with pytest.raises(KeyboardInterrupt):
        run(monkeypatch, CountingEncoder(calls=5), encoder_folder, world, tmp_path / "cut")
    before = run(monkeypatch, CountingEncoder(), encoder_folder, world, tmp_path / "a")
    shutil.rmtree(tmp_path / "checkpoint")
    run(monkeypatch, CountingEncoder(), encoder_folder, world, tmp_path / "b", earlier=before)
    assert [(total, sum(counts)) for total, counts in shown] == [(60, 20), (40, 40), (0, 0)]


def test_float16_is_stored_as_such_and_read_as_float32(
    monkeypatch: pytest.MonkeyPatch,
    encoder_folder: Path,
    world: tuple[list[Path], list[Path]],
    tmp_path: Path,
) -> None:
    class Fine(CountingEncoder):
        def encode(
            self, texts: Sequence[str], language: str, batch_tokens: int, done: Done | None = None
        ) -> np.ndarray:
            return super().encode(texts, language, batch_tokens) / np.float32(3)

    encoder = Fine()
    folder = run(monkeypatch, encoder, encoder_folder, world, tmp_path / "out", dtype="float16")
    store = EmbeddingStore.open(folder, "abc")
    assert (store.vectors.dtype, store.meta["dtype"]) == (np.float16, "float16")
    for language, sentence in encoder.seen:
        taken = store.take(store.rows([sentence], language))[0]
        assert taken.dtype == np.float32
        assert np.array_equal(taken, (vector(language, sentence) / np.float32(3)).astype(np.float16))


@pytest.mark.parametrize(("factor", "told"), [(1e4, "e+06"), (1e-12, "e-10")])
def test_vectors_that_float16_does_not_hold_are_refused(
    monkeypatch: pytest.MonkeyPatch,
    encoder_folder: Path,
    world: tuple[list[Path], list[Path]],
    tmp_path: Path,
    factor: float,
    told: str,
) -> None:
    class Extreme(CountingEncoder):
        def encode(
            self, texts: Sequence[str], language: str, batch_tokens: int, done: Done | None = None
        ) -> np.ndarray:
            return super().encode(texts, language, batch_tokens) * np.float32(factor)

    with pytest.raises(
        DataError, match=r"float16 does not hold the vector of qa. '.*', whose largest"
    ) as error:
        run(monkeypatch, Extreme(), encoder_folder, world, tmp_path / "out", dtype="float16")
    assert told in str(error.value)
    run(monkeypatch, Extreme(), encoder_folder, world, tmp_path / "out")


def test_memory_holds_a_shard_of_vectors_however_many_there_are(
    monkeypatch: pytest.MonkeyPatch, encoder_folder: Path, tmp_path: Path
) -> None:
    class Wide(CountingEncoder):
        dim = 2000

        def encode(
            self, texts: Sequence[str], language: str, batch_tokens: int, done: Done | None = None
        ) -> np.ndarray:
            return np.ones((len(texts), self.dim), dtype=np.float32)

    def peak(n: int) -> int:
        pairs = [SentencePair(f"pivot {i}", f"other {i}") for i in range(n)]
        root = tmp_path / str(n)
        folder = prepared(root, "qaa-qab", {"train": pairs, "valid": pairs[:1], "test": pairs[:1]})
        tracemalloc.start()
        run(monkeypatch, Wide(), encoder_folder, ([folder], []), root, train_pairs=n)
        size = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return size

    # 8 kB a vector: all those of the larger run would be 8 MB, those of a shard are 32 kB.
    assert peak(500) < peak(50) + 1e6
