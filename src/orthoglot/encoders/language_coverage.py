"""Whether an encoder knows a language: what it states, and how its tokeniser cuts a sample."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

from transformers import AutoTokenizer

from orthoglot.encoders.folder import card, locate, locate_laser, modules, stated
from orthoglot.encoders.laser import UNKNOWN as LASER_UNKNOWN
from orthoglot.encoders.laser import LaserTokenizer
from orthoglot.encoders.pretrained import quiet
from orthoglot.encoders.settings import (
    EncoderSettings,
    FrozenSettings,
    LaserSettings,
    PretrainedSettings,
    SentenceTransformersSettings,
)
from orthoglot.encoders.tokenization import UNKNOWN, Ragged, Tokenizer
from orthoglot.errors import ConfigError, DataError, OfflineError
from orthoglot.languages import has_spaces, script


class Cut(NamedTuple):
    """A sample as token ids without begin and end tokens, and the id of an unknown piece if there is one."""

    tokens: Ragged
    unknown: int | None


@dataclass(frozen=True)
class Coverage:
    """How a tokeniser cuts a sample.

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
    """One encoder's answer about a language.

    Attributes:
        encoder: its name in the catalogue, or PRESET/NAME of one trained here.
        covered: whether its stated languages hold this one; None if it states none.
        script_seen: whether one of its stated languages is written in this one's script; None as above.
        coverage: on the sample; None where there is no tokeniser or no sample.
        note: why there is no coverage.
    """

    encoder: str
    covered: bool | None
    script_seen: bool | None
    coverage: Coverage | None
    note: str


def coverage(cut: Cut, sentences: Sequence[str], language: str) -> Coverage:
    """Measure how a sample of a language was cut.

    Raises:
        DataError: it has no piece.
    """
    pieces = cut.tokens.ids
    words = [word for sentence in sentences for word in sentence.split()]
    if not pieces.size or not words:
        raise DataError(f"the sample of {language!r} has no token")
    return Coverage(
        unknown=cut.tokens.count(cut.unknown) / pieces.size,
        pieces_per_word=pieces.size / len(words) if has_spaces(language) else None,
        pieces_per_character=pieces.size / sum(map(len, words)),
    )


def survey(
    catalogue: Mapping[str, EncoderSettings], models: Path, language: str, sentences: Sequence[str]
) -> list[Row]:
    """Ask every encoder that was trained under `models`, and every one of the catalogue, about a language.

    Args:
        catalogue: `encoders` of params.yaml.
        models: where presets keep their encoders (PRESET/encoders/NAME).
        language: canonical code.
        sentences: the sample; may be empty.
    """
    rows = []
    trained = set()
    for path in sorted(models.glob("*/encoders/*/encoder.json")):
        described = card(path.parent)
        if described.get("checkpoint", ".") == ".":
            trained.add(path.parent.name)
            name = f"{path.parents[2].name}/{path.parent.name}"
            cut = partial(_cut_trained, path.parent, language)
            rows.append(_row(name, described["languages"], cut, language, sentences))
    for name, settings in catalogue.items():
        if isinstance(settings, FrozenSettings):
            cut = partial(_cut_frozen, settings, language)
            rows.append(_row(name, settings.languages, cut, language, sentences))
        elif name not in trained:
            rows.append(Row(name, None, None, None, "not trained on this machine"))
    return rows


def _row(
    name: str,
    languages: Sequence[str],
    cut: Callable[[Sequence[str]], Cut],
    language: str,
    sentences: Sequence[str],
) -> Row:
    covered = language in languages if languages else None
    seen = script(language) in map(script, languages) if languages else None
    if not sentences:
        return Row(name, covered, seen, None, "no sample")
    try:
        return Row(name, covered, seen, coverage(cut(sentences), sentences, language), "")
    except (ConfigError, DataError, OfflineError) as error:
        return Row(name, covered, seen, None, str(error))


def _cut_trained(folder: Path, language: str, sentences: Sequence[str]) -> Cut:
    if (folder / "tokenizer.model").is_file():
        _, arguments = stated(folder, "words")
        tokenizer = Tokenizer(folder / "tokenizer.model", **arguments)
        return Cut(tokenizer.encode(sentences, language, sys.maxsize), UNKNOWN)
    return _cut_by_transformers(folder, sentences)


def _cut_frozen(settings: FrozenSettings, language: str, sentences: Sequence[str]) -> Cut:
    if isinstance(settings, LaserSettings):
        tokenizer = LaserTokenizer(locate_laser(settings.checkpoint))
        return Cut(tokenizer.encode(sentences, language), LASER_UNKNOWN)
    assert isinstance(settings, PretrainedSettings | SentenceTransformersSettings)
    place = locate(settings.checkpoint, settings.revision)
    if isinstance(settings, SentenceTransformersSettings):
        place = modules(place)[0].folder
    return _cut_by_transformers(place, sentences)


def _cut_by_transformers(place: Path, sentences: Sequence[str]) -> Cut:
    try:
        with quiet():
            tokenizer = AutoTokenizer.from_pretrained(place, local_files_only=True, trust_remote_code=False)
    except (OSError, ValueError, KeyError) as error:
        raise DataError(f"tokenizer {place}: cannot be read ({' '.join(str(error).split())})") from error
    rows = tokenizer(list(sentences), add_special_tokens=False, verbose=False)["input_ids"]
    return Cut(Ragged.of(rows), tokenizer.unk_token_id)
