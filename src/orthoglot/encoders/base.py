"""The interface of an encoder, and what encoders share: pooling, devices, batches of a number of tokens."""

from __future__ import annotations

import difflib
import json
import logging
import os
import pickle
import platform
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeVar, get_args

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from sentencepiece import SentencePieceProcessor
from torch import Tensor, nn

from orthoglot.checksums import is_damaged
from orthoglot.encoders.memory import within_memory
from orthoglot.encoders.ragged import Ragged
from orthoglot.encoders.settings import Pooling, Precision
from orthoglot.errors import ConfigError, DataError
from orthoglot.finite import not_finite
from orthoglot.progress import Done
from orthoglot.text.strings import strings

Sizes = TypeVar("Sizes")
logger = logging.getLogger(__name__)


class Encoder(Protocol):
    """Anything that turns sentences of a language into vectors of one size.

    Attributes:
        name: as in params.yaml.
        dim: D, the size of a vector.
        languages: codes that it covers; empty if that is not stated.
    """

    @property
    def name(self) -> str: ...  # noqa: D102 - see the class
    @property
    def dim(self) -> int: ...  # noqa: D102
    @property
    def languages(self) -> tuple[str, ...]: ...  # noqa: D102

    def encode(
        self, sentences: Sequence[str], language: str, batch_tokens: int, done: Done | None = None
    ) -> np.ndarray:
        """Vectors (n, D) float32 as the network gives them, row i of sentence i.

        A sentence longer than the encoder's limit is truncated, which is logged. The language may
        be "" if it is not known: then it is not checked, and text is split by general rules.
        `batch_tokens` is how many tokens, padding included, are worked on at once; what else is in its batch
        changes a vector by rounding alone, at most 1e-5 of its largest value. `done` is called after each
        batch with its share of the tokens as a number of sentences; these numbers add up to n.

        Raises:
            ConfigError: the encoder does not cover the language.
            TypeError: `sentences` is no list of strings, see `orthoglot.text.strings.strings`.
            DataError: a sentence has no token, or half a surrogate pair.
        """
        ...


@dataclass(frozen=True)
class TokenEncoder(ABC):
    """An `Encoder` that reads token ids."""

    name: str
    dim: int
    languages: tuple[str, ...]
    max_tokens: int  # of a sentence, those that the network adds among them
    model: Any  # the network
    device: torch.device  # where it is

    @abstractmethod
    def tokens(self, sentences: Sequence[str], language: str) -> Ragged:
        """The ids that the network reads.

        Raises:
            DataError: a sentence has none.
        """

    @abstractmethod
    def vectors(self, tokens: Ragged, batch: np.ndarray) -> Tensor:
        """Vectors (b, D) of some rows, the longest first."""

    def encode(
        self, sentences: Sequence[str], language: str, batch_tokens: int, done: Done | None = None
    ) -> np.ndarray:
        """See `Encoder.encode`."""
        check_language(self.name, self.languages, language)
        tokens = self.tokens(strings(sentences, "sentences"), language)
        return in_length_order(tokens.lengths, self.dim, batch_tokens, partial(self.vectors, tokens), done)

    def padded(self, tokens: Ragged, batch: np.ndarray, pad: int) -> Tensor:
        """Ids of some rows (b, T) on the device."""
        return placed(torch.from_numpy(tokens.padded(batch, pad)), self.device)


def open_converted(
    place: Path, name: str, sizes: type[Sizes], network: Callable[[Sizes], nn.Module]
) -> tuple[Sizes, Any]:
    """Sizes and network of a folder that was converted to config.json, with `sizes`, and model.safetensors.

    Args:
        place: the folder.
        name: of the encoder.
        sizes: their class.
        network: makes an untrained one.
    Raises:
        DataError: a file is damaged, does not fit the stated sizes, or holds a weight that is not finite.
    """
    try:
        stated = sizes(**json.loads((place / "config.json").read_text(encoding="utf-8"))["sizes"])
        with torch.device("meta"):
            model = network(stated)
        model.load_state_dict(load_file(place / "model.safetensors"), assign=True)
    except (OSError, SafetensorError, ValueError, KeyError, TypeError, RuntimeError) as error:
        raise DataError(f"encoder {name}: {place} cannot be read ({' '.join(str(error).split())})") from error
    check_finite(name, model)
    return stated, model


