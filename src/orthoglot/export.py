"""A model folder as stock sentence-transformers modules: encoder, pooling, one linear map, normalisation."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jinja2 import Environment, PackageLoader, StrictUndefined
from sentence_transformers import SentenceTransformer
from sentence_transformers.models import Dense, Normalize, Pooling, Transformer
from torch import nn

from orthoglot import __version__, atomic
from orthoglot.decomposers.base import Decomposer
from orthoglot.encoders.folder import card, checkpoint_folder
from orthoglot.encoders.load import load_encoder
from orthoglot.encoders.pretrained import quiet
from orthoglot.encoders.sentence_transformer import drop_normalize
from orthoglot.errors import ConfigError, DataError
from orthoglot.evaluation.base import read_records, unit
from orthoglot.fit import MADE, RECORDS, licence_of
from orthoglot.languages import canonical
from orthoglot.measure import table
from orthoglot.model import Model, opened

PARTS = ("meaning", "language")
TOLERANCE = 1e-5
# Short, long, other scripts, digits: what the export is compared on before it takes its place.
PROBES = (
    "A cat sleeps.",
    "Mba'éichapa, che angirũ?",
    "猫が寝ている。",
    "In 2024, 3.5 % of it was " + "very " * 60 + "old.",
)
REFUSED = {
    "ems": "its tokeniser and layers are orthoglot's own; sentence-transformers would need remote code",
    "laser": "its BiLSTM and its tokeniser are not among sentence-transformers' modules",
}


def export(model_folder: Path, output: Path, *, part: str = "meaning", language: str | None = None) -> float:
    """Write a folder that `SentenceTransformer(path)` opens without code of ours: safetensors, README.md.

    part(e) = W e + b, then scaled to length 1. The language part of a residual is e - (W e + b) = (I - W) e - b,
    one linear map as well.

    Args:
        model_folder: a decomposer's, with its encoder; see `orthoglot.load`.
        output: a new folder.
        part: "meaning" or "language".
        language: for a method that maps each language its own way: the one whose map is written.
    Returns:
        Largest difference of an entry from orthoglot's own vector, scaled to length 1, on a few sentences.
    Raises:
        ConfigError: not such a model; an encoder that these modules cannot hold; a method that needs `language`.
        DataError: the export gives other vectors than orthoglot.
    """
    if part not in PARTS:
        raise ConfigError(f"unknown part {part!r}; known: {', '.join(PARTS)}")
    if output.exists():
        raise ConfigError(f"{output}: exists; remove it first or name another folder")
    decomposer, home = opened(model_folder)
    if decomposer.architecture == "pair_centering":
        raise ConfigError(
            f"{model_folder}: centering per pair depends on the other language, which one map cannot; fit centering"
        )
    code = canonical(language) if language else None
    weight, bias = affine(decomposer, part, code)
    with quiet():
        modules, prefix = encoder_modules(home)
        split = Dense(decomposer.dim, decomposer.dim, activation_function=nn.Identity())
        split.linear.load_state_dict({"weight": torch.from_numpy(weight), "bias": torch.from_numpy(bias)})
        prompts: dict[str, Any] = (
            {"prompts": {"prefix": prefix}, "default_prompt_name": "prefix"} if prefix else {}
        )
        exported = SentenceTransformer(modules=[*modules, split, Normalize()], device="cpu", **prompts)
        with atomic.building(output) as partial:
            exported.save(str(partial), create_model_card=False)
            written = SentenceTransformer(str(partial), device="cpu", local_files_only=True)
            ours = Model(load_encoder(home, "cpu"), decomposer).encode(PROBES, part=part, language=code)
            off = float(np.abs(written.encode(list(PROBES), show_progress_bar=False) - unit(ours)).max())
            if not off <= TOLERANCE:
                raise DataError(f"{model_folder}: the export differs from orthoglot's vectors by {off:.1e}")
            text = model_card(
                model_folder, home, decomposer, part=part, language=code, name=output.resolve().name
            )
            (partial / "README.md").write_text(text, encoding="utf-8")
    return off


def affine(decomposer: Decomposer, part: str, language: str | None) -> tuple[np.ndarray, np.ndarray]:
    """Weight (D, D) and bias (D,) of a part as one map of the sentence vector, float32.

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
    images = getattr(decomposer.transform(inputs, language), part).astype(np.float64)
    weight = ((images[1:] - images[0]) / scale).T
    return np.ascontiguousarray(weight, dtype=np.float32), images[0].astype(np.float32)


def encoder_modules(home: Path) -> tuple[list[nn.Module], str]:
    """The modules that give an encoder's sentence vector, not normalised, and its prefix.

    Raises:
        ConfigError: an encoder that sentence-transformers has no modules for.
    """
    described = card(home)
    kind = described["kind"]
    if kind in REFUSED:
        raise ConfigError(f"encoder {described['name']}: cannot be exported: {REFUSED[kind]}")
    place = checkpoint_folder(home, described)
    local: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
    if kind == "sentence-transformers":
        whole = SentenceTransformer(str(place), device="cpu", **local)
        drop_normalize(whole)
        whole.max_seq_length = described.get("max_tokens") or whole.max_seq_length
        return list(whole), described.get("prefix", "")
    transformer = Transformer(
        str(place),
        max_seq_length=described["max_tokens"],
        model_kwargs={"use_safetensors": True, "dtype": torch.float32, **local},
        config_kwargs=local,
        processor_kwargs=local,
    )
    pooling = described["pooling"]
    modules: list[nn.Module] = [
        transformer,
        Pooling(described["dim"], "cls" if pooling == "pooler" else pooling),
    ]
    if pooling == "pooler":
        dense = Dense(described["dim"], described["dim"], activation_function=nn.Tanh())
        dense.linear.load_state_dict(transformer.model.pooler.dense.state_dict())
        modules.append(dense)
    return modules, described["prefix"]


def model_card(
    model_folder: Path, home: Path, decomposer: Decomposer, *, part: str, language: str | None, name: str
) -> str:
    """README.md: what it is, how it was made, whose licence holds, what was measured, how to use it."""
    described = card(home)
    made = model_folder / MADE
    record = model_folder / RECORDS
    fitted = json.loads(made.read_text(encoding="utf-8")) if made.is_file() else {}
    pages = Environment(
        loader=PackageLoader("orthoglot", "."),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return pages.get_template("export.md.j2").render(
        name=name,
        part=part,
        language=language,
        method=decomposer.method,
        residual=decomposer.architecture == "residual",
        dim=decomposer.dim,
        languages=decomposer.languages,
        details=decomposer.details,
        encoder=described,
        identity=decomposer.identity,
        licence=fitted.get("encoder", {}).get("licence") or licence_of(home),
        kept=_sizes(fitted),
        scores=table(read_records(record)) if record.is_file() else "",
        version=__version__,
        sentences=json.dumps(PROBES[:2], ensure_ascii=False),
    )


def _sizes(fitted: dict[str, Any]) -> Sequence[tuple[str, str, int]]:
    """Language pair, its files, and the pairs of sentences that were trained on."""
    return [
        (pair, "; ".join(fitted["bitext"][pair]), counts["kept"]["train"])
        for pair, counts in fitted.get("text", {}).items()
    ]
