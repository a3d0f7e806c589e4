"""Tokenise the text for training once, for every encoder that tokenises it alike."""

from __future__ import annotations

import logging
import shutil
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from orthoglot import atomic
from orthoglot.encoders.folder import stated
from orthoglot.encoders.token_lists import Ragged
from orthoglot.encoders.tokenization import TextTokenizer, open_tokenizer
from orthoglot.errors import ConfigError
from orthoglot.study.pretraining.settings import TokensSettings
from orthoglot.study.pretraining.tokenised import (
    SPLITS,
    TEXT,
    monolingual,
    text_of_bitext,
    text_of_corpora,
    write_bitext,
    write_text,
)
from orthoglot.study.pretraining.tokenizer_training import train_tokenizer

TOKENIZER = "tokenizer"
# The share of a language's tokens that may be unknown without a warning.
MANY = 0.1
logger = logging.getLogger(__name__)


def tokenise(
    settings: TokensSettings,
    bitext: Sequence[Path],
    *,
    corpora: Sequence[Path] = (),
    start: Path | None = None,
    checkpoint: Path,
    output: Path,
    processes: int = 1,
) -> None:
    """Write the ids of the sentence pairs and of the text, and the folder of the tokenizer where it is new.

    The same settings and text give the same bytes.

    Args:
        settings: How the text is cut.
        bitext: Prepared pair folders; a folder's name is its pair.
        corpora: Prepared text folders, if the settings want them; a folder's name is its language.
        start: The folder of the encoder that training starts from, if its tokenizer is used.
        checkpoint: A folder for finished parts, from which an interrupted call resumes; they stay there, too.
        output: An existing empty folder.
        processes: How many encode with `words: moses`; other tokenizers have threads of their own.
    Raises:
        ConfigError: The settings want text corpora, and there are none.
        DataError: A split, or the text, has no tokens.
    """
    if settings.text == "corpora" and not corpora:
        raise ConfigError("text.text is corpora, and there is no corpus of text")
    checkpoint.mkdir(parents=True, exist_ok=True)
    tokenizer, max_tokens, name = _tokenizer(settings, bitext, start, checkpoint)
    encode = CountingTokenizer(tokenizer, max_tokens, name)
    with tokenizer.in_processes(processes):
        for split in SPLITS:
            write_bitext(bitext, split, encode, checkpoint)
            encode.warn()
        if settings.text == "corpora":
            write_text(text_of_corpora(corpora), encode, checkpoint, corpora)
        elif settings.text != "none":
            write_text(text_of_bitext(bitext, apart=settings.text == "apart"), encode, checkpoint, bitext)
        encode.warn()
    for part in (checkpoint / name for name in (TOKENIZER, *SPLITS, TEXT)):
        if part.is_dir():
            shutil.copytree(part, output / part.name, copy_function=atomic.link)


def _tokenizer(
    settings: TokensSettings, bitext: Sequence[Path], start: Path | None, tokens: Path
) -> tuple[TextTokenizer, int, str]:
    """The tokenizer of the encoder that training starts from, or a new one; the most tokens; its name."""
    if settings.tokenizer and settings.max_tokens:
        place = tokens / TOKENIZER
        if not place.exists():
            with atomic.building(place) as partial:
                text = monolingual(bitext, "train")
                train_tokenizer(settings.tokenizer, text, settings.max_tokens, partial)
        return open_tokenizer(place, "new"), settings.max_tokens, "the new tokenizer"
    assert start is not None, "no folder of the encoder that training starts from"
    place, described = stated(start, "name", "max_tokens")
    name = f"the tokenizer of {start.name}"
    return open_tokenizer(place, described["name"]), described["max_tokens"], name


class CountingTokenizer:
    """Encodes sentences, and counts tokens and unknown ones by language."""

    def __init__(self, tokenizer: TextTokenizer, max_tokens: int, name: str):
        """Take a tokenizer, the most tokens of a sentence, and what messages call the tokenizer."""
        self._tokenizer, self._max_tokens, self._name = tokenizer, max_tokens, name
        self._read: Counter[str] = Counter()
        self._unknown: Counter[str] = Counter()
        self._warned: set[str] = set()

    def __call__(self, sentences: Sequence[str], language: str) -> Ragged:
        ids = self._tokenizer.encode(sentences, language, self._max_tokens)
        self._read[language] += ids.ids.size
        self._unknown[language] += ids.count(self._tokenizer.unknown)
        return ids

    def warn(self) -> None:
        """Warn once of every language of which too many tokens were unknown since the last call.

        Text whose ids were kept from an interrupted run is not read again, and not counted.
        """
        for language, read in sorted(self._read.items()):
            if (unknown := self._unknown[language]) > MANY * read and language not in self._warned:
                self._warned.add(language)
                logger.warning(
                    f"{unknown / read:.1%} of {read} tokens of {language} are unknown to {self._name}, which reads all "
                    "of them as one; start from an encoder that knows them (see `orthoglot study show language "
                    f"{language} --text FILE`), raise character_coverage of a new tokenizer, or leave {language} out"
                )
        self._read.clear()
        self._unknown.clear()