def open_pickle(path: Path, what: str) -> Any:
    """What torch.save wrote: only tensors, numbers, strings and their collections are read, and no code is run.

    Args:
        path: the file.
        what: it should be.
    Raises:
        DataError: it is damaged, or holds something else.
    """
    if is_damaged(path):
        raise DataError(f"{path}: not {what}, but damaged: a checksum in it does not fit")
    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except (pickle.UnpicklingError, RuntimeError, EOFError, LookupError, TypeError, ValueError) as error:
        # PyTorch's own message advises to trust the file.
        raise DataError(f"{path}: not {what}, but damaged, or with objects other than tensors") from error


def open_pieces(place: Path, name: str) -> SentencePieceProcessor:
    """The SentencePiece model of the folder of the encoder `name`.

    Raises:
        DataError: it is damaged.
    """
    try:
        return SentencePieceProcessor(model_proto=(place / "sentencepiece.model").read_bytes())
    except (OSError, RuntimeError) as error:
        raise DataError(f"encoder {name}: {place} cannot be read ({' '.join(str(error).split())})") from error


def pool(states: Tensor, mask: Tensor, how: Pooling, pooler: nn.Module | None = None) -> Tensor:
    """One vector per sentence from its token states.

    cls = h_1;  pooler = tanh(W h_1 + b);  mean = sum_t m_t h_t / sum_t m_t

    Args:
        states: last layer (B, T, D).
        mask: (B, T), true where there is a token; padding never counts.
        how: the rule.
        pooler: the checkpoint's own layer on the states, for `pooler`.
    Returns:
        (B, D), not normalised.
    Raises:
        ConfigError: `pooler` without such a layer.
    Source: docs/papers.md#sentence-vectors.
    """
    if how == "cls":
        return states[:, 0]
    if how == "mean":
        weights = mask.unsqueeze(-1).to(states.dtype)
        return (states * weights).sum(dim=1) / weights.sum(dim=1)
    if pooler is None:
        raise ConfigError("pooling: `pooler` needs the checkpoint's pooler layer; use `cls` or `mean`")
    return pooler(states)


def resolve_device(device: str) -> torch.device:
    """The device that "auto", "cpu", "cuda" or "cuda:1" means here; "auto" takes a GPU if there is one.

    Raises:
        ConfigError: an unknown device, or CUDA where there is none.
    """
    # cuBLAS repeats its bits only with a workspace of fixed size, and reads this when it is first used.
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        resolved = torch.device(device)
    except RuntimeError as error:
        raise ConfigError(f"device {device!r}: unknown; known are auto, cpu, cuda, cuda:<number>") from error
    if resolved.type == "cuda" and (resolved.index or 0) >= torch.cuda.device_count():
        raise ConfigError(f"device {device!r}: this machine has {torch.cuda.device_count()} CUDA devices")
    return resolved


def compute_dtype(precision: Precision, device: torch.device) -> torch.dtype:
    """The type that a precision computes in; warns where the processor only emulates it.

    Raises:
        ConfigError: an unknown precision, or int8, which no PyTorch network computes in.
    """
    if precision not in get_args(Precision):
        raise ConfigError(f"precision {precision!r}: unknown; known are {', '.join(get_args(Precision))}")
    if precision == "int8":
        raise ConfigError("precision int8 is for encoders of the kind pretrained; others take bfloat16")
    if (
        precision == "bfloat16"
        and device.type == "cpu"
        and platform.machine() == "x86_64"
        and not torch.cpu._is_avx512_bf16_supported()
    ):
        logger.warning("this processor has no instructions for bfloat16; float32 is faster here")
    return torch.float32 if precision == "float32" else torch.bfloat16


def placed(tensor: Tensor, device: torch.device) -> Tensor:
    """Copy to the device asynchronously, which needs pinned memory."""
    return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor.to(device)


def every_device(device: str) -> list[torch.device]:
    """The devices that share work of independent parts: all visible GPUs under "auto" and "cuda", else one.

    Raises:
        ConfigError: as `resolve_device`.
    """
    first = resolve_device(device)
    if first.type != "cuda" or first.index is not None:
        return [first]
    return [torch.device("cuda", number) for number in range(torch.cuda.device_count())]


