"""`emma-x-paper`, `emma-x-released` and the variants `printed` and `released`, against what paper and code say."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from orthoglot.study import config
from orthoglot.study.pretraining.kinds.emma_x import EmmaXSettings
from orthoglot.study.pretraining.settings import EncoderNetwork

ROOT = Path(__file__).resolve().parents[3]
PARAMS = config.load(ROOT / "params.yaml")
PAGE = (ROOT / "docs/papers.md").read_text(encoding="utf-8")
# Appendix A.2 and section 3 of the paper.
PRINTED: dict[str, Any] = {
    "queue": 256,
    "momentum": 0.999,
    "ranks": 4,
    "classifier": "mixture",
    "mlm.weight": 0.0,
    "parallel.learning_rate": 5e-4,
    "text.learning_rate": 5e-4,
    "parallel.classifier_rate": 3e-5,
    "text.classifier_rate": 3e-5,
    "parallel.schedule": "cosine",
    "text.schedule": "cosine",
    "parallel.temperature": 0.04,
    "parallel.order": "together",
    "parallel.virtual": "paper",
    "parallel.smoothing": 0.0,
    "text.smoothing": 0.0,
    "text.text": "corpora",
    "text.known_pairs": 0,
}
# The defaults of its code's arguments.
RELEASED: dict[str, Any] = {
    "queue": 768,
    "momentum": 0.999,
    "ranks": 4,
    "classifier": "mixture",
    "mlm.weight": 1.0,
    "parallel.learning_rate": 4e-5,
    "text.learning_rate": 4e-5,
    "parallel.classifier_rate": 4e-5,
    "text.classifier_rate": 4e-5,
    "parallel.schedule": "linear",
    "text.schedule": "linear",
    "parallel.warmup_steps": 8000,
    "text.warmup_steps": 8000,
    "parallel.temperature": 0.05,
    "parallel.order": "apart",
    "parallel.virtual": "released",
    "parallel.smoothing": 0.3,
    "text.smoothing": 0.3,
    "text.text": "none",
    "parallel.batch_size": 3,
    "text.batch_size": 0,
    "text.known_pairs": 3,
    "processes": 1,
    "precision": "float32",
    "seed": 42,
}


def recipe(name: str) -> EmmaXSettings:
    settings = PARAMS.encoders[name]
    assert isinstance(settings, EmmaXSettings)
    return settings


def flat(settings: EmmaXSettings) -> dict[str, Any]:
    """Settings by their whole names."""
    own = settings.model_dump()
    nested = {
        f"{part}.{name}": value
        for part in ("mlm", "parallel", "text", "network")
        for name, value in own[part].items()
    }
    return {**own, **nested}


@pytest.mark.parametrize(("name", "said"), [("emma-x-paper", PRINTED), ("emma-x-released", RELEASED)])
def test_a_recipe_says_what_its_source_says(name: str, said: dict[str, Any]) -> None:
    found = flat(recipe(name))
    assert {field: found[field] for field in said} == said


def test_the_printed_batch_is_that_of_all_processes() -> None:
    settings = recipe("emma-x-paper")
    assert settings.parallel.batch_size * settings.processes == 1024
    assert settings.text.batch_size * settings.processes == 1024


@pytest.mark.parametrize(
    ("name", "encoder", "vector"),
    [("emma-x-paper", "xlmr-large", "cls"), ("emma-x-released", "xlmr-base", "pooler_linear")],
)
def test_a_recipe_starts_from_the_encoder_of_its_source(name: str, encoder: str, vector: str) -> None:
    network = recipe(name).network
    assert isinstance(network, EncoderNetwork)
    assert (network.encoder, network.vector) == (encoder, vector)


def test_the_page_names_each_setting_in_which_the_recipes_differ() -> None:
    printed, released = flat(recipe("emma-x-paper")), flat(recipe("emma-x-released"))
    parts = ("mlm", "parallel", "text", "network")
    differ = {name for name in printed if name not in parts and printed[name] != released[name]}
    section = PAGE.partition('<a id="emma-x-readings"></a>')[2].partition("\n## ")[0]
    named = set(re.findall(r"`([a-z_.]+)(?:: [\w.]+)?`", section))
    named |= {f"{part}.{name}" for part in ("parallel", "text") for name in named}
    # Speed, and the seed.
    assert differ - named <= {"seed", "stands_for", "threads"}
    assert {"parallel.learning_rate", "queue", "mlm.weight", "network.vector"} <= differ


@pytest.mark.parametrize(("name", "said"), [("printed", PRINTED), ("released", RELEASED)])
def test_a_variant_takes_the_readings_of_its_source(name: str, said: dict[str, Any]) -> None:
    (ablation,) = [one for one in PARAMS.presets["mini"].ablations if one.encoder == "emma-x-mini"]
    origin, settings = recipe("emma-x-mini"), PARAMS.variant(ablation, name, seed=1)
    assert isinstance(settings, EmmaXSettings)
    before, after = flat(origin), flat(settings)
    changed = {
        field
        for field in after
        if field not in ("mlm", "parallel", "text", "network", "seed") and after[field] != before[field]
    }
    assert {"parallel.temperature"} <= changed
    # An ablation keeps its own sizes; it has no text but its pairs.
    own = {"text.text": "apart"} if name == "printed" else {"text.known_pairs": 48}
    assert {field: after[field] for field in changed} == {field: {**said, **own}[field] for field in changed}
    for reading in (
        "queue",
        "parallel.order",
        "parallel.virtual",
        "parallel.temperature",
        "parallel.smoothing",
        "text.smoothing",
        "parallel.schedule",
        "text.schedule",
    ):
        assert after[reading] == said[reading]
