"""From sentences to token ids: any transformers tokenizer, or SentencePiece on words by Moses' rules."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import sentencepiece
from transformers import AutoTokenizer
from transformers.utils import logging as transformers_logging

from orthoglot.encoders.pretokenization import moses_words
from orthoglot.encoders.ragged import Ragged
from orthoglot.errors import ConfigError, DataError

# A folder with this file has words by Moses' rules.
MOSES_MODEL = "tokenizer.moses.model"
BLOCK = 10_000  # sentences tokenised at once: until their ids are packed, they take kilobytes each
logger = logging.getLogger(__name__)


class TextTokenizer(Protocol):
    """What turns sentences into ids.

    Attributes:
        size: V.
        pad: id of padding.
        mask: id that hides a token; None if there is none.
        unknown: id of an unknown token; None if there is none.
        before, after: ids that the network reads before and after each sentence.
        most: the most tokens that it allows in a sentence.
    """

    size: int
    pad: int
    mask: int | None
    unknown: int | None
    before: tuple[int, ...]
    after: tuple[int, ...]
    most: int

    def tokens(self) -> list[str | None]:
        """The text of every id (V,)."""
        ...

    def encode(self, sentences: Sequence[str], language: str, max_tokens: int) -> Ragged:
        """Ids of each sentence without `before` and `after`, truncated so that with them it has `max_tokens`."""
        ...

    def fields(self, sentences: Sequence[str], language: str, max_tokens: int) -> dict[str, Ragged]:
        """All inputs of the network by name, with `before` and `after`, truncated to `max_tokens`."""
        ...

    def padding(self, field: str) -> int:
        """The id that pads this input."""
        ...

    def save(self, output: Path) -> None:
        """Write the tokenizer's files into a folder."""
        ...


class CheckpointTokenizer:
    """The tokenizer of a transformers checkpoint; see `TextTokenizer`."""

    def __init__(self, tokenizer: Any):
        self._tokenizer = tokenizer
        self.size = len(tokenizer)
        self.pad, self.mask = tokenizer.pad_token_id, tokenizer.mask_token_id
        self.unknown, self.most = tokenizer.unk_token_id, tokenizer.model_max_length
        whole, alone = (tokenizer("a", add_special_tokens=added)["input_ids"] for added in (True, False))
        first = next(n for n in range(len(whole)) if whole[n : n + len(alone)] == alone)
        self.before, self.after = tuple(whole[:first]), tuple(whole[first + len(alone) :])

    def tokens(self) -> list[str | None]:
        """See `TextTokenizer.tokens`."""
        return self._tokenizer.convert_ids_to_tokens(range(self.size))

    def encode(self, sentences: Sequence[str], language: str, max_tokens: int) -> Ragged:
        """See `TextTokenizer.encode`; the language does not matter."""
        room = max_tokens - len(self.before) - len(self.after)

        def rows(some: list[str]) -> list[list[int]]:
            return self._tokenizer(
                some, add_special_tokens=False, return_attention_mask=False, verbose=False
            )["input_ids"]

        return _truncated(map(rows, _blocks(sentences)), len(sentences), language, room)

    def fields(self, sentences: Sequence[str], language: str, max_tokens: int) -> dict[str, Ragged]:
        """See `TextTokenizer.fields`; only long sentences are tokenised twice."""
        if not sentences:
            return {"input_ids": Ragged.of([])}
        encoded = dict(self._tokenizer(list(sentences), verbose=False, return_attention_mask=False))
        long = [row for row, ids in enumerate(encoded["input_ids"]) if len(ids) > max_tokens]
        if long:
            log_truncated(len(long), len(sentences), language, max_tokens)
            again = [sentences[row] for row in long]
            truncated = self._tokenizer(again, truncation=True, max_length=max_tokens)
            for name, rows in encoded.items():
                for row, shorter in zip(long, truncated[name], strict=True):
                    rows[row] = shorter
        return {name: Ragged.of(rows) for name, rows in encoded.items()}

    def padding(self, field: str) -> int:
        """See `TextTokenizer.padding`."""
        return self._tokenizer.pad_token_type_id if field == "token_type_ids" else self.pad

    def save(self, output: Path) -> None:
        """See `TextTokenizer.save`."""
        self._tokenizer.save_pretrained(output)


