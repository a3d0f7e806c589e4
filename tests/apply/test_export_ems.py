"""Export of an EMS encoder: stock modules, orthoglot's own vectors, a card that tells what it was trained on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import ems_encoders
import numpy as np
import pytest
import torch
from small_checkpoint import write_checkpoint
from transformers import AutoModel, AutoTokenizer
from typer.testing import CliRunner

import orthoglot
from orthoglot.apply import export as module
from orthoglot.apply.encoder_copy import Checkpoint, copy_encoder
from orthoglot.apply.export import export
from orthoglot.cli import app
from orthoglot.decomposers.base import Decomposer
from orthoglot.encoders.folder import identity
from orthoglot.errors import ConfigError
from orthoglot.statistics.records import Record, write_records
from orthoglot.study.pretraining.settings import Words

MAX_TOKENS = 12
TRAINING = {
    "text": {
        "en-gn": {"corpora": ["Tatoeba", "mine"], "pairs": 1234},
        "en-ja": {"corpora": ["Tanaka"], "pairs": 48},
    },
    "kind": "ems",
    "objective": {"target": "ugt", "release_mask": False, "margin": 0.3},
    "work": "500 steps of 128 sentence pairs",
    "seed": 7,
    "network": {"layers": 2, "width": 16, "vocabulary": 130},
}
TEXT = {
    "en": ["The cat, number three, sat on the mat.", "It's 3.5 % of 1,000!", "state-of-the-art dogs"] * 20,
    "gn": ["Mba'éichapa, che angirũ?", "Nde reikovépa?"] * 20,
    "ja": ["猫が寝ている。", "「はい」と言った。"] * 20,
}
SENTENCES = [
    "A cat.",
    "mat",
    "The CAT sat on the mat, " + "and the dog " * 30 + "too.",
    "Mba'éichapa, che angirũ?",
    "猫が、寝ている。",
    "<pad> cat <unk>",
    "<mask> <2en> <2gn>",
    "▁the▁mat soft\u00adhyphen a\u200bb",
    "жжж 龘 жcat",
    "  It's\t3.5 %…  ",
]
ALONE = """
import sys
class Blocked:
    def find_spec(self, name, *rest):
        if name.partition(".")[0] == "orthoglot":
            raise ImportError("not to be needed")
