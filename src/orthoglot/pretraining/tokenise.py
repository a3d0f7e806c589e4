"""Text as the ids that a student reads: cut once, for every encoder that cuts it alike."""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from orthoglot.encoders.folder import card, stated
from orthoglot.encoders.pretrained import open_tokenizer
from orthoglot.encoders.settings import TokensSettings
from orthoglot.encoders.tokenization import UNKNOWN, Ragged, Tokenizer, train_tokenizer
from orthoglot.errors import ConfigError
from orthoglot.pretraining.tokenised_bitext import SPLITS, Tokenise, monolingual, tokenise_bitext
from orthoglot.pretraining.tokenised_text import TEXT, tokenise_corpora, tokenise_sides
from orthoglot.pretraining.vocabulary_coverage import UnknownPieces

TOKENIZER = "tokenizer.model"
logger = logging.getLogger(__name__)


def tokenise(
    settings: TokensSettings,
    bitext: Sequence[Path],
    *,
    corpora: Sequence[Path] = (),
    start: Path | None = None,
    checkpoint: Path,
    output: Path,
) -> None:
    """Write the ids of the sentence pairs and of the text, and the tokenizer where it is a new one.

    The same settings and text give the same bytes.

    Args:
        settings: see the class.
        bitext: prepared pair folders; a folder's name is its pair.
        corpora: prepared text folders, if the settings want them; a folder's name is its language.
        start: folder of the encoder that training starts from, if the tokenizer is its own.
        checkpoint: folder of the parts that are done, from which an interrupted call goes on; they stay there, too.
        output: an existing empty folder.
    Raises:
        ConfigError: the settings want text corpora, and there are none.
        DataError: a split, or the text, has no tokens.
    """
    if settings.text == "corpora" and not corpora:
        raise ConfigError("text.text is corpora, and there is no corpus of text")
    checkpoint.mkdir(parents=True, exist_ok=True)
    cut = UnknownPieces(*tokeniser(settings, bitext, start, checkpoint))
    whose = f"the tokenizer of {start.name}" if start else "the new tokenizer"
    for split in SPLITS:
        tokenise_bitext(bitext, split, cut, checkpoint)
        cut.tell(whose)
    if settings.text == "corpora":
        tokenise_corpora(corpora, cut, checkpoint)
    elif settings.text != "none":
        tokenise_sides(bitext, cut, checkpoint, apart=settings.text == "apart")
    cut.tell(whose)
    for part in (checkpoint / name for name in (TOKENIZER, *SPLITS, TEXT)):
        if part.is_dir():
            shutil.copytree(part, output / part.name, copy_function=_link)
        elif part.exists():
            _link(part, output / part.name)


def _link(file: Path | str, place: Path | str) -> None:
    """One file under two names, or two files where that cannot be."""
    try:
        os.link(file, place)
    except OSError:
        shutil.copyfile(file, place)


def tokeniser(
    settings: TokensSettings, bitext: Sequence[Path], start: Path | None, tokens: Path
) -> tuple[Tokenise, int | None]:
    """What cuts sentences, and its id of what it does not know, if it has one.

    It is the start encoder's own chain, or that of a new tokenizer, which is learnt if it is not in `tokens`.
    """
    if settings.tokenizer and settings.max_tokens:
        place = tokens / TOKENIZER
        if not place.exists():
            train_tokenizer(settings.tokenizer, monolingual(bitext, "train"), place)
        return partial(_cut, Tokenizer(place, settings.tokenizer.words), settings.max_tokens), UNKNOWN
    assert start is not None, "no folder of the encoder that training starts from"
    described = card(start)
    if described["kind"] != "ems":
        place, described = stated(start, "name", "max_tokens")
        tokenizer = open_tokenizer(place, described["name"])
        return CheckpointChain(tokenizer, described["max_tokens"]), tokenizer.unk_token_id
    return partial(_cut, Tokenizer(start / TOKENIZER, described["words"]), described["max_tokens"]), UNKNOWN


def _cut(tokenizer: Tokenizer, most: int, sentences: Sequence[str], language: str) -> Ragged:
    return tokenizer.encode(sentences, language, most)


class CheckpointChain:
    """How a transformers checkpoint cuts a sentence, without what it puts around it.

    Attributes:
        before, after: the ids around any sentence.
    """

    def __init__(self, tokenizer: Any, max_tokens: int):
        """Take a transformers tokenizer, and the tokens that may be in all."""
        self._tokenizer = tokenizer
        self.before, self.after = _around(tokenizer)
        self._room = max_tokens - len(self.before) - len(self.after)

    def __call__(self, sentences: Sequence[str], language: str) -> Ragged:
        """Ids of each sentence alone, cut so that the network can read it."""
        rows = self._tokenizer(list(sentences), add_special_tokens=False, verbose=False)["input_ids"]
        if cut := sum(len(row) > self._room for row in rows):
            logger.info("%d of %d %s sentences cut at %d tokens", cut, len(rows), language, self._room)
        return Ragged.of([row[: self._room] for row in rows])


def _around(tokenizer: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    whole, alone = (tokenizer("a", add_special_tokens=added)["input_ids"] for added in (True, False))
    first = next(n for n in range(len(whole)) if whole[n : n + len(alone)] == alone)
    return tuple(whole[:first]), tuple(whole[first + len(alone) :])
