"""A model folder as an encoder of mteb, the benchmark of text embeddings; needs the extra `mteb`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, get_args

import mteb
import numpy as np
from mteb.languages import check_language_code
from mteb.models import ModelMeta
from mteb.models.abs_encoder import AbsEncoder
from mteb.models.model_meta import ScoringFunction
from mteb.types import Licenses
from torch import nn

from orthoglot.apply.model import Model, located
from orthoglot.apply.provenance import Licence, Provenance, known_languages, provenance
from orthoglot.apply.ready_model import folder_of
from orthoglot.decomposers.base import unit
from orthoglot.encoders.folder import card, load_encoder
from orthoglot.errors import DataError
from orthoglot.languages import canonical_if_known, iso3, script

MEGABYTE = 2**20
# Languages for which mteb's models name the macrolanguage, and Tatoeba's files its member.
MACROLANGUAGES = {"fa": "fas", "lv": "lav", "ms": "msa", "sw": "swa", "zh": "zho"}
# Tasks of mteb that have sentences of a collection, by the first word of the names that it has here.
TASKS = {
    "bible": ("BibleNLPBitextMining",),
    "stsb": ("STSBenchmark", "STSBenchmarkMultilingualSTS"),
    "tanaka": ("Tatoeba",),  # Tatoeba took its Japanese sentences over
    "tatoeba": ("Tatoeba",),
    "ted2020": ("IWSLT2017BitextMining",),
}


class MtebModel(AbsEncoder):
    """One part of a model's vectors, for `mteb.evaluate`; mteb compares them by their cosine.

    mteb keeps scores by a model's name and revision: the name has encoder, method and part, the revision is a digest of
    what decides the vectors.
    """

    def __init__(self, folder: str | Path, part: str | None = None, device: str = "auto") -> None:
        """Open a model.

        Args:
            folder: See `orthoglot.load`.
            part: "meaning", "language" or "sentence"; None for the meaning, or the sentence without a decomposer.
            device: The device of the encoder.
        Raises:
            ConfigError, DataError: see `orthoglot.load`.
        """
        place = folder_of(folder)
        with located(place) as (home, decomposer, identity):
            self.model = Model(load_encoder(home, device), decomposer, identity)
            self.part = part or self.model.usual_part
            origin = provenance(place, home, decomposer)
            self.mteb_model_meta = _meta(self.model, self.part, origin, card(home))

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
            inputs: Batches, whose "text" is a list.
            task_metadata: The task, with the languages of each subset.
            hf_subset: The name of the subset or column.
            hf_split, prompt_type, kwargs: Not used.
        Returns:
            (n, D) float32. Meaning and language have length 1, as in an export; the sentence is the encoder's own.
        Raises:
            ConfigError: the encoder has no decomposer, and a part of one is asked for.
            DataError: a text is blank; the method has weights for each language, and none for the text's language, or
                this is left open.
        """
        texts = [text for batch in inputs for text in batch["text"]]
        if (blank := next((row for row, text in enumerate(texts) if not text.strip()), None)) is not None:
            raise DataError(f"mteb's {task_metadata.name}, {hf_subset}: text {blank} (from 0) is blank")
        codes = task_metadata.hf_subsets_to_langscripts.get(hf_subset, [hf_subset])
        try:
            vectors = self.model.encode(texts, part=self.part, language=self._language(codes))
        except DataError as error:
            raise DataError(
                f"mteb's {task_metadata.name}, {hf_subset} ({', '.join(codes)}): {error}"
            ) from error
        return vectors if self.part == "sentence" else unit(vectors)

    def _language(self, codes: Iterable[str]) -> str | None:
        language, *others = {canonical_if_known(code) for code in codes}
        covered = self.model.encoder.languages
        return language if not others and (not covered or language in covered) else None


