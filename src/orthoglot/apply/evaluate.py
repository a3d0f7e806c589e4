"""A model against its encoder's own vectors, centering and another method, on one's own translations."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from orthoglot.apply.estimator import Decomposer
from orthoglot.apply.held_out_retrieval import FEW
from orthoglot.apply.model import Model
from orthoglot.errors import DataError, printable
from orthoglot.formats.pairs import read as read_pairs
from orthoglot.formats.rows import Languages
from orthoglot.progress import EarlyMeter
from orthoglot.search.hits import hits
from orthoglot.search.pair_cosines import cosines, merged
from orthoglot.statistics.intervals import Interval, not_empty, percentile, proportion
from orthoglot.statistics.resampling import Column, Scores, left_out, pool, resample
from orthoglot.statistics.weighted import Spearman, mean
from orthoglot.text.bitext import SIDES
from orthoglot.text.held_out import distinct
from orthoglot.text.keys import keys_of, normalised
from orthoglot.text.string_lists import strings

ORIGINAL, CENTERING, MODEL = "original", "centering", "model"
FORWARD, BACKWARD, BOTH, SPEARMAN = "P@1 ->", "P@1 <-", "P@1 both", "spearman"
RESAMPLES, CONFIDENCE, SEED = 10_000, 0.95, 1
# Codes for private use: a method that is fitted here only has to tell the two sides apart.
UNNAMED = ("qaa", "qab")
View = Callable[[np.ndarray, int], np.ndarray]
logger = logging.getLogger(__name__)


class Benchmark(NamedTuple):
    """Sentences of two languages, row by row, and how good each pair is; without grades they are translations."""

    name: str
    source: list[str]
    target: list[str]
    gold: np.ndarray | None
    languages: tuple[str, str] = SIDES  # what the two sides are called


class Estimate(NamedTuple):
    """A value and its interval."""

    value: float
    low: float
    high: float


class Row(NamedTuple):
    """A line of the table: a score times 100, and its difference to that of the original vectors."""

    benchmark: str
    vectors: str
    measure: str
    score: Estimate
    minus_original: Estimate | None
    n: int
    languages: tuple[str, str] = SIDES  # what the two sides are called


def read(path: Path, languages: Languages = (None, None), columns: Sequence[str | int] = ()) -> Benchmark:
    """Translations, or graded pairs with a number in a third column; pairs with a blank side are left out.

    Translations count only if both sides are new: no vector finds one of two equal sentences.

    Args:
        path: See `orthoglot.formats.pairs.read`; a table without names of columns may have the grade as its third.
        languages: The languages of the two sides.
        columns: The columns of a table, source first, the grade third.
    Raises:
        DataError: a file that cannot be read, a grade that is no finite number, or fewer than two pairs.
    """
    table = read_pairs([path], languages, columns, widths=(2, 3))
    rows = [
        (pair, cells)
        for pair, cells in zip(table.pairs, table.rows, strict=True)
        if all(map(str.strip, pair))
    ]
    source, target, gold = [pair.source for pair, _ in rows], [pair.target for pair, _ in rows], None
    if len(table.places) == 3:
        try:
            gold = np.array([float(cells[table.places[2]]) for _, cells in rows])
        except ValueError as error:
            raise DataError(f"{path}: the grades: {error}") from error
        if not np.isfinite(gold).all():
            raise DataError(f"{path}: a grade is not finite")
    else:
        if table.named and len(table.names) > 2:
            logger.info("%s: other columns are no grades unless --columns names one as the third", path)
        source, target, repeated = distinct(zip(source, target, strict=True))
        if repeated:
            logger.info(
                "%s: %d of %d pairs are left out: a sentence occurs before", path, repeated, len(rows)
            )
    if len(source) < 2:
        raise DataError(f"{path}: {len(source)} pairs to measure on, at least 2 are needed")
    if len(source) < FEW:
        logger.warning("%s: %d pairs are few: the intervals are rough", path, len(source))
    # The languages as they were named, or what the columns are called.
    names = [table.names[place] for place in table.places[:2]] if table.named else SIDES
    first, second = (printable(tag or name) for tag, name in zip(table.tags, names, strict=True))
    return Benchmark(printable(path.name), source, target, gold, (first, second))


def evaluate(
    model: Model,
    benchmarks: Sequence[Benchmark],
    *,
    text: Sequence[Path] = (),
    method: str = "",
    languages: Languages = (None, None),
) -> list[Row]:
    """Scores of each benchmark in each kind of vectors.

    Translations: P@1 in each direction and the mean of both, with Wilson intervals. Graded pairs: Spearman's
    correlation of cosine and grade, with a bootstrap interval. Differences have paired bootstrap intervals over source
    sentences (10,000 draws, 95 %).

    Args:
        model: An encoder with a decomposer, or an encoder alone.
        benchmarks: What `read` gives.
        text: Files of translations, on which centering and `method` are fitted. Pairs with a sentence of a benchmark
            are left out.
        method: Another one of the catalogue to compare with; none if empty or without `text`.
        languages: The languages of the two sides, where the model needs them.
    Raises:
        TypeError: a side of a benchmark is no list of strings.
        DataError: too little text to fit on, a blank sentence, or no vector of a benchmark has a direction.
    Source: docs/papers.md#protocol-retrieval, docs/papers.md#protocol-significance.
    """
    for benchmark in benchmarks:
        for name in ("source", "target"):
            for row, sentence in enumerate(strings(getattr(benchmark, name), name)):
                if not sentence.strip():
                    raise DataError(f"{benchmark.name}: {name}[{row}] is blank: leave out its pair")
    views: dict[str, View] = {ORIGINAL: lambda vectors, _: vectors}
    if text:
        codes = languages[0] or UNNAMED[0], languages[1] or UNNAMED[1]
        a, b = _encode(model, _unseen(text, benchmarks, languages), languages)
        for name in dict.fromkeys([CENTERING, *([method] if method else [])]):
            fitted = Decomposer(name, device="cpu").fit(a, b, codes[0], codes[1])
            views[name] = _meaning(fitted, codes)
    if (decomposer := model.decomposer) is not None:
        views[f"{MODEL} ({decomposer.method})"] = lambda vectors, side: (
            decomposer.transform(vectors, languages[side] or "", languages[1 - side]).meaning
        )
    rows: list[Row] = []
    for benchmark in benchmarks:
        sides = _encode(model, (benchmark.source, benchmark.target), languages)
        keys = keys_of(benchmark.source)
        scores = {
            name: _scores(benchmark, [view(vectors, side) for side, vectors in enumerate(sides)], keys)
            for name, view in views.items()
        }
        rows += _rows(benchmark, scores)
    return rows


def _meaning(fitted: Decomposer, codes: Sequence[str]) -> View:
    return lambda vectors, side: fitted.transform(vectors, codes[side], codes[1 - side])


def _unseen(
    text: Sequence[Path], benchmarks: Sequence[Benchmark], languages: Languages
) -> tuple[list[str], list[str]]:
    """Both sides of the different pairs of text that have no sentence of a benchmark."""
    seen = {
        normalised(sentence)
        for benchmark in benchmarks
        for side in (benchmark.source, benchmark.target)
        for sentence in side
    }
    pairs = [
        pair
        for pair in dict.fromkeys(pair for path in text for pair in read_pairs([path], languages).pairs)
        if all(side.strip() for side in pair)
    ]
    unseen = [pair for pair in pairs if not any(normalised(side) in seen for side in pair)]
    if len(unseen) < len(pairs):
        logger.info(
            "%d of %d pairs of text are in a benchmark and left out", len(pairs) - len(unseen), len(pairs)
        )
    if len(unseen) < FEW:
        raise DataError(f"{len(unseen)} pairs of text outside the benchmarks, at least {FEW} are needed")
    return [pair.source for pair in unseen], [pair.target for pair in unseen]


def _encode(
    model: Model, sides: tuple[list[str], list[str]], languages: Languages
) -> tuple[np.ndarray, np.ndarray]:
    with EarlyMeter(total=sum(map(len, sides)), label="encode", unit="sentences") as meter:
        source, target = (
            model.encode(sentences, part="sentence", language=language, progress=meter.add)
            for sentences, language in zip(sides, languages, strict=True)
        )
    return source, target


def _scores(benchmark: Benchmark, sides: Sequence[np.ndarray], keys: np.ndarray) -> dict[str, Scores]:
    """Per-item scores by measure."""
    if benchmark.gold is not None:
        predicted = merged(cosines(sides[0], sides[1]))
        return {SPEARMAN: Scores(np.column_stack([predicted, benchmark.gold]), keys)}
    both = [Scores(values, keys) for values in hits(sides[0], sides[1])]
    # `pool` gives floats, NaN for a pair that is left out.
    return {FORWARD: pool(both[:1]), BACKWARD: pool(both[1:]), BOTH: pool(both)}


def _rows(benchmark: Benchmark, scores: dict[str, dict[str, Scores]]) -> list[Row]:
    columns = {
        (name, measure): Column(
            f"{benchmark.name}: {name}, {measure}", values, Spearman() if measure == SPEARMAN else mean()
        )
        for name, measures in scores.items()
        for measure, values in measures.items()
    }
    drawn = resample([*columns.values()], resamples=RESAMPLES, generator=np.random.default_rng(SEED))
    values = dict(zip(columns, map(float, drawn.values), strict=True))
    draws = dict(zip(columns, drawn.draws, strict=True))
    rows = []
    for (name, measure), column in columns.items():
        if np.isnan(value := values[name, measure]):
            raise DataError(f"{column.name}: all predictions or all grades are equal, no correlation")
        keys = [column.scores.keys[~left_out(column.scores.values)]]
        interval = partial(percentile, confidence=CONFIDENCE, keys=keys)
        gain: Interval | None = None
        if name != ORIGINAL:
            gain = interval(
                value - values[ORIGINAL, measure], draws[name, measure] - draws[ORIGINAL, measure]
            )
        if measure == SPEARMAN:
            level = interval(value, draws[name, measure])
        else:
            level = proportion({name: column.scores}, confidence=CONFIDENCE)
            gain = gain and not_empty(gain, CONFIDENCE)
        score, difference = _percent(level), gain and _percent(gain)
        rows.append(Row(benchmark.name, name, measure, score, difference, level.n, benchmark.languages))
    return rows


def _percent(interval: Interval) -> Estimate:
    return Estimate(100 * interval.value, 100 * interval.low, 100 * interval.high)


def _named(measure: str, source: str, target: str) -> str:
    """A measure with its languages: "P@1 en -> gn", where the translation of each sentence in en is looked for."""
    pairs = {
        FORWARD: f"{source} -> {target}",
        BACKWARD: f"{target} -> {source}",
        BOTH: f"{source} <-> {target}",
    }
    return f"P@1 {pairs[measure]}" if measure in pairs else f"{measure} {source}-{target}"


def table(rows: Sequence[Row]) -> str:
    """The rows in Markdown, numbers times 100 with 95 % intervals."""
    lines = [
        "| Benchmark | Measure | Vectors | Value | Minus original | n |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        value = "{:.1f} [{:.1f}, {:.1f}]".format(*row.score)
        gain = "" if row.minus_original is None else "{:+.1f} [{:+.1f}, {:+.1f}]".format(*row.minus_original)
        name, measure = (
            text.replace("|", "\\|") for text in (row.benchmark, _named(row.measure, *row.languages))
        )
        lines.append(f"| {name} | {measure} | {row.vectors} | {value} | {gain} | {row.n} |")
    return "\n".join(lines)
