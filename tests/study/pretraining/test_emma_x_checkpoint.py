"""Emma-X on a checkpoint: masked language modelling beside it, its first state or the released head, further text."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from checkpoints import bert, xlmr
from cut_text import tokens_of
from safetensors.torch import load_file
from test_emma_x_training import EMMA, FEW_VOTES, KNOWN, changed, same
from test_mlm import SETTINGS as MLM
from test_networks import encoder_folder
from torch.nn import functional
from toy_training import history_of, word_for_word, write_toy_bitext
from training_process import train_together
from transformers import AutoModelForMaskedLM

from orthoglot.encoders.folder import identity, load_encoder
from orthoglot.encoders.pretrained import with_token_head
from orthoglot.encoders.token_lists import Ragged
from orthoglot.errors import ConfigError
from orthoglot.study.papers.matching import parameters
from orthoglot.study.pretraining.collate import collate, encode_and_predict, encode_batch
from orthoglot.study.pretraining.emma_x_phases import EmmaXBatch, EmmaXState, TextModel
from orthoglot.study.pretraining.inputs import Inputs, RunOptions
from orthoglot.study.pretraining.kinds.emma_x import EmmaXSettings
from orthoglot.study.pretraining.masking import IGNORED, hidden_tokens
from orthoglot.study.pretraining.networks import TrainableEncoder
from orthoglot.study.pretraining.prepare_text import PrepareTextSettings, prepare_text
from orthoglot.study.pretraining.settings import EncoderNetwork
from orthoglot.study.pretraining.trainings.emma_x import pretrain_emma_x
from orthoglot.study.pretraining.trainings.mlm import pretrain_mlm

CPU = torch.device("cpu")
PREDICTING = {"mlm": EMMA.mlm.model_copy(update={"weight": 0.5})}


@pytest.fixture(scope="module")
def bitext(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return write_toy_bitext(tmp_path_factory.mktemp("bitext") / "en-de", 300)


@pytest.fixture(scope="module")
def small(bitext: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small XLM-R that was trained with masked language modelling."""
    place = tmp_path_factory.mktemp("mlm")
    (place / "encoder").mkdir()
    pretrain_mlm(MLM, "small", Inputs(bitext), RunOptions("cpu", place / "state"), place / "encoder")
    return place / "encoder"


def on_top(vector: str = "own", **values: Any) -> EmmaXSettings:
    network = EncoderNetwork.model_validate({"start": "encoder", "encoder": "small", "vector": vector})
    return EMMA.model_copy(update={"network": network, **values})


def run(
    settings: EmmaXSettings, bitext: list[Path], start: Path, place: Path, corpora: Sequence[Path] = ()
) -> Path:
    output = place / "encoder"
    output.mkdir(parents=True)
    tokens = tokens_of(settings, bitext, place, start, corpora)
    inputs = Inputs(bitext, corpora, tokens, {"start": start})
    pretrain_emma_x(settings, "toy", inputs, RunOptions("cpu", place / "state"), output)
    return output


def tokenised(student: TrainableEncoder, text: list[str]) -> Ragged:
    return student.tokenizer.encode(text, "en", 16)


def masked_batch(student: TrainableEncoder, text: list[str]) -> Any:
    ids = tokenised(student, text)
    mask = student.tokenizer.mask
    assert mask is not None
    generator = np.random.default_rng(3)
    shown, expected = hidden_tokens(ids.ids, 0.4, mask, student.vocabulary, generator, special=5)
    return ids, shown, expected, collate(student.tokenizer, Ragged(shown, ids.offsets), 24, CPU, expected)


def test_hidden_tokens_cost_what_the_library_says(small: Path) -> None:
    student = TrainableEncoder.load(small, predicts=True)
    student.network.eval()
    text = [pair.source for pair in word_for_word(12, 4)] + ["a"]
    ids, shown, expected, batch = masked_batch(student, text)
    assert len(batch.chunks) > 1
    with torch.no_grad():
        vectors, loss = encode_and_predict(student.network, batch, 0.1)
        torch.testing.assert_close(vectors, encode_batch(student.network, batch))
    model = AutoModelForMaskedLM.from_pretrained(small).eval()
    losses = []
    for row in range(len(text)):
        own = slice(ids.offsets[row], ids.offsets[row + 1])
        whole = torch.tensor([[*student.tokenizer.before, *shown[own].tolist(), *student.tokenizer.after]])
        with torch.no_grad():
            logits = model(whole).logits[0, 1:-1]
        losses += [
            functional.cross_entropy(logits[place], torch.tensor(int(wanted)), label_smoothing=0.1)
            for place, wanted in enumerate(expected[own])
            if wanted != IGNORED
        ]
    torch.testing.assert_close(loss, torch.stack(losses).mean())


