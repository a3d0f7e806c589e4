"""The interface of an encoder, and what encoders share: pooling, devices, batches of a number of tokens."""

from __future__ import annotations

import difflib
import logging
import os
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Protocol, get_args

import numpy as np
import torch
from torch import Tensor, nn

from orthoglot.encoders.out_of_memory import within_memory
from orthoglot.encoders.settings import Pooling, Precision
from orthoglot.encoders.token_lists import Ragged
from orthoglot.errors import ConfigError, DataError
from orthoglot.progress import Done
from orthoglot.text.string_lists import strings
from orthoglot.usable_vectors import not_finite

CPU_BATCH, GPU_BATCH = 2048, 16_384
logger = logging.getLogger(__name__)


class Encoder(Protocol):
    """Anything that turns sentences of a language into vectors of one size."""

    @property
    def name(self) -> str: ...  # as in params.yaml
    @property
    def dim(self) -> int: ...  # D, the size of a vector
    @property
    def languages(self) -> tuple[str, ...]: ...  # codes that it covers; empty if that is not stated

    def encode(
        self, sentences: Sequence[str], language: str, batch_tokens: int, done: Done | None = None
    ) -> np.ndarray:
        """Vectors (n, D) float32 as the network gives them, row i of sentence i.

        A sentence longer than the encoder's limit is truncated, which is logged. What else is in its batch changes a
        vector by rounding alone, at most 1e-5 of its largest value.

        Args:
            sentences: n strings.
            language: Their language; "" is not checked, and general rules then split the text.
            batch_tokens: How many tokens, padding included, are worked on at once.
            done: Called after each batch with its share of the tokens, as a number of sentences. These add up to n.
        Raises:
            ConfigError: The encoder does not cover the language.
            TypeError: `sentences` is not a list of strings.
            DataError: A sentence has no token, or half a surrogate pair.
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
    tokenizer: Any  # a `Tokenizer`

    @property
    def reads_language(self) -> bool:
        """Whether another language may give another vector."""
        return True

    def tokens(self, sentences: Sequence[str], language: str) -> Ragged:
        """The ids that the network reads; a sentence without any is a DataError."""
        ids = self.tokenizer.encode(sentences, language, self.max_tokens)
        check_tokens(self.name, ids.lengths, sentences)
        return self.tokenizer.surrounded(ids, language)

    @abstractmethod
    def vectors(self, tokens: Ragged, batch: np.ndarray) -> Tensor:
        """Vectors (b, D) of some rows, the longest first."""

    def encode(
        self, sentences: Sequence[str], language: str, batch_tokens: int, done: Done | None = None
    ) -> np.ndarray:
        return self.encode_tokens(self.checked_tokens(sentences, language), batch_tokens, done)

    def checked_tokens(self, sentences: Sequence[str], language: str) -> Ragged:
        """The tokens of sentences in a language; errors are those of `Encoder.encode`."""
        check_language(self.name, self.languages, language)
        return self.tokens(strings(sentences, "sentences"), language)

    def encode_tokens(self, tokens: Ragged, batch_tokens: int, done: Done | None = None) -> np.ndarray:
        """The vectors of tokens, as `Encoder.encode` gives them."""
        return in_length_order(tokens.lengths, self.dim, batch_tokens, partial(self.vectors, tokens), done)

    def padded(self, tokens: Ragged, batch: np.ndarray) -> Tensor:
        """Ids of some rows (b, T) on the device."""
        return placed(torch.from_numpy(tokens.padded(batch, self.tokenizer.pad)), self.device)


def pool(states: Tensor, mask: Tensor, pooling: Pooling, pooler: nn.Module | None = None) -> Tensor:
    """Sentence vectors (B, D), not normalised, from the states of the last layer (B, T, D).

    cls = h_1;  pooler = tanh(W h_1 + b);  mean = sum_t m_t h_t / sum_t m_t

    Args:
        states: h.
        mask: m (B, T), true where there is a token.
        pooling: The rule.
        pooler: The checkpoint's own layer on the states, for `pooler`.
    Raises:
        ConfigError: The rule is `pooler`, and there is no such layer.
    Source: docs/papers.md#sentence-vectors.
    """
    if pooling == "cls":
        return states[:, 0]
    if pooling == "mean":
        weights = mask.unsqueeze(-1).to(states.dtype)
        return (states * weights).sum(dim=1) / weights.sum(dim=1)
    if pooler is None:
        raise ConfigError("pooling: `pooler` needs the checkpoint's pooler layer; use `cls` or `mean`")
    return pooler(states)


def resolve_device(device: str) -> torch.device:
    """The device that "auto", "cpu", "cuda" or "cuda:1" means here; "auto" takes a GPU if there is one.

    Raises:
        ConfigError: The device is unknown, or not on this machine.
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
    """The type that a precision computes in; warns where bfloat16 is slower than float32, by a trial.

    Raises:
        ConfigError: The precision is unknown, or int8, which no PyTorch network computes in.
    """
    if precision not in get_args(Precision):
        raise ConfigError(f"precision {precision!r}: unknown; known are {', '.join(get_args(Precision))}")
    if precision == "int8":
        raise ConfigError("precision int8 is for encoders of the kind pretrained; others take bfloat16")
    if precision == "bfloat16" and device.type == "cpu" and speed_of_bfloat16() < 1:
        logger.warning(
            "bfloat16 is slower than float32 on this processor; encoders of the BERT family are faster in int8"
        )
    return torch.float32 if precision == "float32" else torch.bfloat16


