"""EMS pretraining on a toy language pair: it learns, repeats itself, and resumes bit for bit."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path
from typing import Any

import ems_encoders
import numpy as np
import pytest
import straightforward_ems as straightforward
import torch
from safetensors.torch import load_file
from toy_training import SETTINGS, history_of, train_ems, word_for_word
from training_process import start_training

from orthoglot.encoders.folder import identity, load_encoder
from orthoglot.encoders.token_lists import Ragged
from orthoglot.errors import DataError
from orthoglot.study import config
from orthoglot.study.pretraining.collate import EmsCollator
from orthoglot.study.pretraining.kinds.ems import EmsSettings
from orthoglot.study.pretraining.networks import TrainableEncoder
from orthoglot.study.pretraining.settings import EncoderNetwork, ScratchNetwork
from orthoglot.study.pretraining.tokenised import Bitext
from orthoglot.study.pretraining.trainings import ems as pretrain
from orthoglot.study.pretraining.validation import validate
from orthoglot.training import checkpoint, loop


class Tokens:
    """The tokenizer of ids that mean nothing."""

    pad, unknown, mask, before, after, most = 0, 1, 2, (), (), 1000

    def __init__(self, size: int):
        self.size = size

    def tokens(self) -> list[str]:
        return ["word"] * self.size


def untrained(network: ScratchNetwork, vocabulary: int) -> TrainableEncoder:
    """A network without a tokenizer."""
    return TrainableEncoder.new(network, Tokens(vocabulary))  # type: ignore[arg-type]


def test_it_learns_to_find_translations(trained_ems: Path) -> None:
    history = history_of(trained_ems)
    assert len(history) == 4
    assert history[-1]["valid.retrieval"] > 80
    assert history[-1]["valid.total"] < history[0]["valid.total"]
    assert history[-1]["valid.xtr"] >= 0
    pairs = word_for_word(60, 2)
    encoder = load_encoder(trained_ems, "cpu")
    assert encoder.languages == ("de", "en")
    sides = [
        encoder.encode([pair[side] for pair in pairs], language, 16)
        for side, language in enumerate(("en", "de"))
    ]
    a, b = (side / np.linalg.norm(side, axis=1, keepdims=True) for side in sides)
    found = ((a @ b.T).argmax(1) == np.arange(len(pairs))).mean()
    assert found > 0.8


def test_the_card_tells_what_it_was_trained_on(trained_ems: Path) -> None:
    card = json.loads((trained_ems / "encoder.json").read_text())
    text = {"en-de": {"corpora": ["invented"], "pairs": len(word_for_word(400, 0))}}
    objective = card["training"].pop("objective")
    told = "target bag release_mask language_width head_norm tied_output projection_width temperature margin"
    named = [*told.split(), "negatives", "xtr_weight", "contrastive_weight"]
    assert objective == {name: getattr(SETTINGS, name) for name in named}
    assert card["training"] == {
        "kind": "ems",
        "text": text,
        "work": "80 steps of 32 sentence pairs",
        "seed": 1,
        "network": {"layers": 1, "width": 32, "vocabulary": 90},
    }
    assert (card["kind"], card["pooling"], card["checkpoint"]) == ("ems", "mean", ".")


def test_an_ems_encoder_goes_on_from_where_it_was(
    trained_ems: Path, bitext: list[Path], tmp_path: Path
) -> None:
    network = EncoderNetwork(start="encoder", encoder="toy")
    text = ["tree house dog", "rot"]
    before = load_encoder(trained_ems, "cpu").encode(text, "", 64)
    for steps in (0, 4):
        settings = SETTINGS.model_copy(update={"network": network, "steps": steps})
        further = train_ems(bitext, tmp_path / str(steps), settings, trained_ems)
        assert (further / "tokenizer.json").read_bytes() == (trained_ems / "tokenizer.json").read_bytes()
        after = load_encoder(further, "cpu").encode(text, "", 64)
        assert np.array_equal(after, before) == (steps == 0)
        assert np.abs(after - before).max() < 0.2 * np.abs(before).max()


def test_heads_are_dropped_and_only_safetensors_are_written(trained_ems: Path) -> None:
    assert {path.name for path in trained_ems.iterdir()} == {
        "config.json",
        "encoder.json",
        "history.jsonl",
        "model.safetensors",
        "tokenizer.json",
        "tokenizer_config.json",
    }
    assert not any(key.startswith("objective") for key in load_file(trained_ems / "model.safetensors"))


def test_the_same_settings_give_the_same_bytes(trained_ems: Path, bitext: list[Path], tmp_path: Path) -> None:
    again = train_ems(bitext, tmp_path)
    names = sorted(path.name for path in trained_ems.iterdir())
    assert [name for name in names if (again / name).read_bytes() != (trained_ems / name).read_bytes()] == []
    other = train_ems(bitext, tmp_path / "other", SETTINGS.model_copy(update={"seed": 2}))
    assert identity(other) != identity(trained_ems)


def test_global_generators_are_left_alone(bitext: list[Path], tmp_path: Path) -> None:
    before = torch.get_rng_state()
    train_ems(bitext, tmp_path, SETTINGS.model_copy(update={"steps": 2}))
    assert torch.equal(before, torch.get_rng_state())


def test_the_catalogued_paper_settings_have_the_papers_size() -> None:
    """Methods 5.1: recomputed 137.1 M parameters at inference, 208.8 M in training."""
    settings = config.load(Path(__file__).parents[3] / "params.yaml").encoders["ems-paper"]
    assert isinstance(settings, EmsSettings)
    assert isinstance(settings.network, ScratchNetwork)
    with torch.device("meta"):
        encoder = untrained(settings.network, settings.network.tokenizer.vocabulary)
        network = pretrain.EmsModel(settings, encoder, languages=62)
    kept, trained = (sum(p.numel() for p in part.parameters()) for part in (network.encoder, network))
    assert (round(kept / 1e6, 1), round(trained / 1e6, 1)) == (137.1, 208.8)


NETWORK = ems_encoders.network(width=32, heads=2, feed_forward=64, max_tokens=24)


def random_bitext(seed: int = 0, rows: int = 20) -> Bitext:
    generator = np.random.default_rng(seed)
    sides = [
        Ragged.of([generator.integers(3, 30, 2 + generator.integers(0, 9)).tolist() for _ in range(rows)])
        for _ in range(2)
    ]
    return Bitext(
        *sides,
        languages=np.array([[0, 1], [0, 2]]),
        sizes=(rows - 8, 8),
        kept=np.arange(rows, dtype=np.int64),
    )


def made(settings: EmsSettings, dropout: float = 0.0) -> tuple[pretrain.EmsModel, EmsCollator]:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        encoder = untrained(NETWORK.model_copy(update={"dropout": dropout}), 30)
        model = pretrain.EmsModel(settings, encoder, 3)
    return model, EmsCollator(settings, encoder, torch.device("cpu"))


def changed(**values: Any) -> EmsSettings:
    return EmsSettings.model_validate({**SETTINGS.model_dump(), **values})


@pytest.mark.parametrize("chunk_tokens", [16, 4096])
def test_losses_gradients_and_steps_are_those_of_the_straightforward_loop(chunk_tokens: int) -> None:
    data, rows = random_bitext(), np.array([3, 19, 0, 7, 12, 5])
    network, steps = made(changed(chunk_tokens=chunk_tokens))
    network.eval()  # no dropout
    head, projection = network.objective.head, network.objective.projection
    assert head is not None
    assert projection is not None
    encoder = straightforward.Encoder(30, 2, 32, 2, 64, 24)
    encoder.copy(network.encoder.model)
    twin = straightforward.Model(encoder, straightforward.Heads(3, 8, 32, 16, 30), 0.1)
    twin.heads.copy(head, projection)
    samples = [
        (
            data.source.take(np.array([row])).ids.tolist(),
            data.target.take(np.array([row])).ids.tolist(),
            *data.languages_of(np.array([row]))[0].tolist(),
        )
        for row in rows
    ]
    optimizers = [
        torch.optim.Adam(model.parameters(), lr=1e-2, weight_decay=1e-5, amsgrad=True)
        for model in (network, twin)
    ]
    for _ in range(3):
        ours = network(steps(data, rows, np.random.default_rng(0)))
        optimizers[0].zero_grad()
        ours["total"].backward()
        optimizers[0].step()
        theirs = straightforward.step(twin, optimizers[1], samples)
        assert {name: ours[name].item() for name in theirs} == pytest.approx(theirs, rel=2e-5)


@pytest.mark.parametrize(
    "values",
    [
        {"language_width": 0},
        {"contrastive_weight": 0.0},
        {"xtr_weight": 0.0},
        {"projection_width": 0},
        {"tied_output": True},
        {"target": "ugt"},
        {"margin": 0.3, "projection_width": 0, "xtr_weight": 0.0},
        {"margin": 0.3, "xtr_weight": 0.0},
        {"margin": 0.3},
        {"bag": "distinct", "release_mask": True},
        {"head_norm": False, "amsgrad": False},
        {"precision": "bfloat16"},
    ],
)
def test_every_variant_trains_all_it_has_and_lowers_its_loss(values: dict[str, Any]) -> None:
    data, rows = random_bitext(), np.arange(20)
    settings = changed(**values)
    network, steps = made(settings)
    optimizer = torch.optim.Adam(network.parameters(), lr=3e-3, amsgrad=settings.amsgrad)
    network.train()
    totals = []
    with torch.random.fork_rng():
        torch.manual_seed(0)
        for _ in range(15):
            values_here = network(steps(data, rows, np.random.default_rng(0)))
            optimizer.zero_grad()
            values_here["total"].backward()
            assert [name for name, p in network.named_parameters() if p.grad is None] == []
            optimizer.step()
            totals.append(values_here["total"].item())
    assert totals[-1] < 0.8 * totals[0]


def test_validation_does_not_depend_on_how_rows_are_batched() -> None:
    # Without the contrastive term nothing of a batch reaches its mates.
    data = random_bitext()
    network, steps = made(changed(contrastive_weight=0.0))
    network.eval()

    def validated(parts: list[np.ndarray]) -> dict[str, float]:
        with torch.no_grad():
            made = [(rows, steps(data, rows, np.random.default_rng(0))) for rows in parts]
            return validate(network, made, data.sizes)

    whole = validated([np.arange(20)])
    assert validated([np.arange(3), np.arange(19, 2, -1)]) == pytest.approx(whole, rel=1e-5)
    assert 0 <= whole["retrieval"] <= 100


def test_validation_is_without_dropout_unless_the_released_reading_is_asked_for() -> None:
    data = random_bitext()
    network, steps = made(SETTINGS, dropout=0.1)
    step = [(np.arange(20), steps(data, np.arange(20), np.random.default_rng(0)))]
    with torch.no_grad(), torch.random.fork_rng():
        values = [
            [validate(network, step, data.sizes, dropout=dropout)["xtr"] for _ in range(2)]
            for dropout in (False, True)
        ]
    assert values[0][0] == values[0][1]
    assert values[1][0] != values[1][1]


def test_an_encoder_of_no_steps_has_its_first_weights(
    bitext: list[Path], trained_ems: Path, tmp_path: Path
) -> None:
    settings = SETTINGS.model_copy(update={"steps": 0})
    folders = [train_ems(bitext, tmp_path / str(n), settings) for n in range(2)]
    first, again = (load_file(folder / "model.safetensors") for folder in folders)
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert history_of(folders[0]) == []
    learnt = load_file(trained_ems / "model.safetensors")
    assert not torch.equal(first[WORDS_WEIGHT], learnt[WORDS_WEIGHT])
    assert first[WORDS_WEIGHT].std().item() == pytest.approx(0.02, rel=0.1)


WORDS_WEIGHT = "embeddings.word_embeddings.weight"


def test_killed_in_the_middle_of_an_epoch_and_resumed_gives_the_same_bytes(
    trained_ems: Path, bitext: list[Path], tmp_path: Path
) -> None:
    state = tmp_path / "state"
    process = start_training(SETTINGS, bitext, tmp_path, wait_at=70)
    while process.poll() is None and not (state / loop.FILE).exists():
        time.sleep(0.01)

    def done() -> int:
        try:
            return checkpoint.load(state / loop.FILE)["progress"]["done"]
        except DataError:  # it is being replaced
            return 0

    while process.poll() is None and done() < 27:
        time.sleep(0.01)
    process.kill()
    assert process.wait() == -signal.SIGKILL
    assert done() >= 27
    (tmp_path / "encoder").rename(tmp_path / "cut")
    resumed = train_ems(bitext, tmp_path)
    names = sorted(path.name for path in trained_ems.iterdir())
    assert [
        name for name in names if (resumed / name).read_bytes() != (trained_ems / name).read_bytes()
    ] == []


def test_a_step_too_large_stops_the_training(bitext: list[Path], tmp_path: Path) -> None:
    wild = SETTINGS.model_copy(update={"learning_rate": 1e3, "warmup_steps": 0})
    with pytest.raises(DataError, match=r"toy: epoch 2, step 10: diverged: xtr=.*contrastive=.*total="):
        train_ems(bitext, tmp_path, wild)
