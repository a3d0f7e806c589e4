"""LangSAE Editing (2026): a sparse autoencoder without the latents that fire for whole languages.

Source: docs/papers.md#langsae. The same function splits NumPy arrays and, during training, tensors; while it is trained
no latent is left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import Field

from orthoglot.decomposers.base import Trained
from orthoglot.settings import Count, Settings

if TYPE_CHECKING:
    from torch import Generator, nn

    from orthoglot.decomposers.cross_validation import Block

# An activation up to this is no activation.
SILENT = 1e-6
# Latents that are computed at once, 64 MB, however many a sentence has.
ENTRIES = 2**24


class SparseAutoencoderSettings(Settings):
    """Its size, and what it leaves out."""

    expansion: Count
    """Latents of `sparse_autoencoder` for each dimension of the vector."""
    active: Count
    """How many latents of `sparse_autoencoder` a sentence has at most."""
    firing: Annotated[float, Field(gt=0, le=1)]
    """`sparse_autoencoder` leaves out latents that are active in at least this share of a language's sentences."""


def autoencoder(dim: int, generator: Generator, *, expansion: int, **_: object) -> dict[str, nn.Linear]:
    """Encoder and decoder of `expansion` latents for each dimension, without bias, as PyTorch modules.

    The encoder has PyTorch's default distribution, the decoder starts as its transpose.
    """
    # Imported here: applying a decomposer needs NumPy alone.
    from torch import nn

    encoder = nn.utils.skip_init(nn.Linear, dim, expansion * dim, bias=False)
    decoder = nn.utils.skip_init(nn.Linear, expansion * dim, dim, bias=False)
    bound = 1 / math.sqrt(dim)
    nn.init.uniform_(encoder.weight, -bound, bound, generator=generator)
    decoder.weight.data.copy_(encoder.weight.data.T)
    return {"encoder": encoder, "decoder": decoder}


def split(weights: Mapping[str, Any], e: Any) -> tuple[Any, Any]:
    """meaning = D (k * z), language = e - meaning, with z = the `active` largest of relu(E e) and k the latents kept.

    Args:
        weights: `encoder.weight` E (W, D), `decoder.weight` D (D, W), `active`, and, after training, `kept` k (W,).
        e: (N, D).
    Source: docs/papers.md#langsae-1.
    """
    if isinstance(e, np.ndarray) and len(e) > (rows := _rows(weights)):
        parts = [split(weights, e[start : start + rows]) for start in range(0, len(e), rows)]
        meanings, languages = zip(*parts, strict=True)
        return np.concatenate(meanings), np.concatenate(languages)
    latents = (e @ weights["encoder.weight"].T).clip(min=0)
    active = min(int(np.ravel(weights["active"])[0]), latents.shape[1])
    if isinstance(e, np.ndarray):
        least = np.partition(latents, -active, axis=1)[:, -active][:, None]
    else:
        least = latents.topk(active, dim=1).values[:, -1:]
    latents = latents * (latents >= least)
    if "kept" in weights:
        latents = latents * weights["kept"]
    meaning = latents @ weights["decoder.weight"].T
    return meaning, e - meaning


def suppress(
    weights: Mapping[str, np.ndarray],
    blocks: Iterable[Block],
    languages: Sequence[str],
    *,
    expansion: int,
    active: int,
    firing: float,
) -> dict[str, np.ndarray]:
    """What `split` needs besides the trained maps: `kept`, 0 for latents that fire for a language, and `active`.

    A latent fires for a language if relu(E e) is above 1e-6, before the largest are chosen, for at least the share
    `firing` of its training sentences; one language is enough.

    Source: docs/papers.md#langsae-2.
    """
    encoder, rows = weights["encoder.weight"], _rows(weights)
    counts = dict.fromkeys(languages, 0)
    fired = {language: np.zeros(len(encoder)) for language in languages}
    for source, target, (first, second) in blocks:
        for vectors, language in ((source, first), (target, second)):
            for start in range(0, len(vectors), rows):
                fired[language] += (vectors[start : start + rows] @ encoder.T > SILENT).sum(axis=0)
            counts[language] += len(vectors)
    frequent = np.any([fired[name] >= firing * counts[name] for name in languages if counts[name]], axis=0)
    return {"kept": (~frequent).astype(np.float32), "active": np.array([active], dtype=np.int64)}


def _rows(weights: Mapping[str, np.ndarray]) -> int:
    """Sentences whose latents are computed at once."""
    return max(1, ENTRIES // len(weights["encoder.weight"]))


ARCHITECTURE = Trained(
    maps=("encoder", "decoder"),
    split=split,
    settings=SparseAutoencoderSettings,
    modules=autoencoder,
    finish=suppress,
    affine=False,
    shapes={"encoder.weight": "W D", "decoder.weight": "D W", "kept": "W", "active": "1"},
)
