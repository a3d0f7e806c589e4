"""A closed form of stored vectors, written to a folder. It needs no PyTorch, whose import outlasts most fits."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from orthoglot.decomposers import architecture
from orthoglot.decomposers.architectures.plda import Prior
from orthoglot.decomposers.base import ClosedForm, Decomposer
from orthoglot.decomposers.closed_forms import compute
from orthoglot.decomposers.cross_validation import Block
from orthoglot.embeddings.store import EmbeddingStore
from orthoglot.objectives import check_method
from orthoglot.training.settings import MethodSettings
from orthoglot.training.stored_pairs import Stored, blocks

logger = logging.getLogger(__name__)


def compute_stored(
    method: MethodSettings,
    name: str,
    store: EmbeddingStore,
    data: Stored,
    *,
    seed: int,
    output: Path,
    code: str,
) -> None:
    """Write decomposer.json and weights.safetensors of a closed form into an existing folder.

    Args:
        method: Its settings.
        name: Its name, for the record.
        store: The encoder's vectors, from which `stored` took the data.
        seed: For the record: it changes nothing.
        output: The folder.
        code: Digest of the code that computes it, for the record.
    Raises:
        ConfigError: The method has terms or partners.
        DataError: See `compute`.
    """
    check_method(method.architecture, method.partners, method.terms)
    translations = blocks(data.vectors, data.languages, data.train)
    details = described(method, seed, data.train.shape[1], data.valid.shape[1], data.text)
    dim = data.vectors.shape[1]
    save(fit_closed_form(method, name, translations, data.languages, dim, details), store, output, code)


def described(
    method: MethodSettings, seed: int, train_pairs: int, valid_pairs: int, text: str
) -> dict[str, Any]:
    """What a decomposer states of the data and of the method that it was fitted by."""
    details = {
        "seed": seed,
        "partners": method.partners,
        "terms": method.terms,
        "train_pairs": train_pairs,
        "valid_pairs": valid_pairs,
    }
    return details | ({"text": text} if text else {})


def fit_closed_form(
    method: MethodSettings,
    name: str,
    translations: Iterable[Block],
    languages: list[str],
    dim: int,
    details: Mapping[str, Any],
    prior: Prior | None = None,
) -> Decomposer:
    """The closed form of all training translations, each once; arguments and errors are those of `compute`.

    The encoder stays unnamed; the decomposer states the details, and the settings that were chosen.
    """
    form = architecture(method.architecture)
    assert isinstance(form, ClosedForm)
    weights, facts = compute(form, translations, languages, dim, method.own_settings, prior)
    details = {**details, **facts}
    if "validation" in facts:
        loss = facts.pop("validation")
        chosen = ", ".join(f"{setting} {value}" for setting, value in facts.items())
        logger.info("%s: %s; loss of held-out pairs %s", name, chosen, loss)
    return Decomposer(method.architecture, name, "", "", languages, dim, weights, details)


def save(decomposer: Decomposer, store: EmbeddingStore, output: Path, code: str) -> None:
    """Write a decomposer of a store's vectors; `code` is the digest of the code that fitted it, if it is known."""
    if code:
        decomposer.details["code"] = code
    meta = store.meta
    replace(decomposer, encoder=meta["encoder"], identity=meta["identity"]).save(output)
