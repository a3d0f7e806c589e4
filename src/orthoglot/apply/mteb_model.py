"""A model folder as an encoder of mteb, the benchmark of text embeddings; needs the extra `mteb`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from mteb.models import ModelMeta
from mteb.models.abs_encoder import AbsEncoder
from mteb.models.model_meta import ScoringFunction

from orthoglot.apply.model import Model
from orthoglot.decomposers.base import unit
from orthoglot.errors import ConfigError, DataError
from orthoglot.languages import canonical


class MtebModel(AbsEncoder):
    """One part of a model's vectors, for `mteb.evaluate`; mteb compares them by their cosine.

    mteb keeps scores by a model's name and revision: the name has encoder, method and part, the revision is a digest of
    what decides the vectors.
    """

    def __init__(self, folder: str | Path, part: str | None = None, device: str = "auto") -> None:
        """Open a model.

        Args:
            folder: as of `orthoglot.load`.
            part: "meaning", "language" or "sentence"; None for the meaning, or the sentence without a decomposer.
            device: of the encoder.
        Raises:
            ConfigError, DataError: as `orthoglot.load`.
        """
        self.model = Model.load(folder, device)
        self.part = part or self.model.usual_part
        encoder, decomposer = self.model.encoder, self.model.decomposer
        steps = [encoder.name, *([decomposer.method] if decomposer else []), self.part]
        self.mteb_model_meta = ModelMeta.create_empty(
            {
                "name": f"orthoglot/{'-'.join(steps)}",
                "revision": self.model.identity,
                "embed_dim": encoder.dim,
                "framework": ["PyTorch"],
                "similarity_fn_name": ScoringFunction.COSINE,
            }
        )

    def encode(
        self,
        inputs: Iterable[Mapping[str, Any]],
        *,
        task_metadata: Any,
        hf_split: str,
        hf_subset: str,
        prompt_type: Any = None,
        **kwargs: Any,
    ) -> np.ndarray:
        """Vectors of the texts, in their order.

        The language is that of the subset, or of the column where a task has its text in many languages. It is left
        open if the subset has several, as mteb does not say which of them a text is in, or if the encoder does not
        cover it.

        Args:
            inputs: batches, whose "text" is a list.
            task_metadata: has the languages of each subset.
            hf_subset: name of the subset or column.
            hf_split, prompt_type, kwargs: not used.
        Returns:
            (n, D) float32. Meaning and language have length 1, as in an export; the sentence is the encoder's own.
        Raises:
            ConfigError: the encoder has no decomposer, and a part of one is asked for.
            DataError: the method has weights for each language, and none for the text's language, or this is left open.
        """
        texts = [text for batch in inputs for text in batch["text"]]
        codes = task_metadata.hf_subsets_to_langscripts.get(hf_subset, [hf_subset])
        try:
            vectors = self.model.encode(texts, part=self.part, language=self._language(codes))
        except DataError as error:
            raise DataError(
                f"mteb's {task_metadata.name}, {hf_subset} ({', '.join(codes)}): {error}"
            ) from error
        return vectors if self.part == "sentence" else unit(vectors)

    def _language(self, codes: Iterable[str]) -> str | None:
        try:
            language, *others = {canonical(code) for code in codes}
        except ConfigError:
            return None
        covered = self.model.encoder.languages
        return language if not others and (not covered or language in covered) else None
