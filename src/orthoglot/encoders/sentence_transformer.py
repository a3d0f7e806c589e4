"""Any sentence-transformers model as an encoder: its own modules run, so its vectors have the library's directions."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from orthoglot.encoders.base import (
    check_finite,
    check_language,
    check_tokens,
    compute_dtype,
    in_length_order,
    resolve_device,
)
from orthoglot.encoders.checkpoint import into_cache
from orthoglot.encoders.folder import Module, begins_static, locate, modules, save_card, stated
from orthoglot.encoders.frozen_folder import link
from orthoglot.encoders.pretrained import open_checkpoint, positions
from orthoglot.encoders.settings import HubSettings, Precision
from orthoglot.encoders.token_states import Pieces, read_pieces
from orthoglot.encoders.tokenization import TextTokenizer, log_truncated, quiet, unopened
from orthoglot.errors import ConfigError, DataError
from orthoglot.progress import Done
from orthoglot.receipts import check_whole
from orthoglot.text.string_lists import strings


@dataclass(frozen=True)
class SentenceTransformersEncoder:
    """A `sentence_transformers.SentenceTransformer` with a length and a prefix of our choice; see `Encoder`.

    A closing Normalize is left out, as what decomposers map is not normalised (docs/papers.md#conventions).
    """

    name: str
    dim: int
    languages: tuple[str, ...]
    max_tokens: int
    prefix: str
    model: Any
    device: torch.device
    reads_language: ClassVar[bool] = False

    @classmethod
    def load(
        cls, folder: Path, device: str = "cpu", precision: Precision = "float32"
    ) -> SentenceTransformersEncoder:
        """Read an encoder folder: encoder.json, and the model it names; a checkpoint's own code is never run.

        Raises:
            ConfigError: A module is not the library's own; `max_tokens` is more than the model has positions.
            DataError: Files are absent or damaged, or weights are not in safetensors.
        """
        # Imported here: it takes seconds, and only this kind needs it.
        from sentence_transformers import SentenceTransformer

        place, fields = stated(folder, "name", "languages", "max_tokens", "prefix")
        name, max_tokens, target = fields["name"], fields["max_tokens"], resolve_device(device)
        check_modules(place, name, "Transformer")
        try:
            with quiet():
                model = SentenceTransformer(
                    str(place),
                    device=str(target),
                    local_files_only=True,
                    trust_remote_code=False,
                    model_kwargs={"use_safetensors": True, "dtype": torch.float32},
                )
            drop_normalize(model)
            # Only the Transformer computes in `precision`; pooling and what follows get float32.
            model[0].model.to(compute_dtype(precision, target))
            model[0].register_forward_hook(_states_in_float32)
            most = min(model.tokenizer.model_max_length, positions(model[0].config))
            model.encode(["a"], show_progress_bar=False)  # some damage is only met then
        except Exception as error:  # a damaged file makes the libraries fail in many ways
            raise unopened(place, name, error) from error
        check_finite(name, model)
        if max_tokens > most:
            raise ConfigError(f"encoder {name}: max_tokens is {max_tokens}, but {place} takes at most {most}")
        model.max_seq_length = max_tokens
        return cls(
            dim=model.get_embedding_dimension(),
            model=model.eval(),
            device=target,
            **fields,
        )

    def encode(
        self, sentences: Sequence[str], language: str, batch_tokens: int, done: Done | None = None
    ) -> np.ndarray:
        """See `Encoder.encode`; the language is only checked."""
        sentences = strings(sentences, "sentences")
        check_language(self.name, self.languages, language)
        check_tokens(self.name, np.array([len(sentence.strip()) for sentence in sentences]), sentences)
        if not sentences:  # of which transformers can make no tokens
            return np.empty((0, self.dim), dtype=np.float32)
        text = [self.prefix + sentence for sentence in sentences]
        lengths = np.array(
            [len(row) for row in self.model.tokenizer(text, verbose=False)["input_ids"]], dtype=np.int64
        )
        log_truncated(int((lengths > self.max_tokens).sum()), len(text), language, self.max_tokens)

        def vectors(batch: np.ndarray) -> Tensor:
            return self.model.encode(
                [sentences[row] for row in batch],
                prompt=self.prefix,
                batch_size=len(batch),
                convert_to_tensor=True,
                show_progress_bar=False,
            )

        return in_length_order(np.minimum(lengths, self.max_tokens), self.dim, batch_tokens, vectors, done)

    def pieces(self, sentences: Sequence[str], language: str, batch_tokens: int) -> list[Pieces]:
        sentences = strings(sentences, "sentences")
        self.check_pieces()
        check_language(self.name, self.languages, language)
        check_tokens(self.name, np.array([len(sentence.strip()) for sentence in sentences]), sentences)
        tokenizer = self.model.tokenizer
        tokens = tokenizer(
            [self.prefix + sentence for sentence in sentences],
            truncation=True,
            max_length=self.max_tokens,
            return_offsets_mapping=True,
            verbose=False,
        )
        spans = [np.array(row, dtype=np.int64).reshape(-1, 2) for row in tokens["offset_mapping"]]
        cut = [bool(encoding.overflowing) for encoding in tokens.encodings]
        log_truncated(sum(cut), len(cut), language, self.max_tokens)
        inputs = [name for name in tokenizer.model_input_names if name in tokens]

        def read(rows: np.ndarray) -> tuple[list[Tensor], Tensor]:
            batch = {name: [tokens[name][row] for row in rows] for name in inputs}
            given = tokenizer.pad(batch, return_tensors="pt").to(self.device)
            outputs = self.model(dict(given))
            keep = given["attention_mask"].bool()
            states = [row[mask] for row, mask in zip(outputs["token_embeddings"], keep, strict=True)]
            return states, outputs["sentence_embedding"]

        return read_pieces(self.name, self.prefix, spans, cut, batch_tokens, read)

    def check_pieces(self) -> None:
        modules = [type(module).__name__ for module in self.model]
        if modules != ["Transformer", "Pooling"] or self.model[1].pooling_mode not in ("mean", ("mean",)):
            raise ConfigError(f"encoder {self.name}: its vector is not the mean of its tokens")
        if not self.model.tokenizer.is_fast:
            raise ConfigError(f"encoder {self.name}: its tokenizer does not say where its tokens are")


def _states_in_float32(module: Any, given: Any, features: dict[str, Tensor]) -> dict[str, Tensor]:
    return features | {"token_embeddings": features["token_embeddings"].float()}


def drop_normalize(model: Any) -> None:
    """Take a closing Normalize off a SentenceTransformer."""
    if len(model) and type(model[-1]).__name__ == "Normalize":
        del model[-1]


def check_modules(place: Path, name: str, first: str) -> None:
    """Refuse what needs code of its own, what does not begin with `first`, and what would be read from pickles."""
    steps = modules(place)
    strange = [module.kind for module in steps if not module.kind.startswith("sentence_transformers.")]
    if strange:
        raise ConfigError(f"encoder {name}: {place} cannot be opened without its own code ({strange[0]})")
    if not steps or not steps[0].kind.endswith(f".{first}"):
        raise ConfigError(f"encoder {name}: {place} does not begin with a {first}")
    for module in steps:
        try:
            resolve_name(module.kind)
            _check_activation(module)
        except (AttributeError, ImportError, OSError, ValueError, TypeError) as error:
            raise DataError(
                f"encoder {name}: {module.folder}, a {module.kind}, cannot be read ({error})"
            ) from error
    for folder in {module.folder for module in steps}:
        if any(folder.glob("*.bin")) and not any(folder.glob("*.safetensors")):
            raise DataError(
                f"encoder {name}: {folder} holds no .safetensors weights; other formats are not read"
            )


def _check_activation(module: Module) -> None:
    """Refuse a Dense layer whose activation PyTorch does not have: the library would take Tanh in its place."""
    if not module.kind.endswith(".Dense"):
        return
    named = json.loads((module.folder / "config.json").read_text(encoding="utf-8")).get("activation_function")
    if named is None:  # of old models: the library's Tanh is meant
        return
    activation = resolve_name(named) if named.startswith("torch.") else None
    if not (isinstance(activation, type) and issubclass(activation, nn.Module)):
        raise ValueError(f"its activation is {named!r}")


def save_with_layers(
    model: Any,
    tokenizer: TextTokenizer,
    layers: Sequence[tuple[nn.Module, nn.Module]],
    output: Path,
    **card: Any,
) -> None:
    """Write a transformers model whose first state goes through layers as a sentence-transformers model, with its card.

    The layers are linear maps (D, D), each with the activation after it. The card has `name`, `dim`, `languages`,
    `max_tokens` and, for model cards, `training`. Weights must be finite.
    """
    for part in (model, *(linear for linear, _ in layers)):
        check_finite(card["name"], part)
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Dense, Pooling, Transformer

    dim = card["dim"]
    with tempfile.TemporaryDirectory() as bare, quiet():
        model.save_pretrained(bare)
        tokenizer.save(Path(bare))
        transformer: Any = Transformer(bare, max_seq_length=card["max_tokens"])
        transformer.model = model  # without the pooler that the library would draw where there is none
        modules: list[Any] = [transformer, Pooling(dim, "cls")]
        for linear, activation in layers:
            dense = Dense(dim, dim, activation_function=activation)
            dense.linear.load_state_dict(linear.state_dict())
            modules.append(dense)
        SentenceTransformer(modules=modules, device="cpu").save(str(output), create_model_card=False)
    save_card(
        output, {"kind": "sentence-transformers", "checkpoint": ".", "revision": "", "prefix": "", **card}
    )


def link_sentence_transformers(settings: HubSettings, name: str, output: Path) -> None:
    """Do as `link`; weights that the transformer lacks, which the library would draw at random, are an error too."""
    into_cache(settings, name)
    place = locate(settings.checkpoint, settings.revision)
    check_whole(place)
    if not begins_static(place):
        check_modules(place, name, "Transformer")
        open_checkpoint(modules(place)[0].folder, name, "cls")
    link(settings, name, output)