class MosesTokenizer:
    """SentencePiece on lower-cased words by Moses' rules, as in the EMS paper; see `TextTokenizer`."""

    pad = 0
    unknown: int | None = 1
    mask: int | None = 2
    before: tuple[int, ...] = ()
    after: tuple[int, ...] = ()
    most = sys.maxsize

    def __init__(self, path: Path):
        """Open a model that `train_tokenizer` wrote.

        Raises:
            DataError: absent or not a SentencePiece model.
        """
        try:
            self._pieces = sentencepiece.SentencePieceProcessor(model_proto=path.read_bytes())
        except (OSError, RuntimeError) as error:
            raise DataError(f"tokenizer {path}: cannot be read ({error})") from error
        self.size = self._pieces.get_piece_size()

    def tokens(self) -> list[str | None]:
        """See `TextTokenizer.tokens`."""
        return [self._pieces.id_to_piece(number) for number in range(self.size)]

    def encode(self, sentences: Sequence[str], language: str, max_tokens: int) -> Ragged:
        """See `TextTokenizer.encode`."""

        def rows(some: list[str]) -> list[list[int]]:
            words = [moses_words(sentence, language) for sentence in some]
            return self._pieces.encode(words, out_type=int, num_threads=1)

        return _truncated(map(rows, _blocks(sentences)), len(sentences), language, max_tokens)

    def fields(self, sentences: Sequence[str], language: str, max_tokens: int) -> dict[str, Ragged]:
        """See `TextTokenizer.fields`."""
        return {"input_ids": self.encode(sentences, language, max_tokens)}

    def padding(self, field: str) -> int:
        """See `TextTokenizer.padding`."""
        return self.pad

    def save(self, output: Path) -> None:
        """See `TextTokenizer.save`."""
        (output / MOSES_MODEL).write_bytes(self._pieces.serialized_model_proto())


def open_tokenizer(folder: Path, name: str) -> TextTokenizer:
    """The tokenizer of a checkpoint or an encoder folder.

    Raises:
        ConfigError: it needs code of its own, which is never run.
        DataError: it cannot be read.
    """
    if (folder / MOSES_MODEL).is_file():
        return MosesTokenizer(folder / MOSES_MODEL)
    try:
        with quiet():
            opened = AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    except Exception as error:  # a damaged tokenizer.json raises that very class
        cause = " ".join(str(error).split())
        raise ConfigError(
            f"encoder {name}: {folder} cannot be opened without its own code ({cause})"
        ) from error
    return CheckpointTokenizer(opened)


def log_truncated(truncated: int, count: int, language: str, max_tokens: int) -> None:
    """Log how many sentences were truncated, if any."""
    if truncated:
        logger.info("%d of %d %s sentences truncated at %d tokens", truncated, count, language, max_tokens)


def _blocks(sentences: Sequence[str]) -> Iterator[list[str]]:
    return (list(sentences[start : start + BLOCK]) for start in range(0, len(sentences), BLOCK))


def _truncated(blocks: Iterator[list[list[int]]], count: int, language: str, max_tokens: int) -> Ragged:
    truncated, parts = 0, [Ragged.of([])]
    for rows in blocks:
        truncated += sum(len(row) > max_tokens for row in rows)
        parts.append(Ragged.of([row[:max_tokens] for row in rows]))
    log_truncated(truncated, count, language, max_tokens)
    return Ragged.join(parts)


@contextmanager
def quiet() -> Iterator[None]:
    """Silence transformers' progress bars and load reports, which warn of a missing pooler even if it is unused."""
    level = transformers_logging.get_verbosity()
    bars = transformers_logging.is_progress_bar_enabled()
    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()
    try:
        yield
    finally:
        transformers_logging.set_verbosity(level)
        if bars:
            transformers_logging.enable_progress_bar()
