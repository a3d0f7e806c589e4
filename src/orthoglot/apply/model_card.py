"""README.md of an exported model: what it is and how it was made, what was measured, whose licence holds."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from huggingface_hub import EvalResult, ModelCardData
from jinja2 import Environment, PackageLoader, StrictUndefined

from orthoglot import __version__, receipts
from orthoglot.apply.encoder_copy import licence_of
from orthoglot.apply.examples import examples
from orthoglot.apply.fit import MADE, RECORDS
from orthoglot.apply.measure import table
from orthoglot.decomposers.base import Decomposer
from orthoglot.encoders.folder import card, identity
from orthoglot.errors import ConfigError
from orthoglot.statistics.records import P_AT_1, Record, read_records
from orthoglot.training.settings import TRAINED_SETTINGS, own_settings

# How the hub names a repository.
HUB_ID = re.compile(r"[\w.-]+/[\w.-]+")


def encoder_card(home: Path, name: str, *, licence: str, records: Path | None) -> str:
    """The card of an encoder without a decomposer; name, licence and records as for `decomposer_card`.

    Raises:
        ConfigError: these records hold no scores of this very encoder.
    """
    described = card(home)
    history = home / "history.jsonl"
    epochs = [json.loads(line) for line in history.read_text().splitlines()] if history.is_file() else []
    texts = described.get("training", {}).get("text", {}).values()
    return _render(
        "model_card_encoder.md.j2",
        view="sentence",
        records=_scores(records, identity(home), "original", None) if records else [],
        corpora={corpus for text in texts for corpus in text["corpora"]},
        name=name,
        encoder=described,
        languages=described["languages"],
        identity=identity(home),
        licence=licence or licence_of(home),
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
    licence: str,
    records: Path | None,
) -> str:
    """The card of one part of a decomposer's vectors.

    Args:
        model_folder: the decomposer's; the card states what `orthoglot fit` recorded there.
        home: its encoder's.
        decomposer: the maps.
        name: of the exported model.
        part: "meaning" or "language".
        language: whose map it is, if there is one per language.
        licence: of the encoder; "" takes what is on record.
        records: of a run that scored it; None takes those of `orthoglot fit`.
    Raises:
        ConfigError: these records hold no scores of this decomposer.
    """
    made, fitted, details = model_folder / MADE, model_folder / RECORDS, decomposer.details
    facts = json.loads(made.read_text(encoding="utf-8")) if made.is_file() else {}
    if records:
        scores = _scores(records, decomposer.identity, decomposer.method, details.get("seed"))
    else:
        scores = read_records(fitted) if fitted.is_file() else []
    text = facts.get("text") or _prepared(model_folder)
    named = facts.get("bitext") or {pair: sorted(counts["in"]) for pair, counts in text.items()}
    return _render(
        "model_card_decomposer.md.j2",
        view=part,
        records=scores,
        corpora={corpus for pair in text for corpus in named[pair]},
        name=name,
        part=part,
        language=language,
        method=decomposer.method,
        residual=decomposer.architecture == "residual" and "centre" not in decomposer.weights,
        unit=decomposer.unit,
        settings={name: details[name] for name in (*own_settings(), *TRAINED_SETTINGS) if name in details},
        dim=decomposer.dim,
        languages=[language] if language else decomposer.languages,
        details=details,
        start=facts.get("start"),
        encoder=card(home),
        identity=decomposer.identity,
        licence=licence or facts.get("encoder", {}).get("licence") or licence_of(home),
        kept=[(pair, "; ".join(named[pair]), counts["kept"]["train"]) for pair, counts in text.items()],
    )


def _prepared(model_folder: Path) -> dict[str, Any]:
    """counts.json of each language pair that a decomposer of the workflow was fitted on, by its receipt."""
    receipt = receipts.read(model_folder.parent)
    # of models/PRESET/decomposers/ENCODER/METHOD/SEED
    workspace = model_folder.resolve().joinpath("../../../../../..")
    paths = [workspace / folder / "counts.json" for folder in receipt.inputs] if receipt else []
    return {
        path.parent.name: json.loads(path.read_text(encoding="utf-8")) for path in paths if path.is_file()
    }


def _base_model(encoder: Mapping[str, Any]) -> str | None:
    """The encoder's repository on the hub; None for one trained here, or from a folder."""
    for name in (encoder.get("origin"), encoder.get("checkpoint")):
        if name and HUB_ID.fullmatch(name) and not Path(name).exists():
            return str(name)
    return None


def _render(
    template: str, *, view: str, records: Sequence[Record], corpora: Collection[str], **values: Any
) -> str:
    """A card: facts for the hub, with held-out retrieval by one view as shares from 0 to 1, then the text."""
    results = [
        EvalResult(
            task_type="sentence-similarity",
            task_name="Retrieval of translations",
            dataset_type="held-out",
            dataset_name="held-out sentence pairs",
            dataset_config=record.subset,
            metric_type="cosine_accuracy@1",
            metric_name="P@1",
            metric_value=round(record.value / 100, 4),
        )
        for record in records
        if record.view == view
    ]
    front = ModelCardData(
        base_model=_base_model(values["encoder"]),
        datasets=sorted(corpora) or None,
        model_name=values["name"],
        eval_results=results or None,
        library_name="sentence-transformers",
        pipeline_tag="sentence-similarity",
        license=None if values["licence"] == "not stated" else values["licence"],
        language=list(values["languages"]) or None,
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
