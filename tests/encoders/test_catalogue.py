"""Every encoder that params.yaml ships says what it is, exactly."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from orthoglot import catalogue
from orthoglot.encoders.settings import FrozenSettings, TrainedEntry
from orthoglot.errors import ConfigError
from orthoglot.study import config
from orthoglot.study.config import EncoderSettings

ROOT = Path(__file__).resolve().parents[2]
SHIPPED = {
    name: entry
    for name, entry in config.load(ROOT / "params.yaml").encoders.items()
    if isinstance(entry, FrozenSettings)
}
# Folders of this machine, most of them converted from pickles.
LOCAL = ("bge-m3", "ems-released", "jina-v5-small", "paraphrase-xlm-r", "sonar")
HUB = {
    name: entry
    for name, entry in SHIPPED.items()
    if entry.kind not in ("laser", "use", "refused") and name not in LOCAL
}
# Their authors name no languages, or one network is for each.
UNLISTED = (
    "embeddinggemma",
    "jina-v5",
    "jina-v5-small",
    "laser3",
    "mmbert-embed",
    "qwen3-embedding-0.6b",
    "qwen3-embedding-4b",
    "qwen3-embedding-8b",
)


def test_the_tool_reads_frozen_encoders_as_the_study_does_and_trained_ones_unchecked() -> None:
    entries = catalogue.encoders(ROOT / "params.yaml")
    checked = config.load(ROOT / "params.yaml").encoders
    assert entries.keys() == checked.keys()
    assert {name: entry for name, entry in entries.items() if isinstance(entry, FrozenSettings)} == SHIPPED
    for name in checked.keys() - SHIPPED.keys():
        assert isinstance(entries[name], TrainedEntry)
        assert entries[name].kind == checked[name].kind


def test_the_tool_refuses_a_kind_that_nobody_has(tmp_path: Path) -> None:
    (tmp_path / "params.yaml").write_text("encoders: {mine: {kind: pretraind, checkpoint: here}}\n")
    with pytest.raises(
        ConfigError, match=r"encoders\.mine\.kind: unknown name 'pretraind'; nearest known: pretrained"
    ):
        catalogue.encoders(tmp_path / "params.yaml")


def test_the_catalogue_has_the_encoders_of_the_papers() -> None:
    assert {"labse", "labse-cls", "laser1", "laser2", "infoxlm-large", "xlmr-base", "xlmr-large"} <= set(
        SHIPPED
    )
    assert {"me5-base", "me5-large", "me5-large-instruct", "sbert-paraphrase"} <= set(SHIPPED)


@pytest.mark.parametrize("name", HUB)
def test_a_hub_id_is_pinned(name: str) -> None:
    entry = HUB[name]
    assert re.fullmatch(r"[\w.-]+/[\w.-]+", entry.checkpoint)
    assert re.fullmatch(r"[0-9a-f]{40}", entry.revision)


@pytest.mark.parametrize("name", SHIPPED)
def test_licence_languages_and_documentation_are_there(name: str) -> None:
    entry = SHIPPED[name]
    assert entry.licence.strip()
    if name in UNLISTED:
        assert not entry.languages
    elif not name.endswith("-any"):
        assert len(entry.languages) >= (15 if entry.kind == "use" else 50)
    assert len(set(entry.languages)) == len(entry.languages)
    row = next(
        line
        for line in (ROOT / "docs" / "encoders.md").read_text(encoding="utf-8").splitlines()
        if line.startswith("|") and f"`{name}`" in line
    )
    for told in (entry.checkpoint, getattr(entry, "revision", "")[:7], str(entry.max_tokens)):
        assert told in row


def test_what_the_papers_say_of_languages_holds() -> None:
    oracle = {"ar", "de", "es", "fr", "it", "ja", "nl", "pt", "ro", "zh", "gn", "ay"}
    for name in ("laser1", "laser2"):
        assert oracle - set(SHIPPED[name].languages) == {"gn"}
    assert len(SHIPPED["laser1"].languages) == 93
    # Those of EMS's languages with little text that LASER is trained on as well.
    little = {"af", "hi", "hy", "ka", "kk", "ku", "mr", "sw", "ta", "te", "tl"}
    assert little <= set(SHIPPED["laser1"].languages)
    for name in ("infoxlm-large", "labse"):
        assert oracle - set(SHIPPED[name].languages) == {"ay", "gn"}


def _entry(**changes: Any) -> dict[str, Any]:
    entry = {"kind": "laser", "checkpoint": "weights/laser2", "max_tokens": 8, "licence": "none"}
    return {**entry, **changes}


def test_a_language_has_one_spelling() -> None:
    adapter = TypeAdapter(EncoderSettings)
    with pytest.raises(ValidationError, match="write the language 'aym' as 'ay'"):
        adapter.validate_python(_entry(languages=["aym"]))
    with pytest.raises(ValidationError, match="unknown language code"):
        adapter.validate_python(_entry(languages=["english"]))


def test_norwegian_survives_yaml() -> None:
    """An unquoted `no` is false in YAML 1.1, and `dvc exp run -S` writes it unquoted."""
    assert TypeAdapter(EncoderSettings).validate_python(_entry(languages=[False, "en"])).languages == [
        "no",
        "en",
    ]