@cache
def speed_of_bfloat16() -> float:
    """How many times as fast as in float32 a matrix product is in bfloat16 on this CPU, by a trial of about 0.1 s.

    The instructions of the processor do not tell: it also depends on the products of this version of PyTorch.
    """
    seconds = []
    for dtype in (torch.float32, torch.bfloat16):
        states, weights = torch.ones(512, 768, dtype=dtype), torch.ones(768, 1536, dtype=dtype)
        took = []
        for _ in range(4):
            start = time.perf_counter()
            states @ weights
            took.append(time.perf_counter() - start)
        seconds.append(min(took))
    return seconds[0] / seconds[1]


def placed(tensor: Tensor, device: torch.device) -> Tensor:
    """Copy to the device asynchronously, which needs pinned memory."""
    return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor.to(device)


def every_device(device: str) -> list[torch.device]:
    """The devices that share work of independent parts: all visible GPUs under "auto" and "cuda", else one."""
    first = resolve_device(device)
    if first.type != "cuda" or first.index is not None:
        return [first]
    return [torch.device("cuda", number) for number in range(torch.cuda.device_count())]


def usual_batch(encoder: Encoder) -> int:
    """Tokens that an encoder reads at once if nobody says how many: a GPU is not kept busy by those of a CPU."""
    device = getattr(encoder, "device", None)
    return CPU_BATCH if device is None or device.type == "cpu" else GPU_BATCH


def for_text(encoder: Encoder, size: int) -> tuple[Encoder, Callable[..., Iterator[Any]]]:
    """The encoder for a text of `size` bytes, and what calls it for each block: `map`, but two threads on a GPU."""
    if not isinstance(encoder, TokenEncoder) or encoder.device.type == "cpu":
        return encoder, map
    # Imported here, as commands on a CPU do not need it.
    from orthoglot.encoders.long_texts import SharedEncoder, in_order

    return SharedEncoder(encoder, size), in_order


def check_language(name: str, languages: Sequence[str], language: str) -> None:
    """Refuse a language that the encoder `name` does not list; "" stands for an unknown one."""
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
    """Row numbers in batches of similar length, longest first: floor(batch_tokens / longest) rows, at least one."""
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
    """Encode rows in the batches of `length_batches`, and put their vectors (n, D) float32 back in order.

    Args:
        lengths: Tokens of each row (n,).
        dim: D.
        batch_tokens: Tokens of a batch, padding included.
        encode: Row numbers (b,) -> vectors (b, D).
        done: Called after each batch; after t of all T tokens its numbers add up to floor(n t / T). Rows would not tell
            how much is left, as the longest come first.
    Raises:
        DataError: The batches do not fit into the device's memory, or a vector is not finite.
    """
    vectors = np.empty((len(lengths), dim), dtype=np.float32)
    total = int(lengths.sum())

    def copies() -> Iterator[tuple[np.ndarray, HostCopy]]:
        """The vectors of each batch; an accelerator works on the next batch while they are stored."""
        waiting: deque[tuple[np.ndarray, HostCopy]] = deque()
        for rows in length_batches(lengths, batch_tokens):
            copy = HostCopy(encode(rows).float())
            waiting.append((rows, copy))
            while len(waiting) > int(copy.asynchronous):
                yield waiting.popleft()
        yield from waiting

    @torch.inference_mode()
    def encode_all() -> np.ndarray:
        tokens = 0
        for rows, copy in copies():
            vectors[rows] = copy.wait().numpy()
            before, tokens = tokens, tokens + int(lengths[rows].sum())
            if done is not None:
                done(len(lengths) * tokens // total - len(lengths) * before // total)
        return vectors

    @torch.inference_mode()
    def longest(tokens: int) -> None:
        encode(next(length_batches(lengths, tokens)))

    within_memory(encode_all, where="encoding", setting="batch_tokens", size=batch_tokens, attempt=longest)
    if len(wrong := not_finite(vectors)):
        raise DataError(
            f"encoding: the vector of sentence {wrong[0]} (from 0) is not finite; the weights are damaged, or "
            "the precision does not hold them"
        )
    return vectors


def check_finite(name: str, model: nn.Module) -> None:
    """Refuse weights that are not finite, with a DataError that names the first one."""
    for weight, tensor in model.state_dict().items():
        # A finite sum says that all weights are, 40 times as fast as asking each; it may itself be too large.
        if tensor.is_floating_point() and not tensor.sum().isfinite() and not tensor.isfinite().all():
            raise DataError(f"encoder {name}: its weight {weight} is not finite")


class HostCopy:
    """A copy of a tensor in host memory, which from an accelerator is made without waiting for it."""

    def __init__(self, tensor: Tensor):
        self.asynchronous = tensor.is_cuda  # whether `wait` may have to wait
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
