"""The files that LASER's authors publish, as a checkpoint folder of kind `laser` without pickled code."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import sentencepiece
from safetensors.torch import save_file
from torch import Tensor

from orthoglot import atomic
from orthoglot.encoders.fastbpe import GOES_ON, FastBpe
from orthoglot.encoders.laser import LaserModel, LaserSizes
from orthoglot.encoders.laser_files import CODES, PIECES, VOCABULARY, hint
from orthoglot.encoders.laser_tokenizers import PAD, RESERVED, SEGMENTED
from orthoglot.encoders.segmentation import open_segmenter
from orthoglot.encoders.tokenization import write_segmenters
from orthoglot.encoders.weights_files import open_pickle
from orthoglot.errors import ConfigError, DataError, OfflineError
from orthoglot.receipts import file_digest

# Begins a word in SentencePiece.
_BEGINS = "▁"


def convert(weights: Path, vocabulary: Sequence[Path], output: Path) -> str:
    """Turn the official files of LASER1 or LASER2 into a checkpoint folder; return which of the two it is.

    Args:
        weights: laser2.pt or bilstm.93langs.2018-12-26.pt; only numbers, strings and tensors are read from it, and no
            code is run.
        vocabulary: laser2.spm, or 93langs.fcodes and 93langs.fvocab.
        output: A new folder: model.safetensors, config.json (sizes, SHA-256 of the sources), vocab.json (piece to id);
            sentencepiece.model, or merges.txt, vocab.txt and the names and versions of the segmenters. It appears whole
            or not at all.
    Raises:
        ConfigError: `output` is there already; a segmenter of LASER1 is not installed.
        DataError: A file is not what that LASER has.
        OfflineError: A file is not here; the message has the command that fetches it.
    """
    if output.exists():
        raise ConfigError(f"{output}: is there already; name a new folder")
    if len(vocabulary) not in (1, 2):
        raise ConfigError("name laser2.spm for LASER2, or 93langs.fcodes and 93langs.fvocab for LASER1")
    name, files = ("LASER2", (PIECES,)) if len(vocabulary) == 1 else ("LASER1", (CODES, VOCABULARY))
    for path in (weights, *vocabulary):
        if not path.is_file():
            raise OfflineError(f"{path} is not on this machine; {hint(name, str(output))}")
    segmenters = {
        language: open_segmenter(segmenter) for language, segmenter in SEGMENTED.items() if name == "LASER1"
    }
    sizes, state, ids = _read(weights, name)
    try:
        LaserModel(sizes).load_state_dict(state)
    except RuntimeError as error:
        raise DataError(f"{weights}: {' '.join(str(error).split())}") from error
    if not ids.keys() & (_pieces(vocabulary[0]) if name == "LASER2" else _subwords(*vocabulary)):
        raise DataError(
            f"{weights}: not the weights of {name}: its dictionary has no piece of {vocabulary[-1]}"
        )
    sources = {path.name: file_digest(path) for path in (weights, *vocabulary)}
    with atomic.building(output) as folder:
        save_file({key: tensor.contiguous() for key, tensor in state.items()}, folder / "model.safetensors")
        for path, file in zip(vocabulary, files, strict=True):
            (folder / file).write_bytes(path.read_bytes())
        write_segmenters(segmenters, folder)
        _write_json(folder / "vocab.json", ids)
        _write_json(folder / "config.json", {"sizes": asdict(sizes), "sha256": sources})
    return name


def _pieces(path: Path) -> Collection[str]:
    """The pieces that begin a word, which LASER1 has not."""
    try:
        model = sentencepiece.SentencePieceProcessor(model_proto=path.read_bytes())
    except RuntimeError as error:
        raise DataError(
            f"{path}: not the SentencePiece model of LASER2 ({' '.join(str(error).split())}); LASER1 has two files of "
            "fastBPE"
        ) from error
    pieces = (model.id_to_piece(number) for number in range(model.get_piece_size()))
    return {piece for piece in pieces if piece.startswith(_BEGINS)}


def _subwords(codes: Path, vocabulary: Path) -> Collection[str]:
    """The subwords that do not end a word, which LASER2 has not."""
    return {subword for subword in FastBpe(codes, vocabulary).vocabulary if subword.endswith(GOES_ON)}


def _read(weights: Path, name: str) -> tuple[LaserSizes, dict[str, Tensor], dict[str, int]]:
    """Sizes, tensors and dictionary of official weights, which name them `params`, `model` and `dictionary`."""
    content = open_pickle(weights, f"the weights of {name}")
    try:
        params = content["params"]
        if not params["bidirectional"] or params["padding_idx"] != PAD:
            raise ValueError("not LASER's bidirectional LSTM")
        sizes = LaserSizes(
            vocabulary=params["num_embeddings"],
            width=params["embed_dim"],
            hidden=params["hidden_size"],
            layers=params["num_layers"],
        )
        state = {str(key): tensor.float() for key, tensor in content["model"].items()}
        ids = {str(piece): int(number) for piece, number in content["dictionary"].items()} | RESERVED
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        cause = str(error).split("\n")[0]
        raise DataError(f"{weights}: not the weights of {name} ({type(error).__name__}: {cause})") from error
    if any(not 0 <= number < sizes.vocabulary for number in ids.values()):
        raise DataError(f"{weights}: its dictionary has ids beyond its {sizes.vocabulary} embeddings")
    return sizes, state, ids


def _write_json(path: Path, content: Any) -> None:
    path.write_text(
        json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8"
    )
