"""From sentence to subword ids: lower case, words, SentencePiece BPE (methods 5.8)."""

from __future__ import annotations

import functools
import io
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import numpy as np
import sentencepiece
import tokenizers

from orthoglot.atomic import replacing
from orthoglot.encoders import pretokenization as unicode
from orthoglot.encoders.settings import TokenizerSettings, Words
from orthoglot.errors import ConfigError, DataError
from orthoglot.languages import has_spaces
from orthoglot.streams import derive

PAD, UNKNOWN, MASK = 0, 1, 2
BLOCK = 10_000  # sentences cut at once: until their ids are packed, they take kilobytes each
logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Ragged:
    """Token ids of N sentences without padding.

    Attributes:
        ids: all sentences' ids one after the other (sum of T,) int32.
        offsets: sentence i is ids[offsets[i] : offsets[i + 1]]; (N + 1,) int64.
    """

    ids: np.ndarray
    offsets: np.ndarray

    @classmethod
    def of(cls, rows: Sequence[Sequence[int]]) -> Ragged:
        """Pack a list of id lists."""
        lengths = np.fromiter(map(len, rows), dtype=np.int64, count=len(rows))
        offsets = np.concatenate([np.zeros(1, np.int64), lengths.cumsum()])
        ids = np.fromiter((item for row in rows for item in row), dtype=np.int32, count=int(offsets[-1]))
        return cls(ids, offsets)

    @classmethod
    def join(cls, parts: Sequence[Ragged]) -> Ragged:
        """All rows of all parts, in order."""
        lengths = np.concatenate([part.lengths for part in parts])
        offsets = np.concatenate([np.zeros(1, np.int64), lengths.cumsum()])
        return cls(np.concatenate([part.ids for part in parts]), offsets)

    @property
    def lengths(self) -> np.ndarray:
        """Tokens per sentence (N,)."""
        return np.diff(self.offsets)

    def count(self, piece: int | None) -> int:
        """How many of all ids are this one; 0 where there is no such piece."""
        return 0 if piece is None else int(np.count_nonzero(self.ids == piece))

    def take(self, rows: np.ndarray) -> Ragged:
        """The named rows, in that order."""
        lengths = self.offsets[rows + 1] - self.offsets[rows]
        offsets = np.concatenate([np.zeros(1, np.int64), lengths.cumsum()])
        places = np.arange(offsets[-1]) + np.repeat(self.offsets[rows] - offsets[:-1], lengths)
        return Ragged(self.ids[places], offsets)

    def padded(self, rows: np.ndarray, pad: int = PAD) -> np.ndarray:
        """Ids of the named rows (B, T) int64, filled up with `pad` to the longest of them."""
        lengths = self.offsets[rows + 1] - self.offsets[rows]
        steps = np.arange(lengths.max(initial=0))
        keep = steps < lengths[:, None]
        places = np.where(keep, self.offsets[rows][:, None] + steps, 0)
        ids = self.ids[places] if self.ids.size else places
        return np.where(keep, ids, pad).astype(np.int64)


@functools.cache
def _moses(language: str) -> Any:
    # Imported where it is needed: that takes 0.4 s, and `unicode` does without.
    from sacremoses import MosesTokenizer

    return MosesTokenizer(language)


def pretokenize(sentence: str, language: str, words: Words) -> str:
    """The lower-cased words of a sentence with blanks between them.

    `unicode` cuts all languages by one rule (`orthoglot.encoders.pretokenization`). `moses` cuts by the Moses
    rules without escaping entities; a language without spaces is only lower-cased: SentencePiece finds its units.
    Where the language is not known (""), English rules stand in; languages differ only in their abbreviations.
    Differs from the paper, which cuts Chinese with jieba and Japanese with Juman++.
    """
    if words == "unicode":
        return " ".join(unicode.words(sentence))
    lowered = sentence.lower()
    if language and not has_spaces(language):
        return lowered.strip()
    return _moses(language or "en").tokenize(lowered, escape=False, return_str=True)


def language_symbol(language: str) -> str:
    """The piece reserved for a language."""
    return f"<2{language}>"


