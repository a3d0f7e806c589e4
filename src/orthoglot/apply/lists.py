"""Mining, scoring and filtering of lists of sentences in Python, with the words of the command line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from tqdm import tqdm

from orthoglot.apply.mine import check_mining, distinct, obvious
from orthoglot.apply.mine import mine as mine_vectors
from orthoglot.apply.model import Model
from orthoglot.apply.score import score as score_pairs
from orthoglot.apply.score import text_bytes
from orthoglot.apply.scored import Words
from orthoglot.decomposers.base import unit
from orthoglot.decomposers.own_mean import adaptable, centred
from orthoglot.encoders.base import resolve_device
from orthoglot.encoders.threads import cpu_threads
from orthoglot.errors import ConfigError, DataError
from orthoglot.formats.rows import codes_of
from orthoglot.search.margins import Margin, Mined, Strategy
from orthoglot.text.string_lists import strings


class Scores(NamedTuple):
    """What `score` says of N pairs."""

    score: np.ndarray  # (N,) float64 in [-1, 1], see `orthoglot.apply.score.score`; NaN if a side is blank
    flag: np.ndarray  # (N,) str, "" without a flag
    similarity: np.ndarray  # (N,) float64, the cosine whatever the flag; NaN if a side is blank
    # the quality of each pair and the words without a counterpart; None if a side is blank, or if not asked for
    words: list[Words | None]


def mine(
    source: Sequence[str],
    target: Sequence[str],
    model: str | Path | Model,
    *,
    source_language: str | None = None,
    target_language: str | None = None,
    part: str | None = None,
    margin: Margin = "ratio",
    retrieval: Strategy = "max",
    neighborhood: int = 4,
    threshold: float | None = None,
    best: int = 1,
    own_mean: bool = True,
    device: str = "auto",
    threads: int | None = None,
    progress: bool = False,
) -> Mined:
    """Find translations in two lists of sentences, by falling margin; `orthoglot mine` for what fits in memory.

    Pairs with the same letters and digits on both sides, or without a letter on one, come after all others.

    Args:
        source, target: Sentences; blank ones are skipped, and of equal ones the first counts.
        model: A folder, or what `orthoglot.load` opened; `device` is that of a folder's encoder and of the search.
        source_language, target_language: Codes, tags or English names, where the model needs them.
        part: "meaning", "language" or "sentence"; meaning if not given, or sentence for an encoder alone.
        margin, retrieval, neighborhood, threshold, best: See `orthoglot.apply.mine.mine`.
        own_mean: Whether each list has its own mean, where the model supports it (docs/methods.md#own-mean); give False
            if a list is in several languages.
        threads: Threads of the CPU in this call; as PyTorch is set if not given.
        progress: Whether bars are drawn on standard error.
    Returns:
        Arrays (P,): `sources` and `targets`, positions in the two lists, and `margins`.
    Raises:
        ConfigError: an option does not fit the model or another option.
        TypeError: a list does not hold strings, see `orthoglot.text.string_lists.strings`.
        DataError: a list has no text, or half a surrogate pair.

    >>> import numpy as np
    >>> from orthoglot import Model, mine
    >>> class Letters:  # an encoder that counts letters, in place of orthoglot.load("my-model")
    ...     name, dim, languages = "letters", 26, ()
    ...
    ...     def encode(self, sentences, language, batch_tokens, done=None):
    ...         counts = [[text.count(letter) for letter in "abcdefghijklmnopqrstuvwxyz"] for text in sentences]
    ...         return np.array(counts, dtype=np.float32)
    >>> english, spanish = ["hotel", "a museum", "the radio"], ["la radio", "un museo", "el hotel"]
    >>> for pair in zip(*mine(english, spanish, Model(Letters(), None))):
    ...     print(english[pair[0]], "-", spanish[pair[1]], round(float(pair[2]), 2))
    a museum - un museo 1.91
    hotel - el hotel 1.77
    the radio - la radio 1.58

    Source: docs/papers.md#protocol-margin.
    """
    sides = [distinct(strings(source, "source"), "source"), distinct(strings(target, "target"), "target")]
    languages = codes_of((source_language, target_language))
    _check_place(device, threads)
    check_mining(margin, retrieval, neighborhood, threshold, best)
    opened = _opened(model, device)
    part = part or opened.usual_part
    with cpu_threads(threads):
        encoded = [
            opened.encode(side.sentences, part=part, language=language, partner=partner, progress=progress)
            for side, language, partner in zip(sides, languages, reversed(languages), strict=True)
        ]
        if own_mean and (decomposer := adaptable(opened.decomposer, part)):
            encoded = [centred(meanings, decomposer) for meanings in encoded]
        x, y = map(unit, encoded)
        mined, _ = mine_vectors(
            x,
            y,
            margin=margin,
            retrieval=retrieval,
            neighborhood=neighborhood,
            threshold=threshold,
            best=best,
            device="cuda" if torch.cuda.is_available() and device != "cpu" else "cpu",
            threads=torch.get_num_threads(),
        )
    x_texts, y_texts = (side.sentences for side in sides)
    texts = ((x_texts[i], y_texts[j]) for i, j in zip(mined.sources, mined.targets, strict=True))
    order = np.argsort(obvious(texts, len(mined.margins))[0], kind="stable")
    positions = [np.array(side.lines, dtype=np.int64) - 1 for side in sides]
    return Mined(positions[0][mined.sources[order]], positions[1][mined.targets[order]], mined.margins[order])


def score(
    source: Sequence[str],
    target: Sequence[str],
    model: str | Path | Model,
    *,
    source_language: str | None = None,
    target_language: str | None = None,
    words: bool = False,
    device: str = "auto",
    threads: int | None = None,
    progress: bool = False,
) -> Scores:
    """Score translations without references, as `orthoglot score` and `orthoglot.apply.score.score` do.

    Args:
        source, target: N sentences each; for the other arguments see `mine`.
        words: Whether words are compared, too (`orthoglot.apply.words`).
    Raises:
        ConfigError: words of an encoder that gives none.
        TypeError: see `mine`.
        DataError: the lists differ in length, or are empty; half a surrogate pair.

    >>> from orthoglot import score
    >>> english = ["Where is the museum?", "The radio is new.", ""]
    >>> spanish = ["¿Dónde está el museo?", "The radio is new.", "hotel"]
    >>> scores = score(english, spanish, "my-model", source_language="en", target_language="es")
    >>> scores.flag.tolist()
    ['', 'copy', 'blank']
    >>> scores.score[1:].tolist()
    [-1.0, nan]
    """
    pairs = _paired(source, target)
    if not pairs:
        raise DataError("0 sources and translations: give one at least")
    languages = codes_of((source_language, target_language))
    _check_place(device, threads)
    opened = _opened(model, device)
    bar = tqdm(total=text_bytes(pairs), desc="score", unit="B", unit_scale=True, disable=not progress)
    with cpu_threads(threads), bar:
        scored = list(score_pairs(opened, pairs, languages, done=bar.update, words=words))
    score, flag, similarity, compared = zip(*scored, strict=True)
    return Scores(
        np.array(score, dtype=float), np.array(flag), np.array(similarity, dtype=float), list(compared)
    )


def filter(
    source: Sequence[str],
    target: Sequence[str],
    model: str | Path | Model,
    *,
    threshold: float,
    source_language: str,
    target_language: str,
    device: str = "auto",
    threads: int | None = None,
) -> np.ndarray:
    """Which translations `orthoglot filter` keeps, each judged alone: for a map over batches of a larger text.

    A pair is kept if its score reaches the threshold and it has no flag but a guess. The pairs beside it do not matter,
    so the rows do not depend on how a text is divided. What needs the whole text is left out: flags of runs of pairs
    that are not parallel, and guesses by language parts.

    Args:
        source, target: N sentences each, maybe none.
        model: What `orthoglot.load` opened, once for all batches, or a folder.
        threshold: The least score of a pair that is kept.
        source_language, target_language: Codes, tags or English names; the language identifier checks the translation.
        device, threads: See `mine`.
    Returns:
        (N,) bool.
    Raises:
        ConfigError: the threshold is not between -1 and 1; nobody knows a language.
        TypeError: see `mine`; a sentence is None, which a table has for no text.
        DataError: the lists differ in length; half a surrogate pair.

    >>> from orthoglot import filter, load
    >>> english = ["Where is the museum?", "The radio is new.", ""]
    >>> spanish = ["¿Dónde está el museo?", "The radio is new.", "hotel"]
    >>> filter(english, spanish, load("my-model"), threshold=-0.5, source_language="en", target_language="es").tolist()
    [True, False, False]
    """
    if not -1 <= threshold <= 1:
        raise ConfigError(f"threshold {threshold}: scores are between -1 and 1")
    pairs = _paired(source, target)
    languages = codes_of((source_language, target_language))
    _check_place(device, threads)
    opened = _opened(model, device)
    with cpu_threads(threads):
        scored = score_pairs(opened, pairs, languages, alone=True)
        reached = (pair.score is not None and pair.score >= threshold and not pair.fault for pair in scored)
        return np.fromiter(reached, bool, len(pairs))


def _paired(source: Sequence[str], target: Sequence[str]) -> list[tuple[str, str]]:
    sides = strings(source, "source"), strings(target, "target")
    if len(sides[0]) != len(sides[1]):
        raise DataError(f"{len(sides[0])} sources but {len(sides[1])} translations: give as many")
    return list(zip(*sides, strict=True))


def _check_place(device: str, threads: int | None) -> None:
    resolve_device(device)
    if threads is not None and (type(threads) is not int or threads < 1):
        raise ConfigError(f"threads {threads!r}: give a whole number, 1 or more")


def _opened(model: str | Path | Model, device: str) -> Model:
    return model if isinstance(model, Model) else Model.load(model, device)
