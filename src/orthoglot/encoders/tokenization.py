"""Turn sentences into token ids: any transformers tokenizer, or SentencePiece on words by Moses' rules."""

from __future__ import annotations

import gc
import json
import logging
import multiprocessing
import re
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from itertools import repeat
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import sentencepiece
from transformers import AutoTokenizer
from transformers.utils import logging as transformers_logging

from orthoglot.encoders.pretokenization import moses_words
from orthoglot.encoders.segmentation import Segmenter, open_segmenter
from orthoglot.encoders.token_lists import Ragged
from orthoglot.errors import ConfigError, DataError
from orthoglot.languages import canonical, script

# A folder with this file has words by Moses' rules.
MOSES_MODEL = "tokenizer.moses.model"
# The segmenters of languages without spaces, {language: {name, version}}, in the same folder if there are any.
SEGMENTERS = "tokenizer.segmenters.json"
_FLORES = re.compile(r"[a-z]{3}_[A-Z][a-z]{3}")
BLOCK = 10_000  # sentences tokenised at once: until their ids are packed, they take kilobytes each
logger = logging.getLogger(__name__)


class Tokenizer(ABC):
    """What turns sentences into the ids that a network reads."""

    pad: int  # id of padding
    unknown: int | None  # id of an unknown token, if there is one
    before: tuple[int, ...] = ()  # ids that the network reads before each sentence
    after: tuple[int, ...] = ()  # ids that it reads after each sentence
    # id of each language, if the network reads that of a sentence among `before` and `after`
    symbols: Mapping[str, int] = MappingProxyType({})

    @abstractmethod
    def _rows(self, sentences: list[str], language: str) -> list[list[int]]:
        """Ids of each sentence without `before` and `after`, however many."""

    def encode(self, sentences: Sequence[str], language: str, max_tokens: int) -> Ragged:
        """Ids of each sentence without `before` and `after`, truncated so that with them it has `max_tokens`."""
        room = max_tokens - len(self.before) - len(self.after)
        texts = (list(sentences[start : start + BLOCK]) for start in range(0, len(sentences), BLOCK))
        blocks = list(self._map(texts, language, room))
        log_truncated(sum(truncated for _, truncated in blocks), len(sentences), language, max_tokens)
        return Ragged.join([Ragged.of([]), *(rows for rows, _ in blocks)])

    def surrounded(self, rows: Ragged, language: str) -> Ragged:
        """Ids of sentences in a language with `before` and `after`.

        Raises:
            ConfigError: The network reads the language, and has no symbol for this one.
        """
        if not self.symbols:
            return rows.surrounded(self.before, self.after)
        if language not in self.symbols:
            raise ConfigError(
                f"the tokenizer has no symbol of language {language!r}, which the network reads"
            )
        others = set(self.symbols.values())
        sides = (
            [self.symbols[language] if token in others else token for token in side]
            for side in (self.before, self.after)
        )
        return rows.surrounded(*sides)

    def packed(self, sentences: list[str], language: str, room: int) -> tuple[Ragged, int]:
        """Ids of each sentence without `before` and `after`, at most `room`; how many sentences had more."""
        rows = self._rows(sentences, language)
        return Ragged.of([row[:room] for row in rows]), sum(len(row) > room for row in rows)

    def _map(self, texts: Iterable[list[str]], language: str, room: int) -> Iterator[tuple[Ragged, int]]:
        return (self.packed(sentences, language, room) for sentences in texts)


class TextTokenizer(Tokenizer):
    """A tokenizer whose network can be trained, and with which it is saved."""

    size: int  # V
    mask: int | None  # id that hides a token, if there is one
    most: int  # tokens of a sentence that it allows

    @abstractmethod
    def tokens(self) -> list[str | None]:
        """The text of every id (V,)."""

    def spans(self, sentences: list[str]) -> list[np.ndarray] | None:
        """First and last character, exclusive, of each token (T, 2) of each sentence, without `before` and `after`.

        None if the tokenizer does not say where its tokens are.
        """
        return None

    @abstractmethod
    def save(self, output: Path) -> None:
        """Write the tokenizer's files into a folder."""

    @contextmanager
    def in_processes(self, count: int) -> Iterator[None]:
        """Encode in this many processes, if that is faster than the tokenizer's own threads."""
        yield


class CheckpointTokenizer(TextTokenizer):
    """The tokenizer of a transformers checkpoint; the language of a sentence changes at most a symbol beside it."""

    def __init__(self, tokenizer: Any):
        self._tokenizer = tokenizer
        self.size = len(tokenizer)
        self.pad, self.mask = tokenizer.pad_token_id, tokenizer.mask_token_id
        self.unknown, self.most = tokenizer.unk_token_id, tokenizer.model_max_length
        encoded = tokenizer("a")
        if any(encoded.get("token_type_ids", ())):
            raise ConfigError(
                f"tokenizer {tokenizer.name_or_path}: marks segments of a sentence, which is not read"
            )
        whole, alone = encoded["input_ids"], tokenizer("a", add_special_tokens=False)["input_ids"]
        first = next(n for n in range(len(whole)) if whole[n : n + len(alone)] == alone)
        self.before, self.after = tuple(whole[:first]), tuple(whole[first + len(alone) :])
        symbols = _language_symbols(tokenizer)
        if {*symbols.values()} & {*self.before, *self.after}:
            self.symbols = symbols

    def tokens(self) -> list[str | None]:
        return self._tokenizer.convert_ids_to_tokens(range(self.size))

    def spans(self, sentences: list[str]) -> list[np.ndarray] | None:
        if not self._tokenizer.is_fast:
            return None
        offsets = self._tokenizer(
            sentences, add_special_tokens=False, return_offsets_mapping=True, verbose=False
        )["offset_mapping"]
        return [np.array(row, dtype=np.int64).reshape(-1, 2) for row in offsets]

    def save(self, output: Path) -> None:
        self._tokenizer.save_pretrained(output)

    def _rows(self, sentences: list[str], _: str) -> list[list[int]]:
        return self._tokenizer(
            sentences, add_special_tokens=False, return_attention_mask=False, verbose=False
        )["input_ids"]