sys.meta_path.insert(0, Blocked())
import json, numpy
from sentence_transformers import SentenceTransformer
model = SentenceTransformer(sys.argv[1], device="cpu", trust_remote_code=False, local_files_only=True)
numpy.save(sys.argv[2], model.encode(json.loads(sys.argv[3]), batch_size=4))
"""


NETWORK = ems_encoders.network(
    tokenizer={"vocabulary": 150, "sentences": 200},
    max_tokens=MAX_TOKENS,
    dropout=0.1,
    attention_dropout=0.2,
)


def write_encoder(folder: Path, words: Words = "unicode") -> Path:
    folder.mkdir()
    tokenizer = NETWORK.tokenizer.model_copy(update={"words": words, "vocabulary": 130})
    encoder = ems_encoders.made(NETWORK.model_copy(update={"tokenizer": tokenizer}), TEXT)
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(0)
        for (
            weights
        ) in encoder.network.parameters():  # norms and biases too must not be what an untrained BERT has
            weights.add_(torch.randn_like(weights) / 10)
    encoder.save("tiny-ems", ["en", "gn", "ja"], folder, TRAINING)
    row = {"valid.total": 9.5, "valid.retrieval": 12.5, "best": 1.0, "epoch": 0.0}
    rows = [row, {**row, "valid.total": 4.25, "valid.retrieval": 61.75, "epoch": 1.0}]
    rows.append({**row, "valid.total": 5.0, "valid.retrieval": 60.0, "best": 0.0, "epoch": 2.0})
    (folder / "history.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows))
    return folder


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_encoder(tmp_path_factory.mktemp("models") / "tiny-ems")


@pytest.fixture(scope="module")
def exported(encoder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("exported") / "tiny"
    assert export(encoder, output) <= 1e-6
    return output


def alone(folder: Path, place: Path, sentences: list[str] = SENTENCES) -> np.ndarray:
    """Vectors from a process that cannot import orthoglot and reaches no network."""
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", ALONE, str(folder), str(place / "v.npy"), json.dumps(sentences)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "newly initialized" not in done.stderr
    return np.load(place / "v.npy")


def test_stock_modules_alone_give_our_vectors(encoder: Path, exported: Path, tmp_path: Path) -> None:
    ours = orthoglot.load(encoder, "cpu").encode(SENTENCES, part="sentence")
    theirs = alone(exported, tmp_path)
    np.testing.assert_allclose(theirs, ours, atol=1e-6)
    assert np.abs(np.linalg.norm(ours, axis=1) - 1).min() > 0.1  # not normalised
    assert len({row.tobytes() for row in theirs.round(4)}) == len(SENTENCES)


def test_the_folder_holds_nothing_of_ours(exported: Path) -> None:
    files = [path for path in exported.rglob("*") if path.is_file()]
    assert {path.suffix for path in files} == {".json", ".safetensors", ".md"}
    kinds = [one["type"] for one in json.loads((exported / "modules.json").read_text())]
    assert [kind.rpartition(".")[2] for kind in kinds] == ["Transformer", "Pooling"]
    assert all(kind.startswith("sentence_transformers.") for kind in kinds)
    for path in files:
        if path.suffix == ".json":
            content = path.read_text(encoding="utf-8")
            assert "auto_map" not in content
            assert "orthoglot" not in content
            assert "/tmp" not in content


def test_tokens_are_ours_and_names_of_reserved_pieces_are_text(encoder: Path, exported: Path) -> None:
    theirs = AutoTokenizer.from_pretrained(exported, local_files_only=True, trust_remote_code=False)
    tokens = orthoglot.load(encoder, "cpu").encoder.tokenizer.encode(SENTENCES, "", MAX_TOKENS)  # type: ignore[attr-defined]
    found = theirs(SENTENCES, truncation=True)["input_ids"]
    assert found == [tokens.ids[a:b].tolist() for a, b in pairwise(tokens.offsets)]
    assert len(found[2]) == MAX_TOKENS == theirs.model_max_length
    reserved = {0, *range(2, 6)}
    assert not reserved & {number for row in found for number in row}
    padded = theirs(SENTENCES, truncation=True, padding=True)
    assert {row[-1] for row in padded["input_ids"]} >= {0}
    assert [sum(row) for row in padded["attention_mask"]] == tokens.lengths.tolist()
    assert "token_type_ids" not in padded


def test_limit_is_the_tokenizers_own_and_the_pooler_is_no_random_one(exported: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(exported, local_files_only=True)
    assert len(tokenizer(SENTENCES[2], truncation=True)["input_ids"]) == MAX_TOKENS
    opened = AutoModel.from_pretrained(exported, local_files_only=True)
    assert not any(weights.any() for weights in opened.pooler.parameters())


@pytest.mark.parametrize("part", ["meaning", "language"])
def test_decomposer_on_ems_gives_our_vectors(part: str, encoder: Path, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    (folder / "encoder").mkdir(parents=True)
    copy_encoder(Checkpoint(str(encoder)), ["en", "gn"], folder / "encoder")
    generator = np.random.default_rng(0)
    weights = {
        "meaning.weight": np.eye(16, dtype=np.float32) + generator.normal(size=(16, 16)).astype("f") / 4,
        "meaning.bias": generator.normal(size=16).astype(np.float32) / 10,
    }
    details = {"seed": 0, "train_pairs": 90, "valid_pairs": 10}
    maker = identity(folder / "encoder")
    Decomposer("residual", "seed", "tiny-ems", maker, ["en", "gn"], 16, weights, details).save(folder)
    export(folder, tmp_path / "out", part=part, licence="cc0-1.0")
    ours = orthoglot.load(folder, "cpu").encode(SENTENCES, part=part).astype(np.float64)
    expected = ours / np.linalg.norm(ours, axis=1, keepdims=True)
    found = module.SentenceTransformer(str(tmp_path / "out"), device="cpu", local_files_only=True)
    np.testing.assert_allclose(found.encode(SENTENCES), expected, atol=1e-6)
    text = (tmp_path / "out/README.md").read_text()
    assert "\nlicense: cc0-1.0\n" in text
    assert "- text of the encoder en-gn: Tatoeba, mine, 1234 pairs after cleaning\n" in text
    assert "500 steps of 128 sentence pairs, seed 7" in text


@pytest.mark.parametrize(
    ("words", "option", "message"),
    [
        ("moses", {}, "encoder tiny-ems: cannot be exported: words: moses: its rules depend"),
        ("unicode", {"part": "meaning"}, "without a decomposer; leave --part and --language out"),
        ("unicode", {"language": "en"}, "without a decomposer; leave --part and --language out"),
    ],
)
def test_what_no_export_can_hold_is_refused(
    words: Words, option: dict[str, Any], message: str, encoder: Path, tmp_path: Path
) -> None:
    home = encoder if words == "unicode" else write_encoder(tmp_path / "tiny", words)
    with pytest.raises(ConfigError, match=message):
        export(home, tmp_path / "out", **option)
    assert not list(tmp_path.glob("out*"))


def test_card_tells_languages_data_training_and_that_the_licence_is_not_stated(exported: Path) -> None:
    text = (exported / "README.md").read_text(encoding="utf-8")
    assert "\nlanguage:\n- en\n- gn\n- ja\n" in text
    assert "- languages of the encoder: en, gn, ja\n" in text
    assert "\nlicense:" not in text
    assert "## Licence\n\nEncoder: not stated." in text
    assert "- text of the encoder en-gn: Tatoeba, mine, 1234 pairs after cleaning\n" in text
    assert "- text of the encoder en-ja: Tanaka, 48 pairs after cleaning\n" in text
    told = "500 steps of 128 sentence pairs, seed 7; 2 layers of width 16, 130 subwords\n"
    assert f"- the encoder was trained from scratch with EMS's objectives: {told}" in text
    assert "- objective of the encoder: margin 0.3, release_mask false, target ugt\n" in text
    assert "Of 3 epochs the one with the best validation loss was kept: 4.250." in text
    assert "61.8 % of" in text
    assert "at most 12 tokens" in text


def record(subset: str, value: float, maker: str, **changed: Any) -> Record:
    usual = Record(
        *("heldout", "test", subset, "sentence", "tiny-ems", "original", None, "P@1"),
        *(value, value - 1, value + 1, 57, {"candidates": "57", "identity": maker}),
    )
    return replace(usual, **changed)


def test_scores_of_a_report_and_a_licence_from_the_command_line(
    encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    maker = identity(encoder)
    rows = [record("en->gn", 33.5, maker), record("all", 44.5, maker)]
    other = [record("all", 99.0, "another"), record("all", 98.0, maker, method="seed")]
    other += [record("all", 97.0, maker, task="tatoeba"), record("all", 96.0, maker, seed=1)]
    write_records(tmp_path / "records.jsonl", [*rows, *other])
    write_records(tmp_path / "others.jsonl", other)
    monkeypatch.chdir(tmp_path)
    given = ["export", str(encoder), "out", "--licence", "cc-by-4.0", "--records", "records.jsonl"]
    called = CliRunner().invoke(app, given)
    assert "out: differs from orthoglot's own vectors by at most" in called.output
    text = (tmp_path / "out/README.md").read_text(encoding="utf-8")
    assert "\nlicense: cc-by-4.0\n" in text
    assert "## Licence\n\nEncoder: cc-by-4.0." in text
    head = "| Retrieval | original | candidates | n |\n| --- | --- | --- | --- |\n"
    assert (
        head + "| en->gn | 33.5 [32.5, 34.5] | 57 | 57 |\n" + "| all | 44.5 [43.5, 45.5] | 57 | 57 |\n\n"
        in text
    )
    with pytest.raises(ConfigError, match="holds no held-out retrieval of original with encoder"):
        export(encoder, tmp_path / "none", records=tmp_path / "others.jsonl")


def test_other_encoders_are_exported_by_themselves_too(tmp_path: Path) -> None:
    checkpoint = write_checkpoint(tmp_path / "tiny-xlmr")
    (tmp_path / "home").mkdir()
    copy_encoder(
        Checkpoint(str(checkpoint), pooling="mean", max_tokens=20, prefix="a00 "), [], tmp_path / "home"
    )
    export(tmp_path / "home", tmp_path / "out")
    sentences = ["a01 b02", "a03 " * 30]
    ours = orthoglot.load(tmp_path / "home", "cpu").encode(sentences, part="sentence")
    found = module.SentenceTransformer(str(tmp_path / "out"), device="cpu", local_files_only=True)
    np.testing.assert_allclose(found.encode(sentences), ours, atol=1e-6)
    text = (tmp_path / "out/README.md").read_text()
    assert "No scores are on record" in text
    assert "language:" not in text
