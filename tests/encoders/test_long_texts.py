"""Long texts on an accelerator, for which a CPU stands in: tokenisation beside the encoding, and compiled layers."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from threading import Event
from time import sleep
from typing import Any

import numpy as np
import pytest
import torch
from checkpoints import pretrained, xlmr
from torch import Tensor

from orthoglot.apply import text_vectors as texts
from orthoglot.apply.model import Model
from orthoglot.apply.text_vectors import text_vectors
from orthoglot.embeddings import embed as embedding
from orthoglot.embeddings import shards
from orthoglot.embeddings.embed import embed
from orthoglot.embeddings.settings import EmbeddingSettings
from orthoglot.encoders import long_texts, packed
from orthoglot.encoders.base import for_text
from orthoglot.encoders.folder import load_encoder
from orthoglot.encoders.frozen_folder import link
from orthoglot.encoders.long_texts import COMPILES_FROM, TOKEN_BYTES
from orthoglot.encoders.pretrained import PretrainedEncoder
from orthoglot.encoders.token_lists import Ragged
from orthoglot.errors import DataError

CPU, DEVICE = torch.device("cpu"), torch.device("meta")
BLOCK = 8
WORDS = ["the", "cat", "sat", "on", "a", "mat"]


class StandIn(PretrainedEncoder):
    """An encoder whose device is not its CPU, as far as it says; BAD has no token."""

    events: list[str]  # what began and ended, in order
    second: Event | None = None  # set when the second block is tokenised; the first is not encoded before

    def tokens(self, sentences: Any, language: str) -> Ragged:
        self.events.append("tokenises")
        if self.second is not None and self.events.count("tokenises") == 2:
            self.second.set()
        if "BAD" in sentences:
            raise DataError(f"sentence {sentences.index('BAD')} has no token")
        read = super().tokens(sentences, language)
        sleep(0.001)  # so that the other thread gets its chance
        self.events.append("has tokenised")
        return read

    def vectors(self, tokens: Ragged, batch: np.ndarray) -> Tensor:
        self.events.append("encodes")
        if self.second is not None:
            assert self.second.wait(60), "no thread tokenises the second block"
        vectors = PretrainedEncoder.vectors(replace(self, device=CPU), tokens, batch)
        sleep(0.001)
        self.events.append("has encoded")
        return vectors


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("encoder")
    link(pretrained(xlmr(tmp_path_factory.mktemp("hub") / "xlmr")), "tiny", place)
    return place


@pytest.fixture
def made(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., StandIn]:
    opened = load_encoder(folder)

    def make(device: torch.device, second: Event | None = None) -> StandIn:
        # Copies of it share these.
        monkeypatch.setattr(StandIn, "events", [], raising=False)
        monkeypatch.setattr(StandIn, "second", second)
        given = {field.name: getattr(opened, field.name) for field in fields(opened)}
        return StandIn(**given | {"device": device})

    return make


def sentences(count: int) -> list[str]:
    draw = np.random.default_rng(0)
    return [" ".join(draw.choice(WORDS, draw.integers(1, 9))) for _ in range(count)]


def stored(encoder: StandIn, text: list[str], output: Path) -> np.ndarray:
    return np.array(text_vectors(Model(encoder, None, "m"), text, output, part="sentence", block=BLOCK))


def embedded(encoder: StandIn, text: list[str], place: Path, monkeypatch: pytest.MonkeyPatch) -> bytes:
    monkeypatch.setattr(shards, "SENTENCES", BLOCK)
    monkeypatch.setattr(embedding, "_opened", lambda *_: encoder)
    monkeypatch.setattr(embedding, "card", lambda _: {})
    monkeypatch.setattr(embedding, "identity", lambda _: "m")
    (place / "out").mkdir(parents=True, exist_ok=True)
    embed(
        Path(encoder.name),
        [("en", sentence) for sentence in text],
        EmbeddingSettings(batch_tokens=16),
        device="cpu",
        checkpoint=place / "checkpoint",
        output=place / "out",
    )
    return (place / "out" / "vectors.npy").read_bytes()


def test_the_next_block_is_tokenised_while_the_device_encodes(
    made: Callable[..., StandIn], tmp_path: Path
) -> None:
    text = sentences(5 * BLOCK + 3)
    on_cpu = stored(made(CPU), text, tmp_path / "cpu.npy")
    assert StandIn.events[:4] == ["tokenises", "has tokenised", "encodes", "has encoded"]
    assert StandIn.events.count("tokenises") == 6
    beside = stored(made(DEVICE, second=Event()), text, tmp_path / "device.npy")
    np.testing.assert_array_equal(beside, on_cpu)
    assert StandIn.events.count("tokenises") == 6


def test_a_long_text_is_encoded_in_the_batches_of_a_gpu(made: Callable[..., StandIn], tmp_path: Path) -> None:
    text = sentences(800)
    for device, batches in ((CPU, 2), (DEVICE, 1)):
        encoder = made(device)
        tokens = int(encoder.tokens(text, "").lengths.sum())
        assert 2048 < tokens < 16_384
        text_vectors(Model(encoder, None, "m"), text, tmp_path / f"{device}.npy", part="sentence", block=800)
        assert min(StandIn.events.count("encodes"), 2) == batches


def test_threads_tokenise_and_encode_one_at_a_time(made: Callable[..., StandIn], tmp_path: Path) -> None:
    stored(made(DEVICE), sentences(40 * BLOCK), tmp_path / "v.npy")
    for work in ("tokenise", "encode"):
        events = [event for event in StandIn.events if work in event]
        assert events == [f"{work}s", f"has {work}d"] * (len(events) // 2)
        assert len(events) >= 80


def test_shards_are_the_same_and_the_next_is_tokenised_meanwhile(
    made: Callable[..., StandIn], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = list(dict.fromkeys(sentences(60)))
    on_cpu = embedded(made(CPU), text, tmp_path / "cpu", monkeypatch)
    assert embedded(made(DEVICE, second=Event()), text, tmp_path / "device", monkeypatch) == on_cpu


def test_an_error_of_a_later_block_comes_after_the_blocks_before_it(
    made: Callable[..., StandIn], tmp_path: Path
) -> None:
    text = sentences(5 * BLOCK)
    text[BLOCK + 3] = "BAD"
    for device in (CPU, DEVICE):
        output = tmp_path / f"{device}.npy"
        with pytest.raises(DataError, match=r"^sentence 3 has no token$"):
            stored(made(device), text, output)
        assert json.loads(output.with_name(output.name + ".json").read_text())["done"] == BLOCK


def test_the_meter_counts_the_whole_text_once(
    made: Callable[..., StandIn], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts: list[list[int]] = []
    monkeypatch.setattr(texts.EarlyMeter, "add", lambda _, count: counts[-1].append(count))
    for device in (CPU, DEVICE):
        counts.append([])
        stored(made(device), sentences(5 * BLOCK), tmp_path / f"{device}.npy")
    assert sorted(counts[0]) == sorted(counts[1])
    assert sum(counts[0]) > 0


@pytest.fixture
def compiled_calls(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """For each batch whether its layers are to be compiled."""
    notes, states = [], packed.packed_states

    def noting(*given: Any, compiles: bool) -> Tensor:
        notes.append(compiles)
        return states(*given, compiles=compiles)

    monkeypatch.setattr(packed, "packed_states", noting)
    monkeypatch.setattr(PretrainedEncoder, "_reads_packed", True)
    return notes


def test_layers_are_compiled_for_a_long_text_alone(
    made: Callable[..., StandIn], compiled_calls: list[bool], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit = COMPILES_FROM * TOKEN_BYTES
    for device, size in ((CPU, limit), (DEVICE, limit - 1), (DEVICE, limit)):
        encoder, _ = for_text(made(device), size)
        encoder.encode(["a cat"], "", 64)
    assert compiled_calls == [False, False, True]
    text = sentences(2 * BLOCK)
    monkeypatch.setattr(long_texts, "COMPILES_FROM", sum(map(len, text)) / TOKEN_BYTES)
    for rows in (text, text[1:]):
        stored(made(DEVICE), rows, tmp_path / "v.npy")
    assert compiled_calls[3:] == [True, True, False, False]


def test_an_interrupted_store_goes_on_with_compiled_layers(
    made: Callable[..., StandIn],
    compiled_calls: list[bool],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also where little is left: the whole text decides."""
    text = list(dict.fromkeys(sentences(60)))
    monkeypatch.setattr(long_texts, "COMPILES_FROM", sum(map(len, text)) / TOKEN_BYTES)
    save, saved = shards.ShardFiles.save, []

    def fragile(*given: Any) -> None:
        if len(saved) == 4:
            raise KeyboardInterrupt
        saved.append(1)
        save(*given)

    monkeypatch.setattr(shards.ShardFiles, "save", fragile)
    with pytest.raises(KeyboardInterrupt):
        embedded(made(DEVICE), text, tmp_path, monkeypatch)
    monkeypatch.setattr(shards.ShardFiles, "save", save)
    before = len(compiled_calls)
    embedded(made(DEVICE), text, tmp_path, monkeypatch)
    assert len(compiled_calls) > before
    assert set(compiled_calls) == {True}