def _language_symbols(tokenizer: Any) -> dict[str, int]:
    """Ids of the special tokens that are languages in FLORES-200's spelling (eng_Latn), by canonical code.

    A language with two scripts has the symbol of the usual one.
    """
    symbols: dict[str, int] = {}
    for token in filter(_FLORES.fullmatch, tokenizer.all_special_tokens):
        try:
            code = canonical(token)
        except ConfigError:
            continue
        if code not in symbols or token.endswith(script(code)):
            symbols[code] = tokenizer.convert_tokens_to_ids(token)
    return symbols


class MosesTokenizer(TextTokenizer):
    """SentencePiece on lower-cased words by Moses' rules, as in the EMS paper."""

    pad, unknown, mask = range(3)
    most = sys.maxsize

    def __init__(self, path: Path):
        """Open a model that `train_tokenizer` wrote.

        Raises:
            ConfigError: A segmenter that it was learned with is not installed, or in another version.
            DataError: The file is absent, or not a SentencePiece model.
        """
        try:
            self._pieces = sentencepiece.SentencePieceProcessor(model_proto=path.read_bytes())
        except (OSError, RuntimeError) as error:
            raise DataError(f"tokenizer {path}: cannot be read ({error})") from error
        self.size = self._pieces.get_piece_size()
        self._segmenters = read_segmenters(path.parent)
        self._path = path
        self._pool: ProcessPoolExecutor | None = None

    @contextmanager
    def in_processes(self, count: int) -> Iterator[None]:
        if count == 1:
            yield
            return
        # A fork would copy the threads' locks of other libraries.
        method = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(count, method, _open_in_process, (self._path,)) as self._pool:
            yield
        self._pool = None

    def tokens(self) -> list[str | None]:
        return [self._pieces.id_to_piece(number) for number in range(self.size)]

    def save(self, output: Path) -> None:
        (output / MOSES_MODEL).write_bytes(self._pieces.serialized_model_proto())
        write_segmenters(self._segmenters, output)

    def _map(self, texts: Iterable[list[str]], language: str, room: int) -> Iterator[tuple[Ragged, int]]:
        if not self._pool:
            return super()._map(texts, language, room)
        return self._pool.map(_packed_in_process, texts, repeat(language), repeat(room))

    def _rows(self, sentences: list[str], language: str) -> list[list[int]]:
        words = moses_words(sentences, language, self._segmenters)
        return self._pieces.encode(words, out_type=int, num_threads=1)


_opened: dict[str, MosesTokenizer] = {}


def _open_in_process(path: Path) -> None:
    _opened["tokenizer"] = MosesTokenizer(path)
    gc.freeze()  # as for a job


def _packed_in_process(sentences: list[str], language: str, room: int) -> tuple[Ragged, int]:
    return _opened["tokenizer"].packed(sentences, language, room)


def write_segmenters(segmenters: Mapping[str, Segmenter], folder: Path) -> None:
    """Write names and versions into the folder of a model, if there are any."""
    if segmenters:
        record = {
            language: {"name": segmenter.name, "version": segmenter.version}
            for language, segmenter in segmenters.items()
        }
        (folder / SEGMENTERS).write_text(json.dumps(record, indent=1, sort_keys=True) + "\n")


def read_segmenters(folder: Path) -> dict[str, Segmenter]:
    """The segmenters that `write_segmenters` wrote down; another version of one is a ConfigError."""
    path = folder / SEGMENTERS
    record = json.loads(path.read_text()) if path.is_file() else {}
    segmenters = {language: open_segmenter(entry["name"]) for language, entry in record.items()}
    for language, segmenter in segmenters.items():
        if segmenter.version != record[language]["version"]:
            raise ConfigError(
                f"tokenizer {folder}: {language} was cut by {segmenter.name} {record[language]['version']} when it was "
                f"learned, and {segmenter.version} is installed, which may cut otherwise"
            )
    return segmenters


def open_tokenizer(folder: Path, name: str) -> TextTokenizer:
    """The tokenizer of a checkpoint or an encoder folder.

    Raises:
        ConfigError: It needs code of its own, which is never run, or marks parts of one sentence as segments.
        DataError: It cannot be read.
    """
    if (folder / MOSES_MODEL).is_file():
        return MosesTokenizer(folder / MOSES_MODEL)
    try:
        with quiet():
            opened = AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    except Exception as error:  # a damaged tokenizer.json raises that very class
        raise unopened(folder, name, error) from error
    return CheckpointTokenizer(opened)


def unopened(folder: Path, name: str, error: Exception) -> ConfigError | DataError:
    """Why transformers does not open a checkpoint: it asks for code of its own (`auto_map`), or is damaged."""
    cause = " ".join(str(error).split())
    texts = [path.read_bytes() for path in folder.glob("*config.json")]
    if any(b'"auto_map"' in text for text in texts) or "trust_remote_code" in cause:
        return ConfigError(f"encoder {name}: {folder} cannot be opened without its own code ({cause})")
    return DataError(f"encoder {name}: {folder} cannot be read ({cause})")


def log_truncated(truncated: int, count: int, language: str, max_tokens: int) -> None:
    """Log how many sentences were truncated, if any; the record has the number as `truncated`."""
    if truncated:
        text = "%d of %d %s sentences truncated at %d tokens"
        logger.info(text, truncated, count, language, max_tokens, extra={"truncated": truncated})


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
