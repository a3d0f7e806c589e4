"""EMS's published checkpoint: a small one of the same names, and what is refused."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ems_encoders
import jieba
import numpy as np
import pytest
import released_ems
import sentencepiece
import torch
from released_ems import Released
from sacremoses import MosesTokenizer
from torch import Tensor

from orthoglot.encoders.ems_release import VOCABULARY, convert
from orthoglot.encoders.folder import load_encoder
from orthoglot.errors import DataError, OfflineError

NETWORK = ems_encoders.network(max_tokens=released_ems.LONGEST)
TEXT = {
    "en": ["The cat, number 3.5, doesn't sit.", "A mat " * 20],
    "th": ["ที่นี่ 3.5 บาท. แมว นั่ง", "ประเทศไทย."],
    "zh": ["我来到 北京清华大学。"],
}
LINES = [line.lower() for lines in TEXT.values() for line in lines] * 5 + ["我 来到 北京 清华大学 。"] * 5


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Released]:
    folder = tmp_path_factory.mktemp("released")
    return folder, released_ems.write(folder, LINES)


@pytest.fixture
def without_jumanpp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))


def _converted(source: Path, output: Path) -> Path:
    output.mkdir()
    convert(source / "EMS_model.pt", NETWORK, "ems", output)
    return output


def _words(sentence: str, language: str) -> str:
    """As the authors' code cuts them."""
    sentence = sentence.lower().strip()
    if language == "zh":
        return " ".join(jieba.cut(sentence))
    return " ".join(MosesTokenizer(language).tokenize(sentence, escape=False))


@pytest.mark.usefixtures("without_jumanpp")
def test_vectors_are_those_of_the_twin(released: tuple[Path, Released], tmp_path: Path) -> None:
    source, twin = released
    encoder = load_encoder(_converted(source, tmp_path / "ems"), "cpu")
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(source / VOCABULARY))
    for language, sentences in TEXT.items():
        found = encoder.encode(sentences, language, 1000)
        expected = [twin.vector(pieces.encode(_words(one, language))).numpy() for one in sentences]
        np.testing.assert_allclose(found, expected, atol=1e-5)
    # Japanese needs Juman++.
    assert encoder.languages == ("en", "th", "zh")


def _state(change: Callable[[dict[str, Tensor]], Any]) -> Callable[[Path, Released], None]:
    def damage(folder: Path, twin: Released) -> None:
        state = twin.state_dict()
        change(state)
        released_ems.save(folder, state)

    return damage


def _cut(folder: Path, _: Released) -> None:
    path = folder / "EMS_model.pt"
    path.write_bytes(path.read_bytes()[:3000])


def _code(folder: Path, _: Released) -> None:
    class Attack:
        def __reduce__(self) -> Any:
            return Path.mkdir, (folder / "broken-into",)

    torch.save({"state_dict": {}, "other": Attack()}, folder / "EMS_model.pt")


def _other_vocabulary(folder: Path, _: Released) -> None:
    (folder / VOCABULARY).write_bytes((folder / "EMS_model.pt").read_bytes())


def _other_symbols(folder: Path, _: Released) -> None:
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(LINES),
        model_prefix=folder / "other",
        vocab_size=120,
        model_type="bpe",
        minloglevel=2,
    )
    (folder / "other.model").rename(folder / VOCABULARY)


QUERY = "model.bert.encoder.layer.1.attention.self_attention.query.weight"
POSITIONS = "model.bert.embedding.position_embedding.position_embeddings.weight"
DAMAGE: dict[str, tuple[Callable[[Path, Released], None], str]] = {
    "cut": (_cut, "but damaged"),
    "code": (_code, "objects other than tensors"),
    "no state": (
        lambda folder, _: torch.save({"step": 1}, folder / "EMS_model.pt"),
        "no state_dict of tensors",
    ),
    "a list": (lambda folder, _: torch.save([1], folder / "EMS_model.pt"), "no state_dict of tensors"),
    "no tensor": (_state(lambda state: state.update({QUERY: 1})), "no state_dict of tensors"),
    "a weight less": (_state(lambda state: state.pop(QUERY)), f"2 layers: lacks {QUERY}"),
    "a weight more": (
        _state(lambda state: state.update({"model.x": state[QUERY]})),
        "unknown weight model.x",
    ),
    "another shape": (
        _state(lambda state: state.update({QUERY: torch.ones(16, 8)})),
        r"is \[16, 8\].*give \[16, 16\]",
    ),
    "other positions": (
        _state(lambda state: state.update({POSITIONS: torch.ones(12, 16)})),
        r"\[12, 16\].*\[13, 16\]",
    ),
    "not finite": (
        _state(lambda state: state.update({QUERY: torch.full((16, 16), torch.nan)})),
        "not finite",
    ),
    "damaged vocabulary": (_other_vocabulary, "cannot be read"),
    "other vocabulary": (_other_symbols, "not a vocabulary of EMS"),
}


@pytest.mark.usefixtures("without_jumanpp")
@pytest.mark.parametrize("damage", DAMAGE)
def test_another_file_is_refused_in_one_line_and_no_code_is_run(
    damage: str, released: tuple[Path, Released], tmp_path: Path
) -> None:
    change, message = DAMAGE[damage]
    source = shutil.copytree(released[0], tmp_path / "source")
    change(source, released[1])
    with pytest.raises(DataError, match=message) as refused:
        _converted(source, tmp_path / "ems")
    assert "\n" not in str(refused.value)
    assert not (source / "broken-into").exists()


@pytest.mark.parametrize("lost", ["EMS_model.pt", VOCABULARY])
def test_an_absent_file_names_the_command(lost: str, released: tuple[Path, Released], tmp_path: Path) -> None:
    source = shutil.copytree(released[0], tmp_path / "source", ignore=shutil.ignore_patterns(lost))
    with pytest.raises(OfflineError, match=f"{lost} is not on this machine; .*curl -fL"):
        _converted(source, tmp_path / "ems")
