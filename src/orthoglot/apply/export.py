"""A model folder as stock sentence-transformers modules: encoder, pooling; one linear map and normalisation."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.models import Dense, Normalize, Pooling, Transformer
from torch import nn

from orthoglot import __version__, atomic, receipts
from orthoglot.apply.early_checks import check_model, check_new
from orthoglot.apply.encoder_copy import Checkpoint, link_folder
from orthoglot.apply.model import Model, default_prompt, opened
from orthoglot.apply.model_card import decomposer_card, encoder_card
from orthoglot.apply.provenance import provenance
from orthoglot.apply.ready_model import folder_of
from orthoglot.decomposers import architecture
from orthoglot.decomposers.base import WEIGHTS, Decomposer, Trained, unit
from orthoglot.encoders.folder import begins_static, card, checkpoint_folder, identity, load_encoder
from orthoglot.encoders.sentence_transformer import drop_normalize
from orthoglot.encoders.tokenization import MOSES_MODEL, quiet
from orthoglot.errors import ConfigError, DataError
from orthoglot.languages import canonical

PARTS = ("meaning", "language")
TOLERANCE = 1e-5
LOCAL: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
# Short, long, other scripts, digits: what the export is compared on before it takes its place.
PROBES = (
    "A cat sleeps.",
    "Mba'éichapa, che angirũ?",
    "猫が寝ている。",
    "In 2024, 3.5 % of it was " + "very " * 60 + "old.",
)
logger = logging.getLogger(__name__)
REFUSED = {
    "laser": "its BiLSTM and its tokeniser are not among sentence-transformers' modules",
    "use": "its convolutions are not among sentence-transformers' modules",
}


def export(
    folder: Path,
    output: Path,
    *,
    part: str | None = None,
    language: str | None = None,
    licence: str = "",
    records: Path | None = None,
) -> float:
    """Write a folder that `SentenceTransformer(path)` opens without code of ours: safetensors, README.md.

    Its receipt lists all files but README.md, which its owner may edit. `orthoglot.load` compares them.

    An encoder's folder gives its sentence vector e as it is. A decomposer's gives one part,
    part(e) = W e + b, then scaled to length 1; with PLDA e is scaled to length 1 first. The language part
    of a residual is e - (W e + b) = (I - W) e - b, one linear map as well.

    Args:
        folder: The folder of an encoder, or of a decomposer with its encoder; see `orthoglot.load`.
        output: A new folder.
        part: "meaning" (if None) or "language", of a decomposer.
        language: The language whose map is written, for a method that maps each its own way.
        licence: The licence for the model card; "" takes what is on record.
        records: Scores of a run for the model card; None takes those of `orthoglot fit`.
    Returns:
        Largest difference of an entry from orthoglot's own vector on a few sentences, in lengths of the vector.
    Raises:
        ConfigError: not such a model; an encoder that these modules cannot hold; a method that needs `language`;
            a part of an encoder without a decomposer; records without the model's scores.
        DataError: the export gives other vectors than orthoglot.
    """
    check_new(output)
    folder = folder_of(folder)
    name = output.resolve().name
    decomposer, home, code = None, folder, canonical(language) if language else None
    head: list[nn.Module] = []
    if (folder / "encoder.json").is_file():
        if part is not None or language is not None:
            raise ConfigError(f"{folder}: an encoder without a decomposer; leave --part and --language out")
        receipts.check_whole(folder)
    else:
        part = part or PARTS[0]
        decomposer, home = opened(folder)
        head = steps(decomposer, part, code, str(folder))
    with quiet():
        modules, prompts = encoder_modules(home)
        model = Model(load_encoder(home, "cpu"), decomposer)
        ours = model.encode(PROBES, part=part or "sentence", language=code)
        origin = provenance(folder, home, decomposer, licence)
        if decomposer is None:
            weights = None
            model_card = encoder_card(home, name, origin=origin, records=records)
        else:
            ours = unit(ours)
            weights = receipts.file_digest(folder / WEIGHTS)
            model_card = decomposer_card(
                folder,
                home,
                decomposer,
                name,
                part=part or PARTS[0],
                language=code,
                origin=origin,
                records=records,
            )
        made_of = [__version__, identity(home), weights, part, code]
        exported = SentenceTransformer(modules=[*modules, *head], device="cpu", **prompts)
        return _write(exported, ours, output, model_card, origin.licence_file, made_of)


def export_split(
    decomposer: Decomposer,
    encoder: SentenceTransformer | str | Path,
    output: Path,
    *,
    part: str = "meaning",
    language: str | None = None,
    licence: str = "",
) -> float:
    """Do as `export` with a decomposer that was fitted to vectors; see `orthoglot.Decomposer.export`."""
    check_new(output)
    code = canonical(language) if language else None
    head = steps(decomposer, part, code, f"method {decomposer.method}")
    with quiet(), TemporaryDirectory() as place:
        home, modules, prompts = _given(encoder, Path(place))
        whole = SentenceTransformer(modules=modules, device="cpu", **prompts)
        sentences = whole.encode(list(PROBES), show_progress_bar=False)
        name = card(home)["name"]
        if sentences.shape[1] != decomposer.dim:
            raise ConfigError(
                f"encoder {name}: its vectors have {sentences.shape[1]} numbers, those that were fitted to "
                f"{decomposer.dim}"
            )
        ours = unit(getattr(decomposer.transform(sentences, code or ""), part))
        nowhere = Path(place) / "split"  # no folder has records of the split
        origin = provenance(nowhere, home, decomposer, licence)
        model_card = decomposer_card(
            nowhere,
            home,
            replace(decomposer, encoder=name, identity=identity(home)),
            output.resolve().name,
            part=part,
            language=code,
            origin=origin,
            records=None,
        )
        maps = [array.tobytes().hex() for array in affine(decomposer, part, code)]
        made_of = [__version__, identity(home), maps, part, code]
        exported = SentenceTransformer(modules=[*modules, *head], device="cpu", **prompts)
        return _write(exported, ours, output, model_card, origin.licence_file, made_of)


def _write(
    exported: SentenceTransformer,
    ours: np.ndarray,
    output: Path,
    model_card: str,
    licence_file: Path | None,
    made_of: Sequence[object],
) -> float:
    """Write a folder once its vectors of the sample sentences are compared with orthoglot's own; see `export`."""
    logger.info("comparing with orthoglot's own vectors on %d sample sentences", len(PROBES))
    with atomic.building(output) as partial:
        check_new(output)  # another process may have written it meanwhile
        exported.save(str(partial), create_model_card=False)
        written = SentenceTransformer(str(partial), device="cpu", local_files_only=True)
        theirs = written.encode(list(PROBES), show_progress_bar=False)
        off = float((np.abs(theirs - ours) / np.linalg.norm(ours, axis=1, keepdims=True)).max())
        if not off <= TOLERANCE:
            raise DataError(
                f"{output}: the export differs from orthoglot's vectors by {off:.1e} of their length"
            )
        (partial / "README.md").write_text(model_card, encoding="utf-8")
        if licence_file:
            shutil.copyfile(licence_file, partial / licence_file.name)
        receipts.write(partial, receipts.digest_of(made_of), without=["README.md"])
    return off


