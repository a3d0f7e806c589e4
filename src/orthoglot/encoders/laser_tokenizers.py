"""Turn raw sentences into the ids that LASER1 and LASER2 read.

Source: docs/papers.md#laser1-text.
"""

from __future__ import annotations

import functools
import json
from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path

from sacremoses import MosesPunctNormalizer

from orthoglot.encoders import moses4
from orthoglot.encoders.fastbpe import FastBpe
from orthoglot.encoders.greek_to_latin import romanised
from orthoglot.encoders.laser_files import CODES, VOCABULARY
from orthoglot.encoders.segmentation import SegmenterName
from orthoglot.encoders.tokenization import SEGMENTERS, Tokenizer, read_segmenters
from orthoglot.encoders.weights_files import open_pieces
from orthoglot.errors import DataError

PAD, END, UNKNOWN = 1, 2, 3
RESERVED = {"<s>": 0, "<pad>": PAD, "</s>": END, "<unk>": UNKNOWN}
# LASER1's text is cut into words by these after Moses' rules; Wu Chinese and Cantonese are treated as Chinese.
SEGMENTED: dict[str, SegmenterName] = {"ja": "mecab", "zh": "jieba"}
_CHINESE = {"wuu": "zh", "yue": "zh"}


class LaserTokenizer(Tokenizer):
    """A chain from raw sentence to ids.

    The language decides how quotation marks and numbers are normalised, and more in LASER1; each side of a pair gets
    its own code (docs/papers.md#oracle-laser-languages), and English rules stand in for an unknown one ("").
    """

    pad, unknown, after = PAD, UNKNOWN, (END,)

    def __init__(self, folder: Path, name: str):
        """Read vocab.json of the encoder `name`; a damaged one is a DataError."""
        try:
            self._ids: dict[str, int] = json.loads((folder / "vocab.json").read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise DataError(f"encoder {name}: {folder} cannot be read ({error})") from error

    @abstractmethod
    def pieces(self, sentences: Sequence[str], language: str) -> list[list[str]]:
        """The pieces of each sentence, however many."""

    def _rows(self, sentences: list[str], language: str) -> list[list[int]]:
        rows = self.pieces(sentences, language or "en")
        return [[self._ids.get(piece, UNKNOWN) for piece in row] for row in rows]


class Laser2Tokenizer(LaserTokenizer):
    """Moses punctuation of the language, lower case, SentencePiece.

    The official scripts leave the language at English unless another one is given.
    """

    def __init__(self, folder: Path, name: str):
        self._model = open_pieces(folder, name)
        super().__init__(folder, name)

    def pieces(self, sentences: Sequence[str], language: str) -> list[list[str]]:
        normalise = _punctuation(language).normalize
        texts = [normalise(sentence).lower() for sentence in sentences]
        return self._model.encode(texts, out_type=str, num_threads=1)


class Laser1Tokenizer(LaserTokenizer):
    """Moses' words of the language, jieba or MeCab, Greek in Latin letters, lower case, fastBPE.

    Entities such as &amp; stay as they are: LASER's source/lib/text_processing.py does the same for files.
    """

    def __init__(self, folder: Path, name: str):
        """Read the files of the encoder `name`.

        Raises:
            ConfigError: A segmenter is not installed, or in another version than at the conversion.
            DataError: A file is damaged.
        """
        super().__init__(folder, name)
        self._bpe = FastBpe(folder / CODES, folder / VOCABULARY)
        self._segmenters = read_segmenters(folder)
        if missing := SEGMENTED.keys() - self._segmenters.keys():
            raise DataError(f"encoder {name}: {folder / SEGMENTERS} does not name what cuts {min(missing)}")

    def pieces(self, sentences: Sequence[str], language: str) -> list[list[str]]:
        language = _CHINESE.get(language, language)
        return [self._bpe.subwords(self._words(sentence, language)) for sentence in sentences]

    def _words(self, sentence: str, language: str) -> str:
        words = moses4.words(sentence, language)
        if language in self._segmenters:
            words = self._segmenters[language].words(words)
        if language == "el":
            words = romanised(words)
        return words.lower()


def open_tokenizer(folder: Path, name: str) -> LaserTokenizer:
    """The tokenizer of a converted LASER1, which has codes of fastBPE, or of a LASER2."""
    return (Laser1Tokenizer if (folder / CODES).is_file() else Laser2Tokenizer)(folder, name)


@functools.cache
def _punctuation(language: str) -> MosesPunctNormalizer:
    return MosesPunctNormalizer(language)