def _meta(model: Model, part: str, origin: Provenance, described: Mapping[str, Any]) -> ModelMeta:
    """What mteb's leaderboard shows of a model: what is on record, and None for what is not."""
    encoder: Any = model.encoder
    steps = [encoder.name, *([model.decomposer.method] if model.decomposer else []), part]
    maps = model.decomposer.weights if model.decomposer and part != "sentence" else {}
    parameters, embedded = _sizes(encoder.model)
    parameters += sum(array.size for array in maps.values())
    if not maps:  # the encoder's own vector owes nothing to a decomposer
        origin = origin._replace(languages=list(encoder.languages), text={}, ready_text={}, date=None)
    library = ["Sentence Transformers"] if described["kind"] == "sentence-transformers" else []
    licence = _licence(origin.licence)
    return ModelMeta(
        loader=None,  # `MtebModel` opens it: a folder has no name that mteb could look up
        name=f"orthoglot/{'-'.join(steps)}",
        revision=model.identity,
        release_date=origin.date,
        languages=_languages(origin.languages) or None,
        n_parameters=parameters,
        n_embedding_parameters=embedded,
        memory_usage_mb=round(4 * parameters / MEGABYTE, 1),  # float32
        max_tokens=encoder.max_tokens,
        embed_dim=encoder.dim,
        license=licence,
        open_weights=True if licence else None,
        public_training_code=None,
        public_training_data=None,
        framework=[*library, "PyTorch", "safetensors"],
        # The page of the encoder, whose own vector it is; a decomposer has none.
        reference=f"https://huggingface.co/{origin.repository}" if origin.repository and not maps else None,
        similarity_fn_name=ScoringFunction.COSINE,
        use_instructions=bool(described.get("prefix")),
        training_datasets=_training(origin, bool(maps), described),
        adapted_from=origin.base_model,
    )


def _sizes(network: nn.Module) -> tuple[int, int | None]:
    """Parameters of a network, and of its largest table of embeddings, which is that of the tokens."""
    embeddings = nn.Embedding | nn.EmbeddingBag
    tables = [module.weight.numel() for module in network.modules() if isinstance(module, embeddings)]
    return sum(weights.numel() for weights in network.parameters()), max(tables, default=None)


def _languages(codes: list[str]) -> list[str]:
    """ISO 639-3 and script of languages, of those that mteb knows."""
    tags = []
    for code in known_languages(codes):
        written = f"{MACROLANGUAGES.get(code) or iso3(code)}-{script(code)}"
        try:
            check_language_code(written)
        except ValueError:
            continue  # a group of languages, as Nahuatl
        tags.append(written)
    return tags


def _licence(licence: Licence) -> str | None:
    """The licence as mteb's list has it, or the address of another one's text."""
    if len(licence.ids) > 1:
        return "multiple"
    if licence.ids and licence.ids[0] in get_args(Licenses):
        return licence.ids[0]
    return licence.link if licence.link and "://" in licence.link else None


def _training(origin: Provenance, fitted: bool, described: Mapping[str, Any]) -> set[str] | None:
    """Names of the texts that the vectors were trained on, or None if not all are known: mteb takes it to be all.

    The text of the decomposer has to be on record, and that of the encoder: one that was trained here has it in its
    card, others may be known to mteb.
    """
    if fitted and not (origin.text or origin.ready_text):
        return None
    from_scratch = "network" in described.get("training", {}) and origin.encoder_text
    if not from_scratch and _known_to_mteb(origin.repository) is None:
        return None
    words = {re.split(r"[\W_]", name.lower())[0] for name in origin.corpora}
    return origin.corpora | {task for word in words for task in TASKS.get(word, ())}


def _known_to_mteb(name: str | None) -> set[str] | None:
    """What mteb says that a model of the hub was trained on; it adds it to the set of a model adapted from this one."""
    if name is None:
        return None
    try:
        return mteb.get_model_meta(name, fetch_from_hf=False).get_training_datasets()
    except (KeyError, ValueError):
        return None
