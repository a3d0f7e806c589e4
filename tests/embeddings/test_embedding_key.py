"""What decides a vector decides the key: of the encoder, of the job, or of the store. One ingredient a test."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from shipped_settings import shipped_values

from orthoglot.embeddings.shards import make_shards
from orthoglot.embeddings.store import digests_of, index_digest
from orthoglot.encoders.folder import identity, save_card
from orthoglot.study import config
from plan import Plan

PARAMS = shipped_values()
EMBEDDINGS = "embeddings/mini/linked"


def plan(checkpoint: Path, *, embedding: dict[str, Any] | None = None, **encoder: Any) -> Plan:
    """The jobs of the preset mini with one linked checkpoint."""
    values = json.loads(json.dumps(PARAMS))
    values["presets"]["mini"]["encoders"] = ["linked"]
    values["presets"]["mini"]["embedding"] |= embedding or {}
    values["encoders"]["linked"] = {
        "kind": "pretrained",
        "checkpoint": str(checkpoint),
        "revision": "one",
        "pooling": "mean",
        "max_tokens": 64,
        "prefix": "",
        "licence": "none",
        **encoder,
    }
    return Plan(config.check(values))


@pytest.fixture
def checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "checkpoint"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(b"weights")
    (folder / "tokenizer.json").write_text("{}")
    return folder


CHANGES = ({"revision": "two"}, {"pooling": "cls"}, {"prefix": "query: "}, {"max_tokens": 65})


def test_an_encoders_setting_changes_the_jobs_key_and_the_identity(checkpoint: Path, tmp_path: Path) -> None:
    keys = [plan(checkpoint, **change).jobs[EMBEDDINGS].key for change in ({}, *CHANGES)]
    assert len(set(keys)) == 5
    card: dict[str, Any] = {
        "kind": "pretrained",
        "name": "linked",
        "dim": 8,
        "languages": [],
        "checkpoint": str(checkpoint),
        "revision": "one",
        "pooling": "mean",
        "max_tokens": 64,
        "prefix": "",
    }
    identities = []
    for values in (card, card, *(card | change for change in CHANGES)):
        folder = tmp_path / f"encoder{len(identities)}"
        folder.mkdir()
        save_card(folder, values)
        identities.append(identity(folder))
    assert identities[0] == identities[1]
    assert len(set(identities)) == 5


def test_a_setting_of_the_store_changes_the_jobs_key_and_all_that_builds_on_it(checkpoint: Path) -> None:
    before = plan(checkpoint)
    for change in ({"dtype": "float16"}, {"batch_tokens": 2049}):
        after = plan(checkpoint, embedding=change)
        changed = {job for job in before.jobs if before.jobs[job].key != after.jobs[job].key}
        kinds = {name.partition("/")[0] for name in changed}
        assert kinds == {"ablation", "embeddings", "models", "evaluations", "results", "tables"}
        assert EMBEDDINGS in changed
        assert "models/mini/encoders/linked" not in changed


def test_weights_and_tokeniser_change_both(checkpoint: Path, tmp_path: Path) -> None:
    before = plan(checkpoint).jobs[EMBEDDINGS].key
    for name in ("model.safetensors", "tokenizer.json"):
        (checkpoint / name).write_bytes(b"other, and longer")
        after = plan(checkpoint).jobs[EMBEDDINGS].key
        assert after != before
        before = after


def test_text_changes_the_jobs_key_the_shards_and_the_stores_index(checkpoint: Path, tmp_path: Path) -> None:
    before = plan(checkpoint)
    values = json.loads(json.dumps(PARAMS))
    values["corpora"]["mini"]["seed"] += 1
    key = Plan(config.check(values)).jobs["embeddings/mini/ems-mini"].key
    assert key != Plan(config.check(PARAMS)).jobs["embeddings/mini/ems-mini"].key
    assert set(before.jobs[EMBEDDINGS].inputs["bitext"]) >= {job for job in before.jobs if "/bitext/" in job}
    (one,), (other,) = (make_shards([("de", text)], tmp_path / text) for text in ("a", "b"))
    assert one.digest != other.digest
    indices = {index_digest(digests_of([text], "de"), np.array([0])) for text in ("a", "b")}
    assert len(indices) == 2
