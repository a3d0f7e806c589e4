"""Tokeniser coverage on text whose unknown share is known, and the survey over all encoders."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from checkpoints import pretrained, xlmr
from lines import in_memory
from shipped_settings import shipped_values, write_settings
from typer.testing import CliRunner

from orthoglot.cli import app
from orthoglot.encoders.kinds.laser import LaserSettings
from orthoglot.encoders.kinds.sentence_transformers import SentenceTransformersSettings
from orthoglot.encoders.token_lists import Ragged
from orthoglot.errors import DataError
from orthoglot.study.config import EncoderSettings
from orthoglot.study.language_coverage import coverage, survey
from orthoglot.study.pretraining.settings import TokenizerSettings
from orthoglot.study.pretraining.tokenizer_training import train_tokenizer
from orthoglot.text.bitext import write_pairs

COMMIT = "0123456789abcdef0123456789abcdef01234567"
# 8 words, 2 of them unknown to the tiny checkpoint's word list.
TEXT = ["the cat sat on a wug", "the wug"]


def test_shares_are_those_counted_by_hand() -> None:
    tokens = Ragged(np.array([5, 3, 3, 7, 8], np.int32), np.array([0, 3, 5]))
    found = coverage(tokens, 3, ["ab cd", "e"], "en")
    assert found.unknown == pytest.approx(2 / 5)
    assert found.pieces_per_word == pytest.approx(5 / 3)
    assert found.pieces_per_character == pytest.approx(5 / 5)
    assert coverage(tokens, None, ["ab cd", "e"], "en").unknown == 0
    assert coverage(tokens, 3, ["ab cd", "e"], "ja").pieces_per_word is None


def test_a_sample_without_a_token_is_refused() -> None:
    with pytest.raises(DataError, match="no token"):
        coverage(Ragged.of([[]]), 3, [" "], "en")


def test_every_encoder_answers_or_says_why_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache"))
    place = xlmr(tmp_path / "xlmr")
    steps = [{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"}]
    (place / "modules.json").write_text(json.dumps(steps))
    stated = SentenceTransformersSettings(
        kind="sentence-transformers", checkpoint=str(place), revision="", max_tokens=8, licence="none"
    )
    trained = tmp_path / "models" / "mini" / "encoders" / "own"
    trained.mkdir(parents=True)
    recipe = TokenizerSettings(
        words="unicode", vocabulary=25, sentences=100, character_coverage=1.0, threads=1, seed=1
    )
    train_tokenizer(recipe, in_memory({"en": ["the cat sat on a mat"] * 20}), 100, trained)
    card = {"kind": "ems", "name": "own", "languages": ["en", "de"]}
    (trained / "encoder.json").write_text(json.dumps(card))
    catalogue: dict[str, EncoderSettings] = {
        "here": pretrained(place, languages=["en", "ru"]),
        "unstated": stated,
        "absent": pretrained("somebody/some-model", languages=["ru"], revision=COMMIT),
        "laser": LaserSettings(
            kind="laser", checkpoint=str(tmp_path / "laser2"), max_tokens=8, languages=["en"], licence="none"
        ),
    }
    rows = {row.encoder: row for row in survey(catalogue, tmp_path / "models", "en", TEXT)}
    assert list(rows) == ["mini/own", "here", "unstated", "absent", "laser"]
    assert [row.covered for row in rows.values()] == [True, True, None, False, True]
    assert [row.script_seen for row in rows.values()] == [True, True, None, False, True]
    for name in ("here", "unstated"):
        found = rows[name].coverage
        assert found is not None
        assert (found.unknown, found.pieces_per_word) == (pytest.approx(2 / 8), pytest.approx(1))
    own = rows["mini/own"].coverage
    assert own is not None
    assert 0 < own.unknown < 1
    (trained / "tokenizer.json").write_text("[]")
    unread, *_ = survey(catalogue, tmp_path / "models", "en", TEXT)
    assert unread.coverage is None
    assert str(trained) in unread.note
    assert f"hf download somebody/some-model --revision {COMMIT}" in rows["absent"].note
    assert "orthoglot get laser2" in rows["laser"].note


def test_a_seen_script_is_told_apart_from_a_seen_language(tmp_path: Path) -> None:
    catalogue: dict[str, EncoderSettings] = {
        "a": pretrained("nowhere", languages=["ru"]),
        "b": pretrained("x", languages=["en"]),
    }
    rows = survey(catalogue, tmp_path, "gn", [])
    assert [(row.covered, row.script_seen, row.note) for row in rows] == [
        (False, False, "no sample"),
        (False, True, "no sample"),
    ]


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder whose params.yaml has one frozen encoder beside those that its presets need."""
    content = shipped_values()
    for preset in content["presets"].values():
        preset["ablations"] = []
    needed = {name for preset in content["presets"].values() for name in preset["encoders"]}
    networks = [content["encoders"][name].get("network", {}) for name in needed]
    needed |= {network["encoder"] for network in networks if "encoder" in network}
    content["encoders"] = {name: content["encoders"][name] for name in needed}
    content["encoders"]["tiny"] = pretrained(xlmr(tmp_path / "xlmr"), languages=["qaa", "qab"]).model_dump()
    write_settings(content, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_langs_prints_a_table_and_json(workspace: Path) -> None:
    (workspace / "gn.txt").write_text("\n".join(TEXT) + "\n\n")
    table = CliRunner().invoke(app, ["study", "show", "language", "grn_Latn", "--text", "gn.txt"])
    assert table.exit_code == 0, table.output
    # The answer first.
    answer, about, _, *lines = table.output.splitlines()
    assert answer == "ready model: not fitted on gn; its encoder me5-small-4bit: no"
    assert about == "language gn, script Latn, sample of 2 sentences"
    (script_alone,) = [line for line in lines if line.startswith("cover its script alone: ")]
    assert {"me5-small-4bit", "tiny"} <= {*script_alone.partition(": ")[2].split(", ")}
    row = next(line for line in table.output.splitlines() if line.startswith("tiny"))
    assert row.split() == ["tiny", "no", "yes", "25.0%", "1.00", "0.38"]
    assert "xlmr-mini" in table.output.split("not trained on this machine")[0]
    printed = CliRunner().invoke(app, ["study", "show", "language", "gn", "--text", "gn.txt", "--json"])
    content = json.loads(printed.output)
    assert (content["language"], content["script"], content["sample_sentences"]) == ("gn", "Latn", 2)
    assert content["ready_model"] == {"fitted": False, "encoder": "me5-small-4bit", "covered": False}
    (tiny,) = [row for row in content["encoders"] if row["encoder"] == "tiny"]
    assert tiny["covered"] is False
    assert tiny["coverage"]["unknown"] == pytest.approx(0.25)


def test_langs_takes_prepared_text_as_its_sample(workspace: Path) -> None:
    none = CliRunner().invoke(app, ["study", "show", "language", "qab"])
    assert none.exit_code == 0, none.output
    assert "cover it: tiny\n" in none.output
    assert "--text FILE" in none.output
    somali = CliRunner().invoke(app, ["study", "show", "language", "so"]).output
    assert somali.startswith("ready model: fitted on so; its encoder me5-small-4bit: yes\n")
    # No row of a table says nothing.
    assert not [line for line in somali.splitlines() if line.split()[-1:] == ["-"]]
    pair = workspace / "data" / "mini" / "bitext" / "qaa-qab"
    write_pairs(pair / "train-00000.tsv.zst", [("x", text) for text in TEXT])  # type: ignore[misc]
    found = CliRunner().invoke(app, ["study", "show", "language", "qab"])
    assert "sample of 2 sentences" in found.output
    row = next(line for line in found.output.splitlines() if line.startswith("tiny"))
    assert row.split() == ["tiny", "yes", "yes", "25.0%", "1.00", "0.38"]
