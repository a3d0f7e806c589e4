"""LASER1: against a plain LSTM of PyTorch, from three files in the form that the authors publish."""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from laser_files import linked, subwords, write_laser1, write_weights

from orthoglot.encoders import laser_release, segmentation
from orthoglot.encoders.folder import identity, load_encoder
from orthoglot.encoders.laser import LaserEncoder, LaserSizes
from orthoglot.encoders.laser_release import convert
from orthoglot.encoders.laser_tokenizers import Laser1Tokenizer, open_tokenizer
from orthoglot.errors import ConfigError, DataError, OfflineError

pytest.importorskip("jieba")
pytest.importorskip("MeCab")
SIZES = LaserSizes(vocabulary=40, width=6, hidden=5, layers=3)
SENTENCES = ["The cat sat on the mat.", "a cat", "Cat, and", "on a cat the cat and the cat"]
FILES = {
    "config.json",
    "model.safetensors",
    "vocab.json",
    "merges.txt",
    "vocab.txt",
    "tokenizer.segmenters.json",
}


@pytest.fixture(scope="module")
def official(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Sequence[Path]]:
    return write_laser1(tmp_path_factory.mktemp("laser1") / "official", SIZES)


@pytest.fixture(scope="module")
def converted(official: tuple[Path, Sequence[Path]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("laser1") / "weights"
    assert convert(*official, folder) == "LASER1"
    return folder


@pytest.fixture(scope="module")
def tokenizer(converted: Path) -> Laser1Tokenizer:
    opened = open_tokenizer(converted, "tiny")
    assert isinstance(opened, Laser1Tokenizer)
    return opened


@pytest.fixture(scope="module")
def encoder(converted: Path, tmp_path_factory: pytest.TempPathFactory) -> LaserEncoder:
    return load_encoder(linked(tmp_path_factory.mktemp("laser1") / "e", converted, "laser1"), "cpu")


def _plain(weights: Path, pieces: list[str]) -> np.ndarray:
    """A sentence alone through a network that is built from the published file, its end token with it."""
    content = torch.load(weights, weights_only=True)
    params, state = content["params"], content["model"]
    lstm = torch.nn.LSTM(params["embed_dim"], params["hidden_size"], params["num_layers"], bidirectional=True)
    lstm.load_state_dict({key.removeprefix("lstm."): state[key] for key in state if key.startswith("lstm.")})
    ids = [content["dictionary"].get(piece, content["dictionary"]["<unk>"]) for piece in pieces]
    with torch.inference_mode():
        states, _ = lstm(state["embed_tokens.weight"][[*ids, content["dictionary"]["</s>"]]])
        return states.max(dim=0).values.numpy()


def test_vectors_are_those_of_a_plain_lstm(
    encoder: LaserEncoder, official: tuple[Path, Sequence[Path]]
) -> None:
    # Worked out by hand from the merges; "mat" and what is before "s" are taken apart again.
    pieces = [
        ["the", "cat", "sat", "on", "the", "ma@@", "t", "."],
        ["a", "cat"],
        ["cat", ",", "and"],
        ["on", "a", "cat", "the", "cat", "and", "the", "cat"],
    ]
    expected = np.stack([_plain(official[0], row) for row in pieces])
    assert (expected < 0).any(), "padding states of 0 must be able to show"
    for batch_tokens in (1, 20, 1000):
        np.testing.assert_allclose(encoder.encode(SENTENCES, "en", batch_tokens), expected, atol=1e-6)
    assert (encoder.dim, encoder.name, encoder.languages) == (10, "laser1", ())


@pytest.mark.parametrize(
    ("language", "sentence", "pieces"),
    [
        # Moses' rules read the sentence before it is in lower case; what the vocabulary lacks stays, in characters.
        ("en", "THE a. Cat", "the a . cat"),
        ("en", "the a. cat", "the a@@ . cat"),
        ("en", "cat's cat’s", "cat '@@ s cat '@@ s"),
        ("de", "cat's cat’s", "cat ' s cat ' s"),
        ("fr", "l'a", "l@@ ' a"),
        # Entities are neither read nor written, and what is not printable is a blank.
        ("en", "&amp;", "& a@@ m@@ p ;"),
        ("en", "a\u200bcat", "a cat"),
        ("el", "ΝΑΙ και", "nai k@@ a@@ i"),
        ("en", "ναι", "ν@@ α@@ ι"),
        ("zh", "来到北京", "来到 北京"),
        ("yue", "来到北京", "来到 北京"),
        ("wuu", "来到北京", "来到 北京"),
        ("en", "来到北京", "来@@ 到@@ 北京"),
        ("ja", "ことが 猫", "こと が 猫"),
        ("en", "ことが", "こ@@ と@@ が"),
    ],
)
def test_pieces_by_language(tokenizer: Laser1Tokenizer, language: str, sentence: str, pieces: str) -> None:
    assert tokenizer.pieces([sentence], language) == [pieces.split()]


def test_ids_are_those_of_the_dictionary(tokenizer: Laser1Tokenizer) -> None:
    ids = tokenizer.encode(["the cat's 猫"], "", 99).ids.tolist()
    assert ids == [4 + subwords().index("the"), 4 + subwords().index("cat"), 3, 4 + subwords().index("s"), 3]
    assert ids == tokenizer.encode(["the cat's 猫"], "en", 99).ids.tolist()
    assert ids != tokenizer.encode(["the cat's 猫"], "de", 99).ids.tolist()


def test_the_end_token_stays_when_a_sentence_is_cut(
    converted: Path, official: tuple[Path, Sequence[Path]], tmp_path: Path
) -> None:
    encoder = load_encoder(linked(tmp_path / "e", converted, max_tokens=3), "cpu")
    vector = encoder.encode(["the cat sat"], "en", 1)[0]
    np.testing.assert_allclose(vector, _plain(official[0], ["the", "cat"]), atol=1e-6)


def test_identity_follows_every_file(converted: Path, tmp_path: Path) -> None:
    moving = tmp_path / "moving"
    moving.mkdir()
    assert {path.name for path in converted.iterdir()} == FILES
    for path in converted.iterdir():
        (moving / path.name).write_bytes(path.read_bytes())
    folder = linked(tmp_path / "e", moving)
    seen = {identity(folder)}
    for name in FILES:
        with (moving / name).open("ab") as file:
            file.write(b" ")
        seen.add(identity(folder))
    assert len(seen) == 1 + len(FILES)


def test_converting_notes_its_sources_and_what_cuts_words(converted: Path) -> None:
    described = json.loads((converted / "config.json").read_text(encoding="utf-8"))
    assert described["sizes"] == {"vocabulary": 40, "width": 6, "hidden": 5, "layers": 3}
    assert set(described["sha256"]) == {
        "bilstm.93langs.2018-12-26.pt",
        "93langs.fcodes",
        "93langs.fvocab",
    }
    cut = json.loads((converted / "tokenizer.segmenters.json").read_text())
    assert {language: one["name"] for language, one in cut.items()} == {"ja": "mecab", "zh": "jieba"}


def test_a_folder_is_refused_without_what_cuts_its_words(
    converted: Path, official: tuple[Path, Sequence[Path]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in converted.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    record = tmp_path / "tokenizer.segmenters.json"
    cut = json.loads(record.read_text())
    record.write_text(json.dumps({**cut, "zh": {"name": "jieba", "version": "0.39"}}))
    with pytest.raises(ConfigError, match=r"zh was cut by jieba 0\.39"):
        open_tokenizer(tmp_path, "tiny")
    record.write_text(json.dumps({"zh": cut["zh"]}))
    with pytest.raises(DataError, match="does not name what cuts ja"):
        open_tokenizer(tmp_path, "tiny")

    def absent(name: str) -> str:
        raise segmentation.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(segmentation.metadata, "version", absent)
    with pytest.raises(ConfigError, match=r"pip install 'orthoglot\[segmenters\]'"):
        convert(*official, tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_pickled_code_is_never_run(official: tuple[Path, Sequence[Path]], tmp_path: Path) -> None:
    class Evil:
        def __reduce__(self) -> tuple[Any, ...]:
            return (os.mkdir, (str(tmp_path / "broken-into"),))

    content = torch.load(official[0], weights_only=True)
    for evil, archive in ((pickle.dumps(Evil()), None), (None, False), (None, True)):
        weights = tmp_path / "weights.pt"
        if evil:
            weights.write_bytes(evil)
        else:
            torch.save(content | {"more": Evil()}, weights, _use_new_zipfile_serialization=bool(archive))
        with pytest.raises(DataError, match="not the weights of LASER1"):
            convert(weights, official[1], tmp_path / "out")
        assert not (tmp_path / "broken-into").exists()
        assert not (tmp_path / "out").exists()


def test_files_of_the_other_laser_are_refused(official: tuple[Path, Sequence[Path]], tmp_path: Path) -> None:
    weights, (codes, vocabulary) = official
    other = tmp_path / "laser2.pt"
    write_weights(other, SIZES, {"▁the": 4, "t": 5, "a": 6}, 1, archive=True)
    cases = [
        (other, [codes, vocabulary], "laser2.pt: not the weights of LASER1: its dictionary has no piece of"),
        (weights, [vocabulary], "93langs.fvocab: not the SentencePiece model of LASER2"),
        (weights, [codes], "LASER1 has two files of fastBPE"),
        (weights, [vocabulary, codes], "93langs.fvocab: line 1 is not two subwords and a count"),
        (codes, [codes, vocabulary], "93langs.fcodes: not the weights of LASER1"),
    ]
    for of, files, message in cases:
        with pytest.raises(DataError, match=message) as raised:
            convert(of, files, tmp_path / "out")
        assert "\n" not in str(raised.value)
        assert not (tmp_path / "out").exists()
    for files in ([], [codes, vocabulary, vocabulary]):
        with pytest.raises(ConfigError, match=r"name laser2\.spm for LASER2, or 93langs\.fcodes and"):
            convert(weights, files, tmp_path / "out")


def test_weights_of_other_sizes_are_refused(official: tuple[Path, Sequence[Path]], tmp_path: Path) -> None:
    content = torch.load(official[0], weights_only=True)
    for change, message in (
        ({"params": {**content["params"], "num_layers": 2}}, "Unexpected key"),
        ({"params": {**content["params"], "bidirectional": False}}, "not LASER's bidirectional LSTM"),
        ({"dictionary": {"the": 40}}, "ids beyond its 40 embeddings"),
    ):
        torch.save(content | change, tmp_path / "weights.pt")
        with pytest.raises(DataError, match=message):
            convert(tmp_path / "weights.pt", official[1], tmp_path / "out")


def test_absent_files_name_the_command_that_fetches_them(
    official: tuple[Path, Sequence[Path]], converted: Path, tmp_path: Path
) -> None:
    weights, (codes, _) = official
    command = (
        r"curl -fL -O \S+/laser/models/bilstm\S+ -O \S+fcodes -O \S+fvocab && orthoglot get laser1 "
        r"bilstm\.93langs\.2018-12-26\.pt 93langs\.fcodes 93langs\.fvocab --output"
    )
    with pytest.raises(OfflineError, match=rf"no\.fvocab is not on this machine; .*{command} \S+/out"):
        convert(weights, (codes, tmp_path / "no.fvocab"), tmp_path / "out")
    with pytest.raises(OfflineError, match=rf"laser1/config\.json is not on this machine; .*{command}"):
        linked(tmp_path / "e", tmp_path / "laser1")
    partial = tmp_path / "partial"
    partial.mkdir()
    for path in converted.iterdir():
        if path.name != "vocab.txt":
            (partial / path.name).write_bytes(path.read_bytes())
    with pytest.raises(OfflineError, match=rf"vocab\.txt is not on this machine; .*{command}"):
        linked(tmp_path / "f", partial)


def test_an_interrupted_conversion_leaves_nothing(
    official: tuple[Path, Sequence[Path]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(laser_release, "write_segmenters", fail)
    with pytest.raises(KeyboardInterrupt):
        convert(*official, tmp_path / "out")
    assert not any(tmp_path.iterdir())
