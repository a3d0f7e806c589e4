"""What pays for a long text on an accelerator: compiled layers, and a thread that tokenises beside the encoding.

Neither is measured on a GPU.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from threading import Lock
from typing import Any, TypeVar

import numpy as np

from orthoglot.encoders.base import TokenEncoder
from orthoglot.progress import Done

Item = TypeVar("Item")
Made = TypeVar("Made")
# Tokens of the shortest text whose layers a GPU compiles. XLM-R large reads a token in about two microseconds. If
# compiled layers save a quarter of that, and compiling takes a minute, that minute is won back after so many.
COMPILES_FROM = 120_000_000
# Bytes of a token, about, in text that is not tokenised yet.
TOKEN_BYTES = 4


class SharedEncoder:
    """An `Encoder` for two threads: one tokenises, while the device computes for the other.

    If a text of `size` bytes is long, a GPU's layers are compiled. The whole text decides, not what is left of it, so
    that an interrupted run goes on with the same bits.
    """

    def __init__(self, encoder: TokenEncoder, size: int) -> None:
        changed: Any = encoder
        if size >= COMPILES_FROM * TOKEN_BYTES and hasattr(encoder, "compiles"):
            changed = replace(changed, compiles=True)
        self._encoder: TokenEncoder = changed
        self.name, self.dim, self.languages = encoder.name, encoder.dim, encoder.languages
        self.device, self.reads_language = encoder.device, encoder.reads_language
        self._tokenising, self._computing = Lock(), Lock()

    def encode(
        self, sentences: Sequence[str], language: str, batch_tokens: int, done: Done | None = None
    ) -> np.ndarray:
        with self._tokenising:
            tokens = self._encoder.checked_tokens(sentences, language)
        with self._computing:
            return self._encoder.encode_tokens(tokens, batch_tokens, done)


def in_order(work: Callable[[Item], Made], items: Iterable[Item]) -> Iterator[Made]:
    """What `work`, which calls a `SharedEncoder`, makes of each item, as `map` gives it; two threads share the items.

    An error is raised after what was made of the items before.
    """
    with ThreadPoolExecutor(2) as threads:
        waiting: deque[Future[Made]] = deque()
        for item in items:
            waiting.append(threads.submit(work, item))
            if len(waiting) == 2:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