def _given(
    encoder: SentenceTransformer | str | Path, place: Path
) -> tuple[Path, list[nn.Module], dict[str, Any]]:
    """The folder with encoder.json of an encoder, its modules and its prompts; what is written is below `place`."""
    if not isinstance(encoder, SentenceTransformer | str | Path):
        raise TypeError(
            f"the encoder is {type(encoder).__name__}; give a SentenceTransformer, or the folder of the encoder"
        )
    name, folder = "", place / "saved"
    if isinstance(encoder, SentenceTransformer):
        if encoder.truncate_dim is not None:
            raise ConfigError(
                f"the encoder has truncate_dim={encoder.truncate_dim}, which no export can hold: fit to whole vectors, "
                "and use dim="
            )
        strange = [
            type(module)
            for module in encoder
            if not type(module).__module__.startswith("sentence_transformers.")
        ]
        if strange:
            raise ConfigError(
                f"the encoder cannot be opened without its own code ({strange[0].__qualname__})"
            )
        name = Path(encoder.model_card_data.base_model or "encoder").name
        encoder.save(str(folder), create_model_card=False)
    else:
        folder = Path(encoder)
        check_model(folder)
    if (folder / "encoder.json").is_file():
        return folder, *encoder_modules(folder)
    if not (folder / "modules.json").is_file():
        raise ConfigError(
            f"{folder}: a decomposer; give the folder of the encoder whose vectors it was fitted to"
        )
    home = place / "encoder"
    home.mkdir()
    link_folder(Checkpoint(str(folder.resolve()), name=name, prefix=default_prompt(folder)), home)
    whole = SentenceTransformer(str(folder), device="cpu", model_kwargs={"dtype": torch.float32}, **LOCAL)
    return home, list(whole), {"prompts": whole.prompts, "default_prompt_name": whole.default_prompt_name}