def test_hidden_tokens_teach_the_encoder_alone_and_both_encoders_read_what_is_shown(small: Path) -> None:
    student = TrainableEncoder.load(small, predicts=True)
    settings = on_top(**PREDICTING)
    text = [pair.source for pair in word_for_word(8, 4)]
    _, _, _, batch = masked_batch(student, text)
    made = EmmaXState(settings, student.network, student.dim)
    pupil = TextModel(made, settings).train()
    terms, seen = pupil._all_terms(EmmaXBatch(batch, (len(text),)))[:2]
    torch.testing.assert_close(terms["total"], terms["ranking"] + terms["classifier"] + 0.5 * terms["mlm"])
    keys = functional.normalize(encode_batch(made.keys, batch), dim=1)
    torch.testing.assert_close(seen.candidates[: len(text)], keys)
    terms["mlm"].backward()
    assert all(one.grad is None for one in [*made.keys.parameters(), *made.classifier.parameters()])
    assert made.encoder.token_head.bias.grad.any()


@pytest.mark.parametrize("vector", ["own", "cls", "pooler_linear"])
def test_it_goes_on_from_a_checkpoint_by_any_vector(
    vector: str, small: Path, bitext: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = [pair.source for pair in word_for_word(5, 9)]
    trained, save = [], TrainableEncoder.save

    def told(student: TrainableEncoder, *arguments: Any) -> None:
        with torch.no_grad():
            batch = collate(student.tokenizer, tokenised(student, text), 64, CPU)
            trained.append(encode_batch(student.network.eval(), batch).numpy())
        save(student, *arguments)

    monkeypatch.setattr(TrainableEncoder, "save", told)
    settings = on_top(vector, **PREDICTING, text=EMMA.text.model_copy(update=KNOWN))
    output = run(settings, bitext, small, tmp_path)
    rows = history_of(output)
    assert rows[1]["train.mlm"] < rows[0]["train.mlm"]
    assert not any("valid.mlm" in row for row in rows)  # validation reads what will be read at use
    encoder = load_encoder(output, "cpu")
    student = TrainableEncoder.load(small, settings.network.vector)  # type: ignore[union-attr]
    assert (encoder.name, encoder.dim, encoder.languages) == ("toy", student.dim, ("de", "en"))
    assert len(identity(output)) == 64
    np.testing.assert_allclose(encoder.encode(text, "en", 64), trained[0], atol=1e-5)
    kind = json.loads((output / "encoder.json").read_text())["kind"]
    assert kind == ("sentence-transformers" if vector == "pooler_linear" else "pretrained")
    if vector != "pooler_linear":  # its head goes with it, so that it may go on
        assert TrainableEncoder.load(output, predicts=True).vocabulary == student.vocabulary


def test_two_processes_hide_the_tokens_that_one_would(
    small: Path, bitext: list[Path], tmp_path: Path
) -> None:
    start = tmp_path / "start"
    shutil.copytree(small, start)
    config = json.loads((start / "config.json").read_text())
    without = dict.fromkeys(("hidden_dropout_prob", "attention_probs_dropout_prob"), 0.0)
    (start / "config.json").write_text(json.dumps(config | without))

    def settings(processes: int) -> EmmaXSettings:
        share: Any = {"batch_size": 16 // processes}
        known = {"text": "both", "known_pairs": 8 // processes}
        phases = {
            "parallel": EMMA.parallel.model_copy(update=share | {"steps": 8, "validate_every": 4}),
            "text": EMMA.text.model_copy(update=share | known | FEW_VOTES),
        }
        return on_top(**PREDICTING, **phases, processes=processes)

    alone = run(settings(1), bitext, start, tmp_path / "one")
    same(alone, train_together(settings(2), bitext, tmp_path / "two", start))


@pytest.mark.parametrize("pooler", [True, False])
def test_the_released_head_is_the_pooler_then_a_linear_map(pooler: bool, tmp_path: Path) -> None:
    folder = encoder_folder(tmp_path / "encoder", xlmr(tmp_path / "checkpoint", pooler=pooler), "mean")
    student = TrainableEncoder.load(folder, "pooler_linear")
    student.network.eval()
    text = ["the cat sat on a mat", "cat", "a query on the mat"]
    with torch.no_grad():
        batch = collate(student.tokenizer, tokenised(student, text), 12, CPU)
        found = encode_batch(student.network, batch)
        first, _, last = student.network.projection  # type: ignore[misc]
        states = TrainableEncoder.load(folder, "cls").network.eval()
        cls = encode_batch(states, batch)
        torch.testing.assert_close(found, last(torch.tanh(first(cls))))
    output = tmp_path / "saved"
    output.mkdir()
    student.save("toy", ["en"], output, {})
    # A pooler that nobody reads is not made up.
    assert not any(key.startswith("pooler") for key in load_file(output / "model.safetensors"))
    assert parameters(output) == sum(one.numel() for one in student.network.parameters())
    np.testing.assert_allclose(load_encoder(output, "cpu").encode(text, "en", 64), found.numpy(), atol=1e-6)
    if pooler:
        pooled = load_encoder(_pooling(folder, tmp_path / "pooler"), "cpu").encode(text, "en", 64)
        np.testing.assert_allclose(torch.tanh(first(cls)).detach().numpy(), pooled, atol=1e-6)


def _pooling(folder: Path, place: Path) -> Path:
    place.mkdir()
    card = json.loads((folder / "encoder.json").read_text())
    (place / "encoder.json").write_text(json.dumps({**card, "pooling": "pooler"}))
    return place


def test_a_checkpoint_without_the_head_and_an_ems_network_are_refused(tmp_path: Path) -> None:
    gpt = transformers.LlamaConfig(
        vocab_size=11, hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=2
    )
    transformers.LlamaModel(gpt).save_pretrained(tmp_path / "llama")
    with pytest.raises(ConfigError, match="no masked language modelling head of the RoBERTa family"):
        with_token_head(tmp_path / "llama", "small", None)
    for make in (bert, xlmr):
        folder = encoder_folder(
            tmp_path / make.__name__ / "encoder", make(tmp_path / make.__name__ / "checkpoint"), "mean"
        )
        with pytest.raises(
            ConfigError, match=r"no masked language modelling head of the RoBERTa family; give mlm\.weight 0"
        ):
            TrainableEncoder.load(folder, predicts=True)
    ems = tmp_path / "ems"
    ems.mkdir()
    (ems / "encoder.json").write_text(
        json.dumps({"kind": "ems", "name": "small", "pooling": "mean", "max_tokens": 8})
    )
    with pytest.raises(ConfigError, match="an EMS network has one vector"):
        TrainableEncoder.load(ems, "cls")
    with pytest.raises(ConfigError, match="an EMS network has one vector"):
        TrainableEncoder.load(ems, predicts=True)


def test_a_language_without_any_pair_is_learnt_from_its_text(
    small: Path, bitext: list[Path], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cleaning = {"min_characters": 1, "max_characters": 500, "max_ratio": 4.0, "drop_copies": True}
    corpora = []
    for seed, language in enumerate(("de", "gn")):
        corpora.append(tmp_path / "text" / language)
        corpora[-1].mkdir(parents=True)
        lines = tmp_path / f"{language}.txt"
        strange = " кот" if language == "gn" else ""
        lines.write_text("".join(f"{pair.source}{strange}\n" for pair in word_for_word(40, seed)))
        values = {
            "language": language,
            "sources": [{"name": "invented", "path": str(lines)}],
            "cleaning": {**cleaning, "drop_duplicates": True},
        }
        prepare_text(PrepareTextSettings.model_validate(values), [], [], corpora[-1])
    settings = on_top(text=EMMA.text.model_copy(update={"text": "corpora", "known_pairs": 4}))
    output = run(settings, bitext, small, tmp_path, corpora=corpora)
    assert load_encoder(output, "cpu").languages == ("de", "en", "gn")
    training = json.loads((output / "encoder.json").read_text())["training"]
    assert training["text"]["gn"] == {"corpora": ["invented"], "sentences": 40}
    (told,) = [one for record in caplog.records if "unknown to the" in (one := record.getMessage())]
    assert "tokens of gn are unknown" in told
    assert training["work"].endswith(
        "40 steps of 16 sentences without known translations and 4 known sentence pairs"
    )
    assert training["objective"]["text.known_pairs"] == 4
    with pytest.raises(ConfigError, match=r"text\.text is corpora, and there is no corpus of text"):
        run(settings, bitext, small, tmp_path / "none")


def test_phase_1_of_the_classifier_alone_leaves_the_encoder(
    small: Path, bitext: list[Path], tmp_path: Path
) -> None:
    settings = changed("parallel", order="classifier").model_copy(
        update={"network": on_top().network, "text": EMMA.text.model_copy(update={"steps": 0})}
    )
    output = run(settings, bitext, small, tmp_path)
    text = [pair.source for pair in word_for_word(5, 9)]
    found, before = (load_encoder(folder, "cpu").encode(text, "en", 64) for folder in (output, small))
    np.testing.assert_array_equal(found, before)
    rows = history_of(output)
    assert rows[-1]["valid.classifier"] < rows[0]["valid.classifier"]
    assert "valid.contrastive" not in rows[0]
