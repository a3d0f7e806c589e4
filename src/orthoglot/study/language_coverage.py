"""Whether an encoder knows a language: the languages that it states, and how its tokenizer splits a sample."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orthoglot.encoders.folder import card, checkpoint_folder
from orthoglot.encoders.kinds import kind
from orthoglot.encoders.kinds.refused import RefusedSettings
from orthoglot.encoders.settings import EncoderEntry, FrozenSettings
from orthoglot.encoders.token_lists import Ragged
from orthoglot.errors import ConfigError, DataError, OfflineError
from orthoglot.languages import has_spaces, script

NO_SAMPLE = "no sample"


@dataclass(frozen=True)
class Coverage:
    """How a tokenizer splits a sample.

    unknown = unknown pieces / pieces, in [0, 1];  pieces_per_word = pieces / words between white space, None for a
    language that writes no spaces;  pieces_per_character = pieces / characters other than white space.

    SentencePiece makes one unknown piece of a whole run of unknown characters, so few unknown pieces of few pieces
    per character can hide much text.
    """

    unknown: float
    pieces_per_word: float | None
    pieces_per_character: float


@dataclass(frozen=True)
class Row:
    """One encoder's answer about a language."""

    encoder: str  # its name in the catalogue, or PRESET/NAME of one trained here
    covered: bool | None  # whether its stated languages hold this one; None if it states none
    script_seen: bool | None  # whether it states a language of the same script; None if it states none
    coverage: Coverage | None  # on the sample; None where there is no tokenizer or no sample
    note: str  # why there is no coverage


def coverage(tokens: Ragged, unknown: int | None, sentences: Sequence[str], language: str) -> Coverage:
    """How a sample of a language was split; a DataError if it has no piece.

    Args:
        tokens: Ids of the sample without begin and end tokens.
        unknown: Id of an unknown piece; None if there is none.
    """
    pieces = tokens.ids
    words = [word for sentence in sentences for word in sentence.split()]
    if not pieces.size or not words:
        raise DataError(f"the sample of {language!r} has no token")
    return Coverage(
        unknown=tokens.count(unknown) / pieces.size,
        pieces_per_word=pieces.size / len(words) if has_spaces(language) else None,
        pieces_per_character=pieces.size / sum(map(len, words)),
    )


def survey(
    catalogue: Mapping[str, EncoderEntry], models: Path, language: str, sentences: Sequence[str]
) -> list[Row]:
    """Ask every encoder that was trained under `models`, and every one of the catalogue, about a language.

    Args:
        catalogue: `encoders` of params.yaml.
        models: Where presets keep their encoders (PRESET/encoders/NAME).
        sentences: The sample; may be empty.
    """
    rows = []
    trained = set()
    for path in sorted(models.glob("*/encoders/*/encoder.json")):
        described = card(path.parent)
        if described.get("checkpoint", ".") == ".":
            trained.add(path.parent.name)
            name = f"{path.parents[2].name}/{path.parent.name}"
            rows.append(_row(name, path.parent, described, language, sentences))
    for name, settings in catalogue.items():
        if isinstance(settings, RefusedSettings):
            continue
        if isinstance(settings, FrozenSettings):
            rows.append(_row(name, Path(), settings.model_dump(), language, sentences))
        elif name not in trained:
            rows.append(Row(name, None, None, None, "not trained on this machine"))
    return rows


def _row(name: str, folder: Path, described: dict[str, Any], language: str, sentences: Sequence[str]) -> Row:
    """The answer of the encoder that a card or settings describe; `folder` is that of the card."""
    languages = described["languages"]
    covered = language in languages if languages else None
    seen = script(language) in map(script, languages) if languages else None
    if not sentences:
        return Row(name, covered, seen, None, NO_SAMPLE)
    # Imported here: it takes seconds, and only a sample needs it.
    from orthoglot.encoders.tokenization import open_tokenizer

    try:
        place = checkpoint_folder(folder, described)
        tokenizer = (kind(described["kind"]).tokenizer or open_tokenizer)(place, name)
        tokens = tokenizer.encode(sentences, language, sys.maxsize)
        return Row(name, covered, seen, coverage(tokens, tokenizer.unknown, sentences, language), "")
    except (ConfigError, DataError, OfflineError) as error:
        return Row(name, covered, seen, None, str(error))
