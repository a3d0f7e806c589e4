"""A model folder as an encoder that mteb evaluates, in any view; needs the package's extra `mteb`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from mteb.models import ModelMeta
from mteb.models.abs_encoder import AbsEncoder

from orthoglot.apply.model import Model
from orthoglot.decomposers.base import WEIGHTS
from orthoglot.encoders.folder import identity
from orthoglot.errors import ConfigError
from orthoglot.languages import canonical
from orthoglot.receipts import file_digest


class MtebEncoder(AbsEncoder):
    """One view of a model: `mteb.evaluate(MtebEncoder("my-model"), mteb.get_tasks(["Tatoeba"]))`.

    mteb states the language of a task in one language, and of text with a column for each language. It does not say
    which side of a pair of languages it wants encoded, so that a method with weights for each language (centering) is
    refused there; export such a method with `orthoglot export --language` instead.

    Args:
        folder: as `orthoglot.load` takes it.
        part: "meaning", "language" or "sentence"; see `orthoglot.apply.model.Model.encode`.
        device: "auto", "cpu", "cuda", ...
        batch_tokens: tokens encoded at once, padding included.
    """

    def __init__(
        self, folder: str | Path, part: str = "meaning", device: str = "auto", batch_tokens: int = 2048
    ) -> None:
        self.model = Model.load(folder, device)
        self.part = part
        self.batch_tokens = batch_tokens
        decomposer = self.model.decomposer
        if decomposer is None:
            method, revision = "original", identity(Path(folder))
        else:
            method, revision = decomposer.method, file_digest(Path(folder) / WEIGHTS)
        # mteb keeps results by name and revision.
        name = f"orthoglot/{self.model.encoder.name}.{method}.{part}"
        about = {"name": name, "revision": revision[:16], "embed_dim": self.model.encoder.dim}
        self.mteb_model_meta = ModelMeta.create_empty(about)

    def encode(
        self, inputs: Any, *, task_metadata: Any, hf_split: str, hf_subset: str, **options: Any
    ) -> np.ndarray:
        """Vectors of the batches of texts, in their order: (N, D) float32.

        Raises:
            DataError: the method has weights for each language, and none for this one, or mteb does not state it.
        """
        sentences = [text for batch in inputs for text in batch["text"]]
        language = stated_language(hf_subset, task_metadata.hf_subsets_to_langscripts)
        if language not in (self.model.encoder.languages or (language,)):
            language = None  # encoders refuse to encode languages that they do not cover
        return self.model.encode(sentences, part=self.part, language=language, batch_tokens=self.batch_tokens)


def stated_language(subset: str, languages: Mapping[str, Sequence[str]]) -> str | None:
    """The language of the texts of a task's subset; None where it has several, or one that has no code here.

    Args:
        subset: "fra", "default", "eng-fra", or a column of a text in many languages, "fra_Latn".
        languages: {subset: its languages and scripts}, {"eng-fra": ["eng-Latn", "fra-Latn"]}.
    """
    found = languages.get(subset, [] if "-" in subset else [subset])
    try:
        return canonical(found[0]) if len(found) == 1 else None
    except ConfigError:
        return None