def train_tokenizer(
    settings: TokenizerSettings, sentences: Mapping[str, Sequence[str]], output: Path
) -> None:
    """Train a BPE model on the words of every language's text and write `output` in one move.

    Ids: 0 padding, 1 unknown, 2 mask, then one symbol per language, then pieces; no BOS, no EOS. Text never
    encodes to a reserved id other than unknown. The same settings and sentences give the same bytes.

    Args:
        settings: size and sample; the thread count is a hyper-parameter, as it changes the model.
        sentences: text by language.
        output: path of the model file.
    Raises:
        ConfigError: more pieces are asked for than the text has.
        DataError: no text.
    """
    if not any(sentences.values()):
        raise DataError(f"tokenizer {output}: no sentence to learn pieces from")
    model = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=_sample(settings, sentences),
            model_writer=model,
            model_type="bpe",
            vocab_size=settings.vocabulary,
            character_coverage=settings.character_coverage,
            num_threads=settings.threads,
            pad_id=PAD,
            unk_id=UNKNOWN,
            bos_id=-1,
            eos_id=-1,
            control_symbols=["<mask>", *map(language_symbol, sentences)],
            # The words of `unicode` are normalised already.
            normalization_rule_name="identity" if settings.words == "unicode" else "nmt_nfkc",
            minloglevel=2,
        )
    except RuntimeError as error:
        cause = " ".join(str(error).split())
        raise ConfigError(f"tokenizer with vocabulary {settings.vocabulary}: {cause}") from error
    with replacing(output) as partial:
        partial.write_bytes(model.getvalue())


def _sample(settings: TokenizerSettings, sentences: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """At most `settings.sentences` in all, the same number of each language as far as it has them."""
    left = settings.sentences
    # Smallest first: what a small language leaves over, the larger ones share.
    names = sorted(sentences, key=lambda name: (len(sentences[name]), name))
    for done, name in enumerate(names):
        text = sentences[name]
        share = min(left // (len(names) - done), len(text))
        left -= share
        generator = np.random.default_rng(derive(settings.seed, "tokenizer", name))
        for row in generator.choice(len(text), size=share, replace=False):
            yield pretokenize(text[row], name, settings.words)


class Tokenizer:
    """A trained model with its chain from raw sentence to ids.

    Attributes:
        words: how sentences are cut into words.
    """

    def __init__(self, path: Path, words: Words):
        """Load the file that `train_tokenizer` wrote with this way of cutting words.

        Raises:
            DataError: absent or not a SentencePiece model; an unknown way.
        """
        if words not in get_args(Words):
            raise DataError(f"tokenizer {path}: unknown words {words!r}; known: {', '.join(get_args(Words))}")
        try:
            self._pieces = sentencepiece.SentencePieceProcessor(model_proto=path.read_bytes())
        except (OSError, RuntimeError) as error:
            raise DataError(f"tokenizer {path}: cannot be read ({error})") from error
        self.words = words
        self._chain = unicode.subword_chain(self._pieces, UNKNOWN) if words == "unicode" else None

    @property
    def size(self) -> int:
        """V, reserved ids included."""
        return self._pieces.get_piece_size()

    @property
    def pieces(self) -> list[str]:
        """The text of every id (V,), with "▁" for a word's beginning and reserved ids in brackets."""
        return [self._pieces.id_to_piece(number) for number in range(self.size)]

    @property
    def chain(self) -> tokenizers.Tokenizer:
        """The whole chain as the `tokenizers` library has it.

        Raises:
            ConfigError: `moses`, whose rules that library does not have.
        """
        if self._chain is None:
            raise ConfigError(
                f"words: {self.words}: its rules depend on the language and are no steps of the tokenizers library; "
                "train with words: unicode"
            )
        return self._chain

    def encode(self, sentences: Sequence[str], language: str, max_tokens: int) -> Ragged:
        """Ids of raw sentences, each cut after `max_tokens`; how many were cut is logged."""
        cut = 0
        parts = [Ragged.of([])]
        for start in range(0, len(sentences), BLOCK):
            rows = self._rows(list(sentences[start : start + BLOCK]), language)
            cut += sum(len(row) > max_tokens for row in rows)
            parts.append(Ragged.of([row[:max_tokens] for row in rows]))
        if cut:
            logger.info("%d of %d %s sentences cut at %d tokens", cut, len(sentences), language, max_tokens)
        return Ragged.join(parts)

    def _rows(self, sentences: list[str], language: str) -> list[list[int]]:
        if self._chain is None:
            text = [pretokenize(sentence, language, self.words) for sentence in sentences]
            return self._pieces.encode(text, out_type=int, num_threads=1)
        return [found.ids for found in self._chain.encode_batch_fast(sentences, add_special_tokens=False)]