def steps(decomposer: Decomposer, part: str, language: str | None, name: str) -> list[nn.Module]:
    """The modules that turn a sentence vector into one part of length 1.

    Args:
        decomposer: The maps.
        part: "meaning" or "language".
        language: The language whose map it is, if there is one per language.
        name: The name of the model, for messages.
    Raises:
        ConfigError: no such part; parts that are no linear maps; see `affine`.
    """
    if part not in PARTS:
        raise ConfigError(f"unknown part {part!r}; known: {', '.join(PARTS)}")
    if decomposer.architecture == "pair_centering":
        raise ConfigError(
            f"{name}: centering per pair depends on the other language, which one map cannot; fit centering"
        )
    form = architecture(decomposer.architecture)
    if isinstance(form, Trained) and not form.affine:
        raise ConfigError(f"{name}: its parts are no linear maps of the vector and cannot be exported")
    weight, bias = affine(decomposer, part, language)
    split = Dense(decomposer.dim, len(bias), activation_function=nn.Identity())
    split.linear.load_state_dict({"weight": torch.from_numpy(weight), "bias": torch.from_numpy(bias)})
    return [*([Normalize()] if decomposer.unit else []), split, Normalize()]


def affine(decomposer: Decomposer, part: str, language: str | None) -> tuple[np.ndarray, np.ndarray]:
    """Weight (M, D) and bias (M,) of a part as one map of the sentence vector, float32; M is D, or less of a cut part.

    Read off what the decomposer does: f(0) = b, f(s I) - b = s W^T, with a large power of two as s so that b
    takes no digits from W.

    Raises:
        ConfigError: without a language, a method whose languages have maps of their own; with one, any other.
    """
    maps = {
        code: _map(decomposer, part, code)
        for code in {*decomposer.languages, *([language] if language else [])}
    }
    first, *others = (maps[code] for code in decomposer.languages)
    differ = any(not np.array_equal(a, b) for other in others for a, b in zip(first, other, strict=True))
    if language is not None:
        if not differ:
            raise ConfigError(
                f"method {decomposer.method}: has one map for all languages; leave --language out"
            )
        return maps[language]
    if differ:
        raise ConfigError(
            f"method {decomposer.method}: maps each language its own way, and one export holds one map; choose "
            f"it by --language: {', '.join(decomposer.languages)}"
        )
    return first


def _map(decomposer: Decomposer, part: str, language: str) -> tuple[np.ndarray, np.ndarray]:
    scale = np.float32(2.0**20)
    inputs = np.concatenate([np.zeros((1, decomposer.dim)), scale * np.eye(decomposer.dim)]).astype(
        np.float32
    )
    images = decomposer.split(inputs, [language] * len(inputs))[PARTS.index(part)].astype(np.float64)
    weight = ((images[1:] - images[0]) / scale).T
    return np.ascontiguousarray(weight, dtype=np.float32), images[0].astype(np.float32)


def encoder_modules(home: Path) -> tuple[list[nn.Module], dict[str, Any]]:
    """The modules that give an encoder's sentence vector, not normalised, and the prompts of a SentenceTransformer.

    Raises:
        ConfigError: an encoder that sentence-transformers has no modules for.
    """
    described = card(home)
    kind = described["kind"]
    if kind in REFUSED:
        raise ConfigError(f"encoder {described['name']}: cannot be exported: {REFUSED[kind]}")
    if (home / MOSES_MODEL).is_file():
        raise ConfigError(
            f"encoder {described['name']}: cannot be exported: words: moses: its rules depend on the language and are "
            "no steps of the tokenizers library; train with words: unicode"
        )
    place, prefix = checkpoint_folder(home, described), described.get("prefix")
    prompts = {"prompts": {"prefix": prefix}, "default_prompt_name": "prefix"} if prefix else {}
    if kind == "sentence-transformers":
        # Stored in float16, it would be opened so; our own vectors are float32.
        whole = SentenceTransformer(
            str(place), device="cpu", model_kwargs={"dtype": torch.float32}, **LOCAL
        ).float()
        drop_normalize(whole)
        if begins_static(place):
            whole.tokenizer.enable_truncation(described["max_tokens"])
        else:
            whole.max_seq_length = described.get("max_tokens") or whole.max_seq_length
        return list(whole), prompts
    return _pooled(place, described), prompts


def _pooled(place: Path, described: dict[str, Any]) -> list[nn.Module]:
    transformer = Transformer(
        str(place),
        max_seq_length=described["max_tokens"],
        model_kwargs={"use_safetensors": True, "dtype": torch.float32, **LOCAL},
        config_kwargs={**LOCAL},  # a copy: the library writes into them
        processor_kwargs={**LOCAL},
    )
    pooling = described["pooling"]
    pooler = getattr(transformer.model, "pooler", None)
    if pooler is not None and pooling != "pooler":
        # Where the checkpoint has none, transformers has drawn an unused one at random.
        for weights in pooler.parameters():
            nn.init.zeros_(weights)
    modules: list[nn.Module] = [
        transformer,
        Pooling(described["dim"], "cls" if pooling == "pooler" else pooling),
    ]
    if pooling == "pooler":
        dense = Dense(described["dim"], described["dim"], activation_function=nn.Tanh())
        dense.linear.load_state_dict(transformer.model.pooler.dense.state_dict())
        modules.append(dense)
    return modules
