"""EMS pretraining on a toy language pair: it learns, repeats itself, and resumes bit for bit."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from orthoglot import config
from orthoglot.corpora.bitext import SentencePair, write_pairs
from orthoglot.encoders.folder import identity
from orthoglot.encoders.load import load_encoder
from orthoglot.encoders.settings import EmsSettings, TokenizerSettings
from orthoglot.encoders.tokenization import Ragged, Tokenizer
from orthoglot.errors import DataError
from orthoglot.training import loop, pretrain

SETTINGS = EmsSettings(
    kind="ems",
    tokenizer=TokenizerSettings(
        words="unicode", vocabulary=120, sentences=1000, character_coverage=1.0, threads=1, seed=1
    ),
    layers=1,
    width=32,
    heads=2,
    feed_forward=64,
    max_tokens=24,
    embedding_spread=0.02,
    dropout=0.1,
    attention_dropout=0.1,
    language_width=8,
    projection_width=16,
    temperature=0.1,
    xtr_weight=1.0,
    contrastive_weight=1.0,
    learning_rate=5e-3,
    weight_decay=1e-5,
    warmup_steps=10,
    schedule="cosine",
    batch_size=32,
    steps=80,
    validate_every=20,
    sampling_temperature=1.0,
    threads=1,
    seed=1,
)
WORDS = {"tree": "baum", "house": "haus", "dog": "hund", "red": "rot", "small": "klein", "sees": "sieht"}
WORDS |= {"water": "wasser", "old": "alt", "bread": "brot", "eats": "isst", "night": "nacht", "my": "mein"}


def write_folder(folder: Path, splits: dict[str, list[SentencePair]]) -> Path:
    folder.mkdir(parents=True)
    for split, pairs in splits.items():
        write_pairs(folder / f"{split}.tsv.gz", pairs)
    kept = {split: len(pairs) for split, pairs in splits.items()}
    (folder / "counts.json").write_text(json.dumps({"in": {"invented": 1}, "kept": kept}))
    return folder


def word_for_word(count: int, seed: int) -> list[SentencePair]:
    """Four English words and their German ones in reverse order."""
    draw = random.Random(seed)
    rows = {tuple(draw.sample(sorted(WORDS), 4)) for _ in range(count)}
    return [SentencePair(" ".join(row), " ".join(WORDS[w] for w in row[::-1])) for row in sorted(rows)]


@pytest.fixture(scope="module")
def bitext(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("bitext") / "en-de"
    return [write_folder(folder, {"train": word_for_word(400, 0), "valid": word_for_word(60, 1)})]


def _train(bitext: list[Path], place: Path, settings: EmsSettings = SETTINGS) -> Path:
    output = place / "encoder"
    output.mkdir(parents=True)
    pretrain.pretrain_ems(settings, "toy", bitext, device="cpu", checkpoint=place / "state", output=output)
    return output


def _history(folder: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (folder / "history.jsonl").read_text().splitlines()]


@pytest.fixture(scope="module")
def trained(bitext: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _train(bitext, tmp_path_factory.mktemp("trained"))


def test_it_learns_to_find_translations(trained: Path) -> None:
    history = _history(trained)
    assert len(history) == 4
    assert history[-1]["valid.retrieval"] > 80
    assert history[-1]["valid.total"] < history[0]["valid.total"]
    assert history[-1]["valid.xtr"] >= 0
    pairs = word_for_word(60, 2)
    encoder = load_encoder(trained, "cpu")
    assert encoder.languages == ("de", "en")
    sides = [
        encoder.encode([pair[side] for pair in pairs], language, 16)
        for side, language in enumerate(("en", "de"))
    ]
    a, b = (side / np.linalg.norm(side, axis=1, keepdims=True) for side in sides)
    found = ((a @ b.T).argmax(1) == np.arange(len(pairs))).mean()
    assert found > 0.8


def test_the_card_tells_what_it_was_trained_on(trained: Path) -> None:
    card = json.loads((trained / "encoder.json").read_text())
    pairs = len(word_for_word(400, 0))
    text = {"en-de": {"corpora": ["invented"], "pairs": pairs}}
    assert card["training"] == {"text": text, "steps": 80, "batch_size": 32, "seed": 1}
    assert card["words"] == "unicode"


def test_heads_are_dropped_and_only_safetensors_are_written(trained: Path) -> None:
    assert {path.name for path in trained.iterdir()} == {
        "encoder.json",
        "history.jsonl",
        "model.safetensors",
        "tokenizer.model",
    }
    assert not any(key.startswith("objective") for key in load_file(trained / "model.safetensors"))


def test_the_same_settings_give_the_same_bytes(trained: Path, bitext: list[Path], tmp_path: Path) -> None:
    again = _train(bitext, tmp_path)
    names = sorted(path.name for path in trained.iterdir())
    assert [name for name in names if (again / name).read_bytes() != (trained / name).read_bytes()] == []
    other = _train(bitext, tmp_path / "other", SETTINGS.model_copy(update={"seed": 2}))
    assert identity(other) != identity(trained)


def test_interrupted_and_resumed_equals_uninterrupted(
    trained: Path, bitext: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "SECONDS_BETWEEN_SAVES", 0.0)
    validate, calls = pretrain.validate, []

    def interrupted(*arguments: Any) -> dict[str, float]:
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return validate(*arguments)

    monkeypatch.setattr(pretrain, "validate", interrupted)
    with pytest.raises(KeyboardInterrupt):
        _train(bitext, tmp_path)
    (tmp_path / "encoder").rename(tmp_path / "half")
    resumed = _train(bitext, tmp_path)
    assert len(calls) == 3 + 2  # epochs 2 and 3 of 4 only
    names = sorted(path.name for path in trained.iterdir())
    assert [name for name in names if (resumed / name).read_bytes() != (trained / name).read_bytes()] == []


def test_global_generators_are_left_alone(bitext: list[Path], tmp_path: Path) -> None:
    before = torch.get_rng_state()
    _train(bitext, tmp_path, SETTINGS.model_copy(update={"steps": 2}))
    assert torch.equal(before, torch.get_rng_state())


def test_pairs_without_tokens_are_dropped_and_counted(
    trained: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    # A zero-width space survives cleaning but has no piece.
    pairs = [SentencePair("my dog", "mein hund"), SentencePair("\u200b", "rot"), SentencePair("old", "alt")]
    folder = write_folder(tmp_path / "en-de", {"train": pairs, "valid": []})
    tokenizer = Tokenizer(trained / "tokenizer.model", "unicode")
    with caplog.at_level("INFO"):
        data = pretrain.tokenise([folder], "train", tokenizer, ["de", "en"], 24)
    assert data.sizes == (2,)
    assert "en-de: 1 pairs without tokens left out of train" in caplog.text
    assert data.languages.tolist() == [[1, 0], [1, 0]]
    expected = tokenizer.encode(["old"], "en", 24).ids
    batch = data.batch(np.array([1]), torch.device("cpu"))
    assert batch.source.tolist() == [expected.tolist()]
    assert batch.target_language.tolist() == [0]
    with pytest.raises(DataError, match="valid: no sentence pair"):
        pretrain.tokenise([folder], "valid", tokenizer, ["de", "en"], 24)


def test_validation_does_not_depend_on_how_rows_are_batched() -> None:
    # Without the contrastive term nothing of a batch reaches its mates.
    generator = np.random.default_rng(0)
    sides = [Ragged.of([generator.integers(1, 30, 2 + n % 5).tolist() for n in range(20)]) for _ in range(2)]
    data = pretrain.Bitext(*sides, languages=np.tile([0, 1], (20, 1)), sizes=(12, 8))
    settings = SETTINGS.model_copy(update={"contrastive_weight": 0.0})
    sizes = pretrain.ems.Sizes(30, 1, 32, 2, 64, 24, 0.0, 0.0)
    with torch.random.fork_rng(), torch.no_grad():
        torch.manual_seed(0)
        network = pretrain.Network(settings, sizes, 2).eval()
        whole = pretrain.validate(network, data, [np.arange(20)])
        parts = pretrain.validate(network, data, [np.arange(3), np.arange(19, 2, -1)])
    assert parts == pytest.approx(whole, rel=1e-5)
    assert 0 <= whole["retrieval"] <= 100


def test_monolingual_text_is_distinct_by_language(tmp_path: Path) -> None:
    pairs = [SentencePair("a", "x"), SentencePair("a", "y"), SentencePair("b", "x")]
    folder = write_folder(tmp_path / "en-de", {"train": pairs})
    assert pretrain.monolingual([folder], "train") == {"de": ["x", "y"], "en": ["a", "b"]}


def test_the_catalogued_paper_settings_have_the_papers_size() -> None:
    """Methods 5.1: recomputed 137.1 M parameters at inference, 208.8 M in training."""
    settings = config.load(Path(__file__).parents[2] / "params.yaml").encoders["ems-paper"]
    assert isinstance(settings, EmsSettings)
    shape = settings.model_dump(include=set(pretrain.ems.Sizes.__dataclass_fields__))
    sizes = pretrain.ems.Sizes(vocabulary=settings.tokenizer.vocabulary, **shape)
    with torch.device("meta"):
        network = pretrain.Network(settings, sizes, languages=62)
    kept, trained = (sum(p.numel() for p in part.parameters()) for part in (network.encoder, network))
    assert (round(kept / 1e6, 1), round(trained / 1e6, 1)) == (137.1, 208.8)
