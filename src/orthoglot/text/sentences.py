"""Text that is not one sentence a line: paragraphs into sentences, and neighbouring sentences into one text."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

import regex
import sentencex

from orthoglot.languages import has_spaces, language_of, script

logger = logging.getLogger(__name__)
Paragraph = list[tuple[int, str]]  # number of the line, from 1, and text of each sentence
# Ends of sentences that sentencex passes over: two of Khmer, and two colons that stand for the Ethiopic full stop.
_ENDS = regex.compile(r"(?<=[។៕]|፡፡) *")
# Where it divides Burmese though no sentence ends: the sign of the genitive, and the comma.
_WITHIN = ("၏", "၊")
_WITHOUT_ENDS = {"Thai": "Thai", "Tibt": "Tibetan"}
_CHINESE_OR_JAPANESE = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}]")
_OTHER_WORD = regex.compile(r"[\p{L}--[\p{Han}\p{Hiragana}\p{Katakana}]]+", regex.VERSION1)


def check_language(language: str) -> None:
    """Warn of a language whose sentences `split` does not find.

    Raises:
        ConfigError: an unknown language.
    """
    if name := _WITHOUT_ENDS.get(script(language_of(language))):
        logger.warning("%s has no sign that ends sentences alone: most paragraphs stay whole", name)


def split(lines: Iterable[str], language: str, *, wrapped: bool = False) -> Iterator[Paragraph]:
    """Divide each paragraph into sentences, by the rules of sentencex for the language.

    White space becomes one blank.

    Args:
        lines: a paragraph each; lines without text are left out.
        language: its code; sentencex takes a related language, or English, for one that it has no rules of.
        wrapped: whether paragraphs go on over lines, up to a line without text.
    Raises:
        ConfigError: an unknown language.
    """
    language = language_of(language)
    spaces = has_spaces(language)
    for block in paragraphs(lines):
        whole = [(block[0][0], _unwrapped([text for _, text in block], spaces))] if wrapped else block
        for line, text in whole:
            if sentences := _sentences(text, language):
                yield [(line, sentence) for sentence in sentences]


def paragraphs(lines: Iterable[str]) -> Iterator[Paragraph]:
    """The paragraphs of a text with a sentence per line, with lines without text between them."""
    numbered = ((number, line.strip()) for number, line in enumerate(lines, 1))
    for has_text, block in groupby(numbered, key=lambda item: bool(item[1])):
        if has_text:
            yield list(block)


def joined(sentences: Sequence[str]) -> str:
    """Neighbouring sentences as one text, with a blank between them, but for Chinese and Japanese.

    These are texts with more Chinese characters and kana than words of other letters.
    """
    text = " ".join(sentences)
    count = len(_CHINESE_OR_JAPANESE.findall(text))
    return "".join(sentences) if count > len(_OTHER_WORD.findall(text)) else text


def _unwrapped(lines: Sequence[str], spaces: bool) -> str:
    """One text of lines, without a blank where a language without blanks goes on: not between two words of ASCII."""
    text = ""
    for line in lines:
        blank = text and (spaces or (text[-1].isascii() and line[0].isascii()))
        text += " " * bool(blank) + line
    return text


def _sentences(paragraph: str, language: str) -> list[str]:
    # Some white space makes sentencex fail; a byte order mark is no text.
    text = " ".join(paragraph.replace("\ufeff", "").split())
    pieces: list[str] = []
    for piece in sentencex.segment(language, text):
        if pieces and pieces[-1].rstrip().endswith(_WITHIN):
            piece = pieces.pop() + piece
        pieces += _ENDS.split(piece)
    return [sentence for piece in pieces if (sentence := piece.strip())]
