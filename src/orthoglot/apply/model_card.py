"""README.md of an exported model: what it is and how it was made, what was measured, whose licence holds."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from huggingface_hub import EvalResult, ModelCardData
from jinja2 import Environment, PackageLoader, StrictUndefined

from orthoglot import __version__
from orthoglot.apply.demo_sentences import examples
from orthoglot.apply.fit import RECORDS
from orthoglot.apply.held_out_retrieval import table
from orthoglot.apply.provenance import Provenance, known_languages
from orthoglot.decomposers.base import Decomposer
from orthoglot.encoders.folder import card, identity
from orthoglot.errors import ConfigError
from orthoglot.statistics.records import P_AT_1, Record, read_records
from orthoglot.training.settings import TRAINED_SETTINGS, own_settings


def encoder_card(home: Path, name: str, *, origin: Provenance, records: Path | None) -> str:
    """The card of an encoder without a decomposer; name, origin and records as for `decomposer_card`.

    Raises:
        ConfigError: these records hold no scores of this very encoder.
    """
    described = card(home)
    history = home / "history.jsonl"
    epochs = [json.loads(line) for line in history.read_text().splitlines()] if history.is_file() else []
    return _render(
        "model_card_encoder.md.j2",
        view="sentence",
        # Copied as they are, the weights are neither tuned nor anything else that the hub has a name for.
        relation="quantized" if "bits" in described else None,
        records=_scores(records, identity(home), "original", None) if records else [],
        origin=origin,
        name=name,
        encoder=described,
        languages=described["languages"],
        identity=identity(home),
        epochs=len(epochs),
        best=next((row for row in reversed(epochs) if row["best"]), None),
    )


def decomposer_card(
    model_folder: Path,
    home: Path,
    decomposer: Decomposer,
    name: str,
    *,
    part: str,
    language: str | None,
    origin: Provenance,
    records: Path | None,
) -> str:
    """The card of one part of a decomposer's vectors.

    Args:
        model_folder: The decomposer's folder; the card states what `orthoglot fit` recorded there.
        home: Its encoder's folder.
        decomposer: The maps.
        name: The name of the exported model.
        part: "meaning" or "language".
        language: The language whose map it is, if there is one per language.
        origin: What is on record of the model.
        records: The records of a run that scored it; None takes those of `orthoglot fit`.
    Raises:
        ConfigError: these records hold no scores of this decomposer.
    """
    fitted, details = model_folder / RECORDS, decomposer.details
    if records:
        scores = _scores(records, decomposer.identity, decomposer.method, details.get("seed"))
    else:
        scores = read_records(fitted) if fitted.is_file() else []
    return _render(
        "model_card_decomposer.md.j2",
        view=part,
        relation="finetune",
        records=scores,
        origin=origin._replace(languages=known_languages([language])) if language else origin,
        name=name,
        part=part,
        language=language,
        method=decomposer.method,
        residual=decomposer.architecture == "residual" and "centre" not in decomposer.weights,
        unit=decomposer.unit,
        settings={name: details[name] for name in (*own_settings(), *TRAINED_SETTINGS) if name in details},
        dim=decomposer.meaning_dim if part == "meaning" else decomposer.dim,
        languages=[language] if language else decomposer.languages,
        details=details,
        encoder=card(home),
        identity=decomposer.identity,
    )


def _render(
    template: str,
    *,
    view: str,
    relation: str | None,
    records: Sequence[Record],
    origin: Provenance,
    **values: Any,
) -> str:
    """A card: facts for the hub, with held-out retrieval by one view as shares from 0 to 1, then the text.

    The hub's `datasets` are repositories of the hub, and no record says that a text is one: the text names them.
    """
    results = [
        EvalResult(
            task_type="sentence-similarity",
            task_name="Retrieval of translations",
            dataset_type="held-out",
            dataset_name="held-out sentence pairs",
            dataset_config=record.subset,
            dataset_split=record.dataset,
            metric_type="cosine_accuracy@1",
            metric_name="P@1",
            metric_value=round(record.value / 100, 6),
        )
        for record in records
        if record.view == view
    ]
    licence = origin.licence
    ids: Any = licence.ids  # the hub takes a list as well, which the library's types lack
    front = ModelCardData(
        base_model=origin.base_model,
        base_model_relation=relation if origin.base_model else None,
        model_name=values["name"] if results else None,
        eval_results=results or None,
        library_name="sentence-transformers",
        pipeline_tag="sentence-similarity",
        license=ids if len(ids) > 1 else next(iter(ids), None),
        license_name=licence.name,
        license_link=licence.link,
        language=origin.languages or None,
        tags=["sentence-transformers", "sentence-similarity", "feature-extraction"],
    )
    pages = Environment(
        loader=PackageLoader("orthoglot.apply", "."),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    body = pages.get_template(template).render(
        sentences=json.dumps(examples(values["languages"]), ensure_ascii=False),
        version=__version__,
        scores=table(records) if records else "",
        origin=origin,
        **values,
    )
    return f"---\n{front.to_yaml()}\n---\n\n{body}"


def _scores(path: Path, maker: str, method: str, seed: int | None) -> list[Record]:
    """Held-out retrieval of one encoder's method; `maker` is the encoder's identity, as names may repeat."""
    scores = [
        record
        for record in read_records(path)
        if (record.task, record.metric, record.method, record.seed) == ("heldout", P_AT_1, method, seed)
        and record.facts.get("identity") == maker
    ]
    if not scores:
        raise ConfigError(f"{path}: holds no held-out retrieval of {method} with encoder {maker[:16]}")
    return scores