def check_language(name: str, languages: Sequence[str], language: str) -> None:
    """Refuse a language that the encoder `name` states not to cover; "" stands for an unknown one."""
    if language and languages and language not in languages:
        near = difflib.get_close_matches(language, languages, n=len(languages), cutoff=0.0)
        raise ConfigError(
            f"encoder {name}: does not cover language {language!r}; it covers {', '.join(near)}"
        )


def check_tokens(name: str, lengths: np.ndarray, sentences: Sequence[str]) -> None:
    """Refuse a sentence without tokens: its mean would be no number."""
    empty = np.flatnonzero(lengths == 0)
    if empty.size:
        row = int(empty[0])
        raise DataError(f"encoder {name}: sentence {row} has no token: {sentences[row]!r}")


def length_batches(lengths: np.ndarray, batch_tokens: int) -> Iterator[np.ndarray]:
    """Row numbers of similar length together, longest first, at most `batch_tokens` tokens with padding.

    A batch whose longest row has T tokens has floor(batch_tokens / T) rows, and at least one.
    """
    # Longest first: a batch that does not fit in memory fails at once.
    order = np.argsort(-lengths, kind="stable")
    start = 0
    while start < len(order):
        rows = max(1, batch_tokens // int(lengths[order[start]]))
        yield order[start : start + rows]
        start += rows


def in_length_order(
    lengths: np.ndarray,
    dim: int,
    batch_tokens: int,
    encode: Callable[[np.ndarray], Tensor],
    done: Done | None = None,
) -> np.ndarray:
    """Encode rows batch by batch as `length_batches` says, and put them back in order.

    Args:
        lengths: tokens per row (n,).
        dim: D.
        batch_tokens: tokens per call, padding included.
        encode: row numbers (b,) -> vectors (b, D).
        done: called after each batch; after t of all T tokens its numbers add up to floor(n t / T). Rows would not tell
            how much is left, as the longest come first.
    Returns:
        (n, D) float32.
    Raises:
        DataError: the batches do not fit into the device's memory, or a vector is not finite.
    """
    vectors = np.empty((len(lengths), dim), dtype=np.float32)
    total = int(lengths.sum())

    def encode_all() -> np.ndarray:
        copies: deque[tuple[np.ndarray, HostCopy]] = deque()
        tokens = 0

        def store() -> None:
            nonlocal tokens
            rows, copy = copies.popleft()
            vectors[rows] = copy.wait().numpy()
            before, tokens = tokens, tokens + int(lengths[rows].sum())
            if done is not None:
                done(len(lengths) * tokens // total - len(lengths) * before // total)

        with torch.inference_mode():
            for rows in length_batches(lengths, batch_tokens):
                copy = HostCopy(encode(rows).float())
                copies.append((rows, copy))
                # An accelerator works on this batch while the one before is stored.
                while len(copies) > int(copy.asynchronous):
                    store()
            while copies:
                store()
        return vectors

    def longest(tokens: int) -> None:
        with torch.inference_mode():
            encode(next(length_batches(lengths, tokens)))

    within_memory(encode_all, where="encoding", setting="batch_tokens", size=batch_tokens, attempt=longest)
    if len(wrong := not_finite(vectors)):
        raise DataError(
            f"encoding: the vector of sentence {wrong[0]} (from 0) is not finite; the weights are damaged, or "
            "the precision does not hold them"
        )
    return vectors


def check_finite(name: str, model: nn.Module) -> None:
    """Refuse weights that are not finite; reads each once.

    Raises:
        DataError: names the first one.
    """
    for weight, tensor in model.state_dict().items():
        # A finite sum says that all weights are, 40 times as fast as asking each; it may itself be too large.
        if tensor.is_floating_point() and not tensor.sum().isfinite() and not tensor.isfinite().all():
            raise DataError(f"encoder {name}: its weight {weight} is not finite")


class HostCopy:
    """A copy of a tensor in host memory, which from an accelerator is made without waiting for it.

    Attributes:
        asynchronous: whether `wait` may have to wait.
    """

    def __init__(self, tensor: Tensor):
        self.asynchronous = tensor.is_cuda
        if not self.asynchronous:
            self._copy = tensor
            return
        self._copy = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True)
        self._copy.copy_(tensor, non_blocking=True)
        self._made = torch.cuda.Event()
        self._made.record(torch.cuda.current_stream(tensor.device))

    def wait(self) -> Tensor:
        """The copy, once it is complete."""
        if self.asynchronous:
            self._made.synchronize()
        return self._copy
